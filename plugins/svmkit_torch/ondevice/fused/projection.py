"""The projection of `spectral` in one Triton kernel: one program per problem, Newton steps on the multiplier."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

LANES = 4096  # weights that a program processes together, at most
MOST = 64  # evaluations of a problem's sum; every fourth one halves the interval


@triton.jit
def _project(Z, Y, upper, balance, out, q, most, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    Z += b * q
    Y += b * q
    upper += b * q
    out += b * q
    wanted = tl.load(balance + b)
    lane = tl.arange(0, BLOCK)
    inf = float("inf")
    ends_lo = tl.full([BLOCK], inf, tl.float64)
    ends_hi = tl.full([BLOCK], -inf, tl.float64)
    sizes = tl.zeros([BLOCK], tl.float64)
    for first in range(0, q, BLOCK):
        r = first + lane
        real = r < q
        y = tl.load(Y + r, mask=real, other=1.0)
        z = tl.load(Z + r, mask=real, other=0.0) * y
        u = tl.load(upper + r, mask=real, other=0.0)
        ends_lo = tl.minimum(ends_lo, tl.where(real, tl.where(y > 0.0, z - u, z), inf))
        ends_hi = tl.maximum(ends_hi, tl.where(real, tl.where(y > 0.0, z, z + u), -inf))
        sizes += tl.abs(tl.minimum(tl.maximum(z * y, 0.0), u))
    lo = tl.min(ends_lo, axis=0)
    hi = tl.max(ends_hi, axis=0)
    enough = 1e-15 * tl.sum(sizes, axis=0)
    lam = tl.minimum(tl.maximum(lo * 0.0, lo), hi)
    step = q * 0
    go = q * 0 + 1
    while go > 0:
        sums = tl.zeros([BLOCK], tl.float64)
        frees = tl.zeros([BLOCK], tl.float64)
        for first in range(0, q, BLOCK):
            r = first + lane
            real = r < q
            y = tl.load(Y + r, mask=real, other=1.0)
            z = tl.load(Z + r, mask=real, other=0.0) * y - lam
            u = tl.load(upper + r, mask=real, other=0.0)
            least = tl.where(y > 0.0, 0.0, -u)
            most_ = tl.where(y > 0.0, u, 0.0)
            sums += tl.minimum(tl.maximum(z, least), most_)
            frees += tl.where((z > least) & (z < most_), 1.0, 0.0)
        off = tl.sum(sums, axis=0) - wanted
        free = tl.sum(frees, axis=0)
        lo = tl.where(off > 0.0, lam, lo)
        hi = tl.where(off > 0.0, hi, lam)
        newton = lam + off / tl.maximum(free, 1.0)
        middle = 0.5 * (lo + hi)
        safe = (free > 0.0) & (newton > lo) & (newton < hi) & (step % 4 != 3)
        following = tl.where(safe, newton, middle)
        step += 1
        go = tl.where((tl.abs(off) > enough) & (step < most) & (following != lam), 1, 0)
        lam = tl.where(go > 0, following, lam)
    for first in range(0, q, BLOCK):
        r = first + lane
        real = r < q
        y = tl.load(Y + r, mask=real, other=1.0)
        z = tl.load(Z + r, mask=real, other=0.0) * y - lam
        u = tl.load(upper + r, mask=real, other=0.0)
        signed = tl.minimum(tl.maximum(z, tl.where(y > 0.0, 0.0, -u)), tl.where(y > 0.0, u, 0.0))
        tl.store(out + r, signed * y, mask=real)


def project(z: torch.Tensor, y: torch.Tensor, upper: torch.Tensor, balance: torch.Tensor) -> torch.Tensor:
    """Return the same as `spectral.project`.

    Parameters
    ----------
    z, y, upper : tensor of float64, shape (B, q)
        The points, the labels and the upper bounds, contiguous.
    balance : tensor of float64, shape (B, 1)
        The required value of y'beta.
    """
    n, q = z.shape
    out = torch.empty_like(z)
    block = min(LANES, max(128, triton.next_power_of_2(q)))
    warps = max(1, min(16, block // 256))
    _project[(n,)](z, y, upper, balance, out, q, MOST, BLOCK=block, num_warps=warps)
    return out
