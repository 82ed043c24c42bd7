"""Which paths of a search share the kernel values of all rows, and with how much memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from svmkit.errors import InputError
from svmkit.kernels.engines import solves_boxes
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import parse_bytes
from svmkit.losses.base import PIECEWISE
from svmkit.problems.dual import DualQP
from svmkit.scoring.metric import Metric
from svmkit.solver.stopping import Criterion, Gap, Stop
from svmkit.tasks import Task
from svmkit.training.settings import Method, Settings, resolve
from svmkit.tune.space import Path

COPIES = 36  # bytes per pair of samples of a round: square, two factors with room to grow, and their sources
AMPLE = 0.4  # share of all rows: more samples are hardly ever between their bounds
FEWEST = 1000  # samples of a round for which there has to be room, unless there are fewer
VALUE = 8  # bytes of a kernel value of all rows


def can_share(path: Path, settings: Settings, task: Task, metric: Metric, each: bool) -> bool:
    """Return whether the fits of a path may take their kernel values from a matrix of all rows.

    They may if the solver takes part (`Solver.shares_folds`), its problem is the dual of a piecewise loss with a free
    bias, one for all rows or one for each pair of classes, and only a gap is asked of a fit. If preprocessing is learnt
    in `each` fold, there must be none, and gamma must be a number.

    Parameters
    ----------
    path, settings, task, metric, each : Path, Settings, Task, Metric, bool
        The path, the settings of all paths, the task, the metric, and whether preprocessing is learnt in each fold.
    """
    if metric.needs_decisions and len(metric.classes) == 2:  # its fits are continued: `svmkit.tune.ranking`
        return False
    return shares_values(path, settings, task, each)


def shares_values(path: Path, settings: Settings, task: Task, each: bool) -> bool:
    """Return the same as `can_share` for a metric of labels.

    Parameters
    ----------
    path, settings, task, each : Path, Settings, Task, bool
        As for `can_share`.
    """
    settings = replace(settings, **path.settings)
    if not path.solver.shares_folds or settings.nu is not None or settings.sampler is not None:
        return False
    if not (task.has_targets or (task.has_classes and settings.multiclass == "ovo")):
        return False
    if gap_of(settings.stop) is None or (each and not is_prepared(path.kernel, settings)):
        return False
    if settings.relevance is not None:  # which has weights of the columns for each fold
        return False
    try:
        method = method_of(path, settings, task)
        problem = method.problem_type()
    except InputError:
        return False
    if len(method.levels) > 1 or method.loss.family not in PIECEWISE:
        return False
    return not problem.is_linear and issubclass(problem, DualQP) and not problem.bias


def engine_solves(path: Path, kernel: Kernel, X: Any, settings: Settings, task: Task) -> bool:
    """Return whether the requested engine solves the subproblems of a path that may share kernel values.

    Parameters
    ----------
    path, kernel, X, settings, task : Path, Kernel, ndarray or CSR, Settings, Task
        The path, its resolved kernel, the rows, the settings of all paths, and the task.
    """
    if not task.has_classes or kernel.semidefinite is not True or not solves_boxes(kernel, X):
        return False
    return method_of(path, settings, task).loss.name == "hinge"


def gap_of(stop: Criterion | Stop | None) -> float | None:
    """Return the relative gap that stop rules ask for; None if there is another rule."""
    rules = (Stop(()) | (stop or Gap(1e-3))).criteria
    return max(rule.limit for rule in rules) if rules and all(type(rule) is Gap for rule in rules) else None


def is_prepared(kernel: Kernel, settings: Settings) -> bool:
    """Return whether all folds see the same rows and the same kernel."""
    if isinstance(kernel, Precomputed):
        return True
    rules = [value for value in kernel.params.values() if isinstance(value, str)]
    return not (settings.impute or settings.scale or rules) and kernel.form is not None


def method_of(path: Path, settings: Settings, task: Task) -> Method:
    """Return the method of the fits of a path."""
    return resolve(replace(settings, solver=path.solver, kernel=path.kernel, **path.settings), task)


def most_of_a_round(m: int, settings: Settings, jobs: int) -> int:
    """Return how many samples a round of a fit may have beside the kernel values of m rows; 0 if there is no room."""
    left = max(0, parse_bytes(settings.memory) - VALUE * m * m)
    # half of the room is for data kept from one C to the next, if the other half is enough
    for part, least in ((2, max(FEWEST, AMPLE * m)), (1, FEWEST)):
        most = math.isqrt(left // (part * COPIES * jobs))
        if most >= min(m, least):
            return min(most, m)
    return 0


def most_kept(m: int, settings: Settings, jobs: int, n_parts: int) -> int:
    """Return the bytes that each of `n_parts` subproblems may keep from one C to the next.

    Parameters
    ----------
    m, settings, jobs, n_parts : int, Settings, int, int
        As for `most_of_a_round`, and the number of subproblems of all folds.
    """
    around = VALUE * m * m + COPIES * jobs * most_of_a_round(m, settings, jobs) ** 2
    return max(0, parse_bytes(settings.memory) - around) // n_parts


def groups_of(paths: Sequence[Path]) -> list[list[Path]]:
    """Return paths of a single C in groups that differ in C alone, ascending; groups of one kernel are adjacent.

    Kernels come in the order of the paths.
    """
    groups: dict[Any, list[Path]] = {}
    places: dict[str, int] = {}
    texts: dict[int, str] = {}  # many paths have the same kernel and the same solver

    def text_of(part: Any) -> str:
        return texts[id(part)] if id(part) in texts else texts.setdefault(id(part), repr(part))

    for path in paths:
        key = text_of(path.kernel), text_of(path.solver), repr(sorted(path.settings.items()))
        groups.setdefault(key, []).append(path)
        places.setdefault(key[0], len(places))
    ordered = sorted(groups.items(), key=lambda item: places[item[0][0]])
    return [sorted(group, key=lambda path: path.Cs[0]) for _, group in ordered]
