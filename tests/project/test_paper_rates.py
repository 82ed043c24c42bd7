"""The papers' convergence behaviour on the papers' kind of data.

The PARTAN paper counts iterations until alpha'g - min g <= Delta; `abs:EPS` is 2 (alpha'g - min g), so EPS = 2 Delta.
"""

import functools
import os

import numpy as np
import pytest
from support.problems import FAMILY, make

from svmkit.data import load
from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.problems.simplex import SquaredHinge
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Absolute, Iterations

pytestmark = [pytest.mark.data, pytest.mark.slow]

DELTAS = (1e-3, 1e-4, 1e-5)
SETS = {"a1a": (None, 0.5, 0.005), "ijcnn1": (2000, 0.5, 1.0)}  # rows, C, gamma
LINEAR = [name for name in ("mdm", "mfw", "swap", "swap2o") if name in FAMILY]  # linear convergence
every_set = pytest.mark.parametrize("name", SETS)


@functools.cache
def _problem(folder, name):
    rows, C, gamma = SETS[name]
    data = load(os.path.join(folder, f"{name}.bz2"))
    y = np.where(data.y[:rows] == data.y.max(), 1.0, -1.0)
    return SquaredHinge(Gram(RBF(gamma), data.X[:rows], memory="500MB"), y, C)


@functools.cache
def _iterations(folder, name, solver):
    """Iterations to each Delta, one run: the stopping rule decides nothing but the end."""
    problem, found = _problem(folder, name), []
    for delta in DELTAS:
        solution = solve(problem, make(solver), stop=Absolute(2 * delta) | Iterations(400_000))
        assert solution.status is Status.CONVERGED, f"{solver} needs more than {solution.n_iter} for {delta:g}"
        g = problem.gradient(solution.point)
        # g of the loop is maintained, this one is exact
        assert solution.point @ g - g.min() <= 1.02 * delta
        found.append(solution.n_iter)
    return found


@pytest.fixture
def iterations(data_folder, request):
    name = request.getfixturevalue("name")
    if not (data_folder / f"{name}.bz2").is_file():
        pytest.skip(f"needs {name}.bz2 in $SVMKIT_DATA")
    return lambda solver: _iterations(str(data_folder), name, solver)


@every_set
def test_fw_needs_ten_times_the_iterations_for_each_decade(name, iterations):
    first, second, third = iterations("fw")
    assert 6 <= second / first <= 14
    assert 6 <= third / second <= 14


@every_set
def test_partan_needs_fewer_than_fw(name, iterations):
    for partan, fw in zip(iterations("partan"), iterations("fw"), strict=True):
        assert partan < fw
    assert iterations("partan")[1] < 0.6 * iterations("fw")[1]
    assert iterations("partan")[2] < 0.6 * iterations("fw")[2]


@pytest.mark.parametrize("solver", LINEAR)
@every_set
def test_linear_methods_need_far_fewer_at_the_tightest(name, solver, iterations):
    found, fw = iterations(solver), iterations("fw")
    assert found[2] < fw[2] / 5
    assert found[2] / found[1] < 4  # a decade costs a factor far below ten, and a smaller one than before
    assert found[2] / found[1] <= found[1] / found[0] * 1.5


@every_set
def test_the_second_order_choice_saves_iterations(name, iterations):
    assert iterations("swap2o")[2] < iterations("swap")[2]
    assert iterations("swap2o")[2] < 0.5 * iterations("mfw")[2]


@every_set
def test_every_method_ends_at_the_same_objective(name, iterations, data_folder):
    problem = _problem(str(data_folder), name)
    reference = solve(problem, make("swap2o"), stop=Absolute(1e-8)).certificate
    for solver in FAMILY:
        solution = solve(problem, make(solver), stop=Absolute(2e-4))
        f = 0.5 / solution.certificate.dual
        assert 0.0 <= f - 0.5 / reference.dual <= 2e-4  # f - f* <= 2 (alpha'g - min g)
