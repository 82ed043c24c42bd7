"""Plain arrays and JSON over a pipe, between svmkit and the process that runs other software; never a pickle."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

import numpy as np

LENGTH = struct.Struct("<Q")


def send(stream: BinaryIO, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a header of JSON values, and arrays of numbers by name."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    shapes = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    text = json.dumps([header, shapes]).encode()
    stream.write(LENGTH.pack(len(text)) + text)
    for array in arrays.values():
        stream.write(array.reshape(-1).view(np.uint8).data)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a message of `send`; raise EOFError if the other process has ended."""
    (size,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    header, shapes = json.loads(_exactly(stream, size))
    arrays = {}
    for name, dtype, shape in shapes:
        array = np.empty(shape, dtype=np.dtype(dtype))
        view = memoryview(array.reshape(-1).view(np.uint8))
        done = 0
        while done < len(view):
            count = stream.readinto(view[done:])  # type: ignore[attr-defined]
            if not count:
                raise EOFError("the other process has ended")
            done += count
        arrays[name] = array
    return header, arrays


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the other process has ended")
    return data
