"""Measure nanoseconds per kernel value of the engine, beside GEMM alone, exponentials alone and memory bandwidth.

    python examples/benchmarks/engine.py --sets a9a w8a ijcnn1 mnist
    python examples/benchmarks/engine.py --sets random --rows 20000 --threads 1 --json

The sets are the ones below, found by svmkit.data.load, and `random` (50,000 x 20, dense); each is used as CSR and as a
dense array, in float32 and float64, with an RBF kernel. "row" is one row against all, "block" --block rows against all,
"sel" the same rows against a sorted random half, "product" their fused product with one vector of coefficients. "GEMM"
is numpy's on dense data, of the block's shape and precision, in as many threads, with its result written to memory.

The floor of a value is 2 e/F + 1/E + 4/BW (8/BW in float64): e entries of a row (d of a dense one), F operations a
second of a GEMM of this shape whose tiles stay in cache, E exponentials in cache a second, BW bytes written to memory a
second. A product writes nothing, so it has no last term. A single row reads all of X: the time to read a row from
memory replaces 2 e/F if it is longer. The multiple of the floor stands in brackets. Times are medians of --repeat runs
in alternation, after one that compiles. Prints tables in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from itertools import product
from statistics import median
from typing import Any

# BLAS's own threads would go on spinning for tenths of a second and take the cores from what is measured next.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import numpy as np
import scipy.sparse as sp
from numba import njit
from threadpoolctl import threadpool_limits

from svmkit.data import available, load
from svmkit.kernels.engines import engine_for
from svmkit.kernels.functions import RBF
from svmkit.kernels.loops.arithmetic import fast_exp
from svmkit.kernels.loops.tiles import TILE
from svmkit.runtime import threads
from svmkit.runtime.threads import spread

SETS = {"a9a": 1 / 200, "w8a": 1 / 44, "ijcnn1": 1 / 5.16, "mnist": 0.02, "random": 0.05}  # gamma
ROWS = {"mnist": 20_000}  # the first ones
SCALE = {"mnist": 255.0}  # divides all values
SINGLE = 20  # rows that a run computes one by one
LARGE = 256 << 20  # bytes, several times the cache
ROUNDS = 64  # parts of these bytes, which threads take one after the other
IN_CACHE = 4096  # numbers
PASSES = 500  # over them
MACHINE = "threads | precision | exp | write | read"
COLUMNS = "set | storage | entries | precision | threads | GEMM | tiles | exp | row | block | sel | product"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", help="default: all that are found, or random")
    parser.add_argument("--rows", type=int, help="the first ROWS rows of each set (default all; mnist 20,000)")
    parser.add_argument("--block", type=int, default=256, help="rows in a block (default 256)")
    parser.add_argument("--threads", type=int, nargs="+", help="default 1 and all")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of tables")
    args = parser.parse_args()
    counts = args.threads or sorted({1, threads.most()})
    machine = [limits(dtype, count, args.repeat) for count, dtype in product(counts, (np.float32, np.float64))]
    show(machine, MACHINE, args.json)
    terms = {(each["threads"], each["precision"]): each for each in machine}
    records = (
        measured(name, storage, X.astype(dtype), terms[count, np.dtype(dtype).name], args)
        for name, Xs in found(args)
        for (storage, X), dtype, count in product(Xs.items(), (np.float32, np.float64), counts)
    )
    show(records, COLUMNS, args.json)


def found(args) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, {"csr": X, "dense": X}) of the given sets, or of all sets that are found."""
    there = {entry.name for entry in available()}
    for name in args.sets or [name for name in SETS if name in there] or ["random"]:
        X = np.random.default_rng(0).normal(size=(50_000, 20)) if name == "random" else load(name).X
        X = X[: args.rows or ROWS.get(name)] / SCALE.get(name, 1.0)
        yield name, {"csr": sp.csr_array(X), "dense": X.toarray() if sp.issparse(X) else X}


def seconds(works: dict[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """Median seconds of each of `works`, which run alternately."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeat + 1):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            if turn:  # the first one compiles
                taken[name].append(time.perf_counter() - began)
    return {name: median(each) for name, each in taken.items()}


def measured(name: str, storage: str, X, terms: dict, args) -> dict[str, Any]:
    """Nanoseconds per value for one set in one storage, precision and number of threads."""
    rng, (m, d), dtype, count = np.random.default_rng(0), X.shape, X.dtype, terms["threads"]
    engine, q = engine_for(RBF(SETS[name]), X), min(args.block, X.shape[0])
    asked, half = np.sort(rng.permutation(m)[:q]), np.sort(rng.permutation(m)[: m // 2])
    Z, coef, singles = engine.take(asked), rng.normal(size=(q, 1)), asked[:: -(-q // SINGLE)]
    dense = X.toarray() if sp.issparse(X) else X
    points, out, part = dense[asked], np.zeros((q, m), dtype), np.zeros((q, half.size), dtype)

    def rows() -> None:
        for at, i in enumerate(singles):
            engine.block(engine.take(np.array([i])), out[at : at + 1])

    def gemm() -> None:
        with threadpool_limits(count, user_api="blas"):
            np.dot(points, dense.T, out)

    works = {
        "GEMM": gemm,
        "tiles": lambda: spread(multiply, -(-m // TILE), threads.LEAST, dense, points),
        "row": rows,
        "block": lambda: engine.block(Z, out),
        "sel": lambda: engine.block(Z, part, half),
        "product": lambda: engine.product(Z, coef, dtype=dtype),
    }
    with threads.using(count):
        taken = seconds(works, args.repeat)
    values = {way: q * m for way in works} | {"row": len(singles) * m, "sel": part.size}
    ns = {way: 1e9 * taken[way] / values[way] for way in works}
    entries, numbers = (X.nnz / m, X.nnz / m * (1 + 4 / dtype.itemsize)) if sp.issparse(X) else (float(d), float(d))
    multiply_add, rest = ns["tiles"] * entries / d, terms["exp"] + terms["write"]
    floors = {
        "row": max(multiply_add, numbers * terms["read"]) + rest,
        "block": multiply_add + rest,
        "sel": multiply_add + rest,
        "product": multiply_add + terms["exp"],
    }
    about = {"set": name, "storage": storage, "rows": m, "columns": d, "entries": entries, "block rows": q}
    return {**about, "precision": dtype.name, "threads": count, "exp": terms["exp"], **ns, "floors": floors}


def limits(dtype, count: int, repeat: int) -> dict[str, Any]:
    """Nanoseconds for an exponential in cache, for writing and for reading a number of a large array."""
    small, large = (
        np.ones((count, IN_CACHE), dtype),
        np.ones((ROUNDS, LARGE // ROUNDS // np.dtype(dtype).itemsize), dtype),
    )
    works = {
        "exp": lambda: spread(exponentials, count, threads.MOST, small),
        "write": lambda: spread(write, ROUNDS, threads.MOST, large),
        "read": lambda: spread(read, ROUNDS, threads.MOST, large, np.empty(ROUNDS, dtype)),
    }
    with threads.using(count):
        taken = seconds(works, repeat)
    sizes = {"exp": small.size * PASSES, "write": large.size, "read": large.size}
    return {"threads": count, "precision": np.dtype(dtype).name, **{k: 1e9 * taken[k] / sizes[k] for k in works}}


@njit(nogil=True, cache=True, fastmath={"contract", "nsz", "arcp"})  # as in the engine
def exponentials(first, last, x):
    """x = exp(-x), PASSES times; x >= 0, one row for each thread."""
    for t in range(first, last):
        row = x[t]
        for _ in range(PASSES):
            for k in range(row.size):
                row[k] = fast_exp(-row[k])


@njit(nogil=True, cache=True)
def multiply(first, last, X, Z):
    """Z @ X.T in tiles that are discarded."""
    for t in range(first, last):
        np.dot(Z, X[t * TILE : t * TILE + TILE].T)


@njit(nogil=True, cache=True)
def write(first, last, x):
    for t in range(first, last):
        row = x[t]
        for k in range(row.size):
            row[k] = 1


@njit(nogil=True, cache=True, fastmath=True)
def read(first, last, x, totals):
    for t in range(first, last):
        row = x[t]
        total = row[0] - row[0]
        for k in range(row.size):
            total += row[k]
        totals[t] = total


def show(records, columns: str, as_json: bool) -> None:
    """Print records as a table of nanoseconds, each with the multiple of its floor if it has one."""
    if not as_json:
        print(f"\n| {columns} |\n" + "|---" * len(columns.split(" | ")) + "|")
    for record in records:
        floors = record.get("floors", {})
        cells = [cell(record[key], floors.get(key)) for key in columns.split(" | ")]
        print(json.dumps(record) if as_json else "| " + " | ".join(cells) + " |", flush=True)


def cell(value, floor: float | None) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2f}" + (f" ({value / floor:.1f})" if floor else "")


if __name__ == "__main__":
    main()
