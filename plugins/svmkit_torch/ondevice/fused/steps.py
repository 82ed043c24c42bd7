"""The SMO steps of `pairs` in one Triton kernel: one program per problem, many steps per launch.

Vectors of a problem stay in the caches of its multiprocessor, and kernel rows come from the device's memory. A step
reads three kernel rows: those of its pair, whose difference moves v during the search for the next first point, and
that of the next first point during the search for its partner. A ridge moves only v of its own point.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from svmkit_torch.ondevice.batch import Batch

LANES = 4096  # points that a program processes together, at most


@triton.jit
def _steps(
    K,
    first,
    columns,
    v,
    beta,
    upper,
    sign,
    side,
    diag,
    ridge,
    eps,
    size,
    done,
    ld,
    q,
    most,
    BLOCK: tl.constexpr,
    GATHER: tl.constexpr,
    RIDGED: tl.constexpr,
):
    b = tl.program_id(0).to(tl.int64)
    K += tl.load(first + b)
    columns += b * q
    v += b * q
    beta += b * q
    upper += b * q
    sign += b * q
    side += b * q
    diag += b * q
    ridge += b * q
    n = tl.load(size + b)
    tol = tl.load(eps + b)
    lane = tl.arange(0, BLOCK)
    inf = float("inf")
    t = tol * 0.0
    of_i = b * 0
    of_j = b * 0
    last_i = n * 0
    last_j = n * 0
    own_i = tol * 0.0
    own_j = tol * 0.0
    step = n * 0
    go = n * 0 + 1
    while go > 0:
        # move v by the last pair; find the point that may rise with the least v, and the largest v of points that may
        # fall
        least = tl.full([BLOCK], inf, v.dtype.element_ty)
        least_at = tl.zeros([BLOCK], tl.int32)
        largest = tl.full([BLOCK], -inf, v.dtype.element_ty)
        for lo in range(0, n, BLOCK):
            r = lo + lane
            real = r < n
            c = tl.load(columns + r, mask=real, other=0) if GATHER else r
            row_i = tl.load(K + of_i + c, mask=real, other=0.0)
            row_j = tl.load(K + of_j + c, mask=real, other=0.0)
            now = tl.load(v + r, mask=real, other=0.0) + t * (row_i - row_j)
            if RIDGED:
                now += tl.where(r == last_i, own_i, 0.0) - tl.where(r == last_j, own_j, 0.0)
            tl.store(v + r, now, mask=real)
            sides = tl.load(side + r, mask=real, other=0)
            rising = tl.where((sides & 1) != 0, now, inf)
            better = rising < least
            least = tl.where(better, rising, least)
            least_at = tl.where(better, r, least_at)
            largest = tl.maximum(largest, tl.where((sides & 2) != 0, now, -inf))
        low = tl.min(least, axis=0)
        i = tl.min(tl.where(least == low, least_at, 2147483647), axis=0)
        i = tl.where(i < n, i, 0)
        violation = tl.max(largest, axis=0) - low
        go = tl.where((violation > tol) & (step < most), 1, 0)
        tl.debug_barrier()
        # its partner, by the decrease of the objective in a step without the other bounds
        at_i = tl.load(columns + i).to(tl.int64) if GATHER else i.to(tl.int64)
        of_i = at_i * ld
        diag_i = tl.load(diag + i)
        best = tl.full([BLOCK], -1.0, v.dtype.element_ty)
        best_at = tl.zeros([BLOCK], tl.int32)
        best_t = tl.zeros([BLOCK], v.dtype.element_ty)
        for lo in range(0, n, BLOCK):
            r = lo + lane
            real = r < n
            c = tl.load(columns + r, mask=real, other=0) if GATHER else r
            row_i = tl.load(K + of_i + c, mask=real, other=0.0)
            off = tl.load(v + r, mask=real, other=-inf) - low
            sides = tl.load(side + r, mask=real, other=0)
            curvature = tl.maximum(diag_i + tl.load(diag + r, mask=real, other=1.0) - 2.0 * row_i, 1e-12)
            length = off / curvature
            gain = tl.where(((sides & 2) != 0) & (off > 0.0), off * length, -1.0)
            better = gain > best
            best = tl.where(better, gain, best)
            best_at = tl.where(better, r, best_at)
            best_t = tl.where(better, length, best_t)
        top = tl.max(best, axis=0)
        j = tl.min(tl.where(best == top, best_at, 2147483647), axis=0)
        wanted = tl.max(tl.where((best == top) & (best_at == j), best_t, 0.0), axis=0)
        at_j = tl.load(columns + j).to(tl.int64) if GATHER else j.to(tl.int64)
        of_j = at_j * ld
        beta_i = tl.load(beta + i)
        beta_j = tl.load(beta + j)
        upper_i = tl.load(upper + i)
        upper_j = tl.load(upper + j)
        rises_i = tl.load(sign + i) > 0
        rises_j = tl.load(sign + j) < 0
        room_i = tl.where(rises_i, upper_i - beta_i, beta_i)
        room_j = tl.where(rises_j, upper_j - beta_j, beta_j)
        moves = (go > 0) & (top > 0.0)
        move = tl.where(moves, tl.minimum(wanted.to(tl.float64), tl.minimum(room_i, room_j)), 0.0)
        new_i = tl.where(
            rises_i, tl.where(move >= room_i, upper_i, beta_i + move), tl.where(move >= room_i, 0.0, beta_i - move)
        )
        new_j = tl.where(
            rises_j, tl.where(move >= room_j, upper_j, beta_j + move), tl.where(move >= room_j, 0.0, beta_j - move)
        )
        new_i = tl.where(moves, new_i, beta_i)
        new_j = tl.where(moves, new_j, beta_j)
        tl.debug_barrier()
        tl.store(beta + i, new_i)
        tl.store(side + i, _side(new_i, upper_i, rises_i))
        tl.debug_barrier()
        new_j = tl.where(moves, new_j, tl.load(beta + j))
        tl.store(beta + j, new_j)
        tl.store(side + j, _side(new_j, upper_j, rises_j == 0))
        t = move.to(v.dtype.element_ty)
        if RIDGED:
            last_i = i
            last_j = j
            own_i = t * tl.load(ridge + i)
            own_j = t * tl.load(ridge + j)
        step += go
        go = tl.where(top > 0.0, go, 0)
        tl.debug_barrier()
    tl.store(done + b, step)


@triton.jit
def _side(beta, upper, positive):
    can_grow = (beta < upper).to(tl.int32)
    can_shrink = (beta > 0.0).to(tl.int32)
    return tl.where(positive, can_grow + 2 * can_shrink, can_shrink + 2 * can_grow).to(tl.int8)


def take_steps(batch: Batch, most: int, eps: torch.Tensor) -> torch.Tensor:
    """Make SMO steps as `pairs.take_steps` does; v is updated in K's type, then recomputed."""
    q, before, diag, ridge = batch.y.shape[1], batch.beta.clone(), batch.diag, batch.ridge
    K, first, ld, columns = batch.source.layout()
    plus, some = batch.y > 0.0, batch.upper > 0.0
    below, above = some & (batch.beta < batch.upper), some & (batch.beta > 0.0)
    side = torch.where(plus, below + 2 * above, above + 2 * below).to(torch.int8)
    done = torch.zeros(len(batch.y), dtype=torch.int32, device=K.device)
    if ridge is not None:
        diag = diag + ridge
    block = min(LANES, max(128, triton.next_power_of_2(q)))
    _steps[(len(batch.y),)](
        K,
        first,
        batch.sizes if columns is None else columns.to(torch.int32),
        batch.v.to(K.dtype, copy=True),
        batch.beta,
        batch.upper,
        batch.y.to(torch.int8),
        side,
        diag.to(K.dtype),
        diag if ridge is None else ridge.to(K.dtype),
        eps.to(K.dtype),
        batch.sizes,
        done,
        ld,
        q,
        most,
        BLOCK=block,
        GATHER=columns is not None,
        RIDGED=ridge is not None,
        num_warps=max(1, min(16, block // 256)),
    )
    batch.move(batch.beta - before)
    return done
