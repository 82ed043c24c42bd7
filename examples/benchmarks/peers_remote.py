"""The measuring side of a worker process, the file of measurements, and the one judge of all results."""

from __future__ import annotations

import json
import os
import platform
import select
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from peers_sides import SIDES

from svmkit import plugins
from svmkit.kernels.engines import engine_for
from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.losses import make_loss
from svmkit.problems.base import Problem
from svmkit.problems.box import BoxQP

POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Failed(Exception):
    """A side failed; the message is its own."""


class TimedOut(Failed):
    """A job took longer than the limit; the process was ended."""


class Remote:
    """A worker process. `ask` sends a job and waits for its answer; `pressure` is the share of waiting for a core."""

    def __init__(self, python: str, side: str, threads: int, script: str = "peers_worker.py") -> None:
        script = str(Path(__file__).with_name(script))
        env = {**os.environ, **dict.fromkeys(POOLS, str(threads)), "OMP_WAIT_POLICY": "passive"}
        self.process = subprocess.Popen(
            [python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0
        )
        self.about = self.ask("start", side=side, threads=threads)

    def ask(self, do: str, limit: float | None = None, **job: Any) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        waited = waiting()
        try:
            self.process.stdin.write((json.dumps({"do": do, **job}) + "\n").encode())
            if not select.select([self.process.stdout], [], [], limit)[0]:
                self.process.kill()
                raise TimedOut(f"longer than {limit:g} s")
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            raise Failed(f"the process ended with {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        if waited is not None and answer.get("seconds") and isinstance(answer["seconds"], float):
            answer["pressure"] = round((waiting() - waited) / 1e6 / answer["seconds"], 3)
        return answer

    def close(self) -> None:
        self.process.stdin.close()  # type: ignore[union-attr]
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()  # type: ignore[union-attr]


def interpreter(pythons: Mapping[str, str], side: str) -> str:
    """Return the interpreter of a side, by default this one; raises Failed if that has no package of the side."""
    package = SIDES[side].package if side in SIDES and side not in pythons else ""
    try:
        if package:
            metadata.version(package)
    except metadata.PackageNotFoundError:
        raise Failed(f"{package} is not installed; --python {side}=PATH names an interpreter that has it") from None
    return pythons.get(side, sys.executable)


def waiting() -> float | None:
    """Microseconds that some process of this machine has waited for a processor; None if unknown."""
    try:
        return float(Path("/proc/pressure/cpu").read_text().split("total=")[1].split()[0])
    except (OSError, IndexError):
        return None


@cache
def processor() -> str:
    """Name of this machine's processor."""
    try:
        names = [x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name")]
        return names[0].split(":")[1].strip()
    except (OSError, IndexError):
        return platform.machine()


class Store:
    """Measurements, one JSON object a line; records of other settings (rows, threads, solvers) are kept."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path, self.settings, self.records = path, settings, []
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for line in lines:
            record = json.loads(line)
            if record.pop("settings") == settings and "error" not in record:  # what failed is tried again
                self.records.append(record)

    def add(self, **record: Any) -> None:
        record |= {"date": date.today().isoformat(), "processor": processor()}
        self.records.append(record)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**record, "settings": self.settings}) + "\n")
        seconds = record.get("seconds")
        shown = f"{seconds:.3f} s" if isinstance(seconds, float) else record.get("error", "")
        who = "contender" if "contender" in record else "side"
        words = [
            record.get(key) for key in ("cell", "what", who, "solver", "repeat") if record.get(key) not in (None, "")
        ]
        print(*words, shown, file=sys.stderr, flush=True)

    def forget(self, which: Callable[[dict[str, Any]], bool]) -> None:
        """Drop the records of these settings for which `which` holds, also from the file."""
        self.records = [record for record in self.records if not which(record)]
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True) if self.path.exists() else []
        kept = [line for line in lines if (r := json.loads(line))["settings"] != self.settings or not which(r)]
        part = self.path.with_suffix(".part")
        part.write_text("".join(kept), encoding="utf-8")
        part.replace(self.path)

    def find(self, **like: Any) -> list[dict[str, Any]]:
        """Records that have these values."""
        return [r for r in self.records if all(r.get(key) == value for key, value in like.items())]


class Judge:
    """P, D and accuracy of the result of any side, by svmkit's certificate on all rows in float64."""

    def __init__(self, folder: Path, gamma: float | None, y_test: np.ndarray | None) -> None:
        self.X, self.X_test = read(folder, "train"), None if y_test is None else read(folder, "test")
        self.y, self.y_test, self.kernel = np.load(folder / "y.npy"), y_test, RBF(gamma) if gamma else None
        self.gram = Gram(self.kernel, self.X) if self.kernel else None
        self.tester = engine_for(self.kernel, self.X_test) if self.kernel and y_test is not None else None

    def kernel_model(self, arrays, job: dict[str, Any]) -> dict[str, Any]:
        """The model of dual weights: on svmkit's own problem for its solvers, on C-SVC for the peers."""
        assert self.gram is not None
        problem: Problem = BoxQP(self.gram, self.y, job["C"])
        if "solver" in job:
            problem = plugins.build("solver", job["solver"], job.get("options", {})).pose(self.gram, self.y, job["C"])
        point = arrays["point"]
        if isinstance(problem, BoxQP):  # float32 weights may be out of the box by their rounding
            clipped = np.clip(point, 0.0, problem.upper)
            balanced = clipped if problem.infeasible(clipped) is None else problem.start(clipped * self.y)
            point = clipped if balanced is None else balanced
        certificate = problem.certificate(point)
        found = problem.decision_function(point, certificate)
        bias = float(arrays["bias"][0]) if "bias" in arrays else found.intercept  # accuracy with a peer's own bias
        used = np.flatnonzero(found.coef)
        facts = {"P": certificate.primal, "D": certificate.dual, "certified": certificate.gap, "n_support": len(used)}
        if self.tester is not None:
            h = self.tester.product(self.X[used], found.coef[used, None])[:, 0] + bias
            facts["accuracy"] = float(np.mean((h > 0) == (self.y_test > 0)))
        return facts

    def linear_model(self, arrays, job: dict[str, Any], told: float | None) -> dict[str, Any]:
        """The model of w and its bias, which is regularised; D is the value that the side reports, if any."""
        w = arrays["w"]
        losses = make_loss(job["loss"], "classify").value(self.y, self.X @ w[:-1] + w[-1])
        primal = 0.5 * float(w @ w) + job["C"] * float(losses.sum())
        facts = {"P": primal, "D": told, "certified": None if told is None else (primal - told) / primal}
        if self.X_test is not None:
            facts["accuracy"] = float(np.mean((self.X_test @ w[:-1] + w[-1] > 0) == (self.y_test > 0)))
        return facts


def read(folder: Path, part: str):
    arrays = [np.load(folder / f"{part}.{name}.npy") for name in ("data", "indices", "indptr", "shape")]
    return sp.csr_matrix(tuple(arrays[:3]), shape=tuple(arrays[3]))
