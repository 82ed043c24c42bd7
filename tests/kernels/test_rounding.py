"""The bounds on rounding hold against long double, for every kernel and storage, on ordinary and on hostile data."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from support.exact import LONG, exact_values

from svmkit.kernels.engines import engine_for
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import RBF, FromFunction, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.by_class import SharedKernel
from svmkit.kernels.gram.matrix import ArrayMatrix, CachedMatrix, MatrixGram
from svmkit.kernels.rounding import product_error

pytestmark = pytest.mark.usefixtures("one_pool")
M, D = 300, 7


def normal(seed=0, share=0.6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(M, D)) * (rng.random((M, D)) < share)


def twins():
    """Pairs of rows that differ in the last digits, where cancellation shows."""
    X = normal(1, 1.0)
    X[1::2] = X[::2] * (1.0 + 1e-9)
    return X


DATA = {
    "normal": normal(),
    "offset 1e3": normal(share=1.0) + 1e3,
    "offset 1e6": normal(share=1.0) + 1e6,
    "offset 1e8": normal(share=1.0) + 1e8,
    "twins": twins(),
    "outlier": np.vstack([normal(2)[:-1], np.full((1, D), 1e5)]),
    "huge": 1e10 * normal(3),
    "tiny": 1e-10 * normal(4),
    "denormal": 1e-310 * normal(5),
    "zero": np.zeros((M, D)),
    "equal rows": np.full((M, D), 0.1),
}
KERNELS = [Linear(), RBF(0.5), RBF(1e4), RBF(1e-8), Laplacian(0.3), Poly(0.5, 3, 1.0), Poly(0.1, 2), Sigmoid(0.1, -0.5)]
STORAGES = {"dense": np.ascontiguousarray, "csr": sp.csr_array}


def described(kernel):
    return "-".join(map(str, [kernel.name, *kernel.params.values()]))


def require_bounds(gram, truth, seed=0):
    """Every value within `error` and `largest`, and every entry of a product within `product_error`."""
    engine, every, rng = gram.engine, np.arange(gram.m), np.random.default_rng(seed)
    got = engine.block(engine.take(every), np.empty((gram.m, gram.m))).T
    assert (np.abs(got - truth) <= engine.error).all()
    assert (np.abs(truth) <= engine.largest).all()
    for coef in (rng.normal(size=gram.m), np.exp(30.0 * rng.normal(size=gram.m)), np.ones(gram.m)):
        for idx in (every, np.sort(rng.permutation(gram.m)[:17]), every[:1]):
            difference = gram.matvec(coef[idx], idx) - truth[:, idx] @ coef[idx].astype(LONG)
            assert (np.abs(difference) <= gram.product_error(coef[idx])).all()


@pytest.mark.parametrize("loops", ["numpy"], indirect=True)
@pytest.mark.parametrize("kernel", KERNELS, ids=described)
@pytest.mark.parametrize("name", DATA)
def test_values_by_numpy_are_within_their_bounds(name, kernel, loops):
    X = DATA[name]
    gram = Gram(kernel, X)
    assert gram.engine.few or gram.engine.cancels or kernel.name == "laplacian"
    require_bounds(gram, exact_values(kernel, X, X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["X64", "X32"])
@pytest.mark.parametrize("stored", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize("kernel", KERNELS, ids=described)
@pytest.mark.parametrize("name", DATA)
def test_values_and_products_are_within_their_bounds(name, kernel, stored, dtype):
    X = stored(DATA[name].astype(dtype))
    require_bounds(Gram(kernel, X), exact_values(kernel, X, X))


@pytest.mark.parametrize("stored", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize("scale", [1e160, 1e300, 1e-160])
@pytest.mark.parametrize("kernel", [RBF(0.5), RBF(1e-8), Laplacian(0.3)], ids=described)
def test_distances_that_overflow_are_within_their_bounds(kernel, scale, stored):
    X = stored(scale * normal())
    gram = Gram(kernel, X)
    require_bounds(gram, exact_values(kernel, X, X))
    assert (gram.engine.block(gram.engine.take(np.arange(M)), np.empty((M, M))).diagonal() == 1.0).all()


@pytest.mark.parametrize("stored", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize("kernel", KERNELS, ids=described)
@pytest.mark.parametrize("name", ["normal", "offset 1e6", "outlier"])
def test_class_pairs_are_within_their_bounds(name, kernel, stored):
    X = stored(DATA[name])
    members = [np.arange(c, M, 3) for c in range(3)]
    shared = SharedKernel(kernel, X, members, 1 << 20)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        rows = np.concatenate([members[a], members[b]])
        require_bounds(shared.gram(a, b), exact_values(kernel, X[rows], X[rows]))


@pytest.mark.parametrize("stored", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize("kernel", [Linear(), RBF(1e-6), Poly(0.5, 3, 1.0)], ids=described)
def test_values_with_others_are_within_bounds_for_the_farthest_of_both(kernel, stored):
    near, far = stored(normal(share=1.0)), stored(1e3 * normal(1, share=1.0))
    for X, Z in ((near, far), (far, near)):
        engine, truth = engine_for(kernel, X, Extent.measure(kernel, Z)), exact_values(kernel, Z, X)
        assert (np.abs(engine.block(Z, np.empty((M, M))) - truth) <= engine.error).all()
        assert (np.abs(truth) <= engine.largest).all()


@pytest.mark.parametrize("stored", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["K64", "K32"])
def test_given_values_have_no_error(stored, dtype):
    K = exact_values(RBF(0.5), normal(), normal()).astype(dtype)
    gram = Gram(Precomputed(), stored(K))
    assert gram.engine.error == 0.0
    require_bounds(gram, K.astype(LONG))


@pytest.mark.parametrize("made", [ArrayMatrix, lambda A: CachedMatrix(lambda idx: A[idx], np.diag(A).copy(), 1 << 16)])
def test_matrices_are_within_their_bounds(made):
    A = exact_values(RBF(0.5), normal(), normal()).astype(np.float64)
    require_bounds(MatrixGram(made(A), 1 << 20), A.astype(LONG))


def test_a_kernel_of_someone_else_is_taken_to_be_as_exact_as_a_sum_of_products():
    X = normal()
    gram = Gram(FromFunction(lambda A, B: A @ B.T), X)
    require_bounds(gram, exact_values(Linear(), X, X))


def test_bounds_grow_with_the_size_of_the_coefficients_and_are_zero_without_any():
    gram = Gram(RBF(0.5), normal())
    assert gram.product_error(np.zeros(0)) == 0.0
    assert 0.0 < gram.product_error(np.ones(10)) < gram.product_error(np.full(10, -2.0)) < 1e-11
    assert gram.product_error(np.full(10, 1e308)) == math.inf


def test_values_that_are_all_too_large_by_their_bound_are_within_the_bound_of_a_product():
    value = 2.0**-20
    assert product_error(value, 1.0, 256, 8, 8.0) >= 8.0 * value


@pytest.mark.parametrize(("n", "panel"), [(900, 1000), (2000, 40)])
def test_a_sum_by_panels_that_loses_all_it_can_is_within_the_bound_of_a_product(n, panel):
    """Each panel begins with a number next to which all others of it are lost."""
    u = 2.0**-53
    terms = np.where(np.arange(n) % panel, u, np.where(np.arange(n) < panel, 1.0, 2.0 * u))
    total = 0.0
    for lo in range(0, n, panel):
        part = 0.0
        for term in terms[lo : lo + panel]:
            part += float(term)
        total += part
    size = sum(Fraction(float(term)) for term in terms)
    off = abs(Fraction(total) - size)
    assert min(n, panel) * 0.9 * u < off <= product_error(0.0, 1.0, panel, n, float(size))


def test_a_product_that_is_remembered_for_coefficients_next_to_its_own_is_within_the_bound():
    gram, coef, other = Gram(Precomputed(), np.eye(3)), np.ones(1), np.array([1.0 + 8.0 * 2.0**-53])
    known = gram.matvec(coef, np.arange(1))
    assert gram.matvec(other, np.arange(1))[0] == known[0] == 1.0
    assert gram.product_error(other) >= other[0] - 1.0


def test_vectors_far_from_the_origin_are_centred():
    X = np.random.default_rng(0).normal(size=(50, 3)) + 1e5
    extent = Extent.measure(RBF(1.0), X)
    np.testing.assert_allclose(extent.origin, X.mean(axis=0))
    assert extent.reach == pytest.approx(np.square(X - X.mean(axis=0)).sum(axis=1).max())
    assert Extent.measure(RBF(1.0), X - 1e5).origin.size == 0


@pytest.mark.parametrize("panel", [1, 16, 256])
def test_the_bound_of_a_product_counts_the_additions_of_narrow_panels(panel):
    """An engine for wide data sums panels of few rows: as many sums are added up, one after the other."""
    n = 10_000
    gram = Gram(Linear(), np.ones((n, 1)))
    gram.engine.panel = panel
    steps = panel + n // panel
    assert gram.product_error(np.ones(n)) >= product_error(gram.engine.error, gram.engine.largest, panel, n, float(n))
    assert gram.product_error(np.ones(n)) >= (min(steps, n)) * 2.0**-53 * n
