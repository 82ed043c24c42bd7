"""A builder of ONNX graphs: nodes and constants, connected by names."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.errors import InputError


class Graph:
    """An ONNX graph under construction; each method that adds a node or constant returns the name of its result. `onnx`
    is the package, which the caller imports; `dtype` is the type of X and the default type of constants, and `element`
    its ONNX element type.
    """

    def __init__(self, onnx: Any, dtype: np.dtype) -> None:
        self.onnx, self.dtype = onnx, dtype
        self.element = onnx.helper.np_dtype_to_tensor_dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, op: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        """Add a node with one output, named `out` or by a generated name; return this name."""
        out = out or f"svmkit.{len(self.nodes)}.{op}"
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), [out], **attributes))
        return out

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Add a constant, by default of the graph's dtype; raise InputError if a value is not finite in this type."""
        with np.errstate(over="ignore"):
            array = np.asarray(value).astype(dtype or self.dtype, order="C")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            is_single = array.dtype == np.float32
            remedy = "export it with --dtype float64" if is_single else "scale the columns and train anew"
            raise InputError(f"the model's numbers go beyond {array.dtype}: {remedy}")
        name = f"svmkit.constant.{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def value(self, name: str, element: int, *shape: Any) -> Any:
        """Describe an input or output by its element type and shape; a free dimension has a name instead of a size."""
        return self.onnx.helper.make_tensor_value_info(name, element, list(shape))
