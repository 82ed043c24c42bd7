"""A checkpoint that belongs to the training problem and is damaged all the same: refused before any compiled loop."""

import numpy as np
import pytest
from support.problems import overlapping

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF
from svmkit.model import file as model_file
from svmkit.solver.stopping import Iterations
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.train import fit

PATH = "run.ckpt"


def train(solver, resume):
    X, y = overlapping()
    saver = Checkpoint(PATH, resume=resume, every=0.0)
    return fit(X, y, solver=solver, kernel=RBF(0.5), stop=Iterations(200), checkpoint=saver)


def no_problems(arrays, header):
    header["problems"] = None


def no_point(arrays, header):
    arrays.clear()


def unknown_key(arrays, header):
    header["problems"]["0"]["speed"] = 3


def text_for_a_number(arrays, header):
    header["problems"]["0"]["n_iter"] = "many"


def short_point(arrays, header):
    arrays["point.0"] = arrays["point.0"][:5]


def other_dtype(arrays, header):
    arrays["point.0"] = arrays["point.0"].astype(np.float32)


def not_finite(arrays, header):
    arrays["point.0"][:] = np.nan


def negative(arrays, header):
    arrays["point.0"][:] = -1.0


def no_generator(arrays, header):
    header["problems"]["0"]["rng_state"] = {"bit_generator": "PCG64", "state": {"state": -1, "inc": "x"}}


DAMAGE = (no_problems, no_point, unknown_key, text_for_a_number, short_point, other_dtype, not_finite, negative)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("solver", ["swap2o", "smo", "fcsmo"])
@pytest.mark.parametrize("damage", [*DAMAGE, no_generator])
def test_is_refused_in_a_line(solver, damage):
    train(solver, resume=False)
    arrays, header = model_file.read(PATH, "checkpoint")
    arrays = {name: array.copy() for name, array in arrays.items()}
    damage(arrays, header)
    model_file.write(PATH, arrays, {k: header[k] for k in ("facts", "problems")}, "checkpoint")
    with pytest.raises(InputError) as caught:
        train(solver, resume=True)
    assert "damaged" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.usefixtures("alone")
def test_one_that_is_whole_goes_on():
    train("swap2o", resume=False)
    assert train("swap2o", resume=True).n_iter >= 1
