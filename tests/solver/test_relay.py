"""A relay of two solvers on many columns: who works when, and what has to hold through the change."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from support.problems import make

from svmkit import SVMModel, fit
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.runtime import mapping
from svmkit.solver.auto import Auto
from svmkit.solver.loop import relay
from svmkit.solver.loop.free_bias import FreeBias
from svmkit.solver.loop.recorder import Journal
from svmkit.solver.loop.relay import Relay
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Goal, Uniform
from svmkit.solver.solution import Status
from svmkit.solver.step_info import StepInfo
from svmkit.solver.stopping import Gap, Iterations, Seconds
from svmkit.training import Checkpoint

FIELDS = 13
BOTH = {"dcd_iterations", "newton_iterations"}


def one_hot(m=6_000, d=1_200, noise=2.0, seed=0):
    """Fields of 4 columns and more, each a 1 in one of its columns by Zipf's law, and noisy labels."""
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(4.0, 0.4 * d, FIELDS)
    first = np.rint(np.append(0.0, np.cumsum(sizes)[:-1])).astype(int)
    columns = np.minimum(first + np.minimum(sizes ** rng.random((m, FIELDS)) - 1.0, sizes - 1.0).astype(int), d - 1)
    ends = np.arange(0, m * FIELDS + 1, FIELDS, dtype=np.int32)
    X = sp.csr_array((np.ones(m * FIELDS), columns.astype(np.int32).ravel(), ends), shape=(m, d))
    return X, np.sign(X @ rng.normal(size=d) + noise * rng.normal(size=m))


def far_apart(m=2_000, d=250):
    """Two spheres that a plane separates, with few rows within its margin."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    return rng.normal(size=(m, d)) + 4.0 / np.sqrt(d) * y[:, None], y


@pytest.fixture
def at_once(monkeypatch):
    """The second solver begins after one iteration of the first."""
    monkeypatch.setattr(relay, "FEWEST", 1.0)
    monkeypatch.setattr(relay, "AHEAD", 0.0)


def relay_of(bias=1.0, loss="squared_hinge"):
    first = make("dcd", loss=loss, bias=bias)
    return Relay(FreeBias(first) if bias == "free" else first, make("newton", loss=loss, bias=bias))


def solved(X, y, C=1.0, stop=Gap(1e-3), bias=1.0, loss="squared_hinge", memory="1GB", **options):  # noqa: B008
    solver = relay_of(bias, loss)
    return solve(solver.pose(Gram(Linear(), X, memory=memory), y, C), solver, stop=stop, **options)


def alone(name, X, y, C=1.0, bias=1.0, loss="squared_hinge", gap=1e-8):
    solver = make(name, loss=loss, bias=bias)
    return solve(solver.pose(Gram(Linear(), X), y, C), solver, stop=Gap(gap))


# --- who works when


@pytest.mark.parametrize("bias", [1.0, "free"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_second_solver_takes_over_where_the_first_is_slow(bias, loss):
    X, y = one_hot()
    found, known = solved(X, y, 10.0, bias=bias, loss=loss), alone("newton", X, y, 10.0, bias, loss).certificate
    assert found.status is Status.CONVERGED and found.certificate.gap <= 1e-3
    assert set(found.details) == BOTH and sum(found.details.values()) == found.n_iter
    assert found.certificate.dual <= known.primal and known.dual <= found.certificate.primal
    assert found.details["dcd_iterations"] < alone("dcd", X, y, 10.0, bias, loss, gap=1e-3).n_iter / 4


def test_the_optimum_is_that_of_liblinear():
    X, y = one_hot()
    peer = LinearSVC(dual=False, C=10.0, tol=1e-9, max_iter=10**6).fit(X, y)
    w, bias = peer.coef_[0], peer.intercept_[0]
    slack = np.maximum(1.0 - y * (X @ w + bias), 0.0)
    best = 0.5 * (w @ w + bias**2) + 10.0 * slack @ slack
    found = solved(X, y, 10.0, Gap(1e-6))
    assert set(found.details) == BOTH
    assert best * (1.0 - 1e-8) <= found.certificate.primal <= best * (1.0 + 1e-6)


def test_the_first_solver_ends_alone_where_it_is_fast():
    X, y = one_hot()
    found = solved(X, y, 0.01)
    assert found.status is Status.CONVERGED and set(found.details) == {"dcd_iterations"}
    assert found.details["dcd_iterations"] == alone("dcd", X, y, 0.01, gap=1e-3).n_iter


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("bias", [1.0, "free"])
def test_the_first_solver_ends_alone_where_only_the_primal_value_is_far_off(C, bias):
    X, y = far_apart()
    found = solved(X, y, C, bias=bias)
    assert found.status is Status.CONVERGED and set(found.details) == {"dcd_iterations"}
    assert found.n_iter == alone("dcd", X, y, C, bias, gap=1e-3).n_iter


def run_of(goal=1e-3):
    X, y = one_hot(60, 50)
    taken = relay_of()
    return relay._Run(
        taken, taken.pose(Gram(Linear(), X), y, 1.0), None, Draws(taken.sampler, y, 0, goal=Goal(goal, 1e9))
    )


def due(run, gaps, passes=1.0):
    """Return after which of some steps, of so many passes each, it is the turn of the other solver."""
    turns = []
    for gap in gaps:
        run.note(StepInfo(-1.0, 1, passes, gap=gap))
        turns.append(run.is_due())
    return turns


def test_a_gap_that_jumps_is_judged_anew():
    run = run_of()
    assert not any(due(run, [0.9, 0.5, 0.1, 0.01, 0.002, 0.9, 0.5, 0.1, 0.01, 0.002]))
    assert due(run, [0.9, 0.899, 0.898, 0.897, 0.896]) == [False, False, False, False, True]


@pytest.mark.parametrize(("total", "first"), [(15.0, None), (17.0, 2), (23.0, 2)])
def test_the_first_passes_are_judged_more_strictly(total, first):
    """Of a fall that ends after `total` passes: later, 20 passes may be ahead."""
    excess = 1e-3 / (1.0 - 1e-3) * np.exp(0.5 * (total - np.arange(1.0, 9.0)))
    turns = due(run_of(), excess / (1.0 + excess))
    assert (turns.index(True) + 1 if any(turns) else None) == first
    run = run_of()
    run.fewest = relay.KNOWN
    assert any(due(run, excess / (1.0 + excess))) == (total - relay.KNOWN > relay.AHEAD)


def test_the_second_turn_ends_where_its_gap_is_not_believed():
    run = run_of()
    run.hand_over()
    assert due(run, [1e-4] * 5, relay.MOST / 4.0) == [False, False, False, True, True]
    run.hand_over()
    assert run.solver is run.relay.first and run.most == 2.0 * relay.MOST


@pytest.mark.parametrize("bias", [1.0, "free"])
def test_the_first_solver_has_its_turn_again_where_the_second_is_slow_too(bias, monkeypatch):
    monkeypatch.setattr(relay, "MOST", 1.0)
    X, y = one_hot()
    found, known = solved(X, y, bias=bias), alone("newton", X, y, bias=bias).certificate
    assert found.status is Status.CONVERGED and 1 <= found.details["newton_iterations"] <= 9
    assert found.details["dcd_iterations"] > 2 * relay.FEWEST
    assert found.certificate.dual <= known.primal and known.dual <= found.certificate.primal
    assert found.certificate.gap <= 1e-3


def test_other_samplers_are_for_the_first_solver_alone():
    X, y = one_hot()
    found = solved(X, y, stop=Iterations(200), sampler=Uniform(500))
    assert set(found.details) == {"dcd_iterations"}


# --- what holds through the change


def test_the_objective_never_rises():
    X, y = one_hot()
    history = solved(X, y, 10.0, Gap(1e-6)).history
    values = np.array([point.objective for point in history])
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
    assert [point.n_iter for point in history] == sorted({point.n_iter for point in history})


@pytest.mark.parametrize("end", ["iterations", "callback", "seconds"])
@pytest.mark.parametrize("bias", [1.0, "free"])
def test_a_solve_that_ends_during_the_second_turn_is_certified(end, bias, at_once):
    X, y = one_hot()
    turn = 2
    rules = {"iterations": Gap(1e-9) | Iterations(turn), "callback": Gap(1e-9), "seconds": Gap(1e-15) | Seconds(0.3)}
    callbacks = [lambda point: point.n_iter >= turn] if end == "callback" else []
    found = solved(X, y, 10.0, rules[end], bias=bias, callbacks=callbacks)
    statuses = {"iterations": Status.MAX_ITER, "callback": Status.INTERRUPTED, "seconds": Status.TIME_LIMIT}
    assert found.status is statuses[end] or (end == "seconds" and found.status is Status.STALLED)
    known = alone("newton", X, y, 10.0, bias).certificate
    assert found.certificate.dual <= known.primal and known.dual <= found.certificate.primal
    if end != "seconds":
        assert found.n_iter == turn and found.details["newton_iterations"] == 1


class Keeper:
    """A saver that keeps the last progress."""

    kept = None

    def due(self, seconds):
        return True

    def save(self, progress):
        self.kept = progress


@pytest.mark.parametrize("bias", [1.0, "free"])
def test_a_solve_goes_on_in_the_second_turn_where_the_earlier_one_ended(bias, at_once):
    (X, y), keeper = one_hot(), Keeper()
    first = solved(X, y, 10.0, Gap(1e-3) | Iterations(3), bias=bias, journal=Journal(keeper))
    assert first.status is Status.MAX_ITER and first.details == {"dcd_iterations": 1.0, "newton_iterations": 2.0}
    later = solved(X, y, 10.0, Gap(1e-3), bias=bias, start=keeper.kept)
    assert later.status is Status.CONVERGED and later.certificate.gap <= 1e-3
    assert later.details["dcd_iterations"] == 1.0 and sum(later.details.values()) == later.n_iter
    assert later.certificate.dual >= first.certificate.dual * (1.0 - 1e-9)
    known = solved(X, y, 10.0, Gap(1e-3), bias=bias).certificate
    assert later.certificate.primal == pytest.approx(known.primal, rel=2e-3)


def test_a_later_turn_is_carried_with_its_length(at_once, monkeypatch):
    monkeypatch.setattr(relay, "MOST", 1.0)
    (X, y), keeper = one_hot(), Keeper()
    solved(X, y, 10.0, Gap(1e-9) | Iterations(40), journal=Journal(keeper))
    carried = keeper.kept.carried
    assert carried["turn"] >= 2 and sum(carried["counts"].values()) == 40
    draws = Draws(make("dcd").sampler, y, 0, goal=Goal(1e-9, 1e9))
    draws.carried = carried
    run = relay._Run(relay_of(), relay_of().pose(Gram(Linear(), X), y, 10.0), keeper.kept.point, draws)
    assert (run.turn, run.passes[-1]) == (carried["turn"], carried["passes"])
    assert run.solver is (run.relay.second if run.turn % 2 else run.relay.first)
    assert run.most == 2.0 ** (run.turn // 2) * relay.MOST


@pytest.mark.parametrize(
    "carried", [{}, {"turn": "second"}, {"turn": 1, "counts": 3}, {"turn": 1, "counts": {"dcd": 1}}]
)
def test_what_no_relay_has_left_is_no_turn(carried):
    X, y = one_hot(60, 50)
    draws = Draws(make("dcd").sampler, y, 0)
    draws.carried = carried
    run = relay._Run(relay_of(), relay_of().pose(Gram(Linear(), X), y, 1.0), None, draws)
    assert (run.turn, run.counts, run.solver) == (0, {}, run.relay.first)


def test_a_checkpoint_says_who_was_at_work(tmp_path, at_once):
    X, y = one_hot()
    given = {"kernel": Linear(), "C": 10.0}
    begun = fit(X, y, **given, stop=Gap(1e-3) | Iterations(3), checkpoint=Checkpoint(tmp_path / "c"))
    later = fit(X, y, **given, stop=Gap(1e-3), checkpoint=Checkpoint(tmp_path / "c", resume=True))
    assert begun.solutions[0].details == {"dcd_iterations": 1.0, "newton_iterations": 2.0}
    assert later.solutions[0].details["dcd_iterations"] == 1.0 and later.gap <= 1e-3


@pytest.mark.parametrize("bias", [pytest.param(1.0, marks=pytest.mark.slow), "free"])
def test_rows_on_disk(bias, monkeypatch):
    monkeypatch.setattr("svmkit.problems.risks.design.WINDOW", 20_000)  # four parts
    X, y = one_hot()
    arrays = (mapping.write_blocks(values.dtype, [values]) for values in (X.data, X.indices))
    found = solved(mapping.with_arrays(X, *arrays, X.indptr), y, 10.0, bias=bias, memory="200KB")
    known = alone("newton", X, y, 10.0, bias).certificate
    assert found.status is Status.CONVERGED and set(found.details) == BOTH
    assert found.certificate.dual <= known.primal and known.dual <= found.certificate.primal


# --- what `auto` makes of it


def test_auto_names_both_and_says_why(tmp_path):
    X, y = one_hot()
    found = fit(X, y, kernel=Linear(), C=10.0)
    (choice,) = found.choices
    assert choice.solver == "dcd+newton" and "newton where passes of dcd gain little" in choice.why
    assert set(found.solutions[0].details) == BOTH and found.gap <= 1e-3
    found.model.save(tmp_path / "m.svmkit")
    assert SVMModel.load(tmp_path / "m.svmkit").about["choice"] == str(choice)


def test_a_solver_whose_passes_cost_more_hands_over_sooner():
    X, y = one_hot()
    given, counts = make("dcd", loss="squared_hinge"), []
    for cost in (1e-9, 1e9):
        taken = Relay(given, make("newton"), cost)
        counts.append(solve(taken.pose(Gram(Linear(), X), y, 0.01), taken, stop=Gap(1e-6)).details)
    assert set(counts[0]) == {"dcd_iterations"} and set(counts[1]) == BOTH
    (choice,) = fit(X, y, solver=Auto("logistic"), kernel=Linear(), C=10.0).choices
    assert choice.solver == "dcd+newton"


def test_auto_takes_it_in_regression_and_leaves_kinks_to_the_first():
    X, _ = one_hot()
    target = X @ np.random.default_rng(1).normal(size=X.shape[1]) + np.random.default_rng(2).normal(size=X.shape[0])
    found = fit(X, target, solver=Auto("huber"), kernel=Linear(), task="regress")
    assert found.choices[0].solver == "dcd+newton" and found.gap <= 1e-3
    found = fit(X[:500], target[:500] > 0.0, solver=Auto("hinge"), kernel=Linear(), C=0.01)
    assert found.choices[0].solver == "dcd" and found.gap <= 1e-3


def test_it_poses_and_refuses_as_its_solvers():
    X, y = one_hot(50, 1_200)
    for bias in (1.0, "free"):
        taken, poser = relay_of(bias), make("newton", bias=bias)
        assert taken.formulation(Linear()) == poser.formulation(Linear())
        assert taken.sampler_for(Linear()) == make("dcd").sampler and taken == relay_of(bias)
        assert taken.problem_for(Linear()) is poser.problem_for(Linear())
        assert taken.patience(50) >= make("dcd").patience(50)
    with pytest.raises(InputError, match="needs the linear kernel"):
        relay_of().pose(Gram(RBF(1.0), X), y, 1.0)
