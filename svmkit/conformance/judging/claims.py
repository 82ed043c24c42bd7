"""The comparison of a run's claims about one subproblem with its true P, D and gap."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmkit.conformance.judging.definitions import Exact, is_indefinite
from svmkit.conformance.judging.truth import Objective, Subproblem
from svmkit.problems.certificate import Certificate
from svmkit.solver.solution import Status

TINY = 1e-8  # relative difference below which claims count as true
FEASIBLE = 1e-8  # relative violation of constraints allowed for dual weights
ROUNDING = 1e3 * np.finfo(np.float64).eps
MOST = 700  # samples up to which a kernel's eigenvalues are computed


@dataclass
class Verdict:
    """The true numbers of one binary problem, and the claims that they contradict.

    Attributes
    ----------
    primal, dual, gap : float
        P at the model, the best proven D, and (P - D) / max(|P|, |D|).
    false : list of str
        The claims that do not hold, each with the numbers.

    Examples
    --------
    >>> from svmkit import SVMOneClass
    >>> from svmkit.conformance import judge_one_class
    >>> verdict = judge_one_class(SVMOneClass(nu=0.5).fit([[0.0], [0.4], [1.0]]), [[0.0], [0.4], [1.0]])
    >>> verdict.gap < 1e-3, verdict.false
    (True, [])
    """

    primal: float
    dual: float
    gap: float
    false: list[str] = field(default_factory=list)

    @classmethod
    def measure(cls, P: np.longdouble, D: np.longdouble) -> Verdict:
        """Return a verdict without false claims, for P and D in long double."""
        size = max(abs(P), abs(D))
        gap = (P - D) / size if size > 0 else Exact(0)
        return cls(float(P), float(D), float(gap))


def judge_claims(given: Subproblem, objective: Objective, solution: Any, tol: float | None = None) -> Verdict:
    """Compare the claims of a solution, its status and certificate, with the true numbers. P and D hold if they are
    right up to the larger of `TINY` and the claimed gap, and D only if it is below P.

    Parameters
    ----------
    given : Subproblem, the problem with its model
    objective : Objective
    solution : Solution, whose dual weights may prove D
    tol : float or None, the gap implied by "converged"; None if the solve had another rule
    """
    claim = solution.certificate
    P, h, size = given.primal(objective)
    weights = [beta for beta in (claim.beta, solution.point) if beta is not None and beta.shape == given.t.shape]
    finite = [beta.astype(Exact) for beta in weights if np.isfinite(beta).all()]
    candidates = [sign * beta for beta in finite for sign in (1, np.sign(given.t))]
    candidates += [given.suggest(objective, h)] + ([] if given.coef is None else [given.coef])
    verdict = Verdict.measure(P, max(given.dual(objective, beta) for beta in candidates))
    if not (claim.dual is None and claim.gap is None) and _indefinite(given, objective):
        verdict.false.append(
            f"dual_objective {claim.dual:.6g}, gap {claim.gap}: the kernel is indefinite, D is no bound"
        )
        return verdict
    rounding = ROUNDING * float(size @ given.C / max(abs(P), Exact(1e-300)))
    compare_numbers(verdict, claim, solution.status, tol, rounding)
    if objective.bias is None and given.coef is not None:
        beyond, off = given.violation(objective, given.coef)
        if not max(beyond, off) <= FEASIBLE:
            verdict.false.append(f"dual weights leave their bounds by {beyond:.2g}, and sum to {off:.2g} (relative)")
    return verdict


def compare_numbers(verdict: Verdict, claim: Certificate, status: Status, tol: float | None, free: float) -> None:
    """Add the claims that do not hold to a verdict.

    Parameters
    ----------
    verdict : Verdict, with the true numbers
    claim, status : Certificate, Status, the claims
    tol : float or None, as for `judge_claims`
    free : float, the allowed relative error of P if no gap is claimed
    """
    P, D, gap, false = verdict.primal, verdict.dual, verdict.gap, verdict.false
    if any(math.isnan(x) for x in (claim.primal, claim.dual, claim.gap) if x is not None):
        false.append(f"objective {claim.primal}, dual_objective {claim.dual}, gap {claim.gap}: nan is no claim")
        return
    if not math.isfinite(P) and math.isfinite(claim.primal):
        false.append(f"objective {claim.primal:.9g}: the model has {P}")
        return
    reach = min(max(TINY, free if claim.gap is None else claim.gap), 1.0) * abs(P)
    if P - reach > claim.primal:
        false.append(f"objective {claim.primal:.9g}: it is {P:.9g}")
    if claim.dual is not None and claim.dual > P + TINY * abs(P):
        false.append(f"dual_objective {claim.dual:.9g} is above P = {P:.9g} of its own model")
    elif claim.dual is not None and claim.dual > D + reach:
        false.append(f"dual_objective {claim.dual:.9g}: the dual weights prove {D:.9g}")
    if claim.gap is not None and gap > max(TINY, claim.gap + TINY):
        false.append(f"gap {claim.gap:.3g}: it is {gap:.3g}")
    if claim.gap is not None and status is Status.CONVERGED and tol is not None and gap > tol + TINY:
        false.append(f"converged at {tol:g}: the gap is {gap:.3g}")


def _indefinite(given: Subproblem, objective: Objective) -> bool:
    values = given.values
    suspect = values.kernel in ("sigmoid", "precomputed") or (values.kernel == "poly" and bool(values.coef0 < 0))
    if not suspect or len(given.rows) > MOST:
        return False
    K = values(given.rows, given.rows) + Exact(objective.bias or 0.0) ** 2  # the bias is part of w, unless it is free
    return is_indefinite(K, centred=objective.bias is None)
