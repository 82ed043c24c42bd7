"""The facts of a report, computed once: training, quality, reasons for decisions, and certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from svmkit.cli.evaluating.reporting.quality import Measure, measure, measure_sets
from svmkit.cli.evaluating.reporting.reasons import give_reasons
from svmkit.data import Dataset
from svmkit.data.overlap import measure_overlap
from svmkit.model.objective import held_out
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.scoring.evaluations.doubt import UNFINISHED
from svmkit.tasks import task_named

FEW = 100  # rows of an evaluation below which its numbers are rough
FOUND = 0.5  # recall of a class below which it is reported as low
PROVEN = 1e-2  # gap above which a model is reported as far from the optimum


@dataclass(frozen=True)
class Facts:
    """All contents of a report, as plain values except for the evaluation, from which pictures are drawn.

    Attributes
    ----------
    title, made : str
        The name of the model, and the date of the report.
    training, lineage, certificate : dict
        The task and the training data; the software and the data's origin; the proven bounds.
    evaluation : dict
        The keys of `svmkit evaluate --json`.
    measures : list of Measure
        The quality with its spread, compared with the trivial model.
    reasons : dict
        The result of `give_reasons`.
    cautions : list of str
        Cautions, a sentence each.
    evaluated : Evaluation
        The predictions beside the truth.
    """

    title: str
    made: str
    training: dict[str, Any]
    evaluation: dict[str, Any]
    measures: list[Measure]
    reasons: dict[str, Any]
    certificate: dict[str, Any]
    lineage: dict[str, Any]
    cautions: list[str]
    evaluated: Evaluation = field(repr=False)

    def plain(self) -> dict[str, Any]:
        """Return the facts as `svmkit report --json` prints them."""
        kept = {key: value for key, value in vars(self).items() if key not in ("evaluated", "measures")}
        return kept | {"measures": [one._asdict() for one in self.measures]}


def collect(
    evaluated: Evaluation, model: Any, data: Dataset, *, title: str, seed: int = 0, n_threads: int | None = None
) -> Facts:
    """Compute the facts.

    Parameters
    ----------
    evaluated, model, data : Evaluation, SVMModel, Dataset
        The result of `Task.evaluate`, the model as trained, before it was widened, and the rows.
    title : str
        The name of the model.
    seed, n_threads : int, int or None
        The random seed, and the number of threads.
    """
    about, result = model.about, evaluated.result()
    measures = measure(evaluated, result, seed)
    if (cover := task_named(model.task).cover(evaluated.model, data, n_threads)) is not None:
        result |= {"sets": cover.result()}
        measures += [measure_sets(cover)] if cover.n_rows else []
    lineage = _lineage(about, data)
    certificate = _certificate(about)
    return Facts(
        title=title,
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        training=_training(model),
        evaluation=result,
        measures=measures,
        reasons=give_reasons(evaluated, evaluated.model, data, seed, n_threads),
        certificate=certificate,
        lineage=lineage,
        cautions=[*evaluated.notes, *_doubts(result, measures, lineage, certificate)],
        evaluated=evaluated,
    )


def _training(model: Any) -> dict[str, Any]:
    """Return the facts about the training."""
    about, encoding = model.about, model.encoding
    return {
        "data": about.get("data"),
        "task": model.task,
        "label": encoding and encoding.label,
        "outputs": list(model.outputs),
        "rows": about.get("n_samples"),
        "held_out": held_out(about),
        "columns": None if encoding is None else list(encoding.columns),
        "n_features": model.n_features,
        "classes": model.classes.tolist(),
        "kernel": {"name": model.kernel.name, "params": model.kernel.params},
        "solver": about.get("solver"),
        "C": about.get("C"),
        "epsilon": about.get("epsilon"),
        "nu": about.get("nu"),
        "n_support": None if model.holds_weights else int(model.n_support.sum()),
        "scaling": model.scaling and model.scaling.kind,
        "imputing": model.imputing and model.imputing.kind,
        "calibration": about.get("calibration"),
    }


def _lineage(about: dict[str, Any], data: Dataset) -> dict[str, Any]:
    """Return the origin of the model and of the numbers."""
    import platform
    from importlib.metadata import version

    import svmkit

    own, keys = data.fingerprint(), about.get("row_keys")
    known = measure_overlap(data.X, keys) if isinstance(keys, str) else None
    same = own == about["data_sha256"] if about.get("data_sha256") else None
    return {
        "training_data": about.get("data"),
        "training_sha256": about.get("data_sha256"),
        "evaluated_data": data.name,
        "evaluated_sha256": own,
        "same_rows": same,
        "share_of_training_rows": 1.0 if same else known and known.share,
        "rows_compared": data.n_samples if same else known and known.n_rows,
        "trained_by": about.get("svmkit_version"),
        "git_commit": about.get("git_commit"),
        "seed": about.get("seed"),
        "params": about.get("params") or {},
        "reported_by": svmkit.__version__,
        "versions": {"Python": platform.python_version()}
        | {name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
    }


def _certificate(about: dict[str, Any]) -> dict[str, Any]:
    """Return what is proven about the training, with a sentence that states it."""
    gap, status = about.get("gap"), str(about.get("status") or "")
    if isinstance(gap, int | float) and gap == gap:
        held = held_out(about)
        of = f"all training rows but the {held:,} that were held out for its sets" if held else "all training rows"
        words = (
            f"The objective that training minimises is at most {_share(gap)} above the lowest value that any model of "
            "this kind can have on the training rows. That is proven by a lower bound (the dual objective), computed "
            f"on {of}; it does not rest on trust in the solver."
        )
    else:
        words = "The model does not say how far from the optimum it is: svmkit certify MODEL DATA finds out."
    if status:
        words += f" Training ended with the status: {status.replace('_', ' ')}."
    words += " The certificate is about training, not about how good predictions on other rows are."
    return {"gap": gap, "status": status, "objective": about.get("objective"), "words": words}


def _share(gap: float) -> str:
    return f"{100.0 * gap:.2g} %"


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def _doubts(
    result: dict[str, Any], measures: list[Measure], lineage: dict[str, Any], certificate: dict[str, Any]
) -> list[str]:
    """Return cautions beyond those of `svmkit evaluate`."""
    said = []
    if lineage["same_rows"]:
        said.append(
            "These are the rows that the model was trained on: on new rows it is likely worse. Report on other rows."
        )
    elif share := lineage["share_of_training_rows"]:
        by, n = lineage["rows_compared"], result["n_test"]
        counted = "" if by == n else f" (counted on {by:,} of {n:,})"
        said.append(
            f"{_percent(share)} of these rows are rows that the model was trained on{counted}: on new rows it is "
            "likely worse. Leave them out."
        )
    if result["n_test"] < FEW:
        said.append(f"There are only {result['n_test']} rows to judge by: the numbers are rough.")
    first = measures[0] if measures else None
    if first and first.reaches_trivial:
        way = "up" if first.better == "smaller" else "down"
        said.append(
            f"The interval of {first.name} reaches {way} to the trivial model: that the model is better is not shown."
        )
    for label, share in sorted((result["recall"] or {}).items(), key=lambda item: item[1])[:3]:
        if share < FOUND and label not in result["unknown_labels"]:
            said.append(f"Only {share:.0%} of the {result['rows'][label]:,} rows of class “{label}” are found.")
    if certificate["status"] in {str(status) for status in UNFINISHED}:
        said.append("Training was cut short: more time may give a better model.")
    gap = certificate["gap"]
    if gap is None:
        said.append("Nothing is proven about how far from optimal the model is.")
    elif gap > PROVEN:
        said.append(f"The model may be {_share(gap)} from the optimum of its training: train it longer.")
    return said
