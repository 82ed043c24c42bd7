from .base import ClassDecisions, DecisionFunction, Problem
from .box import BoxQP
from .certificate import Certificate
from .loss import Loss
from .nu import NuBoxQP, NuTubeQP
from .one_class import OneClassQP
from .risks.crammer_singer import CrammerSinger
from .risks.linear_risk import LinearDual, LinearRisk
from .risks.risk import KernelRisk, Risk
from .risks.tube_risk import KernelTubeRisk, LinearTubeDual, LinearTubeRisk, TubeRisk
from .simplex import SimplexQP, SquaredHinge
from .tube import BiasedTubeQP, TubeQP

__all__ = [
    "BiasedTubeQP",
    "BoxQP",
    "Certificate",
    "ClassDecisions",
    "CrammerSinger",
    "DecisionFunction",
    "KernelRisk",
    "KernelTubeRisk",
    "LinearDual",
    "LinearRisk",
    "LinearTubeDual",
    "LinearTubeRisk",
    "Loss",
    "NuBoxQP",
    "NuTubeQP",
    "OneClassQP",
    "Problem",
    "Risk",
    "SimplexQP",
    "SquaredHinge",
    "TubeQP",
    "TubeRisk",
]
