"""svmkit evaluate: what the predictions of a model are worth on labelled data."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON, STRICT, THREADS, TRACKING_URI


def evaluate(
    model: str = typer.Argument(help="Model file, or models:/name@alias."),
    data: str = typer.Argument(help="Labelled data: file, or name of a set."),
    plot: str = typer.Option(
        None, help="Picture of the confusion matrix and, for two classes, the ROC and precision-recall curves."
    ),
    strict: bool = STRICT,
    threads: int = THREADS,
    tracking_uri: str = TRACKING_URI,
    json: bool = JSON,
) -> None:
    """Accuracy, precision, recall, F1, ROC AUC and the confusion matrix of MODEL on DATA."""
    import time

    from svmkit.cli import evaluation, evaluation_table
    from svmkit.cli.common import emit, load_for, load_model, note, warnings_as_notes
    from svmkit.model.decided import decided

    if plot:
        from svmkit.cli import evaluation_picture

        evaluation_picture.require_drawable(plot)
    with warnings_as_notes():
        loaded = load_model(model, tracking_uri)
        test = load_for(loaded, data, strict=strict)
        loaded = loaded.widened(test.n_features)
        began = time.perf_counter()
        predicted, decision = decided(loaded, test.X, threads)
        seconds = time.perf_counter() - began
    found = evaluation.Evaluation.of(loaded, test, predicted, decision)
    for line in found.notes:
        note(line)
    result = found.result(model, seconds) | {"plot": plot}
    failure = evaluation_picture.drawn(found, plot) if plot else None
    if failure:
        result["plot"] = None
    if json:
        emit(result)
    else:
        evaluation_table.show(result)
    if failure:
        raise failure
