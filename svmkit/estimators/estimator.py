"""What all estimators share: from their parameters to settings, and from a fit to their attributes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sklearn.base import BaseEstimator

from svmkit.estimators.base import check_names, seed_of, warn_unless_converged
from svmkit.estimators.callbacks import FitTasks, TakesCallbacks, run_with_tasks
from svmkit.estimators.fitted import ModelAttributes
from svmkit.estimators.html import Shown
from svmkit.kernels.functions import Precomputed
from svmkit.solver.solution import Status
from svmkit.solver.stopping import stop_rules
from svmkit.tasks import Task
from svmkit.training.result import Fit
from svmkit.training.settings import Method, Settings, resolve
from svmkit.training.stream.online import Online
from svmkit.training.train import train

_SETTINGS = [
    field.name for field in fields(Settings) if field.name not in ("kernel_params", "loss_options", "stop", "seed")
]
_LIMITS = ("max_iter", "max_epochs", "time_limit", "max_support")


class SVMEstimator(Shown, TakesCallbacks, ModelAttributes, BaseEstimator):
    """Base of all estimators, whose parameters are named as in `Settings`; `task` says what they learn."""

    task: Task
    remedy = "raise tol, lower C, or take another solver"
    exhausted = "centre and scale the features, or lower C"

    solver: Any
    kernel: Any
    stop: Any
    tol: float
    random_state: Any
    verbose: int

    def _settings(self) -> Settings:
        """Return the settings that the parameters describe."""
        own = vars(self)
        return Settings(
            **{name: own[name] for name in _SETTINGS if name in own},
            loss_options={name: own[name] for name in ("tau", "delta") if own.get(name) is not None},
            kernel_params={name: own[name] for name in ("gamma", "degree", "coef0")},
            stop=stop_rules(self.stop, self.tol, **{name: own[name] for name in _LIMITS if name in own}),
            seed=seed_of(self.random_state),
        )

    def _train(self, X: Any, y: Any, **options: Any) -> None:
        """Train on samples, with further options of `svmkit.training.train.train`, and set the fitted attributes."""
        settings = self._settings()
        check_names(self, X, reset=True)
        method = resolve(settings, self.task)
        if getattr(self, "warm_start", False):
            options["start"] = getattr(self, "model_", None)
        trained: Fit

        def work(tasks: FitTasks | None) -> None:
            nonlocal trained
            trained = train(X, y, method, callbacks=tasks, verbose=self.verbose, **options)
            self._online: Online | None = None
            self._take(trained, method)

        weights, with_models = options.get("sample_weight"), settings.calibration is None and self.task.is_supervised
        if run_with_tasks(self, lambda: FitTasks(self, X, y, weights, with_models), work):
            return
        warn_unless_converged(
            trained, self.remedy, exhausted=self.exhausted, budgeted=self._is_budgeted(), stacklevel=4
        )

    def _is_budgeted(self) -> bool:
        """Return whether the caller chose a budget of iterations."""
        return any(getattr(self, name, None) is not None for name in ("max_iter", "max_epochs"))

    def _learn(self, online: Online, X: Any, y: Any, sample_weight: Any, method: Method) -> None:
        """Learn from one more block of samples, and set the fitted attributes."""
        learned = online.update(X, y, sample_weight, test=False)
        self._online = online
        cut_short = learned != X.shape[0]
        trained = online.fitted(Status.INTERRUPTED if cut_short else Status.MAX_ITER)
        self._take(trained, method)
        if cut_short:
            warn_unless_converged(trained, "", stacklevel=4)

    def _take(self, trained: Fit, method: Method) -> None:
        """Set the fitted attributes."""
        self.model_ = model = trained.model
        self._weights_only = method.problem_type(model.kernel).is_linear
        self.n_features_in_ = model.n_features
        self.support_ = trained.support
        self.intercept_ = model.intercept
        self.n_iter_ = trained.n_iter
        self.seconds_ = trained.seconds
        self.status_ = trained.status
        self.gap_ = trained.gap
        self.bound_ = trained.dual_objective
        self.certificate_: Any = [s.certificate for s in trained.solutions]
        self.history_: Any = [s.history for s in trained.solutions]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_online"}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags
