"""Hard fits that end at a rough gap, and go on where their candidate is near the best: svmkit.tune.shared.near."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from support.problems import overlapping

from svmkit import tune
from svmkit.errors import InputError
from svmkit.solver.stopping import Gap
from svmkit.tune.shared import active, engine, near, small
from svmkit.tune.shared.active import ActiveSets

GRID = {"C": [2.0**k for k in range(-5, 16, 4)], "gamma": [0.01, 0.1, 1.0]}
TARGET = 1e-4


@pytest.fixture
def large(monkeypatch):
    """Nothing goes to the code of small subproblems."""
    monkeypatch.setattr(small, "MOST", (0, 0, 0))


@pytest.fixture
def solves(large, monkeypatch):
    """The solves of shared searches, as (problem, C, solved), each of them alone."""
    seen, solve = [], ActiveSets.solve

    def watched(self, problem, C, *rest):
        seen.append((problem, C, solve(self, problem, C, *rest)))
        return seen[-1][2]

    monkeypatch.setattr(ActiveSets, "solve", watched)
    monkeypatch.setattr(engine._Group, "_follow", lambda self, fold: None)
    return seen


def find(X, y, refine, grid=GRID, **more):
    return tune.search(X, y, solver="smo", grid=grid, cv=4, stop=Gap(TARGET), refine=refine, **more)


def by_point(result):
    return {(c.C, c.gamma): c for c in result.candidates}


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_near_the_best_is_solved_to_the_gap_and_the_winner_is_the_same(seed, jobs, large):
    X, y = overlapping(240, seed=seed)
    whole, found = find(X, y, "all"), find(X, y, "near", jobs=jobs)
    every, best = by_point(whole), found.best
    assert all(c.converged and c.gap <= TARGET for c in whole.candidates)
    assert best.converged and best.gap <= TARGET
    assert every[best.C, best.gamma].mean_score >= whole.best.mean_score - 1.01 / len(y)
    error = np.std(best.scores) / math.sqrt(3)
    rough = [c for c in found.candidates if c.gap > TARGET]
    assert rough, "no fit of this grid was hard"
    for c in rough:
        assert not c.converged and c.gap <= near.ROUGH and c.mean_score < best.mean_score - error
    assert sum(c.n_iter for c in found.candidates) < sum(c.n_iter for c in whole.candidates)


def test_the_gap_of_each_candidate_is_true(solves):
    X, y = overlapping(240)
    found = find(X, y, "near")
    largest = {}
    for problem, C, solved in solves:  # one for each fit, and another one for each that has gone on
        weights, signs = solved.point, problem.signs
        Q = np.exp(-problem.gram.kernel.gamma * np.square(rows_of(problem, X)).sum(axis=2)) * np.outer(signs, signs)
        dual = weights.sum() - 0.5 * weights @ Q @ weights
        bias = solved.certificate.bias or 0.0
        loss = np.maximum(0.0, 1.0 - Q @ weights - signs * bias)
        primal = 0.5 * weights @ Q @ weights + problem.upper @ loss
        gap = (primal - dual) / max(abs(primal), abs(dual))
        key = C, problem.gram.kernel.gamma
        largest.setdefault(key, {})[problem.gram.engine.rows.tobytes()] = gap  # the last one counts
    for c in found.candidates:
        true = max(largest[c.C, c.gamma].values())
        assert true <= c.gap * (1.0 + 1e-9) + 1e-12 and c.gap <= true + 1e-6  # rounding counts, too
    table = found.cv_results_
    assert table["gap"].tolist() == [c.gap for c in found.candidates]
    assert (table["gap"] > TARGET).any() and table["gap"][0] <= TARGET


def rows_of(problem, X):
    rows = X[problem.gram.engine.rows]
    return rows[:, None] - rows[None]


def test_easy_fits_are_what_they_are_without_it(solves):
    X, y = overlapping(200)
    easy = {"C": [0.01, 0.1, 1.0], "gamma": [0.01, 0.1]}
    whole, found = find(X, y, "all", easy), find(X, y, "near", easy)
    assert len(solves) == 2 * 4 * 6
    for a, b in zip(whole.candidates, found.candidates, strict=True):
        assert (a.params, a.scores, a.n_iter, a.gap) == (b.params, b.scores, b.n_iter, b.gap)


def test_a_fit_without_room_for_its_point_begins_anew(large, monkeypatch):
    X, y = overlapping(240)
    kept = find(X, y, "near")
    monkeypatch.setattr(near, "KEPT", 0.0)
    found = find(X, y, "near")
    assert found.best.params == kept.best.params and found.best.converged


def test_a_search_that_ends_early_keeps_what_it_has(large, monkeypatch):
    X, y = overlapping(240)
    run, ended = engine._Group.run, []

    def ends(self, goes_on):
        if goes_on:
            self.search.records.stop()
            ended.append(len(self.group))
        run(self, goes_on)

    monkeypatch.setattr(engine._Group, "run", ends)
    monkeypatch.setattr(active, "SHORT", 0)
    monkeypatch.setattr(active, "HARD", 0)  # the best are among the hard fits
    found = find(X, y, "near")
    assert ended and len(found.candidates) == 18 and all(c.gap <= near.ROUGH for c in found.candidates)
    assert sum(c.converged for c in found.candidates) < 18


def test_a_single_candidate_and_other_words():
    X, y = overlapping(100)
    assert find(X, y, "near", {"C": [2.0**15], "gamma": [1.0]}).best.converged
    with pytest.raises(InputError, match="refine='some' is not known; there are: near, all"):
        find(X, y, "some")


def paths(n):
    return [SimpleNamespace(number=k) for k in range(n)]


def test_the_margin_is_a_standard_error_and_what_scores_have_moved():
    standings = near.Standings(2, 1000)
    for k, scores in enumerate([(0.9, 0.8), (0.81, 0.81), (0.79, 0.79), (0.7, 0.7)]):
        for fold, score in enumerate(scores):
            standings.add(k, fold, score)
            if k:
                standings.put_off(k, fold, [np.zeros(20)], {"fit_s": 1.0})
    # the best is 0.85, and its standard error 0.05
    assert [path.number for path in standings.near_best(paths(4))] == [1]
    first = standings.take(1, 0)
    assert standings.take(1, 0) is None and first.points is None  # 160 bytes are more than a tenth of the memory
    standings.take(1, 1)
    standings.add(1, 0, 0.83)
    standings.add(1, 1, 0.82)  # the mean has moved by 0.015
    assert [path.number for path in standings.near_best(paths(4))] == [2]
    standings.take(2, 0), standings.take(2, 1)
    standings.add(2, 0, math.nan)
    assert standings.near_best(paths(4)) == []


def test_a_score_that_is_not_defined_at_a_rough_gap_is_near():
    standings = near.Standings(1, 1000)
    standings.put_off(0, 0, [], {})
    standings.add(0, 0, math.nan)
    assert [path.number for path in standings.near_best(paths(1))] == [0]
    assert standings.near_best(paths(1)) == []  # once, though the fit is still there


def test_a_search_ends_where_a_kernel_matrix_fails_as_fits_go_on(large, monkeypatch):
    """Such candidates have no score, and were taken for near the best again and again."""
    made, prepare = [], engine.SharedMatrix.prepare

    def run_out(self):
        made.append(self)
        if len(made) > len(GRID["gamma"]):
            raise MemoryError("no room")
        return prepare(self)

    monkeypatch.setattr(engine.SharedMatrix, "prepare", run_out)
    monkeypatch.setattr(near, "MARGIN", 100.0)  # whatever rounding makes of the scores, some rough candidate is near
    found = find(*overlapping(240), "near")
    assert len(made) > len(GRID["gamma"]) and not found.best.failed
    assert {c.reason for c in found.candidates if c.failed} == {"MemoryError: no room"}
