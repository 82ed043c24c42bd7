"""Any loss over parts: the certificate of the whole, the optimum of the rows in one place, and no harm from faults."""

import numpy as np
import pytest
from support.crew import Forgetful, local_crew, space_of
from svmkit_dask.dfcsmo import DFCSMO, ClusterState
from svmkit_dask.driver.problem import ScatteredQP, ScatteredTubeQP
from svmkit_dask.driver.session import LocalWorkers, Session
from svmkit_dask.parts.part import MemoryPart
from svmkit_dask.worker.answers import Message, Own, answer
from svmkit_dask.worker.rows import Change, Features, Portion, Rows, Spec

from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.losses import (
    AbsoluteError,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Quantile,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
)
from svmkit.problems.box import BoxQP
from svmkit.problems.tube import TubeQP
from svmkit.solver import Gap, Status, solve

CUTS = (60, 61, 180)
KERNEL = RBF(0.5)
LOSSES = [
    *(Hinge(), SquaredHinge(), SmoothedHinge(delta=0.5)),
    *(EpsilonInsensitive(epsilon=0.2), SquaredEpsilonInsensitive(epsilon=0.2), AbsoluteError(), SquaredError()),
    *(Huber(delta=0.3), Quantile(tau=0.8), Expectile(tau=0.8)),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
T = np.sin(2.0 * X[:, 0]) + 0.3 * RNG.normal(size=240) + 5.0
Y = np.where(T > 5.0, 1.0, -1.0)


def posed(loss, crew=None):
    """The problem of a loss over parts, and the same problem of all rows."""
    has_targets = loss.task == "regress"
    answers = T if has_targets else (Y > 0.0).astype(np.int64)
    spec = Spec(0, 0 if has_targets else 1, 2.0, np.ones(2), loss, np.dtype(np.float32), 5.0 if has_targets else 0.0)
    workers = local_crew(X, answers, CUTS, kernel=KERNEL, of=crew or LocalWorkers, answers=answers)
    problem = (ScatteredTubeQP if has_targets else ScatteredQP)(Session(workers, spec), 1 << 20)
    return problem, (TubeQP if has_targets else BoxQP)(Gram(KERNEL, X), T if has_targets else Y, 2.0, loss=loss)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("crew", [None, Forgetful], ids=["steady", "forgetful"])
def test_a_loss_over_parts_is_that_loss_of_all_rows(loss, crew):
    problem, whole = posed(loss, crew)
    found = solve(problem, DFCSMO(first=30, loss=loss), stop=Gap(1e-4))
    point = np.zeros(len(Y))
    point[found.point[:, 0].astype(int)] = found.point[:, 1]
    same = whole.certificate(point)
    assert found.status is Status.CONVERGED and same.gap <= 1.01e-4
    assert found.certificate.primal == pytest.approx(same.primal, rel=1e-9)
    assert found.certificate.dual == pytest.approx(same.dual, rel=1e-9)
    decision = problem.decision_function(found.point, found.certificate)
    assert decision.intercept == pytest.approx(same.bias, abs=1e-3)
    assert crew is None or problem.session.workers.lost > 5
    alone = solve(whole, DFCSMO(first=30, loss=loss), stop=Gap(1e-4))
    assert alone.certificate.dual <= same.primal and same.dual <= alone.certificate.primal


@pytest.mark.parametrize("loss", [EpsilonInsensitive(epsilon=0.2), Quantile(tau=0.8), Expectile(tau=0.8)], ids=repr)
@pytest.mark.slow
def test_parts_that_solve_for_their_own_rows_agree_with_the_driver(loss):
    """Without room for a whole working set, rounds of blocks take turns with those of the driver."""
    problem, whole = posed(loss)
    problem.gram.budget = 4 * 60 * 60
    found = solve(problem, DFCSMO(first=30, loss=loss), stop=Gap(1e-3))
    point = np.zeros(len(Y))
    point[found.point[:, 0].astype(int)] = found.point[:, 1]
    assert found.status is Status.CONVERGED and whole.certificate(point).gap <= 1.01e-3


@pytest.mark.parametrize("loss", [EpsilonInsensitive(epsilon=0.2), Quantile(tau=0.8)], ids=repr)
@pytest.mark.slow
def test_a_proposal_has_slope_and_curvature_of_the_objective(loss):
    """Along a change that lets no weight change its sign the objective is slope t + curvature t^2 / 2."""
    spec = Spec(0, 0, 2.0, np.ones(1), loss, centre=float(np.median(T)))
    part = Portion(Features(MemoryPart(X, T), space_of(X, KERNEL)), T, np.ones(len(T)))
    rows, whole = Rows(part, spec), TubeQP(Gram(KERNEL, X), T, 2.0, loss=loss)
    at, beta = np.arange(0, 240, 3), np.zeros(240)
    values = np.where(np.arange(80) % 2, 0.25, -0.25)
    for stamp in range(2):  # from nothing, and from there on
        message = Message("propose", stamp)
        slope, curvature = answer(rows, message, Own(at, values), Change(X[at], values))
        before = whole.objective(beta)
        beta[at] += values
        assert slope + 0.5 * curvature == pytest.approx(whole.objective(beta) - before, rel=1e-9)
        assert slope + 2.0 * curvature != pytest.approx(slope + 0.5 * curvature)
        options = {"portion": 1.0, "level": 0.0, "wanted": 3}
        answer(rows, Message("settle", stamp, options=options), Own(at, beta[at]), None)


@pytest.mark.slow
def test_no_report_has_a_higher_objective_than_the_one_before(monkeypatch):
    """A round of blocks only proposes a change: the objective stays what it was until the driver follows."""
    problem, _ = posed(EpsilonInsensitive(epsilon=0.2))
    problem.gram.budget, values, blocks = 4 * 60 * 60, [], []
    minimise = ClusterState.minimise_blocks
    monkeypatch.setattr(ClusterState, "minimise_blocks", lambda *args: (blocks.append(1), minimise(*args))[1])

    class Watched(DFCSMO):
        def step(self, state):
            info = super().step(state)
            values.append(info.objective)
            return info

    solve(problem, Watched(first=30, loss=EpsilonInsensitive(epsilon=0.2)), stop=Gap(1e-3))
    assert blocks and (np.diff(values) <= 1e-4 * np.abs(values[1:])).all()


def test_a_point_outside_of_the_bounds_of_a_loss_is_refused():
    problem, _ = posed(Quantile(tau=0.8))
    assert "between -0.4 and 1.6" in problem.infeasible(np.array([[0.0, -1.0], [1.0, 1.0]]))
    assert "should sum to 0" in problem.infeasible(np.array([[0.0, 1.0]]))
    assert problem.infeasible(np.array([[0.0, -0.25], [1.0, 0.25]])) is None
