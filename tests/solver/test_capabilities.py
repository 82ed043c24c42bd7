"""What only some solvers can do: base classes whose methods are not optional."""

from dataclasses import dataclass

import numpy as np
import pytest
from support.solve import Replay, problem

from svmkit import plugins
from svmkit.solver import Iterations, LearnsFromStreams, LimitsSupport, Solver, Status, Support, solve

POINT = (np.full(80, 1 / 80),)


@pytest.mark.parametrize("capability", [LearnsFromStreams, LimitsSupport])
def test_a_capability_cannot_be_claimed_without_its_methods(capability):
    @dataclass(frozen=True)
    class Claims(capability, Replay):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Claims()


def test_other_solvers_lack_the_methods():
    assert not {"members", "renew", "limit_support"} & set(dir(Solver))
    assert not {"streams", "budgeted"} & set(dir(Solver))


def test_which_solvers_have_them():
    streaming = plugins.solvers_where(lambda solver: issubclass(solver, LearnsFromStreams))
    limiting = plugins.solvers_where(lambda solver: issubclass(solver, LimitsSupport))
    assert streaming == ["folos", "msfw", "norma", "pegasos", "sfw", "sgd"]
    assert limiting == ["cvm", "fw", "mdm", "mfw", "msfw", "norma", "partan", "sfw", "swap", "swap2o"]


@dataclass(frozen=True)
class Limiting(LimitsSupport, Replay):
    def limit_support(self, state, most):
        state["most"] = most

    def details(self, state):
        return {"most": state["most"]}


def test_the_loop_leaves_the_limit_to_a_solver_that_keeps_it():
    """The smallest limit counts, and the rule itself no longer ends the solve: the solver says when it is full."""
    stop = Support(9) | Support(5) | Iterations(7)
    solution = solve(problem(), Limiting(points=POINT), stop=stop)
    assert solution.details == {"most": 5.0} and solution.n_iter == 7
    other = solve(problem(), Replay(points=POINT), stop=stop)
    assert other.status is Status.MAX_SUPPORT and other.n_iter == 1
