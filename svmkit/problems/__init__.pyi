from .base import ClassDecisions, DecisionFunction, Problem
from .box import BoxQP
from .certificate import Certificate
from .nu_dual import NuBoxQP, NuTubeQP
from .one_class import OneClassQP
from .risks.joint.crammer_singer import CrammerSinger
from .risks.joint.multinomial import Multinomial
from .risks.kernel_rank import KernelRankRisk
from .risks.kernel_risk import KernelRisk, KernelTubeRisk
from .risks.linear_risk import LinearDual, LinearRisk, LinearTubeDual, LinearTubeRisk
from .risks.penalty import Penalty, make_penalty
from .risks.rank_risk import RankRisk
from .risks.risk import Risk
from .simplex import SimplexQP, SquaredHinge
from .tube import BiasedTubeQP, TubeQP

__all__ = [
    "BiasedTubeQP",
    "BoxQP",
    "Certificate",
    "ClassDecisions",
    "CrammerSinger",
    "DecisionFunction",
    "KernelRankRisk",
    "KernelRisk",
    "KernelTubeRisk",
    "LinearDual",
    "LinearRisk",
    "LinearTubeDual",
    "LinearTubeRisk",
    "Multinomial",
    "NuBoxQP",
    "NuTubeQP",
    "OneClassQP",
    "Penalty",
    "Problem",
    "RankRisk",
    "Risk",
    "SimplexQP",
    "SquaredHinge",
    "TubeQP",
    "make_penalty",
]
