"""The rows of one part: their features for all problems, and their weights and gradient in one problem."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.data.formats.wide import sparse_rows
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.kernels.engines import Engine, engine_for, with_int32_indices
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import Kernel
from svmkit.losses.base import Loss
from svmkit.model.one_vs_one import signs
from svmkit.problems.dual import DualQP
from svmkit.solver.smo import box as smo_box
from svmkit.training.division import REST
from svmkit_dask.parts.part import Part, places


class Space(NamedTuple):
    """The space of all parts of a data set, with the kernel."""

    kernel: Kernel  # the kernel, resolved on all parts
    extent: Extent  # the extent of the samples of all parts
    width: int  # the number of columns after preprocessing
    preprocessing: Preprocessing | None = None  # the scaling, learnt from all parts

    def features(self, X):
        """Return rows from a source, scaled and as wide as the space."""
        if X.shape[1] < self.width and sp.issparse(X):
            X = sparse_rows(X.data, X.indices, X.indptr, self.width)
        if self.preprocessing is not None:
            X = self.preprocessing.apply(X)
        return with_int32_indices(X)


class Features:
    """The features of one part in a space, block by block; for a part in memory they are kept in their final form."""

    def __init__(self, part: Part, space: Space) -> None:
        self.part, self.space = part, space
        self._kept: list[tuple[int, Engine]] | None = None

    def engines(self) -> Iterator[tuple[int, Engine]]:
        """Yield the first row of each block and the engine of its rows, in order."""
        if self._kept is not None:
            yield from self._kept
            return
        kept = [] if self.part.is_in_memory else None
        for first, X in self.part.blocks():
            engine = engine_for(self.space.kernel, self.space.features(X), self.space.extent)
            if kept is not None:
                kept.append((first, engine))
            yield first, engine
        self._kept = kept

    def take(self, rows: np.ndarray):
        """Return some rows of the part, int64 in any order, as the problem uses them."""
        return self.space.features(self.part.take(rows))

    def diag(self, at: np.ndarray) -> np.ndarray:
        """Return k(x, x) of the rows `at`, float64 (n,)."""
        out = np.empty(len(at))
        for here, engine, sel in self.cut(at):
            out[here] = engine.diag()[sel]
        return out

    def bounds(self) -> tuple[float, float, int]:
        """Return the inputs of `svmkit.problems.sums.Bounds` from the engines: value, largest and panel of any
        block.
        """
        kept = [(engine.error, engine.largest, engine.panel) for _, engine in self.engines()]
        error, largest, panel = zip(*kept, strict=True) if kept else ((0.0,), (0.0,), (1,))
        return max(error), max(largest), max(panel)

    def cut(self, at: np.ndarray) -> Iterator[tuple[slice, Engine, np.ndarray]]:
        """Yield, for each block with rows of `at`, their positions in `at`, the engine, and their rows in the block."""
        for first, engine in self.engines():
            lo, hi = np.searchsorted(at, [first, first + engine.n])
            if hi > lo:  # an engine interprets an empty selection as all of its rows
                yield slice(lo, hi), engine, at[lo:hi] - first


class SampleQP(DualQP):
    """The losses, bounds and ridges of some samples of a DualQP, without the kernel among them."""

    name: ClassVar[str] = "SampleQP"

    def __init__(self, spec: Spec, answers: np.ndarray, C: np.ndarray, diag: np.ndarray) -> None:
        target = spec.targets(answers)
        y = np.where(target > spec.centre, 1.0, -1.0)
        super().__init__(SimpleNamespace(m=len(C), diag=diag), y, C, spec.loss.terms(target, C), centre=spec.centre)  # type: ignore[arg-type]
        self.l1 = smo_box.l1_part(self)

    def shift(self, beta: np.ndarray) -> np.ndarray:
        """Return by how much v exceeds the decision values without the bias, at the weights beta (m,)."""
        return self.signs * (self.ridge_terms(beta) + self.origin)


class Spec(NamedTuple):
    """A part's knowledge of a problem, besides its own rows."""

    a: int  # the codes of the two classes; `b` may be REST, and is `a` if rows have targets instead of classes
    b: int
    C: float  # the weight of the total loss
    class_weights: np.ndarray  # float64 (n_classes,): the weight of each class; (1,) for targets
    loss: Loss  # the loss
    dtype: np.dtype = np.dtype(np.float64)  # of the kernel values of a round; certificates use float64
    centre: float = 0.0  # the number subtracted from all targets

    @property
    def has_targets(self) -> bool:
        """Whether the rows have targets instead of classes."""
        return self.a == self.b

    def targets(self, answers: np.ndarray) -> np.ndarray:
        """Return -1.0 or +1.0 for the codes of rows that take part; targets unchanged."""
        if self.has_targets:
            return answers
        if self.b == REST:
            return np.where(answers == self.a, 1.0, -1.0)
        return signs(answers, self.a, self.b, len(self.class_weights))

    def codes(self, answers: np.ndarray) -> np.ndarray:
        """Return the classes of rows; 0 for rows with targets."""
        return np.zeros(len(answers), dtype=np.int64) if self.has_targets else answers


class Change(NamedTuple):
    """Vectors whose weights change, or all vectors with their weights."""

    X: Any  # (q, width): the vectors
    coef: np.ndarray  # float64 (q,): y_i times the change of beta_i


class Rows:
    """The rows of one part, with their answers and weights, that take part in one problem."""

    def __init__(self, portion: Portion, spec: Spec) -> None:
        self.features, answers, weights = portion
        self.spec = spec
        used = weights > 0.0
        if spec.b != REST and not spec.has_targets:
            used &= (answers == spec.a) | (answers == spec.b)
        self.at = np.flatnonzero(used)  # int64 (n,): rows of the part, ascending; all arrays have this order
        self.answers = answers[self.at]
        self.codes = spec.codes(self.answers)
        C = spec.C * spec.class_weights[self.codes] * weights[self.at]
        self.qp = SampleQP(spec, self.answers, C, self.features.diag(self.at))
        self.stamp = 0  # the number of changes of the weights so far: a message says to which state it belongs
        # the effect of a proposed change on v, without the ridges' part if these differ above and below 0
        self.ahead: np.ndarray | None = None
        # of the last certificate: its number, the decision values without the bias, and the weights
        self.mark, self.h, self.measured = 0, None, np.zeros(len(self.at))
        self.linear: Any = None  # the `LinearRows` of a linear problem

    @cached_property
    def box(self) -> smo_box.Box:
        """The current weights of the rows, and their v, which is y times the gradient there."""
        box = smo_box.box_of(self.qp, np.zeros(len(self.at)), self.qp.origin)
        smo_box.take_sides(box, self.qp.l1)
        return box

    def product(self, change: Change, dtype) -> np.ndarray:
        """Return K(rows, vectors) @ coef, the effect of a change on the decision values, float64 (n,)."""
        out = np.zeros(len(self.at))
        if len(change.coef):
            for here, engine, sel in self.features.cut(self.at):
                out[here] = engine.product(change.X, change.coef[:, None], sel, dtype)[:, 0]
        return out

    def decisions(self) -> np.ndarray:
        """Return the decision values without the bias for the current v, float64 (n,)."""
        return self.box.v - self.qp.shift(self.box.beta)

    def take(self, stamp: int, h: np.ndarray) -> None:
        """Compute v from decision values without the bias at the current weights."""
        self.box.v[:] = h + self.qp.shift(self.box.beta)
        smo_box.take_sides(self.box, self.qp.l1)
        self.stamp, self.ahead = stamp, None


class Portion(NamedTuple):
    """A part on its worker: features, and the answer (a class's code, or a target) and weight of each row."""

    features: Features
    answers: np.ndarray
    weights: np.ndarray


def portion_of(part: Part, space: Space, classes: np.ndarray | None) -> Portion:
    """Return a part with the places of its labels among the classes, -1 for unknown ones; without classes, with
    targets.
    """
    answers = part.answers.astype(np.float64) if classes is None else places(classes, part.answers)
    return Portion(Features(part, space), answers, np.ones(part.n_rows) if part.weights is None else part.weights)
