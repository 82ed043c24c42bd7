"""DaskSVMClassifier and DaskSVMRegressor: estimators on rows that are spread over the workers of a Dask cluster."""

from __future__ import annotations

import time
import warnings
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from svmkit.data.prepare.labels import as_strings_like
from svmkit.errors import InputError
from svmkit.estimators.base import options_by_name, warn_unless_converged
from svmkit.estimators.callbacks import FitTasks, run_with_tasks
from svmkit.estimators.classifier import SVMClassifier
from svmkit.estimators.regressor import SVMRegressor
from svmkit.solver.selection import by_name, defaults
from svmkit.solver.solution import Status
from svmkit.training.callbacks import make_display, write_end
from svmkit.training.result import Fit
from svmkit.training.settings import Settings, require_class_by_class, resolve
from svmkit.training.train import fit_prepared
from svmkit_dask.driver.data import ABLE
from svmkit_dask.parts.collections import apply_chunk, as_array, as_rows, is_collection, values_like

_ELSEWHERE = {  # parameters of SVMClassifier that need all rows in one place, and their only admissible value here
    "nu": (None, "nu"),
    "calibration": (None, "a calibration; to_local() and CalibratedClassifierCV fit one to rows that fit in memory"),
    "warm_start": (False, "warm_start"),
    "max_support": (None, "max_support"),
}


_OWN = "client", "_skl_callbacks"  # attributes that an estimator of one process does not have


@dataclass(eq=False, repr=False)
class _OnCluster:
    """Additions of estimators on a Dask cluster to those of one process, whose parameters they share."""

    _local: ClassVar[type]  # the estimator of one process

    _: KW_ONLY
    client: Any = None

    def fit(self, X, y=None, sample_weight=None) -> Self:  # type: ignore[override]
        """Train on labelled samples of a cluster, or on samples with targets.

        InputError is raised if there is no client, or if the data or parameters are invalid; it names the part.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed arrays, path or list of paths
            The samples. Collections are persisted on the cluster. A path is a file, a folder, or a pattern such as
            "parts/*.svm", at the same place on each worker (svmlight, CSV, Parquet, NPZ).
        y : dask array, dask series, array-like, str or list of delayed arrays, default=None
            The labels or targets; the name of a column, if X is a dataframe. Files contain them.
        sample_weight : as y, default=None
            The weight of each sample, >= 0.
        """
        client = self._client()  # before anything is read
        from svmkit_dask.cluster.executor import DaskExecutor, sources_from
        from svmkit_dask.cluster.watch import Watch
        from svmkit_dask.driver.data import ScatteredData

        method, began = resolve(self._settings(), self.task), time.perf_counter()
        trained: Fit

        def work(tasks: FitTasks | None) -> None:
            nonlocal trained
            with make_display(self.verbose) as display:
                sources = sources_from(client, X, y, sample_weight)
                with closing(ScatteredData(DaskExecutor(Watch(client)), sources, method)) as data:
                    trained = fit_prepared(data, method, callbacks=tasks or display)
            trained = replace(trained, seconds=time.perf_counter() - began)
            if y is not None:
                classes = as_strings_like(values_like(X, y), trained.model.classes)
                trained = replace(trained, model=replace(trained.model, classes=classes))
            if display is not None:
                write_end(trained)
            self._take(trained, method)

        stopped = run_with_tasks(self, lambda: FitTasks(self, X, y, sample_weight, False), work)
        if not stopped and trained.flaw is not None and trained.status is Status.INTERRUPTED:
            warnings.warn(f"the model is the best so far: {trained.flaw}", ConvergenceWarning, stacklevel=2)
        elif not stopped:
            warn_unless_converged(trained, "raise tol or lower C", budgeted=self._is_budgeted())
        return self

    def _client(self) -> Any:
        """Return the client; raise InputError without one."""
        if self.client is not None:
            return self.client
        from distributed import default_client

        try:
            return default_client()
        except ValueError:
            raise InputError(
                "there is no Dask client: make one first (dask.distributed.Client(ADDRESS)), or give client="
            ) from None

    def _settings(self) -> Settings:
        """Return the settings; raise InputError for another solver, or for an option that is not available on a
        cluster.
        """
        for name, (value, what) in _ELSEWHERE.items():
            if getattr(self, name, value) != value:
                raise InputError(
                    f"{type(self).__name__} does not have {what}: leave {name} out, or take {self._local.__name__}"
                )
        settings = super()._settings()  # type: ignore[misc]
        require_class_by_class(settings)
        if isinstance(settings.solver, str):
            settings = replace(settings, solver=defaults.cluster_solver(settings.solver, settings.kernel))
        solver = by_name.solver(settings.solver, settings.solver_options)
        if solver.name not in (defaults.CLUSTER, defaults.CLUSTER_LINEAR):
            raise InputError(f"solver {solver.name} needs all rows in one place: on a cluster, take {ABLE}")
        return settings

    def predict(self, X):
        """Predict the labels or targets of samples, a dask array or dataframe, or an array-like.

        The predictions of a collection are a dask array with the chunks of X, not computed yet.
        """
        if not is_collection(X):
            return super().predict(X)
        dtype = getattr(self, "classes_", np.empty(0)).dtype  # targets are float64
        return self._map(self._local.predict, X, dtype)

    def score(self, X, y, sample_weight=None) -> float:
        """Return the accuracy of a classifier or R2 of a regressor; for Dask collections the workers compute it.

        Parameters
        ----------
        X, y, sample_weight : dask collections, or array-likes
            The samples, their labels or targets, and their weights.
        """
        if not is_collection(X):
            return super().score(X, y, sample_weight)
        import dask.array as da

        predicted = self.predict(X)

        def align(values: Any) -> Any:
            if not is_collection(values):
                return da.from_array(np.asarray(values), chunks=predicted.chunks)
            return as_array(values)

        truth = align(y)
        if sample_weight is None:  # the lengths of chunks may be unknown
            weights = predicted.map_blocks(lambda rows: np.ones(len(rows)), dtype=np.float64)
        else:
            weights = align(sample_weight)
        return float(self._client().compute(self._quality(truth, predicted, weights)).result())

    def _map(self, function: Any, X: Any, dtype: Any, width: int | None = None) -> Any:
        """Return function(estimator, rows) for a collection of rows, as a dask array with its chunks.

        There is one value for each row, or `width` of them. InputError is raised unless the columns are those of `fit`.
        """
        import dask

        check_is_fitted(self, "model_")
        X = as_rows(as_array(X))
        if X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input: pass the columns that it was trained on"
            )
        node = dask.delayed(self.to_local(), pure=True, traverse=False)  # one node, which travels to each worker once
        shape: dict[str, Any] = {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
        meta = np.empty((0,) if width is None else (0, 0), dtype=dtype)
        return X.map_blocks(apply_chunk, function, node, dtype=dtype, meta=meta, **shape)

    def to_local(self) -> Any:
        """Return the fitted estimator as a plain `SVMClassifier` or `SVMRegressor`, which needs no Dask."""
        local = self._local()  # its parameters are attributes, like the others
        vars(local).update({name: value for name, value in vars(self).items() if name not in _OWN})
        return local

    def __sklearn_clone__(self) -> Self:
        """Return an estimator with the same parameters; the client is not copied."""
        params = self.get_params(deep=False)
        return type(self)(**params | {name: clone(params[name], safe=False) for name in params.keys() - {"client"}})

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"client": None}


@options_by_name("C")
@dataclass(eq=False, repr=False)
class DaskSVMClassifier(_OnCluster, SVMClassifier):
    """Support vector classifier with a certificate, trained on the workers of a Dask cluster.

    The rows stay where they are: in the chunks of Dask collections, or in files that each worker reads itself. Only
    sums, and candidates for support vectors, come to this process.

    Parameters
    ----------
    solver : {"auto", "dfcsmo", "dnewton"} or Solver, default="auto"
        The solver; "auto" is dnewton with the linear kernel, and dfcsmo with others.
    client : distributed.Client, default=None
        The client of the cluster; None takes the default client. It is not pickled.
    **options
        All other parameters of `SVMClassifier`, with its defaults. `nu`, `calibration`, `warm_start`, `max_support` and
        the problem of Crammer and Singer are not available on a cluster.

    Attributes
    ----------
    model_, status_, gap_, certificate_ and all others : object
        As for `SVMClassifier`, in the memory of this process. The certificate is computed over all parts, from scratch.
    support_ : ndarray of shape (n_support,), int
        The numbers of the support vectors among the rows of all parts, in order.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from svmkit_dask import DaskSVMClassifier
    >>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
    >>> machine = DaskSVMClassifier(C=10.0, gamma=0.5).fit("parts/*.svm")  # doctest: +SKIP
    """

    _local = SVMClassifier

    def decision_function(self, X):
        """Compute the decisions of samples, as `SVMClassifier.decision_function` does.

        The decisions of a collection are a dask array with the chunks of X, not computed yet.
        """
        if not is_collection(X):
            return super().decision_function(X)
        check_is_fitted(self, "model_")
        k, by_pair = len(self.classes_), self.decision_function_shape == "ovo"
        width = None if k == 2 else len(self.intercept_) if by_pair else k
        return self._map(SVMClassifier.decision_function, X, np.float64, width)

    @staticmethod
    def _quality(truth: Any, predicted: Any, weights: Any) -> Any:
        return (weights * (truth == predicted)).sum() / weights.sum()


@options_by_name("C")
@dataclass(eq=False, repr=False)
class DaskSVMRegressor(_OnCluster, SVMRegressor):
    """Support vector regression with a certificate, trained on the workers of a Dask cluster.

    Rows and targets stay where they are, as for `DaskSVMClassifier`; the bias is free.

    Parameters
    ----------
    solver : {"auto", "dfcsmo", "dnewton"} or Solver, default="auto"
        The solver; "auto" is dnewton with the linear kernel, and dfcsmo with others.
    client : distributed.Client, default=None
        The client of the cluster; None takes the default client. It is not pickled.
    **options
        All other parameters of `SVMRegressor`, with its defaults. `nu`, `warm_start` and `max_support` are not
        available on a cluster. A loss with its own options is given through the solver: DFCSMO(loss=Quantile(tau=0.9)).

    Attributes
    ----------
    model_, status_, gap_, certificate_, support_ and all others : object
        As for `SVMRegressor` and `DaskSVMClassifier`.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from svmkit_dask import DaskSVMRegressor
    >>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
    >>> machine = DaskSVMRegressor(C=10.0).fit("parts/*.svm")  # doctest: +SKIP
    """

    _local = SVMRegressor

    @staticmethod
    def _quality(truth: Any, predicted: Any, weights: Any) -> Any:
        centre = (weights * truth).sum() / weights.sum()
        return 1.0 - (weights * (truth - predicted) ** 2).sum() / (weights * (truth - centre) ** 2).sum()
