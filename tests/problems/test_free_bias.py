"""Linear problems with a free bias: their certificates against BoxQP, TubeQP, exact sums and every way to be wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import blobs

from svmkit.kernels import Gram, Linear
from svmkit.losses import loss_names, make_loss
from svmkit.losses.terms import Terms, dual_weights
from svmkit.problems import BoxQP, LinearDual, LinearRisk, LinearTubeDual, LinearTubeRisk, TubeQP, bias
from svmkit.problems.dual import DualQP
from svmkit.problems.risks.certify import smooth_bias
from svmkit.problems.sums import Record

LONG = np.longdouble
PIECEWISE = [(task, name) for task in ("classify", "regress") for name in loss_names(task)]
STORAGES = {"dense": np.asarray, "csr": sp.csr_array, "float32": lambda X: X.astype(np.float32)}


def data(task, seed=0, m=50):
    X, y = blobs(m, 4, seed=seed, share=0.3)
    return X, y if task == "classify" else X @ [1.0, -2.0, 0.0, 0.5] + 7.0 + 0.3 * y


def problems(task, X, t, C, loss):
    """The dual, the primal and LIBSVM's form of one problem."""
    dual, risk, qp = (LinearDual, LinearRisk, BoxQP) if task == "classify" else (LinearTubeDual, LinearTubeRisk, TubeQP)
    gram = Gram(Linear(), X)
    return dual(gram, t, C, loss, bias="free"), risk(gram, t, C, loss, bias="free"), qp(gram, t, C, loss=loss)


@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize(("task", "name"), PIECEWISE)
def test_the_certificate_is_that_of_libsvms_form(task, name, storage):
    X, t = data(task)
    C = np.random.default_rng(1).uniform(0.1, 3.0, len(t))
    dual, risk, qp = problems(task, storage(X), t, C, make_loss(name, task))
    assert isinstance(qp, DualQP)
    point = qp.start(np.random.default_rng(2).normal(size=len(t)))
    theirs, ours = qp.certificate(point), dual.certificate(point * qp.signs)
    assert dual.infeasible(point * qp.signs) is None
    assert ours.primal == pytest.approx(theirs.primal, rel=1e-9)
    assert ours.dual == pytest.approx(theirs.dual, rel=1e-9)
    assert ours.bias == pytest.approx(theirs.bias, rel=1e-6, abs=1e-6)
    w = dual.decision_function(point * qp.signs, ours).w
    assert risk.certificate(risk.start_weights(w, 0.0)).primal == pytest.approx(theirs.primal, rel=1e-9)


@pytest.mark.parametrize(("task", "name"), [*PIECEWISE, ("classify", "logistic")])
def test_many_samples_have_the_same_best_bias(task, name):
    X, t = data(task, m=9000)  # more than a tile of a sum
    problem = problems(task, X, t, 1.0, make_loss(name, task))[0]
    h, terms = X @ np.random.default_rng(1).normal(size=4), problem.terms
    found, expected = smooth_bias(problem.points, h), problem.best_bias(h)
    jumps = ((terms.upper > 0.0) & (terms.ridge_up == 0.0)) | ((terms.lower < 0.0) & (terms.ridge_down == 0.0))
    assert np.isnan(found) == jumps.any()
    assert jumps.any() or found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_best_of_many_biases_that_are_not_alone_is_left_to_another_search():
    X = np.repeat([[-4.0], [4.0]], 50, axis=0)
    problem = LinearDual(Gram(Linear(), X), np.sign(X[:, 0]), 1.0, "squared_hinge", bias="free")
    assert np.isnan(smooth_bias(problem.points, X[:, 0])) and problem.best_bias(X[:, 0]) == pytest.approx(0.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_rounding_is_included(loss, offset, size):
    for seed in range(3):
        X, y = data("classify", seed)
        X, C = X + offset, np.random.default_rng(seed).uniform(0.1, 3.0, len(y)) * size
        dual, risk, qp = problems("classify", X, y, C, loss)
        point = qp.start(np.random.default_rng(seed).normal(size=len(y)) * C) * y
        for problem, at in (
            (dual, point),
            (risk, risk.start_weights(dual.decision_function(point, dual.certificate(point)).w, 0.0)),
        ):
            found = problem.certificate(at)
            w = LONG(problem.decision_function(at, found).w)
            slack = np.maximum(1 - y * (LONG(X) @ w + LONG(found.bias)), 0)
            P = w @ w / 2 + (LONG(C) * (slack if loss == "hinge" else slack**2)).sum()
            assert abs(LONG(found.primal) - P) <= LONG(found.rounding) * max(found.primal, found.dual)
            beta = LONG(point if problem is dual else found.beta)
            v = LONG(X).T @ beta
            D = y @ beta - (v @ v + (0 if loss == "hinge" else (beta**2 / (2 * LONG(C))).sum())) / 2
            reach = 1 + np.sqrt(2 * P) * np.linalg.norm(X, axis=1).max()  # of any bias at the optimum
            assert found.dual <= D + abs(beta.sum()) * reach  # what other sums than 0 may add is in the bound
            assert (P - D) / max(P, abs(D)) <= LONG(found.gap) * (1 + LONG(1e-12)) + LONG(found.rounding)


def test_a_dual_value_is_a_lower_bound_whatever_the_weights():
    """D at weights that any model suggests lies below P of every other model."""
    rng = np.random.default_rng(0)
    X, y = blobs(40, 3, seed=3, share=0.2)
    risk = LinearRisk(Gram(Linear(), X), y, 1.0, bias="free")
    models = [risk.start_weights(rng.normal(size=3) * scale, 0.0) for scale in (0.0, 0.1, 1.0, 30.0) for _ in range(5)]
    found = [risk.certificate(w) for w in models]
    assert max(c.dual for c in found) <= min(c.primal for c in found)


def test_the_best_bias_is_the_best():
    X, y = blobs(40, 3, seed=5, share=0.2)
    risk = LinearRisk(Gram(Linear(), X), y, 1.0, "squared_hinge", bias="free")
    best = risk.certificate(risk.start_weights(np.ones(3), 0.0))
    for b in np.linspace(-3.0, 3.0, 61):
        assert risk.objective(risk.start_weights(np.ones(3), b)) >= best.primal * (1.0 - 1e-12)


def test_a_free_bias_costs_nothing():
    X, t = data("regress")
    near, far = (LinearTubeDual(Gram(Linear(), X), t + by, 1.0, bias="free") for by in (0.0, 1e9))
    beta = near.balanced(near.clip(np.random.default_rng(0).normal(size=len(t))))
    one, other = near.certificate(beta), far.certificate(beta)
    assert other.bias == pytest.approx(one.bias + 1e9, abs=1e-6)
    assert other.primal == pytest.approx(one.primal, rel=1e-6) and other.dual == pytest.approx(one.dual, rel=1e-6)


def test_around_the_best_bias_the_optimum_is_the_same():
    """The neighbour's P is that of the free problem plus the cost of what the bias is off."""
    X, y = blobs(40, 3, seed=5)
    free = LinearRisk(Gram(Linear(), X), y, 1.0, bias="free")
    for centre, shift in ((0.3, 0.0), (-1.0, 0.5)):
        near, w = free.around(centre), np.array([0.5, -0.2, 0.1, shift / free.bias])
        assert near.bias_of(w) == pytest.approx(shift)
        extra = 0.5 * (shift / free.bias) ** 2
        assert near.objective(w) == pytest.approx(free.objective(free.free(w, centre)) + extra)
        again = free.around(centre + 0.25)
        moved = near.move(w, 0.25)
        assert again.decision(moved) + 0.25 == pytest.approx(near.decision(w))


def test_what_is_no_point_is_said():
    X, y = blobs(20, 2)
    problem = LinearDual(Gram(Linear(), X), y, 1.0, bias="free")
    assert "the weights should sum to 0" in problem.infeasible(np.where(y > 0, 0.5, 0.0))
    assert problem.formulation(bias="free") == "hinge, free bias"


@pytest.mark.parametrize("bias", ["free", 1.0])
def test_the_model_of_a_certified_point_takes_no_further_pass(bias, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.where(np.arange(30) % 2, 1.0, -1.0)
    problem = LinearDual(Gram(Linear(), X), y, 1.0, "squared_hinge", bias=bias)
    points = [problem.balanced(rng.uniform(0.0, 1.0, 30) * y) for _ in range(2)]
    want = [problem.decision_function(point, problem.certificate(point)) for point in points]
    passes, weights = [], problem.weights
    monkeypatch.setattr(problem, "weights", lambda beta: passes.append(beta) or weights(beta))
    last = problem.decision_function(points[1].copy(), problem.certificate(points[1]))
    assert len(passes) == 1
    first = problem.decision_function(points[0], problem.certificate(points[0]))
    again = problem.decision_function(points[1], problem.certificate(points[0]))  # not the point of the certificate
    assert len(passes) == 4
    for found, known in ((first, want[0]), (last, want[1])):
        np.testing.assert_array_equal(found.w, known.w)
        assert found.intercept == known.intercept
    np.testing.assert_array_equal(again.w, last.w)


def many_terms(kind, m, rng):
    """Terms of m samples of each form that a piecewise linear-quadratic loss has."""
    one, zero, C, y = np.ones(m), np.zeros(m), rng.choice([0.1, 1.0, 5.0], m), rng.choice([-1.0, 1.0], m, p=[0.9, 0.1])
    up, target = y > 0.0, rng.normal(size=m)
    if kind == "squares of a margin":
        return Terms(y, np.where(up, 0.0, -np.inf), np.where(up, np.inf, 0.0), zero, zero, 0.5 / C, 0.5 / C)
    if kind == "least squares":
        return Terms(target, np.full(m, -np.inf), np.full(m, np.inf), zero, zero, 0.5 / C, 0.5 / C)
    if kind == "tube":
        return Terms(target, -C, 2.0 * C, 0.1 * one, 0.2 * one, 0.5 * one, 0.3 * one)
    if kind == "some jumps":
        return Terms(target, -C, C, 0.1 * one, zero, np.where(up, 0.0, 0.3), zero)
    # an interval of best values: the slopes of both halves cancel between their targets
    return Terms(np.where(np.arange(m) % 2, 10.0, -10.0), -one, one, zero, zero, np.full(m, 0.1), np.full(m, 0.1))


@pytest.mark.parametrize("total", [0.0, 3.0])
@pytest.mark.parametrize("kind", ["squares of a margin", "least squares", "tube", "some jumps", "interval"])
def test_the_best_bias_of_many_samples_is_that_of_all_their_pieces(kind, total, monkeypatch):
    """Where weights jump, only the pieces near the minimum are sorted; the others are one line and constants."""
    if kind == "interval" and total:
        pytest.skip("a total shifts the slopes, which cancel no longer")
    rng = np.random.default_rng(0)
    terms = many_terms(kind, 6000, rng)
    record, residual = Record.from_terms(terms), terms.target - 0.1 * rng.normal(size=6000)
    ours = bias.best_bias(record, residual.copy(), total)
    monkeypatch.setattr(bias, "fill_ramps", lambda *a: 0)
    monkeypatch.setattr(bias, "TOGETHER", 1000)
    monkeypatch.setattr(bias, "MANY", 1 << 60)
    want = bias.best_bias(record, residual.copy(), total)
    assert ours == pytest.approx(want, rel=1e-9, abs=1e-12)
    monkeypatch.setattr(bias, "MANY", 100)
    seen, zero_of_slopes = [], bias._zero_of_slopes
    monkeypatch.setattr(bias, "_zero_of_slopes", lambda *a: seen.append(len(a[0][0])) or zero_of_slopes(*a))
    for sample in (20, 300):
        monkeypatch.setattr(bias, "SAMPLE", sample)
        assert bias.best_bias(record, residual.copy(), total) == pytest.approx(want, rel=1e-9, abs=1e-12)
    assert min(seen[1::2]) < 3000 or kind == "interval"


@pytest.mark.parametrize("size", [2.0**-30, 2.0**30])
@pytest.mark.parametrize("many", [6000, 1 << 60])
def test_the_best_bias_does_not_depend_on_the_size_of_all_weights(size, many, monkeypatch):
    rng = np.random.default_rng(0)
    terms, noise = many_terms("tube", 6000, rng), rng.normal(size=6000)
    residual, found = terms.target - 0.1 * noise, []
    monkeypatch.setattr(bias, "fill_ramps", lambda *a: 0)
    monkeypatch.setattr(bias, "MANY", many)
    for unit in (1.0, size):
        scaled = terms._replace(
            lower=unit * terms.lower, upper=unit * terms.upper,
            ridge_up=terms.ridge_up / unit, ridge_down=terms.ridge_down / unit,
        )  # fmt: skip
        found.append(bias.best_bias(Record.from_terms(scaled), residual.copy()))
    assert found[1] == pytest.approx(found[0], rel=1e-9)


@pytest.mark.parametrize("size", [0.125, 8.0])
def test_weights_without_a_jump_are_ramps(size):
    terms = many_terms("tube", 7, np.random.default_rng(0))
    terms = terms._replace(ridge_up=terms.ridge_up * size, ridge_down=terms.ridge_down * size)
    record, residual, ramps = Record.from_terms(terms), terms.target - 0.3, np.full((3, 14), np.nan)
    assert bias.fill_ramps(*record, residual, ramps) == 14
    for b in (-2.0, -0.1, 0.4, 3.0):
        sides = np.minimum(np.maximum((ramps[0] - b) * ramps[1], 0.0), ramps[2]) * np.sign(ramps[1])
        assert sides.sum() == pytest.approx(dual_weights(terms, residual - b).sum(), rel=1e-12)


@pytest.mark.parametrize("kind", ["squares of a margin", "least squares", "tube", "interval"])
def test_few_weights_without_a_jump_have_the_best_bias_of_their_pieces(kind, monkeypatch):
    """Also where it is one of an interval, with or without an end, or an end of pieces."""
    rng = np.random.default_rng(1)
    for m in (2, 3, 10, 31):
        for places in (
            0,
            0,
            3,
            12,
        ):  # many residuals are equal, and the sum is 0 on an interval, where they are rounded
            terms = many_terms(kind, m, rng)
            residual = np.round(terms.target - 10.0 ** rng.integers(-2, 3) * rng.normal(size=m), places)
            record = Record.from_terms(terms)
            ours = bias.best_bias(record, residual.copy())
            with monkeypatch.context() as patch:
                patch.setattr(bias, "fill_ramps", lambda *a: 0)
                assert ours == pytest.approx(bias.best_bias(record, residual.copy()), rel=1e-12, abs=1e-12)
            near = 1e-9 * (1.0 + abs(ours))
            sums = [dual_weights(terms, residual - b).sum() for b in (ours - near, ours + near)]
            assert sums[0] >= -1e-9 and sums[1] <= 1e-9
