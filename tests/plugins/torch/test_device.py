"""`device=`: of estimators, `svmkit.fit`, models, streams and commands; who computes is seen by counting."""

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import svmkit
from svmkit import SVMClassifier, SVMOneClass, SVMRegressor
from svmkit.cli.app import app
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF

torch = pytest.importorskip("torch", reason="needs pip install 'svmkit[torch]'")
from svmkit_torch.values import DeviceRows  # noqa: E402


@pytest.fixture
def computed(monkeypatch):
    """The number of calls on each device, by its type."""
    calls = {}
    fill = DeviceRows.fill

    def counted(self, *args):
        calls[self.device.type] = calls.get(self.device.type, 0) + 1
        return fill(self, *args)

    monkeypatch.setattr(DeviceRows, "fill", counted)
    return calls


def clouds(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    return rng.normal(size=(n, 4)) + 0.8 * y[:, None], y


def run(*args):
    return CliRunner().invoke(app, [*args])


@pytest.fixture
def table(tmp_path):
    X, y = clouds()
    path = str(tmp_path / "clouds.svm")
    dump_svmlight_file(X, y, path)
    return path


@pytest.mark.parametrize("machine", [SVMClassifier, SVMRegressor, SVMOneClass], ids=lambda machine: machine.__name__)
def test_estimators_fit_and_predict_on_their_device(machine, device, where, computed):
    X, y = clouds()
    ours = machine().fit(X, y)
    assert not computed
    theirs = machine(device=device).fit(X, y)
    assert set(computed) == {where} and theirs.gap_ <= 1e-3
    computed.clear()
    decision = theirs.predict(X) if machine is SVMRegressor else theirs.decision_function(X)
    assert set(computed) == {where}
    expected = ours.predict(X) if machine is SVMRegressor else ours.decision_function(X)
    assert np.abs(decision - expected).max() < 0.3 and np.corrcoef(decision, expected)[0, 1] > 0.999


def test_a_calibration_computes_on_the_device(device, where, computed):
    X, y = clouds()
    machine = SVMClassifier(calibration="sigmoid", device=device).fit(X, y)
    computed.clear()
    assert machine.predict_proba(X).shape == (300, 2) and set(computed) == {where}
    assert machine.score(X, y) > 0.9


def test_a_search_computes_on_the_device(device, where, computed):
    X, y = clouds()
    machine = SVMClassifier(C="cv", cv=3, device=device).fit(X, y)
    assert set(computed) == {where} and machine.gap_ <= 1e-3


def test_fit_and_a_model_take_a_device(device, where, computed):
    X, y = clouds()
    model = svmkit.fit(X, y, kernel=RBF(0.2), device=device).model
    assert set(computed) == {where}
    computed.clear()
    known = model.decision_function(X)
    assert not computed
    np.testing.assert_allclose(model.decision_function(X, device=device), known, rtol=1e-9, atol=1e-9)
    assert set(computed) == {where}


def test_a_stream_computes_on_the_device(device, where, computed):
    X, y = clouds()
    machine = SVMClassifier("sfw", device=device)
    for lo in range(0, 300, 100):
        machine.partial_fit(X[lo : lo + 100], y[lo : lo + 100], classes=[-1, 1])
    assert set(computed) == {where} and machine.score(X, y) > 0.8


def test_commands_compute_on_the_device(device, where, computed, table, tmp_path):
    model = str(tmp_path / "m.svmkit")
    for command in (
        ("train", table, "--no-track", "--out", model),
        ("predict", model, table),
        ("evaluate", model, table),
        ("tune", table, "--no-track", "--grid", "C=0.1,1", "--cv", "2", "--backend", "threading"),
    ):
        computed.clear()
        done = run(*command, "--device", device, "--json")
        assert done.exit_code == 0 and json.loads(done.stdout) and set(computed) == {where}, done.output


@pytest.mark.slow
def test_cells_of_a_comparison_name_their_device(device, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("compare", table, "--solvers", "fcsmo", "--no-track", "--device", device, "--json")
    assert done.exit_code == 0, done.output
    records = [json.loads(line) for line in (tmp_path / "svmkit-compare.jsonl").read_text().splitlines()]
    [cell] = [record for record in records if "gap" in record]
    assert cell["gap"] <= 1e-3 and cell["settings"]["data"]["device"] == device


@pytest.mark.parametrize("command", ["train", "tune", "predict", "evaluate", "compare"])
def test_a_device_that_does_not_exist_is_one_line(command, table, tmp_path):
    model = str(tmp_path / "m.svmkit")
    svmkit.fit(*clouds(), kernel=RBF(0.2)).model.save(model)
    first = {"predict": [model], "evaluate": [model]}.get(command, [])
    more = {"compare": ["--solvers", "fcsmo"]}.get(command, [])
    done = run(command, *first, table, *more, "--device", "cuda:99")
    assert isinstance(done.exception, InputError)
    assert str(done.exception).startswith("there is no device 'cuda:99' here; there are: cpu, ")


def test_an_estimator_refuses_what_does_not_exist():
    with pytest.raises(InputError, match="there is no device 'xpu:99' here; there are: cpu, "):
        SVMClassifier(device="xpu:99").fit(*clouds())
