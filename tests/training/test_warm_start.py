"""From a model back to a start: which rows its vectors are, what that saves, and what is refused."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import pairwise
from support.cli import people, svmlight
from support.problems import FAMILY, blobs, overlapping
from support.training import prepared, trainer

import svmkit
from svmkit import SVMClassifier, SVMModel
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.subproblems.warm_start import ModelStart

fit = partial(svmkit.fit, solver="swap2o")  # its points sum to 1, and a point nearby saves it most iterations
IRIS = load_iris(return_X_y=True)
EXACT = Gap(1e-6)


def points(model, X, y, **options):
    """Where each pair would start, None for afresh."""
    data = prepared(X, y, **options)
    start, method = ModelStart(model, data), trainer(data, solver="swap2o").method
    pairs = [data.subproblem(k) for k in range(len(data.sizes))]
    return [start.point(pair, pair.pose(method, method.solver, 1.0)) for pair in pairs]


def stored(X, dtype=np.float64):
    """CSR with zeros among the stored values, and rows of other lengths."""
    S = sp.csr_array(np.where(np.abs(X) < 0.4, 0.0, X).astype(dtype))
    full = sp.csr_array(S + sp.csr_array(np.full(S.shape, 1.0, dtype)))
    full.data -= 1.0  # every entry is stored now, most of them as they were
    return full


# --- which rows


@pytest.mark.parametrize("names", [(-1, 1), ("no", "yes")], ids=str)
@pytest.mark.parametrize("scale", [None, "standard", "maxabs"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_point_comes_back(names, scale, dtype):
    X, y = overlapping(names=names)
    trained = fit(X.astype(dtype), y, kernel=RBF(0.5), scale=scale)
    (point,) = points(trained.model, X.astype(dtype), y, scale=scale)
    np.testing.assert_allclose(point, trained.solutions[0].point, atol=1e-15)


@pytest.mark.parametrize("scale", [None, "maxabs"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storage_does_not_matter(dtype, scale):
    X, y = overlapping()
    sparse = stored(X, dtype)
    assert (sparse.data == 0.0).any()
    dense = sparse.toarray()
    dense[dense == 0.0] = -0.0
    wide = sp.csr_array((sparse.data, sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)), sparse.shape)
    want = None
    for first in (sparse, dense, wide):
        model = fit(first, y, kernel=RBF(0.5), scale=scale).model
        for second in (sparse, dense, wide, np.asfortranarray(dense)):
            (point,) = points(model, second, y, scale=scale)
            assert np.count_nonzero(point) == len(model.coef[0])
            want = point if want is None else want
            np.testing.assert_allclose(point, want, atol=1e-6 if dtype == np.float32 else 1e-12)


def test_the_lower_precision_counts():
    X, y = overlapping()
    low = X.astype(np.float32)
    from_low, from_high = (fit(A, y, kernel=RBF(0.5)).model for A in (low, X))
    for model, A in ((from_low, X), (from_high, low), (from_low, low.astype(np.float64))):
        assert np.count_nonzero(points(model, A, y)[0]) == len(model.coef[0])


def test_rows_may_move_join_and_leave():
    X, y = overlapping()
    trained = fit(X, y, kernel=RBF(0.5))
    order = np.random.default_rng(0).permutation(len(y))
    (moved,) = points(trained.model, X[order], y[order])
    np.testing.assert_allclose(moved, trained.solutions[0].point[order], atol=1e-15)
    more, labels = overlapping(50, seed=9)
    (grown,) = points(trained.model, np.vstack([more, X]), np.r_[labels, y])
    np.testing.assert_allclose(grown, np.r_[np.zeros(50), trained.solutions[0].point], atol=1e-15)
    gone = trained.support[::2]
    (fewer,) = points(trained.model, np.delete(X, gone, 0), np.delete(y, gone))
    left = np.delete(trained.solutions[0].point, gone)
    np.testing.assert_allclose(fewer, left / left.sum(), atol=1e-15)


def test_scaling_that_was_fitted_on_other_rows_is_the_models():
    """With more rows the mean changes: scaled rows are compared with the model's own scaling."""
    X, y = overlapping()
    trained = fit(X, y, kernel=RBF(0.5), scale="standard")
    more, labels = overlapping(50, seed=9)
    (grown,) = points(trained.model, np.vstack([X, 5.0 * more]), np.r_[y, labels], scale="standard")
    np.testing.assert_allclose(grown[: len(y)], trained.solutions[0].point, atol=1e-15)


def test_each_of_equal_rows_is_taken_once():
    X, y = overlapping(40)
    X, y = np.repeat(X, 3, 0), np.repeat(y, 3)
    trained = fit(X, y, kernel=RBF(0.5), C=0.05, stop=EXACT)
    (point,) = points(trained.model, X, y)
    assert np.count_nonzero(point) == len(trained.support)
    np.testing.assert_allclose(point.reshape(40, 3).sum(1), trained.solutions[0].point.reshape(40, 3).sum(1))
    (once,) = points(trained.model, X[::3], y[::3])
    assert 0 < np.count_nonzero(once) <= 40 and once.sum() == pytest.approx(1.0)


def test_rows_of_the_other_class_or_of_no_weight_are_not_taken():
    X, y = overlapping()
    trained = fit(X, y, kernel=RBF(0.5))
    turned, light = trained.support[0], trained.support[1]
    labels, weights = y.copy(), np.ones(len(y))
    labels[turned], weights[light] = -labels[turned], 0.0
    (point,) = points(trained.model, X, labels, sample_weight=weights)
    rows = np.flatnonzero(weights)
    want = trained.solutions[0].point.copy()
    want[[turned, light]] = 0.0
    np.testing.assert_allclose(point, want[rows] / want.sum(), atol=1e-15)


@pytest.mark.parametrize("names", [[0, 1, 2], ["a", "b", "c"]], ids=str)
def test_pairs_of_classes(names):
    X, y = IRIS[0], np.array(names)[IRIS[1]]
    trained = fit(X, y, kernel=RBF(0.5))
    for point, solution in zip(points(trained.model, X, y), trained.solutions, strict=True):
        # iris has two equal rows; which of them has the weight does not matter
        np.testing.assert_allclose(np.sort(point), np.sort(solution.point), atol=1e-15)
    without_c = points(trained.model, X + np.where(IRIS[1] == 2, 0.001, 0.0)[:, None], y)
    assert [set(np.sign(p[-50:])) for p in without_c] == [{0.0, 1.0}, {0.0}, {0.0}]
    only_c = replace(
        trained.model,
        vectors=trained.model.vectors[-trained.model.n_support[2] :],
        n_support=trained.model.n_support * [0, 0, 1],
        coef=trained.model.coef[:, -trained.model.n_support[2] :],
    )
    assert points(only_c, X, y)[0] is None  # "a vs b" starts afresh
    assert fit(X, y, kernel=RBF(0.5), start=only_c).status is Status.CONVERGED


def test_a_precomputed_kernel_goes_by_row_number():
    X, y = overlapping()
    trained = fit(pairwise.rbf_kernel(X, gamma=0.5), y, kernel=Precomputed())
    keep = np.r_[0:90]
    for rows in (np.arange(120), keep):
        data = prepared(pairwise.rbf_kernel(X[rows], gamma=0.5), y[rows], kernel=Precomputed())
        pair, method = data.subproblem(0), trainer(data, solver="swap2o").method
        point = ModelStart(trained.model, data).point(pair, pair.pose(method, method.solver, 1.0))
        want = trained.solutions[0].point[rows]
        np.testing.assert_allclose(point, want / want.sum(), atol=1e-15)


# --- what it saves


@pytest.mark.parametrize("name", FAMILY)
def test_fewer_iterations_to_the_same_end(name):
    X, y = overlapping(200)
    common = {"solver": name, "kernel": RBF(0.5), "seed": 3, "stop": Gap(1e-2) | Iterations(60_000)}
    first = fit(X, y, C=0.2, **common)
    cold, warm = (fit(X, y, C=0.25, **common, start=start) for start in (None, first.model))
    assert warm.status is cold.status is Status.CONVERGED and warm.gap <= 1e-2
    assert warm.n_iter < cold.n_iter
    again = fit(X, y, C=0.2, **common, start=first.model)
    assert again.n_iter < first.n_iter / 2


@pytest.mark.slow
def test_three_classes_and_other_kernels():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    first = fit(X, y, kernel=RBF(0.001), C=1.0, stop=EXACT)
    cold, warm = (fit(X, y, kernel=RBF(0.0012), C=1.3, stop=EXACT, start=start) for start in (None, first.model))
    assert warm.gap <= 1e-6 and warm.n_iter < 0.8 * cold.n_iter
    np.testing.assert_allclose(warm.model.decision_function(X), cold.model.decision_function(X), atol=2e-2)
    assert fit(X, y, kernel=Linear(), C=1e-4, start=first.model).status is Status.CONVERGED


def test_the_estimator_goes_on_with_data_that_grew():
    X, y = overlapping(400)
    how = {"gamma": 0.5, "C": 5.0, "scale": "standard", "tol": 1e-6}
    model = SVMClassifier("swap2o", warm_start=True, **how).fit(X[:350], y[:350])
    grown = model.fit(X, y).n_iter_
    cold = SVMClassifier("swap2o", **how).fit(X, y)
    assert grown < 0.8 * cold.n_iter_ and model.gap_ <= 1e-6
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=0.05)
    assert model.fit(X[:200], y[:200]).gap_ <= 1e-3
    with pytest.raises(InputError, match="none of its support vectors"):
        model.fit(X + 1.0, y)
    with pytest.raises(InputError, match="classes are -1, 1, those of the data -1, 1, 7"):
        model.fit(X, np.where(np.arange(len(y)) < 5, 7, y))


# --- refusals


def test_models_that_have_nothing_in_common():
    X, y = overlapping()
    model = fit(X, y, kernel=RBF(0.5)).model
    K = pairwise.rbf_kernel(X)
    for A, labels, kernel, match in (
        (X + 1e-9, y, RBF(0.5), "none of its support vectors is a row"),
        (X, -y, RBF(0.5), "each with another label there: the labels were exchanged"),
        (X, y + 1, RBF(0.5), "its classes are -1, 1, those of the data 0, 2"),
        (X[:, :2], y, RBF(0.5), "3 features, the data 2"),
        (K, y, Precomputed(), "precomputed"),
    ):
        with pytest.raises(InputError, match=match) as caught:
            fit(A, labels, kernel=kernel, start=model)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="has the rbf kernel, and a linear problem starts from weights of the columns"):
        fit(X, y, kernel=Linear(), solver="newton", start=model)


def test_points_that_are_none():
    X, y = overlapping()
    for bad, match in ((np.ones(120), "sum to 1"), (np.r_[2.0, -1.0, np.zeros(118)], ">= 0")):
        with pytest.raises(InputError, match=match):
            fit(X, y, kernel=RBF(0.5), start=[bad])


# --- the command line


def test_resume_from_the_model(alone, train):
    data = svmlight(n=200, spread=1.5), "--solver", "swap2o"
    train(*data, "-C", "0.5", "--out", "m.model")
    cold = train(*data, "-C", "1")
    warm = train(*data, "-C", "1", "--out", "m.model", "--resume")
    assert warm["status"] == "converged" and 0 < warm["n_iter"] < cold["n_iter"]
    assert SVMModel.load("m.model").about["C"] == 1.0
    assert train(*data, "-C", "1", "--out", "m.model", "--resume", "--kernel", "linear")["status"] == "converged"


def test_resume_with_a_table_and_scaling(alone, train):
    args = (people("p.csv"), "--scale", "standard", "--out", "m.model", "--tol", "1e-5")
    first = train(*args)
    assert train(*args, "--resume")["n_iter"] < first["n_iter"] / 2


def test_resume_with_a_checkpoint_is_as_before(alone, train):
    data = svmlight()
    train(data, "--checkpoint", "c.ckpt", "--out", "m.model", "--max-iter", "5", "--tol", "1e-9")
    assert train(data, "--checkpoint", "c.ckpt", "--out", "m.model", "--max-iter", "9", "--resume")["n_iter"] <= 9


def test_resume_refusals(alone, train, refused):
    data = svmlight()
    refused(["--resume", "--checkpoint", "--out"], "train", data, "--no-track", "--resume")
    refused(["m.model", "not there"], "train", data, "--no-track", "--resume", "--out", "m.model")
    Path("bad.model").write_bytes(b"no model")
    refused(["bad.model", "not a svmkit model"], "train", data, "--no-track", "--resume", "--out", "bad.model")
    train("iris", "--out", "m.model")
    refused(["classes are setosa"], "train", data, "--no-track", "--resume", "--out", "m.model")
    train(svmlight("other.svm", seed=5), "--out", "m.model")
    before = Path("m.model").read_bytes()
    refused(["none of its support"], "train", data, "--no-track", "--resume", "--out", "m.model")
    refused(["3 features, the data 5"], "train", data, "--no-track", "--resume", "--out", "m.model",
            "--n-features", "5")  # fmt: skip
    assert Path("m.model").read_bytes() == before


@pytest.mark.parametrize("given", [False, True])
def test_flipped_labels_are_called_so(given):
    """The classes are the same and the rows too: only a word on the labels says what is wrong."""
    X, y = blobs(60, 3)
    kernel, X = (Precomputed(), X @ X.T) if given else (RBF(0.5), X)
    model = fit(X, y, kernel=kernel).model
    n = int(model.n_support.sum())
    with pytest.raises(InputError, match=f"{n} of its {n} support vectors are rows of these data, each with another"):
        fit(X, -y, kernel=kernel, start=model)
