"""Products with kernel values of few columns in one Triton kernel: sums of differences, with no stored values.

Kernel values of rows with a few columns take less time to compute than to store. They are computed from x - z, so
float32 values are off by about d u of the exponent, wherever the data lie.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 128, 64  # in a tile of kernel values
MOST_COLUMNS = 64  # of X: with more, a matrix product is faster
PANEL = COLUMNS  # products that are summed before they are added to the earlier sums


@triton.jit
def _product(X, Z, coef, out, n, q, d, gamma, M: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * M + tl.arange(0, M)
    here = rows < n
    lane = tl.arange(0, N)
    total = tl.zeros([M], tl.float64)
    scale = tl.load(gamma)
    for first in range(0, q, N):
        columns = first + lane
        there = columns < q
        square = tl.zeros([M, N], X.dtype.element_ty)
        of_x = X + rows
        of_z = Z + columns
        for _ in range(d):
            x = tl.load(of_x, mask=here, other=0.0)
            z = tl.load(of_z, mask=there, other=0.0)
            off = x[:, None] - z[None, :]
            square += off * off
            of_x += n
            of_z += q
        weights = tl.load(coef + columns, mask=there, other=0.0)
        total += tl.sum(tl.exp(-scale * square) * weights[None, :], axis=1).to(tl.float64)
    tl.store(out + rows, total, mask=here)


def product(X: torch.Tensor, Z: torch.Tensor, coef: torch.Tensor, gamma: float) -> torch.Tensor:
    """Return sum_j exp(-gamma |x_i - z_j|^2) coef_j for each row of X, as float64.

    Parameters
    ----------
    X, Z : tensor of shapes (d, n) and (d, q)
        Vectors by columns, contiguous, in the type of the computation.
    coef : tensor of shape (q,)
        Coefficients of the same type.
    gamma : float
        The parameter of the kernel.
    """
    (d, n), q = X.shape, Z.shape[1]
    out = torch.empty(n, dtype=torch.float64, device=X.device)
    scale = torch.tensor([gamma], dtype=X.dtype, device=X.device)
    _product[(triton.cdiv(n, ROWS),)](X, Z, coef, out, n, q, d, scale, M=ROWS, N=COLUMNS, num_warps=8)
    return out
