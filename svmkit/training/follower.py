"""Whoever follows a training and wants to see models on the way: the bridge from solves to callbacks of estimators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from svmkit.model.model import SVMModel
from svmkit.solver.history import HistoryPoint
from svmkit.solver.loop.recorder import Callback

MakeModel = Callable[[], SVMModel]
"""Makes the model of an iterate; of several problems, with what is known of the others."""


class Follower(ABC):
    """A `watch` of `svmkit.fit` that sees models, off the clock, each time the iterations have grown by a fifth.

    Attributes
    ----------
    stopped : bool
        Whether it has asked to end the training.
    """

    def __init__(self) -> None:
        self.stopped = False

    def __call__(self, k: int, n_problems: int, name: str) -> list[Callback]:
        self.begin(k, n_problems, name)

        def ask(point: HistoryPoint) -> bool:
            return self.stopped

        return [ask]

    @abstractmethod
    def begin(self, k: int, n_problems: int, name: str) -> None:
        """Note that problem k begins."""

    @abstractmethod
    def see(self, make_model: MakeModel) -> None:
        """Look at an iterate of the problem that began last; the model can be made until this returns."""

    @abstractmethod
    def end(self, make_model: MakeModel) -> None:
        """Note that the problem that began last has ended, with this model."""
