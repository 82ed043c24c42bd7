"""Training on a cluster, measured: efficiency, bytes and memory, a set that no worker could hold, a model of the cost.

    python examples/benchmarks/cluster.py efficiency            # one process, one worker, two workers
    python examples/benchmarks/cluster.py large --rows 5e6      # parts on disk, workers of 1 GB
    python examples/benchmarks/cluster.py project               # 10^8 and 10^9 rows on 100 workers

The first two add their figures to --out, a file of JSON, from which the third takes its rates. The cluster is one of
processes of this machine.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from cluster_cost import Rates, projected, shown
from distributed import Client, LocalCluster, performance_report
from svmkit_dask.cluster.executor import DaskExecutor
from svmkit_dask.cluster.watch import Watch
from svmkit_dask.dfcsmo import DFCSMO
from svmkit_dask.driver.data import ScatteredData
from svmkit_dask.parts.sources import from_paths

import svmkit
from svmkit.kernels.functions import RBF
from svmkit.training.settings import Settings, resolve
from svmkit.training.train import fit_prepared

PARTS = Path(tempfile.gettempdir()) / "svmkit-parts"  # of generated sets, which nobody wants in the working directory
N_COLUMNS = 20
EFFICIENCY_ROWS = 400_000
BALL = {"gamma": 0.02, "C": 100.0, "tol": 1e-2}
BAND = 3.2, 5.8  # squared radii between which no row lies: the classes have a margin


def generated(rows: int, folder: Path, n_parts: int) -> list[Path]:
    """Write a ball within a shell, in five of twenty columns, in parts; those that are there already are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"ball-{rows}-{p:03}.npz" for p in range(n_parts)]
    for p, path in enumerate(paths):
        if not path.exists():
            rng = np.random.default_rng((rows, p))
            X = np.empty((0, N_COLUMNS))
            while len(X) < rows // n_parts:
                drawn = rng.normal(size=(rows // n_parts, N_COLUMNS))
                r = np.square(drawn[:, :5]).sum(axis=1)
                X = np.concatenate([X, drawn[(r < BAND[0]) | (r > BAND[1])]])
            X = X[: rows // n_parts]
            y = (np.square(X[:, :5]).sum(axis=1) > sum(BAND) / 2).astype(np.int64)
            np.savez(path, X=X, y=y)
    return paths


def dealt_files(name: str, folder: Path, n_parts: int) -> list[Path]:
    """Write a named set, with its test half, in parts."""
    halves = [svmkit.load(half) for half in (name, f"{name}.t")]
    X, y = (np.concatenate([getattr(half, field) for half in halves]) for field in "Xy")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}-{p}.npz" for p in range(n_parts)]
    for path, rows in zip(paths, np.array_split(np.arange(len(y)), n_parts), strict=True):
        np.savez(path, X=X[rows], y=y[rows])
    return paths


def on_cluster(
    paths, workers: int, memory: str, report: Path | None = None, *, gamma: float, C: float, tol: float
) -> dict:
    """Train on a new cluster of processes of one thread, and return the figures."""
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, memory_limit=memory, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        warm = from_paths(paths[:1])
        for measured in (False, True):  # the first fit compiles
            began = time.perf_counter()
            stop = svmkit.solver.Gap(tol if measured else 0.5)
            settings = Settings(solver=DFCSMO(), kernel=RBF(gamma), C=C, stop=stop, n_threads=1)
            parts = from_paths(paths) if measured else warm
            data = ScatteredData(DaskExecutor(Watch(client)), parts, resolve(settings))
            prepared = time.perf_counter() - began
            if measured and report is not None:
                with performance_report(filename=str(report)):
                    fitted = fit_prepared(data, settings)
            else:
                fitted = fit_prepared(data, settings)
            costs = data.workers.counters.details()
            data.close()
    return told(fitted, paths) | {"workers": workers, "prepare_s": prepared, "cluster": costs}


def alone(paths, *, gamma: float, C: float, tol: float) -> dict:
    """Train with fcsmo in this process, on one thread."""
    parts = [np.load(path) for path in paths]
    X, y = (np.concatenate([part[field] for part in parts]) for field in "Xy")
    for stop in (0.5, tol):
        fitted = svmkit.fit(X, y, solver="fcsmo", kernel=RBF(gamma), C=C, stop=svmkit.solver.Gap(stop), n_threads=1)
    return told(fitted, paths) | {
        "workers": 0,
        "peak_memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def told(fitted, paths) -> dict:
    """Return the facts of a fit."""
    return {
        "set": paths[0].stem.rpartition("-")[0],
        "parts": len(paths),
        "seconds": fitted.seconds,
        "status": str(fitted.status),
        "gap": fitted.gap,
        "objective": fitted.objective,
        "n_support": len(fitted.support),
        "kernel_values": fitted.kernel_values,
        "n_samples": int(fitted.model.about["n_samples"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["efficiency", "large", "project"])
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument("--parts", type=int, default=None)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--folder", type=Path, default=PARTS, help="keeps the sets, in parts (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("cluster.json"))
    parser.add_argument("--report", type=Path, default=None, help="HTML file of Dask's performance report")
    given = parser.parse_args()
    if given.report is not None and find_spec("bokeh") is None:
        parser.error("--report needs bokeh: pip install bokeh")
    known = json.loads(given.out.read_text()) if given.out.exists() else {}
    if given.what == "efficiency":
        known["efficiency"] = []
        for paths, settings in (
            (dealt_files("ijcnn1", given.folder, given.parts or 8), {"gamma": 2.0, "C": 16.0, "tol": 1e-3}),
            (generated(EFFICIENCY_ROWS, given.folder, given.parts or 8), BALL),
        ):
            known["efficiency"].append(alone(paths, **settings))
            for workers in (1, 2):
                known["efficiency"].append(on_cluster(paths, workers, "auto", given.report, **settings))
    elif given.what == "large":
        paths = generated(int(given.rows), given.folder, given.parts or 50)
        known["large"] = on_cluster(paths, 2, given.memory, given.report, **BALL)
    else:
        print(shown(projected(Rates.of(known.get("large") or known["efficiency"][-1]))))
        return
    given.out.write_text(json.dumps(known, indent=1) + "\n")
    json.dump(known[given.what], sys.stdout, indent=1)


if __name__ == "__main__":
    main()
