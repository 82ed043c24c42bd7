"""1/2 |w|^2 + C sum max(0, 1 - y h): what kernel SVMs with a free bias minimise, judged by svmkit's certificate."""

import numpy as np
from benchopt import BaseObjective

from svmkit import SVMModel
from svmkit.kernels import RBF


class Objective(BaseObjective):
    """The hinge with the rbf kernel; a solver returns the coefficients of all rows and the intercept."""

    name = "Kernel SVM"
    url = "https://github.com/svmkit/svmkit"
    parameters = {"C": [1.0, 100.0], "gamma": ["scale"]}  # noqa: RUF012  as benchopt has it
    min_benchopt_version = "1.5"

    def set_data(self, X, y):
        """Take the rows, and labels -1 and 1."""
        self.X, self.y = X, y
        self.width = 1.0 / (X.shape[1] * X.var()) if self.gamma == "scale" else float(self.gamma)

    def get_objective(self):
        """Return what a solver is given."""
        return {"X": self.X, "y": self.y, "C": self.C, "gamma": self.width}

    def evaluate_result(self, coef, intercept):
        """Return P and D of the coefficients, from scratch on all rows, and the share of right signs."""
        rows = np.flatnonzero(coef)
        order = rows[np.argsort(self.y[rows], kind="stable")]
        model = SVMModel(
            kernel=RBF(self.width),
            classes=np.array([-1, 1]),
            vectors=self.X[order],
            n_support=np.array([(self.y[order] < 0).sum(), (self.y[order] > 0).sum()]),
            coef=np.asarray(coef, dtype=np.float64)[None, order],
            intercept=np.array([float(intercept)]),
            n_features=self.X.shape[1],
        )
        (certificate,) = model.certify(self.X, self.y, C=self.C, loss="hinge", bias="free")
        gap = np.inf if certificate.gap is None else certificate.gap
        accuracy = float((model.predict(self.X) == self.y).mean())
        return {"value": certificate.primal, "gap": gap, "train_accuracy": accuracy, "n_support": len(rows)}

    def get_one_result(self):
        """Return a result of the form that solvers return."""
        coef = np.zeros(len(self.y))
        coef[[int(np.argmin(self.y)), int(np.argmax(self.y))]] = [-1e-3, 1e-3]
        return {"coef": coef, "intercept": 0.0}
