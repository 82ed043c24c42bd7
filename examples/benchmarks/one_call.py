"""How many fits of SVC() one call takes that chooses C and gamma, in turns in one process: processor time and seconds.

The sets are the everyday ones of the benchmark page. Each number is the least of a few turns, of one where a fit of
SVC() takes some seconds. BLAS has one thread; svmkit has its own.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from peers_everyday import SETS
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from svmkit import SVMClassifier
from svmkit.data import load

STANDARD = "iris", "wine", "breast_cancer", "digits"  # whose columns get variance 1
ROUNDS, FITS = 5, 6  # of both sides in turns, and fits of SVC in a round
ROWS = 5_000  # of a set, about, on which all is compiled before
LONG = 0.5  # seconds of a fit of SVC() from which on there is one round, of one fit


def least(call: Callable[[], object], turns: int) -> np.ndarray:
    """Return the least processor time and the least seconds of a call."""
    found = []
    for _ in range(turns):
        began = time.process_time(), time.perf_counter()
        call()
        found.append((time.process_time() - began[0], time.perf_counter() - began[1]))
    return np.min(found, axis=0)


def without_single(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the rows of classes that have two and more, which can be held out."""
    classes, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, classes[counts > 1])
    return X[kept], y[kept]


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the labels of a set."""
    source, first = SETS[name]
    data = load(source)
    X, y = without_single(data.X[:first], np.asarray(data.y)[:first])
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    return StandardScaler().fit_transform(X) if name in STANDARD else X, y


def main() -> None:
    """Print a line for each set, and the geometric means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args, ratios = parser.parse_args(), []
    warnings.simplefilter("ignore")
    for name in args.sets:
        X, y = rows_of(name)
        sides = [SVC(), SVMClassifier(C="cv", gamma="cv")]
        best = np.full((2, 2), np.inf)
        with threadpool_limits(1):
            step = max(len(y) // ROWS, 1)
            sides[1].fit(*without_single(X[::step], y[::step]))  # compilation is off the clock
            best[0] = least(partial(sides[0].fit, X, y), 1)
            is_long = best[0, 1] > LONG
            for _ in range(1 if is_long else args.rounds):
                for k, side in enumerate(sides):
                    if k or not is_long:
                        best[k] = np.minimum(best[k], least(partial(side.fit, X, y), 1 if k else FITS))
        ratios.append(best[1] / best[0])
        cpu, wall = ratios[-1]
        print(f"{name:14} SVC {1e3 * best[0, 0]:8.2f} ms, one call {1e3 * best[1, 0]:8.1f} ms: {cpu:5.1f} fits", end="")
        print(f", {wall:5.1f} in seconds; {len(sides[1].cv_results_['params'])} candidates", flush=True)
    cpu, wall = np.exp(np.mean(np.log(ratios), axis=0))
    print(f"geometric mean {cpu:.1f} fits, {wall:.1f} in seconds")


if __name__ == "__main__":
    main()
