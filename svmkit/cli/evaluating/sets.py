"""`svmkit predict --sets`: the set of each row as a line of CSV."""

from __future__ import annotations

import csv
import io
import sys
from typing import Any

import numpy as np

from svmkit.cli.common import emit, load_for, load_model, note
from svmkit.cli.evaluating.drift import drift_rows, measure_drift
from svmkit.cli.evaluating.predictions import STDOUT, require_output
from svmkit.errors import InputError
from svmkit.runtime import files


def _require_possible(options: Any) -> None:
    """Raise InputError for options that exclude sets."""
    if options.keep or options.append:
        raise InputError("--sets writes a line a row without columns of DATA: leave --keep and --append out")
    if options.on_error == "skip":
        raise InputError("--sets has a line for each row: take --on-error impute, or leave --on-error out")
    if options.out is not None and options.out.lower().endswith(".parquet"):
        raise InputError(f"--sets writes CSV without a header: {options.out} should end in .csv or .txt")
    require_output(options)


def predict_sets(options: Any) -> None:
    """Print or write the sets of a model on rows: the labels in each, or both ends of the interval of each output."""
    _require_possible(options)
    model = load_model(options.model, options.tracking_uri)
    rows = load_for(model, options, labelled=False)
    model = model.widened(rows.n_features)
    sets = model.predict_sets(rows.X, alpha=options.alpha, n_threads=options.threads)
    drift = measure_drift(model, rows, options)
    if sets.dtype == np.bool_:
        named, lines = "sets", [model.classes[held].tolist() for held in sets]
    else:
        named, lines = "intervals", sets.reshape(len(sets), -1).tolist()
    if options.json:
        assert model.conformal is not None
        alpha = model.conformal.alpha if options.alpha is None else options.alpha
        about = {"alpha": alpha} | ({} if drift is None else {"drift": drift})
        emit({"model": options.model, "data": rows.name, "n": rows.n_samples, named: lines, **about})
        if options.out is None:
            return
    for name, said in drift_rows(drift) if not options.json else ():
        note(f"{name}: {said}")
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for line in lines:
        writer.writerow(line)
    if options.out in (None, STDOUT):
        sys.stdout.write(stream.getvalue())
        return
    files.write(options.out, stream.getvalue().encode())
    if not options.json:
        note(f"{rows.n_samples:,} sets in {options.out}")
