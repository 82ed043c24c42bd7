"""What a part answers in a linear problem, whose iterate is a weight for each column instead of support vectors.

Messages hold all that an answer depends on besides the rows: the *path* (k, width + 1), whose rows are the weights of
the columns, that of the bias, and the width by which losses with kinks are smoothed around a centre. The centre of the
first row is 0, that of another one the dual weights which the row before suggests. So dual weights follow from a path
alone, a part that has lost its rows needs no other message, and no message grows with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from svmkit_newton.hessian import Matrix, Products
from svmkit_newton.proximal import put_centre, shares_of
from svmkit_newton.samples import fill_derivatives, sum_slopes

from svmkit.kernels.functions import Linear
from svmkit.problems.risks.design import Design
from svmkit.problems.risks.points import Points, dual_sums, make_points, total_loss
from svmkit.problems.sums import Totals, totals_of
from svmkit_dask.worker.rows import Rows

BIAS = 1.0  # value of the column of the bias, which costs nothing


class Side(NamedTuple):
    """Sums over the dual weights of one sign."""

    total: float  # of the weights
    linear: float  # target'beta less the kinks
    ridged: float  # of ridge beta^2
    image: np.ndarray  # float64 (width,): X'beta


class Slopes(NamedTuple):
    """What a part adds to P, D, gradient and Hessian at the last row of a path."""

    loss: float  # the losses, smoothed around the centre where they have kinks
    exact: float  # the losses themselves
    support: int  # dual weights that are not 0
    up: Side
    down: Side
    curved: np.ndarray  # X'DX (width, width), its diagonal (width,) where directions come from products, or nothing


class LinearRows:
    """The rows of a part in a linear problem: the terms of their losses, and the dual weights of a path."""

    def __init__(self, rows: Rows) -> None:
        self.rows, spec = rows, rows.spec
        terms = spec.loss.terms(spec.targets(rows.answers), rows.qp.C)
        terms = terms._replace(target=terms.target - spec.centre)
        self.sq = rows.qp.gram.diag + BIAS**2
        self.exact = make_points(terms, self.sq)
        self.shares = shares_of(terms)
        self.points = self.exact
        if self.shares.size:
            self.points = Points(self.exact.rows.copy(), self.exact.below)
        self._designs: list[tuple[slice, Any]] | None = None
        self._begin()

    def _begin(self) -> None:
        m = len(self.rows.at)
        self._settled, self._place = np.empty((0, 0)), np.empty(0)  # rows of the path: those behind the centre, and now
        self._along = self._change = np.empty(0)
        self.centre, self.beta, self.curvature, self.h = np.zeros(m), np.empty(m), np.empty(m), np.empty(m)

    def designs(self) -> Iterator[tuple[slice, Any]]:
        """Yield, for each block of rows, their positions among the rows in the problem, and their `_Block`."""
        if self._designs is not None:
            yield from self._designs
            return
        kept = [] if self.rows.features.part.is_in_memory else None
        for here, engine, sel in self.rows.features.cut(self.rows.at):
            X = engine.X if len(sel) == engine.n else engine.X[sel]
            block = _Block(X, self.rows.qp.gram.diag[here])
            if kept is not None:
                kept.append((here, block))
            yield here, block
        self._designs = kept

    def decisions(self, w: np.ndarray) -> np.ndarray:
        """Return X w, the bias included, float64 (m,), for weights (width,)."""
        out = np.full(len(self.rows.at), BIAS * w[-1])
        for here, block in self.designs() if w[:-1].any() else ():
            out[here] = block.design.margins(w)
        return out

    def change_along(self, w: np.ndarray) -> np.ndarray:
        """Return what `decisions` does, which is kept for the next call."""
        if not np.array_equal(w, self._along):
            self._along, self._change = w.copy(), self.decisions(w)
        return self._change

    def pull(self, beta: np.ndarray, width: int) -> np.ndarray:
        """Return X'beta (width,), with the entry of the bias, for weights beta (m,) of the rows."""
        out = np.zeros(width)
        for here, block in self.designs():
            out += block.design.pull(beta[here])
        return out

    def follow(self, path: np.ndarray) -> None:
        """Bring decision values, dual weights and second derivatives to the last row of a path."""
        n = len(self._settled)
        if n >= len(path) or (n and not np.array_equal(self._settled, path[:n])):
            self._begin()
            n = 0
        for k in range(n, len(path)):
            if k > n:
                self.centre[:] = self.beta
            self._look(path[k])
        self._settled = path[: len(path) - 1].copy()

    def _look(self, row: np.ndarray) -> None:
        if not np.array_equal(row[:-1], self._place):
            self._place, self.h = row[:-1].copy(), self.decisions(row[:-1])
        if self.shares.size:
            put_centre(*self.exact, self.shares, row[-1], self.centre, self.points.rows)
        self.sums = fill_derivatives(self.points, self.h, self.beta, self.curvature)

    def side(self, chosen: np.ndarray, width: int) -> Side:
        """Return the sums over the weights that are chosen, bool (m,)."""
        beta = np.where(chosen, self.beta, 0.0)
        linear, ridged = dual_sums(*self.exact, beta)
        return Side(float(beta.sum()), linear, ridged, self.pull(beta, width))

    def weights(self, path: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Return the dual weights of a path, those above 0 and those below times a scale each, float64 (m,)."""
        self.follow(path)
        return np.where(self.beta > 0.0, scales[0], scales[1]) * self.beta


class _Block:
    """Some rows as solvers of linear problems read them, with their share of the Hessian."""

    def __init__(self, X: Any, diag: np.ndarray) -> None:
        gram = SimpleNamespace(kernel=Linear(), engine=SimpleNamespace(X=X), diag=diag, budget=1 << 30)
        self.design = Design(gram, BIAS)  # type: ignore[arg-type]
        self._matrix: Matrix | None = None

    def hessian(self, curvature: np.ndarray) -> np.ndarray:
        """Return X'DX (width, width), of which one triangle counts, for second derivatives (m,)."""
        if self._matrix is None:
            self._matrix = Matrix(self.design, np.zeros(self.design.width))
        self._matrix.update(curvature)
        return self._matrix.H

    def products(self, curvature: np.ndarray) -> Products:
        """Return X'DX by its products."""
        products = Products(self.design, np.zeros(self.design.width))
        products.curvature = curvature
        return products


def _linear(rows: Rows) -> LinearRows:
    if rows.linear is None:
        rows.linear = LinearRows(rows)
    return rows.linear


def slopes(rows: Rows, own: object, path: np.ndarray, curved: str) -> Slopes:
    """Return what the rows add at the end of a path.

    Parameters
    ----------
    rows, own, path, curved
        The rows, nothing, the path, and what is returned of the Hessian: "matrix", "diagonal" or "none".
    """
    linear, width = _linear(rows), path.shape[1] - 1
    linear.follow(path)
    up = linear.beta > 0.0
    loss = linear.sums.loss
    exact = total_loss(*linear.exact, linear.h) if linear.shares.size else loss
    H = np.zeros({"matrix": (width, width), "diagonal": (width,), "none": (0,)}[curved])
    for here, block in linear.designs() if curved != "none" else ():
        values = linear.curvature[here]
        H += block.hessian(values) if curved == "matrix" else block.products(values).diagonal()
    sides = linear.side(up, width), linear.side(~up, width)
    return Slopes(loss, exact, int(np.count_nonzero(linear.beta)), *sides, H)


def curve(rows: Rows, own: object, path: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return the product of X'DX at the end of a path with a vector, both (width,).

    Parameters
    ----------
    rows, own, path, along
        The rows, nothing, the path and the vector.
    """
    linear, out = _linear(rows), np.zeros(len(along))
    linear.follow(path)
    for here, block in linear.designs():
        out += block.products(linear.curvature[here]).times(along)
    return out


def search(rows: Rows, own: object, path: np.ndarray, along: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the derivatives of the summed losses by the step along a direction (width,), at each of some steps (k,).

    Parameters
    ----------
    rows, own, path, along, steps
        The rows, nothing, the path at whose end the direction begins, the direction, and the steps.
    """
    linear = _linear(rows)
    linear.follow(path)
    change = linear.change_along(along)
    return np.array([sum_slopes(*linear.points, linear.h, change, t, 0, len(change))[0] for t in steps])


def spread(rows: Rows, own: object) -> float:
    """Return the sum of 1 / r of the rows whose loss has a kink, by which a width is divided among them."""
    shares = _linear(rows).shares
    return float((1.0 / shares[shares > 0.0]).sum())


def total(rows: Rows, own: object, w: np.ndarray) -> float:
    """Return the summed losses at weights (width,)."""
    linear = _linear(rows)
    return total_loss(*linear.exact, linear.decisions(w))


def reach(rows: Rows, own: object, path: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, float]:
    """Return X'beta (width,) of a path, and the sum of |beta_i| |x_i|, from scratch.

    Parameters
    ----------
    rows, own, path, scales
        The rows, nothing, the path, and factors (2,) of the weights above and below 0.
    """
    linear = _linear(rows)
    beta = linear.weights(path, scales)
    return linear.pull(beta, path.shape[1] - 1), float(np.abs(beta) @ np.sqrt(linear.sq))


def gauge(rows: Rows, own: object, path: np.ndarray, scales: np.ndarray, w: np.ndarray, mark: int) -> Totals:
    """Begin a certificate: the decision values of w (width,), without a bias, and the dual weights of a path.

    Parameters
    ----------
    rows, own, path, scales, w, mark
        As for `reach`, then w and the number of the certificate.
    """
    linear = _linear(rows)
    rows.measured = rows.qp.signs * linear.weights(path, scales)
    rows.h, rows.mark = linear.decisions(w), mark
    return Totals(*totals_of(rows.qp.record, rows.measured, rows.qp.gram.diag, rows.spec.centre))
