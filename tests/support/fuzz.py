"""What the fuzzing tests share: inputs near a sample, and what is held of a reader that is given them."""

import os
import signal
import time
import tracemalloc
from contextlib import contextmanager
from copy import deepcopy

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from svmkit.errors import SvmkitError

INPUTS = int(os.environ.get("SVMKIT_FUZZ", "200"))
HANG, MEMORY = 20, 256 << 20  # seconds and bytes that no small file may take
SLOWEST: dict[str, tuple[float, str]] = {}

TOKENS = [
    b"1e999", b"-1e999", b"nan", b"inf", b"-0", b"0x1p4", b"1_0", b"9223372036854775808", b"-1", b"2147483647",
    b"2147483648", b"0:1", b"1:1", b"1:1 1:2", b"-3:1", b"9223372036854775808:1", b"2147483647:1", b"1:", b":1", b"::",
    b"qid:1", b"#", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b'"', b'""', b"'", b"\r", b"\r\n", b"\n", b"\n\n",
    b"\t", b",", b";", b",,,,", b"label", b"?", b"NA", b"../../x", b"/dev/zero", b"~", b"*a", b"&a", b"<<: ",
    b"!!python/object:os.system ", b"!!binary ", b"[", b"]", b"{", b"}", b"- ", b"? ", b": ", b"|", b">", b"%", b"@",
    b"`", b"2001-01-01", b"1:1:1:1", b"0xffffffffffff", b"0o7", b"true", b"null", b"[]", b"{}", b"1" * 400, b"a" * 5000,
    b"\x80\x04.", b"PK\x03\x04", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"F64", b"I64", b"U8", b"shape", b"[0]",
    b"[18446744073709551615]", b"<U999999999", b"|O", b"n_features", b"classes_dtype", b"-1e-999", b"1e308",
]  # fmt: skip


def mutated(samples):
    """Bytes near one of the samples, or of no kind at all."""
    edit = st.tuples(
        st.sampled_from(("flip", "drop", "token", "repeat", "copy")),
        st.integers(0, 1 << 16),
        st.integers(0, 1 << 16),
        st.one_of(st.sampled_from(TOKENS), st.binary(min_size=1, max_size=6)),
    )

    def apply(drawn):
        raw, edits = bytearray(drawn[0]), drawn[1]
        for how, at, size, token in edits:
            at, size = at % (len(raw) + 1), 1 + size % 40
            if how == "flip" and at < len(raw):
                raw[at] ^= 1 << size % 8
            elif how == "drop":
                del raw[at : at + 1 + size % 6]
            elif how == "token":
                raw[at : at + (size % 2) * len(token)] = token
            elif how == "repeat":
                raw[at:at] = bytes(raw[at : at + size]) * (size % 9)
            else:
                raw[at:at] = raw[size : size + 30]
        return bytes(raw)

    near = st.tuples(st.sampled_from(samples), st.lists(edit, min_size=1, max_size=3)).map(apply)
    return st.one_of(near, near, near, near, st.binary(max_size=300))


HOSTILE = [
    None, True, -1, 0, 1, 2, 3, 2**31, 2**63, 2**64, 10**300, 1e308, -1e-308, float("nan"), float("inf"), "", "1e999",
    "nan", "nan * msd", "inf", "scale", "rbf", "linear", "precomputed", "../../x", "/dev/zero", "/", "~", "\x00",
    "x" * 9000, "<U99", "<U999999999", "|O", "<M8", "O", "uniform:999999999999", "gap:1e-3", "iter:0", [], {}, [0],
    "first 99999999999999999999", [None], [1, 1], ["a", "b"], {"": None}, {"name": "rbf", "gamma": 1e999}, "uniform:",
    {"hold_out": "nan"}, {"name": ["rbf"]}, {"a": {"a": {}}}, "2 * msd", "1e400 * msd",
]  # fmt: skip


def places(value, path=()):
    """The path to each value in nested lists and maps."""
    yield path
    for key, below in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from places(below, (*path, key))


def exchanged(values):
    """JSON-like values with one to three of the values in them exchanged, dropped or wrapped in a list."""
    edit = st.tuples(
        st.integers(0, 999), st.sampled_from(("exchange", "exchange", "drop", "wrap")), st.sampled_from(HOSTILE)
    )

    def apply(drawn):
        value = {"": deepcopy(drawn[0])}
        for at, how, other in drawn[1]:
            *path, key = (paths := list(places(value))[1:])[at % len(paths)]
            target = value
            for step in path:
                target = target[step]
            if how == "drop" and path:
                del target[key]
            else:
                target[key] = [target[key]] if how == "wrap" else deepcopy(other)
        return value[""]

    return st.tuples(st.sampled_from(values), st.lists(edit, min_size=1, max_size=3)).map(apply)


@contextmanager
def watched(name, content):
    """Fails for a hang, for memory, and remembers the slowest input."""

    def wake(number, frame):
        raise AssertionError(f"{name}: not done after {HANG} seconds with {content!r}")

    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(HANG)
    tracemalloc.start()
    began = time.perf_counter()
    try:
        yield
    finally:
        spent = time.perf_counter() - began
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        SLOWEST[name] = max(SLOWEST.get(name, (0.0, "")), (spent, repr(content[:200])))
    assert peak < MEMORY, f"{name}: {peak} bytes for {content!r}"


def fuzzed(name, inputs, read, file, finished=bytes, share=1):
    """`read(file)` for INPUTS / share of the inputs, a strategy: it returns or raises SvmkitError in one line.

    finished : from an input to the file; share : by how many tests a reader's inputs are shared
    """
    count = -(-INPUTS // share)
    ends = {"returned": 0, "refused": 0}

    @seed(int(os.environ.get("SVMKIT_FUZZ_SEED", "0")))
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(inputs)
    def one(changed):
        content = finished(changed)
        file.write_bytes(content)
        with watched(name, content):
            try:
                read(file)
                ends["returned"] += 1
            except SvmkitError as error:
                assert "\n" not in str(error) and str(error)
                ends["refused"] += 1

    one()
    assert os.listdir(file.parent) == [file.name]  # nothing beside it, and nothing in the folder above
    print(f"\n{name}: {ends}, slowest {SLOWEST[name][0]:.2f} s for {SLOWEST[name][1]}")
    assert ends["returned"] + ends["refused"] >= count and ends["refused"] > 0.05 * count
