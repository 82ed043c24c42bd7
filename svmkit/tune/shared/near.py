"""Hard fits end at a rough gap, and are continued only if their candidate's score is near the best.

Most of the time of a grid search is spent on candidates of large C that are never chosen: where the optimum is hard to
reach, the score is usually lower. A rough gap suffices to see that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from svmkit.tune.space import Path

ROUGH = 0.1  # the gap at which hard fits are compared
MARGIN = 1.0  # standard errors of the best score within which a score is near it
KEPT = 0.1  # share of the memory that points of hard fits may take


class Hard(NamedTuple):
    """A fit that has ended at a rough gap: its points (None if there was no room) and its facts."""

    points: list[np.ndarray] | None
    facts: dict[str, Any]


class Standings:
    """The scores of the paths of a single C of a search so far, and the fits that have ended at a rough gap.

    Parameters
    ----------
    n_folds, memory : int, int
        The number of folds, and the memory of all fits of the search in bytes.
    """

    def __init__(self, n_folds: int, memory: int) -> None:
        self.n_folds, self._room = n_folds, KEPT * memory
        self._scores: dict[int, dict[int, float]] = {}
        self._hard: dict[tuple[int, int], Hard] = {}
        self._rough: dict[int, float] = {}  # the scores before these fits were continued

    def add(self, path: int, fold: int, score: float) -> None:
        """Record the score of a fit, replacing its score at a rough gap.

        Parameters
        ----------
        path, fold, score : int, int, float
            The numbers of the path and of the fold, and the metric.
        """
        self._scores.setdefault(path, {})[fold] = score

    def put_off(self, path: int, fold: int, points: list[np.ndarray], facts: dict[str, Any]) -> None:
        """Keep a fit that has ended at a rough gap.

        Parameters
        ----------
        path, fold, points, facts : int, int, list of ndarray, dict
            The numbers of the path and of the fold, the point of each subproblem, and the facts of the fit.
        """
        size = sum(point.nbytes for point in points)
        has_room = size <= self._room
        self._room -= size if has_room else 0
        self._hard[path, fold] = Hard(points if has_room else None, facts)

    def take(self, path: int, fold: int) -> Hard | None:
        """Return a fit that is to be continued, once; None if it has reached the requested gap."""
        return self._hard.pop((path, fold), None)

    def near_best(self, paths: Sequence[Path]) -> list[Path]:
        """Return the paths with fits to be continued: those within a margin of the best score, each of them once.

        The margin is a standard error of the best score, plus the most by which a score has moved so far as its fits
        were continued.
        """
        means = {number: float(np.mean(list(found.values()))) for number, found in self._scores.items()}
        known = {number: mean for number, mean in means.items() if not math.isnan(mean)}
        both = {number: before for number, before in self._rough.items() if number in known and not math.isnan(before)}
        moved = max((abs(known[number] - before) for number, before in both.items()), default=0.0)
        least = -math.inf
        if known:
            best = max(known, key=lambda number: known[number])
            error = float(np.std(list(self._scores[best].values()))) / math.sqrt(max(1, self.n_folds - 1))
            least = known[best] - MARGIN * error - moved
        hard = {number for number, _ in self._hard} - self._rough.keys()  # a failure while continuing is final
        near = [path for path in paths if path.number in hard and not means[path.number] < least]
        self._rough |= {path.number: means[path.number] for path in near}
        return near
