"""Capabilities of some solvers, as base classes whose methods a derived class has to implement."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from svmkit.solver.base import Solver
from svmkit.solver.sampler import Draws


class LearnsFromStreams(Solver):
    """A solver that learns from samples as they arrive, block by block.

    Each block becomes a small problem. Its first rows are the samples that the state still needs, its other rows are
    the new samples, so samplers and problems need not know about streams.

    Examples
    --------
    >>> from svmkit import plugins
    >>> from svmkit.solver import LearnsFromStreams
    >>> plugins.solvers_where(lambda solver: issubclass(solver, LearnsFromStreams))
    ['folos', 'msfw', 'norma', 'pegasos', 'sfw', 'sgd']
    """

    @abstractmethod
    def members(self, state: Any) -> np.ndarray:
        """Return the rows of the current problem that the state still needs.

        Parameters
        ----------
        state : Any
            The solver's state.

        Returns
        -------
        ndarray of int64
            Row numbers, in the order in which the state refers to them.
        """

    @abstractmethod
    def renew(self, state: Any, problem: Any, draws: Draws) -> None:
        """Continue on the problem of the next block.

        Parameters
        ----------
        state : Any
            The solver's state, changed in place.
        problem : Problem
            The new problem. Its first rows are the members, in the order of `members`; the others are new samples.
        draws : Draws
            Draws the new samples, each once and in order.
        """


class LimitsSupport(Solver):
    """A solver that keeps its iterate within a limit of support vectors and still improves it.

    Examples
    --------
    >>> from svmkit import plugins
    >>> from svmkit.solver import LimitsSupport
    >>> issubclass(plugins.load("solver", "swap2o"), LimitsSupport)
    True
    """

    @abstractmethod
    def limit_support(self, state: Any, most: int) -> None:
        """Keep the iterate at `most` non-zero weights or fewer from now on; `StepInfo.full` reports when that binds.

        Parameters
        ----------
        state : Any
            The solver's state, changed in place.
        most : int
            Largest number of non-zero weights, >= 1.
        """
