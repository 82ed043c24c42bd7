"""A file that several cells divide in their own ways is read once, and they find what each finds alone."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.cli import lopsided, svmlight

from svmkit.compare.cells import worker
from svmkit.compare.plan import whole_sets
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import read
from svmkit.errors import SvmkitWarning

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def reads(monkeypatch):
    """The files that have been read, in order."""
    found, load = [], whole_sets.load_grouped

    def counted(source, *args, **how):
        found.append(source)
        return load(source, *args, **how)

    monkeypatch.setattr(whole_sets, "load_grouped", counted)
    return found


def settings_of(raw):
    """The settings of the data of all cells, as often as they differ from those of the cell before."""
    every = [cell.settings["data"] for cell in read(raw).cells()]
    return [one for k, one in enumerate(every) if not k or one != every[k - 1]]


def require_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        if one is not None or other is not None:
            assert one.fingerprint() == other.fingerprint() and one.encoding == other.encoding


def test_folds_and_problems_of_a_file_read_it_once(reads):
    path = str(svmlight(n=80))
    table = str(lopsided(n=80))
    raw = {"data": [path, table], "solvers": ["smo", "mfw"], "cv": 5, "C": [1, 10], "scale": "standard"}
    whole, every = whole_sets.WholeSets(), settings_of(raw)
    assert len(every) == 20
    together = [prepare(settings, whole) for settings in every]
    assert reads == [path, table]
    for settings, found in zip(every, together, strict=True):
        require_same(found[:2], prepare(settings)[:2])
    assert len(reads) == 22


def test_a_test_file_is_read_once_for_all_problems_of_its_training_file(reads):
    train, test = str(svmlight(n=60)), str(svmlight("other.svm", n=40, seed=1))
    whole = whole_sets.WholeSets()
    for settings in settings_of({"data": {train: {"test": test}}, "solvers": ["smo"], "C": [1, 10, 100]}):
        require_same(prepare(settings, whole)[:2], prepare(settings)[:2])
    assert reads == [train, test, train, test] + [train, test] * 2


def test_a_changed_file_or_other_options_are_read_again(reads):
    path, whole = svmlight(n=60), whole_sets.WholeSets()
    (settings,) = settings_of({"data": {str(path): {"test": 0.25}}, "solvers": ["smo"]})
    for _ in range(2):
        prepare(settings, whole)
    before = path.stat()
    path.write_text(path.read_text(encoding="utf-8").replace("+1", "-1", 1), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    prepare(settings, whole)
    assert len(reads) == 2
    prepare(settings | {"n_features": 9}, whole)
    assert len(reads) == 3


def test_a_set_beyond_half_of_the_memory_is_not_kept(reads):
    path, whole = svmlight(n=60), whole_sets.WholeSets()
    size = whole_sets.size_of(prepare(settings_of({"data": str(path), "solvers": ["smo"]})[0]).train.X)
    for memory, expected in ((2 * size - 2, 10), (2 * size, 1)):
        reads.clear()
        for settings in settings_of({"data": str(path), "solvers": ["smo"], "cv": 10, "memory": memory}):
            prepare(settings, whole)
        assert len(reads) == expected


def test_what_reading_had_to_say_is_said_to_each_cell():
    path = Path("wide.svm")
    path.write_text("+1 1:1\n-1 2:1\n" * 20, encoding="utf-8")
    test = Path("wider.svm")
    test.write_text("+1 1:1\n-1 3:1\n" * 5, encoding="utf-8")
    whole = whole_sets.WholeSets()
    for settings in settings_of({"data": {str(path): {"test": str(test)}}, "solvers": ["smo"], "C": [1, 2]}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            prepare(settings, whole)
        assert [w.category for w in caught] == [SvmkitWarning] and "1 feature beyond" in str(caught[0].message)


def test_the_worker_of_cells_reads_once(reads, monkeypatch):
    monkeypatch.setattr(worker, "_bench", worker.Bench())
    path = str(svmlight(n=60))
    cells = read({"data": path, "solvers": ["smo", "smo1"], "cv": 3, "C": [1, 10]}).cells()
    objectives = []
    for cell in cells:
        worker.get_ready(cell)
        objectives.append(worker.run(cell, 10.0, False)["objective"])
    assert reads == [path]
    np.testing.assert_allclose(objectives[::2], objectives[1::2], rtol=2e-3)
