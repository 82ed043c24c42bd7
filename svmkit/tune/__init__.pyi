from .crossval import Interrupted, Progress, run, search
from .grids import Span
from .result import Candidate, Result
from .space import Path, plan

__all__ = ["Candidate", "Interrupted", "Path", "Progress", "Result", "Span", "plan", "run", "search"]
