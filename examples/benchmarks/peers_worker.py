"""One side of the benchmark in a process of its own: loads the data once, then fits and predicts on request.

Started by peers_remote.py with any interpreter that has numpy, scipy and the software; svmkit is imported for its own
side only. Jobs come as lines of JSON on stdin, answers go back as lines of JSON; arrays are passed in .npy files. All
sides are timed alike: the wall clock around fit alone, with the data in the form that the side prefers.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import sys
import tempfile
import time
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import numpy as np
import peers_sides
import scipy.sparse as sp

TINY = 600  # rows of the very first fit: enough to load all code, too few to leave memory behind


class Worker:
    """The data, the side, the last model."""

    def __init__(self, out) -> None:
        self.out, self.model = out, None
        self.base: float | None = None  # MB, what memory of a fit is counted from
        self.said = tempfile.TemporaryFile()  # noqa: SIM115  as long as the process
        os.dup2(self.said.fileno(), 1)  # what C code prints

    @classmethod
    def main(cls) -> None:
        """Serve on stdin; answers go to the real stdout, which C code no longer reaches."""
        cls(os.fdopen(os.dup(1), "w")).serve()

    def serve(self) -> None:
        for line in sys.stdin:
            job = json.loads(line)
            try:
                answer = getattr(self, job.pop("do"))(**job)
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            self.out.write(json.dumps(answer, default=lambda number: number.item()) + "\n")
            self.out.flush()

    def start(self, side: str, threads: int) -> dict:
        """Import the software, with as many cores as every other side."""
        take_cores(threads)
        kind = peers_sides.side(side)
        self.side = kind(threads)
        return {"version": metadata.version(kind.package), "package": kind.package}

    def load(self, folder: str, storage: str) -> dict:
        """storage : csr, dense32 or dense64."""
        self.y = np.load(Path(folder) / "y.npy")
        self.X, self.X_test = (stored(Path(folder), part, storage) for part in ("train", "test"))
        self.data = self.side.native(self.X, self.y)
        return {}

    def first(self, small: int, job: dict) -> dict:
        """Compile with a tiny fit, after which memory is measured, and with two small fits."""
        seconds = []
        for n in (TINY, small, small):
            rows = np.unique(np.linspace(0, len(self.y) - 1, min(n, len(self.y))).astype(np.int64))
            data = self.side.native(self.X[rows], self.y[rows])
            began = time.perf_counter()
            self.side.fit(data, job)
            seconds.append(time.perf_counter() - began)
            if self.base is None:
                gc.collect()
                self.base = memory("VmRSS")
        return {"seconds": seconds, "base_mb": self.base}

    def fit(self, job: dict, save: str = "") -> dict:
        """Train on all rows; arrays go to the file `save`."""
        self.model = None
        gc.collect()
        self.said.truncate(0)
        os.lseek(self.said.fileno(), 0, os.SEEK_SET)
        reset_peak()
        began, used = time.perf_counter(), time.process_time()
        self.model = self.side.fit(self.data, job)
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
        peak = memory("VmHWM")
        ctypes.CDLL(None).fflush(None)
        self.said.seek(0)
        arrays, facts = self.side.read(self.model, self.data, self.said.read().decode(errors="replace"))
        if save:
            np.savez(save, **arrays)
        return {"seconds": seconds, "cpu": cpu, "peak_mb": peak - (self.base or float("nan")), **facts}

    def predict(self, save: str = "") -> dict:
        """Labels of the test rows by the last model."""
        began, used = time.perf_counter(), time.process_time()
        labels = self.side.predict(self.model, self.X_test)
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
        if save:
            np.savez(save, labels=np.asarray(labels, dtype=np.float64))
        return {"seconds": seconds, "cpu": cpu}

    def other(self, name: str, job: dict) -> dict:
        """Jobs for one side only: a curve, the speed of the kernel."""
        return getattr(self.side, name)(self, job)


def take_cores(threads: int) -> None:
    """Keep this process to so many cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def stored(folder: Path, part: str, storage: str):
    """Return the arrays that `peers_cells.write` wrote as csr, dense32 or dense64; None if there are none."""
    if not (folder / f"{part}.data.npy").exists():
        return None
    arrays = [np.load(folder / f"{part}.{name}.npy") for name in ("data", "indices", "indptr", "shape")]
    X = sp.csr_matrix(tuple(arrays[:3]), shape=tuple(arrays[3]))
    if storage == "csr":
        return X
    return np.ascontiguousarray(X.toarray(), dtype=np.float32 if storage == "dense32" else np.float64)


def memory(which: str) -> float:
    """VmRSS (now) or VmHWM (since `reset_peak`) of this process in MB; nan if Linux does not provide the figure."""
    with suppress(OSError):
        found = re.search(rf"{which}:\s+(\d+)", Path("/proc/self/status").read_text())
        return int(found[1]) / 1024.0 if found else float("nan")
    return float("nan")


def reset_peak() -> None:
    """Reset the peak; if that is not allowed, it remains the peak of the process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    Worker.main()
