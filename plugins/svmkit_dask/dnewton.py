"""Newton's method on linear problems over the parts of distributed data."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec

from svmkit_newton.newton import NEAR, Newton

from svmkit.errors import InputError, Unavailable
from svmkit.problems.base import FREE, NUMBER_OR_FREE
from svmkit.solver.sampler import Goal
from svmkit_dask.driver.linear import LinearState, ScatteredLinear, ScatteredLinearTube


@dataclass(frozen=True)
class DNewton(Newton):
    """Newton's method on the primal over parts of the data; for data in the memory of this process, the same as
    `newton`.

    The parts keep their rows and answer with sums over them: the gradient, the Hessian of up to `wide` columns or its
    products with directions of conjugate gradients (Zhuang, Chin, Juan, Lin 2015), derivatives along a direction.
    Losses with a kink are smoothed around a moving centre (Rockafellar 1976), which is determined by the iterates at
    which it moved. No message grows with the number of rows.

    Parameters
    ----------
    loss, wide : optional
        As for `Newton`.
    bias : float or "free", default="free"
        As for `Newton`; over parts, the bias is free.

    Raises
    ------
    InputError
        As `Newton`, or if the data are in parts and the bias is not free.
    """

    name = "dnewton"
    joint = ()
    further = (ScatteredLinear, ScatteredLinearTube)
    paper = "Zhuang et al. 2015"

    bias: float | str = field(default=FREE, metadata=NUMBER_OR_FREE)

    def batch_code(self):
        return None  # it would need the rows of all problems here

    def init(self, problem, start, draws):
        """Return the state over the parts of the data, or that of `Newton` for data in the memory of this process.

        Parameters
        ----------
        problem, start, draws : Problem, ndarray or None, Draws
            As for `Solver.init`.

        Raises
        ------
        InputError
            If the data are in parts and the bias is not free.
        """
        if not isinstance(problem, ScatteredLinear):
            return super().init(problem, start, draws)
        if self.bias != FREE:
            raise InputError(f"bias={self.bias} is not available on a cluster, where the bias is free: leave it out")
        goal = draws.goal or Goal(0.0, 1.0)
        return LinearState(problem, start, goal.gap or NEAR, self.wide)

    def solution(self, state):
        return state.best.copy() if isinstance(state, LinearState) else super().solution(state)

    def carry(self, state):
        return None if isinstance(state, LinearState) else super().carry(state)

    def resync(self, state, certificate):
        if isinstance(state, LinearState):
            state.is_modelled = False
        else:
            super().resync(state, certificate)


if find_spec("distributed") is None:
    raise Unavailable("needs Dask: pip install 'svmkit[dask]'", DNewton)
