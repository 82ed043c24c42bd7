"""The next working set of a solver on one problem: points that violate their condition, and free ones."""

from __future__ import annotations

import torch

from svmkit_torch.ondevice.batch import Batch

TINY = 1e-100  # smallest violation that counts
VIOLATING = 0.75  # share of the set for violating points, if others are free


def draw(batch: Batch, most: int, generator: torch.Generator) -> tuple[torch.Tensor, float]:
    """Return up to `most` points of the one problem of a batch, (n,) in ascending order, and the largest violation.

    Violating points are drawn with probabilities that grow with the violation. The largest violations come from points
    of one kind, such as wrong labels: rounds on these alone disturb all others, and several times as many are needed.

    Parameters
    ----------
    batch : Batch
        The problem, at its iterate.
    most : int
        The most points.
    generator : torch.Generator
        Random numbers, on the device of the batch.
    """
    y, upper, beta, v = batch.y[0], batch.upper[0], batch.beta[0], batch.v[0]
    below, above = beta < upper, beta > 0.0
    up, low = torch.where(y > 0.0, below, above), torch.where(y > 0.0, above, below)
    level, violation = _level(batch, v, up, low)
    free = below & above
    sides = (up & (v < level), level - v), (low & (v > level), v - level)
    luck = (1.0 - torch.rand(len(v), generator=generator, dtype=v.dtype, device=v.device)).log()
    luck = torch.where(batch.diag[0] > 0.0, luck, 0.0)  # the bias is always chosen if it may move
    counts = torch.stack([sides[0][0].sum(), sides[1][0].sum(), free.sum()]).tolist()
    # weight moves between the two sides, so that a side gets more points only if the other has too few
    room = int(VIOLATING * most) if counts[2] else most
    n = max(min(counts[0], room // 2), min(counts[0], room - counts[1]))
    chosen = []
    taken = torch.zeros_like(free)
    for (side, depth), count in zip(sides, (n, min(counts[1], room - n)), strict=True):
        if count:
            drawn = luck / depth.clamp(TINY, 1.0)
            chosen.append(torch.where(side, drawn, -torch.inf).topk(count, sorted=False).indices)
            taken[chosen[-1]] = True
    rest = free & ~taken
    kept = min(int(rest.sum()), most - sum(map(len, chosen)))
    if kept:
        chosen.append(torch.where(rest, luck, -torch.inf).topk(kept, sorted=False).indices)
    return torch.cat(chosen).sort().values, violation


def _level(batch: Batch, v: torch.Tensor, up: torch.Tensor, low: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Return the level with the smallest gap, within the range of v that violates its conditions, and the length of
    that range, which is the largest violation.
    """
    least, largest = torch.where(up, v, torch.inf).min(), torch.where(low, v, -torch.inf).max()
    level = batch.levels()[0, 0]
    inside = (level > least) & (level < largest)
    return torch.where(inside, level, 0.5 * (least + largest)), float(largest - least)
