"""A comparison of the problems of more than two classes: class pairs, one against the rest, all classes."""

import json

import pytest

import svmkit as package
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import read
from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.solver.stopping import Gap, Seconds

pytestmark = pytest.mark.usefixtures("alone", "cells_here")
MODES = ["ovo", "ovr", "crammer_singer"]
RAW = {"data": ["iris"], "solvers": ["dcd"]}


def test_each_is_a_problem_of_its_own():
    cells = read(RAW | {"multiclass": MODES}).cells()
    assert [cell.data for cell in cells] == [f"iris {mode}" for mode in MODES]
    assert [cell.settings["data"].get("multiclass") for cell in cells] == [None, "ovr", "crammer_singer"]
    assert cells[0].key == read(RAW).cells()[0].key  # cells that were finished before count
    one = read(RAW | {"data": {"iris": {"multiclass": "ovr"}, "wine": {}}}).cells()
    assert [(cell.data, cell.settings["data"].get("multiclass")) for cell in one] == [("iris", "ovr"), ("wine", None)]


def test_all_classes_at_once_take_the_linear_kernel():
    spec = read(RAW | {"solvers": ["auto"], "multiclass": "crammer_singer"})
    assert spec.data["iris"]["kernel"] == {"name": "linear"}
    assert read(RAW | {"solvers": ["auto"], "multiclass": "ovr"}).data["iris"]["kernel"] == {"name": "rbf"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"multiclass": "ova"}, r"data.iris: multiclass='ova' is not known; there are: ovo, ovr, crammer_singer"),
        ({"multiclass": []}, "data.iris.multiclass must not be empty"),
        ({"multiclass": ["ovr", "ovr"]}, "come twice"),
        ({"multiclass": "crammer_singer", "kernel": "rbf"}, "needs the linear kernel, not rbf"),
        ({"multiclass": "crammer_singer", "solvers": ["smo"]}, "data.iris, solvers.smo: .*smo has no .*; those"),
        ({"multiclass": "ovr", "task": "regress"}, "is for classes: leave it out"),
    ],
)
def test_what_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        read(RAW | more)


@pytest.mark.slow
def test_cells_are_those_of_fit(svmkit):
    given = [part for mode in MODES for part in ("--multiclass", mode)]
    done = svmkit("compare", "iris", "--solvers", "dcd", *given, "--tol", "1e-6", "--no-track", "--json")
    assert done.code == 0, done.err
    stop = Gap(1e-6) | Seconds(300.0)  # beside a limit in seconds there is none in steps
    data = prepare(read(RAW).cells()[0].settings["data"]).train
    for mode, line in zip(MODES, map(json.loads, done.out.splitlines()), strict=True):
        found = package.fit(data.X, data.y, solver="dcd", kernel=Linear(), multiclass=mode, stop=stop)
        assert (line["set"], line["multiclass"]) == (f"iris {mode}", mode)
        assert line["objective"] == pytest.approx(found.objective, rel=2e-6)
        assert line["status"] == "converged" and line["gap"] <= 1e-6
        assert ("crammer singer" in line["formulation"]) == (mode == "crammer_singer")


@pytest.mark.slow
def test_a_multinomial_cell_is_that_of_fit(svmkit):
    given = "--solvers", "newton", "--multiclass", "multinomial", "--tol", "1e-6", "--no-track", "--json"
    done = svmkit("compare", "iris", *given)
    assert done.code == 0, done.err
    (line,) = map(json.loads, done.out.splitlines())
    data = prepare(read(RAW).cells()[0].settings["data"]).train
    found = package.fit(data.X, data.y, solver="newton", kernel=Linear(), multiclass="multinomial", stop=Gap(1e-6))
    assert line["objective"] == pytest.approx(found.objective, rel=2e-6)
    assert line["status"] == "converged" and line["formulation"] == "multinomial logistic, regularised bias"
