"""The band between the levels of a model: quantiles or expectiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.plotting.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_band(axes: Axes, across: np.ndarray, levels: np.ndarray, taus: Sequence[float], *, edges: bool = True) -> None:
    """Shade the area between each symmetric pair of levels, darker towards the middle, and draw the levels as lines.

    Parameters
    ----------
    axes : Axes
        The axes to draw on.
    across : ndarray of shape (n,)
        The places along the horizontal axis, ascending.
    levels : ndarray of shape (n, n_levels)
        The predictions of each level.
    taus : sequence of float
        The levels, ascending.
    edges : bool, default=True
        Whether all levels have a line, or only the median: without an order along the axis lines hide the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.plotting import draw_band
    >>> from svmkit.plotting.style import new_axes
    >>> axes = new_axes()
    >>> draw_band(axes, np.arange(2), np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]), [0.1, 0.5, 0.9])
    >>> axes.get_legend_handles_labels()[1]
    ['0.1 to 0.9', 'tau = 0.5']
    """
    look: dict[str, Any] = {"color": COLOURS[0], "linewidth": 0, "zorder": 0}
    for low in range(len(taus) // 2):
        high = len(taus) - 1 - low
        ends, shade = (levels[:, low], levels[:, high]), 0.16 + 0.14 * low
        axes.fill_between(across, *ends, label=f"{taus[low]:g} to {taus[high]:g}", alpha=min(shade, 0.6), **look)
        for k in (low, high) if edges else ():
            axes.plot(across, levels[:, k], color=COLOURS[0], linewidth=0.9, alpha=0.7, zorder=2)
    if len(taus) % 2:
        middle = len(taus) // 2
        label = f"tau = {taus[middle]:g}"
        axes.plot(across, levels[:, middle], color=COLOURS[0], linewidth=1.8, zorder=2, label=label)
