"""Draws docs/choosing_tree.svg, the questions of docs/choosing.md: python docs/_extensions/decision_tree.py."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

from svmkit.solver import auto
from svmkit.solver.selection import defaults

PICTURE = Path(__file__).parents[1] / "choosing_tree.svg"
WIDTH, LEFT, RIGHT, HEIGHT, STEP = 640, 340, 236, 76, 108  # of the picture, of its boxes, from row to row
OURS, YOURS = "#d9ead3", "#e8eaf0"  # the answers that auto gives itself, and the others

# question, answer, what it is for, whether auto takes it by itself
QUESTIONS = [
    ("Do the rows not fit this machine?", "dfcsmo", "on a Dask cluster", False),
    (
        "Do the samples arrive in a stream,|or block by block (partial_fit)?",
        "sfw, sgd, norma",
        "one look at each",
        False,
    ),
    (
        "Is there a limit on|support vectors (--max-support)?",
        defaults.WITHIN_SUPPORT,
        "improves within the limit",
        True,
    ),
    ("Is the kernel linear, and the set huge|with a loose tolerance?", "ocas, sgdqn", "or dcd -o workers=K", False),
    ("Is the kernel linear?", "newton, dcd", "by loss and columns", True),
    ("Squared slacks with a regularised bias?|(auto: in SVMOneClass alone)", "fcfw", "at every size", True),
    (
        f"Up to {auto.SMALL:,} samples a class pair|({auto.SMALL_ONE_CLASS:,} for outliers),|and the matrix fits?",
        "smo",
        "on the whole matrix",
        True,
    ),
]
LAST = ("fcsmo", "a growing working set", True)


def drawn() -> str:
    """Return the picture as SVG."""
    height = STEP * len(QUESTIONS) + 150
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="system-ui, sans-serif" font-size="16" role="img" aria-label="Which solver: questions">',
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        *_legend(),
    ]
    y = 50
    for question, answer, why, ours in QUESTIONS:
        middle = y + HEIGHT / 2
        parts += _box(10, y, LEFT, "white", question.split("|"))
        parts += _arrow(10 + LEFT, middle, WIDTH - RIGHT - 10, middle, "yes", -24, -7)
        parts += _box(WIDTH - RIGHT - 10, y, RIGHT, OURS if ours else YOURS, [answer, why], bold=True)
        parts += _arrow(10 + LEFT / 2, y + HEIGHT, 10 + LEFT / 2, y + STEP, "no", 8, 0)
        y += STEP
    answer, why, ours = LAST
    parts += _box(10 + LEFT / 2 - RIGHT / 2, y, RIGHT, OURS if ours else YOURS, [answer, why], bold=True)
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    return [
        f'<rect x="10" y="14" width="18" height="18" fill="{OURS}" stroke="#555"/>',
        '<text x="36" y="29">auto, the default, takes it by itself</text>',
        f'<rect x="340" y="14" width="18" height="18" fill="{YOURS}" stroke="#555"/>',
        '<text x="366" y="29">give --solver</text>',
    ]


def _box(x: float, y: float, width: float, fill: str, lines: list[str], bold: bool = False) -> list[str]:
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="8" fill="{fill}" stroke="#555"/>']
    top = y + HEIGHT / 2 - 11 * (len(lines) - 1) + 5
    for i, line in enumerate(lines):
        weight = ' font-weight="bold" font-family="monospace"' if bold and not i else ""
        text = f'<text x="{x + width / 2}" y="{top + 22 * i}" text-anchor="middle"{weight}>{escape(line)}</text>'
        parts.append(text)
    return parts


def _arrow(x: float, y: float, to_x: float, to_y: float, label: str, dx: float, dy: float) -> list[str]:
    middle = ((x + to_x) / 2, (y + to_y) / 2 + 4)
    at = (x + 8, y - 8) if label == "yes" else (middle[0] + dx, middle[1] + dy)
    return [
        f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="#555" stroke-width="1.5" marker-end="url(#tip)"/>',
        f'<text x="{at[0]}" y="{at[1]}">{label}</text>',
    ]


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
