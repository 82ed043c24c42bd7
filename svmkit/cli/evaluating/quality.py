"""What the predictions of a model are worth on some rows, and one warning where the model is no use."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.cli.common import labels_of
from svmkit.data import Dataset
from svmkit.kernels.engines import engine_for
from svmkit.losses.by_name import is_likelihood
from svmkit.model.model import SVMModel
from svmkit.scoring.choice import scores_of
from svmkit.scoring.label_scores import LabelScores
from svmkit.scoring.metric import OF_PROBABILITIES, Metric, predict_with_scores
from svmkit.scoring.probability_scores import ProbabilityScores
from svmkit.scoring.quantities import QuantityScores
from svmkit.scoring.ranks import RankScores
from svmkit.scoring.scores import Scores
from svmkit.solver.solution import Status
from svmkit.tasks import task_named

WORST = 6  # labels of which F1 is shown
ROWS = 10  # rows of a class from which on it matters that none is predicted as it
FEWEST = 100  # training rows from which on it matters that nearly all of them are vectors
NEARLY = 0.9  # share of the rows
SAMPLE = 200  # vectors whose kernel values are looked at
ALONE = 0.01  # kernel value below which two vectors hardly know of each other
CHANCE = 0.5  # concordance of predictions that are all the same
UNFINISHED = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.MAX_ITER)  # what such a model lacks may still come


@dataclass(frozen=True)
class Measurement:
    """What the predictions of a model are worth on some rows."""

    # None where the rows have no labels that the model knows
    scores: Scores | QuantityScores | RankScores | LabelScores | None = None
    value: float | None = None  # of the metric, None where it is not defined
    seconds: float | None = None  # None where predicting was not timed
    probabilities: ProbabilityScores | None = None  # None without a calibration
    outliers: float | None = None  # a share of the rows


def measure(model: SVMModel, data: Dataset, metric: Metric, n_threads: int | None) -> Measurement:
    """Predict the labels or targets of some rows and compare them with the true ones.

    Parameters
    ----------
    model, data, metric : SVMModel, Dataset, Metric
        The model; the rows (only a model of outliers does without labels); what is measured besides the scores.
    n_threads : int or None
        The number of threads; None uses all.
    """
    began, decision, probabilities = time.perf_counter(), None, None
    wide = model.widened(data.n_features)
    if model.calibration is not None:
        predictions = wide.predict_proba(data.X, n_threads=n_threads)
        predicted = model.classes[predictions.argmax(axis=1)]
        probabilities = ProbabilityScores.from_predictions(predictions, model.classes, labels_of(data))
        if metric.needs_decisions:
            decision = predict_with_scores(wide, data.X, n_threads)[1]
    elif metric.needs_decisions:
        predicted, decision = predict_with_scores(wide, data.X, n_threads)
    elif model.levels:
        decision = wide.decision_function(data.X, n_threads=n_threads)
        predicted = wide.labels(decision)
    else:
        predicted = wide.predict(data.X, n_threads=n_threads)
    seconds = time.perf_counter() - began
    if not task_named(model.task).is_supervised:
        known = data.y is not None and data.y.dtype.kind in "if" and np.isin(data.y, model.classes).all()
        scores = Scores.from_predictions(predicted, labels_of(data), model.classes) if known else None
        value = metric.score_predictions(predicted, labels_of(data), decision) if known else None
        return Measurement(scores, value, seconds, outliers=float(np.mean(predicted < 0)))
    if metric.name in OF_PROBABILITIES:
        value = metric.score_probabilities(probabilities)
    else:
        value = metric.score_predictions(predicted, labels_of(data), decision)
    return Measurement(scores_of(model, predicted, labels_of(data), decision), value, seconds, probabilities)


def largest(scores: dict[str, Any]) -> str:
    """Return how good the prediction of the largest class alone would be, in words."""
    return f"largest class {scores['majority_share']:.2%}"


def base_rate(scores: dict[str, Any], name: str) -> str:
    """Return the score of probabilities that are the shares of the classes, the same for each row, in words."""
    return f"base rate {scores[f'base_{name}']:.4f}"


def in_digits(shown: str, value: float | None) -> str:
    """Return a measure in digits, or that it is not defined."""
    return "not defined" if value is None or math.isnan(value) else shown.format(value)


def mean_of_targets(scores: dict[str, Any]) -> str:
    """Return how large the error of predicting the mean of the targets would be, in words."""
    return f"predicting the mean of the targets: {scores['mean_rmse']:.6g}"


def label_rows(scores: Mapping[str, Any], part: str = "") -> list[tuple[str, str]]:
    """Return rows about several labels: the share of rows and of labels that are right, and F1 of the labels.

    Parameters
    ----------
    scores : mapping, what `LabelScores.summary` returns, and the accuracy
    part : str, "train", "test" or ""
    """
    f1 = sorted((of["f1"] or 0.0, of["label"], of["rows"]) for of in scores["labels"])
    shown = [f"{label} {value:.4f} ({rows:,} rows)" for value, label, rows in f1]
    worst = ", ".join(shown if len(shown) <= WORST else shown[:WORST])
    micro = in_digits("{:.4f}", scores["f1_micro"])
    title = "labels" if len(shown) <= WORST else f"worst of {len(shown)} labels"
    return [
        (
            "accuracy",
            f"{scores['accuracy']:.2%} of the rows all right, {scores['right']:.2%} of the labels {part}".rstrip(),
        ),
        ("F1", f"{micro} over all; {title}: {worst}"),
    ]


def level_rows(parts: Mapping[str, Any], sorts: bool) -> list[tuple[str, str]]:
    """Return rows about the levels of a model: the loss and the coverage of each, and how often they cross.

    Parameters
    ----------
    parts : mapping of str to dict, of "train", "test" or "" to what `LevelScores.summary` returns
    sorts : bool, whether the model sorts its predictions
    """

    def label(name: str, text: str) -> str:
        return f"{text} {name}".rstrip()

    first = next(iter(parts.values()))
    said = [("mean loss", ", ".join(label(name, f"{scores['mean_loss']:.6g}") for name, scores in parts.items()))]
    for k, level in enumerate(first["levels"]):
        each = (label(name, f"{scores['levels'][k]['loss']:.6g}") for name, scores in parts.items())
        below = (label(name, f"{scores['levels'][k]['coverage']:.2%}") for name, scores in parts.items())
        said.append((f"tau={level['tau']:g}", f"loss {', '.join(each)}; {', '.join(below)} of the targets are below"))
    for k, interval in enumerate(first["intervals"]):
        shares = ", ".join(label(name, f"{scores['intervals'][k]['coverage']:.2%}") for name, scores in parts.items())
        ends = f"{interval['lower']:g} and {interval['upper']:g}"
        said.append(("" if k else "coverage", f"{shares} between {ends} ({interval['nominal']:.0%} expected)"))
    crossed = ", ".join(label(name, f"{scores['crossings']:,} rows") for name, scores in parts.items())
    return [*said, ("crossings", f"{crossed}, sorted in predictions" if sorts else crossed)]


def describe_pairs(scores: dict[str, Any]) -> str:
    """Return how many pairs are compared in how many groups, in words."""
    return f"{scores['pairs']:,} pairs in {scores['groups']:,} group" + ("" if scores["groups"] == 1 else "s")


def doubt(
    model: SVMModel,
    *,
    train: Scores | QuantityScores | RankScores | LabelScores | None,
    test: Scores | QuantityScores | RankScores | LabelScores | None,
    status: Status | str,
    share: float | None = None,
    n_samples: int = 0,
    weighted: bool = False,
    streamed: bool = False,
    search: str = "svmkit tune",
) -> str | None:
    """Return one line that says why a model is no use; None if nothing speaks against it.

    A class that is never predicted counts if it has `ROWS` rows. Support vectors count from `FEWEST` training rows on,
    more than there are features: of few rows with many features it is normal that nearly all of them are vectors.

    Parameters
    ----------
    model, train, test : SVMModel, Scores or QuantityScores or None
        The model, and its scores on the training rows and on the test rows.
    status : Status
        How training ended; of a model that is not finished nothing is said.
    share, n_samples : float or None, int
        The share of the rows that are support vectors, None if unknown, as for weights of features; the training rows.
    weighted, streamed : bool, default=False
        Whether the classes have weights, and whether the model has learned from a stream, which ends with its lines.
    search : str, default="svmkit tune"
        What finds better parameters.
    """
    if status in UNFINISHED and not (streamed and status == Status.MAX_ITER):
        return None
    tested = test or train
    if isinstance(tested, RankScores):
        is_chance = tested.concordance <= CHANCE  # false where no pair says what it is
        return None if not is_chance else "the order is no better than chance: other features help, or another -C"
    if isinstance(tested, QuantityScores):
        return _doubt_of_quantities(model, train, test, search)
    counted = [s for s in (test, train) if isinstance(s, Scores)]
    never = next((lacking for s in counted if (lacking := s.never_predicted(ROWS))), [])
    crowded = share is not None and share > NEARLY and n_samples >= max(FEWEST, model.n_features + 1)
    crowded = crowded and not is_likelihood(model.about.get("minimised", {}).get("loss"))  # which takes all of them
    if not never and not crowded:
        return None
    reasons = []
    if never:
        more = f" and {len(never) - 3} more" if len(never) > 3 else ""
        of = ("class " if len(never) == 1 else "classes ") + ", ".join(never[:3]) + more
        reasons.append(f"{of} {'is' if len(never) == 1 else 'are'} never predicted")
    if crowded:
        reasons.append(f"{share:.1%} of the rows are support vectors")
    alone, sure = crowded and _are_alone(model), model.calibration is not None
    cause = "gamma is likely too large; " if alone else ""
    helps = ["a smaller --gamma"] if alone else []
    if never and not alone:  # labels are those of the highest probability, which class weights leave alone
        helps = ["your own threshold on predict --proba"] if sure else [] if weighted else ["--class-weight balanced"]
    helps += ["--scale standard"] if model.scaling is None and model.kernel.form is not None else []
    return f"{' and '.join(reasons)}: {cause}what helps is {', '.join(helps)}{' or ' if helps else ''}{search}"


def _doubt_of_quantities(model: SVMModel, train: Any, test: Any, search: str) -> str | None:
    """Return why a model of quantities is no use: it is no better than the mean of the targets, or it is constant."""
    if not model.coef.any():
        half = model.about.get("epsilon")
        width = f" of epsilon={half:g}" if isinstance(half, int | float) else ""
        return f"the tube{width} holds all targets, so that the model is a constant: give a smaller --epsilon"
    parts = (("test", test), ("training", train))
    where, scores = next(((name, of) for name, of in parts if of and not of.beats_mean), ("", None))
    if scores is None:
        return None
    scale = "--scale standard, " if model.scaling is None and model.kernel.form is not None else ""
    return f"{scores.baseline} predicts the {where} rows as well: what helps is {scale}a larger -C or {search}"


def _are_alone(model: SVMModel) -> bool:
    """Whether the kernel of most pairs of vectors is nearly 0, as it is where gamma is too large."""
    if model.kernel.form is None or not model.kernel.form.is_radial:
        return False
    rows = np.unique(np.linspace(0, model.vectors.shape[0] - 1, SAMPLE).round().astype(int))
    vectors = model.vectors[rows]
    values = engine_for(model.kernel, vectors).block(vectors, np.empty((len(rows), len(rows))))
    return bool(np.median(values[np.triu_indices(len(rows), 1)]) < ALONE)
