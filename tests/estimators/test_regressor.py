"""SVMRegressor as a scikit-learn estimator."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVR
from support.checks import parametrize_with_checks_and_tight

from svmkit import SVMModel, SVMRegressor, plugins
from svmkit.errors import InputError
from svmkit.solver.solution import Status

DIABETES = load_diabetes(return_X_y=True)


@parametrize_with_checks_and_tight(
    [SVMRegressor(solver) for solver in ("auto", "dcd", "libsvm")],
    [SVMRegressor(solver, gamma=0.1, tol=1e-10) for solver in ("auto", "dcd", "libsvm")],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def data(m=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=m)


def bounds(model, X, t, C, epsilon, gamma, w):
    """Return the primal and the dual value of an SVR with epsilon-insensitive loss, by scikit-learn's kernel."""
    K, d = pairwise.rbf_kernel(X, gamma=gamma), np.zeros(len(t))
    d[model.support_] = model.dual_coef_[0]
    excess = np.maximum(np.abs(t - K @ d - model.intercept_[0]) - epsilon, 0.0)
    norm = d @ K @ d
    return 0.5 * norm + C * (w * excess).sum(), t @ d - epsilon * np.abs(d).sum() - 0.5 * norm


@pytest.mark.parametrize("solver", ["auto", "smo", "fcsmo"])
@pytest.mark.parametrize(("C", "epsilon"), [(1.0, 0.1), (30.0, 0.01), (1e-3, 0.3)])
def test_it_finds_the_optimum_of_svr(solver, C, epsilon):
    X, t = data()
    w = np.random.default_rng(1).uniform(0.2, 2.0, len(t))
    ours = SVMRegressor(solver, C=C, epsilon=epsilon, gamma=0.5, tol=1e-7).fit(X, t, sample_weight=w)
    theirs = SVR(C=C, epsilon=epsilon, gamma=0.5, tol=1e-10).fit(X, t, sample_weight=w)
    primal, _ = bounds(ours, X, t, C, epsilon, 0.5, w)
    _, dual = bounds(theirs, X, t, C, epsilon, 0.5, w)  # LIBSVM's primal values have the errors of float32 rows
    assert primal == pytest.approx(dual, rel=1e-6)
    assert primal == pytest.approx(ours.certificate_[0].primal, rel=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4 * np.ptp(t))
    assert ours.status_ is Status.CONVERGED and ours.bound_ <= primal


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_it_finds_the_optimum_of_linear_svr(loss):
    X, t = data()
    ours = SVMRegressor("dcd", loss=loss, tol=1e-9, C=0.5).fit(X, t)
    theirs = LinearSVR(loss=loss, epsilon=0.1, C=0.5, tol=1e-10, max_iter=10**6, dual=True).fit(X, t)
    np.testing.assert_allclose(ours.coef_[0], theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


def test_defaults_follow_the_conventions():
    X, t = data()
    model = SVMRegressor().fit(X, t)
    assert is_regressor(model) and model.n_features_in_ == 3 and model.gap_ <= 1e-3
    assert model.support_vectors_.shape == (len(model.support_), 3) and model.n_support_.shape == (1,)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    gamma = model.model_.kernel.gamma
    by_hand = pairwise.rbf_kernel(X, X[model.support_], gamma=gamma) @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.predict(X), by_hand, atol=1e-9)
    assert model.score(X, t) == pytest.approx(r2_score(t, model.predict(X))) and model.score(X, t) > 0.9
    assert not hasattr(model, "classes_") and not hasattr(model, "decision_function")


def test_the_saved_model_predicts_the_same(tmp_path):
    X, t = data()
    model = SVMRegressor(scale="standard").fit(X, t)
    model.model_.save(tmp_path / "m.svmkit")
    back = SVMModel.load(tmp_path / "m.svmkit")
    assert back.task == "regress" and back.about["epsilon"] == 0.1
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)], ids=["f8", "csr", "f4"])
def test_storages_agree(storage):
    X, t = data()
    want = SVMRegressor(tol=1e-6).fit(X, t).predict(X)
    np.testing.assert_allclose(SVMRegressor(tol=1e-6).fit(storage(X), t).predict(storage(X)), want, atol=2e-3)


@pytest.mark.slow
def test_kernels_may_be_callable_or_precomputed():
    X, t = data()
    want = SVMRegressor(gamma=0.5, tol=1e-8).fit(X, t).predict(X)
    K = pairwise.rbf_kernel(X, gamma=0.5)
    np.testing.assert_allclose(SVMRegressor(kernel="precomputed", tol=1e-8).fit(K, t).predict(K), want, atol=1e-5)
    ours = SVMRegressor(kernel=lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.5), tol=1e-8)
    np.testing.assert_allclose(ours.fit(X, t).predict(X), want, atol=1e-5)


def test_it_works_in_searches_pipelines_and_for_several_targets():
    X, t = DIABETES
    search = GridSearchCV(make_pipeline(StandardScaler(), SVMRegressor()), {"svmregressor__C": [1.0, 100.0]}, cv=3)
    search.fit(X, t)
    assert search.best_params_ == {"svmregressor__C": 100.0} and search.best_score_ > 0.3
    both = MultiOutputRegressor(SVMRegressor(C=10.0)).fit(X, np.column_stack([t, -t]))
    predicted = both.predict(X)
    np.testing.assert_allclose(predicted[:, 0], -predicted[:, 1], atol=0.5)


def test_a_warm_start_saves_iterations():
    X, t = data(400)
    model = SVMRegressor("smo", warm_start=True, tol=1e-4).fit(X, t)
    first = model.n_iter_
    assert model.fit(X, t).n_iter_ < first / 5
    assert model.set_params(C=1.1).fit(X, t).status_ is Status.CONVERGED


@pytest.mark.parametrize("solver", ["sgd", "folos", "pegasos"])
def test_streams(solver):
    X, t = data(4000)
    model = SVMRegressor(solver, kernel="linear", C=0.01)
    for block in np.array_split(np.arange(4000), 8):
        model.partial_fit(X[block], t[block])
    want = SVMRegressor("dcd", C=0.01).fit(X, t).score(X, t)
    assert model.gap_ is None and model.score(X, t) > want - 0.05
    twin = pickle.loads(pickle.dumps(model)).partial_fit(X[:500], t[:500])
    assert twin.score(X, t) > want - 0.1


def test_only_streaming_solvers_have_partial_fit():
    assert not hasattr(SVMRegressor(), "partial_fit") and not hasattr(SVMRegressor("sfw"), "partial_fit")
    with pytest.raises(AttributeError, match=r"streams of quantities; these do: .*sgd"):
        SVMRegressor("sfw").partial_fit  # noqa: B018


@pytest.mark.parametrize(
    ("options", "t", "message"),
    [
        ({}, np.r_[np.nan, np.arange(9)], r"NaN \(a missing target\) at row 1"),
        ({}, np.r_[0.0, np.inf, np.arange(8)], "infinity.* at row 2"),
        ({}, np.full(10, 3.5), "y is 3.5 in all 10 samples: there is nothing to learn"),
        ({}, np.array(list("abcdefghij")), "needs numbers as targets, y holds 'a'"),
        ({}, np.arange(9), "9 targets, but X has 10"),
        ({}, None, "requires y to be passed"),
        ({}, np.ones((10, 2)), "target 0 of y is 1 in all 10 samples"),
        ({"epsilon": -0.1}, np.arange(10), "epsilon must be a finite number >= 0, not -0.1"),
        ({"epsilon": np.nan}, np.arange(10), "epsilon"),
        ({"C": 0.0}, np.arange(10), "C must be"),
        ({"solver": "swap2o"}, np.arange(10), "solver swap2o cannot regress; with the rbf kernel: .*smo"),
        ({"solver": "smol2", "loss": "epsilon_insensitive"}, np.arange(10), "smol2 does not take loss"),
        ({"solver": plugins.build("solver", "smo"), "loss": "squared_hinge"}, np.arange(10), "given by its name"),
        ({"loss": "absolute"}, np.arange(10), "absolute"),
    ],
)
def test_bad_input_is_one_line(options, t, message):
    X = np.arange(20.0).reshape(10, 2)
    with pytest.raises(InputError, match=message) as found:
        SVMRegressor(**options).fit(X, t)
    assert "\n" not in str(found.value)


def test_options_go_by_name():
    with pytest.raises(TypeError, match=r"SVMRegressor\(C=3\)"):
        SVMRegressor("smo", 3)
    with pytest.raises(NotFittedError):
        SVMRegressor().predict(DIABETES[0])
    model = SVMRegressor("smo", C=3.0, epsilon=0.2)
    assert clone(model).get_params() == model.get_params()
