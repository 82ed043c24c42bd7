from .checks import expected_failures
from .classifier import SVMClassifier
from .one_class import SVMOneClass
from .ranker import SVMRanker
from .regressor import SVMRegressor
from .transduction import full_conformal

__all__ = ["SVMClassifier", "SVMOneClass", "SVMRanker", "SVMRegressor", "expected_failures", "full_conformal"]
