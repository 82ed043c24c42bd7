"""The weight of each sample: class weights times sample weights, number by number."""

import numpy as np
import pytest

from svmkit.errors import InputError
from svmkit.training.weights import require_C, sample_weights, training_weights

CODES = np.array([0, 0, 0, 1, 2, 2])
CLASSES = np.array([-1.0, 0.0, 7.0])
SAMPLE_WEIGHT = np.array([1.0, 2.0, 3.0, 0.5, 4.0, 0.0])


def test_sample_weights():
    assert sample_weights(None, 3).tolist() == [1.0, 1.0, 1.0]
    assert sample_weights(2, 3).tolist() == [2.0, 2.0, 2.0]
    assert sample_weights([0, 1, 2], 3).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "given", [-1.0, np.inf, np.nan, [1.0, 1.0], [1.0, -1e-300, 1.0], [1.0, np.nan, 1.0], np.ones((3, 1))]
)
def test_sample_weights_that_are_none(given):
    with pytest.raises(InputError, match="sample_weight must be 3 finite numbers >= 0, one for each sample"):
        sample_weights(given, 3)


def test_without_class_weights_the_sample_weights_are_all():
    assert training_weights(CODES, CLASSES, None, None).tolist() == [1.0] * 6
    assert training_weights(CODES, CLASSES, None, SAMPLE_WEIGHT).tolist() == SAMPLE_WEIGHT.tolist()


def test_balanced_makes_the_classes_weigh_the_same():
    """n_samples / (n_classes n_class), as in scikit-learn."""
    np.testing.assert_allclose(training_weights(CODES, CLASSES, "balanced", None), [2 / 3, 2 / 3, 2 / 3, 2, 1, 1])


def test_balanced_counts_sample_weights_and_not_rows():
    """A weight of 2 counts like a repeated row: the classes weigh 6, 0.5 and 4 of 10.5, and 3.5 each afterwards."""
    found = training_weights(CODES, CLASSES, "balanced", SAMPLE_WEIGHT)
    np.testing.assert_allclose(found, SAMPLE_WEIGHT * np.array([3.5 / 6, 3.5 / 6, 3.5 / 6, 7.0, 3.5 / 4, 3.5 / 4]))
    np.testing.assert_allclose(np.bincount(CODES, found), [3.5, 3.5, 3.5])
    repeated = np.repeat(CODES, [1, 2, 3, 1, 4, 1])
    twice = training_weights(repeated, CLASSES, "balanced", None)
    weighted = training_weights(CODES, CLASSES, "balanced", [1, 2, 3, 1, 4, 1])
    np.testing.assert_allclose(np.bincount(repeated, twice), np.bincount(CODES, weighted))


def test_balanced_with_a_class_of_no_weight():
    found = training_weights(np.array([0, 1, 1]), np.array([0, 1]), "balanced", [0.0, 1.0, 3.0])
    assert found.tolist() == [0.0, 0.5, 1.5]


@pytest.mark.parametrize("given", [{-1: 2.0, 7.0: 5}, {"-1": 2.0, "7": 5}, {-1.0: np.float64(2.0), "7.0": np.int64(5)}])
def test_weights_by_label_however_the_label_is_spelt(given):
    want = [2.0, 2.0, 2.0, 1.0, 5.0, 5.0]
    assert training_weights(CODES, CLASSES, given, None).tolist() == want
    assert training_weights(CODES, CLASSES, given, SAMPLE_WEIGHT).tolist() == (SAMPLE_WEIGHT * want).tolist()


def test_weights_by_text():
    found = training_weights(np.array([1, 0]), np.array(["ham", "spam"]), {"spam": 3.0}, None)
    assert found.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    "given", [{True: 3.0}, {"True": 3.0}, {"true": 3.0}, {"1": 3.0}, {np.True_: 3.0, "False": 1.0}]
)
def test_weights_of_labels_that_are_booleans(given):
    assert training_weights(np.array([1, 0]), np.array([False, True]), given, None).tolist() == [3.0, 1.0]


def test_true_is_no_label_of_numbers_when_it_is_a_text():
    with pytest.raises(InputError, match=r"labels among 0, 1, not for True$"):
        training_weights(np.array([1, 0]), np.array([0, 1]), {"True": 3.0}, None)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.inf, np.nan, "2", None])
def test_class_weights_that_are_none(weight):
    with pytest.raises(
        InputError, match=r"class_weight must give a finite number > 0 for labels among -1.0, 0.0, 7.0$"
    ):
        training_weights(CODES, CLASSES, {-1: weight, 7: 2.0}, None)


def test_small_class_weights_are_weights():
    assert training_weights(CODES, CLASSES, {-1: 1e-300, 7: 0.5}, None).tolist() == [1e-300] * 3 + [1.0, 0.5, 0.5]


def test_class_weights_of_other_labels():
    with pytest.raises(InputError, match=r"for labels among -1.0, 0.0, 7.0, not for 3, egg$"):
        training_weights(CODES, CLASSES, {"egg": 1.0, 3: 1.0, 7: 2.0}, None)
    with pytest.raises(InputError, match="class_weight='equal' is not known: give balanced or a weight for each label"):
        training_weights(CODES, CLASSES, "equal", None)


def test_C():
    for C in (1e-300, 1, np.float32(0.5), np.int64(3)):
        require_C(C)
    for C in (0, 0.0, -1.0, np.inf, np.nan, "1", None, [1.0]):
        with pytest.raises(InputError, match="C must be a finite number > 0, not "):
            require_C(C)
