"""What blocks may look like, and what is refused: widths, storages, NaN, labels, options, kernels."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import blobs
from support.stream import feed, weights

from svmkit import plugins
from svmkit.errors import InputError, SvmkitError
from svmkit.kernels.functions import RBF, Kernel, Linear, Precomputed
from svmkit.solver.solution import Status
from svmkit.training.stream.online import Online

GAMMA = RBF(0.5)


def test_columns_grow_and_gamma_and_scaling_are_those_of_the_first_block():
    rng = np.random.default_rng(0)
    X, y = sp.csr_array(np.where(rng.random((200, 6)) < 0.5, rng.normal(size=(200, 6)), 0.0)), blobs(200)[1]
    first = sp.csr_array(X[:50, :4])
    online = Online([-1, 1], kernel=RBF("scale"), scale="maxabs")
    online.update(first, y[:50])
    kernel, scale = online.input.kernel, online.input.scaling.scale
    online.update(sp.csr_array(X[50:120, :5]), y[50:120])
    assert online.model().n_features == 5
    online.update(X[120:], y[120:])
    online.update(first, y[:50])  # narrower again
    assert online.input.kernel == kernel and online.input.n_features == 6
    np.testing.assert_array_equal(online.input.scaling.scale, [*scale, 1.0, 1.0])
    assert online.model().predict(X).shape == (200,)
    dense = feed(Online([-1, 1], kernel=RBF("scale"), scale="standard"), X.toarray(), y, 50)
    assert dense.input.scaling.kind == "standard" and isinstance(dense.model().vectors, np.ndarray)


def test_storage_is_that_of_the_first_block():
    X, y = blobs(100)
    for first, second in ((X[:50], sp.csr_array(X[50:])), (sp.csr_array(X[:50]), X[50:])):
        online = Online([-1, 1], kernel=GAMMA)
        online.update(first, y[:50])
        online.update(second, y[50:])
        assert sp.issparse(online.model().vectors) == sp.issparse(first)
        np.testing.assert_allclose(
            weights(online, 100), weights(feed(Online([-1, 1], kernel=GAMMA), X, y, 50), 100), atol=1e-12
        )


def test_wide_indices_and_readonly_arrays():
    X, y = blobs(90)
    wide = sp.csr_array(X)
    wide = sp.csr_array((wide.data, wide.indices.astype(np.int64), wide.indptr.astype(np.int64)), shape=wide.shape)
    given, labels = X.copy(), y.copy()
    given.setflags(write=False), labels.setflags(write=False)
    want = feed(Online([-1, 1], kernel=GAMMA), X, y, 30)
    for A in (wide, given):
        np.testing.assert_allclose(
            weights(feed(Online([-1, 1], kernel=GAMMA), A, labels, 30), 90), weights(want, 90), atol=1e-12
        )


def test_the_callers_array_may_be_filled_anew():
    X, y = blobs(120)
    buffer = np.empty((30, 3))
    online = Online([-1, 1], kernel=GAMMA)
    for lo in range(0, 120, 30):
        buffer[:] = X[lo : lo + 30]
        online.update(buffer, y[lo : lo + 30])
    want = feed(Online([-1, 1], kernel=GAMMA), X, y, 30)
    np.testing.assert_allclose(weights(online, 120), weights(want, 120), atol=1e-12)


BAD = {
    "nan": (lambda X, y: (np.where(np.arange(len(y))[:, None] == 3, np.nan, X), y), "NaN at row 4"),
    "unannounced": (lambda X, y: (X, np.where(np.arange(len(y)) == 2, 7, y)), "7.* at row 3 .*announced: -1, 1"),
    "text": (lambda X, y: (X, y.astype(str)), "announced"),
    "half": (lambda X, y: (X, y / 2), "continuous"),
    "short": (lambda X, y: (X, y[1:]), "labels, but X has"),
    "empty": (lambda X, y: (X[:0], y[:0]), r"0 sample\(s\)"),
    "flat": (lambda X, y: (X[0], y), "2D array"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("late", [False, True])
def test_a_refused_block_changes_nothing(case, late):
    X, y = blobs(90)
    spoil, words = BAD[case]
    online = Online([-1, 1], kernel=GAMMA)
    if late:
        feed(online, X[:60], y[:60], 60)
    with pytest.raises(InputError, match=words) as error:
        online.update(*spoil(X[60:], y[60:]))
    assert "\n" not in str(error.value)
    assert online.samples == (60 if late else 0) and online.tested == 0
    online.update(X[60:], y[60:])
    assert online.samples == (90 if late else 30)


def test_refused_weights_change_nothing():
    X, y = blobs(40)
    online = Online([-1, 1], kernel=GAMMA)
    for bad in (-np.ones(40), np.ones(3), np.full(40, np.nan)):
        with pytest.raises(InputError, match="sample_weight"):
            online.update(X, y, bad)
    assert online.samples == 0
    with pytest.raises(InputError, match="no samples"):
        online.model()
    with pytest.raises(InputError, match="no samples"):
        online.to_fit(Status.MAX_ITER)


HUGE = {
    "weights": (None, lambda X: X, {"sample_weight": np.full(40, 1e300)}, "finite"),
    "scaling": ("standard", lambda X: 1.7e308 * np.sign(X), {}, "spans more"),
    "variance": ("standard", lambda X: np.where(np.arange(40)[:, None] == 3, 1e307, 1e-300 * X), {}, "spans more"),
    "gamma": (None, lambda X: 1e150 * X, {}, "gamma"),
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("case", HUGE)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_refused_first_block_settles_nothing(case, classes):
    """Gamma, scaling, width and storage are those of the next block, as if the first one had never been."""
    scale, spoil, weights, words = HUGE[case]
    X, y = blobs(40)[0], np.arange(40) % classes
    online, fresh = (Online(range(classes), kernel=RBF("scale"), C=1e30, scale=scale) for _ in range(2))
    with pytest.raises(InputError, match=words):
        online.update(spoil(X), y, **weights)
    assert online.input.scaling is None and online.input.kernel == RBF("scale") and online.samples == 0
    good = 0.1 * X[:, :2] if scale else sp.csr_array(0.1 * X[:, :2])
    for learner in (online, fresh):
        learner.update(good, y)
    assert online.input.kernel == fresh.input.kernel and online.input.n_features == 2
    assert sp.issparse(online.model().vectors) == sp.issparse(good)
    np.testing.assert_array_equal(online.model().decision_function(good), fresh.model().decision_function(good))


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("scale", [None, "maxabs"])
def test_a_refused_later_block_leaves_width_and_model(scale):
    X, y = blobs(90)
    options = {"kernel": RBF("scale"), "scale": scale, "C": 1e30}
    online, fresh = (feed(Online([-1, 1], **options), 1e-9 * X[:60], y[:60], 30) for _ in range(2))
    wide = np.hstack([X[60:], X[60:]])
    with pytest.raises(InputError, match="finite"):
        online.update(wide, y[60:], np.full(30, 1e300))
    if scale:
        with pytest.raises(InputError, match="scaled X"):
            online.update(1e308 * np.sign(wide), y[60:])
    assert online.input.n_features == X.shape[1] and online.samples == 60
    for learner in (online, fresh):
        learner.update(1e-9 * X[60:], y[60:])
    np.testing.assert_array_equal(online.model().decision_function(X), fresh.model().decision_function(X))


class Odd(Kernel):
    """Not by name, but a kernel all the same."""

    name = "odd"

    def block(self, X, Z):
        return X @ Z.T

    def diag(self, X):
        return (X**2).sum(axis=1)


def test_a_kernel_of_ones_own_streams():
    X, y = blobs(80)
    own, ours = (feed(Online([-1, 1], kernel=kernel), X, y, 30) for kernel in (Odd(), Linear()))
    np.testing.assert_allclose(weights(own, 80), weights(ours, 80), atol=1e-10)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solver": "swap2o"}, "swap2o does not learn from streams; these do: .*msfw.*sfw"),
        ({"class_weight": "balanced"}, "needs all labels"),
        ({"class_weight": {3: 1.0}}, "class_weight"),
        ({"classes": [1]}, "two labels or more"),
        ({"classes": []}, "empty"),
        ({"kernel": Precomputed()}, "precomputed"),
        ({"C": -1.0}, "C must be"),
        ({"max_support": 0}, "max_support"),
        ({"memory": "lots"}, "memory"),
    ],
)
def test_refused_from_the_start(options, words):
    with pytest.raises(InputError, match=words):
        Online(**{"classes": [-1, 1], "kernel": GAMMA} | options)


def test_a_problem_that_the_solver_refuses_is_not_begun():
    class Particular(plugins.load("solver", "sfw")):
        def check(self, problem):
            raise InputError("not this one")

    X, y = blobs(40)
    online = Online([-1, 1], solver=Particular(), kernel=GAMMA)
    with pytest.raises(InputError, match="not this one"):
        online.update(X, y)
    assert online.samples == 0


def test_scaling_that_cannot_be_is_refused_at_the_first_block():
    X, y = blobs(40)
    with pytest.raises(InputError, match="maxabs"):
        Online([-1, 1], kernel=GAMMA, scale="minmax").update(sp.csr_array(X), y)
    with pytest.raises(InputError, match="scaling"):
        Online([-1, 1], kernel=GAMMA, scale="odd").update(X, y)


def test_an_indefinite_kernel_is_no_model():
    X, y = blobs(60)
    online = Online([-1, 1], kernel=plugins.build("kernel", "sigmoid", {"gamma": 1.0, "coef0": -3.0}), C=100.0)
    with pytest.raises(SvmkitError, match="semidefinite"):
        feed(online, X, y, 20)
