from .factory import Grams
from .gram import SYMMETRIC, Gram, RestrictedGram, parse_bytes

__all__ = ["SYMMETRIC", "Gram", "Grams", "RestrictedGram", "parse_bytes"]
