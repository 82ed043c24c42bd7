"""The colours and axes that all plots share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmkit.runtime.packages import require_installed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which colour-blind readers can distinguish, darkest first; 7 colours and 4 styles: 28 curves
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
STYLES = ("-", "--", "-.", ":")


def new_axes() -> Axes:
    """Return the axes of a new figure that pyplot does not manage."""
    require_installed("pictures", "matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()
