"""What the tests of the cutting-plane methods share."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import make, posed

from svmkit.solver.sampler import Draws, Full

NAMES = ["svmperf", "bmrm", "ocas"]
LOSSES = ["hinge", "squared_hinge"]
every = pytest.mark.parametrize("name", NAMES)
both = pytest.mark.parametrize("loss", LOSSES)


def started(name, X, y, C=1.0, start=None, **options):
    """(solver, problem, state)."""
    solver = make(name, **options)
    problem = posed(solver, X, y, C)
    return solver, problem, solver.init(problem, start, Draws(Full(), problem.y, np.random.default_rng(0)))


def primal(problem, w):
    """P from its definition."""
    X = problem.gram.engine.X
    X = X.toarray() if sp.issparse(X) else X
    d = X.shape[1]
    h = X @ w[:d] + (problem.bias * w[d] if problem.bias else 0.0)
    return 0.5 * w @ w + problem.C @ problem.loss.value(problem.y, h)
