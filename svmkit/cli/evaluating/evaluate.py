"""svmkit evaluate: what the predictions of a model are worth on labelled data."""

from __future__ import annotations

from svmkit.cli.option_table import Options, takes


@takes("evaluate")
def evaluate(options: Options) -> None:
    """Accuracy, precision, recall, F1, ROC AUC and the confusion matrix of MODEL on DATA; R2, RMSE and MAE.

    Of a model with a calibration the log loss and the Brier score, too.
    """
    import time
    from typing import Any

    from svmkit.cli.common import emit, load_for, load_model, note, warnings_as_notes
    from svmkit.cli.evaluating import evaluation, evaluation_table, quantity_evaluation
    from svmkit.model.decided import decided

    plot, threads = options.plot, options.threads
    if plot:
        from svmkit.cli.evaluating import evaluation_picture

        evaluation_picture.require_drawable(plot)
    with warnings_as_notes():
        loaded = load_model(options.model, options.tracking_uri)
        test = load_for(loaded, options.data, strict=options.strict)
        loaded = loaded.widened(test.n_features)
        regression, began = loaded.task == "regress", time.perf_counter()
        answers = (loaded.predict(test.X, n_threads=threads),) if regression else decided(loaded, test.X, threads)
        seconds = time.perf_counter() - began
        if loaded.calibration is not None:
            answers = (*answers, loaded.predict_proba(test.X, n_threads=threads))
    kind: Any = quantity_evaluation.QuantityEvaluation if regression else evaluation.Evaluation
    found = kind.of(loaded, test, *answers)
    for line in found.notes:
        note(line)
    result = found.result(options.model, seconds) | {"plot": plot}
    failure = (found.drawn(plot) if regression else evaluation_picture.drawn(found, plot)) if plot else None
    if failure:
        result["plot"] = None
    if options.json:
        emit(result)
    else:
        (quantity_evaluation if regression else evaluation_table).show(result)
    if failure:
        raise failure
