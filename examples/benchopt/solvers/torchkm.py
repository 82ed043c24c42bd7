"""TorchKM: its SVM with a kernel, whose lambda is 1 / (2 m C)."""

from benchopt import BaseSolver
from torchkm.estimators import TorchKMSVC


class Solver(BaseSolver):
    """Its kernel is exp(-2 sigma |x - z|^2)."""

    name = "torchkm"
    sampling_strategy = "tolerance"
    requirements = ("pip::torchkm",)

    def set_objective(self, X, y, C, gamma):
        """Take the problem."""
        self.X, self.y = X, y
        self.options = {"kernel": "rbf", "rbf_sigma": gamma / 2.0, "Cs": [C], "device": "cpu", "max_iter": 100_000}

    def run(self, tolerance):
        """Solve to a tolerance of its own."""
        self.machine = TorchKMSVC(tol=min(max(tolerance, 1e-12), 1e-1), **self.options).fit(self.X, self.y)

    def get_result(self):
        """Return the coefficients of all rows and the intercept."""
        return {"coef": self.machine.alpha_, "intercept": self.machine.intercept_}
