"""The report of `svmkit datasets info`: the size and the classes of a data set, and its columns."""

from __future__ import annotations

from typing import Any

from svmkit.cli.common import rows

_CLASSES = 20  # so many classes are listed
_WIDE = 40  # characters of a cell


def report(about: dict[str, Any]) -> None:
    """Print what `svmkit.data.survey.survey` returned."""
    size = {key: about[key] for key in ("name", "n_samples", "n_features", "density", "sparse", "dtype")}
    label = about["label"]
    named = label and f"{label['position'] + 1 if label['column'] is None else label['column']} ({label['chosen']})"
    classes = None if about["target"] else _classes(about["classes"], about["n_samples"])
    rows([*size.items(), ("label", named), ("target", _target(about["target"])), ("classes", classes)])
    if about["columns"]:
        print()
        print("\n".join(table(about["columns"])))
    if about["refusal"]:
        print(f"\ntrain would refuse this: {about['refusal']}")


def table(columns: list[dict[str, Any]]) -> list[str]:
    """Return the columns as lines of a table."""
    lines = [["column", "taken for", "values", "holes", "range or most frequent", ""]]
    for column in columns:
        numbers = [f"{column[key]:,}" for key in ("distinct", "holes")]
        lines.append([_cut(column["column"]), column["kind"], *numbers, _spread(column), column["remark"] or ""])
    widths = [max(len(line[k]) for line in lines) for k in range(5)]
    aligned = (str.ljust, str.ljust, str.rjust, str.rjust, str.ljust)
    return [
        "  ".join([*(to(cell, n) for to, cell, n in zip(aligned, line, widths, strict=False)), line[5]]).rstrip()
        for line in lines
    ]


def _spread(column: dict[str, Any]) -> str:
    """Return the range of a column of numbers or dates, or the most frequent texts with their numbers of rows."""
    if column["range"] is not None:
        low, high = (end if isinstance(end, str) else f"{end:.6g}" for end in column["range"])
        return f"{low} to {high}"
    return ", ".join(f"{_cut(text, 20)}: {count:,}" for text, count in (column["most"] or {}).items())


def _target(target: dict[str, Any] | None) -> str | None:
    """Return the range and the mean of the quantities that training would take the labels for."""
    if target is None:
        return None
    low, high = target["range"]
    return f"a quantity: {target['distinct']:,} values from {low:.6g} to {high:.6g}, mean {target['mean']:.6g}"


def _classes(classes: dict[str, int] | None, n_samples: int) -> str | None:
    """Return the classes with their numbers of rows and their shares."""
    if classes is None:
        return None
    labelled = sum(classes.values())
    shown = [f"{label}: {count:,} ({count / labelled:.1%})" for label, count in list(classes.items())[:_CLASSES]]
    more = [f"and {len(classes) - _CLASSES:,} more"] if len(classes) > _CLASSES else []
    without = [f"no label: {n_samples - labelled:,}"] if labelled < n_samples else []
    return ", ".join([*shown, *more, *without])


def _cut(text: str, width: int = _WIDE) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 3]}..."
