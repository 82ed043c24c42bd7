"""svmkit train --task outliers: a one-class model of data without labels, or whose labels are ignored."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit import tracking
from svmkit.cli import progress
from svmkit.cli.common import note, rows, where
from svmkit.cli.options import stop_rules
from svmkit.cli.training import lineage
from svmkit.cli.training.finish import Keeper, Outcome
from svmkit.cli.training.sets import advise_scaling, tell
from svmkit.cli.training.tracked import tracked
from svmkit.cli.training.train_options import Method, TrainOptions
from svmkit.data import Dataset, load
from svmkit.data.prepare.features import require_finite
from svmkit.data.prepare.imputing import require_values
from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.model.model import SVMModel
from svmkit.runtime import compiling
from svmkit.runtime.jsonable import plain
from svmkit.scoring.metric import Metric
from svmkit.scoring.scores import Scores
from svmkit.tasks import OneClass
from svmkit.tasks.one_class import CLASSES
from svmkit.tracking import RunRecord, Tracker
from svmkit.training.choice import choices, in_words
from svmkit.training.data import TrainingData, solver_tasks
from svmkit.training.result import Fit
from svmkit.training.settings import Method as Resolved
from svmkit.training.train import fit_prepared

_NOT_OF_OUTLIERS = {
    "epsilon": "is for quantities",
    "class_weight": "is for classes",
    "multiclass": "is for classes",
    "calibrate": "is for classes",
    "metric": "needs labels: svmkit evaluate measures a model",
    "test_size": "holds out labelled rows: give --test FILE",
    "curve": "needs labelled rows",
    "checkpoint": "does not go with outliers",
    "resume": "does not go with outliers",
}


def run(options: TrainOptions) -> Outcome:
    """Train a one-class model on a file or a named set, save it, and count the outliers.

    Raises
    ------
    InputError
        The options or the data cannot be used.
    """
    for name, reason in _NOT_OF_OUTLIERS.items():
        if getattr(options, name):
            raise InputError(f"--{name.replace('_', '-')} {reason}: leave it out with --task outliers")
    method = Method.of(options.replace(nu=None, max_support=None, task=None))
    method = replace(method, stop=stop_rules(options.tol, options.stop, options.budgets))
    resolved = method.resolved(options, OneClass())
    holes, began = options.impute is not None, time.perf_counter()
    data = load(options.data, reading=options.reading, n_features=options.n_features, labelled=False, holes=holes)
    test = _test_set(options, data)
    tell(data)
    require_finite(data.X, holes=holes)
    if holes:
        require_values(data.X, data.encoding.feature_names if data.encoding else None)
    advise_scaling(data.X, options, method.kernel)
    prepared = TrainingData.of(data.X, None, resolved, flags=data.flags)
    row = Gram(prepared.kernel, prepared.X[:1])  # before a run is opened: the problem of one row tells
    method.solver.check(resolved.pose(method.solver, row, np.zeros(1), np.ones(1)))
    params = _params(options, method, resolved, prepared, data)
    seconds = time.perf_counter() - began
    with tracked(options, f"{method.solver.name} {data.name}", params, tracking.tags(method.solver), data) as tracker:
        with progress.shown(data.n_samples) as watch, compiling.count_compilations() as compiled:
            fitted = fit_prepared(prepared, resolved, callbacks=watch)
        for choice in fitted.choices:
            note(f"{method.solver.name}: {choice}")
        fitted = replace(fitted, seconds=seconds + fitted.seconds)
        return _finished(options, method, params, data, test, fitted, tracker, compiled.seconds)


def _params(
    options: TrainOptions, method: Method, resolved: Resolved, prepared: TrainingData, data: Dataset
) -> dict[str, Any]:
    """Return the parameters of the run: those of every method, with nu in place of C."""
    about = resolved.task.about(method.solver, resolved.settings, method.C)
    chosen = choices(method.solver, solver_tasks(resolved, prepared))
    found = method.params(prepared.kernel, replace(data, task=None), options)
    del found["C"], found["log10_C"]
    found |= {"formulation": f"one class, {about['loss'].replace('_', ' ')}"}
    found |= {"choice": in_words(chosen)} if chosen else {}
    return {"solver": found["solver"], "kernel": found["kernel"], "nu": about["nu"]} | found


def _finished(
    options: TrainOptions,
    method: Method,
    params: dict[str, Any],
    data: Dataset,
    test: Dataset | None,
    fitted: Fit,
    tracker: Tracker,
    compile_s: float,
) -> Outcome:
    """Save the model, count its outliers and log it; the model is saved first, so that no later failure loses it."""
    keeper = Keeper(options)
    record = RunRecord(method.solver, method.kernel, fitted, data.name, data.n_samples, data.n_features)
    about: dict[str, Any] = {"seed": options.seed}
    if options.is_kept:
        about |= lineage.of_training(params, data.fingerprint())
    model, logged = record.model(data.encoding, about), None
    keeper.save(model)
    try:
        share, train_scores, predict_s = _measured(model, data, options)
        shares, test_scores = {"train_outliers": share}, None
        if test is not None:
            shares["test_outliers"], test_scores, predict_s = _measured(model, test, options)
        record = replace(record, train_scores=train_scores, test_scores=test_scores, predict_s=predict_s)
        if options.is_kept:
            model = replace(model, about=model.about | shares | _of_test(test, test_scores))
            keeper.save(model)
        rho, offset = _rho_and_offset(fitted)
        more = {"dual_objective": fitted.dual_objective, "model/rho": rho, "model/offset": offset}
        logged = record.log(tracker, model, data.X[:5], more=shares | more, register=options.register)
    finally:
        if options.register and logged is None:
            keeper.keep_for_later(model, options.register)
    result = _result(options, method, data, fitted, model) | {
        "compile_s": compile_s,
        "train_outliers": share,
        "train_accuracy": record.train_accuracy,
        "test_outliers": shares.get("test_outliers"),
        "test_accuracy": record.test_accuracy,
        "n_test": 0 if test is None else test.n_samples,
        "model": keeper.out or (logged if options.register else None),
        "run_id": tracker.run_id,
    }
    return Outcome(result, False, where(tracker.uri), keeper.failure)


def _of_test(test: Dataset | None, scores: Scores | None) -> dict[str, Any]:
    """Return what the model is to tell of the test set."""
    if test is None:
        return {}
    if scores is None:
        return {"test_data": test.name, "test_sha256": test.fingerprint(), "n_test": test.n_samples}
    return lineage.of_test(test, scores, Metric("accuracy", CLASSES), scores.accuracy)


def _test_set(options: TrainOptions, train: Dataset) -> Dataset | None:
    if not options.test:
        return None
    holes = options.impute is not None
    wider = not (options.strict or holes or train.encoding)
    return load(
        options.test, n_features=train.n_features, wider=wider, encoding=train.encoding, labelled=False, holes=holes
    )


def _rho_and_offset(fitted: Fit) -> tuple[float, float]:
    """Return the certified rho, and the score below which a sample is an outlier."""
    rho = OneClass().rho(fitted.model.about["loss"], fitted.solutions[0].certificate)
    return rho, -float(fitted.model.intercept[0])


def _result(options: TrainOptions, method: Method, data: Dataset, fitted: Fit, model: SVMModel) -> dict[str, Any]:
    """Return the facts of the fit under the names of `svmkit train --json`."""
    (solution,), kernel = fitted.solutions, model.kernel
    certificate, (rho, offset) = solution.certificate, _rho_and_offset(fitted)
    settings = {"nu": model.about["nu"], "tol": options.tol, "seed": options.seed, "sampler": str(method.sampler)}
    return {
        "task": "outliers",
        "solver": method.solver.name,
        "choice": [vars(choice) for choice in fitted.choices] or None,
        "problem": "OneClassQP" if model.about["loss"] == "hinge" else "SimplexQP",
        "loss": model.about["loss"],
        "kernel": {"name": kernel.name, "params": plain(kernel.params)},
        "params": plain({**method.solver.params, **settings}),
        "data": data.name,
        "n_samples": data.n_samples,
        "n_features": data.n_features,
        "classes": model.classes.tolist(),
        "status": str(solution.status),
        "n_iter": solution.n_iter,
        "fit_s": fitted.seconds,
        "n_support": len(fitted.support),
        "objective": certificate.primal,
        "dual_objective": certificate.dual,
        "gap": certificate.gap,
        "rounding": certificate.rounding,
        "flaw": certificate.flaw,
        "kernel_values": fitted.kernel_values,
        "rho": rho,
        "offset": offset,
    }


def _measured(model: SVMModel, data: Dataset, options: TrainOptions) -> tuple[float, Scores | None, float]:
    """Return the fraction of outliers, the scores where the labels are -1 and 1, and the seconds of the prediction."""
    began = time.perf_counter()
    predicted = model.widened(data.n_features).predict(data.X, n_threads=options.threads)
    seconds, scores = time.perf_counter() - began, None
    if data.y is not None and data.y.dtype.kind in "if" and np.isin(data.y, CLASSES).all():
        scores = Scores.from_predictions(predicted, data.y, CLASSES)
    return float(np.mean(predicted < 0)), scores, seconds


def show(outcome: Outcome) -> None:
    """Print the result as lines for a reader."""
    from svmkit.cli.training.words import certified, taken

    result = outcome.result
    kernel, gap, nu, n = result["kernel"], result["gap"], result["params"]["nu"], result["n_samples"]
    params = ", ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in kernel["params"].items())
    chosen = f" ({', '.join(choice['solver'] for choice in result['choice'])})" if result["choice"] else ""

    def quality(name: str, rows: str) -> str | None:
        share, accuracy = result[f"{name}_outliers"], result[f"{name}_accuracy"]
        right = "" if accuracy is None else f", accuracy {accuracy:.2%} of the labels -1 and 1"
        return None if share is None else f"{share:.2%} of the {rows} rows{right}"

    rows(
        [
            ("data", f"{result['data']}: {n:,} rows, {result['n_features']:,} features, no labels used"),
            ("solver", f"{result['solver']}{chosen} on {result['problem']}, {kernel['name']} kernel"
                       + (f" ({params})" if params else "") + f", nu={nu:g}"),
            ("status", f"{result['status']} after {result['n_iter']:,} iterations"),
            ("gap", f"not certified: {result['flaw']}" if gap is None else certified(gap, result["rounding"])),
            ("objective", f"{result['objective']:.8g}"
                          + ("" if gap is None else f"  (dual {result['dual_objective']:.8g})")),
            ("support", f"{result['n_support']:,} vectors, {result['n_support'] / n:.2%} of the rows"),
            ("offset", f"{result['offset']:.6g}"),
            ("time", taken(result["fit_s"], result["compile_s"]) + f", {result['kernel_values']:,} kernel values"),
            ("outliers", quality("train", "training")),
            ("", quality("test", "test")),
            ("model", result["model"]),
            ("run", result["run_id"] and f"{result['run_id']}  ({outcome.where})"),
        ]
    )  # fmt: skip
