"""The fits of a search in one fold: for each C of a path a model from the last solution, on shared kernel rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from svmkit.cluster import here
from svmkit.kernels.engines import engine_for, on_device
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import Precomputed
from svmkit.model.model import SVMModel
from svmkit.runtime import threads
from svmkit.scoring.metric import OF_PROBABILITIES, Metric, predict_with_scores
from svmkit.scoring.probability_scores import ProbabilityScores
from svmkit.solver.solution import Status
from svmkit.tasks import Task
from svmkit.training.callbacks import as_callbacks
from svmkit.training.data import TrainingData
from svmkit.training.path import path_prepared
from svmkit.training.result import Fit
from svmkit.training.settings import Method, Settings, resolve
from svmkit.training.train import fit_prepared
from svmkit.tune.ranking import Carried, carry_on, is_ranked
from svmkit.tune.records import Records
from svmkit.tune.result import FACTS
from svmkit.tune.space import ALL, Path

MANY = 100  # number of class pairs above which solving them one by one takes longer than all at once
QUIET = np.errstate(all="ignore")  # an overflow is refused with a reason; a warning from each worker would add nothing


@dataclass(frozen=True)
class Training:
    """The settings that all candidates share."""

    width: int  # the largest number of values of C on a path
    folder: str  # the folder of the `Records`
    metric: Metric
    settings: Settings  # each path has its own solver and kernel
    task: Task
    flags: np.ndarray | None  # as for `svmkit.fit`
    refine: str = ALL  # which candidates with hard fits are solved to the requested gap

    @property
    def has_one_label(self) -> bool:
        """Whether each row has one label, and not a target or several labels."""
        return not (self.task.has_targets or self.task.has_labels)

    @property
    def threads(self) -> int:
        """The number of threads in the settings, or of the process if that is smaller; on a cluster, of the worker."""
        at, given = here(), self.settings.n_threads or 1
        return min(given if at is None else at.threads, threads.most())


class PathEstimator(BaseEstimator):
    """A fit for each C of a path, given the settings that all candidates share."""

    def __init__(self, path: Path | None = None, training: Training | None = None) -> None:
        self.path = path
        self.training = training

    @QUIET
    def fit(self, X, y, sample_weight=None) -> PathEstimator:
        """Train the models of the path; raise KeyboardInterrupt once the search has ended.

        Parameters
        ----------
        X, y, sample_weight : ndarray or CSR of shape (n_samples, n_features), ndarray of shape (n_samples,)
            The samples, their labels or targets, and their weights.
        """
        assert self.path is not None and self.training is not None
        self.fits_: list[Carried | None] = []  # None for a C whose training fails
        self.reasons_: dict[int, str] = {}  # why, by the position of C
        try:
            self.fits_ += self._fits(X, y, self.path.Cs, sample_weight)
        except Exception:  # one C may be the cause: each C is fitted alone
            for i, C in enumerate(self.path.Cs):
                try:
                    self.fits_ += self._fits(X, y, (C,), sample_weight)
                except Exception as error:
                    self.fits_.append(None)
                    self.reasons_[i] = reason(error)
        self.n_samples_ = X.shape[0]
        return self

    def _fits(self, X, y, Cs: tuple[float, ...], weights: np.ndarray | None) -> list[Carried]:
        path, t = self.path, self.training
        assert path is not None and t is not None
        records, own = Records(t.folder), path.settings
        settings = replace(t.settings, solver=path.solver, kernel=path.kernel, n_threads=t.threads, **own)
        method = resolve(settings, t.task)
        data = TrainingData.prepare(X, y, method, sample_weight=weights, flags=t.flags)
        watch = as_callbacks(lambda k, n_problems, name: [lambda point: records.stopped])
        if len(data.pairs) > MANY and all(data.is_complete):  # compiled code trains many small problems at once
            fits = [_fit_at_once(data, replace(method, settings=replace(settings, C=C)), records) for C in Cs]
        else:
            fits = path_prepared(data, Cs, method, callbacks=watch)
        ranked = is_ranked(data, t.metric, method)
        with on_device(settings.device), threads.using(t.threads):
            carried = [
                carry_on(fitted, data, C, method, watch) if ranked else Carried(fitted, fitted.n_iter)
                for fitted, C in zip(fits, Cs, strict=True)
            ]
        if any(one.fit.status is Status.INTERRUPTED for one in carried):
            raise KeyboardInterrupt
        return carried

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.path is not None and isinstance(self.path.kernel, Precomputed)
        return tags


class PathClassifier(ClassifierMixin, PathEstimator):
    """Classifiers of a path."""

    def fit(self, X, y, sample_weight=None) -> PathEstimator:
        """As `PathEstimator.fit`; scikit-learn asks classifiers for their classes.

        Parameters
        ----------
        X, y, sample_weight : ndarray or CSR of shape (n_samples, n_features), ndarray of shape (n_samples,)
            As for `PathEstimator.fit`.
        """
        self.classes_ = np.unique(y)
        return super().fit(X, y, sample_weight)


class PathRegressor(RegressorMixin, PathEstimator):
    """Regression functions of a path."""


@QUIET
def score(estimator: PathEstimator, X, y) -> dict[str, float]:
    """The `FACTS` of each C on held-out samples, as the scores of scikit-learn's search; they go to records, too."""
    assert estimator.training is not None
    with on_device(estimator.training.settings.device):
        return _score(estimator, X, y)


def _score(estimator: PathEstimator, X, y) -> dict[str, float]:
    """As `score`, on the device of the process."""
    path, training = estimator.path, estimator.training
    assert path is not None and training is not None
    # of the i-th C; nan stays beyond the last C and where a fit failed
    found = {f"{fact}_{i}": math.nan for fact in FACTS for i in range(training.width)}
    reasons, metric = dict(estimator.reasons_), training.metric
    trained = [one.fit for one in estimator.fits_ if one is not None]
    try:
        together = decisions(trained, X, training.threads)
    except Exception:  # one model may be the cause: each decides separately
        together = None
    truth, shared = metric.codes(y), iter(() if together is None else together)
    is_regression = not training.has_one_label
    rows = None if is_regression else np.bincount(truth, minlength=len(metric.classes))
    for i, one in enumerate(estimator.fits_):
        if one is None:
            continue
        fitted = one.fit
        try:
            predicted, decision = _predict(fitted.model, X, next(shared, None), training)
            likely = _score_probabilities(fitted.model, X, y, training)
        except Exception as error:
            reasons[i] = reason(error)
            continue
        codes = metric.codes(predicted)
        facts = (
            math.nan if is_regression else float((codes == truth).mean()),
            metric.value(truth, codes, decision, rows) if likely is None else likely,
            fitted.seconds,
            one.n_iter,
            fitted.kernel_values,
            len(fitted.support),
            fitted.status is Status.CONVERGED,
            one.determined,
            one.tol,
            math.inf if fitted.gap is None else fitted.gap,
        )
        found |= {f"{fact}_{i}": float(value) for fact, value in zip(FACTS, facts, strict=True)}
    known = [found[f"metric_{i}"] for i in range(training.width) if not math.isnan(found[f"metric_{i}"])]
    found["score"] = max(known, default=math.nan)  # the best metric
    record = {"path": path.number, "n_rows": estimator.n_samples_ + X.shape[0], "n_fits": len(path.Cs), "scores": found}
    Records(training.folder).add(record | {"reasons": {str(i): text for i, text in reasons.items()}})
    return found


def decisions(fits: Sequence[Fit], X, n_threads: int) -> np.ndarray | None:
    """Return the raw decisions (n_fits, n) of the models of a path on held-out samples X (n, d), by one product.

    The models were trained on the same samples with one kernel and one preprocessing, for different C. The result is
    None if each model had better decide separately: for a single fit, for linear models, whose predictions are cheap,
    for several outputs or more than two classes, whose models share kernel values among their functions, and if a
    decision is not finite.
    """
    if (
        len(fits) < 2
        or len(fits[0].model.classes) > 2
        or fits[0].model.outputs
        or fits[0].model.kernel.name == "linear"
    ):
        return None
    model, every = fits[0].model, np.concatenate([fitted.support for fitted in fits])
    rows, first = np.unique(every, return_index=True)
    parts = [fitted.model.vectors for fitted in fits]
    stacked = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
    vectors, coef = stacked[first], np.zeros((len(rows), len(fits)))
    for k, fitted in enumerate(fits):
        at = np.searchsorted(rows, fitted.support)
        coef[at, k] = fitted.model.machine.coefficients[:, 0]
    X = model.preprocessing.apply(X)
    with threads.using(n_threads):
        found = engine_for(model.kernel, X, Extent.measure(model.kernel, vectors)).product(vectors, coef)
    found += np.array([fitted.model.intercept[0] for fitted in fits])
    return found.T if np.isfinite(found).all() else None


def _predict(
    model: SVMModel, X, decision: np.ndarray | None, training: Training
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return labels, and decisions in the metric's form if it needs any; `decision` has known ones of two classes."""
    if not training.has_one_label:
        return (model.predict(X, n_threads=training.threads) if decision is None else decision), None
    needed = training.metric.needs_decisions
    if decision is None and not needed:
        return model.predict(X, n_threads=training.threads), None
    labels, decision = (
        predict_with_scores(model, X, training.threads) if decision is None else (model.labels(decision), decision)
    )
    return labels, training.metric.by_class(model, decision) if needed else None


def predict_rows(
    one: Carried, X, training: Training
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None, dict[str, float]]:
    """Return the predictions of a fit for held-out rows: codes or quantities, decisions and probabilities if the metric
    needs them, and the `FACTS` of the fit except accuracy and metric.

    Parameters
    ----------
    one, X, training : Carried, ndarray or CSR of shape (n, d), Training
        The fit, the rows, and the settings of all fits.
    """
    fitted, metric = one.fit, training.metric
    predicted, decision = _predict(fitted.model, X, None, training)
    is_likely = metric.name in OF_PROBABILITIES
    likely = fitted.model.predict_proba(X, n_threads=training.threads) if is_likely else None
    counts = fitted.seconds, one.n_iter, fitted.kernel_values, len(fitted.support)
    values = (*counts, fitted.status is Status.CONVERGED, one.determined, one.tol, math.nan)
    return metric.codes(predicted), decision, likely, dict(zip(FACTS[2:], values, strict=True))


def _score_probabilities(model: SVMModel, X, y, training: Training) -> float | None:
    """Return the metric of the probabilities that follow from a model's loss; None if it needs no probabilities."""
    if training.metric.name not in OF_PROBABILITIES:
        return None
    likely = model.predict_proba(X, n_threads=training.threads)
    return training.metric.score_probabilities(ProbabilityScores.from_predictions(likely, model.classes, y))


def _fit_at_once(data: TrainingData, method: Method, records: Records) -> Fit:
    """Train without callbacks, which compiled code for many problems does not call, unless the search has ended."""
    if records.stopped:
        raise KeyboardInterrupt
    return fit_prepared(data, method)


def reason(error: BaseException) -> str:
    """Return an error in one line, with its type unless the error is svmkit's own."""
    text = " ".join(str(error).split())
    if text and type(error).__module__.startswith("svmkit"):
        return text
    return f"{type(error).__name__}: {text}".rstrip(": ")
