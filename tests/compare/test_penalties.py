"""--penalty in comparisons and learning curves: the linear kernel, the objective in words, and what is refused."""

import json

import pytest

from svmkit import fit
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import read
from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.usefixtures("alone", "cells_here")
RAW = {"data": ["breast_cancer"], "solvers": ["auto"]}


def test_a_penalty_takes_the_linear_kernel_and_changes_the_cell():
    plain, sparse = (read(RAW | more).cells()[0] for more in ({"kernel": "linear"}, {"penalty": "l1"}))
    assert sparse.settings["data"]["kernel"] == {"name": "linear"} and sparse.key != plain.key
    assert sparse.training.penalty == "l1" and plain.training.penalty is None
    assert read(RAW | {"penalty": "l2"}).data["breast_cancer"]["kernel"] == {"name": "rbf"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"penalty": "l3"}, "data.breast_cancer: penalty='l3' is not known; there are: l2, l1, elasticnet, group"),
        ({"penalty": "l1", "kernel": "rbf"}, "penalty=l1 is for kernel=linear, not rbf"),
        ({"penalty": "l1", "solvers": ["dcd"]}, "solver dcd has no penalty=l1; those that have one: cd"),
        ({"penalty": "elasticnet", "l1_ratio": 2.0}, "l1_ratio must be a number from 0 to 1"),
        ({"penalty": "elasticnet", "l1_ratio": "much"}, "l1_ratio"),
        ({"penalty": "l1", "task": "outliers"}, "penalty"),
    ],
)
def test_what_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        read(RAW | more)


@pytest.mark.slow
@pytest.mark.parametrize(("penalty", "ratio"), [("l1", None), ("elasticnet", 0.3)])
def test_cells_are_those_of_fit(svmkit, penalty, ratio):
    more = [] if ratio is None else ["--l1-ratio", str(ratio)]
    done = svmkit("compare", "breast_cancer", "--solvers", "auto", "--penalty", penalty, *more, "-C", "0.1",
                  "--tol", "1e-6", "--no-track", "--json")  # fmt: skip
    assert done.code == 0, done.err
    (line,) = map(json.loads, done.out.splitlines())
    data = prepare(read(RAW).cells()[0].settings["data"]).train
    given = {} if ratio is None else {"l1_ratio": ratio}
    found = fit(data.X, data.y, kernel=Linear(), penalty=penalty, C=0.1, stop=Gap(1e-6), **given)
    assert line["objective"] == pytest.approx(found.objective, rel=2e-6) and f"{penalty} penalty" in line["formulation"]


@pytest.mark.slow
def test_a_learning_curve(svmkit):
    done = svmkit("curve", "breast_cancer", "--solver", "cd", "--penalty", "l1", "--rows", "100", "--repeat", "1",
                  "--json")  # fmt: skip
    assert done.code == 0, done.err
    assert "l1 penalty" in done.json["fits"][0]["formulation"]
