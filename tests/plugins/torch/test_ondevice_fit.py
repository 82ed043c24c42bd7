"""Fits whose engine solves the problems on its device: the same models, certificates and doors as elsewhere."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits

import svmkit
from svmkit import Gram, tune
from svmkit.kernels import RBF
from svmkit.problems import BoxQP
from svmkit.solver import Gap, Iterations, Seconds
from svmkit.solver.solution import Status
from svmkit.training.settings import Settings
from svmkit.training.subproblems import by_engine
from svmkit.training.subproblems.by_engine import device_memory

pytest.importorskip("torch", reason="needs pip install 'svmkit[torch]'")
from svmkit_torch.ondevice import many

SETTINGS = {"kernel": RBF(0.1), "C": 10.0, "solver": "fcsmo"}


def digits(n=400, classes=10):
    X, y = load_digits(n_class=classes, return_X_y=True)
    return X[:n] / 16.0, y[:n]


def assert_alike(ours, theirs, X):
    assert len(ours.solutions) == len(theirs.solutions)
    for one, other in zip(ours.solutions, theirs.solutions, strict=True):
        assert one.status is Status.CONVERGED and one.certificate.gap <= 1e-3
        assert one.point.shape == other.point.shape
        # two intervals around one optimum
        assert one.certificate.dual <= other.certificate.primal * (1.0 + 1e-9)
        assert other.certificate.dual <= one.certificate.primal * (1.0 + 1e-9)
    assert np.mean(ours.model.predict(X) == theirs.model.predict(X)) > 0.99


@pytest.mark.parametrize("multiclass, n_problems", [("ovo", 45), ("ovr", 10)])
def test_problems_of_many_classes_are_solved_in_one_call(boxes, multiclass, n_problems):
    X, y = digits()
    ours = svmkit.fit(X, y, device="torch:cpu", multiclass=multiclass, **SETTINGS)
    assert boxes == [n_problems]
    assert_alike(ours, svmkit.fit(X, y, multiclass=multiclass, **SETTINGS), X)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_limit_in_seconds_holds_on_the_device(boxes, multiclass, monkeypatch):
    X, y = digits(classes=3)
    given = {**SETTINGS, "device": "torch:cpu", "multiclass": multiclass}
    enough = svmkit.fit(X, y, stop=Gap(1e-3) | Seconds(600.0), **given)
    assert boxes == [3] and enough.status is Status.CONVERGED
    clock = iter(np.arange(1000.0))  # every look at it is a second later
    monkeypatch.setattr(by_engine, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    short = svmkit.fit(X, y, stop=Gap(1e-9) | Seconds(2.5), **given)
    assert boxes == [3, 3] and next(clock) < 20.0
    assert [one.status for one in short.solutions] == [Status.TIME_LIMIT] * 3
    for one, best in zip(short.solutions, enough.solutions, strict=True):
        assert one.certificate.gap > 1e-9
        assert one.certificate.dual <= best.certificate.primal * (1.0 + 1e-9)
        assert best.certificate.dual <= one.certificate.primal * (1.0 + 1e-9)


def test_a_limit_of_iterations_is_left_to_the_host(boxes):
    X, y = digits(classes=3)
    ended = svmkit.fit(X, y, device="torch:cpu", stop=Gap(1e-9) | Iterations(3), **SETTINGS)
    assert boxes == [] and ended.status is Status.MAX_ITER


def test_class_weights_sample_weights_and_rows_of_no_weight(boxes):
    X, y = digits(classes=3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    weights[:20] = 0.0
    given = {**SETTINGS, "class_weight": "balanced", "sample_weight": weights}
    ours = svmkit.fit(X, y, device="torch:cpu", **given)
    assert boxes == [3]
    assert_alike(ours, svmkit.fit(X, y, **given), X)


def test_two_classes_are_certified_by_the_cpu_too(boxes):
    X, y = digits()
    [solution] = svmkit.fit(X, y % 2, device="torch:cpu", **SETTINGS).solutions
    assert boxes == [1]
    problem = BoxQP(Gram(SETTINGS["kernel"], X), 2.0 * (y % 2) - 1.0, SETTINGS["C"])
    assert problem.infeasible(solution.point) is None
    assert problem.certificate(solution.point).gap <= 1e-3


@pytest.mark.parametrize("solver", ["swap2o", "smo1"])
def test_solvers_of_another_kind_are_left_to_themselves(boxes, solver):
    X, y = digits(200, 3)
    fitted = svmkit.fit(X, y, device="torch:cpu", **{**SETTINGS, "solver": solver})
    assert boxes == [] and len(fitted.solutions) == 3


def test_a_loss_that_the_device_does_not_solve_is_left_to_other_code(boxes):
    X, y = digits(200, 3)
    fitted = svmkit.fit(X, y, device="torch:cpu", **{**SETTINGS, "loss": "logistic", "solver": "auto"})
    assert boxes == [] and fitted.solutions[0].certificate.gap <= 1e-3


def test_without_a_device_no_engine_is_asked(boxes):
    X, y = digits(200, 3)
    svmkit.fit(X, y, **SETTINGS)
    svmkit.fit(X, y, device="cpu", **SETTINGS)
    assert boxes == []


def test_a_gap_that_is_not_proven_is_reached_by_other_code(boxes, monkeypatch):
    X, y = digits(200, 3)
    solve = many.solve_many
    monkeypatch.setattr(many, "solve_many", lambda rows, boxes, gap, **given: solve(rows, boxes, 0.5, **given))
    ours = svmkit.fit(X, y, device="torch:cpu", **SETTINGS)
    assert boxes == [3]
    assert all(solution.certificate.gap <= 1e-3 for solution in ours.solutions)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_search_solves_all_folds_and_costs_in_one_call(boxes, classes):
    X, y = digits(300, classes)
    given = {"kernel": RBF(0.1), "grid": {"C": [0.3, 3.0, 30.0]}, "cv": 4}
    ours, theirs = (tune.search(X, y, device=device, **given) for device in ("torch:cpu", None))
    assert boxes == [3 * 4 * (1 if classes == 2 else 3)]
    expected = {one.C: one.mean_accuracy for one in theirs.candidates}
    for one in ours.candidates:
        assert one.converged and abs(one.mean_accuracy - expected[one.C]) < 0.01


def test_the_memory_of_the_device_is_what_the_user_gave():
    assert device_memory(Settings()) is None
    assert device_memory(Settings(memory="8GB")) == 8 << 30
