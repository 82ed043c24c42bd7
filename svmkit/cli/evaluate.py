"""svmkit evaluate: the accuracy of a model on labelled data."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON, THREADS, TRACKING_URI


def evaluate(
    model: str = typer.Argument(help="Model file, or models:/name@alias."),
    data: str = typer.Argument(help="Labelled data: file, or name of a set."),
    threads: int = THREADS,
    tracking_uri: str = TRACKING_URI,
    json: bool = JSON,
) -> None:
    """Accuracy, and recall by class, of MODEL on DATA."""
    import time

    from svmkit.cli.common import emit, labels_of, load_for, load_model, rows, warnings_as_notes
    from svmkit.model.accuracy import accuracy

    with warnings_as_notes():
        loaded = load_model(model, tracking_uri)
        test = load_for(loaded, data)
        began = time.perf_counter()
        predicted = loaded.predict(test.X, n_threads=threads)
        seconds = time.perf_counter() - began
    truth = labels_of(test)
    as_text = truth.astype(str)
    recall = {
        str(label): accuracy(predicted[as_text == str(label)], truth[as_text == str(label)])
        for label in loaded.classes
        if (as_text == str(label)).any()
    }
    result = {
        "model": model,
        "data": test.name,
        "n_test": test.n_samples,
        "test_accuracy": accuracy(predicted, truth),
        "recall": recall,
        "balanced_accuracy": sum(recall.values()) / len(recall) if recall else None,
        "n_support": int(loaded.n_support.sum()),
        "predict_s": seconds,
    }
    if json:
        emit(result)
        return
    rows(
        [
            ("data", f"{test.name}: {test.n_samples:,} rows"),
            ("accuracy", f"{result['test_accuracy']:.2%}"),
            *((f"recall {label}", f"{value:.2%}") for label, value in recall.items()),
            ("support", f"{result['n_support']:,} vectors"),
            ("time", f"{seconds:.2f} s"),
        ]
    )
