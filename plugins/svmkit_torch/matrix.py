"""A precomputed kernel matrix on a device."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch

from svmkit.kernels.functions import asymmetry
from svmkit_torch.arithmetic import plain_arithmetic
from svmkit_torch.memory import Tiles
from svmkit_torch.rows import rows_on
from svmkit_torch.values import PANEL


class DeviceMatrix:
    """Kernel values X (n, n_train) on a device, for blocks and products.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, n_train), float32 or float64
        The values.
    device : torch.device or str
        The device that stores them.

    Attributes
    ----------
    panel : int
        Most products that are summed before their sum is added to the earlier ones.
    tiles : Tiles
        The memory that the arrays of a tile may take.
    """

    panel = PANEL

    def __init__(self, X: Any, device: torch.device | str) -> None:
        self.X, self.device = X, torch.device(device)
        self.tiles = Tiles(self.device)
        self.rows = rows_on(X, self.device)

    @cached_property
    def error(self) -> float:
        """A bound on the error of beta'K beta through a value: half of the difference of the matrix from its
        transpose.
        """
        return 0.5 * asymmetry(self.X).size if self.X.shape[0] == self.X.shape[1] else 0.0

    @cached_property
    def largest(self) -> float:
        """The largest absolute value."""
        return self.rows.largest()

    def vectors(self, Z: np.ndarray) -> torch.Tensor:
        """Return the indices on the device."""
        return torch.as_tensor(np.asarray(Z, dtype=np.int64), device=self.device)

    def places(self, sel: np.ndarray) -> torch.Tensor | None:
        """Return row numbers as a tensor on the device; None for an empty array, which stands for all rows."""
        return torch.as_tensor(sel, device=self.device) if sel.size else None

    def write_block(self, Z: torch.Tensor, out: np.ndarray, at: torch.Tensor | None, rough: bool) -> None:
        """Write the values of Z with the rows `at`, exactly as they are stored, to an array of the host.

        Parameters
        ----------
        Z, at : tensor of int64, or None for all of `at`
            Training samples and rows.
        out : ndarray of shape (len(Z), len(at))
            The array.
        rough : bool
            Has no effect.
        """
        host, n = torch.as_tensor(out), self.rows.n if at is None else len(at)

        def write(here: slice) -> None:
            host[:, here].copy_(self._values(here, at, host.dtype)[:, Z].T)

        self.tiles.run(n, self._bytes, write)

    def host_product(self, Z: torch.Tensor, coef: np.ndarray, at: torch.Tensor | None, dtype: np.dtype) -> np.ndarray:
        """Return K[at, Z] @ coef in float64 on the host.

        Parameters
        ----------
        Z, at : tensor of int64, or None for all of `at`
            Training samples and rows.
        coef : ndarray of shape (len(Z), p)
            Coefficients on the host.
        dtype : numpy.dtype
            Has no effect.
        """
        weights = torch.as_tensor(np.ascontiguousarray(coef, dtype=np.float64), device=self.device)
        n = self.rows.n if at is None else len(at)
        out = torch.zeros((n, coef.shape[1]), dtype=torch.float64, device=self.device)

        def add(here: slice) -> None:
            rows = self._values(here, at, torch.float64)
            sums = torch.zeros_like(out[here])
            for lo in range(0, len(Z), self.panel):
                sums += rows[:, Z[lo : lo + self.panel]] @ weights[lo : lo + self.panel]
            out[here] = sums

        with plain_arithmetic(self.device):
            self.tiles.run(n, self._bytes, add)
        return out.cpu().numpy()

    def _values(self, here: slice, at: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor:
        return self.rows.dense(here if at is None else at[here], dtype)

    @property
    def _bytes(self) -> int:
        """Return the bytes of the arrays for one row."""
        return 8 * (2 * self.rows.d + self.panel + 4)
