"""SimplexQP with a ridge on each point: the optimum, bounds by brute force, and the first rounds on all points."""

import numpy as np
import pytest
from support.problems import blobs, make
from svmkit_corrective import faces, landmarks

from svmkit import Gram, SimplexQP, Status, solve
from svmkit.kernels import RBF, Sigmoid
from svmkit.problems.simplex import level_of
from svmkit.solver import Gap, Iterations


def problem(m=70, nu=0.05, seed=0, **terms):
    X, y = blobs(m, 3, seed=seed)
    ridge = 0.5 * nu * m * np.random.default_rng(seed).uniform(0.5, 2.0, m)
    if terms.pop("signed", False):
        terms |= {"y": y, "bias": 0.5}
    if terms.pop("sloped", False):
        terms["linear_term"] = 0.3 * np.random.default_rng(1).normal(size=m)
    return SimplexQP(Gram(RBF(0.5), X), ridge=ridge, **terms)


def matrix(given):
    return np.array([given.image(np.ones(1), np.array([i])) for i in range(given.m)])


def quadprog_of(given):
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    A, m = matrix(given), given.m
    c = np.zeros(m) if given.linear_term is None else given.linear_term
    alpha = quadprog.solve_qp(A, -c, np.hstack([np.ones((m, 1)), np.eye(m)]), np.eye(m + 1)[0], 1)[0]
    return alpha @ A @ alpha + 2.0 * c @ alpha


SHAPES = [{}, {"signed": True}, {"sloped": True}, {"signed": True, "sloped": True}]


@pytest.mark.parametrize("nu", [0.002, 0.05, 1.0])
@pytest.mark.parametrize("terms", SHAPES)
@pytest.mark.parametrize("solver", ["fcfw", "swap2o"])
def test_the_optimum_is_that_of_quadprog(solver, terms, nu):
    given = problem(nu=nu, **terms)
    solution = solve(given, make(solver), stop=Gap(1e-9) | Iterations(200_000))
    best, certificate = quadprog_of(given), solution.certificate
    slack = 1e-12 * max(abs(best), abs(certificate.primal))
    assert solution.status is Status.CONVERGED
    assert certificate.dual <= best + slack and best <= certificate.primal + slack
    assert certificate.primal == pytest.approx(best, rel=2e-9, abs=1e-12)


@pytest.mark.parametrize("terms", SHAPES)
def test_no_point_proves_more_than_is_true_and_all_prove_more_than_the_gap_of_frank_wolfe(terms):
    given, rng = problem(m=40, **terms), np.random.default_rng(2)
    best = quadprog_of(given)
    for spread in (0.05, 1.0, 20.0):
        alpha = rng.gamma(spread, size=40)
        alpha /= alpha.sum()
        certificate, g = given.certificate(alpha), given.gradient(alpha)
        assert certificate.dual <= best <= certificate.primal
        assert certificate.dual > given.objective(alpha) - 2.0 * (alpha @ g - g.min())


def test_the_level_is_where_the_weights_sum_to_one():
    rng = np.random.default_rng(0)
    for m in (1, 2, 50):
        h, ridge = rng.normal(size=m), rng.uniform(0.1, 30.0, m)
        weights = np.maximum(level_of(h, ridge) - h, 0.0) / ridge
        assert weights.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("m", "nu", "rounds"), [(900, 0.3, 1), (900, 0.05, 3), (2000, 0.02, 6)])
def test_few_rounds_on_all_points_suffice(m, nu, rounds):
    """As steps of pairs there would be more than points."""
    solution = solve(problem(m, nu), make("fcfw"))
    assert solution.status is Status.CONVERGED and solution.n_iter <= rounds


def test_working_sets_follow_where_rounds_on_all_points_help_no_longer():
    tight = solve(problem(300, 0.003), make("fcfw"), stop=Gap(1e-8))
    assert tight.status is Status.CONVERGED and tight.n_iter > landmarks.ROUNDS


@pytest.mark.parametrize("nu", [0.0002, 0.3])
def test_large_sets_begin_on_all_points_only_if_most_keep_weights(nu, monkeypatch):
    monkeypatch.setattr(faces, "FEW", 500)
    start = faces.spread_start(problem(700, nu), 1e-3)
    assert (start is None) == (nu < 0.01)
    monkeypatch.setattr(faces, "MOST", 699)
    assert faces.spread_start(problem(700, nu), 1e-3) is None


@pytest.mark.parametrize("terms", SHAPES)
@pytest.mark.parametrize("m", [200, 700])
@pytest.mark.parametrize("goal", [1e-3, 1e-5])
def test_a_start_has_the_gap_that_is_expected_of_it(m, goal, terms):
    """Of few points all are landmarks; of more they miss a part of the matrix, which the expected gap counts."""
    given = problem(m, 0.2, **terms)
    start = landmarks.find_start(given, goal)
    assert given.infeasible(start.point) is None
    assert given.certificate(start.point).gap <= 2.0 * start.gap + 1e-12
    assert start.gap <= goal or m > landmarks.ALL


def test_a_start_leaves_no_weight_where_none_belongs():
    given = problem(250, 0.01)
    point = landmarks.find_start(given, 1e-3).point
    h = given.gradient(point) - given.ridge * point
    level = level_of(h, given.ridge)
    assert 0 < np.count_nonzero(point) < 250 and (h[point > 0.0] < level + 1e-9).all()


def test_a_kernel_that_is_not_positive_semidefinite_begins_with_equal_weights(monkeypatch):
    monkeypatch.setattr(landmarks, "ALL", 10)
    rng = np.random.default_rng(0)
    given = SimplexQP(Gram(Sigmoid(gamma=1.0, coef0=-1.0), rng.normal(size=(60, 3))), ridge=3.0)
    start = landmarks.find_start(given, 1e-3)
    assert start.gap == np.inf and start.point == pytest.approx(np.full(60, 1.0 / 60))
