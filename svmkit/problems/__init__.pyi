from .base import ClassDecisions, DecisionFunction, Problem
from .box import BoxQP
from .certificate import Certificate
from .crammer_singer import CrammerSinger
from .linear_risk import LinearDual, LinearRisk
from .loss import Loss
from .nu import NuBoxQP, NuTubeQP
from .one_class import OneClassQP
from .risk import KernelRisk, Risk
from .simplex import SimplexQP, SquaredHinge
from .tube import BiasedTubeQP, TubeQP
from .tube_risk import KernelTubeRisk, LinearTubeDual, LinearTubeRisk, TubeRisk

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
