from .base import DecisionFunction, Problem
from .box import BoxQP
from .certificate import Certificate
from .linear_risk import LinearDual, LinearRisk
from .loss import Loss
from .risk import KernelRisk, Risk
from .simplex import SimplexQP, SquaredHinge

__all__ = [
    "BoxQP",
    "Certificate",
    "DecisionFunction",
    "KernelRisk",
    "LinearDual",
    "LinearRisk",
    "Loss",
    "Problem",
    "Risk",
    "SimplexQP",
    "SquaredHinge",
]
