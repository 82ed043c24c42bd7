"""Linear models with the l1 penalty: `cd` beside LIBLINEAR, skglm and celer, each as close to the optimum.

    python examples/benchmarks/penalties.py                          # all sets and losses
    python examples/benchmarks/penalties.py a9a "dense 50,000 x 100" --losses logistic
    python examples/benchmarks/penalties.py --repeat 5 --insert docs/linear.md

C is 10 and 100 times the smallest one that leaves a weight, without a bias. Times are the least seconds of processor
time of some turns, one of each after the other until a second has passed, on the same arrays (by rows; `--by-columns`
gives peers CSC and Fortran order), without compilation and on one thread each.
The peers take the largest power of ten as tolerance that brings P close enough to the optimum, which they cannot know;
`cd` stops at a certified gap of that size. The optimum is P of `cd` at a gap of 1e-10. LIBLINEAR is `LinearSVC` and
`LogisticRegression`; peers that are not installed (pip install skglm celer) are left out. OMP_NUM_THREADS=1 in the
environment keeps peers to one thread, `cd` has one anyway.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from linear_sets import Data, collect, texts
from peers_tables import insert, markdown
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from svmkit import Gram, plugins, solve
from svmkit.data import load
from svmkit.kernels import Linear
from svmkit.losses import Logistic, Loss, SquaredError, SquaredHinge
from svmkit.solver.solution import Solution
from svmkit.solver.stopping import Gap, Iterations

MARKS = "<!-- measured by penalties.py: begin -->", "<!-- measured by penalties.py: end -->"
TIMES, CLOSE = (10.0, 100.0), (1e-4, 1e-6)
SLOPES = {"squared_hinge": 2.0, "logistic": 0.5, "squared_error": 2.0}  # of a unit of loss at h = 0
KINDS: dict[str, Loss] = {"squared_hinge": SquaredHinge(), "logistic": Logistic(), "squared_error": SquaredError()}
TOLERANCES = [10.0**-k for k in range(11)]
MOST_TURNS, ENOUGH = 30, 1.0  # turns of short work, and seconds of all after which there are no more than asked for
PATIENCE = 20.0  # seconds of a fit, after which no smaller tolerance is tried
Fit = Callable[[float], np.ndarray]


def real(name: str) -> Data:
    """Return a real set with labels -1 and 1."""
    data = load(name)
    return data.X, np.where(np.asarray(data.y) > 0, 1.0, -1.0)


def words(m: int, d: int) -> Data:
    """Return a generated set of texts of 75 words."""
    X, y = collect(texts(m, d, 75))
    return sp.csr_matrix(X), np.where(y > 0, 1.0, -1.0)


def dense(m: int, d: int) -> Data:
    """Return normal columns, of which 20 decide on the class."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(m, d)), np.zeros(d)
    w[:20] = rng.normal(size=20)
    return X, np.where(X @ w + rng.normal(size=m) > 0.0, 1.0, -1.0)


SETS: dict[str, Callable[[], Data]] = {
    "a9a": partial(real, "a9a"),
    "w8a": partial(real, "w8a"),
    "texts 20,000 x 30,000": partial(words, 20_000, 30_000),
    "dense 50,000 x 100": partial(dense, 50_000, 100),
    "dense 1,000 x 5,000": partial(dense, 1_000, 5_000),
}


def train(X, y: np.ndarray, C: float, loss: str, gap: float) -> Solution:
    """Return what `cd` finds, certified."""
    kind = KINDS[loss]
    solver = plugins.build("solver", "cd", {"loss": kind, "bias": 0.0})
    return solve(solver.pose(Gram(Linear(), X), y, C, kind), solver, stop=Gap(gap) | Iterations(5000), n_threads=1)


def peers(X, y: np.ndarray, C: float, loss: str) -> Iterator[tuple[str, Fit]]:
    """Yield the peers of a loss, as functions from a tolerance to weights (d,)."""
    m, given = len(y), {"fit_intercept": False}
    classifier = {"penalty": "l1", "C": C, "max_iter": 3000, **given}
    makers: dict[str, Callable[..., Any]] = {}
    if loss == "squared_hinge":
        makers["LIBLINEAR"] = partial(LinearSVC, dual=False, **classifier)
    if loss == "logistic":
        makers["LIBLINEAR"] = partial(LogisticRegression, solver="liblinear", **classifier)
    if loss != "squared_hinge" and find_spec("skglm"):
        import skglm

        kind, alpha = (skglm.SparseLogisticRegression, 1.0) if loss == "logistic" else (skglm.Lasso, 0.5)
        makers["skglm"] = partial(kind, alpha=alpha / (C * m), max_iter=100, **given)
    if loss != "squared_hinge" and find_spec("celer"):
        import celer

        makers["celer"] = (
            partial(celer.LogisticRegression, C=C, **given)
            if loss == "logistic"
            else partial(celer.Lasso, alpha=0.5 / (C * m), **given)
        )
    for name, make in makers.items():
        yield name, lambda tol, make=make: np.ravel(make(tol=tol).fit(X, y).coef_)


def objective(X, y: np.ndarray, C: float, loss: str, w: np.ndarray) -> float:
    """Return P at weights w (d,)."""
    h = X @ w
    if loss == "squared_hinge":
        losses = np.square(np.maximum(1.0 - y * h, 0.0))
    else:
        losses = np.logaddexp(0.0, -y * h) if loss == "logistic" else np.square(y - h)
    return float(np.abs(w).sum() + C * losses.sum())


def seconds(works: list[Callable[[], Any]], repeat: int) -> list[float]:
    """Return the least seconds of processor time of each work: at least `repeat` turns, more of short ones."""
    least, turns, spent = [np.inf] * len(works), 0, 0.0
    while turns < repeat or (turns < MOST_TURNS and spent < ENOUGH):
        turns += 1
        for k, work in enumerate(works):
            began = time.process_time()
            work()
            took = time.process_time() - began
            least[k], spent = min(least[k], took), spent + took
    return least


def choose_tolerance(fit: Fit, distance: Callable[[np.ndarray], float], close: float) -> float | None:
    """Return the largest tolerance with which a peer comes close enough, None if there is none within `PATIENCE`."""
    for tol in TOLERANCES:
        began = time.process_time()
        if distance(fit(tol)) <= close:
            return tol
        if time.process_time() - began > PATIENCE:
            break
    return None


def measure(name: str, loss: str, repeat: int, by_columns: bool) -> list[list[str]]:
    """Return the lines of a set and a loss, one for each C and distance."""
    X, y = SETS[name]()
    given = X
    if by_columns:
        given = X.tocsc() if sp.issparse(X) else np.asfortranarray(X)
    lines = []
    for times in TIMES:
        C = times / (SLOPES[loss] * float(np.abs(X.T @ y).max()))
        best = train(X, y, C, loss, 1e-10)
        optimum = best.certificate.primal

        def distance(w: np.ndarray, C: float = C, optimum: float = optimum) -> float:
            return (objective(X, y, C, loss, w) - optimum) / optimum

        for close in CLOSE:
            fits = {peer: (fit, choose_tolerance(fit, distance, close)) for peer, fit in peers(given, y, C, loss)}
            works = [partial(train, X, y, C, loss, close)]
            works += [partial(fit, tol) for fit, tol in fits.values() if tol is not None]
            ours, *theirs = seconds(works, repeat)
            taken = iter(theirs)
            cells = [
                f"{peer}: not reached" if tol is None else f"{peer} {next(taken):.3f} (tol {tol:g})"
                for peer, (_, tol) in fits.items()
            ]
            reached = distance(train(X, y, C, loss, close).point)
            n = str(np.count_nonzero(best.point))
            worst = f"{ours / min(theirs):.2f}" if theirs else ""
            lines.append(
                [
                    f"{name}, {loss}",
                    f"{times:g}",
                    n,
                    f"{close:g}",
                    f"{ours:.3f}",
                    f"{reached:.0e}",
                    "; ".join(cells),
                    worst,
                ]
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS), help="sets; all by default")
    parser.add_argument("--losses", nargs="+", default=list(SLOPES), choices=list(SLOPES))
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--by-columns", action="store_true", help="give peers CSC and Fortran order")
    parser.add_argument("--insert", type=Path, help="a page into which the table goes")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name in args.sets:
        for loss in args.losses:
            lines += measure(name, loss, args.repeat, args.by_columns)
            print(*(" | ".join(line) for line in lines[-len(TIMES) * len(CLOSE) :]), sep="\n", flush=True)
    head = "set, loss | C / smallest | weights | distance | cd, s | reached | peers, s | cd / fastest peer"
    text = "\n".join(markdown(head, lines))
    if args.insert:
        insert(args.insert, text, MARKS)


if __name__ == "__main__":
    main()
