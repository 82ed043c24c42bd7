"""Several targets and several labels: one model on one set of kernel rows, each output as good as one of its own."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor

from svmkit import SVMClassifier, SVMModel, SVMRegressor, fit, plugins
from svmkit.conformance import judge_fit, judge_regression
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels import RBF
from svmkit.tasks import MultiLabel

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 4))
SCORES = X @ rng.normal(size=(4, 3))
T = np.tanh(SCORES) + 0.1 * rng.normal(size=SCORES.shape)
Y = (SCORES + 0.3 * rng.normal(size=SCORES.shape) > 0.0).astype(int)


def output(fitted, k, classes=None):
    """The fit of one output alone, of two classes with the n_support that its labels have."""
    model, used = fitted.model, np.flatnonzero(fitted.model.coef[k])
    n_support = np.array([len(used)])
    order = np.arange(len(used))
    if classes is not None:
        order = np.argsort(classes[fitted.support[used]], kind="stable")
        n_support = np.bincount(classes[fitted.support[used]], minlength=2)
    at = used[order]
    alone = replace(
        model,
        vectors=model.vectors[at],
        coef=model.coef[[k]][:, at],
        intercept=model.intercept[[k]],
        n_support=n_support,
        outputs=(),
        **({} if classes is None else {"task": "classify", "classes": np.array([0, 1])}),
    )
    return replace(fitted, model=alone, support=fitted.support[at], solutions=[fitted.solutions[k]])


@pytest.mark.parametrize("given", [{}, {"kernel": "linear"}, {"solver": "dcd", "kernel": "linear"}, {"nu": 0.5}])
def test_targets_are_learnt_as_by_a_model_each(given):
    machine = SVMRegressor(**given, tol=1e-5).fit(X, T)
    each = MultiOutputRegressor(SVMRegressor(**given, tol=1e-5)).fit(X, T)
    assert machine.predict(X).shape == T.shape and machine.gap_ <= 1e-5
    for certificate, one in zip(machine.certificate_, each.estimators_, strict=True):
        theirs = one.certificate_[0]
        bound = (certificate.gap + theirs.gap) * max(certificate.primal, theirs.primal)
        bound *= 10.0 if "nu" in given else 1.0  # each settles an epsilon of its own
        assert abs(certificate.primal - theirs.primal) <= bound + 1e-12
    assert machine.predict(X) == pytest.approx(each.predict(X), abs=0.02)
    assert machine.score(X, T) == pytest.approx(each.score(X, T), abs=1e-3)


@pytest.mark.parametrize("given", [{}, {"kernel": "linear"}, {"solver": "dcd", "kernel": "linear"}, {"nu": 0.2}])
def test_labels_are_learnt_as_by_one_vs_rest_of_scikit_learn(given):
    machine = SVMClassifier(**given, tol=1e-6).fit(X, Y)
    each = OneVsRestClassifier(SVMClassifier(**given, tol=1e-6)).fit(X, Y)
    assert machine.predict(X).dtype == np.int64 and (machine.predict(X) == each.predict(X)).mean() >= 0.99
    assert machine.score(X, Y) == pytest.approx(each.score(X, Y), abs=0.02)
    assert machine.decision_function(X).shape == Y.shape and machine.gap_ <= 1e-6


def test_each_output_is_judged():
    targets = fit(X, T, solver="smo", kernel=RBF(0.3), task="regress", C=2.0)
    labels = fit(X, Y, solver="smo", kernel=RBF(0.3), task=MultiLabel(), C=2.0)
    smo = plugins.build("solver", "smo")
    for k in range(3):
        verdict = judge_regression(output(targets, k), X, T[:, k], solver=smo, C=2.0, epsilon=0.1, tol=1e-3)
        assert verdict.false == []
        (verdict,) = judge_fit(output(labels, k, Y[:, k]), X, Y[:, k], solver=smo, C=2.0, tol=1e-3)
        assert verdict.false == []
    assert max(of.gap for of in (*targets.model.certify(X, T), *labels.model.certify(X, Y))) <= 1.1e-3


@pytest.mark.parametrize("task", ["regress", "multilabel"])
def test_outputs_share_their_kernel_values(task):
    columns = {"regress": T, "multilabel": Y}[task]
    many = fit(X, columns, kernel=RBF(0.3), task=task)
    one = fit(X, columns[:, 0], kernel=RBF(0.3), task="regress" if task == "regress" else "classify")
    assert 0 < many.kernel_values <= 1.3 * max(one.kernel_values, X.shape[0] ** 2 / 1.3)
    assert many.kernel_values <= X.shape[0] ** 2


def test_a_label_that_all_rows_have_or_none_is_constant_and_said_in_a_line(tmp_path):
    labels = np.c_[Y[:, 0], np.ones(150, int), np.zeros(150, int)]
    for kernel in ("rbf", "linear"):
        with pytest.warns(SvmkitWarning) as said:
            machine = SVMClassifier(kernel=kernel).fit(X, labels)
        assert [str(line.message) for line in said] == [
            "all samples have label 1: so it is predicted for every row",
            "no sample has label 2: so it is predicted for no row",
        ]
        assert (machine.predict(X)[:, 1:] == [1, 0]).all() and len(machine.certificate_) == 1
        alone = SVMClassifier(kernel=kernel).fit(X, Y[:, 0])
        assert (machine.predict(X)[:, 0] == alone.predict(X)).all()
        machine.model_.save(tmp_path / "labels.model")
        assert (SVMModel.load(tmp_path / "labels.model").predict(X) == machine.predict(X)).all()


def test_tables_name_the_outputs_and_sparse_labels_are_read():
    pd = pytest.importorskip("pandas")
    assert SVMClassifier().fit(X, pd.DataFrame(Y, columns=["a", "b", "c"])).model_.outputs == ("a", "b", "c")
    assert SVMRegressor().fit(X, pd.DataFrame(T, columns=["u", "v", "w"])).model_.outputs == ("u", "v", "w")
    assert (SVMClassifier().fit(X, sp.csr_array(Y)).predict(X) == SVMClassifier().fit(X, Y).predict(X)).all()


def test_training_starts_at_a_model_of_the_same_outputs():
    cold = SVMClassifier("smo", warm_start=True).fit(X, Y)
    n_iter = cold.n_iter_
    assert cold.fit(X, Y).n_iter_ < n_iter / 2
    with pytest.raises(
        InputError, match="cannot start from the model: its outputs are 0, 1, 2, those of the data 0, 1"
    ):
        cold.fit(X, Y[:, :2])


def changed(columns, row, column, value):
    other = columns.astype(float)
    other[row, column] = value
    return other


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SVMClassifier().fit(X, 2 * Y), "label . of y is 2 at row .* each of several labels is 0 or 1"),
        (lambda: SVMClassifier().fit(X, changed(Y, 2, 1, np.nan)), "label 1 of y is NaN .* at row 3"),
        (lambda: SVMClassifier().fit(X, Y[:9]), "y has 9 rows of labels, but X has 150"),
        (lambda: SVMClassifier().fit(X, np.ones((150, 2))), "each label of y is the same in all 150 samples"),
        (lambda: SVMClassifier(class_weight="balanced").fit(X, Y), "class_weight is for one label a row"),
        (lambda: SVMClassifier(calibration="sigmoid").fit(X, Y), "calibration is for one label a row"),
        (lambda: SVMClassifier(multiclass="ovr").fit(X, Y), "multiclass=ovr is for classes"),
        (lambda: SVMClassifier("sgd").partial_fit(X, Y, classes=[0, 1]), "y should be a 1d array"),
        (lambda: SVMRegressor().fit(X, changed(T, 3, 1, np.nan)), "target 1 of y contains NaN .* at row 4"),
        (lambda: SVMRegressor().fit(X, np.c_[T, np.ones(150)]), "target 3 of y is 1 in all 150 samples"),
        (lambda: SVMRegressor(loss="quantile", tau=[0.1, 0.9]).fit(X, T), "y has 3 columns, and the loss 2 levels"),
        (lambda: SVMRegressor("sgd").partial_fit(X, T), "y should be a 1d array"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(make, words):
    with pytest.raises(InputError, match=words) as raised:
        make()
    assert "\n" not in str(raised.value)
