"""Linear models as people call them: svmkit beside LinearSVC() and LinearSVR(), all defaults, in turns in one process.

    python examples/benchmarks/linear_defaults.py                    # all sets
    python examples/benchmarks/linear_defaults.py a9a diabetes       # some
    python examples/benchmarks/linear_defaults.py --repeat 5 --insert docs/linear.md

Dense sets are standardised, sparse ones divided by their largest value. A time is the least of the turns in
seconds, without compilation. "gap" and "status" are the certificate of ours; "their gap" is that of LinearSVC's and
LinearSVR's own problem, whose bias is in the penalty, at their weights, from a lower bound on its optimum by svmkit
at gap 1e-6 or after a minute. The best options are the faster of dual=True and dual=False, each with the loosest
tolerance of 1, 0.1, 0.01, ... that takes their gap to 1e-3, within 30 s. Generated sets are seeded.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
import scipy.sparse as sp
from linear_large import GAP, TOLERANCES
from linear_sets import Blocks, Data, collect, gaussians, texts
from peers_regression_sets import standardised
from peers_tables import insert, number
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_friedman1
from sklearn.svm import LinearSVC, LinearSVR

from svmkit import SVMClassifier, SVMRegressor, fit, plugins
from svmkit.data import load
from svmkit.kernels import Linear
from svmkit.solver.stopping import Gap, Seconds

MARKS = "<!-- measured by linear_defaults.py: begin -->", "<!-- measured by linear_defaults.py: end -->"
COLUMNS = (
    "set | svmkit, s | LinearSVC, s | ratio | with its best options, s | ratio | which | solver, status, gap | "
    "their gap | accuracy or R2 on other rows"
)
PROBE, ITERATIONS = 10, 10_000  # iterations of the peer, at first and at most, when its best options are looked for
PATIENCE = 30.0  # seconds of a fit then: as many iterations as it takes


def generated(generator: Callable[..., Blocks], *args: Any) -> Data:
    """Return all rows of a generated set."""
    return collect(generator(*args))


def real(name: str) -> Data:
    """Return a real set; a sparse one over its largest value."""
    data = load(name)
    X = data.X
    return (X / abs(X).max() if sp.issparse(X) else standardised(X)), np.asarray(data.y)


def bundled(loader: Callable[..., Data]) -> Data:
    """Return a set that scikit-learn brings along."""
    X, y = loader(return_X_y=True)
    return standardised(X), y


CLASSIFY: dict[str, Callable[[], Data]] = {
    "gaussians 200,000 x 200": partial(generated, gaussians, 200_000, 200, 2.0),
    "gaussians 500,000 x 20": partial(generated, gaussians, 500_000, 20, 2.0),
    "7 classes 58,000 x 9": partial(generated, gaussians, 58_000, 9, 4.0, 7, 0.0005),
    "gaussians 100,000 x 100, nearly separable": partial(generated, gaussians, 100_000, 100, 8.0),
    "gaussians 4,601 x 57": partial(generated, gaussians, 4_601, 57, 2.5),
    "gaussians 5,000 x 30": partial(generated, gaussians, 5_000, 30, 2.0),
    "breast_cancer": partial(bundled, load_breast_cancer),
    "digits": partial(bundled, load_digits),
    **{name: partial(real, name) for name in ("letter.scale", "usps", "a9a", "w8a", "ijcnn1")},
    "texts 50,000 x 200,000": partial(generated, texts, 50_000, 200_000, 75),
}
REGRESS: dict[str, Callable[[], Data]] = {
    "diabetes": partial(bundled, load_diabetes),
    "friedman 2,000 x 10": partial(make_friedman1, 2_000, noise=1.0, random_state=0),
    "friedman 50,000 x 10": partial(make_friedman1, 50_000, noise=1.0, random_state=0),
}
SHORT = 0.5  # seconds of all turns, below which there are more of them
COSTS = (1.0, 100.0)  # in regression


def measure(name: str, repeat: int) -> list[str]:
    """Return the lines of a set, one for each cost."""
    regress = name in REGRESS
    X, y = (REGRESS if regress else CLASSIFY)[name]()
    order = np.random.default_rng(0).permutation(X.shape[0])
    train, test = np.split(order, [int(0.9 * len(order))])
    given = X[train], y[train], X[test], y[test]
    return [
        _compare(name if C == 1.0 else f"{name}, C {C:g}", *given, regress, C, repeat) for C in COSTS[: 1 + regress]
    ]


def _compare(name: str, X, y, X_test, y_test, regress: bool, C: float, repeat: int) -> str:
    kind, peer = (SVMRegressor, LinearSVR) if regress else (SVMClassifier, LinearSVC)
    ours, theirs = kind(kernel="linear", C=C), peer(C=C)
    few = slice(0, 200)
    if regress or len(np.unique(y[few])) == len(np.unique(y)):
        kind(kernel="linear", C=C).fit(X[few], y[few])  # compiles
    judge = Judge(X, y, regress, C)
    best = judge.find_best(peer)
    a, b, *rest = _time_turns([ours, theirs, *best], X, y, repeat)
    c = rest[0] if rest else math.nan
    options = f"dual={best[0].dual}, tol={best[0].tol:g}" if best else f"none reaches {GAP:g}"
    scores = ours.score(X_test, y_test), theirs.score(X_test, y_test)
    facts = f"{_solver(X, y, regress, C)}, {ours.status_}, {ours.gap_:.1e}"
    cells = f"{a:.4f}", f"{b:.4f}", f"{a / b:.2f}", number(c, ".4f"), number(a / c, ".2f"), options, facts
    return f"| {name} | {' | '.join(cells)} | {judge.gap(theirs):.1e} | {scores[0]:.4f}, {scores[1]:.4f} |"


def _time_turns(models: list[Any], X, y, repeat: int) -> list[float]:
    """Return the least seconds of each model, after a first turn that does not count."""
    seconds: list[list[float]] = [[] for _ in models]
    for k in range(1000):
        if k > repeat and sum(map(sum, seconds)) > SHORT:
            break
        for model, taken in zip(models, seconds, strict=True):
            taken.append(_seconds(model, X, y))
        if k == 0:
            seconds = [[] for _ in models]
    return [min(taken) for taken in seconds]


def _seconds(model, X, y) -> float:
    began = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - began


def _solver(X, y, regress: bool, C: float) -> str:
    """Return the name of the solver that `auto` takes."""
    few = Seconds(1e-9)
    return fit(X, y, kernel=Linear(), C=C, task="regress" if regress else "classify", stop=few).choices[0].solver


class Judge:
    """The peer's own problem, which has the bias in the penalty: one for each class against the rest, if there are more
    than two, whose objectives are added up.
    """

    def __init__(self, X, y, regress: bool, C: float) -> None:
        self.X, self.y, self.C = X, y, C
        self.loss, self.task = ("absolute_error", "regress") if regress else ("squared_hinge", "classify")
        classes = np.unique(y)
        self.targets = (
            y[:, None] if regress else np.where(y[:, None] == classes[-1 if len(classes) == 2 else 0 :], 1.0, -1.0)
        )
        self.bound = sum(map(self._bound, self.targets.T))

    def _bound(self, target: np.ndarray) -> float:
        """Return a lower bound on the optimum."""
        solver = plugins.build("solver", "auto", {"bias": 1.0, "loss": self.loss})
        stop = Gap(1e-6) | Seconds(60.0 / self.targets.shape[1])
        found = fit(self.X, target, kernel=Linear(), C=self.C, solver=solver, stop=stop, task=self.task).dual_objective
        return math.nan if found is None else found

    def gap(self, model) -> float:
        """Return the relative gap of the peer's weights."""
        W, b = np.atleast_2d(model.coef_), np.ravel(model.intercept_)
        h = self.X @ W.T + b
        losses = np.abs(self.targets - h) if self.task == "regress" else np.maximum(1.0 - self.targets * h, 0.0) ** 2
        primal = 0.5 * float((W**2).sum() + b @ b) + self.C * float(losses.sum())
        return (primal - self.bound) / primal

    def find_best(self, peer) -> list[Any]:
        """Return the peer with the fastest options that reach the gap, in a list, which is empty if none do."""
        called = peer(C=self.C)
        seconds = _seconds(called, self.X, self.y)
        found = [(seconds, called)] if self.gap(called) <= GAP else []
        for dual in (True, False):
            model = peer(C=self.C, dual=dual, random_state=0)
            try:
                seconds = _seconds(model.set_params(max_iter=PROBE), self.X, self.y)
            except ValueError:  # absolute errors have no primal solver
                continue
            most = int(np.clip(PROBE * PATIENCE / seconds, PROBE, ITERATIONS))
            for tol in TOLERANCES:
                seconds = _seconds(model.set_params(tol=tol, max_iter=most), self.X, self.y)
                if self.gap(model) <= GAP:
                    found.append((min(seconds, _seconds(model, self.X, self.y)), model))
                    break
                if seconds > 0.5 * PATIENCE:
                    break
        return [min(found, key=lambda pair: pair[0])[1]] if found else []


def main() -> None:
    """Measure the sets and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="parts of the names of sets; default: all")
    parser.add_argument("--repeat", type=int, default=3, help="turns, at least (default 3)")
    parser.add_argument("--insert", type=Path, metavar="FILE.md", help="write the table between the marks of a file")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [f"| {COLUMNS} |", "|" + "---|" * len(COLUMNS.split(" | "))]
    print(*lines, sep="\n")
    for name in [*CLASSIFY, *REGRESS]:
        if not args.sets or any(part in name for part in args.sets):
            for line in measure(name, args.repeat):
                lines.append(line)
                print(line, flush=True)
    rows = [line.split(" | ") for line in lines[2:]]
    for k, words in ((3, "defaults"), (5, "best options")):
        ratios = [float(row[k]) for row in rows if row[k]]
        if ratios:
            lines.append(f"\nTo its {words}: geometric mean {geometric_mean(ratios):.2f}, at most {max(ratios):.2f}.")
    print(*lines[-2:], sep="\n")
    if args.insert:
        insert(args.insert, "\n".join(lines), MARKS)


if __name__ == "__main__":
    main()
