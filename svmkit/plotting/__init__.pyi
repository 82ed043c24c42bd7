from .band import draw_band
from .decision import plot_decision
from .explanation import plot_contributions, plot_dependence, plot_importance
from .history import WORDS, plot_history
from .relevance import plot_relevance
from .reliability import draw_reliability
from .style import COLOURS, STYLES

__all__ = [
    "COLOURS",
    "STYLES",
    "WORDS",
    "draw_band",
    "draw_reliability",
    "plot_contributions",
    "plot_decision",
    "plot_dependence",
    "plot_history",
    "plot_importance",
    "plot_relevance",
]
