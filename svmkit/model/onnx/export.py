"""Export of a model as an ONNX graph of standard operators, for prediction where svmkit is not installed."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

import numpy as np

from svmkit._version import __version__
from svmkit.errors import InputError
from svmkit.kernels.forms import FORMS, Form
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import vote_signs
from svmkit.model.onnx.calibration import probability
from svmkit.model.onnx.decision import decision_of
from svmkit.model.onnx.graph import Graph
from svmkit.runtime import files
from svmkit.runtime.jsonable import plain

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # the versions of ONNX 1.12, which onnxruntime 1.12 and later read
DTYPES = ("float64", "float32")
LIMIT = 2**31 - 2**24  # bytes: the limit of a protobuf file, less room for everything but the constants


class Written(NamedTuple):
    """The file that `write` has written, its inputs, and a note on the loss of accuracy by float32, if there is one."""

    path: str
    n_bytes: int
    inputs: list[str]
    advice: str | None


def write(model: SVMModel, path: str | os.PathLike, dtype: str = "float64") -> Written:
    """Write a model to an ONNX file, atomically, after onnx.checker has accepted the graph.

    The model has a built-in kernel other than the precomputed one. `dtype`, "float64" or "float32", is the type of X,
    of the arithmetic and of `decision`. float32 takes half the memory and is meant for runtimes without float64;
    columns are scaled and centred in float64 first. Raises InputError: the package onnx is not installed, ONNX cannot
    hold the kernel, the file would exceed 2 GB, a number is out of the range of float32 or float32 would lose the
    kernel values, the dtype is unknown, or the path cannot be written.
    """
    onnx = _import()
    proto, advice = _assemble(onnx, model, dtype)
    onnx.checker.check_model(proto, full_check=True)
    content = proto.SerializeToString()
    files.write(path, content)
    return Written(str(path), len(content), [value.name for value in proto.graph.input], advice)


def outputs_of(model: SVMModel) -> tuple[str, ...]:
    """Return the names of the graph's outputs."""
    if model.regresses:
        return ("value",)
    return ("label", "decision") if model.calibration is None else ("label", "decision", "probability")


def build(model: SVMModel, dtype: str = "float64") -> Any:
    """Build the ONNX graph that `write` writes; raise InputError as it does, except for the path.

    Its input is X (n, n_features) of the given dtype, for any n. A model of a table with text columns has an input (n,
    1) for each column instead, with the column's name: numbers of the given dtype, and text as strings (an unknown
    category is encoded as zeros). The outputs are `label` (n,), int64 or string, and `decision` of the given dtype:
    (n,) for two classes, where > 0 means the second class, else (n, n_classes) as `SVMClassifier.decision_function`
    defines it. A model with a calibration has a third output, `probability` (n, n_classes), and its labels are the
    classes of the highest ones. A regression has one output, `value` (n,) of the given dtype. With several targets or
    labels, all outputs have a column for each.
    """
    return _assemble(_import(), model, dtype)[0]


def _import() -> Any:
    try:
        import onnx
    except ImportError:
        raise InputError("ONNX export needs the package onnx: pip install 'onnx>=1.17'") from None
    return onnx


def _assemble(onnx: Any, model: SVMModel, dtype: str) -> tuple[Any, str | None]:
    _require_exportable(model, dtype)
    graph = Graph(onnx, np.dtype(dtype))
    inputs, X = _inputs(graph, model)
    decision, advice = decision_of(graph, model, X)
    outputs = _outputs(graph, model, decision)
    made = onnx.helper.make_graph(graph.nodes, "svmkit", inputs, outputs, initializer=graph.constants)
    opsets = [onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    proto = onnx.helper.make_model(
        made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="svmkit", producer_version=__version__
    )
    onnx.helper.set_model_props(proto, _about(model))
    return proto, advice


def _require_exportable(model: SVMModel, dtype: str) -> None:
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype!r} is not known: give {' or '.join(DTYPES)}")
    kernel = model.kernel
    if kernel.name == "precomputed":
        raise InputError(
            "a model of a precomputed kernel matrix reads kernel values, not columns, so that ONNX has nothing to "
            "compute: train with a kernel by name, or use svmkit predict"
        )
    if kernel.form is None:
        built_in = ", ".join(form.name for form in FORMS)
        raise InputError(
            f"the kernel {kernel.name!r} is code of a plugin, which ONNX cannot hold: serve the model by mlflow "
            f"models serve, or train with one of {built_in}"
        )
    n_pairs = len(model.intercept)
    rows, width = (n_pairs, 0) if kernel.form is Form.LINEAR else (model.vectors.shape[0], n_pairs)
    size = rows * (model.width + width) * np.dtype(dtype).itemsize
    if size > LIMIT:
        raise InputError(
            f"the ONNX file would take {size / 2**30:.1f} GB, and 2 GB is the most that one may hold (its vectors are "
            f"dense: {rows:,} x {model.width:,}): train with fewer (--max-support), or with a linear solver"
        )


def _inputs(graph: Graph, model: SVMModel) -> tuple[list[Any], str]:
    """Add the graph's inputs; return them and the name of X (n, n_features)."""
    encoding = model.encoding
    if encoding is None or all(encoding.numeric):
        return [graph.value("X", graph.element, "n", model.n_features)], "X"
    inputs, parts, taken = [], [], set(outputs_of(model))
    for column, categories in zip(encoding.columns, encoding.categories, strict=True):
        name = column
        while not name or name in taken or name.startswith("svmkit."):
            name = f"_{name}"
        taken.add(name)
        element = graph.element if categories is None else graph.onnx.TensorProto.STRING
        inputs.append(graph.value(name, element, "n", 1))
        if categories is not None:  # 0/1 columns (n, number of categories); unknown text is a row of zeros
            hot = graph.node("OneHotEncoder", name, domain="ai.onnx.ml", cats_strings=list(categories), zeros=1)
            flat = graph.node("Reshape", hot, graph.constant([-1, len(categories)], np.int64))
            name = graph.node("Cast", flat, to=graph.element)
        parts.append(name)
    return inputs, graph.node("Concat", *parts, axis=1)


def _outputs(graph: Graph, model: SVMModel, decision: str) -> list[Any]:
    """Add the nodes from the decisions to the outputs; return the descriptions of the outputs."""
    k = len(model.classes)
    if model.outputs:
        return _several_outputs(graph, model, decision)
    if model.regresses:
        graph.node("Reshape", decision, graph.constant([-1], np.int64), out="value")
        return [graph.value("value", graph.element, "n")]
    positive = graph.node("Greater", decision, graph.constant([0.0]))
    if k == 2:
        graph.node("Reshape", decision, graph.constant([-1], np.int64), out="decision")
        chosen = graph.node("Reshape", positive, graph.constant([-1], np.int64))
        chosen = graph.node("Cast", chosen, to=graph.onnx.TensorProto.INT64)
    elif model.has_class_scores:
        _class_scores(graph, model, decision)
        chosen = graph.node("ArgMax", "decision", axis=1, keepdims=0)
    else:
        # as `svmkit.model.one_vs_one.scores`; a negative decision of a pair (a, class) is a vote for the class, too
        sides = np.zeros((k * (k - 1) // 2, k))  # for untrained pairs, no vote at all
        sides[model.trained_pairs] = vote_signs(k)[model.trained_pairs]
        each, second = graph.constant(sides), graph.constant((sides < 0.0).sum(axis=0))
        votes = graph.node("Gemm", graph.node("Cast", positive, to=graph.element), each, second)
        margins = graph.node("MatMul", decision, each)
        size = graph.node("Add", graph.node("Abs", margins), graph.constant([1.0]))
        squashed = graph.node("Div", margins, graph.node("Mul", size, graph.constant([3.0])))
        graph.node("Add", votes, squashed, out="decision")
        chosen = graph.node("ArgMax", "decision", axis=1, keepdims=0)
    more = []
    if model.calibration is not None:
        probability(graph, model, decision)
        chosen = graph.node("ArgMax", "probability", axis=1, keepdims=0)
        more = [graph.value("probability", graph.element, "n", k)]
    labels, element = _labels(graph, model.classes)
    graph.node("Gather", labels, chosen, axis=0, out="label")
    shape = ["n"] if k == 2 else ["n", k]
    return [graph.value("label", element, "n"), graph.value("decision", graph.element, *shape), *more]


def _several_outputs(graph: Graph, model: SVMModel, decision: str) -> list[Any]:
    """Add the nodes from the decisions to `value`, or to `label` and `decision`, with a column for each output."""
    shape, types = ("n", len(model.outputs)), graph.onnx.TensorProto
    if model.non_crossing:
        every = graph.constant([len(model.outputs)], np.int64)
        names = ["value", "svmkit.order"]
        graph.nodes.append(graph.onnx.helper.make_node("TopK", [decision, every], names, axis=1, largest=0, sorted=1))
    elif model.regresses:
        graph.node("Identity", decision, out="value")
    if model.regresses:
        return [graph.value("value", graph.element, *shape)]
    graph.node("Cast", graph.node("Greater", decision, graph.constant([0.0])), to=types.INT64, out="label")
    graph.node("Identity", decision, out="decision")
    return [graph.value("label", types.INT64, *shape), graph.value("decision", graph.element, *shape)]


def _class_scores(graph: Graph, model: SVMModel, decision: str) -> None:
    """Add the output `decision` of a model with one for each class, as `ClassFunctions.scores`."""
    trained = np.zeros(len(model.classes))
    trained[model.trained_pairs] = 1.0
    if trained.all():
        graph.node("Identity", decision, out="decision")
        return
    known = graph.node("Gather", decision, graph.constant(model.trained_pairs, np.int64), axis=1)
    below = graph.node("Sub", graph.node("ReduceMin", known, axes=[1], keepdims=1), graph.constant([1.0]))
    kept = graph.node("Mul", decision, graph.constant(trained))
    graph.node("Add", kept, graph.node("Mul", below, graph.constant(1.0 - trained)), out="decision")


def _labels(graph: Graph, classes: np.ndarray) -> tuple[str, int]:
    """Add the classes as a constant; return its name and its element type (string, int64 or float64)."""
    types = graph.onnx.TensorProto
    if classes.dtype.kind in "OUS":
        texts = [text.encode() for text in classes.astype(str).tolist()]
        graph.constants.append(graph.onnx.helper.make_tensor("svmkit.classes", types.STRING, [len(texts)], texts))
        return "svmkit.classes", types.STRING
    with np.errstate(invalid="ignore"):
        whole = classes.astype(np.int64)
    if np.array_equal(whole, classes):
        return graph.constant(whole, np.int64), types.INT64
    return graph.constant(classes, np.float64), types.DOUBLE


def _about(model: SVMModel) -> dict[str, str]:
    """Return the metadata of the file."""
    encoding, classes = model.encoding, model.classes
    classes = classes.astype(str) if classes.dtype.kind == "S" else classes
    found = {
        "svmkit_version": __version__,
        "task": model.task,
        "kernel": model.kernel.name,
        "kernel_params": model.kernel.params,
        "classes": classes if len(classes) else None,
        "outputs": list(model.outputs) or None,
        "n_support": len(model.coef[0]),
        "certified_gap": model.about.get("gap"),
        "imputing": model.imputing.kind if model.imputing else None,
        "scaling": model.scaling.kind if model.scaling else None,
        "columns": encoding.feature_names if encoding and encoding.header else None,
        "about": model.about,
    }
    texts = {key: value if isinstance(value, str) else json.dumps(plain(value)) for key, value in found.items()}
    return {key: text for key, text in texts.items() if text != "null"}
