"""A part's answers in a linear problem, whose iterate is a weight for each column instead of support vectors.

Messages hold everything that an answer depends on besides the rows: the *path* (k, width + 1), whose rows are the
weights of the columns, the weight of the bias, and the width by which losses with kinks are smoothed around a centre.
The centre of the first row is 0; the centre of another row is the dual weights that the previous row suggests. So a
path alone determines dual weights, a part that has lost its rows needs no other message, and no message grows with the
rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from svmkit_newton import passes
from svmkit_newton.hessian import Matrix, Products
from svmkit_newton.passes import FEW, NONE, Curve, Look, SideSums
from svmkit_newton.proximal import put_centre, shares_of
from svmkit_newton.samples import fill_derivatives, sum_slopes
from svmkit_newton.tall import ONE_IN, solve_sample

from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.base import FREE
from svmkit.problems.risks.design import Design
from svmkit.problems.risks.linear_risk import LinearDual, LinearTubeDual
from svmkit.problems.risks.points import Points, dual_sums, make_points, total_loss
from svmkit.problems.sums import Totals
from svmkit_dask.worker.rows import Rows

BIAS = 1.0  # value of the bias column, which is not penalised


class LinearRows:
    """The rows of a part in a linear problem: the terms of their losses, and the dual weights of a path.

    Rows of few columns (`is_few`) are read in passes that keep only the centre of a row's loss, if it has a kink; for
    others, the decision value and the derivatives at the end of the path are kept.
    """

    def __init__(self, rows: Rows, width: int) -> None:
        self.rows, spec = rows, rows.spec
        self.is_few, self.wide = width <= FEW, width
        terms = spec.loss.terms(spec.targets(rows.answers), rows.qp.C)
        terms = terms._replace(target=terms.target - spec.centre)
        self.sq = rows.qp.gram.diag + BIAS**2
        self.exact = make_points(terms, self.sq)
        self.shares = shares_of(self.exact)
        self.points = self.exact
        if self.shares.size and not self.is_few:
            self.points = Points(self.exact.rows.copy(), self.exact.below)
        self._designs: list[tuple[slice, Any]] | None = None
        self._begin()

    def _begin(self) -> None:
        m = len(self.rows.at)
        self._settled, self._place = np.empty((0, 0)), np.empty(0)  # rows of the path: those behind the centre, and now
        self._along = self._change = np.empty(0)
        self._known = np.empty((0, 0)), np.empty(0)  # a path, and its dual weights
        self.centre = np.zeros(m if self.shares.size else 0)
        self.beta = np.empty(m if self.shares.size or not self.is_few else 0)
        if not self.is_few:
            self.curvature, self.h = np.empty(m), np.empty(m)

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
        """Return the same as `decisions`, and keep it for the next call."""
        if not np.array_equal(w, self._along):
            self._along, self._change = w.copy(), self.decisions(w)
        return self._change

    def pull(self, beta: np.ndarray) -> np.ndarray:
        """Return X'beta (width,), with the entry of the bias, for weights beta (m,) of the rows."""
        out = np.zeros(self.wide)
        for here, block in self.designs():
            out += block.design.pull(beta[here])
        return out

    def follow(self, path: np.ndarray) -> None:
        """Move the centre to the last row of a path; unless columns are few, update decision values and derivatives,
        too.
        """
        n = len(self._settled)
        if n >= len(path) or (n and not np.array_equal(self._settled, path[:n])):
            self._begin()
            n = 0
        for k in range(n, len(path) - 1 if self.is_few else len(path)):
            if self.is_few:
                self.look(path[k], self.beta)
                self.centre[:] = self.beta
                continue
            if k > n:
                self.centre[:] = self.beta
            self._keep(path[k])
        self._settled = path[: len(path) - 1].copy()

    def _keep(self, row: np.ndarray) -> None:
        if not np.array_equal(row[:-1], self._place):
            self._place, self.h = row[:-1].copy(), self.decisions(row[:-1])
        if self.shares.size:
            put_centre(*self.exact, self.shares, row[-1], self.centre, self.points.rows)
        self.sums = fill_derivatives(self.points, self.h, self.beta, self.curvature)

    def some(self, here: slice, width: float) -> tuple[Points, Curve | None]:
        """Return the terms of some rows, and the smoothing of their losses by a width."""
        points = self.exact._replace(rows=self.exact.rows[here])
        return points, Curve(self.shares[here], width, self.centre[here]) if self.shares.size else None

    def look(
        self, row: np.ndarray, beta: np.ndarray = NONE, curvature: np.ndarray = NONE, is_curved: bool = False
    ) -> Look:
        """Return the sums at the last row of a path, whose centre must be set.

        Parameters
        ----------
        row, beta, curvature, is_curved : ndarray, ndarray, ndarray, bool
            The row (width + 1,); the others as for `svmkit_newton.passes.look`.
        """
        looks = []
        for here, block in self.designs():
            points, curve = self.some(here, row[-1])
            given = {"beta": beta[here], "curvature": curvature[here], "is_curved": is_curved}
            looks.append(passes.look(block.design, points, row[:-1], curve, **given))
        return passes.join(looks)

    def curvatures(self, path: np.ndarray) -> np.ndarray:
        """Return the second derivatives (m,) at the end of a path, and keep them for the next call."""
        self.follow(path)
        if self.is_few and not np.array_equal(path[-1], self._place):
            self._place, self.curvature = path[-1].copy(), np.empty(len(self.rows.at))
            self.look(path[-1], curvature=self.curvature)
        return self.curvature

    def diagonal(self, path: np.ndarray) -> np.ndarray:
        """Return the diagonal of X'DX (width,) at the end of a path."""
        out, curvature = np.zeros(self.wide), self.curvatures(path)
        for here, block in self.designs():
            out += block.products(curvature[here]).diagonal()
        return out

    def side(self, chosen: np.ndarray) -> SideSums:
        """Return the sums over the chosen weights, bool (m,)."""
        beta = np.where(chosen, self.beta, 0.0)
        linear, ridged = dual_sums(*self.exact, beta)
        return SideSums(float(beta.sum()), linear, ridged, self.pull(beta))

    def weights(self, path: np.ndarray) -> np.ndarray:
        """Return the dual weights of a path, float64 (m,), and keep them for the next call."""
        self.follow(path)
        if not self.is_few:
            return self.beta
        if not np.array_equal(path, self._known[0]):
            beta = np.empty(len(self.rows.at))
            self._known, self.seen = (path.copy(), beta), self.look(path[-1], beta)
        return self._known[1]


class _Block:
    """Some rows in the form for linear solvers, with their share of the Hessian."""

    def __init__(self, X: Any, diag: np.ndarray) -> None:
        gram = SimpleNamespace(kernel=Linear(), engine=SimpleNamespace(X=X), diag=diag, budget=1 << 30)
        self.design = Design(gram, BIAS)  # type: ignore[arg-type]
        self._matrix: Matrix | None = None

    def hessian(self, curvature: np.ndarray) -> np.ndarray:
        """Return X'DX (width, width), with one triangle valid, for second derivatives (m,)."""
        if self._matrix is None:
            self._matrix = Matrix(self.design, np.zeros(self.design.width))
        self._matrix.update(curvature)
        return self._matrix.H

    def products(self, curvature: np.ndarray) -> Products:
        """Return X'DX by its products."""
        products = Products(self.design, np.zeros(self.design.width))
        products.curvature = curvature
        return products


def _linear(rows: Rows, width: int) -> LinearRows:
    if rows.linear is None:
        rows.linear = LinearRows(rows, width)
    return rows.linear


def slopes(rows: Rows, own: object, path: np.ndarray, curved: str) -> Look:
    """Return the rows' share of the sums at the end of a path.

    Parameters
    ----------
    rows, own, path, curved : Rows, object, ndarray, str
        The rows, nothing, the path, and the part of the Hessian to return: "matrix", "diagonal" or "none".
    """
    width = path.shape[1] - 1
    linear = _linear(rows, width)
    linear.follow(path)
    if linear.is_few:
        seen = linear.look(path[-1], is_curved=curved == "matrix")
        return seen if curved != "diagonal" else seen._replace(curved=linear.diagonal(path))
    up = linear.beta > 0.0
    loss = linear.sums.loss
    exact = total_loss(*linear.exact, linear.h) if linear.shares.size else loss
    H = linear.diagonal(path) if curved == "diagonal" else np.zeros((width, width) if curved == "matrix" else 0)
    for here, block in linear.designs() if curved == "matrix" else ():
        H += block.hessian(linear.curvature[here])
    return Look(loss, exact, int(np.count_nonzero(linear.beta)), linear.side(up), linear.side(~up), H)


def curve(rows: Rows, own: object, path: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return the product of X'DX at the end of a path with a vector, both (width,).

    Parameters
    ----------
    rows, own, path, along : Rows, object, ndarray, ndarray
        The rows, nothing, the path and the vector.
    """
    linear, out = _linear(rows, len(along)), np.zeros(len(along))
    curvature = linear.curvatures(path)
    for here, block in linear.designs():
        out += block.products(curvature[here]).times(along)
    return out


def search(rows: Rows, own: object, path: np.ndarray, along: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the derivatives of the total loss by the step along a direction (width,), at each of some steps (k,).

    Parameters
    ----------
    rows, own, path, along, steps : Rows, object, ndarray, ndarray, ndarray
        The rows, nothing, the path at whose end the direction begins, the direction, and the steps.
    """
    linear = _linear(rows, len(along))
    linear.follow(path)
    if linear.is_few:
        out = np.zeros(len(steps))
        for here, block in linear.designs():
            points, curve = linear.some(here, path[-1, -1])
            out += passes.slopes_along(block.design, points, path[-1, :-1], along, steps, curve)
        return out
    change = linear.change_along(along)
    return np.array([sum_slopes(*linear.points, linear.h, change, t, 0, len(change))[0] for t in steps])


def spread(rows: Rows, own: object, width: int) -> tuple[float, float]:
    """Return the sum of 1 / r of the rows whose loss has a kink, by which a width is divided among them, and the sum of
    all losses at weights of 0; nothing if no loss has one.

    Parameters
    ----------
    rows, own, width : Rows, object, int
        The rows, nothing, and the number of columns, including the bias.
    """
    shares = _linear(rows, width).shares
    if not shares.size:
        return 0.0, 0.0
    return float((1.0 / shares[shares > 0.0]).sum()), total(rows, own, np.zeros(width))


def guess(rows: Rows, own: object, width: int, m: int) -> tuple[np.ndarray, float, int]:
    """Return about the weights (width,) at the optimum of a sample of the rows, the losses of all rows at 0 by that
    sample, and the number of its rows; of no rows if the optimum would not help.

    Parameters
    ----------
    rows, own, width, m : Rows, object, int, int
        The rows, nothing, the number of columns, including the bias, and the number of the rows of all parts.
    """
    at, spec = np.arange(0, len(rows.at), ONE_IN), rows.spec
    targets, none = spec.targets(rows.answers[at]), (np.zeros(width), 0.0, 0)
    if not rows.features.part.is_in_memory or (targets == targets[0]).all():
        return none  # the bias would have no optimum
    gram, kind = Gram(Linear(), rows.features.take(rows.at[at])), LinearTubeDual if spec.has_targets else LinearDual
    problem = kind(gram, targets, m / len(at) * rows.qp.C[at], spec.loss, bias=FREE)
    w = solve_sample(problem)
    w[-1] = problem.bias * w[-1] + problem.origin - spec.centre
    return w, problem.total_loss(np.full(len(at), spec.centre - problem.origin)), len(at)


def total(rows: Rows, own: object, w: np.ndarray) -> float:
    """Return the total loss at weights (width,)."""
    linear = _linear(rows, len(w))
    if linear.is_few:
        looks = (passes.total_loss(block.design, linear.some(here, 0.0)[0], w) for here, block in linear.designs())
        return math.fsum(looks)
    return total_loss(*linear.exact, linear.decisions(w))


def reach(rows: Rows, own: object, path: np.ndarray) -> tuple[Look, float]:
    """Return the sums at the end of a path, without a Hessian, and the sum of |beta_i| |x_i|.

    Parameters
    ----------
    rows, own, path : Rows, object, ndarray
        The rows, nothing and the path.
    """
    linear = _linear(rows, path.shape[1] - 1)
    pulls = float(np.abs(linear.weights(path)) @ np.sqrt(linear.sq))
    return linear.seen if linear.is_few else slopes(rows, own, path, "none"), pulls


def gauge(rows: Rows, own: object, path: np.ndarray, scales: np.ndarray, w: np.ndarray, mark: int) -> Totals:
    """Begin a certificate: the decision values of w (width,), without a bias, and the dual weights of a path.

    Parameters
    ----------
    rows, own, path, scales, w, mark : Rows, object, ndarray, ndarray, ndarray, int
        As for `reach`, then factors (2,) of the weights above and below 0, w and the number of the certificate.
    """
    linear = _linear(rows, len(w))
    beta = linear.weights(path)
    rows.measured = rows.qp.signs * np.where(beta > 0.0, scales[0], scales[1]) * beta
    rows.h, rows.mark = linear.decisions(w), mark
    return rows.qp.record.totals(rows.measured, rows.qp.gram.diag, rows.spec.centre)
