"""svmkit predict: predictions as lines, as a table that can be joined with others, or as JSON."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.cli.common import emit, load_for, load_model, note
from svmkit.cli.evaluating.drift import drift_rows, measure_drift
from svmkit.cli.options import Options
from svmkit.data import Dataset
from svmkit.data.formats.cells import is_number
from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs
from svmkit.runtime import files
from svmkit.runtime.packages import require_installed
from svmkit.runtime.terminal import visible
from svmkit.scoring.operating import Cost

DELIMITERS = {".csv": ",", ".tsv": "\t"}
STDOUT = "-"
WORKBOOKS = (".xlsx", ".xls", ".ods")


def run(options: Options) -> None:
    """Predict, and write or print the predictions."""
    _require_possible(options)
    model = load_model(options.model, options.tracking_uri)
    if options.proba:
        model.require_calibration()
    rows = load_for(model, options, labelled=False)
    made = Predictions(options, model.widened(rows.n_features), rows)
    made.require_columns()
    drift = measure_drift(made.model, rows, options)
    if options.json:
        about = {} if drift is None else {"drift": drift}
        emit({"model": options.model, "data": rows.name, "n": rows.n_samples, **made.as_json(), **about})
        if options.out is None:
            return
    made.tell()
    for name, said in drift_rows(drift) if not options.json else ():
        note(f"{name}: {said}")
    content = made.content()
    if options.out in (None, STDOUT):
        sys.stdout.write(content.decode())
        return
    files.write(options.out, content)
    if not options.json:
        n = rows.n_samples
        note(f"{n:,} prediction{'s' * (n != 1)} in {options.out}")


def require_output(options: Options) -> None:
    """Raise InputError if --out names a workbook, or if both JSON and predictions would go to standard output."""
    if Path(options.out or STDOUT).suffix.lower() in WORKBOOKS:
        raise InputError(f"--out {options.out}: workbooks are not written; write a .csv, which spreadsheets open")
    if options.json and options.out == STDOUT:
        raise InputError("--json and --out - both write to standard output: leave one out")


def _require_possible(options: Options) -> None:
    """Raise InputError for options that exclude each other."""
    if options.decision and options.proba:
        raise InputError("give --decision or --proba, not both")
    if options.keep and options.append:
        raise InputError("give --keep or --append, not both: --append writes all columns")
    require_output(options)
    if options.json and (options.keep or options.append) and options.out is None:
        raise InputError("--json has no columns of DATA: give --out FILE, or leave --keep and --append out")


@dataclass(frozen=True)
class Predictions:
    """The predictions of a model for rows, and how to write them."""

    options: Options
    model: SVMModel
    rows: Dataset

    @cached_property
    def values(self) -> np.ndarray:
        """The predictions of the rows that could be read: (n_samples,) or (n_samples, n_columns)."""
        options, model = self.options, self.model
        predict = (
            model.predict_proba if options.proba else model.decision_function if options.decision else model.predict
        )
        if options.cost is not None:
            predict = partial(model.predict_for_cost, **Cost.from_text(options.cost)._asdict())
        values = predict(self.rows.X, n_threads=options.threads)
        return values.reshape(len(values), -1) if options.decision else values

    @property
    def names(self) -> list[str]:
        """The names of the columns of the predictions."""
        model, classes = self.model, list(map(str, self.model.classes.tolist()))
        if model.outputs:
            return list(model.outputs)
        if self.options.proba:
            return classes
        if self.options.decision and model.has_class_scores:
            return classes
        if self.options.decision and not model.has_one_function:
            return [f"{classes[a]} vs {classes[b]}" for a, b in class_pairs(len(classes))]
        return ["decision" if self.options.decision else "prediction"]

    @property
    def lines(self) -> list[list[Any]]:
        """The predictions of all rows of the file; None for skipped rows."""
        known = self.values.reshape(len(self.values), -1).tolist()
        if self.rows.kept is None:
            return known
        given = iter(known)
        return [next(given) if is_kept else [None] * len(known[0]) for is_kept in self.rows.kept.tolist()]

    def require_columns(self) -> None:
        """Read the columns that are written beside the predictions; raise InputError if they do not exist, or if no
        software to write the file is installed.
        """
        if self.ending == ".parquet":
            require_installed("Parquet files", "pyarrow")
        _ = self.kept  # before predicting

    def as_json(self) -> dict[str, Any]:
        """Return the predictions under their JSON key, with the names of classes or outputs."""
        options, model = self.options, self.model
        named = "values" if model.regresses else "labels"
        named = "probabilities" if options.proba else "decision" if options.decision else named
        more: dict[str, Any] = {"outputs": model.outputs} if model.outputs else {}
        more = {"classes": model.classes} if options.proba else more
        values = self.values if self.rows.kept is None else self.lines
        if self.rows.kept is not None and self.values.ndim == 1:
            values = [line[0] for line in self.lines]
        return {named: values} | more

    def tell(self) -> None:
        """Print notes about the lines on stderr."""
        if self.ending or self.options.json:
            return
        if self.options.proba:
            note(f"probabilities of the classes {', '.join(self.names)}, in this order")
        elif self.model.outputs:
            note(f"a column for each of {', '.join(self.model.outputs)}, in this order")

    @property
    def ending(self) -> str | None:
        """The ending of a file that is a table with a header, .csv for one on stdout; None for plain lines."""
        ending = Path(self.options.out or STDOUT).suffix.lower()
        if ending in (*DELIMITERS, ".parquet"):
            return ending
        return ".csv" if self.options.keep or self.options.append else None

    def content(self) -> bytes:
        """Return the contents of the file, or the printed output."""
        if self.ending is None:
            return "".join(f"{line}\n" for line in self._plain()).encode()
        columns = self._join()
        if self.ending == ".parquet":
            return _as_parquet(columns)
        mark = DELIMITERS[self.ending]
        self._note_formulas(columns)
        rows = zip(*columns.values(), strict=True)
        lines = (mark.join(map(_cell, row)) for row in ([*columns], *rows))
        return "".join(f"{line}\n" for line in lines).encode()

    def _plain(self) -> list[str]:
        """Return the predictions as lines without a header."""
        lines, empty = self.lines, self.rows.kept is not None
        if self.options.decision or self.options.proba:
            return ["\t".join("" if empty and value is None else repr(value) for value in row) for row in lines]
        if self.model.outputs:
            return [",".join("" if value is None else str(value) for value in row) for row in lines]
        self._note_formulas({})
        steers = self.options.out is None and sys.stdout.isatty()
        texts = ["" if value is None else str(value) for (value,) in lines]
        return [_field(visible(text) if steers else text) for text in texts]

    def _note_formulas(self, columns: Mapping[str, list[Any]]) -> None:
        """Print a note on a label, and one on a cell or name in a table, that looks like a formula."""
        labels = list(map(str, self.model.classes.tolist()))
        cells = (text for name, column in columns.items() for text in (name, *column) if isinstance(text, str))
        found = {
            "labels": ("label", _formula_in(labels)),
            "cells": ("cell", _formula_in(text for text in cells if text not in labels)),
        }
        for what, (noun, first) in found.items():
            if first is not None:
                note(
                    f"the {noun} {first!r} looks like a formula: a spreadsheet may compute it, unless it takes {what} "
                    "as text"
                )

    @cached_property
    def kept(self) -> dict[str, list[Any]]:
        """Return the columns of the data that are written beside the predictions, by name."""
        options = self.options
        if not (options.keep or options.append):
            return {}
        from svmkit.data.formats.kinds import TABLES, kind_of
        from svmkit.data.places.sources import find, several
        from svmkit.data.tables.readers import read_cells

        place = find(options.data) if several(options.data) is None else options.data
        charset = options.encoding or (self.model.encoding.charset if self.model.encoding else None)
        kind = kind_of(place, charset) if isinstance(place, Path) else None
        if kind not in TABLES:
            option = "--keep" if options.keep else "--append"
            raise InputError(f"{options.data}: {option} is for one CSV, TSV or Parquet file: leave it out")
        assert isinstance(place, Path)
        return read_cells(place, kind, options.keep or None, options.reading_of_model, self.model.encoding)

    def _join(self) -> dict[str, list[Any]]:
        """Return all columns by name; a prediction whose name occurs in the data gets another one, with a note."""
        columns, lines = dict(self.kept), self.lines
        for k, name in enumerate(self.names):
            free = name
            while free in columns:
                free = f"{free} (svmkit)"
            if free != name:
                note(f"the data have a column {name!r}: that of the predictions is called {free!r}")
            columns[free] = [row[k] for row in lines]
        return columns


def _as_parquet(columns: Mapping[str, list[Any]]) -> bytes:
    """Return a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), buffer)
    return buffer.getvalue()


def _cell(value: Any) -> str:
    """Return a value as a field of a CSV record, empty for None and NaN."""
    text = "" if value is None or value != value else str(value)
    return text and _field(text)


def _field(text: str) -> str:
    """Return a label as one field of a CSV record, quoted if a reader would misread it."""
    if text and text == text.strip() and not any(mark in text for mark in ',;\t"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _formula_in(texts: Iterable[str]) -> str | None:
    """Return the first text that a spreadsheet would interpret as a formula."""
    likely = (text for text in texts if text.startswith(("=", "+", "-", "@")))
    return next((text for text in likely if not is_number(text)), None)
