"""The training of subproblems by the engine that keeps X, if it solves them itself: many at once, on its device."""

from __future__ import annotations

import math
import time

import numpy as np

from svmkit.errors import SvmkitError
from svmkit.kernels.engines import asked_engine, solves_boxes
from svmkit.kernels.gram import Gram, parse_bytes
from svmkit.losses.base import PIECEWISE
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.problems.box import BoxQP
from svmkit.problems.dual import DualQP
from svmkit.problems.nu_dual import NuQP
from svmkit.problems.simplex import SimplexQP
from svmkit.runtime.interrupt import Flag
from svmkit.solver.history import History, HistoryPoint
from svmkit.solver.smo.boxes import Box, BoxAnswer, SolvesBoxes
from svmkit.solver.solution import Solution, Status
from svmkit.training.data import TrainingData
from svmkit.training.settings import Settings
from svmkit.training.subproblems.one import Part, SubproblemTrainer
from svmkit.training.subproblems.time_budget import TimeBudget

SOLVED = DualQP, NuQP, SimplexQP  # the types of problem that an engine is asked to solve
SHARES = 256  # bytes that a memory limit may lose when it is divided among jobs


class NotPosed(Exception):
    """A problem cannot be posed; the solver that takes over reports the reason."""


def train_by_engine(
    trainer: SubproblemTrainer, ks: list[int], C: float, budget: TimeBudget, parts: list[Part | None], flag: Flag
) -> None:
    """Train subproblems by an engine that was requested and solves them itself, many at once.

    These are the duals of piecewise losses, with and without nu, whose solver allows it (`Solver.runs_on_device`). A
    problem whose gap the engine does not prove is left to other code, if time remains.

    Parameters
    ----------
    trainer : SubproblemTrainer
        Trains one subproblem at a time.
    ks : list of int
        The subproblems.
    C, budget, parts, flag : object
        As for `svmkit.training.subproblems.at_once.train_at_once`.
    """
    data, method = trainer.data, trainer.method
    if not isinstance(data, TrainingData):  # an engine of this process cannot reach rows on a cluster
        return
    goal = method.settings.gap_alone
    if goal is None or goal.iterations < math.inf or flag:
        return
    if trainer.start is not None or trainer.limited or method.sampler is not None:
        return
    if data.kernel.semidefinite is not True or not solves_boxes(data.kernel, data.X):
        return
    if data.task.is_supervised and method.loss.family not in PIECEWISE:
        return
    own = [k for k in ks if trainer.solvers[k].runs_on_device and issubclass(trainer.tasks[k].problem, SOLVED)]
    if not own or not len(data.grams.rows) or (data.task.has_classes and not all(map(len, data.grams.members))):
        return
    costs = C * data.weights
    if not (math.isfinite(C) and np.isfinite(costs).all() and C > 0.0):
        return
    engine = asked_engine(data.kernel, data.X)
    if engine is None:
        return
    code: SolvesBoxes = engine.box_code()
    boxes, began = [_box(trainer, k, costs) for k in own], time.perf_counter()
    ends = began + budget.left

    def over() -> bool:
        return bool(flag) or time.perf_counter() >= ends

    try:
        answers = code(boxes, goal.gap, device_memory(method.settings), False, over)
    except NotPosed:
        return
    seconds, total, late = time.perf_counter() - began, sum(len(box.y) for box in boxes), over()
    budget.take(seconds)
    for k, box, answer in zip(own, boxes, answers, strict=True):
        gap = answer.certificate.gap
        proven = gap is not None and gap <= goal.gap
        if proven or (late and math.isfinite(answer.certificate.primal)):
            status = Status.CONVERGED if proven else Status.INTERRUPTED if flag else Status.TIME_LIMIT
            parts[k] = _part(trainer, box, answer, status, seconds * len(box.y) / total)
    trainer.callbacks.on_trained(sum(parts[k] is not None for k in own), len(ks))
    trainer.interrupted |= bool(flag)


def device_memory(settings: Settings) -> int | None:
    """Return the bytes that the user lets an engine use on its device; None leaves the limit to the engine."""
    given, default = parse_bytes(settings.memory), parse_bytes(Settings.memory)
    return None if default - SHARES < given <= default else given


def _box(trainer: SubproblemTrainer, k: int, costs: np.ndarray) -> Box:
    data = trainer.data
    rows = data.grams.rows
    if data.has_class_pairs:
        rows = np.sort(np.concatenate([data.grams.members[c] for c in data.pairs[k]]))
    y, C, loss, solver = (
        data.division.target(data.answers, rows, k),
        costs[rows],
        data.division.loss(k),
        trainer.solvers[k],
    )
    if trainer.tasks[k].problem is BoxQP and trainer.method.loss.name == "hinge" and not data.division.outputs:
        return Box(rows, y, C)

    def pose(gram: Gram) -> Problem:
        try:
            return trainer.method.pose(solver, gram, y, C, loss)
        except SvmkitError as error:
            raise NotPosed from error

    return Box(rows, y, C, pose)


def _part(trainer: SubproblemTrainer, box: Box, answer: BoxAnswer, status: Status, took: float) -> Part:
    certificate, n_iter, problem, point = answer.certificate, answer.n_iter, answer.problem, answer.beta
    if problem is None:
        assert certificate.bias is not None
        objective, decision = -float(certificate.dual or 0.0), DecisionFunction(point * box.y, certificate.bias)
    else:
        objective, settings = problem.objective(point), trainer.method.settings
        decision = trainer.data.task.decision(problem, point, certificate, box.C, settings)
    last = HistoryPoint(n_iter, took, objective, certificate.gap, int(np.count_nonzero(point)), 0)
    solution = Solution(point, status, n_iter, took, certificate, History([last]))
    return Part(solution, decision.restrict(box.rows), 0, took)
