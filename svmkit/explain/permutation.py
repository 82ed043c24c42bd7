"""Permutation importance: the loss of score when a column is permuted, with all permutations in one kernel pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.data.prepare.features import is_sparse
from svmkit.errors import InputError
from svmkit.explain.players import Players
from svmkit.explain.subject import Subject, require_columns, store_alike
from svmkit.kernels.forms import Argument, Form
from svmkit.runtime import threads
from svmkit.scoring.accuracy import accuracy
from svmkit.scoring.quantities import QuantityScores
from svmkit.tasks import task_named

VALUES = 1 << 22  # kernel values, or decisions, that are held at a time
Score = Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True, eq=False)
class PermutationImportance:
    """The loss of score of a model when a column is permuted.

    Attributes
    ----------
    names : tuple of str
        The columns.
    score : float
        The score on the unpermuted rows.
    losses : ndarray of shape (n_players, n_repeats), float64
        The score minus the score with the column permuted, for each permutation.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.explain import PermutationImportance
    >>> PermutationImportance(("age",), 0.9, np.array([[0.2, 0.3]])).mean.tolist()
    [0.25]
    """

    names: tuple[str, ...]
    score: float
    losses: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """The mean loss of each column, (n_players,)."""
        return self.losses.mean(axis=1)

    @property
    def error(self) -> np.ndarray:
        """The standard error of each mean, (n_players,); NaN for a single permutation."""
        n = self.losses.shape[1]
        with np.errstate(invalid="ignore"):
            return self.losses.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(self.losses), np.nan)


def permutation_importance(
    model: Subject,
    X: Any,
    y: Any,
    *,
    players: Mapping[str, Sequence[int | str]] | None = None,
    names: Sequence[str] | None = None,
    n_repeats: int = 5,
    score: Score | None = None,
    seed: int = 0,
    n_threads: int | None = None,
) -> PermutationImportance:
    """Permute each column in turn, and compare the scores.

    Parameters
    ----------
    model : SVMModel
        Any kernel with columns.
    X : array-like, sparse matrix or table of shape (n_samples, n_features)
        Rows with known answers, preferably not used in training. Columns of a table are matched by name.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Their labels or targets.
    players : mapping of str to sequence of int or str, default=None
        Columns that are permuted together, by the name of the group. The categories of a column always are.
    names : sequence of str, default=None
        The names of the features, for a model that was not trained on a table.
    n_repeats : int, default=5
        The number of permutations of each column, the same for all columns.
    score : callable, default=None
        A function `score(y, predictions)` whose larger values are better; None is accuracy, or R2 for regression.
    seed : int, default=0
        The seed of the permutations.
    n_threads : int or None, default=None
        The number of threads; None uses all.

    Raises
    ------
    InputError
        The kernel is precomputed, the model ranks, y does not fit X, or R2 is undefined because all targets are equal.

    Notes
    -----
    The argument of every built-in kernel, |x - s|^2, |x - s|_1 or x.s, is a sum over columns. The sum without a column
    is computed once, and each permutation adds that column of other rows.

    References
    ----------
    Breiman: Random forests. Machine Learning 45, 2001, section 10.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import fit
    >>> from svmkit.explain import permutation_importance
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> importance = permutation_importance(fit(X, X[:, 0] > 0).model, X, X[:, 0] > 0)
    >>> bool(importance.mean[0] > 0.3 > 0.1 > importance.mean[1])
    True
    """
    require_columns(model)
    names = getattr(X, "columns", None) if names is None else names
    X = model.as_rows(X)
    if task_named(model.task).has_groups:
        raise InputError(
            "permutation importance is not for a ranker: shuffling a column would mix the groups within which it ranks"
        )
    truth = model.as_truth(y, X.shape[0])
    if n_repeats < 1:
        raise InputError(f"n_repeats must be at least 1, not {n_repeats}")
    those = Players.derive(model.preprocessing, model.n_features, players, names)
    measure = score or (_r2 if model.regresses else accuracy)
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(X.shape[0]) for _ in range(n_repeats)])
    losses = np.empty((len(those.names), n_repeats))
    with threads.using(n_threads):
        whole = measure(truth, model.predict(X))
        for player, decisions in _decisions(model, X, those, orders):
            for k, decision in enumerate(decisions):
                losses[player, k] = whole - measure(truth, model.labels(decision))
    return PermutationImportance(those.names, float(whole), losses)


def _decisions(model: Subject, X: Any, players: Players, orders: np.ndarray) -> Iterator[tuple[int, Iterator]]:
    """Yield each player with the decisions of the rows for each order of its column."""
    squeeze = lambda sums: sums[:, 0] if sums.shape[1] == 1 else sums
    form, coef, n = model.kernel.form, model.machine.coefficients, X.shape[0]
    if form is None:
        dense = X.toarray() if is_sparse(X) else X
        for player in range(len(players.names)):
            at = players.owner == player
            yield player, (model.decision_function(np.where(at, dense[order], dense)) for order in orders)
        return
    rows, vectors = store_alike(model.preprocessing.apply(X), model.vectors)
    every = len(players.names) * len(orders) * n * coef.shape[1]
    step = max(1, len(players.names) * VALUES // max(every, 1))
    for first in range(0, len(players.names), step):
        some = range(first, min(first + step, len(players.names)))
        sums = np.zeros((len(some), len(orders), n, coef.shape[1])) + model.intercept
        width = max(1, VALUES // n)
        for lo in range(0, len(coef), width):
            part = vectors[lo : lo + width], coef[lo : lo + width]
            _add(model, rows, *part, players.wide, some, orders, sums)
        for player, decisions in zip(some, sums, strict=True):
            yield player, map(squeeze, decisions)


def _add(
    model: Subject,
    X: Any,
    vectors: Any,
    coef: np.ndarray,
    owner: np.ndarray,
    some: range,
    orders: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add to sums (n_players, n_repeats, n, n_decisions) the terms of some vectors, for some players.

    Parameters
    ----------
    model, X, vectors, coef, owner, some, orders, sums : as in `_decisions`; X and the vectors are preprocessed
    """
    form, scalars = model.kernel.form, model.kernel.scalars
    assert form is not None
    parts = lambda player: _arguments(form.argument, X, vectors, np.flatnonzero(owner == player))
    whole = _arguments(form.argument, X, vectors, np.arange(len(owner)))
    for k, player in enumerate(some):
        own = parts(player)
        rest = np.maximum(whole - own, 0.0) if form.is_radial else whole - own
        if form in (Form.RBF, Form.LAPLACIAN):  # a product: two exponentials serve all orders
            rest, own = form.apply(rest, scalars), form.apply(own, scalars)
            for r, order in enumerate(orders):
                sums[k, r] += (rest * own[order]) @ coef
        else:
            for r, order in enumerate(orders):
                sums[k, r] += form.apply(rest + own[order], scalars) @ coef


def _arguments(argument: Argument, X: Any, vectors: Any, columns: np.ndarray) -> np.ndarray:
    """Return the sums over some columns to which the function of a form is applied, float64 (n, n_vectors)."""
    from scipy.spatial.distance import cdist

    x, s = (np.asarray(A[:, columns].toarray() if is_sparse(A) else A[:, columns], np.float64) for A in (X, vectors))
    if argument is Argument.DOT:
        return x @ s.T
    return cdist(x, s, "sqeuclidean" if argument is Argument.SQUARE else "cityblock")


def _r2(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return R2, the mean over all outputs; for several levels of one target that of each against it."""
    columns = predicted.reshape(len(truth), -1)
    r2 = QuantityScores.from_predictions(columns, np.broadcast_to(truth.reshape(len(truth), -1), columns.shape)).r2
    if math.isnan(r2):
        raise InputError("R2 is not defined where all targets of y are the same: give other rows, or a score")
    return r2
