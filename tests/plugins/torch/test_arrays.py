"""X as a tensor, on the CPU or on a device: what is copied, where values are computed, and what is refused."""

import gc

import numpy as np
import pytest

import svmkit
from svmkit import SVMClassifier, SVMOneClass, SVMRegressor
from svmkit.data.prepare import device_arrays
from svmkit.data.prepare.device_arrays import device_of, source_of, to_host
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF

torch = pytest.importorskip("torch", reason="needs pip install 'svmkit[torch]'")
from svmkit_torch import rows as rows_module  # noqa: E402
from svmkit_torch.rows import DenseRows, rows_on  # noqa: E402


def clouds(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    return rng.normal(size=(n, 4)) + 0.8 * y[:, None], y


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64])
def test_a_tensor_is_as_good_as_an_array(dtype, where):
    X, y = clouds()
    given = torch.as_tensor(X).to(where).to(dtype)
    machine = SVMClassifier(kernel="rbf", gamma=0.2).fit(given, torch.as_tensor(y).to(where))
    twin = SVMClassifier(kernel="rbf", gamma=0.2).fit(given.cpu().numpy(), y)
    assert machine.gap_ <= 1e-3 and twin.gap_ <= 1e-3
    np.testing.assert_array_equal(machine.predict(given), machine.predict(given.cpu().numpy()))
    assert (machine.predict(given) == twin.predict(given)).mean() > 0.98


def test_the_engine_takes_the_tensor_itself(where, device, monkeypatch):
    """On the CPU the memory of the tensor is used all the way; on a device the engine has the tensor that was given."""
    X, y = clouds()
    given, seen = torch.as_tensor(X).to(where), []

    class Seen(DenseRows):
        def __init__(self, X):
            seen.append(X.data_ptr())
            super().__init__(X)

    monkeypatch.setattr(rows_module, "DenseRows", Seen)
    svmkit.fit(given, y, kernel=RBF(0.2), solver="fcsmo", device=device, memory="100kB")
    assert seen and set(seen) == {given.data_ptr()}


class OnGPU(torch.Tensor):
    """A tensor that behaves as one on a GPU: numpy cannot read it, and `cpu` is a copy."""

    def __dlpack_device__(self):
        return 2, 0

    def __array__(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def detach(self):
        return self

    def cpu(self):
        return self.as_subclass(torch.Tensor).clone()


@pytest.mark.parametrize("machine", [SVMClassifier, SVMRegressor, SVMOneClass], ids=lambda machine: machine.__name__)
def test_a_tensor_on_a_gpu_is_copied_to_the_host_once_and_taken_by_the_engine(machine, monkeypatch):
    X, y = clouds()
    given, seen, copies = torch.as_tensor(X).as_subclass(OnGPU), [], []

    class Seen(DenseRows):
        def __init__(self, X):
            seen.append(X.data_ptr())
            super().__init__(X.as_subclass(torch.Tensor))

    copy = OnGPU.cpu
    monkeypatch.setattr(OnGPU, "cpu", lambda self: copies.append(self.shape) or copy(self))
    monkeypatch.setattr(rows_module, "DenseRows", Seen)
    target = torch.as_tensor(y * 1.0).as_subclass(OnGPU)
    weight = torch.ones(300).as_subclass(OnGPU)
    own = machine("fcsmo" if machine is not SVMOneClass else "fcfw", gamma=0.2, device="torch:cpu")
    own.fit(given, target, sample_weight=weight)
    assert copies.count(given.shape) == 1 and given.data_ptr() in seen
    np.testing.assert_allclose(own.predict(given), own.predict(X), rtol=1e-9, atol=1e-9)


def test_the_source_of_a_copy_is_known_for_as_long_as_the_copy_lives(monkeypatch):
    monkeypatch.setattr(
        device_arrays, "device_of", lambda X: None if isinstance(X, np.ndarray | type(None)) else "cuda:0"
    )
    given = torch.ones(3, 2)
    host = to_host(given, "X")
    assert (
        source_of(host).data_ptr() == given.data_ptr()
        and source_of(host.copy()) is None
        and source_of(host[:1]) is None
    )
    assert rows_on(host, torch.device("cpu")).X.data_ptr() == given.data_ptr()
    before = len(device_arrays._sources)
    del host
    gc.collect()
    assert len(device_arrays._sources) == before - 1


def test_where_an_array_is(where):
    assert device_of(np.ones(2)) is None and device_of([1.0]) is None and device_of(None) is None
    assert device_of(torch.ones(2, device=where)) == (None if where == "cpu" else f"{where}:0")


def test_a_tensor_with_gradients_is_taken():
    X, y = clouds()
    assert SVMClassifier().fit(torch.as_tensor(X).requires_grad_(), y).gap_ <= 1e-3


def test_a_type_that_numpy_lacks_is_one_line():
    X, y = clouds()
    with pytest.raises(InputError, match=r"X is a tensor of torch\.bfloat16, a type that numpy lacks: convert it"):
        SVMClassifier().fit(torch.as_tensor(X).to(torch.bfloat16), y)


def test_a_sparse_tensor_is_one_line():
    X, y = clouds()
    with pytest.raises(InputError, match=r"X is a sparse tensor: give a CSR matrix of scipy, or X\.to_dense\(\)"):
        SVMClassifier().fit(torch.as_tensor(X).to_sparse(), y)


def test_a_file_is_no_tensor(tmp_path):
    (tmp_path / "X.csv").write_text("1,2\n")
    with open(tmp_path / "X.csv", "rb") as file, pytest.raises(InputError):
        SVMClassifier().fit(file, [1])
    assert file.closed


class Elsewhere:
    """An array that says that it is on a GPU."""

    def __init__(self, number):
        self.number = number

    def __dlpack_device__(self):
        return 2, self.number


@pytest.mark.parametrize("X", [Elsewhere(0), np.ones((3, 2))], ids=["another", "host"])
def test_mixed_devices_are_one_line(X):
    place = "cuda:0" if isinstance(X, Elsewhere) else "the CPU"
    with pytest.raises(InputError, match=rf"X is on {place} and y on cuda:1: move one of them"):
        svmkit.fit(X, Elsewhere(1), kernel=RBF(1.0), device="cpu")
