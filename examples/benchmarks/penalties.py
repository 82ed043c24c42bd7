"""Linear models whose penalty leaves few columns: `cd` beside LIBLINEAR, skglm, celer and scikit-learn.

    python examples/benchmarks/penalties.py                          # all sets, losses and penalties
    python examples/benchmarks/penalties.py w8a --penalties elasticnet group
    python examples/benchmarks/penalties.py a9a "dense 50,000 x 100" --losses logistic
    python examples/benchmarks/penalties.py --repeat 5 --insert docs/linear.md

The penalty l1 comes with three losses, the elastic net (half of it |w|_1) and groups of five columns with the squared
error. C is 10 and 100 times the smallest one that leaves a weight, without a bias. Times are the least seconds of
processor time of some turns, one of each after the other until a second has passed, on the same arrays (by rows;
`--by-columns` gives peers CSC and Fortran order), without compilation and on one thread each.
The peers take the largest power of ten as tolerance that brings P close enough to the optimum, which they cannot know;
`cd` stops at a certified gap of that size. The optimum is P of `cd` at a gap of 1e-10. LIBLINEAR is `LinearSVC` and
`LogisticRegression`, scikit-learn is `ElasticNet`; peers that are not installed (pip install skglm celer) are left out.
OMP_NUM_THREADS=1 in the environment keeps peers to one thread, `cd` has one anyway.
"""

from __future__ import annotations

import argparse
import itertools
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
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.svm import LinearSVC

from svmkit import Gram, plugins, solve
from svmkit.data import load
from svmkit.kernels import Linear
from svmkit.losses import Logistic, Loss, SquaredError, SquaredHinge
from svmkit.problems import Penalty, make_penalty
from svmkit.solver.solution import Solution
from svmkit.solver.stopping import Gap, Iterations

MARKS = "<!-- measured by penalties.py: begin -->", "<!-- measured by penalties.py: end -->"
TIMES, CLOSE = (10.0, 100.0), (1e-4, 1e-6)
SLOPES = {"squared_hinge": 2.0, "logistic": 0.5, "squared_error": 2.0}  # of a unit of loss at h = 0
KINDS: dict[str, Loss] = {"squared_hinge": SquaredHinge(), "logistic": Logistic(), "squared_error": SquaredError()}
LOSSES = {"l1": list(KINDS), "elasticnet": ["squared_error"], "group": ["squared_error"]}  # that go with a penalty
GROUP = 5  # columns of a group
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


def make(name: str, d: int) -> Penalty:
    """Return a penalty on d columns by its name; d % GROUP columns of groups are groups of their own."""
    return make_penalty(name, 0.5, [GROUP] * (d // GROUP))


def smallest(X, y: np.ndarray, loss: str, penalty: Penalty) -> float:
    """Return the smallest C that leaves a weight, of labels or targets of mean 0."""
    return penalty.l1 / (SLOPES[loss] * penalty.largest(np.ravel(X.T @ y)))


def train(X, y: np.ndarray, C: float, loss: str, gap: float, penalty: Penalty) -> Solution:
    """Return what `cd` finds, certified."""
    kind = KINDS[loss]
    solver = plugins.build("solver", "cd", {"loss": kind, "bias": 0.0, **penalty.params})
    return solve(solver.pose(Gram(Linear(), X), y, C, kind), solver, stop=Gap(gap) | Iterations(5000), n_threads=1)


def peers(X, y: np.ndarray, C: float, loss: str, penalty: Penalty) -> Iterator[tuple[str, Fit]]:
    """Yield the peers of a loss and a penalty, as functions from a tolerance to weights (d,)."""
    m, given = len(y), {"fit_intercept": False}
    makers: dict[str, Callable[..., Any]] = {}
    if penalty.name == "l1":
        classifier = {"penalty": "l1", "C": C, "max_iter": 3000, **given}
        if loss == "squared_hinge":
            makers["LIBLINEAR"] = partial(LinearSVC, dual=False, **classifier)
        if loss == "logistic":
            makers["LIBLINEAR"] = partial(LogisticRegression, solver="liblinear", **classifier)
    squares = {"alpha": 0.5 / (C * m), **given}
    if penalty.name == "elasticnet":
        squares["l1_ratio"] = penalty.l1
        makers["scikit-learn"] = partial(ElasticNet, max_iter=100_000, **squares)
    if loss != "squared_hinge" and find_spec("skglm"):
        import skglm

        if loss == "logistic":
            makers["skglm"] = partial(skglm.SparseLogisticRegression, alpha=1.0 / (C * m), max_iter=100, **given)
        else:
            makers["skglm"] = partial(choose(skglm, penalty, X.shape[1]), max_iter=100, **squares)
    if loss != "squared_hinge" and find_spec("celer"):
        import celer

        if loss == "logistic":
            makers["celer"] = partial(celer.LogisticRegression, C=C, **given)
        else:
            makers["celer"] = partial(choose(celer, penalty, X.shape[1]), **squares)
    for name, maker in makers.items():
        yield name, lambda tol, maker=maker: np.ravel(maker(tol=tol).fit(X, y).coef_)


def choose(library: Any, penalty: Penalty, d: int) -> Callable[..., Any]:
    """Return the estimator of least squares with a penalty in skglm or celer."""
    if not penalty.has_groups:
        return library.Lasso if penalty.name == "l1" else library.ElasticNet
    sizes = penalty.sizes(d)
    ends = np.append(0, np.cumsum(sizes))
    groups = [list(range(lo, hi)) for lo, hi in itertools.pairwise(ends.tolist())]
    return partial(library.GroupLasso, groups=groups, weights=np.sqrt(sizes.astype(np.float64)))


def objective(X, y: np.ndarray, C: float, loss: str, penalty: Penalty, w: np.ndarray) -> float:
    """Return P at weights w (d,)."""
    h = X @ w
    if loss == "squared_hinge":
        losses = np.square(np.maximum(1.0 - y * h, 0.0))
    else:
        losses = np.logaddexp(0.0, -y * h) if loss == "logistic" else np.square(y - h)
    return float(penalty.value(w) + C * losses.sum())


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
    """Return the largest tolerance with which a peer comes close enough, None if there is none within `PATIENCE` or the
    peer does not take the data.
    """
    for tol in TOLERANCES:
        began = time.process_time()
        try:
            w = fit(tol)
        except (TypeError, ValueError):
            break
        if distance(w) <= close:
            return tol
        if time.process_time() - began > PATIENCE:
            break
    return None


def measure(name: str, loss: str, penalty_name: str, repeat: int, by_columns: bool) -> list[list[str]]:
    """Return the lines of a set, a loss and a penalty, one for each C and distance."""
    X, y = SETS[name]()
    penalty = make(penalty_name, X.shape[1])
    what = f"{name}, {loss}" if penalty_name == "l1" else f"{name}, {loss}, {penalty_name}"
    given = X
    if by_columns:
        given = X.tocsc() if sp.issparse(X) else np.asfortranarray(X)
    lines = []
    for times in TIMES:
        C = times * smallest(X, y, loss, penalty)
        best = train(X, y, C, loss, 1e-10, penalty)
        optimum = best.certificate.primal

        def distance(w: np.ndarray, C: float = C, optimum: float = optimum) -> float:
            return (objective(X, y, C, loss, penalty, w) - optimum) / optimum

        for close in CLOSE:
            those = peers(given, y, C, loss, penalty)
            fits = {peer: (fit, choose_tolerance(fit, distance, close)) for peer, fit in those}
            works = [partial(train, X, y, C, loss, close, penalty)]
            works += [partial(fit, tol) for fit, tol in fits.values() if tol is not None]
            ours, *theirs = seconds(works, repeat)
            taken = iter(theirs)
            cells = [
                f"{peer}: not reached" if tol is None else f"{peer} {next(taken):.3f} (tol {tol:g})"
                for peer, (_, tol) in fits.items()
            ]
            reached = distance(train(X, y, C, loss, close, penalty).point)
            n = str(np.count_nonzero(best.point))
            worst = f"{ours / min(theirs):.2f}" if theirs else ""
            lines.append(
                [
                    what,
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
    parser.add_argument("--penalties", nargs="+", default=list(LOSSES), choices=list(LOSSES))
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--by-columns", action="store_true", help="give peers CSC and Fortran order")
    parser.add_argument("--insert", type=Path, help="a page into which the table goes")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name in args.sets:
        for penalty, loss in [(a, b) for a in args.penalties for b in LOSSES[a] if b in args.losses]:
            lines += measure(name, loss, penalty, args.repeat, args.by_columns)
            print(*(" | ".join(line) for line in lines[-len(TIMES) * len(CLOSE) :]), sep="\n", flush=True)
    head = "set, loss, penalty | C / smallest | weights | distance | cd, s | reached | peers, s | cd / fastest peer"
    text = "\n".join(markdown(head, lines))
    if args.insert:
        insert(args.insert, text, MARKS)


if __name__ == "__main__":
    main()
