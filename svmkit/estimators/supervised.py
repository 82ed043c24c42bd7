"""What the estimators share that learn from labels or targets."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from svmkit.estimators.base import check_names, seed_of, warn_unless_converged
from svmkit.estimators.callbacks import TakesCallbacks, Tasks, followed
from svmkit.estimators.fitted import ModelAttributes
from svmkit.estimators.html import Shown
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.solver.base import Solver
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Criterion, Stop, stop_rules
from svmkit.training.result import Fit
from svmkit.training.stream.online import Online
from svmkit.training.train import fit


class Supervised(Shown, TakesCallbacks, ModelAttributes, BaseEstimator):
    """Base of the classifier and the regressor, which have the parameters that are read here."""

    solver: Any
    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    C: float
    stop: Any
    tol: float
    max_iter: int | None
    max_epochs: float | None
    time_limit: float | None
    max_support: int | None
    sampler: Any
    scale: str | None
    memory: Any
    n_threads: int | None
    random_state: Any
    warm_start: bool
    verbose: int

    def _rules(self) -> Criterion | Stop:
        """Return the stop rules that the parameters give."""
        return stop_rules(
            self.stop,
            self.tol,
            max_iter=self.max_iter,
            max_epochs=self.max_epochs,
            time_limit=self.time_limit,
            max_support=self.max_support,
        )

    def _train(self, X: Any, y: Any, solver: Solver, rules: Criterion | Stop, **options: Any) -> None:
        """Train on samples, with further options of `svmkit.fit`, and set the fitted attributes."""
        check_names(self, X, reset=True)
        kernel = self._kernel(solver)
        trained: Fit

        def train(tasks: Tasks | None) -> None:
            nonlocal trained
            trained = fit(
                X,
                y,
                solver=solver,
                kernel=kernel,
                C=self.C,
                sampler=self.sampler,
                stop=rules,
                scale=self.scale,
                memory=self.memory,
                seed=seed_of(self.random_state),
                n_threads=self.n_threads,
                start=getattr(self, "model_", None) if self.warm_start else None,
                watch=tasks,
                verbose=self.verbose,
                **options,
            )
            self._online: Online | None = None
            self._take(trained, solver)

        weights, with_models = options.get("sample_weight"), options.get("calibration") is None
        if followed(self, lambda: Tasks(self, X, y, weights, with_models), train):
            return
        warn_unless_converged(
            trained.model.about["solver"],
            trained.status,
            trained.gap,
            "raise tol, lower C, or take another solver",
            rounding=trained.rounding,
            flaw=trained.flaw,
            budgeted=self.max_iter is not None or self.max_epochs is not None,
            stacklevel=4,
        )

    def _learn(self, online: Online, X: Any, y: Any, sample_weight: Any, solver: Solver) -> None:
        """Learn from one more block of samples, and set the fitted attributes."""
        learned = online.update(X, y, sample_weight, test=False)
        self._online = online
        cut_short = learned != X.shape[0]
        self._take(online.fitted(Status.INTERRUPTED if cut_short else Status.MAX_ITER), solver)
        if cut_short:
            warn_unless_converged(online.solver.name, Status.INTERRUPTED, None, "", stacklevel=4)

    def _kernel(self, solver: Solver) -> Kernel:
        return by_name.kernel(self.kernel, {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}, solver)

    def _take(self, trained: Fit, solver: Solver) -> None:
        """Set the fitted attributes."""
        self.model_ = model = trained.model
        self._weights_only = solver.problem_of(model.kernel, model.task).is_linear
        self.n_features_in_ = model.n_features
        self.support_ = trained.support
        self.intercept_ = model.intercept
        self.n_iter_ = trained.n_iter
        self.seconds_ = trained.seconds
        self.status_ = trained.status
        self.gap_ = trained.gap
        self.bound_ = trained.dual_objective
        self.certificate_ = [s.certificate for s in trained.solutions]
        self.history_ = [s.history for s in trained.solutions]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_online"}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags
