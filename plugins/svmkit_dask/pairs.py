"""The problems of two classes that scattered data fall into, and the support vectors that they leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.problems.base import DecisionFunction
from svmkit.problems.certificate import Certificate
from svmkit.problems.loss import Loss
from svmkit.solver.base import Solver
from svmkit_dask.problem import Point, ScatteredQP
from svmkit_dask.session import Session

NO_ROWS = np.empty(0, dtype=np.int64)


class Vectors(NamedTuple):
    """Support vectors of one problem: the numbers of their rows, ascending, their features and their classes."""

    numbers: np.ndarray
    X: Any
    codes: np.ndarray


def gathered(found: list[Vectors], wanted: np.ndarray, width: int) -> tuple[Any, np.ndarray]:
    """Return the features (n, width) and the classes (n,) of the rows with these numbers, ascending."""
    if not len(wanted):
        return np.empty((0, width)), NO_ROWS
    numbers = np.concatenate([vectors.numbers for vectors in found])
    _, first = np.unique(numbers, return_index=True)
    at = first[np.searchsorted(numbers[first], wanted)]
    blocks = [vectors.X for vectors in found]
    X = sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.concatenate(blocks)
    return X[at], np.concatenate([vectors.codes for vectors in found])[at]


class ScatteredPair:
    """One of the problems of scattered data, for every C; a `svmkit.training.class_pair.ClassPair` without its rows.

    Parameters
    ----------
    pose : callable
        Opens the problem of two classes: pose(a, b, C, loss).
    k, name, a, b : int, str, int, int
        As the attributes.

    Attributes
    ----------
    k : int
        The number of the problem, from 0.
    name : str
        "a vs b", with the labels of the two classes, or "a vs rest".
    a, b : int
        The codes of the two classes, where b may be `REST`.
    rows : ndarray
        Empty: a decision function on a cluster knows its rows.
    """

    rows = NO_ROWS

    def __init__(self, pose: Pose, k: int, name: str, a: int, b: int) -> None:
        self.k, self.name, self.a, self.b = k, name, a, b
        self._pose = pose
        self._problem: PairQP | None = None

    @property
    def gram(self) -> Any:
        """What has counted kernel values so far."""
        return self if self._problem is None else self._problem.gram

    kernel_values = 0

    def problem(self, solver: Solver, C: float) -> PairQP:
        """Return the problem that `solver` solves for this C."""
        loss = getattr(solver, "loss", None)
        if ScatteredQP not in solver.further or loss is None:
            raise InputError(f"solver {solver.name} needs all rows in one place: on a cluster, take dfcsmo")
        self._problem = self._pose(self.a, self.b, C, Loss(loss))
        return self._problem


class PairQP(ScatteredQP):
    """The problem of two classes, which keeps the features of its support vectors once it is solved.

    Parameters
    ----------
    session, budget : Session, int
        As for `ScatteredQP`.
    found : list of Vectors
        Where support vectors are kept.
    """

    def __init__(self, session: Session, budget: int, found: list[Vectors]) -> None:
        super().__init__(session, budget)
        self._found = found

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        decision, numbers = super().decision_function(point, certificate), Point.of(point).numbers
        if len(numbers):
            slots = self.roster.slots(numbers)
            self._found.append(Vectors(numbers, self.roster.X[slots], self.roster.codes[slots]))
        return OwnRows(decision.coef, decision.intercept, None, numbers)


class OwnRows(DecisionFunction):
    """A decision function whose rows are those of all parts."""

    def restrict(self, rows: np.ndarray) -> DecisionFunction:
        support = np.flatnonzero(self.coef)
        assert self.rows is not None
        return DecisionFunction(self.coef[support], self.intercept, None, self.rows[support])


Pose = Callable[[int, int, float, Loss], PairQP]
