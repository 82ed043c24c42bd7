"""Who wrote a checkpoint: another solver is named, and files of earlier versions, which do not say it, still work."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from support.model import colours
from support.problems import make, overlapping

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.losses import Quantile
from svmkit.model import file as model_file
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.train import fit

PATH = "run.ckpt"
EARLIER = Path(__file__).parent / "format_1.ckpt"  # smo, C=2, RBF(0.5): 10 iterations a class pair


def train(solver, resume, kernel=None, limit=50):
    X, y = overlapping()
    saver = Checkpoint(PATH, resume=resume, every=0.0)
    stop = Gap(1e-6) | Iterations(limit)
    return fit(X, y, solver=solver, kernel=kernel or RBF(0.5), stop=stop, checkpoint=saver)


def resumed(solver, kernel=None):
    with pytest.raises(InputError) as caught:
        train(solver, resume=True, kernel=kernel)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("first", "second"), [("smo", "swap2o"), ("swap2o", "smo"), ("pegasos", "smo")])
def test_another_solver_is_named(first, second):
    train(first, resume=False)
    said = resumed(second)
    assert f"solver '{first}' wrote it, and {second} asks for it" in said and "damaged" not in said


@pytest.mark.usefixtures("alone")
def test_another_solver_of_a_linear_problem_is_named():
    train("sgd", resume=False, kernel=Linear())
    assert "solver 'sgd' wrote it, and dcd asks for it" in resumed("dcd", Linear())


TARGETS = {"task": "regress", "solver": "newton", "kernel": Linear()}
BEGUN = {"solver": "smo", "kernel": RBF(0.5), "C": 1.0}


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("begun", "changed", "words"),
    [
        (BEGUN, {"loss": "squared_hinge"}, "objective (hinge, free bias there, squared hinge, free bias here)"),
        (BEGUN, {"kernel": RBF(0.25)}, "kernel (rbf gamma=0.5 there, rbf gamma=0.25 here)"),
        (BEGUN, {"C": 2.0}, "C (1.0 there, 2.0 here)"),
        (BEGUN, {"sample_weight": np.linspace(1.0, 2.0, 120)}, "weights"),
        (TARGETS, {"solver": make("newton", bias="free")}, "objective (squared epsilon-insensitive, regularised bias "),
        (TARGETS, {"epsilon": 0.2}, "epsilon (0.1 there, 0.2 here)"),
        (TARGETS, {"loss": Quantile(0.4)}, "objective ("),
        (
            TARGETS | {"loss": Quantile(0.4)},
            {"loss": Quantile(0.4 + 1e-9)},
            "objective (quantile tau=0.4, ",
        ),
    ],
)
def test_another_training_is_refused(begun, changed, words):
    X, y = overlapping()
    given = {"stop": Iterations(3), "checkpoint": Checkpoint(PATH)}
    fit(X, y, **begun, **given)
    with pytest.raises(InputError) as caught:
        fit(X, y, **begun | changed, **given | {"checkpoint": Checkpoint(PATH, resume=True)})
    said = str(caught.value)
    assert f"belongs to other {words}" in said and said.endswith("without --resume, which replaces this one")
    assert "\n" not in said and "wrote it" not in said


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("facts", [3, []])
def test_damaged_facts_are_refused(facts):
    train("smo", resume=False)
    arrays, header = model_file.read(PATH, "checkpoint")
    model_file.write(PATH, arrays, header | {"facts": facts}, "checkpoint")
    assert "damaged" in resumed("smo")


@pytest.mark.usefixtures("alone")
def test_a_solver_of_the_same_problem_goes_on():
    first = train("swap2o", resume=False)
    assert train("fcfw", resume=True, limit=51).n_iter > first.n_iter


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("solvers", [None, [], 3, {"zero": "smo"}])
def test_a_damaged_writer_is_refused(solvers):
    train("smo", resume=False)
    arrays, header = model_file.read(PATH, "checkpoint")
    model_file.write(PATH, arrays, header | {"solvers": solvers}, "checkpoint")
    assert "damaged" in resumed("smo")


@pytest.mark.usefixtures("alone")
def test_one_of_an_earlier_version_goes_on():
    X, y = colours()
    shutil.copy(EARLIER, PATH)
    options = {"kernel": RBF(0.5), "C": 2.0, "stop": Gap(1e-6)}
    found = fit(X, y, solver="smo", checkpoint=Checkpoint(PATH, resume=True), **options)
    whole = fit(X, y, solver="smo", **options)
    assert found.status is Status.CONVERGED
    assert [s.history[0].n_iter for s in found.solutions] == [10, 10, 10]
    assert max(s.history[0].n_iter for s in whole.solutions) <= 1
    assert found.objective == pytest.approx(whole.objective, rel=1e-5)


@pytest.mark.usefixtures("alone")
def test_one_of_an_earlier_version_and_another_solver():
    X, y = colours()
    shutil.copy(EARLIER, PATH)
    with pytest.raises(InputError, match="it was written by another solver, for another problem, or is damaged; train"):
        fit(X, y, solver="swap2o", kernel=RBF(0.5), C=2.0, checkpoint=Checkpoint(PATH, resume=True))
