"""Small sets under the names of the documents' big ones, and the names that their Python takes for granted."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import numpy as np

BINARY = ("a1a", "a9a", "w1a", "mnist", "clouds")  # each with its test set
MANY = ("letter.scale",)


def clouds(n: int, seed: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clouds (n, 4), and the class of each row, of which the first has three in five."""
    rng = np.random.default_rng(seed)
    side = np.minimum(rng.integers(0, classes + 1, n), classes) % classes
    return rng.normal(size=(n, 4)) + 1.2 * np.cos(side[:, None] * np.arange(1, 5)), side


def _svmlight(path: str, X: np.ndarray, labels: np.ndarray) -> None:
    rows = (" ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(row)) for row in X)
    Path(path).write_text("".join(f"{label} {row}\n" for label, row in zip(labels, rows, strict=True)))


def _table(path: str, header: str, *columns: Any) -> None:
    lines = [header, *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
    Path(path).write_text("\n".join(lines) + "\n")


def write_sets() -> None:
    """Write the sets into the working directory."""
    for seed, name in enumerate(BINARY):
        for file, n in ((name, 120), (f"{name}.t", 60)):
            X, side = clouds(n, seed + 7 * n)
            _svmlight(file, X, np.where(side, 1, -1))
    with open("a1a.t", "a") as file:  # like the real one, it has features that a1a does not have
        file.write("+1 1:1 5:1\n-1 6:0.5\n")
    for name in MANY:
        for file, n in ((name, 120), (f"{name}.t", 60)):
            X, side = clouds(n, n, classes=4)
            _svmlight(file, X, side + 1)
    X, side = clouds(60, 3)
    _svmlight("new.svm", X, np.where(side, 1, -1))
    _svmlight("heart.svm", X, np.where(side, 1, -1))
    Path("log.svm.gz").write_bytes(gzip.compress(Path("a1a").read_bytes()))
    Path("a9a.bz2").write_bytes(bz2.compress(Path("a9a").read_bytes()))
    _write_tables()


def _write_tables() -> None:
    X, side = clouds(120, 5)
    job = np.array(["clerk", "cook", "judge"])[np.arange(120) % 3]
    income = np.where(side, "high", "low")
    for file in ("adult.csv", "adult_test.csv"):
        _table(file, "age,hours,job,income", X[:, 0].round(3), X[:, 1].round(3), job, income)
    new = (X[:30, 0].round(3), X[:30, 1].round(3))
    _table("new.csv", "age,hours,job,income,load,wait", *new, job[:30], income[:30], *new)
    _table(
        "houses.csv", "rooms,age,price", X[:, 0].round(3), X[:, 1].round(3), (3e5 + 5e4 * X[:, 0] + X[:, 1]).round(1)
    )
    _table("ratings.csv", "length,words,stars", X[:, 0].round(3), X[:, 1].round(3), np.arange(120) % 5 + 1)
    holes = [("" if i % 7 == 0 else f"{value:.3f}") for i, value in enumerate(X[:, 0])]
    for file in ("customers.csv", "next_month.csv"):
        _table(file, "calls,tenure,churned", holes, X[:, 1].round(3), side)
    _table("normal.csv", "load,wait", X[:, 0].round(3), X[:, 1].round(3))
    _table("labelled.csv", "load,wait,label", X[:, 0].round(3), X[:, 1].round(3), np.where(side, 1, -1))


def python_names(page: str) -> dict[str, Any]:
    """Return what the Python of a page takes for granted: data, and modules that readers import themselves."""
    from sklearn.datasets import load_iris
    from sklearn.model_selection import GridSearchCV

    import svmkit

    X, y = clouds(120, 11)
    t = 100.0 * X[:, 0] + 10.0 * X[:, 1]
    names = {"X": X[:90], "y": y[:90], "t": t[:90], "X_test": X[90:], "y_test": y[90:], "X_new": X[90:], "np": np}
    names |= {"A": np.eye(6) + 0.1, "c": np.linspace(-1.0, 1.0, 6), "svmkit": svmkit, "GridSearchCV": GridSearchCV}
    names |= {name: getattr(svmkit, name) for name in ("SVMClassifier", "SVMOneClass", "SVMRegressor")}
    names["rows"] = load_iris().data
    names["other"] = svmkit.SVMClassifier("smo").fit(names["X"], names["y"])
    if page == "regression.md":  # its y are quantities
        names |= {"y": t[:90], "y_test": t[90:]}
    return names
