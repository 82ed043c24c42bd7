"""Searches whose folds share kernel values: the winners and scores of refits, certificates, memory, interrupts."""

import os
import signal
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.metrics import pairwise
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC, SVR
from support.problems import blobs, overlapping, zeros_and_ones

import svmkit
from svmkit import tune
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Precomputed
from svmkit.kernels.gram import parse_bytes
from svmkit.runtime import threads
from svmkit.solver.smo.box import Box, take_sides
from svmkit.solver.stopping import Gap
from svmkit.training.settings import Settings, resolve
from svmkit.tune.shared import active, bordered, engine, leaps, loops, matrix, near, rounds, sharing, small
from svmkit.tune.shared.active import ActiveSets
from svmkit.tune.shared.matrix import SharedMatrix, as_thin

pytestmark = pytest.mark.slow  # what they compile together takes long

CS, GAMMAS, FOLDS = [0.03, 1.0, 30.0], [0.05, 0.5], 3


def scaled(load, rows=200, seed=0):
    X, y = load(return_X_y=True)
    at = np.random.default_rng(seed).permutation(len(y))[:rows]
    return (X[at] - X.mean(axis=0)) / (X.std(axis=0) + 1e-9), y[at]


SETS = {
    "iris": lambda seed: scaled(datasets.load_iris, 150, seed),
    "wine": lambda seed: scaled(datasets.load_wine, 178, seed),
    "cancer": lambda seed: scaled(datasets.load_breast_cancer, 200, seed),
    "digits": lambda seed: scaled(datasets.load_digits, 200, seed),
    "overlapping": lambda seed: overlapping(150, seed=seed, names=("no", "yes")),
    "rare": lambda seed: blobs(150, share=0.1, seed=seed),
    "wide": lambda seed: tuple(a / b for a, b in zip(blobs(80, 60, seed=seed, shift=0.2), (4.0, 1.0), strict=True)),
    "repeated": lambda seed: zeros_and_ones(seed, n=200),
    "three": lambda seed: zeros_and_ones(seed, k=3, n=150),
    "moons": lambda seed: datasets.make_moons(150, noise=0.3, random_state=seed),
}


@pytest.fixture
def calls(monkeypatch):
    """The names of the methods that solve, call by call; nothing goes to the code of small subproblems."""
    seen = []
    for name in ("solve", "follow"):
        own = getattr(ActiveSets, name)
        monkeypatch.setattr(ActiveSets, name, lambda *given, own=own, name=name: (seen.append(name), own(*given))[1])
    monkeypatch.setattr(small, "MOST", (0, 0, 0))
    return seen


@pytest.fixture
def shared(monkeypatch):
    """The solves of shared searches, as (problem, solved, target), each of them alone."""
    seen, solve = [], ActiveSets.solve

    def watched(self, problem, C, target, patience, rough=None):
        seen.append((problem, solve(self, problem, C, target, patience, rough), target))
        return seen[-1][1]

    monkeypatch.setattr(ActiveSets, "solve", watched)
    monkeypatch.setattr(engine._Group, "_follow", lambda self, fold: None)
    monkeypatch.setattr(small, "MOST", (0, 0, 0))  # nothing goes to the code of small subproblems
    return seen


def refits(make, X, y, folds):
    """The mean score of each point of the grid by an estimator of scikit-learn, fitted anew each time."""
    found = {}
    for gamma in GAMMAS:
        for C in CS:
            scores = [make(C, gamma).fit(X[train], y[train]).score(X[held], y[held]) for train, held in folds]
            found[C, gamma] = float(np.mean(scores))
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SETS)
def test_the_winner_and_the_scores_are_those_of_refits(name, seed, calls, monkeypatch):
    X, y = SETS[name](seed)
    stop = Gap(2e-7)  # rounding leaves 1.1e-7 on digits
    how = {"grid": {"C": CS, "gamma": GAMMAS}, "cv": FOLDS, "seed": seed, "stop": stop, "metric": "accuracy"}
    monkeypatch.setattr(active, "SHORT", 100)
    near = tune.search(X, y, **how).best
    how["refine"] = "all"
    found = tune.search(X, y, **how)
    n_solves = calls.count("solve")
    assert n_solves > 0 and ("follow" in calls) == (len(np.unique(y)) == 2)
    monkeypatch.setattr(small, "MOST", (1500,) * 3)
    at_once = tune.search(X, y, **how)
    assert n_solves == calls.count("solve")
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y))
    own = refits(lambda C, gamma: svmkit.SVMClassifier(C=C, gamma=gamma, tol=1e-7), X, y, folds)
    truth = refits(lambda C, gamma: SVC(C=C, gamma=gamma, tol=1e-7), X, y, folds)
    row = 1.01 / len(y)  # a decision near 0 has either sign, and votes of classes may be equal
    for result in (found, at_once):
        assert all(c.converged for c in result.candidates)
        for c in result.candidates:
            point = c.C, c.params["gamma"]
            assert c.mean_score == pytest.approx(own[point], abs=row)
            assert c.mean_score == pytest.approx(truth[point], abs=3 * row)
        assert own[result.best.C, result.best.params["gamma"]] >= max(own.values()) - row
    assert near.converged and own[near.C, near.params["gamma"]] >= max(own.values()) - row


@pytest.mark.parametrize("least", [2, active.LEAP])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_every_fit_is_certified(loss, least, shared, monkeypatch):
    """P and D of each fit, from a kernel matrix of scikit-learn's, with and without leaps."""
    monkeypatch.setattr(active, "LEAP", least)
    monkeypatch.setattr(active, "LONG", 0 if least == 2 else active.LONG)
    X, y = overlapping(120)
    solver = svmkit.plugins.build("solver", "smo", {"loss": loss})
    tune.search(X, y, solver=solver, kernel=RBF(0.5), grid={"C": [1e-3, 0.1, 10.0, 1e4]}, cv=3)
    assert len(shared) == 12
    for problem, solved, target in shared:
        rows, beta = problem.gram.engine.rows, solved.point
        K, signs = pairwise.rbf_kernel(X[rows], gamma=0.5), np.where(y[rows] > 0, 1.0, -1.0)
        assert abs(signs @ beta) <= 1e-9 * beta.sum() and beta.min() >= 0.0
        slack = np.maximum(0.0, 1.0 - signs * (K @ (signs * beta) + solved.certificate.bias))
        norm = (signs * beta) @ K @ (signs * beta)
        if loss == "hinge":
            assert (beta <= problem.C).all()
            primal, dual = 0.5 * norm + problem.C @ slack, beta.sum() - 0.5 * norm
        else:
            primal = 0.5 * norm + problem.C @ slack**2
            dual = beta.sum() - 0.5 * norm - 0.25 * (beta**2 / problem.C).sum()
        assert primal - dual <= target * max(abs(primal), abs(dual)) * (1.0 + 1e-9)
        assert solved.certificate.primal == pytest.approx(primal) and solved.certificate.dual == pytest.approx(dual)


@pytest.mark.parametrize("name", ["overlapping", "repeated", "rare"])
@pytest.mark.parametrize("refine", ["near", "all"])
def test_several_values_of_C_in_one_call_have_the_fits_of_a_call_for_each(refine, name, calls, monkeypatch):
    X, y = SETS[name](0)
    monkeypatch.setattr(active, "SHORT", 100)  # some fits are hard
    grid = {"C": np.geomspace(1e-2, 1e4, 13).tolist(), "gamma": GAMMAS}
    how = {"grid": grid, "cv": FOLDS, "class_weight": "balanced", "stop": Gap(1e-6), "refine": refine}
    found = tune.search(X, y, **how)
    n_solves = calls.count("solve")
    monkeypatch.setattr(engine._Group, "_follow", lambda self, fold: None)
    alone = tune.search(X, y, **how)
    assert n_solves < 0.8 * 2 * FOLDS * 13 <= calls.count("solve") - n_solves
    own, other = ({(c.C, c.params["gamma"]): c for c in result.candidates} for result in (found, alone))
    assert found.best.params == alone.best.params and own.keys() == other.keys()
    for point, c in own.items():
        assert c.converged == other[point].converged and c.gap <= (1e-6 if c.converged else near.ROUGH)
        if c.converged:
            assert c.mean_score == pytest.approx(other[point].mean_score, abs=0.02)
            if name != "repeated":  # equal rows may share their weights in many ways
                assert c.n_support == pytest.approx(other[point].n_support, abs=2.0)


@pytest.mark.parametrize("seed", range(3))
def test_certificates_of_several_values_of_C_in_one_call_hold_the_optimum_of_libsvm(seed):
    X, y = overlapping(150, seed=seed)
    signs, rows, held = np.where(y == y.max(), 1.0, -1.0), np.arange(120), np.arange(120, 150)
    weights, Cs = np.where(signs > 0.0, 2.0, 0.5)[rows], np.array([0.1, 0.5, 2.0])
    method, shared = resolve(Settings(solver="smo", kernel=RBF(0.5))), SharedMatrix(RBF(0.5), X, 10**9)
    sets = ActiveSets(shared, rows, 120, lambda: False)
    target, K = 0.01, pairwise.rbf_kernel(X, gamma=0.5)
    sets.solve(method.pose(method.solver, sets.gram, signs[rows], 0.05 * weights), 0.05, target, 1e9)
    for end in (1, 2, 3):  # the last points of a call are kept for what follows
        path, n = sets.follow(signs[rows], weights, Cs[end - 1 : end], target, held)
        assert n == 1 and 0.0 <= path.gap[0] <= target
        C, (w, slopes), bias = Cs[end - 1], path.ends[1], path.decision[0] - K[held][:, rows] @ path.ends[1, 0]
        assert np.ptp(bias) < 1e-9 and abs(w.sum()) < 1e-9 and path.n_support[0] == np.count_nonzero(w)
        point = signs[rows] * w
        assert point.min() >= 0.0 and (point <= C * weights).all()
        assert path.n_free[0] == np.count_nonzero((point > 0.0) & (point < C * weights))
        np.testing.assert_allclose(slopes, K[rows][:, rows] @ w - signs[rows] + bias[0], atol=1e-9)
        norm, slack = w @ K[rows][:, rows] @ w, np.maximum(0.0, -signs[rows] * slopes)
        primal, dual = 0.5 * norm + C * weights @ slack, point.sum() - 0.5 * norm
        assert path.gap[0] == pytest.approx((primal - dual) / max(abs(primal), abs(dual)), rel=1e-6)
        plain = SVC(C=C, gamma=0.5, tol=1e-10).fit(X[rows], signs[rows], sample_weight=weights)
        v, at = plain.dual_coef_.ravel(), plain.support_
        loss = np.maximum(0.0, 1.0 - signs[rows] * plain.decision_function(X[rows]))
        best = 0.5 * v @ K[at][:, at] @ v + C * weights @ loss
        assert dual <= best * (1.0 + 1e-8) and best <= primal * (1.0 + 1e-8)


def test_a_hard_fit_goes_on_from_where_the_call_for_several_values_of_C_has_ended():
    X, y = overlapping(150)
    signs = np.where(y == y.max(), 1.0, -1.0)
    method, shared = resolve(Settings(solver="smo", kernel=RBF(0.5))), SharedMatrix(RBF(0.5), X, 10**9)
    counts = []
    for follows in (False, True):
        sets = ActiveSets(shared, np.arange(150), 150, lambda: False)
        posed = [method.pose(method.solver, sets.gram, signs, np.full(150, C)) for C in (0.1, 1e5)]
        sets.solve(posed[0], 0.1, 1e-6, 1e9)
        if follows:
            _, n = sets.follow(signs, np.ones(150), np.array([1e5]), 1e-6, np.arange(3))
            assert n == 0
        solved = sets.solve(posed[1], 1e5, 1e-6, 1e9, 0.1)
        assert 1e-6 < solved.certificate.gap <= 0.1
        counts.append(solved.steps)
    assert counts[0] == counts[1] >= active.SHORT


def test_both_ends_of_a_path_take_hardly_a_step():
    """Below, the solution is linear in C; above, no weight is at C, and the solution stays but for its last digits."""
    X, y = blobs(90, shift=2.0)
    found = tune.search(X, y, kernel=RBF(0.2), grid={"C": np.logspace(-6, 6, 25).tolist()}, cv=3, stop=Gap(1e-9))
    steps = [c.n_iter for c in sorted(found.candidates, key=lambda c: c.C)]
    assert steps[1:9] == [0.0] * 8 and sum(steps[-6:]) < max(steps)


def test_quantities_and_their_tube(shared):
    X, t = datasets.make_regression(90, 4, noise=20.0, random_state=0)
    t = t / t.std()
    grid = {"C": CS, "gamma": GAMMAS, "epsilon": [0.1]}
    found = tune.search(X, t, task="regress", grid=grid, cv=FOLDS, stop=Gap(1e-7), refine="all")
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))
    truth = refits(lambda C, gamma: SVR(C=C, gamma=gamma, epsilon=0.1, tol=1e-7), X, t, folds)
    assert len(shared) == 18
    for c in found.candidates:
        assert c.mean_score == pytest.approx(truth[c.C, c.params["gamma"]], abs=1e-3)


def test_weights_of_classes_are_those_of_each_fold(shared):
    X, y = blobs(150, share=0.2)
    found = tune.search(X, y, kernel=RBF(0.5), grid={"C": CS}, cv=FOLDS, class_weight="balanced", stop=Gap(1e-7))
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))
    assert len(shared) == 9 and found.metric.name == "balanced_accuracy"
    for c in found.candidates:
        fits = [
            svmkit.fit(X[a], y[a], kernel=RBF(0.5), C=c.C, class_weight="balanced", stop=Gap(1e-7)) for a, _ in folds
        ]
        right = [(fitted.model.predict(X[b]) == y[b]).mean() for fitted, (_, b) in zip(fits, folds, strict=True)]
        assert c.mean_accuracy == pytest.approx(np.mean(right), abs=0.007)


def test_a_given_matrix_is_shared_and_one_that_is_not_semidefinite_is_told(shared):
    X, y = overlapping(120)
    K = pairwise.rbf_kernel(X, gamma=0.5)
    given = tune.search(K, y, kernel=Precomputed(), grid={"C": CS}, cv=3, stop=Gap(1e-7))
    computed = tune.search(X, y, kernel=RBF(0.5), grid={"C": CS}, cv=3, stop=Gap(1e-7))
    assert len(shared) == 18
    assert [c.mean_accuracy for c in given.candidates] == [c.mean_accuracy for c in computed.candidates]
    bad = tune.search(K - np.eye(len(y)), y, kernel=Precomputed(), grid={"C": CS}, cv=3)
    assert not any(c.converged for c in bad.candidates)


def test_memory_is_kept_to(shared, monkeypatch):
    """A square never has more samples than there is room for, and without room for the matrix nothing is shared."""
    X, y = overlapping(150)
    how = {"kernel": RBF(0.5), "grid": {"C": CS}, "cv": 3, "stop": Gap(1e-5), "refine": "all"}
    expected = tune.search(X, y, **how)
    assert len(shared) == 9
    sizes, descend = [], rounds.descend

    def watched(*given):
        found = descend(*given)
        sizes.append(found[1].values.nbytes)
        return found

    monkeypatch.setattr(rounds, "descend", watched)
    monkeypatch.setattr(sharing, "FEWEST", 20)
    memory = 8 * 150**2 + 12 * 40**2
    found = tune.search(X, y, **how, memory=memory)
    assert len(shared) == 18 and 0 < max(sizes) <= 4 * 40**2
    for one, other in zip(found.candidates, expected.candidates, strict=True):
        assert one.converged and one.C == other.C and one.mean_accuracy == pytest.approx(other.mean_accuracy, abs=0.02)
    tune.search(X, y, **how, memory=8 * 150**2)
    assert len(shared) == 18


@pytest.mark.parametrize(
    "memory, jobs, least, free", [("1GB", 1, 1000, 0), ("4GB", 2, 4000, 4000), ("20GB", 2, 10_000, 10_000)]
)
def test_what_is_kept_between_two_values_of_C_has_room_beside_what_is_in_work(memory, jobs, least, free):
    """Where memory is short all of it is for the work; where there is more, factors of `free` weights are kept."""
    m, parts, settings = 10_000, 10, Settings(memory=memory)
    most, share = sharing.most_of_a_round(m, settings, jobs), sharing.most_kept(m, settings, jobs, parts)
    assert least <= most <= m and share >= 8 * free**2
    assert free or share * parts < 0.01 * 8 * m * m
    assert 8 * m * m + sharing.COPIES * jobs * most**2 + parts * share <= parse_bytes(memory)


def fold_of(X, y, Cs, target=1e-6, gamma=0.5):
    """A fold of two subproblems: one of even rows and one of all but the last 30, which are held out."""
    kernel, m = RBF(gamma), len(y)
    shared = SharedMatrix(kernel, X, 10**9).prepare()
    signs = np.where(y == y.max(), 1.0, -1.0)
    weights = np.where(signs > 0.0, 2.0, 0.5)
    parts = [small.FoldPart(at, signs[at], weights[at]) for at in (np.arange(0, m, 2), np.arange(m - 30))]
    held = np.arange(m - 30, m)
    return shared, parts, held, small.fit_small(shared, [small.FoldParts(parts, held)], Cs, target)


def test_folds_that_are_fitted_together_have_the_fits_of_each_alone():
    X, y = overlapping(150)
    shared, parts, held, _ = fold_of(X, y, [1.0])
    few = [part._replace(rows=part.rows[:-9], y=part.y[:-9], weights=part.weights[:-9]) for part in parts]
    folds = [small.FoldParts(parts, held), small.FoldParts(few, held[::2])]
    together, ends = small.fit_small(shared, folds, [0.1, 10.0], 1e-6), [0, 30, 45]
    for k, fold in enumerate(folds):
        alone = small.fit_small(shared, [fold], [0.1, 10.0], 1e-6)
        np.testing.assert_array_equal(together.decision[:, ends[k] : ends[k + 1]], alone.decision)
        for name in ("gap", "steps", "n_support", "n_certified"):
            np.testing.assert_array_equal(getattr(together, name)[k], getattr(alone, name)[0])


def test_held_out_rows_have_the_same_decisions_in_any_order():
    X, y = overlapping(150)
    shared, parts, held, _ = fold_of(X, y, [1.0])
    last = len(held) - 1  # both ends stay where they are
    order = np.concatenate([[0], np.random.default_rng(0).permutation(np.arange(1, last)), [last]])
    one, other = (
        small.fit_small(shared, [small.FoldParts(parts, at)], [0.1, 10.0], 1e-6) for at in (held, held[order])
    )
    np.testing.assert_allclose(other.decision, one.decision[:, order], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_small_subproblems_have_the_decisions_of_libsvm(seed, monkeypatch):
    monkeypatch.setattr(small, "STEPS", 10_000_000)
    X, y = overlapping(150, seed=seed)
    Cs = [1e-3, 0.1, 1.0, 30.0, 1e3]
    _, parts, held, fits = fold_of(X, y, Cs, 1e-8)
    assert fits.n_certified.tolist() == [len(Cs)]
    for c, C in enumerate(Cs):
        support = set()
        for k, part in enumerate(parts):
            plain = SVC(C=C, gamma=0.5, tol=1e-9).fit(X[part.rows], part.y, sample_weight=part.weights)
            w = plain.dual_coef_.ravel()
            support |= set(part.rows[plain.support_[np.abs(w) > 1e-12 * C]])
            h = plain.decision_function(X[held]) - plain.intercept_
            own = fits.decision[c, :, k]
            np.testing.assert_allclose(own - own.mean(), h - h.mean(), atol=2e-3 * max(1.0, np.ptp(h)))
            free = np.flatnonzero((np.abs(w) > 1e-6 * C) & (np.abs(w) < C * part.weights[plain.support_] * (1 - 1e-6)))
            if len(free):  # else the bias is one of an interval
                np.testing.assert_allclose(own, h + plain.intercept_, atol=2e-3 * max(1.0, np.ptp(h)))
        assert abs(fits.n_support[0, c] - len(support)) <= 3


def test_certificates_of_small_subproblems_hold_the_optimum(monkeypatch):
    """D <= P* <= P for P* of libsvm, at a gap at which they differ."""
    X, y = overlapping(150)
    seen, fit_parts = [], small.fit_parts
    monkeypatch.setattr(small, "fit_parts", lambda *given: (fit_parts(*given), seen.append(given[-1]))[0])
    Cs = [0.01, 1.0, 100.0]
    _, parts, _, fits = fold_of(X, y, Cs, 0.05)
    assert fits.n_certified.tolist() == [3] and (fits.gap > 0.0).all() and (fits.gap <= 0.05).all()
    for c, C in enumerate(Cs):
        for k, part in enumerate(parts):
            plain = SVC(C=C, gamma=0.5, tol=1e-10).fit(X[part.rows], part.y, sample_weight=part.weights)
            w, K = plain.dual_coef_.ravel(), pairwise.rbf_kernel(X[part.rows][plain.support_], gamma=0.5)
            slack = np.maximum(0.0, 1.0 - part.y * plain.decision_function(X[part.rows]))
            best = 0.5 * w @ K @ w + C * part.weights @ slack
            primal, dual = seen[0].values[c, k, :2]
            assert dual <= best * (1 + 1e-8) and best <= primal * (1 + 1e-8) and primal - dual <= 0.05 * primal


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_are_computed_as_they_are_asked_for_give_the_same_fits(seed, monkeypatch):
    X, y = blobs(400, seed=seed)
    _, _, _, whole = fold_of(X, y, [0.1, 1.0, 10.0])
    monkeypatch.setattr(matrix, "MANY", 0)
    shared, parts, held, some = fold_of(X, y, [0.1, 1.0, 10.0])
    assert shared.take_computed() == 400 * (shared.rows().slots >= 0).sum() < 400**2
    assert (some.n_certified == 3).all() and (whole.n_certified == 3).all()
    assert (np.diff(np.sort(shared.rows().slots[shared.is_used])) > 0).all()  # each support vector has a row of its own
    np.testing.assert_allclose(some.decision, whole.decision, atol=0.02)
    again = SharedMatrix(RBF(0.5), X, 10**9, shared).prepare()
    assert ((again.rows().slots >= 0) == shared.is_used).all()
    rows = np.flatnonzero(shared.is_used)
    values = pairwise.rbf_kernel(X[rows], X, gamma=0.5)
    assert np.abs(again.rows().K[again.rows().slots[rows]] - values).max() < 1e-14
    before = small.fit_small(again, [small.FoldParts(parts, held)], [0.1, 1.0, 10.0], 1e-6)
    np.testing.assert_allclose(before.decision, whole.decision, atol=0.02)
    assert np.abs(again.K - pairwise.rbf_kernel(X, gamma=0.5)).max() < 1e-14


def test_fits_that_other_code_takes_up_have_the_whole_matrix(monkeypatch):
    X, y = overlapping(150)
    searched = {"solver": "smo", "kernel": "rbf", "grid": {"C": [0.1, 1.0, 10.0], "gamma": [0.5]}, "cv": 3}
    expected = tune.search(X, y, **searched)
    monkeypatch.setattr(matrix, "MANY", 0)
    monkeypatch.setattr(small, "STEPS", 60)
    found = tune.search(X, y, **searched)
    scores = [{c.C: c.scores for c in result.candidates} for result in (found, expected)]
    assert scores[0].keys() == scores[1].keys() and all(c.converged for c in found.candidates)
    assert max(abs(np.subtract(scores[0][C], scores[1][C])).max() for C in scores[0]) <= 0.02
    assert all(c.kernel_values > 0 for c in found.candidates)


def test_what_small_solves_do_not_certify_goes_to_other_code(monkeypatch):
    X, y = overlapping(150)
    how = {"kernel": RBF(0.5), "grid": {"C": CS}, "cv": 3, "stop": Gap(1e-7)}
    expected = tune.search(X, y, **how)
    monkeypatch.setattr(small, "STEPS", 100)  # enough for the smallest C only
    solved, solve = [], ActiveSets.solve
    monkeypatch.setattr(ActiveSets, "solve", lambda *given: (solved.append(given[2]), solve(*given))[1])
    found = tune.search(X, y, **how)
    assert 0 < len(solved) < 9 and 0.03 not in solved and all(c.converged for c in found.candidates)
    for one, other in zip(found.candidates, expected.candidates, strict=True):
        assert one.C == other.C and one.mean_accuracy == pytest.approx(other.mean_accuracy, abs=0.007)
    shared, parts, held, _ = fold_of(X, y, [1.0])
    assert (
        small.fit_small(shared, [small.FoldParts(parts, held)], [1e308], 1e-3) is None
    )  # twice that is beyond float64


def test_small_solves_take_no_more_than_the_memory():
    X, y = overlapping(150)
    shared, parts, held, _ = fold_of(X, y, [1.0])
    method = resolve(Settings(solver="smo", kernel=RBF(0.5)))
    needed = 8 * (150**2 + 2 * (2 * 60 + 120**2))
    sizes = [len(part.rows) for part in parts]
    assert small.is_small(shared, method, sizes, 1, 2 * len(held), needed, 2)
    assert not small.is_small(shared, method, sizes, 1, 2 * len(held), needed - 1, 2)
    assert not small.is_small(shared, method, [small.MOST[2] + 1], 1, 2 * len(held), "1GB", 1)
    long = [small.MOST[0] + 1]
    assert small.is_small(shared, method, long, small.MANY, 2 * len(held), "1GB", 1)
    assert not small.is_small(shared, method, long, small.MANY + 1, 2 * len(held), "1GB", 1)


def test_an_interrupt_keeps_the_candidates_that_are_whole(shared):
    X, y = blobs(600, shift=0.2)
    sent = []  # a second signal would raise KeyboardInterrupt

    def report(at):
        if at.fits >= 6 and not sent:
            sent.append(at)
            os.kill(os.getpid(), signal.SIGINT)

    grid = {"C": np.logspace(-2, 7, 60).tolist()}
    found = tune.search(X, y, kernel=RBF(0.01), grid=grid, cv=3, stop=Gap(1e-8), report=report, jobs=2)
    assert shared and found.interrupted and 1 <= len(found.candidates) < 60
    assert [c.C for c in sorted(found.candidates, key=lambda c: c.C)] == grid["C"][: len(found.candidates)]
    assert sent[0].of == 180 and sent[0].best > 0.4


@pytest.mark.parametrize("most", [0, 1500])
def test_jobs_change_nothing(most, monkeypatch):
    monkeypatch.setattr(small, "MOST", (most,) * 3)
    X, y = scaled(datasets.load_iris, 150)
    one, two = (tune.search(X, y, grid={"C": CS, "gamma": GAMMAS}, cv=3, jobs=jobs) for jobs in (1, 2))
    assert [(c.params, c.mean_score, c.n_iter) for c in one.candidates] == [
        (c.params, c.mean_score, c.n_iter) for c in two.candidates
    ]


def test_what_is_learnt_once_is_shared(shared, monkeypatch):
    X, y = overlapping(150)
    X[:, 0] *= 100.0
    how = {"grid": {"C": CS, "gamma": ["scale", 0.5]}, "cv": 3, "scale": "standard", "stop": Gap(1e-6)}
    each = tune.search(X, y, **how)
    assert not shared
    once = tune.search(X, y, **how, preparation="once")
    assert len(shared) == 18
    scores = [{(c.C, c.params["gamma"]): c.mean_accuracy for c in found.candidates} for found in (each, once)]
    assert scores[0].keys() == scores[1].keys() and all(abs(scores[0][k] - scores[1][k]) < 0.03 for k in scores[0])
    with pytest.raises(InputError, match="there are: each, once"):
        tune.search(X, y, **how, preparation="twice")


def test_paths_that_cannot_share_are_fitted_as_before(shared):
    X, y = overlapping(90)
    found = tune.search(X, y, grid={"C": CS, "gamma": ["scale", 0.5]}, cv=3)
    assert len(shared) == 9 and len(found.candidates) == 6 and found.n_fits == 18
    for other in ({"solver": "swap2o"}, {"metric": "roc_auc"}, {"kernel": "linear"}, {"backend": "threading"}):
        tune.search(X, y, **{"grid": {"C": CS}, "kernel": RBF(0.5), "cv": 3} | other)
    assert len(shared) == 9


def test_a_fit_that_fails_says_why(monkeypatch):
    X, y = overlapping(90)

    def broken(self, problem, C, *rest):
        raise InputError("no")

    def without_room(*given):
        raise MemoryError

    before = ActiveSets.solve
    monkeypatch.setattr(small, "MOST", (0, 0, 0))
    monkeypatch.setattr(ActiveSets, "follow", without_room)
    assert not any(c.failed for c in tune.search(X, y, kernel=RBF(0.5), grid={"C": CS}, cv=3).candidates)
    monkeypatch.setattr(
        ActiveSets, "solve", lambda self, problem, C, *given: (broken if C == 1.0 else before)(self, problem, C, *given)
    )
    found = tune.search(X, y, kernel=RBF(0.5), grid={"C": CS}, cv=3)
    assert [c.reason for c in found.candidates] == [None, None, "no"] and found.candidates[-1].failed


@pytest.mark.parametrize("kinks", [None, 0.25])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_a_step_of_newton_between_the_bounds_ends_at_the_optimum(ridge, kinks):
    rng, m = np.random.default_rng(0), 12
    A = rng.normal(size=(m, m))
    K, beta = A @ A.T + np.eye(m), np.where(np.arange(m) % 2, 1e4, -1e4) + rng.normal(size=m)
    if kinks is None:
        beta = np.abs(beta)
    y = np.ones(m) if kinks else np.where(rng.random(m) < 0.5, 1.0, -1.0)
    signed = y * beta
    t = (K + ridge * np.eye(m)) @ signed + rng.normal(size=m)
    free = np.arange(2, m)

    def value(signed):
        smooth = 0.5 * signed @ K @ signed + 0.5 * ridge * signed @ signed - t @ signed
        return smooth + (kinks or 0.0) * np.abs(signed).sum()

    v = K @ signed + ridge * signed - t
    lower = np.full(m, -1e6 if kinks else 0.0)
    own = lower, np.full(m, 1e6), np.full(m, ridge), np.diag(K).copy(), beta.copy(), v.copy(), np.empty(m, np.uint8)
    box = Box(y, *own)
    take_sides(box, kinks)
    before = value(signed)
    fall = loops.newton_step(box, K, free, 0.0, kinks)
    after = y * box.beta
    np.testing.assert_array_equal(after[:2], signed[:2])
    assert after.sum() == pytest.approx(signed.sum(), abs=1e-8)
    slopes = K @ after + ridge * after - t + (kinks or 0.0) * np.sign(after)
    assert np.ptp(slopes[free]) < 1e-6 < 0.1 < np.ptp(v[free])
    np.testing.assert_allclose(box.v, K @ after + ridge * after - t, atol=1e-6)
    assert fall == pytest.approx(before - value(after), abs=1e-4) and fall > 0.1


@pytest.mark.parametrize("seed", range(20))
def test_a_step_of_newton_keeps_the_bounds_and_the_sum_and_tells_the_fall(seed):
    rng, m = np.random.default_rng(seed), 15
    A = rng.normal(size=(m, m))
    K, y = A @ A.T + np.eye(m), np.where(rng.random(m) < 0.5, 1.0, -1.0)
    beta = rng.uniform(0.0, 1.0, m)
    v = y * (K @ (y * beta) * y - 1.0)
    box = Box(y, np.zeros(m), np.ones(m), np.zeros(m), np.diag(K).copy(), beta.copy(), v, np.empty(m, np.uint8))
    take_sides(box, None)

    def value(signed):
        return 0.5 * signed @ K @ signed - np.abs(signed).sum()

    fall = loops.newton_step(box, K, np.arange(m), 0.0, None)
    assert (box.beta >= 0.0).all() and (box.beta <= 1.0).all()
    assert y @ box.beta == pytest.approx(y @ beta, abs=1e-12)
    assert fall == pytest.approx(value(y * beta) - value(y * box.beta), abs=1e-10) and fall >= 0.0
    assert fall > 0.0 or (box.beta == beta).all()


def path_of(seed, n=60):
    """Kernel values, signs, and for ascending C the optimal weights times their signs, by SMO alone."""
    X, y = overlapping(n, seed=seed)
    K, y = pairwise.rbf_kernel(X, gamma=0.3), np.where(y == y.max(), 1.0, -1.0)
    Cs = np.geomspace(2.0, 50.0, 30).tolist()
    return K, y, Cs, [SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, y) for C in Cs]


def box_at(K, y, C, weights):
    n, v = len(y), K @ (y * weights) - y
    given = np.zeros(n), np.full(n, C), np.zeros(n), np.diag(K).copy()
    box = Box(y, *given, weights.copy(), v, np.empty(n, np.uint8))
    take_sides(box, None)
    return box


def ahead_of(box):
    """What is expected where nothing is known: that all stays as it is."""
    is_free = (box.beta > box.lower) & (box.beta < box.upper)
    return box.y * box.beta, box.v - float(np.median(box.v[is_free]))


@pytest.mark.parametrize("seed", range(4))
def test_leaps_along_a_path_end_at_the_optima_of_libsvm(seed, monkeypatch):
    """Each from the last optimum times C over the last C, with the factor that the leaps before have left."""
    K, y, Cs, plain = path_of(seed)
    far, weights, before, n_new = (K, np.arange(len(y))), None, 1.0, 0
    factor, image, limits = (
        bordered.empty_factor(len(y), K.dtype),
        np.empty(len(y)),
        leaps.Limits(1e-10, 1.0, 1e-9, 30, 60),
    )
    for C, truth in zip(Cs, plain, strict=True):
        best = np.zeros(len(y))
        best[truth.support_] = np.abs(truth.dual_coef_[0])
        if weights is not None:
            box, last = box_at(K, y, C, np.minimum(weights * (C / before), C)), factor
            value = 0.5 * (y * box.beta) @ (box.v - y)
            fall, length, factor = leaps.leap(box, far, factor, ahead_of(box), limits, image)
            n_new += factor is not last and factor.L is not last.L
            assert length == 1.0
            is_free = (box.beta > 0.0) & (box.beta < C)
            bordered.absorb(factor, far, is_free, 1e-10)
            f, used = factor.counts
            among, L = factor.ids[:f], np.tril(factor.L[:f, :f])
            assert set(np.flatnonzero(is_free)) <= set(among) and (factor.place[among] == np.arange(f)).all()
            np.testing.assert_allclose(L @ L.T, K[np.ix_(among, among)] + 1e-10 * np.eye(f), atol=1e-9)
            ones = np.concatenate([np.ones((f, 1)), np.eye(f)[:, factor.place[factor.owner[1:used]]]], axis=1)
            np.testing.assert_allclose(L @ factor.W[:used, :f].T, ones, atol=1e-7)
            np.testing.assert_allclose(factor.W[:used, :f] @ factor.W[:used, :f].T, factor.G[:used, :used], rtol=1e-7)
            own = 0.5 * (y * box.beta) @ K @ (y * box.beta) - box.beta.sum()
            assert own == pytest.approx(0.5 * (y * best) @ K @ (y * best) - best.sum(), rel=1e-6)
            assert fall == pytest.approx(value - own, rel=1e-6, abs=1e-9)
            assert (box.beta >= 0.0).all() and (box.beta <= C).all() and abs(y @ box.beta) <= 1e-9 * C
            np.testing.assert_allclose(box.v, K @ (y * box.beta) - y, atol=1e-8 * C)
        weights, before = best, C
        weights[weights > C * (1.0 - 1e-9)] = C
    assert 0 < n_new < len(Cs) - 1


@pytest.mark.parametrize("seed", range(10))
def test_a_leap_from_anywhere_keeps_the_bounds_and_the_sum_and_never_leads_up(seed):
    K, y, *_ = path_of(seed, 40)
    weights = np.random.default_rng(seed).choice([0.0, 1.0, 2.5, 5.0], len(y))
    box, far, image = box_at(K, y, 5.0, weights), (K, np.arange(len(y))), np.empty(len(y))
    value, total, v = 0.5 * (y * weights) @ (box.v - y), y @ weights, box.v.copy()
    factor, limits = bordered.empty_factor(len(y), K.dtype), leaps.Limits(1e-10, 0.3, 1e-9, 4, 40)
    fall, length, _ = leaps.leap(box, far, factor, ahead_of(box), limits, image)
    assert fall >= 0.0 and (box.beta >= 0.0).all() and (box.beta <= 5.0).all()
    assert y @ box.beta == pytest.approx(total, abs=1e-8)
    own = 0.5 * (y * box.beta) @ K @ (y * box.beta) - box.beta.sum()
    assert fall == pytest.approx(value - own, abs=1e-7)
    assert fall > 0.0 or (box.beta == weights).all()
    np.testing.assert_allclose(box.v, K @ (y * box.beta) - y, atol=1e-9)
    np.testing.assert_allclose(box.v, v + length * image, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("come", [3, 40])
def test_a_factor_with_a_border_solves_for_other_sets(come, kind):
    """Against the equations of the set itself, with samples that have come, left, and are held elsewhere."""
    rng, n = np.random.default_rng(come), 400
    X = rng.normal(size=(n, 6))
    K, v = pairwise.rbf_kernel(X, gamma=0.5), rng.normal(size=n)
    far, order = (K, np.arange(n)), rng.permutation(n)
    factor = bordered.factorise(far, order[:250], 0.01, bordered.empty_factor(n, np.dtype(kind)))
    is_free, moved = np.zeros(n, np.bool_), np.zeros(n)
    is_free[order[come : 250 + come]] = True
    moved[order[:2]], moved[order[-3:]] = 0.7, -0.2
    border = bordered.border_of(factor, is_free, moved)
    assert set(border) == {*order[:come], *order[250 : 250 + come], *order[-3:]}
    assert bordered.complete(factor, border, far)
    z = -v[factor.ids[:250]].astype(kind)[None]
    bordered.solve_forward(factor.L, z)
    b = bordered.solve_between(factor, border, far, z[0], v, is_free, moved, 0.01)
    values, tolerance = v + K @ moved + 0.01 * moved, 1e-3 if kind is np.float32 else 1e-8
    np.testing.assert_allclose(values[is_free], -b, atol=tolerance)
    assert abs(moved.sum()) < tolerance and moved[order[0]] == 0.7 and moved[order[-1]] == -0.2


def test_the_rounding_errors_of_changed_decisions_are_within_their_bound():
    """Along a path whose decisions are changed rather than computed anew, against sums of higher precision."""
    X, y = overlapping(200)
    shared = SharedMatrix(RBF(0.5), X, 10**9)
    sets, signs = ActiveSets(shared, np.arange(200), 200, lambda: False), np.where(y == y.max(), 1.0, -1.0)
    depths, exact = [], shared.K.astype(np.longdouble)
    method = resolve(Settings(solver="smo", kernel=RBF(0.5)))
    for C in np.geomspace(1e-3, 1e3, 60).tolist():
        problem = method.pose(method.solver, sets.gram, signs, np.full(200, C))
        solved = sets.solve(problem, C, 1e-3, 1e9)
        off = np.abs(solved.h - (exact @ (signs * solved.point).astype(np.longdouble)).astype(float)).max()
        depths.append(sets._base[0].depth + 2.0)
        assert off <= depths[-1] * 2.0**-53 * np.abs(solved.point).sum() and depths[-1] <= 200
        assert solved.certificate.gap <= 1e-3
    assert max(depths) > 60.0  # some are changed: sums from scratch have no more than 58


@pytest.mark.parametrize("least", [10, 300])
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_fits_take_no_step_once_only_equal_rows_of_opposite_labels_are_at_their_bounds(weight, least, monkeypatch):
    monkeypatch.setattr(active, "LEAP", least)
    X, y = overlapping(60)
    y = np.where(y == y.max(), 1.0, -1.0)
    X, y = np.vstack([X, X[:20], X[:5]]), np.concatenate([y, -y[:20], y[:5]])
    shared, method = SharedMatrix(RBF(20.0), X, 10**9), resolve(Settings(solver="smo", kernel=RBF(20.0)))
    assert len(np.unique(shared.group)) == 60 and (shared.group[60:80] == shared.group[:20]).all()
    sets, weights = ActiveSets(shared, np.arange(85), 85, lambda: False), np.where(y > 0.0, weight, 1.0)
    for C in (1e2, 1e3, 1e4, 1e5):
        if C > 1e2:
            monkeypatch.setattr(leaps, "leap", None)  # none is taken
        solved = sets.solve(method.pose(method.solver, sets.gram, y, C * weights), C, 1e-3, 1e9)
        peer = SVC(C=C, gamma=20.0, tol=1e-9, class_weight={1.0: weight}).fit(X, y)
        signed, K = np.zeros(85), pairwise.rbf_kernel(X, gamma=20.0)
        signed[peer.support_] = peer.dual_coef_[0]
        best = np.abs(signed).sum() - 0.5 * signed @ K @ signed
        own = y * solved.point
        assert best * (1.0 - 1e-3) <= solved.point.sum() - 0.5 * own @ K @ own <= best * (1.0 + 1e-9)
        assert solved.certificate.gap <= 1e-3 and abs(own.sum()) <= 1e-9 * C
        assert (solved.point == C * weights).any() and (C == 1e2 or solved.steps == 0)


def test_rows_of_few_values_are_multiplied_in_csr_with_the_same_values(monkeypatch):
    X, y = zeros_and_ones(0, n=200)
    X = np.hstack([X, np.zeros((len(X), 100))])
    assert sparse.issparse(as_thin(X)) and not sparse.issparse(as_thin(X[:, :12]))
    assert np.abs(SharedMatrix(RBF(0.5), as_thin(X), 10**9).K - pairwise.rbf_kernel(X, gamma=0.5)).max() < 1e-14
    searched = {"solver": "smo", "kernel": "rbf", "grid": {"C": CS, "gamma": GAMMAS}, "cv": FOLDS}
    thin = tune.search(X, y, **searched)
    monkeypatch.setattr(engine, "as_thin", lambda X: X)
    dense = tune.search(X, y, **searched)
    assert [(c.params, c.mean_score) for c in thin.candidates] == [(c.params, c.mean_score) for c in dense.candidates]


def test_rows_of_a_given_matrix_are_not_compared():
    assert (SharedMatrix(Precomputed(), np.ones((4, 4)), 10**9).group == np.arange(4)).all()


def test_the_second_half_of_a_matrix_is_the_mirror_of_the_first_on_several_threads():
    rows = np.random.default_rng(0).normal(size=(1500, 3))
    with threads.using(min(2, threads.most())):
        K = SharedMatrix(RBF(0.5), rows, 10**9).K
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, pairwise.rbf_kernel(rows, gamma=0.5), atol=1e-12)


def test_leaps_wait_for_a_fit_of_many_steps_and_go_on_from_there(shared, monkeypatch):
    X, y = overlapping(150)
    monkeypatch.setattr(active, "LEAP", 10)
    taken, leap = [], leaps.leap
    monkeypatch.setattr(leaps, "leap", lambda *given: (taken.append(len(shared)), leap(*given))[1])
    fits = {}
    for steps in (0, 10, 10**9):
        monkeypatch.setattr(active, "LONG", steps)
        taken.clear()
        shared.clear()
        grid = {"C": np.geomspace(0.3, 300.0, 8).tolist()}
        tune.search(X, y, kernel=RBF(0.5), grid=grid, cv=2, stop=Gap(1e-6), refine="all")
        fits[steps] = set(taken)
    assert not fits[10**9] and 0 < len(fits[10]) < len(fits[0])
    assert max(fits[10]) == max(fits[0])  # the number of the last fit that leaps


def test_searches_with_leaps_have_the_scores_of_refits_and_forget_what_has_no_room(shared, monkeypatch):
    X, y = overlapping(150)
    grid = {"C": np.geomspace(0.3, 300.0, 8).tolist()}
    how = {"kernel": RBF(0.5), "grid": grid, "cv": 3, "stop": Gap(1e-6), "refine": "all"}
    expected = tune.search(X, y, **how)
    monkeypatch.setattr(active, "LEAP", 10)
    taken, leap = [], leaps.leap
    monkeypatch.setattr(leaps, "leap", lambda *given: (taken.append(len(given[2].ids)), leap(*given))[1])
    found = tune.search(X, y, **how)
    kept = len(taken)
    monkeypatch.setattr(engine, "most_kept", lambda *given: 0)
    tight = tune.search(X, y, **how)
    assert taken[kept:].count(0) > 2 * taken[:kept].count(0) > 0
    assert all(c.converged for c in (*found.candidates, *tight.candidates))
    assert sum(c.n_iter for c in found.candidates) < 0.5 * sum(c.n_iter for c in expected.candidates)
    for own, forgetful, one in zip(found.candidates, tight.candidates, expected.candidates, strict=True):
        assert own.mean_accuracy == pytest.approx(one.mean_accuracy, abs=0.007)
        assert forgetful.mean_accuracy == pytest.approx(one.mean_accuracy, abs=0.007)


@pytest.mark.skipif(threads.most() < 2, reason="one thread")
def test_small_folds_side_by_side_are_those_of_one_thread(monkeypatch):
    X, y = SETS["iris"](0)
    monkeypatch.setattr(engine, "ROWS", 300)  # 2 calls for 3 folds
    how = {"grid": {"C": CS, "gamma": GAMMAS}, "cv": 3, "seed": 0}
    alone = tune.search(X, y, **how, n_threads=1)
    both, fit_small = threading.Barrier(2, timeout=60), engine.fit_small

    def together(*args):
        both.wait()  # passes when a call is under way in each of two threads
        return fit_small(*args)

    monkeypatch.setattr(engine, "fit_small", together)
    found = tune.search(X, y, **how, n_threads=2)
    assert [(c.params, c.scores, c.n_iter) for c in found.candidates] == [
        (c.params, c.scores, c.n_iter) for c in alone.candidates
    ]
