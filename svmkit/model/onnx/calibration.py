"""The nodes of an ONNX graph from decisions to probabilities, in float64 whatever the dtype of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.model.calibration import Isotonic, Sigmoid
from svmkit.model.machines import DIGITS, LogProbabilities
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import pair_classes
from svmkit.model.onnx.graph import Graph


def probability(graph: Graph, model: SVMModel, decision: str) -> None:
    """Add the output `probability` (n, n_classes) of a model with a calibration to its decisions (n, n_columns)."""
    k, n_columns = len(model.classes), len(model.intercept)
    wide = graph.node("Cast", decision, to=graph.onnx.TensorProto.DOUBLE)
    wide = graph.node("Reshape", wide, graph.constant([-1, n_columns], np.int64))
    is_known = isinstance(model.machine, LogProbabilities)
    positive = wide if is_known else _positive(graph, model.calibration, wide, logs=model.has_class_scores)
    trained = np.zeros(n_columns, dtype=np.bool_)
    trained[model.trained_pairs] = True
    if not trained.all():
        nothing = _number(graph, -np.inf if model.has_class_scores else 0.5)
        positive = graph.node("Where", graph.constant(trained, np.bool_), positive, nothing)
    if k == 2:
        found = graph.node("Concat", graph.node("Sub", _number(graph, 1.0), positive), positive, axis=1)
    elif model.has_class_scores:
        found = graph.node("Softmax", positive, axis=1)
    else:
        found = _shares(graph, _couple(graph, positive, k))
    more = graph.node("Mul", found, _number(graph, DIGITS))  # as `svmkit.model.machines.round_probabilities`
    found = graph.node("Sub", more, graph.node("Sub", more, found))
    graph.node("Cast", found, to=graph.element, out="probability")


def _number(graph: Graph, value: Any) -> str:
    return graph.constant(value, np.float64)


def _positive(graph: Graph, calibration: Any, decision: str, logs: bool) -> str:
    """Add the probabilities of the positive sides of decisions (n, n_columns), or their logarithms."""
    if isinstance(calibration, Sigmoid):
        scaled = graph.node("Mul", decision, _number(graph, -calibration.A))
        odds = graph.node("Sub", scaled, _number(graph, calibration.B))
        if not logs:
            return graph.node("Sigmoid", odds)
        # log(1 / (1 + exp(-t))) = min(t, 0) - log(1 + exp(-|t|))
        size = graph.node("Exp", graph.node("Neg", graph.node("Abs", odds)))
        size = graph.node("Log", graph.node("Add", size, _number(graph, 1.0)))
        return graph.node("Sub", graph.node("Min", odds, _number(graph, 0.0)), size)
    assert isinstance(calibration, Isotonic)
    columns = [calibration.knots(column) for column in range(calibration.n_columns)]
    most = max(2, *(len(x) for x, _ in columns), 2)
    # h(x) = y_0 + sum_j slope_j (clip(x, x_j, x_(j+1)) - x_j); columns of fewer knots repeat the last one
    x = np.array([np.pad(at, (0, most - len(at)), mode="edge") for at, _ in columns])
    y = np.array([np.pad(share, (0, most - len(share)), mode="edge") for _, share in columns])
    low, width, rise = x[:, :-1], np.diff(x), np.diff(y)
    share = graph.node("Unsqueeze", decision, graph.constant([2], np.int64))
    share = graph.node("Min", graph.node("Max", share, _number(graph, low)), _number(graph, x[:, 1:]))
    share = graph.node("Sub", share, _number(graph, low))
    share = graph.node("Div", share, _number(graph, np.where(width > 0.0, width, 1.0)))
    share = graph.node("Mul", share, _number(graph, rise))
    risen = graph.node("ReduceSum", share, graph.constant([2], np.int64), keepdims=0)
    positive = graph.node("Add", risen, _number(graph, y[:, 0]))
    return graph.node("Log", positive) if logs else positive


def _shares(graph: Graph, values: str) -> str:
    """Divide values (n, k), those below 0 taken as 0, by the sums of their rows."""
    values = graph.node("Max", values, _number(graph, 0.0))
    return graph.node("Div", values, graph.node("ReduceSum", values, graph.constant([1], np.int64), keepdims=1))


def _couple(graph: Graph, positive: str, k: int) -> str:
    """Add the solution (n, k) of the system of `svmkit.model.machines.couple`, by elimination without pivots: the
    matrix is positive definite and well conditioned.
    """
    first, second = pair_classes(k)
    n_pairs, helper = len(first), graph.onnx.helper
    place = np.full((k, k), 2 * n_pairs)  # of r_ij among those of all pairs, their complements, and a 0
    place[first, second], place[second, first] = np.arange(n_pairs), n_pairs + np.arange(n_pairs)
    less = graph.node("Sub", _number(graph, 1.0), positive)
    zero = graph.node("Mul", graph.node("Gather", positive, graph.constant([0], np.int64), axis=1), _number(graph, 0.0))
    r = graph.node(
        "Gather", graph.node("Concat", positive, less, zero, axis=1), graph.constant(place, np.int64), axis=1
    )
    product = graph.node("Mul", r, graph.node("Transpose", r, perm=[0, 2, 1]))
    squares = graph.node("ReduceSum", graph.node("Mul", r, r), graph.constant([1], np.int64), keepdims=1)
    Q = graph.node("Sub", graph.node("Mul", squares, _number(graph, np.eye(k))), product)
    Q = graph.node("Add", Q, _number(graph, 1.0))
    column = graph.node("Transpose", squares, perm=[0, 2, 1])
    ones = graph.node("Add", graph.node("Mul", column, _number(graph, 0.0)), _number(graph, 1.0))
    system = graph.node("Concat", Q, ones, axis=2)
    units, axis = _number(graph, np.eye(k)[:, :, None]), graph.constant([1], np.int64)
    double, integer = graph.onnx.TensorProto.DOUBLE, graph.onnx.TensorProto.INT64
    body = helper.make_graph(
        [
            helper.make_node("Gather", ["svmkit.system", "svmkit.turn"], ["svmkit.row"], axis=1),
            helper.make_node("Gather", ["svmkit.row", "svmkit.turn"], ["svmkit.pivot"], axis=1),
            helper.make_node("Unsqueeze", ["svmkit.pivot", axis], ["svmkit.pivots"]),
            helper.make_node("Div", ["svmkit.row", "svmkit.pivots"], ["svmkit.scaled"]),
            helper.make_node("Unsqueeze", ["svmkit.scaled", axis], ["svmkit.across"]),
            helper.make_node("Gather", ["svmkit.system", "svmkit.turn"], ["svmkit.column"], axis=2),
            helper.make_node("Gather", [units, "svmkit.turn"], ["svmkit.unit"], axis=0),
            helper.make_node("Unsqueeze", ["svmkit.column", graph.constant([2], np.int64)], ["svmkit.columns"]),
            helper.make_node("Sub", ["svmkit.columns", "svmkit.unit"], ["svmkit.weights"]),
            helper.make_node("Mul", ["svmkit.weights", "svmkit.across"], ["svmkit.less"]),
            helper.make_node("Sub", ["svmkit.system", "svmkit.less"], ["svmkit.next"]),
            helper.make_node("Identity", ["svmkit.on"], ["svmkit.goes_on"]),
        ],
        "elimination",
        [
            helper.make_tensor_value_info("svmkit.turn", integer, []),
            helper.make_tensor_value_info("svmkit.on", graph.onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("svmkit.system", double, ["n", k, k + 1]),
        ],
        [
            helper.make_tensor_value_info("svmkit.goes_on", graph.onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("svmkit.next", double, ["n", k, k + 1]),
        ],
    )
    turns, goes_on = graph.constant(k, np.int64), graph.constant(True, np.bool_)
    solved = graph.node("Loop", turns, goes_on, system, body=body)
    last = graph.node("Gather", solved, graph.constant([k], np.int64), axis=2)
    return graph.node("Reshape", last, graph.constant([-1, k], np.int64))
