"""Checks on engine plugins: blocks, products and diagonals against exact values and the bounds that they state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.conformance.judging.exact import Values
from svmkit.conformance.result import Check
from svmkit.kernels.engines import ALL, PANEL, Engine
from svmkit.kernels.functions import RBF, FromFunction, Kernel, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import product_error
from svmkit.problems.box import BoxQP

N, D = 300, 7  # more rows than a panel has
SINGLE = 2e-5  # error of a float32 value, relative to the largest one
ROUGH = 5e-4  # the same of values that are only summed up
STORAGES = {"dense": np.ascontiguousarray, "csr": sp.csr_array}
DTYPES = {"float32": np.float32, "float64": np.float64}


def _function(X: Any, Z: Any) -> np.ndarray:
    values = X.astype(np.float64) @ Z.astype(np.float64).T
    return values.toarray() if sp.issparse(values) else values


KERNELS: tuple[Kernel, ...] = (
    Linear(),
    RBF(0.3),
    Poly(0.2, 3, 1.0),
    Sigmoid(0.05, -0.1),
    Laplacian(0.2),
    Precomputed(),
    FromFunction(_function),
)


class Case(NamedTuple):
    """A kernel and an X that an engine takes, and what its values have to be.

    Attributes
    ----------
    name : str
        Kernel, storage and type of X.
    engine : Engine
        The engine on X, whose arrays are read-only.
    X : ndarray or CSR
        The samples.
    truth : ndarray of shape (N, N)
        The exact values, in long double.
    """

    name: str
    engine: Engine
    X: Any
    truth: np.ndarray

    def block(self, rows: np.ndarray, sel: np.ndarray = ALL, dtype: Any = np.float64, **options: Any) -> np.ndarray:
        """Return a block, in an array that held NaN before.

        Parameters
        ----------
        rows, sel : ndarray of int64
            Rows of X on both sides; an empty `sel` means all.
        dtype : dtype, default=float64
            Type of the array.
        **options : Any
            As for `Engine.block`.
        """
        out = np.full((len(rows), sel.size or N), np.nan, dtype)
        self.engine.block(self.engine.take(rows), out, sel, **options)
        return out

    def error(self, single: float | None = None) -> float:
        """Return what a value may be off: the stated bound, or a part of the largest value for float32."""
        return self.engine.error if single is None else single * max(1.0, self.engine.largest)


def samples() -> np.ndarray:
    """Return N rows of D features, about half of them 0 and the first row 0 altogether."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.5)
    X[0] = 0.0
    return X


def store(X: np.ndarray, storage: str, dtype: str, *, wide: bool = False) -> Any:
    """Return X in a storage and a type, read-only.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The samples.
    storage, dtype : str
        As in `Engine.storages` and `Engine.dtypes`.
    wide : bool, default=False
        Whether indices of CSR are int64 and some of its stored values are 0.
    """
    kept = STORAGES[storage](X.astype(DTYPES[dtype]))
    arrays = [kept]
    if storage == "csr":
        if wide:
            every = np.arange(X.size, dtype=np.int64) % X.shape[1], np.arange(len(X) + 1, dtype=np.int64) * X.shape[1]
            kept = sp.csr_array((X.astype(DTYPES[dtype]).ravel(), *every), shape=X.shape)
        arrays = [kept.data, kept.indices, kept.indptr]
    for array in arrays:
        array.flags.writeable = False
    return kept


def cases(engine: type[Engine]) -> Iterator[Case]:
    """Yield all that an engine says it takes: its kernels, storages and types of X."""
    for kernel in KERNELS:
        for storage in engine.storages:
            for dtype in engine.dtypes:
                rows = samples()
                given = store(rows @ rows.T if isinstance(kernel, Precomputed) else rows, storage, dtype)
                if engine.takes(kernel, given):
                    name, every = "linear" if isinstance(kernel, FromFunction) else kernel.name, np.arange(N)
                    values = Values(name, kernel.params, given.toarray() if storage == "csr" else given)
                    name = f"{kernel.name}, {storage}, {dtype}"
                    yield Case(name, engine(kernel, given), given, values(every, every))


def _numbers(*idx: int) -> np.ndarray:
    numbers = np.array(idx, dtype=np.int64)
    numbers.flags.writeable = False
    return numbers


SOME, OTHERS = _numbers(7, 3, 0, 299, 41), _numbers(250, 3, 120)


def _off(case: Case, what: str, values: np.ndarray, truth: np.ndarray, error: float) -> str | None:
    """Return how values differ from exact ones by more than an error, or None."""
    if values.shape != truth.shape:
        return f"{case.name}: {what} has shape {values.shape} instead of {truth.shape}"
    worst = float(np.abs(values - truth).max(initial=0.0))
    if not worst <= error * (1.0 + 1e-9) + 1e-300:
        return f"{case.name}: {what} is off by {worst:.2g}, more than {error:.2g}"
    return None


def _declares(engine: type[Engine]) -> str | None:
    for what, known in (("storages", STORAGES), ("dtypes", DTYPES)):
        given = getattr(engine, what)
        if not given or not set(given) <= set(known):
            return f"{what} is {given!r}; known are: {', '.join(known)}"
    if not engine.devices or not all(isinstance(device, str) for device in engine.devices):
        return f"devices is {engine.devices!r}, and no names of devices"
    if not any(True for _ in cases(engine)):
        return "it takes none of the built-in kernels, no precomputed one and no function"
    X = np.zeros((3, 3), dtype=np.complex128)
    return "it takes complex numbers" if any(engine.takes(kernel, X) for kernel in KERNELS) else None


def _blocks(engine: type[Engine]) -> str | None:
    every = np.arange(N)
    for case in cases(engine):
        for rows in (every, SOME, SOME[:1]):
            for sel in (ALL, OTHERS):
                truth = case.truth[rows][:, sel] if sel.size else case.truth[rows]
                what = f"a block of {len(rows)} rows"
                problem = (
                    _off(case, what, case.block(rows, sel), truth, case.error())
                    or _off(case, f"{what} in float32", case.block(rows, sel, np.float32), truth, case.error(SINGLE))
                    or _off(
                        case,
                        f"{what} of rough values",
                        case.block(rows, sel, np.float32, rough=True),
                        truth,
                        case.error(ROUGH),
                    )
                )
                if problem:
                    return problem
        if not float(np.abs(case.truth).max()) <= case.engine.largest * (1.0 + 1e-12):
            return f"{case.name}: a value is {np.abs(case.truth).max():.6g}, and largest {case.engine.largest:.6g}"
    return None


def _foreign_rows(engine: type[Engine]) -> str | None:
    for case in cases(engine):
        if isinstance(case.engine.kernel, Precomputed):
            continue
        Z = case.X[np.asarray(SOME)]
        for vectors in (Z.toarray() if sp.issparse(Z) else Z, sp.csr_array(Z)):
            out = case.engine.block(vectors, np.empty((len(SOME), N)))
            problem = _off(case, f"a block with {type(vectors).__name__}", out, case.truth[SOME], case.error())
            if problem:
                return problem
    return None


def _products(engine: type[Engine]) -> str | None:
    every, rng = np.arange(N), np.random.default_rng(1)
    for case in cases(engine):
        coef = rng.normal(size=(N, 2))
        coef.flags.writeable = False
        size, own = float(np.abs(coef).sum(axis=0).max()), case.engine
        bound = product_error(own.error, own.largest, max(own.panel, PANEL), N, size)
        within, computed = own.self_product(every, coef)
        for what, values, truth in (
            ("a product", own.product(own.take(every), coef), case.truth @ coef),
            ("a product at some rows", own.product(own.take(every), coef, OTHERS), case.truth[OTHERS] @ coef),
            ("a product within", within, case.truth @ coef),
        ):
            problem = _off(case, what, values, truth, bound)
            if problem:
                return problem
        rough = own.product(own.take(every), coef, dtype=np.float32)
        if rough.dtype != np.float64:
            return f"{case.name}: a product is {rough.dtype} instead of float64"
        problem = _off(case, "a product in float32", rough, case.truth @ coef, case.error(ROUGH) * size)
        if problem or not 0 < computed <= N * N:
            return problem or f"{case.name}: a product within says that it took {computed} values of {N * N}"
    return None


def _diagonal(engine: type[Engine]) -> str | None:
    for case in cases(engine):
        diag = case.engine.diag()
        problem = _off(case, "diag", diag, np.diag(case.truth), case.error())
        if problem or diag.dtype != np.float64:
            return problem or f"{case.name}: diag is {diag.dtype} instead of float64"
    return None


def _empty(engine: type[Engine]) -> str | None:
    none = np.empty(0, dtype=np.int64)
    for case in cases(engine):
        if case.block(none).shape != (0, N):
            return f"{case.name}: a block of no rows is not (0, {N})"
        product = case.engine.product(case.engine.take(none), np.empty((0, 2)))
        if product.shape != (N, 2) or product.any():
            return f"{case.name}: a product with no rows is not 0"
        if case.engine.product(case.engine.take(none), np.empty((0, 1)), OTHERS).shape != (len(OTHERS), 1):
            return f"{case.name}: a product with no rows at {len(OTHERS)} rows has another shape"
    return None


def _wide(engine: type[Engine]) -> str | None:
    if "csr" not in engine.storages:
        return None
    for case in cases(engine):
        if not sp.issparse(case.X):
            continue
        own = engine(case.engine.kernel, store(case.X.toarray(), "csr", str(case.X.dtype), wide=True))
        values = case._replace(engine=own).block(SOME)
        problem = _off(case, "a block of CSR with int64 indices and stored zeros", values, case.truth[SOME], own.error)
        if problem:
            return problem
    return None


def _certifies(engine: type[Engine]) -> str | None:
    y, beta = np.where(np.arange(N) % 2, 1.0, -1.0), np.full(N, 0.3)
    for case in cases(engine):
        kernel = case.engine.kernel
        if kernel.semidefinite is False:
            continue
        certificate = BoxQP(Gram(kernel, case.X, engine=case.engine), y, 1.0).certificate(beta)
        if certificate.dual is None:
            return f"{case.name}: no certificate: {certificate.flaw}"
        quadratic = float((y * beta) @ (case.truth @ (y * beta)))
        dual, bound = float(beta.sum() - 0.5 * quadratic), max(certificate.rounding, 1e-12) * 4.0
        if not abs(certificate.dual - dual) <= bound * max(abs(dual), abs(certificate.primal)):
            return f"{case.name}: D is {certificate.dual!r} and has to be {dual!r}"
    return None


_ENGINE = "svmkit.kernels.Engine"
ENGINE: dict[str, Check] = {
    "it says what it takes": Check(
        _declares,
        "storages are among dense and csr, dtypes among float32 and float64, devices are names such as cpu, and "
        "takes(kernel, X) is True for some kernel and False for an X of another type.",
        f"{_ENGINE}.takes",
    ),
    "blocks are within its error of the exact values": Check(
        _blocks,
        "block writes k(X[sel[a]], Z[b]) to out[b, a]: in float64 within `error`, in float32 within 2e-5 of the "
        "largest value, 5e-4 if rough; `largest` bounds all values. Arrays that it is given may be read-only.",
        f"{_ENGINE}.block, {_ENGINE}.error, {_ENGINE}.largest",
    ),
    "vectors may be dense or CSR, whatever X is": Check(
        _foreign_rows, "Z holds vectors of a model, dense or CSR.", f"{_ENGINE}.block"
    ),
    "products are sums of the values": Check(
        _products,
        "product and self_product return float64 sums within the bound that `error`, `largest` and `panel` give.",
        f"{_ENGINE}.product, {_ENGINE}.self_product, {_ENGINE}.panel",
    ),
    "the diagonal is that of the values": Check(_diagonal, "diag() is k(x, x) in float64.", f"{_ENGINE}.diag"),
    "no rows at all are no special case": Check(
        _empty, "take, block and product work for index arrays without entries.", f"{_ENGINE}.take"
    ),
    "CSR with int64 indices and stored zeros has the same values": Check(
        _wide, "Indices of CSR may be int32 or int64, and entries may be 0.", f"{_ENGINE}.block"
    ),
    "certificates agree with exact ones": Check(
        _certifies, "D from this engine is the exact D within the certificate's rounding.", f"{_ENGINE}.error"
    ),
}
