"""The measures of `svmkit evaluate` as tables for a reader: whole for few classes, the worst ones for many."""

from __future__ import annotations

from typing import Any

from svmkit.cli.common import rows
from svmkit.cli.evaluating import quality

WHOLE = 12  # classes up to which tables are whole
MOST = 10  # classes and confusions that are shown of more


def show(result: dict[str, Any]) -> None:
    """Print the result of `svmkit evaluate` (`svmkit.cli.evaluating.evaluation.Evaluation.result`)."""
    positive = result["positive"]
    against = " (mean of each class against the rest)" if positive is None else f" (class {positive})"
    rows(
        [
            ("data", f"{result['data']}: {result['n_test']:,} rows"),
            ("accuracy", f"{result['test_accuracy']:.2%} ({quality.largest(result)})"),
            ("balanced accuracy", f"{result['balanced_accuracy']:.2%}"),
            ("ROC AUC", _number(result["roc_auc"], against)),
            ("average precision", _number(result["average_precision"], against)),
            ("log loss", None if result["log_loss"] is None else f"{result['log_loss']:.4f}"),
            ("Brier score", None if result["log_loss"] is None else f"{result['brier_score']:.4f}"),
            ("support", f"{result['n_support']:,} vectors"),
            ("time", f"{result['predict_s']:.2f} s"),
            ("picture", result["plot"]),
        ]
    )
    print()
    print("\n".join(by_class(result)))
    print()
    print("\n".join(confusion(**result["confusion"])))


def by_class(result: dict[str, Any]) -> list[str]:
    """Return lines with precision, recall, F1 and rows of each class; of many, those of the lowest F1."""
    names = result["confusion"]["labels"]
    title = "class"
    if len(names) > WHOLE:
        present = [name for name in names if result["rows"][name]]
        names = sorted(present, key=lambda name: (result["f1"][name] or 0.0, name))[:MOST]
        title = f"worst of {len(result['rows'])} classes"
    lines = [[title, "precision", "recall", "F1", "rows"]]
    for name in names:
        shares = [_share(result[key].get(name)) for key in ("precision", "recall", "f1")]
        lines.append([name, *shares, f"{result['rows'][name]:,}"])
    return align(lines)


def confusion(labels: list[str], matrix: list[list[int]]) -> list[str]:
    """Return the confusion matrix as lines, true classes down and predictions across; of many, the largest entries."""
    if len(labels) <= WHOLE:
        head = ["true \\ predicted", *labels]
        body = [[name, *(f"{n:,}" for n in line)] for name, line in zip(labels, matrix, strict=True)]
        return align([head, *body])
    entries = ((n, i, j, sum(line)) for i, line in enumerate(matrix) for j, n in enumerate(line))
    wrong = [(n, labels[i], labels[j], of) for n, i, j, of in entries if n and i != j]
    wrong.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    if not wrong:
        return ["no row was confused"]
    lines = [["most often confused", "taken for", "rows", "of"]]
    lines += [[true, taken, f"{n:,}", f"{of:,}"] for n, true, taken, of in wrong[:MOST]]
    return align(lines)


def align(lines: list[list[str]]) -> list[str]:
    """Return lines of cells as text, the first column to the left and all others to the right."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return [
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in lines
    ]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def _number(value: float | None, about: str) -> str:
    return "not defined: rows of one class only" if value is None else f"{value:.4f}{about}"
