"""
More entries than int32 can count
=================================

Fit a linear machine to sparse rows with more than 2^31 entries, and say what it takes.

.. code-block:: sh

    python examples/benchmarks/wide.py FOLDER [--rows 2200000] [--solver newton]

The rows have 1,000 entries of float32 each in 65,000 columns, and labels by random weights with noise. They are written
to FOLDER (8 kB a row, 17.6 GB in all) and read through memory maps, whose pages the system keeps while it has room for
them; the memory in the table is what the process itself holds, which is what a fit takes beside its data.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from svmkit import fit
from svmkit.data import sparse_rows
from svmkit.kernels import Linear
from svmkit.solver import Gap, Iterations

ENTRIES, STEP, BLOCK = 1_000, 65, 2_000  # entries of a row, one in so many columns, and rows that are written together


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=2_200_000)
    parser.add_argument("--solver", default="newton")
    parser.add_argument("--tol", type=float, default=0.01)
    args = parser.parse_args()
    print("| step | seconds | largest private memory, MB |\n|---|---|---|")
    X, y = measured("write", lambda: written(args.folder, args.rows))
    print(f"{X.nnz:,} entries, pointers {X.indptr.dtype}, column numbers {X.indices.dtype}", flush=True)
    stop = Gap(args.tol) | Iterations(30)
    few = slice(0, 1_000)
    fit(X[few], y[few], solver=args.solver, kernel=Linear(), stop=stop)
    fitted = measured("fit", lambda: fit(X, y, solver=args.solver, kernel=Linear(), C=1e-5, stop=stop))
    print(f"{fitted.status}, gap {fitted.gap:.2e}, {fitted.solutions[0].n_iter:,} iterations", flush=True)
    labels = measured("predict", lambda: fitted.model.predict(X))
    print(f"accuracy on the rows of the training {np.mean(labels == y):.2%}")


def written(folder: Path, m: int):
    """Return X and y, whose arrays are files in the folder."""
    rng, shape = np.random.default_rng(0), (m, ENTRIES)
    w = rng.normal(size=STEP * ENTRIES).astype(np.float32)
    data = np.memmap(folder / "data", dtype=np.float32, mode="w+", shape=shape)
    indices = np.memmap(folder / "indices", dtype=np.int32, mode="w+", shape=shape)
    y, first = np.empty(m), STEP * np.arange(ENTRIES, dtype=np.int32)
    for lo in range(0, m, BLOCK):
        n = min(BLOCK, m - lo)
        columns = first + rng.integers(0, STEP, (n, ENTRIES), dtype=np.int32)
        values = rng.random((n, ENTRIES), dtype=np.float32) - np.float32(0.5)
        y[lo : lo + n] = np.einsum("ij,ij->i", values, w[columns]) + rng.normal(size=n) > 0.0
        data[lo : lo + n], indices[lo : lo + n] = values, columns
    pointers = ENTRIES * np.arange(m + 1, dtype=np.int64)
    return sparse_rows(np.asarray(data).ravel(), np.asarray(indices).ravel(), pointers, len(w)), y


def measured(name: str, work: Callable):
    """Return what the work returns, and print its seconds and the most memory that no file stands behind."""
    over, most = threading.Event(), [0.0]

    def watch() -> None:
        while not over.wait(0.1):
            most[0] = max(most[0], own_memory())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    began = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - began
    over.set()
    watcher.join()
    print(f"| {name} | {seconds:.0f} | {most[0]:.0f} |", flush=True)
    return result


def own_memory() -> float:
    """Return the resident memory of this process that is no part of a file, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return float(line.split()[1]) / 1e3
    return float("nan")


if __name__ == "__main__":
    main()
