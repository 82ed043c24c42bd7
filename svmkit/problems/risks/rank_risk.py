"""The linear risk of ranking: a loss for each comparable pair of samples in a group, in O(m log m) a pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.losses.base import Loss
from svmkit.losses.by_name import make_loss
from svmkit.problems.base import DecisionFunction, Problem, costs
from svmkit.problems.certificate import Bound, Certificate
from svmkit.problems.risks.comparable import Order, make_order
from svmkit.problems.risks.design import Design
from svmkit.problems.rounding import dot_error

LOSSES = "hinge", "squared_hinge"


class Plane(NamedTuple):
    """The tangent b - beta'h <= sum of the losses, for C = 1 and samples in the order of their groups."""

    beta: np.ndarray  # (m,): pairs that pull a sample up, less pairs that pull it down
    offset: float
    pulls: np.ndarray  # (m,): the sum of both
    value: float  # of the losses at the point of tangency
    error: np.ndarray  # (m,): bounds on the rounding errors of beta
    offset_error: float  # and of offset and value


class RankRisk(Problem):
    """min 1/2 |w|^2 + C sum over comparable pairs (i, j) of loss(1 - (h_i - h_j)), h = Xw.

    A pair is comparable if both samples are in one group, the value of j was observed, and the value of i is larger, or
    equal and not observed. C multiplies the sum over pairs: Joachims' SVM-rank divides C by the number of pairs or
    groups.

    Parameters
    ----------
    gram : Gram
        Gram of the m samples with the linear kernel.
    target : ndarray of shape (m,) or (m, 3)
        The values, of one group; or values, numbers of groups, and 1 for a value that was observed, 0 for one that is
        only known to be larger (a censored time).
    C : float or ndarray of shape (m,)
        Cost of a unit of loss of a pair, > 0, the same for all.
    loss : {"hinge", "squared_hinge"} or Loss, default="hinge"
        The loss of the margin h_i - h_j of a pair.
    **terms
        A `bias` has no effect, since it cancels in differences.

    Attributes
    ----------
    order : Order
        Which pairs are comparable.
    n_pairs : int
        Their number.
    design : Design
        X.

    Raises
    ------
    InputError
        If the kernel is not linear, the loss is not supported, no pair is comparable, or C is not valid.

    Notes
    -----
    The sum of the losses and a subgradient come from counts of pairs. A tangent plane of the sum is a sum of pair
    differences; a mean of planes with weights alpha is a dual point, D = C sum_k alpha_k b_k - 1/2 |X' beta|^2. The
    problem makes each plane of an offered bound itself, from the decision values at which it touches.

    References
    ----------
    Joachims: Training linear SVMs in linear time. KDD 2006, section 3.2. Lee, Lin: Large-scale linear RankSVM. Neural
    Computation 26, 2014, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram, plugins, solve
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import RankRisk
    >>> problem = RankRisk(Gram(Linear(), np.array([[0.0], [1.0], [3.0]])), np.array([1.0, 2.0, 3.0]), 1.0)
    >>> problem.n_pairs, solve(problem, plugins.build("solver", "bmrm")).point.round(2).tolist()
    (3, [1.0])
    """

    name: ClassVar[str] = "RankRisk"
    task: ClassVar[str] = "rank"
    is_linear: ClassVar[bool] = True

    def __init__(
        self, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: str | Loss = "hinge", **terms
    ) -> None:
        target = np.asarray(target, dtype=np.float64)
        values, groups, observed = target.T if target.ndim == 2 else (target, np.zeros(gram.m), np.ones(gram.m))
        if values.shape != (gram.m,) or not np.isfinite(target).all():
            raise InputError(f"y must hold a finite value for each of the {gram.m} rows")
        super().__init__(gram, values)
        self.loss, self.C = make_loss(loss, self.task), costs(C, gram.m)
        if self.loss.name not in LOSSES:
            raise InputError(f"loss={self.loss.name} has no problem of ranking; there are: {', '.join(LOSSES)}")
        if (self.C[0] != self.C).any():
            raise InputError("all pairs of a ranking have the same C: leave the weights of samples out")
        self.cost, self.is_squared = float(self.C[0]), self.loss.name == "squared_hinge"
        self.order: Order = make_order(values, groups, observed > 0.0)
        self._of_all = self.order.count_pairs(np.zeros(gram.m), np.inf)[0]
        self.n_pairs = int(self._of_all.sum())
        if not self.n_pairs:
            raise InputError("there is no pair to rank: no group has two rows of different values")
        self.design = self._make_design(gram)
        self._largest = int(np.diff(self.order.starts).max())
        self._known = Bound(0.0, np.zeros(self.m))  # the best bound that was offered

    def _make_design(self, gram: Gram) -> Design:
        return Design(gram, 0.0)

    def _remainder(self, beta: np.ndarray) -> tuple[float, float]:
        """Return the part of |w|^2 of dual weights (m,) that is left out, here 0, and a bound on its rounding."""
        return 0.0, 0.0

    def _expansion_error(self, w: np.ndarray) -> tuple[np.ndarray | float, float]:
        """Return bounds on how far the decision values and |f|^2 of a model are from those of w: here they are the
        same.
        """
        return 0.0, 0.0

    @classmethod
    def from_loss(cls, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: Loss, **terms) -> Self:
        """Return the risk of ranking with a loss of the pairs.

        Parameters
        ----------
        gram, target, C, loss, **terms : Gram, ndarray, float or ndarray, Loss, object
            As for `Problem.from_loss`.
        """
        return cls(gram, target, C, loss, **terms)

    @classmethod
    def formulation(cls, *, loss: str | Loss = "hinge", **terms) -> str:
        return f"pairwise {make_loss(loss, cls.task).words}, no bias"

    @property
    def shape(self) -> tuple[int]:
        """Shape of a point, which is w."""
        return (self.design.width,)

    @property
    def lam(self) -> float:
        """lambda = 1 / (C times the number of pairs)."""
        return 1.0 / (self.cost * self.n_pairs)

    @property
    def ceiling(self) -> float:
        """P of w = 0."""
        return self.cost * self.n_pairs

    def decision(self, w: np.ndarray) -> np.ndarray:
        """Return the decision values h (m,) of w (width,)."""
        return self.design.margins(w)

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """Return w (width,) of the dual weights beta (m,) of the samples, from scratch."""
        return self.design.pull(beta)

    def touch(self, centred: np.ndarray) -> Plane:
        """Return the plane for C = 1 that touches the losses at decision values (m,) from `Order.centre`."""
        up, down, above, below = self.order.count_pairs(centred, 1.0)
        error = np.zeros(self.m)
        if self.is_squared:
            pairs, farthest = up + down, 1.0 + 2.0 * float(np.abs(centred).max(initial=0.0))
            up, down = 2.0 * (up * (1.0 - centred) + above), 2.0 * (down * (1.0 + centred) - below)
            error = 2.0 * (self._largest + 20) * U * farthest * pairs
        beta = up - down
        total, along = float(up.sum()), float(beta @ centred)
        # a pair just beyond the margin may count as one within it: its slack is of the size of rounding
        off = dot_error(up) + dot_error(beta * centred) + 2.0 * U * total + float(error @ (1.0 + np.abs(centred)))
        if self.is_squared:
            return Plane(beta, 0.5 * (total + along), up + down, 0.5 * (total - along), error, off)
        return Plane(beta, total, up + down, total - along, error, off)

    def plane(self, h: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the dual weights (m,) and the offset of the plane that touches C times the losses at h (m,)."""
        plane = self.touch(self.order.centre(h))
        return self.cost * self.order.restore(plane.beta), self.cost * plane.offset

    def total_loss(self, h: np.ndarray) -> float:
        """Return C times the sum of the losses at decision values h (m,)."""
        return self.cost * max(self.touch(self.order.centre(h)).value, 0.0)

    def slope(self, h: np.ndarray, change: np.ndarray) -> float:
        """Return a derivative of `total_loss` at h (m,) along a change of h (m,)."""
        plane = self.touch(self.order.centre(h))
        return -self.cost * float(plane.beta @ self.order.centre(change))

    def primal(self, w: np.ndarray, h: np.ndarray) -> float:
        """Return P at w (width,), whose decision values h (m,) the caller has computed."""
        return 0.5 * float(w @ w) + self.total_loss(h)

    def objective(self, point: np.ndarray) -> float:
        return self.primal(point, self.decision(point))

    def infeasible(self, point: np.ndarray) -> str | None:
        if point.shape != self.shape or point.dtype != np.float64 or not np.isfinite(point).all():
            return f"it should be finite float64 of shape {self.shape}, not {point.dtype} of shape {point.shape}"
        return None

    def bound(self, objective: float) -> Certificate:
        return Certificate(objective, None, None)

    def certificate(self, point: np.ndarray) -> Certificate:
        h = self.decision(point)
        centred = self.order.centre(h)
        plane = self.touch(centred)
        primal = 0.5 * float(point @ point) + self.cost * max(plane.value, 0.0)
        bound = max(self._known, self._prove_scaled(plane), key=lambda bound: bound.proven)
        errors = self._primal_error(point, centred, plane), bound.error
        return replace(Certificate.from_values(primal, bound.dual, h, errors=errors), beta=bound.beta)

    def raise_bound(self, certificate: Certificate) -> None:  # a bound is offered with its planes
        pass

    def offer(self, alpha: np.ndarray, touched: Sequence[np.ndarray]) -> float:
        """Let later certificates start from a mean of planes; return the best lower bound offered so far.

        Parameters
        ----------
        alpha : ndarray of shape (k,)
            The weights of the planes, >= 0. They are divided by their sum if that is above 1.
        touched : sequence of k ndarrays of shape (m,)
            The decision values at which the planes touch the losses.
        """
        scale = (1.0 - 4.0 * U) / max(1.0, float(alpha.sum()) * (1.0 + (len(alpha) + 2) * U))
        shares = np.maximum(alpha, 0.0) * scale
        beta, pulls, of_beta = np.zeros((3, self.m))
        offset, of_offset = 0.0, 0.0
        for share, h in zip(shares, touched, strict=True):
            plane = self.touch(self.order.centre(h))
            beta += share * plane.beta
            pulls += share * plane.pulls
            of_beta += share * plane.error
            offset += share * plane.offset
            of_offset += share * (plane.offset_error + (len(alpha) + 2) * U * abs(plane.offset))
        bound = self._prove(beta, offset, of_beta + (len(alpha) + 3) * U * pulls, of_offset)
        self._known = max(self._known, bound, key=lambda bound: bound.proven)
        return self._known.proven

    def _prove_scaled(self, plane: Plane) -> Bound:
        """Return the bound of one plane with the best weight of at most 1."""
        v = self.cost * self.weights(self.order.restore(plane.beta))
        curvature = float(v @ v)
        share = min(max(self.cost * plane.offset / curvature, 0.0), 1.0) if curvature > 0.0 else 1.0
        of_beta = share * (plane.error + 3.0 * U * plane.pulls)
        return self._prove(share * plane.beta, share * plane.offset, of_beta, share * plane.offset_error)

    def _prove(self, beta: np.ndarray, offset: float, of_beta: np.ndarray, of_offset: float) -> Bound:
        """Return the bound of a mean of planes for C = 1, given bounds on the errors of its numbers."""
        beta = self.cost * self.order.restore(beta)
        v, lengths = self.weights(beta), np.sqrt(self.design.sq)
        of_v = dot_error(beta * lengths) + self.cost * float(self.order.restore(of_beta) @ lengths)
        error = float(np.linalg.norm(v)) * of_v + of_v * of_v + dot_error(np.square(v))
        error += self.cost * (of_offset + 4.0 * U * abs(offset))
        remainder, of_remainder = self._remainder(beta)
        return Bound(self.cost * offset - 0.5 * (float(v @ v) + remainder), beta, error + of_remainder)

    def _primal_error(self, w: np.ndarray, centred: np.ndarray, plane: Plane) -> float:
        """Return a bound on the rounding error of P at w (width,), whose plane is given."""
        lengths = np.sqrt(self.design.sq[self.order.rows])
        of_h = (self.design.width + 4) * U * lengths * float(np.linalg.norm(w)) + 2.0 * U * np.abs(centred)
        of_model, of_square = self._expansion_error(w)
        of_h = of_h + np.broadcast_to(of_model, self.m)[self.order.rows]
        return dot_error(np.square(w)) + of_square + self.loss_error(centred, plane, of_h)

    def loss_error(self, centred: np.ndarray, plane: Plane, of_h: np.ndarray) -> float:
        """Return a bound on the error of `total_loss` if decision values are off by at most `of_h`.

        Parameters
        ----------
        centred, of_h : ndarray of shape (m,)
            The decision values from `Order.centre`, and bounds on their errors, in the same order.
        plane : Plane
            The plane that touches the losses there.
        """
        reach = 1.0 + 2.0 * float(of_h.max())
        up, down, above, below = self.order.count_pairs(centred, reach)  # all pairs that may be within the margin
        if self.is_squared:
            up, down = 2.0 * (up * (reach - centred) + above), 2.0 * (down * (reach + centred) - below)
        carried = float((np.maximum(up + down, 0.0) + plane.error) @ of_h)
        return self.cost * (carried + plane.offset_error)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        h = self.decision(point) if certificate.gradient is None else certificate.gradient
        return DecisionFunction(self.plane(h)[0], 0.0, self.design.split(point)[0])

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return self.weights(coef)

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        return np.array(w, dtype=np.float64)
