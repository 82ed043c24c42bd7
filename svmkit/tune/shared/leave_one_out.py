"""Leave-one-out: the metric of the predictions for all rows, each by a model of the other rows.

A metric such as R2 or balanced accuracy is not defined for one row, so the predictions for all rows are pooled. If
paths share kernel values, `svmkit.tune.shared.left_out` finds the predictions from one solution; otherwise each row is
left out by a separate fit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn import model_selection

from svmkit.errors import InputError
from svmkit.kernels.functions import Precomputed
from svmkit.kernels.gram import parse_bytes
from svmkit.model.one_vs_one import scores
from svmkit.problems.dual import DualQP
from svmkit.runtime import threads
from svmkit.scoring.metric import MAE, OF_PROBABILITIES, Metric
from svmkit.scoring.probability_scores import ProbabilityScores
from svmkit.solver.base import libsvm_patience
from svmkit.tasks import Answers, Task
from svmkit.training.division import DIVISIONS
from svmkit.training.settings import Settings
from svmkit.training.weights import training_weights
from svmkit.tune import backends
from svmkit.tune.estimator import QUIET, PathClassifier, PathRegressor, Training, predict_rows, reason
from svmkit.tune.ranking import ERROR
from svmkit.tune.records import Records
from svmkit.tune.result import FACTS
from svmkit.tune.shared.active import Stopped
from svmkit.tune.shared.left_out import Remover
from svmkit.tune.shared.matrix import SharedMatrix
from svmkit.tune.shared.removal import Aim
from svmkit.tune.shared.sharing import gap_of, groups_of, method_of, shares_values
from svmkit.tune.space import Path

LOO = "loo"
PARTS = 10  # parts of the rows from which the spread of a metric is estimated
FINER = 0.1  # factor of the requested gap: a single row changes an objective little
VALUES = 40  # bytes per pair of rows: kernel values, kernel values of the rows that move, and first steps
OF_ROWS = ("accuracy", MAE, "neg_mean_squared_error")  # means over rows


def is_loo(cv: Any) -> bool:
    """Return whether `cv` means leave-one-out: "loo", or scikit-learn's LeaveOneOut."""
    return isinstance(cv, model_selection.LeaveOneOut) or (isinstance(cv, str) and cv == LOO)


def require_rows(truth: Answers, task: Task, rows: np.ndarray) -> None:
    """Raise InputError, in one line, if a row cannot be left out.

    Parameters
    ----------
    truth, task, rows : Answers, Task, ndarray of int
        The labels or targets, the task, and the rows that take part.
    """
    if len(rows) < 3:
        raise InputError(f"cv='loo' needs 3 samples or more, and there are {len(rows)}: add samples")
    if task.has_classes:
        counts = np.bincount(truth.codes[rows], minlength=len(truth.classes))
        if counts.min() < 2:
            rare = truth.classes[counts.argmin()]
            raise InputError(
                f"cv='loo': class {rare} has {counts.min()} sample, without which no model knows the class: add "
                "samples, or leave the class out"
            )


def note_of(metric: Metric) -> str | None:
    """Return a note on how a metric that is undefined for a single row is computed; None for a mean over rows."""
    if metric.name in OF_ROWS:
        return None
    return (
        f"cv='loo': {metric.title} is not defined for a single sample: it is that of the predictions of all samples "
        "together, each by a model of the others"
    )


def can_share(path: Path, settings: Settings, task: Task, n_samples: int, each: bool) -> bool:
    """Return whether a path's rows can be left out from one solution.

    Parameters
    ----------
    path, settings, task, n_samples, each : Path, Settings, Task, int, bool
        As for `svmkit.tune.shared.sharing.can_share`, and the number of all rows.
    """
    own = replace(settings, **path.settings)
    if own.class_weight == "balanced" or path.kernel.semidefinite is not True:  # class weights depend on every row
        return False
    return VALUES * n_samples**2 <= parse_bytes(own.memory) and shares_values(path, settings, task, each)


class Predictions(NamedTuple):
    """The predictions for the rows that take part, each by a model without the row."""

    predicted: np.ndarray  # codes of classes, or quantities
    decision: np.ndarray | None  # as `Metric.value` takes them
    likely: np.ndarray | None  # (n, n_classes), probabilities
    facts: dict[str, float]  # the `FACTS` except accuracy and the metric


@dataclass(frozen=True)
class LeaveOneOut:
    """Tries paths by leave-one-out, and keeps `PARTS` records of each, whose mean is the metric of all predictions.

    They vary as the metric does when a tenth of the rows is left out: pseudo-values of the jackknife.
    """

    X: Any
    truth: Answers
    rows: np.ndarray  # the rows that take part
    training: Training
    records: Records
    jobs: int
    backend: str
    weights: np.ndarray | None

    @QUIET
    def run(self, together: Sequence[Path], others: Sequence[Path]) -> None:
        """Try paths of a single C that share kernel values, and others.

        Parameters
        ----------
        together, others : sequence of Path
            The paths.
        """
        self._run_shared(together)
        for path in others:
            if self.records.stopped:
                return
            self._refit(path)

    def _run_shared(self, paths: Sequence[Path]) -> None:
        shared: SharedMatrix | None = None
        memory = self.jobs * parse_bytes(self.training.settings.memory)
        with threads.using(min(threads.most(), self.jobs * (self.training.settings.n_threads or 1))):
            for group in groups_of(paths):
                kernel = group[0].kernel.resolve(self.X)
                try:
                    if shared is None or repr(shared.kernel) != repr(kernel):
                        shared = None  # its memory is free before that of the next one is taken
                        shared = SharedMatrix(kernel, self.X, memory)
                    removers = [Remover(shared, at, self.jobs, lambda: self.records.stopped) for at in self._parts()]
                    for path in group:
                        began = time.perf_counter()
                        one = self._leave_out(path, shared, removers)
                        one.facts["fit_s"] = time.perf_counter() - began
                        self._keep(path, {0: one}, {})
                except Stopped:
                    return
                except Exception as error:
                    for path in group:
                        self._keep(path, {}, {0: reason(error)})

    def _parts(self) -> list[np.ndarray]:
        """Return the rows of each subproblem."""
        codes, division = self.truth.codes[self.rows], self._division()
        return [self.rows[division.takes_part(codes, k)] for k in range(len(division.parts))]

    def _division(self) -> Any:
        task, classes = self.training.task, self.truth.classes
        return DIVISIONS[task.division("ovo", len(classes))](classes, task.noun)

    def _leave_out(self, path: Path, shared: SharedMatrix, removers: Sequence[Remover]) -> Predictions:
        """Return the predictions of the rows by the models of a path with a single C."""
        method, division = method_of(path, self.training.settings, self.training.task), self._division()
        settings, C, truth = method.settings, path.Cs[0], self.truth
        n_classes, needs = len(truth.classes), self.training.metric.needs_decisions
        weights = np.zeros(shared.m)
        codes = truth.codes[self.rows]
        weights[self.rows] = training_weights(codes, truth.classes, settings.class_weight, None)
        decision, steps, support, done = np.empty((len(self.rows), len(removers))), 0, set[int](), True
        for k, remover in enumerate(removers):
            at = remover.at
            problem = method.pose(method.solver, remover.sets.gram, division.target(truth, at, k), C * weights[at])
            assert isinstance(problem, DualQP)
            aim = Aim(FINER * (gap_of(settings.stop) or 0.0), n_classes == 2 and not needs)
            solved = remover.solve(problem, C, aim, libsvm_patience(len(at)))
            if n_classes == 2 and needs:  # the order of the decisions is known as far as w is
                square = float((solved.point * problem.signs) @ solved.h[at])
                aim = aim._replace(
                    gap=min(aim.gap, ERROR**2 / 2 * square / max(abs(solved.certificate.primal), 1e-300))
                )
                solved = remover.solve(problem, C, aim, libsvm_patience(len(at)))
            left = remover.leave_out(problem, solved, aim)
            decision[:, k] = solved.h[self.rows] + (solved.certificate.bias or 0.0)
            decision[np.searchsorted(self.rows, at), k] = left.decision
            steps, done = steps + solved.steps + left.steps, done and left.is_done
            support |= set(at[np.flatnonzero(solved.point)].tolist())
        facts: dict[str, float] = {
            "n_iter": steps,
            "kernel_values": shared.computed,
            "n_support": len(support),
            "converged": done,
        }
        shared.computed = 0
        facts |= {"determined": True, "tol": math.inf, "gap": math.nan}
        if not n_classes:
            return Predictions(decision[:, 0], None, None, facts)
        if n_classes == 2:
            return Predictions((decision[:, 0] > 0.0).astype(np.int64), decision[:, 0], None, facts)
        votes = scores(decision, n_classes)
        return Predictions(votes.argmax(axis=1), votes, None, facts)

    def _refit(self, path: Path) -> None:
        """Refit without each row in turn, for each C of a path."""
        import joblib

        chunks = np.array_split(np.arange(len(self.rows)), min(len(self.rows), 4 * self.jobs))
        with backends.running(self.backend, self.jobs, self.training.settings.n_threads or 1):
            done = joblib.Parallel()(joblib.delayed(_refit_rows)(self._plain(), path, chunk) for chunk in chunks)
        found: dict[int, list[Any]] = {i: [] for i in range(len(path.Cs))}
        why: dict[int, str] = {}
        for each, reasons in done:
            why = reasons | why
            for i, rows in each.items():
                found[i] += rows
        whole = {i: _join(rows) for i, rows in found.items() if len(rows) == len(self.rows)}
        self._keep(path, whole, why)

    def _plain(self) -> LeaveOneOut:
        """Return the copy for a worker, which has records of its own."""
        return replace(self, records=Records(self.training.folder))

    def _keep(self, path: Path, found: dict[int, Predictions], why: dict[int, str]) -> None:
        """Keep the records of a path; each C has predictions or the reason of a failure."""
        every = {f"{fact}_{i}": np.full(PARTS, math.nan) for fact in FACTS for i in range(self.training.width)}
        for i, one in found.items():
            every |= {f"{fact}_{i}": np.full(PARTS, float(value)) for fact, value in one.facts.items()}
            every[f"metric_{i}"] = self._spread(partial(self._value, one))
            if self.training.has_one_label:
                codes = self.training.metric.codes(self.truth.values)[self.rows]
                every[f"accuracy_{i}"] = self._spread(partial(_mean_at, one.predicted == codes))
        n = len(self.rows) * len(path.Cs)
        for k in range(PARTS):
            own = {name: float(values[k]) for name, values in every.items()}
            known = [own[f"metric_{i}"] for i in found if not math.isnan(own[f"metric_{i}"])]
            own["score"] = max(known, default=math.nan)
            record = {"path": path.number, "fold": k, "n_rows": len(self.rows), "n_fits": 0 if k else n, "scores": own}
            self.records.keep(record | {"reasons": {str(i): text for i, text in why.items()}})

    def _value(self, one: Predictions, at: np.ndarray) -> float:
        """Return the metric of the predictions of some of the rows that take part."""
        metric, values = self.training.metric, self.truth.values[self.rows[at]]
        if metric.name in OF_PROBABILITIES:
            if one.likely is None:
                return math.nan
            likely = ProbabilityScores.from_predictions(one.likely[at], self.truth.classes, values)
            return float(metric.score_probabilities(likely) or math.nan)
        decision = one.decision[at] if one.decision is not None and metric.needs_decisions else None
        return metric.value(metric.codes(values), one.predicted[at], decision)

    def _spread(self, value: Callable[[np.ndarray], float]) -> np.ndarray:
        """Return `PARTS` numbers whose mean is the value of all rows, and whose spread is that of the jackknife."""
        n = len(self.rows)
        order = np.random.default_rng(self.training.settings.seed).permutation(n)
        if len(self.truth.classes):
            order = order[np.argsort(self.truth.codes[self.rows[order]], kind="stable")]
        part = np.empty(n, np.int64)
        part[order] = np.arange(n) % PARTS
        whole = value(np.arange(n))
        others = np.array([value(np.flatnonzero(part != k)) for k in range(PARTS)])
        others[np.isnan(others)] = whole
        return whole + (PARTS - 1) * (others.mean() - others)


def _refit_rows(job: LeaveOneOut, path: Path, chunk: np.ndarray) -> tuple[dict[int, list[Any]], dict[int, str]]:
    """Return for each C the predictions of the fits without some rows for these rows, and why fits failed."""
    training, X, y = job.training, job.X, job.truth.values
    found: dict[int, list[Any]] = {i: [] for i in range(len(path.Cs))}
    why: dict[int, str] = {}
    kind: Any = PathClassifier if training.has_one_label else PathRegressor
    for r in job.rows[chunk]:
        train, held = job.rows[job.rows != r], np.array([r])
        is_square = isinstance(path.kernel, Precomputed)
        rows = (X[np.ix_(train, train)], X[np.ix_(held, train)]) if is_square else (X[train], X[held])
        own = None if job.weights is None else job.weights[train]
        estimator = kind(path=path, training=training).fit(rows[0], y[train], own)
        why = {**estimator.reasons_, **why}
        for i, one in enumerate(estimator.fits_):
            if one is None:
                continue
            try:
                found[i].append(predict_rows(one, rows[1], training))
            except Exception as error:
                why.setdefault(i, reason(error))
    return found, why


def _mean_at(values: np.ndarray, at: np.ndarray) -> float:
    return float(values[at].mean())


def _join(rows: Sequence[Any]) -> Predictions:
    """Return the predictions of the rows, each by its own model."""
    predicted, decision, likely, facts = zip(*rows, strict=True)
    means = {name: float(np.mean([each[name] for each in facts])) for name in facts[0]}
    means |= {name: float(all(each[name] for each in facts)) for name in ("converged", "determined")}
    means["tol"] = min(each["tol"] for each in facts)
    decided, probable = (None if part[0] is None else np.concatenate(part) for part in (decision, likely))
    return Predictions(np.concatenate(predicted), decided, probable, means)
