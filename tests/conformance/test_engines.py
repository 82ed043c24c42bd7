"""`svmkit check` of engines, and an engine of another kind under solvers, certificates and predictions."""

from importlib.metadata import EntryPoint
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp
from support import numpy_engine
from support.cli import process
from support.numpy_engine import NumpyEngine

import svmkit
from svmkit import plugins
from svmkit.conformance import check_plugin
from svmkit.conformance.engines import ENGINE, N
from svmkit.conformance.result import outcome
from svmkit.errors import InputError, UnknownName
from svmkit.kernels.engines import ALL, engine_for, request_engine
from svmkit.kernels.functions import RBF, FromFunction, Laplacian, Linear, Poly, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.solver import Gap, Iterations, Status, solve


def failing(engine):
    """The checks that an engine does not pass, with what was found."""
    results = [outcome(sentence, check, engine) for sentence, check in ENGINE.items()]
    return {result.check: result.problem for result in results if result.problem}


def clouds(n=240, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.8 * y[:, None], y


@pytest.fixture
def installed(monkeypatch):
    """The engine as if a package had brought it."""
    registered = plugins.registered
    points = {"numpy": EntryPoint("numpy", "support.numpy_engine:NumpyEngine", "svmkit.engines")}
    interface = {"3": EntryPoint("3", "support", "svmkit.interface")}

    def with_numpy(kind):
        return {**registered(kind), **(points if kind == "engine" else interface if kind == "interface" else {})}

    monkeypatch.setattr(plugins, "registered", with_numpy)


@pytest.mark.slow
def test_an_engine_of_another_kind_keeps_the_contract(installed):
    assert not [result for result in check_plugin("numpy") if result.problem]


class Changed:
    """An engine with one thing wrong."""

    class Values(NumpyEngine):
        def _values(self, Z, sel):
            return super()._values(Z, sel) * (1.0 + 1e-9)

    class Bound(NumpyEngine):
        error = 1e-18

    class Largest(NumpyEngine):
        largest = 0.5

    class Transposed(NumpyEngine):
        def block(self, Z, out, sel=ALL, rough=False):
            return super().block(Z, out, np.sort(sel), rough)

    class Diagonal(NumpyEngine):
        def diag(self):
            return super().diag().astype(np.float32)

    class Single(NumpyEngine):
        def product(self, Z, coef, sel=ALL, dtype=np.float64):
            return super().product(Z, coef, sel, dtype).astype(np.float32)

    class Within(NumpyEngine):
        def self_product(self, idx, coef, dtype=np.float64):
            return self.product(self.take(idx), coef, idx, dtype), 0

    class Empty(NumpyEngine):
        def product(self, Z, coef, sel=ALL, dtype=np.float64):
            return super().product(Z, coef, sel, dtype) if len(coef) else np.empty((0, 2))

    class Storage(NumpyEngine):
        storages = ("dense", "tiles")

    class Device(NumpyEngine):
        devices = ()

    class Complex(NumpyEngine):
        @classmethod
        def takes(cls, kernel, X):
            return kernel.form is not None

    class Nothing(NumpyEngine):
        @classmethod
        def takes_kernel(cls, kernel):
            return False


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in vars(Changed) if not name.startswith("_")])
def test_what_is_wrong_is_seen(name):
    assert failing(getattr(Changed, name))


class Off(NumpyEngine):
    """Values in float32 and their sums are off by a share of the largest value, and it says how many it computed."""

    storages, dtypes = ("dense",), ("float64",)
    single = rough = summed = 0.0
    computed = N * N

    def block(self, Z, out, sel=ALL, rough=False):
        super().block(Z, out, sel, rough)
        if out.dtype == np.float32:
            out += (self.rough if rough else self.single) * max(1.0, self.largest)
        return out

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        off = self.summed * max(1.0, self.largest) * np.abs(coef).sum(axis=0).max(initial=0.0)
        return super().product(Z, coef, sel, dtype) + (off if dtype == np.float32 else 0.0)

    def self_product(self, idx, coef, dtype=np.float64):
        return self.product(self.take(idx), coef, idx, dtype), self.computed


@pytest.mark.parametrize(
    ("check", "fact", "most", "more"),
    [
        ("blocks are within its error of the exact values", "single", 1.98e-5, 2.02e-5),
        ("blocks are within its error of the exact values", "rough", 4.95e-4, 5.05e-4),
        ("products are sums of the values", "summed", 4.95e-4, 5.05e-4),
        ("products are sums of the values", "computed", 1, 0),
        ("products are sums of the values", "computed", N * N, N * N + 1),
    ],
)
def test_the_limits_of_checks(check, fact, most, more):
    for value, holds in ((most, True), (more, False)):
        found = outcome(check, ENGINE[check], type("Engine", (Off,), {fact: value})).problem
        assert (found is None) == holds, found


@pytest.mark.parametrize("solver", ["fcsmo", "fcfw", "swap2o"])
@pytest.mark.parametrize("kernel", [RBF(0.2), Poly(0.3, 2, 1.0), Laplacian(0.2)], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_solvers_reach_the_same_certified_optimum(solver, kernel, storage):
    X, y = clouds()
    X, gaps, primals = storage(X), [], []
    for engine in (NumpyEngine(kernel, X), engine_for(kernel, X)):
        one = plugins.build("solver", solver)
        solution = solve(one.pose(Gram(kernel, X, engine=engine), y, 1.0), one, stop=Gap(1e-6) | Iterations(20_000))
        assert solution.status is Status.CONVERGED and solution.certificate.dual <= solution.certificate.primal
        gaps.append(solution.certificate.gap)
        primals.append(solution.certificate.primal)
    assert max(gaps) <= 1e-6 and primals[0] == pytest.approx(primals[1], rel=3e-6)


@pytest.mark.parametrize("solver", ["fcsmo", "fcfw", "swap2o"])
def test_a_fit_and_its_predictions_come_from_the_engine_that_is_asked_for(solver, installed, monkeypatch):
    monkeypatch.setattr(NumpyEngine, "calls", 0)
    X, y = clouds()
    with request_engine("numpy"):
        fit = svmkit.fit(X, y, kernel=RBF(0.2), solver=solver, stop=Gap(1e-5))
        decisions = fit.model.decision_function(X)
    assert NumpyEngine.calls > 0 and fit.solutions[0].certificate.gap <= 1e-5
    np.testing.assert_allclose(fit.model.decision_function(X), decisions, rtol=1e-10, atol=1e-10)
    assert type(engine_for(RBF(0.2), X)) is not NumpyEngine


def test_an_engine_is_found_by_device(installed, monkeypatch):
    monkeypatch.setattr(NumpyEngine, "devices", ("abacus",))
    with request_engine(device="abacus"):
        assert type(engine_for(RBF(0.2), clouds()[0])) is NumpyEngine
    with request_engine(device="cpu"):
        assert type(engine_for(RBF(0.2), clouds()[0])).name == "dense"
    with pytest.raises(InputError, match=r"no engine computes on device 'tpu'; there are: abacus, auto, cpu"):
        request_engine(device="tpu").__enter__()


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps", "torch:cpu"])
def test_a_device_that_needs_software_is_one_line(device):
    with pytest.raises(
        InputError, match=rf"device '{device}': engine torch needs PyTorch: pip install 'svmkit\[torch\]'"
    ):
        request_engine(device=device).__enter__()


def test_our_own_engines_are_found_without_an_import_of_others(monkeypatch):
    monkeypatch.setattr(plugins, "working", lambda kind: pytest.fail("imports all engines"))
    with request_engine(device="cpu"):
        assert type(engine_for(RBF(0.2), clouds()[0])).name == "dense"


def test_requests_of_several_threads_end_in_any_order():
    first, second = request_engine(device="cpu"), request_engine("blocks")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(InputError, match="blocks: no such engine takes the linear kernel"):
        engine_for(Linear(), np.eye(4))
    second.__exit__(None, None, None)
    assert type(engine_for(Linear(), np.eye(4))).name == "dense"


@pytest.mark.parametrize("kernel", [Precomputed(), FromFunction(lambda A, B: A @ B.T)], ids=lambda kernel: kernel.name)
def test_what_the_engine_does_not_take_is_one_line(installed, kernel):
    with (
        request_engine("numpy"),
        pytest.raises(InputError, match=f"takes the {kernel.name} kernel on"),
    ):
        engine_for(kernel, np.eye(4))
    with request_engine("csr"), pytest.raises(InputError, match="on dense float64 data"):
        engine_for(Linear(), np.eye(4))


def test_an_unknown_engine_is_one_line():
    known = "there is no engine 'abacus'; there are: blocks, csr, dense, matrix, torch"
    with pytest.raises(UnknownName, match=known):
        request_engine("abacus").__enter__()


@pytest.mark.slow
def test_an_engine_in_a_file_is_checked():
    done = process("check", "--plugin", numpy_engine.__file__)
    assert "numpy: 10 of 10 checks hold" in done.out, done.err
