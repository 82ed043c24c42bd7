"""svmkit certify: the referee on the command line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import typer

from svmkit.cli.common import emit, load_model, note, rows
from svmkit.cli.option_table import Options, argument, option, takes
from svmkit.cli.options import Seconds, Size, class_weights
from svmkit.errors import InputError

if TYPE_CHECKING:
    from svmkit.data import Dataset
    from svmkit.referee import Verdict

MOST = 12  # decisions that are listed


@takes(
    "certify",
    argument("model", str, "Model file of svmkit, LIBSVM or LIBLINEAR, models:/name@alias, .skops, or a pickle."),
    argument("data", str, "The training rows, with labels: a file, or the name of a set."),
    option("trust", bool, False, "Read MODEL even if it is a pickle, which can run any code."),
    option("C", float, None, "Weight of the sum of losses, if MODEL lacks it or has a wrong one.", "-C"),
    option("loss", str, None, "Loss, if MODEL lacks it or has a wrong one; svmkit plugins --kind loss lists all "
                              "losses."),
    option("bias", str, None, "Bias, if MODEL lacks it or has a wrong one: free, or the value of its column, which is "
                              "0 without a bias."),
    option("class_weight", str, None, "Factors of C in the training: balanced, or LABEL=WEIGHT,..."),
    option("epsilon", float, None, "epsilon of a regression, if MODEL lacks it or has a wrong one."),
    option("nu", float, None, "nu of nu-SVC, nu-SVR and outliers, if MODEL lacks it or has a wrong one."),
    option("tol", float, None, "Relative duality gap to prove: exit 1 if it is larger or unknown."),
    option("time_limit", Seconds, None, "Longest time for improving the bound by a solver, as in 90s or 5m; 0 does "
                                        "without it; default 10 s, or no limit with --polish.", min=0),
    option("memory", Size, "1GB", "Size of the cache of kernel rows."),
    option("polish", str, None, "Train on from MODEL to the optimum, and write this model to this "
                                "file.", metavar="FILE"),
)  # fmt: skip
def certify(options: Options) -> None:
    """Judge MODEL, of any software, on its training rows: P, the best lower bound, the gap, the gain of a polish.

    The problem is that of the software that trained it. Exit 1 if --tol is given and not met.
    """
    from svmkit import referee
    from svmkit.model.model import SVMModel
    from svmkit.runtime import files

    if options.polish:
        files.require_writable(options.polish)
    model = _load(options)
    data = _rows_for(model, options)
    if isinstance(model, SVMModel) and model.kernel.name != "precomputed" and data.n_features > model.n_features:
        model = model.widened(data.n_features)
    known = {name: getattr(options, name) for name in ("C", "loss", "epsilon", "nu")}
    known |= {"bias": _bias(options.bias), "class_weight": class_weights(options.class_weight)}
    limit = options.time_limit if options.time_limit is not None or options.polish else 10.0
    verdict = referee.certify(
        model,
        data.X,
        data.y,
        tol=options.tol,
        time_limit=limit,
        memory=options.memory,
        polish=bool(options.polish),
        **known,
    )
    if options.polish:
        _write(verdict, options.polish)
    _show(verdict, options)
    if options.tol is not None and not (verdict.gap is not None and verdict.gap <= options.tol):
        raise typer.Exit(1)


def _load(options: Options) -> Any:
    """Return the model of a file, as an estimator or a model of svmkit."""
    from svmkit.referee.reading import read_file

    if "://" in options.model or options.model.startswith(("models:/", "runs:/")):
        return load_model(options.model, options.tracking_uri)
    return read_file(options.model, trust=options.trust)


def _rows_for(model: Any, options: Options) -> Dataset:
    """Return the data in the form of the training data of a model of svmkit, or as an estimator takes them."""
    from svmkit.data import load
    from svmkit.model.model import SVMModel

    reading = options.reading
    if not isinstance(model, SVMModel):
        width = getattr(model, "n_features_in_", None)
        return load(options.data, reading=reading, n_features=None if width is None else int(width))
    labelled = not model.finds_outliers
    if model.encoding is not None:
        return load(options.data, encoding=model.encoding, labelled=labelled, holes=model.preprocessing.takes_holes)
    is_given = model.kernel.name == "precomputed"
    n_features = None if is_given else model.n_features
    given: dict[str, Any] = {"labelled": labelled, "holes": model.preprocessing.takes_holes, "wider": not is_given}
    return load(options.data, reading=reading, n_features=n_features, **given)


def _bias(text: str | None) -> str | float | None:
    if text is None or text == "free":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--bias {text!r} is not known: give free, or the value of the column, 0 for none") from None


def _write(verdict: Verdict, path: str) -> None:
    if verdict.polished is None:
        raise InputError(
            "no polished model can be written: its vectors are not among these rows; give the rows of the training"
        )
    verdict.polished.save(path)


def _show(verdict: Verdict, options: Options) -> None:
    """Print the verdict."""
    if options.json:
        emit({"model": options.model, "data": options.data, "polished": options.polish} | verdict.describe())
        return
    for line in verdict.notes:
        note(line)
    percent = verdict.measure in ("accuracy", "outliers")

    def score(value: float | None) -> str | None:
        return None if value is None else f"{value:.2%}" if percent else f"{value:.6g}"

    rows(
        [
            ("software", verdict.software),
            ("problem", verdict.problem),
            ("P", f"{verdict.primal:.10g}" + _own_units(verdict)),
            ("D", "not known: " + str(verdict.flaw) if verdict.dual is None else f"{verdict.dual:.10g}"),
            ("gap", _gap(verdict, options.tol)),
            ("polish", _polish(verdict)),
            (verdict.measure, score(verdict.score)),
            ("polished", None if verdict.gain is None else score(verdict.polished_score)),
            ("it says", verdict.claim.words or None),
            ("hidden", verdict.hidden),
            *_decisions(verdict),
            ("model", options.polish),
        ]
    )


def _own_units(verdict: Verdict) -> str:
    return "" if verdict.unit == 1.0 else f" ({verdict.unit * verdict.primal:.10g} in its own units)"


def _gap(verdict: Verdict, tol: float | None) -> str:
    gap, n = verdict.gap, len(verdict.rulings)
    if gap is None:
        return "not known"
    remarks = [f"the largest of {n:,} decisions"] if n > 1 else []
    remarks += [] if tol is None else [f"within {tol:g}" if gap <= tol else f"above {tol:g}"]
    return f"{gap:.2g}" + (f" ({', '.join(remarks)})" if remarks else "")


def _polish(verdict: Verdict) -> str | None:
    gain = verdict.gain
    if gain is None:
        return "not needed" if verdict.gap is not None else None
    polished = sum((r.polished or r.own).primal for r in verdict.rulings)
    ends = sorted({r.status for r in verdict.rulings if r.status})
    seconds = sum(r.seconds for r in verdict.rulings)
    gains = f"gains {gain:.2g} of P:" if len(verdict.rulings) == 1 else f"gains up to {gain:.2g} of a decision's P; sum"
    return f"{gains} {polished:.10g} ({', '.join(ends)}, {seconds:.2f} s)"


def _decisions(verdict: Verdict) -> list[tuple[str, str]]:
    """Return a line for each decision if there are several; for many, only the worst ones."""
    if len(verdict.rulings) < 2:
        return []
    ordered = sorted(verdict.rulings, key=lambda one: -math.inf if one.gap is None else -one.gap)[:MOST]
    gaps = ["not known" if one.gap is None else f"{one.gap:.2g}" for one in ordered]
    lines = [(one.name, f"P {one.primal:.8g}, gap {gap}") for one, gap in zip(ordered, gaps, strict=True)]
    more = len(verdict.rulings) - len(ordered)
    return lines + ([("...", f"{more:,} more, with smaller gaps")] if more else [])
