"""SVMClassifier as a scikit-learn estimator."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.checks import parametrize_with_checks_and_tight
from support.problems import SUBLINEAR, blobs, every_solver

from svmkit import SVMClassifier, SVMModel
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Kernel
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Absolute, Gap, Iterations

IRIS = load_iris(return_X_y=True)


@parametrize_with_checks_and_tight(
    [SVMClassifier(solver) for solver in ("swap2o", "dcd", "libsvm")],
    [SVMClassifier(solver, gamma=0.1, tol=1e-14) for solver in ("swap2o", "dcd", "libsvm")],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def data(m=100, seed=0):
    X, y = blobs(m, 3, seed=seed)
    return X, np.where(y > 0, "yes", "no")


def test_defaults_follow_the_conventions():
    X, y = data()
    model = SVMClassifier().fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.n_features_in_ == 3 and model.status_ is Status.CONVERGED and model.gap_ <= 1e-3
    decision = model.decision_function(X)
    assert decision.shape == (100,) and decision.dtype == np.float64
    np.testing.assert_array_equal(model.predict(X), np.where(decision > 0, "yes", "no"))
    assert model.support_vectors_.shape == (len(model.support_), 3)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.dual_coef_.shape == (1, len(model.support_)) and model.intercept_.shape == (1,)
    gamma = model.model_.kernel.gamma
    by_hand = pairwise.rbf_kernel(X, X[model.support_], gamma=gamma) @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(decision, by_hand, atol=1e-10)
    assert model.score(X, y) > 0.8
    assert model.n_iter_ == model.history_[0][-1].n_iter
    assert len(model.certificate_) == len(model.history_) == 1


@pytest.mark.parametrize("options", [{}, {"kernel": "linear"}, {"solver": "swap2o"}], ids=["smo", "newton", "swap2o"])
def test_histories_are_there_whenever_they_are_read(options):
    model = SVMClassifier(**options).fit(*IRIS)
    late = pickle.loads(pickle.dumps(model))
    assert late.history_ == model.history_ and not hasattr(SVMClassifier(), "history_")
    assert [history[-1].n_iter for history in model.history_] == model.n_iter_by_problem_.tolist()
    before = model.history_
    assert model.fit(IRIS[0][:100], IRIS[1][:100]).history_ != before and len(model.history_) == 1


@pytest.mark.parametrize(("shape", "columns"), [("ovr", 4), ("ovo", 6)])
def test_decision_shapes(shape, columns):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 25)
    X = rng.normal(size=(100, 2)) + np.array([[0, 0], [3, 0], [0, 3], [3, 3]])[y]
    model = SVMClassifier(decision_function_shape=shape).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == (100, columns)
    if shape == "ovr":
        np.testing.assert_array_equal(model.classes_[decision.argmax(axis=1)], model.predict(X))
    else:
        np.testing.assert_array_equal(decision, model.model_.decision_function(X))
    assert model.dual_coef_.shape == (3, len(model.support_)) and model.intercept_.shape == (6,)
    with pytest.raises(InputError, match="decision_function_shape"):
        SVMClassifier(decision_function_shape="ova").fit(X, y).predict(X)


@every_solver
def test_every_solver_by_name(name):
    X, y = data()
    model = SVMClassifier(name, C=0.5, tol=1e-2 if name in SUBLINEAR else 1e-4).fit(X, y)
    assert model.status_ is Status.CONVERGED
    reference = SVMClassifier("swap2o", C=0.5, tol=1e-8).fit(X, y)
    close = 0.1 if name in SUBLINEAR else 0.01
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=close)


def test_clone_params_and_repr():
    model = SVMClassifier("mfw", C=3.0, kernel="poly", degree=2, sampler="uniform:59", class_weight={"no": 2.0})
    params = model.get_params()
    assert params["solver"] == "mfw" and params["C"] == 3.0 and params["sampler"] == "uniform:59"
    twin = clone(model)
    assert twin is not model and twin.get_params() == params
    assert twin.set_params(C=5.0).C == 5.0 and model.C == 3.0
    assert "C=3.0" in repr(model)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(D=1)
    assert SVMClassifier().fit(*data()).get_params() == SVMClassifier().get_params()


@pytest.mark.parametrize("X", [data()[0], sp.csr_array(data()[0])], ids=["dense", "csr"])
def test_pickle_and_copy(X):
    model = SVMClassifier(scale="maxabs").fit(X, data()[1])
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))
    assert back.get_params() == model.get_params() and back.status_ is Status.CONVERGED


def test_the_model_saves(tmp_path):
    X, y = IRIS
    model = SVMClassifier().fit(X, y)
    model.model_.save(tmp_path / "m")
    np.testing.assert_array_equal(SVMModel.load(tmp_path / "m").predict(X), model.predict(X))


def test_grid_search_and_pipelines():
    X, y = IRIS
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SVMClassifier(tol=1e-2)),
        {"svmclassifier__C": [0.1, 10.0], "svmclassifier__gamma": ["scale", 0.5]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.9
    assert search.best_params_["svmclassifier__C"] in (0.1, 10.0)
    inside = make_pipeline(SVMClassifier(scale="standard")).fit(X, y)
    outside = make_pipeline(StandardScaler(), SVMClassifier()).fit(X, y)
    np.testing.assert_allclose(inside.decision_function(X), outside.decision_function(X), atol=1e-6)


@pytest.mark.slow
def test_cross_validation_in_parallel():
    X, y = IRIS
    one, two = (cross_val_score(SVMClassifier(), X, y, cv=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert one.mean() > 0.9


def test_precomputed_kernels_are_split_both_ways():
    X, y = IRIS
    K = pairwise.rbf_kernel(X, gamma=0.3)
    scores = cross_val_score(SVMClassifier(kernel="precomputed", tol=1e-6), K, y, cv=3)
    np.testing.assert_array_equal(scores, cross_val_score(SVMClassifier(gamma=0.3, tol=1e-6), X, y, cv=3))


def test_one_versus_rest_over_the_binary_one():
    X, y = IRIS
    assert OneVsRestClassifier(SVMClassifier()).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("kernel", ["rbf", RBF(0.5), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.5)])
def test_kernels_by_name_instance_and_function(kernel):
    X, y = data()
    model = SVMClassifier(kernel=kernel, gamma=0.5, tol=1e-6).fit(X, y)
    want = SVMClassifier(gamma=0.5, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), want.decision_function(X), atol=1e-3)
    assert isinstance(model.model_.kernel, Kernel)


def test_random_states():
    X, y = data(300)

    def fitted(state):
        return SVMClassifier("swap2o", sampler="uniform:5", max_iter=60, random_state=state).fit(X, y).dual_coef_

    np.testing.assert_array_equal(fitted(3), fitted(3))
    np.testing.assert_array_equal(fitted(np.random.RandomState(7)), fitted(np.random.RandomState(7)))
    assert fitted(3).shape != fitted(4).shape or not np.array_equal(fitted(3), fitted(4))
    np.testing.assert_array_equal(fitted(np.int64(3)), fitted(3))
    fitted(None)


@pytest.mark.slow
def test_it_warns_when_it_did_not_converge():
    X, y = data()
    never = Gap(1e-12) | Iterations(3)
    with pytest.warns(ConvergenceWarning, match="fw ended as max_iter at gap"):
        SVMClassifier("fw", stop=never).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SVMClassifier(max_iter=3).fit(X, y).status_ is Status.MAX_ITER  # asked for
        assert SVMClassifier(max_epochs=3, tol=1e-9).fit(X, y).status_ is Status.MAX_ITER
        assert SVMClassifier(max_support=5, tol=1e-9).fit(X, y).status_ is Status.MAX_SUPPORT
        SVMClassifier().fit(X, y)


def test_stop_takes_text_rules_and_budgets():
    X, y = data()
    text = SVMClassifier("mfw", stop="abs:1e-3").fit(X, y)
    rule = SVMClassifier("mfw", stop=Absolute(1e-3)).fit(X, y)
    assert text.n_iter_ == rule.n_iter_ > 1
    assert SVMClassifier(stop=Absolute(1e-12), max_iter=7).fit(X, y).n_iter_ == 7
    assert SVMClassifier("fw", stop=Gap(1e-3) | Iterations(9), max_iter=7).fit(X, y).n_iter_ == 7
    for bad in ({"stop": "abs"}, {"tol": 0}, {"tol": -1e-3}, {"max_iter": 0}, {"time_limit": -1}, {"max_support": 0}):
        with pytest.raises(InputError):
            SVMClassifier(**bad).fit(X, y)


def test_warm_start():
    X, y = IRIS
    model = SVMClassifier("swap2o", warm_start=True, C=1.0, tol=1e-6).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ <= 6 < first  # a step for each pair says that it is done
    warm = model.set_params(C=1.2).fit(X, y).n_iter_
    assert warm < SVMClassifier("swap2o", C=1.2, tol=1e-6).fit(X, y).n_iter_
    assert model.fit(X[:140], y[:140]).n_iter_ < warm  # other rows: from the vectors that are among them
    cold = SVMClassifier("swap2o", tol=1e-6).fit(X, y)
    assert cold.fit(X, y).n_iter_ == first


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        SVMClassifier().predict(np.ones((2, 2)))
    with pytest.raises(NotFittedError):
        SVMClassifier().decision_function(np.ones((2, 2)))


def test_messages_of_wrong_calls():
    X, y = data()
    model = SVMClassifier().fit(X, y)
    with pytest.raises(ValueError, match="2 features, but SVMClassifier is expecting 3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="2 features, but SVMClassifier is expecting 3 features"):
        model.predict(sp.csr_array(X[:, :2]))
    with pytest.raises(ValueError, match="Reshape your data"):
        model.predict(X[0])
    with pytest.raises(InputError, match="did you mean swap"):
        SVMClassifier("swapp").fit(X, y)
    with pytest.raises(InputError, match="there are: "):
        SVMClassifier(kernel="gauss").fit(X, y)
    with pytest.warns(DataConversionWarning):
        SVMClassifier().fit(X, y[:, None])


def test_feature_names():
    pandas = pytest.importorskip("pandas")
    X, y = data()
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = SVMClassifier().fit(table, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(table), SVMClassifier().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["b", "a", "c"]])


@pytest.mark.parametrize(
    "y", [IRIS[1], np.array(["a", "b", "c"])[IRIS[1]], IRIS[1].astype(float)], ids=["int", "text", "float"]
)
def test_labels_come_back_as_they_were(y):
    model = SVMClassifier().fit(IRIS[0], y)
    assert model.predict(IRIS[0]).dtype == y.dtype
    np.testing.assert_array_equal(model.classes_, np.unique(y))
