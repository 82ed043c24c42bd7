"""Options of estimators: a solver's own ones by `solver_options`, all others by name, wrong ones in one line."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.problems import blobs
from support.refusals import refused

from svmkit import SVMClassifier, SVMOneClass, SVMRegressor, plugins
from svmkit.errors import InputError
from svmkit.estimators import expected_failures
from svmkit.losses import Quantile
from svmkit.solver.selection import by_name

SQUARED = {"loss": "squared_hinge"}
X, Y = blobs(60, 3, seed=0)


@parametrize_with_checks(
    [
        SVMClassifier("dcd", solver_options=SQUARED),
        SVMClassifier(kernel="linear", penalty="l1"),
        SVMOneClass("fcfw", solver_options={"growth": 0.5}),
        SVMClassifier(kernel="linear", multiclass="multinomial"),
        SVMRegressor(loss="quantile", tau=[0.1, 0.9]),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.slow
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_tags_say_whether_y_may_have_several_columns():
    labels, targets = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 15), np.stack([X[:, 0], X[:, 1]], axis=1)
    for own in ({"multiclass": "multinomial"}, {"class_weight": "balanced"}, {"calibration": "sigmoid"}, {}):
        machine = SVMClassifier(kernel="linear", **own)
        assert get_tags(machine).classifier_tags.multi_label == (not own)
        if own:
            with pytest.raises(InputError, match="leave it out"):
                machine.fit(X, labels)
    for tau, is_one in (([0.1, 0.9], False), ([0.5], True), (0.5, True)):
        for machine in (SVMRegressor(loss="quantile", tau=tau), SVMRegressor(loss=Quantile(tau))):
            assert get_tags(machine).target_tags.multi_output == is_one
            assert machine.fit(X, Y).predict(X).shape == ((60,) if is_one else (60, 2))
            if is_one:
                assert machine.fit(X, targets).predict(X).shape == (60, 2)


def test_options_reach_the_solver():
    squared = SVMClassifier("smo", solver_options=SQUARED, tol=1e-8).fit(X, Y)
    hinge = SVMClassifier("smo", tol=1e-8).fit(X, Y)
    same = SVMClassifier(by_name.solver("smo", SQUARED), tol=1e-8).fit(X, Y)
    assert squared.certificate_[0].primal == pytest.approx(same.certificate_[0].primal, rel=1e-7)
    assert abs(squared.certificate_[0].primal / hinge.certificate_[0].primal - 1.0) > 1e-3
    few, all_at_once = (SVMClassifier("fcfw", solver_options={"first": m}).fit(X, Y).n_iter_ for m in (4, 60))
    assert few == SVMClassifier(by_name.solver("fcfw", {"first": 4})).fit(X, Y).n_iter_ != all_at_once


def test_options_of_a_solver_that_learns_from_streams():
    plain, averaged = (
        SVMClassifier("sgd", solver_options=options, kernel="linear").partial_fit(X, Y, classes=[-1.0, 1.0])
        for options in (None, {"bias": 0.0})
    )
    assert averaged.intercept_[0] == 0.0 != plain.intercept_[0]


def test_parameters_can_be_read_set_and_cloned():
    model = SVMClassifier("smo", solver_options=SQUARED)
    assert model.get_params()["solver_options"] == SQUARED
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(solver_options=None).solver_options is None
    assert list(inspect.signature(SVMClassifier).parameters)[:3] == ["solver", "solver_options", "C"]


def test_a_search_over_solver_options():
    grid = {"solver_options": [{"loss": "hinge"}, SQUARED], "C": [0.1, 1.0]}
    search = GridSearchCV(SVMClassifier("smo"), grid, cv=2).fit(X, Y)
    assert search.best_params_["solver_options"] in grid["solver_options"]
    assert len({estimator["solver_options"]["loss"] for estimator in search.cv_results_["params"]}) == 2


@pytest.mark.parametrize(
    ("solver", "options", "words"),
    [
        ("smo", {"los": "hinge"}, ["solver smo", "'los'", "did you mean loss?", "shrinking, loss"]),
        ("smo", {"loss": "sqared_hinge"}, ["loss='sqared_hinge'", "did you mean squared_hinge?"]),
        ("smo", {"shrinking": 2}, ["shrinking=2", "true or false"]),
        ("dcd", {"workers": 1.5}, ["workers=1.5", "a whole number"]),
        ("dcd", {"workers": True}, ["workers=True", "a whole number"]),
        ("dcd", {"bias": None}, ["bias=None", "a number"]),
        ("dcd", {"bias": [1.0]}, ["bias=[1.0]", "a number"]),
        ("dcd", {3: 1.0}, ["no option 3"]),
        ("dcd", ["bias"], ["are a dict", "['bias']"]),
        (by_name.solver("smo"), SQUARED, ["has its options already", "'smo'"]),
        ("dcd", 3, ["are a dict", "not 3"]),
        (1.5, None, ["solver must be a name", "1.5"]),
    ],
)
def test_wrong_options_are_refused(solver, options, words):
    refused(words, SVMClassifier(solver=solver, solver_options=options).fit, X, Y)


def test_numbers_of_numpy_are_numbers():
    options = {"bias": np.float32(0.5), "workers": np.int64(1), "shrinking": np.bool_(False)}
    built = by_name.solver("dcd", options)
    assert repr((built.bias, built.workers, built.shrinking)) == "(0.5, 1, False)"


@pytest.mark.parametrize(
    ("estimator", "values", "options", "message"),
    [
        (SVMClassifier, (1.0,), {}, "options are given by name: SVMClassifier(C=1.0)"),
        (SVMClassifier, ("smo", 10), {}, "options are given by name: SVMClassifier(C=10)"),
        (SVMClassifier, (X, Y), {}, "options are given by name: SVMClassifier(C=1.0)"),
        (SVMOneClass, (0.1,), {}, "options are given by name: SVMOneClass(nu=0.1)"),
        (SVMClassifier, (), {"gama": 1}, "SVMClassifier has no option 'gama' (did you mean gamma?)"),
        (
            SVMClassifier,
            ("fcsmo",),
            {"shrinking": False},
            "SVMClassifier has no option 'shrinking': it is an option of solver 'smo': "
            "SVMClassifier('smo', solver_options={'shrinking': False})",
        ),
        (
            SVMClassifier,
            ("fcsmo",),
            {"growth": 0.5},
            "SVMClassifier has no option 'growth'; a solver's own options: solver_options={\"growth\": ...}",
        ),
    ],
)
def test_options_that_a_constructor_lacks(estimator, values, options, message):
    with pytest.raises(TypeError) as caught:
        estimator(*values, **options)
    assert str(caught.value) == message


def test_what_parameters_resolve_to_is_kept_for_the_same_values_of_the_same_types():
    def resolve(**options):
        return SVMClassifier(**options)._resolve(X, None)[0]

    kept = resolve(C=2, l1_ratio=1)
    assert resolve(C=2, l1_ratio=1) is kept and resolve(C=2.0, l1_ratio=1) is not kept
    assert resolve(C=2, l1_ratio=1, random_state=1).settings.seed == 1
    assert resolve(random_state=None).settings.seed != resolve(random_state=None).settings.seed
    with pytest.raises(InputError, match="l1_ratio"):
        resolve(C=2, l1_ratio=True)
    plugins.registered.cache_clear()  # as a file that brings another plugin of that name does
    assert resolve(C=2, l1_ratio=1) is not kept
