"""What is compiled before the workers of pytest-xdist start."""

import os
import time
from functools import partial

from support import warming


def test_each_job_is_done_by_the_process_that_claims_it_first(monkeypatch, tmp_path):
    done = []

    def jobs():
        return [partial(done.append, 0), other_process, *(partial(done.append, k) for k in (2, 3))]

    def other_process():
        warming.main("back", tmp_path)
        done.append(1)

    monkeypatch.setattr(warming, "jobs", jobs)
    warming.main("front", tmp_path)
    assert done == [0, 3, 2, 1]


def test_a_warming_counts_until_a_source_changes_or_a_cache_goes(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(warming, "ROOT", tmp_path)
    monkeypatch.setattr(warming, "STAMP", tmp_path / "tests" / "warmed.txt")
    source, cache, plain = (tmp_path / "svmkit" / name for name in ("loops.py", "loops.f.nbi", "words.py"))
    source.parent.mkdir()
    long_ago = time.time() - 1000.0

    def write(path, text, when=long_ago):
        path.write_text(text)
        os.utime(path, (when, when))

    write(source, "@njit(cache=True)\n")
    write(source.with_name("inner.py"), "@njit(cache=True)\n")  # only copied into others: it has no cache
    write(cache, "")
    write(plain, "")
    assert not warming.is_warm()
    warming.write_stamp()
    assert warming.is_warm()
    cache.unlink()
    assert not warming.is_warm()
    write(cache, "")
    write(plain, "other words", time.time() + 10.0)
    assert warming.is_warm()
    write(source, "@njit(cache=True)\n", time.time() + 10.0)
    assert not warming.is_warm()
