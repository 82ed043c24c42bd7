"""Iterations, kernel values, support vectors and memory of twelve small works, compared with those of the last record.

    python .ci/history.py              # measures, and names what docs/history.json does not agree with
    python .ci/history.py --write      # records what is measured, for the version that CHANGELOG.md ends with

Every work takes generated data, fixed seeds and one thread. A figure has changed if it differs by more than 2 %; what
has changed since the last release needs a line under "### Figures" in CHANGELOG.md: "- `smo`, kernel values: why".
Counts are those of any machine: rounding decides none of them, except where LOOSE says so. Memory is the peak that
tracemalloc sees in a second run (numpy's arrays and Python's objects, not what compiled loops allocate); objects differ
between versions of Python and numpy, and 160 KiB more or less are none.
"""

import argparse
import gc
import json
import re
import runpy
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from svmkit import fit, plugins
from svmkit.kernels import RBF, Linear
from svmkit.solver import Gap
from svmkit.tune import search

ROOT = Path(__file__).parents[1]
RECORD = "docs/history.json"
UNRELEASED = "unreleased"
CHANGE = 0.02
PEAK, SPARE = "peak KiB", 160
# Where a choice hangs on rounding, in which processors differ: among cutting planes that are all but equal (with noise
# of 1e-13 26 to 29 iterations and 29 to 34 support vectors), among pairs of which a cache that is too small holds the
# rows (1 to 2 %), and among the vertices of swap2o, whose gap is looked at every 200 iterations or so: a processor with
# AVX-512 takes 2,996 iterations, one without 3,386, and both may take 3,600 of data that differ by 4e-7.
LOOSE = {
    ("ocas", "iterations"): 0.15,
    ("ocas", "support vectors"): 0.2,
    ("smo", "iterations"): 0.04,
    ("svmlight", "iterations"): 0.04,
    ("svmlight", "kernel values"): 0.04,
    ("swap2o", "iterations"): 0.25,
    ("swap2o", "kernel values"): 0.25,
    ("swap2o", "support vectors"): 0.04,
}

Figures = dict[str, int]
Data = dict[str, tuple[np.ndarray, np.ndarray]]


def make_data(noise: int = 0) -> Data:
    """Return the sets by name. With a seed, their values are moved by about 1e-13 of themselves: another rounding."""
    sets = {
        "two": cloud(2500, 8, 2, 1.6, seed=1),
        "four": cloud(1600, 6, 4, 1.2, seed=2),
        "wide": cloud(800, 40, 2, 2.5, seed=3),
        "many": cloud(8000, 8, 2, 2.6, seed=1),  # of which half are support vectors
    }
    if not noise:
        return sets
    rng = np.random.default_rng(noise)
    return {name: (X * (1.0 + 4e-13 * (rng.random(X.shape) - 0.5)), y) for name, (X, y) in sets.items()}


def cloud(n: int, d: int, n_classes: int, spread: float, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return classes that overlap, of sums of uniform numbers: exactly the same on every machine."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    centres = rng.integers(-4, 5, size=(n_classes, d)) / 4.0
    return centres[y] + spread * (rng.random((n, d)) + rng.random((n, d)) + rng.random((n, d)) - 1.5), y


def fit_cell(
    data: str, solver: str, own: dict | None = None, *, gap: float = 1e-3, **options
) -> Callable[[Data], Callable]:
    """A work: one fit to a certified gap by a solver with options of its own."""

    def prepare(sets: Data) -> Callable[[], Figures]:
        def work() -> Figures:
            how = {"kernel": RBF(0.25), "n_threads": 1, "stop": Gap(gap)} | options
            fitted = fit(*sets[data], solver=plugins.build("solver", solver, own), **how)
            values = int(fitted.kernel_values)
            return {"iterations": fitted.n_iter, "kernel values": values, "support vectors": len(fitted.support)}

        return work

    return prepare


def search_cell(sets: Data) -> Callable[[], Figures]:
    """A work: two kernels by three C in three folds; the sums over all fits."""
    folds, names = 3, {"n_iter": "iterations", "kernel_values": "kernel values", "n_support": "support vectors"}

    def work() -> Figures:
        grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 0.5]}
        found = search(*sets["four"], solver="smo", kernel=RBF(0.25), grid=grid, cv=folds, n_threads=1).candidates
        return {name: round(folds * sum(getattr(each, fact) for each in found)) for fact, name in names.items()}

    return work


# Working sets begin small and grow in several rounds; caches hold a part of the rows, so that some are computed
# anew; of four classes, six pairs have 800 samples each; `auto` takes what is meant for more than 5,000 samples.
CELLS = {
    "fcsmo": fit_cell("two", "fcsmo", {"first": 100}, C=4.0),
    "smo": fit_cell("four", "smo", gap=1e-5, C=100.0, memory="1MB"),
    "svmlight": fit_cell("two", "svmlight", C=10.0, memory="4MB"),
    "fcfw": fit_cell("two", "fcfw", {"first": 100}, C=4.0),
    "swap2o": fit_cell("two", "swap2o", gap=1e-2, C=4.0, memory="4MB"),
    "dcd": fit_cell("wide", "dcd", kernel=Linear(), gap=1e-4),
    "newton": fit_cell("wide", "newton", kernel=Linear(), gap=1e-6, C=100.0),
    "cd": fit_cell("wide", "cd", kernel=Linear(), penalty="l1", gap=1e-4),
    "ocas": fit_cell("wide", "ocas", kernel=Linear(), C=0.003),
    "klr": fit_cell("two", "klr", C=10.0, gap=1e-4),
    "auto": fit_cell("many", "auto"),
    "search": search_cell,
}


def measure(noise: int = 0, memory: bool = True) -> dict[str, Figures]:
    """Return the figures of each cell."""
    sets, out = make_data(noise), {}
    for name, prepare in CELLS.items():
        work = prepare(sets)
        out[name] = work()  # compiles as well
        if memory:
            out[name][PEAK] = measure_peak(work)
    return out


def measure_peak(work: Callable) -> int:
    """Return the peak of traced memory in KiB; garbage in circles counts until the work ends, whenever it is made."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        work()
        return round(tracemalloc.get_traced_memory()[1] / 1024)
    finally:
        tracemalloc.stop()
        gc.enable()


def changes(old: dict[str, Figures], new: dict[str, Figures]) -> Iterator[tuple[str, str, str]]:
    """Yield (cell, figure, from what to what) of what has changed; a cell or a figure that is new or gone has, too."""
    for cell in dict.fromkeys([*old, *new]):
        before, after = old.get(cell, {}), new.get(cell, {})
        for figure in dict.fromkeys([*before, *after]):
            was, now = before.get(figure), after.get(figure)
            if was is None or now is None:
                yield cell, figure, f"{spell(was)} to {spell(now)}"
                continue
            least = max(LOOSE.get((cell, figure), CHANGE) * was, SPARE if figure == PEAK else 0)
            if abs(now - was) > least:
                yield cell, figure, f"{was:,} to {now:,}" + (f" ({now / was - 1.0:+.1%})" if was else "")


def spell(value: int | None) -> str:
    return "nothing" if value is None else f"{value:,}"


def current(sections: list[tuple[str, str, str]]) -> str:
    """Return the version that the newest entries of the changelog are of."""
    name = next((name for name, _, text in sections if name != "Unreleased" or text), "Unreleased")
    return UNRELEASED if name == "Unreleased" else name


def recorded(history: dict, version: str) -> dict[str, Figures]:
    """Return the figures that those of `version` have to be: its own, or before any change those of the last."""
    return history.get(version) or next(reversed(history.values()), {})


def record(history: dict, version: str, figures: dict[str, Figures]) -> dict:
    """Return the history with the figures of `version` last; what was unreleased is released, or replaced."""
    kept = {name: each for name, each in history.items() if name not in (version, UNRELEASED)}
    return {**kept, version: figures}


def faults(history: dict, sections: list[tuple[str, str, str]]) -> list[str]:
    """Return what the record and the changelog do not agree in, a line each."""
    *others, newest = history
    version = current(sections)
    if newest == UNRELEASED != version:
        return [f"{RECORD} has figures of {UNRELEASED!r}, and this is {version}: python .ci/history.py --write"]
    if not others:
        return []
    text = next((text for name, _, text in sections if name.lower() == newest), "")
    part = re.search(r"^### Figures\n(.*?)(?=^### |\Z)", text, re.M | re.S)
    lines = [] if part is None else re.split(r"^- ", part[1], flags=re.M)
    return [
        f"CHANGELOG.md does not say that `{cell}` has changed since {others[-1]}: under [{newest}], ### Figures, write"
        f'\n"- `{cell}`, {figure}: {what}, because ..."'
        for cell, figure, what in changes(history[others[-1]], history[newest])
        if not any(f"`{cell}`" in line and figure in line for line in lines)
    ]


def dump(history: dict) -> str:
    """Return the record as text, a cell in each line."""
    parts = []
    for version, cells in history.items():
        lines = ",\n".join(f"    {json.dumps(cell)}: {json.dumps(figures)}" for cell, figures in cells.items())
        parts.append(f"  {json.dumps(version)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"record what is measured in {RECORD}")
    args = parser.parse_args()
    path = ROOT / RECORD
    history = json.loads(path.read_text("utf-8")) if path.exists() else {}
    sections = runpy.run_path(str(ROOT / ".ci" / "notes.py"))["sections"](ROOT)
    version, figures = current(sections), measure()
    told = []
    if args.write:
        history = record(history, version, figures)
        path.write_text(dump(history), "utf-8")
        print(f"{path} has the figures of {version}")
    else:
        told = [
            f"{cell}: {figure} {what}: `python .ci/history.py --write` records it, and what differs from the last "
            f"release needs a line in CHANGELOG.md under ### Figures that names `{cell}`"
            for cell, figure, what in changes(recorded(history, version), figures)
        ]
    told += faults(history, sections)
    if told:
        raise SystemExit("\n".join(told))
    if not args.write:
        print(f"{len(figures)} cells, no figure has changed")


if __name__ == "__main__":
    main()
