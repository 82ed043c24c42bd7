"""The facts of a report in words, the same for the page and for the card."""

from __future__ import annotations

from typing import Any

from svmkit.cli.evaluating.explaining import cell_text
from svmkit.cli.evaluating.reporting.facts import Facts
from svmkit.cli.evaluating.reporting.quality import Measure

NAMES = 12  # columns or classes that are named, at most
IMPORTANT = 12  # columns whose importance is shown, at most
NONE = "-"  # for missing values
CONFUSED = 12  # classes up to which the matrix is shown
TASKS = {
    "classify": "classes",
    "regress": "a quantity",
    "outliers": "outliers",
    "rank": "an order",
    "multilabel": "several labels a row",
}


def describe_task(facts: Facts) -> str:
    """Return what the model predicts, and from what."""
    about = facts.training
    what = TASKS.get(about["task"], about["task"])
    if about["outputs"]:
        what = f"{', '.join(f'“{name}”' for name in about['outputs'][:NAMES])} ({what})"
    elif about["label"]:
        what = f"“{about['label']}” ({what})"
    n = len(about["columns"]) if about["columns"] else about["n_features"]
    rows = f", trained on {about['rows']:,} rows" if about["rows"] else ""
    data = f" of {about['data']}" if about["data"] and rows else ""
    held = f", {about['held_out']:,} of which were held out for its sets" if about["held_out"] else ""
    return f"Predicts {what} from {n:,} column{'s' * (n != 1)}{rows}{data}{held}."


def describe_quality(facts: Facts) -> str:
    """Return the first measure with its interval, beside the trivial model."""
    n, data = facts.evaluation["n_test"], facts.evaluation["data"]
    if not facts.measures:
        return f"Judged on {n:,} rows of {data}."
    first = facts.measures[0]
    text = f"On {n:,} rows of {data}: {first.name} {value_text(first, first.value)}"
    if first.interval:
        text += f", with 95% confidence {interval_text(first)}"
    if first.trivial is not None:
        text += f"; {trivial_name(facts)} reaches {value_text(first, first.trivial)}"
    return text + "."


def trivial_name(facts: Facts) -> str:
    """Return the name of the trivial model."""
    if facts.evaluation.get("majority") is not None:
        return f"always answering “{facts.evaluation['majority']}”"
    if facts.training["task"] == "rank":
        return "chance"
    return "predicting the best constants" if "levels" in facts.evaluation else "predicting the mean"


def describe_trivial(facts: Facts) -> str | None:
    """Return a description of the trivial model in the table of measures; None if there is none."""
    if all(one.trivial is None for one in facts.measures):
        return None
    more = "; of log loss and Brier score the base rates of the classes" if describe_calibration(facts) else ""
    if any(one.key == "test_mae" for one in facts.measures):
        more = ", of MAE the median"
    return f"Trivial model: {trivial_name(facts)}{more}."


def value_text(measure: Measure, value: float | None) -> str:
    """Return a value of a measure as text."""
    if value is None:
        return "not defined"
    return f"{value:.1%}" if measure.percent else f"{value:.4g}"


def trivial_text(measure: Measure) -> str:
    """Return the value of the trivial model, `NONE` if there is none."""
    return NONE if measure.trivial is None else value_text(measure, measure.trivial)


def interval_text(measure: Measure) -> str:
    """Return an interval as text, `NONE` without one."""
    if measure.interval is None:
        return NONE
    return " to ".join(value_text(measure, end) for end in measure.interval)


def list_training(facts: Facts) -> list[tuple[str, str]]:
    """Return names and texts about the training."""
    about = facts.training
    kernel = about["kernel"]
    params = ", ".join(f"{key}={cell_text(value)}" for key, value in kernel["params"].items())
    calibration = about["calibration"]
    rows = [
        ("data", about["data"]),
        ("rows", None if about["rows"] is None else f"{about['rows']:,}"),
        ("columns", _count(about["columns"]) if about["columns"] else f"{about['n_features']:,}"),
        ("label", _count(about["outputs"]) if about["outputs"] else about["label"]),
        ("classes", _count(about["classes"]) if about["classes"] else None),
        ("kernel", kernel["name"] + (f" ({params})" if params else "")),
        ("solver", about["solver"]),
        *((name, None if about[name] is None else cell_text(about[name])) for name in ("C", "epsilon", "nu")),
        ("vectors", None if about["n_support"] is None else f"{about['n_support']:,}"),
        ("holes filled by", about["imputing"]),
        ("scaling", about["scaling"]),
        ("probabilities", f"{calibration['kind']} calibration" if isinstance(calibration, dict) else None),
    ]
    return [(name, str(text)) for name, text in rows if text is not None]


def list_lineage(facts: Facts) -> list[tuple[str, str]]:
    """Return names and texts about the origin of the model and the numbers."""
    about = facts.lineage
    versions = ", ".join(f"{name} {value}" for name, value in about["versions"].items())
    rows = [
        ("training data", about["training_data"]),
        ("checksum of their contents", about["training_sha256"]),
        ("rows of this report", about["evaluated_data"]),
        ("checksum of their contents", about["evaluated_sha256"]),
        ("trained by", about["trained_by"] and f"svmkit {about['trained_by']}"),
        ("commit", about["git_commit"]),
        ("seed", about["seed"]),
        ("settings", ", ".join(f"{key}={cell_text(value)}" for key, value in about["params"].items()) or None),
        ("report by", f"svmkit {about['reported_by']}, {versions}"),
        ("made", facts.made),
    ]
    return [(name, str(text)) for name, text in rows if text is not None]


def describe_importance(facts: Facts) -> str:
    """Return how the importance of columns was measured."""
    reasons, error = facts.reasons, facts.reasons["standard_error"]
    how = "exact Shapley values" if error is None else f"Shapley values, sampled with a standard error of {error:.2g}"
    text = (
        f"Contribution: how far the column moves the decision, in the mean of {reasons['n_explained']:,} rows of the "
        f"data drawn at random ({how})."
    )
    if reasons["n_shuffled"]:
        score = "R2" if facts.evaluation["test_r2"] is not None else "accuracy"
        text += (
            f" Loss: how much {score} falls on {reasons['n_shuffled']:,} rows when the column is shuffled, ± its "
            "standard error."
        )
    return text


def describe_missing(facts: Facts) -> str:
    """Return why columns are not described, as a sentence."""
    missing = facts.reasons["missing"]
    return f"{missing[0].upper()}{missing[1:].rstrip('.')}."


def loss_text(entry: dict[str, Any]) -> str:
    """Return the loss from shuffling a column, `NONE` if it was not measured."""
    return NONE if entry["loss"] is None else f"{entry['loss']:.3f} ± {entry['error']:.3f}"


def title_of_example(example: dict[str, Any]) -> str:
    """Return which row is explained, and its prediction."""
    truth, predicted = cell_text(example["truth"], 4), cell_text(example["predicted"], 4)
    text = f"Row {example['row']:,} ({example['kind']}): predicted {predicted}, truth {truth}"
    if example["probability"] is not None:
        text += f", probability of “{example['decision_for']}” {example['probability']:.1%}"
    return text


def sentence_of_example(example: dict[str, Any]) -> str:
    """Return between which values the contributions lead."""
    of = example["decision_for"]
    what = "prediction" if of == "prediction" else f"decision for “{of}”"
    return f"The {what} is {example['base']:.4g} in the mean, and {example['decision']:.4g} for this row:"


def example_rows(example: dict[str, Any]) -> list[tuple[str, str, float]]:
    """Return the columns of an explained row with their values and contributions."""
    rows = [(one["column"], cell_text(one["value"], 4), one["contribution"]) for one in example["columns"]]
    if example["n_others"]:
        rows.append((count_others(example["n_others"]), "", example["others"]))
    return rows


def count_others(n: int) -> str:
    """Return the number of remaining columns."""
    return f"{n:,} other column{'s' * (n != 1)}"


def confusion_rows(facts: Facts) -> tuple[list[str], list[list[str]]] | None:
    """Return heads and rows of the confusion matrix, or for many classes of the main confusions; None without one."""
    confusion = facts.evaluation["confusion"]
    if confusion is None:
        return None
    labels, matrix = confusion["labels"], confusion["matrix"]
    if len(labels) <= CONFUSED:
        rows = [[label, *(f"{n:,}" for n in line)] for label, line in zip(labels, matrix, strict=True)]
        return ["truth \\ predicted", *labels], rows
    wrong = [
        (n, labels[i], labels[j], sum(line))
        for i, line in enumerate(matrix)
        for j, n in enumerate(line)
        if n and i != j
    ]
    wrong.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    rows = [[true, taken, f"{n:,}", f"{of:,}"] for n, true, taken, of in wrong[:CONFUSED]]
    return ["most often confused", "taken for", "rows", "of"], rows


def describe_gain(facts: Facts) -> str | None:
    """Return the gain from taking rows in the order of their decisions, as a sentence; None without two classes."""
    if facts.evaluation.get("gain") is None:
        return None
    gain, of = facts.evaluation["gain"], facts.evaluation["positive"]
    shares = ", ".join(f"{found:.0%} in the first {float(share):.0%}" for share, found in gain.items())
    return f"Of the rows of class “{of}”, taken in the order of their decisions, {shares} of all rows."


def describe_calibration(facts: Facts) -> str | None:
    """Return the quality of probabilities compared with the base rate; None for a model without them."""
    found = facts.evaluation
    if found.get("log_loss") is None:
        return None
    return (
        f"Log loss {found['log_loss']:.4g} (the base rate alone: {found['base_log_loss']:.4g}), Brier score "
        f"{found['brier_score']:.4g} ({found['base_brier_score']:.4g}). Where a dot lies on the diagonal, "
        "probabilities are what they say."
    )


def _count(names: list[Any]) -> str:
    shown = ", ".join(str(name) for name in names[:NAMES])
    return f"{len(names):,}: {shown}" + (f" and {len(names) - NAMES:,} more" if len(names) > NAMES else "")
