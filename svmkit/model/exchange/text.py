"""Text models: a header of words and numbers, then rows of numbers, as LIBSVM and LIBLINEAR write them.

A file may be untrusted. It is read as a stream, nothing is allocated by a count that its header claims, and an error is
reported in one line, with its line number in the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np

from svmkit.data.formats.files import cite
from svmkit.errors import InputError, meant

LARGEST_INDEX = 2**31 - 2
_BLOCK = 1 << 20  # bytes of text that are parsed together
_LINE = 256 << 20  # most bytes of a line: the thresholds of 5,000 classes
_NUMBER = rb"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+"
_WHOLE = re.compile(rb"[+-]?\d{1,18}")


class Header:
    """The header of a text model: lines of a word and its values, up to the word `end`, which stands alone. The stream
    is left where the rows begin, and `line` is the number of the last line that was read. Each of the `known` words may
    occur once, in any order; raises InputError otherwise, or if the header does not end.
    """

    def __init__(self, path: Path, stream: IO[bytes], known: Collection[str], end: str) -> None:
        self.path, self.line = path, 0
        self._entries: dict[str, tuple[int, list[bytes]]] = {}
        while True:
            text = stream.readline(_LINE)
            self.line += 1
            key, *values = text.split() or [b""]
            word = key.decode("utf-8", "backslashreplace")
            if not text.endswith(b"\n"):
                whole = "the line is too long" if len(text) == _LINE else "the file ends in its header, without"
                self.refuse(f"{whole} {end!r}: it is cut short or no text model", self.line)
            if word == end and not values:
                return
            if word not in known:
                self.refuse(f"{cite(word)} is no word of the header{meant(word[:40], [*known, end])}", self.line)
            if word in self._entries:
                self.refuse(f"{word} stands in line {self._entries[word][0]} already", self.line)
            self._entries[word] = self.line, values

    def refuse(self, problem: str, line: int | str) -> NoReturn:
        """Raise InputError about a line, given by its number or by the word that it begins with."""
        number = self._entries[line][0] if isinstance(line, str) else line
        raise InputError(f"{self.path}:{number}: {problem}")

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def values(self, key: str, count: int | None = None) -> list[bytes]:
        """Return the values after a word, which must occur; `count` is their required number."""
        if key not in self._entries:
            raise InputError(f"{self.path}: the header has no line {key!r}: it is cut short or no text model")
        found = self._entries[key][1]
        if count is not None and len(found) != count:
            self.refuse(f"{key} needs {count:,} values, not {len(found):,}", key)
        return found

    def word(self, key: str, known: Collection[str]) -> str:
        """Return the single value after a word, which must be a known one."""
        value = self.values(key, 1)[0].decode("utf-8", "backslashreplace")
        if value not in known:
            self.refuse(f"{key} {cite(value)} is not known; there are: {', '.join(known)}", key)
        return value

    def whole_numbers(self, key: str, count: int, least: int) -> np.ndarray:
        """Return the integers after a word, int64.

        Parameters
        ----------
        key : str, the word
        count, least : int, the required number of values, and their least admissible value
        """
        found = self.values(key, count)
        for value in found:
            if not _WHOLE.fullmatch(value) or int(value) < least:
                self.refuse(f"{key} needs whole numbers from {least} on, not {cite(value)}", key)
        return np.array([int(value) for value in found], dtype=np.int64)

    def whole_number(self, key: str, least: int) -> int:
        """Return the single integer after a word, at least `least`."""
        return int(self.whole_numbers(key, 1, least)[0])

    def numbers(self, key: str, count: int) -> np.ndarray:
        """Return `count` finite numbers, float64."""
        found, number = self.values(key, count), re.compile(_NUMBER)
        for value in found:
            if not number.fullmatch(value) or not np.isfinite(float(value)):
                self.refuse(f"{key} needs finite numbers, not {cite(value)}", key)
        return np.array([float(value) for value in found])

    def class_count(self, kind: str, is_classifier: bool) -> int:
        """Return the number of classes of a model of this kind, which is 2 if it is not a classifier."""
        k = self.whole_number("nr_class", 1)
        if k != 2 and not is_classifier:
            self.refuse(f"nr_class of a {kind} model is 2, not {k:,}", "nr_class")
        if k < 2:
            self.refuse("a model of one class decides nothing: train it on data of two classes or more", "nr_class")
        return k

    def labels(self, k: int) -> np.ndarray:
        """Return the labels of k classes, int64."""
        labels = self.whole_numbers("label", k, -(2**53))
        if len(np.unique(labels)) < k:
            self.refuse("two classes have the same label", "label")
        return labels

    def number(self, key: str) -> float:
        """Return the single finite number after a word."""
        return float(self.numbers(key, 1)[0])


def read_rows(
    header: Header, stream: IO[bytes], n_rows: int, n_numbers: int, *, features: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Read the rows after a header, to the end of the file. Returns numbers (n_rows, n_numbers), and for the features
    of all rows indices (int64) and data, with `indptr` (n_rows + 1,) where each row begins. Raises InputError: a row is
    malformed, or their number is wrong.

    Parameters
    ----------
    header : Header, which has the number of the line
    stream : binary file
    n_rows, n_numbers : int, the required number of rows, and of numbers at the beginning of each
    features : bool, whether index:value pairs follow, whose indices ascend from 0 or more
    """
    feature = rb"(?:[ \t]++\d{1,10}:" + _NUMBER + rb")*+" if features else b""
    more = rb"(?:[ \t]++" + _NUMBER + rb"){%d}" % (n_numbers - 1)
    row = re.compile(rb"[ \t]*+" + _NUMBER + more + feature + rb"[ \t\r]*+")
    parts: list[tuple[np.ndarray, ...]] = [
        (np.empty((0, n_numbers)), np.empty(0, np.int64), np.empty(0), np.zeros(1, np.int64))
    ]
    done = 0
    for lines in _blocks(header, stream):
        if done + len(lines) > n_rows:
            header.refuse(f"a row more than the {n_rows:,} that the header tells", header.line + n_rows - done + 1)
        for k, line in enumerate(lines):
            if not row.fullmatch(line):
                header.refuse(_problem(line, n_numbers, features), header.line + k + 1)
        parts.append(_parse(header, lines, n_numbers))
        done += len(lines)
        header.line += len(lines)
    if done < n_rows:
        header.refuse(f"the file ends after {done:,} of the {n_rows:,} rows that the header tells", header.line)
    numbers, indices, data, counts = (np.concatenate(found) for found in zip(*parts, strict=True))
    return numbers, indices, data, counts.cumsum()


def _blocks(header: Header, stream: IO[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines of the rest of a file in blocks; blank lines may occur only at its end."""
    ended = False  # whether blank lines have come
    while block := stream.read(_BLOCK):
        if not block.endswith(b"\n"):
            block += stream.readline(_LINE)
        if not block.endswith(b"\n"):
            line = header.line + block.count(b"\n") + 1
            header.refuse("the last line has no line break: the file is cut short (or end the line)", line)
        lines = block.split(b"\n")[:-1]
        full = len(lines)
        while full and not lines[full - 1].strip():
            full -= 1
        if ended and full:
            header.refuse("a blank line between the rows", header.line + 1)
        ended = ended or full < len(lines)
        if full:
            yield lines[:full]


def _parse(header: Header, lines: list[bytes], n_numbers: int) -> tuple[np.ndarray, ...]:
    """Return numbers, indices, data, and the number of features of each of these lines, all well-formed."""
    n_features = np.array([line.count(b":") for line in lines], dtype=np.int64)
    width = n_numbers + 2 * n_features
    values = np.array([float(token) for token in b"\n".join(lines).replace(b":", b" ").split()])
    starts = np.cumsum(width) - width

    def refuse(at: int, problem: str) -> NoReturn:
        header.refuse(problem, header.line + int(np.searchsorted(starts, at, side="right")))

    if not np.isfinite(values).all():
        refuse(int(np.argmin(np.isfinite(values))), "a number is not finite: float64 does not hold it")
    leading = np.zeros(len(values), dtype=np.bool_)
    leading[starts[:, None] + np.arange(n_numbers)] = True
    pairs = np.flatnonzero(~leading).reshape(-1, 2)
    indices = values[pairs[:, 0]].astype(np.int64)
    first = np.zeros(len(indices), dtype=np.bool_)
    first[(np.cumsum(n_features) - n_features)[n_features > 0]] = True
    unordered = np.flatnonzero(~first[1:] & (np.diff(indices) <= 0))
    if len(unordered):
        refuse(int(pairs[unordered[0] + 1, 0]), f"index {indices[unordered[0] + 1]} does not ascend in its line")
    if len(indices) and indices.max() > LARGEST_INDEX:
        refuse(int(pairs[indices.argmax(), 0]), f"index {indices.max()} is above {LARGEST_INDEX}")
    return values[leading].reshape(-1, n_numbers), indices, values[pairs[:, 1]], n_features


def _problem(line: bytes, n_numbers: int, features: bool) -> str:
    """Describe what is wrong with a malformed row."""
    number, pair = re.compile(_NUMBER), re.compile(rb"\d{1,10}:" + _NUMBER)
    tokens = line.split()
    leading = next((k for k, token in enumerate(tokens) if not number.fullmatch(token)), len(tokens))
    expected = f"{n_numbers:,} finite numbers" + (" and index:value pairs" if features else "")
    if leading != n_numbers and (leading == len(tokens) or pair.fullmatch(tokens[leading])):
        return f"a row needs {expected}, and this one begins with {leading:,} numbers"
    wrong = next((token for token in tokens[leading:] if not (features and pair.fullmatch(token))), line)
    return f"a row needs {expected}, not {cite(wrong)}"


class Written(NamedTuple):
    """A text model that was written: LIBSVM's svm_type or LIBLINEAR's solver_type, its size, and notes for its user."""

    kind: str
    n_bytes: int
    notes: list[str]


def texts(values: Any) -> str:
    """Return numbers as text that is read as the same float64."""
    return " ".join(map(repr, np.asarray(values, dtype=np.float64).tolist()))


def encode(*parts: Iterable[str]) -> Iterator[bytes]:
    """Yield lines as bytes, each with its line break."""
    for lines in parts:
        for line in lines:
            yield f"{line}\n".encode()
