"""Routines of BLAS and LAPACK for compiled code, which work in place and on slices of arrays.

numba's own functions copy their arguments and results, which takes a third to a half of the time of a factorisation of
2,500 rows. These are scipy's own routines. Matrices are row-major, and LAPACK reads them as their transposes: L with L
L' = A is the upper factor in its view.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic
from scipy.linalg import solve_triangular

from svmkit.runtime.compiling import compiles_nothing, njit

ROUTINES = {"potrf": "cython_lapack", "trsm": "cython_blas", "gemm": "cython_blas"}  # and the modules of scipy.linalg
KINDS: dict[Any, str] = {types.float32: "s", types.float64: "d"}
PREFIX = "svmkit_"  # of their names in compiled code
INT = ir.IntType(64)  # by reference: a routine with 32-bit integers reads the lower half of the number

for _routine, _module in ROUTINES.items():
    for _kind in KINDS.values():
        _name = _kind + _routine
        binding.add_symbol(PREFIX + _name, get_cython_function_address(f"scipy.linalg.{_module}", _name))


class _Call:
    """A call of a routine for arrays of one kind, with all arguments passed by reference."""

    def __init__(self, context: Any, builder: Any, kind: Any) -> None:
        self.context, self.builder = context, builder
        self.kind, self.number = KINDS[kind], context.get_value_type(kind)

    def place(self, value: Any) -> Any:
        """Return the address of a value."""
        return cgutils.alloca_once_value(self.builder, value)

    def letter(self, value: str) -> Any:
        return self.place(ir.IntType(8)(ord(value)))

    def real(self, value: float) -> Any:
        return self.place(self.number(value))

    def matrix(self, kind: Any, value: Any) -> tuple[Any, Any, Any, Any]:
        """Return the address of a matrix, its rows, its columns, and the stride between rows in elements."""
        array = self.context.make_array(kind)(self.context, self.builder, value)
        rows, columns = cgutils.unpack_tuple(self.builder, array.shape)
        stride = cgutils.unpack_tuple(self.builder, array.strides)[0]
        size = self.context.get_abi_sizeof(self.number)
        return array.data, rows, columns, self.builder.sdiv(stride, stride.type(size))

    def run(self, routine: str, given: list[Any]) -> None:
        kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in given])
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"{PREFIX}{self.kind}{routine}")
        self.builder.call(function, given)


@intrinsic
def _potrf(typing, A):
    """Return the `info` of LAPACK's potrf, which leaves L below the diagonal of A (n, n)."""

    def generate(context, builder, signature, args):
        """Emit a call of potrf, which returns its `info`.

        Parameters
        ----------
        context, builder, signature, args
            As numba gives them to the code generator of an intrinsic.
        """
        call = _Call(context, builder, signature.args[0].dtype)
        data, n, _, stride = call.matrix(signature.args[0], args[0])
        said = call.place(INT(0))
        call.run("potrf", [call.letter("U"), call.place(n), data, call.place(stride), said])
        return builder.load(said)

    return types.int64(A), generate


@intrinsic
def _trsm(typing, L, X):
    """Replace each row x (n,) of X by the solution of L x."""

    def generate(context, builder, signature, args):
        """Emit a call of trsm.

        Parameters
        ----------
        context, builder, signature, args
            As numba gives them to the code generator of an intrinsic.
        """
        call = _Call(context, builder, signature.args[0].dtype)
        L, _, _, across = call.matrix(signature.args[0], args[0])
        X, rows, n, stride = call.matrix(signature.args[1], args[1])
        how = [call.letter(letter) for letter in "LUTN"]
        sizes = [call.place(n), call.place(rows), call.real(1.0)]
        call.run("trsm", [*how, *sizes, L, call.place(across), X, call.place(stride)])
        return context.get_dummy_value()

    return types.void(L, X), generate


@intrinsic
def _gemm(typing, A, B, out):
    """Set out (n, m) to A (n, p) B' for B (m, p)."""

    def generate(context, builder, signature, args):
        """Emit a call of gemm.

        Parameters
        ----------
        context, builder, signature, args
            As numba gives them to the code generator of an intrinsic.
        """
        call = _Call(context, builder, signature.args[0].dtype)
        A, n, p, of_A = call.matrix(signature.args[0], args[0])
        B, m, _, of_B = call.matrix(signature.args[1], args[1])
        out, _, _, of_out = call.matrix(signature.args[2], args[2])
        sizes = [call.letter("T"), call.letter("N"), call.place(m), call.place(n), call.place(p), call.real(1.0)]
        given = [B, call.place(of_B), A, call.place(of_A), call.real(0.0), out, call.place(of_out)]
        call.run("gemm", sizes + given)
        return context.get_dummy_value()

    return types.void(A, B, out), generate


def _plain_potrf(A: np.ndarray) -> int:
    """Do as `_potrf`, in plain Python."""
    try:
        L = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return 1
    below = np.tril_indices(len(A))
    A[below] = L[below]
    return 0


def _plain_trsm(L: np.ndarray, X: np.ndarray) -> None:
    """Do as `_trsm`, in plain Python."""
    X[:] = solve_triangular(L, X.T, lower=True).T


def _plain_gemm(A: np.ndarray, B: np.ndarray, out: np.ndarray) -> None:
    """Do as `_gemm`, in plain Python."""
    np.matmul(A, B.T, out=out)


_PLAIN = compiles_nothing()
_factorise: Any = _plain_potrf if _PLAIN else _potrf  # called without `typing`, which numba adds
_solve: Any = _plain_trsm if _PLAIN else _trsm
_multiply: Any = _plain_gemm if _PLAIN else _gemm


@njit(nogil=True, cache=True)
def factorise_in_place(A):
    """Replace the lower triangle of A (n, n) by that of L with L L' = A; return whether A is positive definite."""
    return A.size == 0 or _factorise(A) == 0


@njit(nogil=True, cache=True)
def solve_rows_in_place(L, X):
    """Replace each row x (n,) of X by the solution of L x, for the lower triangle of L (n, n)."""
    if X.size:
        _solve(L, X)


@njit(nogil=True, cache=True)
def multiply_rows(A, B):
    """Return A B' for A (n, p) and B (m, p)."""
    out = np.zeros((A.shape[0], B.shape[0]), A.dtype)
    if out.size and A.shape[1]:
        _multiply(A, B, out)
    return out
