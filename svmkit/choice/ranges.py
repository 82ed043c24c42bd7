"""Ranges of C, gamma and epsilon from a few hundred rows of the data: where candidates begin, and where they end.

gamma: the median heuristic. With q the median of |x - z|^2 between rows, exp(-gamma |x - z|^2) tells near from far for
gamma around 1 / (2 q); sigest takes quantiles of the same distances.

C: a beta of the dual is about as large as 1 / v, where v is the variance of the rows in the space of the kernel, the
mean of k(x, x) less that of k(x, z); in regression times the spread of the targets. SVMlight's default is 1 / k(x, x).
In ranking the beta of a sample is a sum over its pairs, so that C is divided by their mean number.
Below the C at which the first sample leaves its bound the model is a multiple of the same function: with all samples of
the smaller of two classes at C, w is C m_small times the difference of the means, and it stays so until the decisions
of two samples differ by 2.

epsilon: 3 s sqrt(log n / n) for the noise s of the targets, estimated from nearest neighbours.

References
----------
Caputo, Sim, Furesjo, Smola: Appearance-based object recognition using SVMs: which kernel should I use? NIPS workshop,
2002 (`sigest` in kernlab). Garreau, Jitkrittum, Kanagawa: Large sample analysis of the median heuristic.
arXiv:1707.07269, 2018. Cherkassky, Ma: Practical selection of SVM parameters and noise estimation for SVM regression.
Neural Networks 17, 2004, equations 14 and 16. Hastie, Rosset, Tibshirani, Zhu: The entire regularization path for the
support vector machine. Journal of Machine Learning Research 5, 2004, section 3.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import manhattan_distances

from svmkit.errors import InputError
from svmkit.kernels.engines import engine_for
from svmkit.kernels.extent import Extent
from svmkit.kernels.forms import Argument, Form
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.scoring.ranks import RankScores
from svmkit.training.data import TrainingData

ROWS = 250  # in the sample
STEP = 4.0  # ratio of two neighbouring values of gamma
NEIGHBOURS = 3  # whose targets give the noise
LEAST_NOISE = 1e-3  # relative to the spread of the targets: with an epsilon of 0 all samples become support vectors


class Ranges:
    """Scales of C, gamma and epsilon for training data, from a seeded sample of their rows.

    Parameters
    ----------
    data : TrainingData
        The data, scaled.
    seed : int
        Seed of the sample.

    Examples
    --------
    >>> from svmkit import load
    >>> from svmkit.choice.ranges import Ranges
    >>> from svmkit.training import TrainingData
    >>> from svmkit.training.settings import Settings, resolve
    >>> iris = load("iris")
    >>> ranges = Ranges(TrainingData.prepare(iris.X, iris.y, resolve(Settings())), seed=0)
    >>> gammas = ranges.gammas()
    >>> len(gammas), ranges.unit(ranges.data.kernel) > 0
    (3, True)
    """

    def __init__(self, data: TrainingData, seed: int) -> None:
        self.data = data
        used, rng = np.flatnonzero(data.weights > 0.0), np.random.default_rng(seed)
        self.rows = np.sort(rng.choice(used, min(ROWS, len(used)), replace=False))
        self.n_samples = len(used)
        self._matrix = lru_cache(maxsize=8)(self._values)
        self._scales = lru_cache(maxsize=64)(self._measure)

    def gammas(self) -> list[float]:
        """Return values of gamma, ascending: 1 / (2 q) and values a `STEP` away; the default is among them."""
        default, middle = self.default_gamma(), self._middle()
        ladder = [middle / STEP, middle, middle * STEP]
        rest = [
            round_number(gamma) for gamma in ladder if not 1 / 2 < gamma / default < 2
        ]  # the default replaces its neighbour
        return sorted([*rest, default])

    def default_gamma(self) -> float:
        """Return the value of gamma="scale" in full precision."""
        return float(type(self.data.kernel)("scale").resolve(self.data.X).params["gamma"])  # type: ignore[call-arg]

    def _middle(self) -> float:
        """Return 1 / (2 q) for the median distance between different rows; for kernels of inner products the
        default.
        """
        form = self.data.kernel.form
        if form is None or not form.is_radial:
            return self.default_gamma()
        apart = manhattan_distances(self.data.X[self.rows]) if form is Form.LAPLACIAN else self._squares
        apart = apart[np.tri(len(self.rows), k=-1, dtype=np.bool_)]
        apart = apart[apart > 1e-12 * max(apart.max(initial=0.0), 1e-300)]
        return 1.0 / (2.0 * float(np.median(apart))) if len(apart) else self.default_gamma()

    @cached_property
    def _squares(self) -> np.ndarray:
        """The |x - z|^2 between the rows of the sample."""
        X = self.data.X[self.rows]
        with np.errstate(over="ignore", invalid="ignore"):  # other code reports which numbers are too large
            if isinstance(X, np.ndarray):
                X = X - X.mean(axis=0, dtype=np.float64)  # far from the origin |x|^2 + |z|^2 - 2 x.z loses its digits
                dots = X @ X.T
            else:
                X = X.astype(np.float64)
                dots = (X @ X.T).toarray()
            size = dots.diagonal()
            return np.maximum(size[:, None] + size - 2.0 * dots, 0.0)

    def unit(self, kernel: Kernel) -> float:
        """Return the C that is 1 in units of the data, with a kernel whose gamma is a number."""
        return self._scales(kernel)[0]

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the targets of the sample; 1 without targets; for a ranking, rows by pairs."""
        targets = self.data.answers.targets
        if targets is not None and self.data.task.has_groups:
            return self.n_samples / max(RankScores.from_predictions(np.zeros(len(targets)), targets).n_pairs, 1)
        return 1.0 if targets is None else float(targets[self.rows].std()) or 1.0

    def least_C(self, kernel: Kernel) -> float:
        """Return the C up to which the model of each pair of classes is a multiple of the same function; 0 if
        unknown.
        """
        return self._scales(kernel)[1]

    def _measure(self, kernel: Kernel) -> tuple[float, float]:
        """Return `unit` and `least_C`."""
        K = self._matrix(kernel)
        n = len(K)
        apart = (K.sum() - K.trace()) / max(n * (n - 1), 1)
        variance = float(K.trace() / n - apart)
        scale = float(np.abs(K).mean()) or 1.0
        unit = self.spread / (variance if variance > 1e-9 * scale else scale)
        codes = self.data.codes[self.rows]
        counts = np.bincount(codes, minlength=len(self.data.classes))
        if not self.data.task.has_classes or counts.min() == 0:
            return unit, 0.0
        is_in = (codes == np.arange(len(counts))[:, None]).astype(np.float64)
        means = is_in @ K / counts[:, None]
        order, ends = np.argsort(codes, kind="stable"), np.cumsum(counts)
        gains = means[codes, np.arange(n)] - means  # of the row's own class over each other one
        most = np.maximum.reduceat(gains[:, order], ends - counts, axis=1)
        a, b = np.triu_indices(len(counts), 1)
        apart = float((np.minimum(counts[a], counts[b]) * (most[a, b] + most[b, a])).max(initial=0.0))
        return unit, 2.0 * n / (self.n_samples * apart) if apart > 0.0 else 0.0

    def epsilon(self, kernel: Kernel) -> float:
        """Return 3 s sqrt(log n / n) for the noise s of the targets, estimated from nearest neighbours in the
        kernel.
        """
        targets = self.data.answers.targets
        if targets is None:
            raise InputError("epsilon is for quantities, and the labels are classes: leave it out")
        t, n = targets[self.rows], self.n_samples
        if len(t) <= NEIGHBOURS + 1:
            return round_number(0.1 * self.spread)
        K = self._matrix(kernel)
        square = K.diagonal()[:, None] + K.diagonal()[None, :] - 2.0 * K
        np.fill_diagonal(square, np.inf)
        near = np.argpartition(square, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
        errors = t - t[near].mean(axis=1)
        # the errors are those of a mean of k targets: larger than the noise by (k + 1) / k; the median ignores outliers
        noise = 1.4826 * float(np.median(np.abs(errors))) / math.sqrt(1.0 + 1.0 / NEIGHBOURS)
        noise = max(noise, LEAST_NOISE * self.spread)
        return round_number(3.0 * noise * math.sqrt(math.log(max(n, 3)) / n))

    def _values(self, kernel: Kernel) -> np.ndarray:
        """Return the kernel values of the sample, float64."""
        rows = self.rows
        if isinstance(kernel, Precomputed):
            X: Any = self.data.X
            return np.asarray(X[rows][:, rows].toarray() if hasattr(X, "toarray") else X[np.ix_(rows, rows)], float)
        form = kernel.form
        if form is not None and form.argument is Argument.SQUARE and math.isfinite(float(self._squares.sum())):
            return form.apply(self._squares.copy(), kernel.scalars)
        X = self.data.X[rows]
        return engine_for(kernel, X, Extent.measure(kernel, X)).block(X, np.empty((len(rows), len(rows))))


def round_number(value: float) -> float:
    """Return a number with three digits, as a person would write it."""
    return float(f"{value:.3g}")
