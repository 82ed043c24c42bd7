"""The iterations on a batch: spectral steps as long as they halve the gaps, then SMO steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import torch

from svmkit_torch.ondevice.batch import Batch
from svmkit_torch.ondevice.code import code_for
from svmkit_torch.ondevice.spectral import Spectral

LOOK = 8  # spectral steps between two looks at the gaps
FALLS = 0.5  # factor by which the median gap has to fall meanwhile, or SMO takes over
FIRST, MOST = 512, 8192  # SMO steps of the first launch, and of later ones at most
EPS = 4.0  # violation at which SMO ends, as a multiple of the gap that is wanted a unit of weight
LAUNCHES = 400  # launches of SMO at most
STALLED = 0.95, 3  # a problem is left whose gap does not fall by this factor so many launches in a row


class _Left:
    """The problems of a batch that are not solved yet: a batch of their own, and their numbers."""

    def __init__(self, whole: Batch) -> None:
        self.whole, self.batch = whole, whole
        self.numbers = torch.arange(len(whole.y), device=whole.y.device)
        self.taken = torch.zeros((len(whole.y), 2), dtype=torch.int64, device=whole.y.device)

    def keep(self, kept: torch.Tensor) -> torch.Tensor | None:
        """Leave all problems but those marked in `kept` (B,); return the numbers of these within the batch, or None."""
        self.save()
        at = kept.nonzero()[:, 0]
        if len(at) == len(kept):
            return None
        self.batch, self.numbers = self.batch.select(at), self.numbers[at]
        return at

    def save(self) -> None:
        """Write the iterates to the whole batch."""
        if self.batch is not self.whole:
            self.whole.beta[self.numbers], self.whole.v[self.numbers] = self.batch.beta, self.batch.v


def minimise(batch: Batch, target: float | torch.Tensor, ends: float, profile: Any) -> torch.Tensor:
    """Lower the gap of each problem to its target, and return the SMO steps and the spectral steps of each, (B, 2).

    Parameters
    ----------
    batch : Batch
        The problems, whose iterates are changed in place.
    target : float or tensor of shape (B,)
        A number is a relative gap, of problems with the linear term -1'beta; a tensor has absolute gaps.
    ends : float
        When to end, by `time.perf_counter`.
    profile : Profile
        Where seconds and counts go.
    """
    left = _Left(batch)

    def goals() -> torch.Tensor:
        if isinstance(target, torch.Tensor):
            return target[left.numbers]
        return target * left.batch.values().abs()

    if _spectral(left, goals, ends, profile):
        _smo(left, goals, ends, profile)
    left.save()
    return left.taken


def _spectral(left: _Left, goals: Callable[[], torch.Tensor], ends: float, profile: Any) -> bool:
    """Make spectral steps as long as they pay; return whether a problem is left."""
    spectral, before = Spectral(left.batch, code_for(left.batch.y.device).project, profile), None
    while True:
        with profile.timing("spectral"):
            for _ in range(LOOK):
                spectral.step()
            left.taken[left.numbers, 1] += LOOK
        profile.count("spectral", LOOK)
        with profile.timing("gaps"):
            gaps = left.batch.gaps()
            kept = gaps > goals()
            any_left = bool(kept.any())
        if not any_left or time.perf_counter() > ends:
            left.save()
            return any_left
        fell = math.inf if before is None else float((before[kept] / gaps[kept]).median())
        at, before = left.keep(kept), gaps[kept]
        if at is not None:
            spectral.select(left.batch, at)
        if fell < 1.0 / FALLS:
            return True


def _smo(left: _Left, goals: Callable[[], torch.Tensor], ends: float, profile: Any) -> None:
    """Make SMO steps until each problem is solved."""
    take_steps, most = code_for(left.batch.y.device).take_steps, FIRST
    factor = torch.full_like(left.batch.y[:, 0], EPS)
    least, waits = torch.full_like(factor, torch.inf), torch.zeros_like(factor)
    for _ in range(LAUNCHES):
        batch = left.batch
        with profile.timing("smo"):
            eps = factor * goals() / batch.beta.sum(1).clamp(min=1e-300)
            done = take_steps(batch, most, eps)
            left.taken[left.numbers, 0] += done
        with profile.timing("gaps"):
            gaps = batch.gaps()
            waits = torch.where(gaps < STALLED[0] * least, 0.0, waits + 1.0)
            least = torch.minimum(gaps, least)
            kept = (gaps > goals()) & (waits < STALLED[1])
            any_left = bool(kept.any())
        profile.count("launches", 1)
        profile.count("smo (longest)", int(done.max()))
        if not any_left or time.perf_counter() > ends:
            return
        factor = torch.where(done < most, 0.3 * factor, factor)[kept]
        least, waits = least[kept], waits[kept]
        left.keep(kept)
        most = min(MOST, 2 * most)
