"""scikit-learn's callbacks, from version 1.9 on: the fit of an estimator as tasks, each ending with a model."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, ClassVar

import sklearn

from svmkit.solver.loop.recorder import Callback
from svmkit.training.callbacks import Callbacks, MakeModel


def require_callbacks(estimator: Any, name: str) -> None:
    """Raise AttributeError unless scikit-learn supports callbacks."""
    if find_spec("sklearn.callback") is None:
        raise AttributeError(f"callbacks need scikit-learn 1.9 or newer, this is {sklearn.__version__}")


class FitTasks(Callbacks):
    """The tasks of a fit: one for each examined iterate, or for each problem if there are several.

    X, y and sample_weight are the arguments of the estimator's `fit`. `with_models` says whether callbacks get a fitted
    estimator for each task: an intermediate model has no calibration yet.
    """

    passive = False
    sees_models: ClassVar[bool] = True

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, with_models: bool) -> None:
        self.stopped = False  # whether a callback has asked to end the training
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._about = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._estimator, self._with_models = estimator, with_models
        self._root: Any = None
        self._leaf: Any = None
        self._several, self._begun = False, -1

    def on_begin(self, k: int, n_problems: int, name: str) -> list[Callback]:
        """Begin the task of a subproblem; return a callback that ends the solve if one of scikit-learn's requests it.

        Parameters
        ----------
        k, n_problems, name : int, int, str
            As for `Callbacks.on_begin`.
        """
        self._several = n_problems > 1
        if self._root is None:
            self._open(n_problems if self._several else None)
        if k > self._begun:  # problems that continue after others have had their task
            self._begun = k
            self._begin_leaf(name if self._several else "iterations")
        return [lambda point: self.stopped]

    def on_iterate(self, make_model: MakeModel) -> None:
        if not self._several:
            self._end_leaf(make_model)
            self._begin_leaf("iterations")

    def on_end(self, make_model: MakeModel) -> None:
        self._end_leaf(make_model)

    def _open(self, n_problems: int | None) -> None:
        from sklearn.callback import CallbackSupportMixin

        self._root = CallbackSupportMixin._init_callback_context(self._estimator, max_subtasks=n_problems)
        self._root.call_on_fit_task_begin(**self._about)

    def _begin_leaf(self, name: str) -> None:
        self._leaf = self._root.subcontext(task_name=name)
        self._leaf.call_on_fit_task_begin(**self._about)

    def _end_leaf(self, make_model: MakeModel | None = None) -> None:
        """End the current task, if there is one, with the model found."""
        if self._leaf is None:
            return
        more = {}
        if make_model is not None and self._with_models:
            more["reconstruction_attributes"] = lambda: self._estimator._model_attributes(make_model())
        self.stopped |= self._leaf.call_on_fit_task_end(**self._about, **more)
        self._leaf = None

    def close(self) -> None:
        """End all tasks; the estimator is fitted."""
        if self._root is None:
            self._open(None)
        stopped = self.stopped
        self._end_leaf()
        self._root.call_on_fit_task_end(**self._about, reconstruction_attributes={})
        self.stopped = stopped


def run_with_tasks(estimator: Any, tasks: Callable[[], FitTasks], work: Callable[[FitTasks | None], None]) -> bool:
    """Run the `work` of a fit, within the `tasks` of the estimator's callbacks if it has any.

    `work` is called with the callbacks of the training, or None. Returns whether a callback has ended the training.
    """
    if not hasattr(estimator, "_skl_callbacks"):
        work(None)
        return False
    from sklearn.callback import with_callbacks

    def managed(estimator: Any) -> bool:
        callbacks = tasks()
        work(callbacks)
        callbacks.close()
        return callbacks.stopped

    return with_callbacks(managed)(estimator)
