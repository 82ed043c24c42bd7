"""Linear models on two workers of one thread beside one process of two threads, in turns, on the same rows.

    python examples/benchmarks/cluster_linear.py gaussians squared_hinge
    python examples/benchmarks/cluster_linear.py kddcup hinge --repeat 2

Both begin where a default fit does, have a free bias, and end once the gap is at most 1e-3. "fit" is the time
from rows that are in memory, of the process or of the workers, to the certified model; "all" also that of reading the
files. The first fit of each compiles and is not counted; of the others the least counts.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import growth
import linear_sets
import numpy as np
import psutil
import scipy.sparse as sp
from cluster import PARTS
from distributed import Client, LocalCluster
from svmkit_dask.cluster.executor import DaskExecutor
from svmkit_dask.cluster.watch import Watch
from svmkit_dask.dnewton import DNewton
from svmkit_dask.driver.data import ScatteredData
from svmkit_dask.parts.sources import from_paths
from svmkit_newton.newton import Newton

import svmkit
from svmkit.kernels.functions import Linear
from svmkit.training.data import TrainingData
from svmkit.training.settings import Settings, resolve
from svmkit.training.train import fit_prepared

Rows = tuple[Any, np.ndarray]


def covers(rows: int) -> Rows:
    """Return rows like those of covtype: 10 numbers, and two groups of 4 and 40 columns with one 1 in each."""
    rng = np.random.default_rng(0)
    X = np.zeros((rows, 54))
    X[:, :10] = rng.normal(size=(rows, 10))
    for first, n in ((10, 4), (14, 40)):
        X[np.arange(rows), first + rng.integers(n, size=rows)] = 1.0
    steep = X @ rng.normal(size=54)
    return X, np.where(steep + 2.0 * rng.normal(size=rows) > np.median(steep), 1.0, -1.0)


def gaussians(rows: int) -> Rows:
    X, y = linear_sets.collect(linear_sets.gaussians(rows, 30, 2.0))
    return X, np.where(y > 0, 1.0, -1.0)


def kddcup(rows: int) -> Rows:
    X, y = growth.data("kddcup")
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[order], y[order]


SETS: dict[str, tuple[int, Callable[[int], Rows]]] = {
    "gaussians": (1_000_000, gaussians),
    "covers": (500_000, covers),
    "kddcup": (494_021, kddcup),
}


def deal(name: str, rows: int, folder: Path, n_parts: int) -> list[Path]:
    """Write a set in parts; those that are there already are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}-{rows}-{n_parts}-{p}.npz" for p in range(n_parts)]
    if not all(path.exists() for path in paths):
        X, y = SETS[name][1](rows)
        for path, here in zip(paths, np.array_split(np.arange(len(y)), n_parts), strict=True):
            part = X[here[0] : here[-1] + 1]
            if sp.issparse(part):
                fields = {"data": part.data, "indices": part.indices, "indptr": part.indptr}
                np.savez(path, format="csr", shape=part.shape, y=y[here], **fields)
            else:
                np.savez(path, X=part, y=y[here])
    return paths


def read(paths: list[Path]) -> Rows:
    """Return the rows of all parts."""
    parts = [svmkit.load(path) for path in paths]
    features, labels = [part.X for part in parts], np.concatenate([part.y for part in parts])
    return (sp.vstack(features, format="csr") if sp.issparse(features[0]) else np.concatenate(features)), labels


class Side:
    """One of the two, with the processes whose processor time is its own."""

    def __init__(self, settings: Settings, paths: list[Path], processes: list[psutil.Process]) -> None:
        self.settings, self.paths, self.processes = settings, paths, [psutil.Process(), *processes]
        self.data: Any = None

    def prepare(self) -> Any:
        """Return training data read from the files."""
        return TrainingData.prepare(*read(self.paths), resolve(self.settings))

    def costs(self) -> dict[str, Any]:
        return {}

    def fit(self, from_files: bool) -> dict[str, Any]:
        """Return the figures of a fit, of rows that are read anew or are there already."""
        if from_files:
            self.forget()
        before, began = self._cpu(), time.perf_counter()
        if self.data is None:
            self.data = self.prepare()
        fitted = fit_prepared(self.data, self.settings)
        figures = {
            "seconds": time.perf_counter() - began,
            "cpu": [b - a for a, b in zip(before, self._cpu(), strict=True)],
        }
        figures |= {"steps": fitted.n_iter, "status": str(fitted.status), "gap": fitted.gap, "P": fitted.objective}
        return figures | self.costs()

    def forget(self) -> None:
        self.data = None

    def _cpu(self) -> list[float]:
        return [sum(process.cpu_times()[:2]) for process in self.processes]


class OnCluster(Side):
    def __init__(self, settings: Settings, paths: list[Path], processes: list[psutil.Process], client: Client) -> None:
        super().__init__(settings, paths, processes)
        self.client, self.before = client, {}

    def prepare(self) -> ScatteredData:
        self.before = {}
        return ScatteredData(DaskExecutor(Watch(self.client)), from_paths(self.paths), resolve(self.settings))

    def costs(self) -> dict[str, Any]:
        counted = self.data.workers.counters.details()
        kinds = {name: kind for name, kind in counted["kinds"].items()}
        fresh = {
            name: {key: value - self.before.get(name, {}).get(key, 0) for key, value in kind.items()}
            for name, kind in kinds.items()
        }
        self.before = kinds
        return {"messages": {name: kind for name, kind in fresh.items() if kind["messages"]}}

    def forget(self) -> None:
        if self.data is not None:
            self.data.close()
        self.data = None


def compare(name: str, loss: str, paths: list[Path], n_workers: int, repeat: int) -> dict[str, Any]:
    """Return the figures of the best fit of both, in memory and from files."""
    how = {"kernel": Linear(), "C": 1.0, "stop": svmkit.solver.Gap(1e-3)}
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        pids = client.run(lambda: __import__("os").getpid()).values()
        workers = [psutil.Process(pid) for pid in pids]
        sides = {
            "one process": Side(Settings(solver=Newton(loss=loss, bias="free"), n_threads=2, **how), paths, []),
            "cluster": OnCluster(Settings(solver=DNewton(loss=loss), n_threads=1, **how), paths, workers, client),
        }
        out: dict[str, Any] = {"set": name, "loss": loss, "parts": len(paths), "workers": n_workers}
        for side in sides.values():
            side.fit(False)
        for what in ("fit", "all"):
            runs: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
            for _ in range(repeat):
                for side, one in sides.items():
                    runs[side].append(one.fit(what == "all"))
            best = {side: min(each, key=lambda run: run["seconds"]) for side, each in runs.items()}
            out[what] = best
            out[f"{what}, ratio"] = best["cluster"]["seconds"] / best["one process"]["seconds"]
        for side in sides.values():
            side.forget()
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=SETS)
    parser.add_argument("loss")
    parser.add_argument("--rows", type=float, default=None)
    parser.add_argument("--parts", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=PARTS, help="keeps the sets, in parts (default: %(default)s)")
    parser.add_argument("--only-deal", action="store_true", help="write the parts and end")
    given = parser.parse_args()
    rows = int(given.rows or SETS[given.set][0])
    paths = deal(given.set, rows, given.folder, given.parts)
    if not given.only_deal:
        json.dump(compare(given.set, given.loss, paths, given.workers, given.repeat), sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
