"""The part of an ONNX graph from features to decisions: imputing, scaling, kernel values and their sums."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.extent import FAR
from svmkit.kernels.forms import Argument, Form, UnknownForm
from svmkit.kernels.functions import Kernel
from svmkit.kernels.rounding import CANCELS, value_error
from svmkit.model.model import SVMModel
from svmkit.model.onnx.graph import Graph


def decision_of(graph: Graph, model: SVMModel, X: str) -> tuple[str, str | None]:
    """Return the name of the decisions (n, n_pairs) of X, and the advice about float32 or None."""
    form = model.kernel.form
    assert form is not None  # `export` has refused other kernels
    if form is Form.LINEAR:
        X = _preprocess(graph, X, model, np.zeros(model.width))
        weights, offset = graph.constant(model.weights.T), graph.constant(model.intercept)
        return graph.node("Gemm", X, weights, offset), None
    Z, coef = _vectors(model)
    # these two kernels depend on x - z only; centred columns lose fewer digits in |x|^2 + |z|^2 - 2 x'z
    middle = Z.mean(axis=0) if form.is_radial else np.zeros(model.width)
    X, Z = _preprocess(graph, X, model, middle), Z - middle
    _, gamma, _, _ = model.kernel.scalars
    with np.errstate(over="ignore"):
        reach = float(np.einsum("ij,ij->i", Z, Z).max())
    squares = form.argument is Argument.SQUARE
    cancels = squares and value_error(model.kernel, Z.shape[1], reach) > CANCELS
    if cancels and graph.dtype == np.float32:
        raise InputError(
            f"gamma |x|^2 reaches {gamma * reach:.3g}, where float32 loses the kernel values: export the model with "
            "--dtype float64, or scale the columns and train anew"
        )
    values = kernel_values(graph, model.kernel, X, Z, differences=cancels or form.argument is Argument.L1)
    decision = graph.node("Gemm", values, graph.constant(coef), graph.constant(model.intercept))
    if squares and graph.dtype == np.float32 and gamma * reach > FAR:
        far = f"gamma |x|^2 reaches {gamma * reach:.3g}: float32 loses digits of distances there; float64 does not"
        return decision, far
    return decision, None


def _vectors(model: SVMModel) -> tuple[np.ndarray, np.ndarray]:
    """Return dense vectors (n_sv, n_features) and their coefficients in each decision (n_sv, n_pairs), in float64."""
    Z = model.vectors.toarray() if sp.issparse(model.vectors) else np.asarray(model.vectors)
    coef = model.machine.coefficients
    if not len(Z):  # runtimes disagree about matrices without rows: write a vector with coefficient 0
        return np.zeros((1, model.width)), np.zeros((1, coef.shape[1]))
    # the classes alternate: sorted by class, the float32 sum of many vectors would first grow large and then cancel
    turn = np.argsort(np.concatenate([(np.arange(n) + 0.5) / max(n, 1) for n in model.n_support]), kind="stable")
    return Z[turn].astype(np.float64), coef[turn]


def _preprocess(graph: Graph, X: str, model: SVMModel, middle: np.ndarray) -> str:
    """Impute and scale X as the model does and subtract `middle`, in float64 for both dtypes of the graph."""
    center, scale = (model.scaling.center, model.scaling.scale) if model.scaling else (0.0, np.ones(model.width))
    center = center + middle * scale
    moved, stretched = bool(center.any()), bool((scale != 1.0).any())
    if not (moved or stretched or model.imputing):
        return X
    single = graph.dtype == np.float32
    X = graph.node("Cast", X, to=graph.onnx.TensorProto.DOUBLE) if single else X
    if model.imputing:
        holes = graph.node("IsNaN", X)
        X = graph.node("Where", holes, graph.constant(model.imputing.statistics, np.float64), X)
        if model.imputing.n_added:  # the 0/1 columns after the others, which mark holds
            marks = graph.node("Gather", holes, graph.constant(model.imputing.holed, np.int64), axis=1)
            X = graph.node("Concat", X, graph.node("Cast", marks, to=graph.onnx.TensorProto.DOUBLE), axis=1)
    X = graph.node("Sub", X, graph.constant(center, np.float64)) if moved else X
    X = graph.node("Div", X, graph.constant(scale, np.float64)) if stretched else X
    return graph.node("Cast", X, to=graph.element) if single else X


def _distances(graph: Graph, X: str, Z: np.ndarray, *, squared: bool) -> str:
    """Add |x - z|^2 or |x - z|_1 of rows x and z, (n, q), in a scan: all rows at once would need n * q * d numbers."""
    node = graph.onnx.helper.make_node
    vectors, axis = graph.constant(Z), graph.constant([1], np.int64)
    size = ("Mul", ["svmkit.difference"] * 2) if squared else ("Abs", ["svmkit.difference"])
    body = graph.onnx.helper.make_graph(
        [
            node("Sub", [vectors, "svmkit.row"], ["svmkit.difference"]),
            node(*size, ["svmkit.sizes"]),
            node("ReduceSum", ["svmkit.sizes", axis], ["svmkit.sums"], keepdims=0),
        ],
        "distances",
        [graph.value("svmkit.row", graph.element, Z.shape[1])],
        [graph.value("svmkit.sums", graph.element, Z.shape[0])],
    )
    return graph.node("Scan", X, body=body, num_scan_inputs=1)


def kernel_values(graph: Graph, kernel: Kernel, X: str, Z: np.ndarray, *, differences: bool) -> str:
    """Add the nodes of the kernel values (n, n_sv); return their name.

    Parameters
    ----------
    graph, kernel : Graph, Kernel, which has a form
    X : str, the name of X (n, d), preprocessed
    Z : ndarray of shape (n_sv, d), the vectors
    differences : bool, whether distances come from differences, or from products
    """
    form, (_, gamma, coef0, degree) = kernel.form, kernel.scalars
    assert form is not None
    if differences:
        distances = _distances(graph, X, Z, squared=form.argument is Argument.SQUARE)
        inner = graph.node("Mul", distances, graph.constant([-gamma]))
    elif form.is_radial:
        axis = graph.constant([1], np.int64)
        norms = graph.node("ReduceSum", graph.node("Mul", X, X), axis, keepdims=1)
        ours = graph.constant(-gamma * np.einsum("ij,ij->i", Z, Z))
        exponent = graph.node("Gemm", X, graph.constant(2.0 * gamma * Z.T), ours)
        exponent = graph.node("Sub", exponent, graph.node("Mul", norms, graph.constant([gamma])))
        inner = graph.node("Min", exponent, graph.constant([0.0]))  # rounding may make it positive
    else:
        inner = graph.node("Gemm", X, graph.constant(gamma * Z.T), graph.constant([coef0]))
    match form.onnx:
        case "Exp" | "Tanh":
            return graph.node(form.onnx, inner)
        case "Pow":
            return graph.node("Pow", inner, graph.constant([degree]))
        case other:
            raise UnknownForm(other)
