from .author import (
    BoxQP,
    Certificate,
    Gram,
    InputError,
    Kernel,
    KernelRisk,
    LinearDual,
    LinearRisk,
    Problem,
    SimplexQP,
    Unavailable,
)
from .base import Reads, Requires, Solver, StepInfo
from .capabilities import LearnsFromStreams, LimitsSupport
from .history import History, HistoryPoint
from .iterate import Progress
from .loop import solve
from .minimize import minimize_simplex
from .recorder import Callback, Saver, Score
from .sampler import Balanced, Cyclic, Draws, Full, Permuted, Sampler, Shuffled, Uniform
from .solution import Solution, Status
from .stopping import Absolute, Criterion, Epochs, Gap, Iterations, Seconds, Stop, Support, Violation, parse_stop
from .task import Task

__all__ = [
    "Absolute",
    "Balanced",
    "BoxQP",
    "Callback",
    "Certificate",
    "Criterion",
    "Cyclic",
    "Draws",
    "Epochs",
    "Full",
    "Gap",
    "Gram",
    "History",
    "HistoryPoint",
    "InputError",
    "Iterations",
    "Kernel",
    "KernelRisk",
    "LearnsFromStreams",
    "LimitsSupport",
    "LinearDual",
    "LinearRisk",
    "Permuted",
    "Problem",
    "Progress",
    "Reads",
    "Requires",
    "Sampler",
    "Saver",
    "Score",
    "Seconds",
    "Shuffled",
    "SimplexQP",
    "Solution",
    "Solver",
    "Status",
    "StepInfo",
    "Stop",
    "Support",
    "Task",
    "Unavailable",
    "Uniform",
    "Violation",
    "minimize_simplex",
    "parse_stop",
    "solve",
]
