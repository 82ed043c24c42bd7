from .checks import CHECKS, KERNEL, SAMPLER, SOLVER, check_plugin
from .judging.claims import Verdict
from .judging.judge import judge_fit, judge_one_class, judge_regression
from .result import Check, Result, report

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
    "judge_regression",
    "report",
]
