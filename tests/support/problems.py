"""What several test files share: toy data, files, a trusted QP solver, lists of registered solvers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import pairwise
from svmkit_frank_wolfe.steps.step import FrankWolfe

from svmkit import plugins
from svmkit.kernels.functions import RBF, Kernel, Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.problems.risks.linear_risk import LinearDual
from svmkit.problems.simplex import SimplexQP, SquaredHinge
from svmkit.solver.base import Solver
from svmkit.solver.sampler import Draws, Full, Sampler

SOLVERS = plugins.solvers_where(lambda solver: solver.problem is SimplexQP)
FAMILY = [name for name in SOLVERS if issubclass(plugins.load("solver", name), FrankWolfe)]
SUBLINEAR = {"fw", "partan", "sfw", "msfw"}  # gap O(1/k): never asked for more than 1e-3
PARTIAL = {"sfw", "msfw", "cvm"}  # see a working set only; the others look at all points with the full sampler
CLASSIC = [name for name in FAMILY if name not in PARTIAL]
FAST = [name for name in CLASSIC if name not in SUBLINEAR]
every_solver = pytest.mark.parametrize("name", SOLVERS)
every_fw = pytest.mark.parametrize("name", CLASSIC)
every_fast = pytest.mark.parametrize("name", FAST)
BUDGET = 250_000


def make(name: str, **options) -> Solver:
    return plugins.build("solver", name, options)


def write(name: str, content: str | bytes) -> Path:
    """A file of the working directory."""
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return Path(name)


def blobs(m: int = 60, d: int = 3, *, seed: int = 0, share: float = 0.5, shift: float = 0.7):
    """Two overlapping classes, their means at +-`shift` in each column: X (m, d), shuffled y (m,) of -1.0 and +1.0."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) < max(1, round(share * m)), 1.0, -1.0)
    rng.shuffle(y)
    return rng.normal(size=(m, d)) + shift * y[:, None], y


def zeros_and_ones(seed: int, k: int = 2, n: int = 400):
    """A table of 0 and 1, (n, 5), in which each row stands many times, and noisy classes 0 to k - 1."""
    rng = np.random.default_rng(seed)
    X = (rng.random((32, 5)) < 0.3).astype(float)[rng.integers(0, 32, n)]
    return X, (X @ rng.normal(size=(5, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)


def overlapping(m=120, seed=0, names=(-1, 1), share=0.4):
    X, y = blobs(m, 3, seed=seed, share=share)
    return X, np.where(y > 0, names[1], names[0])


def problem_of(X, y, C=1.0, kernel: Kernel | None = None, *, bias: float = 1.0, **gram) -> SquaredHinge:
    return SquaredHinge(Gram((kernel or RBF(0.5)).resolve(X), X, **gram), y, C, bias=bias)


def posed(solver: Solver, X, y, C=1.0, kernel: Kernel | None = None, **gram) -> Problem:
    """The solver's problem; the kernel is linear by default for those that see X itself, else rbf."""
    if kernel is None:
        kernel = Linear() if solver.problem_for(Linear()).is_linear else RBF(0.5)
    return solver.pose(Gram(kernel.resolve(X), X, **gram), y, C)


def linear_dual(X, y, C=1.0, **terms) -> LinearDual:
    return LinearDual(Gram(Linear(), X), y, C, **terms)


def dual_of_blobs(m=120, C=1.0, loss="hinge", seed=0, d=3, **data) -> LinearDual:
    return linear_dual(*blobs(m, d, seed=seed, **data), C, loss=loss)


def matrix(problem: SquaredHinge, K: np.ndarray) -> np.ndarray:
    """A of math.md, dense, from a kernel matrix computed elsewhere."""
    return problem.y[:, None] * problem.y * (K + problem.bias) + np.diag(1.0 / (2.0 * problem.C))


def dense_A(problem, X, kernel):
    K = {
        "rbf": lambda: pairwise.rbf_kernel(X, gamma=0.5),
        "linear": lambda: X @ X.T,
        "poly": lambda: pairwise.polynomial_kernel(X, gamma=0.5, degree=2, coef0=1.0),
    }[kernel.name]()
    return matrix(problem, K)


def qp_optimum(A: np.ndarray) -> tuple[np.ndarray, float]:
    """(alpha, f) that minimise alpha'A alpha over the simplex, by quadprog's active-set method."""
    alpha = over_simplex(A / (np.trace(A) / len(A)), np.zeros(len(A)))
    return alpha, float(alpha @ A @ alpha)


def over_simplex(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The alpha that minimises alpha'G alpha / 2 - b'alpha over the simplex, by quadprog's active-set method."""
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    m = len(b)
    alpha = quadprog.solve_qp(G, b, np.hstack([np.ones((m, 1)), np.eye(m)]), np.r_[1.0, np.zeros(m)], 1)[0]
    alpha = np.maximum(alpha, 0.0)
    return alpha / alpha.sum()


def certified(A: np.ndarray, problem: SquaredHinge, alpha: np.ndarray) -> tuple[float, float]:
    """(P, D) at alpha from the definition of the L2-SVM, by plain matrix products."""
    f = alpha @ A @ alpha
    beta = alpha / f
    K_bias = problem.y[:, None] * problem.y * A - np.diag(1.0 / (2.0 * problem.C))
    h = K_bias @ (problem.y * beta)
    squared_norm = (problem.y * beta) @ K_bias @ (problem.y * beta)
    slack = np.maximum(0.0, 1.0 - problem.y * h)
    primal = 0.5 * squared_norm + np.sum(problem.C * slack**2)
    return primal, beta.sum() - 0.5 * beta @ A @ beta


def state_of(solver: Solver, problem: SimplexQP, sampler: Sampler | None = None, seed: int = 0, start=None):
    draws = Draws(sampler or Full(), problem.y, np.random.default_rng(seed))
    return solver.init(problem, start, draws)
