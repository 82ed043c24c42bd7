"""Metrics of orders against scikit-learn and scipy, group by group."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score, roc_auc_score

from svmkit import InputError
from svmkit.data import Ranks
from svmkit.scoring.ranks import RankMetric, RankScores


@pytest.fixture
def drawn() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions with ties, values from 0 to 4, and groups of some 20 rows."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, 200).astype(float)
    return np.round(values + 2.0 * rng.normal(size=200), 1), values, rng.integers(0, 10, 200)


def test_metrics_are_those_of_scikit_learn_and_scipy(drawn):
    predicted, values, groups = drawn
    parts = [(values[groups == g], predicted[groups == g]) for g in range(10)]
    for first in (3, 10):
        found = RankScores.from_predictions(predicted, Ranks(values, groups), first)
        expected = np.mean([ndcg_score(y[None], h[None], k=first) for y, h in parts])
        assert found.ndcg == pytest.approx(expected, rel=1e-12)
    assert found.kendall_tau == pytest.approx(np.mean([kendalltau(y, h)[0] for y, h in parts]), rel=1e-12)
    binary = RankScores.from_predictions(predicted, Ranks(values > 2, groups))
    assert binary.auc == pytest.approx(np.mean([roc_auc_score(y > 2, h) for y, h in parts]), rel=1e-12)


def test_concordance_counts_pairs_of_all_groups_and_half_of_equal_predictions(drawn):
    predicted, values, groups = drawn
    observed = np.random.default_rng(1).random(200) < 0.5
    later = (values[:, None] > values) | ((values[:, None] == values) & ~observed[:, None])
    above, below = np.nonzero((groups[:, None] == groups) & later & observed)
    h = predicted[above] - predicted[below]
    found = RankScores.from_predictions(predicted, Ranks(values, groups, observed))
    assert found.concordance == pytest.approx(((h > 0) + 0.5 * (h == 0)).mean(), rel=1e-12)
    assert found.n_pairs == len(h)
    assert math.isnan(found.kendall_tau) and math.isnan(found.ndcg)
    assert found.summary()["ndcg"] is None


def test_whoever_is_censored_outlived_an_event_at_the_same_time():
    """The figures are those of scikit-survival's `concordance_index_censored`; R's `concordance` counts alike."""
    months = np.array([1, 1, 1, 2, 2, 3, 3, 3, 4, 4.0])
    died = np.array([1, 0, 1, 1, 0, 0, 1, 1, 0, 1], bool)
    predicted = np.array([2, 1, 3, 3, 5, 1, 4, 2, 5, 3.0])
    found = RankScores.from_predictions(predicted, Ranks(months, observed=died))
    assert (found.n_pairs, found.concordance) == (29, pytest.approx(0.5862068965517241, rel=1e-15))


def test_groups_without_a_pair_do_not_count():
    found = RankScores.from_predictions(np.array([1.0, 2.0, 5.0, 3.0, 4.0]), Ranks([0, 1, 7, 2, 2], list("aabcc")))
    assert (found.concordance, found.auc, found.kendall_tau, found.ndcg, found.n_groups) == (1.0, 1.0, 1.0, 1.0, 3)


def test_metric_by_name(drawn):
    predicted, values, groups = drawn
    truth = Ranks(values, groups)
    assert RankMetric.from_words("ndcg@3").value(truth, predicted) == pytest.approx(
        RankScores.from_predictions(predicted, truth, 3).ndcg
    )
    assert RankMetric.from_words().name == "concordance"
    with pytest.raises(InputError, match="give one of concordance, auc, kendall_tau, ndcg"):
        RankMetric.from_words("r2")


def test_without_a_pair_nothing_is_known():
    found = RankScores.from_predictions(np.array([1.0, 2.0]), Ranks([1, 2], ["a", "b"]))
    assert found.n_pairs == 0 and math.isnan(found.concordance) and math.isnan(found.ndcg)
