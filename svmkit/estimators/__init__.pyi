from .classifier import SVMClassifier
from .one_class import SVMOneClass

__all__ = ["SVMClassifier", "SVMOneClass"]
