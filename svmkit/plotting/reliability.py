"""A plot of the reliability of probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_reliability(ax: Axes, lines: Sequence[tuple[Sequence[np.ndarray], Mapping[str, Any]]]) -> None:
    """Draw observed against predicted frequencies, with the diagonal, above the numbers of predictions.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes to draw on.
    lines : sequence of (predicted, observed, rows) and dict
        For each model the mean predictions, the observed frequencies and the numbers of predictions, in bins of a
        tenth; and the style of the line, as keywords of matplotlib. A single line has Jeffreys' intervals of 95%.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from svmkit.plotting import draw_reliability
    >>> ax = Figure().subplots()
    >>> draw_reliability(ax, [((np.array([0.2, 0.8]), np.array([0.1, 0.9]), np.array([10, 10])), {"fmt": "o"})])
    >>> ax.get_xlabel()
    'predicted probability'
    """
    from scipy.stats import beta

    counts, width = ax.twinx(), 0.09 / len(lines)
    most = max(rows.max() for (_, _, rows), _ in lines)
    ax.plot([0, 1], [0, 1], "--", color="0.5", linewidth=1, label="perfect")
    for k, ((predicted, observed, rows), look) in enumerate(lines):
        middle = (np.floor(np.minimum(predicted, 0.999) * 10) + 0.5) / 10 + (k - (len(lines) - 1) / 2) * width
        shade = {"color": "0.88"} if len(lines) == 1 else {"color": look["color"], "alpha": 0.3}
        counts.bar(middle, rows, width, zorder=0, **shade)
        spread = None
        if len(lines) == 1:
            hits = observed * rows
            low, high = (beta.ppf(q, hits + 0.5, rows - hits + 0.5) for q in (0.025, 0.975))
            spread = [np.maximum(observed - low, 0.0), np.maximum(high - observed, 0.0)]
        ax.errorbar(predicted, observed, spread, **look)
    counts.set(ylabel="predictions", ylim=(0, 4 * most), yticks=[0, most])
    ax.set_zorder(counts.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.set(xlabel="predicted probability", ylabel="share that came true", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.grid(alpha=0.3)
