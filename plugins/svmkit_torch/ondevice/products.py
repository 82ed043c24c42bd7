"""Products of one vector of weights with kernel values: in one kernel if there are few columns, else by matrices."""

from __future__ import annotations

from functools import cached_property

import torch

from svmkit.kernels.forms import RBF, difference_error
from svmkit_torch.ondevice.code import code_for
from svmkit_torch.values import PANEL, DeviceRows


class Products:
    """Products with the kernel values of rows of X.

    Attributes
    ----------
    rows : DeviceRows
        The rows.
    fused : callable or None
        `fused.products.product` if it should compute them.
    error, panel : float, int
        A bound on the error of a float64 value, and the number of products that are summed together, as in `Bounds`.
    """

    def __init__(self, rows: DeviceRows) -> None:
        self.rows, code = rows, code_for(rows.device)
        able = rows.scalars.form == RBF and not rows.rows.sparse and rows.d <= code.most_columns
        self.fused = code.product if able else None
        self.error, self.panel = rows.error, PANEL
        if self.fused is not None:
            self.error = max(rows.error, difference_error(rows.scalars, rows.d + 3))
            self.panel = min(PANEL, code.panel)

    @cached_property
    def _float32_columns(self) -> torch.Tensor:
        """All rows less the origin in float32, (d, n)."""
        return self._transpose(slice(None), torch.float32)

    def _transpose(self, at: slice | torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return self.rows.rows.dense(at, dtype, self.rows.origin).T.contiguous()

    def product(
        self, idx: torch.Tensor, coef: torch.Tensor, at: torch.Tensor | None = None, dtype=torch.float64
    ) -> torch.Tensor:
        """Return K[at, idx] coef, of float64, shape (len(at),).

        Parameters
        ----------
        idx : tensor of int64, shape (q,)
            Rows of X that have coefficients.
        coef : tensor of float64, shape (q,)
            Coefficients.
        at : tensor of int64, optional
            Rows of the result; all by default.
        dtype : {torch.float64, torch.float32}, default=float64
            Precision of the values and of their sums over a panel.
        """
        kept = self.rows.precision(dtype, rough=True)
        if self.fused is None or not len(idx):
            return self.rows.product(idx, coef[:, None], at, dtype)[:, 0]
        if at is None and kept == torch.float32:
            X = self._float32_columns
        else:
            X = self._transpose(slice(None) if at is None else at, kept)
        return self.fused(X, self._transpose(idx, kept), coef.to(kept), self.rows.scalars.gamma)
