"""SMO steps on a batch by PyTorch's operations: one pair per problem and step, chosen by second order.

`fused` has the same steps in one kernel, if Triton is installed.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from svmkit_torch.ondevice.batch import Batch

TINY = 1e-12  # least curvature
LOOK = 32  # steps between two checks for unsolved problems


def take_steps(batch: Batch, most: int, eps: torch.Tensor, late: Callable[[], bool] = lambda: False) -> torch.Tensor:
    """Make up to `most` SMO steps for each problem until its violation is at most eps (B,); return their numbers, (B,).

    Parameters
    ----------
    batch : Batch
        The problems, whose iterates are changed in place.
    most, eps : int, torch.Tensor
        The most steps of a problem, and the violation at which it ends.
    late : callable
        Returns whether to end at once.

    References
    ----------
    Fan, Chen, Lin (2005), Working set selection using second order information, WSS 2.
    """
    y, upper, beta, v, diag = batch.y, batch.upper, batch.beta, batch.v, batch.diag.to(torch.float64)
    if batch.ridge is not None:
        diag = diag + batch.ridge
    done = torch.zeros(len(y), dtype=torch.int64, device=y.device)
    plus, some, parts = y > 0.0, upper > 0.0, (len(y), batch.groups, y.shape[1] // batch.groups)
    inf = torch.tensor(torch.inf, dtype=torch.float64, device=y.device)
    for step in range(most):
        below, above = some & (beta < upper), some & (beta > 0.0)
        up, low = torch.where(plus, below, above), torch.where(plus, above, below)
        least, i = torch.where(up, v, inf).view(parts).min(2)
        violation, part = (torch.where(low, v, -inf).view(parts).amax(2) - least).max(1, keepdim=True)
        least, i = least.gather(1, part), i.gather(1, part) + part * parts[2]
        active = violation > eps[:, None]
        if step % LOOK == 0 and (late() or not bool(active.any())):
            break
        if batch.groups > 1:
            low &= torch.arange(y.shape[1], device=y.device) // parts[2] == part
        row = batch.source.rows(i[:, 0])
        off = v - least
        curvature = (diag.gather(1, i) + diag - 2.0 * row).clamp_(min=TINY)
        j = torch.where(low & (off > 0.0), off * off / curvature, -1.0).argmax(1, keepdim=True)
        rooms = [
            torch.where(plus.gather(1, i), upper.gather(1, i) - beta.gather(1, i), beta.gather(1, i)),
            torch.where(plus.gather(1, j), beta.gather(1, j), upper.gather(1, j) - beta.gather(1, j)),
        ]
        t = torch.minimum(off.gather(1, j) / curvature.gather(1, j), torch.minimum(*rooms))
        t = torch.where(active, t, 0.0)
        for at, sign, room in ((i, 1.0, rooms[0]), (j, -1.0, rooms[1])):
            to = (sign * y.gather(1, at)) > 0.0  # whether the weight rises
            end = torch.where(to, upper.gather(1, at), 0.0)
            new = beta.gather(1, at) + torch.where(to, t, -t)
            beta.scatter_(1, at, torch.where(active, torch.where(t >= room, end, new), beta.gather(1, at)))
            if batch.ridge is not None:
                v.scatter_add_(1, at, sign * t * batch.ridge.gather(1, at))
        v += t * (row - batch.source.rows(j[:, 0]))
        done += active[:, 0]
    return done
