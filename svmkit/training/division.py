"""The ways of dividing data into subproblems, and of joining their decision functions into one model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

import numpy as np

from svmkit.errors import Infeasible, InputError
from svmkit.kernels.gram import Gram
from svmkit.losses.base import Loss
from svmkit.model.one_vs_one import (
    class_pairs,
    merge_support,
    pair_classes,
    signs,
    union_support,
    weight_coefficients,
)
from svmkit.model.one_vs_rest import merge_rest
from svmkit.problems.base import ClassDecisions, DecisionFunction, Problem
from svmkit.problems.schemes import JOINT
from svmkit.solver.base import Solver
from svmkit.tasks.base import Answers, Output
from svmkit.training.settings import Method

REST = -1  # in place of the code of a class in `Subproblem`: all other classes


class Subproblem(NamedTuple):
    """One of the problems that data are divided into, for any C: rows of X with their answers and weights (m,)."""

    k: int  # from 0
    name: str  # "a vs b", with the labels, or "a vs rest"; "all classes", "regression", "outliers"
    a: int  # the codes of the two classes, where b may be `REST`; both are `REST` for all classes, and 0 without
    b: int
    rows: np.ndarray
    y: np.ndarray  # the labels -1.0 and +1.0, the codes of all classes, or the targets
    weights: np.ndarray  # the products of class weight and sample weight
    gram: Gram
    loss: Loss | None = None  # its own, if the method does not have one loss for all

    def pose(self, method: Method, solver: Solver, C: float) -> Problem:
        """Return the problem that a solver minimises.

        Parameters
        ----------
        method, solver, C : Method, Solver, float
            The method, the solver that it has chosen, and the weight of the summed losses.
        """
        try:
            return method.pose(solver, self.gram, self.y, C * self.weights, self.loss)
        except Infeasible as error:
            raise InputError(f"{self.name}: {error}") from None


class Joined(NamedTuple):
    """The arrays of a model, as in `SVMModel`."""

    support: np.ndarray  # rows of the data that are support vectors of at least one subproblem, sorted by class
    weights: np.ndarray | None  # (n_sv, width): of the columns, in place of the support vectors as the model's vectors
    n_support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class Division(ABC):
    """A way of dividing data of some `classes`, of which regression has none; `noun` names a single problem, `outputs`
    are the outputs of a model with several, and a division that is `non_crossing` sorts its predictions in each row.
    """

    many: ClassVar[str] = "class pairs"  # the noun for several of its subproblems

    classes: np.ndarray
    noun: str = ""
    outputs: tuple[Output, ...] = ()
    non_crossing: bool = False
    scheme: str = "ovo"  # its name in a model

    @property
    @abstractmethod
    def parts(self) -> list[tuple[int, int]]:
        """The codes of the two classes of each subproblem, as `Subproblem` has them."""

    @abstractmethod
    def name(self, k: int) -> str:
        """Return the name of subproblem k."""

    @abstractmethod
    def target(self, answers: Answers, rows: np.ndarray, k: int) -> np.ndarray:
        """Return the targets of rows for a subproblem, float64 (m,).

        Parameters
        ----------
        answers, rows, k : Answers, ndarray of shape (m,), int
            The answers of all rows, the rows, and the number of the subproblem.
        """

    def loss(self, k: int) -> Loss | None:
        """Return the loss of subproblem k; None if it is the loss of the method."""
        return None

    def neighbour(self, k: int) -> int | None:
        """Return a subproblem whose solution is close to that of subproblem k; None if none is known."""
        return None

    def takes_part(self, codes: np.ndarray, k: int) -> np.ndarray:
        """Return whether rows of these classes, -1 for an unknown one, take part in subproblem k: bool (m,)."""
        return codes >= 0

    def is_positive(self, codes: np.ndarray, k: int) -> np.ndarray:
        """Return whether a positive decision of subproblem k is right for rows of these classes: bool (m,)."""
        return codes == 1

    def sizes(self, counts: np.ndarray) -> np.ndarray:
        """Return the number of samples of each subproblem from that of each class: int64, shape (n_problems,)."""
        return np.array([counts.sum()] * len(self.parts))

    def join(self, decisions: Sequence[DecisionFunction], codes: np.ndarray, width: int) -> Joined:
        """Join decision functions, each over rows of the data.

        Parameters
        ----------
        decisions : sequence of DecisionFunction
            One for each subproblem, in order, with `rows`.
        codes, width : ndarray of shape (n,), int
            The class of each row of the data, and the number of their columns.
        """
        rows = [d.rows for d in decisions if d.rows is not None]
        intercept = np.array([d.intercept for d in decisions])
        weights = [d.w for d in decisions if d.w is not None]
        if len(weights) < len(decisions):
            support, n_support, coef = self._merge(rows, [d.coef for d in decisions], codes)
            return Joined(support, None, n_support, coef, intercept)
        support = self._unite(rows, codes)
        vectors = np.zeros((len(weights), width))
        n_support, coef = self._own_weights()
        for k, w in enumerate(weights):
            vectors[k, : len(w)] = w  # a stream may have grown columns that this subproblem has not seen
            if not len(w):
                coef[:, k] = 0.0
        return Joined(support, vectors, n_support, coef, intercept)

    def _merge(
        self, rows: Sequence[np.ndarray], values: Sequence[np.ndarray], codes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the support, n_support and coef of models that have support vectors."""
        return merge_rest(rows, values, codes, len(self.parts))

    def _unite(self, rows: Sequence[np.ndarray], codes: np.ndarray) -> np.ndarray:
        """Return the support of models whose vectors are weights, which need no merging."""
        return union_support(np.concatenate(list(rows)), codes)[0]

    def _own_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Return n_support (k,) and coef (k, k) of a model whose vectors are the weights of its k decisions."""
        return np.ones(len(self.parts), dtype=np.int64), np.eye(len(self.parts))


class ClassPairs(Division):
    """A subproblem for each two classes."""

    @cached_property
    def parts(self) -> list[tuple[int, int]]:
        return class_pairs(len(self.classes))

    def name(self, k: int) -> str:
        a, b = self.parts[k]
        return f"{self.classes[a]} vs {self.classes[b]}"

    def target(self, answers: Answers, rows: np.ndarray, k: int) -> np.ndarray:
        """Return +1.0 and -1.0 for rows of the two classes.

        Parameters
        ----------
        answers, rows, k : Answers, ndarray, int
            As for `Division.target`.
        """
        return signs(answers.codes[rows], *self.parts[k], len(self.classes))

    def takes_part(self, codes: np.ndarray, k: int) -> np.ndarray:
        a, b = self.parts[k]
        return (codes == a) | (codes == b)

    def is_positive(self, codes: np.ndarray, k: int) -> np.ndarray:
        return signs(codes, *self.parts[k], len(self.classes)) > 0.0

    def sizes(self, counts: np.ndarray) -> np.ndarray:
        a, b = pair_classes(len(self.classes))
        return counts[a] + counts[b]

    def _merge(self, rows, values, codes):
        return merge_support(rows, values, codes, len(self.classes))

    def _own_weights(self) -> tuple[np.ndarray, np.ndarray]:
        return weight_coefficients(len(self.classes))


class OneVsRest(Division):
    """A subproblem for each class, against all others."""

    many: ClassVar[str] = "classes against the rest"

    @cached_property
    def parts(self) -> list[tuple[int, int]]:
        return [(c, REST) for c in range(len(self.classes))]

    def name(self, k: int) -> str:
        return f"{self.classes[k]} vs rest"

    def target(self, answers: Answers, rows: np.ndarray, k: int) -> np.ndarray:
        """Return +1.0 for rows of the class, -1.0 for all others.

        Parameters
        ----------
        answers, rows, k : Answers, ndarray, int
            As for `Division.target`.
        """
        return np.where(answers.codes[rows] == k, 1.0, -1.0)

    def is_positive(self, codes: np.ndarray, k: int) -> np.ndarray:
        return codes == k


class AllClasses(Division):
    """One problem of all classes."""

    @property
    def parts(self) -> list[tuple[int, int]]:
        return [(REST, REST)]

    def name(self, k: int) -> str:
        return "all classes"

    def target(self, answers: Answers, rows: np.ndarray, k: int) -> np.ndarray:
        """Return the codes of the classes.

        Parameters
        ----------
        answers, rows, k : Answers, ndarray, int
            As for `Division.target`.
        """
        return answers.codes[rows].astype(np.float64)

    def join(self, decisions: Sequence[DecisionFunction], codes: np.ndarray, width: int) -> Joined:
        """Return the arrays of a machine of all classes; for two classes, of the difference of their decisions.

        Parameters
        ----------
        decisions, codes, width : sequence of DecisionFunction, ndarray, int
            As for `Division.join`; there is one decision.
        """
        (one,) = decisions
        assert isinstance(one, ClassDecisions) and one.w is not None and one.rows is not None
        support, n_classes = one.rows[np.argsort(codes[one.rows], kind="stable")], len(self.classes)
        if n_classes > 2:
            counts = np.ones(n_classes, dtype=np.int64)
            return Joined(support, one.w, counts, np.eye(n_classes), one.intercepts)
        n_support, coef = weight_coefficients(2)
        return Joined(support, one.w[1:] - one.w[:1], n_support, coef, one.intercepts[1:] - one.intercepts[:1])


class Whole(Division):
    """One problem of all samples, with targets or with no answers at all."""

    @property
    def parts(self) -> list[tuple[int, int]]:
        return [(0, 0)]

    def name(self, k: int) -> str:
        return self.noun

    def target(self, answers: Answers, rows: np.ndarray, k: int) -> np.ndarray:
        """Return the targets, which have several columns in ranking.

        Parameters
        ----------
        answers, rows, k : Answers, ndarray, int
            As for `Division.target`.
        """
        return answers.values[rows]

    def _merge(self, rows, values, codes):
        (of_one,), (coef,) = rows, values
        order = of_one.argsort(kind="stable")
        support = of_one[order]
        # a one-class model names classes
        n_support = np.bincount(codes[support], minlength=len(self.classes)) if len(self.classes) else [len(support)]
        return support, np.asarray(n_support, dtype=np.int64), coef[None, order]

    def _unite(self, rows: Sequence[np.ndarray], codes: np.ndarray) -> np.ndarray:
        return np.sort(rows[0])


class SeveralOutputs(Division):
    """A subproblem for each output, with its column of the targets and its loss; each has all samples."""

    many: ClassVar[str] = "outputs"

    @cached_property
    def learnt(self) -> list[Output]:
        """The outputs of the subproblems: all outputs that are not constant."""
        return [output for output in self.outputs if output.constant is None]

    @property
    def parts(self) -> list[tuple[int, int]]:
        return [(0, 0)] * len(self.learnt)

    def name(self, k: int) -> str:
        return self.learnt[k].name

    def target(self, answers: Answers, rows: np.ndarray, k: int) -> np.ndarray:
        """Return the column of the targets that belongs to the output, or the targets if they have one column.

        Parameters
        ----------
        answers, rows, k : Answers, ndarray, int
            As for `Division.target`.
        """
        values, column = answers.values[rows], self.learnt[k].column
        return values if column is None else np.ascontiguousarray(values[:, column])

    def loss(self, k: int) -> Loss | None:
        return self.learnt[k].loss

    def neighbour(self, k: int) -> int | None:
        return k - 1 if k and self.learnt[k].column == self.learnt[k - 1].column else None

    def join(self, decisions: Sequence[DecisionFunction], codes: np.ndarray, width: int) -> Joined:
        """Join decision functions, and the constants of constant outputs.

        Parameters
        ----------
        decisions, codes, width : as for `Division.join`
        """
        joined = super().join(decisions, codes, width)
        is_learnt = np.array([output.constant is None for output in self.outputs])
        coef = np.zeros((len(self.outputs), joined.coef.shape[1]))
        intercept = np.array([output.constant or 0.0 for output in self.outputs])
        coef[is_learnt], intercept[is_learnt] = joined.coef, joined.intercept
        return joined._replace(coef=coef, intercept=intercept)

    def _merge(self, rows, values, codes):
        support, _, coef = merge_rest(rows, values, np.zeros_like(codes), len(self.learnt))
        return support, np.array([len(support)]), coef

    def _unite(self, rows: Sequence[np.ndarray], codes: np.ndarray) -> np.ndarray:
        return super()._unite(rows, np.zeros_like(codes))

    def _own_weights(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([len(self.learnt)]), np.eye(len(self.learnt))


_OF_CLASSES: dict[str, type[Division]] = {"ovo": ClassPairs, "ovr": OneVsRest} | dict.fromkeys(JOINT, AllClasses)
DIVISIONS: dict[str, Callable[..., Division]] = {
    **{scheme: partial(kind, scheme=scheme) for scheme, kind in _OF_CLASSES.items()},
    "whole": Whole,
    "outputs": SeveralOutputs,
}
"""Each division by the name that `Task.division` gives it; "outputs" if there are several outputs."""
