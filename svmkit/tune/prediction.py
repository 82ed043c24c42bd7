"""Decisions on held-out samples by the models of one path, which share kernel values: one product serves every C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from svmkit.kernels.engines import engine_for
from svmkit.kernels.extent import Extent
from svmkit.runtime import threads
from svmkit.training.result import Fit


def decisions(fits: Sequence[Fit], X, n_threads: int) -> np.ndarray | None:
    """Return the decisions of each model, as `SVMModel.decision_function` gives them; None where each decides alone.

    Parameters
    ----------
    fits : sequence of Fit
        Trained on the same samples with one kernel and one preprocessing, for different C.
    X : ndarray or CSR of shape (n, d)
        Held-out samples, of the columns that the models were trained on.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_fits, n), or None
        None for a single fit, for linear models, whose predictions are cheap, for more than two classes, whose models
        share kernel values among their class pairs, and where a decision is not finite.
    """
    if len(fits) < 2 or len(fits[0].model.classes) > 2 or fits[0].model.kernel.name == "linear":
        return None
    model, every = fits[0].model, np.concatenate([fitted.support for fitted in fits])
    rows, first = np.unique(every, return_index=True)
    parts = [fitted.model.vectors for fitted in fits]
    stacked = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
    vectors, coef = stacked[first], np.zeros((len(rows), len(fits)))
    for k, fitted in enumerate(fits):
        at = np.searchsorted(rows, fitted.support)
        coef[at, k] = fitted.model.machine.coefficients[:, 0]
    X = model.preprocessing.apply(X)
    with threads.using(n_threads):
        found = engine_for(model.kernel, X, Extent.measure(model.kernel, vectors)).product(vectors, coef)
    found += np.array([fitted.model.intercept[0] for fitted in fits])
    return found.T if np.isfinite(found).all() else None
