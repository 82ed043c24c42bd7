"""Scores: equal to scikit-learn's measures for labels of any kind, and what follows from classes without rows."""

import numpy as np
import pytest
from sklearn import metrics

from svmkit.scoring.probability_scores import Reliability
from svmkit.scoring.scores import Scores, balanced_accuracy

KINDS = {
    "ints": (np.array([-1, 1]), np.array),
    "floats": (np.array([0, 1, 2]), lambda labels: np.array(labels, dtype=float)),
    "text": (np.array(["ham", "no", "spam", "yes"]), np.array),
    "objects": (np.array(["b", "c", "a"]), lambda labels: np.array(labels, dtype=object)),
    "numbers as text": (np.array([2, 10, 1]), lambda labels: np.array([str(label) for label in labels])),
    "many": (np.arange(100), np.array),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_they_are_those_of_scikit_learn(kind, seed):
    rng, (classes, of) = np.random.default_rng(seed), KINDS[kind]
    truth, predicted = rng.choice(classes, 300), rng.choice(classes, 300)
    found = Scores.from_predictions(predicted, of(truth.tolist()), np.sort(classes))
    assert found.n_samples == 300 and found.accuracy == metrics.accuracy_score(truth, predicted)
    assert found.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(truth, predicted), abs=1e-12)
    present = np.unique(truth)
    recall = metrics.recall_score(truth, predicted, labels=present, average=None)
    assert found.recall == pytest.approx(dict(zip(map(str, present), recall, strict=True)))
    assert found.majority_share == np.unique(truth, return_counts=True)[1].max() / 300
    names, counts = np.unique(truth.astype(str), return_counts=True)
    assert counts[names.tolist().index(found.majority)] == counts.max()
    assert sorted(found.never_predicted()) == sorted(set(map(str, truth)) - set(map(str, predicted)))
    assert found.worst[0][1] == recall.min() and [share for _, share in found.worst] == sorted(recall)
    codes = np.searchsorted(present, truth)
    of_codes = balanced_accuracy(predicted == truth, codes, np.bincount(codes))
    assert of_codes == pytest.approx(found.balanced_accuracy, abs=1e-12)


def test_classes_without_rows_and_labels_that_no_class_has():
    found = Scores.from_predictions(np.array([0, 1, 1, 0]), np.array([0.0, 0.0, 1.0, 7.0]), np.array([0, 1, 2]))
    assert found.classes.tolist() == [0, 1, 2, 7] and found.rows.tolist() == [2, 1, 0, 1]
    assert found.recall == {"0": 0.5, "1": 1.0, "7": 0.0} and found.never_predicted() == ["7"]
    assert found.balanced_accuracy == 0.5 and found.never_predicted(2) == []
    assert found.summary() == {
        "balanced_accuracy": 0.5, "majority": "0", "majority_share": 0.5, "recall": found.recall,
        "never_predicted": ["7"],
    }  # fmt: skip


def test_a_model_that_knows_one_class_only_has_the_share_of_the_largest():
    labels = np.array(["no"] * 95 + ["yes"] * 5)
    found = Scores.from_predictions(np.full(100, "no"), labels, np.array(["no", "yes"]))
    assert found.accuracy == found.majority_share == 0.95 and found.majority == "no"
    assert found.balanced_accuracy == 0.5 and found.never_predicted() == ["yes"] and found.never_predicted(6) == []


def test_balanced_accuracy_of_a_part_that_lacks_a_class():
    codes = np.array([0, 0, 2])
    assert balanced_accuracy(np.array([True, False, True]), codes, np.bincount(codes)) == 0.75


def test_bins_of_several_runs_are_joined_to_those_of_all_predictions():
    rng = np.random.default_rng(0)
    probability = np.r_[rng.random(500), 0.0, 0.1, 0.5, 0.99, 1.0]
    came_true = rng.random(505) < probability
    whole = Reliability.from_probabilities(probability, came_true)
    assert len(whole.rows) == 10 and whole.rows.sum() == 505
    parts = [Reliability.from_probabilities(probability[at], came_true[at]) for at in (slice(0, 90), slice(90, None))]
    joined = Reliability.from_plain([entry for part in parts for entry in part.plain()])
    for field, own in zip(joined, whole, strict=True):
        np.testing.assert_allclose(field, own, rtol=1e-12)
    edges = np.linspace(0.0, 1.0, 11)
    for k in range(10):
        inside = (probability >= edges[k]) & ((probability < edges[k + 1]) | (k == 9))
        assert whole.rows[k] == inside.sum()
        assert whole.predicted[k] == pytest.approx(probability[inside].mean())
        assert whole.observed[k] == pytest.approx(came_true[inside].mean())
