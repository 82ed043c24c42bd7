"""The compiled reader of svmlight lines: numbers are those of `float`, bit by bit, and lines those of sklearn."""

from io import BytesIO

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from support.problems import write

from svmkit.data.formats import svmlight
from svmkit.data.formats.stream import SvmlightStream
from svmkit.data.formats.svmlight_loop import SLOW, parse_lines
from svmkit.errors import InputError

pytestmark = pytest.mark.usefixtures("alone")

UGLY = """
    0 -0 0.0 -0.0 00 +1 1. .5 -.5e-3 1e5 1E+5 1e-5 000123.4560e02 9007199254740992 9007199254740993 9007199254740995
    1e22 1e23 8.5e22 123456789012345678901234567890 0.1e-400 1e-400 4.9e-324 2.4703282292062327e-324 5e-324 1e-323
    2.2250738585072011e-308 2.2250738585072014e-308 1.7976931348623157e308 1.7976931348623158e308
    17976931348623157e292 0.000000000000000000000000000000000000001 1000000000000000000000000000000e-30
    9.5367431640625e-07 1.00000000000000011102230246251565404 1.00000000000000011102230246251565405
    12345678901234567890 7.2057594037927933e16 72057594037927945 0.30000000000000004 3e-5 6.0221e23
    18446744073709551615 18446744073709551616 9223372036854775807.5 0e999 0e-999 1e0000000000000000000000000001
    2.22507385850720138309e-308
"""


def bits(values):
    return np.asarray(values, dtype=np.float64).view(np.uint64).tolist()


def numbers(texts):
    """The numbers in bits as the loop reads them, as labels and as values."""
    lines = parse_lines("".join(f"{text} 7:{text}\r\n" for text in texts).encode())
    assert lines is not None and lines.counts.tolist() == [1] * len(texts) and set(lines.indices.tolist()) == {7}
    assert bits(lines.data) == bits(lines.labels)
    return bits(lines.data)


@pytest.mark.slow
def test_ugly_numbers():
    assert numbers(UGLY.split()) == bits([float(text) for text in UGLY.split()])


@pytest.mark.parametrize(
    "kind", ["repr", "%.6g", "%.17g", "%.18e", "%.25e", "%.3f", "%.20f", "any", "halfway", "short"]
)
def test_numbers_as_programs_write_them(kind):
    rng = np.random.default_rng(0)
    random = rng.integers(2**64, size=3000, dtype=np.uint64).view(np.float64)
    random = random[np.isfinite(random)]
    near = rng.normal(size=3000) * 10.0 ** rng.integers(-8, 9, 3000)
    texts = {
        "repr": lambda: [repr(x) for x in [*random.tolist(), *near.tolist()]],
        "any": lambda: [f"{rng.integers(10**18)}.{rng.integers(10**9)}e{rng.integers(-340, 290)}" for _ in range(3000)],
        "halfway": lambda: [f"{2**53 + 2 * k + 1}{'0' * int(rng.integers(3))}" for k in rng.integers(2**52, size=3000)],
        "short": lambda: [f"{rng.integers(1000)}e{rng.integers(-30, 30)}" for _ in range(3000)],
    }.get(kind, lambda: [kind % x for x in near.tolist()])()
    values = [float(text) for text in texts]
    for lo in range(0, len(texts), 1000):  # of which all may be left to Python
        assert numbers(texts[lo : lo + 1000]) == bits(values[lo : lo + 1000])


def test_few_numbers_are_left_to_python(monkeypatch):
    """Of numbers with 17 to 25 digits none but those near the middle of two floats, which are rare."""
    import builtins

    from svmkit.data.formats import svmlight_loop

    asked = []
    monkeypatch.setattr(svmlight_loop, "float", lambda text: asked.append(text) or builtins.float(text), raising=False)
    rng = np.random.default_rng(1)
    numbers([f"%.{digits}e" % x for x in rng.normal(size=500) for digits in (5, 16, 18, 24)])
    assert not asked
    numbers(["1e-320", "2"])
    assert asked == [b"1e-320", b"1e-320"]


PLAIN = [
    "1 1:1 2:2",
    "+1 3:.5\t4:1e3 \r",
    "-1 qid:7 1:1 # a:b 1:1",
    "  0.5 0:1 2147483646:2#no gap",
    "7",
    "7 # 1:1",
    "7#",
    "",
    "# 5 1:1",
    "3 qid:x_y#z",
    "3 00012:1",
]
ODD = [  # right or wrong, they are sklearn's and Python's to judge
    "1 2:1 2:1",
    "1 2:1 1:1",
    "1 1:",
    "1 :1",
    "1 1:1:1",
    "1 +1:1",
    "1 1:1x",
    "1 x",
    "x 1:1",
    "1 1:nan",
    "1 1:inf",
    "inf 1:1",
    "1 1:1e999",
    "1 1:0x10",
    "1 1:1_0",
    "1 1:--1",
    "1 1:1e",
    "1 1:e5",
    "1 1:.",
    "1 2147483647:1",
    "1 99999999999999999999:1",
    "1 1:1 qid:3",
    "1 qid:3\0#x 2 1:1",
    "1 qid:3\x0b1:1",
    "1\x0c1:1",
    "1,2 1:1",
    "1 1:1\0",
    "1 1:\u0663",
]


@pytest.mark.parametrize("end", ["\n", ""])
def test_lines_are_those_of_sklearn(end):
    for line in PLAIN:
        text = ("5 1:1\n" + line + end).encode()
        X, y = load_svmlight_file(BytesIO(text), zero_based=True)
        lines = parse_lines(text)
        assert lines is not None, line
        assert bits(lines.data) == bits(X.data) and lines.indices.tolist() == X.indices.tolist()
        assert lines.counts.tolist() == np.diff(X.indptr).tolist() and bits(lines.labels) == bits(y)


@pytest.mark.parametrize("line", ODD)
def test_unusual_lines_are_left_to_others(line):
    assert parse_lines(f"5 1:1\n{line}\n".encode()) is None


def test_too_many_slow_numbers_are_left_to_others():
    assert parse_lines(b"1 1:1e-320\n" * SLOW) is not None
    assert parse_lines(b"1 1:1e-320\n" * (SLOW + 1)) is None


def test_a_file_and_a_stream_are_the_same_by_either_parser(monkeypatch):
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.integers(3)} " + " ".join(f"{j}:{rng.normal()!r}" for j in np.flatnonzero(rng.random(30) < 0.3) + 1)
        for _ in range(500)
    ]
    text = "\n".join([*rows[:200], "# a comment", "", *rows[200:], "2 +7:1", "0 1:1e-320"])
    path, read = write("t.svm", text), {}
    for least in (0, 1 << 62):
        monkeypatch.setattr(svmlight, "COMPILED_FROM", least)
        monkeypatch.setattr(svmlight, "_BLOCK", 1000)
        X, y = svmlight.read_svmlight(path, None)
        parts = list(SvmlightStream(BytesIO(text.encode())).blocks(100))
        read[least] = bits(X.data), X.indices.tolist(), X.indptr.tolist(), y.tolist()
        assert bits(np.concatenate([part.data for part, _ in parts])) == bits(X.data)
        assert np.concatenate([labels for _, labels in parts]).tolist() == y.tolist()
    assert read[0] == read[1 << 62]


def test_a_wrong_line_is_named_by_either_parser(monkeypatch):
    monkeypatch.setattr(svmlight, "COMPILED_FROM", 0)
    for line in ("1 1:1 banana", "1 3:1 2:1", "1 1:inf", "nan 1:1", "1 1:1_0"):
        with pytest.raises(InputError, match=r"^.*t:18: "):
            svmlight.read_svmlight(write("t", "# a\n" + "1 1:1 5:2\n" * 16 + f"{line}\n" + "1 1:1\n"), None)


@pytest.mark.parametrize(
    "later",
    ["1 1:1 9:1\n" * 3, "1 0:1 2:1\n", "1 1:1\n" * 40, ""],
    ids=["wider", "from 0", "sparse in the whole", "dense in the whole"],
)
@pytest.mark.parametrize("n_features", [None, 9, 12])
@pytest.mark.parametrize("least", [0, 1 << 62])
def test_rows_that_begin_dense(monkeypatch, later, n_features, least):
    """Whatever the first block suggests, the storage is that of the whole."""
    monkeypatch.setattr(svmlight, "COMPILED_FROM", least)
    text = "1 1:1 2:0 3:3\n" * 8 + later
    path, read = write("t.svm", text), []
    for block in (20, 1 << 20):
        monkeypatch.setattr(svmlight, "_BLOCK", block)
        read.append(svmlight.read_svmlight(path, n_features)[0])
    want, _ = load_svmlight_file(BytesIO(text.encode()), zero_based="auto")
    width = max(want.shape[1], n_features or 0)
    is_dense = want.nnz >= 0.5 * want.shape[0] * width
    for X in read:
        assert isinstance(X, np.ndarray) == is_dense and X.shape == (want.shape[0], width)
        np.testing.assert_array_equal((X if is_dense else X.toarray())[:, : want.shape[1]], want.toarray())
        assert is_dense or X.nnz == want.nnz
