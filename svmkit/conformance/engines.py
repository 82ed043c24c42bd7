"""Checks on engine plugins: blocks, products and diagonals against exact values and the bounds that they state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, wraps
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.conformance.judging.definitions import Values
from svmkit.conformance.result import Check, check
from svmkit.kernels.engines import ALL, PANEL, Engine
from svmkit.kernels.functions import RBF, FromFunction, Kernel, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import product_error
from svmkit.problems.box import BoxQP

N, D = 300, 7  # more rows than a panel
SINGLE = 2e-5  # error of a float32 value, relative to the largest one
ROUGH = 5e-4  # the same for values that are only summed up
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
    """A kernel and a read-only X that an engine takes, named with storage and type, and the exact values (N, N)."""

    name: str
    engine: Engine
    X: Any
    truth: np.ndarray

    def block(self, rows: np.ndarray, sel: np.ndarray = ALL, **options: Any) -> np.ndarray:
        """Return a block, as `Engine.block` does, in an array of `dtype` that held NaN before."""
        out = np.full((len(rows), sel.size or N), np.nan, options.pop("dtype", np.float64))
        self.engine.block(self.engine.take(rows), out, sel, **options)
        return out


def _off(case: Case, what: str, values: np.ndarray, truth: np.ndarray, error: float) -> str | None:
    """Describe how values differ from exact ones by more than an error, if they do."""
    if values.shape != truth.shape:
        return f"{case.name}: {what} has shape {values.shape} instead of {truth.shape}"
    worst = float(np.abs(values - truth).max(initial=0.0))
    if not worst <= error * (1.0 + 1e-9) + 1e-300:
        return f"{case.name}: {what} is off by {worst:.2g}, more than {error:.2g}"
    return None


def store(X: np.ndarray, storage: str, dtype: str) -> Any:
    """Return X read-only in one of `Engine.storages` and `dtypes`; "wide" is CSR with int64 indices and stored 0s."""
    typed, (n, d) = X.astype(DTYPES[dtype]), X.shape
    if storage == "wide":
        every = np.arange(n * d, dtype=np.int64) % d, np.arange(n + 1, dtype=np.int64) * d
        kept = sp.csr_array((typed.ravel(), *every), shape=X.shape)
    else:
        kept = STORAGES[storage](typed)
    arrays = [kept.data, kept.indices, kept.indptr] if sp.issparse(kept) else [kept]
    for array in arrays:
        array.flags.writeable = False
    return kept


def _rows(kernel: Kernel) -> np.ndarray:
    """Return the rows, many entries of which are 0, or their products for a kernel that takes these."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.5)
    rows[0] = 0.0
    return rows @ rows.T if isinstance(kernel, Precomputed) else rows


@cache
def _exact_values(kernel: Kernel, dtype: str) -> np.ndarray:
    """Return the values (N, N) of the rows in this type, shared by all checks and storages."""
    name, every = "linear" if isinstance(kernel, FromFunction) else kernel.name, np.arange(N)
    values = Values(name, kernel.params, _rows(kernel).astype(DTYPES[dtype]))(every, every)
    values.flags.writeable = False
    return values


def cases(engine: type[Engine]) -> Iterator[Case]:
    """Yield all cases that an engine declares: its kernels, storages and types of X."""
    for kernel in KERNELS:
        for storage in engine.storages:
            for dtype in engine.dtypes:
                given = store(_rows(kernel), storage, dtype)
                if engine.takes(kernel, given):
                    name = f"{kernel.name}, {storage}, {dtype}"
                    yield Case(name, engine(kernel, given), given, _exact_values(kernel, dtype))


SOME, OTHERS = np.array([7, 3, 0, 299, 41]), np.array([250, 3, 120])
SOME.flags.writeable = OTHERS.flags.writeable = False


def _check_every_case(find: Callable[[Case], str | None]) -> Callable[[type[Engine]], str | None]:
    """Turn a check on cases into a check on engines."""

    @wraps(find)
    def run(engine: type[Engine]) -> str | None:
        return next(filter(None, map(find, cases(engine))), None)

    return run


def _declares(engine: type[Engine]) -> str | None:
    """storages are among dense and csr, dtypes among float32 and float64, devices are names such as cpu, and
    takes(kernel, X) is True for some kernel and False for an X of another type.
    """
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


@_check_every_case
def _blocks(case: Case) -> str | None:
    """block writes k(X[sel[a]], Z[b]) to out[b, a]: in float64 within `error`, in float32 within 2e-5 of the largest
    value, 5e-4 if rough; `largest` bounds all values. Arrays that it is given may be read-only.
    """
    size = max(1.0, case.engine.largest)
    asked: dict[str, tuple[dict[str, Any], float]] = {
        "": ({}, case.engine.error),
        " in float32": ({"dtype": np.float32}, SINGLE * size),
        " of rough values": ({"dtype": np.float32, "rough": True}, ROUGH * size),
    }
    for rows, sel in product((np.arange(N), SOME, SOME[:1]), (ALL, OTHERS)):
        truth = case.truth[rows][:, sel] if sel.size else case.truth[rows]
        for words, (options, error) in asked.items():
            what = f"a block of {len(rows)} rows{words}"
            if problem := _off(case, what, case.block(rows, sel, **options), truth, error):
                return problem
    if not float(np.abs(case.truth).max()) <= case.engine.largest * (1.0 + 1e-12):
        return f"{case.name}: a value is {np.abs(case.truth).max():.6g}, and largest {case.engine.largest:.6g}"
    return None


@_check_every_case
def _foreign_rows(case: Case) -> str | None:
    """Z holds vectors of a model, dense or CSR."""
    if isinstance(case.engine.kernel, Precomputed):
        return None
    Z = case.X[np.asarray(SOME)]
    for vectors in (Z.toarray() if sp.issparse(Z) else Z, sp.csr_array(Z)):
        values, what = case.engine.block(vectors, np.empty((len(SOME), N))), f"a block with {type(vectors).__name__}"
        if problem := _off(case, what, values, case.truth[SOME], case.engine.error):
            return problem
    return None


@_check_every_case
def _products(case: Case) -> str | None:
    """product and self_product return float64 sums within the bound that `error`, `largest` and `panel` give."""
    every, own = np.arange(N), case.engine
    coef = np.random.default_rng(1).normal(size=(N, 2))
    coef.flags.writeable = False
    size = float(np.abs(coef).sum(axis=0).max())
    bound = product_error(own.error, own.largest, max(own.panel, PANEL), N, size)
    within, computed = own.self_product(every, coef)
    for what, values, truth in (
        ("a product", own.product(own.take(every), coef), case.truth @ coef),
        ("a product at some rows", own.product(own.take(every), coef, OTHERS), case.truth[OTHERS] @ coef),
        ("a product within", within, case.truth @ coef),
    ):
        if problem := _off(case, what, values, truth, bound):
            return problem
    rough = own.product(own.take(every), coef, dtype=np.float32)
    if rough.dtype != np.float64:
        return f"{case.name}: a product is {rough.dtype} instead of float64"
    problem = _off(case, "a product in float32", rough, case.truth @ coef, ROUGH * max(1.0, own.largest) * size)
    if problem or not 0 < computed <= N * N:
        return problem or f"{case.name}: a product within says that it took {computed} values of {N * N}"
    return None


@_check_every_case
def _diagonal(case: Case) -> str | None:
    """diag() is k(x, x) in float64."""
    diag = case.engine.diag()
    if diag.dtype != np.float64:
        return f"{case.name}: diag is {diag.dtype} instead of float64"
    return _off(case, "diag", diag, np.diag(case.truth), case.engine.error)


@_check_every_case
def _empty(case: Case) -> str | None:
    """take, block and product work for index arrays without entries."""
    none = np.empty(0, dtype=np.int64)
    if case.block(none).shape != (0, N):
        return f"{case.name}: a block of no rows is not (0, {N})"
    product = case.engine.product(case.engine.take(none), np.empty((0, 2)))
    if product.shape != (N, 2) or product.any():
        return f"{case.name}: a product with no rows is not 0"
    if case.engine.product(case.engine.take(none), np.empty((0, 1)), OTHERS).shape != (len(OTHERS), 1):
        return f"{case.name}: a product with no rows at {len(OTHERS)} rows has another shape"
    return None


@_check_every_case
def _wide(case: Case) -> str | None:
    """Indices of CSR may be int32 or int64, and entries may be 0."""
    if not sp.issparse(case.X):
        return None
    own = type(case.engine)(case.engine.kernel, store(case.X.toarray(), "wide", str(case.X.dtype)))
    what, values = "a block of CSR with int64 indices and stored zeros", case._replace(engine=own).block(SOME)
    return _off(case, what, values, case.truth[SOME], own.error)


@_check_every_case
def _certifies(case: Case) -> str | None:
    """D from this engine is the exact D within the certificate's rounding."""
    y, beta = np.where(np.arange(N) % 2, 1.0, -1.0), np.full(N, 0.3)
    if case.engine.kernel.semidefinite is False:
        return None
    certificate = BoxQP(Gram(case.engine.kernel, case.X, engine=case.engine), y, 1.0).certificate(beta)
    if certificate.dual is None:
        return f"{case.name}: no certificate: {certificate.flaw}"
    quadratic = float((y * beta) @ (case.truth @ (y * beta)))
    dual, bound = float(beta.sum() - 0.5 * quadratic), max(certificate.rounding, 1e-12) * 4.0
    if not abs(certificate.dual - dual) <= bound * max(abs(dual), abs(certificate.primal)):
        return f"{case.name}: D is {certificate.dual!r} and has to be {dual!r}"
    return None


ENGINE: dict[str, Check] = {
    "it says what it takes": check(_declares, "svmkit.kernels.Engine.takes"),
    "blocks are within its error of the exact values": check(
        _blocks, "svmkit.kernels.Engine.block, svmkit.kernels.Engine.error, svmkit.kernels.Engine.largest"
    ),
    "vectors may be dense or CSR, whatever X is": check(_foreign_rows, "svmkit.kernels.Engine.block"),
    "products are sums of the values": check(
        _products, "svmkit.kernels.Engine.product, svmkit.kernels.Engine.self_product, svmkit.kernels.Engine.panel"
    ),
    "the diagonal is that of the values": check(_diagonal, "svmkit.kernels.Engine.diag"),
    "no rows at all are no special case": check(_empty, "svmkit.kernels.Engine.take"),
    "CSR with int64 indices and stored zeros has the same values": check(_wide, "svmkit.kernels.Engine.block"),
    "certificates agree with exact ones": check(_certifies, "svmkit.kernels.Engine.error"),
}
