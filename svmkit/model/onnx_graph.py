"""An ONNX graph as it grows: nodes, constants, and the names that hold them together."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.errors import InputError


class Graph:
    """Nodes and constants, in order; what adds one gives the name of its result.

    onnx : the module, imported by who calls; dtype : of X and of constants that ask for no other
    """

    def __init__(self, onnx: Any, dtype: np.dtype) -> None:
        self.onnx, self.dtype = onnx, dtype
        self.element = onnx.helper.np_dtype_to_tensor_dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, op: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        """A node of one output, called `out` or by a name of its own."""
        out = out or f"svmkit.{len(self.nodes)}.{op}"
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), [out], **attributes))
        return out

    def constant(self, value: Any, dtype: Any = None) -> str:
        """`value` as a constant of dtype, default the graph's; InputError when it is not finite there."""
        with np.errstate(over="ignore"):
            array = np.ascontiguousarray(value).astype(dtype or self.dtype)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            mend = "export it with --dtype float64" if array.dtype == np.float32 else "scale the columns and train anew"
            raise InputError(f"the model's numbers go beyond {array.dtype}: {mend}")
        name = f"svmkit.constant.{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def value(self, name: str, element: int, *shape: Any) -> Any:
        """The description of an input or output: its element type and shape, text for a dimension that is free."""
        return self.onnx.helper.make_tensor_value_info(name, element, list(shape))
