"""C-SVC and epsilon-SVR by LIBSVM, and by other software with the interface of scikit-learn's SVC and SVR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.forms import Form
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.problems.box import BoxQP
from svmkit.problems.tube import TubeQP
from svmkit.solver.base import libsvm_patience
from svmkit.solver.requirements import Reads
from svmkit_reference.reference import Fitted, Reference, features

KERNELS = {Form.LINEAR: "linear", Form.RBF: "rbf", Form.POLY: "poly", Form.SIGMOID: "sigmoid"}
MIB = 1 << 20


@dataclass(frozen=True)
class SVC(Reference):
    """Base of the adapters of software with the interface of scikit-learn's SVC and SVR."""

    problem: ClassVar[type[Problem]] = BoxQP
    regression: ClassVar[type[Problem] | None] = TubeQP
    losses = ("hinge",)

    shrinking: bool = True  # whether points are left out while their weights seem to stay at a bound

    def patience(self, m: int) -> int:
        return libsvm_patience(m)

    def zero(self, problem: BoxQP | TubeQP) -> np.ndarray:
        return np.zeros(problem.m)

    def fit_once(self, problem: BoxQP | TubeQP, eps: float, seed: int, over: Callable[[], bool]) -> Fitted | None:
        """Fit the SVC of the software once, or its SVR in regression.

        Parameters
        ----------
        problem, eps, seed, over : BoxQP or TubeQP, float, int, callable
            As for `Reference.fit_once`.
        """
        X, kernel, cache = _handed_over(problem.gram)
        limit = self.patience(problem.m)
        options = {
            "tol": eps,
            "shrinking": self.shrinking,
            "cache_size": cache,
            "max_iter": limit,
        }
        name, own, targets = "SVC", {"random_state": seed}, problem.y
        if isinstance(problem, TubeQP):
            name, own, targets = "SVR", {"epsilon": problem.epsilon}, problem.t
        # the sample weights passed are the C_i
        wanted = ("support_", "dual_coef_", "n_iter_")
        model = self.outside(name, X, targets, problem.C, wanted, over, C=1.0, **own, **options, **kernel)
        if model is None:
            return None
        n_iter = int(model["n_iter_"][0])
        coef = np.zeros(problem.m)
        coef[model["support_"]] = model["dual_coef_"][0]
        return Fitted(_make_feasible(problem, coef), n_iter, n_iter >= limit)


def _handed_over(gram: Gram) -> tuple[Any, dict[str, Any], float]:
    """Return X or the matrix of all kernel values, the SVC's kernel parameters, and the remaining MiB for its row
    cache.
    """
    name = KERNELS.get(gram.kernel.form) if gram.kernel.form is not None else None
    if name is not None:
        _, gamma, coef0, degree = gram.kernel.scalars
        return features(gram), {"kernel": name, "gamma": gamma, "coef0": coef0, "degree": degree}, gram.budget / MIB
    size = 8 * gram.m**2
    if size > gram.budget:
        raise InputError(
            f"this solver takes all {gram.m:,} x {gram.m:,} values of the {gram.kernel.name} kernel, {size / MIB:,.0f} "
            f"MB, more than the memory of {gram.budget / MIB:,.0f} MB: give more, or take a solver that computes rows"
        )
    every = np.arange(gram.m)
    return gram.block(every, every), {"kernel": "precomputed"}, max(1.0, (gram.budget - size) / MIB)


def _make_feasible(problem: BoxQP | TubeQP, coef: np.ndarray) -> np.ndarray:
    """Return the dual weights (m,) of coefficients (m,), made feasible if rounding violates a constraint."""
    point = np.clip(coef, -problem.upper, problem.upper)
    point = point if isinstance(problem, TubeQP) else np.abs(point)
    if problem.infeasible(point) is None:
        return point
    balanced = problem.start(coef)
    return np.zeros(problem.m) if balanced is None else balanced


@dataclass(frozen=True)
class LIBSVM(SVC):
    """LIBSVM through scikit-learn's SVC and SVR (Chang, Lin 2011; Fan, Chen, Lin 2005).

    One step is a whole fit, on one thread. A fit cannot start from a model. It runs in a separate process, which a
    limit in seconds or Ctrl-C ends, and it is repeated with eps / 10 while the certified gap is too large. For the
    linear, rbf, poly and sigmoid kernels LIBSVM computes the values itself. Any other kernel is passed as a matrix of
    all its values, which has to fit into the memory budget; LIBSVM's row cache may use the rest of the budget. Float32
    data are copied to float64.

    Parameters
    ----------
    eps : float, default=0.001
        Largest violation of the optimality conditions that the first fit leaves.
    shrinking : bool, default=True
        Whether points are left out while their weights seem to stay at a bound.
    """

    name = "libsvm"
    reads = Reads.ROWS
    paper = "Chang, Lin 2011"
