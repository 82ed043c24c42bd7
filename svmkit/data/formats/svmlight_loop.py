"""The compiled reader of svmlight lines: exact, several times as fast as Python's, for lines in the usual notation."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from svmkit.runtime.compiling import njit

LEAST, MOST = -342, 308  # decimal exponents beyond which numbers of 64 bits are certainly 0 or infinite
LARGEST = np.iinfo(np.int32).max - 1  # of indices
SLOW = 1 << 12  # numbers of a block that may be left to Python; a block with more of them is left to it as a whole

ZERO, NINE, TAB, NEWLINE, RETURN, SPACE, COMMENT, PLUS, MINUS, POINT, COLON = map(ord, "09\t\n\r #+-.:")
LOW = np.uint64(0xFFFFFFFF)
HALF, ONE, TEN, TOP = np.uint64(32), np.uint64(1), np.uint64(10), np.uint64(63)
EXACT, FRACTION = np.uint64(1 << 53), np.uint64((1 << 52) - 1)


class Lines(NamedTuple):
    """The contents of some lines.

    Attributes
    ----------
    data : ndarray of shape (n_entries,), float64
        The values, of one row after the other.
    indices : ndarray of shape (n_entries,), int32
        Their indices, as written.
    counts : ndarray of shape (n_rows,), int64
        The number of entries of each row.
    labels : ndarray of shape (n_rows,), float64
        The labels.

    Examples
    --------
    >>> from svmkit.data.formats.svmlight_loop import parse_lines
    >>> lines = parse_lines(b"+1 1:0.5 3:2  # two entries")
    >>> lines.data.tolist(), lines.indices.tolist(), lines.counts.tolist(), lines.labels.tolist()
    ([0.5, 2.0], [1, 3], [2], [1.0])
    """

    data: np.ndarray
    indices: np.ndarray
    counts: np.ndarray
    labels: np.ndarray


def parse_lines(text: bytes) -> Lines | None:
    """Return the contents of svmlight lines, each number as `float` reads it; None if a line is invalid or unusual.

    Parameters
    ----------
    text : bytes
        Whole lines; the newline of the last one may be missing.

    Returns
    -------
    Lines or None
        None also stands for valid lines in an unusual notation: indices with a sign, for instance.

    Examples
    --------
    >>> from svmkit.data.formats.svmlight_loop import parse_lines
    >>> parse_lines(b"1 3:1 2:1") is None
    True
    """
    if not text.endswith(b"\n"):
        text += b"\n"
    n_rows, n_entries = text.count(b"\n"), text.count(b":")
    numbers, indices = np.empty(n_rows + n_entries), np.empty(n_entries, dtype=np.int32)
    counts, slow = np.empty(n_rows, dtype=np.int64), np.empty((SLOW, 3), dtype=np.int64)
    out = numbers, numbers.view(np.uint64), indices, counts, slow
    rows, entries, n_slow = read_lines(np.frombuffer(text, np.uint8), powers(), *out)
    if rows < 0:
        return None
    for at, first, last in slow[:n_slow].tolist():
        numbers[at] = float(text[first:last])
    lines = Lines(numbers[n_rows : n_rows + entries], indices[:entries], counts[:rows], numbers[:rows])
    return lines if np.isfinite(lines.data).all() and np.isfinite(lines.labels).all() else None


@cache
def powers() -> np.ndarray:
    """Return the first 128 bits of the powers of five from `LEAST` to `MOST`, uint64 (n, 2): the upper half first.

    They are truncated, but those from -27 to -1 rounded up (Lemire, Number parsing at a gigabyte per second, Software:
    Practice and Experience 51, 2021, section 5).
    """
    out = np.empty((MOST - LEAST + 1, 2), dtype=np.uint64)
    for exponent in range(LEAST, MOST + 1):
        power = 5 ** abs(exponent)
        size = power.bit_length()
        if exponent >= 0:
            bits = power << 128 - size if size <= 128 else power >> size - 128
        else:
            bits = (1 << size + 127) // power + (exponent >= -27)
        out[exponent - LEAST] = bits >> 64, bits & 0xFFFFFFFFFFFFFFFF
    return out


@njit(nogil=True, cache=True)
def multiply(a, b):
    """Return the upper and the lower 64 bits of a product of numbers of 64 bits."""
    a0, a1, b0, b1 = a & LOW, a >> HALF, b & LOW, b >> HALF
    low, left, right = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> HALF) + (left & LOW) + (right & LOW)
    return a1 * b1 + (left >> HALF) + (right >> HALF) + (middle >> HALF), (middle << HALF) | (low & LOW)


@njit(nogil=True, cache=True)
def round_decimal(digits, exponent, powers):
    """Return the bits of the float64 nearest to digits * 10**exponent; 0 if it is not normal or not certain.

    Lemire, Number parsing at a gigabyte per second, algorithm 1, with the shorter test of Mushtak and Lemire, Fast
    number parsing without fallback, Software: Practice and Experience 53, 2023.
    """
    if exponent < LEAST or exponent > MOST:
        return np.uint64(0)
    shift = 0
    while not digits >> TOP:
        digits <<= ONE
        shift += 1
    high, low = multiply(digits, powers[exponent - LEAST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = multiply(digits, powers[exponent - LEAST, 1])
        low += more
        if low < more:
            high += ONE
    upper = high >> TOP
    cut = upper + np.uint64(9)
    mantissa = high >> cut
    binary = ((217706 * exponent) >> 16) + 63 + np.int64(upper) - shift + 1023
    if low <= ONE and -4 <= exponent <= 23 and mantissa & np.uint64(3) == ONE and mantissa << cut == high:
        mantissa ^= ONE  # halfway between two numbers: the even one
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    if mantissa >> np.uint64(53):
        mantissa >>= ONE
        binary += 1
    if binary <= 0 or binary >= 2047:
        return np.uint64(0)
    return (np.uint64(binary) << np.uint64(52)) | (mantissa & FRACTION)


@njit(nogil=True, cache=True)
def read_number(text, at, powers, numbers, bits, k):
    """Read the number that begins at `at` into place k.

    Return where it ends, negated if Python has to read it, or 0 if it is not a number. `bits` are those of `numbers`.

    Parameters
    ----------
    text, at, powers, numbers, bits, k
        As for `read_lines`, the place of the first character, and that of the number.
    """
    is_negative = text[at] == MINUS
    if is_negative or text[at] == PLUS:
        at += 1
    digits, exponent, length, seen, cut, has_point = np.uint64(0), 0, 0, 0, 0, False
    while True:
        digit = np.int64(text[at]) - ZERO
        if 0 <= digit <= 9:
            seen += 1
            if length < 19:
                digits = digits * TEN + np.uint64(digit)
                length += digits != 0
                exponent -= has_point
            else:
                if digit > 0:
                    cut = 1
                exponent += not has_point
        elif text[at] == POINT and not has_point:
            has_point = True
        else:
            break
        at += 1
    if not seen:
        return 0
    if text[at] | 32 == 101:  # e or E
        at += 1
        sign = -1 if text[at] == MINUS else 1
        if sign < 0 or text[at] == PLUS:
            at += 1
        power, seen = 0, 0
        while ZERO <= text[at] <= NINE:
            if power < 100000:
                power = 10 * power + text[at] - ZERO
            at += 1
            seen += 1
        if not seen:
            return 0
        exponent += sign * power
    if text[at] not in (SPACE, NEWLINE, TAB, RETURN, COMMENT):
        return 0
    if cut == 0 and -22 <= exponent <= 22 and digits <= EXACT:
        size = np.float64(digits)
        size = size / TENS[-exponent] if exponent < 0 else size * TENS[exponent]
        numbers[k] = -size if is_negative else size
        return at
    if digits == 0:
        numbers[k] = -0.0 if is_negative else 0.0
        return at
    found = round_decimal(digits, exponent, powers)
    if found == 0 or (cut != 0 and found != round_decimal(digits + ONE, exponent, powers)):
        return -at
    bits[k] = found | (np.uint64(is_negative) << TOP)
    return at


TENS = np.array([float(10**k) for k in range(23)])


@njit(nogil=True, cache=True)
def skip_word(text, at):
    """Return where a word ends, at the latest at an unusual character, with which no number begins."""
    while text[at] > SPACE and text[at] != COMMENT:
        at += 1
    return at


@njit(nogil=True, cache=True)
def skip_gap(text, at):
    """Return where the next word of a line begins, or the position of its newline."""
    while text[at] == SPACE or text[at] == TAB or text[at] == RETURN:
        at += 1
    if text[at] == COMMENT:
        while text[at] != NEWLINE:
            at += 1
    return at


@njit(nogil=True, cache=True)
def read_lines(text, powers, numbers, bits, indices, counts, slow):
    """Read lines, the last of which has its newline, and return the numbers of rows, entries and slow numbers; -1 if a
    line is unusual.

    Parameters
    ----------
    text, powers : ndarray of uint8, and what `powers` returns
        The lines, and the powers of five.
    numbers, bits : ndarray of float64 and uint64, one in memory
        Filled with the labels and, after the place of the last possible one, the values.
    indices, counts : ndarray
        Filled with the indices of the entries and the number of entries of each row.
    slow : ndarray of int64, shape (n, 3)
        Filled with the places of numbers that Python has to read, and where they begin and end.
    """
    at, row, entry, n_slow, base = 0, 0, 0, 0, len(counts)
    while at < len(text):
        at = skip_gap(text, at)
        if text[at] == NEWLINE:
            at += 1
            continue
        previous, place, begin = -1, row, entry
        while True:
            first = at
            at = read_number(text, at, powers, numbers, bits, place)
            if at < 0:
                if n_slow == len(slow):
                    return -1, 0, 0
                at = -at
                slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = place, first, at
                n_slow += 1
            if at == 0:
                return -1, 0, 0
            at = skip_gap(text, at)
            if place < base and text[at] == 113 and text[at + 1] == 105 and text[at + 2] == 100 and text[at + 3] == 58:
                at = skip_gap(text, skip_word(text, at))  # qid:
            if text[at] == NEWLINE:
                break
            index, first = 0, at
            while ZERO <= text[at] <= NINE and index <= LARGEST:
                index = 10 * index + text[at] - ZERO
                at += 1
            if at == first or text[at] != COLON or index <= previous or index > LARGEST:
                return -1, 0, 0
            indices[entry], previous, place = index, index, base + entry
            entry += 1
            at += 1
        counts[row] = entry - begin
        row += 1
        at += 1
    return row, entry, n_slow
