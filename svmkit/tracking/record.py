"""The record of a run, for every command that trains: parameters, tags, scalars, the curve and the result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from svmkit import plugins
from svmkit.kernels.functions import Kernel
from svmkit.model.model import SVMModel
from svmkit.runtime.jsonable import plain
from svmkit.scoring.quantities import ERRORS
from svmkit.solver.base import Solver
from svmkit.solver.history import HistoryPoint
from svmkit.tracking.interface import Tracker
from svmkit.training.result import Fit

if TYPE_CHECKING:
    from svmkit.data import Dataset
    from svmkit.data.prepare.encoding import Encoding

PAIRS = 1000  # class pairs up to which each has a point in the history of a run

METRICS = {
    "fit_s": "time/fit_s",
    "predict_s": "time/predict_s",
    "search_s": "time/search_s",
    "n_support": "model/n_support",
    "gap": "final/gap",
    "objective": "final/objective",
    "dual_objective": "final/dual_objective",
    "n_iter": "final/n_iter",
    "kernel_values": "final/kernel_values",
    "train_accuracy": "train/accuracy",
    "test_accuracy": "test/accuracy",
    "train_balanced_accuracy": "train/balanced_accuracy",
    "test_balanced_accuracy": "test/balanced_accuracy",
    "train_r2": "train/r2",
    "test_r2": "test/r2",
    "train_rmse": "train/rmse",
    "test_rmse": "test/rmse",
    "train_mae": "train/mae",
    "test_mae": "test/mae",
    "train_outliers": "train/outliers",
    "test_outliers": "test/outliers",
    "test_log_loss": "test/log_loss",
    "test_brier_score": "test/brier_score",
    "test_base_log_loss": "test/base_log_loss",
    "test_base_brier_score": "test/base_brier_score",
    "train_majority_share": "train/majority_share",
    "test_majority_share": "test/majority_share",
    "mean_accuracy": "cv/mean_accuracy",
    "std_accuracy": "cv/std_accuracy",
    "n_rows": "cv/n_rows",
}
"""Full names of the scalars in the tracker, by their names in Python and JSON."""


def params(solver: Solver, kernel: Kernel, C: float, data: Dataset, **settings: Any) -> dict[str, Any]:
    """Return the parameters of a run, by name.

    Parameters
    ----------
    solver : Solver
        The solver; options that differ from their defaults are included.
    kernel : Kernel
        The resolved kernel, so that gamma (and log10_gamma) are numbers; all its parameters are included.
    C : float
        Weight of the summed losses; log10_C is included too.
    data : Dataset
        Training data: its name, n and d.
    **settings : object
        Further parameters; None values are left out. If the solver, the kernel or the sampler comes from a plugin file,
        plugin and plugin_sha256 are included.

    Notes
    -----
    MLflow's comparison page opens on the first three parameters that differ. With the options of every solver, which
    differ between any two solvers, it would show neither the solver nor its objective; `tags` has all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Dataset, plugins
    >>> from svmkit.kernels import RBF
    >>> from svmkit.tracking import params
    >>> data = Dataset(np.eye(2), np.array([0, 1]), "eye")
    >>> found = params(plugins.build("solver", "smo"), RBF(0.5), 1.0, data, seed=0)
    >>> found["solver"], found["gamma"], found["n"]
    ('smo', 0.5, 2)
    """
    own = dict(kernel.params)
    gamma = own.pop("gamma", None)
    values: dict[str, Any] = {"solver": solver.name, "kernel": kernel.name, "C": C, "log10_C": _log10(C)}
    values |= {key: value for key, value in settings.items() if value is not None}
    values |= {"data": data.name, "n": data.n_samples, "d": data.n_features} | _files(solver, kernel, settings)
    if gamma is not None:
        values |= {"gamma": gamma, "log10_gamma": _log10(gamma)}
    values |= {"formulation": solver.formulation(kernel, data.task or "classify")} | own
    defaults = plugins.options(solver)
    return values | {key: value for key, value in solver.params.items() if value != defaults.get(key)}


def _files(solver: Solver, kernel: Kernel, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the names and checksums of the plugin files that bring the solver, the kernel or the sampler."""
    sampler = str(settings.get("sampler")).partition(":")[0]
    files = plugins.files_of(solver=solver.name, kernel=kernel.name, sampler=sampler)
    if not files:
        return {}
    return {"plugin": ",".join(f.name for f in files), "plugin_sha256": ",".join(f.sha256 for f in files)}


def tags(solver: Solver) -> dict[str, str]:
    """Return a tag with all options of the solver in one line.

    Parameters
    ----------
    solver : Solver
        Options at their defaults are included, unlike in `params`.

    Examples
    --------
    >>> from svmkit import plugins
    >>> from svmkit.tracking import tags
    >>> tags(plugins.build("solver", "pegasos", {"batch": 4}))["svmkit.options"].split()[0]
    'loss=hinge'
    """
    return {"svmkit.options": " ".join(f"{key}={value}" for key, value in solver.params.items())}


def scalars(values: Mapping[str, float | None]) -> dict[str, float]:
    """Return the known, finite values in their order, under their full names in `METRICS`.

    Parameters
    ----------
    values : mapping of str to float or None
        None, nan and infinite values are left out. A name outside `METRICS` is unchanged.

    Examples
    --------
    >>> from svmkit.tracking import scalars
    >>> scalars({"fit_s": 1.5, "gap": None, "n_iter": 7})
    {'time/fit_s': 1.5, 'final/n_iter': 7.0}
    """
    return {
        METRICS.get(key, key): float(value)
        for key, value in values.items()
        if value is not None and math.isfinite(value)
    }


@dataclass(frozen=True)
class RunRecord:
    """A finished training run: the method, the data, the model and its accuracy.

    Attributes
    ----------
    solver : Solver
        The solver that ran.
    kernel : Kernel
        The kernel as given; the kernel of the model has a resolved gamma.
    fitted : Fit
        The model, its certificates and the histories.
    data : str
        Name of the training data.
    n_samples, n_features : int
        Size of the training data.
    train_scores, test_scores : Scores, QuantityScores, RankScores, LabelScores or None
        The scores of the predictions on the training rows and on the test rows; None if not measured.
    predict_s : float or None
        The seconds of the last prediction; None without a prediction.

    Examples
    --------
    >>> from svmkit import fit, plugins
    >>> from svmkit.kernels import RBF
    >>> from svmkit.tracking import RunRecord
    >>> solver, X, y = plugins.build("solver", "smo"), [[0.0], [1.0], [2.0]], [0, 1, 1]
    >>> record = RunRecord(solver, RBF(1.0), fit(X, y, solver=solver, kernel=RBF(1.0)), "three", 3, 1)
    >>> record.result()["status"]
    'converged'
    """

    solver: Solver
    kernel: Kernel
    fitted: Fit
    data: str
    n_samples: int
    n_features: int
    train_scores: Any = None
    test_scores: Any = None
    predict_s: float | None = None

    @property
    def train_accuracy(self) -> float | None:
        """The fraction of correct labels on the training rows; None if not measured, and in regression."""
        return None if self.train_scores is None else self.train_scores.accuracy

    @property
    def test_accuracy(self) -> float | None:
        """The fraction of correct labels on the test rows; None if not measured, and in regression."""
        return None if self.test_scores is None else self.test_scores.accuracy

    @property
    def quantity_scores(self) -> dict[str, float | None]:
        """R2, RMSE and MAE on the training rows and on the test rows, by the names of `METRICS`; None for classes."""
        scores: dict[str, float | None] = {}
        for part, of in (("train", self.train_scores), ("test", self.test_scores)):
            columns = {} if of is None else of.columns
            scores |= {f"{part}_{key}": columns.get(key) for key in ERRORS}
        return scores

    def result(self) -> dict[str, Any]:
        """Return the method and the results under the keys that `svmkit train` and `svmkit compare` print as JSON."""
        fitted, task = self.fitted, self.fitted.model.task
        resolved = fitted.model.kernel
        return {
            "solver": self.solver.name,
            "choice": [asdict(choice) for choice in fitted.choices] or None,
            "problem": self.solver.problem_of(self.kernel, task).name,
            "formulation": self.solver.formulation(self.kernel, task),
            "task": task,
            "kernel": {"name": resolved.name, "params": resolved.params},
            "params": self.solver.params,
            "data": self.data,
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "classes": fitted.model.classes,
            "status": str(fitted.status),
            "n_iter": fitted.n_iter,
            "fit_s": fitted.seconds,
            "n_support": len(fitted.support),
            "n_columns": self.n_columns,
            "objective": fitted.objective,
            "dual_objective": fitted.dual_objective,
            "gap": fitted.gap,
            "rounding": fitted.rounding,
            "flaw": fitted.flaw,
            "kernel_values": fitted.kernel_values,
            "untrained_pairs": fitted.n_untrained,
            "multiclass": fitted.model.multiclass,
            "outputs": list(fitted.model.outputs),
        }

    @property
    def n_columns(self) -> int | None:
        """The number of columns with a non-zero weight in a linear problem; None for other problems."""
        if not self.solver.problem_of(self.kernel, self.fitted.model.task).is_linear:
            return None
        return len(set(self.fitted.model.vectors.nonzero()[1].tolist()))

    def metrics(self) -> dict[str, float]:
        """Return the known scalars by full name; time/fit_s is first, since MLflow's comparison opens on it."""
        values = {
            "fit_s": self.fitted.seconds,
            "predict_s": self.predict_s,
            "n_support": len(self.fitted.support),
            "gap": self.fitted.gap,
            "objective": self.fitted.objective,
            "train_accuracy": self.train_accuracy,
            "test_accuracy": self.test_accuracy,
        }
        for part, of in (("train", self.train_scores), ("test", self.test_scores)):
            values |= {} if of is None else {f"{part}/{name}": value for name, value in of.logged.items()}
        values |= self.quantity_scores
        return scalars(values | {f"model/{name}": value for name, value in self.details.items()})

    @property
    def details(self) -> dict[str, float]:
        """The solver's further facts about the result of a binary problem; {} for more classes."""
        solutions = self.fitted.solutions
        return solutions[0].details if len(solutions) == 1 else {}

    def history(self) -> list[HistoryPoint]:
        """Return the history of one class pair; for several class pairs, a point for the end of each.

        For more than `PAIRS` class pairs, that many points represent all; untrained pairs have none.
        """
        solutions = self.fitted.solutions
        if len(solutions) == 1:
            return list(solutions[0].history)
        points, seconds = [], 0.0
        every = 1 + (len(solutions) - 1) // PAIRS
        for k, solution in enumerate(solutions):
            seconds += solution.seconds
            if k % every or not len(solution.point):
                continue
            certificate, last = solution.certificate, solution.history[-1] if solution.history else None
            values, accuracy = (last.kernel_values, last.accuracy) if last else (0, None)
            measured = certificate.primal, certificate.gap, solution.n_support, values, accuracy
            points.append(HistoryPoint(k + 1, seconds, *measured))
        return points

    def model(self, encoding: Encoding | None, about: Mapping[str, Any] | None = None) -> SVMModel:
        """Return the model with the description that is stored in it.

        Parameters
        ----------
        encoding : Encoding or None
            How the columns of a table become features (`Dataset.encoding`).
        about : mapping, default=None
            Further facts to store, besides the data, gap, status and objective.
        """
        trained = self.fitted.model
        facts = {"data": self.data, "gap": self.fitted.gap, "status": str(self.fitted.status)}
        facts |= {"objective": self.fitted.objective}
        if self.fitted.n_untrained:
            facts |= {"untrained_pairs": self.fitted.n_untrained}
        preprocessing = replace(trained.preprocessing, encoding=encoding)
        return replace(trained, preprocessing=preprocessing, about=trained.about | plain(facts) | dict(about or {}))

    def log(
        self,
        to: Tracker,
        model: SVMModel,
        example: Any,
        *,
        points: Iterable[HistoryPoint] | None = None,
        more: Mapping[str, float | None] | None = None,
        register: str | None = None,
    ) -> str | None:
        """Log scalars, the curve and the model to the open run of a tracker.

        Parameters
        ----------
        to : Tracker
            The tracker, with an open run.
        model : SVMModel
            The model as saved (see `model`).
        example : array or CSR of shape (n_rows, n_features)
            A few rows of X.
        points : iterable of HistoryPoint, default=None
            The curve, or the part of it that has not been logged yet; None is `history()`.
        more : mapping of str to float, default=None
            Further scalars, by the names of `METRICS`.
        register : str, default=None
            Name in the model registry.

        Returns
        -------
        str or None
            The URI of the model; None if it could not be logged.
        """
        to.metrics(self.metrics() | scalars(more or {}))
        to.curve(self.history() if points is None else list(points))
        return to.model(model, example, register)


def _log10(value: float) -> float:
    return round(math.log10(value), 6)
