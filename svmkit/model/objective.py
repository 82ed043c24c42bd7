"""What a model minimises, as it says itself or as it is told: the loss, the bias and the penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from svmkit import plugins
from svmkit.errors import InputError, SvmkitError
from svmkit.kernels.functions import Kernel
from svmkit.losses.base import Loss
from svmkit.losses.by_name import canonical_name, make_loss

FREE = "free bias"
LIBSVM = ("SVC", "NuSVC", "SVR", "NuSVR")  # estimators of scikit-learn with LIBSVM's problems


class Objective(NamedTuple):
    """What is minimised: a penalty on w, and the losses of all samples.

    Attributes
    ----------
    loss : Loss
        The loss.
    bias : float or None
        The value of the column of the bias, which is part of w; 0.0 for no bias, None for a free one.
    l1 : bool
        Whether the penalty is |w|_1 and not 1/2 |w|^2.
    """

    loss: Loss
    bias: float | None
    l1: bool = False


def read_objective(
    about: Mapping[str, Any], kernel: Kernel, task: str, loss: str | Loss | None = None, bias: str | float | None = None
) -> Objective:
    """Return what a model minimises.

    Parameters
    ----------
    about : mapping of str to object
        What the model says of its training: "formulation", "loss" and its options; or the solver alone, whose default
        loss is taken then; or an import from LIBSVM.
    kernel : Kernel
        The kernel.
    task : {"classify", "regress"}
        What was learnt.
    loss : str or Loss, default=None
        The loss, where the model does not say it.
    bias : "free" or float, default=None
        The bias, where the model does not say it: free, or the value of its column, 0 for none.

    Returns
    -------
    Objective

    Raises
    ------
    InputError
        The loss is not known, or is one of another task.
    """
    words = str(about.get("formulation") or _default_formulation(about, kernel, task))
    given = loss if loss is not None else about.get("loss") or _loss_in(words, about, task)
    if given is None:
        raise InputError("the model does not say with which loss it was trained: give loss=NAME")
    options = {} if isinstance(given, Loss) else {key: about[key] for key in _options(given, task) if key in about}
    return Objective(make_loss(given, task, options), _column(words, bias), words.endswith("l1 penalty"))


def _options(name: str, task: str) -> Mapping[str, Any]:
    name = canonical_name(name, task)
    return plugins.options(plugins.load("loss", name)) if name in plugins.names("loss") else {}


def _default_formulation(about: Mapping[str, Any], kernel: Kernel, task: str) -> str:
    """Return what the solver minimises with its default options; "" where it is not known."""
    try:
        return plugins.build("solver", about["solver"]).formulation(kernel, task)
    except (SvmkitError, KeyError):
        return ""


def _loss_in(words: str, about: Mapping[str, Any], task: str) -> str | None:
    """Return the name of the loss with which a formulation begins; LIBSVM's problems have the hinge."""
    if words.startswith("nu-") or "svm_type" in about or about.get("estimator") in LIBSVM:
        return "hinge"
    rows = (row.plugin for row in plugins.working("loss") if row.plugin.task == task)
    first = words.partition(",")[0]
    return next((cls.name for cls in rows if first == cls().words), None)


def _column(words: str, bias: str | float | None) -> float | None:
    """Return the value of the column of the bias, None for a free one."""
    if bias is not None:
        return None if bias == "free" else float(bias)
    if "regularised bias of " in words:
        return float(words.partition("regularised bias of ")[2].partition(",")[0])
    return 1.0 if "regularised bias" in words else 0.0 if "no bias" in words else None
