"""Checks that a plugin affects nothing but its own state: not the data, global random state or other solves; and that
every solve begins and ends where it should."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from svmkit.conformance.kernels import kernel_data
from svmkit.conformance.result import Check, check
from svmkit.conformance.solvers import begin, kernel_for, problem_for, toy
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import Gram
from svmkit.solver.base import Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Sampler
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Iterations, Seconds

LONGEST = 20.0  # seconds; a solver that ends takes milliseconds


@contextmanager
def _ending(seconds: float, what: str) -> Iterator[None]:
    """Raise TimeoutError after this time; it works in the main thread only, and only while Python code runs."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def wake(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"{what} had not ended after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, wake)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _ends(solver: Solver) -> str | None:
    """On 2 and on 8 samples, where the optimum is soon exact, 2000 iterations end at once. A step that cannot improve
    the iterate returns StepInfo(moved=False) instead of continuing to search.
    """
    if solver.external:
        return None
    for m in (2, 8):
        rng = np.random.default_rng(m)
        X, y = rng.normal(size=(m, 3)), np.where(np.arange(m) % 2, 1.0, -1.0)
        problem = solver.pose(Gram(kernel_for(solver), X), y, 32.0)
        try:
            with _ending(2.0 * LONGEST, "a step"):
                done = solve(problem, solver, stop=Iterations(2000) | Seconds(LONGEST))
        except TimeoutError as late:
            return f"on {m} samples {late}"
        if done.status is Status.TIME_LIMIT:
            return f"on {m} samples it was still at iteration {done.n_iter} after {LONGEST:g} seconds"
    return None


def _starts(solver: Solver) -> str | None:
    """The iterate after init(problem, start, draws) is start, or as good as start."""
    if solver.external:
        return None
    problem = problem_for(solver)
    near = solve(problem, solver, stop=Iterations(300)).point
    draws = Draws(solver.sampler, problem.y, np.random.default_rng(0))
    started = [solver.solution(solver.init(problem, start, draws)) for start in (near.copy(), None)]
    given, taken, nothing = (problem.certificate(point).primal for point in (near, *started))
    if abs(taken - given) > 1e-3 * abs(given) and abs(taken - given) > 0.1 * abs(nothing - given):
        return f"given a point of primal value {given:.6g} it begins at {taken:.6g}; without one at {nothing:.6g}"
    return None


def _alone(solver: Solver) -> str | None:
    """Everything that changes lives in the state that init returns, not in the class, the module or the instance."""
    steps, single = 1 if solver.external else 20, begin(problem_for(solver), solver)
    for _ in range(steps):
        solver.step(single)
    one, other = (begin(problem_for(solver, seed=seed), solver) for seed in (0, 1))
    for _ in range(steps):
        solver.step(one)
        solver.step(other)
    difference = float(np.abs(solver.solution(one) - solver.solution(single)).max())
    if difference > 1e-9:
        return f"beside another solve its weights differ by up to {difference:.2g} from its weights when it runs alone"
    return None


def _solver_leaves(solver: Solver) -> str | None:
    """A solver does not write to X, y or the rows of problem.gram. Random choices come from the Generator that svmkit
    passes (draws.rng).
    """
    X, y = toy()
    kernel = kernel_for(solver)
    problem = solver.pose(Gram(kernel, X), y, 1.0)
    arrays = {"X": X, "y": y, "problem.y": problem.y}
    changed = _find_change(lambda: solve(problem, solver, stop=Iterations(60)), arrays)
    fresh = Gram(kernel, toy()[0])  # Gram.row returns rows of the cache itself, for every later reader
    for i in range(0 if changed else problem.m):
        if not np.allclose(problem.gram.row(i), fresh.row(i), rtol=1e-4, atol=1e-6):
            return f"it wrote to kernel row {i}, which gram.row keeps: work on a copy"
    return changed


def _kernel_leaves(kernel: Kernel) -> str | None:
    """block(X, Z) and diag(X) only read X and Z, and draw no random numbers."""
    kernel, X = kernel_data(kernel)

    def run() -> None:
        Gram(kernel, X).matvec(np.ones(20), np.arange(20))
        kernel.diag(X)

    return _find_change(run, {"X": X})


def _sampler_leaves(sampler: Sampler) -> str | None:
    """A sampler does not write to y. Random choices come from the Generator that svmkit passes (rng)."""
    _, y = toy()

    def run() -> None:
        draws = Draws(sampler, y, np.random.default_rng(5))
        for _ in range(50):
            draws()

    return _find_change(run, {"y": y})


def _sampler_alone(sampler: Sampler) -> str | None:
    """Everything that changes lives in the generator that draws returns."""
    _, y = toy()
    single = Draws(sampler, y, np.random.default_rng(5))
    alone = [single().copy() for _ in range(50)]
    one, other = (Draws(sampler, y, np.random.default_rng(seed)) for seed in (5, 6))
    for k, draw in enumerate(alone):
        if not np.array_equal(one(), draw):
            return f"draw {k + 1} changes when a second solve draws as well"
        other()
    return None


def _find_change(run: Callable[[], object], arrays: dict[str, np.ndarray]) -> str | None:
    """Describe what `run` changed: one of these arrays, or the global random state of numpy or of Python."""
    before, states = {name: array.copy() for name, array in arrays.items()}, _states()
    run()
    for name, array in arrays.items():
        if not np.array_equal(array, before[name]):
            return f"it wrote to {name}"
    drew = _states() != states
    return "it drew from (or seeded) the global random state, of numpy.random or of random" if drew else None


def _states() -> tuple[bytes, int, Any]:
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002  to see whether it changes
    return state["state"]["key"].tobytes(), state["state"]["pos"], random.getstate()


SOLVER: dict[str, Check] = {
    "a handful of samples under an iteration budget: the solve ends": check(_ends, "svmkit.solver.StepInfo.moved"),
    "it begins at the start that it is given": check(_starts, "svmkit.solver.Solver.init"),
    "two solves side by side do not affect each other": check(_alone, "svmkit.solver.Solver.init"),
    "data, kernel rows and global random state are not changed": check(
        _solver_leaves, "svmkit.solver.Solver.init, svmkit.kernels.Gram.row"
    ),
}
KERNEL: dict[str, Check] = {
    "data and global random state are not changed": check(_kernel_leaves, "svmkit.kernels.Kernel.block"),
}
SAMPLER: dict[str, Check] = {
    "two solves side by side do not affect each other": check(_sampler_alone, "svmkit.solver.Sampler.draws"),
    "labels and global random state are not changed": check(_sampler_leaves, "svmkit.solver.Sampler.draws"),
}
