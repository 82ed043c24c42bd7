"""
Regression
==========

Support vector regression of a quantity: one certified fit, a search over C and epsilon, predicted against true.

.. code-block:: sh

    python examples/regression.py [FILE.png]

Trains on two thirds of scikit-learn's diabetes set (442 patients, the progress of the disease after a year as the
target), prints R2 and RMSE on the others, and draws predicted over true values.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np

import svmkit
from svmkit import tune
from svmkit.data import load
from svmkit.data.classes import with_task
from svmkit.data.splitting import split
from svmkit.kernels.functions import RBF
from svmkit.scoring.quantities import QuantityScores
from svmkit.solver.stopping import Gap


def main(path: str) -> None:
    """Search, train, print the measures on rows that were held out, and draw the predictions."""
    train, test = split(with_task(load("diabetes"), "regress"), 1 / 3, seed=0, stratify=False)
    grid = {"C": [1.0, 10.0, 100.0, 1000.0], "epsilon": [1.0, 10.0, 30.0], "gamma": [0.003, 0.01, 0.03]}
    found = tune.search(train.X, train.y, solver="smo", kernel="rbf", grid=grid, task="regress", scale="standard")
    best = found.best
    epsilon = best.params["epsilon"]
    fitted = svmkit.fit(
        train.X,
        train.y,
        task="regress",
        solver=best.solver,
        kernel=RBF(gamma=best.gamma),
        C=best.C,
        epsilon=epsilon,
        scale="standard",
        stop=Gap(1e-6),
    )
    predicted = fitted.model.predict(test.X)
    scores = QuantityScores.from_predictions(predicted, test.y)
    print(
        f"C={best.C:g}, epsilon={epsilon:g}, gamma={best.gamma:g}: "
        f"certified gap {fitted.gap:.1e}, {len(fitted.support)} of {train.n_samples} rows are support vectors"
    )
    print(f"test R2 {scores.r2:.3f}, RMSE {scores.rmse:.1f} (mean of the targets: {scores.spread:.1f})")
    _draw(path, test.y, predicted, epsilon)
    print(f"picture: {path}")


def _draw(path: str, true: np.ndarray, predicted: np.ndarray, epsilon: float) -> None:
    figure, axes = plt.subplots(figsize=(5.5, 5.0), layout="constrained")
    ends = np.array([true.min(), true.max()])
    axes.fill_between(ends, ends - epsilon, ends + epsilon, alpha=0.15, color="C1", label=f"the tube, ±{epsilon:g}")
    axes.plot(ends, ends, "--", color="0.4", linewidth=1)
    axes.scatter(true, predicted, s=16, alpha=0.6)
    axes.set(title="diabetes, rows that were held out", xlabel="true", ylabel="predicted")
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "regression.png")
