"""Text for a terminal: labels, names and messages from outside are printed so that they cannot control it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# control characters, line separators, characters that change the direction of writing, and lone surrogates
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: Any) -> str:
    """Return a text as one line with escaped control characters, such as ``\\x1b`` for the escape character."""
    return _STEERING.sub(lambda found: repr(found[0])[1:-1], str(text))


_log = {"json": False}


def log_as_json(chosen: bool) -> None:
    """Choose whether messages of this process are JSON objects, one a line, or plain lines."""
    _log["json"] = chosen


def shows_progress() -> bool:
    """Return whether stderr is a terminal on which live lines may be drawn."""
    return sys.stderr.isatty() and not _log["json"]


def tell(message: str, level: str = "note", **facts: Any) -> None:
    """Print a message on stderr, as one line, or as a JSON object with its time and level, and further facts."""
    if not _log["json"]:
        print(f"svmkit: {visible(message)}", file=sys.stderr)
        return
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    print(json.dumps({"time": now, "level": level, "message": str(message), **facts}), file=sys.stderr, flush=True)


def say(*lines: Any) -> None:
    """Print lines on stdout, each of which stays one line."""
    print(*map(visible, lines), sep="\n", flush=True)


def align(lines: list[list[str]], left: Collection[int] = ()) -> list[str]:
    """Return lines of cells as text; the columns in `left` are aligned to the left, the others to the right."""
    lines = [[visible(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.ljust if k in left else str.rjust for k in range(len(widths))]
    return ["  ".join(map(lambda side, *cell: side(*cell), sides, line, widths)).rstrip() for line in lines]


def console(*, stderr: bool = False, highlight: bool = True) -> Console:
    """Return a console of rich that styles text, and prints it as `visible` does."""
    from rich.console import Console
    from rich.segment import Segment

    class Visible(Console):
        def render(self, *args: Any, **kwargs: Any) -> Any:
            for text, style, control in super().render(*args, **kwargs):
                kept = text if control else "\n".join(map(visible, text.split("\n")))
                yield Segment(kept, style, control)

    return Visible(stderr=stderr, highlight=highlight)
