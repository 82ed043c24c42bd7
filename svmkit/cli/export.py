"""svmkit export: a model as a file for other software."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svmkit.cli.option_table import Options, argument, option, takes

if TYPE_CHECKING:
    from svmkit.model.model import SVMModel


@takes(
    "export",
    argument("model", str, "Model file, or models:/name@alias."),
    option("onnx", str, None, "Write an ONNX graph of plain operators here.", metavar="FILE"),
    option("libsvm", str, None, "Write a text model of LIBSVM here.", metavar="FILE"),
    option("liblinear", str, None, "Write a text model of LIBLINEAR here.", metavar="FILE"),
    option("dtype", str, None, "Of ONNX: X, the arithmetic and decisions in float64 (default) or float32."),
)
def export(options: Options) -> None:
    """Write MODEL as ONNX, for onnxruntime and others, or as a text model of LIBSVM or LIBLINEAR."""
    from svmkit.cli.common import load_model
    from svmkit.errors import InputError

    if sum(map(bool, (options.onnx, options.libsvm, options.liblinear))) != 1:
        raise InputError("give one of --onnx FILE, --libsvm FILE and --liblinear FILE")
    if options.dtype is not None and not options.onnx:
        raise InputError("--dtype is of --onnx: a text model has all digits of float64")
    model = load_model(options.model, options.tracking_uri)
    (_write_onnx if options.onnx else _write_text)(model, options)


def _write_onnx(model: SVMModel, options: Options) -> None:
    from svmkit.cli.common import emit, note, rows
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


def _write_text(model: SVMModel, options: Options) -> None:
    from svmkit.cli.common import emit, note, rows
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
