"""svmkit evaluate: what the predictions of a model are worth on labelled data."""

from __future__ import annotations

from svmkit.cli.option_table import Options, argument, option, takes


@takes(
    "evaluate",
    argument("model", str, "Model file, or models:/name@alias."),
    argument("data", str, "Labelled data: file, or name of a set."),
    option(
        "plot",
        str,
        None,
        "Picture of the confusion matrix and, for two classes, the ROC and precision-recall curves; how reliable "
        "probabilities are; of quantities, predicted over true values and residuals.",
    ),
)
def evaluate(options: Options) -> None:
    """Accuracy, precision, recall, F1, ROC AUC and the confusion matrix of MODEL on DATA; R2, RMSE and MAE.

    Of a model with a calibration the log loss and the Brier score, too.
    """
    from typing import Any

    from svmkit.cli.common import emit, load_for, load_model, note
    from svmkit.cli.evaluating import evaluation, evaluation_picture, evaluation_table, quantity_evaluation

    plot = options.plot
    if plot:
        evaluation_picture.require_drawable(plot)
    model = load_model(options.model, options.tracking_uri)
    test = load_for(model, options.data, strict=options.strict)
    model = model.widened(test.n_features)
    evaluated: Any
    draw: Any
    if model.regresses:
        evaluated = quantity_evaluation.QuantityEvaluation.from_model(model, test, options.threads)
        draw, show = quantity_evaluation.draw, quantity_evaluation.show
    else:
        evaluated = evaluation.Evaluation.from_model(model, test, options.threads)
        draw, show = evaluation_picture.draw, evaluation_table.show
    for line in evaluated.notes:
        note(line)
    failure = draw(evaluated, plot) if plot else None
    result = evaluated.result(options.model) | {"plot": None if failure else plot}
    if options.json:
        emit(result)
    else:
        show(result)
    if failure:
        raise failure
