"""The result of a search: candidates, best first, from scikit-learn's results or from the records of its folds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from svmkit.kernels.functions import Kernel
from svmkit.scoring.metric import Metric
from svmkit.solver.base import Solver
from svmkit.tune.space import Path, settings_of

# of each C in each fold
FACTS = ("accuracy", "metric", "fit_s", "n_iter", "kernel_values", "n_support", "converged", "determined", "tol", "gap")

NEXT = 1.5  # ratio of rows above which a record is of a later round of halving, which has at least twice as many


@dataclass(frozen=True)
class Candidate:
    """One point of a search and its scores.

    Attributes
    ----------
    params : dict of str to object
        The searched values, by name.
    solver, kernel, C : Solver, Kernel, float
        The settings of the fit; gamma may still be a rule such as "scale".
    gamma : float or None
        The value of gamma on all samples; None if the kernel has no gamma.
    n_rows : int
        Number of samples that the folds were made of: all samples, or in a halving search the samples of the last round
        in which the candidate was tried.
    mean_accuracy, std_accuracy : float
        Mean and standard deviation of the accuracy over the folds, between 0 and 1; nan if a fit failed, and in
        regression.
    mean_score, std_score : float
        Mean and standard deviation of the metric over the folds; nan if a fit failed or the metric is not defined.
    fit_s, n_iter, kernel_values, n_support : float
        Means over the folds; `fit_s` is in seconds.
    converged : bool
        Whether the fits of all folds converged.
    determined : bool
        Whether each fit ranks held-out rows as the optimum does, as far as a metric of two classes depends on the
        order: |w - w*| is at most a tenth of |w|. True for metrics of labels.
    tol : float or None
        The relative gap to which fits were continued for that, and with which to train on all samples; None if they
        ended by the stop rules.
    reason : str or None
        Why a fit failed; None if none failed.
    scores : tuple of float
        The metric in each fold.
    gap : float or None
        The largest relative gap of the certificates of all folds. It may exceed the requested gap if the fits are hard
        and the score is far from the best. None if a fit has no certificate, and for leave-one-out.

    Examples
    --------
    >>> from svmkit import load
    >>> from svmkit.tune import search
    >>> iris = load("iris")
    >>> best = search(iris.X, iris.y, solver="smo", grid={"C": [0.1, 10.0]}, cv=3).best
    >>> best.params, best.failed
    ({'C': 10.0}, False)
    """

    params: dict[str, Any]
    solver: Solver
    kernel: Kernel
    C: float
    gamma: float | None
    n_rows: int
    mean_accuracy: float
    std_accuracy: float
    mean_score: float
    std_score: float
    fit_s: float
    n_iter: float
    kernel_values: float
    n_support: float
    converged: bool
    determined: bool
    tol: float | None
    reason: str | None = None
    scores: tuple[float, ...] = ()
    gap: float | None = None

    @property
    def failed(self) -> bool:
        return math.isnan(self.mean_score)

    @property
    def settings(self) -> dict[str, Any]:
        """The searched values that are neither C nor options of solver or kernel, such as scale, for `svmkit.fit`."""
        return settings_of({name: value for name, value in self.params.items() if name != "C"})


@dataclass(frozen=True)
class Result:
    """All candidates of a search.

    Attributes
    ----------
    candidates : list of Candidate
        Best first.
    metric : Metric
        The metric of the comparison.
    n_fits : int
        Number of models that were trained.
    seconds : float
        Duration of the whole search.
    interrupted : bool
        Whether the search was ended before all candidates had been tried.

    Examples
    --------
    >>> from svmkit import load
    >>> from svmkit.tune import search
    >>> iris = load("iris")
    >>> result = search(iris.X, iris.y, solver="smo", grid={"C": [0.1, 10.0]}, cv=3)
    >>> len(result.candidates), result.best.params
    (2, {'C': 10.0})
    """

    candidates: list[Candidate]
    metric: Metric
    n_fits: int
    seconds: float
    interrupted: bool = False

    @property
    def best(self) -> Candidate:
        """The candidate with the highest mean metric; among equals the one with the smallest C, then the smallest
        gamma.

        In a halving search, candidates of the last round come first.
        """
        return self.candidates[0]

    @property
    def cv_results_(self) -> dict[str, Any]:
        """The candidates in the form of scikit-learn's searches, best first: arrays (n_candidates,) and `params`.

        If they were tried on different numbers of rows, `n_resources` has these, and candidates on the most rows rank
        first.
        """
        every = self.candidates
        names = list(dict.fromkeys(name for c in every for name in c.params))
        found: dict[str, Any] = {"mean_fit_time": np.array([c.fit_s for c in every])}
        for name in names:
            values, lacks = np.full(len(every), None), [name not in c.params for c in every]
            for k, c in enumerate(every):
                values[k] = c.params.get(name)
            found[f"param_{name}"] = np.ma.MaskedArray(values, lacks)
        found["params"] = [dict(c.params) for c in every]
        for k in range(max(len(c.scores) for c in every)):
            found[f"split{k}_test_score"] = np.array([c.scores[k] for c in every])
        mean = np.array([c.mean_score for c in every])
        found |= {"mean_test_score": mean, "std_test_score": np.array([c.std_score for c in every])}
        score = np.where(np.isnan(mean), -np.inf, np.round(mean, 9))  # equal scores share a rank, failed ones the last
        rows = np.array([c.n_rows for c in every])
        if len(set(rows.tolist())) > 1:
            found["n_resources"] = rows
        is_before = (rows[None, :] > rows[:, None]) | (
            (rows[None, :] == rows[:, None]) & (score[None, :] > score[:, None])
        )
        found["gap"] = np.array([math.nan if c.gap is None else c.gap for c in every])
        return found | {"rank_test_score": 1 + is_before.sum(axis=1).astype(np.int32)}


class Tried(NamedTuple):
    """The scores of a path in all folds."""

    path: int  # its number
    n_rows: int  # the samples of which the folds were made
    scores: dict[str, np.ndarray]  # a value a fold of ``FACT_i``, such as ``accuracy_0``: a fact for the path's i-th C


def from_results(results: dict[str, Any], cv: int, n_rows: int) -> list[Tried]:
    """Return the paths that a complete search of scikit-learn has tried, from its `cv_results_`."""
    prefix = "split0_test_"
    facts = [key.removeprefix(prefix) for key in results if key.startswith(prefix)]
    return [  # of halving an entry for each round in which a path was tried, with the number of samples of the round
        Tried(
            params["path"].number,
            int(results["n_resources"][i]) if "n_resources" in results else n_rows,
            {fact: np.array([results[f"split{k}_test_{fact}"][i] for k in range(cv)]) for fact in facts},
        )
        for i, params in enumerate(results["params"])
    ]


def from_records(records: Sequence[dict[str, Any]], cv: int) -> list[Tried]:
    """Return the paths that a search under way or interrupted has tried in all folds, from `Records`, in any order."""
    tried, rounds = [], list[list[dict[str, Any]]]()
    for record in sorted(records, key=lambda record: (record["path"], record["n_rows"], record.get("fold", 0))):
        first = rounds[-1][0] if rounds else None
        if first is None or first["path"] != record["path"] or record["n_rows"] > NEXT * first["n_rows"]:
            rounds.append([])
        rounds[-1].append(record)
    for found in (found[:cv] for found in rounds if len(found) >= cv):
        scores = {fact: np.array([fold["scores"][fact] for fold in found]) for fact in found[0]["scores"]}
        tried.append(Tried(found[0]["path"], found[-1]["n_rows"], scores))
    return tried


def reasons(records: Sequence[dict[str, Any]]) -> dict[tuple[int, int], str]:
    """Return why fits failed, by number of the path and position of C in the path."""
    # if there are several reasons: the one on the fewest samples, then the first in alphabetical order
    found: dict[tuple[int, int], str] = {}
    for record in sorted(records, key=lambda record: (record["n_rows"], sorted(record["reasons"].items()))):
        for i, text in record["reasons"].items():
            found.setdefault((record["path"], int(i)), text)
    return found


def rank(paths: Sequence[Path], tried: Sequence[Tried], why: dict[tuple[int, int], str], X: Any) -> list[Candidate]:
    """Return a candidate for each C of each path that was tried in all folds, best first.

    Candidates that were tried on more samples come first, then candidates whose ranking is determined, then those with
    a higher metric, smaller C and smaller gamma. Failed candidates come last.

    Parameters
    ----------
    paths, tried : sequence of Path, sequence of Tried
        The paths of the search, and their scores; for a path tried several times, the scores on the most samples.
    why : dict of (int, int) to str
        Reasons of failures, as `reasons` returns them.
    X : ndarray or CSR of shape (n_samples, n_features)
        All samples, scaled, on which a rule such as gamma="scale" is evaluated.
    """
    last: dict[int, Tried] = {}
    for t in tried:
        if t.path not in last or t.n_rows > last[t.path].n_rows:
            last[t.path] = t
    gammas: dict[Any, float | None] = {}
    found = []
    for path in (path for path in paths if path.number in last):
        gamma = path.kernel.params.get("gamma")
        if isinstance(gamma, str) and {"scale", "impute"} & path.values.keys():
            gammas[gamma] = None  # one number for each way to prepare the columns
        if gamma not in gammas:  # a rule is evaluated once
            gammas[gamma] = path.kernel.resolve(X).params["gamma"] if isinstance(gamma, str) else gamma
        for i in range(len(path.Cs)):
            found.append((path, i, gammas[gamma], last[path.number], why.get((path.number, i))))
    return sort_candidates(_candidates(found))


def sort_candidates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates in the order of `rank`."""

    def place(c: Candidate) -> tuple:
        return c.failed, -c.n_rows, not c.determined, -round(c.mean_score, 9), c.C, c.gamma or 0.0

    return sorted(candidates, key=place)


def _candidates(found: Sequence[tuple[Path, int, float | None, Tried, str | None]]) -> list[Candidate]:
    """Return a candidate for each path, the position of its C, its gamma, its scores and why a fit failed."""
    if not found:
        return []
    # (n_candidates, n_facts, n_folds), so that few calls compute means and deviations
    facts = np.array([[tried.scores[f"{fact}_{i}"] for fact in FACTS] for _, i, _, tried, _ in found], float)
    accuracy, metric, tol, gap = (FACTS.index(fact) for fact in ("accuracy", "metric", "tol", "gap"))
    means, spreads = facts.mean(axis=2).tolist(), facts[:, [accuracy, metric]].std(axis=2).tolist()
    scores, tols = facts[:, metric].tolist(), facts[:, tol].min(axis=1).tolist()
    gaps = facts[:, gap].max(axis=1).tolist()
    made = []
    for k, (path, i, gamma, tried, reason) in enumerate(found):
        mean = dict(zip(FACTS, means[k], strict=True))
        if math.isnan(mean["fit_s"]):
            reason = reason or "a fit failed in a worker that could not say why"
        elif math.isnan(mean["metric"]):
            reason = reason or "the metric is not defined for the predictions in some fold"
        candidate = Candidate(
            path.params(path.Cs[i]),
            path.solver,
            path.kernel,
            path.Cs[i],
            gamma,
            tried.n_rows,
            mean_accuracy=mean["accuracy"],
            std_accuracy=spreads[k][0],
            mean_score=mean["metric"],
            std_score=spreads[k][1],
            **{fact: mean[fact] for fact in ("fit_s", "n_iter", "kernel_values", "n_support")},
            converged=mean["converged"] == 1.0,
            determined=mean["determined"] == 1.0,
            tol=tols[k] if tols[k] < math.inf else None,
            reason=reason,
            scores=tuple(scores[k]),
            gap=gaps[k] if gaps[k] < math.inf else None,
        )
        made.append(candidate)
    return made
