"""scikit-learn's checks of estimators whose parameters are chosen by cross-validation."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from svmkit import SVMClassifier, SVMRegressor

FEW = {"check_fit2d_1feature": "the targets of one of two folds of ten samples are all the same, which no SVM learns"}
FOLDS = "a sample of weight 2 is in one fold, two equal samples may be in two, as for GridSearchCV"
WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data": FOLDS,
    "check_sample_weight_equivalence_on_sparse_data": FOLDS,
}


@pytest.mark.slow
@parametrize_with_checks(
    [
        SVMClassifier(C="cv", gamma="cv", cv=2),
        SVMClassifier("dcd", C="cv", cv=2),
        SVMRegressor(C="cv", gamma="cv", epsilon="cv", cv=2),
    ],
    expected_failed_checks=lambda estimator: WEIGHTS | (FEW if getattr(estimator, "epsilon", None) == "cv" else {}),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::svmkit.errors.SvmkitWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)
