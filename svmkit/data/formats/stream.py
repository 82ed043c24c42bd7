"""svmlight samples from a pipe, in blocks as they arrive, with at most one block and 64 KiB in memory."""

from __future__ import annotations

import os
import selectors
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import IO, Any

import numpy as np

from svmkit.data.formats.files import cite
from svmkit.data.formats.layout import csr
from svmkit.data.formats.svmlight import EXACT, inexact_label, line_problem, parse_text
from svmkit.errors import InputError, one_line

_CHUNK = 1 << 16  # the capacity of a pipe
_POLL = 0.1  # seconds between two calls of `until`

Block = tuple[Any, np.ndarray]
Lines = list[tuple[int, bytes]]  # numbered
Read = Callable[[float], bytes | None]


class SvmlightStream:
    """Samples of svmlight lines as they arrive. Comments, blank lines, ``qid:N`` and CRLF are accepted as in files.

    A stream cannot look ahead, so indices count from 1 and the number of columns grows with them. Nothing is
    decompressed. The stream counts the `samples` yielded, `lines` received (including comments) and lines `skipped`,
    and keeps the message for the first skipped line in `first_skipped`.

    Parameters
    ----------
    source : binary file or file descriptor
        A buffered pipe must not have been read from before: the contents of its buffer would be missed.
    name : str, default="standard input", in messages
    n_features : int, optional
        The number of columns, if announced; otherwise it grows.
    labels : collection of float, optional
        The labels, if announced; otherwise any label is accepted. They may be set between two blocks.
    on_error : {"stop", "skip"}, default="stop"
        Whether an invalid line ends the reading with an InputError, or is dropped and counted.
    """

    def __init__(
        self,
        source: IO[bytes] | int,
        *,
        name: str = "standard input",
        n_features: int | None = None,
        labels: Collection[float] | None = None,
        on_error: str = "stop",
    ) -> None:
        if on_error not in ("stop", "skip"):
            raise InputError(f"on_error={on_error!r}: choose 'stop' or 'skip' for lines that cannot be used")
        self.name, self.n_features, self.labels = name, n_features, labels
        self.samples = self.skipped = self.lines = 0
        self.first_skipped: str | None = None
        self._source, self._skip = source, on_error == "skip"
        self._tail = bytearray()  # of the incomplete last line; grows in linear time, however small the chunks
        self._pending: deque[tuple[int, bytes]] = deque()  # whole lines with a sample, numbered
        self._arrived, self._over = 0.0, False
        self._width = self._unfinished = 0  # columns; number of a last line without a newline
        self._failure: InputError | None = None

    def blocks(self, size: int, *, until: Callable[[], bool] = lambda: False, patience: float = 0.5) -> Iterator[Block]:
        """Yield the samples in order, at most `size` at a time. A later call continues where an earlier one ended.

        X is a csr_array of float64; if the columns are not announced, the largest index so far is their number. y is
        float64. Raises InputError if `size` is below 1, reading fails or, after all samples before it, one is invalid;
        the message then begins with ``NAME:LINE:``.

        Parameters
        ----------
        size : int
        until : callable, called several times a second; once it returns true, no further lines are read
        patience : float, seconds without a byte after which fewer samples are yielded
        """
        if size < 1:
            raise InputError(f"a block of {size} samples: ask for at least 1")
        with selectors.DefaultSelector() as selector:
            read, more = self._reader(selector), True
            while self._failure is None:
                more = more and self._fill(read, size, until, patience)
                block = self._next(size)
                if block is not None:
                    self.samples += len(block[1])
                    yield block
                elif not (more or self._pending or self._failure):
                    return
        raise self._failure

    def _reader(self, selector: selectors.BaseSelector) -> Read:
        """Return a function of the seconds to wait, which returns bytes, b"" at the end, None if nothing arrives."""
        source = self._source
        try:
            take: Callable[[int], bytes] = partial(os.read, selector.register(source, selectors.EVENT_READ).fd)
            waits = selector.select(0) is not None
        except (ValueError, OSError):  # no descriptor, a regular file, or a pipe on Windows
            take = partial(os.read, source) if isinstance(source, int) else getattr(source, "read1", source.read)
            waits = False

        def read(seconds: float) -> bytes | None:
            try:
                return None if waits and not selector.select(seconds) else take(_CHUNK)
            except OSError as err:  # raised once the samples at hand are yielded
                self._failure = InputError(f"{self.name}: reading it failed ({one_line(err)}): check what feeds it")
                return None

        return read

    def _fill(self, read: Read, size: int, until: Callable[[], bool], patience: float) -> bool:
        """Read until a block is complete or the patience is over. Return False if there is no more to read."""
        while len(self._pending) < size and not (self._over or self._failure):
            if until():
                return False
            left = max(0.0, self._arrived + patience - time.monotonic()) if self._pending else _POLL
            chunk = read(min(_POLL, left))
            if chunk:
                self._arrived = time.monotonic()
                self._split(chunk)
            elif chunk is None and left == 0.0:
                return True
            elif chunk is not None and not until():  # Ctrl-C reaches the writer, too: it may leave half a line
                self._over, self._unfinished = True, self.lines + 1
                self._split(b"\n" * bool(self._tail))
        return not self._over

    def _split(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        if whole and self._tail:
            whole[0], self._tail = bytes(self._tail + whole[0]), bytearray()
        self._tail += rest
        for line in whole:
            self.lines += 1
            if (line := line.lstrip()) and not line.startswith(b"#"):
                self._pending.append((self.lines, line))

    def _next(self, size: int) -> Block | None:
        """Return the next `size` lines as samples, or None if there are none or none is valid."""
        lines = [self._pending.popleft() for _ in range(min(size, len(self._pending)))]
        block = self._parse(lines)
        if block is None and (lines := self._usable(lines)):
            block = self._parse(lines)
            if block is None:  # the parser refuses a line that `line_problem` accepts
                raise InputError(f"{self.name}:{lines[0][0]}: not svmlight from here to line {lines[-1][0]}")
        return block

    def _parse(self, lines: Lines) -> Block | None:
        """Parse all lines at once, which is fast. Return None if there are none or one is invalid."""
        try:
            data, indices, counts, y = parse_text(b"\n".join(line for _, line in lines))
        except (ValueError, OverflowError, IndexError, TypeError):
            return None
        last = int(indices.max(initial=0))
        columns = last if self.n_features is None else self.n_features
        known = self.labels is None or np.isin(y, np.fromiter(self.labels, np.float64)).all()
        if not (lines and known and last <= columns and indices.min(initial=1) == 1):
            return None
        if (np.abs(y) >= EXACT).any() and any(inexact_label(line) for _, line in lines):
            return None
        self._width = max(self._width, columns)
        return csr(data, indices - 1, np.append(0, np.cumsum(counts)), (len(y), self._width)), y

    def _usable(self, lines: Lines) -> Lines:
        """Return the valid lines: all of them when skipping, else those before the first invalid one."""
        good = []
        for number, line in lines:
            problem = self._problem(number, line)
            if problem is None:
                good.append((number, line))
            elif self._skip:
                self.skipped += 1
                self.first_skipped = self.first_skipped or f"{self.name}:{number}: {problem}"
            else:
                self._failure, self.lines = InputError(f"{self.name}:{number}: {problem}"), number
                break
        return good

    def _problem(self, number: int, line: bytes) -> str | None:
        problem = line_problem(line) or inexact_label(line)
        if problem:
            return f"the stream ends in the middle of a line: {problem}" if number == self._unfinished else problem
        label, *features = line.partition(b"#")[0].split()
        if self.labels is not None and float(label) not in set(self.labels):
            listed = [f"{known:.15g}" for known in sorted(self.labels)[:10]] + ["..."] * (len(self.labels) > 10)
            return f"the label {cite(label)} is not announced ({', '.join(listed)} are): announce it or drop that line"
        indices = [int(token.partition(b":")[0]) for token in features if not token.startswith(b"qid")]
        if 0 in indices:
            return "index 0, but indices of a stream count from 1 (it cannot look ahead): add 1 to every index"
        if self.n_features is not None and max(indices, default=0) > self.n_features:
            return f"index {indices[-1]} is beyond the {self.n_features} announced features: announce more, or drop it"
        return None
