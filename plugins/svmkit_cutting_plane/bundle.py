"""The cuts of a risk, and the model that is their maximum.

R(w) = sum_i L_i(target_i - h(x_i)) is at least b - v'w for any dual weights c of its samples within their bounds, with
v = sum_i c_i x_i and b = target'c - sum_i phi_i(c_i); with the weights that the decision values of a point suggest, the
two are equal there.
The maximum of the cuts is a model of R, and 1/2 |w|^2 + max_k (b_k - v_k'w) a model of P. Its dual is
max D = b'alpha - 1/2 alpha'K alpha over the unit simplex, K_kl = v_k'v_l, w = sum_k alpha_k v_k: a small problem, in
which D is a lower bound of P at every feasible alpha.
"""

from __future__ import annotations

import numpy as np

from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.problems.risks.rank_risk import RankRisk
from svmkit_cutting_plane import bundle_dual as dual

ROOM = 64  # cuts that the first arrays hold
HUGE = 1e30  # weights that may not fit into float32


class Bundle:
    """The cuts of a problem's risk and their weights; cut 0 is R(w) >= 0.

    The `n` cuts have slopes V (n, width), offsets b (n,), products K = V V', weights alpha (n,) on the simplex, and
    `idle` (n,), the number of consecutive solves in which alpha_k was 0. w (width,) is the minimum of the model as far
    as alpha solves its dual, D the dual objective at alpha, and `height` the model's value of R at w. A cut takes 8
    (width + n) bytes, plus for each sample a bit or two if weights jump to a bound, else 4 bytes; for a ranking 8,
    since its problem recomputes the planes of a bound from the points at which they touch.
    """

    def __init__(self, problem: LinearRisk | RankRisk) -> None:
        self.problem, self.n = problem, 1
        self._V, self._K = np.zeros((ROOM, problem.design.width)), np.zeros((ROOM, ROOM))
        self.b, self.alpha, self.idle = np.zeros(1), np.ones(1), np.zeros(1, dtype=np.int64)
        self._packed = [np.zeros(0)]  # dual weights of each cut, or the point where it touches
        if isinstance(problem, LinearRisk):
            terms = problem.terms
            self._jumps = not (terms.ridge_up.any() or terms.ridge_down.any())
            self._ends = (terms.upper + terms.lower,) if problem.points.below is None else (terms.upper, terms.lower)
        self._weigh()

    @property
    def V(self) -> np.ndarray:
        return self._V[: self.n]

    @property
    def K(self) -> np.ndarray:
        return self._K[: self.n, : self.n]

    def cut(self, h: np.ndarray) -> None:
        """Add the cut that touches R at the point of decision values h (m,), with weight 0, in one pass over X."""
        p, n = self.problem, self.n
        c, b = p.plane(h)
        if n == len(self._V):
            self._V = np.pad(self._V, ((0, n), (0, 0)))
            self._K = np.pad(self._K, ((0, n), (0, n)))
        self._V[n] = p.weights(c)
        self._K[n, : n + 1] = self._K[: n + 1, n] = self._V[: n + 1] @ self._V[n]
        self.b = np.append(self.b, b)
        self.alpha, self.idle = np.append(self.alpha, 0.0), np.append(self.idle, 0)
        self._packed.append(h.copy() if isinstance(p, RankRisk) else self._pack(c))
        self.n += 1

    def _pack(self, c: np.ndarray) -> np.ndarray:
        if self._jumps:  # bits say which weights are at a bound
            return np.packbits([c > 0.0, c < 0.0] if len(self._ends) > 1 else [c != 0.0], axis=1)
        return c.astype(np.float32) if np.abs(c).max(initial=0.0) < HUGE else c

    def renew(self) -> Bundle:
        """Return the bundle of the cuts of a ranking that have a weight, when its problem has more columns."""
        bundle, used = Bundle(self.problem), np.flatnonzero(self.alpha[1:]) + 1
        for k in used:
            bundle.cut(self._packed[k])
        bundle.alpha = self.alpha[np.append(0, used)]
        bundle._weigh()
        return bundle

    def solve(self, method: str, primal: float, share: float) -> None:
        """Raise D until its own gap is at most `share` of primal - D.

        Parameters
        ----------
        method, primal, share : str, float, float
            "face" or the name of a SimplexQP solver, P of the best point so far, and a share in (0, 1).
        """
        self.alpha = dual.solve_dual(method, self._K, self.b, self.alpha, primal, share)
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)
        self._weigh()

    def _weigh(self) -> None:
        """Set w, D and height at alpha."""
        used = np.flatnonzero(self.alpha)
        self.w = self.alpha[used] @ self._V[used]
        self.D = float(self.b @ self.alpha - 0.5 * (self.w @ self.w))
        self.height = float((self.b - self.alpha[used] @ self._K[used, : self.n]).max())

    def forget(self, rounds: int) -> None:
        """Drop the cuts that had no weight for more than `rounds` solves, but never cut 0."""
        keep = np.flatnonzero((self.idle <= rounds) | (np.arange(self.n) == 0))
        if keep.size == self.n:
            return
        self._V[: keep.size] = self._V[keep]
        self._K[: keep.size, : keep.size] = self._K[np.ix_(keep, keep)]
        self.b, self.alpha, self.idle = self.b[keep], self.alpha[keep], self.idle[keep]
        self._packed = [self._packed[k] for k in keep]
        self.n = keep.size

    def offer(self) -> float:
        """Offer the problem the proof of D: for a ranking the cuts behind alpha, else the dual weights of their mean.

        Returns the best lower bound offered so far.
        """
        p = self.problem
        if isinstance(p, RankRisk):
            used = np.flatnonzero(self.alpha[1:]) + 1
            return p.offer(self.alpha[used], [self._packed[k] for k in used])
        return p.offer(self.beta())

    def beta(self) -> np.ndarray:
        """Return the dual weights (m,) behind alpha, whose dual objective is at least D: above it if phi is curved."""
        p = self.problem
        assert isinstance(p, LinearRisk)
        beta = np.zeros(p.m)
        for k in np.flatnonzero(self.alpha[1:]) + 1:
            packed = self._packed[k]
            if self._jumps:
                for there, end in zip(np.unpackbits(packed, axis=1, count=p.m), self._ends, strict=True):
                    beta += self.alpha[k] * (there * end)
            else:
                beta += self.alpha[k] * packed
        return p.clip(beta)
