"""What the tables and the picture read: our runs over the seeds, and what was published."""

from __future__ import annotations

from typing import Any

import numpy as np

from comparison.spec import Paper
from svmkit.compare import results
from svmkit.compare.cells.store import Store, ran_out
from svmkit.compare.metrics import TITLES
from svmkit.compare.results import NO_MODEL

TITLE = TITLES | {"solve_s": "seconds"}


class Results:
    """All that the store holds of a paper's cells, other seeds and tighter stops included; accuracy in per cent."""

    def __init__(self, paper: Paper, store: Store) -> None:
        self.paper = paper
        most = 1 + max((record["seed"] for record in store.records.values()), default=0)
        cells = {cell.key: cell for cell in paper.comparison.cells(seeds=most) if cell.key in store.records}
        found = [_in_per_cent(record) for record in store.records_of(cells.values())]
        rows = results.Results(paper.comparison, cells.values(), found).rows
        self._rows = {(row.set, row.label, row.stop): row for row in rows}
        self._with_model: dict[tuple[str, str, str], list[dict]] = {}
        for record in found:
            if record["status"] not in NO_MODEL:
                self._with_model.setdefault((record["set"], record["label"], record["stop"]), []).append(record)

    def records(self, data: str, solver: str, stop: str) -> list[dict[str, Any]]:
        """The records of a cell that have a model, by seed."""
        return self._with_model.get((data, solver, stop), [])

    def values(self, data: str, solver: str, stop: str, metric: str) -> np.ndarray:
        """(runs,) of a metric, by seed; empty where nothing is known."""
        row = self._rows.get((data, solver, stop))
        return np.empty(0) if row is None else row.values[metric]

    def mean(self, data: str, solver: str, stop: str, metric: str) -> float | None:
        """Over the seeds; None where nothing is known."""
        row = self._rows.get((data, solver, stop))
        return None if row is None else row.mean(metric)

    def cut(self, data: str, solver: str, stop: str) -> bool:
        """Whether a seed of it ran out of time: its numbers are not those of a finished run."""
        return any(ran_out(record) for record in self.records(data, solver, stop))

    def status(self, data: str, solver: str, stop: str) -> str:
        """Each way the seeds ended, with how many did."""
        row = self._rows.get((data, solver, stop))
        return "not run" if row is None else row.status

    def published(self, data: str, solver: str, stop: str, metric: str) -> float | None:
        """What the paper printed, None where it printed nothing."""
        return self.paper.published.get(data, {}).get(solver, {}).get(stop, {}).get(metric)


def _in_per_cent(record: dict[str, Any]) -> dict[str, Any]:
    share = record.get("test_accuracy")
    return record if share is None else record | {"test_accuracy": 100.0 * share}
