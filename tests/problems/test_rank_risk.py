"""Ranking against lists of all pairs: counts, objectives, LIBLINEAR on pair differences, and an independent judge."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from svmkit import Gram, InputError, fit, plugins, solve
from svmkit.conformance.judging.ranking import judge_ranking
from svmkit.data import Ranks
from svmkit.kernels import Linear
from svmkit.problems import RankRisk
from svmkit.problems.risks.comparable import make_order
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.filterwarnings("ignore:.*one row, which has no pair")

LOSSES = "hinge", "squared_hinge"
SOLVERS = "bmrm", "ocas", "svmperf"


def draw(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X, values, groups and what was observed of one of five sets: groups, ties, repeated rows, censored."""
    rng = np.random.default_rng(k)
    m, d = 60, 5
    X = rng.normal(size=(m, d))
    X[5] = X[6] = X[7]
    y = X[:, 0] + rng.normal(size=m)
    y = np.round(y) if k % 2 else y
    groups = rng.integers(0, (1, 4, 25, 10, 2)[k], m).astype(float)
    observed = (rng.random(m) < 0.7) if k >= 3 else np.ones(m, bool)
    return X, y, groups, observed


def list_pairs(y: np.ndarray, groups: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    later = (y[:, None] > y) | ((y[:, None] == y) & ~observed[:, None])
    return np.nonzero((groups[:, None] == groups) & later & observed)


def pose(k: int, C: float = 1.0, loss: str = "hinge", X=None) -> RankRisk:
    own, y, groups, observed = draw(k)
    return RankRisk(Gram(Linear(), own if X is None else X), np.column_stack([y, groups, observed]), C, loss)


@pytest.mark.parametrize("k", range(5))
def test_counts_are_those_of_the_list_of_pairs(k):
    X, y, groups, observed = draw(k)
    order, above, below = make_order(y, groups, observed), *list_pairs(y, groups, observed)
    h = np.round(X[:, 1], 1)  # with ties
    for reach in (-0.5, 0.0, 1.0, np.inf):
        out = np.array([order.restore(line) for line in order.count_pairs(h[order.rows], reach)])
        near = h[above] - h[below] < reach
        i, j = above[near], below[near]
        expected = [np.bincount(i, minlength=60), np.bincount(j, minlength=60)]
        np.testing.assert_array_equal(out[:2], expected)
        np.testing.assert_allclose(out[2], np.bincount(i, h[j], minlength=60), atol=1e-12)
        np.testing.assert_allclose(out[3], np.bincount(j, h[i], minlength=60), atol=1e-12)


@pytest.mark.parametrize("k", range(5))
def test_decision_values_are_centred_in_each_group(k):
    _, y, groups, observed = draw(k)
    order, h = make_order(y, groups, observed), 1e3 + np.random.default_rng(k).normal(size=60)
    middles = {group: np.median(h[groups == group]) for group in groups}
    expected = np.array([h[i] - middles[groups[i]] for i in range(60)])
    np.testing.assert_allclose(order.restore(order.centre(h)), expected, atol=1e-10)


def test_one_row_far_away_costs_the_others_no_digit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), rng.integers(0, 4, 12).astype(float)
    X[0], y[0] = 1e12, 9.0  # above all others, and so it is ranked
    w = np.array([0.2, 0.3, 0.1])
    h = X.astype(np.longdouble) @ w
    pairs = [(i, j) for i in range(12) for j in range(12) if y[i] > y[j]]
    for loss, power in (("hinge", 1), ("squared_hinge", 2)):
        P = w @ w / 2 + sum(max(1 - (h[i] - h[j]), 0) ** power for i, j in pairs)
        assert RankRisk(Gram(Linear(), X), y, 1.0, loss).objective(w) == pytest.approx(float(P), rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", range(5))
def test_objective_and_planes_are_those_of_the_list_of_pairs(k, loss):
    X, y, groups, observed = draw(k)
    (above, below), problem, rng = list_pairs(y, groups, observed), pose(k, 2.0, loss), np.random.default_rng(9)
    assert problem.n_pairs == len(above)
    points = rng.normal(size=(8, X.shape[1]))

    def risk(w):
        slack = np.maximum(1.0 - (X[above] - X[below]) @ w, 0.0)
        return 2.0 * (slack.sum() if loss == "hinge" else slack @ slack)

    for w in points:
        assert problem.objective(w) == pytest.approx(0.5 * w @ w + risk(w), rel=1e-13)
        beta, offset = problem.plane(X @ w)
        assert offset - beta @ (X @ w) == pytest.approx(risk(w), rel=1e-12)  # it touches there
        for other in points:  # and is nowhere above
            assert offset - beta @ (X @ other) <= risk(other) * (1.0 + 1e-12)
        step = 1e-6 * rng.normal(size=5)
        if loss == "squared_hinge":
            numerical = (risk(w + step) - risk(w - step)) / 2.0
            assert problem.slope(X @ w, X @ step) == pytest.approx(numerical, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", range(5))
def test_optimum_is_that_of_liblinear_on_pair_differences(k, loss):
    X, y, groups, observed = draw(k)
    above, below = list_pairs(y, groups, observed)
    Z = X[above] - X[below]
    label = np.where(np.arange(len(Z)) % 2, 1.0, -1.0)
    other = LinearSVC(loss=loss, C=0.1, fit_intercept=False, tol=1e-9, max_iter=1_000_000, random_state=0)
    w = other.fit(label[:, None] * Z, label).coef_[0]
    slack = np.maximum(1.0 - Z @ w, 0.0)
    best = 0.5 * w @ w + 0.1 * (slack.sum() if loss == "hinge" else slack @ slack)
    for name in SOLVERS:
        certificate = solve(pose(k, 0.1, loss), plugins.build("solver", name), stop=Gap(1e-7)).certificate
        assert certificate.gap <= 1e-7
        assert certificate.primal == pytest.approx(best, rel=1e-6)
        assert certificate.dual <= best * (1.0 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e6])
@pytest.mark.parametrize("k", range(5))
def test_claims_hold_before_a_judge_that_lists_the_pairs(k, C, loss):
    X, y, groups, observed = draw(k)
    targets = Ranks(y, groups, observed)
    fitted = fit(X, targets, task="rank", solver="ocas", kernel=Linear(), C=C, loss=loss)
    verdict = judge_ranking(fitted, X, y, groups, observed, C=C, loss=loss, tol=1e-3)
    assert verdict.false == []
    assert str(fitted.status) == "converged"


def test_judge_sees_a_bound_that_is_too_high():
    from dataclasses import replace

    X, y, groups, _ = draw(1)
    fitted = fit(X, Ranks(y, groups), task="rank", solver="ocas", kernel=Linear(), loss="hinge")
    solution, claim = fitted.solutions[0], fitted.solutions[0].certificate
    fitted.solutions[0] = replace(solution, certificate=replace(claim, dual=claim.primal * 1.01))
    assert judge_ranking(fitted, X, y, groups, C=1.0, loss="hinge").false
    fitted.solutions[0] = replace(solution, certificate=replace(claim, primal=claim.primal * 0.99))
    assert judge_ranking(fitted, X, y, groups, C=1.0, loss="hinge").false


def test_any_mean_of_planes_is_a_lower_bound_and_a_sum_above_one_is_divided():
    problem, rng = pose(1, 1.0, "hinge"), np.random.default_rng(3)
    best = solve(pose(1, 1.0, "hinge"), plugins.build("solver", "bmrm"), stop=Gap(1e-9)).certificate.primal
    for _ in range(20):
        touched = [rng.normal(size=60) for _ in range(3)]
        assert problem.offer(50.0 * rng.random(3), touched) <= best
    # the planes where the risk is touched near 0 have a mean that would be above the optimum with larger weights
    small, touched = pose(1, 1e-4, "hinge"), [1e-9 * rng.normal(size=60)]
    best = solve(pose(1, 1e-4, "hinge"), plugins.build("solver", "bmrm"), stop=Gap(1e-9)).certificate.primal
    assert 0.9 * best < small.offer(np.array([1.5]), touched) <= best


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_rows_with_stored_zeros_and_float32_are_the_same_problem(loss):
    X, *_ = draw(1)
    X[np.abs(X) < 0.5] = 0.0
    stored = sp.csr_array(X)
    stored.data[:3] = 0.0
    X = stored.toarray()
    solver = plugins.build("solver", "ocas")
    dense, sparse = (solve(pose(1, 1.0, loss, part), solver, stop=Gap(1e-8)).certificate for part in (X, stored))
    assert sparse.primal == pytest.approx(dense.primal, rel=1e-7)
    single = solve(pose(1, 1.0, loss, X.astype(np.float32)), solver).certificate
    assert single.gap <= 1e-3


def test_far_from_the_origin_the_gap_includes_the_rounding():
    X = draw(0)[0]
    near = solve(pose(0, 0.1), plugins.build("solver", "ocas"), stop=Gap(1e-6)).certificate
    far = solve(pose(0, 0.1, X=X + 1e6), plugins.build("solver", "ocas"), stop=Gap(1e-3)).certificate
    if far.gap is not None:  # what it claims contains the truth
        assert far.dual <= near.primal * (1.0 + 1e-6)
        assert far.primal >= near.dual * (1.0 - 1e-6) - far.rounding * far.primal


@pytest.mark.parametrize(
    "target, words",
    [
        (np.ones(3), "no pair to rank"),
        (np.array([1.0, np.nan, 2.0]), "finite"),
        (np.ones(4), "each of the 3 rows"),
        (np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 1.0], [2.0, 1.0, 1.0]]), "no pair to rank"),
    ],
)
def test_what_cannot_be_ranked_is_refused(target, words):
    with pytest.raises(InputError, match=words):
        RankRisk(Gram(Linear(), np.eye(3)), target, 1.0)


def test_a_censored_value_is_above_an_observed_one_that_is_as_large():
    target = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert RankRisk(Gram(Linear(), np.eye(4)), target, 1.0).n_pairs == 4


def test_other_losses_and_weights_of_samples_are_refused():
    gram, y = Gram(Linear(), np.eye(3)), np.array([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="hinge, squared_hinge"):
        RankRisk(gram, y, 1.0, "smoothed_hinge")
    with pytest.raises(InputError, match="same C"):
        RankRisk(gram, y, np.array([1.0, 2.0, 1.0]))
    with pytest.raises(InputError, match="RankRisk: auto, bmrm, ocas, svmperf"):
        solve(RankRisk(gram, y, 1.0), plugins.build("solver", "dcd"))


def test_memory_grows_with_the_rows_and_not_with_their_pairs():
    import tracemalloc

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = X[:, 0] + rng.normal(size=20_000)  # 200 million pairs
    tracemalloc.start()
    fitted = fit(X, y, task="rank", kernel=Linear(), C=1e-7)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(fitted.status) == "converged"
    assert peak < 40e6  # 2 kB a row


def test_holes_and_infinite_values_are_refused():
    X, y, groups, _ = draw(1)
    X[3, 2] = np.nan
    with pytest.raises(InputError, match="NaN"):
        fit(X, Ranks(y, groups), task="rank", kernel=Linear())
