"""Stop rules: small criteria joined with `|`; the first criterion that holds ends the solve.

    Gap(1e-3) | Iterations(100_000) | Seconds(60)          in text: gap:1e-3|iter:100000|seconds:60

`Gap`, `Absolute`, `Relative` and `Violation` compare the loop's estimates with a limit and end a solve as "converged";
the certificate on all points has to confirm a `Gap`. The other criteria are budgets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from svmkit.errors import InputError
from svmkit.solver.sampler import Goal
from svmkit.solver.solution import Status
from svmkit.solver.step_info import StepInfo


@dataclass(frozen=True)
class Criterion:
    """One stop rule.

    Parameters
    ----------
    limit : float
        The number that the rule compares with, > 0 and finite.

    Attributes
    ----------
    status : Status
        The status of a solve that the rule ends.

    Raises
    ------
    InputError
        The limit is not > 0 and finite.

    Examples
    --------
    >>> from svmkit.solver import Iterations, Seconds
    >>> Iterations(1000) | Seconds(60.0)
    Stop(criteria=(Iterations(limit=1000), Seconds(limit=60.0)))
    """

    limit: float

    def __post_init__(self) -> None:
        if not (self.limit > 0 and math.isfinite(self.limit)):
            raise InputError(f"stop rule {type(self).__name__.lower()} needs a number > 0, not {self.limit}")

    @property
    def status(self) -> Status:
        raise TypeError("a Criterion names the status with which it ends")

    def holds(self, info: StepInfo, n_iter: int, epochs: float, seconds: float) -> bool:
        """Return whether the rule holds.

        Parameters
        ----------
        info : StepInfo
            The solver's report of the iterate.
        n_iter : int
            Iterations so far.
        epochs : float
            Passes over the training set so far.
        seconds : float
            Time in the loop so far.
        """
        raise TypeError("a Criterion says when it holds")

    def __or__(self, other: Criterion | Stop) -> Stop:
        return Stop((self,)) | other


class Gap(Criterion):
    """The relative gap is at most `limit`, first in the loop's estimate, then in the certificate.

    Parameters
    ----------
    limit : float
        (P - D) / max(P, D), > 0.

    Examples
    --------
    >>> from svmkit.solver import Gap, StepInfo
    >>> Gap(1e-3).holds(StepInfo(objective=1.0, n_support=3, epochs=2.0, gap=1e-4), 10, 2.0, 0.1)
    True
    """

    status = Status.CONVERGED

    def holds(self, info, n_iter, epochs, seconds):
        """Return whether the estimate of the relative gap is at most the limit.

        Parameters
        ----------
        info, n_iter, epochs, seconds : StepInfo, int, float, float
            As for `Criterion.holds`.
        """
        return info.gap <= self.limit


class Absolute(Criterion):
    """The estimate of the gap in units of the objective is at most `limit`: the epsilon of the papers.

    Parameters
    ----------
    limit : float
        In units of the objective, > 0.

    Notes
    -----
    For SimplexQP the estimate is 2 (f - min g), the epsilon of the SWAP and FW/CVM papers. PARTAN's Delta is half of
    it, so give twice PARTAN's epsilon.

    Examples
    --------
    >>> from svmkit.solver import Absolute, StepInfo
    >>> Absolute(1e-6).holds(StepInfo(objective=1.0, n_support=3, epochs=2.0, gap_abs=1e-4), 10, 2.0, 0.1)
    False
    """

    status = Status.CONVERGED

    def holds(self, info, n_iter, epochs, seconds):
        """Return whether the estimate of the gap is at most the limit.

        Parameters
        ----------
        info, n_iter, epochs, seconds : StepInfo, int, float, float
            As for `Criterion.holds`.
        """
        return info.gap_abs <= self.limit


class Relative(Criterion):
    """The estimate of the gap in units of the objective is at most `limit` times the objective.

    Parameters
    ----------
    limit : float
        A share of the objective's absolute value, > 0.

    Notes
    -----
    For SimplexQP it is the loop's own estimate 2 (f - min g) / f of the papers, which is much larger than the certified
    gap near the optimum. No certificate has to confirm it.

    Examples
    --------
    >>> from svmkit.solver import Relative, StepInfo
    >>> Relative(1e-3).holds(StepInfo(objective=10.0, n_support=3, epochs=2.0, gap_abs=1e-2), 10, 2.0, 0.1)
    True
    """

    status = Status.CONVERGED

    def holds(self, info, n_iter, epochs, seconds):
        """Return whether the estimate of the gap is at most the limit times the objective.

        Parameters
        ----------
        info, n_iter, epochs, seconds : StepInfo, int, float, float
            As for `Criterion.holds`.
        """
        return info.gap_abs <= self.limit * abs(info.objective)


class Violation(Criterion):
    """The largest violation of the optimality conditions, in units of the margin, is at most `limit`.

    Parameters
    ----------
    limit : float
        In units of the margin, > 0.

    Notes
    -----
    This is the eps of LIBSVM and LIBLINEAR.

    Examples
    --------
    >>> from svmkit.solver import StepInfo, Violation
    >>> Violation(1e-3).holds(StepInfo(objective=1.0, n_support=3, epochs=2.0, violation=5e-4), 10, 2.0, 0.1)
    True
    """

    status = Status.CONVERGED

    def holds(self, info, n_iter, epochs, seconds):
        """Return whether the largest violation is at most the limit.

        Parameters
        ----------
        info, n_iter, epochs, seconds : StepInfo, int, float, float
            As for `Criterion.holds`.
        """
        return info.violation <= self.limit


class Iterations(Criterion):
    """A budget of iterations, as the solver counts them.

    Parameters
    ----------
    limit : float
        The number of iterations, > 0.

    Examples
    --------
    >>> from svmkit.solver import Iterations
    >>> Iterations(1000).status.value
    'max_iter'
    """

    status = Status.MAX_ITER

    def holds(self, info, n_iter, epochs, seconds):
        """Return whether the budget of iterations is spent.

        Parameters
        ----------
        info, n_iter, epochs, seconds : StepInfo, int, float, float
            As for `Criterion.holds`.
        """
        return n_iter >= self.limit


class Epochs(Criterion):
    """A budget of passes over the training set.

    Parameters
    ----------
    limit : float
        The number of passes, > 0; a part of a pass counts as a fraction.

    Examples
    --------
    >>> from svmkit.solver import Epochs, StepInfo
    >>> Epochs(5).holds(StepInfo(objective=1.0, n_support=3, epochs=2.0), 10, 5.5, 0.1)
    True
    """

    status = Status.MAX_ITER

    def holds(self, info, n_iter, epochs, seconds):
        """Return whether the budget of passes over the training set is spent.

        Parameters
        ----------
        info, n_iter, epochs, seconds : StepInfo, int, float, float
            As for `Criterion.holds`.
        """
        return epochs >= self.limit * (1.0 - 1e-9)  # m times 1 / m sum to nearly 1


class Seconds(Criterion):
    """A budget of wall-clock seconds in the loop; evaluation may add half a second, half of a limit below a second.

    Parameters
    ----------
    limit : float
        In seconds, > 0.

    Examples
    --------
    >>> from svmkit.solver import Seconds
    >>> Seconds(60.0).status.value
    'time_limit'
    """

    status = Status.TIME_LIMIT

    def holds(self, info, n_iter, epochs, seconds):
        """Return whether the budget of seconds is spent.

        Parameters
        ----------
        info, n_iter, epochs, seconds : StepInfo, int, float, float
            As for `Criterion.holds`.
        """
        return seconds >= self.limit


class Support(Criterion):
    """At most `limit` support vectors in each binary problem.

    Parameters
    ----------
    limit : float
        The number of support vectors, >= 1.

    Notes
    -----
    A solver that `LimitsSupport` keeps within the limit and continues. Any other solver ends when a step passes the
    limit, and its answer is the best point within it (`svmkit.solver.loop.support_limit`).

    Examples
    --------
    >>> from svmkit.solver import Support
    >>> Support(500).status.value
    'max_support'
    """

    status = Status.MAX_SUPPORT

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit < 1.0:
            raise InputError(f"stop rule support needs a number >= 1, not {self.limit}")

    def holds(self, info, n_iter, epochs, seconds):
        """Return whether there are more support vectors than the limit allows.

        Parameters
        ----------
        info, n_iter, epochs, seconds : StepInfo, int, float, float
            As for `Criterion.holds`.
        """
        return info.n_support > self.limit


@dataclass(frozen=True)
class Stop:
    """Several criteria, any of which ends a solve.

    Parameters
    ----------
    criteria : tuple of Criterion
        The criteria; if several hold, the first one determines the status.

    Examples
    --------
    >>> from svmkit.solver import Gap, Iterations, Seconds
    >>> stop = Gap(1e-3) | Iterations(1000) | Seconds(60.0)
    >>> len(stop.criteria), stop.least(Iterations)
    (3, 1000)
    """

    criteria: tuple[Criterion, ...]

    def __or__(self, other: Criterion | Stop) -> Stop:
        return Stop(self.criteria + (other.criteria if isinstance(other, Stop) else (other,)))

    def least(self, kind: type[Criterion]) -> float:
        """Return the smallest limit of the criteria of this kind; inf if there is none."""
        least = math.inf
        for rule in self.criteria:
            if isinstance(rule, kind) and rule.limit < least:
                least = rule.limit
        return least

    @property
    def goal(self) -> Goal | None:
        """The requested gap and iterations; None if a rule needs other reports of a solver."""
        if not all(type(rule) in (Gap, Iterations, Seconds) for rule in self.criteria):
            return None
        gap = max((rule.limit for rule in self.criteria if isinstance(rule, Gap)), default=0.0)
        return Goal(gap, self.least(Iterations))

    def reached(self, info: StepInfo, n_iter: int, epochs: float, seconds: float) -> list[Criterion]:
        """Return the criteria that hold, in order.

        Parameters
        ----------
        info : StepInfo
            The report of the last iteration.
        n_iter : int
            Iterations so far.
        epochs : float
            Passes over the data so far.
        seconds : float
            Seconds of the solve so far.
        """
        return [rule for rule in self.criteria if rule.holds(info, n_iter, epochs, seconds)]


def is_limited(stop: Criterion | Stop | None) -> bool:
    """Return whether the rules limit the number of support vectors."""
    return stop is not None and any(isinstance(rule, Support) for rule in (Stop(()) | stop).criteria)


RULES: dict[str, type[Criterion]] = {
    "gap": Gap,
    "abs": Absolute,
    "rel": Relative,
    "kkt": Violation,
    "iter": Iterations,
    "epochs": Epochs,
    "seconds": Seconds,
    "support": Support,
}
"""Stop rules by the name that they have in text."""


def parse_stop(text: str) -> Criterion | Stop:
    """Read stop rules from text.

    Parameters
    ----------
    text : str
        One rule as NAME:NUMBER (gap:1e-3, abs:1e-6, rel:1e-3, kkt:1e-3, iter:1000, epochs:2, seconds:60,
        support:500), or several joined with `|`, such as "gap:1e-3|iter:1000|seconds:60". Spaces around a rule do not
        matter.

    Returns
    -------
    Criterion or Stop
        The rule, or the rules in the order of the text.

    Raises
    ------
    InputError
        A part is not a rule, or its number is not > 0 and finite.

    Examples
    --------
    >>> from svmkit.solver import parse_stop
    >>> parse_stop("gap:1e-3|seconds:60")
    Stop(criteria=(Gap(limit=0.001), Seconds(limit=60.0)))
    """
    first, *others = [_parse_rule(part.strip()) for part in text.split("|")]
    rules: Criterion | Stop = first
    for other in others:
        rules = rules | other
    return rules


def _parse_rule(text: str) -> Criterion:
    name, _, number = text.partition(":")
    try:
        kind, limit = RULES[name], float(number)
    except (KeyError, ValueError):
        known = ", ".join(f"{name}:NUMBER" for name in RULES)
        raise InputError(f"stop={text!r} is not a rule: write one of {known}, or several joined with |") from None
    return kind(limit)


def stop_rules(
    stop: Criterion | Stop | str | None,
    tol: float,
    *,
    max_iter: int | None = None,
    max_epochs: float | None = None,
    time_limit: float | None = None,
    max_support: int | None = None,
) -> Criterion | Stop:
    """Join a rule with the given budgets; InputError if a text is no rule, or a number not > 0 and finite.

    Parameters
    ----------
    stop, tol : Criterion, Stop, str or None; float
        The rule, or its text as `parse_stop` reads it; None is `Gap(tol)`.
    max_iter, max_epochs, time_limit, max_support : float, default=None
        Budgets of iterations, passes over the training set, seconds in the loop, and support vectors.
    """
    rules: Criterion | Stop = parse_stop(stop) if isinstance(stop, str) else (stop or Gap(tol))
    if max_iter == -1:
        raise InputError("max_iter=-1, no limit in SVC, is max_iter=None here, which is the default")
    for kind, limit in ((Iterations, max_iter), (Epochs, max_epochs), (Seconds, time_limit), (Support, max_support)):
        if limit is not None:
            rules = rules | kind(limit)
    return rules
