"""Checks on the values and the parameters of kernel plugins."""

from __future__ import annotations

import json

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.conformance.result import Check, check
from svmkit.conformance.solvers import toy
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import Gram


def kernel_data(kernel: Kernel) -> tuple[Kernel, np.ndarray]:
    """The kernel with its parameters resolved, and 20 rows of X for it."""
    X, _ = toy(m=20)
    X = X @ X.T if isinstance(kernel, Precomputed) else X
    return kernel.resolve(X), X


def _kernel_values(kernel: Kernel) -> str | None:
    """block(X, Z) is float64 of (rows of X, rows of Z) with k(x, z) = k(z, x), diag(X) is k(x, x), and normalised =
    True only where k(x, x) is the same for all x.
    """
    kernel, X = kernel_data(kernel)
    every = np.arange(len(X))
    gram = Gram(kernel, X)
    K = gram.block(every, every)
    if K.shape != (20, 20) or not np.isfinite(K).all():
        return f"values of 20 rows should be finite and (20, 20), not {K.shape}"
    if np.abs(K - K.T).max() > 1e-9 * np.abs(K).max():
        return "k(x, z) differs from k(z, x)"
    single = np.array([gram.block(every[i : i + 1], every[i : i + 1])[0, 0] for i in every])
    own = np.array([gram.engine.block(gram.engine.take(every[i : i + 1]), np.empty((1, 20)))[0, i] for i in every])
    if max(np.abs(gram.diag - own).max(), np.abs(single - gram.diag).max()) > 1e-9 * np.abs(K).max():
        return "diag(X) is not k(x, x)"
    if kernel.normalised and np.ptp(gram.diag) > 1e-12:
        return "declared normalised, but k(x, x) is not constant"
    weights = np.linspace(-1.0, 1.0, 20)
    if np.abs(gram.matvec(weights, every) - K @ weights).max() > 1e-9 * np.abs(K).max() * 20:
        return "sums of kernel values differ from the values"
    return None


def _kernel_sparse(kernel: Kernel) -> str | None:
    """block and diag take both dense arrays and CSR."""
    kernel, X = kernel_data(kernel)
    every = np.arange(len(X))
    dense, sparse = (Gram(kernel, data).block(every, every) for data in (X, sp.csr_array(X)))
    return None if np.allclose(dense, sparse, rtol=1e-9, atol=1e-12) else "CSR and dense rows give different values"


def _kernel_params(kernel: Kernel) -> str | None:
    """After resolve(X) every parameter is a number that JSON keeps, and the class builds the same kernel from it."""
    resolved, _ = kernel_data(kernel)
    stored = json.loads(json.dumps(resolved.params))
    again = plugins.build("kernel", kernel.name, stored)
    return None if again == resolved else f"{again} from the stored parameters of {resolved}"


KERNEL: dict[str, Check] = {
    "values are finite and symmetric; diagonal and sums agree with them": check(
        _kernel_values, "svmkit.kernels.Kernel.block, svmkit.kernels.Kernel.diag"
    ),
    "dense and CSR rows give the same values": check(_kernel_sparse, "svmkit.kernels.Kernel.block"),
    "its parameters can be stored with a model": check(
        _kernel_params, "svmkit.kernels.Kernel.resolve, svmkit.kernels.Kernel.params"
    ),
}
