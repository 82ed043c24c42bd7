"""Search for C, kernel parameters and solver options by cross-validation; `search` does it, `Span` is a range.

The modules, in the order of the work: grids (texts), space (candidates), estimator (what each fold fits), backends,
records (what is finished), crossval (the search), result, picture.
"""

from svmkit.tune.crossval import Interrupted, Progress, run, search
from svmkit.tune.grids import Span
from svmkit.tune.result import Candidate, Result
from svmkit.tune.space import Path, plan

__all__ = ["Candidate", "Interrupted", "Path", "Progress", "Result", "Span", "plan", "run", "search"]
