"""ClassPair: one of the problems that training data fall into, and the names of the ways to fall into them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.errors import Infeasible, InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import Gram
from svmkit.model.one_vs_rest import MODES
from svmkit.problems.base import Problem
from svmkit.solver.base import Solver

REST = -1  # stands for the code of a class in `ClassPair`, for all other classes


class ClassPair(NamedTuple):
    """The problem of two classes, of a class and the rest, of all classes or of regression, for every C.

    Attributes
    ----------
    k : int
        The number of the class pair, from 0.
    name : str
        "a vs b", with the labels of the two classes, or "a vs rest"; "all classes", "regression".
    a, b : int
        The codes of the two classes, where b may be `REST`; both are `REST` for all classes, and 0 in regression.
    rows : ndarray of shape (m,), int
        The rows of X that take part.
    y : ndarray of shape (m,), float64
        The labels -1.0 and +1.0, the codes of all classes, or the targets.
    weights : ndarray of shape (m,), float64
        The products of class weight and sample weight.
    gram : Gram
        The kernel values of `rows`.
    epsilon : float or None, default=None
        Half the width of the tube of regression; None for two classes.
    """

    k: int
    name: str
    a: int
    b: int
    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    gram: Gram
    epsilon: float | None = None

    def problem(self, solver: Solver, C: float) -> Problem:
        """Return the problem that `solver` solves for this C."""
        if self.epsilon is not None:
            return solver.pose_regression(self.gram, self.y, C * self.weights, self.epsilon)
        try:
            return solver.pose(self.gram, self.y, C * self.weights)
        except Infeasible as error:
            raise InputError(f"{self.name}: {error}") from None


def require_multiclass(multiclass: str, task: str, kernel: Kernel) -> None:
    """Raise InputError unless the problems of several classes can be those that this names."""
    if multiclass not in MODES:
        raise InputError(f"multiclass={multiclass!r} is not known; there are: {', '.join(MODES)}")
    if multiclass != "ovo" and task != "classify":
        raise InputError(f"multiclass={multiclass} is for classes: leave it out")
    if multiclass == "crammer_singer" and kernel.name != "linear":
        raise InputError(
            f"multiclass=crammer_singer needs the linear kernel, not {kernel.name}; with {kernel.name}: ovo, ovr"
        )
