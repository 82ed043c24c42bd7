from .classifier import SVMClassifier
from .one_class import SVMOneClass
from .regressor import SVMRegressor

__all__ = ["SVMClassifier", "SVMOneClass", "SVMRegressor"]
