"""The nearest change of a row that gives it another label: found by search, verified by the model's own prediction.

Every row of the background and every support vector with another label is such a change. The nearest few are drawn
towards the row: columns return to their values if the label allows it, the others are moved to the boundary, and along
it to the foot of the perpendicular on its tangent (the iteration of DeepFool). The result has been predicted by the
model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.features import is_sparse
from svmkit.errors import InputError
from svmkit.explain.players import Players
from svmkit.explain.subject import Subject, has_vectors, store_alike
from svmkit.explain.support import restore_vectors, round_digits
from svmkit.kernels.forms import Form
from svmkit.kernels.gradient import gradients

STARTS = 6  # rows with another label from which searches start
POOL = 4096  # support vectors that are examined, besides the background
SINGLE = 64  # changed columns from which they are not tried one by one
STEPS, HALVINGS = 12, 40
LOSS = 1.02  # relative increase of the distance that rounding may cause
BOUNDED = 4000  # support vectors up to which the length of the weights is computed


@dataclass(frozen=True, eq=False)
class Change:
    """A row with another label, close to an explained row.

    Attributes
    ----------
    row : ndarray of shape (n_features,), float64
        The changed row, not preprocessed; the model predicts `after` for it.
    before, after : object
        The labels.
    cells : dict of str to (object, object)
        The changed columns, with their values before and after, as in a table, the largest changes first.
    distance : float
        The Euclidean distance in the features after scaling; for a model without scaling, in standard deviations of the
        background.
    bound : float
        No row nearer than this has another label, whatever its columns; 0.0 if no bound is known.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import fit
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> explanation = fit(X, ["a", "a", "b", "b"]).model.explain(X[:1], background=X)
    >>> change = explanation.change()
    >>> str(change.before), str(change.after), list(change.cells)
    ('a', 'b', ['column 1'])
    """

    row: np.ndarray
    before: Any
    after: Any
    cells: dict[str, tuple[Any, Any]]
    distance: float
    bound: float


def find_change(
    model: Subject,
    players: Players,
    x: Any,
    background: Any,
    *,
    fix: tuple[str, ...] = (),
    to: Any = None,
    few: bool = False,
) -> Change | None:
    """Return the nearest change found that gives a row another label; None if none was found.

    Values stay within the ranges of the background and the support vectors, integer columns stay integer, and exactly
    one of the categories of a column is chosen.

    Parameters
    ----------
    model : SVMModel
        A classifier, or a detector of outliers.
    players : Players
        Its columns.
    x : ndarray or CSR of shape (1, n_features)
        The row, not preprocessed.
    background : ndarray or CSR of shape (n_rows, n_features)
        Rows that show the occurring values.
    fix : tuple of str, default=()
        Columns that keep their values.
    to : object, default=None
        The label to reach; None is any other.
    few : bool, default=False
        Whether to change few columns rather than to minimise the distance.

    Raises
    ------
    InputError
        The model predicts quantities or several labels, `fix` names no column or all of them, or `to` is not a label.

    References
    ----------
    Wachter, Mittelstadt, Russell: Counterfactual explanations without opening the black box. Harvard Journal of Law &
    Technology 31, 2018. Moosavi-Dezfooli, Fawzi, Frossard: DeepFool. CVPR 2016, algorithm 1.
    """
    if model.regresses or model.outputs:
        raise InputError(
            "a change of the label needs a model of classes or outliers: a quantity has no label to change"
        )
    fixed = frozenset(map(players.number, fix))
    if len(fixed) == len(players.names):
        raise InputError("all columns are fixed: leave one free that may change")
    search = _Search(model, players, _dense(x)[0], _dense(background), fixed, to)
    return search.run(few)


class _Search:
    """A search for the nearest row with another label; rows are dense features, not preprocessed."""

    def __init__(
        self, model: Subject, players: Players, x: np.ndarray, background: np.ndarray, fixed: frozenset[int], to: Any
    ) -> None:
        self.model, self.players, self.x, self.fixed = model, players, x, fixed
        self.before = self.predict(x[None])[0]
        names = list(map(str, model.classes))
        if to is not None and str(to) not in names:
            raise InputError(f"the model has no label {to!r}: it has {', '.join(names[:20])}")
        if to is not None and str(to) == str(self.before):
            raise InputError(f"the row has the label {to!r} already: give another one to reach")
        self.to = None if to is None else model.classes[names.index(str(to))]
        rows = background
        if has_vectors(model):
            n = min(model.vectors.shape[0], POOL, max(1, (1 << 23) // len(x)))
            some = np.linspace(0, model.vectors.shape[0] - 1, n).astype(int)
            rows = np.concatenate([background, self.snap(restore_vectors(model, np.unique(some)))])
        with np.errstate(all="ignore"):
            self.low, self.high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
            # unscaled vectors may differ slightly from whole numbers
            self.whole = np.array([(np.isnan(c) | (c == np.round(c))).all() for c in background.T])
            rows = np.where(self.whole, np.round(rows), rows)
        scaling = model.preprocessing.scaling
        spread = np.nan_to_num(np.nanstd(background, axis=0)) if scaling is None else scaling.scale[: len(x)]
        self.unit = np.where(spread > 0.0, spread, 1.0)
        keep = np.isnan(x) | np.isin(players.owner, list(fixed))
        category = np.array([players.is_category(p) for p in range(len(players.names))])[players.owner]
        self.moves = ~keep & ~category
        self.whole &= self.moves & (x == np.round(x))
        self.pool = np.where(keep | np.isnan(rows), x, rows)

    def snap(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of support vectors in which exactly one category of a column is 1, undoing rounding."""
        rows = np.array(rows)
        for p in range(len(self.players.names)):
            if self.players.is_category(p):
                at = self.players.features(p)
                rows[:, at] = np.where(rows[:, at] > 0.5, 1.0, 0.0)
        return rows

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return the labels of rows."""
        return self.model.predict(sp.csr_array(rows) if is_sparse(self.model.vectors) else rows)

    def flips(self, rows: np.ndarray) -> np.ndarray:
        """Return which rows have another label, or the requested one."""
        labels = self.predict(rows)
        return labels != self.before if self.to is None else labels == self.to

    def distance(self, rows: np.ndarray) -> np.ndarray:
        """Return the distances of rows from the explained row, in scaled units."""
        gaps = np.where(np.isnan(self.x), 0.0, (rows - self.x) / self.unit)
        return np.sqrt(np.square(gaps).sum(axis=-1))

    def run(self, few: bool) -> Change | None:
        """Return the nearest change found, or the one with the fewest columns."""
        others = self.pool[self.flips(self.pool)]
        if not len(others):
            return None
        nearest = np.argsort(self.distance(others), kind="stable")[:STARTS]
        found = [self.contract(self.restore(others[i])) if few else self.approach(others[i]) for i in nearest]
        best = min(found, key=lambda row: (few * len(self.list_changed(row)), float(self.distance(row))))
        best = self.shorten(best)
        after = self.predict(best[None])[0]
        old, new = self.players.cells(self.x[None])[0], self.players.cells(best[None])[0]
        players = self.list_changed(best).tolist()
        players.sort(key=lambda p: -float(self.distance(np.where(self.players.owner == p, best, self.x))))
        cells = {self.players.names[p]: (old[p], new[p]) for p in players}
        return Change(best, self.before, after, cells, float(self.distance(best)), self.bound)

    def approach(self, start: np.ndarray) -> np.ndarray:
        """Return a row with another label, at most as far from the explained row as the given one."""
        row = self.contract(self.restore(self.contract(start)))
        for _ in range(STEPS):
            nearer = self.slide(row)
            if nearer is None or self.distance(nearer) > 0.999 * self.distance(row):
                break
            row = nearer
        row = self.contract(self.restore(row))
        return row if self.distance(row) < self.distance(start) else start

    def list_changed(self, row: np.ndarray) -> np.ndarray:
        """Return the players whose values differ from those of the row, ascending."""
        return np.unique(self.players.owner[~((row == self.x) | np.isnan(self.x))])

    def restore(self, row: np.ndarray) -> np.ndarray:
        """Return players to their values as long as the label stays different: first many, then one by one."""
        players = self.list_changed(row)
        gaps = [float(self.distance(self.without(row, players[[k]]))) for k in range(len(players))]
        order = players[np.argsort(-np.array(gaps), kind="stable")]  # the smallest share of the distance first
        low, high = 0, len(order)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.flips(self.without(row, order[:middle])[None])[0] else (low, middle)
        row = self.without(row, order[:low])
        while 1 < len(players := self.list_changed(row)) <= SINGLE:
            rows = np.array([self.without(row, players[[k]]) for k in range(len(players))])
            rows = rows[self.flips(rows)]
            if not len(rows):
                break
            row = rows[self.distance(rows).argmin()]
        return row

    def without(self, row: np.ndarray, players: np.ndarray) -> np.ndarray:
        """Return a row in which some players have their old values."""
        return np.where(np.isin(self.players.owner, players), self.x, row)

    def contract(self, row: np.ndarray) -> np.ndarray:
        """Move numerical columns towards their old values, as far as the label stays different."""
        return self.cross(row, np.where(self.moves, row - self.x, 0.0), 1.0)

    def cross(self, row: np.ndarray, step: np.ndarray, end: float) -> np.ndarray:
        """Return the first row with another label on the way from `row - step` to `row - step + end * step`, up to a
        millionth of it; `row` itself if there is none.

        Parameters
        ----------
        row, step : ndarray of shape (n_columns,)
            The destination for `end` = 1, and the whole step.
        end : float
            The length of the way, in steps.
        """
        start = row - step
        shares = np.linspace(0.0, end, 33)
        rows = self.clip(start + shares[:, None] * step)
        flips = self.flips(rows)
        if not flips.any():
            return row
        k = int(flips.argmax())
        if k == 0:
            return rows[0]
        low, high = shares[k - 1], shares[k]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if high - low <= 1e-6 * high:
                break
            low, high = (low, middle) if self.flips(self.clip(start + middle * step)[None])[0] else (middle, high)
        return self.clip(start + high * step)

    def clip(self, rows: np.ndarray) -> np.ndarray:
        """Return rows with numbers clipped to the observed ranges, and rounded in columns of whole numbers."""
        low, high = np.fmin(self.low, self.x), np.fmax(self.high, self.x)
        rows = np.where(self.moves, np.clip(rows, low, high), rows)
        return np.where(self.whole, np.round(rows), rows)

    def slide(self, row: np.ndarray) -> np.ndarray | None:
        """Return a row on the boundary nearer to the foot of the perpendicular on its tangent at `row`."""
        slope = self.slope(row)
        if slope is None:
            return None
        scaled = np.where(self.moves, (row - self.x) / self.unit, 0.0)
        length = float(slope @ slope)
        if not length > 0.0:
            return None
        foot = slope * (float(slope @ scaled) / length)
        for share in (1.0, 0.5, 0.25):
            to = scaled + share * (foot - scaled)
            goal = np.where(self.moves, self.x + to * self.unit, row)
            nearer = self.clip(self.cross(goal, np.where(self.moves, to * self.unit, 0.0), 1.5))
            if self.flips(nearer[None])[0] and self.distance(nearer) < self.distance(row):
                return nearer
        return None

    def slope(self, row: np.ndarray) -> np.ndarray | None:
        """Return the gradient of the decision for the new label against the old one, in scaled units of the columns."""
        model = self.model
        if model.kernel.form is None or (model.preprocessing.imputing is not None and np.isnan(row).any()):
            return None
        coef = model.machine.class_coefficients
        place = {str(label): k for k, label in enumerate(model.classes)}
        new, old = (place[str(label)] for label in (self.predict(row[None])[0], self.before))
        ours = coef[:, 0] if coef.shape[1] == 1 else coef[:, new] - coef[:, old]
        x, vectors = store_alike(model.preprocessing.apply(row[None]), model.vectors)
        gradient = gradients(model.kernel, x, vectors, ours)[0, : len(row)]
        scaling = model.preprocessing.scaling
        per_feature = gradient if scaling is None else gradient / scaling.scale[: len(row)]
        return np.where(self.moves, per_feature * self.unit, 0.0)

    def shorten(self, row: np.ndarray) -> np.ndarray:
        """Return a row whose changed numbers have as few digits as the label, the ranges and the distance allow."""
        gaps, most = row - self.x, LOSS * float(self.distance(row))
        at = self.moves & ~self.whole & (gaps != 0.0)
        for digits in range(2, 13):
            step = 10.0 ** (np.floor(np.log10(np.where(at, np.abs(gaps), 1.0))) - digits + 1)
            away = np.where(gaps > 0.0, np.ceil(row / step), np.floor(row / step)) * step
            short = self.clip(np.where(at, round_digits(away, 12), row))
            if self.distance(short) <= most and self.flips(short[None])[0]:
                return short
        return row

    @cached_property
    def bound(self) -> float:
        """A distance within which no row has another label, from the norm of the weights in the kernel's space."""
        model, kernel = self.model, self.model.kernel
        coef = model.machine.class_coefficients
        if coef.shape[1] != 1 or kernel.form not in (Form.RBF, Form.LINEAR) or len(coef) > BOUNDED:
            return 0.0
        threshold = 0.0
        if model.calibration is not None:
            if model.calibration.kind != "sigmoid" or model.calibration.A[0] == 0.0:
                return 0.0
            threshold = -float(model.calibration.B[0] / model.calibration.A[0])
        row = sp.csr_array(self.x[None]) if is_sparse(model.vectors) else self.x[None]
        margin = abs(float(model.decision_function(row)[0]) - threshold)
        scaling = model.preprocessing.scaling
        unit = float(np.max(self.unit / (1.0 if scaling is None else scaling.scale[: len(self.x)])))
        if kernel.form is Form.LINEAR:
            return margin / (float(np.linalg.norm(model.machine.class_weights)) * unit)
        from svmkit.kernels.engines import engine_for

        K = engine_for(kernel, model.vectors).block(model.vectors, np.empty((len(coef), len(coef))))
        square = margin * margin / (2.0 * float(coef[:, 0] @ K @ coef[:, 0]))
        return math.sqrt(-math.log1p(-square) / kernel.scalars.gamma) / unit if square < 1.0 else math.inf


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
