"""What a run is logged with: parameters without those that are not given, options that differ, known values."""

import math

import numpy as np
import pytest
from svmkit_registry.packing import write_folder

from svmkit import Dataset, fit, plugins
from svmkit.kernels.functions import RBF, Linear
from svmkit.tracking import params, scalars, tags

DATA = Dataset(np.eye(3), np.array([0, 1, 1]), "eye")


def test_settings_that_are_not_given_are_left_out():
    found = params(plugins.build("solver", "smo"), RBF(0.5), 10.0, DATA, seed=0, scale=None, stop="gap:1e-3")
    assert found["seed"] == 0 and found["stop"] == "gap:1e-3" and "scale" not in found
    assert (found["solver"], found["kernel"], found["data"], found["n"], found["d"]) == ("smo", "rbf", "eye", 3, 3)
    assert (found["C"], found["gamma"]) == (10.0, 0.5)
    assert found["log10_C"] == pytest.approx(1.0) and found["log10_gamma"] == pytest.approx(math.log10(0.5))
    assert not any(value is None for value in found.values())


def test_a_kernel_without_gamma_and_options_that_differ():
    plain, other = (plugins.build("solver", "dcd", options) for options in ({}, {"bias": 3.0}))
    found = params(other, Linear(), 1.0, DATA)
    assert found["bias"] == 3.0 and "bias" not in params(plain, Linear(), 1.0, DATA)
    assert not {"gamma", "log10_gamma"} & set(found) and "formulation" in found
    assert "bias=3.0" in tags(other)["svmkit.options"].split()


def test_scalars_are_known_and_finite():
    values = {"fit_s": 1.5, "gap": None, "n_iter": 7, "objective": math.inf, "rounding": math.nan, "own": 2}
    assert scalars(values) == {"time/fit_s": 1.5, "final/n_iter": 7.0, "own": 2.0}


def test_a_model_is_packed_without_a_look_at_all_packages(tmp_path, monkeypatch):
    from mlflow.utils import environment, requirements_utils

    looks, survey = [], environment.warn_dependency_requirement_mismatches
    monkeypatch.setattr(requirements_utils, "_check_requirement_satisfied", looks.append)
    model = fit(DATA.X, DATA.y, kernel=Linear()).model
    write_folder(tmp_path / "model", model, DATA.X)
    assert not looks and environment.warn_dependency_requirement_mismatches is survey
    needed = (tmp_path / "model" / "requirements.txt").read_text(encoding="utf-8").split()
    assert [line.partition("==")[0] for line in needed] == ["mlflow", "svmkit"]
