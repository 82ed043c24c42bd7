"""One-versus-one: the order of the class pairs, the layout of coefficients, and the votes."""

import numpy as np
import pytest

from svmkit.model.machines import OneFunction
from svmkit.model.one_vs_one import (
    class_pairs,
    class_slices,
    coefficient_row,
    coefficients_by_column,
    columns_of,
    merge_support,
    pair_coefficients,
    pair_column,
    scores,
    signed_pair,
    signs,
    trained_columns,
    vote_signs,
    weight_coefficients,
)

every_number = pytest.mark.parametrize("n_classes", [2, 3, 4, 7])


def a_model(n_classes, seed=0):
    """Coefficients at random, as (codes, rows, values) of each class pair."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, 12 * n_classes)
    rows, values = [], []
    for a, b in class_pairs(n_classes):
        of_pair = np.flatnonzero((codes == a) | (codes == b))
        rows.append(rng.permutation(of_pair)[: len(of_pair) // 2])
        values.append(rng.normal(size=len(rows[-1])))
    return codes, rows, values


@every_number
def test_class_pairs_are_numbered_in_order(n_classes):
    pairs = class_pairs(n_classes)
    assert pairs == sorted(pairs) and len(pairs) == n_classes * (n_classes - 1) // 2
    assert [pair_column(a, b, n_classes) for a, b in pairs] == list(range(len(pairs)))
    for c in range(n_classes):
        others = [other for other in range(n_classes) if other != c]
        assert [coefficient_row(c, other) for other in others] == list(range(n_classes - 1))
        assert [pairs[column] for column in columns_of(c, n_classes)] == [tuple(sorted((c, o))) for o in others]


def test_of_two_classes_the_second_is_positive_of_more_the_first():
    assert signed_pair(0, 1, 2) == (1, 0) and signed_pair(0, 1, 3) == (0, 1)
    assert signs(np.array([0, 1, 1]), 0, 1, 2).tolist() == [-1.0, 1.0, 1.0]
    assert signs(np.array([2, 1, 1]), 1, 2, 3).tolist() == [-1.0, 1.0, 1.0]


@every_number
def test_what_is_merged_can_be_split_again(n_classes):
    codes, rows, values = a_model(n_classes)
    support, n_support, coef = merge_support(rows, values, codes, n_classes)
    owner = codes[support]
    assert coef.shape == (n_classes - 1, len(support)) and np.all(np.diff(owner) >= 0)
    np.testing.assert_array_equal(owner, np.repeat(np.arange(n_classes), n_support))
    np.testing.assert_array_equal(support, np.concatenate([support[s] for s in class_slices(n_support)]))
    by_column = coefficients_by_column(coef, n_support)
    for column, (a, b) in enumerate(class_pairs(n_classes)):
        want = np.zeros(len(codes))
        want[rows[column]] = values[column]
        at, found = pair_coefficients(coef, owner, a, b)
        np.testing.assert_array_equal(found, want[support[at]])
        np.testing.assert_array_equal(by_column[:, column], want[support])


@every_number
def test_linear_models_have_a_vector_for_each_class_pair(n_classes):
    n_support, coef = weight_coefficients(n_classes)
    assert coef.shape == (n_classes - 1, len(class_pairs(n_classes)))
    np.testing.assert_array_equal(coefficients_by_column(coef, n_support), np.eye(len(class_pairs(n_classes))))


@pytest.mark.parametrize("n_classes", [3, 4, 7])
def test_votes_decide_before_margins(n_classes):
    decision = np.random.default_rng(1).normal(scale=5.0, size=(200, len(class_pairs(n_classes))))
    found = scores(decision, n_classes)
    sides = vote_signs(n_classes)
    votes = (np.sign(decision)[:, :, None] * sides > 0).sum(axis=1)
    np.testing.assert_array_equal(np.round(found), votes)
    np.testing.assert_allclose(np.sign(found - votes), np.sign(decision @ sides))
    codes = found.argmax(axis=1)
    assert (votes[np.arange(200), codes] == votes.max(axis=1)).all()


def test_of_two_classes_the_sign_decides():
    machine = OneFunction(np.ones((1, 1)), np.array([1, 0]), np.ones((1, 1)), np.zeros(1))
    assert machine.codes(np.array([[-1.0], [0.0], [1e-300]])).tolist() == [0, 0, 1]


def test_a_decision_of_exactly_zero_votes_for_the_second_class_of_its_pair():
    """As in LIBSVM, which counts a vote for the first class only above 0."""
    assert scores(np.zeros((1, 3)), 3).tolist() == [[0.0, 1.0, 2.0]]
    decision = np.array([[0.0, -5.0, 1.0], [-0.0, -5.0, 1.0], [1e-300, -5.0, 1.0]])
    assert scores(decision, 3).argmax(axis=1).tolist() == [1, 1, 2]  # the last by margins, one vote for each class


def test_margins_are_squashed_to_a_third_of_a_vote():
    """0 for a margin of 0, 1/6 for a margin of 1, and 1/3 in the limit."""
    found = scores(np.array([[1.0, 1.0, 0.0], [3.0, -2.0, 3.0], [1e30, 1e30, 1e30]]), 3)
    np.testing.assert_allclose(found[0], [2.0 + 2.0 / 9.0, -1.0 / 6.0, 1.0 - 1.0 / 6.0], rtol=1e-15)
    np.testing.assert_allclose(found[1], [1.0 + 1.0 / 6.0, 1.0, 1.0 - 1.0 / 6.0], rtol=1e-15)
    np.testing.assert_allclose(found[2], [2.0 + 1.0 / 3.0, 1.0, -1.0 / 3.0], rtol=1e-15)


@every_number
def test_columns_of_a_class_are_those_of_its_pairs(n_classes):
    pairs = class_pairs(n_classes)
    for c in range(n_classes):
        others = [a + b - c for a, b in (pairs[column] for column in columns_of(c, n_classes))]
        assert others == [other for other in range(n_classes) if other != c]


def test_pairs_that_were_not_trained_are_left_out():
    codes, rows, values = a_model(5)
    n_pairs = len(class_pairs(5))
    for column in (0, 3, 9):
        rows[column], values[column] = rows[column][:0], values[column][:0]
    _, n_support, coef = merge_support(rows, values, codes, 5)
    intercept = np.zeros(n_pairs)
    intercept[3] = 0.5
    columns = trained_columns(coef, n_support, intercept)
    assert columns.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert not scores(np.zeros((2, 0)), 5, np.empty(0, dtype=np.int64)).any()
    decision = np.random.default_rng(1).normal(size=(50, n_pairs))
    decision[:, [0, 9]] = 0.0
    votes = np.round(scores(decision[:, columns], 5, columns))
    assert (votes.sum(axis=1) == 8).all()
    second = np.zeros(5)
    second[[1, 4]] = 1.0  # of the pairs 0 and 9: where they take part, a decision of 0 is a vote for the second class
    np.testing.assert_array_equal(np.round(scores(decision, 5)), votes + second)
