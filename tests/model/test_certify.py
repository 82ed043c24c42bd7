"""SVMModel.certify: the certificate of the fit on its rows, P alone on others, for every kind of model."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

from svmkit import SVMClassifier, SVMModel, SVMOneClass, SVMRegressor, fit, plugins, referee
from svmkit.conformance.solvers import with_losses
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.losses import Hinge, Huber, Quantile, SquaredHinge
from svmkit.model.certify import _dual_value
from svmkit.solver.requirements import Requires
from svmkit.solver.stopping import Gap, Iterations

pytestmark = pytest.mark.usefixtures("one_pool")

M = 60
RNG = np.random.default_rng(0)
Y = np.where(np.arange(M) % 2, 1, -1)
X = RNG.normal(size=(M, 3)) + 0.7 * Y[:, None]
THREE = np.where(np.arange(M) % 5 == 0, 2, Y)
T = X[:, 0] + 0.3 * RNG.normal(size=M)
STOP = Gap(1e-3) | Iterations(2000)


def kernel_for(solver):
    return Linear() if Requires.LINEAR_KERNEL in solver.requires else RBF(0.5)


def same(done, certificates, *, bound=True):
    """P of each subproblem is that of the fit, and its bounds are those of the fit, or better ones."""
    assert len(certificates) == len(done.solutions)
    for solution, ours in zip(done.solutions, certificates, strict=True):
        theirs = solution.certificate
        assert ours.primal == pytest.approx(theirs.primal, rel=1e-9)
        if theirs.gap is not None and bound:
            assert ours.gap == pytest.approx(theirs.gap, abs=1e-7)
            assert ours.dual == pytest.approx(theirs.dual, rel=1e-7)
        elif ours.dual is not None:
            assert ours.dual <= ours.primal and 0.0 <= ours.rounding <= ours.gap


@pytest.mark.parametrize("name", plugins.solvers_where(lambda solver: True))
def test_it_is_the_certificate_of_the_fit(name):
    solver = plugins.build("solver", name)
    done = fit(X, Y, solver=solver, kernel=kernel_for(solver), C=2.0, stop=STOP)
    # weights of columns have no dual weights, and a stochastic solver none of its own: D is another bound there
    same(done, done.model.certify(X, Y), bound=solver.certified and not solver.problem_for(done.model.kernel).is_linear)


REGRESSING = plugins.solvers_where(lambda s: s.regression_for(RBF(0.5)) or s.regression_for(Linear()))


@pytest.mark.parametrize("name", REGRESSING)
def test_it_is_the_certificate_of_a_regression(name):
    solver = plugins.build("solver", name)
    kernel = kernel_for(solver)
    done = fit(X, T, task="regress", solver=solver, kernel=kernel, C=2.0, epsilon=0.2, stop=STOP)
    linear = solver.problem_of(kernel, "regress").is_linear
    same(done, done.model.certify(X, T), bound=solver.certified and not linear)


@pytest.mark.parametrize("task", ["classify", "regress"])
@pytest.mark.slow
def test_every_loss_of_a_dual_solver(task):
    answers = Y if task == "classify" else T
    for solver in with_losses(plugins.build("solver", "smo"), task).values():
        done = fit(X, answers, task=task, solver=solver, kernel=RBF(0.5), C=2.0, stop=STOP)
        same(done, done.model.certify(X, answers))


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("name", ["smo", "fcfw", "dcd", "pegasos"])
def test_each_subproblem_of_three_classes(name, multiclass):
    solver = plugins.build("solver", name)
    done = fit(X, THREE, solver=solver, kernel=kernel_for(solver), multiclass=multiclass, stop=STOP)
    same(done, done.model.certify(X, THREE), bound=name in ("smo", "fcfw"))


@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
def test_the_machine_of_all_classes(labels):
    done = fit(X, labels, solver="dcd", kernel=Linear(), multiclass="crammer_singer", stop=Gap(1e-6))
    (ours,) = done.model.certify(X, labels)
    assert ours.primal == pytest.approx(done.objective, rel=1e-9)
    assert 0.0 < ours.dual <= done.objective
    (sparse,) = done.model.certify(sp.csr_array(X), labels)
    assert sparse.primal == pytest.approx(ours.primal, rel=1e-12)


def test_the_rounding_of_the_machine_of_all_classes_covers_its_products():
    """A decision is a sum of d products, off by up to d u |x| |w|, and a slack has two of them."""
    d, rng = 500, np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, d)), np.arange(40) % 3
    model = fit(rows, labels, solver="dcd", kernel=Linear(), multiclass="crammer_singer", C=1e-4).model
    (ours,) = model.certify(rows, labels)
    sizes = np.linalg.norm(rows, axis=1) * np.linalg.norm(model.weights, axis=1).max()
    h = model.decision_function(rows)
    rival = np.where(np.eye(3)[labels] > 0, -np.inf, h).max(axis=1)
    loses = 1.0 + rival - h[np.arange(40), labels] > 0.0
    least = 1e-4 * 2.0 * d * 2.0**-53 * sizes[loses].sum()
    assert loses.sum() > 20 and least <= ours.rounding * ours.primal < 10.0 * least + 1e-12 * ours.primal


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_outliers(loss):
    weights = np.arange(M) % 4 + 0.0
    machine = SVMOneClass(nu=0.3, kernel=RBF(0.5), loss=loss, tol=1e-4).fit(X, sample_weight=weights)
    (ours,) = machine.model_.certify(X, sample_weight=weights)
    theirs = machine.certificate_
    assert (ours.primal, ours.gap) == (pytest.approx(theirs.primal, rel=1e-9), pytest.approx(theirs.gap, abs=1e-9))


@pytest.mark.parametrize("kind", ["classify", "balanced", "regress", "outliers"])
def test_weights_that_are_lacking_are_said_to_be(kind, tmp_path):
    """Weights belong to the rows: a model keeps none, and P without them is that of another problem."""
    weights = None if kind == "balanced" else np.arange(M) % 4 + 1.0
    if kind == "outliers":
        make, y = SVMOneClass(nu=0.3, kernel=RBF(0.5)), None
    else:
        make = SVMRegressor(kernel=RBF(0.5)) if kind == "regress" else SVMClassifier(kernel=RBF(0.5))
        y = T if kind == "regress" else np.where(np.arange(M) % 4, 1, -1)
    machine = make.set_params(class_weight="balanced") if kind == "balanced" else make
    machine.fit(X, y, sample_weight=weights).model_.save(tmp_path / "a.model")
    model = SVMModel.load(tmp_path / "a.model")
    with pytest.warns(SvmkitWarning, match="trained with sample or class weights, which it does not keep"):
        model.certify(X, y)
    assert any("which it does not keep" in note for note in referee.certify(model, X, y, time_limit=0.0).notes)
    given = np.where(y > 0, 2.0 / 3.0, 2.0) if kind == "balanced" else weights
    assert all(one.gap < 2e-3 for one in model.certify(X, y, sample_weight=given))  # with an error for a warning
    assert not referee.certify(model, X, y, sample_weight=given, time_limit=0.0).notes
    plain = clone(machine).set_params(**{"class_weight": None} if kind == "balanced" else {}).fit(X, y)
    assert all(one.gap < 2e-3 for one in plain.model_.certify(X, y))


def test_rows_that_sets_hold_out_are_no_weights_and_hide_nothing():
    """A model does not keep which rows: its gap on all of them says nothing about whether its training converged."""
    model = fit(X, Y, kernel=RBF(0.5), conformal=0.2, stop=STOP).model
    with pytest.warns(SvmkitWarning, match="without 15 of its training rows, which were held out for its sets"):
        model.certify(X, Y)
    model = dataclasses.replace(model, about=model.about | {"status": "converged"})
    verdict = referee.certify(model, X, Y, time_limit=0.0)
    assert verdict.gap > 0.01 and verdict.hidden is None and any("held out for its sets" in n for n in verdict.notes)
    assert verdict.claim.words == "status converged, with weights of its own"


def test_outliers_on_other_rows():
    """P = 1/2 |w|^2 - nu sum(w) rho + sum w max(0, rho - h), at the best rho."""
    machine = SVMOneClass(nu=0.3, kernel=RBF(0.5), loss="hinge").fit(X)
    (ours,) = machine.model_.certify(X[:20] + 0.1)
    model = machine.model_
    h = model.decision_function(X[:20] + 0.1) - model.intercept[0]
    K = np.exp(-0.5 * np.square(model.vectors[:, None] - model.vectors[None]).sum(axis=2))
    values = [0.5 * model.coef[0] @ K @ model.coef[0] - 6.0 * r + np.maximum(r - h, 0.0).sum() for r in h]
    assert ours.dual is None and ours.primal == pytest.approx(min(values), rel=1e-9)
    squared = SVMOneClass(nu=0.3, kernel=RBF(0.5), loss="squared_hinge").fit(X)
    with pytest.raises(InputError, match="certified on its training rows"):
        squared.model_.certify(X[:20] + 0.1)


def test_two_points_by_hand():
    """x = 1 and -1: w = 1, b = 0. At 1/2 and -2 the hinges are 1/2 and 0: P = 1/2 + C/2.
    D is known, since the weights of the column are all that there is.
    """
    points, labels = np.array([[1.0], [-1.0]]), np.array([1, -1])
    model = fit(points, labels, solver="smo", kernel=Linear()).model
    (own,) = model.certify(points, labels)
    assert (own.primal, own.bias) == (0.5, 0.0) and 0.5 - 1e-14 < own.dual <= 0.5 and own.gap < 1e-13
    (other,) = model.certify([[0.5], [-2.0]], labels, C=3.0)
    assert other.primal == 2.0 and 0.0 < other.dual <= 0.32 and other.rounding < 1e-13  # w = 0.8 is the optimum
    (huber,) = fit(points, labels + 0.0, task="regress", solver="smo", kernel=Linear(), epsilon=0.0).model.certify(
        [[3.0], [-1.0]], labels, C=2.0, loss=Huber(delta=0.5)
    )
    assert huber.primal == pytest.approx(0.5 + 2.0 * (2.0 * 0.5 * 2.0 - 0.25))  # w = 1; residuals -2 and 0


def test_other_rows_have_p_alone_unless_dual_weights_are_given():
    done = fit(X, Y, solver="smo", kernel=RBF(0.5), C=2.0, stop=Gap(1e-6))
    new, labels = X[:30] + 0.05, Y[:30]
    (ours,) = done.model.certify(new, labels)
    h = done.model.decision_function(new)
    norm = done.model.coef[0] @ done.model.decision_function(done.model.vectors) - 0.0
    norm -= done.model.coef[0].sum() * done.model.intercept[0]
    assert ours.primal == pytest.approx(0.5 * norm + 2.0 * np.maximum(1.0 - labels * h, 0.0).sum(), rel=1e-9)
    assert ours.dual is None and ours.gap is None
    best = fit(new, labels, solver="smo", kernel=RBF(0.5), C=2.0, stop=Gap(1e-6))
    dual = np.zeros(30)
    dual[best.support] = best.model.coef[0]
    (proven,) = done.model.certify(new, labels, dual=dual)
    assert proven.primal == ours.primal
    assert proven.dual == pytest.approx(best.dual_objective, rel=1e-7) and proven.dual < proven.primal


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_weights_storage_and_preprocessing(storage):
    weights = np.arange(M) % 3 + 0.0
    rows = storage(np.where(np.abs(X) > 0.3, X, 0.0))
    done = fit(rows, THREE, solver="smo", kernel=RBF(0.5), C=5.0, sample_weight=weights, scale="maxabs", stop=STOP)
    same(done, done.model.certify(rows, THREE, sample_weight=weights))


def test_what_is_not_known_of_the_norm_moves_d_by_half_of_it():
    """D = beta'target - |w|^2 / 2 - sum ridge beta^2 / 2."""
    terms, beta = Hinge().terms(np.array([1.0, -1.0]), np.ones(2)), np.array([0.5, -0.5])
    value, error = _dual_value(terms, beta, 1.0, 0.0, None)
    lower, _ = _dual_value(terms, beta, 1.25, 0.0, None)
    _, wider = _dual_value(terms, beta, 1.0, 0.25, None)
    assert (value, lower) == (0.5, 0.375) and error < 1e-14
    assert value - wider == pytest.approx(lower, abs=1e-14)


def test_repeated_rows_with_other_labels():
    rows, labels = np.repeat(X[:20], 2, axis=0), np.tile([1, -1, 1, 1], 10)
    done = fit(rows, labels, solver="fcfw", kernel=RBF(0.5), C=5.0, stop=STOP)
    same(done, done.model.certify(rows, labels))


def test_a_precomputed_kernel():
    K = np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=2))
    done = fit(K, THREE, solver="smo", kernel=Precomputed(), stop=STOP)
    same(done, done.model.certify(K, THREE))
    with pytest.raises(InputError, match="certified on its training rows"):
        done.model.certify(K[:10], THREE[:10])


@pytest.mark.parametrize("task", ["classify", "regress"])
def test_nu_settles_costs_and_epsilon(task):
    answers = Y if task == "classify" else T
    done = fit(X, answers, task=task, solver="smo", kernel=RBF(0.5), nu=0.4, C=2.0, stop=Gap(1e-4))
    same(done, done.model.certify(X, answers))


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_saved_model_of_nu_says_which_problems_are_certified(multiclass, tmp_path):
    """C-SVC at costs w_i / rho, built from the file with numpy alone; no support vector has to be at its bound."""
    weights = RNG.uniform(0.5, 2.0, M)
    options = {"kernel": RBF(0.5), "nu": 0.2, "C": 3.0, "multiclass": multiclass}
    fit(X, THREE, sample_weight=weights, **options).model.save(tmp_path / "a.model")
    model = SVMModel.load(tmp_path / "a.model")
    certificates, K = model.certify(X, THREE, sample_weight=weights), gaussian(X, X)
    pairs = [(-1, 1), (-1, 2), (1, 2)] if multiclass == "ovo" else [(c, None) for c in (-1, 1, 2)]
    h = model.decision_function(X)
    for k, (a, b) in enumerate(pairs):
        rows = np.isin(THREE, (a, b)) if multiclass == "ovo" else np.full(M, True)
        y = np.where(THREE[rows] == a, 1.0, -1.0)
        C = model.about["C"] * weights[rows] / model.about["rho"][k]
        d = np.linalg.lstsq(K[:, rows], h[:, k] - model.intercept[k], rcond=None)[0]
        margin = 1.0 - y * h[rows, k]
        P = 0.5 * d @ K[np.ix_(rows, rows)] @ d + C @ np.maximum(margin, 0.0)
        assert certificates[k].primal == pytest.approx(P, rel=1e-6)
        assert certificates[k].gap < 1e-3


def test_a_saved_regression_with_nu_says_its_epsilon(tmp_path):
    done = fit(X, T, task="regress", kernel=RBF(0.5), nu=0.3, C=2.0)
    done.model.save(tmp_path / "a.model")
    model, e = SVMModel.load(tmp_path / "a.model"), np.abs(T - done.model.predict(X))
    d, epsilon = model.coef[0], model.about["epsilon"]
    P = 0.5 * d @ gaussian(model.vectors, model.vectors) @ d + 2.0 * np.maximum(e - epsilon, 0.0).sum()
    assert done.objective == pytest.approx(P, rel=1e-9)
    same(done, model.certify(X, T))
    few = slice(0, 20)  # on other rows epsilon is still that of the training
    P += 2.0 * (np.maximum(e[few] - epsilon, 0.0).sum() - np.maximum(e - epsilon, 0.0).sum())
    assert model.certify(X[few], T[few])[0].primal == pytest.approx(P, rel=1e-9)


def test_what_nu_settled_may_be_missing_or_damaged():
    done = fit(X, Y, kernel=RBF(0.5), nu=0.4)
    earlier = {key: value for key, value in done.model.about.items() if key != "rho"}
    same(done, dataclasses.replace(done.model, about=earlier).certify(X, Y))
    for rho in (0.0, "1", True, math.nan, -1.0):
        with pytest.raises(InputError, match="not a number that training with nu can have found"):
            dataclasses.replace(done.model, about=earlier | {"rho": rho}).certify(X, Y)


def gaussian(X, Z):
    return np.exp(-0.5 * np.square(X[:, None] - Z[None]).sum(axis=2))


IMPORTED = [
    (SVC(C=3.0, gamma=0.5, tol=1e-8), Y, {}),
    (NuSVC(nu=0.4, gamma=0.5, tol=1e-8), THREE, {}),
    (SVR(C=3.0, gamma=0.5, epsilon=0.2, tol=1e-8), T, {}),
    (NuSVR(C=3.0, gamma=0.5, nu=0.4, tol=1e-8), T, {}),
    (LinearSVC(C=3.0, tol=1e-8, max_iter=100_000), Y, {"loss": "squared_hinge", "bias": 1.0}),
]


@pytest.mark.parametrize(("estimator", "answers", "options"), IMPORTED, ids=lambda value: type(value).__name__)
def test_models_of_scikit_learn_are_near_their_optimum(estimator, answers, options):
    for certificate in SVMModel.from_sklearn(estimator.fit(X, answers)).certify(X, answers, **options):
        assert 0.0 <= certificate.gap < 1e-4


def test_a_one_class_model_of_scikit_learn():
    (certificate,) = SVMModel.from_sklearn(OneClassSVM(nu=0.3, gamma=0.5, tol=1e-8).fit(X)).certify(X)
    assert 0.0 <= certificate.gap < 1e-4


def test_another_loss_and_cost_than_those_of_the_training():
    model = fit(X, Y, solver="smo", kernel=RBF(0.5), C=2.0, stop=STOP).model
    (hinge,), (squared,) = (model.certify(X, Y, C=0.5, loss=loss) for loss in (Hinge(), "squared_hinge"))
    h = model.decision_function(X)
    slack = np.maximum(1.0 - Y * h, 0.0)
    assert hinge.primal - squared.primal == pytest.approx(0.5 * (slack.sum() - np.square(slack).sum()), rel=1e-9)
    assert hinge.dual < hinge.primal and squared.dual < squared.primal
    (given,) = model.certify(X, Y, C=0.5, loss=SquaredHinge())
    assert given == squared and math.isclose(given.bias, model.intercept[0])


def test_a_saved_model_knows_its_objective(tmp_path):
    done = fit(X, Y, solver="smo", kernel=RBF(0.5), C=7.0, stop=STOP)
    done.model.save(tmp_path / "a.model")
    assert SVMModel.load(tmp_path / "a.model").certify(X, Y) == done.model.certify(X, Y)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"y": Y[:5]}, r"y has 5 labels, but X has 60 samples"),
        ({"y": None}, r"the target y is None"),
        ({"C": -1.0}, r"C must be a finite number > 0, not -1.0"),
        ({"C": np.nan}, r"C must be a finite number > 0, not nan"),
        ({"bias": "fre"}, r"bias='fre' is not known: give \"free\""),
        ({"dual": np.ones(5)}, r"dual must hold a weight for each row and decision, \(60, 1\), not shape \(5,\)"),
        ({"sample_weight": np.zeros(M)}, r"sample_weight is 0 for all rows"),
        ({"y": np.full(M, 7)}, r"y holds 7, which is none of the model's classes"),
        ({"sample_weight": np.full(M, -1.0)}, r"sample_weight must hold a finite number >= 0 for each of the 60 rows"),
        ({"loss": "huber"}, r"loss=huber is for regression"),
        ({"loss": "hing"}, r"loss='hing' is not known"),
        ({"bias": 0.0}, r"the model has an intercept, and its problem no bias"),
    ],
)
def test_what_does_not_fit_is_refused(given, words):
    model = fit(X, Y, solver="smo", kernel=RBF(0.5), stop=STOP).model
    with pytest.raises(InputError, match=words):
        model.certify(X, **({"y": Y} | given))


def test_a_model_that_says_nothing_of_its_training_asks_for_it():
    model = fit(X, Y, solver="smo", kernel=RBF(0.5), stop=STOP).model
    model.about.clear()
    with pytest.raises(InputError, match="the model does not say its C"):
        model.certify(X, Y)
    with pytest.raises(InputError, match="does not say with which loss"):
        model.certify(X, Y, C=1.0)
    assert model.certify(X, Y, C=1.0, loss="hinge")[0].gap <= 1e-3


@pytest.mark.parametrize(
    ("name", "task", "options"),
    [
        ("smo", "classify", {"loss": "squared_hinge"}),
        ("dcd", "classify", {"loss": "smoothed_hinge", "bias": 2.0}),
        ("ocas", "regress", {"loss": Huber(delta=0.5)}),
        ("bmrm", "regress", {"loss": Quantile(tau=0.8)}),
        ("pegasos", "regress", {"loss": "expectile"}),
    ],
)
def test_a_model_keeps_its_loss_and_its_options(name, task, options, tmp_path):
    solver = plugins.build("solver", name, options)
    answers = Y if task == "classify" else T
    done = fit(X, answers, task=task, solver=solver, kernel=kernel_for(solver), C=2.0, stop=STOP)
    done.model.save(tmp_path / "a.model")
    (ours,) = SVMModel.load(tmp_path / "a.model").certify(X, answers)
    assert ours.primal == pytest.approx(done.objective, rel=1e-9)
    assert done.model.about["minimised"]["loss"] == solver.loss_for(done.model.kernel, task).name
