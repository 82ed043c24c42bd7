"""Sets of answers that cover: the misfit of an answer, and the answers whose misfit is small enough, task by task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from svmkit.scoring.scores import places


@dataclass(frozen=True)
class Cover:
    """How often sets held the true answer, and how large they are.

    Attributes
    ----------
    alpha : float
        The share of the rows that sets may miss.
    coverage, size : float
        The share of the rows whose answer is in their set, and the mean size of the sets.
    by_class : dict of str to float or None
        The coverage of each class; None where there are none.
    what : str
        What the size counts, in words.
    """

    alpha: float
    coverage: float
    size: float
    by_class: dict[str, float] | None
    what: str

    def result(self) -> dict[str, Any]:
        """Return the values of `svmkit evaluate --json` under the key `sets`."""
        return {
            "alpha": self.alpha,
            "coverage": self.coverage,
            "mean_size": self.size,
            "coverage_by_class": self.by_class,
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of a report."""
        said = [("coverage", f"{self.coverage:.2%} of the rows ({1.0 - self.alpha:.0%} promised)")]
        if self.by_class:
            worst = min(self.by_class, key=self.by_class.__getitem__)
            said[0] = said[0][0], f"{said[0][1]}, least of class {worst}: {self.by_class[worst]:.2%}"
        return [*said, ("sets", f"{self.size:.6g} {self.what} on average")]


class Sets(ABC):
    """How sets are made of the decisions of models of a task."""

    what: ClassVar[str]

    @abstractmethod
    def misfits(self, model: Any, decision: np.ndarray, answers: Any) -> np.ndarray:
        """Return how badly the true answer of each row fits, (n,), or (n, n_outputs).

        Parameters
        ----------
        model, decision : SVMModel, ndarray
            The model and its decisions on the rows.
        answers : Answers
            What is true of the rows.
        """

    @abstractmethod
    def select(self, model: Any, decision: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return the sets of the answers whose misfit is at most a radius.

        Parameters
        ----------
        model, decision : SVMModel, ndarray
            As for `misfits`.
        radii : ndarray of shape (n_groups,)
            One radius, or one of each class or output.

        Returns
        -------
        ndarray of shape (n, n_classes), bool; of quantities (n, 2) or (n, n_outputs, 2), float64
            Which classes are in the set, or both ends of an interval.
        """

    @abstractmethod
    def cover(self, model: Any, sets: np.ndarray, truth: np.ndarray, alpha: float) -> Cover:
        """Return how often sets held the truth.

        Parameters
        ----------
        model, sets, truth, alpha : SVMModel, ndarray, ndarray, float
            The model, its sets, the labels or targets of their rows, and the share that they may miss.
        """


class ClassSets(Sets):
    """Sets of classes; the misfit of a class is the best score of another class less its own, with probabilities 1
    less its own.
    """

    what: ClassVar[str] = "classes"

    def _misfits(self, model: Any, decision: np.ndarray) -> np.ndarray:
        """Return the misfit of each class, (n, n_classes)."""
        if model.calibration is not None:
            return 1.0 - model.probabilities(decision)
        if len(model.classes) == 2:
            return np.stack([decision, -decision], axis=1)
        scores = model.scores(decision)
        best = scores.argmax(axis=1)
        rows = np.arange(len(scores))
        first = scores[rows, best]
        others = scores.copy()
        others[rows, best] = -np.inf
        rival = np.repeat(first[:, None], scores.shape[1], axis=1)
        rival[rows, best] = others.max(axis=1)
        return rival - scores

    def misfits(self, model: Any, decision: np.ndarray, answers: Any) -> np.ndarray:
        return self._misfits(model, decision)[np.arange(len(decision)), answers.codes]

    def select(self, model: Any, decision: np.ndarray, radii: np.ndarray) -> np.ndarray:
        return self._misfits(model, decision) <= radii

    def cover(self, model: Any, sets: np.ndarray, truth: np.ndarray, alpha: float) -> Cover:
        place, is_class = places(truth, model.classes)
        held = sets[np.arange(len(sets)), place] & is_class
        present = [code for code in range(len(model.classes)) if (is_class & (place == code)).any()]
        by_class = {str(model.classes[code]): float(held[is_class & (place == code)].mean()) for code in present}
        return Cover(alpha, float(held.mean()), float(sets.sum(axis=1).mean()), by_class, self.what)


class OutlierSets(Sets):
    """Sets {1} of rows that fit, and {-1} of those that fit worse than all but a share `alpha` of the normal rows: that
    share bounds the false alarms (Laxhammar, Falkman 2010; Bates et al. 2023).
    """

    what: ClassVar[str] = "labels"

    def misfits(self, model: Any, decision: np.ndarray, answers: Any) -> np.ndarray:
        return -decision

    def select(self, model: Any, decision: np.ndarray, radii: np.ndarray) -> np.ndarray:
        fits = -decision <= radii[0]
        return np.stack([~fits, fits], axis=1)

    def cover(self, model: Any, sets: np.ndarray, truth: np.ndarray, alpha: float) -> Cover:
        place, is_label = places(truth, model.classes)
        normal = is_label & (place == 1)
        share = float(sets[normal, 1].mean()) if normal.any() else float("nan")
        found = {"-1": float(sets[is_label & (place == 0), 0].mean())} if (is_label & (place == 0)).any() else {}
        return Cover(alpha, share, 1.0, found | {"1": share}, self.what)


class IntervalSets(Sets):
    """Intervals; the misfit is the distance of the target from the prediction, or, of several levels, how far it lies
    outside the outermost two, less than 0 inside (Romano, Patterson, Candes 2019, equation 6).
    """

    what: ClassVar[str] = "units of the target"

    def _ends(self, model: Any, decision: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        predicted = model.labels(decision)
        return (predicted[:, 0], predicted[:, -1]) if len(model.levels) > 1 else (predicted, predicted)

    def misfits(self, model: Any, decision: np.ndarray, answers: Any) -> np.ndarray:
        low, high = self._ends(model, decision)
        return np.maximum(low - answers.values, answers.values - high)

    def select(self, model: Any, decision: np.ndarray, radii: np.ndarray) -> np.ndarray:
        low, high = self._ends(model, decision)
        radius = radii if low.ndim == 2 else radii[0]
        middle = 0.5 * (low + high)  # a negative radius may leave nothing between the ends
        return np.stack([np.minimum(low - radius, middle), np.maximum(high + radius, middle)], axis=-1)

    def cover(self, model: Any, sets: np.ndarray, truth: np.ndarray, alpha: float) -> Cover:
        held = (sets[..., 0] <= truth) & (truth <= sets[..., 1])
        return Cover(alpha, float(held.mean()), float((sets[..., 1] - sets[..., 0]).mean()), None, self.what)
