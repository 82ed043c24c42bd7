"""ScatteredData: training data whose rows stay on the workers, in the form that `svmkit.training` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.features import Features as Rows
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.errors import InputError
from svmkit.kernels.extent import fits_float32_rows
from svmkit.kernels.gram import parse_bytes
from svmkit.losses.base import Loss
from svmkit.losses.by_name import make_loss
from svmkit.losses.margin import Hinge
from svmkit.model.model import SVMModel
from svmkit.problems.base import DecisionFunction
from svmkit.problems.certificate import Certificate
from svmkit.scoring.scores import Scores
from svmkit.solver.base import Solver
from svmkit.tasks import Classification
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.division import DIVISIONS, REST, ClassPairs
from svmkit.training.settings import Method, Settings, require_scheme
from svmkit.training.weights import training_weights
from svmkit_dask.driver.problem import Point, ScatteredQP
from svmkit_dask.driver.session import Session, Workers
from svmkit_dask.parts.summary import Summary
from svmkit_dask.worker.answers import Message
from svmkit_dask.worker.rows import Change, Spec


@dataclass(frozen=True, eq=False)
class OwnRows(DecisionFunction):
    """A decision function whose rows are those of all parts, with their features and classes."""

    X: Any = None
    codes: np.ndarray | None = None

    def restrict(self, rows: np.ndarray) -> OwnRows:
        at = np.flatnonzero(self.coef)
        if len(at) == len(self.coef):
            return self
        assert self.rows is not None and self.codes is not None
        return OwnRows(self.coef[at], self.intercept, None, self.rows[at], self.X[at], self.codes[at])


class PairQP(ScatteredQP):
    """The problem of two classes, whose decision function brings the features of its support vectors."""

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> OwnRows:
        decision, numbers = super().decision_function(point, certificate), Point.from_array(point).numbers
        slots = self.candidates.slots(numbers)
        X = self.candidates.X[slots] if len(slots) else None
        return OwnRows(decision.coef, decision.intercept, None, numbers, X, self.candidates.codes[slots])


class ScatteredPair:
    """One of the problems of scattered data, for every C; a `svmkit.training.division.Subproblem` without its rows.

    `pose(a, b, C, loss)` opens the problem of two classes. `rows` is empty: a decision function on a cluster knows its
    rows.
    """

    rows, weights = np.empty(0, dtype=np.int64), np.empty(0)
    kernel_values = 0

    def __init__(self, pose: Callable[[int, int, float, Loss], PairQP], k: int, name: str, a: int, b: int) -> None:
        self.k, self.name, self.a, self.b = k, name, a, b
        self._pose = pose
        self._problem: PairQP | None = None

    @property
    def gram(self) -> Any:
        """What has counted kernel values so far."""
        return self if self._problem is None else self._problem.gram

    def pose(self, method: Method, solver: Solver, C: float) -> PairQP:
        """Return the problem that `solver` solves for this C."""
        loss = getattr(solver, "loss", None)
        if ScatteredQP not in solver.further or loss is None:
            raise InputError(f"solver {solver.name} needs all rows in one place: on a cluster, take dfcsmo")
        self._problem = self._pose(self.a, self.b, C, make_loss(loss, "classify"))
        return self._problem


class Tally(NamedTuple):
    """The rows of each class, by number and by weight, as arrays (n_classes,)."""

    rows: np.ndarray  # int64: the number of rows
    used: np.ndarray  # int64: the number of rows of weight > 0
    weight: np.ndarray  # float64: the sum of the weights of the rows


class ScatteredData:
    """Training data on workers, ready for dfcsmo and any C; a `svmkit.training.data.TrainingData` without its rows.

    `few(n)` returns the first rows of the first part, and their labels; `memory` is the budget of the driver for the
    matrix of its working set. The other options are those of `svmkit.fit`. InputError is raised if one cannot be used
    on a cluster, or if there is one class only.
    """

    task = Classification()
    epsilon = 0.0

    def __init__(
        self,
        workers: Workers,
        summary: Summary,
        few: Callable[[int], tuple[Rows, np.ndarray]],
        *,
        class_weight: Any = None,
        multiclass: str = "ovo",
        memory: str | int = "1GB",
    ) -> None:
        self.workers, self.few, self.class_weight, self.memory = workers, few, class_weight, memory
        self.classes, self.n_features, self.encoding = summary.classes, summary.n_features, summary.encoding
        self.notes, self.quantity, self._digest = summary.notes, summary.quantity, summary.digest
        self.kernel, self.preprocessing = workers.space.kernel, workers.space.preprocessing or Preprocessing()
        self.n_parts, self.n_samples = workers.n_parts, int(workers.offsets[-1])
        self._open: list[PairQP] = []
        if multiclass == "crammer_singer":
            raise InputError("multiclass=crammer_singer is not available on a cluster; there are: ovo, ovr")
        require_scheme(multiclass, self.kernel)
        parse_bytes(memory)
        k = len(self.classes)
        self.multiclass = "ovo" if k == 2 else multiclass  # the same problem
        self.division = DIVISIONS[self.multiclass](self.classes)
        self.has_class_pairs, self.pairs = isinstance(self.division, ClassPairs), self.division.parts
        self.tally, self._dtype = self._count(summary.class_counts)
        none = np.flatnonzero(self.tally.used == 0)
        if len(none):
            raise InputError(
                f"sample weights are zero for all of class {self.classes[none[0]]}: training needs every class"
            )
        self.class_weights = (
            training_weights(np.arange(k), self.classes, class_weight, self.tally.weight) / self.tally.weight
        )
        self.sizes, self.used = self.division.sizes(self.tally.rows), self.division.sizes(self.tally.used)

    @contextmanager
    def _all_rows(self) -> Iterator[Session]:
        """Open the problem in which all rows of weight > 0 take part."""
        k = len(self.classes)
        session = Session(self.workers, Spec(0, REST, k, 1.0, np.ones(k), Hinge(), np.dtype(np.float64)))
        try:
            yield session
        finally:
            session.close()

    def _count(self, rows: np.ndarray) -> tuple[Tally, np.dtype]:
        """Return the rows of each class, and the precision that the kernel values of a round may have."""
        with self._all_rows() as session:
            counted = session.ask(Message("tally", options={"n_classes": len(self.classes)}))
            used, weight = (np.sum(values, axis=0) for values in zip(*counted, strict=True))
            return Tally(rows, used, weight), np.dtype(
                np.float32 if fits_float32_rows(session.bounds[1]) else np.float64
            )

    @property
    def is_complete(self) -> list[bool]:
        """False for each problem: kernel rows are not kept as a whole."""
        return [False] * len(self.pairs)

    def subproblem(self, k: int, *, shared: bool = True, complete: bool = False) -> ScatteredPair:
        """Return problem k for any C; the options are those of data in memory and change nothing."""
        a, b = self.pairs[k]
        return ScatteredPair(self.pose, k, self.division.name(k), a, b)

    def pose(self, a: int, b: int, C: float, loss: Loss) -> PairQP:
        """Open the problem of two classes on the workers, once the one before is closed.

        Parameters
        ----------
        a, b : int
            The codes of the classes, the second of which may be `REST`.
        C : float
            The weight of the summed losses.
        loss : Loss
            The loss.
        """
        self._let_go()
        spec = Spec(a, b, len(self.classes), C, self.class_weights, loss, self._dtype)
        self._open.append(PairQP(Session(self.workers, spec), parse_bytes(self.memory)))
        return self._open[-1]

    def _let_go(self) -> None:
        """Let the workers forget the rows of the open problem."""
        while self._open:
            self._open.pop().session.close()

    def close(self) -> None:
        """Let the workers forget all parts; the data cannot be trained on any more."""
        self._let_go()
        self.workers.end()

    def bind(self, checkpoint: Checkpoint, settings: Settings) -> None:
        """Tie a checkpoint to the contents of all parts, the problems and C."""
        kernel, weights = self.kernel, (settings.C * self.class_weights).tolist()
        checkpoint.bind_to(repr((self._digest, kernel.name, kernel.params, self.multiclass, weights)))

    def model(self, decisions: list[DecisionFunction], about: dict[str, Any]) -> tuple[SVMModel, np.ndarray]:
        """Join the decision functions of all problems into a model; arguments and result as for `TrainingData`."""
        self._let_go()
        own = [decision for decision in decisions if isinstance(decision, OwnRows) and decision.X is not None]
        X, codes = np.empty((0, self.workers.space.width)), np.empty(0, dtype=np.int64)
        wanted = codes
        if own:
            wanted, first = np.unique(np.concatenate([decision.rows for decision in own]), return_index=True)
            blocks = [decision.X for decision in own]
            X = (sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.concatenate(blocks))[first]
            codes = np.concatenate([decision.codes for decision in own])[first]
        placed = [DecisionFunction(d.coef, d.intercept, None, np.searchsorted(wanted, d.rows)) for d in decisions]
        parts = self.division.join(placed, codes, X.shape[1])
        model = SVMModel(
            kernel=self.kernel,
            classes=self.classes,
            vectors=X[parts.support],
            n_support=parts.n_support,
            coef=parts.coef,
            intercept=parts.intercept,
            n_features=self.n_features,
            preprocessing=self.preprocessing,
            multiclass=self.multiclass,
            about=about | {"n_samples": self.n_samples},
        )
        return model, wanted[parts.support]

    def scores(self, model: SVMModel) -> Scores:
        """Return what the predictions of a model are worth on the rows of weight > 0; the workers predict and count."""
        with self._all_rows() as session:
            counted = session.ask(Message("hits"), change=Change(model, np.empty(0)))
        rows, predicted, hits = np.sum(counted, axis=0)
        return Scores(self.classes, rows, predicted, hits)
