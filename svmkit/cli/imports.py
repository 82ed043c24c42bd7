"""svmkit import: a text model of LIBSVM or LIBLINEAR as a model file."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON


def import_model(
    file: str = typer.Argument(help="Text model of LIBSVM or LIBLINEAR, plain or compressed."),
    out: str = typer.Option(None, metavar="MODEL", help="Write the model here; default FILE.svmkit."),
    n_features: int = typer.Option(None, min=1, help="Columns of the data; default the most that FILE mentions."),
    no_proba: bool = typer.Option(False, "--no-proba", help="No probabilities: labels by the decisions alone."),
    force: bool = typer.Option(False, "--force", help="Keep no FILE.bak of a model that is replaced."),
    json: bool = JSON,
) -> None:
    """Read FILE, a model of LIBSVM or LIBLINEAR, and write it as a model file for predict, show, export and models."""
    from dataclasses import replace
    from pathlib import Path

    from svmkit.cli.common import emit, note, rows
    from svmkit.cli.show import described
    from svmkit.model.exchange.reading import read_text_model
    from svmkit.runtime import files

    target = out or f"{Path(file).stem}.svmkit"
    files.require_writable(target)
    model = read_text_model(file, n_features)
    if no_proba:
        model = replace(model, calibration=None)
    if not force and (kept := files.keep_old(target)):
        note(f"{target} was there: the old file is kept as {kept} (--force keeps none)")
    model.save(target)
    if json:
        emit({"file": file, "model": target} | described(model))
        return
    about = model.about
    rows(
        [
            ("read", f"{file}: {about['imported_from']} {about.get('svm_type') or about['solver_type']}"),
            ("model", target),
            ("kernel", model.kernel.name),
            ("classes", f"{len(model.classes):,}" if model.task == "classify" else None),
            ("probabilities", "yes" if model.calibration is not None else None),
            ("support", f"{model.vectors.shape[0]:,} vectors"),
            ("features", f"{model.n_features:,}"),
        ]
    )
