"""The decision to end a solve: an estimate that meets a rule has to hold on other samples and in the certificate."""

from __future__ import annotations

import math

from svmkit.problems.certificate import Certificate
from svmkit.solver.loop.iterate import Iterate
from svmkit.solver.solution import Status
from svmkit.solver.step_info import StepInfo
from svmkit.solver.stopping import Criterion, Gap, Stop

SAMPLED_LOOKS = 3  # a sampled gap has to hold this often in a row: "draw again twice" (PARTAN paper, section 4.2)
SAMPLED_POINTS = 3 * 59  # and on so many points, or on all: three draws of a single point prove nothing
STUCK = 5  # steps in a row without progress that count as stalled; 20 times as many if sampled, as samples may miss
FULL = 1e-2  # gap within a full support below which the solve ends: the points outside the limit then matter more
DENIED = (Status.STALLED, Status.NOT_CERTIFIED)  # instead of converged: any other rule that holds has priority


class Confirmation:
    """Decides after each step whether the solve ends there.

    `certificate` is that of the iterate at which the solve ended, if one was computed for the decision.
    """

    def __init__(self, iterate: Iterate, rules: Stop) -> None:
        self.certificate: Certificate | None = None
        self._iterate, self._rules, self._limit = iterate, rules, rules.least(Gap)
        self._looks = _Looks(iterate.problem.m)
        self._tightening = 1.0  # the estimate has to be below the tolerance times this factor
        self._next_check = 0  # iteration before which no certificate is computed again after a refusal
        self._stuck = 0  # steps in a row without progress
        self._resyncs = 0
        self._other = False  # whether a rule of convergence other than a gap ended the solve

    def ending(self, info: StepInfo, seconds: float) -> Status | None:
        """Return the status with which the solve ends at this iterate; None if it continues."""
        measured = self._iterate.measured
        if measured is not None and measured.flaw is not None and self._iterate.solver.external:
            self.certificate = measured
            return Status.NOT_CERTIFIED  # a finer fit would not be certified either
        if info.done:
            return Status.CONVERGED
        if info.steps or not info.moved:  # a draw without a step counts only if it found no way to move
            self._stuck = 0 if info.moved else self._stuck + 1
        stuck = self._stuck >= STUCK * (20 if info.sampled else 1)
        if stuck and not info.full:
            ending = self._stall()
            if ending:
                return ending
        is_exhausted = 0.0 < self._iterate.problem.resolution >= info.gap_abs  # near an optimum of 0
        if is_exhausted and self._limit != math.inf and self._iterate.n_iter >= self._next_check:
            certificate = self._iterate.certify()
            ending = self._verdict(certificate, self._limit)
            if ending is not None:
                return ending
            self._resync(certificate)
        estimate = info if info.full else info._replace(gap=info.gap / self._tightening)
        reached = self._rules.reached(estimate, self._iterate.n_iter, self._iterate.epochs, seconds)
        near = any(rule.status is Status.CONVERGED for rule in reached)
        if info.full and (stuck or info.gap <= FULL or near):
            return Status.MAX_SUPPORT
        if not near:
            self._looks.restart()
        accepted = [status for rule in reached if (status := self._accept(rule, info))]
        return next((status for status in accepted if status not in DENIED), accepted[0] if accepted else None)

    def proves(self, certificate: Certificate) -> bool:
        """Return whether a certificate proves the requested gap; the loop's estimate is often more accurate."""
        return self._limit < math.inf and certificate.gap is not None and certificate.gap <= self._limit

    def find_denial(self, certificate: Certificate) -> Status | None:
        """Return the status of a solve that converged by its estimates if its certificate contradicts them."""
        if certificate.flaw is not None:
            return Status.NOT_CERTIFIED
        asked = self._limit < math.inf
        return Status.STALLED if asked and not self._other and not self.proves(certificate) else None

    def _accept(self, rule: Criterion, info: StepInfo) -> Status | None:
        """Return the status with which `rule`, which holds for the estimates, ends the solve; None if it does not."""
        if rule.status is not Status.CONVERGED:
            return rule.status
        if info.shrunk:
            self._iterate.solver.reactivate(self._iterate.state)
            return None
        if not self._looks.enough(info):
            return None
        if isinstance(rule, Gap):
            return self._certify(rule.limit, info.sampled)
        self._other = True
        return Status.CONVERGED

    def _certify(self, limit: float, sampled: bool) -> Status | None:
        """Return the status that the certificate allows for a gap of `limit`; if none, pass it to the solver."""
        measured = self._iterate.measured
        if measured is None and self._iterate.n_iter < self._next_check:
            return None
        certificate = self._iterate.certify() if measured is None else measured
        status = self._verdict(certificate, limit)
        if status is not None:
            return status
        self._looks.restart()
        if not sampled and certificate.gap is not None:
            self._tightening *= min(0.8, max(0.05, 0.8 * math.sqrt(limit / certificate.gap)))
        self._resync(certificate)
        return None

    def _verdict(self, certificate: Certificate, limit: float) -> Status | None:
        """Return the status that a certificate allows for a gap of `limit`, and keep it; if None, postpone the next
        one.
        """
        if certificate.flaw is not None:
            status = Status.NOT_CERTIFIED
        elif certificate.gap is not None and certificate.gap <= limit:
            status = Status.CONVERGED
        elif certificate.is_exhausted:
            status = Status.STALLED
        else:
            # a certificate costs as much as many steps: compute the next one when it is likely to hold, not too soon
            self._next_check = self._iterate.n_iter + self._iterate.solver.recheck + self._iterate.n_iter // 16
            return None
        self.certificate = certificate
        return status

    def _stall(self) -> Status | None:
        """Certify an iterate that no step improves; return STALLED only if exact values have not helped."""
        certificate = self._iterate.certify()
        proven = self.proves(certificate)
        if proven or self._resyncs > 2 or certificate.flaw is not None or certificate.is_exhausted:
            self.certificate = certificate
            return Status.CONVERGED if proven else Status.STALLED
        self._stuck = 0
        self._resync(certificate)
        return None

    def _resync(self, certificate: Certificate) -> None:
        self._resyncs += 1
        self._iterate.problem.raise_bound(certificate)
        self._iterate.solver.resync(self._iterate.state, certificate)


class _Looks:
    """Counts the consecutive draws, and their points, on which an estimate has met a rule."""

    def __init__(self, m: int) -> None:
        self._m, self._count, self._points = m, 0, 0.0

    def restart(self) -> None:
        self._count, self._points = 0, 0.0

    def enough(self, info: StepInfo) -> bool:
        """Count one more draw; return whether the rule has held often enough or the estimate is not sampled."""
        self._count += 1
        self._points += info.epochs * self._m
        seen = self._count >= SAMPLED_LOOKS and self._points >= min(SAMPLED_POINTS, self._m) - 0.5
        return seen or not info.sampled
