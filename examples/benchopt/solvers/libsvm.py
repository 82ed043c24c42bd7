"""LIBSVM's own library (libsvm-official)."""

import numpy as np
from benchopt import BaseSolver
from libsvm.svmutil import svm_parameter, svm_problem, svm_train


class Solver(BaseSolver):
    """Its tolerance (-e) is the largest violation of the optimality conditions."""

    name = "libsvm"
    sampling_strategy = "tolerance"
    requirements = ("pip::libsvm-official",)

    def set_objective(self, X, y, C, gamma):
        """Take the problem."""
        self.y, self.problem = y, svm_problem(y.astype(float), X)
        self.options = f"-q -c {C} -g {gamma} -m 500"

    def run(self, tolerance):
        """Solve to a tolerance."""
        parameter = svm_parameter(f"{self.options} -e {min(max(tolerance, 1e-9), 1.0)}")
        self.model = svm_train(self.problem, parameter)

    def get_result(self):
        """Return the coefficients of all rows and the intercept; a positive decision is for its first label."""
        sign, coef = float(self.model.get_labels()[0]), np.zeros(len(self.y))
        rows = np.array(self.model.get_sv_indices()) - 1
        coef[rows] = sign * np.array(self.model.get_sv_coef()).ravel()
        return {"coef": coef, "intercept": -sign * float(self.model.rho[0])}
