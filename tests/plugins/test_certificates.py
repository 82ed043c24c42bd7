"""One certificate for all: on one set, solvers of one objective agree within their gaps, and each gap is a bound."""

from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC
from support.problems import SUBLINEAR

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Kernel, Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import loss_names, make_loss
from svmkit.solver.base import Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations

pytestmark = pytest.mark.usefixtures("one_pool")

KERNELS = {"rbf": RBF(0.02), "linear": Linear()}
CS = {"rbf": 1.0, "linear": 0.05}
TOL = 1e-3


def working() -> list[str]:
    return plugins.solvers_where(lambda solver: True)


def losses(name: str) -> list[str]:
    return plugins.load("solver", name).loss_names("classify")


def takes(name: str, kernel: Kernel) -> bool:
    return all(need.holds(kernel) for need in plugins.load("solver", name).requires)


def cases() -> Iterator[tuple[str, str, str]]:
    for kernel in KERNELS:
        for name in working():
            for loss in losses(name) if takes(name, KERNELS[kernel]) else ():
                if (
                    not make(name, loss).formulation(KERNELS[kernel]).endswith("penalty")
                ):  # tests/problems/test_penalty.py
                    yield name, loss, kernel


def make(name: str, loss: str) -> Solver:
    options = {"loss": loss} if "loss" in plugins.options(plugins.load("solver", name)) else {}
    return plugins.build("solver", name, options)


CASES = list(cases())


@pytest.fixture(scope="module")
def data():
    X, target = load_breast_cancer(return_X_y=True)
    X, y = X[:240], np.where(target[:240] > 0, 1.0, -1.0)
    X = np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))
    X[7], y[7] = X[3], -y[3]  # the same row with both labels: no margin is wide enough
    return X, y


def is_free(solver, kernel: str) -> bool:
    return "free bias" in solver.formulation(KERNELS[kernel])


def total(loss: str, y, h, C: float) -> float:
    """The sum of the losses by their definition."""
    return C * float(make_loss(loss, "classify").value(y, h).sum())


def smallest_primal(X, y, kernel: str, loss: str, free: bool) -> float:
    """The smallest P, by LIBSVM, LIBLINEAR or quadprog."""
    C = CS[kernel]
    if kernel == "linear" and not free and loss in ("hinge", "squared_hinge"):
        fitted = LinearSVC(C=C, loss=loss, dual=True, tol=1e-9, max_iter=2_000_000).fit(X, y)
        w = np.append(fitted.coef_[0], fitted.intercept_[0])
        return 0.5 * w @ w + total(loss, y, fitted.decision_function(X), C)
    K = rbf_kernel(X, gamma=0.02) if kernel == "rbf" else X @ X.T
    if loss == "logistic":
        values, vectors = np.linalg.eigh(K)
        F = vectors * np.sqrt(np.maximum(values, 0.0))
        F = F if free else np.column_stack([F, np.ones(len(y))])
        fitted = LogisticRegression(C=C, fit_intercept=free, solver="newton-cholesky", tol=1e-12).fit(F, y)
        return 0.5 * float(fitted.coef_[0] @ fitted.coef_[0]) + total(loss, y, fitted.decision_function(F), C)
    if free and loss == "hinge":
        fitted = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, y)
        beta = np.zeros(len(y))
        beta[fitted.support_] = np.abs(fitted.dual_coef_[0])
        return float(beta.sum() - 0.5 * (beta * y) @ K @ (beta * y))
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    ridge = {"hinge": 0.0, "squared_hinge": 0.5 / C, "smoothed_hinge": 1.0 / C}[loss] * np.ones(len(y))
    Q = np.outer(y, y) * (K + (0.0 if free else 1.0)) + np.diag(ridge)
    Q += 1e-11 * np.trace(Q) / len(y) * np.eye(len(y))
    sides = [np.eye(len(y))] + ([] if loss == "squared_hinge" else [-np.eye(len(y))])
    bounds = np.concatenate([np.zeros(len(y)), np.full(len(y) * (len(sides) - 1), -C)])
    equal = [y[:, None]] if free else []
    return -quadprog.solve_qp(
        Q, np.ones(len(y)), np.hstack(equal + sides), np.concatenate([np.zeros(len(equal)), bounds]), len(equal)
    )[1]


@pytest.fixture(scope="module")
def best(data):
    """best(kernel, loss, free) -> the optimum, computed once."""
    known: dict[tuple, float] = {}

    def look_up(*key):
        if key not in known:
            known[key] = smallest_primal(*data, *key)
        return known[key]

    return look_up


@pytest.mark.parametrize(("name", "loss", "kernel"), CASES)
def test_gap_bounds_the_true_suboptimality(name, loss, kernel, data, best):
    X, y = data
    solver = make(name, loss)
    problem = solver.pose(Gram(KERNELS[kernel], X), y, CS[kernel])
    solution = solve(problem, solver, stop=Gap(TOL) | Iterations(solver.patience(len(y))))
    P, D, gap = solution.certificate.primal, solution.certificate.dual, solution.certificate.gap
    true = best(kernel, loss, is_free(solver, kernel))
    slack = 1e-6 * true  # of the reference
    assert D - slack <= true <= P + slack
    assert P - true <= gap * max(abs(P), abs(D)) + slack
    assert -1e-15 <= gap - (P - D) / max(abs(P), abs(D)) <= 2.0 * solution.certificate.rounding + 1e-15 <= 1e-6
    assert (solution.status is Status.CONVERGED) == (gap <= TOL)
    assert gap <= (TOL if solver.certified and name not in SUBLINEAR else 0.02)
    # again from scratch, by a problem that has seen nothing of the solve
    again = solver.pose(Gram(KERNELS[kernel], X), y, CS[kernel]).certificate(solution.point)
    assert again.primal == pytest.approx(P, rel=1e-9)
    assert again.dual is not None and again.dual <= true + slack


@pytest.mark.parametrize(("name", "loss", "kernel"), CASES)
def test_primal_value_is_that_of_the_model(name, loss, kernel, data):
    """P from the decision function that a user gets, by its definition."""
    X, y = data
    solver = make(name, loss)
    problem = solver.pose(Gram(KERNELS[kernel], X), y, CS[kernel])
    solution = solve(problem, solver, stop=Iterations(min(30, solver.patience(len(y)))))
    model = problem.decision_function(solution.point, solution.certificate)
    K = rbf_kernel(X, gamma=0.02) if kernel == "rbf" else X @ X.T
    if model.w is None:
        h, norm = K @ model.coef + model.intercept, model.coef @ K @ model.coef
    else:
        h, norm = X @ model.w + model.intercept, model.w @ model.w
    if not is_free(solver, kernel):
        norm += model.intercept**2
    primal = 0.5 * norm + total(loss, y, h, CS[kernel])
    assert solution.certificate.primal == pytest.approx(primal, rel=1e-7)


def test_every_loss_and_kernel_has_several_solvers():
    found: dict[tuple[str, str], list[str]] = {}
    for name, loss, kernel in CASES:
        found.setdefault((loss, kernel), []).append(name)
    assert set(found) == {(loss, kernel) for loss in loss_names("classify") for kernel in KERNELS}
    few = {("logistic", kernel) for kernel in KERNELS if kernel != "linear"}  # `klr`, and `auto`, which takes it
    assert all(len(names) >= 3 - (case in few) for case, names in found.items()), found


def test_kernels_that_a_solver_cannot_take_are_refused_with_those_that_can():
    for name in working():
        for kernel in KERNELS.values():
            if takes(name, kernel):
                continue
            with pytest.raises(InputError) as caught:
                make(name, losses(name)[0]).check_kernel(kernel)
            others = str(caught.value).partition(f"with {kernel.name}: ")[2].split(", ")
            assert others == [other for other in working() if takes(other, kernel)] and name not in others
