"""Regression: targets that are numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from svmkit.data.prepare.labels import as_targets, names_of_columns
from svmkit.errors import InputError
from svmkit.losses.by_name import make_loss
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.scoring.evaluations.quantities import QuantityEvaluation
from svmkit.tasks.base import Answers, Output, Task, held_numbers
from svmkit.tasks.sets import IntervalSets, Sets


class Regression(Task):
    """Targets that are numbers.

    Examples
    --------
    >>> from svmkit.tasks import Regression
    >>> Regression().has_targets
    True
    """

    name: ClassVar[str] = "regress"
    loss_task: ClassVar[str] = "regress"
    noun: ClassVar[str] = "regression"
    machine: ClassVar[str] = "a regression"
    has_targets: ClassVar[bool] = True
    evaluation: ClassVar[type[Evaluation]] = QuantityEvaluation
    sets: ClassVar[Sets | None] = IntervalSets()
    metric: ClassVar[str] = "r2"
    losses: ClassVar[tuple[str, ...]] = ("epsilon_insensitive", "squared_epsilon_insensitive")
    refuses: ClassVar[Mapping[str, str]] = {
        "class_weight": "is for classes",
        "calibration": "is for classes (only a classifier has probabilities)",
    }

    def encode(self, y: Any, n_samples: int) -> Answers:
        targets = as_targets(y, n_samples=n_samples, several=True)
        names = names_of_columns(y, targets.shape[1]) if targets.ndim == 2 else ()
        return Answers(np.empty(0), np.zeros(n_samples, dtype=np.int64), targets, names)

    def encode_held(self, y: Any, n_rows: int, learnt: Answers) -> Answers:
        """Return the targets of held-out rows, float64, (n_rows,) or (n_rows, n_outputs).

        Parameters
        ----------
        y, n_rows, learnt : object, int, Answers
            As for `Task.encode_held`.

        Raises
        ------
        InputError
            If y is not a number for each output and row.
        """
        return Answers(learnt.classes, np.zeros(n_rows, dtype=np.int64), held_numbers(y, n_rows, learnt))

    def outputs(self, answers: Answers, method: Any) -> tuple[Output, ...]:
        levels = method.loss.levels
        if answers.names and len(levels) > 1:
            raise InputError(
                f"y has {len(answers.names)} columns, and the loss {len(levels)} levels: give one column or one level"
            )
        if answers.names:
            return tuple(Output(name, column) for column, name in enumerate(answers.names))
        return tuple(Output(f"tau={loss.level:g}", None, loss) for loss in levels) if len(levels) > 1 else ()

    def identity(self, answers: Answers, settings: Any) -> np.ndarray:
        return self.with_loss(np.append(answers.values, float(settings.epsilon)), settings)

    def problem_type(self, method, kernel):
        return method.solver.problem_of(kernel, self.name)

    def pose(self, solver, gram, target, C, settings):
        """Return the problem that a solver minimises, with the loss of the settings or the solver's own.

        Parameters
        ----------
        solver, gram, target, C, settings : Solver, Gram, ndarray, float or ndarray, Settings
            As for `Task.pose`.
        """
        loss = settings.loss or solver.loss_for(gram.kernel, self.name, float(settings.epsilon))
        return solver.pose(gram, target, C, loss)

    def about(self, method: Any, C: float) -> dict[str, Any]:
        settings = method.settings
        loss = settings.loss or getattr(method.solver, "loss", "auto")
        if isinstance(loss, str) and loss != "auto":
            loss = make_loss(loss, self.name)
        sorts = {"non_crossing": True} if settings.non_crossing else {}
        has_tube = settings.nu is None and (isinstance(loss, str) or hasattr(loss, "epsilon"))
        return super().about(method, C) | sorts | ({"epsilon": float(settings.epsilon)} if has_tube else {})
