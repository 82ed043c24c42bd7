"""The work of `svmkit report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from svmkit.cli.common import emit, load_model, note, rows
from svmkit.cli.evaluating.reporting import card, page, words
from svmkit.cli.evaluating.reporting.facts import collect
from svmkit.cli.evaluating.truth import load_truth
from svmkit.errors import InputError, SvmkitError
from svmkit.runtime import files
from svmkit.runtime.packages import require_installed
from svmkit.tasks import task_named


def perform(options: Any) -> None:
    """Compute the facts, write the requested files, and print them."""
    targets = {path: render for path, render in ((options.out, page.render), (options.card, card.render)) if path}
    if options.out and options.out == options.card:
        raise InputError(f"--out and --card both name {options.out}: give two files")
    if not targets and not options.json:
        raise InputError("nothing to write: give --out REPORT.html, --card CARD.md or --json")
    if options.out:
        require_installed("reports", "jinja2", "matplotlib")
    for path in targets:
        files.require_writable(path)
    model = load_model(options.model, options.tracking_uri)
    data = load_truth(model, options)
    evaluated = task_named(model.task).evaluate(model.widened(data.n_features), data, options.threads)
    title = Path(options.model).stem if "://" not in options.model and ":/" not in options.model else options.model
    facts = collect(evaluated, model, data, title=title, seed=options.seed, n_threads=options.threads)
    for path, render in targets.items():
        try:
            files.write(path, render(facts).encode())
        except OSError as error:
            raise SvmkitError(f"cannot write {path}: {error.strerror or error}") from None
    if options.json:
        emit({"model": options.model, "report": options.out, "card": options.card, **facts.plain()})
        return
    for line in facts.cautions:
        note(line)
    rows([("quality", words.describe_quality(facts)), ("report", options.out), ("card", options.card)])
