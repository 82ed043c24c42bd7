"""Certificates in other units: with rows 2^k times smaller and costs 4^k times larger all decision values stay.

P, D and the bounds on their rounding are then those of before times 4^k, exactly but for numbers that underflow: a
bound with a factor in the wrong place, or the wrong way up, is not.
"""

import numpy as np
import pytest

from svmkit import plugins
from svmkit.kernels import Gram, Linear, Precomputed
from svmkit.losses import loss_names
from svmkit.problems import BoxQP, CrammerSinger, LinearDual, LinearRisk, OneClassQP
from svmkit.problems.nu_dual import NuBoxQP, NuTubeQP
from svmkit.problems.risks.kernel_risk import KernelRisk, KernelTubeRisk
from svmkit.problems.risks.linear_risk import LinearTubeDual, LinearTubeRisk
from svmkit.problems.risks.rank_risk import RankRisk
from svmkit.problems.tube import TubeQP
from svmkit.solver import Gap, solve

RNG = np.random.default_rng(0)
M = 40
Y = np.where(np.arange(M) % 2, 1.0, -1.0)
X = RNG.normal(size=(M, 5)) + 0.5 * Y[:, None]
T = X[:, 0] + 0.5 * RNG.normal(size=M)
C = RNG.uniform(0.5, 2.0, M)
GROUPS = np.column_stack([np.round(T, 1), np.arange(M) % 3, np.arange(M) % 4 > 0])


def loss_of(name):
    return plugins.build("loss", name, {"tau": 0.3} if name in ("quantile", "expectile") else {})


def kernel(k):
    return Gram(Precomputed(), 4.0**-k * (X @ X.T))


def linear(k):
    return Gram(Linear(), 2.0**-k * X)


def of_losses(dual, of_primal, gram):
    """Problems of each loss of both tasks: {name: (make, the power of 2^k by which its points grow)}."""
    made = {}
    for task, target in (("classify", Y), ("regress", T)):
        kind = dual[task]
        for name in loss_names(task):

            def make(k, kind=kind, name=name, target=target):
                own = {"bias": 2.0**-k} if gram is linear else {}  # the value of the column of the bias
                return kind.from_loss(gram(k), target, 4.0**k * C, loss_of(name), **own)

            made[f"{kind.__name__}, {name}"] = make, 1 if of_primal else 2
    return made


def with_terms(kind, target, power, **terms):
    """A linear problem of a free bias or none, with the loss that it has by default."""
    return lambda k: kind(linear(k), target, 4.0**k * C, **terms), power


CASES = {
    **of_losses({"classify": BoxQP, "regress": TubeQP}, False, kernel),
    **of_losses({"classify": LinearDual, "regress": LinearTubeDual}, False, linear),
    **of_losses({"classify": LinearRisk, "regress": LinearTubeRisk}, True, linear),
    **{
        f"{kind.__name__}, bias={bias}": with_terms(kind, target, power, bias=bias)
        for kind, target, power in (
            (LinearDual, Y, 2),
            (LinearTubeDual, T, 2),
            (LinearRisk, Y, 1),
            (LinearTubeRisk, T, 1),
        )
        for bias in ("free", 0.0)
    },
    "RankRisk, hinge": (lambda k: RankRisk(linear(k), GROUPS, 4.0**k, "hinge"), 1),
    "RankRisk, squared_hinge": (lambda k: RankRisk(linear(k), GROUPS, 4.0**k, "squared_hinge"), 1),
    "CrammerSinger": (lambda k: CrammerSinger(linear(k), np.arange(M) % 3, 4.0**k * C, bias=0.0), 2),
    "OneClassQP": (lambda k: OneClassQP(kernel(k), 0.3, 4.0**k * C), 2),
    "NuBoxQP": (lambda k: NuBoxQP(kernel(k), Y, 4.0**k * C, 0.3), 2),
    "NuTubeQP": (lambda k: NuTubeQP(kernel(k), T, 4.0**k * C, 0.3), 2),
    "KernelRisk": (lambda k: KernelRisk(kernel(k), Y, 4.0**k * C, bias=2.0**-k), 2),
    "KernelTubeRisk": (lambda k: KernelTubeRisk(kernel(k), T, 4.0**k * C, "epsilon_insensitive", bias=2.0**-k), 2),
}


def alpha():
    """Weights of the machine of three classes: 0.4 of the cost, against the class after the own one."""
    codes, every, found = np.arange(M) % 3, np.arange(M), np.zeros((M, 3))
    found[every, codes], found[every, (codes + 1) % 3] = 0.4 * C, -0.4 * C
    return found


def bounds_of(problem):
    """The most and the least signed weights."""
    if isinstance(problem, LinearDual):
        return problem.terms.upper, problem.terms.lower
    ends = problem.signs * problem.upper, problem.signs * problem.lower
    return np.maximum(*ends), np.minimum(*ends)


def point_of(problem, power):
    """A point of a problem that is far from its optimum; a feasible one of a dual."""
    rng = np.random.default_rng(1)
    if isinstance(problem, CrammerSinger):
        return alpha()
    if power == 1:
        return 0.3 * rng.normal(size=problem.design.width)
    if isinstance(problem, KernelRisk):
        return 0.1 * rng.normal(size=M)
    if isinstance(problem, NuBoxQP):  # it certifies nothing before the margin is positive
        return solve(problem, plugins.build("solver", "smo"), stop=Gap(0.3)).point
    if isinstance(problem, OneClassQP | NuTubeQP):
        return problem.first_point()
    signed = Y * rng.uniform(0.1, 0.9, M) * (rng.random(M) < 0.7)
    upper, lower = bounds_of(problem)
    signed *= np.minimum(np.where(signed > 0.0, upper, -lower), C)
    up, down = signed[signed > 0.0].sum(), -signed[signed < 0.0].sum()
    signed *= np.where(signed > 0.0, min(up, down) / up, min(up, down) / down)
    return signed if isinstance(problem, LinearDual) else problem.signs * signed


@pytest.mark.parametrize("name", CASES)
def test_a_certificate_changes_by_the_power_of_its_units(name):
    make, power = CASES[name]
    plain = make(0)
    point = point_of(plain, power)
    assert plain.infeasible(point) is None
    one = plain.certificate(point)
    size = max(abs(one.primal), abs(one.dual))
    assert 0.0 < one.rounding < 1e-10 and one.gap > 1e-3
    assert one.dual > 0.0 or not isinstance(plain, RankRisk)  # the plane at the point proves more than 0
    for k in (-20, -7, 3, 20):
        found = make(k).certificate(2.0 ** (power * k) * point)
        assert found.primal == pytest.approx(4.0**k * one.primal, rel=1e-12)
        assert found.dual == pytest.approx(4.0**k * one.dual, rel=1e-12, abs=1e-12 * 4.0**k * size)
        assert found.gap == pytest.approx(one.gap, rel=1e-12)
        assert found.rounding == pytest.approx(one.rounding, rel=1e-12)
        if one.bias is not None:
            assert found.bias == pytest.approx(one.bias, rel=1e-9, abs=1e-12)
