"""A copy of X by columns has the products of X, and solves end at the optimum with it and without."""

import numpy as np
import pytest
import scipy.sparse as sp
from svmkit_coordinate import by_columns, primal_state
from svmkit_coordinate.by_columns import BLOCK, ByColumns
from svmkit_coordinate.primal_state import State

from svmkit import plugins
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import Logistic, SquaredError, SquaredHinge
from svmkit.problems.risks.design import Design
from svmkit.runtime import threads
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Full
from svmkit.solver.stopping import Gap


def draw(m, d, kind, dtype=np.float64, seed=0):
    """Sparse X with rows of many lengths, empty ones among them, and an empty column."""
    rng = np.random.default_rng(seed)
    X = sp.random(m, d, 0.2, format="csr", rng=rng)
    X.data[:] = 0.75 if kind == "same" else rng.normal(size=X.nnz)
    return sp.hstack([X, np.zeros((m, 1))], format="csr").astype(dtype)


@pytest.mark.parametrize("m", [1, 50, BLOCK, 2 * BLOCK + 5])
@pytest.mark.parametrize("kind", ["same", "others"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_products_are_those_of_X(bias, dtype, kind, m):
    X = draw(m, 6, kind, dtype)
    if not X.nnz:
        X[0, 0] = 1.0
    design = Design(Gram(Linear(), X), bias)
    copy, rng = ByColumns(design), np.random.default_rng(1)
    assert (copy.data is None) == (np.unique(X.data).size == 1)
    A = np.hstack([X.toarray(), np.full((m, int(bias > 0.0)), bias)]).astype(np.float64)
    w, v = rng.normal(size=A.shape[1]), rng.normal(size=m)
    w[::2] = 0.0
    for n in (1, threads.most()):
        with threads.using(n):
            np.testing.assert_allclose(copy.margins(w), A @ w, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(copy.pull(v), A.T @ v, rtol=1e-12, atol=1e-9)


def test_what_is_copied(monkeypatch):
    X = draw(50, 6, "same")
    assert ByColumns.has_room(Design(Gram(Linear(), X), 0.0))
    assert not ByColumns.has_room(Design(Gram(Linear(), X.toarray()), 0.0))
    assert not ByColumns.has_room(Design(Gram(Linear(), sp.csr_array((5, 3))), 0.0))
    monkeypatch.setattr(by_columns, "ROOM", X.data.nbytes)
    assert not ByColumns.has_room(Design(Gram(Linear(), X), 0.0))


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), SquaredError()], ids=["hinge", "logistic", "error"])
@pytest.mark.parametrize("bias", [0.0, 1.0, "free"])
@pytest.mark.parametrize("penalty", ["l1", "elasticnet", "group"])
def test_the_optimum_is_the_same_without_a_copy(penalty, bias, loss, monkeypatch):
    X = draw(400, 12, "same")
    y = np.where(X @ np.arange(13.0) + np.random.default_rng(2).normal(size=400) > 15.0, 1.0, -1.0)
    solver = plugins.build("solver", "cd", {"loss": loss, "bias": bias, "penalty": penalty})
    ends = []
    for has_room in (True, False):
        monkeypatch.setattr(primal_state.ByColumns, "has_room", lambda design, has_room=has_room: has_room)
        problem = solver.pose(Gram(Linear(), X), y, 0.1, loss)
        state = State(problem, None, Draws(Full(), problem.y, 0)) if penalty != "group" else None
        assert state is None or isinstance(state.products, ByColumns) == has_room
        ends.append(solve(problem, solver, stop=Gap(1e-8)))
    ours, theirs = (end.certificate for end in ends)
    assert ours.gap <= 1e-8 and theirs.gap <= 1e-8
    assert ours.dual <= theirs.primal and theirs.dual <= ours.primal
