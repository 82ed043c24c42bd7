"""The crew of a Dask cluster: the answers of a crew in one process, what a worker holds, and where parts are."""

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest
from distributed import Client, LocalCluster
from support.crew import dask_crew, local_crew, of_all_rows, posed, rows
from svmkit_dask.cluster import wire
from svmkit_dask.cluster.executor import DaskExecutor
from svmkit_dask.cluster.watch import Lost, Watch
from svmkit_dask.cluster.wire import Held, Origin
from svmkit_dask.cluster.workers import Counters, Placement, _Asking
from svmkit_dask.dfcsmo import DFCSMO
from svmkit_dask.parts.facts import facts_of
from svmkit_dask.worker.answers import Message

from svmkit.errors import Gone, InputError
from svmkit.solver import Gap, Status, solve

CUTS = (100, 101, 300, 420)
SOLVER = DFCSMO(first=30)


@pytest.fixture(scope="module")
def client():
    """The client of a cluster of two workers in this process."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def held(client):
    """What the workers hold, all of which are in this process."""
    found = client.run(lambda dask_worker: [one for one in dict(dask_worker.data).values() if isinstance(one, Held)])
    return [one for each in found.values() for one in each]


def until(true, seconds=60.0):
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    assert true()


def test_workers_that_hold_their_parts_are_asked_without_a_task_and_make_anew_what_they_have_lost(
    client, tmp_path, monkeypatch
):
    X, y = rows()
    calls, run = [], Watch.run
    monkeypatch.setattr(Watch, "run", lambda self, worker, call: calls.append(call.held) or run(self, worker, call))
    with dask_crew(client, tmp_path, X, y, CUTS) as crew:
        problem = posed(crew)
        asked = Message("count")
        first = problem.session.ask(asked)
        until(lambda: all(task.status == "finished" for task in crew.held.values()))
        calls.clear()
        assert problem.session.ask(asked) == first and all(calls) and len(calls) == 2
        keys = [task.key for task in crew.held.values()]
        client.run(lambda dask_worker: [dask_worker.data.__delitem__(key) for key in keys if key in dask_worker.data])
        assert problem.session.ask(asked) == first
        assert None in calls and crew.counters.details()["reloads"] == len(crew.names)


def test_a_solve_on_a_cluster_is_that_of_one_process(client, tmp_path):
    X, y = rows()
    alone = solve(posed(local_crew(X, y, CUTS)), SOLVER, stop=Gap(1e-4))
    with dask_crew(client, tmp_path, X, y, CUTS) as crew:
        problem = posed(crew)
        found = solve(problem, SOLVER, stop=Gap(1e-4))
        assert found.status is Status.CONVERGED
        assert np.array_equal(found.point, alone.point)
        assert found.certificate == alone.certificate
        same = of_all_rows(problem, X, y, found.point)
        assert found.certificate.primal == pytest.approx(same.primal, rel=1e-9)
        problem.session.close()
        details = json.loads(json.dumps(crew.counters.details()))
        assert details["messages"] == sum(kind["messages"] for kind in details["kinds"].values())
        assert details["sent"] + details["received"] == sum(details["bytes_of_rounds"])
        assert details["rounds"] == details["kinds"]["settle"]["messages"] > 2
        assert (details["reloads"], details["brings"]) == (0, 0)
        assert all(worker["peak_memory"] > 1 << 20 for worker in details["workers"].values())
        assert len(held(client)) == 2
    until(lambda: not held(client))


def test_parts_without_room_in_memory_are_read_from_local_disk(client, tmp_path, monkeypatch):
    assert wire._room(Origin(None, None, None, 1000, 0.5), 1 << 30) < 0.5 * 0.4 * (1 << 30)
    assert wire._room(Origin(None, None, None, 10**7, 0.5), 1 << 30) == 0
    X, y = rows()
    alone = solve(posed(local_crew(X, y, CUTS)), SOLVER, stop=Gap(1e-4))
    monkeypatch.setattr(wire, "_room", lambda origin, limit: 0)
    with dask_crew(client, tmp_path, X, y, CUTS) as crew:
        found = solve(posed(crew), SOLVER, stop=Gap(1e-4))
        parts = [cell.value.features.part for one in held(client) for cell in one.portions.values()]
        assert len(parts) == 5 and not any(part.is_in_memory for part in parts)
    assert found.certificate.dual == pytest.approx(alone.certificate.dual, rel=1e-4)


def test_rows_of_a_closed_problem_are_forgotten(client, tmp_path):
    X, y = rows(90)
    with dask_crew(client, tmp_path, X, y, (40,)) as crew:
        posed(crew).session.close()
        still = posed(crew)
        assert {problem for one in held(client) for problem, _ in one.rows} == {still.session._problem}


def test_an_unreadable_part_ends_the_message_with_its_name_and_the_worker(client, tmp_path):
    X, y = rows(90)
    with dask_crew(client, tmp_path, X, y, (40, 60)) as crew:
        (tmp_path / "part1.npz").write_bytes(b"PK\x03\x04 this is no archive")
        with pytest.raises(InputError, match=r"part1\.npz.*\(worker inproc://.*\)") as caught:
            posed(crew)
        with pytest.raises(InputError, match=r"part1\.npz.*\(worker inproc://.*\)"):
            DaskExecutor(Watch(client)).map(facts_of, crew.sources)
    assert "\n" not in str(caught.value)


def test_a_part_that_was_changed_is_refused(client, tmp_path):
    X, y = rows(90)
    with dask_crew(client, tmp_path, X, y, (40, 60)) as crew:
        np.savez(tmp_path / "part2.npz", X=X[:7], y=y[:7])
        with pytest.raises(InputError, match=r"part2\.npz: had 30 rows and has 7: it was changed"):
            posed(crew)


def test_a_task_that_is_lost_goes_again_once_the_workers_are_known_and_with_a_fresh_state(client, tmp_path):
    X, y = rows(90)
    with dask_crew(client, tmp_path, X, y, ()) as crew:
        watch, tries = crew.queue.watch, []
        run = watch.run

        async def failing(worker, call):
            tries.append((watch.answered, crew.held[worker].key))
            if len(tries) <= 3:
                raise Lost
            return await run(worker, call)

        watch.run = failing
        assert posed(crew).session.m == 90
    answered, states = zip(*tries[:4], strict=True)
    assert list(answered) == sorted(set(answered)) and len(set(states)) == 4


@pytest.mark.slow
def test_a_cluster_without_workers_is_waited_for_within_the_bound(tmp_path):
    X, y = rows(90)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        dask_crew(client, tmp_path, X, y, (40,), patience=1.5) as crew,
    ):
        with pytest.raises(Gone, match=r"the cluster has had no worker for \d s$"):
            posed(crew)
        with pytest.raises(Gone, match=r"the cluster has had no worker for \d s$"):
            DaskExecutor(Watch(client), patience=1.5).map(facts_of, crew.sources)
        cluster.scale(1)
        assert posed(crew).session.m == 90


def test_parts_are_dealt_by_their_rows_and_threads():
    placement = Placement([10, 20, 30, 40, 50, 60, 0])
    placement.settle({"a": 1, "b": 1}, range(7))
    held = {w: sum(size for p, size in enumerate(placement.sizes) if placement.worker_of[p] == w) for w in "ab"}
    assert abs(held["a"] - held["b"]) <= 11
    placement = Placement([10] * 12)
    placement.settle({"a": 3, "b": 1}, range(12))
    assert list(placement.worker_of.values()).count("a") == 9


def test_the_parts_of_a_lost_worker_go_to_the_least_loaded_and_come_to_one_that_joins():
    placement = Placement([10] * 9)
    placement.settle(dict.fromkeys("abc", 1), range(9))
    before = dict(placement.worker_of)
    left = dict.fromkeys("ab", 1)
    placement.settle(left, range(9))
    assert all(placement.worker_of[p] == worker for p, worker in before.items() if worker != "c")
    assert sorted(map(list(placement.worker_of.values()).count, "ab")) == [4, 5]
    assert placement.level(left) == []  # 5 and 4 is as level as it gets
    joined = dict.fromkeys("abd", 1)
    moved = placement.level(joined)
    assert len(moved) == 3 and all(placement.worker_of[p] == "d" for p in moved)
    assert placement.level(joined) == []
    assert sum(placement.share(p) for p in range(9)) == pytest.approx(3.0)


@pytest.mark.parametrize(("bare", "moved"), [(80, [0]), (81, [])])
def test_a_part_moves_if_the_fullest_worker_has_nine_tenths_then_and_no_more(bare, moved):
    placement = Placement([10, 90, bare])
    placement.worker_of.update({0: "a", 1: "a", 2: "b"})
    assert placement.level({"a": 1, "b": 1}) == moved
    assert placement.worker_of[0] == ("b" if moved else "a")


def test_workers_that_are_paused_or_silent_are_not_given_parts():
    watch = Watch(None)

    def seen(at, **beats):
        watch.answered = at
        watch.note(
            {w: {"last_seen": beat, "nthreads": 2, "status": "paused" if w == "c" else "running"}
             for w, beat in beats.items()}, at)  # fmt: skip
        return watch.usable(3.0)

    assert seen(100.0, a=7.0, b=7.5, c=7.5) == {"a": 2, "b": 2}
    assert seen(102.0, a=7.0, b=9.5, c=9.5) == {"a": 2, "b": 2}
    assert seen(104.0, a=7.0, b=11.5) == {"b": 2}  # a has stood still for 4 seconds, by our clock
    assert set(watch.workers) == {"a", "b"}
    assert seen(105.0, a=12.0, b=11.5) == {"a": 2, "b": 2}


def test_a_part_goes_where_the_load_of_a_thread_is_least_with_it():
    placement = Placement([40])
    placement.settle({"a": 1, "b": 4}, [0])
    assert placement.worker_of == {0: "b"}


def test_what_workers_compute_is_counted_as_the_time_of_the_slowest():
    counters = Counters(3)
    replies = [("a", wire.Reply({0: None}, {}, 2.0, (0,), 7), 10), ("b", wire.Reply({1: None}, {}, 1.5, (), 9), 20)]
    replies.append(("b", wire.Reply({2: None}, {}, 1.0, (2,), 11), 30))
    counters.add(SimpleNamespace(message=Message("propose"), sent=5, replies=replies), wall=4.0)
    about = counters.details()
    assert about["seconds"]["compute"] == 2.5 and about["seconds"]["wait"] == 1.5
    assert (about["rounds"], about["sent"], about["received"]) == (1, 5, 60)
    assert about["workers"] == {"a": {"seconds": 2.0, "peak_memory": 7}, "b": {"seconds": 2.5, "peak_memory": 11}}


def test_parts_that_a_worker_did_not_answer_for_are_asked_for_again():
    asking = _Asking.__new__(_Asking)
    asking.replies, asking._lacking = [], {3}
    asking._fail = lambda *args: None
    reply = wire.Reply({0: "a", 3: "b"}, {}, 0.1, (), 0)
    assert asking._take(("worker", [0, 1, 3]), reply, 10) == reply.answers
    assert asking._lacking == {1} and asking.replies == [("worker", reply, 10)]
