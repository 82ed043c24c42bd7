"""Stopping rules: small criteria joined with `|`; the first that holds ends the solve.

    Gap(1e-3) | Iterations(100_000) | Seconds(60)

`Gap`, `Absolute` and `Violation` look at the loop's estimate and end with "converged"; a `Gap` has to be confirmed by
the certificate on all points. The others are budgets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from svmkit.errors import InputError
from svmkit.solver.base import StepInfo
from svmkit.solver.solution import Status


@dataclass(frozen=True)
class Criterion:
    """One rule; `status` is how a solve ends that it stops. Its number must be > 0 and finite."""

    limit: float

    def __post_init__(self) -> None:
        if not (self.limit > 0 and math.isfinite(self.limit)):
            raise InputError(f"stop rule {type(self).__name__.lower()} needs a number > 0, not {self.limit}")

    @property
    def status(self) -> Status:
        raise TypeError("a Criterion names the status with which it ends")

    def holds(self, info: StepInfo, n_iter: int, epochs: float, seconds: float) -> bool:
        raise TypeError("a Criterion says when it holds")

    def __or__(self, other: Criterion | Stop) -> Stop:
        return Stop((self,)) | other


class Gap(Criterion):
    """Relative gap: the loop's estimate, then the certificate, at most `limit`."""

    status = Status.CONVERGED

    def holds(self, info, n_iter, epochs, seconds):
        return info.gap <= self.limit


class Absolute(Criterion):
    """The papers' epsilon: estimate of the gap in units of the objective, 2 (f - min g) for SimplexQP.

    SWAP's and FW/CVM's epsilon is this one; PARTAN's Delta is half of it: give twice its epsilon.
    """

    status = Status.CONVERGED

    def holds(self, info, n_iter, epochs, seconds):
        return info.gap_abs <= self.limit


class Violation(Criterion):
    """LIBSVM's and LIBLINEAR's eps: largest violation of the optimality conditions, in units of the margin."""

    status = Status.CONVERGED

    def holds(self, info, n_iter, epochs, seconds):
        return info.violation <= self.limit


class Iterations(Criterion):
    """Steps of the solver."""

    status = Status.MAX_ITER

    def holds(self, info, n_iter, epochs, seconds):
        return n_iter >= self.limit


class Epochs(Criterion):
    """Passes over the training set."""

    status = Status.MAX_ITER

    def holds(self, info, n_iter, epochs, seconds):
        return epochs >= self.limit * (1.0 - 1e-9)  # a sum of m times 1 / m


class Seconds(Criterion):
    """Wall-clock time in the loop, evaluation excluded."""

    status = Status.TIME_LIMIT

    def holds(self, info, n_iter, epochs, seconds):
        return seconds >= self.limit


class Support(Criterion):
    """Number of support vectors."""

    status = Status.MAX_SUPPORT

    def holds(self, info, n_iter, epochs, seconds):
        return info.n_support >= self.limit


@dataclass(frozen=True)
class Stop:
    """Any of several criteria."""

    criteria: tuple[Criterion, ...]

    def __or__(self, other: Criterion | Stop) -> Stop:
        return Stop(self.criteria + (other.criteria if isinstance(other, Stop) else (other,)))

    def reached(self, info: StepInfo, n_iter: int, epochs: float, seconds: float) -> list[Criterion]:
        """The criteria that hold, in order."""
        return [rule for rule in self.criteria if rule.holds(info, n_iter, epochs, seconds)]


def parse_stop(text: str) -> Criterion:
    """The criterion that `text` spells: gap:1e-3, abs:1e-6, kkt:1e-3, iter:1000, epochs:2, seconds:60, support:500."""
    kinds: dict[str, type[Criterion]] = {
        "gap": Gap,
        "abs": Absolute,
        "kkt": Violation,
        "iter": Iterations,
        "epochs": Epochs,
        "seconds": Seconds,
        "support": Support,
    }
    kind, _, number = text.partition(":")
    try:
        return kinds[kind](float(number))
    except (KeyError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"stop={text!r} is not a rule: write one of {', '.join(f'{k}:NUMBER' for k in kinds)}"
        ) from None


def stop_rules(
    stop: Criterion | Stop | str | None,
    tol: float,
    *,
    max_iter: int | None = None,
    max_epochs: float | None = None,
    time_limit: float | None = None,
    max_support: int | None = None,
) -> Criterion | Stop:
    """`stop` (text such as "abs:1e-6", or criteria; None: Gap(tol)) joined with the budgets that are given.

    Raises InputError for text that is no rule and for numbers that are not > 0 and finite.
    """
    rules: Criterion | Stop = parse_stop(stop) if isinstance(stop, str) else (stop or Gap(tol))
    for kind, limit in ((Iterations, max_iter), (Epochs, max_epochs), (Seconds, time_limit), (Support, max_support)):
        if limit is not None:
            rules = rules | kind(limit)
    return rules
