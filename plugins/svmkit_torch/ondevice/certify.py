"""P and D of many points on the device, from one float64 product, with the same rounding bounds as for all problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from svmkit.kernels.rounding import U
from svmkit.problems.certificate import Certificate
from svmkit.problems.sums import Bounds, Sums, Totals, error_of_h, values_of
from svmkit_torch.ondevice.batch import Batch
from svmkit_torch.values import PANEL


def best_biases(batch: Batch, h: torch.Tensor) -> torch.Tensor:
    """Return the bias (B, 1) with the least hinge losses for each problem, for decisions h (B, q) without it."""
    residual = torch.where(batch.upper > 0.0, batch.y - h, torch.inf)
    order = residual.argsort(dim=1)
    passed = batch.upper.gather(1, order).cumsum(1)
    wanted = torch.where(batch.y > 0.0, batch.upper, 0.0).sum(1, keepdim=True)
    k = torch.searchsorted(passed, wanted).clamp_(max=h.shape[1] - 1)
    k = torch.minimum(k, batch.sizes[:, None].to(k.dtype) - 1)
    return residual.gather(1, order.gather(1, k))


def sums_of(batch: Batch, h: torch.Tensor, bias: torch.Tensor, of_h: torch.Tensor) -> torch.Tensor:
    """Return `svmkit.problems.sums.Sums` of each problem, with the hinge, as an array (B, 8).

    Parameters
    ----------
    batch, h, bias : Batch, torch.Tensor, torch.Tensor
        The problems, their decision values (B, q) without the bias, and the biases (B, 1).
    of_h : tensor of float64, shape (B, 1)
        A bound on the error of each decision value.
    """
    y, beta, upper = batch.y, batch.beta, batch.upper
    decision = h + bias
    residual = 1.0 - y * decision
    # each of the two operations rounds by at most half a unit of its result
    error = of_h + 2.0 * U * (decision.abs() + residual.abs())
    loss = upper * residual.clamp(min=0.0)
    off = torch.where(residual > -error, upper * error, 0.0) * (1.0 + 1e-12)
    signed = y * beta
    terms = signed * h
    zero = torch.zeros_like(bias[:, 0])
    total = beta.sum(1)
    columns = terms.sum(1), terms.abs().sum(1), total, total, zero, signed.sum(1), loss.sum(1), off.sum(1)
    return torch.stack(columns, 1)


def certify(
    products: Any, batch: Batch, idx: torch.Tensor, decisions: bool = False
) -> tuple[list[Certificate], Sequence[np.ndarray | None]]:
    """Return the certificate of each problem, and set v of the batch from the decision values behind it.

    The decision values come from scratch, by one product in float64 for all problems.

    Parameters
    ----------
    products : svmkit_torch.ondevice.products.Products
        Products with the rows of X.
    batch : Batch
        The problems, with all their points, and the linear term -1'beta.
    idx : tensor of int64, shape (B, q)
        The row of each point.
    decisions : bool, default=False
        Whether the decision values of all rows are returned, too.

    Returns
    -------
    certificates : list of Certificate
    decisions : sequence of ndarray of float64, shape (n,), or None
        Without the biases.
    """
    rows = products.rows
    signed = torch.zeros((len(idx), rows.n), dtype=torch.float64, device=idx.device)
    signed.scatter_add_(1, idx, batch.y * batch.beta)
    support = signed.any(0).nonzero()[:, 0]
    used = torch.zeros(rows.n, dtype=torch.bool, device=idx.device)
    used[idx[batch.upper > 0.0]] = True
    at = None if decisions or bool(used.all()) else used.nonzero()[:, 0]
    if len(signed) == 1:
        product, of_values = (
            products.product(support, signed[0, support], at)[:, None],
            (products.error, products.panel),
        )
    else:
        product, of_values = rows.product(support, signed[:, support].T.contiguous(), at), (rows.error, PANEL)
    if at is not None:
        place = torch.zeros(rows.n, dtype=torch.int64, device=idx.device)
        place[at] = torch.arange(len(at), device=idx.device)
        idx = place[idx]
    h = product.T.gather(1, idx)
    everywhere = product.T.cpu().numpy() if decisions else [None] * len(idx)
    batch.v = torch.where(batch.upper > 0.0, h - batch.y, 0.0)
    bounds = Bounds(of_values[0], rows.largest, of_values[1], 0.0, U)
    beta = batch.beta
    facts = torch.stack([(beta > 0.0).sum(1).to(torch.float64), beta.sum(1), beta.amax(1)], 1).cpu().numpy()
    widest = batch.diag.amax(1).to(torch.float64).cpu().numpy() * (1.0 + 1e-6)  # float32 may have rounded it
    totals = [
        Totals(m, int(n), float(total), float(most), float(wide), 1.0)
        for m, (n, total, most), wide in zip(batch.sizes.tolist(), facts, widest, strict=True)
    ]
    of_h = np.array([error_of_h(each, bounds) for each in totals])
    bias = best_biases(batch, h)
    sums = sums_of(batch, h, bias, torch.as_tensor(of_h, device=h.device)[:, None]).cpu().numpy()
    found = []
    for each, row, b, error in zip(totals, sums, bias[:, 0].tolist(), of_h.tolist(), strict=True):
        values = values_of(each, Sums(*row.tolist()), b, error, U)
        found.append(Certificate.from_values(*values[:2], None, b, errors=values[2:4]))
    return found, everywhere
