"""Learning quantities from a stream, with the R2 of predictions that were made before their samples were learned."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from svmkit.data.prepare.targets import as_targets, require_epsilon
from svmkit.solver.selection import defaults
from svmkit.tasks import Answers, Regression
from svmkit.training.data import TrainingData
from svmkit.training.stream.online import Online
from svmkit.training.stream.subproblem import OnlinePair, Rows


class OnlineRegression(Online):
    """A regression function that learns from blocks of samples, each looked at once, in the order of arrival.

    The first block settles what the first block of an `Online` settles, and the unit of the targets, which is that of
    the steps.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube within which an error costs nothing, >= 0, in units of y.
    **options
        As for `Online`, without classes and their weights; the solver has to regress: sgd, pegasos, folos.

    Attributes
    ----------
    seen : ndarray of shape (1,), int
        The number of samples so far.

    Raises
    ------
    InputError
        The solver does not learn quantities from streams, or an option cannot be used.
    """

    task: ClassVar[str] = "regress"
    _counts: ClassVar[tuple[str, ...]] = ("tested", "_squares", "_mean", "_spread")

    def __init__(self, *, epsilon: float = 0.1, **options: Any) -> None:
        require_epsilon(epsilon)
        self.epsilon = float(epsilon)
        self._squares = self._mean = self._spread = 0.0  # of errors; of targets, with their mean (Welford)
        super().__init__((), **{"solver": defaults.STREAM_OF_TARGETS, **options})

    def _announce(self, classes: Any) -> np.ndarray:
        return np.empty(0)

    def _new_pairs(self, memory: int, **options: Any) -> list[OnlinePair]:
        return [OnlinePair(0, 0, self.solver, memory=memory, epsilon=self.epsilon, **options)]

    def _answers(self, y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray | None]:
        targets = as_targets(y, n_samples=n_samples, varied=False)
        return np.zeros(n_samples, dtype=np.int64), targets

    def _test(self, predicted: np.ndarray, targets: np.ndarray) -> None:
        n, mean = len(targets), float(targets.mean())
        total, step = self.tested + n, mean - self._mean
        self._squares += float(np.square(predicted - targets).sum())
        self._spread += float(np.square(targets - mean).sum()) + step * step * self.tested * n / total
        self._mean += step * n / total
        self.tested = total

    @property
    def accuracy(self) -> float | None:
        """None: quantities have no accuracy."""
        return None

    @property
    def score(self) -> float | None:
        """The R2 of the predictions of each block before it is learned from; None before the second block."""
        return 1.0 - self._squares / self._spread if self._spread > 0.0 else None

    def _data(self, X: Any, rows: Rows) -> TrainingData:
        codes, form = rows.y.astype(np.int64), self.input
        answers = Answers(self.classes, codes, np.zeros(len(codes)))
        return TrainingData(X, X, answers, rows.C, form.kernel, form.preprocessing, 0, Regression())
