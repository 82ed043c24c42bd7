"""Hostile data: cases on which no solver may make a false claim, fail with a traceback, or exceed its limit.

Each case is a name, a function that makes the data, and the options of the training. `CASES` holds all of them, below
the functions; `grid` runs them for every registered solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.kernels.functions import RBF, Kernel, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.losses.residual import Quantile


class Data(NamedTuple):
    """Samples (m, d), labels or targets (m,) and sample weights (m,) or None."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None = None


def clouds(m: int = 60, d: int = 3, *, share: float = 0.5, shift: float = 0.7) -> Data:
    """Two overlapping classes of unit spread, in random order.

    Parameters
    ----------
    m, d : int, the numbers of samples and columns
    share : float, that of the positive class, of which there is at least one sample
    shift : float, the means of the classes, plus and minus, in each column
    """
    rng = np.random.default_rng(0)
    y = np.where(np.arange(m) < max(1, round(share * m)), 1, -1)
    rng.shuffle(y)
    return Data(rng.normal(size=(m, d)) + shift * y[:, None], y)


def transform(change: Callable[[np.ndarray], Any]) -> Data:
    X, y, _ = clouds()
    return Data(change(X), y)


def weigh(weights: Callable[[np.random.Generator, np.ndarray], np.ndarray]) -> Data:
    X, y, _ = clouds()
    return Data(X, y, weights(np.random.default_rng(1), y))


def timestamps() -> Data:
    """Seconds since 1970 with a step of a millisecond, the two classes in stretches of ten."""
    t = 1.7e9 + 1e-3 * np.arange(120)
    return Data(t[:, None], np.where(np.arange(120) // 10 % 2, 1, -1))


def contradict(share: float) -> Data:
    """Samples, a share of which is repeated with the opposite label."""
    X, y, _ = clouds()
    n = round(share * len(y))
    return Data(np.vstack([X, X[:n]]), np.concatenate([y, -y[:n]]))


def sparse(d: int, **form: Any) -> Data:
    """Sparse samples of 20 values each, some of them empty; `form` has scale, plus, dtype, indices (their type), to."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2, 1, -1)
    row = np.repeat(np.arange(60), 20)
    column = rng.integers(0, d, size=row.size)
    X = sp.csr_array((rng.normal(size=row.size) + 0.3 * y[row], (row, column)), shape=(60, d))
    X = sp.csr_array(sp.diags_array(np.where(np.arange(60) % 15 == 7, 0.0, 1.0)) @ X)
    X.eliminate_zeros()
    index = form.get("indices", X.indices.dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    X = X.astype(form.get("dtype", X.dtype))
    X.data *= form.get("scale", 1.0)
    X.data += form.get("plus", 0.0)
    return Data(getattr(X, form.get("to", "tocsr"))(), y)


def replace_number(X: np.ndarray, at: Any, value: float) -> np.ndarray:
    """Replace one value, or one row."""
    X[at] = value
    return X


def make_read_only(X: np.ndarray) -> np.ndarray:
    X.flags.writeable = False
    return X


def stride(X: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    return wide[::2, ::3]


MATRICES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rbf": lambda K: K,
    "float32": lambda K: K.astype(np.float32),
    "unsymmetric": lambda K: K + np.triu(np.ones_like(K)),
    "shifted": lambda K: K - 0.5,
    "random": lambda K: (signs := np.random.default_rng(2).normal(size=K.shape)) + signs.T,
    "negative": lambda K: -K,
}


def matrix(kind: str) -> Data:
    """A kernel matrix: of rbf values, minus a constant, with random signs, or negative."""
    X, y, _ = clouds()
    return Data(MATRICES[kind](np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=2))), y)


def three(offset: float = 0.0, scale: Any = 1.0, spread: float | None = None) -> Data:
    """Three classes with text for labels, the third one small; weights go over `spread` powers of 10 on both sides."""
    X, y, _ = clouds(70)
    names = np.where(y > 0, "a", "b")
    names[:10] = "c, too"
    powers = None if spread is None else 10.0 ** np.random.default_rng(1).uniform(-spread, spread, y.size)
    return Data(X * scale + offset, names, powers)


def aim(change: Callable[[np.ndarray, np.ndarray], np.ndarray], **weighted: Any) -> Data:
    """A noisy curve as a function of the first column; `change` maps X and these targets to others."""
    X, y, _ = clouds()
    t = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * y
    weights = weighted.get("weights")
    return Data(weighted.get("of", np.asarray)(X), change(X, t), weights and weights(np.random.default_rng(1), y))


def order(change: Callable[[np.ndarray, np.ndarray], np.ndarray], **given: Any) -> Data:
    """Values of six groups of ten rows: values, groups, and what was observed, (m, 3); `change` of X and the values
    makes other values, and `given` has of (of X), groups, and observed.
    """
    X, t, _ = aim(lambda X, t: np.round(t))
    groups = np.arange(t.size) // 10 if given.get("groups") is None else given["groups"]
    observed = np.ones(t.size) if given.get("observed") is None else given["observed"]
    return Data(given.get("of", np.asarray)(X), np.column_stack([change(X, t), groups, observed]))


def outputs(
    change: Callable[[np.ndarray, np.ndarray], np.ndarray], of: Callable[[np.ndarray], Any] = np.asarray
) -> Data:
    """Two curves as functions of the first two columns (m, 2); `change` maps X and these to others."""
    X, t, _ = aim(lambda X, t: t)
    return Data(of(X), change(X, np.column_stack([t, np.cos(2.0 * X[:, 1]) - X[:, 0]])))


@dataclass(frozen=True)
class Case:
    """One hostile case: a function that makes the data, and the options of `fit`."""

    name: str
    make: Callable[[], Data]
    kernel: Kernel = RBF(0.5)  # noqa: RUF009  kernels are frozen
    C: float = 1.0
    class_weight: Any = None
    linear: bool = True  # whether solvers for the linear kernel are run as well, with that kernel
    task: str = "classify"  # or "regress", "one-class", "rank", "multilabel"
    every_loss: bool = False  # whether a solver is run with each of its losses, or with its default
    options: tuple[tuple[str, Any], ...] = ()  # further options of `fit`
    text: bool = False  # whether the model is judged after writing and reading it as a text model
    group: str = ""


def _x(name: str, change: Callable[[np.ndarray], Any], *args: Any, **options: Any) -> Case:
    """A case of the clouds with another X."""
    return Case(name, partial(transform, change), *args, **options)


def _w(name: str, weights: Callable[[np.random.Generator, np.ndarray], np.ndarray], **options: Any) -> Case:
    """A case of the clouds with sample weights."""
    return Case(name, partial(weigh, weights), **options)


def _matrix_case(kind: str) -> Case:
    return Case(f"precomputed, {kind}", partial(matrix, kind), Precomputed(), 10.0, linear=False)


def _scale(s: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: X * s


def _move(offset: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: X + offset


def _cast(kind: type) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: np.round(10.0 * X + 100.0).clip(0, 200).astype(kind)


def _t(name: str, change: Callable = lambda X, t: t, *args: Any, of: Any = np.asarray, weights: Any = None, **options):
    """A case of the curve with other targets, X or sample weights."""
    case = Case(f"targets: {name}", partial(aim, change, of=of, weights=weights), *args, **options)
    return replace(case, task="regress")


def _r(name: str, change: Callable = lambda X, t: t, C: float = 1.0, every_loss: bool = False, **given: Any) -> Case:
    """A case of the ranking with other values, X, groups or censored values."""
    kernel = given.pop("kernel", Linear())
    make = partial(order, change, **given)
    return Case(f"ranks: {name}", make, kernel, C, task="rank", every_loss=every_loss)


def _o(name: str, change: Callable = lambda X, t: t, *args: Any, of: Any = np.asarray, **options: Any) -> Case:
    """A case of the two curves, or of their signs as labels."""
    case = Case(f"outputs: {name}", partial(outputs, change, of), *args, **{"task": "regress"} | options)
    return replace(case, name=f"labels: {name}") if case.task == "multilabel" else case


def _vary(kind: str, case: Case, *, text: bool = False, **options: Any) -> Case:
    """A case with further options of `fit`."""
    return replace(case, name=f"{kind}: {case.name}", options=tuple(options.items()), text=text, every_loss=False)


def _ratio(ratio: float | None) -> dict[str, Any]:
    return {} if ratio is None else {"l1_ratio": ratio}


def _signs(X: np.ndarray, t: np.ndarray) -> np.ndarray:
    return (t > 0).astype(np.int64)


_LABELS: dict[str, Any] = {"task": "multilabel"}
_LEVELS: dict[str, Any] = {"options": (("loss", Quantile(tau=(0.1, 0.9))),)}
_ONE: dict[str, Any] = {"task": "one-class", "linear": False}
GROUPS: dict[str, list[Case]] = {
    "C": [
        *(Case(f"C={C:g}", clouds, C=C, every_loss=C in (1.0, 1e8)) for C in (1e-6, 1e-2, 1.0, 1e2, 1e4, 1e8)),
        *(Case(f"separable, C={C:g}", partial(clouds, shift=8.0), Linear(), C) for C in (1.0, 1e8)),
    ],
    "gamma": [
        Case(f"{k.name}, gamma={k.gamma:g}, C={C:g}", clouds, k, C, linear=False)
        for k, C in (
            *((RBF(1e-8), C) for C in (1.0, 1e6)),
            *((RBF(g), 1e6) for g in (1e-4, 1e-2, 10.0)),
            (RBF(1e4), 1.0),
            *((Laplacian(g), 1e6) for g in (1e-8, 0.5)),
            (Laplacian(1e4), 1.0),
        )
    ],
    "scale": [
        *(_x(f"X * {s:g}, gamma=1", _scale(s), RBF(1.0)) for s in (1e-10, 1e5, 1e10, 1e100, 1e160)),
        *(_x(f"X * {s:g}, gamma=scale", _scale(s), RBF(), linear=False) for s in (1e-10, 1e10, 1e160)),
        *(_x(f"X * {s:g}, linear", _scale(s), Linear(), linear=False) for s in (1e-10, 1e10, 1e160)),
        *(_x(f"X * {s:g}, poly", _scale(s), Poly(1.0, 3, 1.0), linear=False) for s in (1e10, 1e160)),
        *(_x(f"X * {s:g}, laplacian", _scale(s), Laplacian(1.0), linear=False) for s in (1e10, 1e160)),
        _x("columns of 1e-8, 1 and 1e8", lambda X: X * [1e-8, 1.0, 1e8]),
    ],
    "offset": [
        *(_x(f"X + {o:g}", _move(o), C=1e2) for o in (1e2, 1e4, 1e6, 1e8)),
        _x("X + 1e6, laplacian", _move(1e6), Laplacian(0.5), 1e2, linear=False),
        _x("X + 1e8, laplacian", _move(1e8), Laplacian(0.5), 1e2, linear=False),
        _x("X + 1e8, poly", _move(1e8), Poly(1.0, 2, 1.0), linear=False),
        _x("X + 1e8, linear", _move(1e8), Linear(), linear=False),
        *(_x(f"X + {o:g}, poly", _move(o), Poly(1.0, 2, 1.0), linear=False) for o in (1e9, 1e15)),
        *(_x(f"X + {o:g}, linear", _move(o), Linear()) for o in (1e9, 1e15)),
        _x("X + 1e4, float32", lambda X: (X + 1e4).astype(np.float32), C=1e2),
        Case("CSR + 1e6", partial(sparse, 30, plus=1e6), C=1e2),
        Case("CSR + 1e8, laplacian", partial(sparse, 30, plus=1e8), Laplacian(0.05), 1e2, linear=False),
        Case("timestamps, gamma=100", timestamps, RBF(100.0), 1e2),
        Case("timestamps, gamma=scale", timestamps, RBF(), 1e2),
        _x("a column of timestamps", lambda X: np.column_stack([X, 1.7e9 + np.arange(len(X))])),
        _x("two places 1e8 apart", lambda X: X + 1e8 * (np.arange(len(X)) % 2)[:, None], C=1e2),
        _x("one row at 1e12", lambda X: replace_number(X, 0, 1e12)),
    ],
    "imbalance": [
        Case(f"1:{n}, {weight or 'plain'}", partial(clouds, n + 1, share=1e-9), class_weight=weight)
        for n in (200, 2000)
        for weight in (None, "balanced")
    ],
    "weights": [
        _w("weights 1e-12 to 1e12", lambda r, y: 10.0 ** r.uniform(-12, 12, y.size), every_loss=True),
        _w("weights 1e-300", lambda r, y: np.full(y.size, 1e-300)),
        _w("weights 1e300", lambda r, y: np.full(y.size, 1e300)),
        _w("weights 1e-300 and 1", lambda r, y: np.where(r.random(y.size) < 0.5, 1e-300, 1.0)),
        _w("weights 1e300 and 1", lambda r, y: np.where(r.random(y.size) < 0.1, 1e300, 1.0)),
        _w("weights 1e-300 to 1e300", lambda r, y: 10.0 ** r.uniform(-300, 300, y.size)),
        _w("weights 0 for half", lambda r, y: (r.random(y.size) < 0.5).astype(float), every_loss=True),
        _w("weights 0 for a class", lambda r, y: (y > 0).astype(float)),
        _w(
            "balanced, weights 0 to 1000",
            lambda r, y: r.integers(0, 4, y.size) ** 6.0 + (y > 0),
            class_weight="balanced",
        ),
        Case("class weights 1e6", clouds, class_weight={1: 1e6}),
    ],
    "duplicates": [
        Case("all rows twice, opposite labels", partial(contradict, 1.0), C=1e2),
        Case("half of the rows twice, opposite labels", partial(contradict, 0.5), C=1e4),
        _x("all rows equal", np.ones_like),
        _x("all rows 0", np.zeros_like),
        Case(
            "two different rows",
            lambda: Data(np.repeat([[1.0, 2.0], [2.0, 1.0]], 20, axis=0), np.repeat([1, -1], 20)),
            C=1e6,
        ),
        _x("a constant column of 1e9", lambda X: np.column_stack([X, np.full(len(X), 1e9)])),
    ],
    "shape": [
        Case("m=2", lambda: Data(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, -1])), every_loss=True),
        Case("m=2, equal rows", lambda: Data(np.ones((2, 2)), np.array([1, -1])), C=1e8),
        Case("m=3", partial(clouds, 3), C=1e6),
        Case("d=1", partial(clouds, d=1), C=1e2),
        Case("m=40, d=2000", partial(clouds, 40, 2000, shift=0.02), RBF(5e-4)),
        Case("CSR, d=1e5", partial(sparse, 100_000), RBF(0.02), every_loss=True),
        Case("CSR, d=1e5, laplacian", partial(sparse, 100_000), Laplacian(0.02), linear=False),
        Case("CSR, d=1e5, X * 1e160", partial(sparse, 100_000, scale=1e160)),
        _x("denormal", lambda X: np.round(10.0 * X) * 5e-324, C=1e8),
        _x("columns of 1e-300 and 1e150", lambda X: X * [1e-300, 1.0, 1e150]),
    ],
    "storage": [
        _x("float32", lambda X: X.astype(np.float32)),
        _x("float16", lambda X: X.astype(np.float16)),
        _x("float64 F", np.asfortranarray),
        _x("strided", stride),
        _x("reversed", lambda X: X[:, ::-1]),
        _x("read-only", make_read_only),
        _x("big-endian", lambda X: X.astype(">f8")),
        _x("long double", lambda X: X.astype(np.longdouble)),
        _x("bool", lambda X: X > 0),
        *(_x(kind.__name__, _cast(kind), RBF()) for kind in (np.int8, np.uint8, np.int64)),
        Case("CSR, float32", partial(sparse, 30, dtype=np.float32)),
        Case("CSR, int64 indices", partial(sparse, 30, indices=np.int64)),
        Case("CSC", partial(sparse, 30, to="tocsc")),
        Case("COO", partial(sparse, 30, to="tocoo")),
        *map(_matrix_case, ("rbf", "float32")),
    ],
    "indefinite": [
        *(
            Case(f"{k.name}, gamma={k.gamma:g}, coef0={k.coef0:g}, C={C:g}", clouds, k, C, linear=False)
            for k in (Sigmoid(0.5, -1.0), Sigmoid(1.0, 0.0), Poly(1.0, 3, -1.0), Poly(0.5, 2, -2.0))
            for C in (1.0, 1e4)
        ),
        *map(_matrix_case, ("unsymmetric", "shifted", "random", "negative")),
    ],
    "classes": [
        Case("three classes", three, every_loss=True),
        Case("three classes, balanced, C=1e6", three, C=1e6, class_weight="balanced"),
        Case("three classes, X + 1e8", partial(three, 1e8), C=1e2),
        _x("nan in X", lambda X: replace_number(X, (3, 1), np.nan)),
        _x("infinity in X", lambda X: replace_number(X, (3, 1), np.inf)),
        Case("one class", lambda: Data(clouds().X, np.ones(60))),
    ],
    "one-class": [
        Case("one-class", clouds, **_ONE),
        _x("one-class, X + 1e8", _move(1e8), **_ONE),
        _x("one-class, X * 1e160", _scale(1e160), **_ONE),
        _w("one-class, weights", lambda r, y: 10.0 ** r.uniform(-12, 12, y.size), **_ONE),
        Case("one-class, timestamps", timestamps, RBF(100.0), **_ONE),
        _x("one-class, all rows equal", np.ones_like, **_ONE),
        Case("one-class, sigmoid", clouds, Sigmoid(0.5, -1.0), **_ONE),
    ],
}
_BY_NAME = {case.name: case for cases in GROUPS.values() for case in cases}
_PLAIN = [_BY_NAME[name] for name in ("C=1", "C=1e+08", "X + 1e+08", "all rows twice, opposite labels", "m=3")]
_THREE = [_BY_NAME[name] for name in ("three classes", "three classes, X + 1e8", "three classes, balanced, C=1e6")]
GROUPS |= {
    "regression": [
        _t("a curve", every_loss=True),
        *(_t(f"C={C:g}", C=C) for C in (1e-6, 1e6)),
        _t("t + 1e8", lambda X, t: t + 1e8, C=1e2),
        *(_t(f"t * {s:g}", lambda X, t, s=s: t * s) for s in (1e-200, 1e-8, 1e8, 1e160)),
        _t("one target of 1e12", lambda X, t: replace_number(t, 0, 1e12), every_loss=True),
        _t("-1 and 1", lambda X, t: np.sign(t), C=1e2),
        _t("opposite", lambda X, t: np.where(np.arange(t.size) % 2, t, -t), of=lambda X: X[np.arange(len(X)) // 2 * 2]),
        _t("all rows equal", of=np.ones_like),
        _t("X + 1e8", of=_move(1e8), C=1e2),
        _t("X * 1e160", of=_scale(1e160)),
        _t("CSR", of=sp.csr_array),
        _t("all equal", lambda X, t: np.full(t.size, 3.0)),
        _t("weights 1e-12 to 1e12", weights=lambda r, y: 10.0 ** r.uniform(-12, 12, y.size), every_loss=True),
        _t("weights 0 for half", weights=lambda r, y: (r.random(y.size) < 0.5).astype(float)),
        _t("sigmoid", lambda X, t: t, Sigmoid(0.5, -1.0), linear=False),
    ],
    "nu": [
        *(_vary(f"nu={nu:g}", case, nu=nu) for nu in (0.05, 0.5) for case in _PLAIN),
        _vary("nu=1", _BY_NAME["C=1"], nu=1.0),
        _vary("nu=0.5", _BY_NAME["weights 1e-12 to 1e12"], nu=0.5),
        _vary("nu=0.5", _BY_NAME["separable, C=1"], nu=0.5),
    ],
    "ovr": [_vary("ovr", case, multiclass="ovr") for case in _THREE],
    "Crammer-Singer": [
        _vary("Crammer-Singer", case, multiclass="crammer_singer")
        for case in (*_THREE, replace(_BY_NAME["three classes"], name="three classes, C=1e8", C=1e8))
    ],
    "multinomial": [
        _vary("multinomial", case, multiclass="multinomial")
        for case in (
            *_THREE,
            replace(_BY_NAME["three classes"], name="three classes, C=1e8", C=1e8),
            replace(_BY_NAME["three classes"], name="three classes, C=1e-6", C=1e-6),
            Case("three classes, X * 1e160", partial(three, scale=1e160)),
            Case("three classes, columns of 1e-8, 1 and 1e8", partial(three, scale=[1e-8, 1.0, 1e8])),
            Case("three classes, weights 1e-12 to 1e12", partial(three, spread=12.0)),
            Case("three classes, weights 1e-300 to 1e300", partial(three, spread=300.0)),
        )
    ],
    "penalties": [
        _vary(f"{penalty}{ratio or ''}", case, penalty=penalty, **_ratio(ratio))
        for penalty, ratio in (("l1", None), ("elasticnet", 0.3), ("group", None))
        for case in (
            *(_BY_NAME[name] for name in ("C=1", "C=1e+08", "C=1e-06", "X + 1e+08", "all rows twice, opposite labels")),
            *(_BY_NAME[name] for name in ("m=3", "columns of 1e-8, 1 and 1e8", "CSR + 1e6", "weights 1e-12 to 1e12")),
        )
    ],
    "calibration": [
        _vary(kind, case, calibration=kind)
        for kind in ("sigmoid", "isotonic")
        for case in (*_PLAIN[1:-1], _THREE[0], _BY_NAME["timestamps, gamma=100"], _BY_NAME["weights 0 for half"])
    ],
    "ranking": [
        _r("a curve", every_loss=True),
        *(_r(f"C={C:g}", C=C, every_loss=True) for C in (1e-6, 1e6)),
        _r("one group", groups=np.zeros(60)),
        _r("half of the values censored", observed=np.arange(60) % 2),
        _r("one pair", groups=np.maximum(np.arange(60), 1)),
        _r("no pair", groups=np.arange(60)),
        _r("t + 1e8", lambda X, t: t + 1e8),
        _r("t * 1e160", lambda X, t: t * 1e160),
        _r("all equal", lambda X, t: np.zeros(t.size)),
        _r("opposite", lambda X, t: np.where(np.arange(t.size) % 2, t, -t), of=lambda X: X[np.arange(len(X)) // 2 * 2]),
        _r("all rows equal", of=np.ones_like),
        *(_r(f"X + {o:g}", of=_move(o)) for o in (1e4, 1e8, 1e12)),
        *(_r(f"X * {s:g}", of=_scale(s)) for s in (1e-10, 1e10, 1e160)),
        _r("columns of 1e-8, 1 and 1e8", of=lambda X: X * [1e-8, 1.0, 1e8]),
        _r("one row at 1e12", of=lambda X: replace_number(X, 0, 1e12)),
        _r("float32", of=lambda X: X.astype(np.float32)),
        _r("CSR", of=sp.csr_array),
        _r("a curve, rbf", kernel=RBF(0.5), every_loss=True),
        *(_r(f"rbf, C={C:g}", C=C, kernel=RBF(0.5), every_loss=True) for C in (1e-6, 1e6)),
        _r("laplacian, half of the values censored", observed=np.arange(60) % 2, kernel=Laplacian(0.5)),
        _r("poly, X + 1e4", of=_move(1e4), kernel=Poly(1.0, 2, 1.0)),
        _r("rbf, X + 1e8", of=_move(1e8), kernel=RBF(0.5)),
        _r("rbf, X * 1e160", of=_scale(1e160), kernel=RBF(1.0)),
        _r("rbf, gamma=1e-08", kernel=RBF(1e-8), C=1e2),
        _r("rbf, all rows equal", of=np.ones_like, kernel=RBF(0.5)),
        _r("rbf, one row at 1e12", of=lambda X: replace_number(X, 0, 1e12), kernel=RBF(0.5)),
        _r("rbf, CSR", of=sp.csr_array, kernel=RBF(0.5)),
        _r("sigmoid", kernel=Sigmoid(0.5, -1.0)),
    ],
    "outputs": [
        _o("two curves", every_loss=True),
        *(_o(f"C={C:g}", C=C) for C in (1e-6, 1e6)),
        _o("t + 1e8", lambda X, t: t + 1e8, C=1e2),
        _o("t and t * 1e8", lambda X, t: t * [1.0, 1e8]),
        _o("t and 1e-200", lambda X, t: t * [1.0, 1e-200]),
        _o("t and 3", lambda X, t: t * [1.0, 0.0] + [0.0, 3.0]),
        _o("all rows equal", of=np.ones_like),
        _o("X + 1e8", of=_move(1e8), C=1e2),
        _o("X * 1e160", of=_scale(1e160)),
        _o("CSR", of=sp.csr_array),
        _o("levels", lambda X, t: t[:, 0], **_LEVELS),
        _o("levels, X + 1e8", lambda X, t: t[:, 0], of=_move(1e8), C=1e2, **_LEVELS),
        _o("levels, t * 1e8", lambda X, t: 1e8 * t[:, 0], **_LEVELS),
        _o("two", _signs, every_loss=True, **_LABELS),
        *(_o(f"C={C:g}", _signs, C=C, **_LABELS) for C in (1e-6, 1e8)),
        _o("one that all have", lambda X, t: _signs(X, t) | [0, 1], **_LABELS),
        _o(
            "one of a single row",
            lambda X, t: _signs(X, t) * [1, 0] + (np.arange(60) == 7)[:, None] * [0, 1],
            **_LABELS,
        ),
        _o("all rows equal", _signs, of=np.ones_like, **_LABELS),
        _o("X + 1e8", _signs, of=_move(1e8), C=1e2, **_LABELS),
        _o("X * 1e160", _signs, of=_scale(1e160), **_LABELS),
    ],
    "text": [_vary("text", case, text=True) for case in (*_PLAIN, *_THREE, _BY_NAME["CSR + 1e6"])],
}
GROUPS["nu"] += [
    _vary("nu=0.4", case, nu=0.4)
    for case in GROUPS["regression"]
    if case.name.endswith((": a curve", "C=1e+06", "1e12", "equal", "X + 1e8"))
]
CASES = {case.name: replace(case, group=group) for group, cases in GROUPS.items() for case in cases}
"""All cases by name."""
