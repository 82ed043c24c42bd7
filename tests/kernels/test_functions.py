"""Kernels equal scikit-learn's, in every storage, and refuse parameters that make no sense."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from sklearn.metrics import pairwise
from sklearn.svm import SVC
from support.storages import frozen

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.engines import engine_for
from svmkit.kernels.functions import RBF, FromFunction, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.kernels.gamma import resolve_gamma
from svmkit.kernels.gram import Gram
from svmkit.kernels.loops.arithmetic import fast_exp

pytestmark = pytest.mark.usefixtures("one_pool")

CASES = {
    "linear": (Linear(), lambda X, Z: pairwise.linear_kernel(X, Z)),
    "rbf": (RBF(0.3), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=0.3)),
    "laplacian": (Laplacian(0.2), lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=0.2)),
    "poly": (Poly(0.4, 3, 0.7), lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=3, gamma=0.4, coef0=0.7)),
    "poly1": (Poly(0.4, 1, -1.0), lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=1, gamma=0.4, coef0=-1.0)),
    "sigmoid": (Sigmoid(0.1, -0.2), lambda X, Z: pairwise.sigmoid_kernel(X, Z, gamma=0.1, coef0=-0.2)),
}


def features(dtype=np.float64, m=37, d=11):
    """Rows with many zeros, one all zero, two equal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.5)
    X[3], X[7] = 0.0, X[5]
    return X.astype(dtype)


def with_explicit_zeros(X, index_dtype):
    """CSR of X that stores one zero in each row."""
    S = sp.csr_array(X)
    data, indices, indptr = [], [], [0]
    for r in range(X.shape[0]):
        mine = dict(zip(S.indices[S.indptr[r] : S.indptr[r + 1]], S.data[S.indptr[r] : S.indptr[r + 1]], strict=True))
        free = next(c for c in range(X.shape[1]) if c not in mine)
        mine[free] = 0.0
        indices += sorted(mine)
        data += [mine[c] for c in sorted(mine)]
        indptr.append(len(indices))
    S = sp.csr_array((np.array(data, X.dtype), np.array(indices), np.array(indptr)), shape=X.shape)
    S.indices, S.indptr = S.indices.astype(index_dtype), S.indptr.astype(index_dtype)
    return S


STORAGES = {
    "dense": lambda X: X.copy(),
    "fortran": np.asfortranarray,
    "csr32": lambda X: with_explicit_zeros(X, np.int32),
    "csr64": lambda X: with_explicit_zeros(X, np.int64),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_values_equal_sklearn(case, storage, dtype):
    kernel, truth = CASES[case]
    X = features(dtype)
    stored = frozen(STORAGES[storage](X))
    if storage.startswith("csr"):
        assert (stored.data == 0).sum() == len(X)
    want = truth(X.astype(np.float64), X.astype(np.float64))
    gram, every = Gram(kernel, stored, dtype=np.float64), np.arange(len(X))
    np.testing.assert_allclose(gram.block(every, every), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose([gram.row(i) for i in every], want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gram.matvec(np.eye(len(X)), every), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gram.diag, np.diag(want), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(stored), np.diag(want), rtol=1e-12, atol=1e-12)


@pytest.mark.float32
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("case", CASES)
def test_float32_rows_are_close(case, storage):
    kernel, truth = CASES[case]
    for dtype in (np.float32, np.float64):
        X = features(dtype)
        gram = Gram(kernel, STORAGES[storage](X), dtype=np.float32)
        want = truth(X.astype(np.float64), X.astype(np.float64))
        rows = np.array([gram.row(i) for i in range(len(X))])
        assert rows.dtype == np.float32
        np.testing.assert_allclose(rows, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("other", ["dense", "csr"])
@pytest.mark.parametrize("mine", ["dense", "csr"])
def test_engines_take_vectors_of_either_storage(case, mine, other):
    """A model's vectors may be CSR and the rows to predict dense, or the other way round."""
    kernel, truth = CASES[case]
    X, Z = features(m=300), features(m=270)[::-1].copy()
    engine = engine_for(kernel, X if mine == "dense" else sp.csr_array(X))
    coef = np.random.default_rng(1).normal(size=(len(Z), 2))
    got = engine.product(Z if other == "dense" else sp.csr_array(Z), coef)
    np.testing.assert_allclose(got, truth(X, Z) @ coef, rtol=1e-10, atol=1e-10)
    got = engine.block(Z if other == "dense" else sp.csr_array(Z), np.empty((len(Z), len(X))))
    np.testing.assert_allclose(got, truth(X, Z).T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("d", [1, 3])
def test_rbf_of_far_rows_is_tiny_not_wrong(d):
    X = np.zeros((3, d))
    X[1], X[2] = 40.0, 1e6
    for data in (X, sp.csr_array(X)):
        row = Gram(RBF(1.0), data).row(0)
        assert row[0] == 1.0 and (row[1:] >= 0).all() and (row[1:] < 1e-300).all()
        row = Gram(RBF(1.0), data, dtype=np.float32).row(0)
        assert row[0] == 1.0 and (row[1:] >= 0).all() and (row[1:] < 1e-37).all()


@pytest.mark.slow
def test_rbf_never_exceeds_one():
    """|x|^2 + |z|^2 - 2 x'z of near-equal rows far from the origin rounds below zero."""
    X = 1e4 + 1e-6 * np.random.default_rng(0).normal(size=(50, 4))
    for data in (X, sp.csr_array(X)):
        for dtype in (np.float32, np.float64):
            gram = Gram(RBF(5.0), data, dtype=dtype)
            assert max(gram.row(i).max() for i in range(50)) <= 1.0


@njit
def _exp_all(x, out):
    for i in range(x.size):
        out[i] = fast_exp(x[i])


@pytest.mark.parametrize(("dtype", "low", "bound"), [(np.float32, -87.0, 2e-7), (np.float64, -700.0, 4e-16)])
def test_fast_exp_keeps_its_stated_error(dtype, low, bound):
    rng = np.random.default_rng(0)
    x = np.concatenate([np.linspace(low, 0.0, 200_001), -np.exp(rng.uniform(-40, np.log(-low), 100_000)), [0.0, low]])
    x = x.astype(dtype)
    got = np.empty_like(x)
    _exp_all(x, got)
    truth = np.exp(x.astype(np.longdouble))
    error = np.abs(got.astype(np.longdouble) - truth) / truth
    assert float(error.max()) <= bound
    assert got[x == 0].tolist() == [1.0] * int((x == 0).sum())


def test_fast_exp_below_its_range_underflows_gracefully():
    for dtype, tiny in ((np.float32, 2e-38), (np.float64, 1e-306)):
        x = np.array([-1e3, -1e6, -1e30], dtype)
        got = np.empty_like(x)
        _exp_all(x, got)
        assert ((got >= 0) & (got < tiny)).all()


# --- gamma


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "fortran", "csr32"])  # SVC refuses int64 indices
def test_gamma_scale_and_auto_equal_svc(storage, dtype):
    X = STORAGES[storage](features(dtype) + (0 if storage.startswith("csr") else 2))
    y = np.arange(X.shape[0]) % 2
    for gamma in ("scale", "auto"):
        want = SVC(gamma=gamma).fit(X, y)._gamma
        assert resolve_gamma(gamma, X) == pytest.approx(want, rel=1e-6 if dtype is np.float32 else 1e-12)
        assert RBF(gamma).resolve(X).gamma == resolve_gamma(gamma, X)


@pytest.mark.parametrize("storage", STORAGES)
def test_gamma_msd_is_the_mean_over_distinct_pairs(storage):
    X = features()
    D = pairwise.euclidean_distances(X, squared=True)
    mean = D[np.triu_indices(len(X), 1)].mean()
    assert resolve_gamma("msd", STORAGES[storage](X)) == pytest.approx(1.0 / (2.0 * mean), rel=1e-10)


@pytest.mark.parametrize("gamma", ["scale", "msd"])
def test_gamma_far_from_the_origin_is_that_of_either_storage(gamma):
    """The variance of a sparse column was a difference of two squares, whose digits were lost."""
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 2.0, 3.0] + 1e8
    X[::7, 0] = 0.0
    assert resolve_gamma(gamma, sp.csr_array(X)) == pytest.approx(resolve_gamma(gamma, X), rel=1e-12)
    far = X[:, 1:]
    assert resolve_gamma(gamma, sp.csr_array(far)) == pytest.approx(resolve_gamma(gamma, far - 1e8), rel=1e-6)


@pytest.mark.parametrize("gamma", ["scale", "msd"])
def test_gamma_of_constant_data_is_one(gamma):
    assert resolve_gamma(gamma, np.full((7, 3), 0.1)) == 1.0  # the mean is not 0.1
    assert resolve_gamma(gamma, np.full((5, 3), 2.5)) == 1.0
    assert resolve_gamma(gamma, np.ones((1, 3))) == 1.0
    assert resolve_gamma(gamma, sp.csr_array((4, 3))) == 1.0


def test_gamma_resolves_once_and_parameters_are_plain():
    X = features()
    for name in plugins.names("kernel"):
        kernel = plugins.build("kernel", name)
        if kernel.name == "precomputed":
            continue
        resolved = kernel.resolve(X)
        assert all(isinstance(v, int | float) for v in resolved.params.values())
        assert resolved.resolve(2 * X) == resolved
    assert RBF("0.25") == RBF(0.25)


@pytest.mark.parametrize("kernel", [RBF, Laplacian, Poly, Sigmoid])
@pytest.mark.parametrize("gamma", [0, 0.0, -1.0, float("nan"), float("inf"), "-1", "nan", "scael", ""])
def test_bad_gamma_is_refused(kernel, gamma):
    with pytest.raises(InputError, match="gamma"):
        kernel(gamma)
    with pytest.raises(InputError):
        plugins.build("kernel", kernel.name, {"gamma": gamma})


@pytest.mark.parametrize("degree", [0, -1, 1.5, 0.0, float("nan"), float("inf"), "two", 1001, 10**9, 2**70, 10**400])
def test_bad_degree_is_refused(degree):
    with pytest.raises(InputError, match="degree"):
        Poly(1.0, degree)


@pytest.mark.parametrize("kernel", [Poly, Sigmoid])
@pytest.mark.parametrize("coef0", [float("nan"), float("inf")])
def test_bad_coef0_is_refused(kernel, coef0):
    with pytest.raises(InputError, match="coef0"):
        kernel(1.0, coef0=coef0)


def test_whole_degree_may_be_a_float():
    X = features()
    every = np.arange(len(X))
    a, b = (Gram(Poly(0.5, degree, 1.0), X).block(every, every) for degree in (2, 2.0))
    np.testing.assert_array_equal(a, b)


def test_names_and_options_that_do_not_exist():
    with pytest.raises(InputError, match="did you mean rbf"):
        plugins.build("kernel", "rbff")
    with pytest.raises(InputError, match=r"no option 'gama' \(did you mean gamma\?\); it has gamma"):
        plugins.build("kernel", "rbf", {"gama": 1})
    with pytest.raises(InputError, match="degree"):
        plugins.build("kernel", "poly", {"degree": "1.5"})
    with pytest.raises(InputError, match="coef0"):
        plugins.build("kernel", "poly", {"coef0": "x"})


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_diagonal_of_given_values_is_an_array_of_its_own_as_that_of_any_kernel(kind):
    """Loops are compiled for one kind of array."""
    X = np.random.default_rng(0).normal(size=(30, 4))
    given = Precomputed().diag((X @ X.T).astype(kind))
    assert given.dtype == np.float64 and given.flags.c_contiguous and given.flags.writeable and given.flags.owndata
    np.testing.assert_allclose(given, Linear().diag(X), rtol=1e-6)


def test_precomputed_must_be_square():
    with pytest.raises(InputError, match="square"):
        Precomputed().resolve(np.ones((3, 4)))


def test_a_function_of_the_wrong_shape_is_refused():
    kernel = FromFunction(lambda X, Z: np.ones((1, 1)))
    with pytest.raises(InputError, match=r"returned shape \(1, 1\)"):
        kernel.block(np.ones((2, 2)), np.ones((3, 2)))
