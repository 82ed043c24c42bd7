"""The referee's verdict on a model: P, the best lower bound, the gap, the gain of a polish, and hidden problems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from svmkit.model.model import SVMModel
from svmkit.problems.certificate import Certificate
from svmkit.referee.foreign import Claim

LOOSE = 1e-2  # gap above which a report of convergence is misleading
TIGHT = 1e-3  # gap below which a warning was unnecessary


@dataclass(frozen=True)
class Ruling:
    """The ruling on one decision function.

    Attributes
    ----------
    name : str
        The name of the decision, such as "a vs b".
    n_samples : int
        The rows that take part.
    own : Certificate
        P of the decision function, and D if its own dual weights prove one.
    polished : Certificate or None
        The certificate of our solver's decision function; None if our solver did not run.
    status : str or None
        How our solver ended; None if it was not needed or there is none.
    seconds : float
        The seconds it took.

    Examples
    --------
    >>> from svmkit.problems import Certificate
    >>> from svmkit.referee import Ruling
    >>> ruling = Ruling("a vs b", 100, Certificate(2.0, 1.0, 0.5), Certificate(1.6, 1.5, 0.0625))
    >>> ruling.dual, ruling.gap, round(ruling.gain, 3)
    (1.5, 0.25, 0.2)
    """

    name: str
    n_samples: int
    own: Certificate
    polished: Certificate | None = None
    status: str | None = None
    seconds: float = 0.0

    @property
    def primal(self) -> float:
        """P of the decision function."""
        return self.own.primal

    @property
    def dual(self) -> float | None:
        """The best lower bound on the optimum; None if there is none."""
        known = [one.dual for one in (self.own, self.polished) if one is not None and one.dual is not None]
        return max(known) if known else None

    @property
    def gap(self) -> float | None:
        """(P - D) / max(|P|, |D|), including rounding; None without a lower bound."""
        if self.dual is None:
            return None
        if self.dual == self.own.dual:
            return self.own.gap
        errors = self.own.rounding * abs(self.primal), 0.0
        return Certificate.from_values(self.primal, self.dual, errors=errors).gap

    @property
    def gain(self) -> float | None:
        """The decrease of P by a polish as a share of max(|P|, |D|); None if our solver did not run."""
        if self.polished is None:
            return None
        size = max(abs(self.primal), abs(self.polished.primal))
        return max(self.primal - self.polished.primal, 0.0) / size if size else 0.0

    @property
    def flaw(self) -> str | None:
        """Why there is no lower bound; None if there is one."""
        if self.dual is not None:
            return None
        flaws = [one.flaw for one in (self.own, self.polished) if one is not None and one.flaw is not None]
        return flaws[0] if flaws else "no dual weights are known, and no solver of ours has this problem"


@dataclass(frozen=True)
class Verdict:
    """The referee's verdict on a model.

    Attributes
    ----------
    software : str
        The software of the model.
    problem : str
        Its objective, in words.
    rulings : list of Ruling
        One for each decision function.
    claim : Claim
        The software's report about its fit: whether it `converged`, and its `words`.
    unit : float
        The software's own objective is P times this number.
    measure : str
        The meaning of `score` and `polished_score`: "accuracy", "rmse" or the share of "outliers".
    score : float or None
        The score of the model on the rows.
    polished_score : float or None
        The score of the polished model.
    model : SVMModel
        The decision functions of the model, on rows in the form of its last step.
    polished : SVMModel or None
        The model with the decision functions of our solver where these are better; None if vectors are not among the
        rows.
    notes : list of str
        Further notes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from svmkit import certify
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> verdict = certify(SVC(C=10.0, tol=1e-6).fit(X, y), X, y)
    >>> verdict.gap < 1e-5, verdict.software
    (True, 'scikit-learn SVC')
    """

    software: str
    problem: str
    rulings: list[Ruling]
    claim: Claim
    unit: float
    measure: str
    score: float | None
    polished_score: float | None
    model: SVMModel = field(repr=False)
    polished: SVMModel | None = field(repr=False)
    notes: list[str] = field(default_factory=list)

    @property
    def primal(self) -> float:
        """The sum of P over all decisions."""
        return float(sum(ruling.primal for ruling in self.rulings))

    @property
    def dual(self) -> float | None:
        """The sum of the lower bounds; None if one is missing."""
        known = [ruling.dual for ruling in self.rulings if ruling.dual is not None]
        return float(sum(known)) if len(known) == len(self.rulings) else None

    @property
    def gap(self) -> float | None:
        """The largest gap of a decision; None if one is unknown."""
        known = [ruling.gap for ruling in self.rulings if ruling.gap is not None]
        return max(known) if len(known) == len(self.rulings) else None

    @property
    def gain(self) -> float | None:
        """The largest gain of a polish among the decisions; None if our solver did not run."""
        known = [ruling.gain for ruling in self.rulings if ruling.gain is not None]
        return max(known) if known else None

    @property
    def flaw(self) -> str | None:
        """Why there is no lower bound, for the first decision without one."""
        return next((ruling.flaw for ruling in self.rulings if ruling.flaw is not None), None)

    @property
    def hidden(self) -> str | None:
        """Why the software's report about its fit is misleading, in words; None if it agrees with the certificate."""
        said, gap = self.claim.converged, self.gap
        if said is None or gap is None:
            return None
        P = "P" if len(self.rulings) == 1 else "the P of a decision"
        if said and gap > LOOSE:
            gain = self.gain
            at_least = "" if gain is None else f"at least {gain:.2g} and "
            return f"it says that it has converged: {P} is {at_least}at most {gap:.2g} of its size above the optimum"
        if not said and gap <= TIGHT:
            return f"it says that it has not converged: P is within {gap:.2g} of its size of the optimum"
        return None

    def describe(self) -> dict[str, Any]:
        """Return the verdict as plain values: the keys of `svmkit certify --json`."""
        return {
            "software": self.software,
            "problem": self.problem,
            "objective": self.primal,
            "own_objective": self.unit * self.primal,
            "dual_objective": self.dual,
            "gap": self.gap,
            "gain": self.gain,
            "flaw": self.flaw,
            "converged": self.claim.converged,
            "claim": self.claim.words or None,
            "hidden": self.hidden,
            "measure": self.measure,
            "score": self.score,
            "polished_score": self.polished_score,
            "decisions": [_describe(ruling) for ruling in self.rulings],
            "notes": self.notes,
        }


def _describe(ruling: Ruling) -> dict[str, Any]:
    polished = ruling.polished
    return {
        "name": ruling.name,
        "n_samples": ruling.n_samples,
        "objective": ruling.primal,
        "dual_objective": ruling.dual,
        "gap": ruling.gap,
        "own_gap": ruling.own.gap,
        "rounding": ruling.own.rounding,
        "gain": ruling.gain,
        "polished_objective": None if polished is None else polished.primal,
        "polished_gap": None if polished is None else polished.gap,
        "status": ruling.status,
        "seconds": ruling.seconds,
        "flaw": ruling.flaw,
    }
