"""Stochastic solvers on streams: blocks, columns and classes as they come, going on from models."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise
from support.problems import blobs, make
from support.stochastic import means
from support.stream import feed, weights

from svmkit import SVMClassifier, SVMModel, SVMRegressor, fit
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.functions import RBF, Linear
from svmkit.losses import Expectile, Huber, Quantile, SmoothedHinge, SquaredError
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Iterations
from svmkit.training.stream.online import Online
from svmkit.training.stream.subproblem import WAITING

LINEAR = Linear()
GAMMA = RBF(0.5)
STREAMS = [
    ("sgd", {}, LINEAR),
    ("sgd", {"loss": "squared_hinge"}, LINEAR),
    ("folos", {}, LINEAR),
    ("folos", {"penalty": "l1"}, LINEAR),
    ("pegasos", {}, LINEAR),
    ("pegasos", {"batch": 7, "project": True}, LINEAR),
    ("pegasos", {}, GAMMA),
    ("pegasos", {"batch": 5}, GAMMA),
    ("norma", {}, GAMMA),
    ("norma", {"tau": 60}, GAMMA),
]
every_stream = pytest.mark.parametrize(
    ("name", "options", "kernel"), STREAMS, ids=lambda v: getattr(v, "name", None) or str(v)
)


def online(name, options, kernel, classes=(-1, 1), **others):
    return Online(classes, solver=make(name, **options), kernel=kernel, **others)


def decision(learner, X):
    return learner.model().decision_function(X)


# --- one pass, whatever the blocks


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [1, 7, 64])
@every_stream
def test_blocks_equal_the_whole(name, options, kernel, size, storage):
    X, y = blobs(150, 3, seed=1)
    want = feed(online(name, options, kernel), X, y, 150)
    got = feed(online(name, options, kernel), storage(X), y, size)
    np.testing.assert_allclose(decision(got, X), decision(want, X), rtol=1e-6, atol=1e-8)
    assert got.samples == 150 and got.bound is None
    assert want.n_iter == 1 and got.n_iter <= -(-150 // size)
    fitted = got.to_fit(Status.MAX_ITER)
    assert fitted.gap is None and fitted.dual_objective is None and fitted.status is Status.MAX_ITER


def test_pegasos_is_the_papers_with_lambda_of_the_arrivals_so_far():
    X, y = blobs(100, 3)
    learner = feed(online("pegasos", {"average": "none"}, LINEAR, C=0.3), X, y, 30)
    w = np.zeros(4)
    for t, (x, label) in enumerate(zip(np.column_stack([X, np.ones(100)]), y, strict=True), 1):
        lam = 1.0 / (0.3 * t)
        eta = 1.0 / (lam * t)
        w = (1.0 - eta * lam) * w + eta * label * x * (label * (w @ x) < 1.0)
    np.testing.assert_allclose(decision(learner, X), X @ w[:3] + w[3], rtol=1e-9)


def test_sgd_takes_t0_from_the_arrivals():
    X, y = blobs(100, 3)
    share = np.random.default_rng(0).uniform(0.5, 2.0, size=100)
    learner = online("sgd", {"average": "mean"}, LINEAR, C=0.5)
    learner.update(X[:40], y[:40], share[:40])
    learner.update(X[40:], y[40:], share[40:])
    Xb, w, iterates = np.column_stack([X, np.ones(100)]), np.zeros(4), []
    for t in range(1, 101):
        C = 0.5 * share[:t]
        lam, t0 = 1.0 / C.sum(), C @ (Xb[:t] ** 2).sum(axis=1)  # eta0 = 1 / the mean of |x|^2
        eta, x, label = 1.0 / (lam * (t + t0)), Xb[t - 1], y[t - 1]
        loss = C[-1] / C.mean() * (label * (w @ x) < 1.0)
        w = w - eta * (lam * w - loss * label * x)
        iterates.append(w)
    want = means(iterates, "mean")
    np.testing.assert_allclose(decision(learner, X), Xb @ want, rtol=1e-9)


# --- losses other than the hinge

LOSSES = [Huber(delta=0.3), Quantile(tau=0.8), SquaredError(), Expectile(tau=0.8), SmoothedHinge(delta=0.5)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def of_stream(solver, loss, kernel, **options):
    kind = SVMRegressor if loss.task == "regress" else SVMClassifier
    return kind(make(solver, loss=loss, **options), kernel=kernel, C=0.4)


def samples_for(loss, m):
    X, y = blobs(m, 3, seed=2)
    return X, y if loss.task == "classify" else X @ [1.0, -0.5, 0.2] + 0.3 * np.random.default_rng(1).normal(size=m)


def learn(model, X, target, cuts):
    for part in np.split(np.arange(len(X)), cuts):
        model.partial_fit(X[part], target[part], **({} if isinstance(model, SVMRegressor) else {"classes": [-1, 1]}))
    return model


def decided(model, X):
    return model.predict(X) if isinstance(model, SVMRegressor) else model.decision_function(X)


@pytest.mark.parametrize(
    ("solver", "kernel"), [("sgd", LINEAR), ("folos", LINEAR), ("pegasos", GAMMA), ("norma", GAMMA)]
)
@every_loss
def test_a_stream_learns_by_every_loss_however_it_is_cut(solver, kernel, loss):
    X, target = samples_for(loss, 400)
    model = learn(of_stream(solver, loss, kernel), X, target, [60, 100, 101, 300])
    h = decided(model, X)
    other = decided(learn(of_stream(solver, loss, kernel), X, target, [60, 250]), X)
    np.testing.assert_allclose(other, h, rtol=1e-6, atol=1e-8)
    empty = loss.value(target.astype(np.float64), np.zeros(len(X))).mean()
    assert loss.value(target.astype(np.float64), h).mean() < 0.6 * empty
    assert model.model_.about["minimised"]["loss"] == loss.name


@every_loss
def test_pegasos_on_a_stream_by_hand(loss):
    """w' = (1 - 1 / t) w + C slope x, where a step ends at the point without a loss; the slope is a difference."""
    X, target = samples_for(loss, 120)
    model, w, d = learn(of_stream("pegasos", loss, LINEAR, average="none"), X, target, [50]), np.zeros(4), 1e-6
    Xb = np.column_stack([X, np.ones(len(X))])
    for t, (x, y) in enumerate(zip(Xb, target.astype(np.float64), strict=True), 1):
        below, above = (loss.value(np.array([y]), np.array([w @ x + step]))[0] for step in (-d, d))
        slope = 0.4 * (below - above) / (2.0 * d)
        e = abs(y - w @ x) / (x @ x)
        slope = slope if loss.name == "quantile" else np.clip(slope, -e, e)
        w = (1.0 - 1.0 / t) * w + slope * x
    np.testing.assert_allclose(decided(model, X), Xb @ w, rtol=1e-4, atol=1e-5)


def test_a_stream_refuses_a_loss_of_another_task():
    with pytest.raises(
        InputError, match="loss=huber is for regression; losses of classes: hinge, logistic, smoothed_hinge"
    ):
        SVMClassifier("sgd", kernel="linear", loss="huber").partial_fit(np.eye(2), [0, 1], classes=[0, 1])
    with pytest.raises(InputError, match="loss=smoothed_hinge is for classes; losses of regression: absolute_error"):
        SVMRegressor("sgd", kernel="linear", loss="smoothed_hinge").partial_fit(np.eye(2), [0.5, 1.5])


def test_norma_keeps_the_last_tau():
    X, y = blobs(200, 3)
    learner = feed(online("norma", {"tau": 20}, GAMMA), X, y, 30)
    K = pairwise.rbf_kernel(X, gamma=0.5) + 1.0
    c, queue = np.zeros(200), []
    for t in range(1, 201):  # the step of a stream: eta C, and lambda = 1 / (C t)
        i = t - 1
        loses = y[i] * (K[i] @ c) < 1.0
        c *= 1.0 - 0.2 / t
        if loses:
            c[i] = 0.2 * y[i]
            queue.append(i)
        if len(queue) > 20:
            c[queue.pop(0)] = 0.0
    np.testing.assert_allclose(weights(learner, 200), c, rtol=1e-9, atol=1e-12)
    assert learner.n_working == learner.n_support == 20 == len(learner.to_fit(Status.MAX_ITER).support)


def test_max_support_is_tau():
    X, y = blobs(200, 3)
    learner = online("norma", {}, GAMMA, max_support=20)
    for lo in range(0, 200, 25):
        learner.update(X[lo : lo + 25], y[lo : lo + 25])
        assert sum(learner.model().n_support) <= 20
    want = feed(online("norma", {"tau": 20}, GAMMA), X, y, 25)
    np.testing.assert_allclose(decision(learner, X), decision(want, X), rtol=1e-9)
    with pytest.raises(InputError, match="sgd keeps to no budget"):
        online("sgd", {}, LINEAR, max_support=20)


@every_stream
def test_it_learns(name, options, kernel):
    X, y = blobs(3000, 3, shift=1.2)
    options = options | ({"tau": 500} if "tau" in options else {})
    learner = feed(online(name, options, kernel), X[:2000], y[:2000], 250)
    assert (learner.model().predict(X[2000:]) == y[2000:]).mean() > 0.95
    assert learner.accuracy > 0.9 and np.isnan(learner.history[-1].objective)
    if kernel is LINEAR:
        assert learner.pairs[0].rows.X.shape[0] < 260  # no row is kept but those that wait for a mini-batch


# --- what comes late


@pytest.mark.parametrize(("name", "options"), [("sgd", {}), ("folos", {"penalty": "l1"}), ("pegasos", {"batch": 3})])
def test_columns_grow(name, options):
    rng = np.random.default_rng(0)
    X, y = np.where(rng.random((200, 6)) < 0.5, rng.normal(size=(200, 6)), 0.0), blobs(200)[1]
    X[:50, 4:], X[50:120, 5:] = 0.0, 0.0
    want = feed(online(name, options, LINEAR), X, y, 200)
    learner = online(name, options, LINEAR)
    for lo, hi, width in ((0, 50, 4), (50, 120, 5), (120, 160, 6), (160, 200, 6)):
        learner.update(sp.csr_array(X[lo:hi, :width]), y[lo:hi])
        assert learner.model().n_features == width
    np.testing.assert_allclose(decision(learner, X), decision(want, X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("name", "kernel"), [("sgd", LINEAR), ("pegasos", GAMMA)])
def test_classes_that_come_late_or_never(name, kernel):
    X, y = load_iris(return_X_y=True)  # sorted by class
    learner, rng = Online([0, 1, 2], solver=name, kernel=kernel), np.random.default_rng(0)
    learner.update(X[:30], y[:30])
    assert learner.n_iter == 0 and (learner.model().predict(X) == 0).all()
    for rows in (np.arange(30, 90), np.arange(20, 150)):
        rng.shuffle(rows)
        learner.update(X[rows], y[rows])
        seen = rows.max() + 1 if rows.max() < 100 else 150
        assert (learner.model().predict(X[:seen]) == y[:seen]).mean() > (0.9 if seen == 100 else 0.6)
        assert seen == 150 or not (learner.model().predict(X) == 2).any()


def test_rows_of_one_class_wait_within_bounds():
    X, y = blobs(6 * WAITING, 2)
    learner = Online([-1, 1], solver="sgd", kernel=LINEAR)
    with pytest.warns(SvmkitWarning, match="shuffle"):
        for lo in range(0, 3 * WAITING, 512):
            learner.update(X[y > 0][lo : lo + 512], np.ones(512)[: len(X[y > 0][lo : lo + 512])])
    learner.update(X[y < 0][:5], -np.ones(5))
    assert learner.pairs[0].waiting is None and learner.pairs[0].seen == WAITING + 5


@pytest.mark.parametrize(("name", "kernel"), [("sgd", LINEAR), ("pegasos", GAMMA), ("norma", GAMMA)])
def test_three_classes_are_three_pairs(name, kernel):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], np.array(["a", "b", "c"])[y[order]]
    learner = feed(Online(["c", "a", "b"], solver=name, kernel=kernel), X, y, 40)
    whole = learner.model().decision_function(X)
    for k, (plus, minus) in enumerate((("a", "b"), ("a", "c"), ("b", "c"))):
        at = (y == plus) | (y == minus)
        pair = feed(Online([-1, 1], solver=name, kernel=kernel), X[at], np.where(y[at] == plus, 1, -1), 1000)
        np.testing.assert_allclose(whole[:, k], pair.model().decision_function(X), rtol=1e-6, atol=1e-8)


# --- going on


@pytest.mark.parametrize(("name", "options"), [("pegasos", {}), ("pegasos", {"project": True}), ("norma", {})])
def test_pegasos_and_norma_go_on_as_if_they_had_not_stopped(name, options, tmp_path):
    kernel = GAMMA if name == "norma" else LINEAR
    options = options | {"average": "none"}
    X, y = blobs(300, 3)
    whole = feed(online(name, options, kernel), X, y, 50)
    first = feed(online(name, options, kernel), X[:200], y[:200], 50)
    first.model().save(tmp_path / "m.model")
    learner = online(name, options, kernel, start=SVMModel.load(tmp_path / "m.model"))
    np.testing.assert_allclose(decision(learner, X), decision(first, X), rtol=1e-9)
    feed(learner, X[200:], y[200:], 50)
    assert learner.samples == 100 and learner.model().about["n_samples"] == 300
    np.testing.assert_allclose(decision(learner, X), decision(whole, X), rtol=1e-6, atol=1e-8)


@every_stream
def test_going_on_stays_near(name, options, kernel):
    X, y = blobs(1000, 3, shift=1.2)
    model = feed(online(name, options, kernel, scale="standard"), X[:800], y[:800], 100).model()
    learner = online(name, options, kernel, start=model)
    np.testing.assert_allclose(decision(learner, X), model.decision_function(X), rtol=1e-8, atol=1e-10)
    learner.update(X[800:], y[800:])
    assert (learner.model().predict(X) == y).mean() > (model.predict(X) == y).mean() - 0.02
    assert learner.input.scaling is model.scaling


def test_a_linear_solver_goes_on_from_any_linear_model():
    X, y = blobs(400, 3)
    for solver in ("smo", "dcd", "sfw", "sgd"):
        model = fit(X[:300], y[:300], solver=solver, kernel=LINEAR, stop=Iterations(300)).model
        learner = Online([-1, 1], solver="sgd", kernel=LINEAR, start=model)
        np.testing.assert_allclose(decision(learner, X), model.decision_function(X), rtol=1e-9, atol=1e-12)
        learner.update(np.hstack([X[300:], X[300:, :1]]), y[300:])  # a column more
        assert learner.model().n_features == 4 and learner.pairs[0].seen == 400
    for solver in ("sfw", "norma"):
        with pytest.raises(InputError, match=f"a model of sgd with {solver}: it has weights of the columns"):
            Online([-1, 1], solver=solver, kernel=LINEAR, start=model)


def test_going_on_with_three_classes():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    for name, kernel in (("sgd", LINEAR), ("pegasos", GAMMA)):
        model = feed(Online([0, 1, 2], solver=name, kernel=kernel), X[:90], y[:90], 30).model()
        learner = Online([0, 1, 2], solver=name, kernel=kernel, start=model)
        np.testing.assert_allclose(decision(learner, X), model.decision_function(X), atol=1e-9)
        feed(learner, X[90:], y[90:], 30)
        assert [pair.seen for pair in learner.pairs] == [60 + k for k in np.bincount(y[90:]) @ (1 - np.eye(3))[::-1]]
