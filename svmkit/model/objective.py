"""The objective of a model, as recorded in it or as given by the caller: the loss, the bias and the penalty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from svmkit import plugins
from svmkit.errors import InputError, SvmkitError
from svmkit.kernels.functions import Kernel
from svmkit.losses.base import Loss
from svmkit.losses.by_name import canonical_name, make_loss
from svmkit.problems.risks.penalty import Penalty, make_penalty, penalty_in, read_penalty

FREE = "free bias"
LIBSVM = ("SVC", "NuSVC", "SVR", "NuSVR")  # estimators of scikit-learn with LIBSVM's problems


class Objective(NamedTuple):
    """The objective: a penalty on w, and the losses of all samples."""

    loss: Loss
    bias: float | None  # the value of its column, which is part of w; 0.0 for no bias, None for a free one
    penalty: Penalty = make_penalty()


def describe_objective(loss: Loss, words: str) -> dict[str, Any]:
    """Return a loss and the words of a formulation as plain values, which a model keeps in `about["minimised"]`."""
    penalty = penalty_in(words)
    described = {"loss": loss.name, "options": loss.params, "bias": _column(words)}
    return described | (penalty.params if penalty.l1 else {})


def lacking_weights(about: Mapping[str, Any]) -> str | None:
    """Return a note on a model that was trained with weights but keeps none of them; None for all others."""
    if not about.get("weighted"):
        return None
    if held := held_out(about):
        return (
            f"the model was trained without {held:,} of its training rows, which were held out for its sets, and does "
            "not keep which: give certify a weight of 0 for them, since with them P, D and the gap are those of "
            "another problem"
        )
    return (
        "the model was trained with sample or class weights, which it does not keep: give certify the same ones, since "
        "without them P, D and the gap are those of other costs"
    )


def held_out(about: Mapping[str, Any]) -> int:
    """Return how many of the training rows were held out for prediction sets; 0 if the model is one of all rows."""
    facts = about.get("conformal")
    return int(facts["rows"]) if isinstance(facts, dict) and "rows" in facts and "folds" not in facts else 0


def read_objective(
    about: Mapping[str, Any], kernel: Kernel, task: str, loss: str | Loss | None = None, bias: str | float | None = None
) -> Objective:
    """Return the objective of a model; raise InputError if the loss is not known, or belongs to another task.

    Parameters
    ----------
    about : mapping, which has "minimised"; or the solver, whose default is taken then; or is that of an import
    kernel : Kernel
    task : {"classify", "regress"}, the task of the model
    loss : str or Loss, to override the recorded one
    bias : "free" or float, to override the recorded one: free, or the value of its column, 0 for none
    """
    known = about.get("minimised")
    if known is None:
        try:  # the solver's objective with default options; at that time auto did not leave a bias free
            before = {"bias": 1.0} if about["solver"] == "auto" and kernel.name == "linear" else {}
            words = plugins.build("solver", about["solver"], before).formulation(kernel, task)
        except (SvmkitError, KeyError):
            words = ""
        name = _loss_in(words, about, task)
        known = {"loss": name, "options": about, "bias": _column(words)}
    given = known["loss"] if loss is None else loss
    if given is None:
        raise InputError("the model does not say with which loss it was trained: give loss=NAME")
    options: dict[str, Any] = {}
    if not isinstance(given, Loss) and (named := canonical_name(given, task)) in plugins.names("loss"):
        own = plugins.options(plugins.load("loss", named))
        options = {key: value for key, value in known["options"].items() if key in own}
    column = known["bias"] if bias is None else bias_column(bias)
    return Objective(make_loss(given, task, options), column, read_penalty(known))


def bias_column(bias: str | float) -> float | None:
    """Return the value of the column of a bias that was given, None for "free"; raise InputError for other text."""
    if bias == "free":
        return None
    if isinstance(bias, str) or not math.isfinite(bias):
        raise InputError(f'bias={bias!r} is not known: give "free", or the value of the column, 0 for none')
    return float(bias)


def _loss_in(words: str, about: Mapping[str, Any], task: str) -> str | None:
    """Return the name of the loss with which a formulation begins; LIBSVM's problems have the hinge."""
    if words.startswith("nu-") or "svm_type" in about or about.get("estimator") in LIBSVM:
        return "hinge"
    rows = (row.plugin for row in plugins.working("loss") if row.plugin.task == task)
    first = words.partition(",")[0]
    return next((cls.name for cls in rows if first == cls().words), None)


def _column(words: str) -> float | None:
    """Return the value of the bias column, None for a free bias."""
    if "regularised bias of " in words:
        return float(words.partition("regularised bias of ")[2].partition(",")[0])
    return 1.0 if "regularised bias" in words else 0.0 if "no bias" in words else None
