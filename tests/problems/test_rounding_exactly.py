"""What certificates say of their rounding errors, against fractions, on numbers for which a sum loses what it can lose.

Sums lose most where a large number comes first: 1 + u is 1 in float64, however often u is added. So most bounds are met
within a factor of two here. Where a library may sum in another order, the numbers are such that each order loses.
"""

from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.kernels import Gram, Linear, Precomputed
from svmkit.losses import EpsilonInsensitive
from svmkit.losses.terms import Terms
from svmkit.problems import BoxQP, CrammerSinger, LinearRisk, OneClassQP
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.linear_risk import LinearTubeDual, LinearTubeRisk
from svmkit.problems.rounding import dot_error, exact_sum
from svmkit.problems.sums import exact_sum as compiled_exact_sum
from svmkit.problems.tube import BiasedTubeQP, TubeQP
from svmkit.problems.weights import reward_error
from svmkit.runtime.compiling import njit

U = 2.0**-53
BIG = 2.0**53  # one more than it is no float64


def exact(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


def dot(a, b):
    return sum((x * y for x, y in zip(exact(a), exact(b), strict=True)), Fraction(0))


class Claim(NamedTuple):
    """What `Certificate.from_values` is given, and the certificate that it returns."""

    primal: Fraction
    of_primal: Fraction
    certificate: Certificate

    @property
    def dual(self):
        return Fraction(self.certificate.dual)


@pytest.fixture
def claim(monkeypatch):
    """claim(problem, point) -> Claim."""
    made, keep = [], Certificate.from_values.__func__

    def from_values(cls, primal, dual, *args, errors, **options):
        made.append((Fraction(primal), Fraction(errors[0])))
        return keep(cls, primal, dual, *args, errors=errors, **options)

    monkeypatch.setattr(Certificate, "from_values", classmethod(from_values))

    def certify(problem, point):
        certificate = problem.certificate(point)
        return Claim(*made[-1], certificate)

    return certify


def one_and_many(n=1000, part=U):
    """1 and then n numbers each of which is lost when it is added to 1."""
    return np.r_[1.0, np.full(n, part)]


@njit
def _pair(a, b):
    return compiled_exact_sum(a, b)


@pytest.mark.parametrize("function", [exact_sum, _pair], ids=["plain", "compiled"])
def test_the_error_of_a_sum_of_two_is_exact(function):
    rng = np.random.default_rng(0)
    numbers = np.r_[rng.normal(size=40) * 2.0 ** rng.integers(-60, 60, 40), 0.0, BIG, 1.5, -1.5]
    lost = 0
    for a in numbers:
        for b in numbers:
            total, error = function(a, b)
            assert Fraction(float(total)) + Fraction(float(error)) == Fraction(float(a)) + Fraction(float(b))
            lost += error != 0.0
    assert lost > 1000


def test_a_sum_of_products_in_order_loses_no_more_than_its_bound():
    terms = one_and_many()
    total = 0.0
    for term in terms:
        total += float(term)
    off = abs(Fraction(total) - sum(exact(terms)))
    assert 0.9 * dot_error(terms) < off <= dot_error(terms)


def test_products_below_the_normal_numbers_lose_no_more_than_the_bound():
    a = np.array([1.5 * 2.0**-537, 1.25 * 2.0**-537, 2.0**-530])
    terms = a * 2.0**-537
    off = abs(dot(a, np.full(3, 2.0**-537)) - sum(exact(terms)))
    assert 0 < off <= Fraction(dot_error(terms))


HEAVY = 1e6


@pytest.mark.parametrize(
    ("targets", "h", "epsilon"),
    [
        ([BIG, BIG, BIG, BIG, 1.5], 0.0, 0.0),  # the target less the median loses 1/2
        ([BIG, BIG, BIG, BIG, 2.0], 1.5, 0.0),  # so does the sum of h and the bias for such targets,
        ([0.0, 0.0, 0.0, 0.0, BIG + 4.0], 1.5, BIG),  # the residual, of which the tube takes most,
        ([BIG, BIG, BIG, BIG, BIG + 2.0], 0.5, 0.0),  # and the bias for the targets as they are
    ],
    ids=["target", "decision", "residual", "bias"],
)
def test_p_is_that_of_the_bias_that_is_returned(targets, h, epsilon, claim):
    X = np.array([[1.0], [0.0], [0.0], [0.0], [h]])
    C = np.array([1.0, 1.0, 1.0, 1.0, HEAVY])
    kind = BiasedTubeQP if epsilon else TubeQP  # a free bias would make up for the residual
    found = claim(kind(Gram(Linear(), X), np.array(targets), C, epsilon), np.array([1.0, -1.0, 0.0, 0.0, 0.0]))
    b = Fraction(found.certificate.bias)
    losses = (max(abs(t - x - b) - Fraction(epsilon), 0) for t, x in zip(exact(targets), exact(X), strict=True))
    P = Fraction(1, 2) + sum(c * loss for c, loss in zip(exact(C), losses, strict=True))
    off = abs(P - found.primal)
    assert off > 1000 * Fraction(U) * P  # what is relative to P does not hide it
    assert off <= found.of_primal <= 3 * off
    assert found.dual <= P


def test_the_square_of_a_regularised_bias_is_that_of_the_bias_that_is_returned(claim):
    """K = 0, and the targets are within the tube around any bias: P is half the square of the bias."""
    d = one_and_many()
    found = claim(BiasedTubeQP(Gram(Linear(), np.zeros((len(d), 1))), np.zeros(len(d)), 2.0, 4.0), d)
    off = abs(Fraction(found.certificate.bias) ** 2 / 2 - found.primal)
    assert 100 * Fraction(U) < off <= found.of_primal
    assert found.dual <= -4 * sum(exact(d)) - sum(exact(d)) ** 2 / 2


def test_d_of_the_squared_bias_holds(claim):
    """The targets are 0 and so is epsilon: D is minus half the square of the bias, whose sum loses all but 1."""
    d = one_and_many()
    found = claim(BiasedTubeQP(Gram(Linear(), np.zeros((len(d), 1))), np.zeros(len(d)), 2.0, 0.0), d)
    assert found.dual <= -(sum(exact(d)) ** 2) / 2


@pytest.mark.parametrize("kind", ["box", "one class"])
def test_a_matrix_that_is_semidefinite_up_to_rounding_counts_as_the_nearest_one_that_is(kind, claim):
    """P and D for K + shift I, with weights that are all equal: D is as large as the bound allows."""
    m, least = 40, -1e-9
    y = np.where(np.arange(m) % 2, 1.0, -1.0)
    gram = Gram(Precomputed(), np.eye(m) - (1.0 - least) * np.outer(y, y) / m)  # y has the eigenvalue `least`
    shift = gram.definiteness.shift
    assert gram.definiteness.flaw is None and shift >= 1e-9
    box = kind == "box"
    posed, beta = (BoxQP(gram, y, 2.0), np.full(m, 2.0)) if box else (OneClassQP(gram, 1.0), np.ones(m))
    found = claim(posed, beta)
    signed = beta * (y if box else 1.0)
    h, b = gram.block(np.arange(m), np.arange(m)) @ signed + shift * signed, found.certificate.bias
    norm = signed @ h
    if box:
        P, D = 0.5 * norm + 2.0 * np.maximum(0.0, 1.0 - y * (h + b)).sum(), beta.sum() - 0.5 * norm
    else:
        P, D = 0.5 * norm + b * m + np.maximum(0.0, -b - h).sum(), -0.5 * norm
    assert abs(P - found.primal) <= found.of_primal
    assert D - 0.1 * shift * (beta @ beta) <= found.dual <= D


def test_the_reward_of_dual_weights_loses_no_more_than_its_bound():
    beta = one_and_many()
    zero, bounds = np.zeros(len(beta)), np.ones(len(beta))
    lost = 1000 * U
    for sign in (1.0, -1.0):
        up, down = (1.0, 0.0) if sign > 0.0 else (0.0, 1.0)
        kinked = Terms.fill(zero, lower=-bounds, upper=bounds, kink_up=up, kink_down=down)
        assert lost <= reward_error(kinked, sign * beta) <= 2.0 * lost
        aimed = Terms.fill(bounds, lower=-bounds, upper=bounds)
        assert lost <= reward_error(aimed, sign * beta) <= 2.0 * lost


class TestOfLinearProblems:
    """w = X'beta is summed in parts of rows, each in its order; P and D are sums in BLAS's order."""

    def rows(self, x, m=None):
        return Gram(Linear(), np.asarray(x, dtype=np.float64).reshape(m or len(x), -1))

    def test_the_tube_in_d(self):
        beta = one_and_many()
        loss = EpsilonInsensitive(1.0)
        problem = LinearTubeDual(self.rows(np.zeros(len(beta))), np.zeros(len(beta)), 2.0, loss, bias=0.0)
        assert Fraction(problem.certificate(beta).dual) <= -sum(exact(beta))

    def test_w_in_d(self):
        beta = one_and_many()
        problem = LinearTubeDual(self.rows(np.ones(len(beta))), np.zeros(len(beta)), 2.0, "absolute_error", bias=0.0)
        assert Fraction(problem.certificate(beta).dual) <= -(sum(exact(beta)) ** 2) / 2

    def test_the_ridges_in_d(self):
        beta = one_and_many(part=2.0**-27 * 1.4)  # whose squares are just below u
        problem = LinearTubeDual(self.rows(np.zeros(len(beta))), np.zeros(len(beta)), 1.0, "squared_error", bias=0.0)
        found = problem.certificate(beta)
        assert Fraction(found.dual) <= -sum(b * b for b in exact(beta)) / 4

    def test_the_norm_in_d(self):
        w = one_and_many(20_000, 2.0**-26.5 * 0.999)
        problem = LinearTubeDual(self.rows(np.r_[w, 0.0 * w], 2), np.zeros(2), 2.0, "absolute_error", bias=0.0)
        assert Fraction(problem.certificate(np.array([1.0, 0.0])).dual) <= -dot(w, w) / 2

    @pytest.mark.parametrize(("penalty", "scale"), [("l2", 1.0), ("l2", 2.0**20), ("l1", 1e-6)])
    def test_the_norm_in_p(self, penalty, scale, claim):
        """The rows are far beyond the margin, so that P is the penalty alone."""
        w = scale * one_and_many(20_000, 2.0**-26.5 * 0.999 if penalty == "l2" else 1.01 * U)
        X = np.zeros((2, len(w)))
        X[:, 0] = 1e9, -1e9
        problem = LinearRisk(Gram(Linear(), X), np.array([1.0, -1.0]), 1.0, penalty=penalty, bias=0.0)
        found = claim(problem, w)
        P = dot(w, w) / 2 if penalty == "l2" else sum(exact(w))
        assert 0 < abs(P - found.primal) <= found.of_primal

    @pytest.mark.parametrize(("targets", "h"), [([BIG] * 4 + [BIG + 2.0], 0.5), ([BIG] * 4 + [2.0], 1.5)])
    @pytest.mark.parametrize("kind", [LinearTubeDual, LinearTubeRisk])
    def test_p_is_that_of_the_free_bias_that_is_returned(self, kind, targets, h, claim):
        """The bias for the targets as they are loses what is below their last digit, in the first line."""
        X, C = np.array([1.0, 0.0, 0.0, 0.0, h]), np.array([1.0, 1.0, 1.0, 1.0, HEAVY])
        problem = kind(self.rows(X), np.array(targets), C, "absolute_error", bias="free")
        found = claim(problem, np.array([1.0, -1.0, 0.0, 0.0, 0.0]) if kind is LinearTubeDual else np.array([1.0, 0.0]))
        b = Fraction(found.certificate.bias)
        losses = (abs(t - x - b) for t, x in zip(exact(targets), exact(X), strict=True))
        P = Fraction(1, 2) + sum(c * loss for c, loss in zip(exact(C), losses, strict=True))
        assert abs(P - found.primal) <= found.of_primal
        assert found.dual <= P

    def test_a_decision_that_loses_its_digits(self, claim):
        """h = 1/4 + 2^-13, of which any order of two large numbers that cancel out loses a part."""
        worst = 0
        for x in permutations([2.0**40, 2.0**-13, -(2.0**40), 0.25]):
            X = np.array([x, (0.0, 0.0, 0.0, 0.0)])
            problem = LinearTubeRisk(Gram(Linear(), X), np.zeros(2), np.array([1e9, 1.0]), "absolute_error", bias=0.0)
            found = claim(problem, np.ones(4))
            off = abs(2 + 10**9 * (Fraction(1, 4) + Fraction(1, 2**13)) - found.primal)
            assert off <= found.of_primal
            worst = max(worst, off)
        assert worst > 1e4

    def test_the_l1_bound_holds_for_weights_that_are_not_quite_feasible(self):
        """|X'beta| is 1 + 2^-13, of which 1 is left: then D is too large by that factor."""
        worst = 0.0
        for x in permutations([2.0**40, 2.0**-13, -(2.0**40), 1.0]):
            X, y = np.array([*x, 0.0])[:, None], np.array([1.0, 1.0, 1.0, 1.0, -1.0])
            problem = LinearRisk(Gram(Linear(), X), y, 1.0, penalty="l1", bias=0.0)
            proven = problem.offer(np.array([1.0, 1.0, 1.0, 1.0, 0.0]))
            v = abs(sum(exact(x)))
            assert Fraction(proven) <= 4 / v
            worst = max(worst, abs(problem.weights(np.array([1.0, 1.0, 1.0, 1.0, 0.0]))[0] - float(v)))
        assert worst > 1e-5


def machine(X, codes, C=1.0, sparse=False):
    X = np.asarray(X, dtype=np.float64)
    given = sp.csr_array(X) if sparse else X
    return CrammerSinger(Gram(Linear(), given), np.asarray(codes, dtype=float), C, bias=0.0)


class TestOfCrammerSinger:
    def alpha(self, codes, weights, k=2):
        """Weights of the samples, all against the class after their own."""
        alpha = np.zeros((len(codes), k))
        every = np.arange(len(codes))
        alpha[every, codes], alpha[every, (np.asarray(codes) + 1) % k] = weights, -np.asarray(weights)
        return alpha

    @pytest.mark.parametrize("sparse", [False, True])
    def test_w_in_d(self, sparse):
        """w sums 2^20 times 1 and many u, and D is little but |w|^2: W of sparse rows loses all that it can."""
        weights = np.r_[one_and_many(5000), 1e-300]
        codes = np.r_[np.zeros(5001, dtype=int), 1]
        X = np.full((5002, 1), 2.0**20)
        problem = machine(X, codes, 2.0, sparse)
        found = problem.certificate(self.alpha(codes, weights))
        T = sum(exact(weights[:-1])) - Fraction(weights[-1])
        D = sum(exact(weights)) - (2**20 * T) ** 2
        assert Fraction(found.dual) <= D
        if sparse:
            assert D - Fraction(found.dual) < Fraction(2**40) * 5000 * Fraction(U) * 4

    def test_w_of_own_weights_that_are_0_within_what_is_feasible(self):
        """The weights of the other class are what counts: those of the own class are minus their sum."""
        weights, codes = np.r_[one_and_many(5000), 1e-300], np.r_[np.zeros(5001, dtype=int), 1]
        problem = machine(np.full((5002, 1), 2.0**20), codes, 2e9, sparse=True)
        alpha = self.alpha(codes, weights)
        alpha[np.arange(5002), codes] = 0.0
        assert problem.infeasible(alpha) is None
        T = sum(exact(weights[:-1])) - Fraction(weights[-1])
        assert Fraction(problem.certificate(alpha).dual) <= sum(exact(weights)) - (2**20 * T) ** 2

    def test_the_norm_in_d(self):
        w = one_and_many(20_000, 2.0**-26.5 * 0.999)
        problem = machine(np.stack([w, 0.0 * w]), [0, 1], 2.0)
        found = problem.certificate(self.alpha([0, 1], [1.0, 0.0]))
        assert Fraction(found.dual) <= 1 - dot(w, w)

    def test_the_sum_of_the_dual_weights(self):
        """With X = 0 P and D are the sum of the costs at the optimum; weights a little above the costs do not help."""
        codes = np.arange(3)
        problem = machine(np.zeros((3, 1)), codes)
        alpha = self.alpha(codes, np.full(3, 1.0 + 8.0 * U), 3)
        assert problem.infeasible(alpha) is None
        assert problem.certificate(alpha).dual <= 3.0

    def test_the_order_of_the_dual_weights(self):
        """Of numbers a little above u each is rounded up when it is added to 1; numpy has eight such sums."""
        weights = np.r_[1.0, np.full(999, U * (1.0 + 2.0**-30))]
        codes = np.arange(1000) % 2
        found = machine(np.zeros((1000, 1)), codes).certificate(self.alpha(codes, weights))
        assert Fraction(found.dual) <= sum(exact(weights))

    def test_a_decision_that_loses_its_digits(self, claim):
        worst = 0
        for x in permutations([2.0**40, 2.0**-13, -(2.0**40), 0.25]):
            X = np.vstack([np.eye(4), x, np.zeros(4)])
            codes, C = np.array([0, 0, 0, 0, 0, 1]), np.array([1.0, 1.0, 1.0, 1.0, 1e9, 1.0])
            found = claim(machine(X, codes, C), self.alpha(codes, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]))
            h = 2 * (Fraction(1, 4) + Fraction(1, 2**13))  # of class 0 less that of class 1
            off = abs(4 + 10**9 * (1 - h) + 1 - found.primal)
            assert off <= found.of_primal
            worst = max(worst, off)
        assert worst > 1e4

    def test_the_sum_of_the_losses(self, claim):
        C = one_and_many(20_000, U * 0.999)
        codes = np.arange(len(C)) % 2
        found = claim(machine(np.zeros((len(C), 1)), codes, C), np.zeros((len(C), 2)))
        assert 0 < abs(sum(exact(C)) - found.primal) <= found.of_primal

    @pytest.mark.parametrize(
        ("row", "reason"),
        [
            ([1.0005, -1.0005, 0.0], "more weight than its cost"),
            ([0.5005, -0.5, 0.0], "sum to 0"),
            ([0.4995, -0.5, 0.0005], "above 0"),
        ],
    )
    def test_half_a_thousandth_is_not_feasible(self, row, reason):
        problem = machine(np.eye(3), [0, 1, 2])
        alpha = np.zeros((3, 3))
        assert problem.infeasible(alpha) is None
        alpha[0] = row
        assert reason in problem.infeasible(alpha)
