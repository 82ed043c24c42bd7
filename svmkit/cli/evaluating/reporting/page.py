"""The report as one HTML page that needs no network."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit.cli.evaluating.report import draw_gain, draw_on
from svmkit.cli.evaluating.reporting import words
from svmkit.cli.evaluating.reporting.facts import Facts
from svmkit.compare import report as comparison_report
from svmkit.plotting import COLOURS, draw_reliability
from svmkit.scoring.evaluations.classes import ClassEvaluation
from svmkit.scoring.evaluations.labels import LabelEvaluation
from svmkit.scoring.evaluations.quantities import QuantityEvaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def render(facts: Facts) -> str:
    """Return the page as text; names in it may contain any characters."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    here, there = Path(__file__).parent, Path(comparison_report.__file__).parent
    jinja = Environment(loader=FileSystemLoader(here), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return jinja.get_template("page.html").render(
        facts=facts,
        words=words,
        importance=facts.reasons["importance"][: words.IMPORTANT],
        widest=max((entry["contribution"] for entry in facts.reasons["importance"]), default=0.0) or 1.0,
        confusion=words.confusion_rows(facts),
        picture=_draw_errors(facts),
        reliability=_draw_reliability(facts),
        gain=_draw_gain(facts),
        css=(there / "report.css").read_text(encoding="utf-8"),
        own_css=(here / "page.css").read_text(encoding="utf-8"),
    )


def _new_figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained", figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def _draw_errors(facts: Facts) -> str:
    """Return the picture of predicted quantities, or of labels; "" if a table is as informative."""
    if not isinstance(facts.evaluated, QuantityEvaluation | LabelEvaluation):
        return ""
    figure = _new_figure(11.0, 4.8)
    return _inline(figure, lambda: draw_on(facts.evaluated, figure))


def _draw_reliability(facts: Facts) -> str:
    """Return the picture of how reliable probabilities are, "" for a model without them."""
    evaluated = facts.evaluated
    reliability = evaluated.reliability() if isinstance(evaluated, ClassEvaluation) else None
    if reliability is None:
        return ""
    figure = _new_figure(5.6, 4.2)
    look: dict[str, Any] = {"fmt": "o", "color": COLOURS[0], "capsize": 3, "markersize": 5, "label": "observed, 95%"}

    def draw() -> None:
        axes = figure.subplots()
        draw_reliability(axes, [(reliability, look)])
        axes.legend(loc="upper left", fontsize=8)

    return _inline(figure, draw)


def _draw_gain(facts: Facts) -> str:
    """Return the picture of the gain curve, "" unless there are two classes with rows of both."""
    evaluated = facts.evaluated
    if not isinstance(evaluated, ClassEvaluation) or facts.evaluation.get("gain") is None:
        return ""
    figure = _new_figure(5.6, 4.2)
    return _inline(figure, lambda: draw_gain(figure.subplots(), evaluated))


def _inline(figure: Figure, draw: Any) -> str:
    """Return a picture as a PNG for the page; names are drawn literally, including dollar signs."""
    from matplotlib import rc_context

    file = BytesIO()
    with rc_context({"text.parse_math": False}):
        draw()
        figure.savefig(file, format="png", dpi=130)
    return base64.b64encode(file.getvalue()).decode()
