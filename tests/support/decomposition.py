"""What the tests of the decomposition solvers share."""

import numpy as np
import pytest
from support.problems import make

from svmkit import plugins
from svmkit.kernels.functions import RBF, Kernel
from svmkit.kernels.gram import Gram
from svmkit.problems.box import BoxQP

HINGE = ["smo1", "smo", "svmlight", "fcsmo"]
ALL = [*HINGE, "smol2"]
every_hinge = pytest.mark.parametrize("name", HINGE)
every_solver = pytest.mark.parametrize("name", ALL)


def squared(name):
    """The solver with the squared hinge loss."""
    return make(name, **({"loss": "squared_hinge"} if "loss" in plugins.options(plugins.load("solver", name)) else {}))


def pose(solver, X, y, C=1.0, kernel: Kernel | None = None, **gram) -> BoxQP:
    return solver.pose(Gram(kernel or RBF(0.1), X, **gram), y, C)


def margins(problem, beta):
    """The sides of the maximal violating pair from scratch: (lowest y G with room above, highest with room below)."""
    v, plus = problem.y * problem.gradient(beta), problem.y > 0
    above = np.where(plus, beta < problem.upper, beta > 0.0)
    below = np.where(plus, beta > 0.0, beta < problem.upper)
    return v[above].min(), v[below].max()
