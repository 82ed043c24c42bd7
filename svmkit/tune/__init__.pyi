from .crossval import Interrupted, run, search
from .grids import Span
from .records import Progress
from .result import Candidate, Result
from .space import Path, plan

__all__ = ["Candidate", "Interrupted", "Path", "Progress", "Result", "Span", "plan", "run", "search"]
