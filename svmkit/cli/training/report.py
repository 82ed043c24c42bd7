"""The report of a trained model, for a reader."""

from __future__ import annotations

from typing import Any

from svmkit.cli.common import emit, rows
from svmkit.cli.evaluating import probabilities, quality, size_curve
from svmkit.cli.training.finish import Outcome
from svmkit.problems.certificate import is_rounding
from svmkit.tasks import task_named

_SETTINGS = ("C", "epsilon", "tau", "delta", "nu")


def report(outcome: Outcome, as_json: bool) -> None:
    """Print the result, as one JSON object or as lines for a reader."""
    result = outcome.result
    if as_json:
        emit(result)
        return
    about = (result["data"], result["n_samples"], result["n_features"], _learn(result), _label(result.get("label")))
    run = result["run_id"] and f"{result['run_id']}  ({outcome.where})"
    rows(
        [
            ("data", "{}: {:,} rows, {:,} features, {}{}".format(*about)),
            ("solver", _solver(result)),
            ("status", _status(result)),
            ("gap", _gap(result)),
            *_optimum(result, outcome.is_linear),
            *((name.replace("_", " "), f"{value:.6g}") for name, value in result["details"].items()),
            ("time", _seconds(result, outcome.is_linear)),
            *quality.rows_of(result),
            *probabilities.rows_of(result["calibration"]),
            *_curve(result["curve"], result["metric"]["name"]),
            ("cluster", _cluster(result.get("cluster"))),
            ("model", result["model"]),
            ("run", run),
        ]
    )


def _learn(result: dict[str, Any]) -> str:
    task = task_named(result["task"])
    if not task.is_supervised:
        return "no labels used"
    return "a quantity" if task.has_targets else f"{len(result['classes'])} classes"


def _label(label: dict[str, Any] | None) -> str:
    """Return the label column of a table and how it was chosen, in words; nothing for data without columns."""
    if label is None:
        return ""
    name = repr(label["column"]) if label["column"] is not None else f"{label['position'] + 1}, counted from 1"
    return f", label column {name} ({label['chosen']})"


def _solver(result: dict[str, Any]) -> str:
    kernel, settings = result["kernel"], result["params"]
    params = ", ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in kernel["params"].items())
    chosen = f" ({', '.join(choice['solver'] for choice in result['choice'])})" if result["choice"] else ""
    values = "".join(f", {name}={settings[name]:g}" for name in _SETTINGS if name in settings)
    of_kernel = f"{kernel['name']} kernel" + (f" ({params})" if params else "")
    return f"{result['solver']}{chosen} on {result['problem']}, {of_kernel}{values}"


def _status(result: dict[str, Any]) -> str:
    k, lacking, skipped = len(result["classes"]), result["untrained_pairs"], result.get("skipped")
    passed = " (one pass)" if "skipped" in result and result["status"] == "max_iter" else ""
    problems = f"{k * (k - 1) // 2:,} class pairs" if result["multiclass"] == "ovo" else f"{k:,} classes"
    return (
        f"{result['status']}{passed} after {result['n_iter']:,} iterations"
        + (f"; {skipped:,} lines skipped" if skipped else "")
        + (f"; {lacking:,} of {problems} were not trained" if lacking else "")
    )


def _gap(result: dict[str, Any]) -> str:
    """Return the gap, with a remark if rounding errors make up most of it, or why it is not known."""
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
    """Return the rows with the objective and the support; a linear model of a stream keeps no rows."""
    streamed, found = "skipped" in result, []
    if not streamed and not result["untrained_pairs"]:
        dual = "" if result["gap"] is None else f"  (dual {result['dual_objective']:.8g})"
        found.append(("objective", f"{result['objective']:.8g}{dual}"))
    if not (streamed and is_linear):
        support = f"{result['n_support']:,} " + ("rows have a part in the weights" if is_linear else "vectors")
        if "offset" in result:
            support += f", {result['n_support'] / result['n_samples']:.2%} of the rows"
        found.append(("support", support))
    return found + ([("offset", f"{result['offset']:.6g}")] if "offset" in result else [])


def _seconds(result: dict[str, Any], is_linear: bool) -> str:
    """Return the seconds of a fit, with those of compilation if they are a hundredth or more."""
    compiling = f", of which {result['compile_s']:.2f} s compiling" if result["compile_s"] >= 0.005 else ""
    return f"{result['fit_s']:.2f} s{compiling}" + ("" if is_linear else f", {result['kernel_values']:,} kernel values")


def _curve(curve: list[dict[str, Any]] | None, metric: str) -> list[tuple[str, str]]:
    """Return rows with the metric on the test rows at several numbers of support vectors."""
    return [("" if k else "curve", line) for k, line in enumerate(size_curve.lines(curve, metric) if curve else [])]


def _cluster(facts: dict[str, Any] | None) -> str | None:
    """Return what the training on a cluster took; None without a cluster."""
    if facts is None:
        return None
    sent, received = (facts[key] / 1e6 for key in ("sent", "received"))
    return (
        f"{facts['parts']:,} parts on {len(facts['workers'])} workers, {facts['rounds']:,} rounds, "
        f"{sent:,.1f} MB sent, {received:,.1f} MB received"
    )
