"""What is read of a model of other software: its decision functions, and the problem that it was to solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from svmkit.model.model import SVMModel
from svmkit.model.objective import Objective


class Claim(NamedTuple):
    """What software says of its own fit.

    Attributes
    ----------
    converged : bool or None
        Whether it says that it has converged; None where it says nothing.
    words : str
        What it says, with iterations, limits and tolerance; empty where it says nothing.
    """

    converged: bool | None = None
    words: str = ""


SILENT = Claim()


@dataclass(frozen=True)
class Foreign:
    """A model of other software, and what it was to minimise: 1/2 |w|^2 + sum C_i loss in our units.

    Attributes
    ----------
    software : str
        Whose model it is, such as "scikit-learn SVC".
    model : SVMModel
        Its decision functions, on rows as `transform` returns them.
    objective : Objective or None
        Loss, bias and penalty; None for outliers, whose problem has `nu` alone.
    C : float or None
        The weight of the summed losses; None where the model does not say it.
    nu : float or None
        That of nu-SVC, nu-SVR and outliers, which settle C or epsilon.
    slacks : {"hinge", "squared_hinge"}
        Those of outliers.
    class_weight : ndarray of shape (n_classes,) or None
        By what C is multiplied for rows of each class.
    epsilon_is_open : bool
        Whether the model does not say its epsilon.
    of_positives : bool
        Whether, with one class against the rest, this holds for the class alone and the rest has weight 1, as in
        LIBLINEAR.
    unit : float
        The software's own objective is P times this number.
    claim : Claim
        What the software says of its fit.
    transform, predict : callable or None
        What happens to rows before the model, and the software's own predictions.
    notes : tuple of str
        What else a reader has to know.
    """

    software: str
    model: SVMModel
    objective: Objective | None = None
    C: float | None = None
    nu: float | None = None
    slacks: str = "hinge"
    class_weight: np.ndarray | None = None
    epsilon_is_open: bool = False
    of_positives: bool = False
    unit: float = 1.0
    claim: Claim = SILENT
    transform: Callable[[Any], Any] | None = None
    predict: Callable[[Any], np.ndarray] | None = None
    notes: tuple[str, ...] = ()

    @property
    def described(self) -> dict[str, Any]:
        """The problem as plain values, which a polished model keeps."""
        named = {name: value for name, value in (("C", self.C), ("nu", self.nu)) if value is not None}
        if self.objective is None:
            return named | {"loss": self.slacks}
        loss, bias, penalty = self.objective
        minimised = {"loss": loss.name, "options": loss.params, "bias": bias} | (penalty.params if penalty.l1 else {})
        return named | {"minimised": minimised}
