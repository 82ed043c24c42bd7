"""svmkit predict: labels, quantities or margins for data, one row a line."""

from __future__ import annotations

from svmkit.cli.option_table import Options, argument, option, takes


@takes(
    "predict",
    argument("model", str, "Model file, or models:/name@alias."),
    argument("data", str, "Data, with labels or without: file, or name of a set."),
    option("out", str, None, "Write here instead of stdout."),
    option("decision", bool, False, "Margins, tab-separated, instead of labels; of quantities the same."),
    option("proba", bool, False, "Probabilities of the classes, tab-separated, of a model with a calibration."),
)
def predict(options: Options) -> None:
    """Predict DATA with MODEL: one label or number a line, as CSV, so that a label with a comma is in quotes."""
    import sys

    from svmkit.cli.common import emit, load_for, load_model, note
    from svmkit.errors import InputError
    from svmkit.runtime import files

    decision, proba, out, as_json = options.decision, options.proba, options.out, options.json
    if decision and proba:
        raise InputError("give --decision or --proba, not both")
    model = load_model(options.model, options.tracking_uri)
    if proba:
        model.require_calibration()
    rows = load_for(model, options.data, labelled=False, strict=options.strict)
    model = model.widened(rows.n_features)
    predict = model.predict_proba if proba else model.decision_function if decision else model.predict
    values = predict(rows.X, n_threads=options.threads)
    values = values.reshape(len(values), -1) if decision else values
    if as_json:
        named = "probabilities" if proba else "decision" if decision else "values" if model.regresses else "labels"
        classes = {"classes": model.classes} if proba else {}
        emit({"model": options.model, "data": rows.name, "n": rows.n_samples, named: values} | classes)
        if out is None:
            return
    if proba and not as_json:
        note(f"probabilities of the classes {', '.join(map(str, model.classes.tolist()))}, in this order")
    lines = (
        ("\t".join(map(repr, row)) for row in values.tolist()) if decision or proba else map(_field, values.tolist())
    )
    text = "".join(f"{line}\n" for line in lines)
    if out is None:
        sys.stdout.write(text)
        return
    files.write(out, text.encode())
    if not as_json:
        note(f"{rows.n_samples:,} predictions in {out}")


def _field(label: object) -> str:
    """Return a label as one field of a CSV record, in quotes where a reader would take it for more, or for less."""
    text = str(label)
    if text and text == text.strip() and not any(mark in text for mark in ',;\t"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'
