"""The training of subproblems by the engine that keeps X, where it solves them itself: many at once, on its device."""

from __future__ import annotations

import math
import time

import numpy as np

from svmkit.kernels.engines import asked_engine
from svmkit.kernels.gram import parse_bytes
from svmkit.problems.base import DecisionFunction
from svmkit.problems.box import BoxQP
from svmkit.runtime.interrupt import Flag
from svmkit.solver.history import History, HistoryPoint
from svmkit.solver.smo.boxes import Box, BoxAnswer, SolvesBoxes
from svmkit.solver.solution import Solution, Status
from svmkit.solver.stopping import Gap, Stop
from svmkit.training.data import TrainingData
from svmkit.training.settings import Settings
from svmkit.training.subproblems.one import Part, SubproblemTrainer
from svmkit.training.subproblems.time_budget import TimeBudget

SHARES = 256  # bytes that a memory may lose where it is divided among jobs


def train_by_engine(
    trainer: SubproblemTrainer, ks: list[int], C: float, budget: TimeBudget, parts: list[Part | None], flag: Flag
) -> None:
    """Train class pairs, or classes against the rest, by an engine that was asked for and solves them itself.

    A problem whose gap it does not prove is left to other code, and so is everything but the hinge with a free bias.

    Parameters
    ----------
    trainer : SubproblemTrainer
        Trains one subproblem at a time.
    ks : list of int
        The subproblems.
    C, budget, parts, flag : object
        As for `svmkit.training.subproblems.at_once.at_once`.
    """
    data, stop = trainer.data, Stop(()) | (trainer.stop or Gap(1e-3))
    goal, method = stop.goal, trainer.method
    if not isinstance(data, TrainingData):  # rows on a cluster are where engines of this process do not reach
        return
    if goal is None or not 0.0 < goal.gap == stop.least(Gap) or budget.left < math.inf or flag:
        return
    if trainer.start is not None or trainer.limited or method.sampler is not None or data.division.outputs:
        return
    if not (data.task.has_classes and data.task.is_supervised and data.kernel.semidefinite is True):
        return
    own = [k for k in ks if trainer.solvers[k].shares_folds and trainer.tasks[k].problem is BoxQP]
    if method.loss.name != "hinge" or not own or not all(map(len, data.grams.members)):
        return
    costs = C * data.weights
    if not (math.isfinite(C) and np.isfinite(costs).all() and C > 0.0):
        return
    engine = asked_engine(data.kernel, data.X)
    if engine is None:
        return
    code: SolvesBoxes = engine.box_code()
    boxes, began = [_box(trainer, k, costs) for k in own], time.perf_counter()
    answers = code(boxes, goal.gap, device_memory(method.settings), False, lambda: bool(flag))
    seconds, total = time.perf_counter() - began, sum(len(box.y) for box in boxes)
    for k, box, answer in zip(own, boxes, answers, strict=True):
        gap = answer.certificate.gap
        proven = gap is not None and gap <= goal.gap
        if proven or flag:
            status = Status.CONVERGED if proven else Status.INTERRUPTED
            parts[k] = _part(box, answer, status, seconds * len(box.y) / total)
    trainer.callbacks.on_trained(sum(parts[k] is not None for k in own), len(ks))
    trainer.interrupted |= bool(flag)


def device_memory(settings: Settings) -> int | None:
    """Return the bytes that the user lets an engine take on its device; None is the choice of the engine."""
    given, default = parse_bytes(settings.memory), parse_bytes(Settings.memory)
    return None if default - SHARES < given <= default else given


def _box(trainer: SubproblemTrainer, k: int, costs: np.ndarray) -> Box:
    data = trainer.data
    rows = data.grams.rows
    if data.has_class_pairs:
        rows = np.sort(np.concatenate([data.grams.members[c] for c in data.pairs[k]]))
    return Box(rows, data.division.target(data.answers, rows, k), costs[rows])


def _part(box: Box, answer: BoxAnswer, status: Status, took: float) -> Part:
    certificate, n_iter = answer.certificate, answer.n_iter
    assert certificate.bias is not None
    n_support = int(np.count_nonzero(answer.beta))
    last = HistoryPoint(n_iter, took, -float(certificate.dual or 0.0), certificate.gap, n_support, 0)
    solution = Solution(answer.beta, status, n_iter, took, certificate, History([last]))
    decision = DecisionFunction(answer.beta * box.y, certificate.bias).restrict(box.rows)
    return Part(solution, decision, 0, took)
