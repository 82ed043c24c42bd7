"""Ranking with kernels: the optimum is that of a QP over all pairs, and the certificate holds whatever the rank."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from svmkit_cutting_plane import cutting_plane

from svmkit import Gram, InputError, SVMModel, SVMRanker, fit, plugins, solve
from svmkit.conformance.judging.ranking import judge_ranking
from svmkit.data import Ranks
from svmkit.kernels import RBF, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.problems import KernelRankRisk
from svmkit.problems.risks import kernel_rank
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds
from svmkit.training.checkpoint import Checkpoint

KERNELS = [RBF(0.5), Laplacian(0.3), pytest.param(Poly(0.5, 3, 1.0), marks=pytest.mark.slow)]
LOSSES = ["hinge", "squared_hinge"]


def draw(m: int = 36) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, values that are no linear function of it, and groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 2))
    return X, np.round(2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1]), rng.integers(0, 3, m)


def optimum(K: np.ndarray, y: np.ndarray, groups: np.ndarray, C: float, loss: str) -> float:
    """The optimum by a bounded minimiser over the weights of all pairs."""
    i, j = np.nonzero((groups[:, None] == groups) & (y[:, None] > y))
    Q = K[np.ix_(i, i)] - K[np.ix_(i, j)] - K[np.ix_(j, i)] + K[np.ix_(j, j)]
    most = C
    if loss == "squared_hinge":
        Q, most = Q + np.eye(len(Q)) / (2.0 * C), None
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.zeros(len(Q)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, most)] * len(Q),
        options=options,
    )
    return -float(found.fun)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_optimum_is_that_of_a_qp_over_all_pairs(kernel, loss):
    X, y, groups = draw()
    K = Gram(kernel, X).block(np.arange(36), np.arange(36))
    best = optimum(K, y, groups, 0.5, loss)
    ranker = SVMRanker(kernel=kernel, C=0.5, loss=loss, tol=1e-4).fit(X, y, groups)
    (own,) = ranker.certificate_
    assert own.dual <= best * (1 + 1e-7) and best * (1 - 1e-4) <= own.primal and ranker.gap_ <= 1e-4
    assert own.primal - own.dual <= 1.01e-4 * own.primal


@pytest.mark.parametrize("solver", ["ocas", "bmrm", "svmperf", "auto"])
def test_solvers_rank_with_kernels_and_claims_hold_before_the_judge(solver):
    X, y, groups = draw()
    built = plugins.build("solver", solver)
    for given in (X, sp.csr_array(X), X.astype(np.float32)):
        done = fit(given, Ranks(y, groups), task="rank", solver=built, kernel=RBF(0.5), stop=Gap(1e-3))
        loss = built.loss_for(RBF(0.5), "rank").name
        assert judge_ranking(done, given, y, groups, C=1.0, loss=loss, tol=1e-3).false == []
        lie = judge_ranking(done, given, y, groups, C=2.0, loss=loss, tol=1e-3)
        assert any("objective" in said for said in lie.false)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_model_is_certified_on_any_rows_by_the_list_of_all_pairs(kernel, loss):
    X, y, groups = draw()
    model = SVMRanker(kernel=kernel, C=0.5, loss=loss, tol=1e-6).fit(X, y, groups).model_
    rng = np.random.default_rng(1)
    for rows, cost in ((np.arange(36), 0.5), (np.arange(36), 0.2), (rng.permutation(36)[:20], 0.5)):
        (found,) = model.certify(X[rows], Ranks(y[rows], groups[rows]), C=cost)
        own = model.predict(X[rows])
        above, below = np.nonzero((groups[rows, None] == groups[rows]) & (y[rows, None] > y[rows]))
        slack = np.maximum(1.0 - (own[above] - own[below]), 0.0)
        K = Gram(kernel, model.vectors).block(np.arange(len(model.vectors)), np.arange(len(model.vectors)))
        P = 0.5 * model.coef[0] @ K @ model.coef[0] + cost * (slack @ slack if loss == "squared_hinge" else slack.sum())
        best = optimum(Gram(kernel, X[rows]).block(*[np.arange(len(rows))] * 2), y[rows], groups[rows], cost, loss)
        assert found.primal == pytest.approx(P, rel=1e-9) and found.flaw is None and found.rounding < 1e-7
        assert 0.0 <= found.dual <= best * (1.0 + 1e-7) and best * (1.0 - 1e-7) <= found.primal
        if loss == "squared_hinge" and len(rows) == 36 and cost == 0.5:  # at its optimum one plane is the dual point
            assert found.gap <= 1e-2
    with pytest.raises(InputError, match="no pair"):
        model.certify(X[:3], Ranks(np.ones(3)))


@pytest.mark.parametrize("most", [3, 10, 25])
def test_a_factor_of_low_rank_makes_a_wider_gap_and_no_false_bound(most):
    X, y, groups = draw()
    K = Gram(RBF(0.5), X).block(np.arange(36), np.arange(36))
    best = optimum(K, y, groups, 1.0, "hinge")
    target = np.column_stack([y, groups, np.ones(36)])
    problem = KernelRankRisk(Gram(RBF(0.5), X), target, 1.0, "hinge")
    factor = problem.factor
    factor.most = most
    for columns in (1, most):
        before = factor.L
        assert problem.grow(columns) and (factor.L[:, : before.shape[1]] == before).all()
        rest = K - factor.L @ factor.L.T
        assert np.linalg.eigvalsh(rest)[0] > -1e-12 and (np.diag(rest) <= factor.rest).all()
        np.testing.assert_allclose(rest[factor.pivots], 0.0, atol=1e-12)
    assert factor.L.shape == (36, most) and not problem.grow(1) and factor.is_complete
    found = solve(problem, plugins.build("solver", "ocas"), stop=Gap(1e-2) | Iterations(200)).certificate
    assert found.dual <= best * (1 + 1e-7) and best * (1 - 1e-7) <= found.primal and (found.gap > 1e-2 or most > 3)
    for rank in (most, 2):
        w = np.random.default_rng(1).normal(size=rank)
        certificate = problem.certificate(w)
        h = K @ problem.coefficients(w)
        np.testing.assert_allclose(h, problem.decision(w), atol=1e-8)
        above, below = np.nonzero((groups[:, None] == groups) & (y[:, None] > y))
        P = 0.5 * problem.coefficients(w) @ h + np.maximum(1 - (h[above] - h[below]), 0).sum()
        assert certificate.primal == pytest.approx(P, rel=1e-9) and certificate.dual <= best


def test_a_factor_of_rows_that_others_explain_has_no_column_for_them():
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 3)), 3, axis=0)
    gram, every = Gram(RBF(0.5), X), np.arange(120)
    factor = kernel_rank.Factor(gram, 120)
    assert factor.grow(120) and factor.is_complete and factor.L.shape == (120, 40)
    np.testing.assert_allclose(factor.L @ factor.L.T, gram.block(every, every), atol=1e-9)


@pytest.fixture
def rows_of_the_factor(monkeypatch):
    """A function that sets what happens whenever kernel rows are computed for a factor: it is told of how many so far.

    Factors begin with 32 columns, and eight are computed at a time.
    """
    monkeypatch.setattr(cutting_plane, "FIRST", 32)
    monkeypatch.setattr(kernel_rank, "PANEL", 8)

    def watch(happens):
        add, seen = kernel_rank.Factor._add, [0]

        def watched(self, L, pivots, n):
            add(self, L, pivots, n)
            seen[0] += n
            happens(seen[0])

        monkeypatch.setattr(kernel_rank.Factor, "_add", watched)

    return watch


def ranked(**options):
    """Train on more rows than the factor begins with; the judge looks at the result."""
    X, y, _ = draw(160)
    groups = np.arange(160) // 8
    done = fit(X, Ranks(y, groups), task="rank", solver="ocas", kernel=RBF(0.5), **options)
    verdict = judge_ranking(done, X, y, groups, C=1.0, loss="hinge", tol=1e-3)
    assert verdict.false == []
    return done


@pytest.mark.parametrize("limit", [1.0, 40.0, 130.0])
def test_a_factor_heeds_the_limit_in_seconds_and_the_model_so_far_is_certified(limit, rows_of_the_factor, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("svmkit.solver.history.time.perf_counter", lambda: now[0])

    def happens(rows):  # eight take 20 s, and so does the first one, before the clock of the solve runs
        assert now[0] <= limit + 20.0
        now[0] += 20.0

    rows_of_the_factor(happens)
    done = ranked(stop=Gap(1e-6) | Seconds(limit))
    assert done.status is Status.TIME_LIMIT and 0.0 < done.gap <= 1.0


@pytest.mark.posix
@pytest.mark.parametrize("at", [2, 20, 40])
def test_ctrl_c_ends_a_factor_and_the_model_so_far_is_certified(at, rows_of_the_factor):
    rows_of_the_factor(lambda rows: os.kill(os.getpid(), signal.SIGINT) if at <= rows < at + 8 else None)
    done = ranked(stop=Gap(1e-6))
    assert done.status is Status.INTERRUPTED and 0.0 < done.gap <= 1.0


def test_a_factor_grows_no_further_than_the_gap_needs(rows_of_the_factor):
    seen = []
    rows_of_the_factor(seen.append)
    X, y, groups = draw(900)
    ranker = SVMRanker(kernel="rbf", gamma=0.05, C=0.01, solver="ocas").fit(X, y, groups)
    assert ranker.gap_ <= 1e-3 and seen[-1] < 500


def test_a_solve_goes_on_from_a_factor_of_another_rank(tmp_path):
    X, y, groups = draw(300)
    path, ends = tmp_path / "saved", []
    for rounds in (2, 20, 400):  # the factor of the first has 128 columns
        stop = Gap(1e-4) | Iterations(rounds)
        saved = Checkpoint(path, resume=bool(ends), every=0.0)
        done = fit(X, Ranks(y, groups), task="rank", solver="ocas", kernel=RBF(0.5), stop=stop, checkpoint=saved)
        ends.append(done.objective)
    assert ends == sorted(ends, reverse=True) and ends[2] < ends[0]


def test_a_kernel_learns_an_order_that_no_line_has_and_the_model_is_kept(tmp_path):
    X, y, groups = draw(300)
    train, test = slice(0, 200), slice(200, 300)
    score = {}
    for kernel in ("linear", "rbf"):
        ranker = SVMRanker(kernel=kernel, C=0.1).fit(X[train], y[train], groups[train])
        score[kernel] = ranker.score(X[test], y[test], groups[test])
    assert score["rbf"] > 0.9 > score["linear"] + 0.05
    ranker.model_.save(tmp_path / "order.model")
    np.testing.assert_array_equal(SVMModel.load(tmp_path / "order.model").predict(X), ranker.predict(X))
    again = SVMRanker(kernel="rbf", C=0.1, warm_start=True).fit(X[train], y[train], groups[train])
    assert again.fit(X[train], y[train], groups[train]).gap_ <= 1e-3
    chosen = SVMRanker(kernel="rbf", C="cv", gamma="cv", cv=3).fit(X[train], y[train], groups[train])
    assert chosen.best_params_.keys() == {"C", "gamma"} and chosen.best_score_ > 0.85


def test_linear_and_kernel_problems_have_one_optimum():
    X, y, groups = draw()
    of = [
        SVMRanker(kernel=kernel, C=0.1, tol=1e-6).fit(X, y, groups).certificate_[0].primal
        for kernel in (Linear(), Poly(1.0, 1, 0.0))
    ]
    assert of[1] == pytest.approx(of[0], rel=2e-6)


@pytest.mark.parametrize("kernel", [Sigmoid(0.5, -1.0), Poly(1.0, 2, -1.0), Precomputed()], ids=lambda k: k.name)
def test_kernels_that_may_have_negative_eigenvalues_are_refused_in_one_line(kernel):
    X, y, groups = draw()
    with pytest.raises(InputError, match=f"positive semidefinite, not {kernel.name}") as told:
        SVMRanker(kernel=kernel).fit(X @ X.T if kernel.name == "precomputed" else X, y, groups)
    assert "\n" not in str(told.value)
