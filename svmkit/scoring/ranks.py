"""The quality of predicted orders: concordance, AUC, Kendall's tau and NDCG, within groups."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.data.prepare.ranks import encode_ranks, is_encoded
from svmkit.errors import InputError
from svmkit.scoring.metric import Metric, require_metric

if TYPE_CHECKING:
    from svmkit.problems.risks.comparable import Order

FIRST = 10  # places of a group that count for NDCG unless another number is given
NAMES = "concordance", "auc", "kendall_tau", "ndcg"
TIED = math.ulp(0.0)  # the reach of pairs in the wrong order or with equal predictions


@dataclass(frozen=True)
class RankScores:
    """The order of predictions beside that of the values, within groups; equal predictions count as half in order."""

    n_samples: int
    n_groups: int
    n_pairs: int  # the number of comparable pairs
    concordance: float  # the share of comparable pairs that are in order: Harrell's concordance index
    auc: float  # the same as a mean over the groups with pairs: for values 0 and 1 the mean ROC AUC
    kendall_tau: float  # tau-b as such a mean; nan if values are censored
    ndcg: float  # at `first` places as such a mean, with the values as gains; nan for values below 0 or censored ones
    first: int = FIRST

    @classmethod
    def from_predictions(cls, predicted: np.ndarray, targets: Any, first: int = FIRST) -> RankScores:
        """Compare predictions with the values to order.

        Parameters
        ----------
        predicted : ndarray of shape (n_samples,)
            Predictions, larger for larger values.
        targets : Ranks or array-like
            Values, with groups and censoring, as for `svmkit.data.make_ranks`; or their encoding (n_samples, 3) from
            `encode_ranks`.
        first : int, default=10
            The places of a group that count for NDCG.
        """
        if not is_encoded(targets):
            targets = encode_ranks(targets, n_samples=len(predicted), needs_pairs=False)
        values, groups, observed = targets.T
        from svmkit.problems.risks.comparable import make_order  # here: it needs numba

        order = make_order(values, groups, observed > 0.0)
        h = np.asarray(predicted, dtype=np.float64)[order.rows]
        sizes = np.diff(order.starts)
        pairs, wrong, not_right = (_count_by_group(order, h, reach) for reach in (np.inf, 0.0, TIED))
        share = (pairs - 0.5 * (wrong + not_right)) / np.where(pairs > 0.0, pairs, np.nan)
        total = float(pairs.sum())
        tau = ndcg = math.nan
        if observed.all():
            untied = np.sqrt(pairs * _untied_pairs(h, sizes))
            net = pairs - wrong - not_right
            tau = _mean(np.where(untied > 0.0, net / np.where(untied > 0.0, untied, 1.0), 0.0), pairs > 0.0)
            if values.min() >= 0.0:
                ndcg = _mean(_ndcg(values[order.rows], h, sizes, first), pairs > 0.0)
        right = float((pairs - 0.5 * (wrong + not_right)).sum())
        concordance = right / total if total else math.nan
        return cls(len(h), len(sizes), int(total), concordance, _mean(share, pairs > 0.0), tau, ndcg, first)

    @property
    def accuracy(self) -> None:
        """None: orders are right or wrong by pairs."""
        return None

    @property
    def columns(self) -> dict[str, float]:
        """The measures that are columns of a table of several runs: none."""
        return {}

    @property
    def logged(self) -> dict[str, float | None]:
        """The further scalars of a run."""
        return {name: value for name, value in self.summary().items() if name in NAMES}

    @property
    def kept(self) -> dict[str, Any]:
        """The test scores that a model keeps."""
        return {name: value for name, value in self.summary().items() if value is not None}

    def summary(self) -> dict[str, Any]:
        """Return the measures, as `svmkit train --json` prints them; None if one is not defined."""
        values = {name: getattr(self, name) for name in NAMES}
        known = {name: None if math.isnan(value) else value for name, value in values.items()}
        return known | {"ndcg_at": self.first, "pairs": self.n_pairs, "groups": self.n_groups}


class RankMetric(Metric):
    """A metric of predicted orders; greater is better."""

    @classmethod
    def from_words(cls, name: str | None = None) -> RankMetric:
        """Return the metric by its name, by default the concordance; "ndcg@5" counts five places.

        Raises
        ------
        InputError
            There is no such metric.
        """
        name = NAMES[0] if name is None else name.strip().replace("-", "_")
        if not _measures_orders(name):
            raise InputError(f"metric {name} does not measure orders: give one of {', '.join(NAMES)}, or ndcg@5")
        return cls(name, np.empty(0))

    @property
    def needs_decisions(self) -> bool:
        """False: predictions suffice."""
        return False

    def codes(self, labels: Any) -> Any:
        """Return the values to order in the form of `value`."""
        return labels

    def score_counts(self, scores: RankScores) -> float | None:
        """Return the metric if it follows from scores that have been counted already; None otherwise."""
        return getattr(scores, self.name) if self.name in NAMES else None

    def value(self, truth: Any, predicted: np.ndarray, decision: np.ndarray | None = None, rows: Any = None) -> float:
        """Return the metric of a predicted order; nan if it is not defined for it.

        Parameters
        ----------
        truth : Ranks or array-like
            The values to order, as for `RankScores.from_predictions`.
        predicted : ndarray of shape (n_samples,), float64
            The predictions.
        decision, rows : None
            Not used.
        """
        name, _, first = self.name.partition("@")
        return getattr(RankScores.from_predictions(predicted, truth, int(first) if first else FIRST), name)


def require_any_metric(name: str) -> str:
    """Return the name of a metric of orders, classes or quantities; raise InputError as `require_metric` does."""
    given = name.strip().replace("-", "_")
    return given if _measures_orders(given) else require_metric(name)


def _measures_orders(name: str) -> bool:
    return name in NAMES or bool(re.fullmatch(r"ndcg@[1-9]\d*", name))


def _mean(values: np.ndarray, used: np.ndarray) -> float:
    return float(values[used].mean()) if used.any() else math.nan


def _count_by_group(order: Order, h: np.ndarray, reach: float) -> np.ndarray:
    """Return the number of pairs (i, j) of each group with h_i - h_j < reach."""
    return np.add.reduceat(order.count_pairs(h, reach)[0], order.starts[:-1])


def _untied_pairs(h: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the number of pairs of different h (m,) in each group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    at = np.lexsort((h, group))
    begins = np.append(True, (h[at][1:] != h[at][:-1]) | (group[at][1:] != group[at][:-1]))
    runs = np.diff(np.append(np.flatnonzero(begins), len(h))).astype(np.float64)
    tied = np.bincount(group[at][begins], runs * (runs - 1.0) / 2.0, minlength=len(sizes))
    return sizes * (sizes - 1.0) / 2.0 - tied


def _ndcg(values: np.ndarray, h: np.ndarray, sizes: np.ndarray, first: int) -> np.ndarray:
    """Return the NDCG of each group; equal h share the mean of their discounts, as in scikit-learn's `ndcg_score`."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(h)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    discount = np.where(place < first, 1.0 / np.log2(place + 2.0), 0.0)
    at, best = np.lexsort((-h, group)), np.lexsort((-values, group))
    begins = np.append(True, (h[at][1:] != h[at][:-1]) | (group[at][1:] != group[at][:-1]))
    run = np.cumsum(begins) - 1
    shared = (np.bincount(run, discount) / np.bincount(run))[run]
    gained = np.bincount(group, values[at] * shared)
    ideal = np.bincount(group, values[best] * discount)
    return gained / np.where(ideal > 0.0, ideal, 1.0)
