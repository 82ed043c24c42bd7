"""SMO steps on one large problem: in blocks of randomly drawn points, whose square a multiprocessor caches.

A step reads only the points of its block, and one product of the block's rows updates all others. So the cost of a step
does not depend on the size of the problem.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from svmkit_torch.ondevice.answer import Profile
from svmkit_torch.ondevice.batch import Batch, Squares
from svmkit_torch.ondevice.working_set import draw

POINTS = 2048  # in a block
LEAST = 8 * POINTS  # points from which on a problem is solved in blocks
FEWEST, SWEEP = 8, 4  # blocks between two checks of the gap: at least so many, and enough for a quarter of all points
MOST = 8192  # SMO steps in a block
PART = 0.1  # violation at which a block ends, relative to that of all points


class Blocks:
    """SMO steps on the one problem of a batch.

    Parameters
    ----------
    batch : Batch
        The problem, whose iterate is changed in place.
    take_steps : callable
        SMO steps on the points of a block, as in `pairs.take_steps`.
    profile : Profile
        Collects the time spent.

    Attributes
    ----------
    points : int
        The largest number of points in a block.
    """

    def __init__(self, batch: Batch, take_steps: Callable[..., torch.Tensor], profile: Profile) -> None:
        self.batch, self.take_steps, self.profile, self.points = batch, take_steps, profile, POINTS
        self.generator = torch.Generator(batch.y.device).manual_seed(0)

    @staticmethod
    def suit(batch: Batch) -> bool:
        """Return whether a batch is one large problem with one constraint."""
        return len(batch.y) == 1 and batch.groups == 1 and batch.y.shape[1] >= LEAST

    def take(self, eps: float, late: Callable[[], bool]) -> tuple[int, int]:
        """Take the blocks of a part of a sweep; return their number and the number of SMO steps.

        Parameters
        ----------
        eps : float
            The violation at which the problem is solved.
        late : callable
            Returns whether to end.
        """
        blocks, steps = max(FEWEST, self.batch.y.shape[1] // (SWEEP * self.points)), 0
        for k in range(blocks):
            with self.profile.timing("selection"):
                at, violation = draw(self.batch, self.points, self.generator)
            if violation <= eps or late():
                return k, steps
            steps += self._solve(at, max(eps, PART * violation))
        return blocks, steps

    def _solve(self, at: torch.Tensor, eps: float) -> int:
        """Solve the block of the points `at` (n,), and update all others; return the number of SMO steps."""
        batch = self.batch
        with self.profile.timing("square"):
            rows = batch.source.block(at)
            block = batch.among(at, Squares(rows.index_select(1, at)[None]))
        done = int(self.take_steps(block, MOST, torch.full_like(block.balance[:, 0], eps))[0])
        with self.profile.timing("image"):
            change = batch.y[0, at] * batch.put(at, block.beta[0])
            batch.v[0] += (change.to(rows.dtype) @ rows).to(torch.float64)
        return done
