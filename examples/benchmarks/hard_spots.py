"""
Where small fits are hard
=========================

Time fits that were slower than scikit-learn's, each beside the same fit there.

.. code-block:: sh

    python examples/benchmarks/hard_spots.py [--turns 7] [--only classes]

The data are seeded: 100 and 200 classes of 20 rows each, a kernel that is a function, the sigmoid kernel and matrices
of kernel values, C = 1e4 on columns of scales from 0.1 to 100, and one-class models of 200 to 2,000 rows with the
squared loss, the default of `SVMOneClass`, and with the hinge, the loss of `OneClassSVM`. Both sides have their
defaults otherwise and take turns in one process; the best of the turns counts, by the clock and by the time of the
processor, which other processes disturb less.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from sklearn.svm import SVC, OneClassSVM

from svmkit import SVMClassifier, SVMOneClass

Fit = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--only", default="", help="part of the names of the fits to time")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| fit | svmkit ms | scikit-learn ms | ratio | of processor time | gap |\n|---|---|---|---|---|---|")
    for name, ours, theirs in fits():
        if args.only in name:
            print(row(name, ours, theirs, args.turns), flush=True)


def fits() -> Iterator[tuple[str, Fit, Fit]]:
    """Yield the name of each fit, ours and scikit-learn's."""
    for n_classes, m in ((100, 2_000), (200, 4_000)):
        X, y = clouds(n_classes, m)
        yield f"{n_classes} classes", classifier(X, y), peer(X, y)
    X, y = curved(1_000)
    yield "kernel is a function", classifier(X, y, kernel=gaussian), peer(X, y, kernel=gaussian)
    for m in (1_000, 4_000):
        yield f"sigmoid, {m} rows", *both(*curved(m), kernel="sigmoid")
    yield "sigmoid, 6435 rows, 6 classes", *both(*clouds(6, 6_435), kernel="sigmoid")
    for m in (500, 1_000, 2_000, 4_000):
        X, y = curved(m)
        yield f"matrix, {m} rows", *both(gaussian(X, X), y, kernel="precomputed")
    X, y = clouds(6, 2_000)
    yield "matrix, 2000 rows, 6 classes", *both(gaussian(X, X), y, kernel="precomputed")
    X, y = curved(1_000)
    for seed in range(3):
        wide = X * 10.0 ** np.random.default_rng(seed).uniform(-1, 2, X.shape[1])
        yield f"C = 1e4, scales {seed}", classifier(wide, y, C=1e4), peer(wide, y, C=1e4)
    for m in (200, 500, 1_000, 2_000):
        X = np.random.default_rng(m).normal(size=(m, 10))
        for loss, nu in product(("squared_hinge", "hinge"), (0.05, 0.3)):
            yield (
                f"one class, {loss}, {m} rows, nu {nu}",
                lambda X=X, loss=loss, nu=nu: SVMOneClass(loss=loss, nu=nu).fit(X),
                lambda X=X, nu=nu: OneClassSVM(nu=nu).fit(X),
            )


def classifier(X: np.ndarray, y: np.ndarray, **options) -> Fit:
    return lambda: SVMClassifier(**options).fit(X, y)


def peer(X: np.ndarray, y: np.ndarray, **options) -> Fit:
    return lambda: SVC(**options).fit(X, y)


def both(X: np.ndarray, y: np.ndarray, **options) -> tuple[Fit, Fit]:
    return classifier(X, y, **options), peer(X, y, **options)


def clouds(n_classes: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X (m, 20) and the classes of clouds around as many centres."""
    rng, y = np.random.default_rng(0), np.arange(m) % n_classes
    return 2.0 * rng.normal(size=(n_classes, 20))[y] + rng.normal(size=(m, 20)), y


def curved(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X (m, 10) and two classes on both sides of a parabola, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 10))
    return X, (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=m) > 1.0).astype(int)


def gaussian(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return the values of the kernel exp(-|x - z|^2 / 10)."""
    return np.exp(-0.1 * ((X**2).sum(1)[:, None] + (Z**2).sum(1)[None] - 2.0 * X @ Z.T))


def row(name: str, ours: Fit, theirs: Fit, turns: int) -> str:
    """Return a line of the table: the best of the turns of each side."""
    gap = ours().gap_  # compiles the loops
    theirs()
    wall, cpu = [[], []], [[], []]
    for _ in range(turns):
        for side, fit in enumerate((ours, theirs)):
            began, spent = time.perf_counter(), time.process_time()
            fit()
            wall[side].append(time.perf_counter() - began)
            cpu[side].append(time.process_time() - spent)
    (a, b), (c, d) = map(min, wall), map(min, cpu)
    known = "not certified" if gap is None else f"{np.max(gap):.1e}"
    return f"| {name} | {a * 1e3:.1f} | {b * 1e3:.1f} | {a / b:.2f} | {c / d:.2f} | {known} |"


if __name__ == "__main__":
    main()
