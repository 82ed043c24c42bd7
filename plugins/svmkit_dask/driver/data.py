"""ScatteredData: training data whose rows stay on the workers, in the form that `svmkit.training` takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import Features as Rows
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.errors import InputError
from svmkit.kernels.extent import fits_float32_rows
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import parse_bytes
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs, pair_classes
from svmkit.problems.base import DecisionFunction
from svmkit.problems.certificate import Certificate
from svmkit.problems.loss import Loss
from svmkit.scoring.scores import Scores
from svmkit.solver.base import Solver
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.class_pair import REST, require_multiclass
from svmkit.training.joined import joined
from svmkit.training.weights import training_weights
from svmkit_dask.driver.problem import Point, ScatteredQP
from svmkit_dask.driver.session import Session, Workers
from svmkit_dask.parts.summary import Summary
from svmkit_dask.worker.answers import Message
from svmkit_dask.worker.rows import Change, Spec

NO_ROWS = np.empty(0, dtype=np.int64)


class Vectors(NamedTuple):
    """Support vectors of one problem: the numbers of their rows, ascending, their features and their classes."""

    numbers: np.ndarray
    X: Any
    codes: np.ndarray


def gathered(found: list[Vectors], wanted: np.ndarray, width: int) -> tuple[Any, np.ndarray]:
    """Return the features (n, width) and the classes (n,) of the rows with these numbers, ascending."""
    if not len(wanted):
        return np.empty((0, width)), NO_ROWS
    numbers = np.concatenate([vectors.numbers for vectors in found])
    _, first = np.unique(numbers, return_index=True)
    at = first[np.searchsorted(numbers[first], wanted)]
    blocks = [vectors.X for vectors in found]
    X = sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.concatenate(blocks)
    return X[at], np.concatenate([vectors.codes for vectors in found])[at]


class ScatteredPair:
    """One of the problems of scattered data, for every C; a `svmkit.training.class_pair.ClassPair` without its rows.

    Parameters
    ----------
    pose : callable
        Opens the problem of two classes: pose(a, b, C, loss).
    k, name, a, b : int, str, int, int
        As the attributes.

    Attributes
    ----------
    k : int
        The number of the problem, from 0.
    name : str
        "a vs b", with the labels of the two classes, or "a vs rest".
    a, b : int
        The codes of the two classes, where b may be `REST`.
    rows : ndarray
        Empty: a decision function on a cluster knows its rows.
    """

    rows = NO_ROWS

    def __init__(self, pose: Pose, k: int, name: str, a: int, b: int) -> None:
        self.k, self.name, self.a, self.b = k, name, a, b
        self._pose = pose
        self._problem: PairQP | None = None

    @property
    def gram(self) -> Any:
        """What has counted kernel values so far."""
        return self if self._problem is None else self._problem.gram

    kernel_values = 0

    def problem(self, solver: Solver, C: float) -> PairQP:
        """Return the problem that `solver` solves for this C."""
        loss = getattr(solver, "loss", None)
        if ScatteredQP not in solver.further or loss is None:
            raise InputError(f"solver {solver.name} needs all rows in one place: on a cluster, take dfcsmo")
        self._problem = self._pose(self.a, self.b, C, Loss(loss))
        return self._problem


class PairQP(ScatteredQP):
    """The problem of two classes, which keeps the features of its support vectors once it is solved.

    Parameters
    ----------
    session, budget : Session, int
        As for `ScatteredQP`.
    found : list of Vectors
        Where support vectors are kept.
    """

    def __init__(self, session: Session, budget: int, found: list[Vectors]) -> None:
        super().__init__(session, budget)
        self._found = found

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        decision, numbers = super().decision_function(point, certificate), Point.from_array(point).numbers
        if len(numbers):
            slots = self.candidates.slots(numbers)
            self._found.append(Vectors(numbers, self.candidates.X[slots], self.candidates.codes[slots]))
        return OwnRows(decision.coef, decision.intercept, None, numbers)


class OwnRows(DecisionFunction):
    """A decision function whose rows are those of all parts."""

    def restrict(self, rows: np.ndarray) -> DecisionFunction:
        support = np.flatnonzero(self.coef)
        assert self.rows is not None
        return DecisionFunction(self.coef[support], self.intercept, None, self.rows[support])


Pose = Callable[[int, int, float, Loss], PairQP]


class Tally(NamedTuple):
    """The rows of each class, by number and by weight."""

    rows: np.ndarray  # int64 (n_classes,): the number of rows
    used: np.ndarray  # int64 (n_classes,): the number of rows of weight > 0
    weight: np.ndarray  # float64 (n_classes,): the sum of the weights of the rows


@dataclass(frozen=True, eq=False)
class ScatteredData:
    """Training data on a crew, ready for dfcsmo and any C; a `svmkit.training.data.TrainingData` without its rows.

    Parameters
    ----------
    crew : Crew
        Holds the parts; its space has the resolved kernel.
    dealt : Dealt
        What the parts make up together.
    few : callable
        Returns the first rows of the first part, as many as it is asked for, and their labels.
    class_weight : {"balanced"} or dict of label to float, default=None
        As for `svmkit.fit`.
    multiclass : {"ovo", "ovr"}, default="ovo"
        As for `svmkit.fit`.
    memory : str or int, default="1GB"
        The budget of the driver for the matrix of its working set.

    Raises
    ------
    InputError
        There is one class only, or an option cannot be used on a cluster.
    """

    task = "classify"
    epsilon = 0.0

    workers: Workers
    dealt: Summary
    few: Callable[[int], tuple[Rows, np.ndarray]]
    class_weight: Any = None
    multiclass: str = "ovo"
    memory: str | int = "1GB"
    _open: list[PairQP] = field(default_factory=list, repr=False)
    _found: list[Vectors] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if self.multiclass == "crammer_singer":
            raise InputError("multiclass=crammer_singer is not available on a cluster; there are: ovo, ovr")
        require_multiclass(self.multiclass, self.task, self.kernel)
        parse_bytes(self.memory)
        if len(self.classes) == 2:
            object.__setattr__(self, "multiclass", "ovo")  # the same problem
        none = np.flatnonzero(self.tally.used == 0)
        if len(none):
            raise InputError(
                f"sample weights are zero for all of class {self.classes[none[0]]}: training needs every class"
            )

    @property
    def classes(self) -> np.ndarray:
        """The labels in ascending order."""
        return self.dealt.classes

    @property
    def n_features(self) -> int:
        """The number of columns before preprocessing."""
        return self.dealt.n_features

    @property
    def n_parts(self) -> int:
        """The number of parts that have rows."""
        return self.workers.n_parts

    @property
    def encoding(self) -> Encoding | None:
        """How the columns of the parts became features, of tables."""
        return self.dealt.encoding

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of the parts."""
        return self.dealt.notes

    @property
    def quantity(self) -> str | None:
        """Why the labels look like a quantity; None if they do not."""
        return self.dealt.quantity

    @property
    def preprocessing(self) -> Preprocessing:
        """The scaling of all rows."""
        return self.workers.space.preprocessing or Preprocessing()

    @property
    def kernel(self) -> Kernel:
        """The kernel with all its parameters resolved on the rows of all parts."""
        return self.workers.space.kernel

    @property
    def n_samples(self) -> int:
        """The number of rows of all parts."""
        return int(self.workers.offsets[-1])

    # what is known of all rows

    def _of_all(self, dtype=np.float64) -> Session:
        """Open the problem in which all rows of weight > 0 take part."""
        spec = Spec(0, REST, len(self.classes), 1.0, np.ones(len(self.classes)), Loss.HINGE, np.dtype(dtype))
        return Session(self.workers, spec)

    @cached_property
    def _counted(self) -> tuple[Tally, np.dtype]:
        """The rows of each class, and the precision that the kernel values of a round may have."""
        session = self._of_all()
        try:
            found = session.ask(Message("tally", options={"n_classes": len(self.classes)}))
            used, weight = (np.sum(values, axis=0) for values in zip(*found, strict=True))
            narrow = fits_float32_rows(session.bounds[1])
        finally:
            session.close()
        return Tally(self.dealt.class_counts, used, weight), np.dtype(np.float32 if narrow else np.float64)

    @property
    def tally(self) -> Tally:
        """The rows of each class."""
        return self._counted[0]

    @cached_property
    def class_weights(self) -> np.ndarray:
        """The weight of each class, float64 (n_classes,)."""
        codes, sums = np.arange(len(self.classes)), self.tally.weight
        return training_weights(codes, self.classes, self.class_weight, sums) / sums

    # the problems

    @property
    def has_class_pairs(self) -> bool:
        """Whether each problem is that of two classes."""
        return self.multiclass == "ovo"

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The codes of the two classes of each problem, the second of which may be `REST`."""
        k = len(self.classes)
        return class_pairs(k) if self.has_class_pairs else [(c, REST) for c in range(k)]

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of samples of each problem, samples of weight 0 included: int64, shape (n_pairs,)."""
        return self._sizes(self.tally.rows)

    @property
    def used(self) -> np.ndarray:
        """The number of samples of each problem, without samples of weight 0: int64, shape (n_pairs,)."""
        return self._sizes(self.tally.used)

    def _sizes(self, counts: np.ndarray) -> np.ndarray:
        if not self.has_class_pairs:
            return np.full(len(self.pairs), counts.sum())
        a, b = pair_classes(len(self.classes))
        return counts[a] + counts[b]

    @property
    def is_complete(self) -> list[bool]:
        """False for each problem: kernel rows are not kept as a whole."""
        return [False] * len(self.pairs)

    def pair(self, k: int, *, shared: bool = True, complete: bool = False) -> ScatteredPair:
        """Return problem k for any C; the options are those of data in memory and change nothing."""
        a, b = self.pairs[k]
        return ScatteredPair(self.pose, k, f"{self.classes[a]} vs {'rest' if b == REST else self.classes[b]}", a, b)

    def pose(self, a: int, b: int, C: float, loss: Loss) -> PairQP:
        """Open the problem of two classes on the crew, once the one before is closed."""
        self._let_go()
        spec = Spec(a, b, len(self.classes), C, self.class_weights, loss, self._counted[1])
        problem = PairQP(Session(self.workers, spec), parse_bytes(self.memory), self._found)
        self._open.append(problem)
        return problem

    def _let_go(self) -> None:
        """Let the workers forget the rows of the open problem."""
        while self._open:
            self._open.pop().session.close()

    def close(self) -> None:
        """Let the workers forget all parts; the data cannot be trained on any more."""
        self._let_go()
        self.workers.end()

    def bind(self, checkpoint: Checkpoint, C: float, nu: float | None = None) -> None:
        """Tie a checkpoint to the contents of all parts, the problems and C."""
        kernel, weights = self.kernel, (C * self.class_weights).tolist()
        checkpoint.bind_to(repr((self.dealt.digest, kernel.name, kernel.params, self.multiclass, weights)))

    # the model

    def model(self, decisions: list[DecisionFunction], about: dict[str, Any]) -> tuple[SVMModel, np.ndarray]:
        """Join the decision functions of all problems into a model; arguments and result as for `TrainingData`."""
        self._let_go()
        wanted = np.unique(np.concatenate([d.rows for d in decisions if d.rows is not None]))
        X, codes = gathered(self._found, wanted, self.workers.space.width)
        own = [DecisionFunction(d.coef, d.intercept, None, np.searchsorted(wanted, d.rows)) for d in decisions]
        parts = joined(own, codes, len(self.classes), X.shape[1], class_pairs=self.has_class_pairs)
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
        session = self._of_all()
        try:
            found = session.ask(Message("hits"), change=Change(model, np.empty(0)))
        finally:
            session.close()
        rows, predicted, hits = np.sum(found, axis=0)
        return Scores(self.classes, rows, predicted, hits)
