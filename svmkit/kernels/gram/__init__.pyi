from .factory import Grams, fits_once
from .gram import SYMMETRIC, Gram, RestrictedGram, parse_bytes

__all__ = ["SYMMETRIC", "Gram", "Grams", "RestrictedGram", "fits_once", "parse_bytes"]
