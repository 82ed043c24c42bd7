"""Learning from blocks: the model of one pass in one go, whatever the blocks; a refusal leaves the model alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from support.problems import SOLVERS, blobs, make, problem_of
from support.stream import feed, weights

from svmkit import SVMModel, plugins
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.functions import RBF, Linear
from svmkit.runtime import interrupt
from svmkit.solver.capabilities import LearnsFromStreams
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Cyclic
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Epochs
from svmkit.training.stream.online import Online
from svmkit.training.stream.subproblem import WAITING

STREAMING = [name for name in SOLVERS if issubclass(plugins.load("solver", name), LearnsFromStreams)]  # of SimplexQP
every_stream = pytest.mark.parametrize("name", STREAMING)
GAMMA = RBF(0.5)


def in_one_go(problem, name):
    """One pass in the order of the data, from the first sample."""
    start = np.zeros(problem.m)
    start[0] = 1.0
    return solve(problem, make(name), sampler=Cyclic(1), stop=Epochs(1), start=start)


def test_the_solvers_that_stream():
    assert {"sfw", "msfw"} <= set(STREAMING)


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("size", [1, 7, 64, 300])
@every_stream
def test_blocks_equal_the_whole(name, size, storage):
    X, y = blobs(300, 3, seed=1)
    whole = in_one_go(problem_of(X, y, kernel=GAMMA), name)
    online = feed(Online([-1, 1], solver=name, kernel=GAMMA), storage(X), y, size)
    assert online.n_iter == whole.n_iter == online.samples == 300
    np.testing.assert_allclose(weights(online, 300), whole.point, atol=1e-12)
    assert online.bound == pytest.approx(whole.certificate.dual, rel=1e-10)
    fitted = online.to_fit(Status.MAX_ITER)
    assert fitted.gap is None and fitted.dual_objective == online.bound and fitted.status is Status.MAX_ITER
    np.testing.assert_array_equal(np.sort(fitted.support), np.flatnonzero(whole.point))
    found = problem_of(X, y, kernel=GAMMA).decision_function(whole.point, whole.certificate)
    np.testing.assert_allclose(fitted.model.coef[0], found.coef[fitted.support], rtol=1e-8, atol=1e-12)
    assert fitted.model.intercept[0] == pytest.approx(found.intercept, rel=1e-8)


@pytest.mark.float32
@every_stream
def test_scarce_memory_and_float32_samples_change_little(name):
    X, y = blobs(400, 3)
    want = feed(Online([-1, 1], solver=name, kernel=GAMMA), X, y, 50)
    for given, memory in ((X, 20_000), (X.astype(np.float32), "1GB"), (X.astype(np.float32), 20_000)):
        online = feed(Online([-1, 1], solver=name, kernel=GAMMA, memory=memory), given, y, 50)
        np.testing.assert_allclose(weights(online, 400), weights(want, 400), atol=2e-3)
        assert online.bound == pytest.approx(want.bound, rel=1e-3)
        assert online.model().vectors.dtype == given.dtype


def test_the_bound_is_below_the_optimum_of_all_samples():
    X, y = blobs(250, 3)
    optimum = solve(problem_of(X, y, kernel=GAMMA), make("swap2o")).certificate
    online = Online([-1, 1], kernel=GAMMA)
    bounds = [feed(online, X[lo : lo + 50], y[lo : lo + 50], 50).bound for lo in range(0, 250, 50)]
    assert bounds == sorted(bounds) and bounds[-1] <= optimum.primal
    later = feed(online, X[:50], y[:50], 50)
    assert later.bound >= bounds[-1]


def test_only_the_working_set_stays():
    X, y = blobs(2000, 3, shift=2.0)
    online = feed(Online([-1, 1], kernel=GAMMA), X, y, 100)
    assert online.n_working < 400
    assert online.pairs[0].rows.X.shape[0] <= online.n_working + 100


@pytest.mark.parametrize("most", [1, 2, 20])
@every_stream
def test_max_support_is_kept(name, most):
    X, y = blobs(300, 3)
    online = Online([-1, 1], solver=name, kernel=GAMMA, max_support=most)
    for lo in range(0, 300, 40):
        online.update(X[lo : lo + 40], y[lo : lo + 40])
        assert sum(online.model().n_support) <= most


def test_class_and_sample_weights_are_weights_of_C():
    X, y = blobs(120, 3)
    share = np.random.default_rng(0).integers(0, 3, size=120).astype(float)
    C = 0.7 * np.where(y > 0, 2.0, 1.0) * share
    taken = share > 0
    whole = in_one_go(problem_of(X[taken], y[taken], C[taken], GAMMA), "msfw")
    online = Online([-1, 1], solver="msfw", kernel=GAMMA, C=0.7, class_weight={"1": 2.0})
    for lo in range(0, 120, 30):
        online.update(X[lo : lo + 30], y[lo : lo + 30], share[lo : lo + 30])
    np.testing.assert_allclose(weights(online, 120)[taken], whole.point, atol=1e-12)
    assert online.samples == 120 and online.n_iter == taken.sum()


@pytest.mark.parametrize("size", [5, 40, 150])
def test_three_classes_are_three_pairs(size):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], np.array(["a", "b", "c"])[y[order]]
    online = feed(Online(["c", "a", "b"], kernel=GAMMA), X, y, size)
    model = online.model()
    assert model.classes.tolist() == ["a", "b", "c"] and (model.predict(X) == y).mean() > 0.9
    for k, (plus, minus) in enumerate((("a", "b"), ("a", "c"), ("b", "c"))):
        rows = np.flatnonzero((y == plus) | (y == minus))
        whole = in_one_go(problem_of(X[rows], np.where(y[rows] == plus, 1.0, -1.0), kernel=GAMMA), "sfw")
        np.testing.assert_allclose(weights(online, 150, k)[rows], whole.point, atol=1e-12)
    support = online.to_fit(Status.MAX_ITER).support
    np.testing.assert_array_equal(model.vectors, X[support])
    assert len(np.unique(support)) == len(support)
    assert (model.classes[np.repeat([0, 1, 2], model.n_support)] == y[support]).all()


def test_classes_that_come_late_or_never():
    X, y = load_iris(return_X_y=True)  # sorted by class
    online = Online([0, 1, 2], kernel=GAMMA)
    online.update(X[:30], y[:30])
    assert online.bound == 0.0 and online.n_iter == 0
    assert (online.model().predict(X) == 0).all()
    online.update(X[30:90], y[30:90])
    model = online.model()
    assert (model.predict(X[:100]) == y[:100]).mean() > 0.95 and not (model.predict(X) == 2).any()
    online.update(X[90:], y[90:])
    assert (online.model().predict(X) == y).mean() > 0.9
    whole = in_one_go(problem_of(X[:100], np.where(y[:100] == 0, 1.0, -1.0), kernel=GAMMA), "sfw")
    np.testing.assert_allclose(weights(online, 150)[:100], whole.point, atol=1e-12)


def test_rows_of_one_class_wait_within_bounds():
    X, y = blobs(20 * WAITING, 2)
    one, other = X[y > 0], X[y < 0]
    online = Online([-1, 1], kernel=GAMMA)
    with pytest.warns(SvmkitWarning, match="shuffle"):
        for lo in range(0, 5 * WAITING, 512):
            online.update(one[lo : lo + 512], np.ones(512))
    assert len(online.pairs[0].waiting.y) == WAITING
    online.update(other[:5], -np.ones(5))
    assert online.pairs[0].waiting is None and online.n_iter == WAITING + 5


def test_accuracy_is_measured_before_learning():
    X, y = blobs(300, 3)
    online = Online([-1, 1], kernel=GAMMA)
    right = tested = 0
    for lo in range(0, 300, 60):
        block = slice(lo, lo + 60)
        if lo:
            right, tested = right + (online.model().predict(X[block]) == y[block]).sum(), tested + 60
        else:
            assert online.accuracy is None
        online.update(X[block], y[block])
    assert online.accuracy == right / tested and tested == 240
    assert online.history[-1].n_iter == 300 and online.history[-1].accuracy == online.accuracy
    assert feed(Online([-1, 1], kernel=GAMMA), X, y, 60, test=False).accuracy is None


@pytest.mark.parametrize(("solver", "kernel"), [("sfw", GAMMA), ("sgd", Linear())])
def test_the_first_block_is_not_cut_short_before_two_classes_are_in_the_model(solver, kernel):
    X, y = blobs(30)
    order = np.argsort(y, kind="stable")  # the samples of one class first
    X, y = X[order], y[order]
    online = Online(np.unique(y), solver=solver, kernel=kernel)
    first = int(np.sum(y == y[0])) + 1
    learned = online.update(X, y, until=lambda: True)
    assert first <= learned == online.samples and (learned == first or solver == "sgd")  # which takes a block at once
    assert (online.seen > 0).all() and set(online.model().predict(X)) <= set(y)
    assert online.update(X, y, until=lambda: True) == 0  # of a later block nothing has to be learned


@pytest.mark.parametrize("classes", [2, 3])
def test_cut_short_in_the_middle_of_a_block(classes):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(50 * classes)
    X, y = X[order], y[order]
    online = Online(range(classes), kernel=GAMMA)
    online.update(X[:40], y[:40])
    asked = iter([False] * 17)
    learned = online.update(X[40:90], y[40:90], until=lambda: next(asked, True))
    assert 17 <= learned < 50 and online.samples == 40 + learned
    assert online.n_iter == (57 if classes == 2 else online.n_iter)
    online.update(X[90:], y[90:])
    support = online.to_fit(Status.MAX_ITER).support
    np.testing.assert_array_equal(online.model().vectors, X[support])
    if classes == 2:
        assert not set(support) & set(range(57, 90))


def test_a_raised_flag_ends_the_block():
    X, y = blobs(60)
    online = Online([-1, 1], kernel=GAMMA)
    with interrupt.catching() as flag:
        online.update(X[:30], y[:30])

        def ctrl_c():
            flag.raised = online.pairs[0].n_iter == 37
            return False

        assert online.update(X[30:50], y[30:50], until=ctrl_c) == 8  # seen before the step after
        assert online.samples == online.n_iter == 38
        assert online.update(X[50:], y[50:]) == 10  # raised before: the caller knows


@every_stream
def test_going_on_from_a_model(name, tmp_path):
    X, y = blobs(300, 3)
    first = feed(Online([-1, 1], solver=name, kernel=RBF("scale"), scale="standard"), X[:200], y[:200], 50)
    first.model().save(tmp_path / "m.model")
    model = SVMModel.load(tmp_path / "m.model")
    online = Online([-1, 1], solver=name, kernel=RBF("scale"), start=model)
    same = online.model()
    np.testing.assert_allclose(same.decision_function(X), model.decision_function(X), rtol=1e-9)
    assert online.bound == pytest.approx(first.bound) and online.samples == 0
    for learner in (online, first):
        feed(learner, X[200:], y[200:], 50)
    assert online.samples == 100 and online.tested == 100
    assert online.bound == pytest.approx(first.bound, rel=0.02)
    assert (online.model().predict(X) == first.model().predict(X)).mean() > 0.9


def test_going_on_from_a_model_of_three_classes():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    model = feed(Online([0, 1, 2], kernel=GAMMA), X[:90], y[:90], 30).model()
    online = Online([0, 1, 2], kernel=GAMMA, start=model)
    np.testing.assert_allclose(online.model().decision_function(X), model.decision_function(X), atol=1e-9)
    feed(online, X[90:], y[90:], 30)
    whole = feed(Online([0, 1, 2], kernel=GAMMA), X, y, 30)
    assert online.bound == pytest.approx(whole.bound, rel=0.02)


@pytest.mark.parametrize("other", [{"classes": [0, 1]}, {"kernel": Linear()}])
def test_going_on_needs_the_same_classes_and_kernel(other):
    X, y = blobs(60)
    model = feed(Online([-1, 1], kernel=GAMMA), X, y, 60).model()
    with pytest.raises(InputError, match="must be the same"):
        Online(**{"classes": [-1, 1], "kernel": GAMMA} | other, start=model)


@pytest.mark.parametrize(("name", "kernel"), [("sfw", GAMMA), ("msfw", GAMMA), ("pegasos", GAMMA), ("sgd", Linear())])
@pytest.mark.parametrize("pairs", [0, 1, 2])
def test_a_block_whose_solver_fails_leaves_the_model_alone(monkeypatch, name, kernel, pairs):
    """No class pair keeps the block, whichever the failing one is, and the next blocks are learned from."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    online = Online(np.unique(y), solver=name, kernel=kernel)
    online.update(X[:60], y[:60])
    online.update(X[60:90], y[60:90])
    before, samples = online.model(), online.samples
    counts = online.n_iter, online.tested, online.correct, online.kernel_values
    kind, step, seen = type(online.solver), type(online.solver).step, []

    def fails(self, state):
        if not any(state is other for other in seen):
            seen.append(state)
        info = step(self, state)
        if len(seen) > pairs:
            raise RuntimeError("no more")
        return info

    monkeypatch.setattr(kind, "step", fails)
    with pytest.raises(RuntimeError, match="no more"):
        online.update(X[90:120], y[90:120])
    monkeypatch.undo()
    after = online.model()
    np.testing.assert_allclose(after.decision_function(X), before.decision_function(X), rtol=0, atol=1e-12)
    assert (online.samples, online.n_iter, online.tested, online.correct, online.kernel_values) == (samples, *counts)
    online.update(X[90:], y[90:])
    assert online.samples == 150 and online.model().about["n_samples"] == 150
    assert (online.model().predict(X) == y).mean() > 0.6
