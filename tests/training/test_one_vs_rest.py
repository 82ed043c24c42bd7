"""One-versus-rest for every solver, and Crammer and Singer's machine, from `fit` to the model."""

import os
import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC
from support.liblinear import primal

from svmkit.errors import InputError
from svmkit.estimators import SVMClassifier
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.solver import Gap, Iterations, Seconds, Status
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.path import c_path
from svmkit.training.train import fit

KERNEL = RBF(0.2)


def data(n=150, k=4, d=3, seed=0, rare=False):
    """Rows of k classes; with `rare` 97 of 100 rows are of one class, and a class has one row."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < 0.97 * n, 0, 1 + np.arange(n) % (k - 2)) if rare else np.arange(n) % k
    if rare:
        y[-1] = k - 1
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(k, d))[y]
    return X, y


def svc_objectives(X, y, C, gamma=0.2):
    """The optimum of each problem of a class and the rest, by LIBSVM; C is a cost for each row."""
    found = []
    K = np.exp(-gamma * np.square(X[:, None] - X).sum(axis=2))
    for c in np.unique(y):
        sign = np.where(y == c, 1.0, -1.0)
        model = SVC(C=1.0, kernel="precomputed", tol=1e-9).fit(K, sign, sample_weight=C)
        h = K[:, model.support_] @ model.dual_coef_[0] + model.intercept_[0]
        norm = model.dual_coef_[0] @ K[np.ix_(model.support_, model.support_)] @ model.dual_coef_[0]
        found.append(0.5 * norm + C @ np.maximum(0.0, 1.0 - sign * h))
    return np.array(found)


@pytest.mark.parametrize("memory", ["1GB", "10KB"])
@pytest.mark.parametrize("solver", ["smo", "fcsmo"])
@pytest.mark.parametrize("rare", [False, True])
def test_the_optima_are_those_of_libsvm(solver, memory, rare):
    X, y = data(rare=rare)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    fitted = fit(
        X,
        y,
        solver=solver,
        kernel=KERNEL,
        C=2.0,
        sample_weight=weights,
        stop=Gap(1e-8),
        multiclass="ovr",
        memory=memory,
    )
    assert fitted.status is Status.CONVERGED and len(fitted.solutions) == 4
    found = [solution.certificate.primal for solution in fitted.solutions]
    np.testing.assert_allclose(found, svc_objectives(X, y, 2.0 * weights), rtol=1e-6)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_decisions_are_those_of_one_versus_rest_in_scikit_learn(storage):
    X, y = data()
    names = np.array(["fig", "apple", "pear", "plum"])[y]
    X[np.abs(X) < 0.5] = 0.0
    fitted = fit(storage(X), names, solver="smo", kernel=KERNEL, stop=Gap(1e-9), multiclass="ovr")
    theirs = OneVsRestClassifier(SVC(gamma=0.2, tol=1e-9)).fit(X, names)
    np.testing.assert_allclose(fitted.model.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(fitted.model.predict(X), theirs.predict(X))
    assert fitted.model.classes.tolist() == ["apple", "fig", "pear", "plum"]
    np.testing.assert_array_equal(fitted.model.vectors if storage is np.asarray else fitted.model.vectors.toarray(),
                                  X[fitted.support])  # fmt: skip


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_models_are_those_of_linearsvc(loss):
    X, y = data()
    model = SVMClassifier("dcd", solver_options={"loss": loss}, multiclass="ovr", tol=1e-9).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theirs = LinearSVC(loss=loss, tol=1e-9, max_iter=1_000_000, dual=True, random_state=0).fit(X, y)
    for c, certificate in enumerate(model.certificate_):
        w = np.append(theirs.coef_[c], theirs.intercept_[c])
        expected = primal(X, np.where(y == c, 1.0, -1.0), 1.0, w, loss=loss)
        assert certificate.primal == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert model.coef_.shape == (4, 3) and model.intercept_.shape == (4,)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["swap2o", "cvm", "smo1", "svmlight", "smol2", "fcfw", "sfw", "norma", "libsvm"])
def test_every_kernel_solver_certifies_each_problem(solver):
    X, y = data(n=60)
    stop = Gap(1e-2) | Iterations(300) if solver in ("sfw", "norma") else Gap(1e-3)
    fitted = fit(X, y, solver=solver, kernel=KERNEL, stop=stop, multiclass="ovr")
    again = fit(X, y, solver="fcfw" if solver in ("swap2o", "cvm", "smol2", "fcfw", "sfw") else "smo", kernel=KERNEL,
                stop=Gap(1e-6), multiclass="ovr")  # fmt: skip
    for solution, best in zip(fitted.solutions, again.solutions, strict=True):
        if solver not in ("norma", "smol2"):  # of another bias
            assert best.certificate.dual <= solution.certificate.primal * (1 + 1e-9)
        assert solver in ("sfw", "norma") or solution.certificate.gap <= 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["sgd", "pegasos", "folos", "bmrm", "ocas", "svmperf", "sgdqn"])
def test_every_linear_solver_certifies_each_problem(solver):
    X, y = data(n=60)
    fitted = fit(X, y, solver=solver, kernel=Linear(), stop=Gap(1e-2) | Iterations(200), multiclass="ovr")
    assert fitted.model.coef.shape == (4, 4) and all(s.certificate.dual is not None for s in fitted.solutions)


def test_kernel_values_are_shared():
    X, y = data(n=400, k=8)
    one = fit(X, np.where(y == 0, 0, 1), solver="smo", kernel=KERNEL)
    all_ = fit(X, y, solver="smo", kernel=KERNEL, multiclass="ovr")
    assert all_.kernel_values <= 400 * 400 + 400  # one matrix for eight problems
    assert one.kernel_values > 0
    rows = fit(X, y, solver="swap2o", kernel=KERNEL, multiclass="ovr", stop=Gap(1e-2))
    apart = [fit(X, np.where(y == c, 1, -1), solver="swap2o", kernel=KERNEL, stop=Gap(1e-2)) for c in range(8)]
    assert rows.kernel_values < 0.8 * sum(f.kernel_values for f in apart)


def test_threads_change_nothing():
    X, y = data()
    fitted = fit(X, y, kernel=KERNEL, multiclass="ovr", n_threads=1)
    again = fit(X, y, kernel=KERNEL, multiclass="ovr")
    np.testing.assert_array_equal(fitted.model.coef, again.model.coef)
    np.testing.assert_array_equal(fitted.model.intercept, again.model.intercept)


def test_two_classes_are_one_problem():
    X, y = data(k=2)
    one, other = (fit(X, y, kernel=KERNEL, multiclass=mode).model for mode in ("ovr", "ovo"))
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert one.multiclass == "ovo"


def linearsvc(X, y):
    """scikit-learn's machine of all classes; rounding may keep it from its tolerance, in older releases always."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearSVC(multi_class="crammer_singer", tol=1e-10, max_iter=20_000, random_state=0).fit(X, y)


def test_crammer_and_singers_machine_of_two_classes_has_one_decision():
    X, y = data(k=2)
    model = SVMClassifier(multiclass="crammer_singer", kernel="linear", tol=1e-9).fit(X, y)
    theirs = linearsvc(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    assert model.decision_function(X).shape == (len(X),)


@pytest.mark.parametrize("rare", [False, True])
def test_crammer_and_singers_machine(rare, tmp_path):
    X, y = data(rare=rare)
    model = SVMClassifier(multiclass="crammer_singer", tol=1e-9).fit(X, y)  # the kernel that it needs is chosen
    theirs = linearsvc(X, y)
    np.testing.assert_allclose(model.decision_function(X), X @ theirs.coef_.T + theirs.intercept_, atol=1e-3)
    assert (model.predict(X) == theirs.predict(X)).mean() > 0.99
    assert model.coef_.shape == (4, 3) and len(model.certificate_) == 1 and model.gap_ <= 1e-9
    assert len(model.support_) == model.history_[0][-1].n_support


def test_validation_measures_each_problem():
    X, y = data()
    rest = fit(X[:100], y[:100], kernel=KERNEL, multiclass="ovr", validation=(X[100:], y[100:]))
    h = rest.model.decision_function(X[100:])
    for c, solution in enumerate(rest.solutions):
        assert solution.history[-1].accuracy == pytest.approx(np.mean((h[:, c] > 0.0) == (y[100:] == c)))
    whole = fit(X[:100], y[:100], kernel=Linear(), multiclass="crammer_singer", validation=(X[100:], y[100:]))
    right = np.mean(whole.model.predict(X[100:]) == y[100:])
    assert whole.solutions[0].history[-1].accuracy == pytest.approx(right)


def test_a_limit_leaves_classes_out():
    X, y = data()
    fitted = fit(X, y, kernel=KERNEL, solver="swap2o", multiclass="ovr", stop=Gap(1e-3) | Seconds(1e-9))
    assert fitted.n_untrained == 3 and fitted.status is Status.TIME_LIMIT
    assert set(fitted.model.predict(X)) == {0}  # the only class with a decision
    assert not fitted.model.decision_function(X)[:, 1:].any()


@pytest.mark.posix
def test_a_signal_leaves_classes_out():
    X, y = data()
    begun = []

    def watch(k, n_problems, name):
        begun.append((k, n_problems, name))
        if len(begun) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return []

    fitted = fit(X, y, kernel=KERNEL, multiclass="ovr", watch=watch)
    assert begun == [(0, 4, "0 vs rest"), (1, 4, "1 vs rest")]
    assert fitted.status is Status.INTERRUPTED and fitted.n_untrained == 2


@pytest.mark.parametrize(("multiclass", "kernel", "solver"), [("ovr", KERNEL, "swap2o"),
                                                              ("crammer_singer", Linear(), "dcd")])  # fmt: skip
def test_a_checkpoint_continues_it(multiclass, kernel, solver, tmp_path):
    X, y = data()
    path, options = tmp_path / "a.ckpt", {"kernel": kernel, "solver": solver, "multiclass": multiclass}
    part = fit(X, y, stop=Gap(1e-6) | Iterations(3), checkpoint=Checkpoint(path), **options)
    assert part.status is Status.MAX_ITER
    rest = fit(X, y, stop=Gap(1e-6), checkpoint=Checkpoint(path, resume=True), **options)
    assert rest.status is Status.CONVERGED
    assert all(s.n_iter > 3 for s in rest.solutions)
    other = {"ovr": "ovo", "crammer_singer": "ovr"}[multiclass]
    with pytest.raises(InputError, match="belongs to other"):
        fit(X, y, checkpoint=Checkpoint(path, resume=True), **(options | {"multiclass": other}))


def test_a_model_starts_another():
    X, y = data()
    model = SVMClassifier("swap2o", multiclass="ovr", warm_start=True, gamma=0.2, tol=1e-4).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first / 2
    linear = SVMClassifier("dcd", multiclass="ovr", warm_start=True, tol=1e-6).fit(X, y)
    first = linear.n_iter_
    assert linear.fit(X, y).n_iter_ < first
    with pytest.raises(InputError, match="multiclass=ovr"):
        fit(X, y, kernel=KERNEL, start=model.model_)
    machine = SVMClassifier(multiclass="crammer_singer", warm_start=True).fit(X, y)
    with pytest.raises(InputError, match="cannot start"):
        machine.fit(X, y)


@pytest.mark.parametrize(("multiclass", "kernel"), [("ovr", KERNEL), ("crammer_singer", Linear())])
def test_a_path_of_costs(multiclass, kernel):
    X, y = data()
    path = c_path(X, y, [3.0, 0.3], kernel=kernel, multiclass=multiclass, stop=Gap(1e-6))
    for C, found in zip([3.0, 0.3], path, strict=True):
        alone = fit(X, y, kernel=kernel, C=C, multiclass=multiclass, stop=Gap(1e-6))
        assert found.objective == pytest.approx(alone.objective, rel=5e-6)
        assert found.model.multiclass == multiclass


def test_a_precomputed_kernel():
    X, y = data()
    K = np.exp(-0.2 * np.square(X[:, None] - X).sum(axis=2))
    given = fit(K, y, kernel=Precomputed(), solver="smo", multiclass="ovr", stop=Gap(1e-8))
    named = fit(X, y, kernel=KERNEL, solver="smo", multiclass="ovr", stop=Gap(1e-8))
    np.testing.assert_allclose(given.model.decision_function(K), named.model.decision_function(X), atol=1e-4)


def test_class_weights_count():
    X, y = data()
    heavy = fit(X, y, kernel=KERNEL, solver="smo", multiclass="ovr", class_weight={0: 3.0}, stop=Gap(1e-8))
    weights = np.where(y == 0, 3.0, 1.0)
    np.testing.assert_allclose(
        [s.certificate.primal for s in heavy.solutions], svc_objectives(X, y, weights), rtol=1e-6
    )


def test_rows_of_weight_zero_take_no_part():
    X, y = data()
    weights = np.ones(len(y))
    weights[:20] = 0.0
    for multiclass, kernel in [("ovr", KERNEL), ("crammer_singer", Linear())]:
        some = fit(X, y, kernel=kernel, multiclass=multiclass, sample_weight=weights, stop=Gap(1e-8))
        less = fit(X[20:], y[20:], kernel=kernel, multiclass=multiclass, stop=Gap(1e-8))
        assert some.objective == pytest.approx(less.objective, rel=1e-6)
        assert some.support.min() >= 20
        with pytest.raises(InputError, match="class 2"):
            fit(X, y, kernel=kernel, multiclass=multiclass, sample_weight=np.where(y == 2, 0.0, 1.0))


def test_bad_input_is_one_line():
    X, y = data()
    for options, word in [
        ({"multiclass": "all"}, "ovo, ovr, crammer_singer"),
        ({"multiclass": "crammer_singer"}, "linear kernel"),
        ({"multiclass": "crammer_singer", "kernel": Linear(), "solver": "sgd"}, "those that have: auto, dcd"),
        ({"multiclass": "ovr", "task": "regress"}, "for classes"),
    ]:
        with pytest.raises(InputError, match=word) as refusal:
            fit(X, y, **({"kernel": KERNEL} | options))
        assert "\n" not in str(refusal.value)


def test_what_the_classifier_refuses():
    X, y = data()
    model = SVMClassifier(multiclass="ovr", decision_function_shape="ovo").fit(X, y)
    with pytest.raises(InputError, match="class pairs"):
        model.decision_function(X)
    with pytest.raises(InputError, match="partial_fit"):
        SVMClassifier("sgd", multiclass="ovr").partial_fit(X, y, classes=[0, 1, 2, 3])
