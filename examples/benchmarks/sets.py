"""The coverage of sets and intervals on held-out rows: ten sets, ten splits each, and how large they are.

    python examples/benchmarks/sets.py

Up to 1,200 rows of each set, of which 40% are held out to test, anew in each split; the rest trains with conformal=0.1,
that is, on three quarters of it, or on all of it with 5 folds (CV+). Features are standardised where they are dense,
C = 10, gamma = scale.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.model_selection import train_test_split

from svmkit import InputError, SVMClassifier, SVMRegressor
from svmkit.data import load
from svmkit.errors import SvmkitWarning

ALPHA, SPLITS, ROWS = 0.1, 10, 1200
SETS = ("iris", "wine", "breast_cancer", "digits", "a1a", "w1a", "svmguide1", "pendigits", "letter.scale", "diabetes")


def measure(name: str, seed: int, by: str | None, folds: int | None) -> tuple[float, float, float, int]:
    """Return coverage, that of the class covered least, mean size and held-out rows of one split."""
    data = load(name)
    rows = np.random.default_rng(seed).permutation(data.n_samples)[:ROWS]
    X, X_test, y, y_test = train_test_split(data.X[rows], data.y[rows], test_size=0.4, random_state=seed)
    options = {"C": 10.0, "scale": None if data.is_sparse else "standard", "conformal": ALPHA, "conformal_folds": folds}
    options["random_state"] = seed
    if name == "diabetes":
        machine = SVMRegressor("smo", **options | {"C": 100.0}).fit(X, y)
        low, high = machine.predict_sets(X_test).T
        covered = float(((low <= y_test) & (y_test <= high)).mean())
        return covered, covered, float((high - low).mean()), machine.model_.about["conformal"]["rows"]
    machine = SVMClassifier("smo", conformal_by=by, **options).fit(X, y)
    sets = machine.predict_sets(X_test)
    known = np.isin(y_test, machine.classes_)
    held = sets[np.arange(len(sets)), np.searchsorted(machine.classes_, y_test).clip(0, sets.shape[1] - 1)] & known
    least = min(float(held[y_test == label].mean()) for label in np.unique(y_test))
    return float(held.mean()), least, float(sets.sum(axis=1).mean()), machine.model_.about["conformal"]["rows"]


def main() -> None:
    """Print a row for each set."""
    warnings.simplefilter("ignore", SvmkitWarning)
    print(
        "| set | held out | coverage | least class | mean size | by class: coverage | least class | mean size |"
        " 5 folds: coverage | least class | mean size |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in SETS:
        cells = [name]
        for by, folds in ((None, None), ("class", None), (None, 5)):
            try:
                found = np.array([measure(name, seed, by, folds) for seed in range(SPLITS)])
            except InputError:
                cells += ["too few rows of a class", "", ""]
                continue
            if name == "diabetes" and by:
                cells += ["", "", ""]
                continue
            coverage, least, size, rows = found.mean(axis=0)
            cells += [] if by or folds else [f"{rows:.0f}"]
            cells += [f"{coverage:.1%} ± {found[:, 0].std():.1%}", f"{least:.1%}", f"{size:.4g}"]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
