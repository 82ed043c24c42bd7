"""Every loss against a QP solver that we did not write: P, D and the best bias, from the definition of the loss."""

import numpy as np
import pytest
from quadprog import solve_qp

from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.losses.base import PIECEWISE
from svmkit.losses.by_name import loss_names, make_loss
from svmkit.problems.bias import best_bias
from svmkit.problems.box import BoxQP
from svmkit.problems.sums import Record
from svmkit.problems.tube import BiasedTubeQP, TubeQP
from svmkit.solver import Gap, parse_stop, solve
from svmkit.solver.selection import by_name

M, GAMMA = 40, 0.6
DELTA, WIDTH = 0.4, 0.7
OPTIONS = {
    "quantile": {"tau": 0.8},
    "expectile": {"tau": 0.85},
    "huber": {"delta": DELTA},
    "smoothed_hinge": {"delta": WIDTH},
}
CLASSES, REGRESSIONS = loss_names("classify", PIECEWISE), loss_names("regress", PIECEWISE)
SOLVERS = ["smo", "smo1", "smol2", "svmlight", "fcsmo"]


def samples(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, 3))
    score = X[:, 0] + np.sin(2.0 * X[:, 1])
    y = np.where(score + 0.5 * rng.normal(size=M) > 0.0, 1.0, -1.0)
    return X, y, 100.0 + score + 0.3 * rng.standard_t(3, size=M), rng.uniform(0.3, 3.0, M)


def loss_called(name):
    return make_loss(name, "classify" if name in CLASSES else "regress", OPTIONS.get(name))


def posed(name, kind=None, seed=0):
    X, y, t, C = samples(seed)
    loss = loss_called(name)
    kind = kind or (BoxQP if loss.task == "classify" else TubeQP)
    target = y if loss.task == "classify" else t
    return kind.from_loss(Gram(RBF(GAMMA), X), target, C, loss), target, C


def pieces_of(name, target):
    """Slacks of one sample, (sign, offset, parts), slack >= offset + sign h; a part: (linear cost, quadratic, most).

    Written down from the textbooks' primal problems, for one unit of C; a loss is the least cost of its slacks.
    """
    inf = np.inf
    if name in ("hinge", "squared_hinge", "smoothed_hinge"):
        one = {"hinge": [(1.0, 0.0, inf)], "squared_hinge": [(0.0, 1.0, inf)]}
        smoothed = [(0.0, 1.0 / (2.0 * WIDTH), WIDTH), (1.0, 0.0, inf)]
        return [(-target, 1.0, one.get(name, smoothed))]
    epsilon = 0.1 if "epsilon" in name else 0.0
    up, down = 1.0, 1.0
    if name in ("quantile", "expectile"):
        tau = OPTIONS[name]["tau"]
        up, down = tau, 1.0 - tau
    linear = name in ("epsilon_insensitive", "absolute_error", "quantile")

    def parts(cost):
        if name == "huber":
            return [(0.0, cost, DELTA), (2.0 * DELTA * cost, 0.0, inf)]
        return [(cost, 0.0, inf)] if linear else [(0.0, cost, inf)]

    return [(-1.0, target - epsilon, parts(up)), (1.0, -target - epsilon, parts(down))]


def optimum(name, K, target, C, regularised=False):
    """The primal over v with h = R'v + b, K = R R', and all slacks, by quadprog; returns its value."""
    R = np.linalg.cholesky(K + 1e-12 * np.eye(M))
    sides = [(i, *side) for i in range(M) for side in pieces_of(name, float(target[i]))]
    n_slack = sum(len(side[3]) for side in sides)
    n = M + 1 + n_slack
    G, a = np.zeros((n, n)), np.zeros(n)
    G[range(M), range(M)] = 1.0
    G[M, M] = 1.0 if regularised else 1e-9
    rows, bounds, at = [], [], M + 1
    for i, sign, offset, parts in sides:
        row = np.zeros(n)  # the slacks of a side sum to offset + sign h at least
        row[:M], row[M] = -sign * R[i], -sign
        for linear, quadratic, most in parts:
            row[at] = 1.0
            G[at, at] = max(2.0 * C[i] * quadratic, 1e-9)
            a[at] = -C[i] * linear
            for direction, bound in ((1.0, 0.0), (-1.0, -most)):
                if np.isfinite(bound):
                    own = np.zeros(n)
                    own[at] = direction
                    rows.append(own)
                    bounds.append(bound)
            at += 1
        rows.append(row)
        bounds.append(offset)
    return solve_qp(G, a, np.array(rows).T, np.array(bounds))[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CLASSES, *REGRESSIONS])
def test_the_optimum_is_that_of_quadprog(name):
    problem, target, C = posed(name)
    K = problem.gram.block(np.arange(M), np.arange(M)).astype(np.float64)
    shift = 0.0 if name in CLASSES else np.median(target)  # quadprog has no relative tolerance
    want = optimum(name, K, target - shift, C)
    for solver in SOLVERS:
        one = by_name.solver(solver)
        if not one.takes_loss(problem.loss):
            assert solver == "smol2" and problem.loss.family.name == "BOUNDED"
            continue
        found = solve(problem, one, stop=Gap(1e-9) | parse_stop("iter:200000"))
        assert found.certificate.gap <= 2e-9, solver
        assert found.certificate.primal == pytest.approx(want, rel=1e-5), solver
        assert found.certificate.dual <= want * (1.0 + 1e-5)


@pytest.mark.parametrize("name", [name for name in REGRESSIONS if loss_called(name).family.name != "BOUNDED"])
@pytest.mark.slow
def test_the_optimum_with_a_regularised_bias(name):
    problem, target, C = posed(name, BiasedTubeQP)
    K = problem.gram.block(np.arange(M), np.arange(M)).astype(np.float64)
    found = solve(problem, by_name.solver("fcfw"), stop=Gap(1e-9) | parse_stop("iter:200000"))
    assert found.certificate.gap <= 2e-9
    assert found.certificate.primal == pytest.approx(optimum(name, K, target, C, True), rel=1e-5)


@pytest.mark.parametrize("name", [*CLASSES, *REGRESSIONS])
def test_values_are_those_of_the_definition(name):
    """P from `Loss.value` at any point, D below every P, and the gradient by differences."""
    problem, target, C = posed(name)
    rng = np.random.default_rng(1)
    most = np.minimum(np.maximum(problem.upper, -problem.lower), 2.0)
    values = []
    for _ in range(4):
        point = problem.start(problem.signs * np.clip(rng.normal(size=M) * most, problem.lower, problem.upper))
        assert problem.infeasible(point) is None
        certificate = problem.certificate(point)
        decision = problem.decision_function(point, certificate)
        h = problem.gram.matvec(decision.coef, np.arange(M)) + decision.intercept
        norm = decision.coef @ problem.gram.matvec(decision.coef, np.arange(M))
        primal = 0.5 * norm + C @ problem.loss.value(target, h)
        assert certificate.primal == pytest.approx(primal, rel=1e-10)
        assert certificate.dual == pytest.approx(-problem.objective(point), rel=1e-10)
        assert certificate.rounding < 1e-10
        values.append((certificate.primal, certificate.dual))
        i, step = int(np.argmax((problem.lower < point - 1e-3) & (point + 1e-3 < problem.upper) & (point != 0.0))), 1e-4
        ends = [problem.objective(point + sign * step * np.eye(M)[i]) for sign in (1.0, -1.0)]
        width = problem.width if np.ndim(problem.width) == 0 else problem.width[i]
        slope = certificate.gradient[i] + width * np.sign(point[i])
        assert (ends[0] - ends[1]) / (2.0 * step) == pytest.approx(slope, rel=1e-6, abs=1e-6)
    assert max(dual for _, dual in values) <= min(primal for primal, _ in values)


@pytest.mark.parametrize("name", [*CLASSES, *REGRESSIONS])
@pytest.mark.parametrize("m", [1, 2, 7, M])
def test_the_bias_is_the_best(name, m):
    _, y, t, C = samples(m)
    loss, rng = loss_called(name), np.random.default_rng(m)
    y[0], y[-1] = -1.0, 1.0
    target, h = (y if loss.task == "classify" else t)[-m:], rng.normal(size=m)
    record = Record.from_terms(loss.terms(target, C[-m:]))
    bias = best_bias(record, target - h)

    def at(b):
        return float(C[-m:] @ loss.value(target, h + b))

    others = bias + np.concatenate([[0.0], np.logspace(-9, 1, 60), -np.logspace(-9, 1, 60)])
    assert at(bias) <= min(map(at, others)) * (1.0 + 1e-12) + 1e-13


@pytest.mark.parametrize("name", [*CLASSES, *REGRESSIONS])
def test_the_sum_of_the_losses_of_each_bias(name):
    _, y, t, C = samples()
    loss, h, biases = loss_called(name), np.random.default_rng(1).normal(size=M), np.linspace(-3.0, 3.0, 7)
    target, centre = (y, 0.0) if loss.task == "classify" else (t, 100.0)
    found = Record.from_terms(loss.terms(target, C)).losses(h, centre, biases)
    np.testing.assert_allclose(found, [C @ loss.value(target, centre + h + b) for b in biases], rtol=1e-12)
