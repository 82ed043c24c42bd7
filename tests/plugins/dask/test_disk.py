"""Decoded rows on local disk are the rows, complete or not there, and bounded in memory."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from support.part_files import header, numbers, rows, write
from support.refusals import refused
from svmkit_dask.parts import sources
from svmkit_dask.parts.disk import DiskPart, LostCache, Writer
from svmkit_dask.parts.part import MemoryPart
from svmkit_dask.parts.sources import FilePart

from svmkit.data.parts import decoders
from svmkit.data.prepare.reading import Reading

FORMS = ["svm", "npz"]  # sparse and dense rows on disk


@pytest.fixture(params=FORMS)
def source(tmp_path, request):
    return FilePart(write(tmp_path, "part", request.param, *numbers(n=200)), Reading())


def folder_of(cache):
    (folder,) = cache.iterdir()
    return folder


def test_blocks_of_any_size_and_any_rows_are_those_in_memory(tmp_path, source, monkeypatch):
    part, want = source.load(tmp_path / "cache", 0), rows(source.load(None, 0))
    assert isinstance(part, DiskPart)
    for most in (100, 400, 64 << 20):
        monkeypatch.setattr("svmkit_dask.parts.part.BLOCK", most)
        np.testing.assert_array_equal(rows(part), want)
        widest = max(X.data.nbytes for _, X in part.blocks())
        assert widest <= max(most, want[0].nbytes)
    rng = np.random.default_rng(0)
    for some in ([], [3], np.arange(200), rng.permutation(200), [7, 7, 8, 9, 5, 199, 0], rng.integers(0, 200, 500)):
        some = np.array(some, dtype=np.int64)
        taken = part.take(some)
        np.testing.assert_array_equal(taken.toarray() if part.is_sparse else taken, want[some])


def test_cuts_cover_all_rows_once():
    indptr = np.cumsum([0, 3, 0, 0, 50, 1, 1, 0, 9])
    for given in (None, indptr):
        for most in (None, 1, 3):
            found = list(MemoryPart(np.zeros((8, 2)), np.zeros(8))._cuts(given, most))
            assert [lo for lo, _ in found] == [0, *(hi for _, hi in found[:-1])] and found[-1][1] == 8
            assert all(0 < hi - lo <= (most or 8) for lo, hi in found)


@pytest.mark.parametrize("fits", [0, 1 << 30])
def test_decoded_rows_are_used_again_as_long_as_the_file_is_the_same(tmp_path, source, fits, monkeypatch):
    cache = tmp_path / "cache"
    want = rows(source.load(cache, fits))
    with monkeypatch.context() as patch:
        patch.setattr(sources, "decode", lambda *_: pytest.fail("decoded again"))
        np.testing.assert_array_equal(rows(source.load(cache, 0)), want)
        is_in_memory = source.load(cache, 1 << 30)
        assert isinstance(is_in_memory, MemoryPart)
        np.testing.assert_array_equal(rows(is_in_memory), want)
    state = source.path.stat()
    os.utime(source.path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    source.load(cache, 0)
    assert len(list(cache.iterdir())) == 2


def _flip(folder):
    file = max(folder.iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _shorten(folder):
    file = folder / ("rows" if (folder / "rows").exists() else "indices")
    os.truncate(file, file.stat().st_size - 8)


DAMAGE = {
    "a bit": _flip,
    "cut short": _shorten,
    "no header": lambda folder: (folder / "header.json").unlink(),
    "no JSON": lambda folder: (folder / "header.json").write_text("{"),
    "no answers": lambda folder: (folder / "answers").unlink(),
    "empty": lambda folder: [path.unlink() for path in folder.iterdir()],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_is_decoded_again(tmp_path, source, damage):
    cache = tmp_path / "cache"
    want = rows(source.load(cache, 0))
    DAMAGE[damage](folder_of(cache))
    found = source.load(cache, 0)
    np.testing.assert_array_equal(rows(found), want)
    assert header(folder_of(cache))["n_rows"] == 200


@pytest.mark.parametrize("damage", ["cut short", "empty"])
def test_rows_that_vanish_while_they_are_used_are_decoded_again(tmp_path, source, damage):
    cache = tmp_path / "cache"
    part, want = source.load(cache, 0), rows(source.load(None, 0))
    DAMAGE[damage](folder_of(cache))
    np.testing.assert_array_equal(rows(part), want)
    shutil.rmtree(cache)
    taken = part.take(np.array([3, 1]))
    np.testing.assert_array_equal(taken.toarray() if part.is_sparse else taken, want[[3, 1]])
    shutil.rmtree(cache)
    source.path.unlink()
    refused("no such file", rows, part)
    part.remake = None
    with pytest.raises(LostCache, match="gone or damaged"):
        rows(part)


def test_a_folder_of_python_objects_is_not_read(tmp_path, source):
    part = source.load(tmp_path / "cache", 0)
    folder = folder_of(tmp_path / "cache")
    text = (folder / "header.json").read_text().replace(part.answers.dtype.str, "|O")
    (folder / "header.json").write_text(text)
    with pytest.raises(LostCache, match="holds object"):
        DiskPart(folder)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, source, monkeypatch):
    def opened(_, *how, **more):
        return open("/dev/full", *how, **more)

    monkeypatch.setattr("svmkit_dask.parts.disk.open", opened, raising=False)
    message = str(refused("No space left on device", source.load, tmp_path / "cache", 0))
    assert str(source.path) in message and "make room" in message
    assert source.load(tmp_path / "cache", 1 << 30).is_in_memory  # needs the disk for later loads only
    assert not list((tmp_path / "cache").iterdir())


def test_what_a_killed_process_left_is_removed(tmp_path, source):
    cache = tmp_path / "cache"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mine = Writer(cache, "mine", "mine")
    (theirs := cache / mine._folder.name.replace(f".{os.getpid()}.", f".{ended.pid}.")).mkdir()
    source.load(cache, 0)
    assert not theirs.exists() and mine._folder.exists()
    mine.discard()


def test_what_a_killed_process_left_and_cannot_be_removed_is_left(tmp_path, source, monkeypatch):
    """Another process removes it at the same time, or it is no folder: nothing that a load needs."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mine = Writer(tmp_path, "mine", "mine")
    theirs = tmp_path / mine._folder.name.replace(f".{os.getpid()}.", f".{ended.pid}.")
    theirs.write_text("")
    assert len(rows(source.load(tmp_path, 0))) == len(rows(source.load(None, 0)))
    mine.discard()


def _load(source, cache, barrier, results):
    barrier.wait(60)
    results.put(float(rows(source.load(cache, 0)).sum()))


@pytest.mark.slow
def test_two_processes_decode_one_part_at_once(tmp_path):
    source = FilePart(write(tmp_path, "part", "svm", *numbers(n=3000)), Reading())
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    both = [context.Process(target=_load, args=(source, tmp_path / "cache", barrier, results)) for _ in range(2)]
    for process in both:
        process.start()
    sums = {results.get(timeout=120) for _ in both}
    for process in both:
        process.join(60)
    assert sums == {float(rows(source.load(None, 0)).sum())}
    assert not folder_of(tmp_path / "cache").name.startswith(".")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["svm", "csv label", "parquet"])
def test_a_part_that_does_not_fit_is_never_whole_in_memory(tmp_path, form, monkeypatch):
    monkeypatch.setattr("svmkit.data.formats.svmlight._BLOCK", 1 << 16)
    monkeypatch.setattr(decoders, "_CELLS", 1 << 13)
    monkeypatch.setattr("svmkit_dask.parts.part.BLOCK", 1 << 18)
    X, y = numbers(n=16_000, d=20, density=1.0)
    if form == "parquet":
        import pandas as pd

        frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(20)]).assign(label=y)
        frame.to_parquet(path := tmp_path / "part.parquet", row_group_size=2000)
    else:
        path = write(tmp_path, "part", form, X, y)
    source = FilePart(path, Reading())
    source.load(None, 0)  # imports are no memory of the part
    tracemalloc.start()
    part = source.load(tmp_path / "cache", 1 << 18)
    total = sum(float(block.sum()) for _, block in part.blocks())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(part, DiskPart) and sum(facts["bytes"] for facts in part.files.values()) >= X.nbytes
    assert peak < X.nbytes / 2 and total == pytest.approx(X.sum(), rel=1e-9)
