"""Where runs are logged and what a run consists of: parameters, tags, scalars and a curve, whoever trains.

The core knows the `Tracker` interface only; registry/ has the one for MLflow.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.solver.base import Solver
from svmkit.solver.history import HistoryPoint
from svmkit.training.result import Fit

if TYPE_CHECKING:
    from svmkit.data import Dataset
    from svmkit.model.model import SVMModel


class Tracker:
    """A tracker that logs nothing; subclasses log what they can and never fail the training they watch.

    A tracker is made by `TrackerClass(uri=None, experiment=None)` and registered under `svmkit.trackers`.
    """

    run_id: str | None = None

    def __init__(self, uri: str | None = None, experiment: str | None = None) -> None:
        self.uri, self.experiment = uri, experiment

    def start(
        self,
        name: str,
        params: dict[str, Any],
        tags: dict[str, str],
        data: Dataset | None = None,
        parent: str | None = None,
    ) -> None:
        """Open a run; `params` are plain values, `data` is logged as an input; nested in the run `parent`."""

    def reopen(self, run_id: str) -> bool:
        """Go on with a run of an earlier process; False when the store does not have it."""
        return False

    def curve(self, points: list[HistoryPoint], prefix: str = "curve/") -> None:
        """Log points of a history: objective, gap, n_support, accuracy and elapsed_s by iteration."""

    def metrics(self, values: dict[str, float]) -> None:
        """Log scalars by full name, such as time/fit_s."""

    def model(self, model: SVMModel, example: Any, register: str | None = None) -> str | None:
        """Log the model with a signature from `example` (a few rows of X); the URI it can be loaded from."""

    def artifact(self, path: str | Path, folder: str = "") -> None:
        """Keep a file with the run, in a folder of its artifacts."""

    def end(self, status: str = "FINISHED") -> None:
        """Close the run as FINISHED, FAILED or KILLED."""

    def fetch(self, uri: str, folder: str) -> str:
        """Bring the model file behind `uri` (models:/name@alias) into `folder`; its path."""
        raise InputError(f"{uri}: this tracker keeps no models")


TRACKER = "mlflow"
"""Name under which the tracker that svmkit logs to is registered."""


def tracker(uri: str | None = None, experiment: str | None = None) -> Tracker:
    """The registered tracker for this store and experiment, None standing for its defaults; no run is open yet.

    Raises
    ------
    InputError
        No tracker is registered under the name `TRACKER`, or it cannot be used here.
    """
    return plugins.load("tracker", TRACKER)(uri=uri, experiment=experiment)


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


def curve(fitted: Fit) -> list[HistoryPoint]:
    """The history of one pair of classes, or the end of each: their curves side by side would say less."""
    if len(fitted.solutions) == 1:
        return list(fitted.solutions[0].history)
    points, seconds = [], 0.0
    for k, solution in enumerate(fitted.solutions):
        seconds += solution.seconds
        last = solution.history[-1] if solution.history else None
        points.append(
            HistoryPoint(
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
