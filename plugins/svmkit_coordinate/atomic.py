"""Atomic counters that the threads of one compiled loop share.

The order is acquire and release: a thread that has read a change of a counter also sees everything that the writing
thread wrote before.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


def _place(context, builder, kind, array, k):
    """Return the address of the k-th value of a 1-d int64 array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [k])


@intrinsic
def _read(typing, counters, k):
    def generate(context, builder, signature, args):
        """Emit an atomic load of a counter.

        Parameters
        ----------
        context, builder, signature, args
            As numba passes them to the code generator of an intrinsic.
        """
        return builder.load_atomic(_place(context, builder, signature.args[0], *args), "acquire", 8)

    return types.int64(counters, types.intp), generate


@intrinsic
def _write(typing, counters, k, value):
    def generate(context, builder, signature, args):
        """Emit an atomic store to a counter.

        Parameters
        ----------
        context, builder, signature, args
            As numba passes them to the code generator of an intrinsic.
        """
        builder.store_atomic(args[2], _place(context, builder, signature.args[0], *args[:2]), "release", 8)
        return context.get_dummy_value()

    return types.void(counters, types.intp, types.int64), generate


@intrinsic
def _add(typing, counters, k, value):
    def generate(context, builder, signature, args):
        """Emit an atomic addition to a counter, which returns its value before.

        Parameters
        ----------
        context, builder, signature, args
            As numba passes them to the code generator of an intrinsic.
        """
        return builder.atomic_rmw("add", _place(context, builder, signature.args[0], *args[:2]), args[2], "acq_rel")

    return types.int64(counters, types.intp, types.int64), generate


@intrinsic
def _swap(typing, counters, k, old, new):
    def generate(context, builder, signature, args):
        """Emit an atomic compare-and-swap of a counter, which returns whether it was `old`.

        Parameters
        ----------
        context, builder, signature, args
            As numba passes them to the code generator of an intrinsic.
        """
        place = _place(context, builder, signature.args[0], *args[:2])
        return builder.extract_value(builder.cmpxchg(place, args[2], args[3], "acq_rel", "acquire"), 1)

    return types.boolean(counters, types.intp, types.int64, types.int64), generate


# called without `typing`, which numba adds; for compiled code only
read: Any = _read  # (counters, k) -> value
write: Any = _write  # (counters, k, value)
add: Any = _add  # (counters, k, value) -> value before
swap: Any = _swap  # (counters, k, old, new) -> whether it was `old`, and now is `new`
