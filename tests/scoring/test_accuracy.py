"""Accuracy: labels compare as numbers, and as text where either side is text."""

import numpy as np
import pytest

from svmkit.scoring.accuracy import accuracy


@pytest.mark.parametrize(
    ("predicted", "labels"),
    [
        ([1, 2, 2, 1], [1.0, 2.0, 2.0, 2.0]),
        ([1, 2, 2, 1], ["1", "2", "2", "2"]),
        ([1.0, 2.0, 2.0, 1.0], ["1", "2", "2", "2"]),
        (["1", "2", "2", "1"], [1.0, 2.0, 2.0, 2.0]),
        (np.array([1.0, 2.0, "x", 1.0], dtype=object), ["1", "2", "x", "2"]),
        (["a", "b", "b", "a"], ["a", "b", "b", "b"]),
        ([b"a", b"b", b"b", b"a"], ["a", "b", "b", "b"]),
        ([True, False, False, True], [1, 0, 0, 0]),
        (np.array(["a", "b", "b", "a"], dtype=object), ["a", "b", "b", "b"]),
    ],
    ids=str,
)
def test_three_of_four(predicted, labels):
    found = accuracy(np.asarray(predicted), np.asarray(labels))
    assert found == 0.75 and type(found) is float


def test_texts_are_the_same_only_if_they_are_equal():
    assert accuracy(np.array(["1", "01", "1.0"]), np.array(["1", "1", "1"])) == 1 / 3
