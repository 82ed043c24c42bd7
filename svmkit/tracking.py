"""Tracker: where runs are logged. The core knows this interface only; registry/ has the one for MLflow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit.errors import InputError
from svmkit.history import Point

if TYPE_CHECKING:
    from svmkit.data import Dataset
    from svmkit.model import SVMModel


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

    def curve(self, points: list[Point], prefix: str = "curve/") -> None:
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
