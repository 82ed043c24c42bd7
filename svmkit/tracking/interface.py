"""The interface of a tracker, and the only place that chooses the tracker to which svmkit logs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit import plugins
from svmkit.errors import InputError, SvmkitWarning, UnknownName, redact

if TYPE_CHECKING:
    from svmkit.data import Dataset
    from svmkit.model.model import SVMModel
    from svmkit.solver.history import HistoryPoint

TRACKER = "mlflow"
"""The name of the tracker to which svmkit logs if `VARIABLE` names no other."""

VARIABLE = "SVMKIT_TRACKER"
"""The environment variable that names the tracker to which svmkit logs."""


class Tracker:
    """A tracker that logs nothing; subclasses log what they can and never make the training fail.

    A tracker is registered in the entry-point group ``svmkit.trackers``, and chosen by ``$SVMKIT_TRACKER``.

    Parameters
    ----------
    uri : str, default=None
        The store; None is the tracker's own default.
    experiment : str, default=None
        Group of runs within the store; None is the tracker's own default.

    Attributes
    ----------
    run_id : str or None
        The run that is open or was closed last; None before the first, and if the store failed.
    notify : callable or None
        Called with one line about each failure to log; None issues a warning.

    Examples
    --------
    >>> from svmkit.tracking import Tracker
    >>> tracker = Tracker()
    >>> tracker.start("a run", {"C": 1.0}, {})
    >>> tracker.reopen("another run")
    False
    """

    run_id: str | None = None
    notify: Callable[[str], None] | None = None

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
        """Open a run.

        Parameters
        ----------
        name : str
            Title of the run.
        params : dict of str to object
            Plain values: numbers and text.
        tags : dict of str to str
            Texts besides the parameters of the method.
        data : Dataset, default=None
            Logged as the input of the run: its name, shape and checksum.
        parent : str, default=None
            The `run_id` of the run in which this one is nested.
        """

    def reopen(self, run_id: str) -> bool:
        """Continue a run of an earlier process; return False if it is not in the store."""
        return False

    def resume(self, run_id: str, params: dict[str, Any], data: Dataset | None = None) -> str | None:
        """Continue the run of a training that another process began, and return None; or else return the reason.

        Parameters
        ----------
        run_id : str
            The run.
        params, data : dict, Dataset
            The parameters and data of the training, as for `start`; those of the run must be equal.

        Returns
        -------
        str or None
            A clause, such as "its parameters differ: tol"; also None from a tracker that logs nothing.
        """
        return None if type(self) is Tracker else "its tracker continues no runs"

    def curve(self, points: list[HistoryPoint], prefix: str = "curve/") -> None:
        """Log points of a history: objective, gap, n_support, accuracy and elapsed_s by iteration."""

    def metrics(self, values: dict[str, float]) -> None:
        """Log scalars by full name, such as time/fit_s."""

    def model(self, model: SVMModel, example: Any, register: str | None = None) -> str | None:
        """Log a model.

        Parameters
        ----------
        model : SVMModel
            The trained model.
        example : array-like or CSR of shape (n_rows, n_features)
            A few rows of X, from which the signature of the model is taken.
        register : str, default=None
            Name in the model registry under which the model becomes the next version.

        Returns
        -------
        str or None
            The URI from which the model can be loaded; None if it could not be logged.
        """

    def artifact(self, path: str | Path, folder: str = "") -> None:
        """Store a file with the run, in a folder of its artifacts."""

    def end(self, status: str = "FINISHED") -> None:
        """Close the run as FINISHED, FAILED or KILLED; a second call does nothing."""

    def warn(self, message: str) -> None:
        """Call `notify` with a failure to log, or issue an SvmkitWarning."""
        if self.notify is not None:
            self.notify(message)
        else:
            warnings.warn(message, SvmkitWarning, stacklevel=3)

    def where(self) -> str:
        """Return how to view the runs: an address or a command, without passwords; empty if there is no store."""
        return redact(str(self.uri or ""))

    def fetch(self, uri: str, folder: str) -> str:
        """Download the model file of `uri` (models:/name@alias) to `folder`, and return its path."""
        raise InputError(f"{uri}: this tracker keeps no models")


def tracker_name() -> str:
    """Return the name of the tracker to which this process logs: ``$SVMKIT_TRACKER``, or else "mlflow".

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> from svmkit.tracking import tracker_name
    >>> with mock.patch.dict(os.environ, SVMKIT_TRACKER="diary"):
    ...     tracker_name()
    'diary'
    """
    return os.environ.get(VARIABLE) or TRACKER


def tracker(uri: str | None = None, experiment: str | None = None, name: str | None = None) -> Tracker:
    """Create a registered tracker for a store and an experiment, without an open run.

    Parameters
    ----------
    uri : str, default=None
        The store of the runs; None is the tracker's default.
    experiment : str, default=None
        The name of the experiment; None is the tracker's default.
    name : str, default=None
        The name under which the tracker is registered; None is `tracker_name()`.

    Raises
    ------
    InputError
        No tracker is registered under this name, or it does not work here.

    Examples
    --------
    >>> from svmkit.tracking import tracker
    >>> type(tracker("sqlite:///runs.db", name="mlflow")).__name__
    'MLflowTracker'
    """
    try:
        kind = plugins.load("tracker", name or tracker_name())
    except UnknownName as unknown:
        raise unknown if name else UnknownName(f"${VARIABLE}: {unknown}") from None
    return kind(uri=uri, experiment=experiment)
