"""svmlight (LIBSVM) text files: ``label index:value index:value ... # comment``."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data.formats.files import cite, open_data
from svmkit.data.formats.layout import cast_values, integral
from svmkit.data.formats.svmlight_rows import DenseRows, NotDense, SparseRows, begin_rows
from svmkit.errors import InputError, one_line
from svmkit.runtime.mapping import Stack

_EXPECTED = "expected 'label index:value ...'"
_BLOCK = 2 << 20  # bytes of text that are parsed together, which takes about five times as many
COMPILED_FROM = 16 << 20  # bytes of text, of a file or in one process, for which compiling the parser pays
EXACT = 2.0**53  # largest value up to which float64 represents all whole numbers
_WHOLE = re.compile(rb"[+-]?\d{1,400}")
_seen = 0  # bytes of text that this process has parsed


def read_svmlight(
    path: Path, n_features: int | None, *, wider: bool = False, dtype: str | None = None
) -> tuple[Any, np.ndarray]:
    """Read samples and labels from an svmlight file, plain or compressed.

    Indices count from 1 unless an index 0 occurs anywhere in the file; then they count from 0. They must ascend within
    a line. ``qid:N`` after the label (ranking files) is skipped. Several labels in a line are refused. X, of
    `n_features` columns or by default the largest index, is dense if at least half of its entries are stored; it has
    more columns only if `wider`. X is float64, or of `dtype`. y is int64 if every label is a whole number. Raises
    InputError if a line is invalid (the message begins with ``FILE:LINE:``), there are no samples or no features, or
    there are more than `n_features` and `wider` is false.

    Parameters
    ----------
    path : Path
        The file.
    n_features : int or None
        The expected number of columns.
    wider : bool, default=False
        Whether the file may have more.
    dtype : {"float32", "float64"}, default=None
        The type of X.
    """
    try:
        return _read(path, n_features, wider, dtype)
    except NotDense:
        return _read(path, n_features, wider, dtype, may_be_dense=False)


def _read(
    path: Path, n_features: int | None, wider: bool, dtype: str | None, may_be_dense: bool = True
) -> tuple[Any, np.ndarray]:
    """Return X and y. Unless rows are dense from the first block on, which a later block may contradict by NotDense,
    they are sparse until all are read.
    """
    rows, y = _parse(path, n_features, dtype, may_be_dense)
    if len(y) == 0:
        raise InputError(f"{path}: has no samples (only blank lines or comments): {_EXPECTED}")
    if n_features is not None and rows.width > n_features and not wider:
        raise InputError(
            f"{path}: has {rows.width} features, but {n_features} are expected: "
            f"use a file with the model's own features, or train with --n-features {rows.width}"
        )
    if n_features is None and rows.width == 0:
        raise InputError(f"{path}: has labels but no features: {_EXPECTED}")
    return rows.features(max(rows.width, n_features or 0)), integral(y)


def _parse(
    path: Path, n_features: int | None, dtype: str | None, may_be_dense: bool
) -> tuple[SparseRows | DenseRows, np.ndarray]:
    """Return rows and labels; only one block is held twice."""
    labels, is_large, kind = Stack(np.int64), False, dtype or np.float64
    rows: SparseRows | DenseRows = SparseRows(kind)
    for data, indices, counts, y in read_blocks(path):
        try:
            block = cast_values(data, dtype), indices, counts
        except InputError as err:
            raise InputError(f"{path}: {err}") from err
        if may_be_dense and not len(labels.array):
            rows = begin_rows(block, n_features, kind)
        rows.add(block)
        labels.add(y)
        is_large |= y.dtype.kind == "i" and bool((np.abs(y) >= EXACT).any())
    if is_large and labels.array.dtype.kind == "f":
        raise _refusal(path, "labels are not exact")
    return rows, labels.array


def read_blocks(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield data, indices, counts of entries and labels of an svmlight file, about 2 MiB of text at a time. Indices are
    unchanged, from 0 or from 1; labels are int64 if all of a block are whole numbers. Raises InputError if a line is
    invalid, ``FILE:LINE: ...``.
    """
    with open_data(path) as stream:
        try:
            is_large = path.stat().st_size >= COMPILED_FROM
            while block := stream.read(_BLOCK):
                block += stream.readline()
                data, indices, counts, y = parse_text(block, is_large)
                yield data, indices, counts, _labels(block, y)
            return
        except InputError:  # the file cannot be read; the parser may be anywhere in it
            raise
        except (ValueError, OverflowError, IndexError, TypeError) as err:
            problem = one_line(err)
    raise _refusal(path, problem)


def parse_text(text: bytes, is_large: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices, counts of entries and labels of svmlight lines; large texts are parsed in compiled code.

    Indices are unchanged; labels are float64. Raises ValueError, OverflowError, IndexError or TypeError if a line is
    invalid, without saying which.
    """
    global _seen
    _seen += len(text)
    if is_large or _seen >= COMPILED_FROM:
        from svmkit.data.formats.svmlight_loop import parse_lines  # here: small sets need not compile it

        lines = parse_lines(text)
        if lines is not None:
            return lines
    data, indices, counts, y = _parse_plainly(text)
    if not (np.isfinite(y).all() and np.isfinite(data).all()):
        raise ValueError("a label or value is not finite")
    if has_underscore(text):
        raise ValueError("a number has an underscore")
    # the highest possible index is accepted: the shift is decided for the whole file
    narrow = int(indices.max(initial=0)) < np.iinfo(np.int32).max
    return data, indices.astype(np.int32 if narrow else np.int64, copy=False), counts, y


def _parse_plainly(text: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Parse as `parse_text` does, in Python, which accepts all its number formats."""
    data, indices, counts, labels = array("d"), array("i"), array("q"), array("d")
    for line in text.split(b"\n"):
        used = line.partition(b"#")[0]
        label, *features = used.split() or (None,)
        if label is None:
            continue
        if b"\0" in used:
            raise ValueError("a line has a NUL byte")
        labels.append(float(label))
        if features and features[0].startswith(b"qid:"):
            del features[0]
        previous = -1
        for token in features:
            index, value = token.split(b":", 1)
            at = int(index)
            if at <= previous:
                raise ValueError("indices do not ascend")
            indices.append(at)
            data.append(float(value))
            previous = at
        counts.append(len(features))
    return np.array(data), np.array(indices, dtype=np.int32), np.array(counts), np.array(labels)


def _refusal(path: Path, problem: str) -> InputError:
    """Return the error about an invalid file: at its first malformed line, else at its first label that is not exact,
    since the parser does not report the line.
    """
    for find in (line_problem, inexact_label):
        with open_data(path) as stream:
            for number, line in enumerate(stream, start=1):
                if of_line := find(line):
                    return InputError(f"{path}:{number}: {of_line}")
    return InputError(f"{path}: not svmlight ({problem}): {_EXPECTED}")


def read_groups(path: Path) -> np.ndarray | None:
    """Return the numbers after ``qid:`` of the samples of an svmlight file, (n_samples,), int64; None if no line has
    one. Raises InputError if only some lines have one, or if one is not a whole number.
    """
    groups: list[int] = []
    lacking: int | None = None  # the first line without one
    with open_data(path) as stream:
        for number, line in enumerate(stream, start=1):
            tokens = line.partition(b"#")[0].split(None, 2)
            if len(tokens) > 1 and tokens[1].startswith(b"qid:"):
                name = tokens[1][4:]
                if not _WHOLE.fullmatch(name) or abs(int(name)) >= 2**63:
                    raise InputError(f"{path}:{number}: {cite(tokens[1])} names no group: give a whole number (qid:7)")
                groups.append(int(name))
            elif tokens:
                lacking = lacking or number
            if groups and lacking:
                raise InputError(f"{path}:{lacking}: has no qid:, which other lines have: name the group of each line")
    return np.array(groups, dtype=np.int64) if groups else None


def has_underscore(block: bytes) -> bool:
    """Whether there is an underscore in a number, which only Python accepts."""
    if b"_" not in block:
        return False
    tokens = (token for line in block.splitlines() for token in line.partition(b"#")[0].split())
    return any(b"_" in token and not token.startswith(b"qid:") for token in tokens)


def _labels(block: bytes, y: np.ndarray) -> np.ndarray:
    """Return labels as int64 if all are whole numbers of 64 bits, whose digits float64 may have lost, else unchanged;
    raise ValueError if one has lost digits.
    """
    if not (np.abs(y) >= EXACT).any():
        return integral(y)
    texts = [tokens[0] for line in block.splitlines() if (tokens := line.partition(b"#")[0].split())]
    values = [int(text) if _WHOLE.fullmatch(text) else value for text, value in zip(texts, y.tolist(), strict=True)]
    if all(value == int(value) and -(2**63) <= value < 2**63 for value in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    if any(value != given for value, given in zip(values, y.tolist(), strict=True)):
        raise ValueError("labels are not exact")
    return y


def inexact_label(line: bytes) -> str | None:
    """Return what is wrong with the label of a line if it is a whole number that float64 cannot represent."""
    label = (line.partition(b"#")[0].split() or [b""])[0]
    if not _WHOLE.fullmatch(label) or int(label) == float(label):
        return None
    return (
        f"the label {cite(label)} has more digits than float64 holds; unless all labels of a file are whole numbers of "
        "64 bits, give labels with fewer digits"
    )


def line_problem(line: bytes) -> str | None:
    tokens = line.partition(b"#")[0].split()
    if not tokens:
        return None
    label, features = tokens[0], tokens[1:]
    if b":" not in label and b"," in label and all(_number(part) is not None for part in label.split(b",")):
        return f"several labels a sample ({cite(label)}): give one label a line"
    value = _number(label)
    if value is None:
        return f"not svmlight: {cite(label)} is no label (a number), {_EXPECTED}"
    if not math.isfinite(value):
        return f"the label is {cite(label)}: drop that line or label it"
    if features and features[0].startswith(b"qid:"):
        features = features[1:]
    previous = -1
    for token in features:
        problem, previous = _feature_problem(token, previous)
        if problem:
            return problem
    return None


def _feature_problem(token: bytes, previous: int) -> tuple[str | None, int]:
    left, colon, right = token.partition(b":")
    value = _number(right)
    try:
        index = int(b"" if b"_" in left else left)
    except ValueError:
        colon, index = b"", 0
    if not colon or value is None:
        return f"not svmlight: {cite(token)} is no index:value, {_EXPECTED}", previous
    if index < 0 or index > np.iinfo(np.int32).max - 1:
        return (
            f"not svmlight: {cite(token)} has an index out of range (1 to 2147483646), {_EXPECTED}",
            previous,
        )
    if index <= previous:
        return (
            f"not svmlight: {cite(token)} comes after index {previous}, but indices must ascend in a line",
            previous,
        )
    if not math.isfinite(value):
        return f"the value of {cite(token)} is not finite: drop that line or give a number", previous
    return None, index


def _number(token: bytes) -> float | None:
    try:
        return None if b"_" in token else float(token)
    except ValueError:
        return None
