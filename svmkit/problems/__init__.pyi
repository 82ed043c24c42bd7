from .base import Certificate, DecisionFunction, Problem
from .box import BoxQP
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
