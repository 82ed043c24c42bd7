"""What a command says of a model's predictions: the lines for a reader, and one warning where the model is no use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svmkit.kernels.engines import engine_for
from svmkit.model.model import SVMModel
from svmkit.runtime.jsonable import plain
from svmkit.scoring.metric import COUNTED, OF_QUANTITIES, format_value
from svmkit.scoring.metric import title as in_words
from svmkit.scoring.quantities import QuantityScores
from svmkit.scoring.scores import Scores
from svmkit.solver.solution import Status
from svmkit.tasks import task_named
from svmkit.training.result import Fit

FEW = 5  # classes of which each has its recall shown; of more, the worst three
ROWS = 10  # rows of a class from which on it matters that none is predicted as it
FEWEST = 100  # training rows from which on it matters that nearly all of them are vectors
NEARLY = 0.9  # share of the rows
SAMPLE = 200  # vectors whose kernel values are looked at
ALONE = 0.01  # kernel value below which two vectors hardly know of each other
UNFINISHED = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.MAX_ITER)  # what such a model lacks may still come


def summary(scores: Scores | QuantityScores | None) -> dict[str, Any] | None:
    """Return the measures besides accuracy under the keys of `svmkit train --json`; None without any."""
    return None if scores is None else plain(scores.summary())


def largest(scores: dict[str, Any]) -> str:
    """Return how good the prediction of the largest class alone would be, in words."""
    return f"largest class {scores['majority_share']:.2%}"


def recall_rows(recall: dict[str, float], of: str = "") -> list[tuple[str, str]]:
    """Return the row with the recall of each of few classes, or of the worst of many; `of` says on which rows."""
    shown = list(recall.items())
    title = ""
    if len(recall) > FEW:
        shown = sorted(shown, key=lambda item: item[1])[:3]
        title = f"worst of {len(recall)} classes: "
    return [("recall", title + ", ".join(f"{label}: {value:.2%}" for label, value in shown) + of)]


def rows_of(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Return rows with the accuracy, the share of the largest class, the balanced accuracy and recall; or the errors.

    Parameters
    ----------
    result : dict of str to object
        The keys and values of `svmkit train --json`.
    """
    task = task_named(result["task"])
    if not task.is_supervised:
        return outlier_rows(result)
    if task.has_targets:
        return quantity_rows(result)
    parts = [("train", "train", result["train_accuracy"], result["train_scores"])]
    parts += [("test", f"test ({result['n_test']:,} rows", result["test_accuracy"], result["test_scores"])]
    said, balanced = [], []
    measured = [part for part in parts if part[2] is not None]
    for name, title, accuracy, scores in measured:
        facts = largest(scores) if name == measured[-1][0] else ""  # both sets have about the same share
        if "(" in title:
            title += f"; {facts})" if facts else ")"
        elif facts:
            title += f" ({facts})"
        said.append(f"{accuracy:.2%} {title}")
        balanced.append(f"{scores['balanced_accuracy']:.2%} {name}")
    ahead = result.get("progressive_accuracy")
    if ahead is not None:
        said.insert(0, f"{ahead:.2%} ahead of learning")
    found = [("accuracy", ", ".join(said))] if said else []
    metric, of = result["metric"], result["metric"]["positive"]
    if measured and metric["name"] not in COUNTED:
        known = [(part[0], metric[part[0]]) for part in measured if metric[part[0]] is not None]
        values = [f"{format_value(metric['name'], value)} {name}" for name, value in known]
        about = f" (class {of})" if of else ""
        found.append((in_words(metric["name"]), ", ".join(values or ["not defined"]) + about))
    if measured:
        found.append(("balanced", ", ".join(balanced)))
        found += recall_rows(measured[-1][3]["recall"], " (test)" if measured[-1][0] == "test" else "")
    return found


def quantity_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Return rows with R2, RMSE and MAE of predicted quantities, and the metric if it is another one."""
    parts = [name for name in ("train", "test") if result[f"{name}_scores"] is not None]
    if not parts:
        return []
    last, tested = parts[-1], f" ({result['n_test']:,} rows)"
    found = []
    for key, title in (("r2", "R2"), ("rmse", "RMSE"), ("mae", "MAE")):
        shown = "{:.4f}" if key == "r2" else "{:.6g}"
        said = [f"{in_digits(shown, result[f'{name}_{key}'])} {name}" for name in parts]
        said[-1] += tested if key == "r2" and last == "test" else ""
        if key == "rmse":
            said[-1] += f" ({mean_of_targets(result[f'{last}_scores'])})"
        found.append((title, ", ".join(said)))
    metric = result["metric"]
    if metric["name"] not in OF_QUANTITIES:
        values = [f"{in_digits('{:.6g}', metric[name])} {name}" for name in parts]
        found.append((in_words(metric["name"]), ", ".join(values)))
    return found


def outlier_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Return rows with the shares of outliers, and the accuracy where the labels are -1 and 1."""
    said: list[tuple[str, str]] = []
    for name, rows in (("train", "training"), ("test", "test")):
        share, accuracy = result[f"{name}_outliers"], result[f"{name}_accuracy"]
        right = "" if accuracy is None else f", accuracy {accuracy:.2%} of the labels -1 and 1"
        said += [] if share is None else [("" if said else "outliers", f"{share:.2%} of the {rows} rows{right}")]
    return said


def in_digits(shown: str, value: float | None) -> str:
    """Return a measure in digits, or that it is not defined."""
    return "not defined" if value is None or math.isnan(value) else shown.format(value)


def mean_of_targets(scores: dict[str, Any]) -> str:
    """Return how large the error of predicting the mean of the targets would be, in words."""
    return f"predicting the mean of the targets: {scores['mean_rmse']:.6g}"


def vector_share(fitted: Fit, n_samples: int) -> float:
    """Return the share of the rows of a problem that are support vectors, on average over the problems."""
    k = len(fitted.model.classes)
    others = len(fitted.solutions) if fitted.model.has_class_scores else max(k - 1, 1)  # the problems of each row
    return sum(solution.n_support for solution in fitted.solutions) / (others * n_samples)


def doubt(
    model: SVMModel,
    *,
    train: Scores | QuantityScores | None,
    test: Scores | QuantityScores | None,
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
    model : SVMModel
        The model.
    train, test : Scores, QuantityScores or None
        The scores on the training rows and on the test rows.
    status : Status
        How training ended; of a model that is not finished nothing is said.
    share : float or None, default=None
        The share of the rows that are support vectors; None if it is unknown, as for weights of features.
    n_samples : int, default=0
        The number of training rows.
    weighted : bool, default=False
        Whether the classes have weights.
    streamed : bool, default=False
        Whether the model has learned from a stream, which ends with its lines.
    search : str, default="svmkit tune"
        What finds better parameters.
    """
    if status in UNFINISHED and not (streamed and status == Status.MAX_ITER):
        return None
    if isinstance(test or train, QuantityScores):
        return _doubt_of_quantities(model, train, test, search)
    counted = [s for s in (test, train) if isinstance(s, Scores)]
    never = next((found for s in counted if (found := s.never_predicted(ROWS))), [])
    crowded = share is not None and share > NEARLY and n_samples >= max(FEWEST, model.n_features + 1)
    if not never and not crowded:
        return None
    found = []
    if never:
        more = f" and {len(never) - 3} more" if len(never) > 3 else ""
        of = ("class " if len(never) == 1 else "classes ") + ", ".join(never[:3]) + more
        found.append(f"{of} {'is' if len(never) == 1 else 'are'} never predicted")
    if crowded:
        found.append(f"{share:.1%} of the rows are support vectors")
    alone = crowded and _are_alone(model)
    cause = "gamma is likely too large; " if alone else ""
    helps = ["a smaller --gamma"] if alone else ["--class-weight balanced"] if never and not weighted else []
    helps += ["--scale standard"] if model.scaling is None and model.kernel.form is not None else []
    return f"{' and '.join(found)}: {cause}what helps is {', '.join(helps)}{' or ' if helps else ''}{search}"


def _doubt_of_quantities(model: SVMModel, train: Any, test: Any, search: str) -> str | None:
    """Return why a model of quantities is no use: it is no better than the mean of the targets, or it is constant."""
    epsilon = model.about.get("epsilon")
    if not model.coef.any():
        width = f" of epsilon={epsilon:g}" if isinstance(epsilon, int | float) else ""
        return f"the tube{width} holds all targets, so that the model is a constant: give a smaller --epsilon"
    where = next(
        (name for name, scores in (("test", test), ("training", train)) if scores and not scores.beats_mean), ""
    )
    if not where:
        return None
    scale = "--scale standard, " if model.scaling is None and model.kernel.form is not None else ""
    return f"the mean of the targets predicts the {where} rows as well: what helps is {scale}a larger -C or {search}"


def _are_alone(model: SVMModel) -> bool:
    """Whether the kernel of most pairs of vectors is nearly 0, as it is where gamma is too large."""
    if model.kernel.form is None or not model.kernel.form.is_radial:
        return False
    rows = np.unique(np.linspace(0, model.vectors.shape[0] - 1, SAMPLE).round().astype(int))
    vectors = model.vectors[rows]
    values = engine_for(model.kernel, vectors).block(vectors, np.empty((len(rows), len(rows))))
    return bool(np.median(values[np.triu_indices(len(rows), 1)]) < ALONE)
