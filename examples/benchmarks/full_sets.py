"""Full conformal prediction of few rows beside held-out rows and folds: coverage, size of sets, and seconds.

    python examples/benchmarks/full_sets.py

60 rows of each set train, drawn with their classes in proportion, and 80 others test, anew in each of ten splits;
alpha = 0.1, rbf, gamma = scale, standardised features. The seconds are those of all sets of the test rows, with fits.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.model_selection import train_test_split

from svmkit import SVMClassifier, full_conformal
from svmkit.data import load

ALPHA, SPLITS, ROWS, NEW = 0.1, 10, 60, 80
SETS = ("iris", "wine", "breast_cancer")


def measure(name: str, C: float, seed: int, way: str) -> tuple[float, float, float]:
    """Return coverage, mean size and seconds of one split."""
    data = load(name)
    X, X_new, y, truth = train_test_split(data.X, data.y, train_size=ROWS, stratify=data.y, random_state=seed)
    X_new, truth, own = X_new[:NEW], truth[:NEW], {"C": C, "scale": "standard"}
    began = time.perf_counter()
    if way == "full":
        sets = full_conformal(SVMClassifier("smo", **own), X, y, X_new) > ALPHA
    else:
        own |= {"conformal": ALPHA, "random_state": seed, "conformal_folds": 5 if way == "5 folds" else None}
        sets = SVMClassifier("smo", **own).fit(X, y).predict_sets(X_new)
    seconds = time.perf_counter() - began
    covered = sets[np.arange(len(truth)), np.searchsorted(np.unique(y), truth)]
    return float(covered.mean()), float(sets.sum(axis=1).mean()), seconds


def main() -> None:
    """Print a row for each set and C."""
    ways = ("full", "held out", "5 folds")
    full_conformal(SVMClassifier("smo"), [[0.0], [1.0]], [0, 1], [[0.5]])  # compiles
    print("| set | C | " + " | ".join(f"{way}: coverage | mean size | seconds" for way in ways) + " |")
    print("|---|---|" + "---|" * (3 * len(ways)))
    for name in SETS:
        for C in (0.1, 1.0, 10.0):
            cells = [name, f"{C:g}"]
            for way in ways:
                found = np.array([measure(name, C, seed, way) for seed in range(SPLITS)])
                coverage, size, seconds = found.mean(axis=0)
                cells += [f"{coverage:.1%} ± {found[:, 0].std():.1%}", f"{size:.3f}", f"{seconds:.2g}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
