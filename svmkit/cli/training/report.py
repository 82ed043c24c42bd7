"""The report of a trained model."""

from __future__ import annotations

import math
from typing import Any

from svmkit.cli.common import emit, rows
from svmkit.cli.training.finish import Outcome
from svmkit.losses.base import format_option
from svmkit.problems.certificate import is_rounding
from svmkit.scoring.metric import format_value, title
from svmkit.scoring.wording import base_rate
from svmkit.tasks import task_named
from svmkit.tasks.sets import share_text

_SETTINGS = ("C", "epsilon", "tau", "delta", "nu")
LINES = 8  # lines of a curve
MOST_COLUMNS = 6  # columns whose learnt weights are shown, at most


def report(outcome: Outcome, as_json: bool) -> None:
    """Print the result, as one JSON object or as lines for a reader."""
    result = outcome.result
    if as_json:
        emit(result)
        return
    evaluation, metric = task_named(result["task"]).evaluation, result["metric"]["name"]
    about = f"{result['data']}: {result['n_samples']:,} rows, {result['n_features']:,} features, "
    about += evaluation.describe_answers(result)
    if label := result.get("label"):  # of a table
        name = repr(label["column"]) if label["column"] is not None else f"{label['position'] + 1}, counted from 1"
        further = label.get("more", [])
        names = ", ".join([name, *map(repr, further)])
        about += f", label column{'s' if further else ''} {names} ({label['chosen']})"
    compiling = f", of which {result['compile_s']:.2f} s compiling" if result["compile_s"] >= 0.005 else ""
    values = "" if outcome.is_linear else f", {result['kernel_values']:,} kernel values"
    cluster = facts = result.get("cluster")
    if facts is not None:
        sent, received = (facts[key] / 1e6 for key in ("sent", "received"))
        cluster = f"{facts['parts']:,} parts on {len(facts['workers'])} workers, {facts['rounds']:,} rounds, "
        cluster += f"{sent:,.1f} MB sent, {received:,.1f} MB received"
    rows(
        [
            ("data", about),
            ("solver", _solver(result)),
            ("status", _status(result)),
            ("gap", _gap(result)),
            *_optimum(result, outcome.is_linear),
            *((name.replace("_", " "), f"{value:.6g}") for name, value in result["details"].items()),
            ("time", f"{result['fit_s']:.2f} s{compiling}{values}"),
            *evaluation.training_rows(result),
            *_probabilities(result["calibration"]),
            ("sets", describe_sets(result.get("conformal"))),
            *_relevance(result["relevance"]),
            ("picture", result.get("plot")),
            *(("" if k else "curve", line) for k, line in enumerate(curve_lines(result["curve"] or [], metric))),
            ("cluster", cluster),
            ("model", result["model"]),
            ("run", outcome.run),
        ]
    )


def _solver(result: dict[str, Any]) -> str:
    kernel, settings = result["kernel"], result["params"]
    params = ", ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in kernel["params"].items())
    chosen = f" ({', '.join(choice['solver'] for choice in result['choice'])})" if result["choice"] else ""
    values = "".join(f", {name}={format_option(settings[name])}" for name in _SETTINGS if name in settings)
    of_kernel = f"{kernel['name']} kernel" + (f" ({params})" if params else "")
    return f"{result['solver']}{chosen} on {result['problem']}, {of_kernel}{values}"


def _status(result: dict[str, Any]) -> str:
    k, lacking, skipped = len(result["classes"]), result["untrained_pairs"], result.get("skipped")
    passed = " (one pass)" if "skipped" in result and result["status"] == "max_iter" else ""
    problems = f"{k * (k - 1) // 2:,} class pairs" if result["multiclass"] == "ovo" else f"{k:,} classes"
    problems = f"{len(result['outputs'])} outputs" if result["outputs"] else problems
    return (
        f"{result['status']}{passed} after {result['n_iter']:,} iterations"
        + (f"; {skipped:,} lines skipped" if skipped else "")
        + (f"; {lacking:,} of {problems} were not trained" if lacking else "")
    )


def _gap(result: dict[str, Any]) -> str:
    """Return the gap, with a remark if rounding errors make up most of it, or why it is unknown."""
    gap, dual = result["gap"], result["dual_objective"]
    if gap is not None:
        remark = "; rounding errors allow no smaller one" if is_rounding(gap, result["rounding"]) else ""
        return f"{gap:.2e}  (certified relative duality gap{remark})"
    if result["untrained_pairs"]:
        return "not known"
    if result["flaw"]:
        return f"not certified: {result['flaw']}"
    if "skipped" in result and dual is not None:
        return f"not known; the optimum is at least {dual:.8g}"
    return "no dual point: not known"


def _optimum(result: dict[str, Any], is_linear: bool) -> list[tuple[str, str]]:
    """Return the rows with the objective and the support; a linear model of a stream or a cluster keeps no rows."""
    streamed, shown = "skipped" in result, []
    if not streamed and not result["untrained_pairs"]:
        dual = "" if result["gap"] is None else f"  (dual {result['dual_objective']:.8g})"
        shown.append(("objective", f"{result['objective']:.8g}{dual}"))
    if result["n_support"] or not is_linear:
        support = f"{result['n_support']:,} " + ("rows have a part in the weights" if is_linear else "vectors")
        if "offset" in result:
            support += f", {result['n_support'] / result['n_samples']:.2%} of the rows"
        shown.append(("support", support))
    if result["n_columns"] is not None and result["n_columns"] < result["n_features"]:
        shown.append(("columns", f"{result['n_columns']:,} of {result['n_features']:,} have a weight"))
    return shown + ([("offset", f"{result['offset']:.6g}")] if "offset" in result else [])


def _probabilities(calibration: dict[str, Any] | None) -> list[tuple[str, str]]:
    if calibration is None:
        return []
    parts = [(part, calibration[part]) for part in ("train", "test") if calibration[part] is not None]
    if calibration["folds"]:
        folds, seconds = calibration["folds"], calibration["seconds"]
        said = [("calibration", f"{calibration['kind']} of {folds} folds, {seconds:.2f} s")]
    else:
        said = [("probabilities", f"those of the {calibration['kind']}")]
    for name, words in (("log_loss", "log loss"), ("brier_score", "Brier score")) if parts else ():
        each = ", ".join(f"{scores[name]:.4f} {part}" for part, scores in parts)
        said.append((words, f"{each} ({base_rate(parts[-1][1], name)})"))
    return said


def describe_sets(conformal: dict[str, Any] | None) -> str | None:
    """Return the guarantee of sets, in words; None without sets."""
    if conformal is None:
        return None
    of = " of each class" if conformal["by"] == "class" else ""
    by = f"by {conformal['rows']:,} held-out rows"
    if "folds" in conformal:
        by = f"of {math.floor(100.0 * conformal['guaranteed'])}% for certain, by models of {conformal['folds']} folds"
    return f"hold the truth of {share_text(1.0 - conformal['alpha'])} of new rows{of}, {by}"


def _relevance(relevance: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return a row on the learnt weights of the columns, and their values."""
    if relevance is None:
        return []
    chosen, scores, name = relevance["round"], relevance["scores"], relevance["metric"]
    shown = [format_value(name, score) for score in scores]
    said = f"{relevance['folds']} folds, {relevance['seconds']:.2f} s"
    if not chosen:
        best = f", {title(name)} {', '.join(shown)} in rounds 0 to {len(shown) - 1}" if shown else ""
        return [("relevance", f"all columns alike: learnt weights were not better ({said}{best})")]
    each = ", ".join(f"{entry['column']} {entry['weight']:.2f}" for entry in relevance["weights"][:MOST_COLUMNS])
    more = len(relevance["weights"]) - MOST_COLUMNS
    gain = (
        f"round {chosen}, {title(name)} {shown[0]} -> {shown[chosen]} ({said})" if shown else f"round {chosen} ({said})"
    )
    return [("relevance", gain), ("columns", each + (f" and {more:,} more" if more > 0 else ""))]


def curve_lines(curve: list[dict[str, Any]], metric: str = "accuracy") -> list[str]:
    """Format the measurements at about 1, 2, 5, 10, 20, ... support vectors and at the end, in at most `LINES` lines.

    A metric other than accuracy precedes it; for quantities it stands alone.
    """
    if not curve:
        return []
    last = curve[-1]
    sizes = [digit * 10**power for power in range(10) for digit in (1, 2, 5)]
    near = [min(curve, key=lambda p: abs(p["n_support"] - size)) for size in sizes if size < last["n_support"]]
    shown = list({p["n_support"]: p for p in near if p["n_support"] < last["n_support"]}.values())
    if len(shown) > LINES - 1:  # spread evenly, including the smallest and the largest
        shown = [shown[round(k * (len(shown) - 1) / (LINES - 2))] for k in range(LINES - 1)]
    width = len(f"{last['n_support']:,}")

    def describe(p: dict[str, Any]) -> str:
        if p.get("score") is None:
            return f"{p['accuracy']:.2%} test"
        if p["accuracy"] is None:
            return f"{format_value(metric, p['score'])} test {title(metric)}"
        return f"{format_value(metric, p['score'])} test {title(metric)}, {p['accuracy']:.2%} accuracy"

    return [f"{p['n_support']:>{width},} vectors  {describe(p)}" for p in [*shown, last]]
