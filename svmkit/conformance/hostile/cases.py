"""Hostile data: the cases on which no solver may claim what is not true, fail with a traceback, or miss its limit.

Each case is a name, a group, a function that makes the data, and the options of the training. `CASES` holds all of
them; `grid` runs them for every registered solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from svmkit.conformance.hostile import data
from svmkit.kernels.functions import RBF, Kernel, Laplacian, Linear, Poly, Precomputed, Sigmoid


@dataclass(frozen=True)
class Case:
    """One hostile case.

    Attributes
    ----------
    name, group : str
        Its name, and the row of the table in which it is counted.
    make : callable
        Returns the data.
    kernel : Kernel, default=RBF(0.5)
        The kernel.
    C : float, default=1.0
        The weight of the losses.
    class_weight : str, dict or None, default=None
        The weights of the classes.
    linear : bool, default=True
        Whether the case is meant for the solvers of the linear kernel too, with that kernel.
    task : {"classify", "one-class"}, default="classify"
        What is trained.
    every_loss : bool, default=False
        Whether a solver with several losses is run with each of them, not only with its default.
    """

    name: str
    group: str
    make: Callable[[], data.Data]
    kernel: Kernel = RBF(0.5)  # noqa: RUF009  kernels are frozen
    C: float = 1.0
    class_weight: Any = None
    linear: bool = True
    task: str = "classify"
    every_loss: bool = False


def _cases() -> list[Case]:
    found = [
        Case(f"C={C:g}", "C", data.base, C=C, every_loss=C in (1.0, 1e8)) for C in (1e-6, 1e-2, 1.0, 1e2, 1e4, 1e8)
    ]
    found += [Case(f"separable, C={C:g}", "C", lambda: data.base(shift=8.0), Linear(), C) for C in (1.0, 1e8)]
    found += [
        Case(f"{k.name}, gamma={k.gamma:g}, C={C:g}", "gamma", data.base, k, C, linear=False)
        for k, C in (
            *((RBF(1e-8), C) for C in (1.0, 1e6)),
            *((RBF(g), 1e6) for g in (1e-4, 1e-2, 10.0)),
            (RBF(1e4), 1.0),
            *((Laplacian(g), 1e6) for g in (1e-8, 0.5)),
            (Laplacian(1e4), 1.0),
        )
    ]
    found += [Case(f"X * {s:g}, gamma=1", "scale", data.times(s), RBF(1.0)) for s in (1e-10, 1e5, 1e10, 1e100, 1e160)]
    found += [
        Case(f"X * {s:g}, gamma=scale", "scale", data.times(s), RBF(), linear=False) for s in (1e-10, 1e10, 1e160)
    ]
    found += [Case(f"X * {s:g}, linear", "scale", data.times(s), Linear(), linear=False) for s in (1e-10, 1e10, 1e160)]
    found += [Case(f"X * {s:g}, poly", "scale", data.times(s), Poly(1.0, 3, 1.0), linear=False) for s in (1e10, 1e160)]
    found += [
        Case(f"X * {s:g}, laplacian", "scale", data.times(s), Laplacian(1.0), linear=False) for s in (1e10, 1e160)
    ]
    found += [Case("columns of 1e-8, 1 and 1e8", "scale", data.transform(lambda X: X * [1e-8, 1.0, 1e8]), RBF(0.5))]
    found += [Case(f"X + {o:g}", "offset", data.plus(o), C=1e2) for o in (1e2, 1e4, 1e6, 1e8)]
    found += [
        Case("X + 1e6, laplacian", "offset", data.plus(1e6), Laplacian(0.5), 1e2, linear=False),
        Case("X + 1e8, laplacian", "offset", data.plus(1e8), Laplacian(0.5), 1e2, linear=False),
        Case("X + 1e8, poly", "offset", data.plus(1e8), Poly(1.0, 2, 1.0), linear=False),
        Case("X + 1e8, linear", "offset", data.plus(1e8), Linear(), linear=False),
        Case("X + 1e4, float32", "offset", data.transform(lambda X: (X + 1e4).astype(np.float32)), C=1e2),
        Case("CSR + 1e6", "offset", data.sparse(30, plus=1e6), C=1e2),
        Case("CSR + 1e8, laplacian", "offset", data.sparse(30, plus=1e8), Laplacian(0.05), 1e2, linear=False),
        Case("timestamps, gamma=100", "offset", data.timestamps, RBF(100.0), 1e2),
        Case("timestamps, gamma=scale", "offset", data.timestamps, RBF(), 1e2),
        Case("a column of timestamps", "offset", data.stamped_columns),
        Case("two places 1e8 apart", "offset", data.two_places, C=1e2),
        Case("one row at 1e12", "offset", data.one_far),
    ]
    found += [
        Case(f"1:{n}, {weight or 'plain'}", "imbalance", partial(data.base, n + 1, share=1e-9), class_weight=weight)
        for n in (200, 2000)
        for weight in (None, "balanced")
    ]
    found += [
        Case(
            "weights 1e-12 to 1e12",
            "weights",
            data.weigh(lambda r, y: 10.0 ** r.uniform(-12, 12, y.size)),
            every_loss=True,
        ),
        Case("weights 1e-300", "weights", data.weigh(lambda r, y: np.full(y.size, 1e-300))),
        Case("weights 1e300", "weights", data.weigh(lambda r, y: np.full(y.size, 1e300))),
        Case("weights 1e-300 and 1", "weights", data.weigh(lambda r, y: np.where(r.random(y.size) < 0.5, 1e-300, 1.0))),
        Case("weights 1e300 and 1", "weights", data.weigh(lambda r, y: np.where(r.random(y.size) < 0.1, 1e300, 1.0))),
        Case("weights 1e-300 to 1e300", "weights", data.weigh(lambda r, y: 10.0 ** r.uniform(-300, 300, y.size))),
        Case(
            "weights 0 for half",
            "weights",
            data.weigh(lambda r, y: (r.random(y.size) < 0.5).astype(float)),
            every_loss=True,
        ),
        Case("weights 0 for a class", "weights", data.weigh(lambda r, y: (y > 0).astype(float))),
        Case(
            "balanced, weights 0 to 1000",
            "weights",
            data.weigh(lambda r, y: r.integers(0, 4, y.size) ** 6.0 + (y > 0)),
            class_weight="balanced",
        ),
        Case("class weights 1e6", "weights", data.base, class_weight={1: 1e6}),
    ]
    found += [
        Case("all rows twice, opposite labels", "duplicates", data.contradicting(1.0), C=1e2),
        Case("half of the rows twice, opposite labels", "duplicates", data.contradicting(0.5), C=1e4),
        Case("all rows equal", "duplicates", data.transform(lambda X: np.ones_like(X))),
        Case("all rows 0", "duplicates", data.transform(np.zeros_like)),
        Case("two different rows", "duplicates", data.two_rows, C=1e6),
        Case(
            "a constant column of 1e9",
            "duplicates",
            data.transform(lambda X: np.column_stack([X, np.full(len(X), 1e9)])),
        ),
    ]
    found += [
        Case("m=2", "shape", lambda: data.Data(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, -1])), every_loss=True),
        Case("m=2, equal rows", "shape", lambda: data.Data(np.ones((2, 2)), np.array([1, -1])), C=1e8),
        Case("m=3", "shape", lambda: data.base(3), C=1e6),
        Case("d=1", "shape", lambda: data.base(d=1), C=1e2),
        Case("m=40, d=2000", "shape", lambda: data.base(40, 2000, shift=0.02), RBF(5e-4)),
        Case("CSR, d=1e5", "shape", data.sparse(100_000), RBF(0.02), every_loss=True),
        Case("CSR, d=1e5, laplacian", "shape", data.sparse(100_000), Laplacian(0.02), linear=False),
        Case("CSR, d=1e5, X * 1e160", "shape", data.sparse(100_000, scale=1e160)),
        Case("denormal", "shape", data.transform(lambda X: np.round(10.0 * X) * 5e-324), C=1e8),
        Case("columns of 1e-300 and 1e150", "shape", data.transform(lambda X: X * [1e-300, 1.0, 1e150])),
    ]
    forms: dict[str, Callable[[np.ndarray], Any]] = {
        "float32": lambda X: X.astype(np.float32),
        "float64 F": np.asfortranarray,
        "strided": data.stride,
        "reversed": lambda X: X[:, ::-1],
        "read-only": data.read_only,
        "big-endian": lambda X: X.astype(">f8"),
        "float16": lambda X: X.astype(np.float16),
        "long double": lambda X: X.astype(np.longdouble),
        "bool": lambda X: X > 0,
    }
    found += [Case(name, "storage", data.transform(change)) for name, change in forms.items()]
    found += [Case(t.__name__, "storage", data.as_integers(t), RBF()) for t in (np.int8, np.uint8, np.int64)]
    found += [
        Case("CSR, float32", "storage", data.sparse(30, dtype=np.float32)),
        Case("CSR, int64 indices", "storage", data.sparse(30, indices=np.int64)),
        Case("CSC", "storage", data.sparse(30, to="tocsc")),
        Case("COO", "storage", data.sparse(30, to="tocoo")),
    ]
    found += [
        Case(f"{k.name}, gamma={k.gamma:g}, coef0={k.coef0:g}, C={C:g}", "indefinite", data.base, k, C, linear=False)
        for k in (Sigmoid(0.5, -1.0), Sigmoid(1.0, 0.0), Poly(1.0, 3, -1.0), Poly(0.5, 2, -2.0))
        for C in (1.0, 1e4)
    ]
    found += [
        Case(f"precomputed, {kind}", group, data.matrix(kind), Precomputed(), linear=False, C=10.0)
        for kind, group in {
            "rbf": "storage", "float32": "storage", "unsymmetric": "indefinite", "shifted": "indefinite",
            "random": "indefinite", "negative": "indefinite",
        }.items()
    ]  # fmt: skip
    found += [
        Case("three classes", "classes", data.three(), every_loss=True),
        Case("three classes, balanced, C=1e6", "classes", data.three(), C=1e6, class_weight="balanced"),
        Case("three classes, X + 1e8", "classes", data.three(offset=1e8), C=1e2),
        Case("nan in X", "classes", data.spoilt(np.nan)),
        Case("infinity in X", "classes", data.spoilt(np.inf)),
        Case("one class", "classes", lambda: data.Data(data.base().X, np.ones(60))),
    ]
    found += [
        Case("one-class", "one-class", data.base, task="one-class", linear=False),
        Case("one-class, X + 1e8", "one-class", data.plus(1e8), task="one-class", linear=False),
        Case("one-class, X * 1e160", "one-class", data.times(1e160), task="one-class", linear=False),
        Case(
            "one-class, weights",
            "one-class",
            data.weigh(lambda r, y: 10.0 ** r.uniform(-12, 12, y.size)),
            task="one-class",
            linear=False,
        ),
        Case("one-class, timestamps", "one-class", data.timestamps, RBF(100.0), task="one-class", linear=False),
        Case(
            "one-class, all rows equal",
            "one-class",
            data.transform(lambda X: np.ones_like(X)),
            task="one-class",
            linear=False,
        ),
        Case("one-class, sigmoid", "one-class", data.base, Sigmoid(0.5, -1.0), task="one-class", linear=False),
    ]
    return found


CASES = {case.name: case for case in _cases()}
"""All cases by name."""
