"""A comparison as a YAML file: read, checked whole before anything is solved, and unrolled into cells.

    name, about : what the report is called and says first
    data:       NAME: {source, rows, features, positive, test, scale, kernel, C, memory, solvers, sampler}
        source : what svmkit.load reads, default NAME; rows : "first 35000"; features : columns, where the training
        file lacks the last ones; positive : this label against the rest; test : a name, or {hold_out: 0.3, seed: 0};
        scale : none (default), standard, minmax, maxabs; kernel : {name, gamma | sigma, degree, coef0}, gamma a number,
        scale, auto, msd or "2 * msd", sigma for gamma = 1 / (2 sigma^2); C; memory : default 1GB;
        solvers : the ones that run on it, default all; sampler : of those that name none themselves
    solvers:    NAME: {solver, options, sampler, stops, repeats}
        solver : the plugin, default NAME; sampler : default the solver's own; stops : labels, default all;
        repeats : seeds of this one
    stop:       LABEL: rules as `svmkit train --stop` spells them, joined by " | "; looser ones first
    seeds, limit, decades : seeds a cell (default 1), seconds a cell (default 300), how many of the stops (default all)
    published:  DATA: {SOLVER: {LABEL: {metric: number}}}
    tables, figure : see `comparison.tables` and `comparison.figures`

Every stop is a run of its own, as in the papers: exact, and a cell that can be repeated alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from svmkit.errors import InputError
from svmkit.stopping import parse_stop

REDUCTIONS = ("best", "mean", "range")
METRICS = ("accuracy", "support", "iterations", "seconds", "fit_seconds", "kernel_values", "gap")

TOP = {"name", "about", "data", "solvers", "stop", "seeds", "limit", "decades", "published", "tables", "figure"}
DATA = {"source", "rows", "features", "positive", "test", "scale", "kernel", "C", "memory", "solvers", "sampler"}
SOLVER = {"solver", "options", "sampler", "stops", "repeats"}
KERNEL = {"name", "gamma", "sigma", "degree", "coef0"}
TABLES = {  # kind -> (keys that must be there, keys that may)
    "cells": ({"data", "solvers", "stops"}, {"compare", "show", "within"}),
    "ratios": ({"metric", "data", "solvers", "stops", "over"}, {"groups"}),
    "growth": ({"metric", "data", "solvers", "stops"}, set()),
    "friedman": ({"metrics", "data", "solvers", "stops"}, set()),
    "wilcoxon": ({"data", "stops", "pairs"}, set()),
}
GROUP = {"name", "data", "summary", "published"}
PAIR = {"metric", "first", "second", "alternative", "p"}
FIGURES = {"curves": set(), "scatter": {"x", "y"}, "bars": {"metric"}}


@dataclass(frozen=True)
class Cell:
    """One fit: names for people, `settings` for the machine; `key` is the same as long as the settings are."""

    data: str
    solver: str
    stop: str
    seed: int
    settings: dict[str, Any]

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Spec:
    """A checked file; `tables` and `figure` as they were written, names within them known to exist."""

    name: str
    about: str
    data: dict[str, dict]
    solvers: dict[str, dict]
    stop: dict[str, str]
    seeds: int
    limit: float
    decades: int
    published: dict
    tables: list[dict]
    figure: dict | None

    def cells(
        self,
        *,
        only: list[str] | None = None,
        solvers: list[str] | None = None,
        seeds: int | None = None,
        decades: int | None = None,
    ) -> list[Cell]:
        """The cells, data set by data set; InputError for names that the spec does not have."""
        _known("--only", only or [], self.data)
        _known("--solvers", solvers or [], self.solvers)
        labels = list(self.stop)[: decades or self.decades]
        found = []
        for data, solver in product(only or self.data, solvers or self.solvers):
            about, how = self.data[data], self.solvers[solver]
            if solver not in about.get("solvers", self.solvers):
                continue
            for label in [label for label in labels if label in how.get("stops", labels)]:
                for seed in range(seeds or how.get("repeats", self.seeds)):
                    settings = {
                        "data": {key: value for key, value in about.items() if key not in ("solvers", "sampler")},
                        "solver": {key: about[key] for key in ("sampler",) if key in about}
                        | {key: value for key, value in how.items() if key not in ("stops", "repeats")},
                        "stop": self.stop[label],
                        "seed": seed,
                    }
                    found.append(Cell(data, solver, label, seed, settings))
        return found


def load_spec(path: str | Path) -> Spec:
    """The spec in a YAML file.

    Raises InputError: no such file, no YAML, a key that is not known or missing, a name that nothing defines.
    """
    try:
        raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None
    try:
        return _checked(raw)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _checked(raw: Any) -> Spec:
    _keys("the spec", raw, {"name", "data", "solvers", "stop"}, TOP)
    data = {str(name): _data(str(name), entry) for name, entry in _map("data", raw["data"]).items()}
    solvers = {str(name): _solver(str(name), entry or {}) for name, entry in _map("solvers", raw["solvers"]).items()}
    stop = {str(label): str(rules) for label, rules in _map("stop", raw["stop"]).items()}
    for rules in stop.values():
        parse_rules(rules)
    for name, entry in data.items():
        _known(f"data.{name}.solvers", entry.get("solvers", []), solvers)
    for name, entry in solvers.items():
        _known(f"solvers.{name}.stops", entry.get("stops", []), stop)
    spec = Spec(
        name=str(raw["name"]),
        about=str(raw.get("about", "")).strip(),
        data=data,
        solvers=solvers,
        stop=stop,
        seeds=_count("seeds", raw.get("seeds", 1)),
        limit=_number("limit", raw.get("limit", 300)),
        decades=_count("decades", raw.get("decades", len(stop))),
        published=_published(raw.get("published", {}), data, solvers, stop),
        tables=raw.get("tables", []),
        figure=raw.get("figure"),
    )
    for k, table in enumerate(spec.tables):
        _table(f"tables[{k}]", table, spec)
    if spec.figure is not None:
        kind = _kind("figure", spec.figure, FIGURES)
        _keys("figure", spec.figure, {"kind", "data", "solvers"} | FIGURES[kind])
        _names("figure", spec.figure, spec)
        _known("figure", [spec.figure[key] for key in FIGURES[kind]], METRICS)
    return spec


def _data(name: str, entry: Any) -> dict:
    where = f"data.{name}"
    _keys(where, entry, {"test", "kernel", "C"}, DATA)
    entry = {"source": name, "scale": "none", "memory": "1GB", **entry, "C": _number(f"{where}.C", entry["C"])}
    _keys(f"{where}.kernel", entry["kernel"], {"name"}, KERNEL)
    if {"gamma", "sigma"} <= set(entry["kernel"]):
        raise InputError(f"{where}.kernel has both gamma and sigma: leave one out")
    if isinstance(entry["test"], dict):
        _keys(f"{where}.test", entry["test"], {"hold_out", "seed"})
        if not 0 < _number(f"{where}.test.hold_out", entry["test"]["hold_out"]) < 1:
            raise InputError(f"{where}.test.hold_out must lie between 0 and 1")
    if "rows" in entry:
        first, _, rows = str(entry["rows"]).partition(" ")
        if first != "first" or not rows.isdigit():
            raise InputError(f'{where}.rows={entry["rows"]!r} is not a slice: write "first 35000"')
    return entry


def _solver(name: str, entry: dict) -> dict:
    _keys(f"solvers.{name}", entry, set(), SOLVER)
    if "repeats" in entry:
        _count(f"solvers.{name}.repeats", entry["repeats"])
    return {"solver": name, "options": {}, **entry}


def _published(raw: Any, data: dict, solvers: dict, stop: dict) -> dict:
    """The same tree with every leaf a float."""
    checked: dict = {}
    _known("published", _map("published", raw), data)
    for name, by_solver in raw.items():
        _known(f"published.{name}", _map(f"published.{name}", by_solver), solvers)
        for solver, by_stop in by_solver.items():
            where = f"published.{name}.{solver}"
            _known(where, _map(where, by_stop), stop)
            for label, values in by_stop.items():
                _known(f"{where}.{label}", _map(f"{where}.{label}", values), METRICS)
                numbers = {metric: _number(f"{where}.{label}.{metric}", value) for metric, value in values.items()}
                checked.setdefault(name, {}).setdefault(solver, {})[label] = numbers
    return checked


def _table(where: str, table: Any, spec: Spec) -> None:
    kind = _kind(where, table, TABLES)
    must, may = TABLES[kind]
    _keys(where, table, must | {"kind", "title"}, must | may | {"kind", "title", "note"})
    _names(where, table, spec)
    metrics = [*table.get("compare", []), *table.get("within", []), *table.get("metrics", [])]
    metrics += [table["metric"]] if "metric" in table else []
    _known(where, metrics, METRICS)
    for metric, _, reduction in (shown.partition(" ") for shown in table.get("show", [])):
        _known(f"{where}.show", [metric], METRICS)
        _known(f"{where}.show", [reduction], REDUCTIONS)
    _known(f"{where}.compare", table.get("compare", {}).values(), REDUCTIONS[:2])
    for metric, by_stop in table.get("within", {}).items():
        _known(f"{where}.within.{metric}", _map(f"{where}.within.{metric}", by_stop), spec.stop)
        for label, limit in by_stop.items():
            _number(f"{where}.within.{metric}.{label}", str(limit).removesuffix("%"))
    if "over" in table:
        _known(f"{where}.over", [table["over"]], spec.solvers)
    for group in table.get("groups", []):
        _keys(f"{where}.groups", group, GROUP - {"published"}, GROUP)
        _known(f"{where}.groups", group["data"], spec.data)
        _known(f"{where}.groups.summary", [group["summary"]], ("median", "mean", "max"))
        _known(f"{where}.groups.published", group.get("published", {}), spec.solvers)
    for pair in table.get("pairs", []):
        _keys(f"{where}.pairs", pair, PAIR)
        _known(f"{where}.pairs", [pair["metric"]], METRICS)
        _known(f"{where}.pairs", [pair["first"], pair["second"]], spec.solvers)
        _known(f"{where}.pairs.alternative", [pair["alternative"]], ("less", "greater", "two-sided"))


def parse_rules(text: str) -> Any:
    """Stop rules joined by "|", as a Criterion or a Stop."""
    first, *others = [parse_stop(part.strip()) for part in text.split("|")]
    for other in others:
        first = first | other
    return first


def _names(where: str, entry: dict, spec: Spec) -> None:
    for key, known in (("data", spec.data), ("solvers", spec.solvers), ("stops", spec.stop)):
        _known(f"{where}.{key}", entry.get(key, []), known)


def _kind(where: str, entry: Any, kinds: Any) -> str:
    kind = _map(where, entry).get("kind")
    _known(f"{where}.kind", [kind], kinds)
    return kind


def _map(where: str, value: Any) -> dict:
    if not isinstance(value, dict):
        raise InputError(f"{where} should be a map of names, not {value!r}")
    return value


def _keys(where: str, value: Any, must: set, may: set | None = None) -> None:
    _known(where, _map(where, value), sorted(must if may is None else may), what="key")
    missing = sorted(must - set(value))
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}")


def _known(where: str, names: Any, known: Any, what: str = "name") -> None:
    unknown = [str(name) for name in names if name not in known]
    if unknown:
        raise InputError(f"{where}: unknown {what} {', '.join(unknown)}; known: {', '.join(map(str, known))}")


def _number(where: str, value: Any) -> float:
    try:  # YAML reads 1e-3 as text
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{where} should be a number, not {value!r}") from None


def _count(where: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{where} should be a whole number >= 1, not {value!r}")
    return value
