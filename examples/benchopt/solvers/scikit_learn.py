"""SVC of scikit-learn."""

import numpy as np
from benchopt import BaseSolver
from sklearn.svm import SVC


class Solver(BaseSolver):
    """Its tolerance is the largest violation of the optimality conditions."""

    name = "scikit-learn"
    sampling_strategy = "tolerance"
    requirements = ("pip::scikit-learn",)

    def set_objective(self, X, y, C, gamma):
        """Take the problem."""
        self.X, self.y, self.machine = X, y, SVC(C=C, gamma=gamma, cache_size=500)

    def run(self, tolerance):
        """Solve to a tolerance."""
        self.machine.set_params(tol=min(max(tolerance, 1e-9), 1.0)).fit(self.X, self.y)

    def get_result(self):
        """Return the coefficients of all rows and the intercept."""
        coef = np.zeros(len(self.y))
        coef[self.machine.support_] = np.asarray(self.machine.dual_coef_).ravel()
        return {"coef": coef, "intercept": float(np.ravel(self.machine.intercept_)[0])}
