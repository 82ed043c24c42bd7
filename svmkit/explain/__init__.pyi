from .explanation import Explanation, explain
from .players import Players

__all__ = ["Explanation", "Players", "explain"]
