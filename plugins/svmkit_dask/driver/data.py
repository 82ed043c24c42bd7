"""Training data whose rows stay on the workers, in the form of `svmkit.training`, and how they are made from parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.features import Features as Rows
from svmkit.errors import InputError
from svmkit.kernels.extent import FAR, NOWHERE, WORTH, Extent, fits_float32_rows
from svmkit.kernels.forms import Argument
from svmkit.kernels.functions import Precomputed
from svmkit.kernels.gram import parse_bytes
from svmkit.kernels.loops.norms import square_norms
from svmkit.losses import Hinge, SquaredError
from svmkit.model.model import SVMModel
from svmkit.problems.base import DecisionFunction
from svmkit.scoring.quantities import QuantityScores
from svmkit.scoring.scores import Scores
from svmkit.solver.base import Solver
from svmkit.solver.selection import defaults
from svmkit.tasks import Answers
from svmkit.training.checkpoint import Identity, digest
from svmkit.training.data import model_of
from svmkit.training.division import DIVISIONS, REST, ClassPairs
from svmkit.training.settings import Method, require_class_by_class
from svmkit.training.weights import training_weights
from svmkit_dask.driver.problem import OwnRows, ScatteredQP
from svmkit_dask.driver.session import Session
from svmkit_dask.parts.facts import Summary, facts_of
from svmkit_dask.parts.part import Part
from svmkit_dask.parts.sources import Source
from svmkit_dask.worker.answers import Message
from svmkit_dask.worker.rows import Change, Space, Spec

ABLE = f"{defaults.CLUSTER}, or {defaults.CLUSTER_LINEAR} with the linear kernel"


def _reach_of(part: Part, name: str, space: Space, origin: np.ndarray) -> tuple[float, float]:
    """Return the largest |x|^2 of the rows of a part after preprocessing, from origin 0 and from another origin."""
    reach, origins = [0.0, 0.0], (NOWHERE, origin)
    for _, X in part.blocks():
        X = space.features(X)
        reach = [max(far, square_norms(X, at).max(initial=0.0)) for far, at in zip(reach, origins, strict=True)]
    return float(reach[0]), float(reach[1])


def _space_of(executor: Any, filled: Sequence[Source], summary: Summary, method: Method) -> Space:
    """Return the space of all rows, with the kernel resolved and the scaling learnt on them."""
    preprocessing = summary.preprocessing(method.settings.scale)
    kernel = summary.resolve(method.kernel, preprocessing)
    space = Space(kernel, Extent(NOWHERE, 0.0), summary.n_features, preprocessing)
    if kernel.form is None:
        return space
    # the extent, as `Extent.measure` would find it for all rows in one place
    around = kernel.form.argument is Argument.SQUARE and not summary.layout.is_sparse
    mean = summary.mean(preprocessing) if around else NOWHERE
    reaches = executor.map(_reach_of, filled, space, mean if np.isfinite(mean).all() else NOWHERE)
    reach, centred = (max(values) for values in zip(*reaches, strict=True))
    worth = len(mean) and kernel.scalars[1] * reach > FAR and centred * WORTH < reach
    return space._replace(extent=Extent(mean, centred) if worth else Extent(NOWHERE, reach))


class _ScatteredPair:
    """Problem k of scattered data, for every C: a `svmkit.training.division.Subproblem` without its rows."""

    rows, weights = np.empty(0, dtype=np.int64), np.empty(0)  # a decision function on a cluster knows its rows
    kernel_values = 0

    def __init__(self, data: ScatteredData, k: int) -> None:
        self.data, self.k, self.name = data, k, data.division.name(k)
        self.a, self.b = data.pairs[k]
        self._problem: ScatteredQP | None = None

    @property
    def gram(self) -> Any:
        """The counter of kernel values so far."""
        return self if self._problem is None else self._problem.gram

    def pose(self, method: Method, solver: Solver, C: float) -> ScatteredQP:
        """Open the problem on the workers, after closing the previous one.

        Parameters
        ----------
        method, solver, C : Method, Solver, float
            The method of training, the solver, whose problem is opened, and its C.
        """
        able = [problem for problem in solver.further if issubclass(problem, ScatteredQP)]
        if not able:
            raise InputError(f"solver {solver.name} needs all rows in one place: on a cluster, take {ABLE}")
        loss = replace(method, solver=solver, kernel=self.data.kernel).loss
        problem = next(one for one in able if one.has_targets() == self.data.has_targets)
        self._problem = self.data.open(problem, Spec(self.a, self.b, C, self.data.class_weights, loss))
        return self._problem


class ScatteredData:
    """Training data on the workers of an executor, ready for dfcsmo and any C, made of several parts.

    It is a `svmkit.training.data.TrainingData` without its rows. Unreadable parts, parts that do not fit together, and
    options that are not available on a cluster raise InputError in one line.
    """

    def __init__(self, executor: Any, sources: Sequence[Source], method: Method) -> None:
        if isinstance(method.kernel, Precomputed):
            raise InputError("a precomputed kernel matrix cannot be cut into parts: train on this machine alone")
        require_class_by_class(method.settings)
        method.require_one_output("a cluster")
        summary = Summary(executor.map(facts_of, sources))
        self.task, self.has_targets = method.task, method.task.has_targets
        self.classes = np.empty(0) if self.has_targets else summary.classes
        filled = [sources[p].with_layout(summary.layout) for p in summary.filled]
        sizes = [summary.offsets[p + 1] - summary.offsets[p] for p in summary.filled]
        space, classes = _space_of(executor, filled, summary, method), None if self.has_targets else self.classes
        self.workers = workers = executor.workers(filled, sizes, space, classes)
        self._map_first = partial(executor.map, sources=filled[:1])
        self.memory = method.settings.memory  # of the driver, for the matrix of its working set
        self.n_features, self.encoding, self.width = summary.n_features, summary.encoding, space.width
        self.notes, self.quantity, self._digest = summary.notes, summary.quantity, summary.digest
        self._open = ExitStack()  # the open problem, whose rows workers drop at its end
        self.kernel, self.preprocessing = space.kernel, space.preprocessing
        self.n_parts, self.n_samples = len(workers.names), int(workers.offsets[-1])
        k, self._centre = len(self.classes), summary.targets[2] if self.has_targets else 0.0
        self.division = DIVISIONS[method.division(k)](self.classes, self.task.noun)
        self.has_class_pairs, self.pairs = isinstance(self.division, ClassPairs), self.division.parts
        self.is_complete = [False] * len(self.pairs)  # kernel rows are not kept as a whole
        self.class_weights = np.ones(max(1, k))
        rows = np.array([self.n_samples]) if self.has_targets else summary.class_counts
        with self._all_rows() as session:
            counted = session.ask(Message("tally", options={"n_classes": len(rows)}))
            narrow = fits_float32_rows(session.bounds[1])
        used, weight = (np.sum(values, axis=0) for values in zip(*counted, strict=True))  # of the rows of weight > 0
        self._dtype = np.dtype(np.float32 if narrow else np.float64)  # of the kernel values of a round
        none = np.flatnonzero(used == 0)
        if len(none):
            what = f"class {self.classes[none[0]]}: training needs every class" if k else "samples: training needs one"
            raise InputError(f"sample weights are zero for all of {what}")
        if k:
            given = method.settings.class_weight
            self.class_weights = training_weights(np.arange(k), self.classes, given, weight) / weight
        self.has_weights = summary.has_weights or bool((self.class_weights != 1.0).any())
        self.class_counts, self.sizes, self.used = rows, self.division.sizes(rows), self.division.sizes(used)

    def _all_rows(self) -> closing[Session]:
        """Open the problem of all rows of weight > 0, until the end of a block."""
        b, loss = (0, SquaredError()) if self.has_targets else (REST, Hinge())
        spec = Spec(0, b, 1.0, np.ones(len(self.class_weights)), loss, centre=self._centre)
        return closing(Session(self.workers, spec))

    def few(self, n: int) -> tuple[Rows, np.ndarray]:
        """Return the first rows of the first part, and their answers."""
        return self._map_first(lambda part, _: (part.take(np.arange(min(n, part.n_rows))), part.answers[:n]))[0]

    def examine(self) -> None:
        """Do nothing: each worker has checked its rows for NaN."""

    def subproblem(self, k: int, **how: bool) -> _ScatteredPair:
        """Return problem k for any C; the options are those of data in memory and have no effect."""
        return _ScatteredPair(self, k)

    def open(self, problem: type[ScatteredQP], spec: Spec) -> ScatteredQP:
        """Open a problem on the workers, after closing the previous one."""
        self._open.close()
        spec = spec._replace(dtype=self._dtype, centre=self._centre)
        session = self._open.enter_context(closing(Session(self.workers, spec)))
        return problem(session, parse_bytes(self.memory))

    def close(self) -> None:
        """Have the workers drop all parts; the data cannot be trained on any more."""
        self._open.close()
        self.workers.end()

    def identity(self, method: Method) -> Identity:
        """Return the identity of a training on the contents of all parts by a method, as `TrainingData.identity`
        does.
        """
        kernel, settings = self.kernel, method.settings
        facts = {"multiclass": self.division.scheme, "data": self._digest, "weights": digest(self.class_weights)}

        def earlier_key() -> str:
            weights = (settings.C * self.class_weights).tolist()
            if self.has_targets:  # the additions of task and loss to the rows; the rest is in the digest of the rows
                what = self.task.identity(Answers(self.classes, np.empty(0), np.empty(0)), settings).tolist()
            else:
                what = [self.division.scheme, *self.task.with_loss(np.empty(0), settings).tolist()]
            return digest(repr((self._digest, kernel.name, kernel.params, *what, weights)))

        return Identity(method.facts(kernel) | facts, method.solver.name, earlier_key)

    def model(self, decisions: list[DecisionFunction], about: dict[str, Any]) -> tuple[SVMModel, np.ndarray]:
        """Join the decision functions of all problems into a model; arguments and result as for `TrainingData`."""
        self._open.close()
        own = [decision for decision in decisions if isinstance(decision, OwnRows) and decision.X is not None]
        X, codes = np.empty((0, self.workers.space.width)), np.empty(0, dtype=np.int64)
        wanted = codes
        if own:
            wanted, first = np.unique(np.concatenate([decision.rows for decision in own]), return_index=True)
            blocks = [decision.X for decision in own]
            X = (sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.concatenate(blocks))[first]
            codes = np.concatenate([decision.codes for decision in own])[first]
        placed = [DecisionFunction(d.coef, d.intercept, d.w, np.searchsorted(wanted, d.rows)) for d in decisions]
        parts = self.division.join(placed, codes, X.shape[1])
        if parts.weights is not None:
            return model_of(self, parts, about), wanted
        return model_of(self, parts._replace(weights=X[parts.support]), about), wanted[parts.support]

    def scores(self, model: SVMModel) -> Scores | QuantityScores:
        """Return the scores of a model on the rows of weight > 0; the workers predict and count."""
        with self._all_rows() as session:
            counted = session.ask(Message("hits"), change=Change(model, np.empty(0)))
        if not self.has_targets:
            return Scores(self.classes, *np.sum(counted, axis=0))
        n, squares, sizes, shift, spread = np.sum(counted, axis=0).tolist()
        variance = spread / n - (shift / n) ** 2
        r2 = 1.0 - squares / n / variance if variance > 0.0 else math.nan
        return QuantityScores(int(n), r2, math.sqrt(squares / n), sizes / n, math.sqrt(max(variance, 0.0)))
