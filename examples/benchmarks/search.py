"""Time a search over C on simulated mixtures, by folds that share kernel values and by GridSearchCV(SVC).

    python examples/benchmarks/search.py 2000x10 10000x10 --memory 4GB

The cells are those of TorchKM's simulations (https://pypi.org/project/torchkm): rows of ten normal clusters, five of
each class, 50 values of C from 1e-3 to 1e3 and 10 folds, for one gamma that quantiles of distances give. The generator
is written anew and seeded by numpy. Each fit of svmkit is certified to a gap of 1e-3. GridSearchCV fits some values of
C only, and its time is scaled up. Times are seconds of the wall clock and of the processors, without compilation.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from svmkit import tune
from svmkit.kernels import RBF

CLUSTERS, SHIFT, SPREAD = 5, 2.0, 3.0  # of a class; of the means of a class, in half the columns; of a cluster


def mixture(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, d) of a mixture of normal clusters, and their classes -1.0 and 1.0 (n,)."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((2 * CLUSTERS, d))
    means[:CLUSTERS, : d // 2] += SHIFT
    means[CLUSTERS:, d // 2 :] += SHIFT
    is_second = rng.random(n) < 0.5
    X = SPREAD * rng.standard_normal((n, d))
    return X + means[rng.integers(0, CLUSTERS, n) + CLUSTERS * is_second], np.where(is_second, 1.0, -1.0)


def bandwidth(X: np.ndarray, seed: int = 0) -> float:
    """Return gamma by the rule of kernlab's sigest, of which TorchKM's kernel takes the double."""
    rng, n = np.random.default_rng(seed), len(X)
    squares = ((X[rng.integers(0, n, n // 2)] - X[rng.integers(0, n, n // 2)]) ** 2).sum(axis=1)
    return 2.0 * float(np.mean(1.0 / np.quantile(squares[squares > 0.0], [0.9, 0.1])))


def ours(X: np.ndarray, y: np.ndarray, Cs: list[float], gamma: float, args: Any) -> str:
    """Return a line on a search of svmkit."""
    wall, cpu = time.perf_counter(), time.process_time()
    how = {
        "cv": 10,
        "refine": "all",
        "jobs": args.jobs,
        "memory": args.memory,
        "backend": "threading" if args.apart else "loky",
    }
    found = tune.search(X, y, kernel=RBF(gamma), grid={"C": Cs}, **how)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    certified = sum(c.converged for c in found.candidates)
    best = found.best
    return f"{wall:8.2f} {cpu:8.2f}  {best.mean_accuracy:.2%} at C = {best.C:.3g}, {certified} of {len(Cs)} certified"


def peer(X: np.ndarray, y: np.ndarray, Cs: list[float], gamma: float, args: Any) -> str:
    """Return a line on GridSearchCV(SVC) over some of the values of C."""
    folds, some = StratifiedKFold(10, shuffle=True, random_state=0), Cs[args.each // 2 :: args.each]
    wall = time.perf_counter()
    found = GridSearchCV(SVC(gamma=gamma), {"C": some}, cv=folds, refit=False, n_jobs=args.jobs).fit(X, y)
    wall = (time.perf_counter() - wall) * len(Cs) / len(some)
    return (
        f"{wall:8.2f} {'':>8}  {found.best_score_:.2%} at C = {found.best_params_['C']:.3g}, {len(some)} of {len(Cs)} C"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="+", help="rows x columns, such as 2000x10")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--each", type=int, default=10, help="GridSearchCV fits every EACH-th C; 0 leaves it out")
    parser.add_argument("--apart", action="store_true", help="fit the folds apart, on joblib's threads")
    args = parser.parse_args()
    Cs = np.geomspace(1e-3, 1e3, 50).tolist()
    for n in (300, 1200):  # of which the second takes leaps
        X, y = mixture(n, 10)
        tune.search(X, y, kernel=RBF(bandwidth(X)), grid={"C": Cs}, cv=3)  # compiles
    print(f"{'':<30} {'seconds':>8} {'CPU':>8}")
    for cell in args.cells:
        n, d = (int(number) for number in cell.split("x"))
        X, y = mixture(n, d)
        gamma = bandwidth(X)
        print(f"{cell:<10} {'svmkit':<19} {ours(X, y, Cs, gamma, args)}", flush=True)
        if args.each:
            print(f"{'':<10} {'GridSearchCV(SVC)':<19} {peer(X, y, Cs, gamma, args)}", flush=True)


if __name__ == "__main__":
    main()
