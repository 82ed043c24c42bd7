"""What people bring along from SVC, LinearSVC, LIBSVM and R: names of options and fitted attributes."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from svmkit import SVMClassifier, SVMOneClass, SVMRegressor, plugins
from svmkit.errors import InputError
from svmkit.estimators.other_names import OTHER_NAMES, answer

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("name", OTHER_NAMES)
@pytest.mark.parametrize("estimator", [SVMClassifier, SVMRegressor, SVMOneClass])
def test_an_option_of_others_is_answered_with_ours(estimator, name):
    if name in estimator().get_params():
        return
    with pytest.raises(TypeError, match=name) as caught:
        estimator(**{name: 1})
    assert answer(name, 1) in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(InputError, match=name) as caught:
        estimator(solver_options={name: 1})._settings()
    assert answer(name, 1) in str(caught.value)


def test_answers_have_the_value_that_was_given():
    with pytest.raises(TypeError, match="write memory='500MB'"):
        SVMClassifier(cache_size=500)
    with pytest.raises(TypeError, match="all threads are taken anyway"):
        SVMRegressor(n_jobs=-1)
    with pytest.raises(InputError, match="max_iter=-1, no limit in SVC, is max_iter=None here"):
        SVMClassifier(max_iter=-1).fit(X, Y)


def test_an_option_that_the_solver_has_is_its_own():
    assert "shrinking" in plugins.options(plugins.load("solver", "smo"))
    assert SVMClassifier("smo", solver_options={"shrinking": False}).fit(X, Y).gap_ < 1e-3
    with pytest.raises(InputError, match="no option 'nonsense'"):
        SVMClassifier("smo", solver_options={"nonsense": 1}).fit(X, Y)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 2: 0.5}])
def test_fitted_attributes_of_svc(class_weight):
    rows = slice(20, None)  # classes of 30, 50 and 50
    ours = SVMClassifier("smo", gamma=0.5, class_weight=class_weight).fit(X[rows], Y[rows])
    theirs = SVC(gamma=0.5, class_weight=class_weight).fit(X[rows], Y[rows])
    assert ours.fit_status_ == theirs.fit_status_ == 0 and ours.shape_fit_ == theirs.shape_fit_
    assert ours.n_iter_by_problem_.shape == theirs.n_iter_.shape and ours.n_iter_by_problem_.sum() == ours.n_iter_
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape


def test_fit_status_is_1_where_svc_says_so():
    with pytest.warns(match="max_iter|iterations"):
        SVC(max_iter=3).fit(X, Y)
    assert SVMClassifier("smo", max_iter=3).fit(X, Y).fit_status_ == 1


def test_text_labels_and_weights_of_samples():
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    weights = np.where(Y == 1, 3.0, 1.0)
    ours = SVMClassifier(class_weight="balanced").fit(X, names, sample_weight=weights)
    np.testing.assert_allclose(ours.class_weight_ * np.bincount(Y, weights), [250 / 3] * 3)
