"""Spectral projected gradient steps on a batch: one product with all kernel matrices moves all weights of all problems.

They suit problems most of whose weights are free, or all at the bound. Each step goes along the projection of the
gradient step, by an exact line search, so no objective rises.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from svmkit_torch.ondevice.answer import Profile
from svmkit_torch.ondevice.batch import Batch

Projection = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]

HALVINGS = 48  # of the interval of the multiplier
SHORT = 3  # consecutive steps of each of the two lengths


def project(z: torch.Tensor, y: torch.Tensor, upper: torch.Tensor, balance: torch.Tensor) -> torch.Tensor:
    """Return the points of 0 <= beta <= upper, y'beta = balance that are nearest to z, all (B, q) of float64.

    They are clip(z - lam y, 0, upper) for the lam at which the equality holds, which bisection finds.

    Parameters
    ----------
    z, y, upper : tensor of float64, shape (B, q)
        The points, the labels and the upper bounds.
    balance : tensor of float64, shape (B, 1)
        The required value of y'beta.

    References
    ----------
    Dai, Fletcher (2006), New algorithms for singly linearly constrained quadratic programs, section 2.
    """
    zy = z * y
    ends = torch.where(y > 0.0, zy - upper, zy), torch.where(y > 0.0, zy, zy + upper)
    lo, hi = ends[0].min(1, keepdim=True).values, ends[1].max(1, keepdim=True).values
    least, most = torch.where(y > 0.0, 0.0, -upper), torch.where(y > 0.0, upper, 0.0)
    for _ in range(HALVINGS):
        lam = 0.5 * (lo + hi)
        above = (zy - lam).clamp(least, most).sum(1, keepdim=True) > balance
        lo, hi = torch.where(above, lam, lo), torch.where(above, hi, lam)
    lam = 0.5 * (lo + hi)
    signed = (zy - lam).clamp(least, most)
    free = (signed > least) & (signed < most)
    off = (signed.sum(1, keepdim=True) - balance) / free.sum(1, keepdim=True).clamp(min=1)
    return (zy - lam - off).clamp(least, most) * y


class Spectral:
    """Steps of a spectral projected gradient method on the problems of a batch.

    Parameters
    ----------
    batch : Batch
        The problems, whose iterates are changed in place.
    projection : callable
        `project`, or an equivalent function.
    profile : Profile
        Collects the time spent.

    References
    ----------
    Serafini, Zanghirati, Zanni (2005), Gradient projection methods for quadratic programs and applications in training
    support vector machines: the two lengths of Barzilai and Borwein in turn.
    """

    def __init__(self, batch: Batch, projection: Projection, profile: Profile) -> None:
        self.batch, self.projection, self.profile, self.count = batch, projection, profile, 0
        largest = batch.diag.amax(1, keepdim=True).to(torch.float64)
        if batch.ridge is not None:
            largest = largest + batch.ridge.amax(1, keepdim=True)
        self.length = 1.0 / largest.clamp(min=1e-300)

    def select(self, batch: Batch, kept: torch.Tensor) -> None:
        """Continue with some of the problems, whose numbers are `kept`."""
        self.batch, self.length = batch, self.length[kept]

    def step(self) -> None:
        """Make one step for each problem."""
        batch = self.batch
        y, beta = batch.y, batch.beta
        gradient = y * batch.v
        with self.profile.timing("projection"):
            given = beta - self.length * gradient, y, batch.upper, batch.balance
            change = self.projection(*map(batch.split, given)).view_as(beta) - beta
        of_signed = change * y
        with self.profile.timing("image"):
            image = batch.image(of_signed)
        curved = (of_signed * image).sum(1, keepdim=True)
        slope = (gradient * change).sum(1, keepdim=True)
        tiny = torch.finfo(torch.float64).tiny
        part = (-slope / curved.clamp(min=tiny)).clamp(0.0, 1.0)
        beta += part * change
        torch.minimum(beta.clamp_(min=0.0), batch.upper, out=beta)
        batch.v += part * image
        # the image beyond the points of a problem does not belong to it
        inside = torch.where(batch.upper > 0.0, image, 0.0)
        moved, turned = change.square().sum(1, keepdim=True), inside.square().sum(1, keepdim=True)
        long = (self.count // SHORT) % 2 == 1
        length = moved / curved.clamp(min=tiny) if long else curved / turned.clamp(min=tiny)
        usable = (curved > 0.0) & length.isfinite() & (length > 0.0)
        self.length = torch.where(usable, length, self.length)
        self.count += 1
