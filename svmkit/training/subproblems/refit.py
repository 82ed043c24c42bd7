"""The best model on given vectors: the primal of the squared hinge over all samples, minimised over their span.

Under a limit on support vectors a dual solver ends at the optimum over the chosen points alone, as if there were no
other samples. On the same vectors, the model sum_i beta_i k(x_i, x) + b with beta of any sign that minimises the primal
over all samples is better (reduced support vector machines: Lee, Mangasarian 2001; Keerthi, Chapelle, DeCoste 2006).
"""

from __future__ import annotations

import numpy as np

from svmkit.kernels.extent import fits_float32_rows
from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.problems.certificate import Certificate
from svmkit.problems.rounding import dot_error
from svmkit.problems.simplex import SquaredHinge, squared_loss_error
from svmkit.runtime import interrupt

JITTER = 1e-8  # relative to k(x, x): keeps the factorisation possible when vectors are equal
STEPS = 300
FLAT = 1e-7  # relative decrease of P below which the steps end


def refit(problem: SquaredHinge, idx: np.ndarray, *, bounded: bool = True) -> tuple[DecisionFunction, Certificate]:
    """Minimise the primal over the models on the points `idx`; the coefficients (m,) are zero outside of them.

    The certificate is computed from scratch. If `bounded`, it has a dual value, at beta_i = 2 C_i max(0, 1 - y_i
    h(x_i)), which is feasible in the dual and takes m kernel values for each sample with a loss > 0.

    The method is L-BFGS, in coordinates in which the norm of w is the Euclidean norm. The kernel values (n, m) are kept
    in float32 if they fit the Gram's budget, and are computed in every step otherwise. Ctrl-C or SIGTERM ends the
    minimisation at the current model.
    """
    from scipy.linalg import cholesky, solve_triangular
    from scipy.optimize import minimize

    gram, y, C, root = problem.gram, problem.y, problem.C, np.sqrt(problem.bias)
    every = np.arange(problem.m)
    K = gram.block(idx, idx)
    L = cholesky(K + JITTER * np.abs(gram.diag[idx]).max() * np.eye(len(idx)), lower=True)
    dtype = np.dtype(np.float32 if fits_float32_rows(gram.engine.largest) else np.float64)
    kept = dtype.itemsize * len(idx) * problem.m <= gram.budget
    rows = gram.block(idx, every, np.empty((len(idx), problem.m), dtype)) if kept else None

    def margins(beta: np.ndarray) -> np.ndarray:
        return gram.matvec(beta, idx) if rows is None else beta.astype(dtype) @ rows

    def primal(z: np.ndarray) -> tuple[float, np.ndarray]:
        beta = solve_triangular(L, z[:-1], lower=True, trans="T")
        slack = np.maximum(0.0, 1.0 - y * (margins(beta) + root * z[-1]))
        pull = 2.0 * C * y * slack
        pulled = gram.matvec(pull, every, idx) if rows is None else rows @ pull.astype(dtype)
        inner = solve_triangular(L, pulled.astype(np.float64), lower=True)
        return 0.5 * float(z @ z) + float(C @ np.square(slack)), z - np.append(inner, root * pull.sum())

    with interrupt.catching() as flag:

        def stop_at_signal(z: np.ndarray) -> None:
            if flag:
                raise StopIteration

        options = {"maxiter": STEPS, "ftol": FLAT}
        start, kind = np.zeros(len(idx) + 1), "L-BFGS-B"
        best = minimize(primal, start, jac=True, method=kind, options=options, callback=stop_at_signal)
    beta, b = solve_triangular(L, best.x[:-1], lower=True, trans="T"), best.x[-1]
    coef = np.zeros(problem.m)
    coef[idx] = beta
    return DecisionFunction(coef, float(root * b)), _certificate(problem, coef, float(b), bounded)


def _certificate(problem: SquaredHinge, coef: np.ndarray, b: float, bounded: bool) -> Certificate:
    """Return the certificate of coefficients (m,) and the entry b of w for the bias; without D unless `bounded`."""
    C, idx = problem.C, np.flatnonzero(coef)
    images = problem.gram.matvec(coef[idx], idx)
    h = images + np.sqrt(problem.bias) * b
    slack, of_image = 1.0 - problem.y * h, problem.image_error(coef)
    value = 0.5 * float(coef[idx] @ images[idx]) + 0.5 * b * b + float(C @ np.square(np.maximum(slack, 0.0)))
    if not bounded:
        return Certificate(value, None, None)
    error = 0.5 * (float(np.abs(coef).sum()) * of_image + dot_error(coef[idx] * images[idx])) + U * b * b
    error += squared_loss_error(slack, C, of_image + 4.0 * U * (1.0 + np.abs(images) + np.abs(h)))
    weights = C * np.maximum(slack, 0.0)
    total = float(weights.sum())
    proven = problem.certificate(weights / total) if total > 0.0 else Certificate(value, 0.0, 1.0)
    return Certificate.from_values(value, proven.dual or 0.0, errors=(error, 0.0), flaw=proven.flaw)


def try_refit(
    problem: Problem, idx: np.ndarray, *, bounded: bool = True
) -> tuple[DecisionFunction, Certificate] | None:
    """Return what `refit` returns, or None if the problem cannot be refitted or `idx` is empty."""
    if not isinstance(problem, SquaredHinge) or problem.gram.definiteness.flaw is not None or not len(idx):
        return None
    return refit(problem, idx, bounded=bounded)
