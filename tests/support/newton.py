"""Data and solves of the tests of newton, and the kinds of its steps, for the fixture `options`."""

import numpy as np
import pytest
from support.problems import make

from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Gap

steps = pytest.mark.parametrize("steps", ["narrow", "sums", "matrix", "products"])


def samples(loss, m=150, d=5, seed=0):
    """X (m, d), targets that fit the loss, and costs (m,)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)) * rng.uniform(0.3, 3.0, d)
    h = X @ rng.normal(size=d) + 1.0
    noisy = h + rng.standard_t(3, size=m)
    return X, np.where(noisy > 0.0, 1.0, -1.0) if loss.task == "classify" else noisy, rng.uniform(0.2, 2.0, m)


def trained(X, target, C, loss, gap=1e-8, **options):
    """(solution, problem, w (d,), intercept)."""
    solver = make("newton", loss=loss, **options)
    problem = solver.pose(Gram(Linear(), X), target, C, loss)
    solution = solve(problem, solver, stop=Gap(gap))
    assert solution.status == "converged" and solution.certificate.gap <= gap
    model = problem.decision_function(solution.point, solution.certificate)
    return solution, problem, model.w, model.intercept
