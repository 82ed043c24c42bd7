"""How a fitted estimator shows itself in a notebook: scikit-learn's diagram, and below it how training ended."""

from __future__ import annotations

from html import escape
from typing import Any

# colours come from the page, so that the block can be read on dark ground too
STYLE = (
    "margin:.4em 0 .2em;padding:.35em .7em;display:inline-grid;grid-template-columns:auto auto;gap:0 1em;"
    "font:.85em/1.5 ui-sans-serif,system-ui,sans-serif;color:inherit;background:transparent;"
    "border:1px solid currentColor;border-radius:4px;opacity:.85"
)


def facts(estimator: Any) -> list[tuple[str, str]]:
    """Return how the training of an estimator ended, as names and values in words; empty before `fit`."""
    model = getattr(estimator, "model_", None)
    if model is None:
        return []
    gap, solver = estimator.gap_, str(model.about["solver"])
    choice = model.about.get("choice")
    return [
        ("solver", f"{solver}: {choice}" if choice else solver),
        ("status", str(estimator.status_)),
        ("certified gap", "none" if gap is None else f"{gap:.2g}"),
        ("support vectors", f"{len(estimator.support_):,}"),
        ("iterations", f"{estimator.n_iter_:,}"),
        ("training time", f"{estimator.seconds_:.3g} s"),
    ]


class Shown:
    """The HTML of an estimator, with a block of `facts` below scikit-learn's diagram; its text stays as it is."""

    def _html_with(self, diagram: str) -> str:
        found = facts(self)
        if not found:
            return diagram
        rows = "".join(f"<span>{escape(name)}</span><b>{escape(value)}</b>" for name, value in found)
        return f'{diagram}<div class="svmkit-fit" style="{STYLE}">{rows}</div>'

    def _repr_html_inner(self) -> str:
        return self._html_with(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._html_with(bundle["text/html"])
        return bundle
