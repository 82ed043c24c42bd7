"""What the estimators share: budgets as stop rules, scikit-learn's conventions."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

from svmkit.data.features import Features, as_features, pad_or_refuse_columns
from svmkit.solver.solution import Status


def seed_of(random_state: Any) -> int:
    """The seed behind a `random_state`: a whole number is itself; None or a RandomState draws one."""
    if isinstance(random_state, Integral):
        return int(random_state)
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def features_to_predict(estimator: Any, X: Any) -> Features:
    """X for a prediction by a fitted estimator: known feature names, as many columns as `n_features_in_`.

    Raises NotFittedError before a fit, InputError for another width.
    """
    from sklearn.utils.validation import _check_feature_names, check_is_fitted

    check_is_fitted(estimator)
    _check_feature_names(estimator, X, reset=False)
    X = as_features(X)
    if X.shape[1] != estimator.n_features_in_:  # a dense look at no rows, for narrower sparse ones would be padded
        none = X[:0].toarray() if hasattr(X, "toarray") else X
        pad_or_refuse_columns(none, estimator.n_features_in_, name=type(estimator).__name__)
    return X


def warn_unless_converged(solver: str, status: Status, gap: float | None, remedy: str) -> None:
    """ConvergenceWarning, to the caller of `fit`, for a solve that stalled or used up the iterations that it had."""
    if status not in (Status.MAX_ITER, Status.STALLED):
        return
    from sklearn.exceptions import ConvergenceWarning

    reached = "" if gap is None else f" at gap {gap:.2g}"
    warnings.warn(f"{solver} ended as {status}{reached}: {remedy}", ConvergenceWarning, stacklevel=3)
