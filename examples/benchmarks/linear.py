"""Compare dcd with LIBLINEAR (scikit-learn's LinearSVC): time to the same objective, to the same gap, by the same rule.

    python examples/benchmarks/linear.py a9a w8a mnist=3 -C 1 --repeat 3
    python examples/benchmarks/linear.py a9a w8a mnist=3 --repeat 5 --eps --gap 1e-2 1e-3 1e-4

DATA are names of sets or files; with NAME=LABEL that label is one class and all other labels are the other. Values are
divided by the largest one. LIBLINEAR runs at each eps of --eps and prints its dual value D; P is computed from its
weights. Then dcd is timed until its dual value is as good, until its certified gap is as small, and with `kkt:eps`,
LIBLINEAR's own rule. All runs alternate, and times are medians in seconds without compilation. With --cpu, times are
processor times with both threads of a certificate, which are more reliable on a machine in use by others.

"solver" leaves out the time that LIBLINEAR takes for its own copy of the data (the time of a call without iterations)
and that dcd takes for norms; "fit" is LinearSVC.fit and svmkit.fit with checks and conversions, at the same rule.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC, _liblinear

from svmkit import plugins
from svmkit.data import load
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import make_loss
from svmkit.solver.base import Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Solution
from svmkit.solver.stopping import Criterion, Gap, Seconds, Stop, Violation
from svmkit.training.train import fit

CODE = {"hinge": 3, "squared_hinge": 1}  # LIBLINEAR's -s: the dual of the L1 and of the L2 loss
SHARED = (
    "data | loss | gap | one worker: passes, visits, solver | {} workers, same gap: passes, visits, solver, ratio | "
    "same D: solver, ratio"
)
COLUMNS = (
    "data | loss | eps | LIBLINEAR: iterations, solver, gap | dcd, same D: solver, ratio | same gap: solver, ratio | "
    "same rule: iterations, solver, ratio | LinearSVC.fit, svmkit.fit, ratio"
)


class Found(NamedTuple):
    """The result of LIBLINEAR."""

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
    parser.add_argument("--eps", type=float, nargs="*", default=[0.1, 0.01])
    parser.add_argument("--gap", type=float, nargs="+", default=[1e-3])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--loss", nargs="+", default=list(CODE), choices=list(CODE))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rows", type=int, help="the first ROWS rows only")
    parser.add_argument("--no-fit", action="store_true", help="leave out the last column")
    parser.add_argument("--cpu", dest="clock", action="store_const", default=time.perf_counter, const=time.process_time)
    args = parser.parse_args()
    table, shared = [], []
    for name in args.data:
        X, y = data(name, args.rows)
        for loss in args.loss:
            solver: Solver = plugins.build("solver", "dcd", {"loss": loss, "workers": 1})
            few = np.concatenate([np.flatnonzero(y > 0)[:200], np.flatnonzero(y < 0)[:200]])
            first = solved(X[few], y[few], solver, Gap(1e-2) | Seconds(5), args)
            print(f"{name} {loss}: {first.seconds:.1f} s to compile or load", file=sys.stderr)
            table += [row(name, X, y, loss, solver, eps, args) for eps in args.eps]
            many: Solver = plugins.build("solver", "dcd", {"loss": loss, "workers": args.workers})
            solved(X, y, many, Seconds(0.01), args)  # compiles
            shared += [together(name, X, y, loss, (solver, many), gap, args) for gap in args.gap]
    for columns, lines in ((COLUMNS, table), (SHARED.format(args.workers), shared)):
        if lines:
            print("\n".join([f"| {columns} |", "|---" * (columns.count("|") + 1) + "|", *lines, ""]))


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
        theirs.append(liblinear(X, y, loss, eps, args))
        best = theirs[0]
        same_D.append(solved(X, y, solver, Dual(best.dual) | Again(eps), args))
        same_gap.append(solved(X, y, solver, Gap(best.gap), args))
        same_rule.append(solved(X, y, solver, Violation(eps), args))
        if not args.no_fit:
            fits.append((fitted_by_sklearn(X, y, loss, eps, args), fitted(X, y, solver, eps, args)))
    assert all(run.solution.certificate.dual >= best.dual - 1e-7 * best.primal for run in same_D)
    base = median(run.seconds for run in theirs)
    cells = [name, loss, f"{eps:g}", f"{best.n_iter:,}, {base:.3f}, {best.gap:.1e}"]
    for runs in (same_D, same_gap, same_rule):
        seconds = median(run.seconds for run in runs)
        count = f"{runs[0].solution.n_iter:,}, " if runs is same_rule else ""
        cells.append(f"{count}{seconds:.3f}, {seconds / base:.2f}")
    if fits:
        a, b = (median(pair[k] for pair in fits) for k in (0, 1))
        cells.append(f"{a:.3f}, {b:.3f}, {b / a:.2f}")
    line = f"| {' | '.join(cells)} |"
    print(line, file=sys.stderr)
    return line


def together(name: str, X, y, loss: str, solvers: tuple[Solver, Solver], gap: float, args) -> str:
    """One line of the second table; "visits" are visits to points, in units of all points."""
    runs: list[list[Timed]] = []
    seen = [Seen(1.0), Seen(1.0)]
    for _ in range(args.repeat):
        one, many = (solved(X, y, solver, Gap(gap) | look, args) for solver, look in zip(solvers, seen, strict=True))
        best = Dual((runs[0][0] if runs else one).solution.certificate.dual) | Nearer(gap)
        runs.append([one, many, *(solved(X, y, solver, best, args) for solver in solvers)])
    seconds = [median(run[k].seconds for run in runs) for k in range(4)]
    cells = [name, loss, f"{gap:g}"]
    for k in range(2):
        cells.append(f"{runs[0][k].solution.n_iter:,}, {seen[k].epochs:.0f}, {seconds[k]:.3f}")
    cells[-1] += f", {seconds[1] / seconds[0]:.2f}"
    line = f"| {' | '.join(cells)} | {seconds[3]:.3f}, {seconds[3] / seconds[2]:.2f} |"
    print(line, file=sys.stderr)
    return line


class Dual(Criterion):
    """Hold when the dual value is as good as `limit`; ends the solve at once, like a budget."""

    status = Seconds.status

    def holds(self, info, n_iter, epochs, seconds):
        return -info.objective >= self.limit


class Again(Violation):
    """Look at points that were left out again when LIBLINEAR does so; never ends a solve."""

    def holds(self, info, n_iter, epochs, seconds):
        return info.shrunk and info.violation <= self.limit


class Nearer(Gap):
    """The same, decided by the estimated gap."""

    def holds(self, info, n_iter, epochs, seconds):
        return info.shrunk and info.gap <= self.limit


class Seen(Criterion):
    """Never ends a solve; `epochs` are the epochs of the last step."""

    status = Seconds.status
    epochs = 0.0

    def holds(self, info, n_iter, epochs, seconds):
        object.__setattr__(self, "epochs", epochs)
        return False


class Timed(NamedTuple):
    """A solution by svmkit and the seconds of `solve` without the norms."""

    solution: Solution
    seconds: float


def solved(X, y, solver: Solver, stop: Criterion | Stop, args) -> Timed:
    problem = solver.pose(Gram(Linear(), X), y, args.C)
    return Timed(*clocked(lambda: solve(problem, solver, stop=stop), args))


def fitted(X, y, solver: Solver, eps: float, args) -> float:
    return clocked(lambda: fit(X, y, solver=solver, kernel=Linear(), C=args.C, stop=Violation(eps)), args)[1]


def fitted_by_sklearn(X, y, loss: str, eps: float, args) -> float:
    model = LinearSVC(loss=loss, dual=True, C=args.C, tol=eps, max_iter=10**7, random_state=0)
    return clocked(lambda: model.fit(X, y), args)[1]


def clocked(work: Callable[[], Any], args) -> tuple[Any, float]:
    """(what `work` returns, seconds)."""
    began = args.clock()
    result = work()
    return result, args.clock() - began


def liblinear(X, y, loss: str, eps: float, args) -> Found:
    """LIBLINEAR itself, without LinearSVC around it; it prints its dual value on stdout only."""

    def call(max_iter: int):
        signs, weights = (y > 0).astype(float), np.ones(len(y))
        given = X, signs, True, CODE[loss], eps, 1.0, args.C, np.ones(2), max_iter, 0, 0.1, weights
        return clocked(lambda: _liblinear.train_wrap(*given), args)

    _liblinear.set_verbosity_wrap(0)
    _, setup = call(0)
    _liblinear.set_verbosity_wrap(1)
    with Said() as said:
        (w, n_iter), seconds = call(10**7)
    _liblinear.set_verbosity_wrap(0)
    dual = -float(re.search(r"Objective value = (\S+)", said.text)[1])
    w = w.ravel()
    losses = make_loss(loss, "classify").value(y, X @ w[:-1] + w[-1])
    primal = 0.5 * float(w @ w) + args.C * float(losses.sum())
    return Found(primal, dual, int(n_iter[0]), seconds - setup)


class Said:
    """Capture what C code writes to stdout, as `text`."""

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
