"""svmkit predict: labels, quantities or margins for data, one row a line."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON, PLUGIN, STRICT, THREADS, TRACKING_URI


def predict(
    model: str = typer.Argument(help="Model file, or models:/name@alias."),
    data: str = typer.Argument(help="Data, with labels or without: file, or name of a set."),
    out: str = typer.Option(None, help="Write here instead of stdout."),
    decision: bool = typer.Option(
        False, "--decision", help="Margins, tab-separated, instead of labels; of quantities the same."
    ),
    proba: bool = typer.Option(
        False, "--proba", help="Probabilities of the classes, tab-separated, of a model with a calibration."
    ),
    strict: bool = STRICT,
    threads: int = THREADS,
    tracking_uri: str = TRACKING_URI,
    plugin: list[str] = PLUGIN,
    json: bool = JSON,
) -> None:
    """Predict DATA with MODEL: one label or number a line, as CSV, so that a label with a comma is in quotes."""
    import sys

    from svmkit.cli.common import emit, load_for, load_model, note, warnings_as_notes
    from svmkit.errors import InputError
    from svmkit.runtime import files

    with warnings_as_notes():
        if decision and proba:
            raise InputError("give --decision or --proba, not both")
        loaded = load_model(model, tracking_uri)
        if proba:
            loaded.require_calibration()
        rows = load_for(loaded, data, labelled=False, strict=strict)
        loaded = loaded.widened(rows.n_features)
        ask = loaded.predict_proba if proba else loaded.decision_function if decision else loaded.predict
        values = ask(rows.X, n_threads=threads)
    values = values.reshape(len(values), -1) if decision else values
    known = {"classes": loaded.classes} if proba else {}
    if json:
        what = (
            "probabilities" if proba else "decision" if decision else "values" if loaded.task == "regress" else "labels"
        )
        emit({"model": model, "data": rows.name, "n": rows.n_samples, what: values} | known)
        if out is None:
            return
    if proba and not json:
        note(f"probabilities of the classes {', '.join(map(str, loaded.classes.tolist()))}, in this order")
    lines = (
        ("\t".join(map(repr, row)) for row in values.tolist()) if decision or proba else map(_field, values.tolist())
    )
    text = "".join(f"{line}\n" for line in lines)
    if out is None:
        sys.stdout.write(text)
        return
    files.write(out, text.encode())
    if not json:
        note(f"{rows.n_samples:,} predictions in {out}")


def _field(label: object) -> str:
    """Return a label as one field of a CSV record, in quotes where a reader would take it for more, or for less."""
    text = str(label)
    if text and text == text.strip() and not any(mark in text for mark in ',;\t"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'
