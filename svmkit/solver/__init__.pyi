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
from .base import Solver
from .capabilities import LearnsFromStreams, LimitsSupport
from .exact_search import line_search
from .history import History, HistoryPoint
from .loop.iterate import Progress
from .loop.minimize import minimize_simplex
from .loop.recorder import Callback, Journal, Saver, Score
from .loop.solve import solve
from .requirements import Reads, Requires
from .sampler import Balanced, Cyclic, Draws, Full, Permuted, Sampler, Shuffled, Uniform
from .solution import Solution, Status
from .step_info import StepInfo
from .stopping import (
    Absolute,
    Criterion,
    Epochs,
    Gap,
    Iterations,
    Relative,
    Seconds,
    Stop,
    Support,
    Violation,
    parse_stop,
)
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
    "Journal",
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
    "Relative",
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
    "line_search",
    "minimize_simplex",
    "parse_stop",
    "solve",
]
