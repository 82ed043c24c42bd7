"""Measure how time, kernel values and memory grow with the rows of one distribution, to a certified gap of 1e-3.

    python examples/benchmarks/growth.py --out docs/growth

kddcup (normal against the rest, 494,021 rows; log(1 + x), columns divided by their largest) and ijcnn1 with ijcnn1.t
(141,691 rows) are cut into nested random subsets of the sizes in --sizes and all rows. Every fit runs in a process of
its own, so that its peak of memory can be measured, after a small fit that compiles. A side that does not end within
--limit seconds is not run on larger sizes. The exponent is the slope of a least-squares line through log time against
log rows. Measurements go to OUT.jsonl as they are made, and an interrupted run goes on where it stopped; OUT.md is
written between its marks, with OUT.png. Peers (--peers svc,intelex) train at their default tolerance of 1e-3, as far as
the limit allows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
from peers_cells import write
from peers_remote import Failed, Remote, interpreter
from peers_tables import insert, markdown, number

from svmkit.data import load

EXPONENT = 1.3  # the target
GAP = 1e-3
AGAIN = 20.0  # seconds: fits that take less are made --repeat times, for a median
PEERS = ("svc", "intelex")
SETS = {"kddcup": (1.0, 0.25), "ijcnn1": (5.0, 1 / 5.16)}  # C, gamma
ROWS = {"kddcup": 494_021, "ijcnn1": 141_691}  # in the real sets
MARKS = "<!-- measured by growth.py: begin -->", "<!-- measured by growth.py: end -->"
COLUMNS = (
    "set | solver | rows | s | kernel values, millions | of all, % | memory above the data, MB | SVs | gap | status"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="write OUT.jsonl, OUT.md and OUT.png")
    parser.add_argument("--data", default=",".join(SETS), help=f"default {','.join(SETS)}")
    parser.add_argument("--sizes", default="10000,20000,50000,100000,200000", help="rows; all of a set come last")
    parser.add_argument("--most", type=int, help="no more rows than that: for a quick trial")
    parser.add_argument("--solvers", default="fcfw,fcsmo", help="default fcfw,fcsmo")
    parser.add_argument("--peers", default="svc", help="svc,intelex or none (default svc)")
    parser.add_argument("--python", action="append", default=[], metavar="SIDE=PATH", help="interpreter of a peer")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a fit (default 600)")
    parser.add_argument("--repeat", type=int, default=3, help=f"fits that take less than {AGAIN:g} s (default 3)")
    parser.add_argument("--fresh", action="store_true", help="forget what OUT.jsonl holds")
    parser.add_argument("--report", action="store_true", help="measure nothing, only write the table and the picture")
    args = parser.parse_args()
    args.pythons = dict(pair.split("=", 1) for pair in args.python)

    out = Path(args.out)
    lines = out.with_suffix(".jsonl")
    lines.parent.mkdir(parents=True, exist_ok=True)
    if args.fresh:
        lines.unlink(missing_ok=True)
    if not args.report:
        for name in args.data.split(","):
            measure(name, lines, args)
    records = known(lines)
    picture(out.with_suffix(".png"), records)
    insert(out.with_suffix(".md"), report(records, out), MARKS)
    print(f"{out.with_suffix('.md')} and its picture are written")


def known(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def measure(name: str, path: Path, args) -> None:
    """All solvers on subsets of one set, the smallest first."""
    X, y = data(name)
    order = np.random.default_rng(0).permutation(len(y))
    most = min(args.most or len(y), len(y))
    sizes = [n for n in map(int, args.sizes.split(",")) if n < most] + [most]
    sides = [*args.solvers.split(","), *(peer for peer in args.peers.split(",") if peer in PEERS)]
    stopped: set[str] = set()
    for m in sizes:
        wanted = [s for s in sides if s not in stopped and not done(known(path), name, s, m, args)]
        rows = np.sort(order[:m])
        with tempfile.TemporaryDirectory() as folder:
            if wanted:
                write(Path(folder), "train", X[rows])
                np.save(Path(folder) / "y.npy", y[rows])
            for solver in wanted:
                record = {"data": name, "solver": solver, "m": m, "memory": args.memory, "threads": args.threads}
                record |= fitted(folder, name, solver, m, args)
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
                print(record, file=sys.stderr, flush=True)
        ended = [s for s in sides if (r := done(known(path), name, s, m, args)) and r["status"] != "converged"]
        stopped.update(ended)


def done(records, name: str, solver: str, m: int, args) -> dict[str, Any] | None:
    """The record of this fit, or None."""
    like = {"data": name, "solver": solver, "m": m, "memory": args.memory, "threads": args.threads}
    return next((r for r in reversed(records) if all(r[key] == value for key, value in like.items())), None)


def data(name: str) -> tuple[sp.csr_matrix, np.ndarray]:
    """X (m, d) and signs; in kddcup +1 is an attack."""
    if name == "kddcup":
        found = load("kddcup.data_10_percent")
        X = sp.csr_matrix(found.X)
        X.data = np.log1p(np.abs(X.data))
        largest = np.maximum(abs(X).max(axis=0).toarray().ravel(), 1e-300)
        return sp.csr_matrix(X @ sp.diags(1.0 / largest)), np.where(found.y == "normal.", -1.0, 1.0)
    parts = [load(part) for part in (name, f"{name}.t")]
    width = max(part.X.shape[1] for part in parts)
    stacked = [sp.csr_matrix(part.X) for part in parts]
    for X in stacked:
        X.resize(X.shape[0], width)
    y = np.concatenate([part.y for part in parts])
    return sp.vstack(stacked, format="csr"), np.where(y == np.unique(y)[-1], 1.0, -1.0)


def fitted(folder: str, name: str, solver: str, m: int, args) -> dict[str, Any]:
    """One fit in a fresh process."""
    C, gamma = SETS[name]
    side = solver if solver in PEERS else "svmkit"
    job: dict[str, Any] = {"C": C, "gamma": gamma, "tol": 1e-3}
    if side == "svmkit":
        job |= {"solver": solver, "stop": f"gap:{GAP}", "memory": args.memory, "limit": args.limit}
    remote = None
    try:
        remote = Remote(interpreter(args.pythons, side), side, args.threads)
        remote.ask("load", folder=folder, storage="csr")
        remote.ask("first", small=min(m, 6000), job=job)
        save, limit = str(Path(folder) / "found.npz"), args.limit * (1.5 if side == "svmkit" else 1.0)
        found = remote.ask("fit", limit=limit, job=job, save=save)  # the first fit's memory is the one that counts
        again = args.repeat - 1 if found["seconds"] < AGAIN else 0
        every = [found["seconds"], *(remote.ask("fit", limit=limit, job=job)["seconds"] for _ in range(again))]
        found |= {"seconds": median(every), "all": every}
        found.pop("history", None)
        with np.load(save) as arrays:
            found["n_support"] = int(np.count_nonzero(arrays["point"]))
        return {"status": "converged", **found}
    except Failed as failed:
        return {"status": str(failed)}
    finally:
        if remote is not None:
            remote.close()


def curves(records: list[dict[str, Any]]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """(set, solver, fits in order of their rows); fits that ended by themselves or were stopped with a model."""
    found: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for record in records:
        if "seconds" in record:
            found.setdefault((record["data"], record["solver"]), {})[record["m"]] = record
    return [(name, solver, [runs[m] for m in sorted(runs)]) for (name, solver), runs in found.items()]


def exponent(runs: list[dict[str, Any]]) -> float | None:
    """Slope of log seconds against log rows for the fits that converged; None if there are fewer than two."""
    used = [(r["m"], r["seconds"]) for r in runs if r["status"] == "converged"]
    if len(used) < 2:
        return None
    m, seconds = np.log(np.array(used)).T
    return float(np.polyfit(m, seconds, 1)[0])


def report(records: list[dict[str, Any]], out: Path) -> str:
    """The table of exponents, all figures, the picture."""
    found = curves(records)
    ways = [[name, solver, number(exponent(runs), ".2f")] for name, solver, runs in found]
    rows = []
    for name, solver, runs in found:
        for r in runs:
            values = r.get("kernel_values")
            cells = [number(r["seconds"], ".3g"), number(values and values / 1e6, ",.0f")]
            cells += [number(values and 100 * values / r["m"] ** 2, ".1f"), number(r["peak_mb"], ",.0f")]
            rows.append(
                [name, solver, f"{r['m']:,}", *cells, f"{r['n_support']:,}", number(r.get("gap"), ".1e"), r["status"]]
            )
    failed = [[r["data"], r["solver"], f"{r['m']:,}", *[""] * 6, r["status"]] for r in records if "seconds" not in r]
    about = (
        f"{os.cpu_count()} cores. C and gamma: " + ", ".join(f"{k} {C:g}, {g:.4g}" for k, (C, g) in SETS.items()) + "."
    )
    largest = {name: max(r["m"] for r in records if r["data"] == name) for name, *_ in found}
    if any(m < ROWS[name] for name, m in largest.items()):
        about = f"**A quick trial that does not reach all rows: these figures say nothing.**\n\n{about}"
    lines = [about, "", *markdown("set | solver | exponent of time", ways), ""]
    lines += [f"![Growth]({out.with_suffix('.png').name})", "", *markdown(COLUMNS, rows + failed)]
    return "\n".join(lines)


def picture(path: Path, records: list[dict[str, Any]]) -> None:
    """Time, kernel values and memory against rows."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    panels = ("seconds", "seconds"), ("kernel_values", "kernel values"), ("peak_mb", "memory above the data, MB")
    for k, (name, solver, runs) in enumerate(curves(records)):
        slope = exponent(runs)
        label = f"{name}, {solver}" + (f": exponent {slope:.2f}" if slope is not None else "")
        for axis, (key, _) in zip(axes, panels, strict=True):
            points = [(r["m"], r[key]) for r in runs if (r.get(key) or 0) > 0]
            if points:
                style = "s--" if solver in PEERS else "o-"
                axis.loglog(*zip(*points, strict=True), style, color=f"C{k}", label=label, ms=4)
        used = [r for r in runs if r["status"] == "converged"]
        if slope is not None:
            m = np.array([r["m"] for r in used], dtype=float)
            shift = np.mean([np.log(r["seconds"]) - slope * np.log(r["m"]) for r in used])
            axes[0].loglog(m, np.exp(shift) * m**slope, ":", color=f"C{k}", lw=1)
    sizes = sorted({r["m"] for r in records if "seconds" in r})
    for axis, (_, words) in zip(axes, panels, strict=True):
        axis.set(xlabel="rows, thousands", ylabel=words)
        crowded = [any(1.0 < m / other < 1.45 for other in sizes) for m in sizes]  # labels would overlap
        axis.set_xticks(sizes, ["" if near else f"{m / 1000:.4g}" for near, m in zip(crowded, sizes, strict=True)])
        axis.minorticks_off()
        axis.grid(alpha=0.3, which="major")
    if records:
        figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=9
        )
    figure.suptitle(f"To a certified gap of {GAP:g}; dotted: the fitted exponent", fontsize=11)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
