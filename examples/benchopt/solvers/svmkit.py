"""Solvers of svmkit for the hinge and a free bias."""

import numpy as np
from benchopt import BaseSolver

from svmkit import fit
from svmkit.kernels import RBF
from svmkit.solver import Gap, Iterations


class Solver(BaseSolver):
    """smo, fcsmo, svmlight or smo1, to a certified gap."""

    name = "svmkit"
    sampling_strategy = "tolerance"
    parameters = {"solver": ["smo", "fcsmo", "svmlight"]}  # noqa: RUF012  as benchopt has it

    def set_objective(self, X, y, C, gamma):
        """Take the problem."""
        self.X, self.y, self.C, self.kernel = X, y, C, RBF(gamma)

    def warm_up(self):
        """Compile."""
        self.run(1e-1)

    def run(self, tolerance):
        """Solve until the relative duality gap is below the tolerance."""
        stop = Gap(min(max(tolerance, 1e-12), 0.5)) | Iterations(10_000_000)
        self.fitted = fit(self.X, self.y, solver=self.solver, kernel=self.kernel, C=self.C, stop=stop)

    def get_result(self):
        """Return the coefficients of all rows and the intercept."""
        coef = np.zeros(len(self.y))
        coef[self.fitted.support] = self.fitted.model.coef[0]
        return {"coef": coef, "intercept": float(self.fitted.model.intercept[0])}
