from .base import Family, Loss
from .by_name import loss_names, make_loss
from .margin import Hinge, Logistic, SmoothedHinge, SquaredHinge
from .residual import (
    AbsoluteError,
    EpsilonInsensitive,
    Expectile,
    Huber,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredError,
)
from .terms import LogisticTerms, Terms, conjugates, curvatures, dual_weights, loss_values

__all__ = [
    "AbsoluteError",
    "EpsilonInsensitive",
    "Expectile",
    "Family",
    "Hinge",
    "Huber",
    "Logistic",
    "LogisticTerms",
    "Loss",
    "Quantile",
    "SmoothedHinge",
    "SquaredEpsilonInsensitive",
    "SquaredError",
    "SquaredHinge",
    "Terms",
    "conjugates",
    "curvatures",
    "dual_weights",
    "loss_names",
    "loss_values",
    "make_loss",
]
