"""The dual of the model: max b'alpha - 1/2 alpha'K alpha over the unit simplex, from a warm start.

As min alpha'K alpha - 2 b'alpha it is svmkit's SimplexQP, and any solver of that problem can be chosen by name. Their
steps take some 30 microseconds each in the general loop, and K is ill-conditioned for large C; so the default is a
special method, "face": SWAP-2o's pairwise steps, compiled for a matrix in memory, and Newton steps on the face of the
simplex that they have reached if many of them were not enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.gram.matrix import ArrayMatrix, MatrixGram
from svmkit.problems.simplex import SimplexQP
from svmkit.runtime.compiling import njit
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Criterion

OWN = "face"
STEPS = 2000  # pairwise steps between two descents on a face
ROUNDS = 100
ROUNDING = 1e-15  # relative gain of D that counts as zero
RIDGE = 1e-13  # added to a face's scaled Hessian, times its size


def require(method: str) -> None:
    """Raise InputError unless `method` is "face" or a registered solver of SimplexQP."""
    known = plugins.names("solver")
    if method == OWN or (method in known and plugins.load("solver", method).problem is SimplexQP):
        return
    able = plugins.solvers_where(lambda solver: solver.problem is SimplexQP)
    raise InputError(f"inner={method!r} does not solve the inner problem; there are: {OWN}, {', '.join(able)}")


def solve_dual(method: str, K: np.ndarray, b: np.ndarray, alpha: np.ndarray, primal: float, share: float) -> np.ndarray:
    """Return an alpha whose inner gap is at most `share` of primal - D, and whose D is not lower than before.

    Parameters
    ----------
    method, K, b, alpha : str, ndarray, ndarray, ndarray
        "face" or the name of a SimplexQP solver; an array that is C-contiguous, whose first n rows and columns count;
        the linear term (n,); and the weights (n,) to start from.
    primal, share : float
        Primal objective of the best point so far, and the share of the gap, in (0, 1).
    """
    n = len(b)
    if method == OWN:
        new = _by_faces(K, b, alpha.copy(), primal, share)
    else:
        problem = SimplexQP(MatrixGram(ArrayMatrix(K[:n, :n].copy()), 64 * n * n + 65536), linear_term=-b)
        new = solve(problem, plugins.build("solver", method), stop=Share(share, primal), start=alpha).point
    rounding = 1e-15 * float(new @ np.sqrt(K.diagonal()[:n])) ** 2  # of alpha'K alpha, in which long v_k cancel
    return new if value(K, b, new) >= value(K, b, alpha) - rounding else alpha


def value(K: np.ndarray, b: np.ndarray, alpha: np.ndarray) -> float:
    """Return D = b'alpha - 1/2 alpha'K alpha."""
    used = np.flatnonzero(alpha)
    a = alpha[used]
    return float(b[used] @ a - 0.5 * (a @ K[np.ix_(used, used)] @ a))


@dataclass(frozen=True)
class Share(Criterion):
    """Stop when the inner gap of D is at most `limit` times primal - D."""

    primal: float

    status = Status.CONVERGED

    def holds(self, info, n_iter, epochs, seconds):
        """Return whether the inner gap is at most the share of the gap primal - D.

        Parameters
        ----------
        info, n_iter, epochs, seconds : StepInfo, int, float, float
            As for `Criterion.holds`.
        """
        return 0.5 * info.gap_abs <= self.limit * (self.primal + 0.5 * info.objective)


def _by_faces(K: np.ndarray, b: np.ndarray, alpha: np.ndarray, primal: float, share: float) -> np.ndarray:
    before = value(K, b, alpha)
    for _ in range(ROUNDS):
        if pairwise(K, b, alpha, primal, share, STEPS) < STEPS:
            break
        descend(K, b, alpha)
        now = value(K, b, alpha)
        if now - before <= ROUNDING * abs(now):
            break
        before = now
    return alpha


@njit(cache=True)
def pairwise(K, b, alpha, primal, share, most):
    """Make up to `most` SWAP-2o steps on alpha (n,), in place, until the gap reaches `share`; return their number."""
    n = b.size
    g = -b
    for k in range(n):
        if alpha[k] > 0.0:
            for r in range(n):
                g[r] += alpha[k] * K[k, r]
    for step in range(most):
        i = 0
        for k in range(n):
            if g[k] < g[i]:
                i = k
        j, best, mean, linear = -1, 0.0, 0.0, 0.0
        for k in range(n):
            if alpha[k] > 0.0:
                mean += alpha[k] * g[k]
                linear += alpha[k] * b[k]
                slope = g[k] - g[i]
                gain = slope * slope / max(K[i, i] - 2.0 * K[i, k] + K[k, k], 1e-300)
                if slope > 0.0 and gain > best:
                    j, best = k, gain
        if j < 0 or mean - g[i] <= share * (primal - 0.5 * (linear - mean)):
            return step
        lam = (g[j] - g[i]) / max(K[i, i] - 2.0 * K[i, j] + K[j, j], 1e-300)
        if lam < alpha[j]:
            alpha[j] -= lam
        else:
            lam, alpha[j] = alpha[j], 0.0
        alpha[i] += lam
        for r in range(n):
            g[r] += lam * (K[i, r] - K[j, r])
    return most


def descend(K: np.ndarray, b: np.ndarray, alpha: np.ndarray) -> None:
    """Move alpha (n,), in place, to the minimum on its face, dropping weights that reach 0 one after the other."""
    while True:
        face = np.flatnonzero(alpha)
        if face.size < 2:
            return
        a = alpha[face]
        step = _newton(K[np.ix_(face, face)], b[face], a)
        if step is None:
            return
        down = step < 0.0
        room = np.where(down, a / np.where(down, -step, 1.0), np.inf)
        first = int(room.argmin())
        a = np.maximum(a + min(1.0, room[first]) * step, 0.0)
        if room[first] < 1.0:
            a[first] = 0.0
        alpha[face] = a / a.sum()
        if room[first] >= 1.0:
            return


def _newton(K: np.ndarray, b: np.ndarray, a: np.ndarray) -> np.ndarray | None:
    """Return the step with sum 0 to the minimum of 1/2 a'K a - b'a on the plane of the face, None if there is none."""
    g = K @ a - b
    far = int(a.argmax())
    rest = np.delete(np.arange(a.size), far)
    H = K[np.ix_(rest, rest)] - K[rest, far, None] - K[far, rest] + K[far, far]
    size = np.sqrt(np.maximum(H.diagonal(), 1e-300))
    H = H / size[:, None] / size
    H[np.diag_indices(rest.size)] += RIDGE * a.size
    try:
        factor = scipy.linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    z = scipy.linalg.cho_solve(factor, (g[far] - g[rest]) / size, check_finite=False) / size
    step = np.empty(a.size)
    step[rest], step[far] = z, -z.sum()
    return step
