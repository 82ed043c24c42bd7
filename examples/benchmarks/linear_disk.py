"""A linear model of a generated set on local disk: what reading the rows and training on them take.

    python examples/benchmarks/linear_disk.py clicks --rows 10000000 --memory 1GB
    python examples/benchmarks/linear_disk.py issue19660 --memory 1GB --records disk.jsonl

The cells are those of linear_large.py: squared hinge, C = 1, gap 1e-3, the bias a column of the data. Blocks of rows
are generated and written by `gather_blocks` to a file without a name in $TMPDIR, which takes the bytes that are printed
and is gone when the process ends. All rows are read once in order without the page cache first, which is the measure of
the training that follows. "resident" is the peak of memory, pages of the file included, "own" that without them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from linear_large import CELLS, FEW, TEST
from linear_sets import Blocks, Data
from peers_worker import memory, reset_peak

from svmkit import SVMClassifier
from svmkit.data import Storage, gather_blocks
from svmkit.runtime.mapping import size_of

PIECE = 8 << 20  # bytes that are read at a time
PAUSE = 0.2  # seconds between two looks at the memory


def main() -> None:
    """Generate the set, read it, train on it, and print what was found, a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cell", choices=CELLS)
    parser.add_argument("--rows", type=int, help="rows to train on; default all of the cell")
    parser.add_argument("--memory", default="1GB", help="as for svmkit train (default 1GB)")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--time-limit", type=float, help="seconds of training, after which the best model counts")
    parser.add_argument("--records", type=Path, help="append the figures to this file as a line of JSON")
    args = parser.parse_args()
    figures = measure(args)
    for name, value in figures.items():
        print(f"{name:>20}  {value:,.6g}" if isinstance(value, float | int) else f"{name:>20}  {value}")
    if args.records:
        with args.records.open("a") as file:
            file.write(json.dumps({"cell": args.cell, **figures}) + "\n")


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a cell."""
    cell = CELLS[args.cell]
    rows = args.rows or cell.rows
    train(*gather(cell.make(FEW), FEW)[0], args)  # which compiles
    began, used = time.perf_counter(), time.process_time()
    (X, y), held = gather(cell.make(rows + min(TEST, rows // 10)), rows)
    figures = {"rows": rows, "bytes": size_of(X), "generation, s": time.perf_counter() - began}
    figures["its processor s"] = time.process_time() - used
    figures["reading once, s"] = read_cold(X)
    drop_pages(X)
    with Peak() as peak:
        read, began, used = bytes_read(), time.perf_counter(), os.times()
        machine = train(X, y, args)
        figures |= {"training, s": time.perf_counter() - began, "user s": os.times().user - used.user}
        figures |= {"system s": os.times().system - used.system, "bytes read": bytes_read() - read}
    return figures | {
        "iterations": machine.n_iter_,
        "status": str(machine.status_),
        "P": machine.certificate_[0].primal,
        "gap": machine.gap_,
        "resident, MB": peak.resident,
        "own, MB": peak.own,
        "accuracy": float(np.mean(np.concatenate([machine.predict(X) == y for X, y in held]))),
    }


def train(X: Any, y: np.ndarray, args: argparse.Namespace) -> SVMClassifier:
    """Fit as `svmkit train --kernel linear --loss squared_hinge -o bias=1` does."""
    machine = SVMClassifier(kernel="linear", loss="squared_hinge", memory=args.memory, time_limit=args.time_limit)
    return machine.set_params(solver=args.solver, solver_options={"bias": 1.0}).fit(X, y)


def gather(blocks: Blocks, rows: int) -> tuple[Data, list[Data]]:
    """Return the first rows, which are on disk, and the blocks of all others."""
    held: list[Data] = []
    data = gather_blocks(_split(blocks, rows, held), storage=Storage(most=0))
    return (data.X, data.y), held


def _split(blocks: Blocks, rows: int, held: list[Data]) -> Blocks:
    for X, y in blocks:
        if rows:
            yield X[:rows], y[:rows]
        if len(y) > rows:
            held.append((X[rows:], y[rows:]))
        rows = max(0, rows - len(y))


def read_cold(X: Any) -> float:
    """Return the seconds of reading all rows once, in order, after their pages have left the memory."""
    drop_pages(X)
    began, piece = time.perf_counter(), bytearray(PIECE)
    for file in files_of(X):
        os.lseek(file, 0, os.SEEK_SET)
        while os.readv(file, [piece]):
            pass
    return time.perf_counter() - began


def drop_pages(X: Any) -> None:
    """Let no page of the rows stay in memory."""
    for file in files_of(X):
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def files_of(X: Any) -> list[int]:
    """Return descriptors of the files without names that the rows are mapped to."""
    arrays = [X] if isinstance(X, np.ndarray) else [X.data, X.indices]
    sizes, found = [array.nbytes for array in arrays], []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            state = os.fstat(int(name))
            if stat.S_ISREG(state.st_mode) and not state.st_nlink and state.st_size in sizes:
                found.append(int(name))
    if len(found) != len(arrays):
        raise SystemExit(f"{len(found)} files for {len(arrays)} arrays of rows")
    return found


def bytes_read() -> int:
    """Return the bytes that this process has had read from disk."""
    return int(re.findall(r"read_bytes: (\d+)", Path("/proc/self/io").read_text())[0])


class Peak:
    """The peak of memory while this is open, in MB, and that of memory that belongs to no file."""

    def __enter__(self) -> Self:
        reset_peak()
        self.own, self._ended = 0.0, threading.Event()
        self._looks = threading.Thread(target=self._look)
        self._looks.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._looks.join()
        self.resident = memory("VmHWM")

    def _look(self) -> None:
        while True:
            self.own = max(self.own, memory("RssAnon"))
            if self._ended.wait(PAUSE):
                return


if __name__ == "__main__":
    main()
