"""The report as a model card in Markdown (Mitchell et al.: Model cards for model reporting. FAT* 2019)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from svmkit.cli.evaluating.reporting import words
from svmkit.cli.evaluating.reporting.facts import Facts


def render(facts: Facts) -> str:
    """Return the card as text: facts for programs in YAML, then words; names in it may contain any characters."""
    return "\n".join([*_head(facts), *_body(facts)]) + "\n"


def _head(facts: Facts) -> list[str]:
    """Return the block of YAML at the beginning."""
    import yaml

    from svmkit.runtime.jsonable import plain

    about = {
        "library_name": "svmkit",
        "model_name": facts.title,
        "task": facts.training["task"],
        "training_data": facts.lineage["training_data"],
        "training_sha256": facts.lineage["training_sha256"],
        "metrics": {one.name: one.value for one in facts.measures},
        "gap": facts.certificate["gap"],
        "status": facts.certificate["status"],
    }
    return ["---", yaml.safe_dump(plain(about), sort_keys=False, allow_unicode=True).rstrip(), "---", ""]


def _body(facts: Facts) -> list[str]:
    """Return the lines after the block."""
    lines = [f"# {escape(facts.title)}", "", escape(words.describe_task(facts)), ""]
    lines += [escape(words.describe_quality(facts)), ""]
    if facts.cautions:
        lines += ["## What to be careful about", "", *(f"- {escape(one)}" for one in facts.cautions), ""]
    if facts.measures:
        rows = [
            (one.name, words.value_text(one, one.value), words.interval_text(one), words.trivial_text(one))
            for one in facts.measures
        ]
        heads = ["measure", "value", "95% interval", "trivial model"]
        lines += ["## How good it is", "", *_table(heads, rows), "", escape(words.describe_trivial(facts) or ""), ""]
    if (confusion := words.confusion_rows(facts)) is not None:
        lines += [*_table(*confusion), ""]
    if (said := words.describe_gain(facts)) is not None:
        lines += ["", said]
    if (said := words.describe_calibration(facts)) is not None:
        lines += [escape(said.rpartition(". ")[0] + "."), ""]
    lines += ["## Why it decides", "", *_reasons(facts)]
    lines += ["## What is proven", "", escape(facts.certificate["words"]), ""]
    lines += ["## What was trained on what", "", *_table(["fact", ""], words.list_training(facts)), ""]
    return [*lines, "## Lineage", "", *_table(["fact", ""], words.list_lineage(facts))]


def _reasons(facts: Facts) -> list[str]:
    """Return the lines about columns and rows."""
    if facts.reasons["missing"]:
        return [escape(words.describe_missing(facts)), ""]
    entries = facts.reasons["importance"][: words.IMPORTANT]
    rows = [(one["column"], f"{one['contribution']:.3g}", words.loss_text(one)) for one in entries]
    lines = [*_table(["column", "contribution", "loss if shuffled"], rows), "", words.describe_importance(facts), ""]
    for example in facts.reasons["examples"]:
        steps = [(name, value, f"{step:+.3g}") for name, value, step in words.example_rows(example)]
        lines += [f"### {escape(words.title_of_example(example))}", "", escape(words.sentence_of_example(example)), ""]
        lines += [*_table(["column", "value", "contribution"], steps), ""]
    return lines


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table of Markdown."""
    body = ["| " + " | ".join(map(escape, row)) + " |" for row in rows]
    return ["| " + " | ".join(map(escape, heads)) + " |", "|" + "---|" * len(heads), *body]


def escape(text: str) -> str:
    """Return a text that Markdown shows unchanged, on one line."""
    line = " ".join(str(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", line)
