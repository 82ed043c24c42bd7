"""Estimators with scikit-learn's interface side by side in one process: fits, predictions and fixed costs.

Started by peers_turns.py with any interpreter that has scikit-learn; svmkit and scikit-learn-intelex are imported
for their own contender only.
"""

from __future__ import annotations

import gc
import time
import warnings
from importlib import import_module
from pathlib import Path
from statistics import median

import numpy as np
import scipy.sparse as sp
from peers_worker import Worker, stored, take_cores

KINDS = {
    **{"svc": ("sklearn.svm", "SVC"), "intelex": ("sklearnex.svm", "SVC"), "svmkit": ("svmkit", "SVMClassifier")},
    **{"svr": ("sklearn.svm", "SVR"), "intelex_svr": ("sklearnex.svm", "SVR"), "regressor": ("svmkit", "SVMRegressor")},
}
FEW = 20, 2  # samples and features of the smallest fit
GRID = {"C": np.geomspace(0.01, 100, 10).tolist(), "gamma": np.geomspace(0.001, 10, 10).tolist()}
FOLDS = 5  # with GRID: 500 fits
CALLS = 50  # of which the median is a fixed cost


class Everyday(Worker):
    """Fits of the estimator of each side: by default its gamma is "scale", its C is 1."""

    def start(self, side: str, threads: int) -> dict:
        """Import the sides, whose names are joined by commas."""
        take_cores(threads)
        warnings.simplefilter("ignore")
        self.kinds = {name: getattr(import_module(KINDS[name][0]), KINDS[name][1]) for name in side.split(",")}
        return {}

    def load(self, folder: str, storage: str) -> dict:
        """Read the data, and fit each side once, so that loading its code is off the clock."""
        self.y = np.load(Path(folder) / "y.npy")
        self.X, self.X_test = (stored(Path(folder), part, storage) for part in ("train", "test"))
        _, first = np.unique(self.y, return_index=True)
        few = np.unique(np.concatenate([first[:200], np.arange(min(200, len(self.y)))]))  # with each class
        for kind in self.kinds.values():
            kind().fit(self.X[few], self.y[few]).predict(self.X_test[:5])
        return {}

    def turn(self, side: str, params: dict, save: str = "") -> dict:
        """Fit and predict once; what a judge needs goes to the file `save`."""
        model = self.kinds[side](**params)
        gc.collect()
        began = time.perf_counter()
        model.fit(self.X, self.y)
        seconds = time.perf_counter() - began
        began = time.perf_counter()
        labels = model.predict(self.X_test)
        answer = {"seconds": seconds, "predict_s": time.perf_counter() - began}
        if save:
            coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
            intercept = np.ravel(model.intercept_)
            np.savez(save, labels=labels, coef=coef, support=model.support_, intercept=intercept)
        return answer

    def fixed(self, side: str, what: str, params: dict) -> dict:
        """Seconds of the smallest fit, of a prediction of one row, or of a search with 500 small fits."""
        kind = self.kinds[side]
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=FEW), np.arange(FEW[0]) % 2
        if what == "search":
            from sklearn.datasets import load_iris
            from sklearn.model_selection import GridSearchCV

            iris = load_iris()
            search = GridSearchCV(kind(**params), GRID, cv=FOLDS)
            return {"seconds": _seconds(lambda: search.fit(iris.data, iris.target))}
        model = kind(**params).fit(X, y)
        call = (lambda: kind(**params).fit(X, y)) if what == "fit" else (lambda: model.predict(X[:1]))
        return {"seconds": median(_seconds(call) for _ in range(CALLS))}


def _seconds(call) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    Everyday.main()
