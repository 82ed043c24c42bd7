"""svmlight files: plain and packed, index bases, padding, and broken lines."""

import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from support.data import PACK, dense, not_loaded
from support.problems import write

import svmkit.data.formats.svmlight
from svmkit.data import load
from svmkit.data.formats import svmlight
from svmkit.errors import InputError

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_svmlight_plain_and_packed(ending, newline):
    text = newline.join(["# made by hand", "+1 1:0.5 9:2 # note", "", "-1 qid:3 2:1e-3", "1 ", ""])
    data = load(write(f"t.svm{ending}", PACK[ending](text.encode())))
    want = np.zeros((3, 9))
    want[0, 0], want[0, 8], want[1, 1] = 0.5, 2, 1e-3
    np.testing.assert_array_equal(dense(data.X), want)
    assert data.X.format == "csr" and data.X.indices.dtype == data.X.indptr.dtype == np.int32
    assert isinstance(data.X, sp.csr_array) and data.X.has_sorted_indices
    np.testing.assert_array_equal(data.y, [1, -1, 1])
    assert data.y.dtype == np.int64 and data.name == "t"


def test_compression_is_told_by_content_too():
    assert load(write("packed", gzip.compress(b"1 1:2\n"))).X[0, 0] == 2


def test_svmlight_as_sklearn_writes_it():
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(0)
    for zero_based in (False, True):
        X = rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.3)
        X[0, 0] = X[0, 11] = 1e-300
        y = rng.integers(0, 3, 40)
        dump_svmlight_file(X, y, "t.svm", zero_based=zero_based)
        data = load("t.svm")
        np.testing.assert_allclose(dense(data.X), X, rtol=1e-15)
        np.testing.assert_array_equal(data.y, y)


def test_index_base():
    assert load(write("one", "1 3:1\n0 4:1\n")).n_features == 4
    assert load(write("zero", "1 3:1\n0 0:1\n")).n_features == 4
    np.testing.assert_array_equal(dense(load("zero").X), [[0, 0, 0, 1], [1, 0, 0, 0]])
    np.testing.assert_array_equal(dense(load("one").X), [[0, 0, 1, 0], [0, 0, 0, 1]])


def test_n_features_pads_or_refuses():
    write("t", "1 2:1\n0 3:1\n")
    assert load("t", n_features=7).X.shape == (2, 7)
    assert load("t", n_features=3).X.shape == (2, 3)
    not_loaded("has 3 features, but 2 are expected", "t", n_features=2)
    assert load(write("empty_rows", "1\n0\n"), n_features=4).X.shape == (2, 4)
    not_loaded("labels but no features", "empty_rows")


def test_dense_from_half_full_and_explicit_zeros():
    data = load(write("d", "1 1:0 2:3\n-1 1:1\n"))
    assert isinstance(data.X, np.ndarray)
    np.testing.assert_array_equal(data.X, [[0, 3], [1, 0]])
    data = load(write("s", "1 1:0 9:3\n-1 1:1\n"))
    assert data.X.nnz == 3 and data.describe()["density"] == 2 / 18


def test_float_labels():
    y = load(write("t", "0.5 1:1\n1 1:1\n")).y
    assert y.dtype == np.float64 and list(y) == [0.5, 1]


GOOD = "1 1:1 5:2\n" * 16


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("1 1:1 banana", "not svmlight: 'banana' is no index:value, expected 'label index:value ...'"),
        ("1 1:1 3:", "'3:'"),
        ("1 1:1 x:3", "'x:3'"),
        ("1 1:1 2:y", "'2:y'"),
        ("one 1:1", "'one' is no label"),
        ("1 3:1 2:1", "'2:1' comes after index 3"),
        ("1 3:1 3:1", "'3:1' comes after index 3"),
        ("1 -1:4", "'-1:4' has an index out of range"),
        ("1 99999999999999999999:1", "out of range"),
        ("1 4000000000:1", "out of range"),
        ("1,2 1:1", "several labels a sample"),
        ("nan 1:1", "the label is 'nan'"),
        ("inf 1:1", "the label is 'inf'"),
        ("1 1:1 2:nan", "the value of '2:nan' is not finite"),
        ("1 1:1 2:-inf", "the value of '2:-inf' is not finite"),
        ("1 1:" + "9" * 200 + "z", r"9\.\.\.'"),
    ],
)
@pytest.mark.parametrize("ending", PACK)
def test_broken_line_is_named(line, match, ending):
    path = write(f"t{ending}", PACK[ending](f"{GOOD}{line}\n{GOOD}".encode()))
    assert not_loaded(match, path).startswith(f"{path}:17: ")


def test_broken_line_counts_comments_and_blanks():
    not_loaded(r"^t:5: ", write("t", "# a\n\n1 1:1\n\n1 x\n"))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"# only\n# comments\n", "no samples"),
        (b"\x00\x01\x02\xff" * 50, "binary, not text"),
        ("1,2\n".encode("utf-16"), "binary, not text"),
        (b"\xff\xfe\xfd 1:2\n", "t:1: not svmlight"),
        (b"1 2 3\n4 5 6\n", "t:1: not svmlight: '2'"),
    ],
)
def test_rubbish(content, match):
    not_loaded(match, write("t", content))


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_damaged_compression(ending):
    lines = "".join(f"1 1:{value} 9:1\n" for value in np.random.default_rng(0).random(60_000))
    packed = PACK[ending](lines.encode())
    not_loaded("compressed data is broken or cut short", write(f"cut{ending}", packed[: len(packed) // 2]))
    not_loaded("compressed data is broken", write(f"fake{ending}", b"1 1:1\n"))
    not_loaded("compressed data is broken", write(f"cut.csv{ending}", packed[: len(packed) // 2]))
    not_loaded("is empty|cut short", write(f"none{ending}", b""))


def test_unreadable(tmp_path):
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("root may read everything, and elsewhere chmod does not forbid it")
    path = write("t", "1 1:1\n")
    path.chmod(0)
    not_loaded("cannot be opened: Permission denied", path)


def test_label_column_is_for_tables_only():
    not_loaded("CSV and Parquet only", write("t", "1 1:1\n"), label="y")
    not_loaded("CSV and Parquet only", "iris", label=0)


@pytest.mark.parametrize("share", [0.05, 0.7, 1.0], ids=["sparse", "most", "dense"])
@pytest.mark.parametrize("first", [0, 1], ids=["from 0", "from 1"])
def test_a_file_of_many_blocks_is_read_as_one(tmp_path, monkeypatch, share, first):
    """Blocks of a few lines with labels, comments and rows without entries, whatever their lengths."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 9)) * (rng.random((300, 9)) < share)
    X[0], y = np.arange(1, 10), rng.integers(0, 3, 300)
    lines = [
        f"{label} " + " ".join(f"{i + first}:{row[i]!r}" for i in range(9) if row[i]) + "  # a comment"
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    lines[100:100] = ["# only a comment", "", "#" + 300 * "-"]
    path = tmp_path / "many.svm"
    path.write_text("\n".join(lines))
    monkeypatch.setattr(svmlight, "_BLOCK", 100)
    found, labels = svmlight.read_svmlight(path, None)
    assert sp.issparse(found) == (share < 0.5)
    np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, X)
    np.testing.assert_array_equal(labels, y)
    path.write_text("\n".join([*lines, "1 3:1 2:1"]))
    with pytest.raises(InputError, match=r"many\.svm:304: .*ascend"):
        svmlight.read_svmlight(path, None)


@pytest.mark.parametrize("most", [None, 30])  # bytes of a block
def test_labels_that_float64_merges_stay_apart(monkeypatch, most):
    if most:
        monkeypatch.setattr(svmkit.data.formats.svmlight, "_BLOCK", most)
    labels = [2**53 + 1, 2**53, -(2**63), 2**63 - 1, 0, 2**53 + 1]
    text = "".join(f"{label} 1:{row} # a_b\n" for row, label in enumerate(labels, start=1))
    assert load(write("t.svm", text)).y.tolist() == labels
    table = "a,label\n" + "".join(f"{row},{label}\n" for row, label in enumerate(labels, start=1))
    np.testing.assert_array_equal(load(write("t.csv", table)).y, load("t.svm").y)


@pytest.mark.parametrize("most", [None, 10])
@pytest.mark.parametrize(
    "lines, wrong",
    [
        (["9007199254740994 1:1", "0.5 1:2", "9007199254740993 1:3"], 3),
        (["1 1:1", "18446744073709551615 1:2"], 2),
        (["0.5 1:1", "1e300 1:2", "-9007199254740993 1:2"], 3),
    ],
)
def test_labels_that_no_array_tells_apart_are_refused_with_their_line(monkeypatch, lines, wrong, most):
    if most:
        monkeypatch.setattr(svmkit.data.formats.svmlight, "_BLOCK", most)
    not_loaded(f"t.svm:{wrong}: the label .* has more digits than float64", write("t.svm", "\n".join(lines) + "\n"))


def test_whole_numbers_among_fractions_may_be_large():
    assert load(write("t.svm", "1e300 1:1\n0.5 1:2\n9007199254740992 1:3\n")).y.tolist() == [1e300, 0.5, 2.0**53]


@pytest.mark.parametrize("line", ["1 1:1_0", "1 1_0:1", "1_0 1:1", "1 1:1e1_0"])
def test_digits_with_underscores_are_no_numbers(line):
    not_loaded("t.svm:3: not svmlight: ", write("t.svm", f"1 1:1 # a_b\n2 qid:a_b 1:1\n{line}\n"))


PIECES = [b"1", b"-1", b"0.5", b"nan", b"1:1", b"2:3", b"3:1e-3", b"0:1", b"-1:2", b"4:inf", b":", b"5:", b":5"]
PIECES += [b"1,2"]
PIECES += [b"qid:3", b"qid:a", b"#", b"# c", b"", b"\t", b"\x0b", b"\n", b"\r\n", b"\x00", b"\xff", b"7_0:1", b"7:1_0"]
PIECES += [b"2147483647:1", b"2147483648:1", b"9223372036854775808:1", b"\xc2\xa0", b"\x1c", b"8:1\x00#", b"6:1:2"]
SOUND = [b"1", b"1:1", b"2:3", b"3:1", b"\n", b"# c"]


def test_lines_are_read_as_scikit_learn_reads_them():
    """Without its parser, which takes a second to import."""
    rng, readable = np.random.default_rng(0), 0
    for k in range(4000):
        chosen = rng.choice(np.array(SOUND if k % 2 else PIECES + SOUND, dtype=object), rng.integers(0, 15))
        block = b" ".join(chosen.tolist())
        found, expected = (parsed(read, block) for read in (svmlight._parse_plainly, scikit_learns))
        assert (found is None) == (expected is None), block
        if found is not None:
            readable += 1
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
    assert readable > 500


def parsed(read, block):
    try:
        return read(block)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def scikit_learns(block):
    X, y = load_svmlight_file(io.BytesIO(block), dtype=np.float64, zero_based=True)
    return X.data, X.indices, np.diff(X.indptr), y


@pytest.mark.parametrize("n_blocks", [1, 2])
def test_a_file_is_read_without_importing_scikit_learns_data_sets(n_blocks):
    n = 100 * n_blocks
    lines = "".join(f"{'+1' if k % 2 else '-1'} 1:{k} 2:0.5\n" for k in range(n))
    path = write("t.svm", lines)
    script = f"""
import sys
from svmkit.data.formats import svmlight
svmlight._BLOCK = {len(lines) // n_blocks + 1}
X, y = svmlight.read_svmlight(__import__("pathlib").Path({str(path)!r}), None)
print(X.shape, X.sum(), "sklearn.datasets" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"({n}, 2) {n * (n - 1) / 2 + n / 2} False"
