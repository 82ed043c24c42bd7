"""What two processes write to each other: values and arrays, however few bytes arrive at a time."""

import io
import os
import sys

import numpy as np
import pytest
from svmkit_reference import outside
from svmkit_reference.messages import receive, send


class Trickle(io.BytesIO):
    """A stream that hands over a few bytes at a time, and is not asked more often than there are bytes."""

    def __init__(self, content):
        super().__init__(content)
        self.left = len(content) + 10

    def readinto(self, buffer):
        self.left -= 1
        assert self.left > 0, "it is read again and again"
        part = self.read(min(7, len(buffer)))
        buffer[: len(part)] = part
        return len(part)


def written(header, **arrays):
    stream = io.BytesIO()
    send(stream, header, arrays)
    return stream.getvalue()


def test_values_and_arrays_arrive_as_they_were():
    arrays = {
        "X": np.arange(12.0).reshape(3, 4)[:, ::2],
        "y": np.array([1, -1], dtype=np.int32),
        "none": np.empty((0, 3), dtype=np.float32),
        "flags": np.array([True, False, True]),
    }
    header, found = receive(Trickle(written({"solver": "libsvm", "C": 0.1}, **arrays)))
    assert header == {"solver": "libsvm", "C": 0.1} and list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_several_messages_follow_each_other():
    stream = Trickle(written({"k": 1}, a=np.arange(5)) + written({"k": 2}, a=np.arange(3)))
    assert [receive(stream)[0]["k"] for _ in range(2)] == [1, 2]
    with pytest.raises(EOFError):
        receive(stream)


@pytest.mark.parametrize("cut", [1, 30, -1])
def test_a_message_that_is_cut_short_says_that_the_other_has_ended(cut):
    with pytest.raises(EOFError, match="has ended"):
        receive(Trickle(written({"k": 1}, a=np.arange(50.0))[:cut]))


def test_the_other_process_imports_from_where_this_one_does_and_not_from_the_working_folder(monkeypatch):
    seen = []

    class Popen:
        def __init__(self, command, env, **how):
            seen.append(env["PYTHONPATH"].split(os.pathsep))

    monkeypatch.setattr(outside.subprocess, "Popen", Popen)
    monkeypatch.setattr(outside, "_idle", [])
    monkeypatch.setattr(outside, "_answers", lambda process, module: True)
    monkeypatch.setattr(sys, "path", ["", "/one", "/two", ""])
    assert isinstance(outside._take("json"), Popen)
    assert seen == [["/one", "/two"]]
