"""Training of a one-class model: its problem, the solver, and the offset that says which scores are outliers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.data.prepare.features import Features
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import Gram, parse_bytes
from svmkit.model.model import SVMModel
from svmkit.problems.loss import Loss
from svmkit.problems.one_class import OneClassQP
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.base import Solver
from svmkit.solver.loop.recorder import Callback
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Cyclic, Sampler
from svmkit.solver.solution import Solution
from svmkit.solver.stopping import Criterion, Stop, Support
from svmkit.solver.task import Task
from svmkit.training.choice import Choice, choices, in_words
from svmkit.training.data import subset

ROUNDED = 1e-12  # part of the largest score by which two computations of one score may differ


@dataclass(frozen=True)
class OneClassFit:
    """A one-class model and how it was found.

    Attributes
    ----------
    model : SVMModel
        A model of the classes -1 (outliers) and +1, whose decisions are scores minus the offset.
    solution : Solution
        The solution with its certificate.
    support : ndarray of shape (n_support,), int
        The rows of X with alpha > 0.
    rho, offset : float
        The certified rho of the problem, and the score below which a sample is an outlier.
    kernel_values : int
        The number of kernel values that were computed.
    choices : list of Choice
        What a solver that chooses has chosen.
    """

    model: SVMModel
    solution: Solution
    support: np.ndarray
    rho: float
    offset: float
    kernel_values: int
    choices: list[Choice]


def require_one_class(nu: Any, loss: Any, contamination: Any) -> None:
    """Raise InputError unless nu is possible with this loss and the contamination is "auto" or in (0, 0.5]."""
    if loss not in ("hinge", "squared_hinge"):
        raise InputError(f"loss must be hinge or squared_hinge, not {loss!r}")
    if not (isinstance(nu, int | float | np.number) and math.isfinite(nu) and nu > 0):
        raise InputError(f"nu must be a finite number > 0, not {nu!r}")
    if loss == Loss.HINGE and nu > 1.0:
        raise InputError(f"nu={nu:g} is infeasible: with loss=hinge it bounds fractions of the samples, 0 < nu <= 1")
    if isinstance(contamination, str) and contamination == "auto":
        return
    if not (isinstance(contamination, int | float | np.number) and 0.0 < contamination <= 0.5):
        raise InputError(f"contamination must be auto or a number in (0, 0.5], not {contamination!r}")


def fit_one_class(
    X: Features,
    *,
    nu: float,
    loss: str,
    contamination: Any,
    kernel: Kernel,
    solver: Solver,
    weights: np.ndarray,
    stop: Stop | Criterion | None = None,
    sampler: Sampler | None = None,
    memory: str | int = "1GB",
    seed: int = 0,
    n_threads: int | None = None,
    callbacks: Sequence[Callback] = (),
) -> OneClassFit:
    """Train a one-class model and certify it.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        The samples, checked and preprocessed; for a precomputed kernel the kernel values.
    nu : float
        As for `OneClassQP` with the hinge. With squared slacks the ridge is nu sum(w) / (2 w_i).
    loss : {"hinge", "squared_hinge"}
        The loss of the slacks.
    contamination : "auto" or float
        "auto" sets the offset to rho, a number in (0, 0.5] to the score below which that share of the samples lies.
    kernel : Kernel
        The kernel, resolved.
    solver : Solver
        A solver of `OneClassQP` (hinge) or `SimplexQP` (squared hinge); `auto` chooses one.
    weights : ndarray of shape (n_samples,), float64
        The weight of each sample, >= 0. A sample of weight 0 takes no part.
    stop, sampler, seed, n_threads, callbacks
        As for `svmkit.solver.solve`.
    memory : str or int, default="1GB"
        The memory for kernel rows.

    Returns
    -------
    OneClassFit

    Raises
    ------
    InputError
        An option is infeasible, or all weights are zero.
    """
    require_one_class(nu, loss, contamination)
    used = np.flatnonzero(weights)
    if not used.size:
        raise InputError("sample weights are zero for all samples: training needs at least one")
    weights, chosen_rows = weights[used], subset(X, used, kernel)
    hinge = loss == Loss.HINGE
    problem: OneClassQP | SimplexQP
    if hinge:
        task = Task(OneClassQP, kernel, len(used), parse_bytes(memory))
        problem = OneClassQP(_gram(task, solver.solver_for(task), sampler, chosen_rows, memory), nu, weights)
        _require_support(problem, stop)
    else:
        ridge = 0.5 * nu * weights.sum() / weights
        problem = SimplexQP(Gram(kernel, chosen_rows, memory=memory), ridge=ridge)
    solution = solve(problem, solver, sampler=sampler, stop=stop, seed=seed, n_threads=n_threads, callbacks=callbacks)
    certificate, active = solution.certificate, np.flatnonzero(solution.point)
    assert certificate.gradient is not None
    if hinge:
        assert certificate.bias is not None
        rho, scores = -certificate.bias, certificate.gradient
    else:
        # xi: training scores are A alpha less the part of the ridge
        rho, scores = certificate.primal, certificate.gradient - solution.point * ridge
    if contamination != "auto":
        offset = _cut(scores, weights, contamination)
    else:
        # rho is the score of a training sample, which is no outlier when rounding puts it just below
        offset = rho - ROUNDED * float(np.abs(scores).max()) if hinge else rho
    support, found = used[active], choices(solver, [Task.of(problem)])
    about = {"solver": solver.name, "nu": float(nu), "loss": str(loss), "n_samples": int(X.shape[0])}
    model = SVMModel(
        kernel=kernel,
        classes=np.array([-1, 1]),
        vectors=support if isinstance(kernel, Precomputed) else X[support],
        n_support=np.array([0, len(active)]),
        coef=solution.point[None, active],
        intercept=np.array([-offset]),
        n_features=X.shape[1],
        task="outliers",
        about=about | ({"choice": in_words(found)} if found else {}),
    )
    return OneClassFit(model, solution, support, rho, offset, problem.gram.kernel_values, found)


def _gram(task: Task, solver: Solver, sampler: Sampler | None, X: Features, memory: str | int) -> Gram:
    """Return the Gram of all samples, with all kernel rows in compiled code where they fit and the solver gains."""
    if solver.by_slices and not isinstance(sampler, Cyclic):
        from svmkit.kernels.gram.complete import CompleteKernel  # here: it needs numba

        shared = CompleteKernel(task.kernel, X, [np.arange(task.m)], task.memory)
        if shared.holds(task.m):
            return shared.gram(0, 0)
    return Gram(task.kernel, X, memory=memory)


def _require_support(problem: OneClassQP, stop: Stop | Criterion | None) -> None:
    """Raise InputError if a limit on support vectors is below what nu needs: every alpha is at most its weight."""
    rules = (Stop(()) | stop).criteria if stop is not None else ()
    limit = min((rule.limit for rule in rules if isinstance(rule, Support)), default=math.inf)
    least = int(np.count_nonzero(problem.filled(np.argsort(-problem.upper, kind="stable"))))
    if limit < least:
        raise InputError(
            f"max_support={limit:g} is infeasible: nu={problem.nu:g} of {problem.m:,} samples needs at least {least:,} "
            "support vectors; lower nu or raise max_support"
        )


def _cut(scores: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Return the offset below which the lowest scores lie, as many as weigh at most `share` of all.

    It lies midway between two scores that differ by more than rounding, so that no training sample moves across it.
    A sample of weight 2 counts as two samples.
    """
    size = float(np.abs(scores).max()) or 1.0
    values, place = np.unique(np.round(scores / size, 12), return_inverse=True)
    weight = np.cumsum(np.bincount(place, weights))
    k = int(np.searchsorted(weight, share * weight[-1] * (1.0 + 1e-9), side="right"))
    below = values[k - 1] if k else values[0] - 1e-9
    return float(0.5 * (below + values[k])) * size
