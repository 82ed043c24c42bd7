"""The rounds of a search: a few candidates far apart, then their neighbours around the best one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmkit.choice.ranges import STEP, Ranges, round_number
from svmkit.kernels.functions import Kernel
from svmkit.training.settings import Method
from svmkit.tune.result import Candidate
from svmkit.tune.space import EPSILON, Path

C_STEPS = (0.1, 1.0, 10.0, 100.0)  # in the first round, in units of the data
FEW_STEPS = (1.0, 10.0, 100.0)  # for gammas other than the middle one: the second round continues from there
MOST_C, LEAST_C = 1e4, 1e-3  # in units of the data: no candidate lies beyond
ROUNDS = 3
LATER, LAST = 4, 3  # candidates that advance from few rows to more, and to all
DOUBT = 2.0  # standard errors by which the best candidate has to be better than the default
HOPE = 1.0  # standard errors of the first round, from which on candidates around the best one are tried
LEAST_GAIN = 1e-3  # of the metric that a larger C has to gain
SAME = 0.05  # difference of the logarithms of two values of gamma that count as equal
FINER = math.sqrt(10.0)  # ratio of values of C in the second round


@dataclass(frozen=True)
class Point:
    """A candidate; gamma and epsilon are None if they are not searched."""

    C: float
    gamma: float | None = None
    epsilon: float | None = None

    def differs_in_C(self, other: Point) -> bool:
        """Return whether the points differ only in C."""
        return self.gamma == other.gamma and self.epsilon == other.epsilon


class Zoom:
    """The candidates of a search: at the scales of the data, then around the best one.

    The first round has C at a tenth, 1, 10 and 100 times its unit for the middle one of three gammas, without the first
    of these for the others; the default is among them. The second has C a factor of sqrt(10) and gamma a factor of 2
    away from the best, or further on if the best has the largest or the smallest value; epsilon at a quarter and four
    times its value. The third continues if the best lies at an end once more.

    Parameters
    ----------
    method : Method
        The solver, the kernel and the values that are not searched.
    names : tuple of str
        The searched parameters, of C, gamma and epsilon.
    ranges : Ranges
        The scales of the data.

    Examples
    --------
    >>> from svmkit import load
    >>> from svmkit.choice.ranges import Ranges
    >>> from svmkit.choice.zoom import Zoom
    >>> from svmkit.training import TrainingData
    >>> from svmkit.training.settings import Settings, resolve
    >>> iris, method = load("iris"), resolve(Settings())
    >>> zoom = Zoom(method, ("C",), Ranges(TrainingData.prepare(iris.X, iris.y, method), seed=0))
    >>> [len(path.Cs) for path in zoom.first_paths()]
    [5]
    """

    def __init__(self, method: Method, names: tuple[str, ...], ranges: Ranges) -> None:
        self.method, self.names, self.ranges = method, names, ranges
        self._kernels: dict[float | None, Kernel] = {}
        self.default = self._default()
        self.tried: dict[Point, None] = {}
        self.rounds, self.most, self.is_last, self.decides = 0, ROUNDS, False, False

    def first_paths(self, *, is_last: bool = True) -> list[Path]:
        """Return the paths of the first round.

        Parameters
        ----------
        is_last : bool, default=True
            Whether these are all rows: for classes, this is then the only round if the best one is hardly better than
            the default, which stays in doubt.
        """
        self.decides = is_last and self.method.task.has_classes
        gammas: list[float | None] = [*self.ranges.gammas()] if "gamma" in self.names else [None]
        middle = gammas[len(gammas) // 2]
        epsilon = self.ranges.epsilon(self._kernel(self.default.gamma)) if EPSILON in self.names else None
        points = [Point(C, gamma, epsilon) for gamma in gammas for C in self._Cs(gamma, gamma == middle)]
        return self._new([self.default, *points])

    def later_paths(self, candidates: list[Candidate], *, is_last: bool) -> list[Path]:
        """Return the paths of the first round on more rows: the best candidates on fewer, and the default.

        One round around the best follows; on all rows it has at most a step of C in each direction and one of gamma,
        and there is none if the default is the best.

        Parameters
        ----------
        candidates : list of Candidate
            The candidates that were tried on fewer rows, best first.
        is_last : bool
            Whether these are all rows.
        """
        self.tried, self.rounds, self.most, self.is_last = {}, 0, 2, is_last
        best = [point_of(c) for c in candidates if not c.failed]
        each = {point.gamma: point for point in reversed(best)}  # the best of each gamma
        first = [*best[:1], *(point for point in best[1:] if each[point.gamma] is point), *best[1:]]
        first = list(dict.fromkeys(first))[: LAST if is_last else LATER]
        return self._new([self.default, *reversed(first)])  # the next round needs the kernel of the best one

    def next_paths(self, candidates: list[Candidate]) -> list[Path]:
        """Return the paths of the next round, given all candidates so far, best first; none if nothing is left to
        try.
        """
        best = candidates[0]
        is_perfect = best.mean_score >= 1.0
        if best.failed or is_perfect or self.rounds >= self.most:
            return []
        at = point_of(best)
        if self.is_last:
            return [] if at == self.default else self._new(self._neighbours(at))
        if self.decides and self.rounds == 1:
            default, gain, error = self._compare(candidates)
            if default is not None and not gain > HOPE * error:
                return []
        points: list[Point] = []
        if "C" in self.names:
            beside = [p.C for p in self.tried if p.differs_in_C(at)]
            Cs = self._around(at.C, beside, FINER)
            if max(beside) == at.C and not self._gains(candidates, at):
                Cs = [at.C / FINER]  # a plateau: a larger C takes longer and gains nothing
            points += [replace(at, C=self._clip(C, at.gamma)) for C in Cs]
        if at.gamma is not None:
            beside = [p.gamma for p in self.tried if p.gamma is not None]
            for gamma in map(self._reuse_gamma, self._around(at.gamma, beside, STEP / 2)):
                points.append(replace(at, gamma=gamma, C=self._same_C(at, gamma)))
        if at.epsilon is not None and self.rounds == 1:
            points += [replace(at, epsilon=round_number(at.epsilon * factor)) for factor in (1 / STEP, STEP)]
        return self._new(points)

    def _neighbours(self, at: Point) -> list[Point]:
        """Return the points a step away from one; gamma only upwards, as more rows call for no smaller one."""
        points = []
        if "C" in self.names:
            points += [replace(at, C=self._clip(at.C * step, at.gamma)) for step in (1 / FINER, FINER)]
        if at.gamma is not None:
            for gamma in [
                self._reuse_gamma(at.gamma * step) for step in (STEP / 2.0, 2.0 / STEP)[: 1 if points else 2]
            ]:
                points.append(replace(at, gamma=gamma, C=self._same_C(at, gamma)))
        return points

    def _gains(self, candidates: list[Candidate], at: Point) -> bool:
        """Return whether the best candidate beats the one of the next smaller C, if there is one."""
        beside = [c for c in candidates if c.C < at.C and point_of(c).differs_in_C(at)]
        return not beside or candidates[0].mean_score - max(beside, key=lambda c: c.C).mean_score > LEAST_GAIN

    def choose(self, candidates: list[Candidate]) -> list[Candidate]:
        """Return the candidates with the chosen one first: the default, unless the best is clearly better.

        The mean difference of the two over the folds has to be more than `DOUBT` times its standard error.
        """
        default, gain, error = self._compare(candidates)
        if default is None or default is candidates[0] or gain > DOUBT * error:
            return candidates
        return [default, *(c for c in candidates if c is not default)]

    def _compare(self, candidates: list[Candidate]) -> tuple[Candidate | None, float, float]:
        """Return the default, if it was tried, the mean difference of the best candidate to it over the folds, and its
        standard error.
        """
        default = next((c for c in candidates if point_of(c) == self.default and not c.failed and c.determined), None)
        if default is None:
            return None, math.inf, 0.0
        gains = np.array(candidates[0].scores) - np.array(default.scores)
        return default, float(gains.mean()), float(gains.std(ddof=1)) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0

    def _around(self, value: float, tried: Iterable[float], step: float) -> list[float]:
        """Return the values beside one: beyond it if it is at an end, else on both sides in the second round only."""
        tried = sorted(tried)
        if value >= tried[-1]:
            return [value * step, value * step**2]
        if value <= tried[0]:
            return [value / step, value / step**2]
        return [value / step, value * step] if self.rounds == 1 else []

    def _reuse_gamma(self, gamma: float) -> float:
        """Return a tried gamma that is nearly equal to this one, if there is one: its kernel matrix exists."""
        tried = [one for one in self._kernels if one is not None and abs(math.log(one / gamma)) < SAME]
        return min(tried, key=lambda one: abs(math.log(one / gamma)), default=round_number(gamma))

    def _Cs(self, gamma: float | None, is_middle: bool) -> list[float]:
        if "C" not in self.names:
            return [self.method.settings.C]
        unit = self._unit(gamma)
        return [self._clip(unit * step, gamma) for step in (C_STEPS if is_middle else FEW_STEPS)]

    def _same_C(self, at: Point, gamma: float) -> float:
        """Return the C for another gamma that is the same in units of the data, or the given one."""
        if "C" not in self.names:
            return at.C
        return self._clip(at.C * self._unit(gamma) / self._unit(at.gamma), gamma)

    def _clip(self, C: float, gamma: float | None) -> float:
        unit = self._unit(gamma)
        least = max(LEAST_C * unit, self.ranges.least_C(self._kernel(gamma)))
        return round_number(min(max(C, least), max(MOST_C * unit, least)))

    def _unit(self, gamma: float | None) -> float:
        return self.ranges.unit(self._kernel(gamma))

    def _kernel(self, gamma: float | None) -> Kernel:
        """Return the kernel with this gamma, or as it was resolved on all samples."""
        if gamma not in self._kernels:
            given: dict[str, Any] = {"gamma": gamma}
            self._kernels[gamma] = self.ranges.data.kernel if gamma is None else replace(self.method.kernel, **given)
        return self._kernels[gamma]

    def _default(self) -> Point:
        """Return the point that would be trained without a search."""
        gamma = self.ranges.default_gamma() if "gamma" in self.names else None
        return Point(self.method.settings.C, gamma, self.method.settings.epsilon if EPSILON in self.names else None)

    def _new(self, points: Iterable[Point]) -> list[Path]:
        """Return the new points, joined to paths, and record them."""
        self.rounds += 1
        new = [point for point in dict.fromkeys(points) if point not in self.tried]
        self.tried |= dict.fromkeys(new)
        paths: dict[tuple[float | None, float | None], list[float]] = {}
        for point in new:
            paths.setdefault((point.gamma, point.epsilon), []).append(point.C)
        solver, has_C = self.method.solver, "C" in self.names
        return [
            Path(
                k,
                solver,
                self.method.kernel if gamma is None else self._kernel(gamma),
                tuple(sorted(Cs)),
                {name: value for name, value in (("gamma", gamma), (EPSILON, epsilon)) if value is not None},
                has_C,
            )
            for k, ((gamma, epsilon), Cs) in enumerate(paths.items())
        ]


def point_of(candidate: Candidate) -> Point:
    """Return the point of a candidate."""
    return Point(candidate.C, candidate.params.get("gamma"), candidate.params.get(EPSILON))
