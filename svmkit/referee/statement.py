"""The problem of a model: facts stated by the caller that override the model's record, and a description in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmkit.data.prepare.labels import as_labels
from svmkit.errors import InputError
from svmkit.losses.base import Loss
from svmkit.losses.by_name import make_loss
from svmkit.model.objective import Objective
from svmkit.problems.base import FREE
from svmkit.problems.risks.linear_risk import LinearRisk, LinearTubeRisk
from svmkit.problems.schemes import SCHEMES
from svmkit.referee.estimators import Rows
from svmkit.referee.foreign import Claim, Foreign
from svmkit.referee.posed import Posed, PosedDecision
from svmkit.scoring.accuracy import comparable
from svmkit.training.weights import require_class_weights, weights_of_classes


@dataclass(frozen=True)
class Given:
    """Facts about a problem stated by the caller, if the model records them wrongly or not at all; default None.

    Parameters
    ----------
    C : float, default=None
        The weight of the summed losses.
    loss : str or Loss, default=None
        The loss.
    bias : {"free"} or float, default=None
        A free bias, or the value of the column of one that is part of the weights, 0 for none.
    class_weight : dict or "balanced", default=None
        The factor of C for each class.
    epsilon, nu : float, default=None
        Half the width of the tube of a regression; the nu of nu-SVC, nu-SVR and one-class models.
    """

    C: float | None = None
    loss: str | Loss | None = None
    bias: str | float | None = None
    class_weight: Any = None
    epsilon: float | None = None
    nu: float | None = None

    def complete(self, foreign: Foreign, rows: Rows) -> Foreign:
        """Return a foreign model with the stated facts; raise InputError if its problem is still unknown.

        Parameters
        ----------
        foreign, rows : Foreign, Rows
        """
        model = foreign.model
        if self.C is not None and not 0.0 < float(self.C) < np.inf:
            raise InputError(f"C must be finite and > 0, not {self.C}")
        recorded = foreign
        foreign = replace(
            foreign,
            C=foreign.C if self.C is None else float(self.C),
            nu=foreign.nu if self.nu is None else float(self.nu),
            class_weight=foreign.class_weight if self.class_weight is None else self._weigh(foreign, rows),
        )
        if model.finds_outliers:
            if foreign.nu is None:
                raise InputError("the model does not say its nu: give nu=NUMBER")
            return replace(foreign, claim=_claim_of(recorded, foreign))
        objective = self._objective(foreign)
        if foreign.C is None:
            raise InputError("the model does not say its C: give C=NUMBER, that of its training")
        foreign = replace(foreign, objective=objective)
        return replace(foreign, claim=_claim_of(recorded, foreign))

    def _objective(self, foreign: Foreign) -> Objective:
        known, task = foreign.objective, "regress" if foreign.model.regresses else "classify"
        loss = self.loss if self.loss is not None else None if known is None else known.loss
        if loss is None:
            raise InputError("the model does not say its loss: give loss=NAME, that of its training")
        made = make_loss(loss, task, epsilon=self.epsilon)
        if self.epsilon is not None and hasattr(made, "epsilon"):
            made = make_loss(made.name, task, made.params | {"epsilon": self.epsilon})
        if foreign.epsilon_is_open and self.epsilon is None and self.loss is None:
            raise InputError("the model does not say its epsilon: give epsilon=NUMBER, that of its training")
        column = None if known is None else known.bias
        if self.bias is not None:
            if self.bias != FREE and not (isinstance(self.bias, int | float | np.number) and np.isfinite(self.bias)):
                raise InputError(f"bias must be free, the value of its column, or 0 for none, not {self.bias!r}")
            column = None if self.bias == FREE else float(self.bias)
        return Objective(made, column) if known is None else known._replace(loss=made, bias=column)

    def _weigh(self, foreign: Foreign, rows: Rows) -> np.ndarray:
        """Return the class weights as stated; keys are compared as text if labels are text."""
        model = foreign.model
        if not len(model.classes):
            raise InputError("class_weight is for classes: leave it out")
        require_class_weights(self.class_weight)
        if isinstance(self.class_weight, str):
            if rows.y is None:
                raise InputError("balanced class weights need the labels of the training rows: give y")
            labels, classes = comparable(as_labels(rows.y, n_samples=rows.X.shape[0]), model.classes)
            counted = np.ones(len(labels)) if rows.weights is None or not foreign.balances_weights else rows.weights
            codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)  # unknown labels are refused later
            return weights_of_classes(codes, classes, self.class_weight, counted)
        by_text = {str(label): float(weight) for label, weight in self.class_weight.items()}
        names = [str(label) for label in model.classes.tolist()]
        unknown = set(by_text) - set(names)
        if unknown:
            raise InputError(f"class_weight names {min(unknown)!r}, which is none of the classes {', '.join(names)}")
        return np.array([by_text.get(name, 1.0) for name in names])


def _claim_of(recorded: Foreign, stated: Foreign) -> Claim:
    """Return the software's report; of another problem than the one that is stated, it says nothing about this one."""
    other = [
        f"{name}={was:g}"
        for name in ("C", "nu")
        if (was := getattr(recorded, name)) is not None and was != getattr(stated, name)
    ]
    weights, given = recorded.class_weight, stated.class_weight
    if weights is not None and given is not None and not np.array_equal(weights, given):
        other.append("other class weights")
    before, now = recorded.objective, stated.objective
    if before is not None and now is not None:
        if (before.loss.name, before.loss.params) != (now.loss.name, now.loss.params):
            options = ", ".join(f"{name}={value}" for name, value in before.loss.params.items())
            other.append(f"loss={before.loss.name}" + (f" ({options})" if options else ""))
        if before.bias != now.bias:
            other.append("bias=free" if before.bias is None else f"bias={before.bias:g}")
    claim = recorded.claim
    if not other or claim.converged is None:
        return claim
    return Claim(None, f"{claim.words}, with {', '.join(other)}")


def describe_problem(foreign: Foreign, posed: Sequence[Posed]) -> str:
    """Return the objective of a model in words.

    Parameters
    ----------
    foreign, posed : Foreign, sequence of Posed
    """
    kernel = foreign.model.kernel
    params = ", ".join(f"{name}={value:g}" for name, value in kernel.params.items())
    of_kernel = f"{kernel.name} kernel" + (f" ({params})" if params else "")
    if foreign.objective is None:
        return f"one class, {foreign.slacks.replace('_', ' ')}, nu={foreign.nu:g}, {of_kernel}"
    loss, bias, penalty = foreign.objective
    first = next((one for one in posed if isinstance(one, PosedDecision)), None)
    settled, C = "", foreign.C
    if foreign.nu is not None and first is not None:
        settled = f"nu={foreign.nu:g} settled on "
        C, loss = (C, first.objective.loss) if foreign.model.regresses else (float(np.max(first.C)), loss)
    risk = LinearTubeRisk if foreign.model.regresses else LinearRisk
    words = risk.formulation(loss=loss, bias=FREE if bias is None else bias, **penalty.params)
    if foreign.model.is_joint:
        words = f"{SCHEMES[foreign.model.multiclass].problem} {words}"
    weighed = "" if foreign.class_weight is None else " times class weights"
    return f"{settled}{words}, C={C:g}{weighed}, {of_kernel}"
