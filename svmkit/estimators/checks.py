"""The checks of estimators by scikit-learn that fail intentionally, with the reasons."""

from __future__ import annotations

from typing import Any

import sklearn

TIGHT = 1e-9  # tolerance from which equivalent fits agree to the digits that scikit-learn compares
WEIGHTS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
SHAPES = [f"check_estimator_sparse_{kind}" for kind in ("array", "matrix")]
LOOSE = "they compare to 1e-7 what is certified to tol, and gamma='scale' does not see sample weights, as in SVC"
FOLDS = "a sample of weight 2 is in one fold, two equal samples may be in two, as for GridSearchCV"
FEW = "a calibration takes five folds, and so five samples of each class, which the check does not have"
LABELS = "class weights move the models, and not what a probability means, by which a label is chosen"
LEVELS = "predict returns a column for each level, and the check has a y of one column"
ONE_TARGET = "the targets of one of two folds of ten samples are all the same, which no SVM learns"


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return the checks of `sklearn.utils.estimator_checks` that an estimator of svmkit does not pass, with the reason.

    Parameters
    ----------
    estimator : SVMClassifier, SVMRegressor, SVMOneClass or SVMRanker
        The estimator with its parameters.

    Returns
    -------
    dict of str to str
        The reason by the name of the check, for `expected_failed_checks` of `check_estimator` and
        `parametrize_with_checks`.

    Examples
    --------
    >>> from svmkit import SVMClassifier
    >>> from svmkit.estimators import expected_failures
    >>> sorted(expected_failures(SVMClassifier()))[0]
    'check_sample_weight_equivalence_on_dense_data'
    >>> expected_failures(SVMClassifier(gamma=0.1, tol=1e-14))
    {}
    """
    params = estimator.get_params(deep=False)
    chosen = [name for name in ("C", "gamma", "epsilon") if isinstance(params.get(name), str) and params[name] == "cv"]
    found: dict[str, str] = {}
    if chosen:
        found |= dict.fromkeys(WEIGHTS, FOLDS)
    elif "sample_weight" in _fit_parameters(estimator) and not estimator.tol < TIGHT and not _ends_exactly(params):
        found |= dict.fromkeys(WEIGHTS, LOOSE)
    if "epsilon" in chosen:
        found["check_fit2d_1feature"] = ONE_TARGET
    if getattr(estimator, "_n_levels", 1) > 1:
        found |= dict.fromkeys(("check_regressors_train", *SHAPES), LEVELS)
    if params.get("calibration") is not None:
        found |= dict.fromkeys(WEIGHTS, FOLDS)
        found |= {"check_class_weight_classifiers": LABELS, "check_fit2d_1feature": FEW}
        if sklearn.__version__.startswith("1.6."):
            found["check_n_features_in_after_fitting"] = FEW
    return found


def _ends_exactly(params: dict[str, Any]) -> bool:
    """Return whether the solver's last step is so accurate that fits agree far beyond their tolerance."""
    return bool(params.get("penalty")) or params.get("multiclass") == "multinomial"


def _fit_parameters(estimator: Any) -> tuple[str, ...]:
    code = type(estimator).fit.__code__
    return code.co_varnames[: code.co_argcount]
