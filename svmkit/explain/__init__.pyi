from .change import Change
from .explanation import Explanation, explain
from .permutation import PermutationImportance, permutation_importance
from .players import Players
from .support import Vector

__all__ = [
    "Change",
    "Explanation",
    "PermutationImportance",
    "Players",
    "Vector",
    "explain",
    "permutation_importance",
]
