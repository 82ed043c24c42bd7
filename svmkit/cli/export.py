"""svmkit export: a model as a file for other software."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON, TRACKING_URI


def export(
    model: str = typer.Argument(help="Model file, or models:/name@alias."),
    onnx: str = typer.Option(..., "--onnx", metavar="FILE", help="Write an ONNX graph of plain operators here."),
    dtype: str = typer.Option("float64", help="Of X, the arithmetic and decisions: float64 or float32."),
    tracking_uri: str = TRACKING_URI,
    json: bool = JSON,
) -> None:
    """Write MODEL as ONNX, for onnxruntime and others."""
    from svmkit.cli.common import emit, load_model, note, rows, warnings_as_notes
    from svmkit.model import onnx_export

    with warnings_as_notes():
        loaded = load_model(model, tracking_uri)
        written = onnx_export.write(loaded, onnx, dtype)
    if written.advice:
        note(written.advice)
    if json:
        result = {"model": model, "onnx": onnx, "dtype": dtype, "opset": onnx_export.OPSET, "bytes": written.n_bytes}
        emit(result | {"inputs": written.inputs, "outputs": onnx_export.OUTPUTS})
        return
    shown = written.inputs if len(written.inputs) <= 6 else [*written.inputs[:5], "..."]
    rows(
        [
            ("onnx", f"{onnx}: {written.n_bytes:,} bytes, opset {onnx_export.OPSET}, {dtype}"),
            ("kernel", loaded.kernel.name),
            ("support", f"{int(loaded.n_support.sum()):,} vectors"),
            ("inputs", ", ".join(shown)),
            ("outputs", ", ".join(onnx_export.OUTPUTS)),
        ]
    )
