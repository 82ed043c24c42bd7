"""The description of a model of other software: its decision functions, and the problem that it should solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from svmkit.model.model import SVMModel
from svmkit.model.objective import Objective


class Claim(NamedTuple):
    """What software reports about its own fit.

    Attributes
    ----------
    converged : bool or None
        Whether it reports convergence; None if it reports nothing.
    words : str
        Its report, with iterations, limits and tolerance; empty if it reports nothing.
    """

    converged: bool | None = None
    words: str = ""


SILENT = Claim()


@dataclass(frozen=True)
class Foreign:
    """A model of other software, and its objective in our units: 1/2 |w|^2 + sum C_i loss.

    Attributes
    ----------
    software : str
        The software, such as "scikit-learn SVC".
    model : SVMModel
        Its decision functions, on rows as `transform` returns them.
    objective : Objective or None
        Loss, bias and penalty; None for one-class models, whose problem has only `nu`.
    C : float or None
        The weight of the summed losses; None if the model does not record it.
    nu : float or None
        The nu of nu-SVC, nu-SVR and one-class models, which determines C or epsilon.
    slacks : {"hinge", "squared_hinge"}
        The slacks of one-class models.
    class_weight : ndarray of shape (n_classes,) or None
        The factor of C for rows of each class.
    balances_weights : bool
        Whether balanced class weights count the weights of the samples, as in svmkit, and not the samples.
    epsilon_is_open : bool
        Whether the model does not record its epsilon.
    of_positives : bool
        Whether, with one class against the rest, this applies to the class alone and the rest has weight 1, as in
        LIBLINEAR.
    unit : float
        The software's own objective is P times this number.
    claim : Claim
        The software's report about its fit.
    transform, predict : callable or None
        The steps before the model, and the software's own predictions.
    notes : tuple of str
        Further notes for the reader.
    """

    software: str
    model: SVMModel
    objective: Objective | None = None
    C: float | None = None
    nu: float | None = None
    slacks: str = "hinge"
    class_weight: np.ndarray | None = None
    balances_weights: bool = False
    epsilon_is_open: bool = False
    of_positives: bool = False
    unit: float = 1.0
    claim: Claim = SILENT
    transform: Callable[[Any], Any] | None = None
    predict: Callable[[Any], np.ndarray] | None = None
    notes: tuple[str, ...] = ()

    @property
    def described(self) -> dict[str, Any]:
        """The problem as plain values, stored in a polished model."""
        named = {name: value for name, value in (("C", self.C), ("nu", self.nu)) if value is not None}
        if self.objective is None:
            return named | {"loss": self.slacks}
        loss, bias, penalty = self.objective
        minimised = {"loss": loss.name, "options": loss.params, "bias": bias} | (penalty.params if penalty.l1 else {})
        return named | {"minimised": minimised}
