"""Linear models of large sets: svmkit beside other software, to the same gap, with time and peak of memory.

    python examples/benchmarks/linear_large.py --scale 0.01                       # all cells, a hundredth of the rows
    python examples/benchmarks/linear_large.py epsilon texts --records large.jsonl --insert docs/linear.md
    python examples/benchmarks/linear_large.py clicks --scale 0.1 --data /mnt/disk --only svmkit,LinearSVC

Sets are generated with seeds, in blocks, into a folder, from which each contender reads them in a process of its own.
The problem is that with C = 1; contenders that are not installed, cannot do a cell, or need more memory or time than
there is, get a line that says so. A cell larger than memory is left out, and one larger than the disk has fewer rows.

A time is that of fit, once, after a small fit that compiles; a copy of the data that LIBLINEAR's interface makes is
off the clock, but its memory counts. "memory of the fit" is the peak of resident memory beyond that after loading the
data, "in all" the peak. The gap is (P - D) / P, with P of the weights that came back and D the best lower bound on the
optimum of the same problem that a run of svmkit certified. Contenders marked with a tolerance were run with 1, 0.1,
0.01, ... until the gap was 1e-3 or less, or all fits together took longer than one may: the loosest that reached it
counts. Logistic regression has another objective, and so no gap. "times" is the time in units of that of svmkit on the
same problem, and for what is called without options of SVMClassifier(kernel="linear").
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import linear_sets
import psutil
from linear_sets import Blocks
from peers_remote import Failed, Remote, Store, TimedOut
from peers_tables import insert, markdown, number
from peers_worker import TINY

GAP = 1e-3
TOLERANCES = tuple(10.0**-k for k in range(7))
TEST = 50_000  # rows to predict, and at most a tenth as many as are trained on
SPARE = 0.85  # of the memory that is free, which a contender may take
DISK = 0.85  # of the free disk, which the rows to train on may take
FEW, DENSE, PART = 20_000, 3_000, 1 / 40  # rows of the fits that compile: d^2 PART and more for up to DENSE columns
MARKS = "<!-- measured by linear_large.py: begin -->", "<!-- measured by linear_large.py: end -->"
HEAD = "contender | fit, s | times | memory of the fit, MB | in all, MB | P | gap | accuracy | what was reached"
SCRIPT = "linear_large_worker.py"
OURS, PEER = "svmkit:SVMClassifier", "sklearn.svm:LinearSVC"


@dataclass(frozen=True)
class Cell:
    """A set: `make` yields its blocks for a number of rows; `entries` of a row, of so many bytes each, are stored."""

    rows: int
    columns: int
    entries: int
    size: int
    make: Callable[..., Blocks]
    words: str

    def bytes(self, rows: int) -> int:
        """Return the size of so many rows."""
        return rows * (self.entries * self.size + 8 * (self.entries < self.columns) + 8)


def _dense(rows: int, columns: int, make: Callable[..., Blocks], words: str) -> Cell:
    return Cell(rows, columns, columns, 4, make, f"dense, float32, {words}")


_float32 = partial(partial, linear_sets.gaussians, dtype="float32")
CELLS = {
    "epsilon": _dense(400_000, 2_000, _float32(d=2_000, far=2.0, unit=True), "rows of length 1"),
    "texts": Cell(1_000_000, 1_000_000, 75, 12, partial(linear_sets.texts, d=1_000_000, words=75), "75 words a row"),
    "clicks": Cell(100_000_000, 2**20, 39, 8, partial(linear_sets.clicks, d=2**20), "39 one-hot columns, float32"),
    "issue17262": _dense(8_971_272, 5, partial(linear_sets.coins, d=5), "classes by chance, scikit-learn issue 17262"),
    "issue19660": _dense(3_046_829, 900, _float32(d=900, far=2.0), "the size of scikit-learn issue 19660"),
}


@dataclass(frozen=True)
class Contender:
    """One side with its options.

    side : of peers_sides.py, or MODULE:CLASS
    problem : loss, and bias: "free" or the value of its column; None for another objective than these
    is_called : without options, and compared with svmkit without options
    has_ladder : run with looser tolerances first
    """

    name: str
    side: str
    problem: tuple[str, float | str] | None
    params: dict[str, Any] = field(default_factory=dict)
    is_called: bool = False
    has_ladder: bool = False

    def job(self, tol: float | None, limit: float) -> dict[str, Any]:
        """Return what the process is asked for."""
        tolerance = {} if tol is None else {"tol": tol}
        if ":" not in self.side:
            assert self.problem is not None
            return {"C": 1.0, "loss": self.problem[0], **self.params, **tolerance}
        time = {"time_limit": limit} if self.side == OURS else {}
        return {"params": {**self.params, **tolerance, **time}}


SQUARED, HINGE = ("squared_hinge", 1.0), ("hinge", 0.0)
LINEAR, LIKE_PEER = {"kernel": "linear"}, {"kernel": "linear", "solver_options": {"bias": 1.0}}
LIKE_SKGLM = {"kernel": "linear", "loss": "hinge", "solver_options": {"bias": 0.0}}
LONG = {"max_iter": 100_000}
CONTENDERS = (
    Contender('SVMClassifier(kernel="linear")', OURS, ("squared_hinge", "free"), LINEAR, is_called=True),
    Contender("svmkit, bias=1", OURS, SQUARED, LIKE_PEER),
    Contender("svmkit, bias=1, gap 1e-4", OURS, SQUARED, {**LIKE_PEER, "tol": 1e-4}),
    Contender("svmkit, hinge, no bias", OURS, HINGE, LIKE_SKGLM),
    Contender("svmkit, hinge, no bias, gap 1e-4", OURS, HINGE, {**LIKE_SKGLM, "tol": 1e-4}),
    Contender("LinearSVC()", PEER, SQUARED, is_called=True),
    Contender("LinearSVC(dual=True)", PEER, SQUARED, {"dual": True, **LONG}, has_ladder=True),
    Contender("LinearSVC(dual=False)", PEER, SQUARED, {"dual": False, **LONG}, has_ladder=True),
    *(
        Contender(f"{side} -s {2 - dual}", side, SQUARED, {"dual": dual}, has_ladder=True)
        for side in ("liblinear-official", "liblinear-multicore")
        for dual in (True, False)
    ),
    Contender("snapml", "snapml", SQUARED, has_ladder=True),
    Contender("skglm, hinge, no bias", "skglm:LinearSVC", HINGE, {"max_iter": 1000}, has_ladder=True),
    Contender("LogisticRegression()", "sklearn.linear_model:LogisticRegression", None, is_called=True),
)


def main() -> None:
    """Measure the cells and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", help=f"default all: {', '.join(CELLS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the rows (default 1)")
    parser.add_argument("--only", help="contenders that have one of these words, joined by commas, in their names")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a fit (default 600)")
    parser.add_argument("--memory", type=float, help=f"GB that a process may hold; default {SPARE:g} of what is free")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--records", type=Path, help="keep measurements in this file, and measure only what it lacks")
    parser.add_argument("--data", type=Path, help="a folder for the sets, which stay there; default a temporary one")
    parser.add_argument("--insert", type=Path, metavar="FILE.md", help="write the tables between the marks of a file")
    args = parser.parse_args()
    unknown = set(args.cells) - set(CELLS)
    if unknown:
        parser.error(f"no cell {', '.join(sorted(unknown))}; there are: {', '.join(CELLS)}")
    with tempfile.TemporaryDirectory() as folder:
        args.folder = args.data or Path(folder)
        args.folder.mkdir(parents=True, exist_ok=True)
        store = Store(args.records or Path(folder) / "records.jsonl", {"scale": args.scale, "threads": args.threads})
        lines = []
        for name in args.cells or CELLS:
            found = measure(name, store, args)
            print(*found, sep="\n", flush=True)
            lines += found
    if args.insert:
        insert(args.insert, "\n".join(lines).rstrip("\n"), MARKS)


def measure(name: str, store: Store, args) -> list[str]:
    """Measure what is missing of a cell, and return its table."""
    cell, most = CELLS[name], _memory(args)
    rows = max(200, round(args.scale * cell.rows))
    words = f"{cell.words}; {cell.bytes(rows) / 1e9:.2g} GB"
    if cell.bytes(rows) <= most and not (args.folder / f"{name}-{rows}" / "done").exists():
        rows = min(rows, int(DISK * shutil.disk_usage(args.folder).free / cell.bytes(1)))
    if rows < cell.rows:
        words += f"; {rows / cell.rows:.2g} of the {cell.rows:,} rows"
    lines = ["", f"**{name}, {rows:,} x {cell.columns:,}** ({words})", ""]
    if cell.bytes(rows) > most:
        return [*lines, f"Larger than memory, of which a process may hold {most / 1e9:.1f} GB: left out."]
    test, folder = min(TEST, rows // 10), args.folder / f"{name}-{rows}"
    wanted = [c for c in CONTENDERS if not args.only or any(word in c.name for word in args.only.split(","))]
    for contender in wanted:
        if _is_left(store, name, contender):
            if not (folder / "done").exists():
                linear_sets.write(folder, cell.make(rows + test), rows)
                (folder / "done").touch()
            Run(store, name, contender, folder, most).measure(args)
    if not args.data:
        shutil.rmtree(folder, ignore_errors=True)
    return [*lines, *markdown(HEAD, [_row(store, name, contender) for contender in wanted])]


def _memory(args) -> int:
    """Return how many bytes a process may hold."""
    return int(1e9 * args.memory if args.memory else SPARE * psutil.virtual_memory().available)


@dataclass(frozen=True)
class Run:
    """The fits of a contender on a cell, whose files are in `folder`, within `most` bytes of memory."""

    store: Store
    cell: str
    contender: Contender
    folder: Path
    most: int

    def measure(self, args) -> None:
        """Fit in a process, with each tolerance until the gap is small enough."""
        about = {"cell": self.cell, "what": "run", "contender": self.contender.name, "side": self.contender.side}
        tol, remote = None, None
        try:
            remote = Remote(sys.executable, self.contender.side, args.threads, SCRIPT)
            self._start(remote, args.limit)
            for tol in TOLERANCES if self.contender.has_ladder else (None,):
                if not self.store.find(cell=self.cell, contender=self.contender.name, tol=tol):
                    self.store.add(**about, tol=tol, **self._fit(remote, tol, args.limit))
                spent = sum(run["seconds"] for run in self.store.find(cell=self.cell, contender=self.contender.name))
                if spent > args.limit or not _is_left(self.store, self.cell, self.contender):
                    break
        except Failed as failed:
            error = self._reason(remote, failed) + ("" if tol is None else f" at tol {tol:g}")
            self.store.add(**about, tol=tol, error=error)
        finally:
            if remote is not None:
                remote.close()

    def _start(self, remote: Remote, limit: float) -> None:
        """Let the process read the data, and compile: ours with as many rows as lead to the same solver."""
        columns, small = CELLS[self.cell].columns, 0
        if self.contender.side == OURS:
            small = max(FEW, int(PART * columns**2) + 1) if columns <= DENSE else FEW
        first = TOLERANCES[0] if self.contender.has_ladder else None
        remote.ask("load", folder=str(self.folder), columns=columns, most=self.most)
        remote.ask("first", limit, small=small or TINY, job=self.contender.job(first, limit))

    def _fit(self, remote: Remote, tol: float | None, limit: float) -> dict[str, Any]:
        save = str(self.folder / "weights.npz")
        patience = 2.0 * limit if self.contender.side == OURS else limit  # ours returns what it has at its own limit
        found = remote.ask("fit", patience, job=self.contender.job(tol, limit), save=save)
        loss, bias = self.contender.problem or (None, 0.0)
        return {**found, **remote.ask("judge", save=save, loss=loss, bias=0.0 if bias == "free" else bias)}

    def _reason(self, remote: Remote | None, failed: Failed) -> str:
        if remote is None and "NotFoundError" in str(failed):
            return "not installed"
        code = remote.process.poll() if remote is not None else None
        if isinstance(failed, TimedOut) or code is None or code >= 0:
            return str(failed).partition(" for an array")[0]
        return f"ended by {signal.Signals(-code).name}, with {self.most / 1e9:.1f} GB of memory"


def _is_left(store: Store, cell: str, contender: Contender) -> bool:
    """Return whether fits are missing."""
    runs = store.find(cell=cell, contender=contender.name)
    if any("error" in run for run in runs) or not contender.has_ladder:
        return not runs
    gaps = [_gap(store, run) for run in runs]
    return len(runs) < len(TOLERANCES) and not any(gap is None or gap <= GAP for gap in gaps)


def _gap(store: Store, run: dict[str, Any]) -> float | None:
    """Return (P - D) / P of a run with the best D of ours; None without one."""
    problems = {contender.name: contender.problem for contender in CONTENDERS}
    others = store.find(cell=run["cell"], side=OURS)
    duals = [r["dual"] for r in others if r.get("dual") and problems[r["contender"]] == problems[run["contender"]]]
    return (run["P"] - max(duals)) / run["P"] if duals and "P" in run else None


def _row(store: Store, cell: str, contender: Contender) -> list[str]:
    """Return the line of a contender: its loosest fit that reached the gap, or its last one."""
    runs = store.find(cell=cell, contender=contender.name)
    fits = [run for run in runs if "error" not in run]
    if not fits:
        return [contender.name, *[""] * 7, runs[-1]["error"] if runs else "not measured"]
    gaps = [_gap(store, run) for run in fits]
    at = next((k for k, gap in enumerate(gaps) if gap is not None and gap <= GAP), len(fits) - 1)
    run, gap = fits[at], gaps[at]
    base = _base(store, cell, contender)
    return [
        contender.name,
        number(run["seconds"]),
        number(base and run["seconds"] / base, ".2f"),
        *(f"{max(run[key], 0.0):,.0f}" for key in ("peak_mb", "all_mb")),
        number(run.get("P"), ".6g"),
        number(gap, ".1e"),
        f"{run['accuracy']:.4f}",
        "; ".join(_facts(contender, run, gap) + [run["error"] for run in runs if "error" in run]),
    ]


def _facts(contender: Contender, run: dict[str, Any], gap: float | None) -> list[str]:
    facts = [f"tol {run['tol']:g}"] if contender.has_ladder else []
    if "status" in run:
        facts.append(f"{run['status']}, certified {run['gap']:.1e}")
    if gap is not None and gap > GAP:
        facts.append(f"misses {GAP:g}")
    return facts


def _base(store: Store, cell: str, contender: Contender) -> float | None:
    """Return the seconds of ours that a contender is compared with."""
    ours = [c for c in CONTENDERS if c.side == OURS and c.is_called == contender.is_called]
    names = [c.name for c in ours if c.is_called or c.problem == contender.problem]
    runs = [run for run in store.find(cell=cell, contender=names[0]) if "error" not in run] if names else []
    return runs[0]["seconds"] if runs else None


if __name__ == "__main__":
    main()
