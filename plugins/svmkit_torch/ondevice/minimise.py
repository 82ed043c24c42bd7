"""The iterations on a batch: spectral steps and SMO steps, whichever lowers the gaps more for its cost."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from svmkit_torch.ondevice import pairs
from svmkit_torch.ondevice.answer import Profile
from svmkit_torch.ondevice.batch import Batch
from svmkit_torch.ondevice.blocks import Blocks
from svmkit_torch.ondevice.code import Code, code_for
from svmkit_torch.ondevice.spectral import Spectral

LOOK = 8  # spectral steps between two checks of the gaps
FIRST, MOST = 512, 8192  # SMO steps of the first launch, and largest number in later ones
EPS, FINER = 4.0, 0.3  # violation at which SMO ends, as a multiple of the gap wanted a unit of weight; its next part
STALLED = 0.95, 12  # a problem is given up if its gap does not fall by this factor so many times in a row
PATIENCE = 4000  # points for each further check of the gaps before spectral steps are judged
LOOKS = 4  # at most, if blocks are the alternative
HOPE = 1.1  # growth factor of the worth of the other kind of steps
GOOD = 2.0  # factor by which the first spectral steps must lower the gap; otherwise SMO steps are tried
# seconds on a card of 2023: a spectral step and each byte of the matrices, an SMO step and each point; programs at once
SPECTRAL_STEP, A_BYTE, SMO_STEP, A_POINT, PROGRAMS = 3e-4, 2.8e-13, 5e-6, 1e-9, 132.0
PLAIN_STEP = 3e-4  # seconds of an SMO step by PyTorch's operations, as for problems with two constraints
A_BLOCK, PASSES = 2e-3, 3  # seconds of a block without its steps and rows, and how often its rows are read or written


class _Left:
    """The unsolved problems of a batch: a separate batch, their numbers, and their state.

    `taken` (B, 2) counts the SMO steps and the spectral steps of all problems; `least` is the smallest gap of each
    unsolved problem, `waits` how many times in a row it has not fallen, `factor` the current value of EPS.
    """

    def __init__(self, whole: Batch, code: Code, profile: Profile) -> None:
        self.whole, self.batch, self.code, self.profile = whole, whole, code, profile
        self.numbers = torch.arange(len(whole.y), device=whole.y.device)
        self.taken = torch.zeros((len(whole.y), 2), dtype=torch.int64, device=whole.y.device)
        self.factor = torch.full_like(whole.y[:, 0], EPS)
        self.least, self.waits = torch.full_like(self.factor, torch.inf), torch.zeros_like(self.factor)
        self.spectral, self.most = Spectral(whole, code.project, profile), FIRST
        self.blocks = Blocks(whole, code.take_steps, profile) if Blocks.suit(whole) else None

    def keep(self, kept: torch.Tensor) -> None:
        """Drop all problems except those marked in `kept` (B,)."""
        self.save()
        at = kept.nonzero()[:, 0]
        if len(at) < len(kept):
            self.batch, self.numbers = self.batch.select(at), self.numbers[at]
            self.factor, self.least, self.waits = self.factor[at], self.least[at], self.waits[at]
            self.spectral.select(self.batch, at)

    def save(self) -> None:
        """Write the iterates to the whole batch."""
        if self.batch is not self.whole:
            self.whole.beta[self.numbers], self.whole.v[self.numbers] = self.batch.beta, self.batch.v

    def take_spectral_steps(self) -> float:
        """Make `LOOK` spectral steps; return their cost, in seconds of a typical card."""
        with self.profile.timing("spectral"):
            for _ in range(LOOK):
                self.spectral.step()
            self.taken[self.numbers, 1] += LOOK
        self.profile.count("spectral", LOOK)
        return LOOK * (SPECTRAL_STEP + A_BYTE * self.batch.source.bytes_of_image())

    def take_smo_steps(self, goal: torch.Tensor, late: Callable[[], bool]) -> float:
        """Make SMO steps; return their cost, in seconds of a typical card."""
        batch = self.batch
        eps = self.factor * goal / batch.beta.sum(1).clamp(min=1e-300)
        if self.blocks is not None:
            return self._take_blocks(float(eps[0]), late)
        with self.profile.timing("smo"):
            known = batch.groups == 1  # to the steps of `Code`
            take_steps = self.code.take_steps if known else pairs.take_steps
            more = (late,) if take_steps is pairs.take_steps else ()  # many of them in one kernel take milliseconds
            done = take_steps(batch, self.most, eps, *more)
            self.taken[self.numbers, 0] += done
            self.factor = torch.where(done < self.most, FINER * self.factor, self.factor)
            longest = int(done.max())
        self.profile.count("launches", 1)
        self.profile.count("smo (longest)", longest)
        self.most = min(MOST, 2 * self.most)
        if not known:
            return max(1, longest) * PLAIN_STEP
        return max(1, longest) * (SMO_STEP + A_POINT * batch.y.shape[1]) * max(1.0, len(batch.y) / PROGRAMS)

    def _take_blocks(self, eps: float, late: Callable[[], bool]) -> float:
        """Make SMO steps in blocks of the only problem; return their cost, in seconds of a typical card."""
        assert self.blocks is not None
        with self.profile.timing("blocks"):
            blocks, steps = self.blocks.take(eps, late)
        self.taken[:, 0] += steps
        if not blocks:
            self.factor *= FINER
        self.profile.count("blocks", blocks)
        read = PASSES * A_BYTE * 4 * self.blocks.points * self.batch.y.shape[1]
        return max(1, blocks) * (A_BLOCK + read) + steps * (SMO_STEP + A_POINT * self.blocks.points)


class Worth(dict[str, float]):
    """How much each kind of steps lowers the logarithm of the gap in a second of a typical card; inf before it is
    known.
    """

    def __init__(self) -> None:
        super().__init__(spectral=math.inf, smo=math.inf, blocks=math.inf)


def minimise(
    batch: Batch,
    target: float | torch.Tensor,
    late: Callable[[], bool],
    profile: Profile,
    worth: Worth | None = None,
) -> torch.Tensor:
    """Lower the gap of each problem to its target, and return the SMO steps and the spectral steps of each, (B, 2).

    Parameters
    ----------
    batch : Batch
        The problems, whose iterates are changed in place.
    target : float or tensor of shape (B,)
        A number is a relative gap; a tensor contains absolute gaps.
    late : callable
        Returns whether to end.
    profile : Profile
        Collects seconds and counts.
    worth : Worth, optional
        The worth of the kinds of steps by problems of the same kind, updated by this one.
    """
    left = _Left(batch, code_for(batch.y.device), profile)

    def goals() -> torch.Tensor:
        if isinstance(target, torch.Tensor):
            return target[left.numbers]
        return target * left.batch.values().abs()

    _iterate(left, goals, late, Worth() if worth is None else worth)
    left.save()
    return left.taken


def _iterate(left: _Left, goals: Callable[[], torch.Tensor], late: Callable[[], bool], worth: Worth) -> None:
    """Make steps of the better kind until all problems are solved."""
    pairwise = "smo" if left.blocks is None else "blocks"
    before: torch.Tensor | None = None  # the gaps when the kind of steps was chosen
    looks, spent = 0, 0.0  # since then
    while True:
        chosen, other = ("spectral", pairwise) if worth["spectral"] >= worth[pairwise] else (pairwise, "spectral")
        spectral = chosen == "spectral"
        cost = left.take_spectral_steps() if spectral else left.take_smo_steps(goals(), late)
        spent, looks = spent + cost, looks + 1
        with left.profile.timing("gaps"):
            gaps = left.batch.gaps()
            left.waits = torch.where(gaps < STALLED[0] * left.least, 0.0, left.waits + 1.0)
            left.least = torch.minimum(gaps, left.least)
            kept = (gaps > goals()) & (left.waits < STALLED[1])
            any_left = bool(kept.any())
        if not any_left or late():
            return
        first = before is None
        before, gaps = gaps[kept] if before is None else before[kept], gaps[kept]
        left.keep(kept)
        patience, good = left.batch.y.shape[1] // PATIENCE, GOOD
        if left.blocks is not None:  # they are so much better for some problems that they are tried for all
            patience, good = min(patience, LOOKS), math.inf
        if spectral and looks <= patience:  # gaps fall unevenly
            continue
        fell = GOOD if first else float((before / gaps).median())
        is_news = not first or worth[chosen] == math.inf
        if is_news and not (spectral and worth[pairwise] == math.inf and fell >= good):
            worth[chosen] = math.log(max(fell, 1.0 + 1e-9)) / spent
            worth[other] *= HOPE
        before, looks, spent = gaps, 0, 0.0
