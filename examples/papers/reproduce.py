"""A paper's tables again: published | ours | difference, from one YAML file.

    python examples/papers/reproduce.py examples/papers/sfw.yaml --out docs/papers/sfw

Writes OUT.md (what is printed, too), OUT.png and OUT.jsonl, one line for each finished cell: run it again and it goes
on where it was stopped. Cells run as those of `svmkit compare` do; compilation is not in the times.
The file's keys are described in comparison/spec.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from comparison import figures, tables
from comparison.results import Results
from comparison.spec import load_paper

from svmkit.compare.cells import runner
from svmkit.compare.cells.store import Store
from svmkit.compare.plan.spec import Cell
from svmkit.compare.results import NO_MODEL
from svmkit.errors import SvmkitError


def main(argv: list[str] | None = None) -> int:
    """0: every cell asked for has a model; 1: some have none; 2: the call or the spec is wrong; 130: interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec")
    parser.add_argument("--out", required=True, help="write OUT.md, OUT.png and OUT.jsonl")
    parser.add_argument("--only", type=_names, metavar="DATASET[,..]", help="these data sets (default all)")
    parser.add_argument("--solvers", type=_names, metavar="NAME[,..]", help="these solvers of the spec (default all)")
    parser.add_argument("--seeds", type=_whole, help="seeds of a cell (default: the spec's)")
    parser.add_argument("--decades", type=_whole, help="the first DECADES stops (default: the spec's)")
    parser.add_argument("--time-limit", type=_positive, help="seconds for a cell (default: the spec's)")
    parser.add_argument("--jobs", type=_whole, default=1, help="cells side by side: times then disturb each other")
    parser.add_argument("--threads", type=_whole, help="for all jobs together (default: all cores)")
    args = parser.parse_args(argv)
    try:
        return reproduce(args)
    except SvmkitError as error:
        print(f"reproduce: {error}", file=sys.stderr)
        return 2


def reproduce(args: argparse.Namespace) -> int:
    """Run what is missing, then write the report over everything that the store holds."""
    paper = load_paper(args.spec)
    limit = args.time_limit or paper.comparison.time_limit
    wanted = paper.cells(data=args.only, solvers=args.solvers, seeds=args.seeds, decades=args.decades)
    store = Store(f"{args.out}.jsonl")
    done = sum(store.has(cell, limit) for cell in wanted)
    _say(f"{paper.comparison.name}: {len(wanted)} cells, {done} of them finished before")
    curve = False  # no accuracy on the way: no figure shows it
    whole = runner.run(wanted, store, limit=limit, jobs=args.jobs, threads=args.threads, curve=curve, callbacks=[_told])
    print(_report(Results(paper, store), Path(args.out)))
    if not whole:
        return 130
    return int(any(record["status"] in NO_MODEL for record in store.records_of(wanted)))


def _report(results: Results, out: Path) -> str:
    """What OUT.md holds, written there; the picture beside it."""
    report, figure = tables.render(results), results.paper.figure
    out.parent.mkdir(parents=True, exist_ok=True)
    if figure is not None:
        figures.draw(results, Path(f"{out}.png"))
        report += f"\n![{figure['kind']}]({out.name}.png)\n"
    Path(f"{out}.md").write_text(report, encoding="utf-8")
    return report


def _told(cell: Cell, record: dict[str, Any] | None) -> None:
    if record is not None:
        _say(f"{cell.name}: {_short(record)}")


def _short(record: dict[str, Any]) -> str:
    if record["status"] in NO_MODEL:
        return f"{record['status']}: {record['reason']}"
    accuracy = record["test_accuracy"]
    return "{status}, {n_iter:,} iterations, {solve_s:.1f} s, {n_support:,} vectors".format(**record) + (
        "" if accuracy is None else f", {100 * accuracy:.2f} %"
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
