"""Measure the peak of memory of fits under a budget, of a prediction of many rows and of reading a large file.

    python examples/benchmarks/memory.py --out docs/memory.md
    python examples/benchmarks/memory.py --solvers fcsmo,smo --memory 50MB --limit 5

A measurement has a process of its own: it makes the data, does the work on a few rows, so that all is imported and
compiled, and takes the peak of resident memory of the work itself above what the process holds then. The work may take
its budget, the size of its result, and 150 MB. The fits (every solver of ours that takes any kernel) are of 20,000 rows
of two Gaussians that overlap, whose kernel rows take 1.6 GB in float32; they end at a gap of 1e-3 or after --limit
seconds. The prediction is of 1,000,000 rows by 2,000 vectors of two and of ten classes, and the file is text in
svmlight's format. Prints a table in Markdown; --out writes it between the marks of a page.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from peers_tables import insert, markdown
from peers_worker import memory, reset_peak

from svmkit import fit, plugins
from svmkit.data import load
from svmkit.kernels import RBF
from svmkit.kernels.gram import parse_bytes
from svmkit.model.model import SVMModel
from svmkit.solver import Gap, Requires
from svmkit.solver.stopping import Seconds

SPARE = 150.0  # MB beside budget and result
MIB = 1 << 20
ROWS, COLUMNS = 20_000, 10
FEW = 600  # rows of the first work
LINE, WIDTH = 200, 10_000  # entries of a row of the file, and its columns
MARKS = "<!-- measured by memory.py: begin -->", "<!-- measured by memory.py: end -->"
HEAD = "work | budget, MB | result, MB | peak above the start, MB | allowed, MB | of allowed | ended"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solvers", help="default all that take any kernel and are not other software")
    parser.add_argument("--memory", default="50MB,200MB,1GB", help="budgets of the fits (default 50MB,200MB,1GB)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a fit (default 60)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows to predict, 0 for none (default 1,000,000)")
    parser.add_argument("--file", default="1GB", help="size of the file to read, or none (default 1GB)")
    parser.add_argument("--out", help="write the table to this page")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # in the process of a measurement
    args = parser.parse_args()
    if args.one:
        job = json.loads(args.one)
        print(json.dumps(WORKS[job.pop("work")](**job)))
        return 0
    records = []
    for job in jobs(args):
        records.append(job | measured(job))
        print(row(records[-1]), file=sys.stderr, flush=True)
    table = markdown(HEAD, [row(record) for record in records])
    print("\n".join(table))
    if args.out:
        insert(Path(args.out), "\n".join(table), MARKS)
    return int(any(record["peak"] > record["allowed"] for record in records if "peak" in record))


def jobs(args) -> list[dict[str, Any]]:
    """What is measured, in turn."""
    fits = [
        {"work": "fit", "solver": name, "memory": size, "limit": args.limit}
        for name in (args.solvers.split(",") if args.solvers else solvers())
        for size in args.memory.split(",")
    ]
    predictions = [{"work": "predict", "rows": args.rows, "classes": n} for n in (2, 10) if args.rows]
    return fits + predictions + ([{"work": "read", "size": args.file}] if args.file != "none" else [])


def solvers() -> list[str]:
    """The solvers of ours that take any kernel."""
    return plugins.solvers_where(lambda kind: not kind.external and Requires.LINEAR_KERNEL not in kind.requires)


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """The answer of a process that does one job: peak, result, budget and allowed in MB, or what it was refused for."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", json.dumps(job)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return {"ended": f"exit {done.returncode}"}
    answer = json.loads(done.stdout)
    return answer | {"allowed": answer["budget"] + answer["result"] + SPARE}


def above(work: Callable[[], Any]) -> tuple[float, Any]:
    """The peak of resident memory in MB while `work` runs, above what the process holds now, and what it returns."""
    gc.collect()
    base = memory("VmRSS")
    reset_peak()
    found = work()
    return memory("VmHWM") - base, found


def gaussians(m: int, classes: int = 2, d: int = COLUMNS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(m) % classes
    X = rng.normal(size=(m, d))
    X[:, 0] += 1.5 * y
    return X, y


def fitted(solver: str, memory: str, limit: float) -> dict[str, Any]:
    """A fit of two classes."""
    X, y = gaussians(ROWS)
    how = {"solver": solver, "kernel": RBF(0.1), "C": 10.0, "memory": memory}
    for first in (slice(FEW), slice(0, ROWS, ROWS // FEW)):
        fit(X[first], y[first], stop=Gap(1e-3) | Seconds(limit / 10), **how)
    peak, found = above(lambda: fit(X, y, stop=Gap(1e-3) | Seconds(limit), **how))
    return {"budget": parse_bytes(memory) / MIB, "result": 0.0, "peak": peak, "ended": str(found.status)}


def predicted(rows: int, classes: int) -> dict[str, Any]:
    """Labels of many rows by a model of some size."""
    X, y = gaussians(rows, classes)
    vectors, n = X[: 200 * classes][np.argsort(y[: 200 * classes], kind="stable")], 200 * classes
    model = SVMModel(
        kernel=RBF(0.1),
        classes=np.arange(classes),
        vectors=vectors,
        n_support=np.full(classes, 200),
        coef=np.random.default_rng(1).normal(size=(classes - 1, n)),
        intercept=np.zeros(classes * (classes - 1) // 2),
        n_features=X.shape[1],
    )
    model.predict(X[:FEW])
    peak, labels = above(lambda: model.predict(X))
    return {"budget": 0.0, "result": labels.nbytes / MIB, "peak": peak, "ended": "done"}


def was_read(size: str) -> dict[str, Any]:
    """A file in svmlight's format."""
    rng = np.random.default_rng(0)
    lines = []
    for sign in ("-1", "+1"):
        entries = zip(np.sort(rng.choice(WIDTH, LINE, replace=False)) + 1, rng.random(LINE), strict=True)
        lines.append(f"{sign} " + " ".join(f"{i}:{v:.6f}" for i, v in entries) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        path, few = Path(folder) / "large.svm", Path(folder) / "few.svm"
        few.write_text("".join(lines) * 10)
        block = "".join(lines).encode() * 200
        with path.open("wb") as file:
            for _ in range(parse_bytes(size) // len(block)):
                file.write(block)
        load(str(few))
        peak, data = above(lambda: load(str(path)))
    arrays = data.X.data, data.X.indices, data.X.indptr, data.y
    return {"budget": 0.0, "result": sum(array.nbytes for array in arrays) / MIB, "peak": peak, "ended": "done"}


WORKS: dict[str, Callable[..., dict[str, Any]]] = {"fit": fitted, "predict": predicted, "read": was_read}


def row(record: dict[str, Any]) -> list[str]:
    """The cells of a measurement."""
    name = {
        "fit": "fit by `{solver}`",
        "predict": "labels of {rows:,} rows, {classes} classes",
        "read": "a file of {size}",
    }[record["work"]].format(**record)
    if "peak" not in record:
        return [name, record.get("memory", ""), "", "", "", "", record["ended"]]
    numbers = [f"{record[key]:,.0f}" for key in ("budget", "result", "peak", "allowed")]
    return [name, *numbers, f"{record['peak'] / record['allowed']:.2f}", record["ended"]]


if __name__ == "__main__":
    sys.exit(main())
