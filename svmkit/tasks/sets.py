"""Prediction sets: the misfit of an answer, and the answers whose misfit is small enough, task by task."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from svmkit.scoring.scores import places

SLACK = 1e-9  # of a rank, which rounding may put just above a whole number
VALUES = 1 << 22  # ends of intervals that are sorted at a time


def share_text(share: float) -> str:
    """Return a share in per cent, with all given digits: 99.5% is not 100%."""
    return f"{100.0 * share:.6g}%"


@dataclass(frozen=True)
class Cover:
    """How often sets contain the true answer, and how large they are.

    Attributes
    ----------
    alpha : float
        The share of the rows that sets may miss.
    n_rows : int
        The number of rows that count: normal rows if the guarantee is for these, else all.
    coverage, size : float
        The share of the rows whose answer is in their set, NaN if no row counts, and the mean size of the sets.
    by_class : dict of str to float or None
        The coverage of each class; None without classes.
    what : str
        The unit of the size, in words.
    promise : float or None
        The guaranteed share, if it is less than 1 - alpha.
    """

    alpha: float
    n_rows: int
    coverage: float
    size: float
    by_class: dict[str, float] | None
    what: str
    promise: float | None = None

    @property
    def guaranteed(self) -> float:
        """The guaranteed share of new rows whose sets contain the truth."""
        return 1.0 - self.alpha if self.promise is None else self.promise

    def result(self) -> dict[str, Any]:
        """Return the values of `svmkit evaluate --json` under the key `sets`."""
        return {
            "alpha": self.alpha,
            "guaranteed": self.guaranteed,
            "coverage": self.coverage,
            "mean_size": self.size,
            "coverage_by_class": self.by_class,
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of a report."""
        promised = f"{share_text(1.0 - self.alpha)} promised"
        if self.promise is not None:
            promised = f"{share_text(1.0 - self.alpha)} asked for, {math.floor(100.0 * self.promise)}% guaranteed"
        said = [("coverage", f"{self.coverage:.2%} of the rows ({promised})")]
        if not self.n_rows:
            said = [("coverage", f"not defined: there are no rows that are normal ({promised})")]
        elif self.by_class:
            worst = min(self.by_class, key=self.by_class.__getitem__)
            said[0] = said[0][0], f"{said[0][1]}, least of class {worst}: {self.by_class[worst]:.2%}"
        return [*said, ("sets", f"{self.size:.6g} {self.what} on average")]


class Sets(ABC):
    """The way sets are made from the decisions of models of a task."""

    what: ClassVar[str]

    @abstractmethod
    def misfits(self, model: Any, decision: np.ndarray, answers: Any) -> np.ndarray:
        """Return the misfit of the true answer of each row, (n,), or (n, n_outputs).

        Parameters
        ----------
        model, decision : SVMModel, ndarray
            The model and its decisions on the rows.
        answers : Answers
            The true answers of the rows.
        """

    @abstractmethod
    def select(self, model: Any, decision: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return the sets of the answers whose misfit is at most a radius.

        Parameters
        ----------
        model, decision : SVMModel, ndarray
            As for `misfits`.
        radii : ndarray of shape (n_groups,)
            One radius, or one for each class or output.

        Returns
        -------
        ndarray of shape (n, n_classes), bool; of quantities (n, 2) or (n, n_outputs, 2), float64
            The classes in the set, or both ends of an interval.
        """

    @abstractmethod
    def compare(self, held: Sequence[Any], alpha: float, *, by_class: bool) -> np.ndarray:
        """Return the sets of CV+: the answers that fit no worse than all but a share of the rows of the folds.

        Parameters
        ----------
        held : sequence of HeldFold
            The folds, with decisions of their models on the new rows.
        alpha : float
            The share of the rows that sets may miss.
        by_class : bool
            Whether a class is compared with its own rows.
        """

    @abstractmethod
    def cover(self, model: Any, sets: np.ndarray, truth: np.ndarray, alpha: float) -> Cover:
        """Return how often sets contained the truth.

        Parameters
        ----------
        model, sets, truth, alpha : SVMModel, ndarray, ndarray, float
            The model, its sets, the labels or targets of their rows, and the share that the sets may miss.
        """


class ClassSets(Sets):
    """Sets of classes; the misfit of a class is the best score of another class less its own; with probabilities, 1
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
        """Return the misfit of each row's true class.

        Parameters
        ----------
        model, decision, answers : object, ndarray, object
            As for `Sets.misfits`.
        """
        return self._misfits(model, decision)[np.arange(len(decision)), answers.codes]

    def select(self, model: Any, decision: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return the sets of the classes whose misfit is at most the radius.

        Parameters
        ----------
        model, decision, radii : object, ndarray, ndarray
            As for `Sets.select`.
        """
        return self._misfits(model, decision) <= radii

    def compare(self, held: Sequence[Any], alpha: float, *, by_class: bool) -> np.ndarray:
        """Return the sets of CV+, bool (n_rows, n_classes).

        Parameters
        ----------
        held, alpha, by_class : sequence of Any, float, bool
            As for `Sets.compare`.
        """
        return _count_worse(held, [self._misfits(fold.model, fold.decision) for fold in held], alpha, by_class)

    def cover(self, model: Any, sets: np.ndarray, truth: np.ndarray, alpha: float) -> Cover:
        """Return how often sets contained the true class, over all rows and by class.

        Parameters
        ----------
        model, sets, truth, alpha : object, ndarray, ndarray, float
            As for `Sets.cover`.
        """
        place, is_class = places(truth, model.classes)
        held = sets[np.arange(len(sets)), place] & is_class
        present = [code for code in range(len(model.classes)) if (is_class & (place == code)).any()]
        by_class = {str(model.classes[code]): float(held[is_class & (place == code)].mean()) for code in present}
        return Cover(alpha, len(sets), float(held.mean()), float(sets.sum(axis=1).mean()), by_class, self.what)


class OutlierSets(Sets):
    """Sets {1} of rows that fit, and {-1} of those that fit worse than all but a share `alpha` of the normal rows: that
    share bounds the false alarms (Laxhammar, Falkman 2010; Bates et al. 2023).
    """

    what: ClassVar[str] = "labels"

    def misfits(self, model: Any, decision: np.ndarray, answers: Any) -> np.ndarray:
        """Return minus the decision of each row.

        Parameters
        ----------
        model, decision, answers : object, ndarray, object
            As for `Sets.misfits`.
        """
        return -decision

    def select(self, model: Any, decision: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return the sets, bool (n, 2): -1 for the rows whose misfit is above the radius, 1 for all others.

        Parameters
        ----------
        model, decision, radii : object, ndarray, ndarray
            As for `Sets.select`.
        """
        fits = -decision <= radii[0]
        return np.stack([~fits, fits], axis=1)

    def compare(self, held: Sequence[Any], alpha: float, *, by_class: bool) -> np.ndarray:
        """Return the sets of CV+, bool (n_rows, 2), for -1 and 1.

        Parameters
        ----------
        held, alpha, by_class : sequence of Any, float, bool
            As for `Sets.compare`.
        """
        fits = _count_worse(held, [-fold.decision[:, None] for fold in held], alpha, by_class)[:, 0]
        return np.stack([~fits, fits], axis=1)

    def cover(self, model: Any, sets: np.ndarray, truth: np.ndarray, alpha: float) -> Cover:
        """Return the share of the normal rows whose set contained 1, and of the outliers whose set contained -1.

        Parameters
        ----------
        model, sets, truth, alpha : object, ndarray, ndarray, float
            As for `Sets.cover`.
        """
        place, is_label = places(truth, model.classes)
        held = {name: sets[is_label & (place == k), k] for k, name in enumerate(("-1", "1"))}
        shares = {name: float(each.mean()) for name, each in held.items() if len(each)}
        return Cover(alpha, len(held["1"]), shares.get("1", math.nan), 1.0, shares, self.what)


class IntervalSets(Sets):
    """Intervals; the misfit is the distance of the target from the prediction, or, with several levels, how far it lies
    outside the outermost two, less than 0 inside (Romano, Patterson, Candes 2019, equation 6).
    """

    what: ClassVar[str] = "units of the target"

    def _ends(self, model: Any, decision: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        predicted = model.labels(decision)
        return (predicted[:, 0], predicted[:, -1]) if len(model.levels) > 1 else (predicted, predicted)

    def misfits(self, model: Any, decision: np.ndarray, answers: Any) -> np.ndarray:
        """Return how far each target lies outside its interval, less than 0 inside.

        Parameters
        ----------
        model, decision, answers : object, ndarray, object
            As for `Sets.misfits`.
        """
        low, high = self._ends(model, decision)
        return np.maximum(low - answers.values, answers.values - high)

    def select(self, model: Any, decision: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return intervals that extend the predictions by the radius of their output.

        Parameters
        ----------
        model, decision, radii : object, ndarray, ndarray
            As for `Sets.select`.
        """
        low, high = self._ends(model, decision)
        radius = radii if low.ndim == 2 else radii[0]
        middle = 0.5 * (low + high)  # a negative radius may leave nothing between the ends
        return np.stack([np.minimum(low - radius, middle), np.maximum(high + radius, middle)], axis=-1)

    def compare(self, held: Sequence[Any], alpha: float, *, by_class: bool) -> np.ndarray:
        """Return the intervals of CV+ (Barber, Candes, Ramdas, Tibshirani 2021), one for each row and output.

        Both ends are infinite if the folds have too few rows for a share of alpha.

        Parameters
        ----------
        held, alpha, by_class : sequence of Any, float, bool
            As for `Sets.compare`.
        """
        ends = [[each.reshape(len(each), -1) for each in self._ends(fold.model, fold.decision)] for fold in held]
        misfits = [fold.misfits.reshape(len(fold.misfits), -1) for fold in held]
        n, n_rows, n_outputs = sum(map(len, misfits)), *ends[0][0].shape
        rank = math.ceil((n + 1) * (1.0 - alpha) - SLACK)
        found = np.empty((n_rows, n_outputs, 2))
        if rank > n:
            found[:] = -np.inf, np.inf
        step = max(1, VALUES // n)
        for at in range(0, n_rows if rank <= n else 0, step):
            rows = slice(at, at + step)
            for k in range(n_outputs):
                pairs = list(zip(ends, misfits, strict=True))
                low = np.concatenate([end[0][rows, k, None] - fit[:, k] for end, fit in pairs], axis=1)
                high = np.concatenate([end[1][rows, k, None] + fit[:, k] for end, fit in pairs], axis=1)
                found[rows, k, 0] = np.partition(low, n - rank, axis=1)[:, n - rank]
                found[rows, k, 1] = np.partition(high, rank - 1, axis=1)[:, rank - 1]
        crossed = found[..., 0] > found[..., 1]  # negative misfits of levels may leave nothing between the ends
        found[crossed] = found[crossed].mean(axis=1, keepdims=True)
        return found if held[0].misfits.ndim == 2 else found[:, 0]

    def cover(self, model: Any, sets: np.ndarray, truth: np.ndarray, alpha: float) -> Cover:
        """Return how often intervals contained the target, and their mean width.

        Parameters
        ----------
        model, sets, truth, alpha : object, ndarray, ndarray, float
            As for `Sets.cover`.
        """
        held = (sets[..., 0] <= truth) & (truth <= sets[..., 1])
        size = float((sets[..., 1] - sets[..., 0]).mean())
        return Cover(alpha, len(sets), float(held.mean()), size, None, self.what)


def _count_worse(held: Sequence[Any], fits: list[np.ndarray], alpha: float, by_class: bool) -> np.ndarray:
    """Return which answers are in the sets, bool (n_rows, n_answers): answers that fit no worse than more than a share
    alpha of n + 1 rows, including the new one.

    Parameters
    ----------
    held, alpha, by_class : as for `Sets.compare`
    fits : list of ndarray of shape (n_rows, n_answers), the misfits of the answers by the model of each fold
    """
    n_rows, n_answers = fits[0].shape
    kept = np.empty((n_rows, n_answers), dtype=np.bool_)
    for answer in range(n_answers):
        worse, n = np.zeros(n_rows, dtype=np.int64), 0
        for fold, fit in zip(held, fits, strict=True):
            own = np.sort(fold.misfits[fold.codes == answer] if by_class else fold.misfits)
            worse += len(own) - np.searchsorted(own, fit[:, answer])
            n += len(own)
        kept[:, answer] = worse + 1 > alpha * (n + 1) + SLACK
    return kept
