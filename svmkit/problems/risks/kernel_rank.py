"""The risk of ranking with a positive semidefinite kernel, by a factor of its matrix, certified for the whole of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import scipy.linalg

from svmkit.kernels.functions import Linear, require_semidefinite
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.design import Design
from svmkit.problems.risks.rank_risk import RankRisk

LEAST = 1e-10  # of the largest k(x, x): the rest of every diagonal entry when the factor is complete
SHARE = 2  # divisor of the memory that the factor may take
PANEL = 32  # columns whose kernel rows are computed at a time
WORTH = 0.3  # of the largest entry left on the diagonal: a smaller pivot waits for a later panel


class Factor:
    """A pivoted Cholesky factor of the kernel matrix of a Gram, which grows: K = L L' + E, E positive semidefinite.

    Existing columns do not change when it grows.

    Parameters
    ----------
    gram, most : Gram, int
        The kernel values of m samples, and the largest rank.

    Attributes
    ----------
    L : ndarray of shape (m, rank), float64
        The factor.
    pivots : ndarray of shape (rank,), int64
        The rows and columns that E leaves out: they are 0 there.
    rest : ndarray of shape (m,), float64
        A bound on the diagonal of E, rounding included.
    """

    def __init__(self, gram: Gram, most: int) -> None:
        self.gram, self.most = gram, most
        self.L, self.pivots = np.zeros((gram.m, 0)), np.zeros(0, np.int64)
        self._diag = np.array(gram.diag, dtype=np.float64)
        self._least = LEAST * float(self._diag.max())
        self._left = self._diag.copy()  # the diagonal of E as computed

    @property
    def rest(self) -> np.ndarray:
        return self._left + (len(self.pivots) + 8) * U * self._diag

    @property
    def is_complete(self) -> bool:
        """Whether the factor cannot grow any more: nothing is left, or it has its largest rank."""
        return len(self.pivots) >= self.most or not self._left.max() > self._least

    def grow(self, columns: int, over: Callable[[], bool] = lambda: False) -> bool:
        """Add columns, and return whether any were added.

        Parameters
        ----------
        columns : int
            The largest number of columns.
        over : callable
            Called before each few columns: whether there is no time for more.
        """
        had = len(self.pivots)
        end = min(had + columns, self.most)
        L, pivots = np.zeros((self.gram.m, max(end, had))), self.pivots.tolist()
        L[:, :had] = self.L
        while len(pivots) < end and self._left.max() > self._least and not over():
            self._add(L, pivots, min(PANEL, end - len(pivots)))
        self.L, self.pivots = np.ascontiguousarray(L[:, : len(pivots)]), np.array(pivots, np.int64)
        return len(pivots) > had

    def _add(self, L: np.ndarray, pivots: list[int], n: int) -> None:
        """Write up to n columns next to those of the pivots; candidates that the others explain well are left out."""
        left, had = self._left, len(pivots)
        likely = np.argpartition(left, -n)[-n:]
        panel = self.gram.block(likely, np.arange(self.gram.m)).T - L[:, :had] @ L[likely, :had].T
        while len(pivots) < had + n:
            at = int(left[likely].argmax())
            p, r = int(likely[at]), len(pivots)
            if not left[p] > max(self._least, WORTH * float(left.max())):
                return
            L[:, r] = (panel[:, at] - L[:, had:r] @ L[p, had:r]) / np.sqrt(left[p])
            L[pivots, r] = 0.0
            L[p, r] = np.sqrt(left[p])
            pivots.append(p)
            np.maximum(left - np.square(L[:, r]), 0.0, out=left)
            left[p] = 0.0


class KernelRankRisk(RankRisk):
    """min 1/2 |f|^2 + C sum over comparable pairs (i, j) of loss(1 - (f(x_i) - f(x_j))), f in the space of a kernel.

    A point w holds the coordinates of f in the space that a pivoted Cholesky factor L of the kernel matrix spans:
    f(x_i) = (L w)_i, and f is an expansion over the pivots. The remainder of the factor is 0 there, so P is that of f
    with the kernel itself; D includes the largest |f|^2 that the remainder may add. The gap is that of the whole
    problem for any rank. The rank is 1 at first: solvers let the factor grow (`grow`), within their time, while the
    remainder matters.

    Parameters
    ----------
    gram : Gram
        Gram of the m samples; its memory bounds the rank.
    target : ndarray of shape (m,) or (m, 3)
        Values, or values, groups and whether they were observed, as for `RankRisk`.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss of a pair, > 0, the same for all.
    loss : {"hinge", "squared_hinge"} or Loss, default="hinge"
        The loss of the margin of a pair.
    **terms
        As for `RankRisk`.

    Attributes
    ----------
    factor : Factor
        The factor, with one column at first.

    Raises
    ------
    InputError
        If the kernel is not known to be positive semidefinite, and as for `RankRisk`.

    References
    ----------
    Fine, Scheinberg: Efficient SVM training using low-rank kernel representations. JMLR 2, 2001, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram, plugins, solve
    >>> from svmkit.kernels import RBF
    >>> from svmkit.problems import KernelRankRisk
    >>> gram = Gram(RBF(1.0), np.array([[0.0], [1.0], [3.0]]))
    >>> problem = KernelRankRisk(gram, np.array([1.0, 3.0, 2.0]), 1.0)
    >>> solve(problem, plugins.build("solver", "ocas")).certificate.gap < 1e-3
    True
    """

    name: ClassVar[str] = "KernelRankRisk"
    is_linear: ClassVar[bool] = False

    def _make_design(self, gram: Gram) -> Design:
        require_semidefinite(gram.kernel, "ranking")
        self.factor = Factor(gram, max(1, min(gram.m, gram.budget // (8 * SHARE * gram.m))))
        self.factor.grow(1)
        return Design(Gram(Linear(), self.factor.L), 0.0)

    def grow(self, columns: int, over: Callable[[], bool] = lambda: False) -> bool:
        """Add columns to the factor, and return whether any were added; earlier points stay valid.

        Parameters
        ----------
        columns, over : int, callable
            As for `Factor.grow`.
        """
        has_grown = self.factor.grow(columns, over)
        if has_grown:
            self.design = Design(Gram(Linear(), self.factor.L), 0.0)
        return has_grown

    def restore(self, point: np.ndarray) -> np.ndarray:
        """Extend a point of any rank up to that of the factor to all coordinates of the factor."""
        return np.append(point, np.zeros(max(self.design.width - len(point), 0)))

    def infeasible(self, point: np.ndarray) -> str | None:
        is_point = point.ndim == 1 and point.dtype == np.float64 and np.isfinite(point).all()
        if not is_point or len(point) > self.factor.most:
            most = self.factor.most
            return f"it should be at most {most} finite numbers, float64, not {point.dtype} of shape {point.shape}"
        return None

    def decision(self, w: np.ndarray) -> np.ndarray:
        return super().decision(self.restore(w))

    def certificate(self, point: np.ndarray) -> Certificate:
        return super().certificate(self.restore(point))

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Return the coefficients (m,) of the samples in the expansion of a point w; only pivots have non-zero ones."""
        coef, pivots, w = np.zeros(self.m), self.factor.pivots, self.restore(w)
        coef[pivots] = scipy.linalg.solve_triangular(self.factor.L[pivots], w, lower=True, trans="T")
        return coef

    def _remainder(self, beta: np.ndarray) -> tuple[float, float]:
        """Return how far |f|^2 of dual weights (m,) may exceed its value in the factor, and a bound on its rounding."""
        size = np.abs(beta)
        of_factor = (self.design.width + 8) * U * float(size @ np.sqrt(self.gram.diag)) ** 2
        of_values = float(size.sum()) * self.gram.product_error(beta)
        return float(size @ np.sqrt(self.factor.rest)) ** 2, of_factor + of_values

    def _expansion_error(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Return bounds on the errors of decision values (m,) and of |f|^2 of the expansion of a point."""
        coef, pivots, roots = self.coefficients(w), self.factor.pivots, np.sqrt(self.gram.diag)
        L, size = self.factor.L[pivots], np.abs(coef[pivots])
        off = float(np.linalg.norm(L.T @ coef[pivots] - w)) + (self.design.width + 4) * U * float(
            np.linalg.norm(np.abs(L).T @ size + np.abs(w))
        )
        of_h = roots * (off + (self.design.width + 8) * U * float(size @ roots[pivots]))
        of_h = of_h + self.gram.product_error(coef)
        return of_h, float(size @ of_h[pivots]) + 2.0 * off * float(np.linalg.norm(w))

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        return DecisionFunction(self.coefficients(point), 0.0)

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        return None
