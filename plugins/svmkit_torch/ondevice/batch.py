"""A batch of box problems on one device, side by side in padded arrays, and the source of their kernel values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

HALVINGS = 60  # of the interval of a level
TINIEST = 1e-300  # replaces a ridge of 0 in divisions


class Source(ABC):
    """Kernel values of the points of the problems of a batch, float32 or float64, in `K` on the device."""

    K: torch.Tensor

    @abstractmethod
    def image(self, weights: torch.Tensor) -> torch.Tensor:
        """Return K weights of each problem, for weights (B, q) in K's type that are 0 beyond its points."""

    @abstractmethod
    def rows(self, at: torch.Tensor) -> torch.Tensor:
        """Return the kernel row (q,) of the point at[b] of each problem b, (B, q)."""

    @abstractmethod
    def block(self, at: torch.Tensor) -> torch.Tensor:
        """Return the kernel rows (n, q) of the points `at` (n,) of the only problem."""

    @abstractmethod
    def bytes_of_image(self) -> int:
        """Return the bytes that `image` reads, or could read in the time of its arithmetic."""

    @abstractmethod
    def select(self, kept: torch.Tensor) -> Source:
        """Return the source of some of the problems, whose numbers are `kept`."""

    @abstractmethod
    def layout(self) -> tuple[torch.Tensor, torch.Tensor, int, torch.Tensor | None]:
        """Return the values, the starting position of each problem, the length of a row, and the columns (B, q) if they
        are not consecutive.
        """


class Shared(Source):
    """One matrix K (n, n) of all rows; `idx` (B, q) are the rows of the points, `real` marks valid entries."""

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

    def block(self, at: torch.Tensor) -> torch.Tensor:
        rows = self.K.index_select(0, self.idx[0, at])
        return rows if self.whole else rows.index_select(1, self.idx[0])

    def bytes_of_image(self) -> int:
        # a number of the matrix costs as much as some 30 operations of a card for each problem
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

    def block(self, at: torch.Tensor) -> torch.Tensor:
        return self.K[int(self.numbers[0])].index_select(0, at)

    def bytes_of_image(self) -> int:
        return 4 * self.K.numel()

    def select(self, kept: torch.Tensor) -> Squares:
        return Squares(self.K, self.numbers[kept])

    def layout(self):
        q = self.K.shape[1]
        return self.K, self.numbers * (q * q), q, None


@dataclass
class Batch:
    """Problems of at most q points each, side by side.

    They are min 1/2 beta'Q beta + linear'beta + 1/2 sum ridge beta^2 over 0 <= beta <= upper, y'beta = balance.

    Attributes
    ----------
    source : Source
        The kernel values of the points.
    y, upper : tensor of float64, shape (B, q)
        Labels and finite upper bounds; beyond the points of a problem they are 1 and 0.
    beta, v : tensor of float64, shape (B, q)
        The iterate, and y times the gradient there.
    diag : tensor of float32, shape (B, q)
        The diagonal of the kernel matrix.
    balance : tensor of float64, shape (B, G)
        The value of y'beta, for each of the G equal parts of the points.
    sizes : tensor of int32, shape (B,)
        The numbers of points.
    linear, ridge : tensor of float64, shape (B, q), or None
        The linear term and the ridges; None for -1 and 0, as for the hinge.
    """

    source: Source
    y: torch.Tensor
    upper: torch.Tensor
    beta: torch.Tensor
    v: torch.Tensor
    diag: torch.Tensor
    balance: torch.Tensor
    sizes: torch.Tensor
    linear: torch.Tensor | None = None
    ridge: torch.Tensor | None = None

    @property
    def groups(self) -> int:
        """The number of parts of the points with their own equality constraint: 2 for problems with nu."""
        return self.balance.shape[1]

    def split(self, values: torch.Tensor) -> torch.Tensor:
        """Return an array (B, q), or the balance (B, G), with a row for each part of the points of each problem."""
        return values.reshape(len(self.y) * self.groups, -1)

    def select(self, kept: torch.Tensor) -> Batch:
        """Return the batch of some of the problems, whose numbers are `kept`: copies of their arrays."""
        return self._change(self.source.select(kept), ARRAYS, lambda values: values[kept])

    def among(self, at: torch.Tensor, source: Source) -> Batch:
        """Return the problem of some points of a single problem, `at` (n,), while all others keep their weights.

        Parameters
        ----------
        at, source : torch.Tensor, Source
            The points, and their kernel values.
        """
        part = self._change(source, POINTS, lambda values: values[:, at].clone())
        part.balance = (part.y * part.beta).sum(1, keepdim=True)
        part.sizes = torch.full_like(self.sizes, len(at))
        return part

    def _change(self, source: Source, names: tuple[str, ...], change: Callable[[torch.Tensor], torch.Tensor]) -> Batch:
        known = {name: getattr(self, name) for name in names}
        return replace(self, source=source, **{name: change(x) for name, x in known.items() if x is not None})

    def image(self, signed: torch.Tensor) -> torch.Tensor:
        """Return the change of v by a change of y beta (B, q), in float64."""
        image = self.source.image(signed.to(self.source.K.dtype)).to(torch.float64)
        return image if self.ridge is None else image + self.ridge * signed

    def move(self, change: torch.Tensor) -> None:
        """Add the effect of a change of beta (B, q), which beta already includes, to v."""
        self.v += self.image(change * self.y)

    def put(self, at: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        """Give points `at` (n,) of a single problem new weights; add the effect of ridges to v, and return the
        change.
        """
        change = beta - self.beta[0, at]
        self.beta[0, at] = beta
        if self.ridge is not None:
            self.v[0, at] += self.y[0, at] * self.ridge[0, at] * change
        return change

    def levels(self) -> torch.Tensor:
        """Return the level of v with the smallest gap, for each part of the points of each problem, (B * G, 1)."""
        v, y, upper, balance = (self.split(values) for values in (self.v, self.y, self.upper, self.balance))
        if self.ridge is not None:
            return self._bent_levels(v, y, upper, balance)
        order = v.argsort(dim=1)
        passed = upper.gather(1, order).cumsum(1)
        wanted = balance + torch.where(y < 0.0, upper, 0.0).sum(1, keepdim=True)
        k = torch.searchsorted(passed, wanted).clamp_(max=v.shape[1] - 1)
        return v.gather(1, order.gather(1, k))

    def _bent_levels(self, v, y, upper, balance) -> torch.Tensor:
        """Return the levels if there are ridges, by bisection."""
        ridge, beta = self.split(self.ridge), self.split(self.beta)  # type: ignore[arg-type]
        base, some = v - ridge * y * beta, upper > 0.0  # v if the weight itself is 0
        far = ridge * upper
        lo = torch.where(some, torch.where(y > 0.0, base, base - far), torch.inf).amin(1, keepdim=True)
        hi = torch.where(some, torch.where(y > 0.0, base + far, base), -torch.inf).amax(1, keepdim=True)
        for _ in range(HALVINGS):
            level = 0.5 * (lo + hi)
            above = (y * best_weights(y * (base - level), ridge, upper)).sum(1, keepdim=True) > balance
            lo, hi = torch.where(above, lo, level), torch.where(above, level, hi)
        return 0.5 * (lo + hi)

    def gaps(self) -> torch.Tensor:
        """Return the absolute gap P - D of each problem, (B,), at the levels with the smallest gap."""
        level = self.levels()
        slope = self.y * (self.split(self.v) - level).view_as(self.v)
        if self.ridge is None:
            return (torch.where(slope > 0.0, self.beta, self.beta - self.upper) * slope).sum(1)
        best = best_weights(slope - self.ridge * self.beta, self.ridge, self.upper)
        return ((self.beta - best) * (slope + 0.5 * self.ridge * (best - self.beta))).sum(1)

    def values(self) -> torch.Tensor:
        """Return D of each problem at its best levels, (B,)."""
        if self.linear is None:
            return 0.5 * (self.beta * (1.0 - self.y * self.v)).sum(1)
        dual = -0.5 * (self.beta * (self.linear + self.y * self.v)).sum(1)
        if self.groups > 1:  # D of the problem with nu
            dual = dual + (self.balance * self.levels().view_as(self.balance)).sum(1)
        return dual


ARRAYS = ("y", "upper", "beta", "v", "diag", "balance", "sizes", "linear", "ridge")
POINTS = ("y", "upper", "beta", "v", "diag", "linear", "ridge")


def best_weights(slope: torch.Tensor, ridge: torch.Tensor, upper: torch.Tensor) -> torch.Tensor:
    """Return the minimisers of slope a + 1/2 ridge a^2 over 0 <= a <= upper.

    Parameters
    ----------
    slope, ridge, upper : tensor of float64
        The slopes at 0, the ridges >= 0 and the finite upper bounds.
    """
    falls = -slope
    inside = torch.minimum(falls.clamp(min=0.0) / ridge.clamp(min=TINIEST), upper)
    return torch.where(ridge > 0.0, inside, torch.where(falls > 0.0, upper, 0.0))
