"""Products of rows with a panel in vector registers: LLVM code, where a loop over arrays would go through memory.

A panel (d, width) holds d features of `width` points, a multiple of `LANES`. The sums of some columns stay in registers
while all features are added, in their order, so that a value depends on neither the width nor the other rows.
`widest` lets LLVM use the widest registers: by default it uses only half of them on most processors with AVX-512, which
costs up to half of the speed. It requires no feature that a processor lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic

LANES = 16  # columns of a panel are padded to a multiple: float32 numbers in the widest register
ROWS = 4  # rows that `dense_dots` multiplies together, so that each part of the panel is loaded once for them
WIDE = bool(llvmlite.binding.get_host_cpu_features().get("avx512f"))
BYTES = 64 if WIDE else 32  # of a vector
SUMS = 4 if WIDE else 2  # vectors of a row that are summed at once: with ROWS of them, all registers are in use
INDEX = ir.IntType(32)
LOOSE = ("contract", "nsz")


def intrinsic(code: Callable) -> Any:
    """Return the compiled function for which `code` returns a signature and what generates its code."""
    return numba_intrinsic(code)


@intrinsic
def widest(typing):
    """Let LLVM use the widest registers of the processor in the function that calls this one."""

    def _generate(context, builder, signature, args):
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')  # llvmlite knows no such attribute
        return context.get_dummy_value()

    return types.void(), _generate


@intrinsic
def sparse_dots(typing, data, indices, start, stop, panel, out, row):
    """Set a row of out to the product of a row of a CSR matrix and the panel.

    Parameters
    ----------
    data, indices, start, stop : array, array, int, int
        Values and columns of the CSR matrix, and the entries of its row.
    panel, out, row : array of shape (d, width), array of shape (n, width), int
        The panel, an array for the products, and its row.
    """

    def _generate(context, builder, signature, args):
        values, columns, _, _, panel_type, _, _ = signature.args
        arrays = zip(signature.args, args, strict=True)
        data, indices, start, stop, panel, out, row = (
            context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
            for kind, value in arrays
        )
        vectors = _Vectors(context, builder, panel_type.dtype, panel)

        def sums(base, n):
            totals = vectors.zeros(n)
            with cgutils.for_range(builder, stop, start=start, intp=start.type) as entry:
                x = builder.load(builder.gep(data.data, [entry.index]))
                column = builder.load(builder.gep(indices.data, [entry.index]))
                column = context.cast(builder, column, columns.dtype, types.intp)
                x = vectors.broadcast(context.cast(builder, x, values.dtype, panel_type.dtype))
                vectors.add(x, zip(vectors.loads((column, base), n), totals, strict=True))
            vectors.store(totals, builder.gep(out.data, [builder.add(builder.mul(row, vectors.width), base)]))

        vectors.over_columns(sums)
        return context.get_dummy_value()

    return types.void(data, indices, types.intp, types.intp, panel, out, types.intp), _generate


@intrinsic
def dense_dots(typing, rows, first, panel, out):
    """Set ROWS rows of out, from `first` on, to the products of the same rows and the panel; all have one dtype.

    Parameters
    ----------
    rows : array of shape (n, d), whose last row stands for those beyond it
    first : int
    panel, out : array of shape (d, width), and one for the products, with room for the rows beyond the last one
    """

    def _generate(context, builder, signature, args):
        panel_type = signature.args[2]
        first, intp = args[1], args[1].type
        rows, panel, out = (context.make_array(signature.args[at])(context, builder, args[at]) for at in (0, 2, 3))
        vectors = _Vectors(context, builder, panel_type.dtype, panel)
        n, depth = cgutils.unpack_tuple(builder, rows.shape)
        last, starts = builder.sub(n, intp(1)), []
        for i in range(ROWS):
            at = builder.add(first, intp(i))
            at = builder.select(builder.icmp_signed("<", at, last), at, last)
            starts.append(builder.gep(rows.data, [builder.mul(at, depth)]))

        def sums(base, n):
            totals = [vectors.zeros(n) for _ in starts]
            with cgutils.for_range(builder, depth, intp=intp) as feature:
                parts = vectors.loads((feature.index, base), n)
                for start, row in zip(starts, totals, strict=True):
                    x = builder.load(builder.gep(start, [feature.index]))
                    vectors.add(vectors.broadcast(x), zip(parts, row, strict=True))
            for i, row in enumerate(totals):
                at = builder.mul(builder.add(first, intp(i)), vectors.width)
                vectors.store(row, builder.gep(out.data, [builder.add(at, base)]))

        vectors.over_columns(sums)
        return context.get_dummy_value()

    return types.void(rows, types.intp, panel, out), _generate


class _Vectors:
    """Code for vectors of a panel's columns. Sums are kept in variables that LLVM turns into registers."""

    def __init__(self, context, builder, dtype, panel) -> None:
        self.builder, self.data = builder, panel.data
        self.width = cgutils.unpack_tuple(builder, panel.shape)[1]
        self.intp, self.align = self.width.type, dtype.bitwidth // 8
        self.lanes = BYTES // self.align
        self.type = ir.VectorType(context.get_data_type(dtype), self.lanes)

    def over_columns(self, sums) -> None:
        """Call sums(first column, number of vectors) for all columns: SUMS vectors at once, then one by one."""
        builder, step = self.builder, self.intp(SUMS * self.lanes)
        groups = builder.sdiv(self.width, step)
        with cgutils.for_range(builder, groups, intp=self.intp) as group:
            sums(builder.mul(group.index, step), SUMS)
        done = builder.mul(groups, step)
        rest = builder.sdiv(builder.sub(self.width, done), self.intp(self.lanes))
        with cgutils.for_range(builder, rest, intp=self.intp) as one:
            sums(builder.add(done, builder.mul(one.index, self.intp(self.lanes))), 1)

    def zeros(self, n: int) -> list:
        """Return n sums that are 0."""
        totals = [cgutils.alloca_once(self.builder, self.type) for _ in range(n)]
        for total in totals:
            self.builder.store(self.type(None), total)
        return totals

    def loads(self, at, n: int) -> list:
        """Return n vectors of a row of the panel; `at` is the row and the first column."""
        feature, base = at
        start = self.builder.gep(self.data, [self.builder.add(self.builder.mul(feature, self.width), base)])
        return [self.builder.load(place, align=self.align) for place in self.places(start, n)]

    def places(self, start, n: int) -> list:
        """Return the places of n vectors from `start` on."""
        places = [self.builder.gep(start, [self.intp(j * self.lanes)]) for j in range(n)]
        return [self.builder.bitcast(place, self.type.as_pointer()) for place in places]

    def broadcast(self, x):
        """Return a vector whose numbers are all x."""
        one = self.builder.insert_element(self.type(ir.Undefined), x, INDEX(0))
        return self.builder.shuffle_vector(one, self.type(ir.Undefined), ir.VectorType(INDEX, self.lanes)(None))

    def add(self, x, pairs) -> None:
        """Add x, a vector whose numbers are all the same, times each vector to its sum."""
        for part, total in pairs:
            product = self.builder.fmul(x, part, flags=LOOSE)
            self.builder.store(self.builder.fadd(self.builder.load(total), product, flags=LOOSE), total)

    def store(self, totals: list, start) -> None:
        """Write the sums from `start` on."""
        for total, place in zip(totals, self.places(start, len(totals)), strict=True):
            self.builder.store(self.builder.load(total), place, align=self.align)
