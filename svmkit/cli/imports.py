"""svmkit import: a text model of LIBSVM or LIBLINEAR as a model file."""

from __future__ import annotations

from svmkit.cli.option_table import Options, argument, option, takes


@takes(
    "import",
    argument("file", str, "Text model of LIBSVM or LIBLINEAR, plain or compressed."),
    option("out", str, None, "Write the model here; default FILE.svmkit.", metavar="MODEL"),
    option("n_features", int, None, "Columns of the data; default the most that FILE mentions.", min=1),
    option("no_proba", bool, False, "No probabilities: labels by the decisions alone."),
    option("force", bool, False, "Keep no FILE.bak of a model that is replaced."),
)
def import_model(options: Options) -> None:
    """Read FILE, a model of LIBSVM or LIBLINEAR, and write it as a model file for predict, show, export and models."""
    from dataclasses import replace
    from pathlib import Path

    from svmkit.cli.common import emit, note, rows
    from svmkit.cli.show import describe
    from svmkit.model.exchange.reading import read_text_model
    from svmkit.runtime import files

    file = options.file
    target = options.out or f"{Path(file).stem}.svmkit"
    files.require_writable(target)
    model = read_text_model(file, options.n_features)
    if options.no_proba:
        model = replace(model, calibration=None)
    if not options.force and (kept := files.keep_old(target)):
        note(f"{target} was there: the old file is kept as {kept} (--force keeps none)")
    model.save(target)
    if options.json:
        emit({"file": file, "model": target} | describe(model))
        return
    about = model.about
    rows(
        [
            ("read", f"{file}: {about['imported_from']} {about.get('svm_type') or about['solver_type']}"),
            ("model", target),
            ("kernel", model.kernel.name),
            ("classes", f"{len(model.classes):,}" if len(model.classes) else None),
            ("probabilities", "yes" if model.calibration is not None else None),
            ("support", f"{model.vectors.shape[0]:,} vectors"),
            ("features", f"{model.n_features:,}"),
        ]
    )
