"""svmkit export: a model as a file for other software."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from svmkit.cli.common import JSON, PLUGIN, TRACKING_URI

if TYPE_CHECKING:
    from svmkit.model.model import SVMModel


def export(
    model: str = typer.Argument(help="Model file, or models:/name@alias."),
    onnx: str = typer.Option(None, "--onnx", metavar="FILE", help="Write an ONNX graph of plain operators here."),
    libsvm: str = typer.Option(None, "--libsvm", metavar="FILE", help="Write a text model of LIBSVM here."),
    liblinear: str = typer.Option(None, "--liblinear", metavar="FILE", help="Write a text model of LIBLINEAR here."),
    dtype: str = typer.Option(None, help="Of ONNX: X, the arithmetic and decisions in float64 (default) or float32."),
    tracking_uri: str = TRACKING_URI,
    plugin: list[str] = PLUGIN,
    json: bool = JSON,
) -> None:
    """Write MODEL as ONNX, for onnxruntime and others, or as a text model of LIBSVM or LIBLINEAR."""
    from svmkit.cli.common import load_model, warnings_as_notes
    from svmkit.errors import InputError

    if sum(map(bool, (onnx, libsvm, liblinear))) != 1:
        raise InputError("give one of --onnx FILE, --libsvm FILE and --liblinear FILE")
    if dtype is not None and not onnx:
        raise InputError("--dtype is of --onnx: a text model has all digits of float64")
    with warnings_as_notes():
        loaded = load_model(model, tracking_uri)
        if onnx:
            _as_onnx(loaded, model, onnx, dtype or "float64", json)
        else:
            _as_text(loaded, model, libsvm or liblinear, "libsvm" if libsvm else "liblinear", json)


def _as_onnx(loaded: SVMModel, model: str, onnx: str, dtype: str, json: bool) -> None:
    from svmkit.cli.common import emit, note, rows
    from svmkit.model.onnx import export as onnx_export

    written = onnx_export.write(loaded, onnx, dtype)
    outputs = onnx_export.outputs_of(loaded)
    if written.advice:
        note(written.advice)
    if json:
        result = {"model": model, "onnx": onnx, "dtype": dtype, "opset": onnx_export.OPSET, "bytes": written.n_bytes}
        emit(result | {"inputs": written.inputs, "outputs": outputs})
        return
    shown = written.inputs if len(written.inputs) <= 6 else [*written.inputs[:5], "..."]
    rows(
        [
            ("onnx", f"{onnx}: {written.n_bytes:,} bytes, opset {onnx_export.OPSET}, {dtype}"),
            *_size(loaded),
            ("inputs", ", ".join(shown)),
            ("outputs", ", ".join(outputs)),
        ]
    )


def _as_text(loaded: SVMModel, model: str, file: str, software: str, json: bool) -> None:
    from svmkit.cli.common import emit, note, rows
    from svmkit.model.exchange import liblinear_writer, libsvm_writer

    written = (libsvm_writer if software == "libsvm" else liblinear_writer).write(loaded, file)
    for line in written.notes:
        note(line)
    if json:
        emit({"model": model, software: file, "type": written.kind, "bytes": written.n_bytes})
        return
    rows([(software, f"{file}: {written.n_bytes:,} bytes, {written.kind}"), *_size(loaded)])


def _size(loaded: SVMModel) -> list[tuple[str, Any]]:
    return [("kernel", loaded.kernel.name), ("support", f"{int(loaded.n_support.sum()):,} vectors")]
