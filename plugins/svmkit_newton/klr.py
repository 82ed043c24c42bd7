"""Newton's method for logistic regression with kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from svmkit.losses.base import Family, Loss
from svmkit.losses.terms import curvatures, dual_weights, entropies, loss_values
from svmkit.problems.base import Problem
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.risks.points import make_points
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Reads
from svmkit.solver.sampler import Draws
from svmkit.solver.step_info import StepInfo
from svmkit_newton.samples import line_search

FLOAT64 = 8  # bytes of a kernel value
SHARE = 4  # the matrix, and the factor beside it, may each take this part of the memory
FACTORED = 10_000  # samples up to which a factor of the matrix is computed where conjugate gradients take long:
SLOW = 60  # more than a step for so many samples, since a factor costs as much as a product for each hundred or so
LOOSE, TIGHT = 0.1, 1e-10  # relative residuals at which conjugate gradients end: in the first step, and at least
MOST = 500  # steps of conjugate gradients


class State:
    """State of a solve: the iterate h = K c + b, and the dual point that is the answer.

    c (m,) are signed coefficients with `image` = K c, and the bias b is the best one for them, so that the `slopes`
    (m,) of the losses sum to 0; `curvature` (m,) are the second derivatives. What slopes are more than c has the image
    `toward`, from which gradient and gap follow: P at c less D at the slopes is half their product. beta (m,) are the
    slopes with the largest `dual` so far, and `gap` is their relative gap. `K` is None where the matrix takes too much
    memory. `is_slow` says that conjugate gradients have taken longer than a factor.
    """

    def __init__(self, problem: BoxQP, start: np.ndarray | None) -> None:
        self.problem, m, gram = problem, problem.m, problem.gram
        self.terms, self.every = problem.record.terms, np.arange(m)
        self.points = make_points(self.terms, np.zeros(m))
        fits = FLOAT64 * m * m <= gram.budget // SHARE
        self.K = gram.block(self.every, self.every) if fits else None
        self.c = np.zeros(m) if start is None else problem.signs * start
        self.b, self.dual, self.gap, self.primal = 0.0, -np.inf, np.inf, np.inf
        self.beta, self.loose, self.before = self.c.copy(), LOOSE, np.inf
        self.passes, self.is_slow = 0.0, False
        self.anew()

    def anew(self) -> None:
        """Compute everything at c from scratch."""
        self.image = self.times(self.c) if self.c.any() else np.zeros(len(self.c))
        self.examine()

    def times(self, weights: np.ndarray) -> np.ndarray:
        """Return K times weights (m,)."""
        self.passes += 1.0
        return self.problem.gram.matvec(weights, self.every) if self.K is None else self.K @ weights

    def _recentre(self, h: np.ndarray) -> float:
        """Return by how much the best bias differs from the one in h (m,)."""
        return line_search(self.points, h, np.ones(h.size), 0.0, 0.0, 0.0)

    def examine(self) -> None:
        """Set the bias, the derivatives, P at c, and the dual point that the slopes make."""
        self.b += self._recentre(self.image + self.b)
        h = self.image + self.b
        self.slopes, self.curvature = dual_weights(self.terms, -h), curvatures(self.terms, -h)
        self.primal = 0.5 * float(self.c @ self.image) + float(loss_values(self.terms, -h).sum())
        self.toward = self.times(self.slopes - self.c)
        image = self.image + self.toward
        norm = float(self.slopes @ image)
        dual = -0.5 * norm - float(entropies(self.terms, self.slopes).sum())
        if dual > self.dual:
            h = image + self.b
            h += self._recentre(h)
            primal = 0.5 * norm + float(loss_values(self.terms, -h).sum())
            self.beta, self.dual, self.gap = self.slopes, dual, max(relative_gap(primal - dual, dual), 0.0)

    def move(self) -> None:
        """Make a step: c moves along Newton's direction to the least P, the bias with it."""
        root, difference = np.sqrt(self.curvature), self.slopes - self.c
        size = float(np.linalg.norm(root))
        unit = root / size if size > 0.0 else root  # the best bias takes this direction out of all
        right = project(root * self.toward, unit)
        u, image = (None, None) if self.is_slow else self._iterate(root, unit, right)
        if u is None:
            u = self._factorise(root, unit, right)
            image = self.times(root * project(u, unit))
        step, change = difference - root * project(u, unit), self.toward - image
        shift = -float(self.curvature @ change) / size**2 if size > 0.0 else 0.0
        along, square = float(self.c @ change), max(float(step @ change), 0.0)
        t = line_search(self.points, self.image + self.b, change + shift, along, square, 1.0)
        self.c, self.image, self.b = self.c + t * step, self.image + t * change, self.b + t * shift
        self.examine()

    def _factorise(self, root: np.ndarray, unit: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the solution u of (I + R K R) u = right, R the roots without the direction `unit`, by Cholesky."""
        assert self.K is not None
        M = self.K * root
        M *= root[:, None]
        self.passes += 1.0
        image = M @ unit
        image -= 0.5 * float(unit @ image) * unit
        M = scipy.linalg.blas.dsyr2(-1.0, unit, image, a=M.T, lower=1, overwrite_a=1)
        ridge, at = 1.0, np.arange(len(M))
        while True:
            factor = M.copy(order="F")
            factor[at, at] += ridge
            factor, failed = scipy.linalg.lapack.dpotrf(factor, lower=1, clean=0, overwrite_a=1)
            if not failed:
                return scipy.linalg.lapack.dpotrs(factor, right, lower=1)[0]
            ridge *= 10.0  # of a kernel that is not positive semidefinite

    def _iterate(self, root: np.ndarray, unit: np.ndarray, right: np.ndarray) -> tuple[Any, Any]:
        """Return about the same u by conjugate gradients, and K R u; None and None where that takes too long."""
        size = float(np.linalg.norm(right))
        fallen = size / self.before if self.before > 0.0 else 1.0
        most = max(min(self.loose, fallen), TIGHT) * size
        self.before, self.loose = size, 0.5 * self.loose
        inverse = 1.0 / (1.0 + self.curvature * self.problem.gram.diag)
        u, image, r = np.zeros(len(right)), np.zeros(len(right)), right.copy()
        z = project(inverse * r, unit)
        p, rz = z, float(r @ z)
        may_factorise = self.K is not None and len(u) <= FACTORED
        for k in range(MOST):
            if not np.linalg.norm(r) > most:
                break
            if may_factorise and k * SLOW >= len(u):
                self.is_slow = True
                return None, None
            of_p = self.times(root * p)
            curved = p + project(root * of_p, unit)
            bend = float(p @ curved)
            if not bend > 0.0:
                break
            step = rz / bend
            u, image, r = u + step * p, image + step * of_p, r - step * curved
            z = project(inverse * r, unit)
            rz, last = float(r @ z), rz
            p = z + (rz / last) * p
        return u, image


def project(x: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return x (m,) without its part along a unit vector (m,), which may be 0."""
    return x - float(unit @ x) * unit


@dataclass(frozen=True)
class KLR(Solver):
    """Kernel logistic regression by Newton's method with an exact line search (Zhu, Hastie 2005; Keerthi et al. 2005).

    A step solves a linear system of the kernel matrix, weighted by the second derivatives of the losses: by conjugate
    gradients, or where they take longer, up to 10,000 samples, by a Cholesky factor. It ends after 5 to 15 steps. The
    derivatives of the losses are the dual point. All weights differ from 0, so that all samples are support vectors.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        A logistic loss.
    """

    name = "klr"
    problem: ClassVar[type[Problem]] = BoxQP
    terms = ("loss",)
    losses = ("logistic", Family.LOGISTIC)
    monotone: ClassVar[bool] = True
    recheck: ClassVar[int] = 1
    reads: ClassVar[Reads | None] = Reads.BLOCKS
    paper = "Zhu, Hastie 2005"

    loss: str | Loss = "logistic"

    def patience(self, m: int) -> int:
        return 200

    def init(self, problem: BoxQP, start: np.ndarray | None, draws: Draws) -> State:
        """Return the state at `start`, or where a solve without one begins.

        Parameters
        ----------
        problem, start, draws : BoxQP, ndarray or None, Draws
            As for `Solver.init`.
        """
        return State(problem, start)

    def step(self, state: State) -> StepInfo:
        before = state.primal, state.dual
        state.passes = 0.0
        state.move()
        return StepInfo(
            -state.dual,
            int(np.count_nonzero(state.beta)),
            state.passes,
            gap=state.gap,
            gap_abs=state.gap * max(abs(state.primal), abs(state.dual)),
            moved=state.primal < before[0] or state.dual > before[1],
            violation=float(np.abs(state.toward).max()),
        )

    def solution(self, state: State) -> np.ndarray:
        """Return the dual point, whose weights of the sign with the larger sum shrink by what rounding leaves."""
        point = state.problem.start(state.beta)
        return np.zeros(state.problem.m) if point is None else point

    def resync(self, state: State, certificate: Certificate) -> None:
        state.anew()
