"""Calibrations: maps from the decisions of a model to probabilities, as plain arrays that its file keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError

FOLDS = 5  # number of models that give out-of-fold decisions
BY_SAMPLES = "samples"  # the calibration's entry about its weights: they include no class weights


@dataclass(frozen=True)
class Calibration(ABC):
    """The probability of the positive side of each decision, which grows with the decision. For two classes, the
    positive side is `classes[1]`; for a class pair among more classes, the first class of the pair; and for a class
    against the rest, this class. `kind` is the name of the method.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of decisions of a sample."""

    @abstractmethod
    def log_odds(self, decision: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Return the logarithms of the odds of the positive sides, which keep their digits where odds are extreme."""

    def probabilities(self, decision: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Return the probabilities of the positive sides of decisions (n_samples, n_columns), or of some columns."""
        from scipy.special import expit  # here: most commands need no probabilities

        return expit(self.log_odds(decision, columns))

    @abstractmethod
    def slopes(self, decision: np.ndarray) -> np.ndarray:
        """Return the derivatives of the probabilities by the decisions (n_samples, n_columns), at each of them."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a model file keeps, by name."""
        return {f"calibration.{name}": value for name, value in vars(self).items()}

    @abstractmethod
    def flaw(self) -> str | None:
        """Return why these arrays are no calibration; None if they are valid."""


@dataclass(frozen=True)
class Sigmoid(Calibration):
    """The probability is 1 / (1 + exp(A h + B)) at the decision h (Platt 1999); A <= 0 if it grows with h."""

    kind: ClassVar[str] = "sigmoid"

    A: np.ndarray  # (n_columns,), float64, as is B
    B: np.ndarray

    @property
    def n_columns(self) -> int:
        return len(self.A)

    def log_odds(self, decision: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        A, B = (self.A, self.B) if columns is None else (self.A[columns], self.B[columns])
        with np.errstate(over="ignore"):
            return -(decision * A + B)

    def slopes(self, decision: np.ndarray) -> np.ndarray:
        p = self.probabilities(decision)
        return -self.A * p * (1.0 - p)

    def flaw(self) -> str | None:
        if self.A.ndim != 1 or self.A.shape != self.B.shape:
            return "A and B of the calibration do not fit together"
        for value in (self.A, self.B):
            if value.dtype != np.float64 or not np.isfinite(value).all():
                return "A and B of the calibration are not finite float64"
        return None


@dataclass(frozen=True)
class Isotonic(Calibration):
    """The probability is linear between knots, separate ones for each decision, and constant beyond them. The knots of
    all columns are stored one column after the other.
    """

    kind: ClassVar[str] = "isotonic"

    decisions: np.ndarray  # (n_knots,), ascending within each column
    shares: np.ndarray  # (n_knots,): their probabilities, which never fall within a column
    ends: np.ndarray  # (n_columns,): the knots of column k end before `ends[k]`

    @property
    def n_columns(self) -> int:
        return len(self.ends)

    def knots(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the decisions and the probabilities at the knots of a column."""
        at = slice(int(self.ends[column - 1]) if column else 0, int(self.ends[column]))
        return self.decisions[at], self.shares[at]

    def log_odds(self, decision: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        from scipy.special import logit

        return logit(self.probabilities(decision, columns))

    def probabilities(self, decision: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        out = np.empty(decision.shape)
        for k, column in enumerate(range(self.n_columns) if columns is None else columns.tolist()):
            out[:, k] = np.interp(decision[:, k], *self.knots(column))
        return out

    def slopes(self, decision: np.ndarray) -> np.ndarray:
        out = np.zeros(decision.shape)
        for column in range(self.n_columns):
            at, shares = self.knots(column)
            steps = np.concatenate([[0.0], np.diff(shares) / np.diff(at), [0.0]])
            out[:, column] = steps[np.searchsorted(at, decision[:, column], side="right")]
        return out

    def flaw(self) -> str | None:
        decisions, shares, ends = self.decisions, self.shares, self.ends
        if decisions.ndim != 1 or decisions.shape != shares.shape or ends.ndim != 1 or ends.dtype.kind != "i":
            return "knots of the calibration do not fit together"
        if not len(ends) or ends[0] < 1 or ends[-1] != len(decisions) or (ends[1:] <= ends[:-1]).any():
            return "columns of the calibration do not end where they should"
        for value in (decisions, shares):
            if value.dtype != np.float64 or not np.isfinite(value).all():
                return "knots of the calibration are not finite float64"
        inside = np.ones(len(decisions) - 1, dtype=np.bool_)
        inside[ends[:-1] - 1] = False  # from the last knot of a column to the first of the next
        if (np.diff(decisions)[inside] <= 0.0).any() or (np.diff(shares)[inside] < 0.0).any():
            return "knots of the calibration are not in order"
        return (
            "probabilities of the calibration are not from 0 to 1" if shares.min() < 0.0 or shares.max() > 1.0 else None
        )


KINDS: dict[str, type[Calibration]] = {kind.kind: kind for kind in (Sigmoid, Isotonic)}
"""The kinds of calibration by name."""


def odds_calibration(n_columns: int) -> Sigmoid:
    """Return the calibration of decisions that are logarithms of odds, as logistic regression has them."""
    return Sigmoid(np.full(n_columns, -1.0), np.zeros(n_columns))


def has_own_odds(calibration: Calibration | None) -> bool:
    """Return whether a calibration is that of `odds_calibration`, so that decisions are themselves logarithms of
    odds.
    """
    return isinstance(calibration, Sigmoid) and bool((calibration.A == -1.0).all() and not calibration.B.any())


OWN = {"kind": "logistic loss", "folds": 0, "weights": "costs"}
"""What a model says of probabilities that its loss has: samples count with their costs, class weights included."""


def require_kind(kind: Any) -> str:
    """Return the name of a kind of calibration; raise InputError for any other value."""
    if isinstance(kind, str) and kind in KINDS:
        return kind
    raise InputError(f"calibration={kind!r} is not known: give {' or '.join(KINDS)}, or leave it out")


def weighed_classes(about: dict[str, Any]) -> str | None:
    """Return a note on a model whose calibration included class weights, as it did before `BY_SAMPLES`; else None.

    Models that the command line trained record their class weights; models that were trained in Python do not.
    """
    calibration, params = about.get("calibration"), about.get("params")
    if not isinstance(calibration, dict) or "weights" in calibration:
        return None
    wrong = "its calibration, by an earlier svmkit, counted class weights: probabilities are not those of the data"
    if isinstance(params, dict):
        return f"{wrong}; train it again" if params.get("class_weight") else None
    return f"{wrong}, if it was trained with class_weight, which the file does not say; then train it again"


def from_file(header: dict[str, Any], arrays: dict[str, np.ndarray], n_columns: int) -> Calibration | None:
    """Return a file's calibration or None; raise ValueError, KeyError or TypeError if it is damaged or not svmkit's."""
    name = header.get("calibration")
    if name is None:
        return None
    kind = KINDS[name]
    found = kind(**{field: arrays[f"calibration.{field}"] for field in kind.__dataclass_fields__ if field != "kind"})
    flaw = found.flaw()
    if flaw is None and found.n_columns != n_columns:
        flaw = f"the calibration has {found.n_columns} columns, the decisions {n_columns}"
    if flaw is not None:
        raise ValueError(flaw)
    return found
