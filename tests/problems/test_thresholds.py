"""Where points, nu and margins stop being allowed, to a thousandth; gradients by differences; targets far from 0."""

import math

import numpy as np
import pytest

from svmkit.errors import InputError
from svmkit.kernels import Gram, Linear, Precomputed
from svmkit.losses.terms import Terms
from svmkit.problems import BoxQP, NuBoxQP, NuTubeQP, OneClassQP, SimplexQP, TubeQP
from svmkit.problems.base import costs
from svmkit.problems.dual import DualQP
from svmkit.problems.targets import sides
from svmkit.problems.tube import BiasedTubeQP
from svmkit.problems.weights import outside_bounds

RNG = np.random.default_rng(0)
M = 6
X = RNG.normal(size=(M, 3))
T = RNG.normal(size=M)


def test_nu_is_feasible_up_to_twice_the_share_of_the_smaller_class():
    y = np.where(np.arange(10) < 3, 1.0, -1.0)
    gram = Gram(Linear(), np.arange(10.0)[:, None])
    for nu in (0.6, 0.6 * (1.0 + 5e-13), 0.59, 0.3):
        problem = NuBoxQP(gram, y, 1.0, nu)
        point = problem.first_point()
        assert point[y > 0.0].sum() == pytest.approx(min(5.0 * nu, 3.0), rel=1e-12)
        assert point[y < 0.0].sum() == pytest.approx(-min(5.0 * nu, 3.0), rel=1e-12)
        assert problem.infeasible(point) is None and point.max() <= 1.0 and problem.half <= 3.0
    for nu in (0.6003, 0.0, -0.1, math.nan):
        with pytest.raises(InputError, match="infeasible"):
            NuBoxQP(gram, y, 1.0, nu)
    assert NuTubeQP(gram, np.arange(10.0), 1.0, 1.0).half == 5.0 and OneClassQP(gram, 1.0).total == 10.0
    for made in (lambda nu: NuTubeQP(gram, np.arange(10.0), 1.0, nu), lambda nu: OneClassQP(gram, nu)):
        with pytest.raises(InputError, match="infeasible"):
            made(1.0005)


def test_half_a_thousandth_of_a_weight_is_not_feasible():
    y = np.array([1.0, -1.0, 1.0, -1.0])
    gram = Gram(Linear(), np.arange(4.0)[:, None])
    nu, box, tube = NuBoxQP(gram, y, 1.0, 0.5), BoxQP(gram, y, 1.0), TubeQP(gram, y, 1.0, 0.1)
    point = np.array([0.5, -0.5, 0.5, -0.5])
    assert nu.infeasible(point) is None and box.infeasible(y * point) is None and tube.infeasible(point) is None
    assert "sum" in nu.infeasible(point + np.array([5e-4, 0.0, 0.0, 0.0]))
    assert "sum" in nu.infeasible(point - np.array([0.0, 5e-4, 0.0, 0.0]))
    assert "should be 0" in box.infeasible(y * point + np.array([5e-4, 0.0, 0.0, 0.0]))
    assert "sum to 0" in tube.infeasible(point + np.array([5e-4, 0.0, 0.0, 0.0]))
    over = np.array([1.0005, -0.5, -0.0005, -0.5])
    assert "beyond its bound" in nu.infeasible(over)
    assert "row 0" in box.infeasible(np.array([np.nextafter(1.0, 2.0), 1.0, 0.0, 0.0]))
    for sign in (1.0, -1.0):
        assert tube.infeasible(sign * np.array([1.0, -1.0, 0.0, 0.0])) is None
        assert "row 0" in tube.infeasible(sign * np.array([np.nextafter(1.0, 2.0), -1.0, 0.0, 0.0]))


def test_a_weight_may_reach_its_bounds_and_no_more():
    terms = Terms.fill(np.zeros(3), lower=-1.0, upper=2.0, ridge_up=0.5, ridge_down=4.0)
    assert outside_bounds(terms, np.array([2.0, -1.0, 0.0])) is None
    assert "row 1 should be between -1 and 2" in outside_bounds(terms, np.array([2.0, -1.0005, 0.0]))
    assert "row 2 should be between -1 and 2" in outside_bounds(terms, np.array([0.0, 0.0, 2.0005]))


def test_a_ridge_of_one_side_of_one_point_is_a_ridge():
    gram, zeros, one = Gram(Linear(), np.eye(3)), np.zeros(3), np.array([0.0, 1.0, 0.0])
    for up, down in ((zeros, zeros), (one, zeros), (zeros, one), (one, one)):
        terms = Terms.fill(zeros, lower=-1.0, upper=1.0, ridge_up=up, ridge_down=down)
        assert DualQP(gram, zeros, np.ones(3), terms).is_ridged == (up.any() or down.any())


def test_a_narrow_margin_is_one():
    """The classes are 1e-3 apart and others reach to 10: w = 2000 for the two next to the middle, P = w^2 / 2."""
    gram, y = Gram(Linear(), np.array([[5e-4], [-5e-4], [10.0], [-10.0]])), np.array([1.0, -1.0, 1.0, -1.0])
    found = NuBoxQP(gram, y, 1.0, 0.4).certificate(np.array([0.8, -0.8, 0.0, 0.0]))
    assert found.primal == pytest.approx(2e6, rel=1e-9) and found.gap < 1e-4


@pytest.mark.parametrize("x", [[0.0, 0.0], [1.0, 1.0], [-1.0, 1.0]])
def test_without_a_margin_nothing_is_certified(x):
    y, gram = np.array([1.0, -1.0]), Gram(Linear(), np.array(x)[:, None])
    point = np.array([1.0, -1.0]) if x[0] >= 0.0 else np.array([-1.0, 1.0])  # the classes are the wrong way around
    found = NuBoxQP(gram, y, 1.0, 1.0).certificate(point)
    assert found.gap is None and found.dual is None and "no margin" in found.flaw
    assert found.primal == 0.5 * (point @ x) ** 2  # |w|^2 / 2, and no margin that is to be paid for


def test_half_a_thousandth_of_the_sum_of_a_simplex_is_not_feasible():
    problem = SimplexQP(Gram(Linear(), np.eye(2)))
    assert problem.infeasible(np.array([0.5, 0.5])) is None
    for off in (5e-4, -5e-4):
        assert "should sum to 1" in problem.infeasible(np.array([0.5, 0.5 + off]))


def test_a_target_at_the_median_is_not_above_it():
    assert sides(np.array([3.0, 1.0, 2.0])).tolist() == [1.0, -1.0, -1.0]
    assert sides(np.full(2, 5.0)).tolist() == [-1.0, -1.0]


UNBOUNDED = {"lower": -np.inf, "upper": np.inf}
LOSSES = {
    "tube": {"lower": -3.0, "upper": 3.0, "kink_up": 0.3, "kink_down": 0.3},
    "a tube with unequal halves": {"lower": -3.0, "upper": 2.0, "kink_up": 0.1, "kink_down": 0.6},
    "expectile": {**UNBOUNDED, "ridge_up": 0.25, "ridge_down": 2.0},
    "all of it": {"lower": -4.0, "upper": 2.0, "kink_up": 0.5, "kink_down": 0.2, "ridge_up": 0.3, "ridge_down": 0.7},
}


@pytest.mark.parametrize("offset", [0.0, 2.0**40])
@pytest.mark.parametrize("loss", LOSSES)
def test_objective_gradient_image_and_d_are_those_of_the_definition(loss, offset):
    """The objective is 1/2 d'K d - t'd + sum phi(d), phi = kink |d| + ridge d^2 / 2 on either side."""
    t, given, K = np.round(T * 64.0) / 64.0, LOSSES[loss], X @ X.T
    terms = Terms.fill(t + offset, **given)
    problem = DualTube(Gram(Precomputed(), K), np.ones(M), np.ones(M), terms)
    d = np.array([0.5, -0.25, 1.5, -1.0, -1.25, 0.5])

    def phi(d):
        up, down = np.maximum(d, 0.0), np.maximum(-d, 0.0)
        kinks = up * given.get("kink_up", 0.0) + down * given.get("kink_down", 0.0)
        return kinks + 0.5 * (up**2 * given.get("ridge_up", 0.0) + down**2 * given.get("ridge_down", 0.0))

    def definition(d):
        return 0.5 * d @ K @ d - t @ d + phi(d).sum()

    step = 1e-5
    slopes = np.array([definition(d + step * e) - definition(d - step * e) for e in np.eye(M)]) / (2.0 * step)
    centre = float(np.median(t))  # of the targets: their common part has no share in D, since the weights sum to 0
    gradient = problem.gradient(d)
    np.testing.assert_allclose(gradient + problem.width * np.sign(d), slopes + centre, atol=1e-8)
    assert problem.objective(d) == pytest.approx(definition(d), rel=1e-12)
    found = problem.certificate(d)
    assert found.dual <= -definition(d) <= found.dual + 1e-9
    change = np.array([0.25, -0.125, 0.0, -0.5, 0.0, 0.25])
    np.testing.assert_allclose(
        problem.image(change[change != 0.0], np.flatnonzero(change)), problem.gradient(d + change) - gradient, atol=1e-9
    )


@pytest.mark.parametrize("kind", [TubeQP, BiasedTubeQP])
def test_the_diagonal_is_the_curvature_along_one_weight(kind):
    problem = kind(Gram(Linear(), X), T, np.arange(1.0, M + 1.0), loss="squared_error")
    for i in range(M):
        up, down = problem.objective(np.eye(M)[i]), problem.objective(-np.eye(M)[i])
        assert problem.diag[i] == pytest.approx(up + down, rel=1e-12)  # it is 0 at 0


class DualTube(DualQP):
    name = "DualTube"
    task = "regress"


def test_targets_far_from_zero_cost_no_digits():
    """P, D, their errors and the bias less the offset are those of the same targets around 0."""
    t, d = np.round(T * 64.0) / 64.0, np.array([0.5, -0.25, 1.5, -1.0, -1.25, 0.5])
    near, far = (TubeQP(Gram(Linear(), X), t + o, 2.0, 0.25).certificate(d) for o in (0.0, 2.0**40))
    assert far.primal == pytest.approx(near.primal, rel=1e-3) and far.dual == pytest.approx(near.dual, rel=1e-12)
    assert far.bias - 2.0**40 == pytest.approx(near.bias, abs=2.0**-12)
    exact = TubeQP(Gram(Linear(), np.zeros((M, 1))), t + 2.0**40, 2.0, 0.25).certificate(np.zeros(M))
    assert exact.primal == TubeQP(Gram(Linear(), np.zeros((M, 1))), t, 2.0, 0.25).certificate(np.zeros(M)).primal


@pytest.mark.parametrize("C", [0.0, -1.0, np.inf, np.nan, [1.0, 0.0], [1.0, np.inf], [np.nan, 1.0], [-np.inf, 1.0]])
def test_costs_are_finite_and_positive(C):
    with pytest.raises(InputError, match="C must be finite and > 0 for every sample"):
        costs(C, 2)
    np.testing.assert_array_equal(costs(3.0, 2), [3.0, 3.0])
    np.testing.assert_array_equal(costs([1e-300, 1e300], 2), [1e-300, 1e300])
