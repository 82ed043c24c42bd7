"""Tables in Markdown, their place in a file, and the summary of the runs of a cell."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from peers_cells import Cell
from peers_remote import Store


def insert(path: Path, text: str, marks: tuple[str, str]) -> None:
    """Put `text` between the marks of the file at `path`; make the file, or append, if they are missing."""
    before, _, rest = (path.read_text(encoding="utf-8") if path.exists() else "").partition(marks[0])
    _, _, after = rest.partition(marks[1])
    before = before if before.endswith("\n") or not before else before + "\n"
    path.write_text(f"{before}{marks[0]}\n{text}\n{marks[1]}{after or chr(10)}", encoding="utf-8")


def summary(store: Store, cell: Cell) -> dict[str, dict[str, Any]]:
    """For every contender its last run, with medians of its times; contenders that failed have only `error`."""
    found: dict[str, dict[str, Any]] = {}
    for contender in cell.contenders:
        runs = store.find(cell=cell.name, what="run", contender=contender.name)
        good = [r for r in runs if "error" not in r]
        if good:
            last = dict(good[-1], all=[r["seconds"] for r in good])
            last["seconds"] = median(last["all"])
            last["cpu"] = median(r["cpu"] for r in good) if "cpu" in last else None
            last["peak_mb"] = max(r["peak_mb"] for r in good) if "peak_mb" in last else None
            found[contender.name] = last
        elif runs:
            found[contender.name] = runs[-1]
    return found


def markdown(head: str, rows: list[list[str]]) -> list[str]:
    return [f"| {head} |", "|---" * (head.count("|") + 1) + "|", *[f"| {' | '.join(row)} |" for row in rows]]


def number(value: float | None, spec: str = ".3g", empty: str = "") -> str:
    return empty if value is None or value != value else format(value, spec)


def days(runs: list[dict[str, Any]]) -> str:
    """Return on which days runs were made, as a sentence."""
    first, last = (of(run["date"] for run in runs) for of in (min, max))
    return f"Measured on {first}." if first == last else f"Measured from {first} to {last}."
