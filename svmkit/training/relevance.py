"""Learnt relevance: weights of the columns from the gradients of the decision functions, used if they help.

A round trains a model, and multiplies the weight of each column by the square root of the root mean square of dh/dx_j:
halfway, on a logarithmic scale, to the weights of Radhakrishnan et al. Weights are scaled so that the mean squared
distance, and so the meaning of gamma, is preserved. Rounds are compared by cross-validation in which every fold learns
its own weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.data.prepare.features import is_sparse
from svmkit.errors import InputError
from svmkit.kernels.forms import Argument
from svmkit.kernels.gradient import point_cost, square_gradients
from svmkit.runtime import interrupt
from svmkit.scoring.metric import OF_PROBABILITIES, Metric
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Seconds
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.computation import computation
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit
from svmkit.training.settings import Method
from svmkit.training.splits import make_splits, require_classes

ROUNDS, FOLDS = 3, 3
MOST = 10_000  # samples from which weights are learnt, at most
POINTS = 300, 2_000  # fewest and most samples at which gradients are taken
WORK = 1e9  # multiplications that the gradients may take beyond the fewest points
LEAST = 1e-6  # share of the largest weight below which a column plays no part
SHARE = 0.5  # of a limit in seconds that learning the weights may take

Train = Callable[..., Fit]
"""`svmkit.training.train.fit_prepared`."""


def train_with_relevance(
    train: Train,
    data: TrainingData,
    method: Method,
    *,
    metric: Metric | None = None,
    checkpoint: Checkpoint | None = None,
    **given: Any,
) -> Fit:
    """Train with weights of the columns, which are 1 unless cross-validation finds learnt weights better.

    A limit in seconds is shared: learning may take half of it. Ctrl-C ends the learning, and the model of the best
    round so far is trained; a second Ctrl-C ends this training, with the best model so far. A checkpoint keeps the
    weights, so that resumed training does not learn them again.

    Parameters
    ----------
    train : callable
        train(data, method) trains a model.
    data, method : TrainingData, Method
        The samples with columns of weight 1, the solver and the settings; InputError is raised for a class of fewer
        samples than folds.
    metric : Metric, default=None
        The metric by which rounds are compared; None is R2 or accuracy, or balanced accuracy if that suits the classes.
    checkpoint, **given : Checkpoint, object
        Options of the training of the model.

    Returns
    -------
    Fit
        The result, certified for the chosen weights. The entry "relevance" of its model has the round, 0 for columns of
        weight 1, and the mean scores of all rounds in the folds.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin: Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models. Science 383, 2024. xRFM uses the same diagonal.
    """
    began, settings = time.perf_counter(), method.settings
    limit = settings.rules.least(Seconds)
    plain = replace(method, settings=replace(settings, relevance=None))
    kept = None if checkpoint is None else _read_notes(checkpoint, data)
    if kept is None:
        alone = replace(plain, settings=replace(plain.settings, calibration=None, thresholds=False))
        learner = Learner(train, data, alone, metric, began + SHARE * limit)
        with computation(settings) as flag:
            kept = learner.learn(flag)
            interrupted, values = bool(flag) or learner.interrupted, learner.kernel_values
            flag.raised = False  # the signal is handled: another one ends the training of the model
    else:
        interrupted, values = False, 0
    if checkpoint is not None:
        checkpoint.notes["relevance"] = kept
    if kept["weights"] is not None:
        data = data.weigh(np.array(kept["weights"]))
    seconds = time.perf_counter() - began
    fitted = train(data, plain.limit(limit - seconds), metric=metric, checkpoint=checkpoint, **given)
    facts = {key: value for key, value in kept.items() if key != "weights"} | {"seconds": seconds}
    model = replace(fitted.model, about=fitted.model.about | {"relevance": facts})
    if interrupted:
        ended = [replace(solution, status=Status.INTERRUPTED) for solution in fitted.solutions]
        fitted = replace(fitted, solutions=ended)
    return replace(fitted, model=model, seconds=fitted.seconds + seconds, kernel_values=fitted.kernel_values + values)


def _read_notes(checkpoint: Checkpoint, data: TrainingData) -> dict[str, Any] | None:
    """Return the result of `Learner.learn` that the checkpoint holds; None without one."""
    kept = checkpoint.notes.get("relevance")
    if kept is None:
        return None
    try:
        weights = np.array([1.0] if kept["weights"] is None else kept["weights"], dtype=np.float64)
        usable = bool((weights > 0.0).all() and np.isfinite(weights).all())
    except (KeyError, TypeError, ValueError):
        usable = False
    if not usable or (kept["weights"] is not None and weights.shape != data.X.shape[1:]):
        raise InputError(
            f"checkpoint {checkpoint.path} keeps weights of other columns, or is damaged: train without --resume"
        )
    return kept


class Learner:
    """Learns weights of the columns in each fold and compares the rounds, then learns the weights on all samples."""

    def __init__(self, train: Train, data: TrainingData, method: Method, metric: Metric | None, end: float) -> None:
        if metric is None or metric.name in OF_PROBABILITIES:
            metric = method.metric(None, data.classes, data.codes)
        self.train, self.method, self.metric, self.end = train, method, metric, end
        self.rng = np.random.default_rng(method.settings.seed)
        fold = draw_folds(data, self.rng)
        rows = np.flatnonzero(fold >= 0)
        self.data, self.fold = data if len(rows) == len(fold) else data.take(rows), fold[rows]
        self.kernel_values, self.interrupted = 0, False

    def learn(self, flag: interrupt.Flag) -> dict[str, Any]:
        """Return the weights of the chosen round, None for columns of weight 1, and facts about them for the model."""
        scores = self.compare(flag)
        best = choose(scores)
        self.interrupted |= bool(flag)
        weights, done = None, 0
        while done < best and not self.interrupted:
            following = self._round(self.data, weights)[1]
            if following is None:
                break
            weights, done = following, done + 1
        means = [float(mean) for mean in scores.mean(axis=1)] if len(scores) else []
        about = {"round": done, "scores": means, "folds": FOLDS, "metric": self.metric.name}
        return about | {"weights": None if weights is None else weights.tolist()}

    def compare(self, flag: interrupt.Flag) -> np.ndarray:
        """Return the scores of the finished rounds in all folds (n_rounds, n_folds), starting with round 0."""
        parts = [self.data.without(self.fold == k) for k in range(FOLDS)]
        weights: list[np.ndarray | None] = [None] * FOLDS
        scores: list[list[float]] = []
        for _ in range(ROUNDS + 1):
            row = []
            for k, part in enumerate(parts):
                score, following = self._round(part, weights[k], self.fold == k)
                if score is None or flag:
                    return np.array(scores).reshape(-1, FOLDS)
                row.append(score)
                weights[k] = weights[k] if following is None else following
            scores.append(row)
        return np.array(scores)

    def _round(
        self, part: TrainingData, weights: np.ndarray | None, held: np.ndarray | None = None
    ) -> tuple[float | None, np.ndarray | None]:
        """Train with given weights; return the score on the samples `held`, and the weights of the next round.

        Both are None once a limit or a signal has ended the training; the weights are None if all gradients are 0.
        """
        weighed, left = part if weights is None else part.weigh(weights), self.end - time.perf_counter()
        if left <= 0.0:
            return None, None
        fitted = self.train(weighed, self.method.limit(left))
        self.kernel_values += fitted.kernel_values
        self.interrupted |= fitted.status is Status.INTERRUPTED
        if fitted.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
            return None, None
        following = self._next(part, weights, fitted)
        if held is None:
            return None, following
        labels = self.data.answers.values[held]
        score = self.metric.score_model(fitted.model, self.data.raw[np.flatnonzero(held)], labels)
        return -np.inf if score is None else score, following

    def _next(self, part: TrainingData, weights: np.ndarray | None, fitted: Fit) -> np.ndarray | None:
        """Return the weights that follow from the gradients of a model; None if they are all 0 or not finite."""
        model, form = fitted.model, part.kernel.form
        assert form is not None
        coef, rows = model.machine.coefficients, np.flatnonzero(part.weights > 0.0)
        most = int(np.clip(WORK / max(point_cost(part.kernel, model.vectors, coef), 1.0), *POINTS))
        if len(rows) > most:
            rows = np.sort(self.rng.choice(rows, most, replace=False))
        X, old = part.X[rows], np.ones(part.X.shape[1]) if weights is None else weights
        points = model.preprocessing.apply(part.raw[rows])
        with np.errstate(all="ignore"):
            steep = np.sqrt(square_gradients(part.kernel, points, model.vectors, coef))
            new = old * np.sqrt(steep)  # steep is with respect to the weighted column: halfway to old * steep
            new = np.maximum(new, LEAST * new.max(initial=0.0))
            power = 1 if form.argument is Argument.L1 else 2
            spread = np.sqrt(_variances(X, centred=form.is_radial)) ** power
            new *= (spread.sum() / (spread * new**power).sum()) ** (1.0 / power)
        return new if np.isfinite(new).all() and (new > 0.0).all() else None


def draw_folds(data: TrainingData, rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each sample, (n,), stratified by class; -1 for samples of weight 0, and beyond about `MOST`.

    Groups are kept together.
    """
    if data.groups is not None:
        return _draw_of_groups(data, data.groups, rng)
    used, fold, first = np.flatnonzero(data.weights > 0.0), np.full(data.X.shape[0], -1), 0
    share = MOST / max(len(used), MOST)
    for code in range(max(len(data.classes), 1)):
        members = rng.permutation(used[data.codes[used] == code])
        members = members[: max(10 * FOLDS, int(share * len(members)))]
        if len(members) < FOLDS:
            name = f"class {data.classes[code]} has" if len(data.classes) else "there are"
            raise InputError(
                f"relevance is chosen by {FOLDS} folds, and so takes {FOLDS} samples of each class, but {name} "
                f"{len(members)}: add samples, or leave relevance out"
            )
        fold[members] = (first + np.arange(len(members))) % FOLDS
        first += len(members)
    return fold


def _draw_of_groups(data: TrainingData, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the folds of `draw_folds` for whole groups (n,), of which enough are drawn to have `MOST` samples."""
    sizes = np.bincount(groups[data.weights > 0.0])
    order = rng.permutation(np.flatnonzero(sizes))
    drawn = order[np.cumsum(sizes[order]) - sizes[order] < MOST]
    used = (data.weights > 0.0) & np.isin(groups, drawn)
    splits = make_splits(FOLDS, data.answers, data.task, int(rng.integers(1 << 31)), groups=groups, used=used)
    if len(splits.pairs) < FOLDS:
        why = splits.notes[0].partition(":")[0]
        raise InputError(
            f"relevance is chosen by {FOLDS} folds of whole groups, but {why}: add samples, or leave relevance out"
        )
    fold = splits.numbers(len(groups))
    assert fold is not None
    require_classes(data.answers, fold, used)
    return fold


def choose(scores: np.ndarray) -> int:
    """Return the round to use by scores (n_rounds, n_folds): 0 unless the best one is better by a standard error.

    Otherwise it is the first round that is at most a standard error worse than the best one. The standard errors are
    those of the mean difference over the folds.
    """
    if len(scores) < 2 or not np.isfinite(scores[0]).all():
        return 0
    usable = np.isfinite(scores).all(axis=1)
    best = int(np.argmax(np.where(usable, scores.mean(axis=1), -np.inf)))
    gain, error = _difference(scores[best] - scores[0])
    if not gain > error:
        return 0
    for k in np.flatnonzero(usable[1:best]).tolist():
        loss, error = _difference(scores[best] - scores[k + 1])
        if loss <= error:
            return k + 1
    return best


def _difference(each: np.ndarray) -> tuple[float, float]:
    """Return the mean of differences, and its standard error."""
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


def _variances(X: Any, *, centred: bool) -> np.ndarray:
    """Return the variance of each column, or the mean square if not `centred`: (n_features,)."""
    squares = X.multiply(X).mean(axis=0) if is_sparse(X) else np.square(X, dtype=np.float64).mean(axis=0)
    mean = np.asarray(X.mean(axis=0)).ravel() if centred else 0.0
    return np.maximum(np.asarray(squares).ravel() - np.square(mean), 0.0)
