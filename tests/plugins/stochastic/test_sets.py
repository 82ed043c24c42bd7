"""Stochastic solvers on real sets: P within 1 % of the certified optimum in the epochs of docs/stochastic.md."""

import numpy as np
import pytest
from support.problems import make, posed
from support.stochastic import state_of

from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Gap, Iterations

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("one_pool")]

EPOCHS = {
    "a9a": {
        "hinge": {"pegasos": 60, "sgd": 5, "sgdqn": 5, "folos": 5},
        "squared_hinge": {"sgd": 5, "sgdqn": 5, "folos": 5},
    },
    "w8a": {
        "hinge": {"pegasos": 110, "sgd": 90, "sgdqn": 40, "folos": 90},
        "squared_hinge": {"pegasos": 160, "sgd": 75, "sgdqn": 15, "folos": 75},
    },
}
READ = {}
CASES = [(data, loss, name, most) for data in EPOCHS for loss, of in EPOCHS[data].items() for name, most in of.items()]


@pytest.fixture(scope="module")
def optimum():
    """optimum(X, y, loss) -> P of the linear problem with C = 1, certified; by the number of rows."""
    found = {}

    def of(X, y, loss):
        if (X.shape, loss) not in found:
            dcd = make("dcd", loss=loss)
            found[X.shape, loss] = solve(posed(dcd, X, y, 1.0), dcd, stop=Gap(1e-4)).certificate.dual
        return found[X.shape, loss]

    return of


@pytest.fixture
def signed(real_set):
    """signed(name) -> X, and y of -1.0 and +1.0; each set is read once."""

    def get(name):
        if name not in READ:
            data = real_set(name)
            READ[name] = data.X, np.where(data.y > 0, 1.0, -1.0)
        return READ[name]

    return get


def epochs_to(solver, problem, target, most):
    """How many epochs until P <= target; most + 1 when that is not reached."""
    state = state_of(solver, problem, solver.sampler)
    for epoch in range(1, most + 1):
        solver.step(state)
        if problem.objective(solver.solution(state)) <= target:
            return epoch
    return most + 1


@pytest.mark.parametrize(("data", "loss", "name", "most"), CASES)
def test_linear_solvers_within_one_percent(signed, optimum, data, loss, name, most):
    X, y = signed(data)
    solver = make(name, loss=loss)
    assert epochs_to(solver, posed(solver, X, y, 1.0), 1.01 * optimum(X, y, loss), most) <= most


def test_sgdqn_needs_fewer_epochs_than_sgd(signed, optimum):
    X, y = signed("a9a")
    for average in ("late", "none"):
        target = (1.003 if average == "late" else 1.01) * optimum(X, y, "hinge")
        sgd, sgdqn = (make(name, average=average) for name in ("sgd", "sgdqn"))
        problem = posed(sgd, X, y, 1.0)
        assert epochs_to(sgdqn, problem, target, 40) < epochs_to(sgd, problem, target, 40)


@pytest.mark.parametrize(("name", "loss", "most"), [
    ("pegasos", "hinge", 15), ("norma", "hinge", 10), ("pegasos", "squared_hinge", 30), ("norma", "squared_hinge", 20),
])  # fmt: skip
def test_kernel_solvers_within_one_percent(signed, name, loss, most):
    X, y = signed("a9a")
    X, y = X[:2500], y[:2500]
    gram, every = Gram(RBF(1 / 200), X), np.arange(2500)
    # the rows of a factor of the kernel matrix and its bias make a linear problem with the same optimum
    factor = np.linalg.cholesky(gram.block(every, every) + 1.0 + 1e-9 * np.eye(2500))
    dcd, solver = make("dcd", loss=loss, bias=0.0), make(name, loss=loss)
    best = solve(posed(dcd, factor, y, 1.0), dcd, stop=Gap(1e-3) | Iterations(500)).certificate.dual
    assert epochs_to(solver, solver.pose(gram, y, 1.0), 1.01 * best, most) <= most
