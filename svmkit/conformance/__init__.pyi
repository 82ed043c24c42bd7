from .checks import CHECKS, KERNEL, SAMPLER, SOLVER, check_plugin
from .judging.judge import Verdict, judge_fit, judge_one_class
from .result import Check, Result, told

__all__ = [
    "CHECKS",
    "KERNEL",
    "SAMPLER",
    "SOLVER",
    "Check",
    "Result",
    "Verdict",
    "check_plugin",
    "judge_fit",
    "judge_one_class",
    "told",
]
