from .base import Requires, Solver, StepInfo
from .history import History, HistoryPoint
from .iterate import Progress
from .loop import solve
from .minimize import minimize_simplex
from .sampler import Balanced, Cyclic, Draws, Full, Permuted, Sampler, Shuffled, Uniform
from .solution import Solution, Status
from .stopping import Absolute, Criterion, Epochs, Gap, Iterations, Seconds, Stop, Support, Violation, parse_stop

__all__ = [
    "Absolute",
    "Balanced",
    "Criterion",
    "Cyclic",
    "Draws",
    "Epochs",
    "Full",
    "Gap",
    "History",
    "HistoryPoint",
    "Iterations",
    "Permuted",
    "Progress",
    "Requires",
    "Sampler",
    "Seconds",
    "Shuffled",
    "Solution",
    "Solver",
    "Status",
    "StepInfo",
    "Stop",
    "Support",
    "Uniform",
    "Violation",
    "minimize_simplex",
    "parse_stop",
    "solve",
]
