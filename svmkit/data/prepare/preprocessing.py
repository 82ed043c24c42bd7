"""The steps before the kernel: columns become features, their holes are filled, and features are scaled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import Features
from svmkit.data.prepare.imputing import Imputing
from svmkit.data.prepare.scaling import Scaling
from svmkit.errors import InputError


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """The steps before the kernel, each of which may be absent: encoding, imputing, scaling.

    Attributes
    ----------
    encoding : Encoding or None, default=None
        How the columns of a table become the features X. It is applied by the readers (`svmkit.load`), not by `apply`.
    imputing : Imputing or None, default=None
        How the holes of X (NaN) are filled; without it, X must not have any.
    scaling : Scaling or None, default=None
        How the features are scaled after filling holes.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.data import Preprocessing
    >>> preprocessing, X = Preprocessing.fit(np.array([[0.0], [np.nan], [4.0]]), impute="median", scale="minmax")
    >>> X.ravel().tolist()
    [0.0, 0.5, 1.0]
    >>> preprocessing.apply(np.array([[3.0]])).tolist()
    [[0.75]]
    """

    encoding: Encoding | None = None
    imputing: Imputing | None = None
    scaling: Scaling | None = None

    @classmethod
    def fit(
        cls, X: Features, *, impute: str | None = None, scale: str | None = None, flags: np.ndarray | None = None
    ) -> tuple[Preprocessing, Features]:
        """Learn imputing and scaling from the training samples.

        Parameters
        ----------
        X : ndarray or scipy CSR of shape (n_samples, n_features), float32 or float64
            Without infinity, and without NaN unless `impute` is given.
        impute : {"median", "most_frequent", "indicator"}, default=None
            How to fill holes; None means no imputing.
        scale : {"none", "standard", "minmax", "maxabs"}, default=None
            The kind of scaling; None means "none".
        flags : boolean ndarray of shape (n_features,), default=None
            The 0/1 features (`Dataset.flags`), which standard scaling leaves unchanged, like the features that imputing
            adds.

        Returns
        -------
        preprocessing : Preprocessing
            Imputing and scaling, without an encoding.
        features : ndarray or CSR of shape (n_samples, width)
            X with holes filled, scaled; X itself if nothing changes.

        Raises
        ------
        InputError
            X cannot be imputed or scaled as requested, or `flags` has another shape.
        """
        if flags is not None and (np.shape(flags) != X.shape[1:] or np.asarray(flags).dtype != bool):
            raise InputError(f"flags must be {X.shape[1]} truth values, one for each column of X")
        imputing = Imputing.fit(impute, X) if impute else None
        if imputing is not None:
            X = imputing.apply(X)
            own = np.zeros(len(imputing.statistics), dtype=bool) if flags is None else flags
            flags = np.append(own, np.ones(imputing.n_added, dtype=bool))
        scaling = Scaling.fit(scale, X, flags) if scale and scale != "none" else None
        return cls(None, imputing, scaling), scaling.apply(X) if scaling else X

    def apply(self, X: Features) -> Features:
        """Fill the holes of features and scale them.

        Parameters
        ----------
        X : ndarray or scipy CSR of shape (n_samples, n_features)
            Rows as read from a table or an array.

        Returns
        -------
        ndarray or CSR of shape (n_samples, width)
            X itself if there is nothing to do.

        Raises
        ------
        InputError
            The number of columns differs from that at `fit`.
        """
        if self.imputing is not None:
            X = self.imputing.apply(X)
        return X if self.scaling is None else self.scaling.apply(X)

    def undo(self, X: Features) -> Features:
        """Return preprocessed rows (n_samples, width) as features (n_samples, n_features), up to rounding.

        Filled holes stay filled unless they were marked.
        """
        if self.scaling is not None:
            X = self.scaling.undo(X)
        return X if self.imputing is None else self.imputing.undo(X)

    def weigh(self, weights: np.ndarray) -> Preprocessing:
        """Return the steps with a final multiplication of features by weights (width,) > 0; they need a scaling, which
        stores the weights.
        """
        assert self.scaling is not None
        return replace(self, scaling=self.scaling.weigh(weights))

    @property
    def takes_holes(self) -> bool:
        """Whether X may have holes."""
        return self.imputing is not None

    @property
    def moves_zeros(self) -> bool:
        """Whether sparse features become dense."""
        return self.scaling is not None and self.scaling.moves_zeros

    def width(self, n_features: int) -> int:
        """Return the number of features after `apply` for this number of columns."""
        return n_features + (self.imputing.n_added if self.imputing else 0)

    def feature_names(self, n_features: int, names: Sequence[str] | None = None) -> list[str]:
        """Return the names of the features after `apply`: those of a table, else `names`, else "column 1", ..."""
        names = [f"column {j + 1}" for j in range(n_features)] if names is None else list(names)
        if self.encoding is not None and self.encoding.n_features == n_features:
            names = self.encoding.feature_names
        return names + ([f"{names[j]} is a hole" for j in self.imputing.holed] if self.imputing else [])

    def widen(self, n_features: int) -> Preprocessing:
        """Return the steps for X with additional columns up to this number, which were 0 in training.

        Raises
        ------
        InputError
            There is imputing: the value for holes of a column without training samples is unknown.
        """
        if self.imputing is not None:
            raise InputError(
                "a model that imputes takes no columns beyond those that it was trained on: leave them out"
            )
        return self if self.scaling is None else replace(self, scaling=self.scaling.widen(n_features))

    def header(self) -> dict[str, Any]:
        """Return the part stored in a model file's header, in JSON types; `arrays` has the rest."""
        stored = {
            "scaling": self.scaling.kind if self.scaling else None,
            "encoding": self.encoding.to_json() if self.encoding else None,
        }
        return stored | ({"imputing": self.imputing.kind} if self.imputing else {})

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file, by name."""
        steps = {"scaling": self.scaling, "imputing": self.imputing}
        return {f"{name}.{k}": v for name, step in steps.items() if step for k, v in step.to_arrays().items()}

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], n_features: int) -> Preprocessing:
        """Return the steps that `header` and `arrays` have converted, after checks; the file is not trusted.

        Parameters
        ----------
        header : mapping of str to object
            The header of a model file; files of earlier versions have no "imputing".
        arrays : mapping of str to ndarray
            All arrays of the file.
        n_features : int
            The number of columns of the model's input.

        Raises
        ------
        InputError
            A step is damaged, or does not fit this number of columns.
        KeyError
            The header lacks an entry.
        """

        def arrays_of(step: str) -> dict[str, np.ndarray]:
            return {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{step}.")}

        kind = header.get("imputing")
        steps = cls(
            Encoding.from_json(header["encoding"]) if header["encoding"] else None,
            None if kind is None else Imputing.from_arrays(kind, arrays_of("imputing")),
            Scaling.from_arrays(header["scaling"], arrays_of("scaling")) if header["scaling"] else None,
        )
        wide = steps.imputing is None or len(steps.imputing.statistics) == n_features
        if not wide or (steps.scaling and len(steps.scaling.scale) != steps.width(n_features)):
            raise InputError("the stored imputing or scaling is of other columns: the model file is damaged")
        return steps
