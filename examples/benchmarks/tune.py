"""Compare a search with shared paths of C with scikit-learn's own, over SVMClassifier and SVC, on the same folds.

    python examples/benchmarks/tune.py a1a --solvers swap2o smo fcsmo --Cs 9 --gammas 4 --cv 5

DATA is a set's name or a file. The table shows seconds of the whole search, iterations and kernel values of all fits,
the best accuracy, and the differences between the accuracies of single candidates and of the paths. One fit runs at a
time; times do not include compilation.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from svmkit import SVMClassifier, fit, load, tune
from svmkit.kernels.functions import RBF


class Counted(SVMClassifier):
    """An SVMClassifier that adds up the iterations and kernel values of its fits."""

    iterations, values = 0, 0

    def _take(self, trained: Any, *more: Any) -> None:
        super()._take(trained, *more)
        Counted.iterations += trained.n_iter
        Counted.values += trained.kernel_values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--rows", type=int, help="the first ROWS rows only")
    parser.add_argument("--solvers", nargs="+", default=["swap2o", "smo"])
    parser.add_argument("--Cs", type=int, default=9, help="values of C from 0.01 to 100")
    parser.add_argument("--gammas", type=int, default=4, help="values of gamma from 2^-9 to 2^-3")
    parser.add_argument("--cv", type=int, default=5)
    args = parser.parse_args()

    data = load(args.data)
    X, y = data.X[: args.rows], data.y[: args.rows]
    grid = {"C": np.geomspace(0.01, 100, args.Cs).tolist(), "gamma": np.geomspace(2**-9, 2**-3, args.gammas).tolist()}
    folds = StratifiedKFold(args.cv, shuffle=True, random_state=0)
    print(f"{data.name}: {X.shape[0]:,} rows, {args.Cs} C x {args.gammas} gamma, {args.cv} folds\n")
    print(f"{'':<24} {'seconds':>8} {'iterations':>11} {'values':>9} {'best':>8}  difference: most, mean")
    known: dict[tuple[float, float], float] = {}
    for solver in args.solvers:
        fit(X[:200], y[:200], solver=solver, kernel=RBF(0.1))
        began = time.perf_counter()
        found = tune.search(X, y, solver=solver, grid=grid, cv=args.cv)
        seconds = time.perf_counter() - began
        known = {(c.C, c.kernel.gamma): c.mean_accuracy for c in found.candidates}  # type: ignore[attr-defined]
        iterations, values = (
            round(args.cv * sum(getattr(c, of) for c in found.candidates)) for of in ("n_iter", "kernel_values")
        )
        row(f"{solver}: paths", seconds, found.best.mean_accuracy, iterations, values)
        Counted.iterations = Counted.values = 0
        seconds, accuracies = plain(Counted(solver=solver), grid, folds, X, y)
        differences = [abs(known[at] - accuracy) for at, accuracy in accuracies.items()]
        row(
            f"{solver}: GridSearchCV",
            seconds,
            max(accuracies.values()),
            Counted.iterations,
            Counted.values,
            differences,
        )
    seconds, accuracies = plain(SVC(), grid, folds, X, y)
    row("SVC: GridSearchCV", seconds, max(accuracies.values()))


def plain(estimator: Any, grid: dict, folds: Any, X: Any, y: Any) -> tuple[float, dict[tuple[float, float], float]]:
    """Seconds of scikit-learn's search, and {(C, gamma): mean accuracy}."""
    began = time.perf_counter()
    results = GridSearchCV(estimator, grid, cv=folds, refit=False).fit(X, y).cv_results_
    seconds = time.perf_counter() - began
    return seconds, {
        (p["C"], p["gamma"]): mean for p, mean in zip(results["params"], results["mean_test_score"], strict=True)
    }


def row(name: str, seconds: float, best: float, iterations: int = 0, values: int = 0, differences: Any = ()) -> None:
    """One line of the table; differences : of the accuracies of single candidates."""
    cost = f"{iterations:>11,} {values / 1e6:>7.0f} M" if iterations else " " * 21
    distance = f"  {max(differences):.2%}, {np.mean(differences):.2%}" if len(differences) else ""
    print(f"{name:<24} {seconds:>8.2f} {cost} {best:>8.2%}{distance}", flush=True)


if __name__ == "__main__":
    main()
