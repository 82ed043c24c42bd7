"""dfcsmo over parts: the optimum of libsvm's dual, certificates that are those of the whole, and what it sends."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC
from svmkit_dask.dfcsmo import DFCSMO, Stretch
from svmkit_dask.driver.problem import ScatteredQP
from svmkit_dask.driver.session import LocalWorkers, Session
from svmkit_dask.parts.part import MemoryPart
from svmkit_dask.worker.answers import Message, answer
from svmkit_dask.worker.rows import Features, Portion, Rows, Space, Spec

from svmkit import fit, plugins
from svmkit.errors import InputError, SvmkitError
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import Hinge, SquaredHinge
from svmkit.problems.box import BoxQP
from svmkit.solver import Gap, Progress, Status, solve
from svmkit.solver.sampler import Draws
from svmkit.solver.smo import box as smo_box

HINGE = Hinge()
SMALL = DFCSMO(first=30)


def data(n=400, d=4, seed=0, far=0.0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.uniform(size=n) < 0.3, 1.0, -1.0)
    return far + rng.normal(size=(n, d)) + 0.7 * y[:, None], y


def scattered(X, y, kernel, *, ends=(100, 101, 250), loss=HINGE, C=1.0, crew=LocalWorkers, budget=1 << 16):
    """The problem over parts that end at these rows, on a new crew."""
    space = Space(kernel, Extent.measure(kernel, X), X.shape[1])
    cuts = [0, *ends, len(y)]
    parts = [
        Portion(Features(MemoryPart(X[lo:hi], y[lo:hi]), space), (y[lo:hi] > 0).astype(np.int64), np.ones(hi - lo))
        for lo, hi in pairwise(cuts)
    ]
    spec = Spec(0, 1, C, np.ones(2), loss, np.dtype(np.float32))
    return ScatteredQP(Session(crew(parts, space), spec), budget)


def whole(problem, X, y, point, C=1.0):
    """The certificate that BoxQP gives the same point on all rows."""
    same = BoxQP(Gram(problem.gram.kernel, X), y, C, loss=problem.loss)
    beta = np.zeros(len(y))
    beta[point[:, 0].astype(int)] = point[:, 1]
    return same.certificate(beta)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=str)
@pytest.mark.parametrize(("kernel", "storage"), [(RBF(0.3), np.asarray), (Linear(), sp.csr_array)])
def test_the_certificate_over_parts_is_that_of_the_whole(loss, kernel, storage):
    X, y = data()
    problem = scattered(storage(X), y, kernel, loss=loss)
    found = solve(problem, DFCSMO(first=30, loss=loss.name), stop=Gap(1e-5))
    same = whole(problem, storage(X), y, found.point)
    assert found.status is Status.CONVERGED and problem.infeasible(found.point) is None
    assert found.certificate.primal == pytest.approx(same.primal, rel=1e-12)
    assert found.certificate.dual == pytest.approx(same.dual, rel=1e-11)
    assert found.certificate.gap == pytest.approx(same.gap, rel=1e-5, abs=1e-11)


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_the_optimum_is_libsvms_however_the_rows_are_dealt(far):
    X, y = data(far=far)
    theirs = SVC(C=1.0, gamma=0.3, tol=1e-6).fit(X - far, y)
    order = np.random.default_rng(1).permutation(len(y))
    dealings = [((), slice(None)), ((1, 2, 399), slice(None)), ((130, 260), order), ((130, 260), np.argsort(y))]
    for ends, rows in dealings:
        problem = scattered(X[rows], y[rows], RBF(0.3), ends=ends)
        found = solve(problem, SMALL, stop=Gap(1e-6))
        dual = np.abs(theirs.dual_coef_).sum() - 0.5 * _norm(theirs)
        assert found.certificate.dual == pytest.approx(dual, rel=2e-6)


def _norm(model):
    """|w|^2 of scikit-learn's model."""
    Z = model.support_vectors_
    K = np.exp(-0.3 * ((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    return float(model.dual_coef_[0] @ K @ model.dual_coef_[0])


def test_a_full_working_set_leaves_rounds_to_the_parts():
    X, y = data(n=1500, d=2, seed=3)
    problem = scattered(X, y, RBF(2.0), ends=(400, 800, 1200), budget=16 << 10)  # room for 91 of some 1,000 vectors
    asked = _counting(problem.session)
    found = solve(problem, SMALL, stop=Gap(1e-3))
    assert found.status is Status.CONVERGED and len(found.point) > 500
    assert asked["block"] > 0
    assert whole(problem, X, y, found.point).gap <= 1e-3


def test_rows_that_nobody_needs_are_forgotten(monkeypatch):
    monkeypatch.setattr("svmkit_dask.driver.state.SPARE", 0)
    X, y = data(n=1500, d=2, seed=3)
    problem = scattered(X, y, RBF(2.0), budget=16 << 10)
    kept = []
    keep = problem.candidates.keep
    problem.candidates.keep = lambda slots: (kept.append(len(slots)), keep(slots))
    found = solve(problem, SMALL, stop=Gap(1e-3))
    assert kept and found.status is Status.CONVERGED
    assert whole(problem, X, y, found.point).gap <= 1e-3


def _counting(session):
    """Count the messages of a session by what they ask for."""
    asked, ask = dict.fromkeys(["block"], 0), session.ask

    def counted(message, *args, **kwargs):
        asked[message.do] = asked.get(message.do, 0) + 1
        return ask(message, *args, **kwargs)

    session.ask = counted
    return asked


def test_no_answer_grows_with_the_rows():
    sizes = []
    for n in (2_000, 8_000):
        X, y = data(n=n, d=2)
        X = np.where(y[:, None] > 0, np.abs(X), -np.abs(X)) + 0.1 * y[:, None]  # few support vectors, however many rows
        problem, largest = scattered(X, y, Linear(), ends=(500,)), [0]
        crew = problem.session.workers

        def measured(*args, ask=crew.ask, largest=largest):
            answers = ask(*args)
            largest[0] = max(largest[0], *(_numbers(answer) for answer in answers))
            return answers

        crew.ask = measured
        assert solve(problem, SMALL, stop=Gap(1e-3)).status is Status.CONVERGED
        sizes.append(largest[0])
    assert sizes[1] < 1.5 * sizes[0]


def _numbers(answer):
    """The numbers in an answer."""
    if isinstance(answer, tuple):
        return sum(_numbers(item) for item in answer)
    return np.size(answer)


class Losing(LocalWorkers):
    """Loses the rows of some parts before it hands on a message."""

    chance, rng = 0.2, np.random.default_rng(0)

    def ask(self, problem, message, own, change, parts):
        for p in parts:
            if self.rng.random() < self.chance:
                self._rows.pop((problem, p), None)
        return super().ask(problem, message, own, change, parts)


def test_parts_that_lose_their_rows_again_and_again_change_nothing_but_the_time():
    X, y = data(seed=5)
    problem = scattered(X, y, RBF(0.3), crew=Losing)
    found = solve(problem, SMALL, stop=Gap(1e-5))
    same = whole(problem, X, y, found.point)
    assert found.status is Status.CONVERGED and found.certificate.gap == pytest.approx(same.gap, rel=1e-5, abs=1e-11)


def test_a_part_that_always_loses_its_rows_is_named():
    X, y = data()
    with pytest.raises(SvmkitError, match="part 0 loses its rows again and again"):
        solve(scattered(X, y, RBF(0.3), crew=type("Always", (Losing,), {"chance": 1.0})), SMALL)


def test_the_same_message_twice_is_the_same_answer():
    X, y = data()
    twice = type("Twice", (LocalWorkers,), {})

    def ask(self, problem, message, own, change, parts):
        first = LocalWorkers.ask(self, problem, message, own, change, parts)
        if message.do == "adopt":
            return first
        again = LocalWorkers.ask(self, problem, message, own, change, parts)
        assert repr(first) == repr(again)
        return again

    twice.ask = ask
    once, again = (solve(scattered(X, y, RBF(0.3), crew=crew), SMALL, stop=Gap(1e-5)) for crew in (LocalWorkers, twice))
    assert np.array_equal(once.point, again.point)


def test_a_solve_continues_from_a_point_of_another_crew():
    X, y = data()
    early = solve(scattered(X, y, RBF(0.3)), SMALL, stop=Gap(1e-1))
    problem = scattered(X, y, RBF(0.3))
    assert problem.infeasible(early.point) is None
    later = solve(problem, SMALL, stop=Gap(1e-5), start=Progress(early.point, early.n_iter))
    assert later.status is Status.CONVERGED and later.certificate.gap <= 1e-5
    assert "rows of these parts" in problem.infeasible(np.array([[1e6, 1.0]]))
    assert "y'beta" in problem.infeasible(np.array([[0.0, 1.0]]))
    assert "at most" in problem.infeasible(np.array([[0.0, 2.0]]))


def test_one_class_in_a_part_is_fine_and_in_all_is_not():
    X, y = data()
    order = np.argsort(y)
    plus = int((y < 0).sum())
    found = solve(scattered(X[order], y[order], RBF(0.3), ends=(plus,)), SMALL)
    assert found.status is Status.CONVERGED
    with pytest.raises(InputError, match="one class only"):
        scattered(X, np.ones(len(y)), RBF(0.3))


def test_messages_say_which_state_they_belong_to():
    X, y = data()
    session = scattered(X, y, RBF(0.3)).session
    with pytest.raises(SvmkitError, match="loses its rows"):
        session.ask(Message("survey", 7, options={"level": 0.0, "wanted": 3}))


@pytest.mark.parametrize("stop", [0.3, 0.1])
def test_a_part_solves_for_the_rows_that_violate_and_those_between_their_bounds(stop):
    """Others keep their weights; the objective falls, within the bounds and with the sum of the weights kept."""
    X, y = data(200)
    model = fit(X, y, solver="smo", kernel=RBF(0.3), stop=Gap(stop)).model
    beta = np.zeros(200)
    beta[[int(np.flatnonzero((row == X).all(axis=1))[0]) for row in model.vectors]] = np.abs(model.coef[0])
    space = Space(RBF(0.3), Extent.measure(RBF(0.3), X), X.shape[1])
    codes = (y > 0).astype(np.int64)
    rows = Rows(Portion(Features(MemoryPart(X, y), space), codes, np.ones(200)), Spec(0, 1, 1.0, np.ones(2), HINGE))
    signs, K = rows.box.y, Gram(RBF(0.3), X).block(np.arange(200), np.arange(200))
    rows.box.beta[:] = beta
    rows.take(1, K @ (signs * beta))
    level, bits = float(np.median(rows.box.v[(beta > 0.0) & (beta < 1.0)])), smo_box.UP | smo_box.LOW
    rise = np.where(rows.box.side & smo_box.UP, level - rows.box.v, -np.inf)
    fall = np.where(rows.box.side & smo_box.LOW, rows.box.v - level, -np.inf)
    taken = np.flatnonzero((np.maximum(rise, fall) > 0.0) | (rows.box.side & bits == bits))
    assert 0 < len(taken) < 150
    options = {"level": level, "most": 200, "memory": 1 << 20, "inner": 1e-6}
    block = answer(rows, Message("block", options=options), None, None)
    assert len(block.positions) and np.isin(block.positions, taken).all()
    after = beta.copy()
    after[block.positions] += block.values
    assert after.min() >= 0.0 and after.max() <= 1.0 and signs @ after == pytest.approx(signs @ beta, abs=1e-9)
    before, now = (0.5 * (signs * b) @ K @ (signs * b) - b.sum() for b in (beta, after))
    assert now < before


@pytest.mark.parametrize(("first", "plus"), [(40, 20), (200, 100), (300, 100), (1000, 100)])
def test_the_first_rows_are_half_of_each_class_if_there_are_enough(first, plus):
    X, _ = data(400)
    y = np.where(np.random.default_rng(1).permutation(400) < 100, 1.0, -1.0)
    problem = scattered(X, y, RBF(0.3))
    state = DFCSMO(first=first).init(problem, None, Draws(plugins.build("sampler", "full"), np.ones(4), 0))
    state.grow(first, 2.0)
    drawn = state.box.y
    assert len(drawn) == min(first, 400) and np.count_nonzero(drawn > 0.0) == plus


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("lo", "hi"), [(0, 10), (17, 40), (40, 60)])
def test_a_stretch_of_samples_is_a_part_with_their_values(lo, hi, storage):
    X, _ = data(60)
    gram, rows = Gram(RBF(0.3), storage(X)), np.array([7, 0, 3])
    K, own = gram.block(np.arange(60), np.arange(60)), Stretch(gram, lo, hi)
    values = gram.engine.block(own.take(rows), np.empty((3, 60)))
    np.testing.assert_allclose(values, K[:, lo + rows].T, rtol=1e-12)
    np.testing.assert_array_equal(own.diag(rows), np.diag(K)[lo + rows])
    ((here, engine, at),) = own.cut(np.sort(rows))
    assert here == slice(0, 3) and engine is gram.engine and at.tolist() == [lo, lo + 3, lo + 7]
    assert list(own.cut(rows[:0])) == [] and own.part.n_rows == hi - lo
