"""A part's answers to the messages of the driver. Every answer is small: none grows with the rows of the part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from svmkit_corrective.working_set.growth import violations
from svmkit_corrective.working_set.square import Square

from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.model.model import SVMModel
from svmkit.problems.sums import Sums, Totals
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import Box
from svmkit.solver.smo.steps import take_steps
from svmkit_dask.worker import linear
from svmkit_dask.worker.rows import Change, Rows

BETWEEN = 256  # SMO steps between two evaluations of the gap of the block
MOST_STEPS = 20  # limit on SMO steps, in multiples of the rows of the block


class Block(NamedTuple):
    """A part's solution for its own rows."""

    positions: np.ndarray  # int64 (k,): the rows whose weights change, ascending
    values: np.ndarray  # float64 (k,): the changes
    steps: int  # the number of SMO steps


def _block(rows: Rows, own: Own, level: float, most: int, memory: int, inner: float) -> Block:
    """Solve for up to `most` rows of this part alone: rows that violate their condition, and rows between bounds.

    `level` is an estimate of v at rows between bounds, `memory` the bytes for the matrix, and `inner` the gap at which
    the block is solved, as a fraction of its gap at first.
    """
    box, kinks, both = rows.box, rows.qp.l1, smo_box.UP | smo_box.LOW
    depths = violations(box, level, kinks)
    free = (box.side & both == both) & ((kinks is None) | (box.beta != 0.0))
    wanted = np.flatnonzero((depths > 0.0) | free)
    at = wanted[np.argsort(-depths[wanted], kind="stable")][:most]
    if not len(at):
        return Block(at, np.empty(0), 0)
    space = rows.features.space
    X = rows.features.take(rows.at[at])
    gram = Gram(space.kernel, X, memory=memory, dtype=rows.spec.dtype, extent=space.extent)
    square = Square(gram)
    square.append(np.arange(min(len(at), square.most)))
    at = at[: len(square.idx)]
    box, kinks = Box(*(values[at] for values in box)), smo_box.l1_among(kinks, at)
    before, steps, table = box.beta.copy(), 0, square.rows
    pairs = np.array([smo_box.extremes(box.v, box.side, kinks)], dtype=np.int64)

    def gap() -> float:  # at the middle of the maximal violating pair
        middle = 0.5 * sum(smo_box.slopes(box, *pairs[0].tolist(), kinks))
        return float(smo_box.gap(box, rows.qp.is_ridged, -middle, kinks)) if pairs.min() >= 0 else 0.0

    if pairs.min() < 0:
        return Block(at[:0], before[:0], 0)
    goal = inner * gap()
    while steps < MOST_STEPS * len(at):
        done, _, _ = take_steps((box,), table, pairs, True, BETWEEN, 0.0, kinks, 0.0)
        steps += done
        if done < BETWEEN or gap() <= goal:
            break
    moved = np.flatnonzero(box.beta != before)
    order = np.argsort(at[moved])
    return Block(at[moved][order], (box.beta - before)[moved][order], steps)


def _tally(rows: Rows, own: object, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number and the total weight of the rows of each class that take part."""
    return np.bincount(rows.codes, minlength=n_classes), np.bincount(rows.codes, rows.qp.C, minlength=n_classes)


def _hits(rows: Rows, own: object, change: Change) -> np.ndarray:
    """Compare the predictions of a model, passed instead of vectors, with the answers of the rows.

    For classes, the result is int64, shape (3, n_classes): for each class the number of its rows, of predictions of it,
    and of both. For targets it has five sums: 1, squares and sizes of errors, distances from the centre, and their
    squares.
    """
    model: SVMModel = change.X
    n_classes, centre = len(model.classes), rows.spec.centre
    total = np.zeros(5) if rows.spec.has_targets else np.zeros((3, n_classes), dtype=np.int64)
    for first, X in rows.features.part.blocks():
        lo, hi = np.searchsorted(rows.at, [first, first + X.shape[0]])
        sel, truth = rows.at[lo:hi] - first, rows.answers[lo:hi]
        if not len(sel):
            continue
        predicted = model.predict(X if len(sel) == X.shape[0] else X[sel])
        if rows.spec.has_targets:
            off, far = truth - predicted, truth - centre
            total += [len(off), off @ off, np.abs(off).sum(), far.sum(), far @ far]
            continue
        codes = np.searchsorted(model.classes, predicted)
        total += [np.bincount(part, minlength=n_classes) for part in (truth, codes, truth[truth == codes])]
    return total


NONE = np.empty(0, dtype=np.int64)


class Own(NamedTuple):
    """The part of a message for one part only."""

    rows: np.ndarray = NONE  # int64 (k,): positions of its rows, in the order of `Rows.at`
    values: np.ndarray = np.empty(0)  # float64 (k,): changes of their weights, or the weights
    # int64 (q,): positions of its rows that are in the working set or have weights: the driver needs their v, and none
    # of them is a candidate
    inside: np.ndarray = NONE


class Survey(NamedTuple):
    """A part's facts about its rows at the weights of the driver."""

    low: float  # the least slope of the rows of UP, inf if there is none, and the largest of the rows of LOW, -inf
    high: float
    value: float  # the part's share of the objective
    norm: float  # sum beta_i y_i h_i, the part's share of |w|^2
    v: np.ndarray = NONE  # float64 (q,): v of the rows of `Own.inside`
    below: np.ndarray = NONE  # positions of the rows that violate their condition most, with v below the level
    above: np.ndarray = NONE  # and above it
    of_below: np.ndarray = NONE  # by how much these rows violate it
    of_above: np.ndarray = NONE


class Taken(NamedTuple):
    """Rows that join the driver's rows: all that it needs to know about them, and their row numbers in the part."""

    X: Any
    answers: np.ndarray
    C: np.ndarray
    diag: np.ndarray
    beta: np.ndarray
    v: np.ndarray
    rows: np.ndarray


def _propose(rows: Rows, own: Own, change: Change) -> tuple[float, float]:
    """Store the effect of a change of weights on v; return slope and curvature of the objective along it, for the
    rows.
    """
    qp, box, at, values = rows.qp, rows.box, own.rows, own.values
    rows.ahead = rows.product(change, rows.spec.dtype)
    signed, before = box.y[at] * values, box.beta[at]
    ridged = 0.0
    if qp.ridge_down is qp.ridge:
        rows.ahead[at] += qp.ridge[at] * signed
    else:
        ridged = float(values @ (qp.ridge_terms(before + values, at) - qp.ridge_terms(before, at)))
    slope = float(signed @ box.v[at])
    if qp.l1 is not None:
        grown = np.abs(before + values) - np.abs(before)
        slope += float(qp.width[at] @ grown) if np.ndim(qp.width) else float(qp.width * grown.sum())
    return slope, float(signed @ rows.ahead[at]) + ridged


def _settle(rows: Rows, own: Own, portion: float, level: float, wanted: int) -> Survey:
    """Follow a proposed change up to this portion, which leads to the weights `own`, and survey all rows."""
    qp, box = rows.qp, rows.box
    if qp.ridge_down is qp.ridge:
        box.beta[own.rows] = own.values
        box.v[:] += portion * rows.ahead
    else:
        h = rows.decisions() + portion * rows.ahead
        box.beta[own.rows] = own.values
        box.v[:] = h + qp.shift(box.beta)
    smo_box.take_sides(box, qp.l1)
    rows.stamp, rows.ahead = rows.stamp + 1, None
    return _survey(rows, own, level, wanted)


def _survey(rows: Rows, own: Own, level: float, wanted: int) -> Survey:
    """Survey all rows: how far they are from optimal, and which ones are farthest.

    Up to `wanted` rows on each side of the level, an estimate of v between bounds, are named, except `own.inside`.
    """
    box, qp = rows.box, rows.qp
    i, k = smo_box.extremes(box.v, box.side, qp.l1) if qp.m else (-1, -1)
    low, high = smo_box.slopes(box, i, k, qp.l1) if qp.m else (np.inf, -np.inf)
    depths = violations(box, level, qp.l1)
    depths[own.inside] = 0.0
    outside = np.flatnonzero(depths > 0.0)
    is_above = box.v[outside] > level
    below, above = (_worst(depths, side, wanted) for side in (outside[~is_above], outside[is_above]))
    value, norm = qp.value(box.beta, box.y * box.v), float((box.beta * box.y) @ rows.decisions())
    sums = low if i >= 0 else np.inf, high if k >= 0 else -np.inf, value, norm
    return Survey(*sums, box.v[own.inside], below, above, depths[below], depths[above])


def _worst(depths: np.ndarray, side: np.ndarray, wanted: int) -> np.ndarray:
    """Return up to `wanted` of these rows with the largest violations."""
    if len(side) <= wanted:
        return side
    return side[np.argpartition(-depths[side], wanted - 1)[:wanted]] if wanted else side[:0]


def _draw(rows: Rows, own: Own, seed: int) -> np.ndarray:
    """Return the positions of randomly drawn rows: `own.rows` is their number on each side of `SampleQP.y`."""
    rng, sides = np.random.default_rng((seed, len(rows.at))), zip((1.0, -1.0), own.rows.tolist(), strict=True)
    drawn = [rng.permutation(np.flatnonzero(rows.qp.y == sign))[:most] for sign, most in sides]
    return np.sort(np.concatenate(drawn))


def _take(rows: Rows, own: Own) -> Taken:
    """Return the rows at the positions `own.rows`, ascending."""
    at, box, qp = own.rows, rows.box, rows.qp
    X = rows.features.take(rows.at[at])
    return Taken(X, rows.answers[at], qp.C[at], qp.gram.diag[at], box.beta[at], box.v[at], rows.at[at])


def _find(rows: Rows, own: Own) -> np.ndarray:
    """Return the positions of the rows with the numbers `own.rows` in the part, -1 for unknown numbers."""
    at = np.searchsorted(rows.at, own.rows)
    at[at == len(rows.at)] = 0
    return np.where(rows.at[at] == own.rows, at, -1) if len(rows.at) else np.full(len(own.rows), -1)


def _count(rows: Rows, own: Own) -> tuple[int, int, float, tuple[float, float, int]]:
    """Return the numbers of rows on each side of `SampleQP.y`, the largest k(x, x), and the bounds of the engines."""
    plus = int(np.count_nonzero(rows.qp.y > 0.0))
    return plus, len(rows.at) - plus, float(rows.qp.gram.diag.max(initial=0.0)), rows.features.bounds()


def _losses(rows: Rows, own: Own, biases: np.ndarray, mark: int) -> np.ndarray:
    """Return the total losses at each bias: for the certificate `mark`, or for the rounds' own v if that is 0."""
    return rows.qp.record.losses(rows.h if mark else rows.decisions(), rows.spec.centre, biases)


def _measure(rows: Rows, own: Own, change: Change, mark: int) -> Totals:
    """Compute the decision values of a certificate from scratch in float64, from all vectors with weights."""
    rows.measured = np.zeros(len(rows.at))
    rows.measured[own.rows] = own.values
    rows.h, rows.mark = rows.product(change, np.float64), mark
    return rows.qp.record.totals(rows.measured, rows.qp.gram.diag, rows.spec.centre)


def _sums(rows: Rows, own: Own, bias: float, error: float) -> Sums:
    """Return the sums of the certificate that `measure` began; decision values have at most this error."""
    given = {"centre": rows.spec.centre, "bias": bias, "error": error, "unit": U}
    return rows.qp.record.sums(rows.h, rows.measured, **given)


def _adopt(rows: Rows, own: Own) -> bool:
    """Continue from the exact values of the last certificate; return False if there is none for these weights."""
    if rows.h is None or not np.array_equal(rows.measured, rows.box.beta):
        return False
    rows.take(rows.stamp, rows.h)
    return True


def _bring(rows: Rows, own: Own, stamp: int, change: Change) -> int:
    """Bring the rows to a state from scratch, from all vectors with weights and the weights `own` of its rows."""
    rows.box.beta[:] = 0.0
    rows.box.beta[own.rows] = own.values
    rows.take(stamp, rows.product(change, np.float64))
    return stamp


def _together(rows: Rows, own: Own, messages: tuple[Message, ...]) -> tuple[Any, ...] | None:
    """Return the answers to several messages, one after the other; None if the rows are not in the state of one."""
    answers = []
    for message in messages:
        answers.append(answer(rows, message, own, None))
        if answers[-1] is None:
            return None
    return tuple(answers)


class Message(NamedTuple):
    """A request to parts."""

    do: str  # a name in `_ANSWERS`
    stamp: int = -1  # the required state of the rows; -1 for any
    mark: int = 0  # the certificate whose decision values they must hold; 0 for none
    options: dict[str, Any] = {}  # noqa: RUF012  further arguments, small ones; it is never written to


_ANSWERS: dict[str, Callable[..., Any]] = {
    answer.__name__.removeprefix("_"): answer
    for answer in (
        *(_propose, _settle, _block, _survey, _draw, _take, _find, _count, _losses, _measure, _sums, _adopt, _bring),
        *(_tally, _hits, _together),
        *(linear.slopes, linear.curve, linear.search, linear.spread, linear.total, linear.reach),
        *(linear.gauge, linear.guess),
    )
}


def answer(rows: Rows, message: Message, own: Own, change: Change | None) -> Any:
    """Return the answer of the rows of a part to a message; None if they are not in its state.

    Parameters
    ----------
    rows, message, own, change : Rows, Message, Own, Change or None
        The rows, and the rest as for `Workers.ask`.
    """
    if message.stamp >= 0 and rows.stamp != message.stamp:
        if not (message.do == "settle" and rows.stamp == message.stamp + 1):
            return None
        options = {k: v for k, v in message.options.items() if k != "portion"}  # it has been done: asked twice
        return _survey(rows, own, **options)
    if (message.do == "settle" and rows.ahead is None) or (message.mark and rows.mark != message.mark):
        return None
    given = {} if change is None else {"change": change}
    return _ANSWERS[message.do](rows, own, **given, **message.options)
