"""CSR with int64 pointers beside int32 column numbers: no array is copied or converted, from reading to prediction."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from svmkit_reference import reference

from svmkit import Gram, InputError, SVMClassifier, SVMOneClass, fit, plugins, solve
from svmkit.data import as_features, sparse_rows
from svmkit.data.formats import layout, wide
from svmkit.data.prepare.features import stored_entries
from svmkit.data.prepare.moments import Moments
from svmkit.data.prepare.scaling import Scaling
from svmkit.kernels import RBF, Linear
from svmkit.kernels.engines import engine_for, with_int32_indices
from svmkit.solver import Gap, Iterations
from svmkit.training.data import TrainingData
from svmkit.training.settings import Settings, resolve

pytestmark = pytest.mark.slow  # what they compile together takes long

# loops for other integers are compiled for them
SOLVERS = ("dcd", "newton", "ocas", "sgd", "pegasos", "folos", "smo")


@pytest.fixture
def few(monkeypatch):
    """More than 50 entries are more than int32 can count, which saves gigabytes."""
    monkeypatch.setattr(wide, "MOST", 50)
    monkeypatch.setattr(wide, "_CHUNK", 7)


def plain(m=40, d=12, dtype=np.float32, seed=0):
    return sp.random_array((m, d), density=0.4, format="csr", dtype=dtype, rng=np.random.default_rng(seed))


def rows_of(A, indices=np.int32):
    return sparse_rows(A.data, A.indices.astype(indices), A.indptr.astype(np.int64), A.shape[1])


def is_wide(X, indices=np.int32):
    return X.indptr.dtype == np.int64 and X.indices.dtype == indices


def labels(A):
    return (A @ np.arange(-5.0, 7.0) > 0.5).astype(int)


def test_small_matrices_are_scipys_own():
    A = plain()
    X = rows_of(A)
    assert type(X) is sp.csr_array and X.indptr.dtype == X.indices.dtype == np.int32
    assert np.shares_memory(X.data, A.data)


def test_the_arrays_are_shared(few):
    A = plain()
    columns, pointers = A.indices.astype(np.int32), A.indptr.astype(np.int64)
    X = sparse_rows(A.data, columns, pointers, 12)
    assert is_wide(X) and X.data is A.data and X.indices is columns and X.indptr is pointers
    features = as_features(X)
    assert features is X and with_int32_indices(X) is X and engine_for(Linear(), X).X is X


@pytest.mark.parametrize(
    "key",
    [slice(None), slice(3, 17), slice(30, 3), slice(1, 40, 3), np.array([5, 0, 39, 5]), np.array([-1, -40]),
     np.arange(40) % 3 == 0, np.empty(0, np.int64)],
)  # fmt: skip
def test_selected_rows_are_those_of_scipy(few, key):
    A = plain()
    X = rows_of(A)
    np.testing.assert_array_equal(X[key].toarray(), A[key].toarray())
    assert X[key].indices.dtype == np.int32
    if isinstance(key, slice) and key == slice(3, 17):
        assert np.shares_memory(X[key].data, A.data) and is_wide(X[key])


def test_whatever_else_scipy_does_works(few):
    A = plain()
    X = rows_of(A)
    v = np.arange(12.0)
    np.testing.assert_array_equal(X @ v, A @ v)
    np.testing.assert_array_equal(X[:, 2:5].toarray(), A[:, 2:5].toarray())
    np.testing.assert_array_equal(X.T.toarray(), A.T.toarray())
    np.testing.assert_array_equal(X.toarray(order="F"), A.toarray())
    np.testing.assert_array_equal(X.tocsc().toarray(), A.toarray())
    np.testing.assert_array_equal(sp.vstack([X, A]).toarray(), sp.vstack([A, A]).toarray())
    np.testing.assert_array_equal(X.multiply(X).sum(axis=1), A.multiply(A).sum(axis=1))
    copy = pickle.loads(pickle.dumps(X))
    assert is_wide(copy) and (copy != A).nnz == 0 and is_wide(X.copy()) and is_wide(X.astype(np.float64))


def test_column_numbers_that_do_not_rise_are_seen(few):
    A = plain()
    for k in range(len(A.indptr) - 1):
        at = slice(A.indptr[k], A.indptr[k + 1])
        if A.indptr[k + 1] - A.indptr[k] > 1:
            indices = A.indices.astype(np.int32)
            indices[at] = indices[at][::-1]
            X = sparse_rows(A.data, indices, A.indptr.astype(np.int64), 12)
            assert is_wide(X) and not X.has_canonical_format
            features = as_features(X)
            assert features.has_canonical_format and features.indices[at].tolist() == sorted(indices[at].tolist())
            np.testing.assert_array_equal(features.toarray(), X.toarray())
            np.testing.assert_array_equal(X.indices, indices)  # which is the caller's
    assert rows_of(A).has_canonical_format


def test_broken_ones_are_refused(few):
    A = plain()
    for column in (-1, 12):
        indices = A.indices.astype(np.int32)
        indices[-1] = column
        with pytest.raises(InputError, match="broken CSR"):
            as_features(sparse_rows(A.data, indices, A.indptr.astype(np.int64), 12))


@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_what_is_read_keeps_narrow_column_numbers(few, indices):
    A = plain(dtype=np.float64)
    X = layout.csr(A.data, A.indices.astype(indices), A.indptr.astype(np.int64), A.shape)
    assert is_wide(X) == (max(A.shape) <= 50) and np.shares_memory(X.data, A.data)
    np.testing.assert_array_equal(X.toarray(), A.toarray())


@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("scale", [None, "standard", "maxabs"])
@pytest.mark.parametrize("solver", ["dcd", "auto", "newton", "ocas", "sgd", "pegasos", "folos", "smo"])
def test_a_fit_is_that_of_int32(few, solver, scale, indices):
    A = plain()
    X, y, kernel = rows_of(A, indices), labels(A), RBF(0.3) if solver in ("smo", "fcsmo") else Linear()
    options = {"solver": solver, "kernel": kernel, "scale": scale, "stop": Gap(1e-3) | Iterations(2000)}
    ours, want = fit(X, y, **options), fit(A, y, **options)
    assert ours.status == want.status and ours.gap == want.gap
    np.testing.assert_array_equal(ours.model.decision_function(X), want.model.decision_function(A))
    np.testing.assert_array_equal(ours.model.predict(X), want.model.predict(A))
    for one, other in zip(ours.model.certify(X, y), want.model.certify(A, y), strict=True):
        assert one.primal == pytest.approx(other.primal, rel=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_training_shares_column_numbers(few, kernel):
    X = rows_of(plain())
    method = resolve(Settings(kernel=kernel))
    data = TrainingData.prepare(X, labels(X), method)
    assert is_wide(data.X) and np.shares_memory(data.X.indices, X.indices)
    scaled = TrainingData.prepare(X, labels(X), resolve(Settings(kernel=kernel, scale="maxabs")))
    assert is_wide(scaled.X) and np.shares_memory(scaled.X.indices, X.indices)


def test_statistics_are_those_of_int32(few):
    A = plain(dtype=np.float64)
    X = rows_of(A)
    np.testing.assert_array_equal(stored_entries(X), np.bincount(A.indices, minlength=12))
    np.testing.assert_allclose(Moments.from_rows(X).variance, A.toarray().var(axis=0), rtol=1e-12)
    np.testing.assert_allclose(Scaling.fit("standard", X).scale, A.toarray().std(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(Scaling.fit("maxabs", X).scale, abs(A).max(axis=0).toarray())


def test_several_classes_held_out_rows_and_estimators(few):
    A = plain(m=90)
    X, y = rows_of(A), np.arange(90) % 3
    for multiclass in ("ovo", "ovr", "crammer_singer"):
        ours, want = (SVMClassifier(kernel="linear", multiclass=multiclass).fit(Z, y) for Z in (X, A))
        np.testing.assert_array_equal(ours.predict(X), want.predict(A))
    weights = np.where(y == 2, 0.0, 1.0)
    rest = fit(X[y < 2], y[y < 2], kernel=Linear())
    assert rest.gap == pytest.approx(fit(X[weights > 0], y[weights > 0], kernel=Linear()).gap)
    calibrated = [SVMClassifier(kernel="linear", calibration="sigmoid").fit(Z, y).predict_proba(Z) for Z in (X, A)]
    np.testing.assert_allclose(*calibrated, atol=1e-12)
    outliers = [SVMOneClass(gamma=0.3).fit(Z).decision_function(Z) for Z in (X, A)]
    np.testing.assert_allclose(*outliers, atol=1e-12)


def test_scikit_learn_is_not_given_pointers_of_int64(few):
    with pytest.raises(InputError, match="more than the int32 indices"):
        reference.features(Gram(Linear(), rows_of(plain())))


@pytest.fixture
def beyond(tmp_path):
    """A CSR whose entries lie behind 2^31 others that nobody reads: two files with holes, of a few pages."""
    A, start = plain(m=60), 2**31 + 5
    arrays = []
    for name, part in (("data", A.data), ("indices", A.indices.astype(np.int32))):
        whole = np.memmap(tmp_path / name, dtype=part.dtype, mode="w+", shape=(start + len(part),))
        whole[start:] = part
        arrays.append(np.asarray(whole))
    if sum(path.stat().st_blocks for path in tmp_path.iterdir()) * 512 > 1 << 20:
        pytest.skip("needs a file system that stores no holes")
    return A, wide.WideCSR((*arrays, A.indptr.astype(np.int64) + start), shape=A.shape)


@pytest.mark.parametrize("solver", [*SOLVERS, "bmrm"])
def test_loops_count_beyond_int32(beyond, solver):
    """Of rows behind so many entries a solve is that of the rows alone."""
    (A, X), solutions = beyond, []
    y = np.where(labels(A) > 0, 1.0, -1.0)
    assert X.nnz > 2**31 and with_int32_indices(X) is X
    for Z in (X, A):
        chosen = plugins.build("solver", solver)
        problem = chosen.pose(Gram(Linear(), Z), y, 1.0)
        solutions.append(solve(problem, chosen, stop=Gap(1e-3) | Iterations(200)))
    ours, want = solutions
    # the order of some sums depends on the number of entries
    np.testing.assert_allclose(ours.point, want.point, rtol=1e-6, atol=1e-9)
    assert ours.certificate.primal == pytest.approx(want.certificate.primal, rel=1e-9)
    assert ours.status == want.status and ours.n_iter == want.n_iter
    decisions = [engine_for(Linear(), Z).product(np.ones((1, 12)), np.ones((1, 1))) for Z in (X, A)]
    np.testing.assert_array_equal(*decisions)
    np.testing.assert_array_equal(X[20:31].toarray(), A[20:31].toarray())
    np.testing.assert_array_equal(X[np.array([59, 0, 7])].toarray(), A[[59, 0, 7]].toarray())
