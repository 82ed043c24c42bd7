"""Cuts of a risk, and the dual of the model that they make.

R(w) = sum_i C_i loss(1 - y_i h(x_i)) is at least b - v'w for any dual weights c of its samples within their box, with
v = sum_i c_i y_i x_i and b = sum_i c_i - 1/2 sum_i ridge_i c_i^2; with the weights that the slacks of a point suggest
the two are equal there. The largest of the cuts is a model of R, and 1/2 |w|^2 + max_k (b_k - v_k'w) one of P. The
dual of that is max D = b'alpha - 1/2 alpha'K alpha over the unit simplex, K_kl = v_k'v_l, w = sum_k alpha_k v_k: a
small problem, and D is a lower bound of P at whatever alpha.
"""

from __future__ import annotations

import numpy as np

from svmkit.problems.linear_risk import LinearRisk
from svmkit.problems.loss import Loss
from svmkit_cutting_plane import dual

ROOM = 64  # cuts that there is room for at first


class Bundle:
    """n cuts and their weights; cut 0 is R(w) >= 0.

    V (n, width), b (n,), K (n, n) : the cuts and their products; alpha (n,) : on the simplex; idle (n,) : for how many
    solves in a row alpha_k was 0. Memory: 8 (width + n) bytes a cut, and of each sample a bit (hinge) or 4 bytes.
    """

    def __init__(self, problem: LinearRisk) -> None:
        self.problem, self.n = problem, 1
        self._V, self._K = np.zeros((ROOM, problem.design.width)), np.zeros((ROOM, ROOM))
        self.b, self.alpha, self.idle = np.zeros(1), np.ones(1), np.zeros(1, dtype=np.int64)
        self._slacks = [np.zeros(0)]  # of each cut, where it was made: all that its dual weights depend on
        self._weigh()

    @property
    def V(self) -> np.ndarray:
        return self._V[: self.n]

    @property
    def K(self) -> np.ndarray:
        return self._K[: self.n, : self.n]

    def cut(self, slack: np.ndarray) -> None:
        """Add the cut that touches R where the slacks are `slack` (m,), with weight 0: one pass over the data."""
        p, n = self.problem, self.n
        c = p.loss.weights(slack, p.C)
        if n == len(self._V):
            self._V = np.pad(self._V, ((0, n), (0, 0)))
            self._K = np.pad(self._K, ((0, n), (0, n)))
        self._V[n] = p.design.pull(p.y * c)
        self._K[n, : n + 1] = self._K[: n + 1, n] = self._V[: n + 1] @ self._V[n]
        self.b = np.append(self.b, c.sum() - 0.5 * (np.square(c) @ p.ridge))
        self.alpha, self.idle = np.append(self.alpha, 0.0), np.append(self.idle, 0)
        self._slacks.append(_packed(slack, p.loss))
        self.n += 1

    def solve(self, method: str, primal: float, share: float) -> None:
        """Raise D by `method` (`dual.solved`) until it is within `share` of the gap below `primal`."""
        self.alpha = dual.solved(method, self._K, self.b, self.alpha, primal, share)
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)
        self._weigh()

    def _weigh(self) -> None:
        """w (width,) and D at alpha; `height` : the model's value of the risk R at w."""
        used = np.flatnonzero(self.alpha)
        self.w = self.alpha[used] @ self._V[used]
        self.D = float(self.b @ self.alpha - 0.5 * (self.w @ self.w))
        self.height = float((self.b - self.alpha[used] @ self._K[used, : self.n]).max())

    def forget(self, rounds: int) -> None:
        """Drop the cuts that had no weight for more than so many solves, but never cut 0."""
        keep = np.flatnonzero((self.idle <= rounds) | (np.arange(self.n) == 0))
        if keep.size == self.n:
            return
        self._V[: keep.size] = self._V[keep]
        self._K[: keep.size, : keep.size] = self._K[np.ix_(keep, keep)]
        self.b, self.alpha, self.idle = self.b[keep], self.alpha[keep], self.idle[keep]
        self._slacks = [self._slacks[k] for k in keep]
        self.n = keep.size

    def beta(self) -> np.ndarray:
        """The dual weights (m,) of the samples behind alpha, in their box: v and D are theirs (squared hinge: D or
        more)."""
        p = self.problem
        beta = np.zeros(p.m)
        for k in np.flatnonzero(self.alpha[1:]) + 1:
            beta += self.alpha[k] * p.loss.weights(_unpacked(self._slacks[k], p.m), p.C)
        return np.minimum(beta, p.upper)


def _packed(slack: np.ndarray, loss: Loss) -> np.ndarray:
    """What dual weights need to know of the slacks: their sign in a bit, or their value."""
    return np.packbits(slack > 0.0) if loss is Loss.HINGE else np.maximum(slack, 0.0).astype(np.float32)


def _unpacked(packed: np.ndarray, m: int) -> np.ndarray:
    return np.unpackbits(packed, count=m) if packed.dtype == np.uint8 else packed.astype(np.float64)
