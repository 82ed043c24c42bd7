"""Linear fits read X as it is given: no copy of it in any type, whichever way it is stored."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import make

from svmkit.kernels.functions import Linear
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.train import fit

FORMS = {"dense": lambda X: X, "csr": lambda X: sp.csr_array(X)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["dcd", "newton"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_float32_is_read_without_a_copy(loss, name, form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 300), dtype=np.float32)
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    given = FORMS[form](X)
    how = {"solver": make(name, loss=loss, bias=1.0), "kernel": Linear(), "C": 1e-3, "stop": Gap(1e-2) | Iterations(50)}
    fit(given, y, **how)  # compiles: few rows go other ways
    tracemalloc.start()
    try:
        fit(given, y, **how)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (
        peak < 0.8 * X.nbytes
    )  # the sums of the Hessian on several threads take half of it; a copy is all of it, or twice
