from .gram import SYMMETRIC, Gram, RestrictedGram, parse_bytes

__all__ = ["SYMMETRIC", "Gram", "RestrictedGram", "parse_bytes"]
