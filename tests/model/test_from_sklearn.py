"""Fitted estimators of scikit-learn as models: their decisions and labels."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from support.refusals import refused

from svmkit import SVMClassifier
from svmkit.model.model import SVMModel

X, CODES = load_iris(return_X_y=True)
X, CODES = X[::2], CODES[::2]
NAMES = np.array(["setosa", "versicolor", "virginica"], dtype=object)[CODES]
SIDES = CODES > 0
T = 2.0 * X[:, 0] + np.sin(X[:, 1])


def of(estimator, tmp_path):
    """The model, which has been through a model file."""
    SVMModel.from_sklearn(estimator).save(tmp_path / "m")
    return SVMModel.load(tmp_path / "m")


def same(estimator, tmp_path, X=X):
    model = of(estimator, tmp_path)
    decides = getattr(estimator, "decision_function", estimator.predict)
    np.testing.assert_allclose(model.decision_function(X), decides(X), rtol=1e-10, atol=1e-10)
    if model.task != "regress":
        np.testing.assert_array_equal(model.predict(X), estimator.predict(X))
    return model


@pytest.mark.parametrize("y", [CODES, NAMES, SIDES], ids=["numbers", "names", "two"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_svc(kernel, y, tmp_path):
    machine = SVC(kernel=kernel, coef0=0.5, C=3, decision_function_shape="ovo").fit(X, y)
    model = same(machine, tmp_path)
    assert model.about == {"imported_from": "scikit-learn", "estimator": "SVC", "C": 3.0}
    assert model.classes.tolist() == machine.classes_.tolist()


@pytest.mark.parametrize("y", [CODES, SIDES], ids=["three", "two"])
def test_nu_svc_sparse_and_precomputed(y, tmp_path):
    same(NuSVC(nu=0.2, decision_function_shape="ovo").fit(X, y), tmp_path)
    sparse = sp.csr_array(X)
    model = same(SVC(decision_function_shape="ovo").fit(sparse, y), tmp_path, sparse)
    assert sp.issparse(model.vectors)
    K = X @ X.T
    assert same(SVC(kernel="precomputed", decision_function_shape="ovo").fit(K, y), tmp_path, K).n_features == len(X)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_svc_of_two_classes(intercept, tmp_path):
    same(LinearSVC(fit_intercept=intercept).fit(X, SIDES), tmp_path)
    same(LinearSVC(multi_class="crammer_singer", fit_intercept=intercept).fit(X, SIDES), tmp_path)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("multiclass", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_svc_of_three_classes(multiclass, intercept, tmp_path):
    machine = LinearSVC(multi_class=multiclass, fit_intercept=intercept, random_state=0).fit(X, NAMES)
    assert same(machine, tmp_path).multiclass == multiclass


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("machine", [SVR(), NuSVR(), SVR(kernel="linear"), LinearSVR(), LinearSVR(fit_intercept=False)])
def test_regression(machine, tmp_path):
    assert same(machine.fit(X, T), tmp_path).task == "regress"


def test_outliers(tmp_path):
    model = same(OneClassSVM(nu=0.1).fit(X), tmp_path)
    assert model.task == "outliers" and model.about["nu"] == 0.1


SCALERS = [StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False), MaxAbsScaler()]
SCALERS += [MinMaxScaler(), MinMaxScaler((-1, 3))]


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_scaling_in_front_of_it(scaler, tmp_path):
    wide = np.column_stack([1e3 * X, np.full(len(X), 7.0)])  # a constant column, too
    same(make_pipeline("passthrough", scaler, SVC(decision_function_shape="ovo")).fit(wide, CODES), tmp_path, wide)
    assert same(make_pipeline(scaler, SVR()).fit(wide, T), tmp_path, wide).scaling is not None


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("y", [CODES, SIDES, CODES > 1], ids=["three", "two", "others"])
def test_probabilities(y, tmp_path):
    """scikit-learn's LIBSVM couples them by an iteration that ends at 5e-3 / n_classes, for two classes, too."""
    machine = SVC(probability=True, random_state=0, decision_function_shape="ovo").fit(X, y)
    model = of(machine, tmp_path)
    np.testing.assert_allclose(model.predict_proba(X), machine.predict_proba(X), rtol=0, atol=5e-3)
    if model.has_one_function:  # scikit-learn's decision is LIBSVM's times -1
        chance = 1.0 / (1.0 + np.exp(-machine.probA_ * machine.decision_function(X) + machine.probB_))
        np.testing.assert_allclose(model.predict_proba(X)[:, 0], chance, rtol=0, atol=1e-12)


def test_a_subclass_is_what_it_is_of(tmp_path):
    class Ours(SVC):
        pass

    assert same(Ours().fit(X, SIDES), tmp_path).about["estimator"] == "SVC"


def test_what_cannot_be_taken_over():
    def take(estimator, words):
        refused(words, SVMModel.from_sklearn, estimator)

    take(SVC(), ["SVC is not fitted", "fit first"])
    take(make_pipeline(StandardScaler(), SVC()), ["SVC is not fitted"])
    take(LogisticRegression().fit(X, SIDES), ["LogisticRegression", "OneClassSVM", "Pipeline"])
    take(SVC, ["cannot take a"])
    take(None, ["NoneType"])
    take("model.pkl", ["cannot take a str"])
    take(SVMClassifier("smo").fit(X, SIDES), ["SVMClassifier", "model_"])
    take(SVC(kernel=lambda A, B: A @ B.T).fit(X, SIDES), ["callable kernel", "register"])
    take(SVC(kernel="poly", degree=0).fit(X, SIDES), ["SVC", "degree must be"])
    take(make_pipeline(PolynomialFeatures(), SVC()).fit(X, SIDES), ["StandardScaler", "not PolynomialFeatures"])
    take(
        make_pipeline(MaxAbsScaler(), StandardScaler(), SVC()).fit(X, SIDES), ["one of", "MaxAbsScaler, StandardScaler"]
    )
    take(make_pipeline(MinMaxScaler(clip=True), SVC()).fit(X, SIDES), ["clip"])
