"""NPZ archives piece by piece: the same rows as a whole, and archives that have to be read whole."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.refusals import refused

from svmkit.data import Storage, gather, load
from svmkit.data.formats import npz
from svmkit.data.parts import decoders

DISK = Storage(most=100)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(57, 4)), RNG.integers(0, 2, 57)
S = sp.random(57, 30, 0.2, format="csr", random_state=1)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(decoders, "_CELLS", 40)


def saved(folder, X, y=Y, save=np.savez, **more):
    path = folder / "rows.npz"
    if sp.issparse(X):
        more |= {"format": X.format, "shape": X.shape, "data": X.data, "indices": X.indices, "indptr": X.indptr}
        save(path, y=y, **more)
    else:
        save(path, X=X, y=y)
    return path


def counted(path):
    """The numbers of rows of the pieces."""
    found = npz.read_pieces(path, 320)
    return [X.shape[0] for X, _ in found.rows] if found else None


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(
    "rows", [X, X.astype(np.float32), RNG.integers(0, 9, (57, 4)), S, S.astype(np.float32), sp.csr_array(X)], ids=str
)
def test_pieces_make_up_what_is_read_whole(tmp_path, rows, save):
    path = saved(tmp_path, rows, save=save)
    whole, parts = load(path), gather([path], storage=DISK)
    assert sum(counted(path)) == 57 and max(counted(path)) <= 20
    assert type(whole.X).__name__.startswith("csr") == sp.issparse(parts.X) and parts.X.dtype == whole.X.dtype
    one, other = (data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X) for data in (whole, parts))
    assert np.array_equal(one, other) and np.array_equal(whole.y, parts.y)


def test_text_labels_stay_text(tmp_path):
    path = saved(tmp_path, X, np.where(Y > 0, "up", "down"))
    assert gather([path], storage=DISK).y.tolist() == load(path).y.tolist()


def test_unordered_rows_and_empty_ones(tmp_path):
    rows = S.copy()
    rows.data[:] = 1.0
    turned = sp.csr_array((rows.data, rows.indices[::-1].copy(), rows.indptr), shape=rows.shape)
    turned.has_sorted_indices = False
    empty = sp.csr_array(sp.vstack([turned, sp.csr_array((3, 30))]))
    path = saved(tmp_path, empty, np.append(Y, [0, 1, 0]))
    assert np.array_equal(gather([path], storage=DISK).X.toarray(), load(path).X.toarray())


@pytest.mark.parametrize(
    "rows", [np.asfortranarray(X), sp.csc_array(S), sp.coo_array(S)], ids=["columns", "csc", "coo"]
)
def test_what_is_not_stored_by_rows_is_read_whole(tmp_path, rows):
    if not sp.issparse(rows) or rows.format == "csc":
        path = saved(tmp_path, rows)
    else:
        path = tmp_path / "rows.npz"
        np.savez(path, format="coo", shape=rows.shape, data=rows.data, row=rows.row, col=rows.col, y=Y)
    assert counted(path) is None
    gathered, whole = (data.X.toarray() if sp.issparse(data.X) else data.X for data in (gather([path]), load(path)))
    assert np.array_equal(gathered, whole)


def test_what_is_wrong_is_one_line(tmp_path):
    path = saved(tmp_path, X, Y[:-1])
    refused(["y has shape (56,)", "57 rows"], gather, [path], storage=DISK)
    bad = sp.csr_array(S)
    bad.indices[-1] = 99
    path = saved(tmp_path, bad)
    refused([str(path), "rows"], gather, [path], storage=DISK)
    hole = X.copy()
    hole[50, 2] = np.nan
    path = saved(tmp_path, hole)
    refused(["row 51"], gather, [path], storage=DISK)
    path = saved(tmp_path, X, save=np.savez_compressed)
    raw = bytearray(path.read_bytes())
    raw[200:260] = bytes(60)
    path.write_bytes(raw)
    refused([str(path)], gather, [path], storage=DISK)
