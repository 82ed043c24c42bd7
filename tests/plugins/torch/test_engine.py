"""The engine of PyTorch: the checks of engines, and certificates of solvers that it computes for."""

import numpy as np
import pytest
import scipy.sparse as sp

import svmkit
from svmkit import plugins
from svmkit.conformance.engines import ENGINE
from svmkit.conformance.result import outcome
from svmkit.errors import InputError
from svmkit.kernels.engines import engine_for, on_device, request_engine
from svmkit.kernels.functions import RBF, FromFunction, Laplacian, Linear, Poly, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.model import SVMModel
from svmkit.solver import Gap, Iterations, Status, solve

torch = pytest.importorskip("torch", reason="needs pip install 'svmkit[torch]'")
from svmkit_torch.engine import TorchEngine, TorchMatrixEngine  # noqa: E402


def clouds(n=240, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.8 * y[:, None], y


@pytest.mark.parametrize("engine", [TorchEngine, TorchMatrixEngine], ids=lambda engine: engine.name)
@pytest.mark.parametrize("sentence", ENGINE)
def test_the_checks_of_engines_hold(engine, sentence, device):
    assert outcome(sentence, ENGINE[sentence], engine.class_on(device)).problem is None


@pytest.mark.parametrize("solver", ["fcsmo", "fcfw", "swap2o"])
@pytest.mark.parametrize("kernel", [RBF(0.2), Poly(0.3, 2, 1.0), Laplacian(0.2)], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_solvers_reach_the_same_certified_optimum(solver, kernel, storage, device):
    X, y = clouds()
    X, gaps, primals = storage(X), [], []
    for engine in (TorchEngine.class_on(device)(kernel, X), engine_for(kernel, X)):
        one = plugins.build("solver", solver)
        solution = solve(one.pose(Gram(kernel, X, engine=engine), y, 1.0), one, stop=Gap(1e-6) | Iterations(20_000))
        assert solution.status is Status.CONVERGED and solution.certificate.dual <= solution.certificate.primal
        gaps.append(solution.certificate.gap)
        primals.append(solution.certificate.primal)
    assert max(gaps) <= 1e-6 and primals[0] == pytest.approx(primals[1], rel=3e-6)


@pytest.mark.parametrize("solver", ["fcsmo", "fcfw"])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_model_is_the_same_file_and_needs_no_torch(solver, classes, device, tmp_path):
    X, _ = clouds(400)
    y = np.arange(400) % classes
    X = X + 2.0 * np.eye(6)[y]
    with request_engine(device=device):
        fit = svmkit.fit(X, y, kernel=RBF(0.2), solver=solver, stop=Gap(1e-5))
        decisions = fit.model.decision_function(X)
    assert fit.gap <= 1e-5
    fit.model.save(tmp_path / "m.svmkit")
    loaded = SVMModel.load(tmp_path / "m.svmkit")
    np.testing.assert_allclose(loaded.decision_function(X), decisions, rtol=1e-10, atol=1e-10)
    assert type(engine_for(RBF(0.2), X)).name == "dense"


def test_a_precomputed_kernel_is_kept_on_the_device(device):
    X, y = clouds()
    K = RBF(0.2), X @ X.T
    with on_device(device):
        assert type(engine_for(Precomputed(), K[1])).name == "torch_matrix"
        fit = svmkit.fit(K[1], y, kernel=Precomputed(), solver="fcsmo", stop=Gap(1e-5))
    assert fit.gap <= 1e-5


def test_what_the_engine_does_not_take_is_one_line(device):
    kernel = FromFunction(lambda A, B: A @ B.T)
    with on_device(device), pytest.raises(InputError, match=r"no such engine takes the callable kernel on dense"):
        engine_for(kernel, np.eye(4))


@pytest.mark.parametrize("name", ["cuda:99", "xpu:99"])
def test_a_device_that_does_not_exist_is_one_line_that_names_those_that_do(name):
    with pytest.raises(InputError, match=rf"there is no device '{name}' here; there are: cpu, .*torch:cpu$"):
        request_engine(device=name).__enter__()


@pytest.mark.parametrize("name", ["tpu", "cuda:x", "torch", ""])
def test_an_unknown_device_is_one_line(name):
    with pytest.raises(InputError, match=rf"no engine computes on device '{name}'; there are: auto, .*cpu"):
        request_engine(device=name).__enter__()


def test_auto_is_a_gpu_or_our_own_engines():
    with on_device("auto"):
        found = type(engine_for(Linear(), np.eye(3))).name
    assert found == ("torch" if torch.cuda.is_available() else "dense")


def test_the_budget_of_kernel_rows_bounds_the_tiles(device):
    X, _ = clouds()
    engine = TorchEngine.class_on(device)(RBF(0.2), X)
    before = engine.rows.tiles.budget
    Gram(RBF(0.2), X, engine=engine, memory=before // 8)
    assert engine.rows.tiles.budget == before // 8
    Gram(RBF(0.2), X, engine=engine, memory=before)
    assert engine.rows.tiles.budget == before // 8


def test_rows_of_another_engine_are_taken():
    X, _ = clouds()
    kernel, own = RBF(0.2), TorchEngine.class_on("torch:cpu")
    engines = own(kernel, X[:100]), own(kernel, X[100:])
    values = engines[1].block(engines[0].take(np.arange(100)), np.empty((100, 140)))
    np.testing.assert_allclose(values, engine_for(kernel, X[100:]).block(X[:100], np.empty((100, 140))), atol=1e-13)
