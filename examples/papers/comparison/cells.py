"""One cell: its data, its fit, its record. Records go to a JSON-lines file, so that a cell is run once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import svmkit
from comparison.spec import Cell, parse_rules
from svmkit import plugins, warming
from svmkit.errors import InputError, SvmkitError
from svmkit.kernels import Kernel, resolve_gamma
from svmkit.scaling import Scaling
from svmkit.solver import Status
from svmkit.stopping import Iterations, Seconds
from svmkit.training import as_kernel

CURVE = 150  # points kept of a history


@dataclass(frozen=True)
class Sets:
    """Training and test rows of a data entry; `kernel` with sigma and "2 * msd" turned into numbers."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    kernel: Kernel


def prepare(entry: dict) -> Sets:
    """The sets of a spec's data entry. InputError when a file is missing or does not fit."""
    train = svmkit.load(entry["source"], n_features=entry.get("features"))
    rows = slice(int(entry["rows"].split()[1])) if "rows" in entry else slice(None)
    X, y = train.X[rows], train.y[rows]
    if isinstance(entry["test"], dict):
        order = np.random.default_rng(entry["test"]["seed"]).permutation(len(y))
        cut = round(float(entry["test"]["hold_out"]) * len(y))
        held, kept = np.sort(order[:cut]), np.sort(order[cut:])
        X, y, X_test, y_test = X[kept], y[kept], X[held], y[held]
    else:
        test = svmkit.load(entry["test"], n_features=train.n_features)
        X_test, y_test = test.X, test.y
    if "positive" in entry:
        if entry["positive"] not in y:
            raise InputError(f"{entry['source']} has no label {entry['positive']!r}")
        y, y_test = (np.where(labels == entry["positive"], 1, -1) for labels in (y, y_test))
    return Sets(X, y, X_test, y_test, _kernel(entry, X))


def _kernel(entry: dict, X: Any) -> Kernel:
    params = {key: value for key, value in entry["kernel"].items() if key != "name"}
    if "sigma" in params:
        params["gamma"] = 1.0 / (2.0 * float(params.pop("sigma")) ** 2)
    factor, times, rule = str(params.get("gamma", "")).partition("*")
    if times:
        scaled = X if entry["scale"] == "none" else Scaling.fit(entry["scale"], X).apply(X)
        params["gamma"] = float(factor) * resolve_gamma(rule.strip(), scaled)
    return as_kernel(entry["kernel"]["name"], params)


def warm(cells: list[Cell]) -> None:
    """Compile what the cells need, before any clock runs."""
    for _, work in warming.steps():
        work()
    X, y = warming.data()
    kernel = as_kernel("rbf", {"gamma": 0.5})
    for cell in {json.dumps(cell.settings["solver"], sort_keys=True): cell for cell in cells}.values():
        how = cell.settings["solver"]  # with its sampler: a sampled step has loops of its own
        solver = plugins.build("solver", how["solver"], how["options"])
        svmkit.fit(X, y, solver=solver, kernel=kernel, stop=Iterations(20), **_sampler(cell))


def _sampler(cell: Cell) -> dict[str, str]:
    """The sampler that the spec names, if it does: a solver for streams has one of its own."""
    return {key: value for key, value in cell.settings["solver"].items() if key == "sampler"}


def run(cell: Cell, sets: Sets, limit: float, curve: bool) -> dict | None:
    """Fit one cell within `limit` seconds: its record, or None when it was interrupted.

    A fit that svmkit refuses or that fails gives a record with status "failed" and the reason. With `curve`, a thinned
    history of (iterations, seconds, Delta) is kept, Delta = alpha'g - min g as in the PARTAN paper.
    """
    how = cell.settings["solver"]
    record = {
        "key": cell.key,
        "cell": [cell.data, cell.solver, cell.stop, cell.seed],
        "limit": limit,
        "svmkit": svmkit.__version__,
        "settings": cell.settings,
    }
    try:
        fit = svmkit.fit(
            sets.X,
            sets.y,
            solver=plugins.build("solver", how["solver"], how["options"]),
            kernel=sets.kernel,
            C=cell.settings["data"]["C"],
            **_sampler(cell),
            stop=parse_rules(cell.settings["stop"]) | Seconds(limit),
            scale=cell.settings["data"]["scale"],
            memory=cell.settings["data"]["memory"],
            seed=cell.seed,
        )
    except SvmkitError as error:
        return record | {"status": "failed", "reason": str(error)}
    if fit.status is Status.INTERRUPTED:
        return None
    record |= {
        "status": str(fit.status),
        "accuracy": 100.0 * float(np.mean(fit.model.predict(sets.X_test) == sets.y_test)),
        "support": len(fit.support),
        "iterations": fit.n_iter,
        "seconds": sum(solution.seconds for solution in fit.solutions),
        "fit_seconds": fit.seconds,
        "kernel_values": fit.kernel_values,
        "gap": fit.gap,
        "rows": [int(sets.X.shape[0]), int(sets.X_test.shape[0])],
        "kernel": fit.model.kernel.params,
    }
    return record | ({"history": _thinned(fit.solutions[0].history)} if curve else {})


def _thinned(history: Any) -> list[list[float]]:
    """Points about evenly spaced on a log scale: all early ones, then every so many."""
    points = [p for p in history if p.gap is not None]
    picked = np.unique(np.linspace(0, len(points) - 1, CURVE).round().astype(int)) if points else []
    chosen = [points[k] for k in picked]
    return [[p.n_iter, round(p.seconds, 4), float(f"{0.5 * p.gap * p.objective:.4g}")] for p in chosen]


def ran_out(record: dict) -> bool:
    return record["status"] == Status.TIME_LIMIT


class Store:
    """Records in a JSON-lines file, the last one of a key counting; a line that a kill cut short is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, dict] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                record = json.loads(line)
                self.records[record["key"]] = record
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{path}:{number}: not a record of a cell: delete the line or the file") from None
        if whole != text:
            path.write_text(whole, encoding="utf-8")

    def add(self, record: dict) -> None:
        self.records[record["key"]] = record
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def has(self, cell: Cell, limit: float) -> bool:
        """Whether the cell is finished: not when it failed, nor when it ran out of less than `limit` seconds."""
        record = self.records.get(cell.key)
        if record is None or record["status"] == "failed":
            return False
        return not (ran_out(record) and record["limit"] < limit)


class Results:
    """What the tables read: published numbers, and ours reduced over the seeds."""

    def __init__(self, spec: Any, records: dict[str, dict]) -> None:
        self.spec = spec
        self._of: dict[tuple[str, str, str], list[dict]] = {}
        most = 1 + max([r["cell"][3] for r in records.values()], default=0)
        for cell in spec.cells(seeds=most, decades=len(spec.stop)):
            if cell.key in records:
                self._of.setdefault((cell.data, cell.solver, cell.stop), []).append(records[cell.key])

    def records(self, data: str, solver: str, stop: str) -> list[dict]:
        """The records of a cell that came to an end, by seed; failed ones left out."""
        return [r for r in self._of.get((data, solver, stop), []) if r["status"] != "failed"]

    def values(self, data: str, solver: str, stop: str, metric: str) -> list[float]:
        found = [r[metric] for r in self.records(data, solver, stop)]
        return [value for value in found if value is not None]

    def mean(self, data: str, solver: str, stop: str, metric: str) -> float | None:
        found = self.values(data, solver, stop, metric)
        return float(np.mean(found)) if found else None

    def cut(self, data: str, solver: str, stop: str) -> bool:
        """Whether a seed of it ran out of time: its numbers are not those of a finished run."""
        return any(ran_out(r) for r in self.records(data, solver, stop))

    def status(self, data: str, solver: str, stop: str) -> str:
        """Each way the seeds ended, with how many did."""
        found = [r["status"] for r in self._of.get((data, solver, stop), [])]
        names = sorted(set(found))
        return ", ".join(n if len(names) == 1 else f"{found.count(n)} {n}" for n in names) or "not run"

    def published(self, data: str, solver: str, stop: str, metric: str) -> float | None:
        return self.spec.published.get(data, {}).get(solver, {}).get(stop, {}).get(metric)
