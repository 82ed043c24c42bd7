"""Parts of files, however the rows were dealt out, are the rows that one machine reads from one file."""

import gzip
import os
import pickle

import numpy as np
import pytest
from support.part_files import FORMATS, cut, numbers, options, rows, write
from support.refusals import refused
from svmkit_dask.parts.disk import DiskPart
from svmkit_dask.parts.facts import Summary, facts_of
from svmkit_dask.parts.part import MemoryPart
from svmkit_dask.parts.sources import FilePart, from_paths

from svmkit.data import load
from svmkit.data.prepare.features import is_sparse
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.reading import Reading
from svmkit.kernels.functions import RBF


def loaded(sources, cache=None, most=0):
    return [source.load(cache, most) for source in sources]


def dealt(sources, **given):
    return Summary([facts_of(source.load(None, 0), source.name) for source in sources], **given)


@pytest.mark.parametrize("density", [0.3, 0.9])
@pytest.mark.parametrize("form", FORMATS)
def test_dealt_out_rows_are_those_of_one_file(tmp_path, form, density):
    X, y = numbers(density=density, seed=len(form))
    whole = load(write(tmp_path, "whole", form, X, y), **options(form))
    sources = from_paths(
        [write(tmp_path, f"part{i}", form, X[at], y[at]) for i, at in enumerate(cut(len(y), 4))],
        Reading.from_options(options(form)),
    )
    sources = pickle.loads(pickle.dumps(sources))
    together = dealt(sources)
    assert together.offsets == (0, *np.cumsum([len(at) for at in cut(len(y), 4)]))
    assert (together.n_features, together.layout.is_sparse) == (whole.n_features, whole.is_sparse)
    np.testing.assert_array_equal(together.classes, np.unique(whole.y))
    for gamma in ("scale", "msd", "auto"):
        assert together.resolve(RBF(gamma)).gamma == pytest.approx(RBF(gamma).resolve(whole.X).gamma, rel=1e-12)
    for scale in ("standard", "maxabs"):
        fitted, scaled = Preprocessing.fit(whole.X, scale=scale, flags=whole.flags)
        found = together.preprocessing(scale)
        np.testing.assert_allclose(found.scaling.center, fitted.scaling.center, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found.scaling.scale, fitted.scaling.scale, rtol=1e-12)
        gamma = together.resolve(RBF(), found).gamma
        assert gamma == pytest.approx(RBF().resolve(scaled).gamma, rel=1e-12)

    want = whole.X.toarray() if is_sparse(whole.X) else whole.X
    for cache, kind in ((None, "memory"), (tmp_path / "cache", "disk")):
        parts = [source.with_layout(together.layout).load(cache, 0) for source in sources]
        np.testing.assert_array_equal(np.vstack([rows(part) for part in parts]), want)
        np.testing.assert_array_equal(np.concatenate([part.answers for part in parts]), whole.y)
        assert all(part.is_in_memory == (kind == "memory") for part in parts)
        for part, first in zip(parts, together.offsets, strict=False):
            some = np.random.default_rng(1).integers(0, part.n_rows, 9)
            taken = part.take(some)
            assert is_sparse(taken) == whole.is_sparse
            np.testing.assert_array_equal(taken.toarray() if whole.is_sparse else taken, want[first + some])


def test_index_0_in_one_part_shifts_the_columns_of_the_others(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2 3:4\n-1 2:1\n")
    (tmp_path / "b.svm").write_text("1 0:7 1:1\n")
    (tmp_path / "whole.svm").write_text("1 1:2 3:4\n-1 2:1\n1 0:7 1:1\n")
    sources = from_paths([tmp_path / "a.svm", tmp_path / "b.svm"])
    layout, whole = dealt(sources).layout, load(tmp_path / "whole.svm").X
    for cache in (None, tmp_path / "cache"):
        parts = [source.with_layout(layout).load(cache, 0) for source in sources]
        np.testing.assert_array_equal(np.vstack([rows(part) for part in parts]), whole.toarray())


def test_a_folder_a_pattern_and_a_list_name_parts(tmp_path, monkeypatch):
    for name in ("b.csv", "a.csv", "_SUCCESS", "README.md", ".hidden.csv"):
        (tmp_path / name).write_text("x,y\n1,0\n2,1\n")
    monkeypatch.chdir(tmp_path)
    want = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert [part.name for part in from_paths(str(tmp_path))] == want
    assert [part.name for part in from_paths("*.csv")] == want
    assert [part.name for part in from_paths(["b.csv", tmp_path / "a.csv"])] == want[::-1]
    refused(r"nothing\*\.csv: no file matches", from_paths, "nothing*.csv")
    refused("named twice", from_paths, ["a.csv", "*.csv"])
    refused("no parts are named", from_paths, [])
    refused("built-in set", from_paths, "iris")
    (tmp_path / "empty").mkdir()
    refused("folder without data files", from_paths, tmp_path / "empty")


def test_a_column_of_text_is_refused_with_its_part(tmp_path):
    (tmp_path / "p.csv").write_text("n,colour,y\n1,red,0\n2,blue,1\n3,red,0\n")
    part = FilePart(tmp_path / "p.csv", Reading())
    assert "p.csv: column 'colour' holds text" in str(refused("--drop colour", part.load, None, 0))
    left = FilePart(tmp_path / "p.csv", Reading(drop="colour")).load(None, 0)
    np.testing.assert_array_equal(left.X, [[1.0], [2.0], [3.0]])


UNREADABLE = {
    "missing.svm": (None, "missing.svm: no such file"),
    "cut.svm.gz": (gzip.compress(os.urandom(2000))[:1500], "cut.svm.gz: its compressed data is broken or cut short"),
    "junk.svm": (bytes(range(256)) * 20, "junk.svm: is binary"),
    "cut.parquet": (b"PAR1" + bytes(500), "cut.parquet: is no Parquet file"),
    "text.svm": (b"1 1:2\n1 1:x\n", "text.svm:2: not svmlight"),
    "short.csv": (b"a,b,y\n1,2,0\n1,2\n", "short.csv:3: has 2 fields"),
    "holes.csv": (b"a,b,y\n1,2,0\n,2,1\n", "holes.csv:3: 1 hole .*--impute is not available for parts"),
    "nan.svm": (b"1 1:nan\n", "nan.svm:1: the value"),
    "pickled.npz": (b"PK\x03\x04" + bytes(99), "pickled.npz: is no NPZ file"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_part_is_named_in_one_line(tmp_path, name):
    content, match = UNREADABLE[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for cache in (None, tmp_path / "cache"):
        message = str(refused(match, FilePart(tmp_path / name, Reading()).load, cache, 0))
        assert "\n" not in message
    assert not list(tmp_path.glob("cache/*"))


def test_a_part_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    (tmp_path / "p.svm").write_text("1 1:1\n")

    def closed(path, *_):  # root, who may run the tests, may read all
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("svmkit.data.formats.files.open", closed, raising=False)
    refused("p.svm: cannot be opened: Permission denied", FilePart(tmp_path / "p.svm", Reading()).load, None, 0)


def test_a_blank_file_is_a_part_without_rows(tmp_path):
    for name, text in (("a.svm", ""), ("b.svm", "# nothing\n\n"), ("c.csv", "x,y\n"), ("d.svm", "1 2:1\n-1 1:1\n")):
        (tmp_path / name).write_text(text)
    together = dealt(from_paths(tmp_path))
    assert (together.filled, together.n_rows, together.n_features) == ((3,), 2, 2)
    assert [note.partition(":")[0].rpartition("/")[2] for note in together.notes] == ["a.svm", "b.svm", "c.csv"]
    refused("no rows in any of 3 parts", dealt, from_paths([tmp_path / name for name in ("a.svm", "b.svm", "c.csv")]))


def test_a_table_in_pieces_is_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr("svmkit.data.parts.decoders._CELLS", 12)
    X, y = numbers(n=50, d=3)
    for form in ("csv label", "parquet"):
        path = write(tmp_path, "whole", form, X, y)
        part = FilePart(path, Reading()).load(tmp_path / "cache", 0)
        assert isinstance(part, DiskPart)
        np.testing.assert_array_equal(rows(part), X)
        np.testing.assert_array_equal(part.answers, y)
    late = "a,b,y\n" + "1,2,0\n" * 20 + "1,,1\n"
    (tmp_path / "late.csv").write_text(late)
    refused("late.csv:22: 1 hole", FilePart(tmp_path / "late.csv", Reading()).load, None, 0)
    (tmp_path / "mixed.csv").write_text("a,b,y\n" + "1,2,1.0\n" * 20 + "1,2,x\n")
    mixed = FilePart(tmp_path / "mixed.csv", Reading()).load(None, 0)
    np.testing.assert_array_equal(mixed.answers, load(tmp_path / "mixed.csv").y)
    (tmp_path / "dates.csv").write_text("d,b,y\n" + "2024-01-01,2,1\n" * 20 + "2024-01-03,2,0\n")
    dates = FilePart(tmp_path / "dates.csv", Reading()).load(None, 0)
    np.testing.assert_array_equal(dates.X, load(tmp_path / "dates.csv").X)


DISAGREE = {
    "columns": (
        "a,b,y\n1,2,0\n3,4,1\n",
        "a,b,c,y\n1,2,3,0\n4,5,6,1\n",
        "b.csv: has 3 feature columns, but .*a.csv has 2",
    ),
    "names": ("a,b,y\n1,2,0\n3,4,1\n", "a,c,y\n1,2,0\n4,5,1\n", "b.csv: has column 'c', which .*a.csv lacks"),
    "order": ("a,b,y\n1,2,0\n3,4,1\n", "b,a,y\n1,2,0\n4,5,1\n", "b.csv: has its columns in another order than .*a.csv"),
    "labels": (
        "a,b,y\n1,2,0\n3,4,1\n",
        "a,b,y\n1,2,x\n4,5,z\n",
        "b.csv: its labels are text .'x'., but numbers in .*a.csv",
    ),
    "one class": ("a,b,y\n1,2,0\n3,4,0\n", "a,b,y\n1,2,0\n4,5,0\n", "only one class .'0' in all 4 samples of 2 parts"),
    "fraction": ("a,b,y\n1,2,0\n3,4,1\n", "a,b,y\n1,2,0.5\n4,5,1\n", "b.csv: .*continuous"),
    "dates": ("a,b,y\n31/12/2024,2,0\n", "a,b,y\n12/31/2024,2,1\n", "b.csv: column 'a' holds mdy, but dmy in .*a.csv"),
}


@pytest.mark.parametrize("case", DISAGREE)
def test_parts_that_disagree_are_named(tmp_path, case):
    first, second, match = DISAGREE[case]
    (tmp_path / "a.csv").write_text(first)
    (tmp_path / "b.csv").write_text(second)
    refused(match, lambda: dealt(from_paths(tmp_path)).classes)


def test_a_part_without_a_header_matches_by_position(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    (tmp_path / "b.csv").write_text("5,6,0\n7,8,1\n9,1,1\n")
    together = dealt(from_paths(tmp_path))
    assert together.n_rows == 5 and together.encoding.columns == ("a", "b")


def test_memory_part_takes_any_storage():
    X, y = numbers()
    X.setflags(write=False)
    import scipy.sparse as sp

    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for given in (X, np.asfortranarray(X), X.astype(np.float32), X[:, ::-1][:, ::-1], wide, sp.csc_array(X)):
        part = MemoryPart(given, y)
        (_, block), *_ = part.blocks()
        want = given.toarray() if sp.issparse(given) else given
        np.testing.assert_array_equal(rows(part), want)
        assert block.indices.dtype == np.int32 if part.is_sparse else block.flags.c_contiguous
        assert part.dtype == given.dtype


def test_dense_and_sparse_parts_of_one_set_get_one_storage(tmp_path):
    for densities, sparse in (((0.9, 0.3), False), ((0.9, 0.1, 0.1), True)):
        folder = tmp_path / f"{len(densities)}"
        folder.mkdir()
        made = [numbers(d=8, density=share, seed=i) for i, share in enumerate(densities)]
        sources = from_paths([write(folder, f"p{i}", "sparse npz", *one) for i, one in enumerate(made)])
        layout = dealt(sources).layout
        assert layout.is_sparse == sparse
        parts = [source.with_layout(layout).load(None, 0) for source in sources]
        assert {part.is_sparse for part in parts} == {sparse}
        np.testing.assert_array_equal(np.vstack([rows(part) for part in parts]), np.vstack([X for X, _ in made]))
