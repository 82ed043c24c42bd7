"""Kernel values on a device against long double, within the bounds that are stated, on data that lose digits."""

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.conformance.judging.definitions import Values
from svmkit.errors import InputError
from svmkit.kernels.engines import engine_for
from svmkit.kernels.functions import RBF, Laplacian, Linear, Poly, Sigmoid
from svmkit.kernels.rounding import product_error

torch = pytest.importorskip("torch", reason="needs pip install 'svmkit[torch]'")
from svmkit_torch import memory  # noqa: E402
from svmkit_torch.arithmetic import plain_arithmetic  # noqa: E402
from svmkit_torch.values import PANEL, DeviceRows  # noqa: E402

N = 1300  # more than a panel
KERNELS = (RBF(0.3), Laplacian(0.2), Linear(), Poly(0.2, 3, 1.0), Poly(0.3, 1, -0.5), Poly(0.1, 6, 1.0), Sigmoid(0.05))
STORAGES = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_array,
    "wide": lambda X: sp.hstack([sp.csr_array(X), sp.csr_array((len(X), 500))], format="csr"),
}


def clouds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 7)) * (rng.random((N, 7)) < 0.5)
    X[1], X[2] = X[0], 0.0
    return X


DATA = {
    "near": lambda X: X,
    "far": lambda X: X + 1e6,
    "farther": lambda X: X + 1e8,
    "large": lambda X: X * 1e10,
    "small": lambda X: X * 1e-12,
    "one column": lambda X: X * [1e10, 1, 1, 1, 1, 1, 1],
    "duplicates": lambda X: np.repeat(X[:1] + 1e4, len(X), axis=0) + (np.arange(len(X)) % 2)[:, None] * 1e-3,
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("storage", STORAGES)
def test_values_and_products_are_within_their_bounds(kernel, storage, data, where):
    X = STORAGES[storage](DATA[data](clouds()))
    rows = DeviceRows(kernel, X, where)
    idx, at, every = np.arange(40), np.arange(0, N, 7), np.arange(N)
    exact = Values(kernel.name, kernel.params, X)
    truth = exact(every, idx).T  # symmetric, and computed by columns
    place = [torch.as_tensor(part, device=where) for part in (idx, at, every)]
    values = rows.block(*place[:2], torch.float64).cpu().numpy()
    assert np.abs(values - truth[:, at]).max() <= rows.error and np.abs(truth).max() <= rows.largest * (1 + 1e-12)
    if rows.largest < 1e30:
        for rough, bound in ((False, 2e-5), (True, 5e-4)):
            single = rows.block(*place[:2], torch.float32, rough).cpu().numpy()
            assert np.abs(single - truth[:, at]).max() <= bound * max(1.0, rows.largest)
    coef = np.random.default_rng(1).normal(size=(N, 2))
    product = rows.product(place[2], torch.as_tensor(coef, device=where), place[0]).cpu().numpy()
    bound = product_error(rows.error, rows.largest, PANEL, N, float(np.abs(coef).sum(axis=0).max()))
    assert np.abs(product - truth @ coef).max() <= bound


def test_tf32_and_autocast_of_the_process_change_nothing(where):
    """Both cut 14 and more of 24 digits off, where a device has them."""
    X = clouds().astype(np.float32)
    idx = torch.arange(200, device=where)

    def values():
        return DeviceRows(RBF(0.3), X, where).block(idx, idx, torch.float32)

    plain = values()
    torch.set_float32_matmul_precision("medium")
    try:
        with torch.autocast(torch.device(where).type, dtype=torch.bfloat16):
            assert torch.equal(values(), plain)
        assert torch.get_float32_matmul_precision() == "medium"
        with plain_arithmetic(torch.device(where)):
            assert torch.get_float32_matmul_precision() == "highest"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_gradients_are_not_recorded(where):
    X = torch.randn(20, 3, dtype=torch.float64, device=where, requires_grad=True)
    idx = torch.arange(20, device=where)
    assert (
        not DeviceRows(RBF(1.0), X, where)
        .product(idx, torch.ones(20, 1, dtype=torch.float64, device=where))
        .requires_grad
    )


def test_a_tensor_on_the_device_is_not_copied(where):
    X = torch.zeros(4, 2, device=where)
    assert DeviceRows(Linear(), X, where).rows.X.data_ptr() == X.data_ptr()


class Full:
    """A device that has no room for a tile of more than so many rows, by standing in for the values of a tile."""

    def __init__(self, rows, most):
        self.rows, self.most, self.compute, self.refused = rows, most, rows._values, 0
        rows._values = self

    def __call__(self, Z, at):
        n = len(self.rows.sq[at])
        if n > self.most:
            self.refused += 1
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self.compute(Z, at)


def test_out_of_memory_halves_the_tiles_and_changes_no_value(where):
    X, idx = clouds()[:200], torch.arange(200, device=where)
    coef = torch.randn(200, 1, dtype=torch.float64, device=where)
    truth = DeviceRows(RBF(0.3), X, where).product(idx, coef)
    rows = DeviceRows(RBF(0.3), X, where)
    full = Full(rows, 3)
    np.testing.assert_allclose(rows.product(idx, coef).cpu().numpy(), truth.cpu().numpy(), rtol=0, atol=1e-12)
    assert full.refused > 3
    full.most = 0
    with pytest.raises(InputError, match=rf"device {where} has no room for the smallest block, [\d,]+ bytes"):
        rows.product(idx, coef)


def test_only_what_says_so_is_out_of_memory():
    assert memory.is_full(RuntimeError("MPS backend out of memory"))
    assert memory.is_full(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    assert not memory.is_full(RuntimeError("device-side assert triggered")) and not memory.is_full(InputError("full"))


@pytest.mark.parametrize("given", ["rows", "host"])
@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), Laplacian(0.1)], ids=str)
def test_wide_sparse_rows_are_not_expanded(kernel, given, where):
    rng, d = np.random.default_rng(0), 20_000
    columns = rng.integers(d, size=(120, 30))
    X = sp.csr_array((rng.normal(size=3600), (np.repeat(np.arange(120), 30), columns.ravel())), shape=(120, d))
    X = sp.vstack([X[:100], sp.csr_array((3, d)), X[:17]], format="csr")
    rows, widths, idx = DeviceRows(kernel, X, where), [], np.arange(100)
    compute = rows._values
    rows._values = lambda Z, at: widths.append(Z.values.shape[1]) or compute(Z, at)
    Z = rows.select(idx) if given == "rows" else X[idx]
    values = rows.host_product(rows.vectors(Z), np.eye(100), None, np.dtype(np.float64))
    assert max(widths) <= 100 * 30 + 1 and len(widths) <= 10  # all columns would take 24 tiles
    everything = X.toarray()
    truth = engine_for(kernel, everything).block(everything[:100], np.empty((100, 120)))
    assert np.abs(values - truth.T).max() <= 1e-13
