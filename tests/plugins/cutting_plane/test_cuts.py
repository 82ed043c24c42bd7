"""svmperf, bmrm and ocas: their cuts, bounds and steps, one by one, against the definitions."""

import numpy as np
import pytest
from support.cutting_plane import both, every, primal, started
from support.problems import blobs, make, posed

from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.weights import outside_bounds
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Violation


@both
@every
def test_cuts_lie_below_the_risk_and_touch_it_where_they_are_made(name, loss):
    X, y = blobs(80, 3, seed=1, share=0.2)
    C = np.random.default_rng(1).uniform(0.1, 2.0, size=80)
    solver, problem, state = started(name, X, y, C, loss=loss)
    rng = np.random.default_rng(2)
    for _ in range(25):
        query = state.query.copy()
        solver.step(state)
        bundle = state.bundle
        # the one just made is the last; its value at its own point from the margins there
        touched = bundle.b[-1] - problem.suggest(query) @ query
        assert touched == pytest.approx(C @ problem.loss.value(y, query), rel=1e-11)
        for w in (bundle.w, state.best.w, rng.normal(size=4), np.zeros(4)):
            risk = C @ problem.loss.value(y, problem.decision(w))
            assert (bundle.b - bundle.V @ w).max() <= risk * (1.0 + 1e-10)
        np.testing.assert_allclose(bundle.K, bundle.V @ bundle.V.T, rtol=1e-12, atol=1e-12)
        assert bundle.height == pytest.approx((bundle.b - bundle.V @ bundle.w).max(), rel=1e-8)


@both
@every
def test_the_lower_bound_is_that_of_dual_weights(name, loss):
    X, y = blobs(90, 4, seed=4)
    solver, problem, state = started(name, X, y, 2.0, loss=loss)
    for _ in range(20):
        solver.step(state)
        beta, D = state.bundle.beta(), state.bundle.D
        assert outside_bounds(problem.terms, beta) is None
        v = problem.design.pull(beta)
        offered = posed(solver, X, y, 2.0).offer(beta)  # to a problem that knows no other
        if loss == "hinge":
            np.testing.assert_allclose(v, state.bundle.w, rtol=1e-10, atol=1e-10)
            assert offered == pytest.approx(max(D, 0.0), rel=1e-11)
        else:  # a mixture of cuts is below the risk's conjugate: D of the mixed weights is larger
            np.testing.assert_allclose(v, state.bundle.w, rtol=1e-5, atol=1e-5)
            assert offered >= D - 1e-6 * abs(D)
        assert offered <= state.best.primal


@both
@every
def test_neither_bound_ever_gets_worse(name, loss):
    """P of the best w and D of the model, and so bmrm's epsilon_t."""
    X, y = blobs(150, 5, seed=6, share=0.1)
    solver, problem, state = started(name, X, y, 5.0, loss=loss)
    before, low = primal(problem, np.zeros(6)), 0.0
    for _ in range(120):
        info = solver.step(state)
        P, D = primal(problem, solver.solution(state)), state.bundle.D
        assert info.objective == pytest.approx(P, rel=1e-11)
        assert info.gap_abs == pytest.approx(max(P - D, 0.0), abs=1e-9 * P)
        assert info.gap == pytest.approx(info.gap_abs / P, rel=1e-9)
        assert before * (1.0 + 1e-12) >= P and low - 1e-11 * P <= D
        before, low = P, D
    assert info.gap < 1e-2


def test_bmrms_epsilon_is_that_of_its_definition():
    """epsilon_t = min_i J(w_i) - J_t(w_t), with J_t(w_t) of the cuts themselves; D is within a fifth of it below."""
    X, y = blobs(100, 4, seed=8)
    solver, problem, state = started("bmrm", X, y)
    lowest, epsilons = primal(problem, np.zeros(5)), []
    for _ in range(60):
        before = lowest
        info = solver.step(state)
        bundle = state.bundle
        lowest = min(lowest, primal(problem, bundle.w))
        J_t = 0.5 * bundle.w @ bundle.w + (bundle.b - bundle.V @ bundle.w).max()
        assert info.objective == pytest.approx(lowest, rel=1e-12)
        assert -1e-9 <= J_t - bundle.D <= 0.2 * (before - bundle.D) + 1e-9
        epsilons.append(info.gap_abs)
    assert (np.diff(epsilons) <= 1e-10).all() and epsilons[-1] < 1e-3 * epsilons[0]


# --- what distinguishes the three solvers


def test_svmperf_begins_with_the_constraint_of_all_samples():
    X, y = blobs(60, 3)
    solver, _, state = started("svmperf", X, y, 2.0)
    solver.step(state)
    assert state.bundle.b[1] == pytest.approx(120.0, rel=1e-14)
    np.testing.assert_allclose(state.bundle.V[1], 2.0 * np.column_stack([X, np.ones(60)]).T @ y, rtol=1e-12)


def test_svmperf_ends_by_its_epsilon():
    """--stop kkt: the most violated constraint of all 2^m exceeds the slack by at most epsilon, per unit of cost."""
    X, y = blobs(200, 4, seed=9)
    for epsilon in (1e-1, 1e-2, 1e-3):
        solver, problem, state = started("svmperf", X, y, 0.5)
        infos = []
        while not infos or infos[-1].violation > epsilon:
            infos.append(solver.step(state))
        bundle = state.bundle
        xi = (bundle.b - bundle.V @ bundle.w).max()
        risk = primal(problem, bundle.w) - 0.5 * bundle.w @ bundle.w
        assert (
            infos[-1].violation == pytest.approx((risk - xi) / 100.0, rel=1e-6, abs=1e-12)
            and risk - xi <= 100 * epsilon
        )
        found = solve(posed(solver, X, y, 0.5), solver, stop=Violation(epsilon))
        assert found.status is Status.CONVERGED and found.n_iter == len(infos)
        assert found.certificate.primal <= primal(problem, solver.solution(state)) * (1.0 + 1e-12)


@pytest.mark.parametrize("C", [1e-3, 20.0])  # with the first the cut R >= 0 has no weight, and stays
def test_svmperf_removes_what_was_inactive_and_nothing_else(C):
    X, y = blobs(300, 8, seed=10)
    solver, _, state = started("svmperf", X, y, C, inactive=4)
    dropped = 0

    def idle(bundle):
        return {v.tobytes(): k for v, k in zip(bundle.V, bundle.idle, strict=True)}

    for _ in range(60):
        n, before = state.bundle.n, idle(state.bundle)
        solver.step(state)
        bundle = state.bundle
        gone = set(before) - set(idle(bundle))
        assert {before[cut] for cut in gone} <= {4} and (bundle.idle[1:] <= 4).all()
        assert not bundle.V[0].any() and bundle.b[0] == 0.0
        assert bundle.alpha.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(bundle.K, bundle.V @ bundle.V.T, rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(bundle.w, bundle.alpha @ bundle.V, rtol=1e-9, atol=1e-9)
        dropped += n + 1 - bundle.n
    about = solver.details(state)
    assert dropped > 5 and about["kept"] == about["cuts"] - dropped == bundle.n - 1 and about["cuts"] == 60
    if C < 1.0:
        assert bundle.idle[0] > 4
    full = solve(posed(solver, X, y, C), solver, stop=Gap(1e-4))
    assert full.status is Status.CONVERGED


def test_svmperf_that_removes_nothing_is_bmrm():
    X, y = blobs(100, 4, seed=11)
    runs = [
        solve(posed(solver, X, y), solver, stop=Iterations(80))
        for solver in (make("svmperf", inactive=0), make("bmrm"))
    ]
    np.testing.assert_array_equal(runs[0].point, runs[1].point)
    assert runs[0].details == runs[1].details and runs[0].details["kept"] == runs[0].n_iter


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0])
@both
def test_ocas_searches_the_line_and_cuts_near_the_best_point(loss, mu):
    X, y = blobs(120, 4, seed=12)
    solver, problem, state = started("ocas", X, y, 3.0, loss=loss, mu=mu)
    for _ in range(30):
        before = state.best.w
        solver.step(state)
        w_t, w_b = state.bundle.w, state.best.w
        along = [primal(problem, before + t * (w_t - before)) for t in np.linspace(0.0, 2.0, 41)]
        assert state.best.primal <= min(along) * (1.0 + 1e-12)
        np.testing.assert_allclose(state.best.h, problem.decision(w_b), rtol=1e-9, atol=1e-9)
        query = (1.0 - mu) * w_b + mu * w_t
        np.testing.assert_allclose(state.query, problem.decision(query), rtol=1e-9, atol=1e-9)


@both
def test_ocas_needs_fewer_cuts_than_bmrm(loss):
    X, y = blobs(600, 20, seed=13, shift=0.2)
    cuts = {}
    for name in ("ocas", "bmrm"):
        solver = make(name, loss=loss)
        cuts[name] = solve(posed(solver, X, y, 10.0), solver, stop=Gap(1e-3)).details["cuts"]
    assert cuts["ocas"] < 0.6 * cuts["bmrm"]


@pytest.mark.data
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_ocas_needs_fewer_cuts_on_a9a(real_set, C):
    data = real_set("a9a")
    y = np.where(data.y == np.unique(data.y)[-1], 1.0, -1.0)
    gram, found = Gram(Linear(), data.X), {}
    for name in ("ocas", "bmrm"):
        solver = make(name)
        found[name] = solve(solver.pose(gram, y, C), solver, stop=Gap(1e-3))
        assert found[name].status is Status.CONVERGED
    assert 3 * found["ocas"].details["cuts"] < found["bmrm"].details["cuts"]
    assert found["ocas"].certificate.primal == pytest.approx(found["bmrm"].certificate.primal, rel=1e-3)


@every
def test_a_certificate_that_did_not_do_brings_exact_margins(name):
    X, y = blobs(80, 4, seed=16)
    solver, problem, state = started(name, X, y)
    for _ in range(10):
        solver.step(state)
    exact = state.best
    state.best = exact._replace(h=exact.h + 1e-6, primal=0.9 * exact.primal)  # as if they had drifted
    solver.resync(state, problem.certificate(solver.solution(state)))
    np.testing.assert_allclose(state.best.h, problem.decision(exact.w), rtol=1e-12)
    assert state.best.primal == pytest.approx(primal(problem, exact.w), rel=1e-12)
