"""Conformal prediction: misfits of rows that were held out of training, whose quantiles give prediction sets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError

SLACK = 1e-9  # of a rank, which rounding may put just above an integer


def require_alpha(alpha: Any, name: str = "conformal") -> float:
    """Return the share of rows that sets may miss; raise InputError unless it is a number in (0, 1)."""
    if isinstance(alpha, int | float | np.number) and not isinstance(alpha, bool) and 0.0 < alpha < 1.0:
        return float(alpha)
    raise InputError(f"{name}={alpha!r} must be a number in (0, 1): the share of rows that sets may miss, as 0.1")


def least_rows(alpha: float) -> int:
    """Return the least number of held-out rows that gives sets smaller than all answers."""
    return max(math.ceil((1.0 - alpha) / alpha - SLACK), 1)


@dataclass(frozen=True)
class Conformal:
    """The misfits of held-out rows, such as |y - h|, for sets that miss at most a share of new rows.

    Sets contain all answers whose misfit is at most the ceil((n + 1)(1 - alpha))-th smallest of n held-out ones. If
    held-out and new rows are exchangeable, they contain the true answer with a probability of at least 1 - alpha, for
    any model and data (Vovk, Gammerman, Shafer 2005, proposition 2.3; Lei et al. 2018, theorem 2).

    Attributes
    ----------
    alpha : float
        The share of rows that sets may miss, unless another one is given.
    by_class : bool
        Whether each class has its own misfits, so that the share holds for the rows of each class.
    misfits : ndarray of shape (n,), float64
        Ascending within each group: all rows, or the rows of a class, or of an output.
    ends : ndarray of shape (n_groups,), int64
        Where the misfits of each group end.
    """

    alpha: float
    by_class: bool
    misfits: np.ndarray
    ends: np.ndarray

    @classmethod
    def from_groups(cls, alpha: float, by_class: bool, groups: list[np.ndarray]) -> Conformal:
        """Return the misfits to keep.

        Parameters
        ----------
        alpha, by_class : float, bool
            The attributes of these names.
        groups : list of ndarray
            The misfits of each group, in any order.
        """
        ends = np.cumsum([len(group) for group in groups], dtype=np.int64)
        return cls(alpha, by_class, np.concatenate([np.sort(group) for group in groups]), ends)

    @property
    def parts(self) -> dict[str, Any]:
        """The models of folds by the prefixes of their names in a file: none here."""
        return {}

    def select(self, model: Any, sets: Any, X: Any, alpha: float | None, **options: Any) -> np.ndarray:
        """Return the sets of rows.

        Parameters
        ----------
        model, sets, X : SVMModel, Sets, Features
            The model, how sets are made of its decisions, and the rows.
        alpha : float or None
            The share of the rows that sets may miss; None takes the share of the training.
        **options : object
            Options of `SVMModel.decision_function`.
        """
        return sets.select(model, model.decision_function(X, **options), self.radii(alpha))

    def promise(self) -> float:
        """Return the least probability with which a set of a new row contains its truth."""
        return 1.0 - self.alpha

    def widen(self, n_features: int) -> Conformal:
        """Return the misfits for rows with more features, which change nothing."""
        return self

    def radii(self, alpha: float | None = None) -> np.ndarray:
        """Return the largest misfit in a set, (n_groups,); inf if a group has too few rows for this alpha."""
        alpha = self.alpha if alpha is None else require_alpha(alpha, "alpha")
        parts = np.split(self.misfits, self.ends[:-1])
        ranks = [math.ceil((len(part) + 1) * (1.0 - alpha) - SLACK) for part in parts]
        found = [part[rank - 1] if rank <= len(part) else np.inf for part, rank in zip(parts, ranks, strict=True)]
        return np.array(found, dtype=np.float64)

    def header(self) -> dict[str, Any]:
        """Return the entries of a model file's header."""
        return {"conformal": {"alpha": self.alpha, "by_class": self.by_class}}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a model file keeps, by name."""
        return {"conformal.misfits": self.misfits, "conformal.ends": self.ends}

    @classmethod
    def from_file(
        cls, header: dict[str, Any], arrays: dict[str, np.ndarray], models: tuple[Any, ...] = ()
    ) -> Conformal | CrossConformal | None:
        """Return the contents of a file, None if it has none; raise ValueError, KeyError or TypeError if it is damaged.

        Parameters
        ----------
        header, arrays : dict
            The contents of the file.
        models : tuple of SVMModel
            The models of its folds.
        """
        about = header.get("conformal")
        if about is None:
            return None
        alpha, by_class = about["alpha"], about["by_class"]
        if models:
            return CrossConformal.from_file(about, arrays, models, header)
        misfits, ends = arrays["conformal.misfits"], arrays["conformal.ends"]
        if not isinstance(by_class, bool) or not isinstance(alpha, float) or not 0.0 < alpha < 1.0:
            raise ValueError("the share that its sets miss is not known")
        if ends.ndim != 1 or ends.dtype.kind != "i" or misfits.ndim != 1 or misfits.dtype != np.float64:
            raise ValueError("misfits of its sets are no numbers")
        known = [len(header["classes"])] if by_class else [1, len(header.get("outputs", ()))]
        if len(ends) not in known or (np.diff(ends, prepend=0) < 0).any() or ends[-1] != len(misfits):
            raise ValueError("misfits of its sets do not end where they should")
        if not np.isfinite(misfits).all() or any((np.diff(part) < 0.0).any() for part in np.split(misfits, ends[:-1])):
            raise ValueError("misfits of its sets are not finite, or not in order")
        return cls(alpha, by_class, misfits, ends)


class HeldFold(NamedTuple):
    """A fold of the training rows: decisions on new rows by the model of all others, and the misfits of its own rows.

    Attributes
    ----------
    model : SVMModel
        The model that was trained without the rows of the fold.
    decision : ndarray
        Its decisions on new rows.
    misfits : ndarray of shape (n,) or (n, n_outputs)
        The misfits of the true answers of the fold's rows.
    codes : ndarray of shape (n,)
        The class of each of these rows if classes are covered separately; else 0.
    """

    model: Any
    decision: np.ndarray
    misfits: np.ndarray
    codes: np.ndarray


@dataclass(frozen=True)
class CrossConformal:
    """The models of folds, and the misfits of the rows that each had not seen, for sets that combine all models (CV+).

    A new row is compared with each training row by the model that had seen neither of the two. The model itself is
    trained on all rows. The sets contain the truth with a probability of at least 1 - 2 alpha less a term that vanishes
    with the rows (Barber, Candes, Ramdas, Tibshirani: Predictive inference with the jackknife+. Annals of Statistics
    49, 2021, theorem 4), and usually of about 1 - alpha.

    Attributes
    ----------
    alpha, by_class : float, bool
        As for `Conformal`.
    models : tuple of SVMModel
        The model of each fold, which was trained on the rows of all others.
    misfits : ndarray of shape (n,) or (n, n_outputs), float64
        The misfits of the training rows, by the model of their fold.
    folds, codes : ndarray of shape (n,), int64
        The fold and the class of each row (0 unless `by_class`).
    """

    alpha: float
    by_class: bool
    models: tuple[Any, ...]
    misfits: np.ndarray
    folds: np.ndarray
    codes: np.ndarray

    @property
    def parts(self) -> dict[str, Any]:
        """The models of folds by the prefixes of their names in a file."""
        return {f"conformal.{number}.": model for number, model in enumerate(self.models)}

    def select(self, model: Any, sets: Any, X: Any, alpha: float | None, **options: Any) -> np.ndarray:
        """Return the sets of rows.

        Parameters
        ----------
        model, sets, X, alpha, **options : object, object, object, float or None, object
            As for `Conformal.select`.
        """
        alpha, held = self.alpha if alpha is None else require_alpha(alpha, "alpha"), []
        for number, of_fold in enumerate(self.models):
            own = self.folds == number
            decision = of_fold.decision_function(X, **options)
            held.append(HeldFold(of_fold, decision, self.misfits[own], self.codes[own]))
        return sets.compare(held, alpha, by_class=self.by_class)

    def promise(self) -> float:
        """Return the least probability with which a set of a new row contains its truth (theorem 4, the better
        bound).
        """
        n, k = int(np.bincount(self.codes).min()) if self.by_class else len(self.folds), len(self.models)
        excess = min(2.0 * (1.0 - 1.0 / k) / (n / k + 1.0), (1.0 - k / n) / (k + 1.0))
        return max(1.0 - 2.0 * self.alpha - excess, 0.0)

    def widen(self, n_features: int) -> CrossConformal:
        """Return the object for rows with more features."""
        return replace(self, models=tuple(model.widened(n_features) for model in self.models))

    def header(self) -> dict[str, Any]:
        """Return the entries of a model file's header."""
        return {"version": 4, "conformal": {"alpha": self.alpha, "by_class": self.by_class}}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a model file keeps, by name."""
        return {"conformal.misfits": self.misfits, "conformal.folds": self.folds, "conformal.codes": self.codes}

    @classmethod
    def from_file(
        cls, about: dict[str, Any], arrays: dict[str, np.ndarray], models: tuple[Any, ...], header: dict[str, Any]
    ) -> CrossConformal:
        """Return the contents of a file; raise ValueError, KeyError or TypeError if it is damaged.

        Parameters
        ----------
        about, header : dict
            The header's entry about sets, and the whole header.
        arrays, models : dict, tuple of SVMModel
            As for `Conformal.from_file`.
        """
        alpha, by_class = about["alpha"], about["by_class"]
        misfits, folds, codes = (arrays[f"conformal.{name}"] for name in ("misfits", "folds", "codes"))
        if not isinstance(by_class, bool) or not isinstance(alpha, float) or not 0.0 < alpha < 1.0:
            raise ValueError("the share that its sets miss is not known")
        n, n_outputs = len(misfits), len(header.get("outputs", ()))
        if misfits.dtype != np.float64 or misfits.shape not in ((n,), (n, n_outputs)) or not np.isfinite(misfits).all():
            raise ValueError("misfits of its sets are no finite numbers")
        for what, most in ((folds, len(models)), (codes, len(header["classes"]) if by_class else 1)):
            if what.shape != (n,) or what.dtype.kind != "i" or not n or what.min() < 0 or what.max() >= most:
                raise ValueError("rows of its sets are in no fold or class")
        return cls(alpha, by_class, models, misfits, folds, codes)
