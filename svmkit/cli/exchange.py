"""svmkit export and svmkit import: models in the files of other software."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit.cli.common import emit, load_model, note, rows
from svmkit.cli.option_table import Options, argument, option, takes
from svmkit.errors import InputError

if TYPE_CHECKING:
    from svmkit.model.model import SVMModel


@takes(
    "export",
    argument("model", str, "Model file, or models:/name@alias."),
    option("onnx", str, None, "Write an ONNX graph of standard operators to this file.", metavar="FILE"),
    option("libsvm", str, None, "Write a text model of LIBSVM to this file.", metavar="FILE"),
    option("liblinear", str, None, "Write a text model of LIBLINEAR to this file.", metavar="FILE"),
    option("c", str, None, "Write a C99 header, which allocates no memory, to this file.", metavar="FILE"),
    option("js", str, None, "Write JavaScript without dependencies to this file.", metavar="FILE"),
    option(
        "dtype",
        str,
        None,
        "Data type of rows, arithmetic and decisions in ONNX (default float64) and C (default float32).",
    ),
)
def export(options: Options) -> None:
    """Write MODEL as ONNX, as C99 or JavaScript, or as a text model of LIBSVM or LIBLINEAR."""
    if sum(map(bool, (options.onnx, options.c, options.js, options.libsvm, options.liblinear))) != 1:
        raise InputError("give one of --onnx FILE, --c FILE, --js FILE, --libsvm FILE and --liblinear FILE")
    if options.dtype is not None and not (options.onnx or options.c):
        raise InputError("--dtype is of --onnx and --c: text models and JavaScript have all digits of float64")
    model = load_model(options.model, options.tracking_uri)
    writer = _write_onnx if options.onnx else _write_source if options.c or options.js else _write_text
    writer(model, options)


def _write_onnx(model: SVMModel, options: Options) -> None:
    from svmkit.model.onnx import export as onnx_export

    onnx, dtype = options.onnx, options.dtype or "float64"
    written = onnx_export.write(model, onnx, dtype)
    outputs = onnx_export.outputs_of(model)
    if written.advice:
        note(written.advice)
    if options.json:
        facts = {"onnx": onnx, "dtype": dtype, "opset": onnx_export.OPSET, "bytes": written.n_bytes}
        emit({"model": options.model} | facts | {"inputs": written.inputs, "outputs": outputs})
        return
    shown = written.inputs if len(written.inputs) <= 6 else [*written.inputs[:5], "..."]
    rows(
        [
            ("onnx", f"{onnx}: {written.n_bytes:,} bytes, opset {onnx_export.OPSET}, {dtype}"),
            *_size(model),
            ("inputs", ", ".join(shown)),
            ("outputs", ", ".join(outputs)),
        ]
    )


def _write_source(model: SVMModel, options: Options) -> None:
    from svmkit.model.source import export as source_export

    language, file = ("c", options.c) if options.c else ("js", options.js)
    written = source_export.write(model, file, language, options.dtype)
    if options.json:
        limits = {"low": written.low, "high": written.high}
        facts = {"bytes": written.n_bytes, "constants": written.constants, "error": written.error} | limits
        emit({"model": options.model, language: file} | facts | {"functions": written.functions})
        return
    rows(
        [
            (language, f"{file}: {written.n_bytes:,} bytes, {written.constants:,} bytes of constants"),
            *_size(model),
            ("error", f"at most {written.error:.3g} of decisions, within the limits of columns that the file states"),
            ("functions", ", ".join(written.functions)),
        ]
    )


def _write_text(model: SVMModel, options: Options) -> None:
    from svmkit.model.exchange import liblinear, libsvm

    software, writer = ("libsvm", libsvm) if options.libsvm else ("liblinear", liblinear)
    file = options.libsvm or options.liblinear
    written = writer.write(model, file)
    for line in written.notes:
        note(line)
    if options.json:
        emit({"model": options.model, software: file, "type": written.kind, "bytes": written.n_bytes})
        return
    rows([(software, f"{file}: {written.n_bytes:,} bytes, {written.kind}"), *_size(model)])


def _size(model: SVMModel) -> list[tuple[str, Any]]:
    return [("kernel", model.kernel.name), ("support", f"{int(model.n_support.sum()):,} vectors")]


@takes(
    "import",
    argument("file", str, "Text model of LIBSVM or LIBLINEAR, plain or compressed."),
    option("out", str, None, "Write the model to this file; default FILE.svmkit.", metavar="MODEL"),
    option(
        "n_features",
        int,
        None,
        "Number of columns of the data; the default is the largest column number in FILE.",
        min=1,
    ),
    option("no_proba", bool, False, "Leave out probabilities, and predict labels by the decisions."),
    option("force", bool, False, "Replace --out without keeping the old file as FILE.bak."),
)
def import_model(options: Options) -> None:
    """Read FILE, a model of LIBSVM or LIBLINEAR, and write it as a model file for predict, show, export and models."""
    from dataclasses import replace

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
