"""A batch of box problems on one device, side by side in padded arrays, and where their kernel values come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch


class Source(ABC):
    """Kernel values of the points of the problems of a batch, float32 or float64, in `K` on the device."""

    K: torch.Tensor

    @abstractmethod
    def image(self, weights: torch.Tensor) -> torch.Tensor:
        """Return K weights of each problem, for weights (B, q) of the type of K that are 0 beyond its points."""

    @abstractmethod
    def rows(self, at: torch.Tensor) -> torch.Tensor:
        """Return the kernel row (q,) of the point at[b] of each problem b, (B, q)."""

    @abstractmethod
    def bytes_of_image(self) -> int:
        """Return how many bytes `image` reads, or would read in the time that its arithmetic takes."""

    @abstractmethod
    def select(self, kept: torch.Tensor) -> Source:
        """Return the source of some of the problems, whose numbers are `kept`."""

    @abstractmethod
    def layout(self) -> tuple[torch.Tensor, torch.Tensor, int, torch.Tensor | None]:
        """Return the values, where those of each problem begin, the length of a row, and the columns (B, q) if they are
        not consecutive."""


class Shared(Source):
    """One matrix K (n, n) of all rows; `idx` (B, q) says which of them the points are, `real` which entries count."""

    def __init__(self, K: torch.Tensor, idx: torch.Tensor, real: torch.Tensor) -> None:
        self.K, self.idx, self.real = K, idx, real
        n = len(K)
        # one problem of all rows in order needs neither a scatter nor a gather
        self.whole = idx.shape == (1, n) and bool((idx[0] == torch.arange(n, device=K.device)).all())

    def image(self, weights: torch.Tensor) -> torch.Tensor:
        if self.whole:
            return (self.K @ weights[0])[None]
        full = torch.zeros((len(weights), len(self.K)), dtype=self.K.dtype, device=self.K.device)
        full.scatter_add_(1, self.idx, weights)
        return (full @ self.K).gather(1, self.idx)

    def rows(self, at: torch.Tensor) -> torch.Tensor:
        return self.K[self.idx.gather(1, at[:, None])[:, 0]].gather(1, self.idx)

    def bytes_of_image(self) -> int:
        # a number of the matrix is worth some 30 operations of a card for each problem
        return self.K.numel() * max(4, len(self.idx) // 8)

    def select(self, kept: torch.Tensor) -> Shared:
        return Shared(self.K, self.idx[kept], self.real[kept])

    def layout(self):
        first = torch.zeros(len(self.idx), dtype=torch.int64, device=self.K.device)
        return self.K, first, len(self.K), self.idx


class Squares(Source):
    """A square (q, q) for each problem: the tensor K (B, q, q)."""

    def __init__(self, K: torch.Tensor, numbers: torch.Tensor | None = None) -> None:
        self.K = K
        self.numbers = torch.arange(len(K), device=K.device) if numbers is None else numbers

    def image(self, weights: torch.Tensor) -> torch.Tensor:
        if len(self.K) == 1:
            return (self.K[0] @ weights[0])[None]
        if len(self.numbers) == len(self.K):
            return torch.bmm(weights[:, None, :], self.K)[:, 0, :]
        full = torch.zeros((len(self.K), weights.shape[1]), dtype=self.K.dtype, device=self.K.device)
        full[self.numbers] = weights
        return torch.bmm(full[:, None, :], self.K)[:, 0, :][self.numbers]

    def rows(self, at: torch.Tensor) -> torch.Tensor:
        return self.K[self.numbers, at]

    def bytes_of_image(self) -> int:
        return 4 * self.K.numel()

    def select(self, kept: torch.Tensor) -> Squares:
        return Squares(self.K, self.numbers[kept])

    def layout(self):
        q = self.K.shape[1]
        return self.K, self.numbers * (q * q), q, None


@dataclass
class Batch:
    """Problems min 1/2 beta'Q beta + p'beta, 0 <= beta <= upper, y'beta = level of at most q points each.

    Attributes
    ----------
    source : Source
        The kernel values of the points.
    y, upper : tensor of float64, shape (B, q)
        Labels and upper bounds; beyond the points of a problem they are 1 and 0.
    beta, v : tensor of float64, shape (B, q)
        The iterate, and y times the gradient there.
    diag : tensor of float32, shape (B, q)
        The diagonal of the kernel matrix.
    balance : tensor of float64, shape (B, 1)
        What y'beta is.
    sizes : tensor of int32, shape (B,)
        The numbers of points.
    """

    source: Source
    y: torch.Tensor
    upper: torch.Tensor
    beta: torch.Tensor
    v: torch.Tensor
    diag: torch.Tensor
    balance: torch.Tensor
    sizes: torch.Tensor

    def select(self, kept: torch.Tensor) -> Batch:
        """Return the batch of some of the problems, whose numbers are `kept`: copies of their arrays."""
        arrays = ("y", "upper", "beta", "v", "diag", "balance", "sizes")
        return replace(self, source=self.source.select(kept), **{name: getattr(self, name)[kept] for name in arrays})

    def move(self, change: torch.Tensor) -> None:
        """Add the effect of a change of beta (B, q), which beta has already, to v."""
        self.v += self.source.image((change * self.y).to(self.source.K.dtype))

    def gaps(self) -> torch.Tensor:
        """Return the absolute gap P - D of each problem, (B,), at the level that makes it smallest."""
        order = self.v.argsort(dim=1)
        passed = self.upper.gather(1, order).cumsum(1)
        wanted = self.balance + torch.where(self.y < 0.0, self.upper, 0.0).sum(1, keepdim=True)
        k = torch.searchsorted(passed, wanted).clamp_(max=self.v.shape[1] - 1)
        level = self.v.gather(1, order.gather(1, k))
        slope = self.y * (self.v - level)
        return (torch.where(slope > 0.0, self.beta, self.beta - self.upper) * slope).sum(1)

    def values(self) -> torch.Tensor:
        """Return D of each problem whose linear term is -1'beta, (B,)."""
        return 0.5 * (self.beta * (1.0 - self.y * self.v)).sum(1)
