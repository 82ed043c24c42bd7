"""The conventions of scikit-learn shared by all estimators."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from functools import wraps
from inspect import signature
from numbers import Integral, Number
from types import MethodType
from typing import Any, TypeVar

import numpy as np

from svmkit.data.formats.csvtext import require_different
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import Features, as_features, is_sparse, pad_or_refuse_columns
from svmkit.errors import InputError, meant
from svmkit.estimators.other_names import OTHER_NAMES, answer
from svmkit.problems.certificate import is_rounding
from svmkit.solver.solution import Status
from svmkit.training.result import Fit

T = TypeVar("T")

AGAIN = 10.0  # seconds within which a second Ctrl-C stops the whole program, not one more fit
_interrupted = -math.inf  # time of the last fit that a signal cut short


def options_by_name(first: str) -> Callable[[type[T]], type[T]]:
    """Decorate an estimator: a TypeError of its constructor says in one line how options are given.

    `first` is the option that an unnamed number is probably meant for.
    """

    def decorate(cls: type[T]) -> type[T]:
        init: Callable[..., None] = cls.__init__
        known = list(signature(init).parameters)[1:]

        @wraps(init)
        def check_options(self: Any, *args: Any, **options: Any) -> None:
            name = type(self).__name__
            if len(args) > 1 or any(isinstance(value, Number) for value in args):
                value = next((value for value in args if isinstance(value, Number)), 1.0)
                raise TypeError(f"options are given by name: {name}({first}={value})")
            for key in sorted(options.keys() - set(known)):
                if key in OTHER_NAMES:
                    raise TypeError(f"{name} has no option {key!r}: {answer(key, options[key])}")
                close = meant(key, known)
                own = "" if close else f'; a solver\'s own options: solver_options={{"{key}": ...}}'
                raise TypeError(f"{name} has no option {key!r}{close}{own}")
            init(self, *args, **options)

        cls.__init__ = check_options  # type: ignore[method-assign]
        return cls

    return decorate


def seed_of(random_state: Any) -> int:
    """Return the seed of a `random_state`: an integer itself, else one drawn from the RandomState or from entropy."""
    if isinstance(random_state, Integral):
        return int(random_state)
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def check_names(estimator: Any, X: Any, *, reset: bool) -> None:
    """Set `feature_names_in_` from the columns of X (reset), or raise ValueError unless they are the columns of X, and
    InputError for duplicate column names.
    """
    # scikit-learn asks every table library whether X is one of its tables, which takes longer than a prediction
    if (isinstance(X, np.ndarray) or is_sparse(X)) and not hasattr(estimator, "feature_names_in_"):
        return
    from sklearn.utils.validation import _check_feature_names

    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        require_different(list(X.columns), "X")
    _check_feature_names(estimator, X, reset=reset)


def features_to_predict(estimator: Any, X: Any) -> Features:
    """Return X's features, sparse ones unchanged; raise NotFittedError, InputError for another width, ValueError for
    other column names.
    """
    if not hasattr(estimator, "model_"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "model_")
    encoding = estimator.model_.encoding
    if encoding is None and _is_plain(X, estimator.n_features_in_) and not hasattr(estimator, "feature_names_in_"):
        return X  # the model checks the rest
    frame = frame_of(X)
    check_names(estimator, X if frame is None else frame, reset=False)
    if encoding is not None and (frame is not None or _is_of_columns(X, encoding)):
        return _encode(estimator, X if frame is None else frame, encoding)
    if not (is_sparse(X) and X.format == "csr" and X.ndim == 2):
        X = as_features(X if frame is None else frame)
    if X.shape[1] != estimator.n_features_in_:  # as for a dense X, since a narrower sparse one would be padded
        none = X[:0].toarray() if hasattr(X, "toarray") else X
        pad_or_refuse_columns(none, estimator.n_features_in_, name=type(estimator).__name__)
    return X


def frame_of(X: Any) -> Any:
    """Return a table in memory as a pandas DataFrame; None for other objects, such as an array."""
    if isinstance(X, np.ndarray | list) or is_sparse(X):
        return None
    from svmkit.data.tables.in_memory import as_frame  # here: arrays do not need it

    return as_frame(X)


def _is_plain(X: Any, n_features: int) -> bool:
    """Return whether X is an array or a CSR matrix with this number of columns."""
    kind = type(X)
    return (kind is np.ndarray or (is_sparse(X) and X.format == "csr")) and X.ndim == 2 and X.shape[1] == n_features


def _is_of_columns(X: Any, encoding: Encoding) -> bool:
    """Return whether an array has the columns of a table, not all of which are features unchanged."""
    is_same = all(encoding.numeric) and encoding.positions is None
    return not is_same and isinstance(X, np.ndarray | list) and np.ndim(X) == 2


def _encode(estimator: Any, X: Any, encoding: Encoding) -> Features:
    """Return the features of a table with the fitted columns, or of an array with the columns of the table."""
    import pandas as pd

    from svmkit.data.tables.in_memory import encode_frame

    frame = X if hasattr(X, "iloc") else pd.DataFrame(X)
    if frame.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {frame.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input: pass the columns of the table that it was fitted to"
        )
    return encode_frame(frame, encoding, holes=estimator.model_.preprocessing.takes_holes)


def warn_unless_converged(
    trained: Fit,
    remedy: str,
    *,
    exhausted: str = "centre and scale the features, or lower C",
    budgeted: bool = False,
    stacklevel: int = 3,
) -> None:
    """Give the caller of `fit` a ConvergenceWarning if a solve was cut short, stalled or is not certified.

    Raises KeyboardInterrupt if Ctrl-C or SIGTERM has cut a fit short for the second time within `AGAIN` seconds: one
    signal ends one fit, so a search over many fits would continue; the second signal ends the search.

    Parameters
    ----------
    trained, remedy : Fit, str
        The result of the training, and the remedy for too large a gap.
    exhausted : str, default="centre and scale the features, or lower C"
        The remedy if rounding errors make up most of the gap.
    budgeted : bool, default=False
        Whether the caller chose a budget of iterations, in which case exhausting it causes no warning.
    stacklevel : int, default=3
        As for `warnings.warn`, such that the warning points at the caller of `fit`.
    """
    global _interrupted
    status, gap, flaw, solver = trained.status, trained.gap, trained.flaw, trained.model.about["solver"]
    if status is Status.INTERRUPTED:
        remedy = "the model is the best so far; another Ctrl-C soon ends all further fits"
        before, _interrupted = _interrupted, time.monotonic()
        if _interrupted - before < AGAIN:
            raise KeyboardInterrupt
    elif status is Status.TIME_LIMIT:
        remedy = f"give more time, {remedy}"
    elif budgeted or status not in (Status.MAX_ITER, Status.STALLED, Status.NOT_CERTIFIED):
        return
    from sklearn.exceptions import ConvergenceWarning

    reached = "" if gap is None else f" at gap {gap:.2g}"
    if flaw is not None:
        reached, remedy = " without a certificate", flaw
    elif status is not Status.INTERRUPTED and gap is not None and is_rounding(gap, trained.rounding or 0.0):
        remedy = f"rounding errors allow no smaller one; {exhausted}"
    warnings.warn(f"{solver} ended as {status}{reached}: {remedy}", ConvergenceWarning, stacklevel=stacklevel)


def column_or_1d(y):
    """Return y unchanged; a column vector is flattened with scikit-learn's warning."""
    shape = getattr(y, "shape", None)
    if shape is None or len(shape) != 2 or shape[1] != 1:
        return y
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ).",
        DataConversionWarning,
        stacklevel=3,
    )
    return np.asarray(y).ravel()


def has_columns(y: Any) -> bool:
    """Return whether y has several columns: an array, a table, or a list of lists."""
    shape = getattr(y, "shape", None)
    if shape is not None:
        return len(shape) == 2 and shape[1] > 1
    first = y[0] if isinstance(y, list | tuple) and len(y) else None
    return isinstance(first, list | tuple | np.ndarray) and len(first) > 1


class Lacking(InputError, AttributeError):
    """The solver or the calibration of an estimator does not support a method."""


class OnlyWhere:
    """A method that an estimator has only if `require(estimator, name)` raises no AttributeError."""

    def __init__(self, method: Callable, require: Callable[[Any, str], None]) -> None:
        self.method, self.require = method, require
        self.__doc__ = method.__doc__

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self.method
        self.require(estimator, self.method.__name__)
        return MethodType(self.method, estimator)


def only_where(require: Callable[[Any, str], None]) -> Callable[[Callable], Any]:
    """Decorate a method that only some instances of an estimator have, as decided by `require` (`OnlyWhere`)."""
    return lambda method: OnlyWhere(method, require)
