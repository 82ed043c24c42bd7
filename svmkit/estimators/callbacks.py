"""scikit-learn's callbacks, from its version 1.9 on: the fit of an estimator as tasks, each with a model at its end."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, ClassVar

import sklearn

from svmkit.estimators.base import OnlyWhere
from svmkit.model.model import SVMModel
from svmkit.solver.loop.recorder import Callback
from svmkit.training.callbacks import Callbacks, MakeModel


class OnlyWithCallbacks(OnlyWhere):
    """A method that an estimator has where scikit-learn has callbacks."""

    def require(self, estimator: Any) -> None:
        if find_spec("sklearn.callback") is None:
            raise AttributeError(f"callbacks need scikit-learn 1.9 or newer, this is {sklearn.__version__}")


class TakesCallbacks:
    """The methods of scikit-learn's `CallbackSupportMixin`, which is not imported before they are called."""

    @OnlyWithCallbacks
    def set_callbacks(self, *callbacks: Any) -> Any:
        """Set the callbacks of `fit`; none removes them.

        Parameters
        ----------
        *callbacks : objects with the protocol of scikit-learn's `FitCallback`
            Such as `sklearn.callback.ProgressBar()`.

        Returns
        -------
        estimator
            The estimator itself.

        Raises
        ------
        TypeError
            An object has not the protocol.
        """
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin.set_callbacks(self, *callbacks)

    def _model_attributes(self, model: SVMModel) -> dict[str, Any]:
        """Return the fitted attributes that predictions need."""
        return {"model_": model, "n_features_in_": model.n_features}


class FitTasks(Callbacks):
    """The tasks of a fit: one for each iterate that is looked at, or for each problem if there are several.

    Parameters
    ----------
    estimator : TakesCallbacks
        The estimator, with callbacks.
    X, y : array-like
        What it is fitted to, as the caller gave it.
    sample_weight : array-like or None
        The weights of the samples.
    with_models : bool
        Whether callbacks get a fitted estimator for each task: a model on the way has no calibration yet.

    Attributes
    ----------
    stopped : bool
        Whether a callback has asked to end the training.
    """

    passive: ClassVar[bool] = False
    sees_models: ClassVar[bool] = True

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, with_models: bool) -> None:
        self.stopped = False
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._about = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._estimator, self._with_models = estimator, with_models
        self._root: Any = None
        self._leaf: Any = None
        self._several, self._begun = False, -1

    def on_begin(self, k: int, n_problems: int, name: str) -> list[Callback]:
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
        """End the task under way, if there is one, with the model that it has found."""
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
    """Do the work of a fit, with the tasks of the estimator's callbacks around it if it has any.

    Parameters
    ----------
    estimator : TakesCallbacks
        The estimator.
    tasks : callable
        Makes the tasks; it is called with callbacks only.
    work : callable
        Fits the estimator; its argument is the callbacks of the training, or None.

    Returns
    -------
    bool
        Whether a callback has ended the training.
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
