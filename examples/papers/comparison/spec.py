"""A paper's comparison: what `svmkit compare --spec` takes, what the paper printed, and how to show both.

    all keys of svmkit.compare.plan.spec, and
    decades     how many of the stops run, default all; looser ones come first
    published   DATA: {SOLVER: {LABEL: {metric: number}}}
    tables, figure : see `comparison.tables` and `comparison.figures`

Metrics are named as in the records: test_accuracy, n_support, n_iter, solve_s (seconds of the loop alone), fit_s (with
certificate and model), kernel_values, gap. Accuracy is a fraction in the records, as everywhere in svmkit, and per cent
in these files, tables and pictures, as in the papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svmkit.compare.plan import fields
from svmkit.compare.plan.spec import Cell, Spec, load_spec
from svmkit.errors import InputError

REDUCTIONS = ("best", "mean", "range")
METRICS = ("test_accuracy", "n_support", "n_iter", "solve_s", "fit_s", "kernel_values", "gap")

OWN = ("published", "tables", "figure", "decades")
TABLES = {  # kind -> (keys that must be there, keys that may)
    "cells": ({"data", "solvers", "stops"}, {"compare", "show", "within"}),
    "ratios": ({"metric", "data", "solvers", "stops", "over"}, {"groups"}),
    "growth": ({"metric", "data", "solvers", "stops"}, set()),
    "friedman": ({"metrics", "data", "solvers", "stops"}, set()),
    "wilcoxon": ({"data", "stops", "pairs"}, set()),
}
GROUP = {"name", "data", "summary", "published"}
PAIR = {"metric", "first", "second", "alternative", "p"}
FIGURES: dict[str, set[str]] = {"curves": set(), "scatter": {"x", "y"}, "bars": {"metric"}}


@dataclass(frozen=True)
class Paper:
    """A checked file; `tables` and `figure` as they were written, names within them known to exist."""

    comparison: Spec
    published: dict
    tables: list[dict]
    figure: dict | None
    decades: int

    def cells(
        self,
        *,
        data: Sequence[str] | None = None,
        solvers: Sequence[str] | None = None,
        seeds: int | None = None,
        decades: int | None = None,
    ) -> list[Cell]:
        """The cells of the first `decades` stops; InputError for names that the spec does not have."""
        stops = list(self.comparison.stop)[: decades or self.decades]
        return self.comparison.cells(data=data, solvers=solvers, stops=stops, seeds=seeds)


def load_paper(path: str | Path) -> Paper:
    """The paper in a YAML file. Raises InputError: as `load_spec`, and for what is wrong in `OWN`."""
    comparison = load_spec(path, OWN)
    try:
        return _checked(comparison)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _checked(spec: Spec) -> Paper:
    own, stops = spec.extra, len(spec.stop)
    paper = Paper(
        comparison=spec,
        published=_published(own.get("published", {}), spec),
        tables=fields.as_list(own.get("tables", [])),
        figure=own.get("figure"),
        decades=fields.count("decades", own.get("decades", stops)),
    )
    for k, table in enumerate(paper.tables):
        _table(f"tables[{k}]", table, spec)
    if paper.figure is not None:
        kind = _kind("figure", paper.figure, FIGURES)
        fields.require_keys("figure", paper.figure, {"kind", "data", "solvers"} | FIGURES[kind])
        _names("figure", paper.figure, spec)
        fields.require_known("figure", [paper.figure[key] for key in FIGURES[kind]], METRICS, what="metric")
    return paper


def _published(raw: Any, spec: Spec) -> dict:
    """The same tree with every leaf a float."""
    checked: dict = {}
    fields.require_known("published", fields.as_map("published", raw), spec.data)
    for name, by_solver in raw.items():
        fields.require_known(f"published.{name}", fields.as_map(f"published.{name}", by_solver), spec.solvers)
        for solver, by_stop in by_solver.items():
            where = f"published.{name}.{solver}"
            fields.require_known(where, fields.as_map(where, by_stop), spec.stop)
            for label, values in by_stop.items():
                at = f"{where}.{label}"
                fields.require_known(at, fields.as_map(at, values), METRICS, what="metric")
                numbers = {metric: fields.number(f"{at}.{metric}", value) for metric, value in values.items()}
                checked.setdefault(name, {}).setdefault(solver, {})[label] = numbers
    return checked


def _table(where: str, table: Any, spec: Spec) -> None:
    kind = _kind(where, table, TABLES)
    must, may = TABLES[kind]
    fields.require_keys(where, table, must | {"kind", "title"}, must | may | {"kind", "title", "note"})
    _names(where, table, spec)
    metrics = [*table.get("compare", []), *table.get("within", []), *table.get("metrics", [])]
    metrics += [table["metric"]] if "metric" in table else []
    fields.require_known(where, metrics, METRICS, what="metric")
    for metric, _, reduction in (shown.partition(" ") for shown in table.get("show", [])):
        fields.require_known(f"{where}.show", [metric], METRICS, what="metric")
        fields.require_known(f"{where}.show", [reduction], REDUCTIONS)
    fields.require_known(f"{where}.compare", table.get("compare", {}).values(), REDUCTIONS[:2])
    for metric, by_stop in table.get("within", {}).items():
        fields.require_known(f"{where}.within.{metric}", fields.as_map(f"{where}.within.{metric}", by_stop), spec.stop)
        for label, limit in by_stop.items():
            fields.number(f"{where}.within.{metric}.{label}", str(limit).removesuffix("%"))
    if "over" in table:
        fields.require_known(f"{where}.over", [table["over"]], spec.solvers)
    for group in table.get("groups", []):
        fields.require_keys(f"{where}.groups", group, GROUP - {"published"}, GROUP)
        fields.require_known(f"{where}.groups", group["data"], spec.data)
        fields.require_known(f"{where}.groups.summary", [group["summary"]], ("median", "mean", "max"))
        fields.require_known(f"{where}.groups.published", group.get("published", {}), spec.solvers)
    for pair in table.get("pairs", []):
        fields.require_keys(f"{where}.pairs", pair, PAIR)
        fields.require_known(f"{where}.pairs", [pair["metric"]], METRICS, what="metric")
        fields.require_known(f"{where}.pairs", [pair["first"], pair["second"]], spec.solvers)
        fields.require_known(f"{where}.pairs.alternative", [pair["alternative"]], ("less", "greater", "two-sided"))
        fields.number(f"{where}.pairs.p", pair["p"])


def _names(where: str, entry: dict, spec: Spec) -> None:
    for key, known in (("data", spec.data), ("solvers", spec.solvers), ("stops", spec.stop)):
        fields.require_known(f"{where}.{key}", entry.get(key, []), known)


def _kind(where: str, entry: Any, kinds: Any) -> str:
    kind = fields.as_map(where, entry).get("kind")
    fields.require_known(f"{where}.kind", [kind], kinds)
    return kind
