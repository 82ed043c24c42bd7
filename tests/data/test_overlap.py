"""Rows of training are known again by their keys."""

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.data.overlap import KEPT, measure_overlap, sketch_rows


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n", [100, 20 * KEPT])
def test_the_share_is_that_of_the_rows(store, n):
    X = np.random.default_rng(0).normal(size=(n, 4)) * (np.random.default_rng(1).random((n, 4)) < 0.7)
    X[0, 0] = np.nan
    new = np.random.default_rng(2).normal(size=(3 * n, 4))
    found = measure_overlap(np.concatenate([new, X]), sketch_rows(store(X)))
    if n <= KEPT:
        assert found == (0.25, 4 * n)
    else:  # about KEPT / 20 of 20 * KEPT rows are judged
        assert 1000 < found.n_rows < 3000 and abs(found.share - 0.25) < 4.0 * np.sqrt(0.25 * 0.75 / found.n_rows)
    assert measure_overlap(store(-X[1:]), sketch_rows(X)).share <= np.mean(~X[1:].any(axis=1))


def test_signs_of_zeros_and_kinds_of_nan_are_no_difference():
    X = np.array([[0.0, 1.0, np.nan]])
    other = np.array([[-0.0, 1.0, -np.nan]])
    assert measure_overlap(other, sketch_rows(X)).share == 1.0
    assert measure_overlap(np.empty((0, 3)), sketch_rows(X)) is None
