"""Whether a search scales the columns: if scales differ much, cross-validation at the default values decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from svmkit.choice.stages import make_stages
from svmkit.data.prepare.scaling import compare_scales, scale_hint
from svmkit.errors import InputError, SvmkitError
from svmkit.tasks import Answers
from svmkit.training.settings import Method
from svmkit.tune.crossval import Interrupted, run
from svmkit.tune.shared.leave_one_out import is_loo
from svmkit.tune.space import NONE, Path

SCALE = "scale"


def require_scalable(method: Method) -> None:
    """Raise InputError, in one line, if the method has no choice of scaling."""
    if method.settings.relevance is not None:
        raise InputError("scale='cv' with relevance: columns that are weighed are scaled; leave one of the two out")
    if method.kernel.form is None:
        raise InputError(f"scale='cv': the {method.kernel.name} kernel says nothing of columns; leave scale out")


def advise_scaling(method: Method, raw: Any) -> str | None:
    """Return a note if no scaling was chosen for columns whose scales differ much, else None."""
    if method.settings.scale is not None or method.settings.relevance is not None or method.kernel.form is None:
        return None
    return scale_hint(raw, "scale='{kind}', or scale='cv', which compares; scale='none' leaves them as they are")


def score_scales(
    method: Method, whole: Mapping[str, Any], raw: Any, truth: Answers, left: Callable[[], float]
) -> dict[str, float]:
    """Return the mean metric over the folds without scaling and with the one that `compare_scales` suggests.

    Parameters
    ----------
    method : Method
        The settings, at whose values of C, gamma and epsilon both are compared.
    whole : mapping
        What `svmkit.tune.run` is given for all rows; of many rows, some are drawn.
    raw : ndarray or CSR of shape (n_samples, n_features)
        The features before preprocessing.
    truth : Answers
        The labels.
    left : callable
        Returns the seconds that are left.

    Returns
    -------
    dict of str to float
        The better kind first; empty where the scales are alike, or an interrupt or the limit came first.
    """
    uneven = compare_scales(raw)
    if uneven is None:
        return {}
    given, task = dict(whole), method.task
    stages = (
        []
        if is_loo(given["cv"]) or task.has_labels or task.has_groups
        else make_stages(given["cv"].pairs, truth.codes, method.settings.seed)
    )
    if stages:
        weights = given["sample_weight"]
        own = None if weights is None else np.asarray(weights)
        given = stages[0].restrict(given, raw, truth.values, own)
    path = Path(0, method.solver, method.kernel, (method.settings.C,), {}, False)
    scores = dict[str, float]()
    for kind in (uneven.kind, NONE):
        if left() <= 0.0:
            return {}
        try:
            best = run([path], **given | {"scale": None if kind == NONE else kind}, seconds=left()).best
        except Interrupted:
            return {}
        except SvmkitError:  # this one cannot be trained
            continue
        if not math.isnan(best.mean_score):
            scores[kind] = best.mean_score
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
