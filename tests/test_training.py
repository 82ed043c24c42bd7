"""fit: labels, weights, pairs of classes, scaling, warm starts, checkpoints; the linear kernel against LIBLINEAR."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import FAST, SOLVERS, SUBLINEAR, blobs, every_fast, every_solver, make, problem_of
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import pairwise
from sklearn.svm import LinearSVC

from svmkit.checkpoint import Checkpoint
from svmkit.errors import InputError, UnknownName
from svmkit.kernels import RBF, FromFunction, Linear, Poly, Precomputed
from svmkit.loop import solve
from svmkit.model import pairs
from svmkit.solver import Status
from svmkit.stopping import Gap, Iterations, Seconds
from svmkit.training import as_kernel, fit

TIGHT = Gap(1e-12) | Iterations(400_000)


def overlapping(m=120, seed=0, names=(-1, 1), share=0.4):
    X, y = blobs(m, 3, seed=seed, share=share)
    return X, np.where(y > 0, names[1], names[0])


# --- the linear kernel is LIBLINEAR's problem


def liblinear(X, y, C, class_weight=None, sample_weight=None):
    model = LinearSVC(
        C=C,
        loss="squared_hinge",
        intercept_scaling=1,
        dual=False,
        tol=1e-12,
        max_iter=1_000_000,
        class_weight=class_weight,
    )
    model.fit(X, y, sample_weight=sample_weight)
    return np.r_[model.coef_[0], model.intercept_]


def hyperplane(model):
    w = model.coef[0] @ (model.vectors.toarray() if sp.issparse(model.vectors) else model.vectors)
    return np.r_[w, model.intercept]


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 10.0])
@every_fast
def test_linear_equals_liblinear(name, C, storage):
    X, y = overlapping()
    trained = fit(storage(X), y, solver=name, kernel=Linear(), C=C, stop=TIGHT)
    np.testing.assert_allclose(hyperplane(trained.model), liblinear(X, y, C), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", sorted(SUBLINEAR & set(SOLVERS)))
def test_linear_equals_liblinear_within_the_gap(name):
    """P is strongly convex: |(w, b) - (w*, b*)|^2 <= 2 (P - D), which is all that gap 1e-3 promises."""
    X, y = overlapping()
    trained = fit(X, y, solver=name, kernel=Linear(), C=1e-2, stop=Gap(1e-3) | Iterations(300_000))
    assert trained.status is Status.CONVERGED
    apart = hyperplane(trained.model) - liblinear(X, y, 1e-2)
    assert apart @ apart <= 2.0 * (trained.objective - trained.dual_objective)
    assert np.abs(apart).max() < 0.02


def test_liblinears_two_algorithms_agree_with_us():
    X, y = overlapping(seed=5)
    dual = LinearSVC(C=0.1, intercept_scaling=1, dual=True, tol=1e-9, max_iter=5_000_000, random_state=0).fit(X, y)
    ours = hyperplane(fit(X, y, kernel=Linear(), C=0.1, stop=TIGHT).model)
    np.testing.assert_allclose(np.r_[dual.coef_[0], dual.intercept_], ours, atol=1e-6)
    np.testing.assert_allclose(liblinear(X, y, 0.1), ours, atol=1e-6)


@pytest.mark.parametrize("class_weight", [None, {-1: 3.0, 1: 0.5}, "balanced"], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_equal_liblinears(weighted, class_weight):
    X, y = overlapping(share=0.2)
    sample_weight = np.random.default_rng(1).uniform(0.1, 3.0, len(y)) if weighted else None
    trained = fit(X, y, kernel=Linear(), C=0.7, stop=TIGHT, class_weight=class_weight, sample_weight=sample_weight)
    want = liblinear(X, y, 0.7, class_weight, sample_weight)
    np.testing.assert_allclose(hyperplane(trained.model), want, rtol=1e-6, atol=1e-6)
    plain = liblinear(X, y, 0.7)
    assert weighted or class_weight or np.allclose(want, plain)
    assert not (weighted or class_weight) or np.abs(want - plain).max() > 1e-2


# --- labels and classes


@pytest.mark.parametrize(
    "names", [(-1, 1), (0, 1), (1, 2), (-1.0, 1.0), (False, True), ("no", "yes"), ("10", "9"), (7, 300)], ids=str
)
def test_labels_of_every_kind(names):
    X, y = overlapping()
    low, high = sorted(names)
    labels = np.where(y > 0, high, low)
    trained = fit(X, labels, kernel=RBF(0.5), C=5.0)
    base = fit(X, y, kernel=RBF(0.5), C=5.0)
    assert trained.model.classes.tolist() == [low, high]
    np.testing.assert_array_equal(trained.model.decision_function(X), base.model.decision_function(X))
    predicted = trained.model.predict(X)
    assert predicted.dtype.kind == labels.dtype.kind
    np.testing.assert_array_equal(predicted == high, base.model.decision_function(X) > 0)
    assert (predicted == labels).mean() > 0.8


@pytest.mark.parametrize("name", ["swap2o", "mfw"])
@pytest.mark.parametrize("data", ["iris", "digits"])
def test_one_versus_one_is_a_binary_model_for_each_pair(data, name):
    X, y = {"iris": load_iris, "digits": load_digits}[data](return_X_y=True)
    if data == "digits":
        X, y = X[:400], y[:400]
    names = np.array([f"class {c}" for c in range(10)])
    kernel = RBF("scale").resolve(X)
    trained = fit(X, names[y], solver=name, kernel=kernel, C=3.0)
    decision = trained.model.decision_function(X)
    k = len(np.unique(y))
    assert decision.shape == (len(X), k * (k - 1) // 2) and len(trained.solutions) == decision.shape[1]
    votes = np.zeros((len(X), k))
    for column, (a, b) in enumerate(pairs(k)):
        rows = np.flatnonzero((y == a) | (y == b))
        problem = problem_of(X[rows], np.where(y[rows] == a, 1.0, -1.0), 3.0, kernel)
        solution = solve(problem, make(name))
        coef, intercept = problem.expansion(solution.point, solution.certificate)
        want = pairwise.rbf_kernel(X, X[rows], gamma=kernel.gamma) @ coef + intercept
        np.testing.assert_allclose(decision[:, column], want, atol=1e-9)
        assert trained.model.intercept[column] == pytest.approx(intercept, abs=1e-12)
        votes[np.arange(len(X)), np.where(want > 0, a, b)] += 1
    predicted = trained.model.predict(X)
    clear = votes.max(axis=1) > np.partition(votes, -2, axis=1)[:, -2]
    np.testing.assert_array_equal(predicted[clear], names[votes.argmax(axis=1)][clear])
    assert (predicted == names[y]).mean() > 0.95
    assert trained.model.n_support.sum() == len(trained.support) == trained.model.vectors.shape[0]
    np.testing.assert_array_equal(X[trained.support], trained.model.vectors)
    assert trained.model.n_support.tolist() == np.bincount(y[trained.support], minlength=k).tolist()


def test_support_vectors_are_those_with_a_weight():
    X, y = overlapping()
    trained = fit(X, y, kernel=RBF(0.5), C=1.0)
    solution = trained.solutions[0]
    assert sorted(trained.support) == np.flatnonzero(solution.point).tolist()
    assert (np.diff(y[trained.support]) >= 0).all()  # sorted by class
    assert (np.sign(trained.model.coef[0]) == y[trained.support]).all()


@pytest.mark.data
def test_letters(real_set):
    """26 classes labelled 1 to 26: 325 pairs."""
    data = real_set("letter.scale")
    X, y = data.X[:2000], data.y[:2000]
    trained = fit(X, y, kernel=RBF(1.0), C=8.0, stop=Gap(1e-2))
    assert trained.model.classes.tolist() == list(range(1, 27))
    assert len(trained.solutions) == 325 and trained.gap <= 1e-2
    assert trained.model.decision_function(X[:5]).shape == (5, 325)
    assert (trained.model.predict(X) == y).mean() > 0.95
    assert (trained.model.predict(data.X[2000:4000]) == data.y[2000:4000]).mean() > 0.8


# --- weights


@pytest.mark.parametrize("class_weight", [None, {1: 3.0}, "balanced"], ids=str)
@pytest.mark.parametrize("name", FAST)
def test_a_weight_of_zero_is_a_removal(name, class_weight):
    X, y = overlapping(150)
    keep = np.random.default_rng(2).random(150) < np.where(y > 0, 0.9, 0.4)
    weights = np.where(keep, 1.3, 0.0)
    common = {"solver": name, "kernel": RBF(0.5), "C": 2.0, "class_weight": class_weight}
    zeroed = fit(X, y, **common, sample_weight=weights)
    removed = fit(X[keep], y[keep], **common, sample_weight=weights[keep])
    a, b = zeroed.model.decision_function(X), removed.model.decision_function(X)
    np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-10 if class_weight == "balanced" else 0.0)
    assert keep[zeroed.support].all()


def test_an_integer_weight_is_a_repetition():
    X, y = overlapping(60)
    weights = np.random.default_rng(3).integers(1, 4, 60)
    stop = Gap(1e-10) | Iterations(400_000)
    weighted = fit(X, y, kernel=RBF(0.5), C=0.3, sample_weight=weights, stop=stop)
    repeated = fit(np.repeat(X, weights, 0), np.repeat(y, weights), kernel=RBF(0.5), C=0.3, stop=stop)
    np.testing.assert_allclose(weighted.model.decision_function(X), repeated.model.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("labels", [(0, 1, 2), (-1.0, 0.0, 5.0), ("a", "b", "c")], ids=str)
def test_class_weights_are_sample_weights(labels):
    X, codes = load_iris(return_X_y=True)
    y = np.array(labels)[codes]
    per_class = {labels[0]: 2.0, labels[2]: 0.25}
    by_class = fit(X, y, kernel=RBF(0.5), C=1.0, class_weight=per_class)
    by_sample = fit(X, y, kernel=RBF(0.5), C=1.0, sample_weight=np.array([2.0, 1.0, 0.25])[codes])
    np.testing.assert_array_equal(by_class.model.decision_function(X), by_sample.model.decision_function(X))
    plain = fit(X, y, kernel=RBF(0.5), C=1.0)
    assert np.abs(plain.model.decision_function(X) - by_class.model.decision_function(X)).max() > 1e-2


def test_class_weights_of_float_labels_may_be_spelt_as_whole_numbers():
    """Labels of svmlight files are floats; scikit-learn takes {1: 2, -1: 1} for them."""
    X, y = overlapping()
    a = fit(X, y.astype(np.float64), kernel=RBF(0.5), class_weight={1: 2.0, -1: 0.5})
    b = fit(X, y, kernel=RBF(0.5), class_weight={1: 2.0, -1: 0.5})
    np.testing.assert_array_equal(a.model.coef, b.model.coef)


def test_balanced_weighs_by_the_inverse_frequency():
    X, y = overlapping(share=0.1)
    counts = {-1: (y < 0).sum(), 1: (y > 0).sum()}
    balanced = fit(X, y, kernel=RBF(0.5), class_weight="balanced")
    by_hand = fit(X, y, kernel=RBF(0.5), class_weight={c: len(y) / (2 * n) for c, n in counts.items()})
    np.testing.assert_array_equal(balanced.model.decision_function(X), by_hand.model.decision_function(X))


# --- scaling, kernels, budgets


@pytest.mark.parametrize("kind", ["standard", "minmax", "maxabs"])
def test_scaling_is_kept_with_the_model(kind):
    X, y = overlapping()
    X = X * [1.0, 100.0, 0.01] + [0, 5, 0]
    trained = fit(X, y, kernel=RBF("scale"), scale=kind)
    assert trained.model.scaling.kind == kind
    scaled = trained.model.scaling.apply(X)
    plain = fit(scaled, y, kernel=RBF("scale"))
    assert plain.model.kernel == trained.model.kernel
    np.testing.assert_array_equal(trained.model.decision_function(X), plain.model.decision_function(scaled))
    assert fit(X, y, kernel=RBF("scale"), scale="none").model.scaling is None


@pytest.mark.parametrize("name", SOLVERS)
def test_a_precomputed_kernel_is_the_kernel(name):
    X, y = load_iris(return_X_y=True)
    K = pairwise.rbf_kernel(X, gamma=0.5)
    stop = Gap(1e-2)
    direct = fit(X, y, solver=name, kernel=RBF(0.5), C=0.3, stop=stop)
    for given in (K, sp.csr_array(K)):
        precomputed = fit(given, y, solver=name, kernel=Precomputed(), C=0.3, stop=stop)
        np.testing.assert_array_equal(precomputed.model.predict(given), direct.model.predict(X))
        np.testing.assert_allclose(
            precomputed.model.decision_function(K[:20]), direct.model.decision_function(X[:20]), atol=1e-2
        )
    function = fit(X, y, solver=name, kernel=FromFunction(lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.5)), C=0.3)
    assert function.gap <= 1e-3


def test_kernels_by_name_take_what_they_have():
    params = {"gamma": 0.5, "degree": 2, "coef0": 1.0}
    assert as_kernel("poly", params) == Poly(0.5, 2, 1.0)
    assert as_kernel("rbf", params) == RBF(0.5)
    assert as_kernel("linear", params) == Linear()
    assert as_kernel(RBF(3.0), params) == RBF(3.0)
    assert isinstance(as_kernel(pairwise.rbf_kernel), FromFunction)
    with pytest.raises(UnknownName):
        as_kernel("rbff")


@every_solver
def test_storage_and_precision_change_little(name):
    X, y = overlapping()
    base = fit(X, y, solver=name, kernel=RBF(0.5), C=0.3)
    for other in (sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X), X.astype(np.float32), X.tolist()):
        trained = fit(other, y, solver=name, kernel=RBF(0.5), C=0.3)
        assert trained.gap <= 1e-3
        np.testing.assert_allclose(trained.model.decision_function(X), base.model.decision_function(X), atol=0.1)


def test_the_callers_arrays_are_not_written_to():
    X, y = overlapping()
    weights = np.ones(len(y))
    S = sp.csr_array(X)
    for part in (X, y, weights, S.data, S.indices, S.indptr):
        part.flags.writeable = False
    for data in (X, S):
        for scale in (None, "maxabs"):
            assert fit(data, y, kernel=RBF(0.5), sample_weight=weights, scale=scale).status is Status.CONVERGED


def test_figures_are_sums_and_worst_cases():
    X, y = load_iris(return_X_y=True)
    trained = fit(X, y, kernel=RBF(0.5))
    certificates = [s.certificate for s in trained.solutions]
    assert trained.gap == max(c.gap for c in certificates)
    assert trained.objective == pytest.approx(sum(c.primal for c in certificates))
    assert trained.dual_objective == pytest.approx(sum(c.dual for c in certificates))
    assert trained.n_iter == sum(s.n_iter for s in trained.solutions)
    assert trained.kernel_values > 0
    assert trained.status is Status.CONVERGED
    assert fit(X, y, kernel=RBF(0.5), stop=Gap(1e-9) | Iterations(3)).status is Status.MAX_ITER


def test_seconds_are_shared_by_the_pairs():
    """No pair may be left without a model, and each gets its part."""
    X, y = load_digits(return_X_y=True)
    trained = fit(X[:300], y[:300], solver="fw", kernel=RBF("scale"), C=1e4, stop=Gap(1e-9) | Seconds(1.0))
    assert trained.status is Status.TIME_LIMIT
    assert all(s.n_iter >= 1 and np.isfinite(s.certificate.primal) for s in trained.solutions)
    assert sum(s.status is Status.TIME_LIMIT for s in trained.solutions) > 40


def test_watch_sees_each_problem():
    X, y = load_iris(return_X_y=True)
    seen, points = [], []

    def watch(k, n, name):
        seen.append((k, n, name))
        return [points.append]

    trained = fit(X, y, kernel=RBF(0.5), watch=watch)
    assert seen == [(0, 3, "0 vs 1"), (1, 3, "0 vs 2"), (2, 3, "1 vs 2")]
    assert points == [point for s in trained.solutions for point in s.history]


def test_an_interrupt_ends_all_pairs_with_models():
    import os
    import signal

    X, y = load_iris(return_X_y=True)

    def watch(k, n, name):
        return [lambda point: os.kill(os.getpid(), signal.SIGINT) if (k, point.n_iter) == (1, 2) else None]

    trained = fit(X, y, kernel=RBF(0.5), watch=watch)
    assert trained.solutions[0].status is Status.CONVERGED
    assert trained.status is Status.INTERRUPTED
    assert trained.solutions[2].status is Status.INTERRUPTED
    assert np.isfinite(trained.model.decision_function(X)).all()


# --- going on


def test_a_warm_start_by_points():
    X, y = load_iris(return_X_y=True)
    cold = fit(X, y, kernel=RBF(0.5), C=1.0)
    warm = fit(X, y, kernel=RBF(0.5), C=1.1, start=[s.point for s in cold.solutions])
    again = fit(X, y, kernel=RBF(0.5), C=1.1)
    assert warm.gap <= 1e-3 and warm.n_iter < again.n_iter
    with pytest.raises(InputError, match="belongs to other data"):
        fit(X[:-1], y[:-1], kernel=RBF(0.5), start=[s.point for s in cold.solutions])
    with pytest.raises(InputError, match="belongs to other data"):
        fit(X, y, kernel=RBF(0.5), start=[cold.solutions[0].point])


@every_solver
def test_a_checkpointed_run_goes_on(name, tmp_path):
    X, y = load_iris(return_X_y=True)
    file = tmp_path / "iris.ckpt"
    common = {"solver": name, "kernel": RBF(0.5), "C": 0.3, "sampler": "uniform:20"}
    first = fit(X, y, **common, stop=Gap(1e-9) | Iterations(25), checkpoint=Checkpoint(file))
    more = fit(X, y, **common, stop=Gap(1e-9) | Iterations(60), checkpoint=Checkpoint(file, resume=True))
    assert first.n_iter == 75 and more.n_iter == 180
    assert [s.history[0].n_iter for s in more.solutions] == [26, 26, 26]
    assert more.dual_objective >= first.dual_objective
    assert not list(tmp_path.glob(".*.part"))
    with pytest.raises(InputError, match="other data"):
        fit(X + 1, y, **common, checkpoint=Checkpoint(file, resume=True))
    with pytest.raises(InputError, match="other data"):
        fit(X, y, **(common | {"C": 0.4}), checkpoint=Checkpoint(file, resume=True))
    fresh = fit(X, y, **common, stop=Iterations(5), checkpoint=Checkpoint(file))
    assert fresh.solutions[0].history[0].n_iter == 1


# --- refusals


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"C": 0}, "C must be"),
        ({"C": -1.0}, "C must be"),
        ({"C": float("nan")}, "C must be"),
        ({"C": float("inf")}, "C must be"),
        ({"C": "1"}, "C must be"),
        ({"C": None}, "C must be"),
        ({"memory": "lots"}, "is not a size"),
        ({"solver": "swop"}, "did you mean swap"),
        ({"sampler": "unifrm:5"}, "did you mean uniform"),
        ({"sampler": "uniform:0"}, "sample size"),
        ({"sampler": "uniform:x"}, "whole number"),
        ({"sampler": "full:5"}, "takes no size"),
        ({"scale": "std"}, "std"),
        ({"class_weight": "even"}, "class_weight"),
        ({"class_weight": {7: 1.0}}, "class_weight"),
        ({"class_weight": {1: 0.0}}, "class_weight"),
        ({"class_weight": {1: -1.0}}, "class_weight"),
        ({"class_weight": {1: float("nan")}}, "class_weight"),
        ({"class_weight": {1: float("inf")}}, "class_weight|finite"),
        ({"class_weight": {1: "heavy"}}, "class_weight"),
        ({"sample_weight": np.ones(3)}, "sample_weight"),
        ({"sample_weight": -np.ones(120)}, "sample_weight"),
        ({"sample_weight": np.full(120, np.nan)}, "sample_weight"),
        ({"sample_weight": np.zeros(120)}, "zero for all of a class"),
        ({"n_threads": 0}, "threads"),
        ({"kernel": Precomputed()}, "square"),
    ],
    ids=lambda v: str(v)[:40] if isinstance(v, dict) else "",
)
def test_bad_options_are_refused(change, match):
    X, y = overlapping()
    with pytest.raises(InputError, match=match) as caught:
        fit(X, y, **({"kernel": RBF(0.5)} | change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.ones((4, 2)), [1, 1, 1, 1], "one class"),
        (np.ones((4, 2)), [1, 0, 1], "3 labels"),
        (np.full((4, 2), np.nan), [0, 1, 0, 1], "NaN at row 1"),
        (np.array([[0, np.inf]] * 4), [0, 1, 0, 1], "infinity"),
        (np.ones(4), [0, 1, 0, 1], "2D"),
        (np.ones((0, 2)), [], "0 sample"),
        (np.ones((4, 0)), [0, 1, 0, 1], "0 feature"),
        (np.ones((4, 2)), [0.5, 1.5, 0.5, 1.5], "continuous"),
        (np.ones((4, 2), dtype=complex), [0, 1, 0, 1], "[Cc]omplex"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bad_data_are_refused(X, y, match):
    with pytest.raises(InputError, match=match):
        fit(X, y, kernel=RBF(0.5))


def test_data_without_information_still_give_a_model():
    """All rows equal: the prior decides."""
    X, y = np.ones((30, 3)), np.repeat([0, 1], [20, 10])
    trained = fit(X, y, kernel=RBF("scale"))
    assert trained.status is Status.CONVERGED
    assert (trained.model.predict(X) == 0).all()
    two = fit(np.array([[0.0], [1.0]]), [0, 1], kernel=RBF("scale"))
    assert two.model.predict([[0.0], [1.0]]).tolist() == [0, 1]
