"""Box problems solved side by side on a device: the optimum is LIBSVM's, and the CPU certifies the same gaps."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmkit import Gram
from svmkit.kernels import RBF, Laplacian, Linear, Poly
from svmkit.problems import BoxQP
from svmkit.solver.smo.boxes import Box

torch = pytest.importorskip("torch", reason="needs pip install 'svmkit[torch]'")
from svmkit_torch.ondevice import blocks, many, minimise, products  # noqa: E402
from svmkit_torch.ondevice.answer import Profile  # noqa: E402
from svmkit_torch.ondevice.batch import Squares  # noqa: E402
from svmkit_torch.ondevice.code import PLAIN, Code, code_for  # noqa: E402
from svmkit_torch.ondevice.many import solve_many  # noqa: E402
from svmkit_torch.values import DeviceRows  # noqa: E402

GAP = 1e-3


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), np.where(y == 1, 1.0, -1.0)


def noisy(m=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=m) > 0.2, 1.0, -1.0)


def posed(y, C, rows=None):
    rows = np.arange(len(y)) if rows is None else rows
    return Box(rows, y[rows], np.full(len(rows), float(C)) if np.ndim(C) == 0 else C[rows])


def judge(kernel, X, problem, answer):
    """Return the certificate of the CPU after it has accepted the point."""
    box = BoxQP(Gram(kernel, X[problem.rows]), problem.y, problem.C)
    assert box.infeasible(answer.beta) is None
    return box.certificate(answer.beta)


def assert_proven(kernel, X, problems, answers, gap=GAP):
    for problem, answer in zip(problems, answers, strict=True):
        ours, cpu = answer.certificate, judge(kernel, X, problem, answer)
        assert ours.gap is not None and ours.gap <= gap
        assert cpu.gap is not None and cpu.gap <= gap
        # both are intervals around the same numbers
        assert math.isclose(ours.primal, cpu.primal, rel_tol=1e-9)
        assert math.isclose(ours.dual, cpu.dual, rel_tol=1e-9)


def libsvm(kernel, X, problem, gap):
    """Return LIBSVM's primal value, at a tolerance of its own that is far below the gap."""
    K = Gram(kernel, X[problem.rows]).block(*2 * [np.arange(len(problem.rows))])
    fitted = SVC(kernel="precomputed", C=1.0, tol=1e-6, cache_size=500)
    fitted.fit(K, problem.y, sample_weight=problem.C)
    beta = np.zeros(len(problem.y))
    beta[fitted.support_] = np.abs(fitted.dual_coef_[0])
    w = 0.5 * (beta * problem.y) @ K @ (beta * problem.y)
    return w + problem.C @ np.maximum(0.0, 1.0 - problem.y * fitted.decision_function(K))


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0, 100.0, 1e4, 1e6])
def test_the_optimum_is_that_of_libsvm_for_small_and_large_costs(where, C):
    X, y = cancer()
    kernel, problem = RBF(0.05), posed(y, C)
    [answer] = solve_many(DeviceRows(kernel, X, where), [problem], GAP)
    assert_proven(kernel, X, [problem], [answer])
    theirs = libsvm(kernel, X, problem, GAP)
    assert answer.certificate.dual <= theirs * (1.0 + 1e-6)
    assert answer.certificate.primal <= theirs * (1.0 + GAP)


@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.3), Poly(0.3, 2, 1.0), Linear()], ids=lambda k: k.name)
def test_kernels(where, kernel):
    X, y = noisy()
    problem = posed(y, 2.0)
    [answer] = solve_many(DeviceRows(kernel, X, where), [problem], GAP)
    assert_proven(kernel, X, [problem], [answer])
    assert answer.certificate.primal <= libsvm(kernel, X, problem, GAP) * (1.0 + GAP)


@pytest.mark.slow
def test_problems_of_different_sizes_weights_and_costs_share_a_batch(where):
    X, y = noisy(400)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.1, 3.0, 400)
    problems = [posed(y, C * weights, np.sort(rng.permutation(400)[:m])) for m in (400, 310, 250) for C in (0.1, 30.0)]
    problems.append(posed(y, np.where(y > 0, 5.0, 0.2), np.arange(0, 400, 2)))
    kernel = RBF(0.4)
    answers = solve_many(DeviceRows(kernel, X, where), problems, GAP)
    assert_proven(kernel, X, problems, answers)
    for problem, answer in zip(problems, answers, strict=True):
        assert answer.certificate.primal <= libsvm(kernel, X, problem, GAP) * (1.0 + GAP)


def test_small_pairs_of_many_rows_have_squares_of_their_own(where, monkeypatch):
    X, y = load_digits(n_class=5, return_X_y=True)
    X, y, made = X[:250] / 16.0, y[:250], []
    monkeypatch.setattr(many, "Squares", lambda K: made.append(K.shape) or Squares(K))
    rows = [np.flatnonzero((y == a) | (y == b)) for a in range(5) for b in range(a)]
    problems = [Box(at, np.where(y[at] == y[at[0]], 1.0, -1.0), np.full(len(at), 10.0)) for at in rows]
    kernel = RBF(0.1)
    answers = solve_many(DeviceRows(kernel, X, where), problems, GAP)
    assert made == [(10, max(map(len, rows)), max(map(len, rows)))]
    assert_proven(kernel, X, problems, answers)


def test_duplicates_and_rows_of_both_classes(where):
    X, y = noisy(150)
    X = np.vstack([X, X[:50], X[:50]])
    y = np.concatenate([y, y[:50], -y[:50]])  # the last ones contradict the first
    kernel, problem = RBF(1.0), posed(y, 10.0)
    [answer] = solve_many(DeviceRows(kernel, X, where), [problem], GAP)
    assert_proven(kernel, X, [problem], [answer])
    assert answer.certificate.primal <= libsvm(kernel, X, problem, GAP) * (1.0 + GAP)


def test_all_rows_alike(where):
    X, y = np.ones((40, 2)), np.where(np.arange(40) < 15, 1.0, -1.0)
    kernel, problem = RBF(1.0), posed(y, 1.0)
    [answer] = solve_many(DeviceRows(kernel, X, where), [problem], GAP)
    assert_proven(kernel, X, [problem], [answer])
    assert math.isclose(answer.certificate.primal, 30.0, rel_tol=1e-6)  # 2 C for each of the smaller class


@pytest.mark.slow
@pytest.mark.parametrize("room", [40_000, 400_000])
def test_a_matrix_that_does_not_fit_is_solved_by_rounds(where, room):
    X, y = noisy(1200, 6)
    kernel, problem, profile = RBF(0.2), posed(y, 3.0), Profile(torch.device(where))
    [answer] = solve_many(DeviceRows(kernel, X, where), [problem], GAP, memory=room, profile=profile)
    assert profile.counts["rounds"] > 1
    assert_proven(kernel, X, [problem], [answer])
    assert answer.certificate.primal <= libsvm(kernel, X, problem, GAP) * (1.0 + GAP)


@pytest.mark.slow
def test_wrong_labels_do_not_fill_the_sets_of_all_rounds(where):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 20))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    X[:, 0] += 2.0 * y
    y = np.where(rng.random(len(y)) < 0.02, -y, y)
    kernel, problem, profile = RBF(0.05), posed(y, 1.0), Profile(torch.device(where))
    [answer] = solve_many(DeviceRows(kernel, X, where), [problem], GAP, memory=80_000, profile=profile)
    assert_proven(kernel, X, [problem], [answer])
    assert profile.counts["rounds"] <= 30  # 17; the points that violate most take 45


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 64 points for problems of 128 and more, and no spectral steps."""
    monkeypatch.setattr(blocks, "POINTS", 64)
    monkeypatch.setattr(blocks, "LEAST", 128)
    monkeypatch.setattr(minimise, "Worth", lambda: {"spectral": 0.0, "smo": math.inf, "blocks": math.inf})
    monkeypatch.setattr(minimise, "HOPE", 0.0)


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_blocks_of_a_large_problem_reach_the_optimum(where, small_blocks, C):
    X, y = noisy(500, 6)
    kernel, problem, profile = RBF(0.2), posed(y, C * np.where(y > 0.0, 3.0, 1.0)), Profile(torch.device(where))
    [answer] = solve_many(DeviceRows(kernel, X, where), [problem], GAP, profile=profile)
    assert profile.counts["blocks"] > 1
    assert answer.spectral == 0
    assert_proven(kernel, X, [problem], [answer])
    assert answer.certificate.primal <= libsvm(kernel, X, problem, GAP) * (1.0 + GAP)


def test_blocks_within_rounds(where, small_blocks):
    X, y = noisy(1200, 6)
    kernel, problem, profile = RBF(0.2), posed(y, 3.0), Profile(torch.device(where))
    [answer] = solve_many(DeviceRows(kernel, X, where), [problem], GAP, memory=400_000, profile=profile)
    assert profile.counts["rounds"] > 1
    assert profile.counts["blocks"] > 1
    assert_proven(kernel, X, [problem], [answer])


def test_duplicates_of_both_classes_and_rows_of_zeros_in_blocks(where, small_blocks):
    X, y = noisy(150)
    X = np.vstack([X, X[:50], X[:50], np.zeros((30, 3))])
    y = np.concatenate([y, y[:50], -y[:50], np.where(np.arange(30) % 2, 1.0, -1.0)])
    for kernel in (RBF(1.0), Linear()):
        problem = posed(y, 10.0)
        [answer] = solve_many(DeviceRows(kernel, X, where), [problem], GAP)
        assert_proven(kernel, X, [problem], [answer])
        assert answer.certificate.primal <= libsvm(kernel, X, problem, GAP) * (1.0 + GAP)


@pytest.mark.slow
def test_a_round_takes_the_product_that_stores_no_values(where, monkeypatch):
    X, y = noisy(1200, 6)
    kernel, problem, profile = RBF(0.2), posed(y, 3.0), Profile(torch.device(where))
    given = []

    def product(X, Z, coef, gamma):
        given.append((X.dtype, Z.shape))
        return (torch.exp(-gamma * torch.cdist(X.T, Z.T).square()) @ coef).to(torch.float64)

    monkeypatch.setattr(products, "code_for", lambda device: Code(*PLAIN[:2], product, 8, 64))
    [answer] = solve_many(DeviceRows(kernel, X, where), [problem], GAP, memory=40_000, profile=profile)
    assert sum(dtype is torch.float32 for dtype, _ in given) == profile.counts["rounds"]
    assert given[-1][0] is torch.float64  # the certificate
    assert_proven(kernel, X, [problem], [answer])


def test_a_smaller_gap_is_reached_too(where):
    X, y = noisy(200)
    kernel, problem = RBF(0.5), posed(y, 5.0)
    [answer] = solve_many(DeviceRows(kernel, X, where), [problem], 1e-6)
    assert_proven(kernel, X, [problem], [answer], 1e-6)


def test_no_time_is_a_point_with_the_gap_that_it_has(where):
    X, y = noisy(200)
    problems = [posed(y, 5.0), posed(y, 1e5)]
    kernel = RBF(0.5)
    answers = solve_many(DeviceRows(kernel, X, where), problems, 1e-9, seconds=0.0)
    for problem, answer in zip(problems, answers, strict=True):
        assert answer.certificate.gap > 1e-9
        assert judge(kernel, X, problem, answer).gap >= answer.certificate.gap * 0.99


def test_the_certificate_of_a_wrong_point_is_no_proof(where, monkeypatch):
    """A solver that believes to be done is not believed."""
    X, y = noisy(200)
    monkeypatch.setattr(minimise.Batch, "gaps", lambda batch: torch.zeros_like(batch.y[:, 0]))
    [answer] = solve_many(DeviceRows(RBF(0.5), X, where), [posed(y, 50.0)], 1e-6)
    assert answer.certificate.gap > 1e-6


def test_plain_code_everywhere_but_on_cuda():
    assert code_for(torch.device("cpu")) is PLAIN
