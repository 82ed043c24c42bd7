"""All hostile trials in separate processes, and the table: `python -m svmkit.conformance.grid --jobs 2`.

A worker runs one trial after another and is replaced when it dies or hangs, which makes one row. The file has a line of
JSON for each trial; the same command continues where it ended. A trial that exceeds its limit is repeated once at the
end, since a solver is not to blame for a busy machine.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import math
import queue
import select
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from svmkit import plugins
from svmkit.conformance.hostile.cases import CASES
from svmkit.conformance.hostile.trial import OUTCOMES, Trial, run_named, trials
from svmkit.conformance.judging.claims import TINY
from svmkit.kernels.engines import on_device

COMMAND = (sys.executable, "-m", "svmkit.conformance.grid", "--worker")
HANG = 60.0  # seconds after which a worker is killed: compiling takes longer than any trial


class Worker:
    """A process that runs trials, one line in and one line out."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self.command = list(command)
        self.process: subprocess.Popen | None = None

    def run(self, job: tuple[str, str, str]) -> dict[str, Any]:
        """Run one trial; a process that dies or hangs gives a row that says so."""
        if self.process is None:
            streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.process = subprocess.Popen(self.command, **streams, stderr=subprocess.DEVNULL, text=True)
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        with suppress(BrokenPipeError):  # then there is no answer either
            print(json.dumps(job), file=process.stdin, flush=True)
        if not select.select([process.stdout], [], [], HANG)[0]:
            self.end()
            return asdict(Trial(*job, outcome="over", seconds=HANG, said=f"killed after {HANG:g} seconds"))
        if line := process.stdout.readline():
            return json.loads(line)
        self.end()
        return asdict(Trial(*job, said=f"the process died with code {process.returncode}"))

    def end(self) -> None:
        """End the process, in any state."""
        if self.process is not None:
            self.process.kill()
            with suppress(BrokenPipeError):  # a job that was not read
                self.process.communicate()
            self.process = None


def _serve(device: str | None) -> None:
    """Run the trials of the lines of stdin on a device; their output goes to stderr."""
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        faulthandler.dump_traceback_later(HANG + 10.0, exit=True)  # a trial that hangs ends even if it is not killed
        with on_device(device):
            row = asdict(run_named(*json.loads(line)))
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(row), file=out, flush=True)


def run_all(
    jobs: list[tuple[str, str, str]], path: Path, lanes: int = 1, device: str | None = None
) -> list[dict[str, Any]]:
    """Run the trials (case, solver, loss) missing from a file of rows, in several processes; return all rows.

    Parameters
    ----------
    jobs, lanes : list of tuple, int
        The trials, and the number of processes.
    path : Path
        The file, which is created if it is missing.
    device : str, default=None
        Where kernel values are computed, as for `svmkit.fit`.
    """
    command = (*COMMAND, "--device", device) if device else COMMAND
    rows = {_key(row): row for row in map(json.loads, path.read_text().splitlines())} if path.exists() else {}
    _run_lanes([job for job in jobs if job not in rows], path, rows, [Worker(command) for _ in range(lanes)])
    _run_lanes([job for job in jobs if rows[job]["outcome"] == "over"], path, rows, [Worker(command)])
    return [rows[job] for job in jobs]


def _run_lanes(jobs: list[tuple[str, str, str]], path: Path, rows: dict, workers: list[Worker]) -> None:
    todo: queue.SimpleQueue = queue.SimpleQueue()
    for job in jobs:
        todo.put(job)
    write, ended = threading.Lock(), threading.Event()

    def lane(worker: Worker) -> None:
        with suppress(queue.Empty):
            while not ended.is_set():
                row = worker.run(todo.get_nowait())
                before = rows.get(_key(row))
                if not ended.is_set() and (before is None or row["seconds"] < before["seconds"]):
                    with write, path.open("a") as file:
                        rows[_key(row)] = row
                        file.write(json.dumps(row) + "\n")

    with ThreadPoolExecutor(len(workers)) as pool:
        try:
            list(pool.map(lane, workers))
        finally:  # also after Ctrl-C
            ended.set()
            for worker in workers:
                worker.end()


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["case"], row["solver"], row["loss"]


def find_contradictions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows, marked as wrong if their bound is above the true objective of another solver's model."""
    best: dict[tuple[str, str], float] = defaultdict(lambda: math.inf)
    for row in rows:
        P = sum(true[0] for true in row["true"]) if row["true"] else math.inf
        at = row["case"], row["objective"]
        best[at] = min(best[at], P if math.isfinite(P) else math.inf)
    judged = []
    for row in rows:
        least, dual = best[row["case"], row["objective"]], row["dual"]
        if row["outcome"] in ("converged", "honest", "over") and dual is not None and dual > least + TINY * abs(least):
            said = f"dual_objective {dual:.9g} is above P = {least:.9g} of another model; {row['said']}"
            row = row | {"outcome": "wrong", "said": said}
        judged.append(row)
    return judged


def table(rows: list[dict[str, Any]]) -> str:
    """Return the counts of outcomes for each solver and for each group of cases, as Markdown."""
    head = "runs | converged and true | honest | refused | wrong | traceback | over the limit"
    parts = []
    for title, key in (("solver", lambda row: row["solver"]), ("cases", lambda row: CASES[row["case"]].group)):
        counts: dict[str, Counter] = defaultdict(Counter)
        for row in rows:
            counts[key(row)][row["outcome"]] += 1
            counts["all"][row["outcome"]] += 1
        order = [name for name in counts if name != "all"]
        order = (sorted(order) if title == "solver" else order) + ["all"]
        lines = [f"| {title} | {head} |", "|---|" + "---:|" * 7]
        for name in order:
            numbers = [counts[name].total(), *(counts[name][outcome] for outcome in OUTCOMES)]
            lines.append(f"| {name} | {' | '.join(map(str, numbers))} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def main() -> None:
    """Run the grid from the command line."""
    parser = argparse.ArgumentParser(prog="python -m svmkit.conformance.grid", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("hostile.jsonl"), help="the file of rows, which is continued")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--solvers", default="", help="only these, separated by commas")
    parser.add_argument("--cases", default="", help="only cases whose name or group contains this")
    parser.add_argument("--device", help="where kernel values are computed; by default by our own engines")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return _serve(given.device)
    only = set(filter(None, given.solvers.split(",")))
    unknown = only - set(plugins.names("solver"))
    if unknown:
        parser.error(f"there is no solver {', '.join(sorted(unknown))}")
    jobs = [
        job
        for job in trials()
        if (not only or job[1] in only) and (given.cases in job[0] or given.cases in CASES[job[0]].group)
    ]
    rows = find_contradictions(run_all(jobs, given.out, given.jobs, given.device))
    failed = [row for row in rows if row["outcome"] in ("wrong", "traceback", "over")]
    for row in failed:
        print(f"{row['outcome']}: {row['solver']} ({row['loss']}) on {row['case']}: {row['said']}", file=sys.stderr)
    print(table(rows))
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
