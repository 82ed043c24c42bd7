"""NuBoxQP and NuTubeQP: the duals of nu-SVC and nu-SVR, whose second equality keeps the sum of the weights."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from svmkit.errors import Infeasible, InputError
from svmkit.kernels.engines import ALL
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.problems.base import RESOLUTION, DecisionFunction, Problem, labels_and_costs
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.one_class import SAMPLE, fill, pick_evenly, spread
from svmkit.problems.tube import TubeQP


class NuQP(Problem):
    """min 1/2 d'K d + origin'd over d = a - a', 0 <= a_i <= over_i, 0 <= a'_i <= under_i, sum a = sum a' = half.

    The two equalities are those of LIBSVM's nu-SVC and nu-SVR: a step moves weight between two samples of a, or between
    two of a'. v = K d + origin is the gradient for both. At the optimum v <= L of the samples with a > 0 and v >= L of
    those with a < over, for a level L; v >= L' where a' > 0 and v <= L' where a' < under. A point is d (m,).
    """

    may_lack: ClassVar[bool] = False  # whether the weights of one sign may have a smaller sum than `half`
    nu: float
    over: np.ndarray  # upper bounds of a and of a' (m,); 0.0 where a sample cannot have that weight
    under: np.ndarray
    half: float  # the sum of a, and that of a'
    origin: np.ndarray  # the gradient at d = 0 (m,)
    ridge: np.ndarray  # 0.0 (m,)
    diag: np.ndarray  # the diagonal of K (m,)

    def decision(self, d: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """Return K d from scratch in float64, of all samples or of the samples `at`."""
        idx = np.flatnonzero(d)
        return self.gram.matvec(d[idx], idx, at)

    def gradient(self, d: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """Return v = K d + origin from scratch in float64, of all samples or of the samples `at`."""
        return self.decision(d, at) + self.origin[at if at.size else slice(None)]

    def image(self, weights: np.ndarray, idx: np.ndarray, dtype=np.float64) -> np.ndarray:
        """Return the change of v (m,) when samples get additional weights.

        Parameters
        ----------
        weights, idx, dtype : ndarray, ndarray, dtype or None
            As for `svmkit.problems.dual.DualQP.image`.
        """
        return self.gram.matvec(weights, idx, dtype=dtype)

    def value(self, point: np.ndarray, gradient: np.ndarray) -> float:
        """Return the objective at a point (m,) from its gradient (m,)."""
        return 0.5 * float(point @ (gradient + self.origin))

    def objective(self, point: np.ndarray) -> float:
        return self.value(point, self.gradient(point))

    def parts(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a and a' (m,) of a point: its positive and negative parts, both increased by what their sums lack."""
        a, b = np.maximum(d, 0.0), np.maximum(-d, 0.0)
        room = np.minimum(self.over - a, self.under - b)
        lack = min(max(self.half - float(a.sum()), 0.0), float(room.sum()))
        shared = fill(np.arange(self.m), room, lack) if lack > 1e-12 * self.half else 0.0
        return a + shared, b + shared

    def levels(self, v: np.ndarray) -> tuple[float, float]:
        """Return the levels of a and of a' at which the primal is least, given v (m,)."""
        from svmkit.problems.bias import weighted_quantile  # here: it needs numba

        return weighted_quantile(v, self.over, self.half), -weighted_quantile(-v, self.under, self.half)

    @abstractmethod
    def relative(self, gap: float, objective: float, levels: tuple[float, float]) -> float:
        """Return the relative gap of the certificate from an absolute gap of this problem.

        Parameters
        ----------
        gap, objective : float
            The absolute gap, and the objective.
        levels : tuple of float
            The levels of a and of a'.
        """

    @abstractmethod
    def settle(self, v: np.ndarray) -> dict[str, float]:
        """Return the values that nu determines, by name, given v (m,)."""

    def infeasible(self, point: np.ndarray) -> str | None:
        if point.shape != (self.m,) or point.dtype != np.float64 or not np.isfinite(point).all():
            return f"it should be finite float64 of shape ({self.m},), not {point.dtype} of shape {point.shape}"
        slack = 1e-12 * (self.over + self.under)
        if (point > self.over + slack).any() or (point < -self.under - slack).any():
            return "a weight is beyond its bound"
        for part in (np.maximum(point, 0.0), np.maximum(-point, 0.0)):
            excess = float(part.sum()) - self.half
            if abs(excess) > 1e-9 * self.half and not (self.may_lack and excess < 0.0):
                return f"the weights of each sign should sum to {self.half:.12g}, not {part.sum():.12g}"
        return None

    def bound(self, objective: float) -> Certificate:
        return Certificate(math.inf, -objective, None)

    def first_point(self) -> np.ndarray:
        order = np.argsort(self._ahead(), kind="stable")
        return fill(order, self.over, self.half) - fill(order[::-1], self.under, self.half)

    @abstractmethod
    def _ahead(self) -> np.ndarray:
        """Return numbers (m,) that are low where a is likely to be at its bound, and high where a' is."""

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        a = spread(np.maximum(coef, 0.0), self.over, self.half)
        b = spread(np.maximum(-coef, 0.0), self.under, self.half)
        return None if a is None or b is None else a - b


class NuBoxQP(NuQP):
    """The dual of nu-SVC: min 1/2 beta'Q beta, 0 <= beta_i <= w_i, sum beta = nu sum w, y'beta = 0; d = y beta.

    With rho from the levels, beta / rho solves C-SVC at C_i = w_i / rho. That is the model, its scale is that of
    LIBSVM, and the certificate is the one of `BoxQP` at this C. The weighted fraction of the samples inside the margin
    is at most nu, that of the support vectors at least nu.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    y : ndarray of shape (m,)
        Labels, -1.0 or +1.0; both must occur.
    weights : float or ndarray of shape (m,)
        Sample weights w_i > 0.
    nu : float
        0 < nu <= 2 min(W+, W-) / (W+ + W-), where W+ and W- are the sums of the weights of the two classes.

    Raises
    ------
    InputError
        If y or a weight is not valid, or nu is infeasible.

    References
    ----------
    Schoelkopf, Smola, Williamson, Bartlett: New support vector algorithms. Neural Computation 12, 2000, section 6.
    Chang, Lin (2011), LIBSVM: a library for support vector machines, sections 2.2 and 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import NuBoxQP
    >>> NuBoxQP(Gram(Linear(), np.eye(2)), np.array([-1.0, 1.0]), 1.0, 0.5).m
    2
    """

    name: ClassVar[str] = "NuBoxQP"

    def __init__(self, gram: Gram, y: np.ndarray, weights: float | np.ndarray, nu: float) -> None:
        y, self.weights = labels_and_costs(y, weights, gram.m)
        super().__init__(gram, y)
        self.over, self.under = np.where(y > 0.0, self.weights, 0.0), np.where(y > 0.0, 0.0, self.weights)
        self.origin, self.ridge, self.diag = np.zeros(self.m), np.zeros(self.m), gram.diag
        total, least = float(self.weights.sum()), min(float(self.over.sum()), float(self.under.sum()))
        if not 0.0 < nu <= 2.0 * least / total * (1.0 + 1e-12):
            most = 2.0 * least / total
            digit = 10.0 ** (math.floor(math.log10(most)) - 3)  # the fourth digit, after which all digits are cut off
            raise Infeasible(
                f"nu={nu:g} is infeasible: the smaller class has {least / total:.4g} of the weight, so 0 < nu <= "
                f"{math.floor(most / digit) * digit:.4g}"
            )
        self.nu, self.half = float(nu), min(0.5 * nu * total, least)
        self.resolution = RESOLUTION * (2.0 * self.half) ** 2 * float(np.abs(self.diag).max())

    @classmethod
    def formulation(cls, **terms) -> str:
        return "nu-SVC"

    def _rho(self, v: np.ndarray) -> float:
        low, high = self.levels(v)
        return 0.5 * (low - high)

    def settle(self, v: np.ndarray) -> dict[str, float]:
        return {"rho": self._rho(v)}

    def relative(self, gap: float, objective: float, levels: tuple[float, float]) -> float:
        """Return the relative gap of the C-SVC that beta / rho solves, or of nu-SVC itself if rho <= 0.

        Parameters
        ----------
        gap, objective, levels : float, float, tuple
            As for `NuQP.relative`.
        """
        rho = 0.5 * (levels[0] - levels[1])
        return relative_gap(gap, 2.0 * self.half * rho - objective if rho > 0.0 else -objective)

    def certificate(self, point: np.ndarray) -> Certificate:
        h = self.decision(point)
        rho = self._rho(h)
        if not rho > 1e-12 * float(np.abs(h).max()):
            flaw = f"nu={self.nu:g} leaves no margin between the classes (rho = {rho:.2g}); lower nu"
            return Certificate(0.5 * float(point @ h), None, None, h, 0.0, flaw=flaw)
        posed = BoxQP(self.gram, self.y, self.weights / rho)
        beta = np.clip(self.y * point / rho, 0.0, posed.upper)
        return replace(posed.certify(beta, h / rho), gradient=h)

    def _ahead(self) -> np.ndarray:
        """Return the difference of the mean kernel values with some samples of each class."""
        some, weights = [], []
        for sign in (1.0, -1.0):
            rows = np.flatnonzero(self.y == sign)
            some.append(rows[pick_evenly(len(rows), SAMPLE // 2)])
            weights.append(np.full(len(some[-1]), sign / len(some[-1])))
        return self.gram.matvec(np.concatenate(weights), np.concatenate(some))

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        if certificate.gradient is None:  # `bound` knows neither it nor the bias
            certificate = self.certificate(point)
        assert certificate.gradient is not None and certificate.bias is not None
        rho = self._rho(certificate.gradient)
        if not rho > 0.0:
            return DecisionFunction(point.copy(), certificate.bias)
        return DecisionFunction(point / rho, certificate.bias, settled={"rho": rho})


class NuTubeQP(NuQP):
    """The dual of nu-SVR: TubeQP with epsilon among the variables of the primal, and |d|_1 = nu sum C instead.

    min 1/2 d'K d - t'd over |d_i| <= C_i, sum d = 0, |d|_1 <= nu sum C, which holds with equality unless epsilon is 0.
    With epsilon from the levels, d solves epsilon-SVR, and the certificate is that of `TubeQP` at this epsilon. If a
    constant is the optimum and epsilon half the range of t, that certificate is about P = D = 0, which no other weights
    attain: a point whose objective is that of the constant, up to `resolution`, stands for the constant. The weighted
    fraction of the samples outside the tube is at most nu, the fraction of the support vectors at least nu.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    t : ndarray of shape (m,)
        Targets, finite.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    nu : float
        0 < nu <= 1.

    Raises
    ------
    InputError
        If t, C or nu is not valid.

    References
    ----------
    Schoelkopf, Smola, Williamson, Bartlett: New support vector algorithms. Neural Computation 12, 2000, section 3.
    Chang, Lin (2011), LIBSVM: a library for support vector machines, section 2.5.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import NuTubeQP
    >>> NuTubeQP(Gram(Linear(), np.eye(2)), np.array([0.0, 1.0]), 1.0, 0.5).nu
    0.5
    """

    name: ClassVar[str] = "NuTubeQP"
    may_lack: ClassVar[bool] = True
    task: ClassVar[str] = "regress"

    def __init__(self, gram: Gram, t: np.ndarray, C: float | np.ndarray, nu: float) -> None:
        if not 0.0 < nu <= 1.0:
            raise InputError(f"nu={nu:g} is infeasible: in regression 0 < nu <= 1")
        tube = TubeQP(gram, t, C, 0.0)
        super().__init__(gram, tube.y)
        self.t, self.C, self.nu = tube.t, tube.C, float(nu)
        self.over, self.under, self.half = tube.upper, tube.upper, 0.5 * nu * float(tube.C.sum())
        self.origin, self.ridge, self.diag = tube.origin, tube.ridge, tube.diag
        self.resolution = RESOLUTION * 2.0 * self.half * float(np.abs(self.origin).max())

    @classmethod
    def formulation(cls, **terms) -> str:
        return "nu-SVR"

    def epsilon(self, v: np.ndarray) -> float:
        """Return the best epsilon given v (m,): half the distance between the levels, >= 0."""
        low, high = self.levels(v)
        return max(0.5 * (high - low), 0.0)

    def settle(self, v: np.ndarray) -> dict[str, float]:
        return {"epsilon": self.epsilon(v)}

    def relative(self, gap: float, objective: float, levels: tuple[float, float]) -> float:
        """Return the relative gap of the epsilon-SVR whose tube lies between the levels.

        Parameters
        ----------
        gap, objective, levels : float, float, tuple
            As for `NuQP.relative`.
        """
        return relative_gap(gap, -objective - self.half * max(levels[1] - levels[0], 0.0))

    def certificate(self, point: np.ndarray) -> Certificate:
        h = self.decision(point)
        constant = self._constant
        if constant is not None and self._excess(h + self.origin, point) <= self.resolution:
            return replace(constant[0], gradient=h + self.origin)
        posed = TubeQP(self.gram, self.t, self.C, self.epsilon(h + self.origin))
        return posed.certify(point, h)

    @cached_property
    def _constant(self) -> tuple[Certificate, float] | None:
        """The certificate of the best constant and its epsilon if the tube holds all samples, so that P = D = 0; else
        None.
        """
        zeros, epsilon = np.zeros(self.m), self.epsilon(self.origin)
        for wider in (0.0, 8.0 * U * (float(np.abs(self.t).max()) + epsilon)):  # half a range may be rounded down
            certificate = TubeQP(self.gram, self.t, self.C, epsilon + wider).certify(zeros, zeros)
            if certificate.gap == certificate.primal == 0.0:
                return certificate, epsilon + wider
        return None

    def _excess(self, v: np.ndarray, point: np.ndarray) -> float:
        """Return by how much the primal of the best constant, nu sum C epsilon, exceeds the dual at a point (m,)."""
        return 2.0 * self.half * self.epsilon(self.origin) + self.value(point, v)

    def _ahead(self) -> np.ndarray:
        return self.origin

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        if certificate.gradient is None:  # `bound` knows neither it nor the bias
            certificate = self.certificate(point)
        assert certificate.gradient is not None and certificate.bias is not None
        if self._constant is not None and certificate.gap == certificate.primal == 0.0:
            return DecisionFunction(np.zeros(self.m), certificate.bias, settled={"epsilon": self._constant[1]})
        return DecisionFunction(point.copy(), certificate.bias, settled=self.settle(certificate.gradient))
