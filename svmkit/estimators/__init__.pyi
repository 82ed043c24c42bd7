from .checks import expected_failures
from .classifier import SVMClassifier
from .one_class import SVMOneClass
from .ranker import SVMRanker
from .regressor import SVMRegressor

__all__ = ["SVMClassifier", "SVMOneClass", "SVMRanker", "SVMRegressor", "expected_failures"]
