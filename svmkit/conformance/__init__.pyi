from .checks import KERNEL, SAMPLER, SOLVER, check_plugin
from .result import Check, Result, told

__all__ = ["KERNEL", "SAMPLER", "SOLVER", "Check", "Result", "check_plugin", "told"]
