"""Dual coordinate descent for Crammer and Singer's problem of all classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.base import Problem
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.risks.design import CSR
from svmkit.problems.risks.joint.crammer_singer import CrammerSinger
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Draws, Sampler, Shuffled
from svmkit.solver.step_info import StepInfo
from svmkit_coordinate.class_steps import Visit, visit
from svmkit_coordinate.passes import shuffle

WORK = 3e8  # values of X times classes that a call may read: some tenths of a second, so that interrupts are noticed


class ClassState:
    """State of a solve, which owns alpha (m, k).

    order[:n] are the samples that take part in the pass, and the next call begins at position `at`, with the sums
    `so_far`. `partial` says whether the pass began without some samples or classes. All of them return below the
    violation `fine`, which is halved each time, as in LIBLINEAR. W is (k, width), or (width, k) for CSR.
    """

    def __init__(self, problem: CrammerSinger, alpha: np.ndarray, draws: Draws, shuffled: bool) -> None:
        self.problem, self.alpha, self.draws, self.shuffled = problem, alpha, draws, shuffled
        k, d = problem.n_classes, problem.design
        others = np.arange(k - 1, dtype=np.int32)
        own = problem.codes[:, None].astype(np.int32)
        self.active = np.concatenate([own, others + (others >= own)], axis=1)
        self.sizes, self.room, self.fine = np.empty(problem.m, dtype=np.int32), np.empty((3, k)), 1.0
        self.chunk = max(int(WORK / max(k * d.entries / problem.m, 1.0)), 1)
        self.anew()

    def anew(self) -> None:
        """Compute the weights and the objective from scratch, and let all samples and classes take part."""
        problem = self.problem
        totals = problem.totals(self.alpha)
        self.alpha[np.arange(problem.m), problem.codes] = totals
        W = problem.weights(self.alpha)
        self.objective, self.n_support = problem.value(totals, W), int(np.count_nonzero(totals))
        self.W = np.ascontiguousarray(W.T) if isinstance(problem.design.rows, CSR) else W
        self.all()

    def all(self) -> None:
        """Let all samples and classes take part, in a new pass."""
        self.sizes[:], self.order = self.problem.n_classes, np.arange(self.problem.m)
        self.begin(self.problem.m)

    def begin(self, n: int) -> None:
        """Begin a pass over order[:n]."""
        self.n, self.at, self.so_far = n, 0, Visit(0, 0.0, 0.0, 0.0, 0, 0)
        self.partial = n < self.problem.m or bool((self.sizes < self.problem.n_classes).any())
        if self.shuffled:
            shuffle(self.order, n, np.uint64(self.draws.rng.integers(1, 2**63)))


@dataclass(frozen=True)
class ClassDescent(Solver):
    """The method of LIBLINEAR's `-s 4` (Keerthi, Sundararajan, Chang, Hsieh, Lin 2008); created by `dcd`.

    An iteration is a pass over the samples that take part. Each sample's dual weights of all classes are minimised
    together, exactly. A long pass takes several steps, so that signals and limits in seconds are noticed.
    """

    name = "dcd"
    problem: ClassVar[type[Problem]] = CrammerSinger
    joint = ("crammer_singer",)
    terms = ("bias",)
    losses = ("hinge",)
    requires = (Requires.LINEAR_KERNEL,)
    monotone: ClassVar[bool] = True
    sampler: ClassVar[Sampler] = Shuffled()
    recheck: ClassVar[int] = 1
    paper = "Keerthi et al. 2008"

    bias: float = 1.0  # value of the column added for the bias, which is regularised; 0 for no bias
    shrinking: bool = True  # whether samples and classes are left out while their weights stay at a bound

    def joint_solver(self, scheme: str) -> Solver | None:
        return self if scheme in self.joint else None

    def patience(self, m: int) -> int:
        return 20_000

    def init(self, problem: CrammerSinger, start: np.ndarray | None, draws: Draws) -> ClassState:
        """Return the state at `start`, or with all dual weights 0.

        Parameters
        ----------
        problem, start, draws : CrammerSinger, ndarray or None, Draws
            As for `Solver.init`.

        Raises
        ------
        InputError
            If a sampler draws only some of the samples.
        """
        if not draws.every:
            raise InputError("Crammer and Singer's problem takes passes over all samples: leave out the sampler")
        shuffled = any((np.diff(draws()) < 0).any() for _ in range(8))
        return ClassState(problem, np.zeros(problem.shape) if start is None else start.copy(), draws, shuffled)

    def step(self, state: ClassState) -> StepInfo:
        p, d = state.problem, state.problem.design
        upto, before = min(state.at + state.chunk, state.n), state.so_far
        seen = visit(
            d.rows, d.bias, d.sq, p.C, state.order, state.at, upto, before.kept,
            state.alpha, state.W, state.active, state.sizes, self.shrinking, state.room,
        )  # fmt: skip
        state.objective -= seen.gain
        state.n_support += seen.born
        epochs, state.at = seen.looks / (p.m * p.n_classes), upto
        sums = (a + b for a, b in zip(before[1:], seen[1:], strict=True))
        done = Visit(seen.kept, *sums)._replace(top=max(before.top, seen.top))
        state.so_far = done
        if upto < state.n:
            return StepInfo(state.objective, state.n_support, epochs, steps=0)
        partial = state.partial
        if partial and (done.kept == 0 or done.top < state.fine):
            state.fine *= 0.5
            state.all()
        else:
            state.begin(done.kept or p.m)
        return StepInfo(
            state.objective,
            state.n_support,
            epochs,
            gap=relative_gap(done.gap, -state.objective),
            gap_abs=done.gap,
            moved=done.gain > 0.0,
            violation=done.top,
            shrunk=partial,
        )

    def solution(self, state: ClassState) -> np.ndarray:
        return state.alpha.copy()

    def reactivate(self, state: ClassState) -> None:
        state.all()

    def resync(self, state: ClassState, certificate: Certificate) -> None:
        state.anew()
