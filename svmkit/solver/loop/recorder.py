"""The outputs of a running solve: history, accuracy, saved progress, callbacks and the best iterate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from svmkit.problems.certificate import Certificate
from svmkit.solver.history import History, HistoryPoint, Measured, Schedule
from svmkit.solver.loop.iterate import Iterate, Progress
from svmkit.solver.step_info import StepInfo

Callback = Callable[[HistoryPoint], Any]
"""Called with each history point, off the clock; a callback that returns True ends the solve as `interrupted`.

One with a true attribute `patient` may get several points at a time, some milliseconds late."""
Score = Callable[[np.ndarray, Certificate], float | Measured | None]
"""Accuracy, with another metric or alone, of the model that a point and its certificate (or `Problem.bound`) stand for;
None if not measured."""

NEWS = 500  # length of a history up to which each newly known gap gets a point


def is_true(answer: Any) -> bool:
    """Return whether a callback asks to stop: it returns True, Python's or numpy's, rather than any truthy value."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


class Saver(Protocol):
    """Saves the progress of a solve; `svmkit.training.checkpoint` has a saver that writes files.

    Examples
    --------
    >>> from svmkit.solver import Progress, Saver
    >>> class Keeper:
    ...     kept = None
    ...     def due(self, seconds: float) -> bool:
    ...         return seconds > 60.0
    ...     def save(self, progress: Progress) -> None:
    ...         self.kept = progress
    >>> saver: Saver = Keeper()
    >>> saver.due(61.0)
    True
    """

    def due(self, seconds: float) -> bool:
        """Return whether it is time to save, after so many seconds in the loop."""
        ...

    def save(self, progress: Progress) -> None:
        """Save the progress."""
        ...


class Journal(NamedTuple):
    """Outputs of a solve while it runs.

    Attributes
    ----------
    saver : Saver, default=None
        Saves the progress from time to time and at the end.
    score : Score, default=None
        Measures `HistoryPoint.accuracy`, off the clock, each time the iterations have grown by a fifth and at the end.

    Examples
    --------
    >>> from svmkit.solver import Journal
    >>> Journal(score=lambda point, certificate: 0.5).saver is None
    True
    """

    saver: Saver | None = None
    score: Score | None = None


class Recorder:
    """Records a solve in `history`. The caller stops the clock meanwhile.

    `best_point` is the best iterate among its points, and `best` its objective: an objective may rise again. For a
    monotone solver nothing is kept.
    """

    def __init__(self, iterate: Iterate, callbacks: Sequence[Callback], journal: Journal) -> None:
        self.history, self.best = History(), math.inf
        self.best_point: np.ndarray | None = None
        self._iterate, self._callbacks, (self._saver, self._score) = iterate, callbacks, journal
        self._schedule = Schedule(iterate.n_iter)
        self._next_score = 0
        self._known = True  # whether the gap of the last iterate is known

    def due(self, info: StepInfo, seconds: float) -> bool:
        """Return whether this iterate gets a history point: by schedule, or because its gap, which is rarely known,
        is.
        """
        if self._schedule.due(self._iterate.n_iter, seconds):
            return True
        before, self._known = self._known, math.isfinite(info.gap)
        return self._known and not before and len(self.history) < NEWS

    def consider(self, info: StepInfo) -> None:
        """Keep the iterate if it is the best one so far."""
        if not self._iterate.solver.monotone and info.objective < self.best:
            self.best, self.best_point = info.objective, self._iterate.point()

    def write(self, info: StepInfo, seconds: float) -> bool:
        """Write a history point, save and call back; return whether a callback asks to stop."""
        iterate, point = self._iterate, self._point(info, seconds)
        stop = self._follow(info, seconds)
        if self._score is not None and iterate.n_iter >= self._next_score:
            self._next_score = iterate.n_iter + 1 + iterate.n_iter // 5
            point = self._score_point(point, iterate.point(), iterate.problem.bound(info.objective))
        if self.history and self.history[-1].n_iter == point.n_iter:  # more is known about the same iterate
            before = self.history.pop()
            if not point.is_measured:
                point = point._replace(accuracy=before.accuracy, score=before.score)
        self.history.append(point)
        self.consider(info)
        if self._saver is not None and self._saver.due(seconds):
            self.save(seconds)
        return self._call_back(point) or stop

    def _call_back(self, point: HistoryPoint) -> bool:
        """Call the callbacks; return whether one asks to stop."""
        return any([is_true(callback(point)) for callback in self._callbacks])

    def _follow(self, info: StepInfo, seconds: float) -> bool:
        """Write the points within a step, with interpolated times; return whether a callback asks to stop."""
        if info.trail is None:
            return False
        before, stop = self.history[-1].seconds if self.history else 0.0, False
        begun = self._iterate.n_iter - info.steps
        for steps, objective, gap, n_support, values in info.trail.tolist():
            if steps < info.steps:
                at = before + (seconds - before) * steps / info.steps
                point = HistoryPoint(begun + int(steps), at, objective, gap, int(n_support), int(values))
                self.history.append(point)
                stop = self._call_back(point) or stop
        return stop

    def save(self, seconds: float) -> None:
        """Pass the progress to the saver, if there is one."""
        if self._saver is not None:
            self._saver.save(self._iterate.progress(seconds))

    def complete(self, info: StepInfo, seconds: float) -> None:
        """Add the point of the last iterate if the history lacks it."""
        if not self.history or self.history[-1].n_iter < self._iterate.n_iter:
            self.history.append(self._point(info, seconds))

    def score_answer(self, point: np.ndarray, certificate: Certificate) -> None:
        """Store the accuracy of the returned point in the last point of the history."""
        if self._score is not None and self.history:
            self.history[-1] = self._score_point(self.history[-1], point, certificate)

    def _point(self, info: StepInfo, seconds: float) -> HistoryPoint:
        gap = info.gap if math.isfinite(info.gap) else None
        values = self._iterate.problem.gram.kernel_values
        return HistoryPoint(self._iterate.n_iter, seconds, info.objective, gap, info.n_support, values)

    def _score_point(self, point: HistoryPoint, answer: np.ndarray, certificate: Certificate) -> HistoryPoint:
        assert self._score is not None
        with self._iterate.problem.gram.pause_counting():
            return point.with_scores(self._score(answer, certificate))
