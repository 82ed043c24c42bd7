"""What the tests of samples that arrive one at a time share: the methods in plain numpy, an order of arrival."""

from dataclasses import dataclass

import numpy as np
import pytest
from support.problems import make, state_of

from svmkit.solver.sampler import Sampler
from svmkit.solver.selection import by_name

METHODS = [("sfw", {}), ("msfw", {"away": "set"}), ("msfw", {"away": "support"})]
every_method = pytest.mark.parametrize(("name", "options"), METHODS, ids=["sfw", "msfw-set", "msfw-support"])


@dataclass(frozen=True)
class From(Sampler):
    """The points from `first` on, once, in order."""

    first: int = 0

    def draws(self, y, rng):
        yield np.arange(self.first, len(y))


def vertex(m: int, i: int) -> np.ndarray:
    return np.eye(1, m, i)[0]


def uneven(C: float, m: int) -> np.ndarray:
    """A C for each sample: with one for all, the first steps can be as good toward as away, and rounding decides."""
    return C * np.random.default_rng(0).uniform(0.5, 1.5, size=m)


def reference(name, away, A, c, start, order):
    """(alpha, working set in order of joining) after each arrival: Algorithms 1 to 4, everything from scratch.

    Signs are ours: g = A alpha + c is minus half the paper's gradient, so its argmax is an argmin here.
    """
    S, alpha = [start], vertex(len(A), start)
    for k in order:
        g = A @ alpha + c
        if k not in S and g[k] <= g[S].min():  # Algorithm 1, line 5
            S.append(k)
        i, j = S[np.argmin(g[S])], S[np.argmax(g[S])]
        if away == "support":
            active = [p for p in S if alpha[p] > 0]
            j = active[np.argmax(g[active])]
        D, lam_max = vertex(len(A), i) - alpha, 1.0
        steps_away = name == "msfw" and alpha[j] > 0 and g @ (alpha - vertex(len(A), j)) < g @ D  # Algorithm 3
        if steps_away:
            D = alpha - vertex(len(A), j)
            lam_max = alpha[j] / (1 - alpha[j]) if alpha[j] < 1 else 0.0
        slope, curvature = D @ g, D @ A @ D
        lam = min(-slope / max(curvature, 1e-300), lam_max) if slope < 0 else 0.0
        alpha = alpha + lam * D
        if steps_away and lam == lam_max:
            alpha[j] = 0.0
        yield alpha, list(S)


def check_against(name, options, problem, A, *, c=0.0, start=0, size=1, epochs=2, atol=1e-9):
    m = problem.m
    solver = make(name, **options)
    state = state_of(solver, problem, by_name.sampler(f"cyclic:{size}"), start=vertex(m, start))
    order = np.tile(np.arange(m), epochs)
    for k, (alpha, S) in enumerate(reference(name, options.get("away"), A, c, start, order)):
        info = solver.step(state)
        np.testing.assert_allclose(solver.solution(state), alpha, rtol=0, atol=atol, err_msg=f"arrival {k + 1}")
        assert state.tracked.idx.tolist() == S, f"arrival {k + 1}"
        assert info.objective == pytest.approx(alpha @ A @ alpha + 2 * np.sum(c * alpha), rel=1e-9, abs=1e-12)
        assert info.n_support == np.count_nonzero(solver.solution(state)) == np.count_nonzero(alpha)
        assert info.epochs == 1 / m and info.sampled
    return state
