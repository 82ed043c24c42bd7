"""Each estimator is posed as its software poses it: P is its own objective, and a fit that has converged is optimal."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

from svmkit import Gram, certify
from svmkit.referee import posed
from svmkit.referee.estimators import READERS

pytestmark = pytest.mark.usefixtures("one_pool")

M = 80
RNG = np.random.default_rng(0)
Y = np.where(np.arange(M) % 3 == 0, 1, 0)
X = RNG.normal(size=(M, 4)) + 0.8 * Y[:, None]
THREE = np.arange(M) % 3
X3 = RNG.normal(size=(M, 4)) + np.eye(3, 4)[THREE]
T = X[:, 0] + 0.5 * np.sin(2.0 * X[:, 1]) + 0.2 * RNG.normal(size=M)
W = RNG.integers(1, 4, M).astype(float)
TIGHT = {"tol": 1e-11}
FIRST = {"tol": 1e-10, "max_iter": 1_000_000, "random_state": 0}
HINGES = {
    "hinge": lambda s: np.maximum(s, 0.0),
    "squared_hinge": lambda s: np.maximum(s, 0.0) ** 2,
    "log_loss": lambda s: np.logaddexp(0.0, s - 1.0),
    "modified_huber": lambda s: np.where(s <= 2.0, np.maximum(s, 0.0) ** 2, 4.0 * s - 4.0),
}
TUBES = {
    "epsilon_insensitive": lambda e, eps: np.maximum(np.abs(e) - eps, 0.0),
    "squared_epsilon_insensitive": lambda e, eps: np.maximum(np.abs(e) - eps, 0.0) ** 2,
    "squared_error": lambda e, eps: 0.5 * e**2,
    "huber": lambda e, eps: np.where(np.abs(e) <= eps, 0.5 * e**2, eps * np.abs(e) - 0.5 * eps**2),
}


def own(verdict):
    """P in the software's own units."""
    return verdict.unit * verdict.primal


def norm_of(machine, K):
    coef = machine.dual_coef_.ravel()
    return float(coef @ K[np.ix_(machine.support_, machine.support_)] @ coef)


def rbf(machine, A):
    return np.exp(-machine._gamma * np.square(A[:, None] - A[None]).sum(axis=2))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "precomputed", "callable"])
@pytest.mark.parametrize("weighed", [False, True])
def test_svc(kernel, weighed):
    given = {"linear": X @ X.T, "poly": (0.5 * X @ X.T + 1.0) ** 3, "precomputed": X @ X.T, "callable": X @ X.T}
    options = {"callable": {"kernel": lambda A, B: A @ B.T}, "poly": {"kernel": "poly", "coef0": 1.0, "gamma": 0.5}}
    rows = X @ X.T if kernel == "precomputed" else X
    weights = W if weighed else None
    machine = SVC(
        C=2.0, class_weight="balanced" if weighed else None, **TIGHT, **options.get(kernel, {"kernel": kernel})
    )
    machine.fit(rows, Y, sample_weight=weights)
    verdict = certify(machine, rows, Y, sample_weight=weights)
    K = given[kernel] if kernel in given else rbf(machine, X)
    C = 2.0 * (machine.class_weight_[Y] * W if weighed else np.ones(M))
    losses = HINGES["hinge"](1.0 - (2 * Y - 1) * machine.decision_function(rows))
    assert own(verdict) == pytest.approx(0.5 * norm_of(machine, K) + float(C @ losses), rel=1e-8)
    most = 1e-5 if kernel == "poly" else 1e-6  # LIBSVM keeps kernel rows in float32
    assert verdict.gap <= most and verdict.rulings[0].own.gap <= most
    assert verdict.score == verdict.polished_score == machine.score(rows, Y) and not verdict.notes


@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_three_classes(kind):
    machine = kind(**({"nu": 0.3} if kind is NuSVC else {"C": 2.0}), **TIGHT).fit(X3, THREE)
    verdict = certify(machine, X3, THREE)
    assert [ruling.name for ruling in verdict.rulings] == ["0 vs 1", "0 vs 2", "1 vs 2"]
    assert max(ruling.own.gap for ruling in verdict.rulings) == verdict.gap <= 1e-6


def test_nu_svc_is_the_c_svc_on_which_it_has_settled():
    machine = NuSVC(nu=0.4, **TIGHT).fit(X, Y, sample_weight=W)
    verdict = certify(machine, X, Y, sample_weight=W)
    C = np.abs(machine.dual_coef_).ravel().max() / W[machine.support_].max()
    losses = HINGES["hinge"](1.0 - (2 * Y - 1) * machine.decision_function(X))
    bounds = (np.abs(machine.dual_coef_).ravel() / W[machine.support_]).max() * W
    assert own(verdict) == pytest.approx(0.5 * norm_of(machine, rbf(machine, X)) + float(bounds @ losses), rel=1e-8)
    assert verdict.gap <= 1e-6 and C > 0.0 and verdict.problem.startswith("nu=0.4 settled on hinge")


def test_a_class_weight_of_nu_svc_is_not_used():
    """https://github.com/scikit-learn/scikit-learn/issues/30332"""
    verdict = certify(NuSVC(nu=0.3, class_weight={0: 3.0}, **TIGHT).fit(X, Y), X, Y)
    assert verdict.gap <= 1e-6 and "does not use it" in verdict.notes[0]


@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_svr(kind):
    machine = kind(C=3.0, **({"epsilon": 0.2} if kind is SVR else {"nu": 0.4}), **TIGHT).fit(X, T, sample_weight=W)
    verdict = certify(machine, X, T, sample_weight=W)
    residuals = T - machine.predict(X)
    epsilon = (
        0.2 if kind is SVR else np.abs(residuals[machine.support_])[np.abs(machine.dual_coef_.ravel()) < 3.0].min()
    )
    losses = TUBES["epsilon_insensitive"](residuals, epsilon)
    assert own(verdict) == pytest.approx(0.5 * norm_of(machine, rbf(machine, X)) + 3.0 * float(W @ losses), rel=1e-5)
    assert verdict.gap <= 1e-6
    assert verdict.measure == "rmse" and verdict.score == pytest.approx(np.sqrt(np.mean(residuals**2)))


def test_one_class():
    machine = OneClassSVM(nu=0.3, **TIGHT).fit(X, sample_weight=W)
    verdict = certify(machine, X, sample_weight=W)
    h, rho = machine.decision_function(X) + machine.offset_[0], machine.offset_[0]
    P = 0.5 * norm_of(machine, rbf(machine, X)) - 0.3 * W.sum() * rho + float(W @ np.maximum(rho - h, 0.0))
    assert own(verdict) == pytest.approx(P, rel=1e-8) and verdict.gap <= 1e-6
    machine.intercept_ = machine.intercept_ - 0.05  # the rho of the model counts, not the best one
    assert certify(machine, X, sample_weight=W).gap > 1e-4


@pytest.mark.parametrize("scaling", [None, 1.0, 5.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_svc(loss, scaling):
    bias = {"fit_intercept": False} if scaling is None else {"intercept_scaling": scaling}
    machine = LinearSVC(C=0.7, loss=loss, class_weight={1: 3.0}, **FIRST, **bias).fit(X, Y, sample_weight=W)
    verdict = certify(machine, X, Y, sample_weight=W)
    w, b, C = machine.coef_[0], 0.0 if scaling is None else machine.intercept_[0] / scaling, 0.7 * W * (1 + 2 * Y)
    losses = HINGES[loss](1.0 - (2 * Y - 1) * machine.decision_function(X))
    assert own(verdict) == pytest.approx(0.5 * (w @ w + b * b) + float(C @ losses), rel=1e-9)
    assert verdict.gap <= 1e-6 and verdict.score == machine.score(X, Y)


def test_a_class_weight_of_liblinear_is_for_the_class_alone():
    """One class against the rest: the rest weighs 1, whatever the weights of its classes."""
    weights = {0: 4.0, 1: 2.0, 2: 0.5}
    machine = LinearSVC(class_weight=weights, **FIRST).fit(X3, THREE)
    verdict = certify(machine, X3, THREE)
    P = 0.0
    for c in range(3):
        y, w, b = np.where(c == THREE, 1.0, -1.0), machine.coef_[c], machine.intercept_[c]
        losses = HINGES["squared_hinge"](1.0 - y * (X3 @ w + b))
        P += 0.5 * (w @ w + b * b) + float(np.where(y > 0.0, weights[c], 1.0) @ losses)
    assert own(verdict) == pytest.approx(P, rel=1e-9) and verdict.gap <= 1e-6


def test_linear_svc_with_the_l1_penalty():
    machine = LinearSVC(C=0.5, penalty="l1", **FIRST).fit(X, Y)
    verdict = certify(machine, X, Y)
    losses = HINGES["squared_hinge"](1.0 - (2 * Y - 1) * machine.decision_function(X))
    size = np.abs(machine.coef_).sum() + abs(machine.intercept_[0])
    assert own(verdict) == pytest.approx(size + 0.5 * losses.sum(), rel=1e-9) and verdict.gap <= 1e-6


@pytest.mark.slow
def test_crammer_singer():
    machine = LinearSVC(C=0.5, multi_class="crammer_singer", **FIRST).fit(X3, THREE)
    verdict = certify(machine, X3, THREE)
    h = machine.decision_function(X3)
    own_class = h[np.arange(M), THREE]
    h[np.arange(M), THREE] = -np.inf
    size = np.square(machine.coef_).sum() + np.square(machine.intercept_).sum()
    P = 0.5 * size + 0.5 * np.maximum(1.0 + h.max(axis=1) - own_class, 0.0).sum()
    assert own(verdict) == pytest.approx(P, rel=1e-9) and verdict.gap <= 1e-5


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_svr(loss):
    machine = LinearSVR(C=0.7, epsilon=0.1, loss=loss, intercept_scaling=2.0, **FIRST).fit(X, T, sample_weight=W)
    verdict = certify(machine, X, T, sample_weight=W)
    losses = TUBES[loss](T - machine.predict(X), 0.1)
    size = machine.coef_ @ machine.coef_ + (machine.intercept_[0] / 2.0) ** 2
    assert own(verdict) == pytest.approx(0.5 * size + 0.7 * float(W @ losses), rel=1e-9) and verdict.gap <= 1e-6


def with_l1(machine):
    """The machine with an l1 penalty, as the release of scikit-learn says it."""
    return machine.set_params(**({"l1_ratio": 1.0} if "deprecated" in str(machine.penalty) else {"penalty": "l1"}))


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "liblinear", "saga"])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_logistic_regression(solver, ratio):
    if (ratio and solver in ("lbfgs", "newton-cholesky")) or (ratio == 0.5 and solver == "liblinear"):
        pytest.skip("it has no such penalty")
    given = {"l1_ratio": ratio}
    if "deprecated" not in str(LogisticRegression().penalty):  # scikit-learn before 1.8
        given["penalty"] = {0: "l2", 1: "l1"}.get(ratio, "elasticnet")
    machine = LogisticRegression(
        C=0.8, solver=solver, class_weight="balanced", tol=1e-10, max_iter=100_000, random_state=0, **given
    ).fit(X, Y)
    verdict = certify(machine, X, Y)
    w, b = machine.coef_[0], machine.intercept_[0] if solver == "liblinear" else 0.0
    size = ratio * (np.abs(w).sum() + abs(b)) + 0.5 * (1.0 - ratio) * (w @ w + b * b)
    counts = np.bincount(Y)
    losses = HINGES["log_loss"](1.0 - (2 * Y - 1) * machine.decision_function(X))
    P = size + 0.8 * float((M / (2.0 * counts))[Y] @ losses)
    assert own(verdict) == pytest.approx(P, rel=1e-9) and verdict.gap <= 1e-6


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_multinomial_logistic_regression(solver, intercept):
    """P by the definition, the optimum by what a tight fit reaches, and a loose fit's distance from it."""
    weights = {0: 1.0, 1: 2.0, 2: 0.5}
    given = {"C": 0.8, "solver": solver, "fit_intercept": intercept, "class_weight": weights, "random_state": 0}
    machine = LogisticRegression(tol=1e-10, max_iter=100_000, **given).fit(X3, THREE, sample_weight=W)
    verdict = certify(machine, X3, THREE, sample_weight=W)

    def objective(machine):
        h = machine.decision_function(X3)
        h = h - h.max(axis=1, keepdims=True)
        losses = np.log(np.exp(h).sum(axis=1)) - h[np.arange(M), THREE]
        costs = 0.8 * W * np.array([1.0, 2.0, 0.5])[THREE]
        return 0.5 * np.square(machine.coef_).sum() + float(costs @ losses)

    assert own(verdict) == pytest.approx(objective(machine), rel=1e-9) and verdict.gap <= 1e-6
    assert verdict.dual <= objective(machine) * (1.0 + 1e-12)
    loose = LogisticRegression(tol=1e-10, max_iter=2, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loose.fit(X3, THREE, sample_weight=W)
    judged = certify(loose, X3, THREE, sample_weight=W, tol=1e-9)
    true = (objective(loose) - objective(machine)) / objective(loose)
    assert true > 1e-6 and judged.gap == pytest.approx(true, rel=1e-3, abs=1e-8)
    polished = judged.polished.predict_proba(X3)
    np.testing.assert_allclose(polished, machine.predict_proba(X3), atol=1e-3)


@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
@pytest.mark.parametrize("loss", HINGES)
def test_sgd_of_classes(loss, penalty):
    """It never converges tightly; P is its own objective, and a long run comes near the optimum."""
    machine = SGDClassifier(loss=loss, penalty=penalty, alpha=0.05, class_weight={1: 2.0}, random_state=0)
    machine.set_params(max_iter=2000, tol=None, learning_rate="invscaling", eta0=0.1, power_t=0.5).fit(X, Y)
    verdict = certify(machine, X, Y)
    w, ratio = machine.coef_[0], {"l2": 0.0, "l1": 1.0, "elasticnet": 0.15}[penalty]
    size = ratio * np.abs(w).sum() + 0.5 * (1.0 - ratio) * (w @ w)
    losses = HINGES[loss](1.0 - (2 * Y - 1) * machine.decision_function(X))
    assert own(verdict) == pytest.approx(0.05 * size + float((1 + Y) @ losses) / M, rel=1e-9)
    if loss == "hinge" and penalty != "l2":
        assert verdict.gap is None or verdict.gap <= 0.5  # no solver of ours has a kink with that penalty
    else:
        assert verdict.gap <= 0.02


@pytest.mark.parametrize("loss", TUBES)
def test_sgd_of_quantities(loss):
    machine = SGDRegressor(loss=loss, alpha=0.05, epsilon=0.2, max_iter=3000, tol=None, random_state=0, average=100)
    machine.fit(X, T, sample_weight=W)
    verdict = certify(machine, X, T, sample_weight=W)
    w, losses = machine.coef_, TUBES[loss](T - machine.predict(X), 0.2)
    assert own(verdict) == pytest.approx(0.025 * (w @ w) + float(W @ losses) / M, rel=1e-9) and verdict.gap <= 0.02


def test_sparse_rows():
    rows = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    for machine in (SVC(**TIGHT), LinearSVC(**FIRST), LogisticRegression(tol=1e-10)):
        assert certify(machine.fit(rows, Y), rows, Y).gap <= 1e-6


def test_text_labels():
    labels = np.where(Y, "good", "bad")
    verdict = certify(SVC(**TIGHT).fit(X, labels), X, labels)
    assert verdict.rulings[0].name == "bad vs good" and verdict.gap <= 1e-6


class Array:
    """An array on a GPU, as cupy has it: numpy reads it by `get` alone."""

    def __init__(self, values):
        self.values, self.shape = values, np.shape(values)

    def get(self):
        return self.values


def cuml_of(machine):
    """What cuML's SVC and SVR hold, by their documentation, of the same fit; vectors are not sorted by class."""
    order = RNG.permutation(len(machine.support_))
    held = {"support_": machine.support_[order], "support_vectors_": machine.support_vectors_[order].astype(np.float32)}
    held |= {"dual_coef_": machine.dual_coef_[:, order], "intercept_": machine.intercept_}
    more = {"kernel": "rbf", "gamma": "scale", "C": machine.C, "tol": 1e-9, "max_iter": -1, "fit_status_": 0}
    kind = type(machine).__name__
    attributes = {name: Array(values) for name, values in held.items()} | more | {"n_support_": len(order)}
    if kind == "SVC":
        attributes["classes_"] = Array(machine.classes_)
    else:
        attributes["epsilon"] = machine.epsilon
    of_class = type(kind, (), {"__module__": "cuml.svm", "predict": lambda self, rows: machine.predict(rows)})
    estimator = of_class()
    vars(estimator).update(attributes)
    return estimator


@pytest.mark.parametrize("kind", [SVC, SVR])
def test_the_attributes_of_cuml(kind):
    rows = X.astype(np.float32)
    answers = Y if kind is SVC else T
    machine = kind(C=2.0, **TIGHT).fit(rows.astype(np.float64), answers)
    verdict = certify(cuml_of(machine), rows, answers)
    assert verdict.software == f"cuml {kind.__name__}" and verdict.gap <= 1e-5 and verdict.claim.converged
    assert verdict.primal == pytest.approx(certify(machine, rows, answers).primal, rel=1e-5) and not verdict.notes


def test_a_bias_of_cuml_is_free():
    """LinearSVC with penalized_intercept=False."""
    machine = SVC(kernel="linear", C=2.0, **TIGHT).fit(X, Y)
    of_class = type("LinearSVC", (), {"__module__": "cuml.svm", "predict": lambda self, rows: machine.predict(rows)})
    estimator = of_class()
    held = {"coef_": Array(machine.coef_), "intercept_": Array(machine.intercept_), "classes_": machine.classes_}
    vars(estimator).update(held | {"C": 2.0, "loss": "hinge", "penalty": "l2"})
    vars(estimator).update({"fit_intercept": True, "penalized_intercept": False})
    assert certify(estimator, X, Y).gap <= 1e-6


def test_the_attributes_of_snapml():
    """regularizer / 2 |w|^2 + sum of losses, as its fits of the squared hinge show, which do converge."""
    machine = LinearSVC(C=0.5, **FIRST).fit(X, Y)
    of_class = type("SupportVectorMachine", (), {"__module__": "snapml", "predict": lambda self, A: machine.predict(A)})
    estimator = of_class()
    held = {"coef_": machine.coef_, "intercept_": machine.intercept_, "classes_": machine.classes_, "model_": X}
    held |= {"regularizer": 2.0, "fit_intercept": True, "intercept_scaling": 1.0, "loss": "squared_hinge"}
    vars(estimator).update(held)
    verdict = certify(estimator, X, Y)
    assert verdict.gap <= 1e-6 and own(verdict) == pytest.approx(2.0 * certify(machine, X, Y).primal)


def torchkm(name, machine, alpha, intercept):
    """An estimator of TorchKM by its attributes, with the kernel exp(-0.3 |x - z|^2) and C=2."""
    of_class = type(name, (), {"__module__": "torchkm.estimators", "predict": lambda self, A: machine.predict(A)})
    estimator = of_class()
    held = {"alpha_": alpha, "X_fit_": X, "intercept_": intercept, "classes_": machine.classes_.astype(object)}
    held |= {"kernel": "rbf", "kernel_state_": {"sigma": 0.15}, "best_C_": 2.0, "low_rank": False, "tol": 1e-5}
    held |= {"max_iter": 1000, "converged_": np.array([False, True]), "best_ind_": 1}
    vars(estimator).update(held)
    return estimator


def test_the_attributes_of_torchkm():
    """K = exp(-2 sigma |x - z|^2), all rows are vectors, and small coefficients may have the wrong sign."""
    machine = SVC(C=2.0, gamma=0.3, **TIGHT).fit(X, Y)
    alpha = np.zeros(M)
    alpha[machine.support_] = machine.dual_coef_[0]
    alpha += 1e-9 * RNG.normal(size=M)
    verdict = certify(torchkm("TorchKMSVC", machine, alpha, machine.intercept_[0]), X, Y, time_limit=0)
    assert verdict.rulings[0].own.gap <= 1e-5 and verdict.claim.converged


def test_the_logistic_loss_of_torchkm():
    """C times the sum of log(1 + exp(-y h)) + alpha'K alpha / 2, as scipy minimises it."""
    machine = SVC(C=2.0, gamma=0.3).fit(X, Y)
    y, K = np.where(machine.classes_[1] == Y, 1.0, -1.0), rbf_kernel(X, gamma=0.3)

    def objective(point):
        alpha, b = point[:-1], point[-1]
        image = K @ alpha
        margin, pull = y * (image + b), -2.0 * y * expit(-y * (image + b))
        P = 0.5 * alpha @ image + 2.0 * np.logaddexp(0.0, -margin).sum()
        return P, np.append(image + K @ pull, pull.sum())

    found = minimize(objective, np.zeros(M + 1), jac=True, method="L-BFGS-B", options={"maxiter": 20_000, "gtol": 1e-9})
    verdict = certify(torchkm("TorchKMLogit", machine, found.x[:-1], found.x[-1]), X, Y)
    assert verdict.primal == pytest.approx(found.fun, rel=1e-9)
    assert 0.0 <= verdict.gap <= 1e-3


def test_what_its_own_word_hides():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped = certify(SVC(C=100.0, max_iter=20).fit(X, Y), X, Y)
        warned = certify(LinearSVC(tol=1e-12, max_iter=6, random_state=0).fit(X, Y), X, Y)
    assert stopped.claim.converged is False and stopped.gap > 0.01 and stopped.hidden is None
    assert "fit_status_ 1, 20 iterations of at most 20" in stopped.claim.words
    assert warned.claim.converged is False and warned.hidden.startswith(
        "it says that it has not converged: P is within"
    )
    loose = certify(SGDClassifier(random_state=0).fit(X, Y), X, Y)
    assert loose.claim.converged and loose.hidden.startswith("it says that it has converged: P is at least")
    assert 0.0 < loose.gain <= loose.gap


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        ({"C": 2.0}, "with C=1"),
        ({"loss": "squared_hinge"}, "with loss=hinge"),
        ({"bias": 1.0}, "with bias=free"),
        ({"class_weight": {0: 1.0, 1: 3.0}}, "with other class weights"),
    ],
)
def test_its_own_word_about_another_problem_is_none_about_this_one(problem, says):
    machine = SVC(C=1.0, class_weight={0: 1.0, 1: 2.0}).fit(X, (Y > 0).astype(int))
    same = certify(machine, X, (Y > 0).astype(int), C=1.0)
    other = certify(machine, X, (Y > 0).astype(int), **problem)
    assert same.claim.converged and "with" not in same.claim.words
    assert other.claim.converged is None and other.claim.words.endswith(says) and other.hidden is None
    assert other.gap > same.gap


@pytest.mark.parametrize("machine", [SVC(), OneClassSVM(), SVR()], ids=lambda machine: type(machine).__name__)
def test_our_solver_keeps_to_the_memory(machine, monkeypatch):
    made = []
    monkeypatch.setattr(
        posed, "Gram", lambda *given, **options: made.append(options["memory"]) or Gram(*given, **options)
    )
    certify(machine.fit(X, Y), X, Y, polish=True, memory="3MB")
    assert made == ["3MB"]


def test_an_indefinite_kernel_has_no_bound():
    verdict = certify(SVC(kernel="sigmoid", gamma=2.0).fit(X, Y), X, Y)
    assert verdict.dual is None and verdict.gap is None and "not positive semidefinite" in verdict.flaw


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (LogisticRegression(C=np.inf).fit(X, Y), "without a penalty"),
        (with_l1(LogisticRegression(C=0.1, solver="saga", max_iter=5)).fit(X3, THREE), "multinomial"),
        (SGDClassifier(loss="perceptron").fit(X, Y), "loss=perceptron of SGDClassifier has no certificate"),
        (SGDClassifier(penalty=None).fit(X, Y), "without a penalty"),
        (SVC(), "SVC is not fitted"),
        (SimpleNamespace(), f"cannot judge a SimpleNamespace: those that are read are {', '.join(READERS)}"),
    ],
    ids=["none", "multinomial", "perceptron", "sgd", "unfitted", "other"],
)
def test_what_has_no_certificate(machine, says):
    with pytest.raises(ValueError, match=says) as told:
        certify(machine, X, Y)
    assert "\n" not in str(told.value)
