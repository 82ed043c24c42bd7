from .cells.runner import run
from .cells.store import Store
from .learning import learning_curve, plot_learning_curve
from .metrics import METRICS
from .plan.spec import Cell, Spec, load_spec
from .report.plots import plot_comparison
from .results import Results, Row, results_frame

__all__ = [
    "METRICS",
    "Cell",
    "Results",
    "Row",
    "Spec",
    "Store",
    "learning_curve",
    "load_spec",
    "plot_comparison",
    "plot_learning_curve",
    "results_frame",
    "run",
]
