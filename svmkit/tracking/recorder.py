"""A run that one process trains and another one logs: the calls of a tracker, stored to be repeated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from svmkit.data.dataset import Dataset
from svmkit.model.model import SVMModel
from svmkit.solver.history import HistoryPoint
from svmkit.tracking.interface import Tracker


class Recorder(Tracker):
    """A tracker that stores its calls; it can be pickled, and contains no rows of the data set.

    Examples
    --------
    >>> from svmkit.tracking import Recorder, Tracker
    >>> recorder = Recorder()
    >>> recorder.start("a run", {"C": 1.0}, {})
    >>> recorder.metrics({"time/fit_s": 0.5})
    >>> recorder.repeat(Tracker())
    """

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[tuple[str, tuple[Any, ...]]] = []

    def start(
        self,
        name: str,
        params: dict[str, Any],
        tags: dict[str, str],
        data: Dataset | None = None,
        parent: str | None = None,
    ) -> None:
        """Store the call, with the name, shape, types and checksum of the data instead of its rows.

        Parameters
        ----------
        name, params, tags, data, parent : str, dict of str, dict of str to str, Dataset or None, str or None
            As for `Tracker.start`.
        """
        self._calls.append(("start", (name, params, tags, data and _Outline.from_dataset(data), parent)))

    def curve(self, points: list[HistoryPoint], prefix: str = "curve/") -> None:
        self._calls.append(("curve", (points, prefix)))

    def metrics(self, values: dict[str, float]) -> None:
        self._calls.append(("metrics", (values,)))

    def model(self, model: SVMModel, example: Any, register: str | None = None) -> str | None:
        """Store the call; return None, since nothing is logged yet.

        Parameters
        ----------
        model, example, register : SVMModel, object, str or None
            As for `Tracker.model`.
        """
        self._calls.append(("model", (model, example, register)))
        return None

    def artifact(self, path: str | Path, folder: str = "") -> None:
        self._calls.append(("artifact", (path, folder)))

    def end(self, status: str = "FINISHED") -> None:
        self._calls.append(("end", (status,)))

    def repeat(self, tracker: Tracker) -> None:
        """Repeat the calls on another tracker, in order.

        Parameters
        ----------
        tracker : Tracker
            The tracker, without an open run.
        """
        for method, args in self._calls:
            made = (arg.dataset() if isinstance(arg, _Outline) else arg for arg in args)
            getattr(tracker, method)(*made)


class _Outline(NamedTuple):
    """The logged facts about a data set."""

    name: str
    shape: tuple[int, int]
    dtype: str
    is_sparse: bool
    labels: str | None  # their type
    digest: str

    @classmethod
    def from_dataset(cls, data: Dataset) -> _Outline:
        labels = None if data.y is None else data.y.dtype.str
        shape = (data.n_samples, data.n_features)
        return cls(data.name, shape, data.X.dtype.str, data.is_sparse, labels, data.fingerprint())

    def dataset(self) -> Dataset:
        """Return a data set of this name, shape, types and checksum, with zeros as values, which take no memory."""
        X: Any = np.broadcast_to(np.zeros((), self.dtype), self.shape)
        if self.is_sparse:
            from scipy.sparse import csr_array  # here: its import takes time

            X = csr_array(self.shape, dtype=self.dtype)
        y = None if self.labels is None else np.broadcast_to(np.zeros((), self.labels), self.shape[:1])
        return _Outlined(X, y, self.name, digest=self.digest)


@dataclass(frozen=True, eq=False)
class _Outlined(Dataset):
    """A data set without its values."""

    digest: str = ""

    def fingerprint(self) -> str:
        return self.digest
