"""Class pairs all of whose kernel rows are kept: the values of a Gram, each computed once, within the memory."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from sklearn.metrics import pairwise

from svmkit.kernels.functions import RBF, FromFunction, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.kernels.gram import Gram, complete
from svmkit.kernels.gram.complete import CompleteGram, CompleteKernel
from svmkit.kernels.loops.complete_rows import FromDense, FromMatrix, source_of_pair

MEMBERS = [np.flatnonzero(np.random.default_rng(0).integers(4, size=240) == c) for c in range(4)]
TWO = [np.sort(np.concatenate(MEMBERS[:2])), np.sort(np.concatenate(MEMBERS[2:]))]
KERNELS = [Linear(), RBF(0.4), Laplacian(0.3), Poly(0.5, 2, 1.0), Sigmoid(0.1, 0.1)]
KERNELS.append(FromFunction(lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.4)))
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
ways = pytest.mark.parametrize("wide", [1, 10**9], ids=["matrix", "rows"])


def data(dtype=np.float64):
    rng = np.random.default_rng(1)
    return (rng.normal(size=(240, 6)) * (rng.random((240, 6)) < 0.6)).astype(dtype)


STORED = {
    "dense": data(),
    "fortran": np.asfortranarray(data()),
    "float32": data(np.float32),
    "csr": sp.csr_array(data()),
    "far": data() + 1e6,
}


def close(found, want):
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)


@every_kernel
@ways
@pytest.mark.parametrize("stored", STORED)
def test_rows_are_those_of_a_gram(kernel, wide, stored, monkeypatch):
    monkeypatch.setattr(complete, "WIDE", wide)
    monkeypatch.setattr(complete, "PANEL", 50)
    if stored == "far" and kernel.name in ("linear", "poly", "sigmoid"):
        pytest.skip("its values are those of numbers of 1e12")
    X = STORED[stored]
    for members, a, b in ((MEMBERS, 1, 3), (TWO, 0, 1)):
        shared = CompleteKernel(kernel, X, members, 1 << 30)
        gram = shared.gram(a, b)
        rows = gram.engine.rows
        own = Gram(kernel, X[rows], dtype=np.float64)
        assert len(rows) == gram.m and (len(members) > 2 or (np.diff(rows) > 0).all())
        want = own.block(np.arange(gram.m), np.arange(gram.m))
        some, coef = np.array([5, 3, gram.m - 1]), np.array([0.5, -2.0, 1.0])
        close(gram.matvec(coef, some), coef @ want[some])
        close(gram.matvec(coef, some, np.array([7, 0])), (coef @ want[some])[[7, 0]])
        close(gram.matvec(np.c_[coef, -coef], some), want[:, some] @ np.c_[coef, -coef])
        close(gram.row(3), want[3])
        close(gram.block(some, np.arange(gram.m)), want[some])
        close(gram.diag, own.diag)
        table = gram.row_table
        gram.bring(np.arange(gram.m))
        close(table.slab[table.slot_of], want)
        assert gram.engine.error <= 10 * own.engine.error + 1e-15
        assert (X[rows] != gram.engine.X).sum() == 0


@njit
def of_pair(source, where):
    return source_of_pair(source, where)


@ways
def test_the_source_of_another_pair_differs_in_its_classes_alone(wide, monkeypatch):
    monkeypatch.setattr(complete, "WIDE", wide)
    source = CompleteKernel(RBF(0.4), data(), MEMBERS, 1 << 30).gram(0, 1).engine.source
    found = of_pair(source, np.array([3, 1, 4, 2]))
    assert type(found) is type(source) and found[-4:] == (3, 1, 4, 2)
    for ours, theirs in zip(found[:-4], source[:-4], strict=True):
        np.testing.assert_array_equal(ours, theirs)


@ways
def test_a_value_is_computed_once(wide, monkeypatch):
    monkeypatch.setattr(complete, "WIDE", wide)
    shared = CompleteKernel(RBF(0.4), data(), MEMBERS, 1 << 30)
    gram = shared.gram(0, 1)
    assert gram.kernel_values == 0
    assert isinstance(gram.engine.source, FromMatrix if wide == 1 else FromDense)
    idx = np.array([1, 4, 1])
    for _ in range(2):
        gram.bring(idx)
        gram.matvec(np.ones(2), idx[:2])
    assert gram.kernel_values == (240**2 if wide == 1 else 2 * gram.m)  # the matrix is that of all class pairs
    other = shared.gram(0, 2)
    other.bring(idx)
    assert other.kernel_values == (0 if wide == 1 else 2 * other.m)
    assert gram.slab.done[0] == 2


def test_the_whole_matrix_of_two_classes_is_the_slab():
    X = np.random.default_rng(0).normal(size=(240, complete.WIDE))
    shared = CompleteKernel(RBF(0.01), X, TWO, 1 << 30)
    gram = shared.gram(0, 1)
    assert shared.prepare(gram) == gram.kernel_values == gram.m**2 and gram.slab.rows is shared.matrix
    assert (shared.matrix == shared.matrix.T).all()


def test_a_precomputed_kernel():
    K = data() @ data().T
    gram = CompleteKernel(Precomputed(), K, MEMBERS, 1 << 30).gram(0, 2)
    rows = gram.engine.rows
    close(gram.block(np.arange(gram.m), np.arange(gram.m)), K[np.ix_(rows, rows)])


def test_memory_decides_what_is_kept():
    assert complete.has_room(100, 4 * 8 * 100**2) and not complete.has_room(101, 4 * 8 * 100**2)
    assert not complete.has_room(complete.LARGEST + 1, 1 << 50)
    X = np.random.default_rng(0).normal(size=(240, complete.WIDER * complete.WIDE))
    small = CompleteKernel(RBF(0.01), X, MEMBERS, 8 * 240**2)
    assert not small.whole and small.holds(120) and not small.holds(121) and small.most_at_once(120) == 4
    large = CompleteKernel(RBF(0.01), X, MEMBERS, 2 * 8 * 240**2)
    assert large.whole and large.most_at_once(120) == 4 and isinstance(large.gram(0, 1), CompleteGram)
    sparse = CompleteKernel(RBF(0.01), sp.csr_array(np.eye(240, 400)), MEMBERS, 8 * 240**2)
    assert not sparse.whole and not sparse.holds(10)  # single sparse rows come from other engines
