from .results import Results, Row
from .runner import run
from .spec import METRICS, Cell, Spec, load_spec
from .store import Store

__all__ = ["METRICS", "Cell", "Results", "Row", "Spec", "Store", "load_spec", "run"]
