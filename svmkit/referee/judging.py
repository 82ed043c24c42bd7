"""`certify`: turns a model of any software and its training rows into a verdict."""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.data.prepare.features import as_features, require_finite
from svmkit.data.prepare.labels import as_labels, as_targets
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.errors import InputError, SvmkitError, one_line
from svmkit.kernels.functions import Precomputed
from svmkit.kernels.gram import parse_bytes
from svmkit.model.calibration import odds_calibration
from svmkit.model.model import SVMModel
from svmkit.model.objective import lacking_weights
from svmkit.model.scikit_learn import read_scaling
from svmkit.problems.base import DecisionFunction
from svmkit.referee import reading
from svmkit.referee.estimators import Rows
from svmkit.referee.foreign import Claim
from svmkit.referee.posed import Improved, Posed, pose_all
from svmkit.referee.statement import Given, describe_problem
from svmkit.referee.verdict import Ruling, Verdict
from svmkit.runtime import interrupt
from svmkit.scoring.accuracy import accuracy, comparable
from svmkit.tasks import task_named
from svmkit.training.division import DIVISIONS, Joined
from svmkit.training.weights import sample_weights

TOL = 1e-6  # gap that our solver proves unless another one is requested
SHARE = 0.1  # share of the requested gap that our own bound may take
LIMIT = 10.0  # seconds for our solver


def certify(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    tol: float | None = None,
    time_limit: float | None = LIMIT,
    memory: str | int = "1GB",
    polish: bool = False,
    **problem: Any,
) -> Verdict:
    """Judge a model of any software on its training rows: how far is it from the optimum of its own problem?

    P is the model's objective for the problem as posed by its software. The lower bound is the better of two: the one
    proven by its own dual weights, clipped to their bounds and made feasible, and the one proven by our solver within a
    limit.

    Parameters
    ----------
    estimator : object
        A fitted estimator of scikit-learn (SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR,
        LogisticRegression of two classes, SGDClassifier, SGDRegressor), scikit-learn-intelex, cuML, snapml or TorchKM,
        alone, at the end of a Pipeline or as the best estimator of a search; an estimator or a model of svmkit; the
        path of a model file of svmkit, LIBSVM or LIBLINEAR; or (kernel, vectors, coefficients, intercept) of one
        decision function.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The training rows, in the form given to the estimator or the pipeline. With a precomputed kernel the kernel
        matrix.
    y : array-like of shape (n_samples,), default=None
        Their labels or targets; None for one-class models.
    sample_weight : array-like of shape (n_samples,), default=None
        The sample weights of the training, without class weights; None is 1.
    tol : float, default=None
        The gap to prove; our solver works until its own part is a tenth of it. None is 1e-6.
    time_limit : float or None, default=10.0
        The time limit of our solver in seconds; 0 skips it, None sets no limit.
    memory : str or int, default="1GB"
        The memory limit for kernel rows.
    polish : bool, default=False
        Whether our solver continues to `tol` even if the model's own dual weights prove enough.
    **problem : object
        Facts that the model does not record, or records wrongly: C, loss, bias ("free", or the value of a column),
        class_weight, epsilon, nu.

    Returns
    -------
    Verdict
        The verdict; `polished` is the model with which our solver ended.

    Raises
    ------
    InputError
        The model is not supported, not finite, or does not fit the rows; labels are missing; C is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import LinearSVC
    >>> from svmkit import certify
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> verdict = certify(LinearSVC(tol=1e-8, max_iter=100000).fit(X, y), X, y)
    >>> verdict.problem, verdict.gap < 1e-6
    ('squared hinge, regularised bias, C=1, linear kernel', True)
    """
    if isinstance(estimator, str | os.PathLike):
        estimator = reading.read_file(estimator, n_features=np.shape(X)[1] if np.ndim(X) == 2 else None)
    limit = math.inf if time_limit is None else float(time_limit)
    if not limit >= 0.0 or (tol is not None and not tol > 0.0):
        raise InputError(f"time_limit must be >= 0 and tol > 0, not {time_limit} and {tol}")
    parse_bytes(memory)  # before any work: it is used after the model's own certificate
    court = _Court(estimator, Given(**_require_known(problem)), X, y, sample_weight)
    return court.judge(TOL if tol is None else float(tol), limit, memory, polish)


def _require_known(problem: dict[str, Any]) -> dict[str, Any]:
    known = Given.__dataclass_fields__
    for name in problem:
        if name not in known:
            raise InputError(f"certify has no option {name!r}; of the problem there are: {', '.join(known)}")
    return problem


class _Court:
    """A model, the rows, and the problems that they define."""

    def __init__(self, estimator: Any, given: Given, X: Any, y: Any, sample_weight: Any) -> None:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        self.weights = sample_weights(sample_weight, n)
        if y is not None and len(y) != n:
            raise InputError(f"X has {n:,} rows and y {len(y):,} labels: give one label for each row")
        step, prepare = reading.last_step(estimator)
        X = X if prepare is None else prepare(X)
        if isinstance(step, SVMModel):
            self.X = step.as_rows(X)
        else:
            self.X = as_features(X)
            require_finite(self.X)
        rows = Rows(self.X, None if y is None else np.asarray(y), None if sample_weight is None else self.weights)
        self.foreign = given.complete(reading.read(step, rows, given), rows)
        self.scaling = read_scaling(estimator) if prepare is not None and hasattr(estimator, "steps") else None
        self.is_prepared = prepare is not None
        model = self.foreign.model
        self.given_rows, self.notes = self.X, list(self.foreign.notes)
        if sample_weight is None and given.class_weight is None and (lacking := lacking_weights(model.about)):
            self.notes.append(lacking)
            words = self.foreign.claim.words
            self.foreign = replace(self.foreign, claim=Claim(None, words and f"{words}, with weights of its own"))
        if self.foreign.transform is not None:
            self.X = as_features(self.foreign.transform(self.X))
        if self.X.shape[1] != model.n_features:
            raise InputError(f"the model has {model.n_features:,} features, the rows have {self.X.shape[1]:,}")
        self.codes, self.targets = self._answers(y, n)
        self.rows = self.X if isinstance(model.kernel, Precomputed) else model.preprocessing.apply(self.X)

    def _answers(self, y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        model = self.foreign.model
        if model.finds_outliers:
            return np.ones(n, dtype=np.int64), np.empty(0)
        if y is None:
            raise InputError("a bound needs the labels or targets of the training rows: give y")
        if model.regresses:
            return np.zeros(n, dtype=np.int64), as_targets(y, n_samples=n)
        labels, classes = comparable(as_labels(y, n_samples=n), model.classes)
        place = {label: code for code, label in enumerate(classes.tolist())}
        codes = np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.int64)
        if (codes < 0).any():
            unknown = labels.tolist()[int(np.argmin(codes))]
            raise InputError(f"y holds {unknown!r}, which is none of the model's classes")
        missing = np.flatnonzero(np.bincount(codes[self.weights > 0.0], minlength=len(classes)) == 0)
        if missing.size:
            raise InputError(
                f"no row has the class {classes.tolist()[missing[0]]!r}: a bound needs the rows of the training"
            )
        return codes, np.empty(0)

    def judge(self, tol: float, limit: float, memory: str | int, polish: bool) -> Verdict:
        """Return the verdict.

        Parameters
        ----------
        tol, limit, memory, polish : float, float, str or int, bool
            As for `certify`, with all values given; no limit is infinity.
        """
        foreign = self.foreign
        posed = pose_all(foreign, self.rows, self.codes, self.targets, self.weights)
        rulings, decisions, budget = [], [], _Budget(limit, [one.rows.size for one in posed])
        goal = SHARE * tol if not polish else min(tol, TOL)
        for one in posed:
            own, improved = one.certificate(), None
            wanted = polish or own.gap is None or own.gap > tol
            seconds = budget.share(one.rows.size)
            if wanted and seconds > 0.0 and not interrupt.asked():
                improved = self._improve(one, goal, seconds, memory)
            rulings.append(_rule(one, own, improved))
            decisions.append(_choose(one, own, improved))
        self._note_vectors(posed)
        polished = self._assemble(decisions, rulings)
        measure, score = self._score()
        of_polished = None if polished is None else self._measure(polished.predict(self.X))
        if polished is not None and self.scaling is not None:
            polished = replace(polished, preprocessing=Preprocessing(scaling=self.scaling))
        elif polished is not None and self.is_prepared:
            self.notes.append("the polished model takes rows as the last step of the pipeline takes them")
        statement = describe_problem(foreign, posed)
        verdict = foreign.software, statement, rulings, foreign.claim, foreign.unit, measure, score, of_polished
        return Verdict(*verdict, model=foreign.model, polished=polished, notes=self.notes)

    def _improve(self, posed: Posed, goal: float, seconds: float, memory: str | int) -> Improved | None:
        try:
            return posed.improve(goal, seconds, memory)
        except SvmkitError as error:
            self.notes.append(f"{posed.name}: our solver failed: {one_line(error)}")
            return None

    def _note_vectors(self, posed: list[Posed]) -> None:
        """Note that vectors are not among the rows, if coefficients would be dual weights otherwise."""
        model = self.foreign.model
        lost, n_vectors = {int((one.at < 0).sum()) for one in posed}, sum(one.at.size for one in posed)
        if max(lost, default=0) and n_vectors and model.kernel.name != "linear":
            self.notes.append(
                f"{max(lost):,} of its vectors are not among these rows: its coefficients prove no bound; are these "
                "the rows of the training?"
            )

    def _score(self) -> tuple[str, float | None]:
        model, foreign = replace(self.foreign.model, calibration=None), self.foreign
        name = "rmse" if model.regresses else "outliers" if model.finds_outliers else "accuracy"
        by_coefficients = model.predict(self.X)
        if foreign.predict is None:
            return name, self._measure(by_coefficients)
        predicted = np.asarray(foreign.predict(self.given_rows)).ravel()
        if not model.regresses:
            ours, theirs = comparable(by_coefficients, predicted)
            if differ := int(((ours != theirs) & ~self._ties(model, theirs)).sum()):
                self.notes.append(f"its own predictions differ from those of its coefficients in {differ:,} rows")
        return name, self._measure(predicted)

    def _ties(self, model: SVMModel, predicted: np.ndarray) -> np.ndarray:
        """Return whether the class predicted for a row has as many votes as the first one, bool (n,)."""
        if model.finds_outliers or model.has_class_scores or len(model.classes) <= 2:
            return np.zeros(len(predicted), dtype=bool)
        votes = np.rint(model.scores(model.decision_function(self.X)))
        classes = comparable(model.classes, predicted)[0].tolist()
        at = np.array([classes.index(label) if label in classes else -1 for label in predicted.tolist()])
        return (at >= 0) & (votes[np.arange(len(at)), at] == votes.max(axis=1))

    def _measure(self, predicted: np.ndarray) -> float:
        model = self.foreign.model
        if model.regresses:
            return float(np.sqrt(np.mean(np.square(predicted.astype(np.float64) - self.targets))))
        if model.finds_outliers:
            return float((predicted == -1).mean())
        return accuracy(predicted, model.classes[self.codes])

    def _assemble(self, decisions: list[DecisionFunction | None], rulings: list[Ruling]) -> SVMModel | None:
        """Return the model of these decision functions, on rows in the form of the last step."""
        foreign, model = self.foreign, self.foreign.model
        known = [decision for decision in decisions if decision is not None]
        if len(known) < len(decisions):
            return None
        division = DIVISIONS[task_named(model.task).division(model.multiclass, len(model.classes))](model.classes)
        joined: Joined = division.join(known, self.codes, self.rows.shape[1])
        at = joined.support
        vectors = joined.weights
        if vectors is None:
            vectors = at if isinstance(model.kernel, Precomputed) else self.rows[at]
        gaps = [one.gap for one in (ruling.polished or ruling.own for ruling in rulings)]
        about: dict[str, Any] = {"solver": "auto", "polished_from": foreign.software, "n_samples": len(self.codes)}
        about |= {"gap": max(gaps)} if None not in gaps else {}  # type: ignore[type-var]
        has_odds = foreign.objective is not None and foreign.objective.loss.is_likelihood
        return replace(
            model,
            vectors=vectors,
            n_support=joined.n_support,
            coef=joined.coef,
            intercept=joined.intercept,
            calibration=odds_calibration(len(joined.intercept)) if has_odds else None,
            about=about | foreign.described,
        )


class _Budget:
    """Seconds shared by problems in their order, in proportion to their rows."""

    def __init__(self, seconds: float, sizes: list[int]) -> None:
        self.end, self.limited = time.monotonic() + seconds, seconds < math.inf
        self.left = float(sum(sizes))

    def share(self, size: int) -> float:
        """Return the seconds for the next problem, with this number of rows."""
        if not self.limited:
            return math.inf
        seconds = max(self.end - time.monotonic(), 0.0) * size / max(self.left, 1.0)
        self.left -= size
        return seconds


def _rule(posed: Posed, own: Any, improved: Improved | None) -> Ruling:
    if improved is None:
        return Ruling(posed.name, posed.rows.size, own)
    given = posed.name, posed.rows.size, own, improved.certificate, str(improved.status), improved.seconds
    return Ruling(*given)


def _choose(posed: Posed, own: Any, improved: Improved | None) -> DecisionFunction | None:
    """Return our decision function if its P is lower."""
    if improved is not None and not own.primal < improved.certificate.primal:
        return improved.decision
    return posed.decision
