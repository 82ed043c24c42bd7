"""dcd next to LIBLINEAR (scikit-learn's LinearSVC): time to the same objective, to the same gap, with the same rule.

    python examples/benchmarks/linear.py a9a w8a mnist=3 -C 1 --repeat 3

DATA are names of sets or files; of NAME=LABEL that label is one class and all others are the other. Values are divided
by the largest one. LIBLINEAR runs at each eps of --eps and names its dual value D; P is computed from its weights.
Then dcd is timed until its dual value is as good, and until its gap is certified to be as small; and at `kkt:eps`,
LIBLINEAR's own rule. All runs alternate, times are medians in seconds, compilation told apart.

"solver" leaves out what LIBLINEAR spends on its own copy of the data (the time of a call that may do no iteration) and
what dcd spends on norms; "fit" is LinearSVC.fit and svmkit.fit, checks and conversions included, at the same rule.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC, _liblinear

from svmkit import plugins
from svmkit.data import load
from svmkit.gram import Gram
from svmkit.kernels import Linear
from svmkit.loop import solve
from svmkit.loss import Loss
from svmkit.solver import Solution, Solver
from svmkit.stopping import Criterion, Gap, Seconds, Stop, Violation
from svmkit.training import fit

CODE = {"hinge": 3, "squared_hinge": 1}  # LIBLINEAR's -s: the dual of the L1 and of the L2 loss
COLUMNS = (
    "data | loss | eps | LIBLINEAR: iterations, solver, gap | dcd, same D: solver, ratio | same gap: solver, ratio | "
    "same rule: iterations, solver, ratio | LinearSVC.fit, svmkit.fit, ratio"
)


class Found(NamedTuple):
    """What LIBLINEAR ended with."""

    primal: float
    dual: float
    n_iter: int
    seconds: float

    @property
    def gap(self) -> float:
        return (self.primal - self.dual) / self.primal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("-C", type=float, default=1.0)
    parser.add_argument("--eps", type=float, nargs="+", default=[0.1, 0.01])
    parser.add_argument("--loss", nargs="+", default=list(CODE), choices=list(CODE))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rows", type=int, help="the first ROWS rows only")
    parser.add_argument("--no-fit", action="store_true", help="leave out the last column")
    args = parser.parse_args()
    table, to_gap = [], []
    for name in args.data:
        X, y = data(name, args.rows)
        for loss in args.loss:
            solver: Solver = plugins.build("solver", "dcd", {"loss": loss})
            few = np.concatenate([np.flatnonzero(y > 0)[:200], np.flatnonzero(y < 0)[:200]])
            began = time.perf_counter()
            solution(X[few], y[few], args.C, solver, Gap(1e-2) | Seconds(5))
            print(f"{name} {loss}: {time.perf_counter() - began:.1f} s to compile or load", file=sys.stderr)
            table += [row(name, X, y, loss, solver, eps, args) for eps in args.eps]
            runs = [solution(X, y, args.C, solver, Gap(1e-3)) for _ in range(args.repeat)]
            seconds = median(run.seconds for run in runs)
            to_gap.append(f"| {name} | {loss} | {runs[0].n_iter:,} | {seconds:.3f} | {runs[0].certificate.gap:.1e} |")
    print("\n".join([f"| {COLUMNS} |", "|---" * (COLUMNS.count("|") + 1) + "|", *table, ""]))
    print("\n".join(["| data | loss | passes to a gap of 1e-3 | solver | certified gap |", "|---" * 5 + "|", *to_gap]))


def data(name: str, rows: int | None) -> tuple[sp.csr_matrix, np.ndarray]:
    """Float64 CSR with int32 indices, which scikit-learn needs, and signs."""
    name, _, label = name.partition("=")
    found = load(name)
    assert found.y is not None
    X = sp.csr_matrix(found.X[:rows], dtype=np.float64)
    X = sp.csr_matrix((X.data / np.abs(X.data).max(), X.indices.astype("i4"), X.indptr.astype("i4")), shape=X.shape)
    y = found.y[:rows]
    positive = y == (float(label) if label else np.unique(y)[-1])
    return X, np.where(positive, 1.0, -1.0)


def row(name: str, X, y, loss: str, solver: Solver, eps: float, args) -> str:
    """One line of the table."""
    theirs, same_D, same_gap, same_rule, fits = [], [], [], [], []
    for _ in range(args.repeat):
        theirs.append(liblinear(X, y, loss, args.C, eps))
        best = theirs[0]
        same_D.append(solution(X, y, args.C, solver, Gap(best.gap) | Dual(best.dual)))
        same_gap.append(solution(X, y, args.C, solver, Stop((Gap(best.gap),))))
        same_rule.append(solution(X, y, args.C, solver, Stop((Violation(eps),))))
        if not args.no_fit:
            fits.append((fitted_by_sklearn(X, y, loss, args.C, eps), fitted(X, y, solver, args.C, eps)))
    assert all(run.certificate.dual >= best.dual - 1e-9 * best.primal for run in same_D)
    base = median(run.seconds for run in theirs)
    cells = [name, loss, f"{eps:g}", f"{best.n_iter:,}, {base:.3f}, {best.gap:.1e}"]
    for runs in (same_D, same_gap, same_rule):
        seconds = median(run.seconds for run in runs)
        count = f"{runs[0].n_iter:,}, " if runs is same_rule else ""
        cells.append(f"{count}{seconds:.3f}, {seconds / base:.2f}")
    if fits:
        a, b = (median(pair[k] for pair in fits) for k in (0, 1))
        cells.append(f"{a:.3f}, {b:.3f}, {b / a:.2f}")
    line = f"| {' | '.join(cells)} |"
    print(line, file=sys.stderr)
    return line


class Dual(Criterion):
    """The dual value is as good as `limit`; ends like a budget, so that no certificate is asked for."""

    status = Seconds.status

    def holds(self, info, n_iter, epochs, seconds):
        return -info.objective >= self.limit


def solution(X, y, C: float, solver: Solver, stop: Criterion | Stop) -> Solution:
    """One solve by svmkit; Solution.seconds is its time without norms."""
    return solve(solver.pose(Gram(Linear(), X), y, C), solver, stop=stop)


def fitted(X, y, solver: Solver, C: float, eps: float) -> float:
    return clocked(lambda: fit(X, y, solver=solver, kernel=Linear(), C=C, stop=Violation(eps)))


def fitted_by_sklearn(X, y, loss: str, C: float, eps: float) -> float:
    return clocked(lambda: LinearSVC(loss=loss, dual=True, C=C, tol=eps, max_iter=10**7, random_state=0).fit(X, y))


def clocked(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def liblinear(X, y, loss: str, C: float, eps: float) -> Found:
    """LIBLINEAR itself, without LinearSVC around it; it tells its dual value on stdout only."""

    def call(max_iter: int):
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _liblinear.train_wrap(
                X, (y > 0).astype(float), True, CODE[loss], eps, 1.0, C, np.ones(2), max_iter, 0, 0.1, np.ones(len(y))
            )
        return found, time.perf_counter() - began

    _liblinear.set_verbosity_wrap(0)
    _, setup = call(0)
    _liblinear.set_verbosity_wrap(1)
    with Said() as said:
        (w, n_iter), seconds = call(10**7)
    dual = -float(re.search(r"Objective value = (\S+)", said.text)[1])
    w = w.ravel()
    slack = 1.0 - y * (X @ w[:-1] + w[-1])
    primal = 0.5 * float(w @ w) + Loss.of(loss).total(slack, np.full(len(y), C))
    return Found(primal, dual, int(n_iter[0]), seconds - setup)


class Said:
    """What C code writes to stdout, as `text`."""

    def __enter__(self) -> Said:
        sys.stdout.flush()
        self._file, self._stdout = tempfile.TemporaryFile(), os.dup(1)
        os.dup2(self._file.fileno(), 1)
        return self

    def __exit__(self, *_) -> None:
        ctypes.CDLL(None).fflush(None)
        os.dup2(self._stdout, 1)
        os.close(self._stdout)
        self._file.seek(0)
        self.text = self._file.read().decode()
        self._file.close()


if __name__ == "__main__":
    main()
