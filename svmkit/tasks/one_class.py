"""OneClass: samples without labels, and the score below which one is an outlier."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.problems.certificate import Certificate
from svmkit.problems.one_class import OneClassQP
from svmkit.problems.simplex import SimplexQP
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.scoring.evaluations.classes import OutlierEvaluation
from svmkit.tasks.base import Answers, Task
from svmkit.tasks.sets import OutlierSets, Sets

CLASSES = np.array([-1, 1])  # outliers, and all others
NU = 0.1  # default of nu
MOST = 0.5  # the largest share of the samples that a cut calls outliers
ROUNDED = 1e-12  # relative to the largest score: how much two computations of one score may differ


class OneClass(Task):
    """Samples without labels; a model tells outliers (-1) from all others (+1).

    Examples
    --------
    >>> from svmkit.tasks import OneClass
    >>> OneClass().is_supervised
    False
    """

    name: ClassVar[str] = "outliers"
    loss_task: ClassVar[str] = "outliers"
    noun: ClassVar[str] = "outliers"
    machine: ClassVar[str] = "a detector of outliers"
    is_supervised: ClassVar[bool] = False
    evaluation: ClassVar[type[Evaluation]] = OutlierEvaluation
    sets: ClassVar[Sets | None] = OutlierSets()
    metric: ClassVar[str] = "balanced_accuracy"
    refuses: ClassVar[Mapping[str, str]] = {
        "class_weight": "is for classes",
        "calibration": "is for classes",
        "relevance": "is for classes and quantities",
    }

    def encode(self, y: Any, n_samples: int) -> Answers:
        return Answers(CLASSES, np.ones(n_samples, dtype=np.int64), np.zeros(n_samples))

    def encode_truth(self, y: Any, n_samples: int) -> Answers:
        labels = np.asarray([] if y is None else y)
        if labels.shape != (n_samples,) or labels.dtype.kind not in "if" or not np.isin(labels, CLASSES).all():
            raise InputError("outliers are compared by labels: y should be -1 for an outlier and 1 for all others")
        return Answers(CLASSES, (labels > 0).astype(np.int64))

    def identity(self, answers: Answers, settings: Any) -> np.ndarray:
        cut = 0.0 if settings.contamination == "auto" else float(settings.contamination)
        return np.array([-1.0, cut])

    def problem_type(self, method, kernel):
        return OneClassQP if self.loss(method.solver, method.settings) == "hinge" else SimplexQP

    def pose(self, solver, gram, target, C, settings):
        """Return OneClassQP for the hinge, and the problem on the simplex for the squared hinge.

        Parameters
        ----------
        solver, gram, target, C, settings : Solver, Gram, ndarray, float or ndarray, Settings
            As for `Task.pose`.

        Raises
        ------
        InputError
            If `max_support` is less than nu needs.
        """
        nu = NU if settings.nu is None else settings.nu
        if self.loss(solver, settings) == "hinge":
            problem = OneClassQP(gram, nu, C)  # in which every alpha is at most its weight
            least = int(np.count_nonzero(problem.fill(np.argsort(-problem.upper, kind="stable"))))
            if settings.most_support < least:
                raise InputError(
                    f"max_support={settings.most_support:g} is infeasible: nu={nu:g} of {problem.m:,} samples needs at "
                    f"least {least:,} support vectors; lower nu or raise max_support"
                )
            return problem
        return SimplexQP(gram, ridge=0.5 * nu * C.sum() / C)

    def loss(self, solver: Any, settings: Any) -> str:
        """Return the loss of the slacks: the given one, else the hinge if the solver has its problem."""
        return settings.loss or ("hinge" if issubclass(OneClassQP, solver.further) else "squared_hinge")

    def decision(
        self, problem: Problem, point: np.ndarray, certificate: Certificate, C: np.ndarray, settings: Any
    ) -> DecisionFunction:
        """Return the decision function of a point, whose intercept is minus the offset of the scores.

        Parameters
        ----------
        problem, point, certificate, C, settings : Problem, ndarray, Certificate, ndarray, object
            As for `Task.decision`.
        """
        hinge = isinstance(problem, OneClassQP)
        if certificate.gradient is None or (hinge and certificate.bias is None):
            certificate = problem.certificate(point)
        scores, rho = certificate.gradient, self.rho("hinge" if hinge else "squared_hinge", certificate)
        assert scores is not None
        if isinstance(problem, SimplexQP):  # xi: training scores are A alpha less the part of the ridge
            scores = scores - point * problem.ridge
        if settings.contamination != "auto":
            offset = _cut(scores, C, settings.contamination)
        elif not hinge:  # all support vectors are below rho, many more than the share nu
            offset = _cut(scores, C, min(NU if settings.nu is None else float(settings.nu), MOST))
        else:  # rho is the score of a training sample, which is no outlier if rounding puts it just below
            offset = rho - ROUNDED * float(np.abs(scores).max())
        return DecisionFunction(point.copy(), -offset)

    def rho(self, loss: str, certificate: Certificate) -> float:
        """Return the certified rho of a model that was trained with this loss."""
        if loss == "squared_hinge":
            return certificate.primal
        assert certificate.bias is not None
        return -certificate.bias

    def about(self, method: Any, C: float) -> dict[str, Any]:
        nu = method.settings.nu
        return {"nu": float(NU if nu is None else nu), "loss": self.loss(method.solver, method.settings)}

    def formulation(self, method, kernel):
        return f"one class, {self.loss(method.solver, method.settings).replace('_', ' ')}"

    def limits_support(self, settings: Any) -> bool:
        return settings.loss == "squared_hinge"

    def require(self, settings: Any) -> None:
        super().require(settings)
        nu, loss = NU if settings.nu is None else settings.nu, settings.loss
        contamination = settings.contamination
        if loss not in (None, *self.losses):
            raise InputError(f"loss must be hinge or squared_hinge, not {loss!r}")
        if not (isinstance(nu, int | float | np.number) and math.isfinite(nu) and nu > 0):
            raise InputError(f"nu must be a finite number > 0, not {nu!r}")
        if loss == "hinge" and nu > 1.0:
            raise InputError(
                f"nu={nu:g} is infeasible: with loss=hinge it bounds fractions of the samples, 0 < nu <= 1"
            )
        is_share = isinstance(contamination, int | float | np.number) and 0.0 < contamination <= MOST
        if not (is_share or (isinstance(contamination, str) and contamination == "auto")):
            raise InputError(f"contamination must be auto or a number in (0, 0.5], not {contamination!r}")


def _cut(scores: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Return the offset below which the lowest scores lie, with at most `share` of the total weight."""
    size = float(np.abs(scores).max()) or 1.0
    # midway between scores that differ by more than rounding: no training sample moves across it
    rounded = (scores / size).round(12)
    order = rounded.argsort()
    values, weight = rounded[order], weights[order].cumsum()  # a sample of weight 2 counts as two samples
    kept = values[weight.searchsorted(share * weight[-1] * (1.0 + 1e-9), side="right")]
    k = int(values.searchsorted(kept))  # equal ones all stay if one of them does
    below = values[k - 1] if k else kept - 1e-9
    return float(0.5 * (below + kept)) * size
