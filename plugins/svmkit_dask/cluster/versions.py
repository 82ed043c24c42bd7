"""Whether workers have what a call from here needs: Python, svmkit and solvers in the same versions."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Sequence
from typing import Any

from distributed import Client

from svmkit._version import __version__
from svmkit.plugins import requirement

ANSWER = 15.0  # seconds that a worker has to answer


def faults(client: Client, workers: Sequence[str], solvers: Sequence[str]) -> dict[str, str]:
    """Return one line for each worker that cannot be used, by its address.

    Parameters
    ----------
    client : Client
        The client of the cluster.
    workers : sequence of str
        The addresses of the workers.
    solvers : sequence of str
        The solvers that they need.
    """
    asked = client.scheduler.broadcast(msg={"op": "versions"}, workers=list(workers), on_error="return")
    found = _answers(client, asked, workers)
    wrong = {worker: fault for worker in workers if (fault := _of_python(found.get(worker)))}
    # code of another Python cannot be sent: the others are asked by a function that brings its code along
    left = [worker for worker in workers if worker not in wrong]
    if left:
        wanted = {name: requirement("solver", name) for name in solvers}
        asked = client.run(_asker(list(wanted)), workers=left, on_error="return", asynchronous=True)
        found = _answers(client, asked, left)
        wrong |= {worker: fault for worker in left if (fault := _of_packages(found.get(worker), wanted))}
    return {worker: f"worker {worker} {fault}" for worker, fault in wrong.items()}


def _answers(client: Client, asked: Any, workers: Sequence[str]) -> dict[str, Any]:
    """Return the answers by worker; a worker that does not answer in time has none."""

    async def answers() -> Any:
        return await asyncio.wait_for(asked, ANSWER)

    future = asyncio.run_coroutine_threadsafe(answers(), client.loop.asyncio_loop)
    try:
        return dict(future.result())
    except Exception as error:
        return dict.fromkeys(workers, error)


def _of_python(answer: Any) -> str | None:
    here = ".".join(platform.python_version_tuple()[:2])
    if not isinstance(answer, dict):
        return f"does not answer within {ANSWER:.0f} s: restart it"
    there = ".".join(str(answer["host"]["python"]).split(".")[:2])
    return None if there == here else f"has Python {there}, and here it is {here}: use the same version on both"


def _asker(solvers: list[str]) -> Callable[[], dict[str, Any]]:
    """Return a function that travels by value, since the worker may have no svmkit."""

    def ask() -> dict[str, Any]:
        from importlib.metadata import entry_points

        try:
            from svmkit._version import __version__ as version
        except ImportError:
            return {"svmkit": None}
        points = {point.name: point for point in entry_points(group="svmkit.solvers")}
        dists = {name: points[name].dist if name in points else None for name in solvers}
        return {
            "svmkit": version,
            "solvers": {name: dist and f"{dist.name}=={dist.version}" for name, dist in dists.items()},
        }

    return ask


def _of_packages(answer: Any, wanted: dict[str, str | None]) -> str | None:
    if not isinstance(answer, dict):
        return f"could not be asked for its versions ({type(answer).__name__}): restart it"
    there = answer["svmkit"]
    if there is None:
        return f"has no svmkit, and here it is {__version__}: pip install 'svmkit[dask]=={__version__}' there"
    if there != __version__:
        return f"has svmkit {there}, and here it is {__version__}: install the same version on both"
    for name, package in wanted.items():
        if package is not None and answer["solvers"][name] != package:
            has = answer["solvers"][name] or f"no solver {name}"
            return f"has {has}, and here solver {name} is of {package}: pip install '{package}' there"
    return None
