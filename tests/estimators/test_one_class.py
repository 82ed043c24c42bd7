"""SVMOneClass: the optimum by quadprog, what its constraints say, offsets and weights, scikit-learn's outlier API."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import pairwise, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM
from support.checks import parametrize_with_checks_and_tight
from support.problems import FAMILY, SUBLINEAR, blobs, make

from svmkit import InputError, Status, SVMModel, SVMOneClass
from svmkit.kernels.functions import RBF, Poly
from svmkit.tasks import task_named

LOOSE = "tol=1e-3 is looser than the check's 1e-7, and gamma='scale' does not see sample weights, as in OneClassSVM"
DEFAULT_FAILS = {
    "check_sample_weight_equivalence_on_dense_data": LOOSE,
    "check_sample_weight_equivalence_on_sparse_data": LOOSE,
}
# With squared slacks the gap of P and D is the square of the distance: 1e-13 leaves 1e-7 of the largest score.
TIGHT = 1e-13
TIGHT_FAILS = dict.fromkeys(DEFAULT_FAILS, "its 1e-7 of the smallest score take a gap of 1e-17")


@parametrize_with_checks_and_tight(
    [SVMOneClass(), SVMOneClass(contamination=0.1), SVMOneClass(loss="hinge", nu=0.5, gamma=0.1, tol=1e-12)],
    [SVMOneClass(gamma=0.1, tol=TIGHT)],
    lambda estimator: {1e-3: DEFAULT_FAILS, TIGHT: TIGHT_FAILS}.get(estimator.tol, {}),
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def points(m=60, d=3, seed=0):
    return blobs(m, d, seed=seed)[0]


def qp(K, ridge):
    """alpha that minimises alpha'(K + diag(ridge)) alpha over the simplex, by quadprog."""
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    m = len(K)
    A = K + np.diag(np.broadcast_to(ridge, m))
    simplex = np.hstack([np.ones((m, 1)), np.eye(m)])
    alpha = quadprog.solve_qp(A, np.zeros(m), simplex, np.eye(m + 1)[0], 1)[0]
    return np.maximum(alpha, 0.0) / np.maximum(alpha, 0.0).sum()


def dense(model, m):
    alpha = np.zeros(m)
    alpha[model.support_] = model.dual_coef_[0]
    return alpha


@pytest.mark.parametrize("nu", [0.01, 0.5])
@pytest.mark.parametrize("name", FAMILY)
def test_equals_quadprog(name, nu):
    X = points()
    tol = 1e-3 if name in SUBLINEAR else 1e-9
    solver = make(name, away="support") if name == "msfw" else name
    model = SVMOneClass(solver, nu=nu, gamma=0.5, tol=tol).fit(X)
    K = pairwise.rbf_kernel(X, gamma=0.5)
    ridge = nu * 60 / 2
    best = qp(K, ridge)
    rho = best @ K @ best + ridge * best @ best
    assert model.status_ is Status.CONVERGED and model.gap_ <= tol
    assert model.rho_ == pytest.approx(rho, rel=2 * tol + 1e-9)
    if name not in SUBLINEAR:
        np.testing.assert_allclose(dense(model, 60), best, atol=1e-5)
        np.testing.assert_allclose(model.score_samples(X), K @ best, atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.25, 0.5])
def test_nu_is_the_share_of_training_outliers_at_most(loss, nu):
    X = np.random.default_rng(3).normal(size=(90, 3))
    share = np.mean(SVMOneClass(loss=loss, nu=nu, tol=1e-8).fit(X).predict(X) < 0)
    assert nu - 2 / 90 < share <= nu
    if loss == "squared_hinge":
        given = SVMOneClass(loss=loss, nu=nu, tol=1e-8, contamination=nu).fit(X)
        assert share == int(nu * 90) / 90 == np.mean(given.predict(X) < 0)
        wide = SVMOneClass(loss=loss, nu=4.0).fit(X)  # as soft as one likes, and no more than half are outliers
        assert np.mean(wide.predict(X) < 0) == 0.5 and wide.offset_ < wide.rho_


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_what_the_constraints_say(kernel):
    """rho = w'phi(x_i) + xi_i with 2 C xi_i = alpha_i on the support, w'phi(x_i) >= rho off it; mean xi = nu / 2."""
    X, nu = points(80) + 3.0, 0.05
    model = SVMOneClass(kernel=kernel, gamma=0.3, degree=2, coef0=1.0, nu=nu, tol=1e-10).fit(X)
    alpha, scores, rho = dense(model, 80), model.score_samples(X), model.rho_
    xi = np.maximum(0.0, rho - scores)
    np.testing.assert_allclose(xi, alpha * nu * 80 / 2, atol=1e-5 * rho)
    assert xi.mean() == pytest.approx(nu / 2, rel=1e-4)
    norm = alpha @ scores
    primal, dual = norm / 2 - rho + np.sum(np.square(xi)) / (nu * 80), -rho / 2
    assert primal == pytest.approx(dual, rel=1e-6)  # the derivation: no gap between the two
    np.testing.assert_array_equal(model.predict(X) < 0, scores < model.offset_)


@pytest.mark.parametrize(
    ("solver", "most", "nu"),
    [
        *((solver, most, nu) for solver, most in (("swap", 25), ("swap2o", 60), ("sfw", 300)) for nu in (0.003, 0.1)),
        ("fcfw", 1, 0.003),
        ("fcfw", 1, 0.001),
    ],
)
def test_the_gap_is_that_of_the_primal_at_the_best_rho(solver, most, nu):
    X = points(80)
    model = SVMOneClass(solver, nu=nu, gamma=0.5, max_iter=most, tol=1e-12).fit(X)
    alpha, scores = dense(model, 80), model.score_samples(X)
    f = alpha @ scores + nu * 80 / 2 * alpha @ alpha

    def primal(rho: float) -> float:
        return alpha @ scores / 2 - rho + np.square(np.maximum(0.0, rho - scores)).sum() / (nu * 80)

    best = minimize_scalar(primal, bracket=(scores.min(), scores.max()), tol=1e-12).fun
    assert (best + f / 2) / (f / 2) > 1e-9
    assert model.gap_ == pytest.approx((best + f / 2) / max(f / 2, abs(best)), rel=1e-5)


def test_large_nu_is_the_parzen_window():
    X = points()
    model = SVMOneClass(nu=1e6, gamma=0.5).fit(X)
    np.testing.assert_allclose(model.score_samples(X), pairwise.rbf_kernel(X, gamma=0.5).mean(axis=1), atol=1e-3)


@pytest.mark.parametrize("contamination", [0.01, 0.1, 0.25, 0.5])
@pytest.mark.parametrize("m", [33, 100, 101])
def test_contamination_is_the_share_of_training_outliers(contamination, m):
    X = points(m)
    model = SVMOneClass(contamination=contamination).fit(X)
    labels = model.predict(X)
    assert (labels < 0).sum() == int(contamination * m + 1e-9)
    assert set(labels.tolist()) <= {-1, 1} and labels.dtype.kind == "i"
    np.testing.assert_array_equal(labels, SVMOneClass(contamination=contamination).fit_predict(X))
    scores = model.score_samples(X)
    np.testing.assert_array_equal(model.decision_function(X), scores - model.offset_)
    np.testing.assert_array_equal(scores, SVMOneClass().fit(X).score_samples(X))


def test_equal_scores_fall_on_one_side():
    X = np.repeat(points(10), 10, axis=0)
    model = SVMOneClass(contamination=0.25, tol=1e-8).fit(X)
    assert (model.predict(X) < 0).sum() == 20
    assert (SVMOneClass(contamination=0.5).fit(np.ones((8, 2))).predict(np.ones((8, 2))) == 1).all()


def test_scores_of_all_that_is_far_away_still_differ():
    model = SVMOneClass(gamma=1.0, contamination=0.1).fit(points())
    far = np.array([[9.0, 0.0, 0.0], [10.0, 0.0, 0.0], [11.0, 0.0, 0.0]])
    scores = model.score_samples(far)
    assert (np.diff(scores) < 0.0).all() and scores[0] < 1e-17


@pytest.mark.parametrize("contamination", ["auto", 0.2])
def test_weights_are_repetitions(contamination):
    X = points(50)
    weights = np.random.default_rng(1).integers(0, 4, size=50)
    options = {"gamma": 0.5, "tol": 1e-10, "contamination": contamination}
    weighted = SVMOneClass(**options).fit(X, sample_weight=weights)
    repeated = SVMOneClass(**options).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)
    assert not set(weighted.support_.tolist()) & set(np.flatnonzero(weights == 0).tolist())
    scaled = SVMOneClass(**options).fit(X, sample_weight=0.1 * weights)
    np.testing.assert_allclose(scaled.decision_function(X), weighted.decision_function(X), atol=1e-6)
    K = pairwise.rbf_kernel(X, gamma=0.5)[np.ix_(weights > 0, weights > 0)]
    best = qp(K, 0.01 * weights.sum() / (2 * weights[weights > 0]))
    np.testing.assert_allclose(dense(weighted, 50)[weights > 0], best, atol=1e-5)


def test_every_form_of_the_data():
    X, Z = points(), points(20, seed=9)
    options = {"gamma": 0.5, "tol": 1e-8}
    want = SVMOneClass(**options).fit(X)
    scores = want.score_samples(Z)
    np.testing.assert_array_equal(want.support_vectors_, X[want.support_])
    assert want.dual_coef_.shape == (1, len(want.support_)) and want.n_features_in_ == 3
    assert want.history_[-1].n_iter == want.n_iter_ and want.certificate_.gap == want.gap_
    for train, test in ((sp.csr_array(X), sp.csr_array(Z)), (X.astype(np.float32), Z), (X.tolist(), Z.tolist())):
        np.testing.assert_allclose(SVMOneClass(**options).fit(train).score_samples(test), scores, atol=1e-5)
    rbf = lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.5)
    for kernel in (RBF(0.5), rbf):
        np.testing.assert_allclose(SVMOneClass(kernel=kernel, tol=1e-8).fit(X).score_samples(Z), scores, atol=1e-5)
    weights = np.r_[np.zeros(5), np.ones(55)]
    given = SVMOneClass(kernel="precomputed", tol=1e-8).fit(rbf(X, X), sample_weight=weights)
    plain = SVMOneClass(**options).fit(X, sample_weight=weights)
    np.testing.assert_allclose(given.score_samples(rbf(Z, X)), plain.score_samples(Z), atol=1e-5)
    np.testing.assert_array_equal(given.support_vectors_, given.support_)


@pytest.mark.parametrize(
    "change",
    [lambda X: np.repeat(X, 2, axis=0), lambda X: np.column_stack([X, np.full(len(X), 7.0)]), lambda X: X[::-1]],
    ids=["duplicates", "constant feature", "permutation"],
)
def test_the_same_data_in_other_words(change):
    X = points()
    options = {"gamma": 0.5, "tol": 1e-9}
    want = SVMOneClass(**options).fit(X)
    found = SVMOneClass(**options).fit(change(X))
    assert found.rho_ == pytest.approx(want.rho_, rel=1e-7)
    np.testing.assert_allclose(found.score_samples(change(X)), change(want.score_samples(X)[:, None])[:, 0], atol=1e-5)


def test_one_sample():
    model = SVMOneClass().fit([[1.0, 2.0]])
    assert model.rho_ == pytest.approx(1.0 + 0.01 / 2) and model.dual_coef_ == 1.0


def test_outliers_are_found_as_by_libsvm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    Z, normal = np.r_[rng.normal(size=(200, 5)), rng.uniform(-6, 6, size=(200, 5))], np.repeat([1, 0], 200)
    ours, theirs = (roc_auc_score(normal, m.fit(X).score_samples(Z)) for m in (SVMOneClass(), OneClassSVM(nu=0.1)))
    assert ours > theirs - 0.01 and ours > 0.95


def test_models_are_saved_and_predict_alone(tmp_path):
    X, Z = points(), points(30, seed=4)
    model = SVMOneClass(contamination=0.1).fit(X)
    model.model_.save(tmp_path / "normal.svmkit")
    loaded = SVMModel.load(tmp_path / "normal.svmkit")
    np.testing.assert_array_equal(loaded.predict(Z), model.predict(Z))
    np.testing.assert_allclose(loaded.decision_function(Z), model.decision_function(Z), atol=1e-14)


def test_budgets_seeds_and_samplers():
    X = points(200)
    assert SVMOneClass(nu=0.001, max_iter=5).fit(X).status_ is Status.MAX_ITER
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        assert SVMOneClass(nu=0.001, time_limit=1e-6).fit(X).status_ is Status.TIME_LIMIT
    small = SVMOneClass(max_support=10).fit(X)
    assert small.status_ is Status.MAX_SUPPORT and len(small.support_) == 10
    assert SVMOneClass(nu=0.001, stop="abs:1e-2").fit(X).n_iter_ < SVMOneClass(nu=0.001).fit(X).n_iter_
    options = {"sampler": "uniform:30", "random_state": 3}
    first, second = (SVMOneClass(**options).fit(X).dual_coef_ for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert clone(SVMOneClass("mfw", nu=0.2)).get_params()["nu"] == 0.2
    made = make_pipeline(StandardScaler(), SVMOneClass(kernel=Poly(0.5, 2, 1.0))).fit(X)
    assert made.predict(X).shape == (200,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nu": 0.0}, "nu must be a finite number > 0, not 0.0"),
        ({"nu": "half"}, "nu must be"),
        ({"nu": np.nan}, "nu must be"),
        ({"contamination": 0.0}, r"contamination must be auto or a number in \(0, 0.5\], not 0.0"),
        ({"contamination": 0.6}, "contamination must be"),
        ({"contamination": "some"}, "contamination must be"),
        (
            {"loss": "hinge", "nu": 1.1},
            "nu=1.1 is infeasible: with loss=hinge it bounds fractions of the samples, 0 < nu",
        ),
        ({"loss": "absolute"}, "loss must be hinge or squared_hinge, not 'absolute'"),
        ({"loss": "hinge", "solver": "swap"}, "solver swap solves SimplexQP, not OneClassQP; OneClassQP: auto, fcsmo"),
        ({"loss": "hinge", "nu": 0.5, "max_support": 29}, "nu=0.5 of 60 samples needs at least 30 support vectors"),
        ({"solver": "swapp"}, "did you mean swap"),
        ({"kernel": "gauss"}, "there are: "),
        ({"tol": -1.0}, "needs a number > 0"),
        ({"memory": "much"}, "is not a size"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        SVMOneClass(**options).fit(points())


def test_wrong_calls():
    X = points()
    with pytest.raises(NotFittedError):
        SVMOneClass().predict(X)
    with pytest.raises(InputError, match="weights are zero for all samples"):
        SVMOneClass().fit(X, sample_weight=np.zeros(60))
    for weights in (np.ones(5), -np.ones(60), np.full(60, np.nan)):
        with pytest.raises(InputError, match="sample_weight must be 60 finite numbers"):
            SVMOneClass().fit(X, sample_weight=weights)
    with pytest.raises(InputError, match="needs one C for all samples"):
        SVMOneClass("cvm").fit(X, sample_weight=np.arange(1.0, 61.0))
    for two_columns in (X[:, :2], sp.csr_array(X[:, :2])):
        with pytest.raises(InputError, match="2 features, but SVMOneClass is expecting 3 features"):
            SVMOneClass().fit(X).predict(two_columns)


HINGE = ["auto", "smo", "fcsmo"]


@pytest.mark.parametrize("nu", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("solver", HINGE)
def test_the_hinge_equals_scikit_learn(solver, nu):
    X, Z = points(200), points(40, seed=7)
    weights = np.random.default_rng(2).integers(0, 4, size=200).astype(float)
    for weight in (None, weights):
        ours = SVMOneClass(solver, loss="hinge", nu=nu, gamma=0.2, tol=1e-10).fit(X, sample_weight=weight)
        theirs = OneClassSVM(nu=nu, gamma=0.2, tol=1e-10).fit(X, sample_weight=weight)
        size = float(theirs.offset_[0])
        np.testing.assert_allclose(ours.score_samples(Z), theirs.score_samples(Z), atol=1e-6 * size)
        np.testing.assert_allclose(ours.decision_function(Z), theirs.decision_function(Z), atol=1e-6 * size)
        alpha = theirs.dual_coef_[0]
        objective = -0.5 * alpha @ pairwise.rbf_kernel(theirs.support_vectors_, gamma=0.2) @ alpha
        assert ours.certificate_.primal == pytest.approx(objective, rel=1e-6)
        np.testing.assert_array_equal(ours.predict(Z), theirs.predict(Z))


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.25, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("m", [40, 101])
def test_nu_bounds_the_fractions_with_the_hinge(m, nu):
    X = points(m)
    for tol in (1e-2, 1e-8):
        model = SVMOneClass(loss="hinge", nu=nu, tol=tol).fit(X)
        assert (model.predict(X) < 0).mean() <= nu * (1.0 + 1e-9) <= len(model.support_) / m * (1.0 + 2e-9)
        assert model.offset_ == pytest.approx(model.rho_, rel=1e-9)


def test_nu_bounds_the_weights_with_the_hinge():
    X = points(100)
    weights = np.random.default_rng(5).uniform(0.1, 3.0, 100)
    model = SVMOneClass(loss="hinge", nu=0.3, tol=1e-8).fit(X, sample_weight=weights)
    assert weights[model.predict(X) < 0].sum() <= 0.3 * weights.sum() <= weights[model.support_].sum()


def test_contamination_and_files_with_the_hinge(tmp_path):
    X, Z = points(100), points(30, seed=3)
    model = SVMOneClass(loss="hinge", nu=0.5, contamination=0.1).fit(X)
    assert (model.predict(X) < 0).sum() == 10
    plain = SVMOneClass(loss="hinge", nu=0.5).fit(X)
    np.testing.assert_array_equal(model.score_samples(Z), plain.score_samples(Z))
    model.model_.save(tmp_path / "normal.svmkit")
    np.testing.assert_array_equal(SVMModel.load(tmp_path / "normal.svmkit").predict(Z), model.predict(Z))
    assert model.model_.about["loss"] == "hinge"


@pytest.mark.parametrize("nu", [0.1, 0.9])
@pytest.mark.parametrize("solver", ["smo", "fcsmo"])
def test_samples_around_the_origin_end_soon(solver, nu):
    """With the linear kernel w = 0 is optimal: the optimum is 0, near which relative gaps are never small."""
    model = SVMOneClass(solver, loss="hinge", kernel="linear", nu=nu)
    with pytest.warns(ConvergenceWarning, match="rounding errors allow no smaller one; .*: take the RBF kernel"):
        model.fit(points(300, 2) - points(300, 2).mean(axis=0))
    assert model.status_ is Status.STALLED and model.n_iter_ < 200_000
    # P grows as |w|, D as its square: an average slack of 1e-5 is a D of 1e-7
    assert -1e-7 < model.certificate_.dual <= 0.0 <= model.certificate_.primal < 1e-5 * nu * 300


@pytest.mark.slow
def test_kernels_and_limits_with_the_hinge():
    X, Z = points(120), points(20, seed=3)
    options = {"loss": "hinge", "nu": 0.2, "tol": 1e-10}
    want = SVMOneClass(gamma=0.3, **options).fit(X).decision_function(Z)
    rbf = lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.3)
    np.testing.assert_allclose(SVMOneClass(kernel=rbf, **options).fit(X).decision_function(Z), want, atol=1e-5)
    given = SVMOneClass(kernel="precomputed", **options).fit(rbf(X, X))
    np.testing.assert_allclose(given.decision_function(rbf(Z, X)), want, atol=1e-5)
    few = SVMOneClass(loss="hinge", nu=0.2, max_support=25, tol=1e-10).fit(X)
    assert few.status_ is Status.MAX_SUPPORT and 24 <= len(few.support_) <= 25
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        assert SVMOneClass("fcsmo", time_limit=1e-6, **options).fit(X).status_ is Status.TIME_LIMIT
    assert SVMOneClass(max_iter=3, **options).fit(X).status_ is Status.MAX_ITER


def test_the_labels_of_outliers_are_their_codes_and_nothing_else_is():
    task = task_named("outliers")
    answers = task.encode_truth([1, -1, 1.0], 3)
    assert (answers.classes.tolist(), answers.codes.tolist(), answers.targets) == ([-1, 1], [1, 0, 1], None)
    for y in (None, [1, -1], [1, -1, 0], ["1", "-1", "1"]):
        with pytest.raises(InputError, match="-1 for an outlier and 1 for all others"):
            task.encode_truth(y, 3)
