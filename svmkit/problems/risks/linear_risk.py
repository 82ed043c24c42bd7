"""The linear risk in its primal and its dual form, and lower bounds on its optimum from a primal point alone."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import ClassVar, Self

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.losses.base import Loss
from svmkit.problems.base import DecisionFunction
from svmkit.problems.certificate import Bound, Certificate
from svmkit.problems.risks.certify import certify, prove, scale_sides, side_factors
from svmkit.problems.risks.design import Design
from svmkit.problems.risks.linear_problem import LinearProblem
from svmkit.problems.risks.near_margin import guess_weights
from svmkit.problems.risks.penalty import L1_RATIO, Penalty, make_penalty
from svmkit.problems.risks.points import dual_sums
from svmkit.runtime.mapping import offer_decisions

PASSES = 2  # passes of coordinate descent by which a certificate improves the best known lower bound
# roundings of X'beta as a scaled sum over two signs beyond those of one sum; doubled for the square in the bound on D
ROUNDINGS = 8


_proven = attrgetter("proven")


class PairSums:
    """X w and X'beta of weights w (width,) and dual weights beta (m,), computed as by `Design.pull_and_margins`, while
    a pass for another purpose has the rows in memory.

    The code that makes the pass writes dual weights to `beta`, an array of the sums, and then calls `add` with the ends
    of each window. The sums depend on X, w and beta only. The products are handed out once, for these very w and beta,
    after each row has been added once.

    Parameters
    ----------
    design : Design
        X with its bias column.
    w : ndarray of float64, shape (width,)
        The weights.
    """

    def __init__(self, design: Design, w: np.ndarray) -> None:
        self.design, self.beta = design, np.empty(design.m)
        self._w, self._h = w.copy(), np.full(design.m, design.bias * w[-1])
        self._images, self._totals = design.no_pulls(2), np.zeros(2)  # over the dual weights above 0, and below
        self._factors = np.ones(2)  # of these
        self._end, self._checksum = 0, 0  # of the rows that have been added

    def add(self, lo: int, hi: int) -> None:
        """Add the rows lo to hi - 1, which follow the last ones that were added; ValueError if they do not."""
        if lo != self._end or not lo < hi <= self.design.m:
            raise ValueError(f"rows {lo} to {hi} were added after {self._end} of {self.design.m}")
        beta = self.beta[lo:hi]
        self.design.add_pairs(lo, hi, self._w, self.beta, self._h, self._images)
        self._totals += np.maximum(beta, 0.0).sum(), np.minimum(beta, 0.0).sum()
        self._end, self._checksum = hi, zlib.crc32(beta.data, self._checksum)

    def balance(self) -> np.ndarray:
        """Scale down the weights of the sign with the larger sum, in place, so that beta sums to 0; return beta."""
        is_whole = self._is_whole()
        factors = side_factors(self.beta)
        scale_sides(self.beta, *factors, self.beta)
        self._factors *= factors
        if is_whole:
            self._checksum = zlib.crc32(self.beta.data)
        return self.beta

    def drop(self) -> None:
        """Drop X w and with it the products."""
        self._h = np.empty(0)

    def take(self, beta: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return X'beta (width,) and X w (m,), bias included; None if there are no products for these weights."""
        is_same = beta is self.beta and np.array_equal(w, self._w)
        if not (is_same and self._h.size == self.design.m and self._is_whole()):
            return None
        images = self._images.sum(axis=1)
        if self.design.width > self.design.d:
            images[:, -1] = self.design.bias * self._totals
        h = self._h
        self.drop()
        return self._factors @ images, h

    def _is_whole(self) -> bool:
        """Return whether all rows have been added with their current dual weights."""
        return self._end == self.design.m and zlib.crc32(self.beta.data) == self._checksum


class LinearDual(LinearProblem):
    """min 1/2 beta'K beta - target'beta + sum_i phi_i(beta_i) within bounds, the dual of `LinearRisk` with penalty l2.

    K_ij = x_i'x_j + bias^2 is never formed, since w = sum_i beta_i x_i. A point is beta (m,), with signs. The
    parameters are those of `Risk`.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram, plugins, solve
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import LinearDual
    >>> problem = LinearDual(Gram(Linear(), np.array([[-1.0], [1.0]])), np.array([-1.0, 1.0]), 1.0)
    >>> solve(problem, plugins.build("solver", "dcd")).point.round(2).tolist()
    [-0.5, 0.5]
    """

    name: ClassVar[str] = "LinearDual"
    _certified: tuple[np.ndarray, np.ndarray] | None = None  # the last certified point (m,), and its weights
    _paired: tuple[np.ndarray, np.ndarray, PairSums | None] | None = None  # as `pair` takes them

    def objective(self, point: np.ndarray) -> float:
        return -self.dual(point, self.weights(point))

    def infeasible(self, point: np.ndarray) -> str | None:
        return self.outside(point)

    def restore(self, point: np.ndarray) -> np.ndarray:
        if self.points.below is None and point.shape == self.shape and (point >= 0.0).all():
            return np.copysign(point, self.y)  # weights without signs, or of one class only
        return point

    def begin_pair(self, w: np.ndarray) -> PairSums:
        """Return the sums for the products of weights (width,) and the dual weights to be paired with them."""
        return PairSums(self.design, self._without_bias(w))

    def pair(self, point: np.ndarray, w: np.ndarray, sums: PairSums | None = None) -> None:
        """Let weights (width,), the entry of a free bias aside, be those of the model of a point, in place of X'beta.

        P at X'beta comes close to the optimum only once the gradient there has nearly vanished, long after P of a
        primal iterate has. The certificate of a pair takes one pass over X instead of two; none if the sums that
        `begin_pair` returned for these weights were computed for this point.

        Parameters
        ----------
        point, w : ndarray of float64, shape (m,) and (width,)
            The dual weights and those of the model.
        sums : PairSums, default=None
            The sums; None if there are none.
        """
        self._paired = point, w, sums

    def certificate(self, point: np.ndarray) -> Certificate:
        if self._paired is not None and self._paired[0] is point:
            return self._certify_pair(*self._paired)
        self._certified = point, self.weights(point)
        w, h, bias, of_bias = self.with_best_bias(self._certified[1])
        primal, dual, *errors = certify(*self.points, self.design.sq, point, w, h, of_bias, self.is_free)
        return Certificate.from_values(primal, dual, h, bias, errors=(errors[0], errors[1]))

    def _without_bias(self, w: np.ndarray) -> np.ndarray:
        """Return weights (width,) without the entry of a free bias."""
        return np.append(w[:-1], 0.0) if self.is_free else w

    def _certify_pair(self, point: np.ndarray, w: np.ndarray, sums: PairSums | None) -> Certificate:
        """Return the certificate of a point and weights other than its own, from scratch: by a pass over X, unless
        another pass has computed the products with these very weights.
        """
        w = self._without_bias(w)
        taken = sums.take(point, w) if sums is not None and sums.design is self.design else None
        v, h = taken or self.design.pull_and_margins(point, w)
        if self.is_free:
            v[-1] = 0.0
        self._certified = point, w
        _, h, bias, of_bias = self.with_best_bias(w, h=h)
        primal, dual, *errors = prove(*self.points, self.design.sq, point, v, w, h, of_bias, self.is_free)
        if taken:
            errors[1] *= 1.0 + ROUNDINGS / self.m
        if not (self.origin or self._centre):
            columns, intercept = self.design.split(w)
            offer_decisions(self.gram.engine.X, columns, intercept if bias is None else bias, h)
        return Certificate.from_values(primal, dual, bias=bias, errors=(errors[0], errors[1]))

    def bound(self, objective: float) -> Certificate:
        return Certificate(float("inf"), -objective, None)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        known = self._certified  # saves a pass over X, which on disk takes as long as reading it
        same = known is not None and (known[0] is point or np.array_equal(known[0], point))
        w = known[1] if known is not None and same else self.weights(point)
        return DecisionFunction(point.copy(), *self.split(w, certificate.bias))

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return self.balanced(self.clip(coef))

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        if self.is_free:
            h = self.decision(self.design.join(w, 0.0))
            return self.balanced(guess_weights(self.around(self.best_bias(h)), h))
        return guess_weights(self, self.decision(self.design.join(w, intercept)))

    def bias_of(self, point: np.ndarray) -> float:
        return self.bias**2 * float(point.sum())

    def free(self, point: np.ndarray, centre: float) -> np.ndarray:
        return self.balanced(point)


class LinearRisk(LinearProblem):
    """min 1/2 |w|^2 + sum_i C_i loss(target_i, h(x_i)), or with another `Penalty` instead of 1/2 |w|^2.

    A point is w (width,): the weights of the columns, followed by the weight of the bias column if there is one.

    Parameters
    ----------
    gram : Gram
        Gram of the m samples with the linear kernel.
    target : ndarray of shape (m,)
        Labels -1.0 or +1.0, both present; in regression the targets, finite.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    loss : str or Loss, default="hinge"
        The loss.
    penalty : {"l2", "l1", "elasticnet", "group"} or Penalty, default="l2"
        The penalty on w.
    l1_ratio : float, default=0.5
        The share of |w|_1 in the elastic net.
    groups : str or sequence of int, default=None
        The groups of columns of the penalty "group", as for `make_penalty`.
    **terms
        `bias`, as for `Risk`.

    Raises
    ------
    InputError
        If the kernel is not linear, or a target, C or a term is not valid.

    Notes
    -----
    A certificate has a D although most solvers of this problem have no dual point: the better of the lower bound that
    was offered (`raise_bound`, `offer`) and that of the dual weights suggested by the decision values
    (`guess_weights`), improved by two passes of coordinate descent. With a penalty other than l2, the suggested weights
    are scaled so that D is as large as possible. D therefore costs some passes over X, depends only on the point and
    the offers, and is a lower bound on the optimum whatever the solver does. The passes visit the samples in a random
    order that changes with each offer, since repeating one order makes no progress.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram, plugins, solve
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import LinearRisk
    >>> problem = LinearRisk(Gram(Linear(), np.array([[-1.0], [1.0]])), np.array([-1.0, 1.0]), 1.0)
    >>> solve(problem, plugins.build("solver", "ocas")).point[0].round(2).item()
    1.0
    """

    name: ClassVar[str] = "LinearRisk"

    def __init__(
        self,
        gram: Gram,
        target: np.ndarray,
        C: float | np.ndarray,
        loss: str | Loss = "hinge",
        *,
        penalty: str | Penalty = "l2",
        l1_ratio: float = L1_RATIO,
        groups: str | Sequence[int] | None = None,
        **terms,
    ) -> None:
        super().__init__(gram, target, C, loss, **terms)
        self.penalty = make_penalty(penalty, l1_ratio, groups)
        if sum(self.penalty.groups) > self.design.d:
            n, d = sum(self.penalty.groups), self.design.d
            raise InputError(f"the groups have {n:,} columns, and the rows {d:,}: give groups of these columns")
        self._known = Bound(0.0, np.zeros(self.m))  # the best bound that was offered
        self._offers = 0

    @property
    def shape(self) -> tuple[int]:
        return (self.design.width,)

    def primal(self, w: np.ndarray, h: np.ndarray) -> float:
        """Return P at w (width,), whose decision values h (m,) the caller has computed."""
        w = w[: self.design.d] if self.is_free else w
        return self.penalty.value(w) + self.total_loss(h)

    def objective(self, point: np.ndarray) -> float:
        return self.primal(point, self.decision(point))

    def certificate(self, point: np.ndarray, bias: float | None = None) -> Certificate:
        """Return P, D and their gap, as `Problem.certificate`; a free bias may be given in place of the best one.

        Parameters
        ----------
        point : ndarray of float64, shape (width,)
            The weights.
        bias : float, default=None
            A bias that is free; None for the best one.
        """
        w, h, bias, of_bias = self.with_best_bias(point, bias)
        bound, primal = self._bound(h, bias), self.primal(w, h)
        errors = self._primal_error(w, h, of_bias), bound.error
        return replace(Certificate.from_values(primal, bound.dual, h, bias, errors=errors), beta=bound.beta)

    def plane(self, h: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the dual weights c (m,) and the offset b of the plane b - c'h that touches the losses at h (m,)."""
        c = self.suggest(h)
        linear, ridged = dual_sums(*self.points, c)
        return c, linear - 0.5 * ridged

    def raise_bound(self, certificate: Certificate) -> None:
        if certificate.dual is not None and certificate.beta is not None:
            self._keep(Bound(certificate.dual, certificate.beta))

    def offer(self, beta: np.ndarray) -> float:
        """Let later certificates start from dual weights beta (m,) of a solver, each within its bounds; with the
        penalty l1 they are scaled until they are feasible. Return the best lower bound on the optimum that has been
        offered so far.
        """
        return self._keep(self._prove(beta))

    def _keep(self, bound: Bound) -> float:
        self._known, self._offers = max(self._known, bound, key=_proven), self._offers + 1
        return self._known.proven

    def _bound(self, h: np.ndarray, bias: float | None) -> Bound:
        """Return the best bound: the one offered or the one h (m,) suggests, with l2 improved by some passes."""
        if self.penalty.l1:
            return max(self._known, self._prove(self.balanced(self.suggest(h))), key=_proven)
        near: LinearProblem = self
        if bias is not None:
            own = bias - self.origin
            near, h = self.around(own), h - own
        known = max(self._known, self._prove(self.balanced(guess_weights(near, h))), key=_proven)
        beta = known.beta.copy()
        v, rng = near.weights(beta), np.random.default_rng(self._offers)  # another order after each offer
        for _ in range(PASSES):
            near.descend(rng.permutation(self.m), beta, v, np.inf, -np.inf)
        return max(known, self._prove(self.balanced(beta)), key=_proven)

    def _prove(self, beta: np.ndarray) -> Bound:
        """Return the lower bound that beta (m,) proves, scaled unless the penalty is l2."""
        v, penalty = self.weights(beta), self.penalty
        if penalty.l1:
            scale, dual = self.dual_scale(beta, v)
            beta, v = scale * beta, scale * v
        image = penalty.image(v)
        if not penalty.l1:
            dual = self.dual(beta, image)
        error = self._dual_error(beta, image)
        if not penalty.l2:  # |v| may exceed its limit by rounding, which requires another scaling
            error += (self._pull_error(beta) + (4.0 + max(penalty.groups, default=0)) * U) / penalty.l1 * abs(dual)
        return Bound(dual, beta, error)

    def dual_scale(self, beta: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Return the multiple of dual weights beta (m,), with v (width,) = X'beta, that is feasible and has the largest
        D, with logistic losses the best of some; and this D.
        """
        penalty = self.penalty
        if not self.is_logistic:
            linear, ridged = dual_sums(*self.points, beta)
            scale = penalty.best_scale(linear, ridged, v, self.most_scale)
            return scale, self.dual(scale * beta, penalty.image(scale * v))
        largest = penalty.largest(v)
        most = min(1.0, penalty.l1 / largest) if not penalty.l2 and largest > 0.0 else 1.0

        def lose(scale: float) -> tuple[float, float]:
            if not penalty.l2:
                return 0.0, 0.0
            image = penalty.image(scale * v)
            return float(image @ image), float(image @ np.abs(scale * v)) / math.sqrt(penalty.l2)

        return self.best_power(beta, lose, most)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        h = certificate.gradient
        coef = np.zeros(self.m) if h is None else self.suggest(h)
        return DecisionFunction(coef, *self.split(point, certificate.bias))

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        w = self.weights(coef)
        return self.design.join(w[:-1], self.best_bias(self.decision(w))) if self.is_free else w

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        return self.design.join(w, intercept - self.origin)

    def bias_of(self, point: np.ndarray) -> float:
        return self.bias * float(point[-1])

    def move(self, point: np.ndarray, by: float) -> np.ndarray:
        return np.append(point[:-1], point[-1] - by / self.bias)

    def free(self, point: np.ndarray, centre: float) -> np.ndarray:
        return self.move(point, -centre)

    def around(self, centre: float) -> Self:
        other = super().around(centre)
        other._known, other._offers = Bound(0.0, np.zeros(self.m)), 0
        return other

    def take_over(self, other: LinearProblem) -> None:
        if isinstance(other, LinearRisk) and other._known.beta.any():
            self.offer(self.balanced(other._known.beta))


class LinearTubeDual(LinearDual):
    """The same in regression.

    Examples
    --------
    >>> from svmkit.problems import LinearDual, LinearTubeDual
    >>> issubclass(LinearTubeDual, LinearDual)
    True
    """

    name: ClassVar[str] = "LinearTubeDual"
    task: ClassVar[str] = "regress"


class LinearTubeRisk(LinearRisk):
    """The same in regression.

    Examples
    --------
    >>> from svmkit.problems import LinearRisk, LinearTubeRisk
    >>> issubclass(LinearTubeRisk, LinearRisk)
    True
    """

    name: ClassVar[str] = "LinearTubeRisk"
    task: ClassVar[str] = "regress"
