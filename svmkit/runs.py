"""What a training run is logged as, whoever trains: parameters, scalars, a curve."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from svmkit import plugins
from svmkit.history import Point
from svmkit.kernels import Kernel
from svmkit.solver import Solver
from svmkit.training import Fit

if TYPE_CHECKING:
    from svmkit.data import Dataset


def params(solver: Solver, kernel: Kernel, C: float, data: Dataset, **settings: Any) -> dict[str, Any]:
    """Parameters by name: solver, formulation, kernel, C, log10_C, data, n, d, `settings` that are not None, the
    kernel's own, and those options of the solver that are not as they are by default.

    MLflow's comparison page opens on the first three parameters that differ: with the options of every solver, which no
    two have in common, it would show neither the solver nor what it minimises. `tags` has them all.

    kernel : resolved, so that gamma (and log10_gamma) are numbers
    """
    own = dict(kernel.params)
    gamma = own.pop("gamma", None)
    found: dict[str, Any] = {"solver": solver.name, "kernel": kernel.name, "C": C, "log10_C": _log10(C)}
    found |= {key: value for key, value in settings.items() if value is not None}
    found |= {"data": data.name, "n": data.n_samples, "d": data.n_features}
    if gamma is not None:
        found |= {"gamma": gamma, "log10_gamma": _log10(gamma)}
    found |= {"formulation": solver.formulation(kernel)} | own
    defaults = plugins.options(solver)
    return found | {key: value for key, value in solver.params.items() if value != defaults.get(key)}


def tags(solver: Solver) -> dict[str, str]:
    """All options of the solver, in one line."""
    return {"svmkit.options": " ".join(f"{key}={value}" for key, value in solver.params.items())}


def metrics(
    fitted: Fit, *, predict_s: float | None, train_accuracy: float | None = None, test_accuracy: float | None
) -> dict[str, float]:
    """Scalars by full name, those that are known; time/fit_s first: MLflow's comparison opens on the first one."""
    found = {
        "time/fit_s": fitted.seconds,
        "time/predict_s": predict_s,
        "model/n_support": len(fitted.support),
        "final/gap": fitted.gap,
        "final/objective": fitted.objective,
        "train/accuracy": train_accuracy,
        "test/accuracy": test_accuracy,
    } | {f"model/{name}": value for name, value in details(fitted).items()}
    return {key: float(value) for key, value in found.items() if value is not None and math.isfinite(value)}


def curve(fitted: Fit) -> list[Point]:
    """The history of one pair of classes, or the end of each: their curves side by side would say less."""
    if len(fitted.solutions) == 1:
        return list(fitted.solutions[0].history)
    points, seconds = [], 0.0
    for k, solution in enumerate(fitted.solutions):
        seconds += solution.seconds
        last = solution.history[-1] if solution.history else None
        points.append(
            Point(
                k + 1,
                seconds,
                solution.certificate.primal,
                solution.certificate.gap,
                solution.n_support,
                last.kernel_values if last else 0,
                last.accuracy if last else None,
            )
        )
    return points


def details(fitted: Fit) -> dict[str, float]:
    """What the solver adds about the result of a binary problem, {} for more classes."""
    return fitted.solutions[0].details if len(fitted.solutions) == 1 else {}


def _log10(value: float) -> float:
    return round(math.log10(value), 6)
