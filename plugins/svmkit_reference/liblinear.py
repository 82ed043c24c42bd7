"""LIBLINEAR, the reference of the linear solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import Family, Loss
from svmkit.losses.by_name import make_loss
from svmkit.problems.base import Problem
from svmkit.problems.risks.linear_risk import LinearRisk, LinearTubeRisk
from svmkit.solver.requirements import Requires
from svmkit_reference.reference import Fitted, Reference, features


@dataclass(frozen=True)
class LIBLINEAR(Reference):
    """LIBLINEAR through scikit-learn's LinearSVC and LinearSVR (Fan, Chang, Hsieh, Wang, Lin 2008).

    One step is a whole fit. LIBLINEAR solves the hinge loss, and the squared hinge loss with fewer rows than columns,
    by dual coordinate descent; the squared hinge loss with other data by a trust-region Newton method; and the l1
    penalty, which regression does not have, by primal coordinate descent. Each method counts its own iterations. A fit
    cannot start from a model, runs on one thread of a separate process, which a limit in seconds or Ctrl-C ends, and
    copies float32 data to float64.

    Parameters
    ----------
    eps : float, default=0.1
        Tolerance of the first fit. The default is the one of LIBLINEAR's command line for its dual methods.
    loss : str, default="hinge"
        "hinge" or "squared_hinge".
    penalty : str, default="l2"
        "l2" or "l1"; "l1" is possible with the squared hinge loss only.
    bias : float, default=1.0
        Value of the column that is added for the bias, which is regularised; 0 for no bias.
    passes : int, default=10000
        Maximum number of iterations in a fit, >= 1.

    Raises
    ------
    InputError
        A parameter has another value, or `penalty` "l1" is combined with the hinge loss.
    """

    name = "liblinear"
    problem: ClassVar[type[Problem]] = LinearRisk
    regression: ClassVar[type[Problem] | None] = LinearTubeRisk
    terms = ("loss", "penalty", "bias")
    losses = ("hinge", "squared_hinge")
    requires = (Requires.LINEAR_KERNEL,)
    certified: ClassVar[bool] = False
    paper = "Fan et al. 2008"

    eps: float = 0.1
    loss: str | Loss = "hinge"
    penalty: str = "l2"
    bias: float = 1.0
    passes: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.passes < 1:
            raise InputError(f"passes must be >= 1, not {self.passes}")
        if self.penalty not in ("l1", "l2"):
            raise InputError(f"penalty={self.penalty!r} is not known; there are: l2, l1")
        if self.penalty == "l1" and make_loss(self.loss, LinearRisk.task).family is Family.BOUNDED:
            raise InputError("penalty=l1 goes with loss=squared_hinge only: give -o loss=squared_hinge as well")

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if isinstance(problem, LinearTubeRisk) and problem.penalty.l1:
            raise InputError("LIBLINEAR has no regression with penalty=l1: take cd, or penalty=l2")

    def patience(self, m: int) -> int:
        return self.passes

    def zero(self, problem: LinearRisk) -> np.ndarray:
        return np.zeros(problem.design.width)

    def fit_once(self, problem: LinearRisk, eps: float, seed: int, over: Callable[[], bool]) -> Fitted | None:
        """Fit LinearSVC once, or LinearSVR in regression.

        Parameters
        ----------
        problem, eps, seed, over : LinearRisk, float, int, callable
            As for `Reference.fit_once`.
        """
        name, own = "LinearSVC", {"penalty": self.penalty}
        if isinstance(problem, LinearTubeRisk):
            name, own = "LinearSVR", problem.loss.params
        model = self.outside(
            name,
            features(problem.gram),
            problem.terms.target,
            problem.C,
            ("coef_", "intercept_", "n_iter_"),
            over,
            **own,
            loss=problem.loss.name,
            dual="auto",
            tol=eps,
            C=1.0,  # the sample weights below are the C_i
            fit_intercept=self.bias > 0.0,
            intercept_scaling=self.bias or 1.0,
            max_iter=self.passes,
            random_state=seed,
        )
        if model is None:
            return None
        w = problem.design.join(model["coef_"].ravel(), float(model["intercept_"][0]))
        n_iter = int(model["n_iter_"][0])
        return Fitted(w, n_iter, n_iter >= self.passes)
