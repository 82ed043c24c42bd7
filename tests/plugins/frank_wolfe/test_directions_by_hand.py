"""Each direction against D: its slope D'g, its curvature D'A D and its largest feasible step; what a step does."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.problems import make
from svmkit_frank_wolfe.iterate.state import SimplexState
from svmkit_frank_wolfe.steps.step import FrankWolfe

M = 6
ROWS = np.random.default_rng(0).normal(size=(M, M))
A = ROWS @ ROWS.T + np.diag(np.linspace(0.1, 0.6, M))
TERM = np.linspace(-1.0, 2.0, M)
ALPHA = np.array([0.4, 0.0, 0.3, 0.2, 0.0, 0.1])


def state_at(alpha, i, j=0, c=TERM):
    """What a direction reads of a state: g = A alpha + c, f = alpha'g."""
    g = A @ alpha + c
    state = object.__new__(SimplexState)
    vars(state).update(
        g=g,
        f=float(alpha @ g),
        c_alpha=float(c @ alpha),
        i=i,
        _j=j,
        tracked=SimpleNamespace(diag=np.diag(A)),
        image=lambda r: float(A[r] @ alpha),
        entry=lambda r: A[i, r],
        weight=lambda r: float(alpha[r]),
    )
    return state


def check(found, D, g, lam_max):
    assert found.slope == pytest.approx(D @ g, rel=1e-12)
    assert found.curvature == pytest.approx(D @ A @ D, rel=1e-12)
    assert found.lam_max == pytest.approx(lam_max, rel=1e-15)


@pytest.mark.parametrize("c", [np.zeros(M), TERM], ids=["without", "with"])
@pytest.mark.parametrize("i", [0, 1])
def test_toward(i, c):
    state = state_at(ALPHA, i, c=c)
    found = state.toward()
    check(found, np.eye(M)[i] - ALPHA, state.g, 1.0)
    assert found[3:] == (-1.0, 1.0, 0.0, -1)


@pytest.mark.parametrize("c", [np.zeros(M), TERM], ids=["without", "with"])
@pytest.mark.parametrize("j", [0, 5])
def test_away(j, c):
    state = state_at(ALPHA, 1, c=c)
    found = state.away(j)
    check(found, ALPHA - np.eye(M)[j], state.g, ALPHA[j] / (1.0 - ALPHA[j]))
    assert found[3:] == (1.0, 0.0, -1.0, j)


def test_away_from_the_only_vertex_is_no_step():
    for weight in (1.0, 1.0 + 1e-15):
        assert state_at(weight * np.eye(M)[2], 1).away(2).lam_max == 0.0
    assert state_at((1.0 - 1e-9) * np.eye(M)[2], 1).away(2).lam_max == pytest.approx(1e9, rel=1e-6)


@pytest.mark.parametrize("j", [0, 5])
def test_pairwise(j):
    state = state_at(ALPHA, 1)
    found = state.pairwise(j)
    check(found, np.eye(M)[1] - np.eye(M)[j], state.g, ALPHA[j])
    assert found[3:] == (0.0, 1.0, -1.0, j)


def test_the_steeper_one_of_two():
    for i in range(M):
        for j in np.flatnonzero(ALPHA):
            state = state_at(ALPHA, i, j)
            found = state.toward_or_away()
            if state.f - state.g[i] >= state.g[j] - state.f:
                assert found == state.toward()
            else:
                assert found == state.away(j)
    both = state_at(ALPHA, 1, 0)
    both.g[:2], both.f = (0.5, 0.0), 0.25  # as steep: toward
    both.g[0] = 0.5
    assert both.toward().slope == both.away(0).slope and both.toward_or_away().s == -1.0


@pytest.mark.parametrize(("slope", "lam"), [(-2.0, 0.5), (-8.0, 1.0), (0.0, 0.0), (1.0, 0.0)])
def test_a_step_says_whether_it_moved(slope, lam):
    done = []
    state = object.__new__(SimplexState)
    vars(state).update(n_iter=4, age=2, move=lambda length, d: done.append((length, d)))
    d = state_at(ALPHA, 1).toward()._replace(slope=slope, curvature=4.0, lam_max=1.0)
    assert state.advance(d) is (lam > 0.0)
    assert done == [(lam, d)] and (state.n_iter, state.age) == (5, 3)


def test_the_vertex_is_sought_anew_within_a_limit_and_after_a_certificate(monkeypatch):
    done = []
    monkeypatch.setattr(FrankWolfe, "look", lambda self, state: done.append("look"))
    state = SimpleNamespace(
        limit=lambda most: done.append(("limit", most)), resync=lambda *given: done.append(("resync", *given))
    )
    solver = make("swap2o")
    solver.limit_support(state, 7)
    solver.resync(state, "certificate")
    assert done == [("limit", 7), "look", ("resync", "certificate", True), "look"]
