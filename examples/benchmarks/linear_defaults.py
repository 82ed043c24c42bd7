"""Linear models as people call them: svmkit beside LinearSVC() and LinearSVR(), all defaults, in turns in one process.

    python examples/benchmarks/linear_defaults.py                    # all sets
    python examples/benchmarks/linear_defaults.py a9a diabetes       # some
    python examples/benchmarks/linear_defaults.py --repeat 5 --insert docs/linear.md

Dense sets are standardised, sparse ones divided by their largest value. A time is the least of the turns in
seconds, without compilation. "gap" and "status" are the certificate of ours; "their gap" is that of LinearSVC's and
LinearSVR's own problem, whose bias is in the penalty, at their weights, from a lower bound on its optimum by svmkit
at gap 1e-6. Generated sets are seeded.
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
from linear_sets import Blocks, Data, collect, gaussians, texts
from peers_regression_sets import standardised
from peers_tables import insert
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_friedman1
from sklearn.svm import LinearSVC, LinearSVR

from svmkit import SVMClassifier, SVMRegressor, fit, plugins
from svmkit.data import load
from svmkit.kernels import Linear
from svmkit.solver.stopping import Gap, Seconds

MARKS = "<!-- measured by linear_defaults.py: begin -->", "<!-- measured by linear_defaults.py: end -->"
COLUMNS = "set | svmkit, s | LinearSVC, s | ratio | solver, status, gap | their gap | accuracy or R2 on other rows"


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
    seconds: tuple[list[float], list[float]] = ([], [])
    for k in range(1000):
        if k > repeat and sum(seconds[0]) + sum(seconds[1]) > SHORT:
            break
        for model, taken in zip((ours, theirs), seconds, strict=True):
            began = time.perf_counter()
            model.fit(X, y)
            taken.append(time.perf_counter() - began)
        if k == 0:
            del seconds[0][:], seconds[1][:]
    a, b = min(seconds[0]), min(seconds[1])
    scores = ours.score(X_test, y_test), theirs.score(X_test, y_test)
    facts = f"{_solver(X, y, regress, C)}, {ours.status_}, {ours.gap_:.1e}"
    gap = _gap(theirs, X, y, regress, C) if regress or len(theirs.classes_) == 2 else math.nan
    return f"| {name} | {a:.4f} | {b:.4f} | {a / b:.2f} | {facts} | {gap:.1e} | {scores[0]:.4f}, {scores[1]:.4f} |"


def _solver(X, y, regress: bool, C: float) -> str:
    """Return the name of the solver that `auto` takes."""
    few = Seconds(1e-9)
    return fit(X, y, kernel=Linear(), C=C, task="regress" if regress else "classify", stop=few).choices[0].solver


def _gap(model, X, y, regress: bool, C: float) -> float:
    """Return the relative gap of the peer's weights in its own problem."""
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    h = X @ w + b
    if regress:
        loss, losses = "absolute_error", np.abs(y - h)
    else:
        loss, losses = "squared_hinge", np.maximum(1.0 - np.where(y == model.classes_[1], 1.0, -1.0) * h, 0.0) ** 2
    primal = 0.5 * (w @ w + b * b) + C * float(losses.sum())
    solver = plugins.build("solver", "auto", {"bias": 1.0, "loss": loss})
    bound = fit(
        X, y, kernel=Linear(), C=C, solver=solver, stop=Gap(1e-6) | Seconds(60.0),
        task="regress" if regress else "classify",
    ).dual_objective  # fmt: skip
    return math.nan if bound is None else (primal - bound) / primal


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
    ratios = [float(line.split(" | ")[3]) for line in lines[2:]]
    lines.append(f"\nGeometric mean of the ratios: {geometric_mean(ratios):.2f}; the largest one: {max(ratios):.2f}.")
    print(lines[-1])
    if args.insert:
        insert(args.insert, "\n".join(lines), MARKS)


if __name__ == "__main__":
    main()
