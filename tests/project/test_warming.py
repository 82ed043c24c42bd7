"""What is compiled before the workers of pytest-xdist start."""

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
