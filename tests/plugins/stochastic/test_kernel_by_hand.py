"""The state of kernel Pegasos and NORMA on a dozen samples, in chunks of four, against plain numpy; a bias of 2.5."""

import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from support.problems import make
from support.stochastic import derivative, means, norma, rows
from svmkit_stochastic import kernel_state as module

from svmkit.kernels.functions import Precomputed
from svmkit.kernels.gram import Gram
from svmkit.problems.risks.kernel_risk import KernelRisk
from svmkit.solver.sampler import Draws, Full

pytestmark = pytest.mark.usefixtures("one_pool")
M, BIAS = 12, 2.5
X, Y, C = rows(m=M)
K = rbf_kernel(X, gamma=0.5)
FULL = K + BIAS**2
every_loss = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


@pytest.fixture(autouse=True)
def chunks_of_four(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 4)


def begun(name, start=None, bias=BIAS, **options):
    """(solver, state) of a solve whose samples come in the order of the data."""
    solver = make(name, bias=bias, **options)
    problem = solver.pose(Gram(Precomputed(), K, dtype=np.float64), Y, C)
    assert isinstance(problem, KernelRisk)
    state = solver.init(problem, start, Draws(Full(), Y, np.random.default_rng(0)))
    if numba.config.DISABLE_JIT:  # compiled code reads fields of the time as attributes, plain Python those of a record
        state.w = state.w._replace(now=state.w.now.view(np.recarray))
    return solver, state


def walked(name, order, start=None, **options):
    solver, state = begun(name, start, **options)
    solver.walk(state, np.asarray(order))
    return solver, state


def pegasos(order, batch=1, project=False, loss="hinge"):
    """Coefficients after each mini-batch; |w| as c'K c."""
    c, lam, s = np.zeros(M), 1.0 / C.sum(), C / C.mean()
    for t in range(1, len(order) // batch + 1):
        part, eta = order[(t - 1) * batch : t * batch], 1.0 / (lam * t)
        margins = [Y[i] * (FULL[i] @ c) for i in part]
        pulls = [s[i] * derivative(loss, margin) for i, margin in zip(part, margins, strict=True)]
        if loss == "squared_hinge":  # no step goes past the margin
            most = [max(0.0, 1.0 - margin) / (eta * FULL[i, i]) for i, margin in zip(part, margins, strict=True)]
            pulls = np.minimum(pulls, most)
        c = (1.0 - eta * lam) * c
        for i, p in zip(part, pulls, strict=True):
            c[i] += eta * p * Y[i] / batch
        norm = np.sqrt(c @ FULL @ c)
        if project and norm > np.sqrt(1.0 / lam):
            c = c / (np.sqrt(lam) * norm)
        yield c


@every_loss
@pytest.mark.parametrize("options", [{}, {"batch": 3}, {"batch": 6}, {"project": True}], ids=str)
@pytest.mark.parametrize("average", ["none", "late"])
def test_pegasos(loss, options, average):
    order = np.tile(np.arange(M), 3)
    iterates = list(pegasos(order, loss=loss, **options))
    _, state = walked("pegasos", order, loss=loss, average=average, **options)
    want = iterates[-1] if average == "none" else means(iterates, average)
    np.testing.assert_allclose(state.w.point, want, rtol=1e-9, atol=1e-12)
    now, c = state.w.now[0], state.w.now[0]["scale"] * state.w.v
    assert now["t"] == len(order) and now["norm"] == pytest.approx(c @ FULL @ c, rel=1e-9)
    if options.get("project") and loss == "hinge":
        plain = list(pegasos(order, loss=loss))
        assert np.abs(plain[-1] - iterates[-1]).max() > 1e-3  # the projection was needed


@pytest.mark.parametrize("factor", [1e4, 1e9])
def test_projections_that_shrink_w_to_nearly_nothing(factor, monkeypatch):
    """Steps for costs so large, projected: the scale is multiplied out in the middle of a chunk."""
    monkeypatch.setattr(sys.modules[__name__], "C", C * factor)
    order = np.tile(np.arange(M), 2)
    want = list(pegasos(order, project=True))[-1]
    _, state = walked("pegasos", order, average="none", project=True)
    assert state.w.now[0]["scale"] > 1e-6
    np.testing.assert_allclose(state.w.point, want, rtol=1e-8)


@every_loss
@pytest.mark.parametrize("tau", [0, 1, 3, 5, 20])
@pytest.mark.parametrize("eta", [0.2, 2.0, 3.46])  # 3.46: the scale falls below 1e-6 and is multiplied out
def test_norma(loss, tau, eta):
    solver, state = begun("norma", loss=loss, tau=tau, eta=eta, average="none")
    solver.walk(state, np.arange(M))
    solver.walk(state, np.arange(M))
    want = list(norma(FULL, Y, C, eta=eta, tau=tau, loss=loss))[-1]
    np.testing.assert_allclose(state.w.point, want, rtol=1e-9, atol=1e-12)
    assert state.members.tolist() == np.flatnonzero(want).tolist()


@pytest.mark.parametrize("tau", [2, 4, 7])
def test_coefficients_that_are_made_anew_count_as_the_latest(tau):
    """Samples that come again, also within a chunk: the oldest coefficient goes, wherever its sample stands."""
    order = np.random.default_rng(1).integers(M, size=60)
    _, state = walked("norma", order, tau=tau, average="none")
    c, queue, last = np.zeros(M), [], np.zeros(M)
    for t, i in enumerate(order, 1):
        step = 0.2 * C.mean() * np.sqrt(M / t)
        loses = Y[i] * (FULL[i] @ c) < 1.0
        c *= 1.0 - step / C.sum()
        if loses:
            c[i] += step * C[i] / C.mean() * Y[i]
            queue, last[i] = [*[j for j in queue if j != i], int(i)], t
        if len(queue) > tau:
            c[queue.pop(0)] = 0.0
    np.testing.assert_allclose(state.w.point, c, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(state.last, last)


@pytest.mark.parametrize("name", ["pegasos", "norma"])
def test_chunks_change_nothing(name, monkeypatch):
    order = np.random.default_rng(2).integers(M, size=24)
    found = []
    for chunk in (1, 5, 7, 100):
        monkeypatch.setattr(module, "CHUNK", chunk)
        found.append(walked(name, order, **({"batch": 3} if name == "pegasos" else {"tau": 6}))[1].w.point)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-9, atol=1e-12)


def test_a_chunk_takes_as_many_kernel_values_as_it_needs():
    """The expansion at its samples and its own square, plus the rows that may leave."""
    _, state = walked("norma", np.arange(8))
    assert (state.w.v[:4] != 0.0).all() and state.problem.gram.kernel_values == 16 + 4 * 4 + 16
    _, state = walked("norma", np.arange(8), tau=4)
    assert state.problem.gram.kernel_values == 16 + 4 * 4 + 16 + 4 * 4
    _, state = walked("norma", np.arange(8), tau=8)  # as many as there is room for: none leaves
    assert state.problem.gram.kernel_values == 16 + 4 * 4 + 16


# --- starts, limits and streams


def test_a_start_is_the_first_iterate():
    start = Y * np.linspace(0.1, 0.6, M)
    _, state = begun("norma", start, average="none")
    np.testing.assert_array_equal(state.w.point, start)
    assert state.w.v is not start and state.w.now[0]["norm"] == pytest.approx(start @ FULL @ start, rel=1e-12)
    assert state.w.now[0]["t"] > 0.0 and begun("norma")[1].w.now[0]["t"] == 0.0
    _, state = begun("norma")
    assert state.tau == 0 and not state.w.v.any() and not state.last.any() and state.w.now[0]["norm"] == 0.0


@pytest.mark.parametrize(("gap", "epochs"), [(None, 1), (1.9, 1), (1.0, 1), (1e-3, 1e3), (1e-9, 1e6), (0.0, 1e6)])
def test_a_start_counts_as_many_epochs_as_its_gap_is_the_result_of(gap, epochs):
    """As 1 / t; a gap that is not known promises nothing."""
    _, state = begun("norma")
    state.problem.certificate = lambda start: SimpleNamespace(gap=gap)
    assert state.clock(Y, "none")[0]["t"] == pytest.approx(epochs * M)


def test_a_limit_keeps_the_latest_and_of_a_start_the_largest():
    start = np.array([0.1, -0.6, 0.2, 0.0, -0.5, 0.3, 0.0, 0.4, 0.15, 0.25, -0.35, 0.45])
    _, state = begun("norma", start, average="none")
    state.limit(5)
    assert state.members.tolist() == [1, 4, 7, 10, 11] and state.tau == 5
    state.last[1] = 3.0
    state.limit(9)  # a larger limit does not replace a smaller one
    assert state.tau == 5 and len(state.members) == 5
    state.limit(0)
    assert state.tau == 5 and len(state.members) == 5
    state.last[10] = 2.0
    state.limit(2)
    assert state.members.tolist() == [1, 10] and state.tau == 2  # the latest, although others are larger
    _, state = begun("norma", start)
    state.limit(0)
    assert state.tau == 0 and len(state.members) == 10
    state.limit(20)
    assert state.tau == 20 and len(state.members) == 10


def test_with_a_limit_there_is_no_mean():
    order = np.tile(np.arange(M), 2)
    _, state = walked("norma", order, average="mean")
    assert state.w.a.any() and state.w.now[0]["k"] == 24.0
    state.limit(20)
    assert not state.w.a.any() and (state.w.now[0]["late"], state.w.now[0]["k"]) == (-1.0, 0.0)
    np.testing.assert_allclose(state.w.point, list(norma(FULL, Y, C))[-1], rtol=1e-9, atol=1e-12)


def test_members_are_those_with_a_coefficient_and_those_that_wait():
    _, state = begun("norma", np.eye(M)[5], average="mean")
    state.waiting = np.array([9, 2])
    assert state.members.tolist() == [2, 5, 9]
    state.w.a[7] = 1.0
    assert state.members.tolist() == [2, 5, 7, 9]


def test_a_block_keeps_its_members_in_front():
    _, state = begun("norma", 0.5 * np.eye(M)[5] - 0.25 * np.eye(M)[8], average="mean")
    state.waiting, state.last[8], state.w.a[7] = np.array([9, 2]), 4.0, 1.5
    rows = np.array([2, 5, 7, 8, 9, 0, 1])  # the members, then what is new
    gram = Gram(Precomputed(), np.ascontiguousarray(K[np.ix_(rows, rows)]), dtype=np.float64)
    problem = KernelRisk(gram, Y[rows], C[rows])
    state.renew(problem, Draws(Full(), Y[rows], np.random.default_rng(0)))
    assert state.waiting.tolist() == [4, 0] and state.problem is problem
    assert state.w.v.tolist() == [0.0, 0.5, 0.0, -0.25, 0.0, 0.0, 0.0]
    assert state.w.a.tolist() == [0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0]
    assert state.last.tolist() == [0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0]
    assert state.problem.points.rows[:, 0].tolist() == Y[rows].tolist() and state.C.tolist() == C[rows].tolist()


def test_a_stream_counts_what_arrives(monkeypatch):
    """Its sums of C and of C |x|^2 are those of the samples so far, in mini-batches too."""
    monkeypatch.setattr(module, "CHUNK", 6)
    sizes = np.linspace(0.5, 2.0, M)
    solver = make("pegasos", bias=BIAS, batch=3)
    problem = solver.pose(Gram(Precomputed(), K * np.outer(sizes, sizes), dtype=np.float64), Y, C)
    sampler = SimpleNamespace(every=False, before=0, draws=lambda y, rng: iter(()))
    state = solver.init(problem, None, Draws(sampler, Y, np.random.default_rng(0)))
    if numba.config.DISABLE_JIT:
        state.w = state.w._replace(now=state.w.now.view(np.recarray))
    order = np.array([3, 1, 4, 1, 5, 9])
    solver.walk(state, order)
    now = state.w.now[0]
    assert (now["t"], now["seen"]) == (6.0, 6.0)
    assert now["cost"] == pytest.approx(C[order].sum(), rel=1e-12)
    assert now["load"] == pytest.approx(C[order] @ (sizes**2 + BIAS**2)[order], rel=1e-12)
