"""The origin of a model, stored in the model itself, since it may be registered much later and elsewhere."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from svmkit._version import __version__
from svmkit.data import Dataset
from svmkit.scoring.metric import Metric
from svmkit.scoring.quantities import QuantityScores
from svmkit.scoring.scores import Scores

_ELSEWHERE = ("data", "n", "d", "log10_C", "log10_gamma")  # other entries of the model say the same


def of_training(params: dict[str, Any], data_sha256: str | None) -> dict[str, Any]:
    """Return the origin of a trained model.

    Parameters
    ----------
    params : dict of str to object
        Parameters of the run, gamma as a number.
    data_sha256 : str or None
        Checksum of the training data.

    Returns
    -------
    dict of str to object
        params, data_sha256, git_commit (where they are known) and svmkit_version.
    """
    settings = {key: value for key, value in params.items() if key not in _ELSEWHERE}
    found = {"params": settings, "data_sha256": data_sha256, "git_commit": git_commit()}
    return {key: value for key, value in found.items() if value is not None} | {"svmkit_version": __version__}


def of_test(
    data: Dataset, scores: Scores | QuantityScores | None, metric: Metric, value: float | None
) -> dict[str, Any]:
    """Return what predictions are worth and the data on which this was measured.

    Parameters
    ----------
    data : Dataset
        The test rows.
    scores : Scores, QuantityScores or None
        What the predictions are worth; None where the rows have no labels.
    metric : Metric
        What was measured besides.
    value : float or None
        The metric.

    Returns
    -------
    dict of str to object
        test_accuracy and test_balanced_accuracy, or of quantities test_r2, test_rmse and test_mae; test_metric with
        metric (its name) and positive (the class that it is about, if it is about one), test_data (the name),
        test_sha256 and n_test.
    """
    about = {"test_data": data.name, "test_sha256": data.fingerprint(), "n_test": data.n_samples}
    if scores is None:
        return about
    if isinstance(scores, QuantityScores):
        measured = {"test_r2": scores.r2, "test_rmse": scores.rmse, "test_mae": scores.mae}
        measured = {key: its for key, its in measured.items() if not math.isnan(its)}
    else:
        measured = {"test_accuracy": scores.accuracy, "test_balanced_accuracy": scores.balanced_accuracy}
    named = {"metric": metric.name, "positive": metric.positive, "test_metric": value}
    return {key: its for key, its in named.items() if its is not None} | measured | about


def git_commit() -> str | None:
    """Return the commit that is checked out in the working directory; None outside a checkout or if git fails."""
    try:
        asked = subprocess.run(
            ["git", "rev-parse", "--verify", "HEAD"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout.strip() or None if asked.returncode == 0 else None


def claimed_file(name: str) -> str:
    """Create an empty file: the first of NAME.svmkit, NAME-2.svmkit, ... that does not exist; safe between processes.

    It is in the working directory, or in the folder of temporary files if the working directory is not writable.
    """
    folder = Path() if os.access(".", os.W_OK) else Path(tempfile.gettempdir())
    for k in itertools.count(1):
        path = folder / (f"{name}.svmkit" if k == 1 else f"{name}-{k}.svmkit")
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            continue
        return str(path)
    raise AssertionError  # never reached: `count` has no end
