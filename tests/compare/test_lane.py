"""One worker process of a comparison, and the signal that ends its call."""

import threading

import pytest

from svmkit.compare.cells.lane import Lane, Stopped


@pytest.mark.slow
def test_a_call_that_is_given_up_at_once_leaves_nothing_behind(monkeypatch):
    """The pool's thread has not yet taken the call over when the signal comes."""
    flag, failed, workers = [], [], []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    with Lane(1, flag) as lane:
        for _ in range(5):
            assert lane.call(60.0, abs, -3) == 3
            workers += lane.executor._processes.values()
            flag.append(True)
            with pytest.raises(Stopped):
                lane.call(60.0, abs, -3)
            flag.clear()
    assert not failed and len(workers) == 5
    assert not any(worker.is_alive() for worker in workers)


def test_a_lane_that_is_left_at_once_leaves_nothing_behind(monkeypatch):
    failed, workers = [], []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    for _ in range(3):
        with Lane(1, []) as lane:
            lane.start()
            workers += lane.executor._processes.values()
    with Lane(1, []) as lane:
        lane.start()
        assert lane.call(60.0, abs, -3) == 3
        assert len(lane.executor._processes) == 1
    assert not failed and len(workers) == 3
    assert not any(worker.is_alive() for worker in workers)
