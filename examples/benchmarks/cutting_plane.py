"""Measure cuts and seconds of svmperf, bmrm and ocas to each certified relative gap, beside dcd and LIBLINEAR.

    python examples/benchmarks/cutting_plane.py a9a:1 a9a:0.1 w8a:1 mnist:0.01:3 --out docs/cutting_plane_table.md

DATA is NAME:C, or NAME:C:CLASS for one class against the rest; each column is divided by its largest value. All solvers
minimise the hinge with a regularised bias. Our solvers run to each gap from a cold start; times include checks and
certificates but not compilation, and are medians of runs in alternation. scikit-learn's LinearSVC has no certificate:
the table shows the loosest of the tolerances 1, 0.1, ... at which its P is within the gap of the optimum, and its time
with this tolerance. A pass of svmperf, bmrm and ocas makes a cut; a pass of dcd and LIBLINEAR visits all samples.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

from svmkit import plugins
from svmkit.data import load
from svmkit.data.prepare.scaling import Scaling
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.runtime import threads
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Gap, Iterations, Seconds

OURS = ("svmperf", "bmrm", "ocas", "dcd")
THEIRS = "LinearSVC"
GAPS = (1e-2, 1e-3, 1e-4)


class Run(NamedTuple):
    """passes, their seconds, and the gap that was reached; None if time ran out."""

    passes: int
    seconds: float
    gap: float | None
    note: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--rows", type=int, help="the first ROWS rows only")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one run (default 60)")
    parser.add_argument("--out", help="write the tables to this file too")
    args = parser.parse_args()
    tables = []
    for text in args.data:
        name, C, *of = text.split(":")
        data = load(name)
        assert data.y is not None
        classes = np.unique(data.y)
        y = np.where(data.y == (float(of[0]) if of else classes[-1]), 1.0, -1.0)[: args.rows]
        X = Scaling.fit("maxabs", data.X).apply(data.X)[: args.rows]
        title = f"{data.name}{' ' + of[0] + ' against the rest' if of else ''}, C = {float(C):g}, {X.shape[0]:,} rows"
        tables.append(markdown(title, compared(X, y, float(C), args)))
        print(tables[-1], flush=True)
    if args.out:
        Path(args.out).write_text("\n".join(tables), encoding="utf-8")


def compared(X, y: np.ndarray, C: float, args) -> dict[str, list[Run]]:
    gram = Gram(Linear(), X)
    for name in OURS:  # compile
        ours(name, gram, y, C, Gap(0.5) | Iterations(3))
    exact = solve(plugins.build("solver", "dcd").pose(gram, y, C), plugins.build("solver", "dcd"), stop=Gap(1e-6))
    runs: dict[str, list[list[Run]]] = {name: [[] for _ in GAPS] for name in (*OURS, THEIRS)}
    tols = [loosest(X, y, C, gap, float(exact.certificate.dual), gram) for gap in GAPS]
    for _ in range(args.repeat):
        for k, gap in enumerate(GAPS):
            for name in OURS:
                runs[name][k].append(ours(name, gram, y, C, Gap(gap) | Seconds(args.limit)))
            runs[THEIRS][k].append(theirs(X, y, C, tols[k])[0])
    return {
        name: [cell[0]._replace(seconds=median(run.seconds for run in cell)) for cell in cells]
        for name, cells in runs.items()
    }


def ours(name: str, gram: Gram, y: np.ndarray, C: float, stop) -> Run:
    solver = plugins.build("solver", name)
    began = time.perf_counter()
    solution = solve(solver.pose(gram, y, C), solver, stop=stop)
    seconds = time.perf_counter() - began
    return Run(solution.n_iter, seconds, solution.certificate.gap if solution.status == "converged" else None)


def theirs(X, y: np.ndarray, C: float, tol: float) -> tuple[Run, np.ndarray]:
    model = LinearSVC(C=C, loss="hinge", dual=True, intercept_scaling=1.0, tol=tol, max_iter=20_000, random_state=0)
    with warnings.catch_warnings(), threads.using():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
    return Run(int(model.n_iter_), seconds, 0.0, f"tol {tol:g}"), np.append(model.coef_[0], model.intercept_)


def loosest(X, y: np.ndarray, C: float, gap: float, optimum: float, gram: Gram) -> float:
    """The loosest tolerance with which LIBLINEAR's P is within the gap."""
    problem = LinearRisk(gram, y, C)
    for tol in 10.0 ** -np.arange(8.0):
        P = problem.objective(theirs(X, y, C, tol)[1])
        if P - optimum <= gap * P:
            break
    return float(tol)


def markdown(title: str, cells: dict[str, list[Run]]) -> str:
    lines = [f"{title}. Passes (seconds) to each relative gap.", ""]
    lines.append("| solver | " + " | ".join(f"{gap:.0e}" for gap in GAPS) + " |")
    lines.append("|---|" + "---|" * len(GAPS))
    for name, runs in cells.items():
        shown = [f"{shown_passes(run)} ({run.seconds:.2f} s{', ' + run.note if run.note else ''})" for run in runs]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def shown_passes(run: Run) -> str:
    return f"{run.passes:,}" if run.gap is not None else f"more than {run.passes:,}"


if __name__ == "__main__":
    main()
