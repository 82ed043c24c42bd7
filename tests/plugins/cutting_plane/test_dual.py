"""The dual of the cutting-plane model: our method and the named solvers against quadprog."""

import numpy as np
import pytest
from support.problems import over_simplex
from svmkit_cutting_plane import bundle_dual as dual

from svmkit.errors import InputError
from svmkit.solver.solution import Status
from svmkit.solver.step_info import StepInfo

METHODS = [dual.OWN, "swap2o", "mdm"]
every_method = pytest.mark.parametrize("method", METHODS)


def cuts(n, width, seed, size=1.0):
    """K (n, n) and b (n,) as cuts have them: the first one is 0, later ones are shorter and close to each other."""
    rng = np.random.default_rng(seed)
    V = size * (rng.normal(size=width) + rng.normal(size=(n, width)) / (1.0 + 0.1 * np.arange(n))[:, None])
    b = size**2 * width * rng.uniform(0.9, 1.1, size=n)
    V[0], b[0] = 0.0, 0.0
    return V @ V.T, b


def optimum(K, b):
    """max b'alpha - 1/2 alpha'K alpha over the simplex, by quadprog."""
    size = np.abs(K).max()
    return dual.value(K, b, over_simplex(K / size + 1e-11 * np.eye(len(b)), b / size))


def gap(K, b, alpha):
    g = K @ alpha - b
    return alpha @ g - g.min()


def padded(K):
    """As the bundle keeps it: with room for more, of which nothing may be read."""
    room = np.full((len(K) + 7, len(K) + 7), np.nan)
    room[: len(K), : len(K)] = K
    return room


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("n", "width"), [(2, 3), (12, 30), (40, 5), (60, 80)])
@every_method
def test_reaches_the_trusted_optimum(method, n, width, size):
    K, b = cuts(n, width, seed=n, size=size)
    best = optimum(K, b)
    slack = (1e-9 if width >= n else 1e-4) * best  # quadprog itself where K has no full rank
    start = np.eye(n)[0]
    for share in (0.5, 1e-2):
        primal = best + 1e-3 * abs(best)  # the gap that is asked for is then this share of a thousandth
        alpha = dual.solve_dual(method, padded(K), b, start.copy(), primal, share)
        assert alpha.min() >= 0.0 and alpha.sum() == pytest.approx(1.0, abs=1e-12)
        D = dual.value(K, b, alpha)
        assert gap(K, b, alpha) <= share * (primal - D) * (1.0 + 1e-6)
        assert -slack <= best - D <= share * (primal - D) * (1.0 + 1e-6) + slack
        assert dual.value(K, b, start) <= D
        start = alpha
    assert np.count_nonzero(alpha) >= min(n, 3) - 1


@every_method
def test_a_warm_start_never_loses_anything(method):
    K, b = cuts(30, 10, seed=1)
    alpha, best = np.eye(30)[0], optimum(K, b)
    before = dual.value(K, b, alpha)
    for share in (0.9, 0.5, 0.5, 0.1, 0.1, 1e-3):
        alpha = dual.solve_dual(method, padded(K), b, alpha, 1.01 * best, share)
        after = dual.value(K, b, alpha)
        assert after >= before - 1e-13 * abs(before)
        before = after


def test_ill_conditioned_cuts_are_no_matter():
    """Where pairwise steps alone need more than a hundred thousand, faces end it; K has a condition of 1e16."""
    rng = np.random.default_rng(0)
    V = rng.normal(size=(60, 50)) * np.logspace(0, -6, 50)
    V[0] = 0.0
    K, b = V @ V.T, np.r_[0.0, rng.uniform(0.9, 1.0, size=59)] * 1e-3
    best = optimum(K, b)
    for seed in range(5):
        start = np.random.default_rng(seed).dirichlet(np.ones(60))
        assert dual.pairwise(padded(K), b, start.copy(), best * (1.0 + 1e-6), 0.1, 100_000) == 100_000
        alpha = dual.solve_dual(dual.OWN, padded(K), b, start, best * (1.0 + 1e-6), 0.1)
        left = best * (1.0 + 1e-6) - dual.value(K, b, alpha)
        assert gap(K, b, alpha) <= 0.1 * left + 1e-12 * best
        assert abs(left) <= 3e-6 * best


@every_method
def test_equal_cuts_and_one_cut(method):
    K, b = cuts(6, 4, seed=2)
    twice = np.repeat(np.arange(6), 2)
    best = optimum(K, b)
    alpha = dual.solve_dual(method, padded(K[np.ix_(twice, twice)]), b[twice], np.eye(12)[0], best * (1 + 1e-6), 0.1)
    assert dual.value(K[np.ix_(twice, twice)], b[twice], alpha) == pytest.approx(best, rel=1e-6)
    assert np.array_equal(dual.solve_dual(method, padded(K[:1, :1]), b[:1], np.ones(1), 1.0, 0.1), [1.0])


def test_descend_goes_to_the_minimum_of_the_face():
    K, b = cuts(8, 20, seed=3)
    face = [1, 4, 6]
    alpha = np.zeros(8)
    alpha[face] = 1 / 3
    b = K @ np.eye(8)[face].T @ [0.2, 0.5, 0.3]  # so that the minimum is inside
    dual.descend(K, b, alpha)
    np.testing.assert_allclose(alpha[face], [0.2, 0.5, 0.3], rtol=1e-6)
    assert not alpha[[0, 2, 3, 5, 7]].any()
    b = K @ np.eye(8)[face].T @ [0.9, 0.5, -0.4]  # and now outside: a smaller face
    dual.descend(K, b, alpha)
    used = np.flatnonzero(alpha)
    assert 0 < used.size < 3 and set(used) < set(face)
    g = (K @ alpha - b)[used]
    np.testing.assert_allclose(g, g[0], rtol=1e-8)


def test_names_that_solve_it():
    for name in (dual.OWN, "fw", "mfw", "swap2o", "partan"):
        dual.require(name)
    for name in ("dcd", "nothing", "", "svmperf"):
        with pytest.raises(
            InputError, match=r"^inner='\w*' does not solve the inner problem; there are: face, .*swap2o"
        ):
            dual.require(name)


def test_the_share_is_one_of_the_gap_that_is_left():
    """f = -2 D: gap_abs / 2 against P + f / 2."""
    rule = dual.Share(0.1, primal=5.0)
    assert rule.status is Status.CONVERGED
    assert rule.holds(StepInfo(-8.0, 1, 0.0, gap_abs=0.199), 1, 0.0, 0.0)  # D = 4, a gap of 1: 0.1 of it
    assert not rule.holds(StepInfo(-8.0, 1, 0.0, gap_abs=0.201), 1, 0.0, 0.0)
