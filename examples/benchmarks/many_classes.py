"""One row of the table of docs/many_classes.md: one-versus-one, one-versus-rest, or Crammer and Singer's machine.

    python many_classes.py SET MODE [KERNEL]

SET is the name of a data set, whose test set is NAME.t, or a number of classes: then a set is generated, with 20
training rows and 2 test rows of each class in 50 columns. MODE is ovo, ovr or crammer_singer, KERNEL rbf or linear.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from typing import Any

import numpy as np

from svmkit import fit
from svmkit.data import load
from svmkit.kernels import RBF, Linear
from svmkit.solver import Gap

TRAIN, TEST, COLUMNS, NOISE = 20, 2, 50, 1.3
ROWS = 20_000  # at most so many rows of a data set, the first ones


def generated(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X and y to train on, then those to test on: normal clouds around k centres."""
    rng = np.random.default_rng(0)
    centres, y = rng.normal(size=(k, COLUMNS)), np.repeat(np.arange(k), TRAIN + TEST)
    X = centres[y] + NOISE * rng.normal(size=(len(y), COLUMNS))
    first = np.tile(np.arange(TRAIN + TEST) < TRAIN, k)
    order = rng.permutation(np.count_nonzero(first))
    return X[first][order], y[first][order], X[~first], y[~first]


def read(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return X and y of a data set and of its test set, with equally many columns."""
    train, test = load(name), load(name.replace(".scale", ".scale.t") if ".scale" in name else f"{name}.t")
    width = max(train.n_features, test.n_features)
    train, test = (load(data.name, n_features=width) for data in (train, test))
    return train.X[:ROWS], train.y[:ROWS], test.X, test.y


def main(name: str, mode: str, kernel: str = "rbf") -> None:
    X, y, X_test, y_test = generated(int(name)) if name.isdigit() else read(name)
    chosen = RBF("scale") if kernel == "rbf" else Linear()
    scale = None if name.isdigit() else "maxabs"
    few = np.concatenate([np.flatnonzero(y == c)[:5] for c in np.unique(y)[:3]])
    for memory in ("1GB", "1KB"):  # compiles the solvers for few and for many rows
        fit(X[few], y[few], kernel=chosen, multiclass=mode, memory=memory)
    before, began, cpu = peak(), time.perf_counter(), time.process_time()
    fitted = fit(X, y, kernel=chosen, multiclass=mode, scale=scale, stop=Gap(1e-2))
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    after, began = peak(), time.perf_counter()
    right = float((fitted.model.predict(X_test) == y_test).mean())
    predict = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        fitted.model.save(f"{folder}/a.model")
        size = os.path.getsize(f"{folder}/a.model") / 1e6
    print(
        f"| {name} | {mode} | {kernel} | {len(fitted.solutions):,} | {right:.2%} | {took:.1f} | {cpu:.1f} | "
        f"{predict:.2f} | {len(fitted.support):,} | {size:.1f} | {before:.0f} -> {after:.0f} | {fitted.status}, "
        f"{fitted.gap:.1e} |"
    )


def peak() -> float:
    """Return the most memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main(*sys.argv[1:])
