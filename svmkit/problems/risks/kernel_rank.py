"""The risk of ranking with a positive semidefinite kernel, by a factor of its matrix, certified for the whole of it."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg

from svmkit.kernels.functions import Linear, require_semidefinite
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.design import Design
from svmkit.problems.risks.rank_risk import RankRisk

LEAST = 1e-10  # of the largest k(x, x): what is left of every diagonal entry when the factor is complete
SHARE = 2  # the factor may take this part of the memory


class Factor(NamedTuple):
    """A pivoted Cholesky factor of a kernel matrix: K = L L' + E, where E is positive semidefinite.

    Attributes
    ----------
    L : ndarray of shape (m, rank), float64
        The factor.
    pivots : ndarray of shape (rank,), int64
        The rows and columns that E leaves out: they are 0 there.
    rest : ndarray of shape (m,), float64
        A bound on the diagonal of E, rounding included.
    """

    L: np.ndarray
    pivots: np.ndarray
    rest: np.ndarray


def factorise(gram: Gram, most: int) -> Factor:
    """Return the factor of the kernel matrix of a Gram, of `most` columns at most.

    Parameters
    ----------
    gram, most : Gram, int
        The kernel values of m samples, of which one row a column is computed, and the largest rank.
    """
    diag, every = np.array(gram.diag, dtype=np.float64), np.arange(gram.m)
    largest = float(diag.max())
    L, rest, pivots = np.zeros((gram.m, min(64, most)), order="F"), diag.copy(), list[int]()
    while len(pivots) < most:
        p, r = int(rest.argmax()), len(pivots)
        if not rest[p] > LEAST * largest:
            break
        if r == L.shape[1]:
            L = np.asfortranarray(np.pad(L, ((0, 0), (0, min(r, most - r)))))
        root = np.sqrt(rest[p])
        L[:, r] = (gram.block(np.array([p]), every)[0] - L[:, :r] @ L[p, :r]) / root
        L[pivots, r] = 0.0
        L[p, r] = root
        pivots.append(p)
        rest = np.maximum(rest - np.square(L[:, r]), 0.0)
        rest[pivots] = 0.0
    rank = len(pivots)
    return Factor(np.ascontiguousarray(L[:, :rank]), np.array(pivots, np.int64), rest + (rank + 8) * U * diag)


class KernelRankRisk(RankRisk):
    """min 1/2 |f|^2 + C sum over comparable pairs (i, j) of loss(1 - (f(x_i) - f(x_j))), f in the space of a kernel.

    A point w holds the coordinates of f in those that a pivoted Cholesky factor L of the kernel matrix spans: f(x_i) =
    (L w)_i, and f is an expansion over the pivots. What the factor leaves out is 0 there, so that P is that of f with
    the kernel itself; D counts the largest |f|^2 that it may add. The gap is of the whole problem, whatever the rank.

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
        The factor.

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
        self.factor = factorise(gram, max(1, min(gram.m, gram.budget // (8 * SHARE * gram.m))))
        return Design(Gram(Linear(), self.factor.L), 0.0)

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Return the coefficients (m,) of the samples in the expansion of a point w; those of the pivots are not 0."""
        coef, pivots = np.zeros(self.m), self.factor.pivots
        coef[pivots] = scipy.linalg.solve_triangular(self.factor.L[pivots], w, lower=True, trans="T")
        return coef

    def _remainder(self, beta: np.ndarray) -> tuple[float, float]:
        """Return how far |f|^2 of dual weights (m,) may lie above that in the factor, and a bound on its rounding."""
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
