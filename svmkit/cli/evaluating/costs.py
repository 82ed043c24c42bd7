"""`svmkit evaluate --cost fn=50,fp=1 --threshold best`: labels by a threshold, and the cost of their errors."""

from __future__ import annotations

from typing import Any

from svmkit.errors import InputError
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.scoring.evaluations.classes import ClassEvaluation
from svmkit.scoring.operating import Cost, threshold_for

BEST = "best"


def apply_costs(evaluated: Evaluation, options: Any) -> tuple[Evaluation, dict[str, Any] | None]:
    """Return the evaluation of the labels that the options request, and the cost of their errors; None without costs.

    Raises InputError: there are not two classes, or the options are incompatible.
    """
    if options.cost is None and options.threshold is None:
        return evaluated, None
    if not isinstance(evaluated, ClassEvaluation) or evaluated.positive is None:
        raise InputError("--cost and --threshold are for two classes: leave them out")
    cost = None if options.cost is None else Cost.from_text(options.cost)
    known = evaluated.model.about.get("operating") or {}
    positive, threshold, chosen = str(known.get("positive", evaluated.positive)), None, evaluated
    if options.threshold == BEST:
        if cost is None:
            raise InputError("--threshold best needs what errors cost: give --cost fn=50,fp=1, too")
        positive, threshold = threshold_for(evaluated.model, cost)
    elif options.threshold is not None:
        threshold = _number(options.threshold)
    if threshold is not None:
        chosen = evaluated.above(positive, threshold)
    if cost is None:
        return chosen, {"positive": positive, "threshold": threshold}
    per_row = {name: of.cost(positive, *cost) for name, of in (("per_row", chosen), ("per_row_by_labels", evaluated))}
    none, every = (evaluated.above(positive, end).cost(positive, *cost) for end in (float("inf"), -float("inf")))
    facts = {**cost._asdict(), **per_row, "per_row_of_none": none, "per_row_of_all": every}
    return chosen, {"positive": positive, "threshold": threshold, **facts}


def cost_rows(found: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return the report rows for the result of `apply_costs`."""
    if found is None:
        return []
    shown = []
    if found["threshold"] is not None:
        shown.append(("threshold", f"{found['threshold']:.6g} of the decision for class {found['positive']}"))
    if "fn" in found:
        others = f"labels {found['per_row_by_labels']:.6g}, " if found["threshold"] is not None else ""
        others += f"none {found['per_row_of_none']:.6g}, all {found['per_row_of_all']:.6g}"
        shown.append(("cost", f"{found['per_row']:.6g} a row ({others})"))
    return shown


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value:
        raise InputError(f"--threshold {text!r}: give a number or best")
    return value
