"""Explanations: what each column contributes to the decisions of a model at some rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.explain.change import Change, find_change
from svmkit.explain.players import Players
from svmkit.explain.sampling import sample_values
from svmkit.explain.shapley import Values, expansion_values, has_factors, linear_values
from svmkit.explain.subject import Subject, decide, function_names, require_columns, store_alike
from svmkit.explain.support import Vector, find_vectors
from svmkit.kernels.forms import Form
from svmkit.runtime import threads

ROUNDS = 2  # default number of orders for each pair of rows if values are sampled
BACKGROUND = 100  # default number of background rows that are drawn


@dataclass(frozen=True, eq=False)
class Explanation:
    """Exact interventional Shapley values of the decisions of a model, by row, column and decision.

    The value of a column is its contribution to the decision, averaged over the rows of the background and over all
    orders in which the columns of a row replace those of the background. The values of a row sum to its decision minus
    the mean decision of the background.

    For two classes a positive decision means `classes[1]`. For more classes each has one: its own, or with class pairs
    the mean of its margins against the others, which decides between equal votes.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_players), float64
        The contributions, in units of the decision: 1 is a margin, or a unit of the target. With several decisions
        (n_samples, n_players, n_functions).
    base : ndarray of shape (n_functions,), float64
        The mean decisions of the background.
    decision : ndarray of shape (n_samples, n_functions), float64
        The decisions of the rows.
    predicted : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The labels or quantities that the model predicts.
    players : Players
        The columns: those of the training table, each with its categories and its holes.
    functions : tuple of str
        The names of the decisions.
    error : float
        An upper bound of the quadrature error of any value, with fewer nodes than an exact rule; 0.0 for exact values.
        For sampled values the largest standard error.
    nodes : int
        The nodes of quadrature; 0 if none are needed.
    probability : ndarray of shape (n_samples,) or None
        For two classes with a calibration, the probability of `classes[1]`.
    slope : ndarray of shape (n_samples,) or None
        The derivative of that probability by the decision, at each row.
    model, X, background : Subject, Features, Features
        The explained model and rows, and the background; as in a table, not preprocessed.
    standard_error : ndarray like `values` or None
        For sampled values, over the drawn orders; None for values by quadrature.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import fit
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> explanation = fit(X, ["a", "a", "b", "b"], gamma=0.5).model.explain(X)
    >>> explanation.importance().round(2).tolist()
    [1.0, 0.0]
    """

    values: np.ndarray
    base: np.ndarray
    decision: np.ndarray
    predicted: np.ndarray
    players: Players
    functions: tuple[str, ...]
    error: float
    nodes: int
    probability: np.ndarray | None
    slope: np.ndarray | None
    model: Subject = field(repr=False)
    X: Any = field(repr=False)
    background: Any = field(repr=False)
    standard_error: np.ndarray | None = field(default=None, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.players.names

    @property
    def by_function(self) -> np.ndarray:
        """The values as (n_samples, n_players, n_functions), also for a single decision."""
        return self.values.reshape(*self.values.shape[:2], -1)

    @property
    def residual(self) -> float:
        """The largest difference between the sum of the values of a row and its decision minus the base."""
        return float(np.abs(self.by_function.sum(axis=1) + self.base - self.decision).max())

    def importance(self) -> np.ndarray:
        """Return the mean magnitude of the values of each column over the rows.

        Returns
        -------
        ndarray of shape (n_players,), with several decisions (n_players, n_functions)
        """
        return np.abs(self.values).mean(axis=0)

    def function_of(self, row: int) -> int:
        """Return the decision behind the label of a row: the only one, or that of the predicted class."""
        if len(self.functions) == 1 or self.model.outputs:
            return 0
        return self.functions.index(str(self.predicted[row]))

    def number(self, function: str | int) -> int:
        """Return the index of a decision given by name or index; raise InputError if there is none."""
        if isinstance(function, int) and 0 <= function < len(self.functions):
            return function
        if str(function) not in self.functions:
            known = ", ".join(self.functions[:20])
            raise InputError(f"there is no decision of {function!r}: the model has {known}")
        return self.functions.index(str(function))

    def cells(self) -> np.ndarray:
        """Return the rows as in a table, object (n_samples, n_players): numbers, texts, None for holes."""
        return self.players.cells(self.X)

    def vectors(self, row: int = 0, *, most: int = 5, function: str | int | None = None) -> list[Vector]:
        """Return the decisive support vectors: those with the largest terms of a decision.

        Parameters
        ----------
        row : int, default=0
            The index of the row among the explained ones.
        most : int, default=5
            The number of vectors, at most.
        function : str or int, default=None
            The decision; None is that of the predicted class.

        Raises
        ------
        InputError
            A linear model has weights and no support vectors, or there is no such row or decision.
        """
        at = self.function_of(row) if function is None else self.number(function)
        return find_vectors(self.model, self.players, self.row(row), at, most)

    def change(self, row: int = 0, *, fix: Sequence[str] = (), to: Any = None, few: bool = False) -> Change | None:
        """Return the nearest change found that gives a row another label, as predicted by the model.

        Parameters
        ----------
        row : int, default=0
            The index of the row among the explained ones.
        fix : sequence of str, default=()
            Columns that keep their values.
        to : object, default=None
            The label to reach; None is any other.
        few : bool, default=False
            Whether to change few columns rather than to minimise the distance.

        Returns
        -------
        Change or None
            None if no row of the background and no support vector has another label once `fix` has its old values.

        Raises
        ------
        InputError
            The model predicts quantities or several labels, or there is no such row, column or label.
        """
        return find_change(self.model, self.players, self.row(row), self.background, fix=tuple(fix), to=to, few=few)

    def row(self, row: int) -> Any:
        """Return an explained row, (1, n_features); raise InputError for an invalid index."""
        if not 0 <= row < self.X.shape[0]:
            raise InputError(f"there is no row {row}: rows are numbered from 0 to {self.X.shape[0] - 1}")
        return self.X[row : row + 1]

    def to_shap(self) -> Any:
        """Return the values as a `shap.Explanation`, for the plots of shap.

        Raises
        ------
        InputError
            shap is not installed.
        """
        try:
            from shap import Explanation as Shap
        except ImportError:
            raise InputError("shap is not installed: pip install shap, or draw with svmkit.plotting") from None
        single = self.values.ndim == 2
        base = np.repeat(self.base[None], len(self.values), axis=0)
        cells = self.cells()
        try:
            data = np.array(cells, dtype=np.float64)
        except (TypeError, ValueError):  # categories
            data = cells
        names = {} if single else {"output_names": list(self.functions)}
        columns = list(self.names)
        return Shap(self.values, base[:, 0] if single else base, data, feature_names=columns, **names)


def explain(
    model: Subject,
    X: Any,
    background: Any = None,
    *,
    players: Mapping[str, Sequence[int | str]] | None = None,
    names: Sequence[str] | None = None,
    n_background: int | None = BACKGROUND,
    nodes: int | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
    n_threads: int | None = None,
) -> Explanation:
    """Compute the contribution of each column to the decisions of a model.

    Parameters
    ----------
    model : SVMModel
        Values are exact for the kernels rbf, laplacian, linear and poly (up to the degree 16), and sampled for sigmoid
        and kernels of plugins and functions.
    X : ndarray or CSR of shape (n_samples, n_features)
        The rows to explain, as returned by `svmkit.data.as_features`.
    background : ndarray or CSR of shape (n_rows, n_features), default=None
        The rows with which they are compared; a single one serves as a baseline. None uses X.
    players : mapping of str to sequence of int or str, default=None
        Columns that contribute together, by the name of the group. The categories of a column always do.
    names : sequence of str, default=None
        The names of the features, for a model that was not trained on a table.
    n_background : int or None, default=100
        The largest number of background rows, which are drawn if there are more; None uses all.
    nodes : int, default=None
        The largest number of nodes of quadrature (`svmkit.explain.shapley.expansion_values`).
    rounds : int, default=2
        For sampled values, the random orders of the columns for each pair of rows, each walked in both directions; four
        times as many halve `standard_error`.
    seed : int, default=0
        The random seed of the drawn rows and orders.
    n_threads : int or None, default=None
        The number of threads; None uses all.

    Raises
    ------
    InputError
        The kernel is a precomputed matrix, or the rows or players do not fit the model.

    References
    ----------
    Lundberg, Lee: A unified approach to interpreting model predictions. NeurIPS 2017, equation (4), with the
    expectation over the background of Janzing, Minorics, Bloebaum: Feature relevance quantification in explainable AI.
    AISTATS 2020, equation (8).

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import fit
    >>> from svmkit.explain import explain
    >>> from svmkit.kernels import Linear
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> model = fit(X, X[:, 0], task="regress", kernel=Linear(), C=100.0, epsilon=0.0).model
    >>> explain(model, X[3:], X).values.round(2).tolist()
    [[1.5, 0.0]]
    """
    require_columns(model)
    for name, number in (("nodes", nodes), ("n_background", n_background)):
        if number is not None and number < 1:
            raise InputError(f"{name} must be at least 1, not {number}")
    those = Players.derive(model.preprocessing, model.n_features, players, names)
    rows = draw_rows(X if background is None else background, n_background, seed)
    with threads.using(n_threads):
        found, errors = _values(model, X, rows, those, nodes), None
        if found is None:
            found, errors = _sample(model, X, rows, those, rounds, seed)
        decision, base = decide(model, X), decide(model, rows).mean(axis=0)
        predicted = model.predict(X)
    values = found.values[:, :, 0] if decision.shape[1] == 1 else found.values
    probability = slope = None
    if model.calibration is not None and decision.shape[1] == 1:
        probability = model.calibration.probabilities(decision)[:, 0]
        slope = model.calibration.slopes(decision)[:, 0]
    named = function_names(model)
    about = those, named, found.error, found.nodes, probability, slope
    errors = None if errors is None else errors.reshape(values.shape)
    return Explanation(values, base, decision, predicted, *about, model, X, rows, errors)


def draw_rows(X: Any, most: int | None, seed: int) -> Any:
    """Return X, or a random sample of `most` of its rows, in order, if it has more."""
    if most is None or X.shape[0] <= most:
        return X
    return X[np.sort(np.random.default_rng(seed).choice(X.shape[0], most, replace=False))]


def _sample(
    model: Subject, X: Any, background: Any, players: Players, rounds: int, seed: int
) -> tuple[Values, np.ndarray]:
    """Return sampled values, and their standard errors."""
    found = sample_values(model, X, background, players, rounds, seed)
    return Values(found.values, float(found.errors.max(initial=0.0)), 0), found.errors


def _values(model: Subject, X: Any, background: Any, players: Players, nodes: int | None) -> Values | None:
    """Return the exact Shapley values of all functions of a model; None if its kernel has no form for which they are
    known.
    """
    if not has_factors(model.kernel):
        return None
    X, Z = (model.preprocessing.apply(rows) for rows in (X, background))
    if model.kernel.form is Form.LINEAR:
        X, Z = store_alike(X, Z)
        return linear_values(X, Z, model.machine.class_weights, players.wide, len(players.names))
    X, Z, vectors = store_alike(X, Z, model.vectors)
    return expansion_values(model.kernel, X, Z, vectors, model.machine.class_coefficients, players.wide, nodes)
