"""svmlight samples from a stream: blocks, refusals with their line, growing columns, waiting, and memory."""

import io
import os
import re
import threading
import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import write

from svmkit.data import load
from svmkit.data.formats.stream import SvmlightStream
from svmkit.errors import InputError

pytestmark = pytest.mark.usefixtures("alone")


class Dribble(io.RawIOBase):
    """Hands out 1 to 13 bytes a read."""

    def __init__(self, content):
        self.content, self.at, self.rng = content, 0, np.random.default_rng(0)

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self.content[self.at : self.at + int(self.rng.integers(1, 14))]
        self.at += len(piece)
        buffer[: len(piece)] = piece
        return len(piece)


def stream(text, **options):
    return SvmlightStream(io.BytesIO(text.encode()), **options)


def drain(source, size=1000, **options):
    """All blocks up to the end or an InputError, and its message."""
    blocks = []
    try:
        blocks.extend(source.blocks(size, **options))  # keeps what came before an exception
    except InputError as err:
        assert "\n" not in str(err)
        return blocks, str(err)
    return blocks, None


def labels_of(blocks):
    return [label for _, y in blocks for label in y]


def stacked(blocks, columns):
    padded = [sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], columns)) for X, _ in blocks]
    return sp.vstack(padded).toarray(), np.concatenate([y for _, y in blocks])


@pytest.fixture(scope="module")
def text():
    """Binary features, 14 a line of 123, as a9a has; with comments, blank lines, qid and CRLF here and there."""
    rng = np.random.default_rng(1)
    lines = ["# made up"]
    for number in range(2500):
        indices = np.sort(rng.choice(np.arange(1, 124), 14, replace=False))
        features = " ".join(f"{i}:{'1' if number % 3 else repr(rng.normal())}" for i in indices)
        lines.append(f"{rng.choice(['-1', '+1'])} {'qid:3 ' * (number % 5 == 0)}{features}{' # c' * (number % 7 == 0)}")
        lines += ["", "  # 1 0:x"] * (number % 11 == 0)
    return "".join(line + ("\r\n" if at % 2 else "\n") for at, line in enumerate(lines))


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("kind", ["bytes", "dribble", "file", "descriptor"])
def test_the_samples_are_those_of_the_file(text, size, kind):
    text = text if size > 1 else text[: text.index("\n", 9000) + 1]
    path = write("t.svm", text)
    want = load(path)
    with open(path, "rb") as file:
        source = {
            "bytes": io.BytesIO(text.encode()),
            "dribble": Dribble(text.encode()),
            "file": file,
            "descriptor": file.fileno(),
        }[kind]
        read = SvmlightStream(source)
        blocks, error = drain(read, size)
    assert error is None and all(X.shape[0] == len(y) == size for X, y in blocks[:-1])
    X, y = stacked(blocks, want.n_features)
    np.testing.assert_array_equal(X, want.X.toarray())
    np.testing.assert_array_equal(y, want.y)
    for X, y in blocks:
        assert isinstance(X, sp.csr_array) and X.dtype == y.dtype == np.float64
        assert X.indices.dtype == X.indptr.dtype == np.int32 and X.has_sorted_indices
    assert (read.samples, read.skipped, read.lines) == (len(want.y), 0, text.count("\n"))
    assert read.first_skipped is None


def test_columns_grow_or_are_announced():
    text = "1 2:1\n1 1:1\n1 9:1\n1 1:1\n1\n"
    assert [X.shape for X, _ in stream(text).blocks(1)] == [(1, 2), (1, 2), (1, 9), (1, 9), (1, 9)]
    assert [X.shape for X, _ in stream(text, n_features=11).blocks(2)] == [(2, 11), (2, 11), (1, 11)]
    ((X, y),) = stream("1\n-1\n").blocks(5)
    assert X.shape == (2, 0) and list(y) == [1, -1]


@pytest.mark.parametrize("text", ["", "\n\r\n", "# a\n  # b\n", "# a"])
def test_nothing_to_read(text):
    read = stream(text)
    assert drain(read) == ([], None) and (read.samples, read.skipped) == (0, 0)


REFUSED = [
    ("1 1:1 banana", "not svmlight: 'banana' is no index:value"),
    ("one 1:1", "'one' is no label"),
    ("1,2 1:1", "several labels a sample"),
    ("1 3:1 2:1", "'2:1' comes after index 3"),
    ("1 qid:2 4000000000:1", "out of range"),
    ("1 -1:4", "out of range"),
    ("nan 1:1", "the label is 'nan'"),
    ("1 1:1 2:inf", "the value of '2:inf' is not finite"),
    ("1 0:1 2:1", r"index 0, but indices of a stream count from 1 \(it cannot look ahead\): add 1"),
    ("1 qid:1 0:1", "index 0, but"),
    ("3 1:1", r"the label '3' is not announced \(-1, 0.5, 1 are\): announce it or drop that line"),
    ("1 2:1 13:1 # c", "index 13 is beyond the 12 announced features: "),
]


@pytest.mark.parametrize(("line", "match"), REFUSED)
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_refused_line_is_named_after_the_samples_before_it(line, match, size):
    text = "# a\n\n" + "1 1:1 5:2\n" * 17 + f"{line}\n" + "-1 2:1\n" * 17
    read = stream(text, n_features=12, labels={1, -1, 0.5})
    blocks, error = drain(read, size)
    assert labels_of(blocks) == [1] * 17 and read.samples == 17
    assert re.match("standard input:20: .*" + match, error), error
    assert (read.lines, read.skipped) == (20, 0)
    assert drain(read, size) == ([], error)


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_skipped_lines_are_counted(size):
    text = "".join(f"1 1:1\n{line}\n" for line, _ in REFUSED) + "-1 1:1\n"
    read = stream(text, n_features=12, labels=[1, -1, 0.5], on_error="skip", name="feed")
    blocks, error = drain(read, size)
    assert error is None and labels_of(blocks) == [1] * len(REFUSED) + [-1]
    assert all(1 <= X.shape[0] == len(y) for X, y in blocks)
    assert (read.samples, read.skipped, read.lines) == (len(REFUSED) + 1, len(REFUSED), 2 * len(REFUSED) + 1)
    assert read.first_skipped.startswith("feed:2: not svmlight: 'banana'")


def test_skipped_lines_leave_the_columns_alone():
    read = stream("1 2:1\n1 99:nan\n1 0:1 98:1\n1 3:1\n", on_error="skip")
    assert [X.shape for X, _ in read.blocks(2)] == [(1, 2), (1, 3)]
    assert drain(stream("x\ny\n", on_error="skip")) == ([], None)


def test_what_only_the_parser_refuses():
    error = drain(stream("1 1:1\n1 qid:3\0#x 2 1:1\n1 1:1\n"))[1]
    assert error == "standard input:1: not svmlight from here to line 3"


def test_labels_announced_after_the_first_block():
    read = stream("2 1:1\n3 1:1\n2 1:1\n4 1:1\n")
    blocks = read.blocks(2)
    _, y = next(blocks)
    read.labels = np.unique(y)
    assert list(next(blocks)[1]) == [2]
    with pytest.raises(InputError, match=r"standard input:4: the label '4' is not announced \(2, 3 are\)"):
        next(blocks)


def test_many_announced_labels_are_cut():
    error = drain(stream("-1 1:1\n", labels=range(1000)))[1]
    assert "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... are)" in error


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_last_line_without_its_newline(on_error):
    blocks, error = drain(stream("1 1:1\n-1 2:1", on_error=on_error))
    assert error is None and labels_of(blocks) == [1, -1]
    read = stream("1 1:1\n-1 2:1 3:", on_error=on_error)
    blocks, error = drain(read)
    assert labels_of(blocks) == [1] and read.lines == 2
    message = "standard input:2: the stream ends in the middle of a line: not svmlight: '3:'"
    assert (error or read.first_skipped).startswith(message)
    assert (error is None) == (on_error == "skip") and read.skipped == (on_error == "skip")
    assert "middle" not in drain(stream("1 1:1\n-1 2:1 3:\n"))[1]


def test_wrong_calls():
    with pytest.raises(InputError, match="on_error='warn': choose 'stop' or 'skip'"):
        stream("", on_error="warn")
    with pytest.raises(InputError, match="a block of 0 samples"):
        next(stream("1 1:1\n").blocks(0))


def test_a_later_call_goes_on():
    read = stream("".join(f"{label} 1:1\n" for label in range(7)))
    assert list(next(read.blocks(2))[1]) == [0, 1]
    assert labels_of(read.blocks(3)) == [2, 3, 4, 5, 6]
    assert drain(read) == ([], None)


def test_failed_reading_comes_after_the_samples_at_hand():
    class Failing(io.RawIOBase):
        parts = iter([b"1 1:1\n-1 1:1\n1 2"])

        def read(self, size=-1):
            try:
                return next(self.parts)
            except StopIteration:
                raise OSError(5, "Input/output error") from None

    blocks, error = drain(SvmlightStream(Failing()))
    assert labels_of(blocks) == [1, -1] and "standard input: reading it failed ([Errno 5]" in error
    folder = os.open(".", os.O_RDONLY)
    assert re.match(r"\.: reading it failed \(.*directory", drain(SvmlightStream(folder, name="."))[1])
    os.close(folder)


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    with open(reader, "rb") as source, open(writer, "wb", buffering=0) as sink:
        yield source, sink


@pytest.mark.parametrize("by", ["file", "descriptor"])
def test_patience_yields_what_is_there(pipe, by):
    reader, writer = pipe
    read = SvmlightStream(reader if by == "file" else reader.fileno())
    blocks = read.blocks(4, patience=0.15)
    writer.write(b"1 1:1\n2 1:1\n3 1:")  # the third is not whole yet
    start = time.monotonic()
    assert list(next(blocks)[1]) == [1, 2]
    assert 0.1 < time.monotonic() - start < 5
    writer.write(b"1\n" + b"4 1:1\n" * 4)
    assert list(next(blocks)[1]) == [3, 4, 4, 4]
    timer = threading.Timer(0.4, lambda: (writer.write(b"5 2:1\n6 2:1"), writer.close()))  # longer than patience
    timer.start()
    assert list(next(blocks)[1]) == [4]
    assert list(next(blocks)[1]) == [5, 6]
    assert next(blocks, None) is None and read.samples == 9
    timer.join()


def test_until_ends_the_wait_quietly(pipe):
    reader, writer = pipe
    writer.write(b"1 1:1\n2 1:1\n3 1:1\n4 1")
    asked = []
    start = time.monotonic()

    def until():
        asked.append(time.monotonic())
        return asked[-1] > start + 0.7

    read = SvmlightStream(reader)
    blocks, error = drain(read, 1000, until=until, patience=60)
    assert error is None and labels_of(blocks) == [1, 2, 3]
    assert 0.6 < time.monotonic() - start < 5 and len(asked) >= 5
    writer.write(b":1\n")
    writer.close()
    assert labels_of(read.blocks(2)) == [4]


def test_until_yields_all_that_was_received():
    read = stream("1 1:1\n" * 10)
    assert len(labels_of(read.blocks(3, until=lambda: read.lines > 0))) == 10
    read = stream("1 1:1\n")
    assert drain(read, until=lambda: True) == ([], None)


def test_until_forgives_a_line_that_the_writer_left():
    read = stream("1 1:1\n1 1:")
    answers = iter([False, False, True, True])
    blocks, error = drain(read, until=lambda: next(answers))
    assert error is None and labels_of(blocks) == [1]


def test_long_lines_take_linear_time():
    line = b"1 " + b" ".join(b"%d:1" % i for i in range(1, 300_001))
    ((X, _),) = SvmlightStream(io.BytesIO(line + b"\n")).blocks(10)
    assert X.shape == (1, 300_000) and X.nnz == 300_000

    class Bytewise(io.BytesIO):
        def read1(self, size=-1):
            return self.read(16)

    start = time.monotonic()
    error = drain(SvmlightStream(Bytewise(b"x" * 4_000_000)))[1]
    assert "in the middle of a line" in error and time.monotonic() - start < 5


@pytest.mark.slow
def test_memory_does_not_grow_with_the_stream():
    line = b"1 " + b" ".join(b"%d:0.25" % i for i in range(1, 60)) + b"\n# why\n"
    total = 3 << 20

    class Endless(io.RawIOBase):
        given = 0

        def read(self, size=-1):
            if self.given >= total:
                return b""
            self.given += len(line) * 20
            return line * 20

    read = SvmlightStream(Endless())
    tracemalloc.start()
    try:
        rows = sum(X.shape[0] for X, _ in read.blocks(20))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows * len(line) >= total and peak < total / 10


@pytest.mark.parametrize("line", [b"1 1:1_0", b"1_0 1:1", b"9007199254740993 1:1"])
def test_numbers_that_would_become_others_are_refused(line):
    stream = SvmlightStream(io.BytesIO(b"1 1:1 # a_b\n1 qid:a_b 1:1\n" + line + b"\n"))
    blocks = stream.blocks(10)
    assert len(next(blocks)[1]) == 2
    with pytest.raises(InputError, match="standard input:3: "):
        next(blocks)
