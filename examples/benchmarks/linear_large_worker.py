"""A side of linear_large.py in a process of its own: reads the data, fits, and judges what came of it.

Estimators are called as MODULE:CLASS with the parameters of the job; the other sides are those of peers_sides.py.
"""

from __future__ import annotations

import resource
import warnings
from importlib import import_module
from pathlib import Path

import linear_sets
import numpy as np
import peers_sides
from peers_worker import Worker, take_cores

ROWS = 10_000  # a product at a time


class Estimator(peers_sides.Side):
    """A class with scikit-learn's interface."""

    def __init__(self, threads: int, name: str) -> None:
        super().__init__(threads)
        module, kind = name.split(":")
        self.version = import_module(module.partition(".")[0]).__version__
        self.kind = getattr(import_module(module), kind)

    def fit(self, data, job):
        return self.kind(**job["params"]).fit(*data)

    def read(self, model, data, said):
        facts = {"n_iter": int(np.max(getattr(model, "n_iter_", 0)))}
        if hasattr(model, "certificate_"):
            certificate = model.certificate_[0]
            facts |= {"dual": certificate.dual, "gap": certificate.gap, "status": str(model.status_)}
        return {"w": np.append(np.ravel(model.coef_), np.ravel(model.intercept_))}, facts


class Large(Worker):
    """The data as they are stored, the side, and its own copy of the data, if it makes one."""

    data = None

    def start(self, side: str, threads: int) -> dict:
        if ":" not in side:
            return super().start(side, threads)
        take_cores(threads)
        warnings.simplefilter("ignore")
        self.side = Estimator(threads, side)
        return {"version": self.side.version, "package": side.partition(":")[0]}

    def load(self, folder: str, columns: int, most: int) -> dict:
        """Read the rows; more memory than `most` bytes is refused from here on."""
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        self.folder, self.columns = Path(folder), columns
        self.X, self.y = linear_sets.read(self.folder, "train", columns)
        return {}

    def fit(self, job: dict, save: str = "") -> dict:
        """Train on all rows; a copy of the data counts as memory, not as time."""
        if self.data is None:
            self.data = self.side.native(self.X, self.y)
        answer = super().fit(job, save)
        return {**answer, "all_mb": answer["peak_mb"] + self.base}

    def judge(self, save: str, loss: str | None, bias: float) -> dict:
        """Return P of the weights in `save` where there is a loss, and the accuracy; `bias` is that in the penalty."""
        with np.load(save) as arrays:
            w, b = arrays["w"][:-1], float(arrays["w"][-1])
        X, y = linear_sets.read(self.folder, "test", self.columns)
        facts = {"accuracy": float(np.mean((_decision(X, w, b) > 0.0) == (y > 0.0)))}
        if loss:
            margins = np.maximum(1.0 - self.y * _decision(self.X, w, b), 0.0)
            total = float((margins if loss == "hinge" else margins**2).sum())
            facts["P"] = 0.5 * (float(w @ w) + bias * b * b) + total
        return facts


def _decision(X, w: np.ndarray, b: float) -> np.ndarray:
    """Return X w + b, without a copy of X in float64."""
    rows = range(0, X.shape[0], ROWS)
    return np.concatenate([X[k : k + ROWS].astype(np.float64) @ w for k in rows]) + b


if __name__ == "__main__":
    Large.main()
