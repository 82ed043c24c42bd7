"""What the tests of the MLflow registry share: points, settings, a model, a process, calls that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from svmkit import kernels
from svmkit.model.model import SVMModel
from svmkit.solver.history import HistoryPoint

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
POINTS = [
    HistoryPoint(i, 0.01 * i, 1.0 / i, None if i == 1 else 2.0 / i, i, 60 * i, None if i % 100 else 0.5)
    for i in range(1, 700)
]
SETTINGS = {"solver": "swap", "C": 1.0, "note": "x" * 9000}


def make_model(vectors=X[:10], classes=("no", "yes"), **kwargs) -> SVMModel:
    n_sv, labels = vectors.shape[0], np.array(classes)
    n_pairs = len(labels) * (len(labels) - 1) // 2
    return SVMModel(
        kernel=kernels.RBF(0.5),
        classes=labels,
        vectors=vectors,
        n_support=np.array([n_sv - len(labels) + 1] + [1] * (len(labels) - 1)),
        coef=np.random.default_rng(1).normal(size=(len(labels) - 1, n_sv)),
        intercept=np.full(n_pairs, 0.01),
        n_features=vectors.shape[1],
        **kwargs,
    )


def python(code: str, folder: Path, *args: str) -> subprocess.Popen:
    env = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")} | {
        "PYTHONPATH": str(Path(__file__).parents[1])
    }
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def failing(*errors: Exception | None):
    """A call that raises these in turn, the last one for ever; None: it returns its argument."""
    left = list(errors)

    def call(value=None):
        if error := left.pop(0) if len(left) > 1 else left[0]:
            raise error
        return value

    return call
