"""Parts as one data set: the same as one file, in memory or on local disk, and what is refused."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import write

from svmkit.data import Storage, gather, gather_blocks, load
from svmkit.data.places.sources import several
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError
from svmkit.runtime import mapping

DISK, MEMORY = Storage(most=100), Storage(most=1 << 30)


def sparse_rows(n=60, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, 0.2, format="csr", random_state=seed, data_rvs=rng.standard_normal)
    X = X.tolil()
    X[:, d - 1] = 0.5  # the last column occurs in each part
    return sp.csr_array(X), rng.choice([-1, 1], n)


def svmlight(X, y, first=1):
    lines = []
    for i, label in enumerate(y):
        lo, hi = X.indptr[i], X.indptr[i + 1]
        cells = (f"{c + first}:{float(v)!r}" for c, v in zip(X.indices[lo:hi], X.data[lo:hi], strict=True))
        lines.append(f"{label} {' '.join(cells)}\n")
    return "".join(lines)


def table(X, y, header="a,b,c,y"):
    rows = ("".join(f"{float(v)!r}," for v in row) + f"{label}\n" for row, label in zip(X, y, strict=True))
    return header + "\n" + "".join(rows)


def same(data, other):
    assert data.X.shape == other.X.shape and np.array_equal(data.y, other.y) and data.y.dtype == other.y.dtype
    assert data.fingerprint() == other.fingerprint()


@pytest.mark.parametrize("storage", [MEMORY, DISK])
@pytest.mark.parametrize("first", [0, 1])
def test_parts_of_svmlight_are_one_file(tmp_path, storage, first):
    X, y = sparse_rows()
    whole = write(tmp_path / "whole.svm", svmlight(X, y, first))
    paths = [write(tmp_path / f"{k}.svm", svmlight(X[k : k + 20], y[k : k + 20], first)) for k in (0, 20, 40)]
    data = gather(paths, storage=storage)
    same(data, load(whole))
    assert mapping.is_mapped(data.X) == (storage is DISK)


def test_an_index_0_in_one_part_counts_in_all(tmp_path):
    X, y = sparse_rows()
    one = write(tmp_path / "1.svm", svmlight(X[:30], y[:30], 1))
    zero = write(tmp_path / "2.svm", svmlight(X[30:], y[30:], 0))
    assert "0:" in zero.read_text()
    both = write(tmp_path / "both.svm", one.read_text() + zero.read_text())
    same(gather([one, zero], storage=DISK), load(both))
    same(gather([zero, one]), load(write(tmp_path / "turned.svm", zero.read_text() + one.read_text())))


@pytest.mark.parametrize("storage", [MEMORY, DISK])
def test_parts_of_a_table_are_one_table(tmp_path, storage):
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 2, 60)]), rng.choice(["no", "yes"], 60)
    paths = [write(tmp_path / f"{k}.csv", table(X[k : k + 30], y[k : k + 30])) for k in (0, 30)]
    data, whole = gather(paths, storage=storage), load(write(tmp_path / "whole.csv", table(X, y)))
    same(data, whole)
    assert data.encoding == whole.encoding and data.flags.tolist() == whole.flags.tolist() == [False, False, True]


def test_labels_that_are_text_in_some_rows_only(tmp_path, monkeypatch):
    monkeypatch.setattr("svmkit.data.parts.decoders._CELLS", 12)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), ["1"] * 10 + ["b"] * 10
    path = write(tmp_path / "mixed.csv", table(X, y))
    other = write(tmp_path / "other.csv", table(X, ["b", "c"] * 10))
    assert gather([path], storage=DISK).y.tolist() == y
    data = gather([other, path], storage=DISK)
    assert data.y.tolist() == ["b", "c"] * 10 + y and np.array_equal(data.X, np.vstack([X, X]))
    numbers = write(tmp_path / "numbers.csv", table(X, [0, 1] * 10))
    with pytest.raises(InputError, match=r"mixed\.csv: its labels are text, but numbers in .*numbers\.csv"):
        gather([numbers, path], storage=DISK)


def test_dense_and_sparse_parts(tmp_path):
    X, y = sparse_rows()
    sparse = write(tmp_path / "1.svm", svmlight(X[:30], y[:30]))
    np.savez(tmp_path / "2.npz", X=X[30:].toarray(), y=y[30:])
    data = gather([sparse, tmp_path / "2.npz"], storage=DISK)
    assert np.array_equal(data.X if isinstance(data.X, np.ndarray) else data.X.toarray(), X.toarray())
    assert mapping.is_mapped(data.X)


def test_blocks(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)).astype(np.float32), rng.choice(["u", "v"], 50)
    data = gather_blocks(((X[k : k + 7], y[k : k + 7]) for k in range(0, 50, 7)), storage=DISK)
    assert data.X.dtype == np.float32 and np.array_equal(data.X, X) and data.y.tolist() == y.tolist()
    assert not data.X.flags.writeable
    rows = sp.csr_array(np.where(X > 0.5, X, 0.0))
    data = gather_blocks([(rows[:20], y[:20]), (rows[20:], y[20:])], storage=DISK)
    assert (rows != data.X).nnz == 0
    with pytest.raises(InputError, match="X has 7 rows, but y has 3"):
        gather_blocks([(X[:7], y[:3])])
    with pytest.raises(InputError, match="block 2: has 3 feature columns, but block 1 has 4"):
        gather_blocks([(X[:7], y[:7]), (X[7:9, :3], y[7:9])])


def test_batches_of_arrow(tmp_path):
    pa = pytest.importorskip("pyarrow")
    X = np.arange(12.0).reshape(6, 2)
    whole = pa.table({"a": X[:, 0], "y": ["u", "v"] * 3, "b": X[:, 1]})
    data = gather_blocks(whole.to_batches(max_chunksize=4), label="y")
    assert np.array_equal(data.X, X) and data.y.tolist() == ["u", "v"] * 3
    last = gather_blocks(pa.table({"a": X[:, 0], "b": X[:, 1], "y": ["u", "v"] * 3}).to_batches())
    assert np.array_equal(last.X, X) and last.y.tolist() == ["u", "v"] * 3
    with pytest.raises(InputError, match="no column 'z': they have a, y, b"):
        gather_blocks(whole.to_batches(), label="z")


def test_arrays_are_mapped_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)).astype(np.float32), rng.integers(0, 2, 40)
    np.save(tmp_path / "X_train.npy", X)
    with pytest.raises(InputError, match=r"has no labels: save them as y_train\.npy beside it"):
        load(tmp_path / "X_train.npy")
    np.save(tmp_path / "y_train.npy", y)
    data = load(tmp_path / "X_train.npy", storage=Storage(most=100))
    assert isinstance(data.X.base, np.memmap) or isinstance(data.X, np.memmap)
    assert data.X.dtype == np.float32 and np.array_equal(data.X, X) and data.y.tolist() == y.tolist()
    whole = load(tmp_path / "X_train.npy")
    assert whole.X.dtype == np.float64 and np.array_equal(whole.X, X) and not mapping.is_mapped(whole.X)
    os.rename(tmp_path / "X_train.npy", tmp_path / "rows.npy")
    with pytest.raises(
        InputError, match=r"has no labels: save them as yrows.npy beside it \(and call this file Xrows.npy\)"
    ):
        load(tmp_path / "rows.npy")
    np.save(tmp_path / "X_train.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="never unpickled"):
        load(tmp_path / "X_train.npy")


def test_patterns_and_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = sparse_rows()
    os.mkdir("parts")
    for k in (0, 30):
        write(tmp_path / "parts" / f"{k}.svm", svmlight(X[k : k + 30], y[k : k + 30]))
    whole = load(write(tmp_path / "whole.svm", svmlight(X, y)))
    for source in ("parts", "parts/*.svm", tmp_path / "parts"):
        same(load(source), whole)
    assert several("whole.svm") is several("iris") is None
    os.mkdir("iris")  # a folder does not hide a set of that name
    assert load("iris").n_samples == 150
    with pytest.raises(InputError, match="no file matches"):
        load("parts/*.csv")
    expected = load("parts/*.svm", n_features=25)
    assert expected.X.shape == (60, 25)


def test_parts_whose_categories_differ_are_refused(tmp_path):
    """With holes each part is learnt as a whole."""
    same = write(tmp_path / "1.csv", "a,b,y\n1,u,0\n,v,1\n"), write(tmp_path / "2.csv", "a,b,y\n1,v,0\n2,u,1\n")
    os.mkdir(tmp_path / "other")
    write(tmp_path / "other" / "1.csv", "a,b,y\n1,u,0\n,v,1\n")
    write(tmp_path / "other" / "2.csv", "a,b,y\n1,v,0\n2,w,1\n")
    data = load(str(tmp_path / "*.csv"), holes=True)
    assert data.X.shape == (4, 3) and np.isnan(data.X[1, 0]) and data.X[2].tolist() == [1.0, 0.0, 1.0] and same
    with pytest.raises(InputError, match=r"2\.csv: its columns, or the categories in them, are not those of .*1\.csv"):
        load(tmp_path / "other", holes=True)


def test_a_buffer_that_is_filled_anew():
    X, y, seen = np.empty((5, 2)), np.empty(5, dtype=np.int64), []

    def blocks():
        for k in range(3):
            X[:], y[:] = k, k
            seen.append((X.copy(), y.copy()))
            yield X, y

    for storage in (MEMORY, DISK):
        data, seen = gather_blocks(blocks(), storage=storage), seen[-3:]
        assert np.array_equal(data.X, np.vstack([rows for rows, _ in seen]))
        assert data.y.tolist() == [0] * 5 + [1] * 5 + [2] * 5


def test_one_file_that_exceeds_the_limit_is_read_as_asked(tmp_path):
    text = table(np.arange(60.0).reshape(20, 3), [0, 1] * 10)
    (tmp_path / "wide.csv").write_bytes(text.encode("utf-16"))
    data = load(tmp_path / "wide.csv", reading=Reading(charset="utf-16"), storage=DISK)
    assert data.X.tolist() == np.arange(60.0).reshape(20, 3).tolist()
    np.savez(tmp_path / "holes.npz", X=np.full((20, 3), np.nan), y=[0, 1] * 10)
    assert np.isnan(load(tmp_path / "holes.npz", holes=True, storage=DISK).X).all()


BAD = {
    "nan.csv": ("a,b,c,y\n1,2,3,0\n1,2,nan,1\n", "nan.csv"),
    "inf.svm": ("1 1:inf\n", "inf.svm:1: .*not finite"),
    "unlabelled.csv": ("a,b,c,y\n1,2,3,0\n1,2,3,\n", "unlabelled.csv:3: .*has no label"),
    "narrow.csv": ("a,b,y\n1,2,0\n", "narrow.csv: has 2 feature columns, but .*good.csv has 3"),
    "renamed.csv": ("a,b,d,y\n1,2,3,0\n", "renamed.csv: has column 'd', which .*good.csv lacks"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused_is_named(tmp_path, name):
    text, words = BAD[name]
    good = write(tmp_path / "good.csv", "a,b,c,y\n1,2,3,0\n4,5,6,1\n")
    with pytest.raises(InputError, match=words) as caught:
        gather([good, write(tmp_path / name, text)], storage=DISK)
    assert "\n" not in str(caught.value)


def test_a_part_that_changes_while_it_is_read(tmp_path):
    X, y = sparse_rows()
    path = write(tmp_path / "a.svm", svmlight(X, y))

    def grow(at):
        if at.rows == 60:
            with open(path, "a") as file:
                file.write("1 1:1\n")

    with pytest.raises(InputError, match=r"a\.svm: has changed while it was read"):
        gather([path], storage=Storage(report=grow))


def test_progress(tmp_path):
    X, y = sparse_rows()
    paths = [write(tmp_path / f"{k}.svm", svmlight(X[k : k + 30], y[k : k + 30])) for k in (0, 30)]
    seen = []
    gather(paths, storage=Storage(report=seen.append))
    assert [(at.part, at.of, at.rows) for at in seen] == [(1, 2, 30), (2, 2, 60)] and seen[1].nbytes == X.nnz * 12


FULL = """
import sys, numpy as np
from svmkit.data import Storage, gather_blocks
from svmkit.errors import InputError
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    gather_blocks(((np.ones((1000, 50)), np.arange(1000) % 2) for _ in range(20)), storage=Storage(most=1000))
except InputError as error:
    print(error)
"""


@pytest.mark.posix
@pytest.mark.slow
def test_a_disk_without_room(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL], capture_output=True, text=True, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    assert done.stdout.startswith(f"{tmp_path}: has no room for the rows (File too large, after ") and done.stderr == ""
    assert "name another folder in TMPDIR" in done.stdout and not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to(tmp_path):
    with pytest.raises(InputError, match="nowhere: cannot be written to"):
        gather_blocks([(np.ones((10, 2)), [0, 1] * 5)], storage=Storage(most=1, folder=str(tmp_path / "nowhere")))
