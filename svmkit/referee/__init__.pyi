from .judging import certify
from .verdict import Ruling, Verdict

__all__ = ["Ruling", "Verdict", "certify"]
