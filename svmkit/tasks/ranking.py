"""Ranking: values whose order within groups is learnt, by pairs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from svmkit.data.prepare.ranks import encode_ranks, has_pairs, is_encoded
from svmkit.errors import SvmkitWarning
from svmkit.kernels.functions import require_semidefinite
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.scoring.evaluations.orders import OrderEvaluation
from svmkit.tasks.base import Answers, Task


class Ranking(Task):
    """Values whose order within groups is learnt; a larger prediction means a larger value.

    The targets have three columns: values, numbers of groups, and whether a value was observed.

    Examples
    --------
    >>> from svmkit.data import Ranks
    >>> from svmkit.tasks import Ranking
    >>> Ranking().encode(Ranks([3, 1, 2, 5], groups=["a", "b", "a", "b"]), 4).targets.tolist()
    [[3.0, 0.0, 1.0], [1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [5.0, 1.0, 1.0]]
    """

    name: ClassVar[str] = "rank"
    loss_task: ClassVar[str] = "rank"
    noun: ClassVar[str] = "ranking"
    machine: ClassVar[str] = "a ranker"
    has_targets: ClassVar[bool] = True
    has_groups: ClassVar[bool] = True
    evaluation: ClassVar[type[Evaluation]] = OrderEvaluation
    metric: ClassVar[str] = "concordance"
    kernel: ClassVar[str | None] = "linear"
    refuses: ClassVar[Mapping[str, str]] = {
        "class_weight": "is for classes",
        "calibration": "is for classes (a ranker has no probabilities)",
        "conformal": "is for classes, quantities and outliers",
        "nu": "is for classes, regression and outliers",
    }

    def encode(self, y: Any, n_samples: int) -> Answers:
        answers = self._encode(y, n_samples, needs_pairs=True)
        if is_encoded(y):  # rows of a fold: all rows have been checked
            return answers
        single = int(np.count_nonzero(np.bincount(answers.values[:, 1].astype(np.int64)) == 1))
        if single:
            of = "1 group has" if single == 1 else f"{single:,} groups have"
            warnings.warn(f"{of} one row, which has no pair: it takes no part", SvmkitWarning, stacklevel=2)
        return answers

    def encode_truth(self, y: Any, n_samples: int) -> Answers:
        return self._encode(y, n_samples, needs_pairs=False)

    def encode_held(self, y: Any, n_rows: int, learnt: Answers) -> Answers:
        """Return the values and groups of held-out rows, among which there need not be a comparable pair.

        Parameters
        ----------
        y, n_rows, learnt : object, int, Answers
            As for `Task.encode_held`.

        Raises
        ------
        InputError
            If `svmkit.data.make_ranks` does not accept y.
        """
        return self.encode_truth(y, n_rows)

    def _encode(self, y: Any, n_samples: int, needs_pairs: bool) -> Answers:
        targets = encode_ranks(y, n_samples=n_samples, needs_pairs=needs_pairs)
        return Answers(np.empty(0), np.zeros(n_samples, dtype=np.int64), targets)

    def groups(self, answers: Answers) -> np.ndarray | None:
        codes = answers.values[:, 1].astype(np.int64)
        return codes if codes.max(initial=0) > 0 else None

    def can_measure(self, answers: Answers, rows: np.ndarray) -> bool:
        return has_pairs(answers.values[rows])

    def identity(self, answers: Answers, settings: Any) -> np.ndarray:
        return self.with_loss(answers.values.ravel(), settings)

    def problem_type(self, method, kernel):
        return method.solver.problem_of(kernel, self.name)

    def require_kernel(self, solver, kernel):
        solver.problem_of(kernel, self.name)
        require_semidefinite(kernel, "ranking")

    def pose(self, solver, gram, target, C, settings):
        """Return the ranking problem of a solver, with the loss of the settings or the solver's own.

        Parameters
        ----------
        solver, gram, target, C, settings : Solver, Gram, ndarray, float or ndarray, Settings
            As for `Task.pose`.
        """
        loss = settings.loss or solver.loss_for(gram.kernel, self.name)
        return solver.problem_of(gram.kernel, self.name).from_loss(gram, target, C, loss)

    def formulation(self, method, kernel):
        return method.solver.problem_of(kernel, self.name).formulation(loss=method.loss)
