"""A paper's tables again: published | ours | difference, from one YAML file.

    python examples/papers/reproduce.py examples/papers/sfw.yaml --out docs/papers/sfw

Writes OUT.md (what is printed, too), OUT.png and OUT.jsonl, one line for each finished cell: run it again and it goes
on where it was stopped. Cells run one after the other in this process; compilation is not in the times.
The file's keys are described in comparison/spec.py.
"""

from __future__ import annotations

import argparse
import sys
from itertools import groupby
from pathlib import Path

from comparison import cells, figures, spec, tables

from svmkit import plugins
from svmkit.errors import SvmkitError


def main(argv: list[str] | None = None) -> int:
    """0: every cell asked for is there; 1: some failed; 2: the call or the spec is wrong; 130: interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec")
    parser.add_argument("--out", required=True, help="write OUT.md, OUT.png and OUT.jsonl")
    parser.add_argument("--only", type=_names, metavar="DATASET[,..]", help="these data sets (default all)")
    parser.add_argument("--solvers", type=_names, metavar="NAME[,..]", help="these solvers of the spec (default all)")
    parser.add_argument("--seeds", type=_whole, help="seeds of a cell (default: the spec's)")
    parser.add_argument("--limit", type=_positive, help="seconds for a cell (default: the spec's)")
    parser.add_argument("--decades", type=_whole, help="the first DECADES stops (default: the spec's)")
    args = parser.parse_args(argv)
    try:
        return reproduce(args)
    except SvmkitError as error:
        print(f"reproduce: {error}", file=sys.stderr)
        return 2


def reproduce(args: argparse.Namespace) -> int:
    """Run what is missing, then write the report over everything that the store holds."""
    plan = spec.load_spec(args.spec)
    limit = args.limit or plan.limit
    wanted = plan.cells(only=args.only, solvers=args.solvers, seeds=args.seeds, decades=args.decades)
    for cell in wanted:
        how = cell.settings["solver"]
        plugins.build("solver", how["solver"], how["options"])
        if "sampler" in how:
            plugins.sampler(how["sampler"])
    store = cells.Store(Path(f"{args.out}.jsonl"))
    store.path.parent.mkdir(parents=True, exist_ok=True)
    todo = [cell for cell in wanted if not store.has(cell, limit)]
    _say(f"{plan.name}: {len(wanted)} cells, {len(wanted) - len(todo)} of them finished before")
    try:
        whole = _run(plan, todo, store, limit)
    finally:
        results = cells.Results(plan, store.records)
        report = tables.render(plan, results)
        if plan.figure is not None:
            figures.draw(plan, results, Path(f"{args.out}.png"))
            report += f"\n![{plan.figure['kind']}]({Path(args.out).name}.png)\n"
        Path(f"{args.out}.md").write_text(report, encoding="utf-8")
    print(report)
    if not whole:
        return 130
    return int(any(store.records[cell.key]["status"] == "failed" for cell in wanted))


def _run(plan: spec.Spec, todo: list[cells.Cell], store: cells.Store, limit: float) -> bool:
    """Run the cells, each set loaded once; False when the user interrupted."""
    curves = plan.figure["solvers"] if plan.figure and plan.figure["kind"] == "curves" else []
    if todo:
        cells.warm(todo)
    for name, group in groupby(todo, key=lambda cell: cell.data):
        try:
            sets = cells.prepare(plan.data[name])
            for cell in group:
                record = cells.run(cell, sets, limit, cell.solver in curves)
                if record is None:
                    return False
                store.add(record)
                _say(f"{' '.join(map(str, record['cell']))}: {_short(record)}")
        except KeyboardInterrupt:
            return False
    return True


def _short(record: dict) -> str:
    if record["status"] == "failed":
        return f"failed: {record['reason']}"
    return "{status}, {iterations:,} iterations, {seconds:.1f} s, {support:,} vectors, {accuracy:.2f} %".format(
        **record
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _whole(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 1")
    return int(text)


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number > 0")
    return value


if __name__ == "__main__":
    sys.exit(main())
