"""Thresholds by cost: the operating points of decisions of two classes that are optimal for some cost of errors."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError


class Cost(NamedTuple):
    """The costs of errors: of a false negative, and of a false positive."""

    fn: float
    fp: float

    @classmethod
    def from_text(cls, text: str) -> Cost:
        """Read a cost such as "fn=50,fp=1"; raise InputError unless both are finite numbers >= 0, one of them > 0."""
        parts = dict(part.strip().partition("=")[::2] for part in text.split(","))
        try:
            values = {name: float(value) for name, value in parts.items()}
        except ValueError:
            values = {}
        if values.keys() != {"fn", "fp"}:
            raise InputError(f"--cost {text!r}: give the cost of both errors, as in fn=50,fp=1")
        if not all(value >= 0.0 and math.isfinite(value) for value in values.values()) or not any(values.values()):
            raise InputError(f"--cost {text!r}: costs are finite numbers >= 0, and one of them is above 0")
        return cls(values["fn"], values["fp"])


class Points(NamedTuple):
    """Operating points of decisions for the positive class: rows above the threshold count as positive.

    Attributes
    ----------
    threshold : ndarray of shape (n_points,), float64
        Descending; the first one, inf, accepts no row, the last one, -inf, accepts all.
    fn, fp : ndarray of shape (n_points,), float64
        The weight of the false negatives, and of the false positives.
    """

    threshold: np.ndarray
    fn: np.ndarray
    fp: np.ndarray

    @classmethod
    def from_decisions(cls, decision: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Points:
        """Return the points that are optimal for some cost: the convex hull of the ROC curve (Provost, Fawcett 2001).

        Parameters
        ----------
        decision, positive, weights : ndarray of shape (n,), float64, bool, float64
            Decisions for the positive class, whether each row belongs to it, and the weights of the rows.
        """
        values, place = np.unique(-decision, return_inverse=True)
        taken = np.append(0.0, np.cumsum(np.bincount(place, weights * positive)))
        wrong = np.append(0.0, np.cumsum(np.bincount(place, weights * ~positive)))
        edges = -np.concatenate([[-np.inf], 0.5 * (values[:-1] + values[1:]), [np.inf]])  # midway between decisions
        hull: list[int] = []
        for k in range(len(taken)):
            while len(hull) > 1 and _is_below(wrong, taken, hull[-2], hull[-1], k):
                hull.pop()
            hull.append(k)
        return cls(edges[hull], taken[-1] - taken[hull], wrong[hull])

    def best(self, cost: Cost) -> float:
        """Return the threshold of least cost, the highest if there are several."""
        return float(self.threshold[int(np.argmin(cost.fn * self.fn + cost.fp * self.fp))])

    def plain(self) -> dict[str, Any]:
        """Return the finite thresholds and the errors of all points as values that a model keeps."""
        return {"threshold": self.threshold[1:-1].tolist(), "fn": self.fn.tolist(), "fp": self.fp.tolist()}

    @classmethod
    def from_plain(cls, about: dict[str, Any]) -> Points:
        """Return the points from `plain`; raise InputError if they are invalid."""
        try:
            inner, fn, fp = (np.array(about[name], dtype=np.float64) for name in ("threshold", "fn", "fp"))
        except (KeyError, TypeError, ValueError):
            raise InputError("the operating points of the model are damaged: train it again") from None
        if fn.shape != fp.shape or fn.shape != (len(inner) + 2,):
            raise InputError("the operating points of the model are damaged: train it again")
        return cls(np.concatenate([[np.inf], inner, [-np.inf]]), fn, fp)


def gain_curve(positive: np.ndarray, decision: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of the rows that are accepted, by falling decision, and of the positive rows among them.

    Parameters
    ----------
    positive, decision : ndarray of shape (n,), bool, float64
        Which rows are positive, and their decisions; between equal decisions the curve is a straight line.

    Returns
    -------
    taken, found : ndarray of shape (n_points,), float64
        From 0 to 1; a share in between is `numpy.interp(share, taken, found)`.
    """
    place = np.unique(-decision, return_inverse=True)[1]
    taken, found = np.bincount(place), np.bincount(place, positive)
    shares = [np.append(0.0, np.cumsum(counts)) / max(counts.sum(), 1) for counts in (taken, found)]
    return shares[0], shares[1]


def _is_below(x: np.ndarray, y: np.ndarray, a: int, b: int, c: int) -> bool:
    """Return whether point b lies on or below the line from a to c."""
    return bool((x[b] - x[a]) * (y[c] - y[a]) >= (x[c] - x[a]) * (y[b] - y[a]))


def threshold_for(model: Any, cost: Cost) -> tuple[str, float]:
    """Return the positive class of a model, and the threshold of its decisions with the least out-of-fold cost.

    Raises InputError: the model keeps no out-of-fold decisions.
    """
    about = model.about.get("operating")
    if not isinstance(about, dict) or len(model.classes) != 2:
        raise InputError(
            "the model keeps no out-of-fold decisions, from which a threshold could be chosen: train two classes with "
            "--thresholds (thresholds=True), or with a calibration"
        )
    return str(about.get("positive")), Points.from_plain(about).best(cost)


def codes_above(model: Any, decision: np.ndarray, positive: str, threshold: float) -> np.ndarray:
    """Return the places of the classes of rows, the positive one where its decision is above a threshold, int (n,).

    Parameters
    ----------
    model, decision : SVMModel, ndarray of shape (n,)
        A model of two classes, and its decisions.
    positive, threshold : str, float
        The class, and the threshold of the decisions for it.
    """
    place = list(map(str, model.classes)).index(positive)
    taken = (decision if place else -decision) > threshold
    return np.where(taken, place, 1 - place)
