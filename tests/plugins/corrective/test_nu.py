"""fcsmo on nu-SVC and nu-SVR: which points join its working set, and sets that do not fit."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from support.problems import blobs, make, state_of

from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.problems.nu_dual import NuBoxQP, NuTubeQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.smo.box import LOW, UP
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations

pytestmark = pytest.mark.usefixtures("one_pool")
BOTH = pytest.mark.parametrize("kind", [NuBoxQP, NuTubeQP])


def posed(kind, m=300, **options):
    X, y = blobs(m, 3, shift=0.4, seed=2)
    gram = Gram(RBF(0.5), X, **options)
    return X, NuBoxQP(gram, y, 1.0, 0.4) if kind is NuBoxQP else NuTubeQP(gram, np.sin(X[:, 0]) + 0.2 * y, 2.0, 0.4)


def surveyed(solver, problem):
    """A state whose set is empty, after the first look at all points."""
    state = state_of(solver, problem, start=problem.first_point())
    solver.step(state)
    return state


@BOTH
def test_the_worst_points_of_each_side_join_however_few_may(kind):
    """A quarter of those that may from each end of a and of a', and one at least."""
    X, problem = posed(kind)
    for first in (1, 3, 40):
        state = surveyed(make("fcsmo", first=first, growth=1e-9), problem)
        state.grow(first, 1e-9)
        worst = []
        for box in state.boxes:
            for bit, sign in ((UP, 1.0), (LOW, -1.0)):
                there = np.flatnonzero(box.side & bit)
                worst.append(there[np.argsort(sign * state.v[there], kind="stable")[: first // 4 + 1]])
        assert state.idx.tolist() == np.unique(np.concatenate(worst)).tolist()
        np.testing.assert_allclose(state.K, rbf_kernel(X[state.idx], gamma=0.5), atol=1e-12)


@BOTH
@pytest.mark.parametrize("options", [{"first": 1, "growth": 1e-9}, {"first": 20}, {"first": 1000}])
@pytest.mark.parametrize("memory", [1, "150KB", "1GB"])
def test_any_growth_and_room_give_the_optimum(kind, options, memory):
    _, problem = posed(kind, memory=memory)
    assert (surveyed(make("fcsmo"), problem).most < 100) == (memory != "1GB")
    found = solve(problem, make("fcsmo", **options), stop=Gap(1e-6) | Iterations(10**6))
    best = solve(posed(kind)[1], make("smo"), stop=Gap(1e-8)).certificate
    assert found.status is Status.CONVERGED and problem.infeasible(found.point) is None
    assert found.certificate.primal == pytest.approx(best.primal, rel=1e-5)
