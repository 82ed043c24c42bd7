"""Measure iterations and time of the Frank-Wolfe family to each tolerance: the PARTAN paper's Tables 2-3 and Figure 3.

    python examples/benchmarks/frank_wolfe.py a9a -C 0.5 --gamma 0.005 --decades 3 --out docs/frank_wolfe_a9a

DATA is a set's name or a file with two classes. Delta is that of the PARTAN paper, alpha'g - min g; svmkit's abs is
twice Delta. Each solver goes on from one tolerance to the next with one kernel cache; times do not include compilation.
Writes OUT.md (the table) and OUT.png (gap against iterations and against time).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from svmkit import plugins
from svmkit.cli.extending import warming
from svmkit.data import load
from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.problems.simplex import SquaredHinge
from svmkit.solver.loop.iterate import Progress
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Absolute, Iterations, Seconds

FAMILY = ("fw", "mfw", "swap", "swap2o", "mdm", "partan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("-C", type=float, default=0.5)
    parser.add_argument("--gamma", default="msd")
    parser.add_argument("--rows", type=int, help="the first ROWS rows only")
    parser.add_argument("--decades", type=int, default=3, help="Delta from 1e-3 down, this many (default 3)")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a solver and tolerance (default 600)")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--out", required=True, help="write OUT.md and OUT.png")
    args = parser.parse_args()

    for _, work in warming.steps(FAMILY):
        work()
    data = load(args.data)
    X, y = data.X[: args.rows], data.y[: args.rows]
    assert data.y is not None
    signs = np.where(y == np.unique(y)[-1], 1.0, -1.0)
    kernel = RBF(args.gamma).resolve(X)
    deltas = [10.0 ** -(3 + k) for k in range(args.decades)]
    table, curves = {}, {}
    for name in FAMILY:
        table[name], curves[name] = run(name, X, signs, kernel, args, deltas)
    title = f"{data.name}: {X.shape[0]:,} rows, C = {args.C:g}, gamma = {kernel.gamma:.4g}"
    Path(f"{args.out}.md").write_text(markdown(title, table, deltas), encoding="utf-8")
    picture(title, curves, f"{args.out}.png")
    print(markdown(title, table, deltas))


def run(name, X, y, kernel, args, deltas):
    """For each Delta (iterations, seconds, support vectors, relative gap), or None if time ran out; and the curve."""
    problem = SquaredHinge(Gram(kernel, X, memory=args.memory), y, args.C)
    cells, curve, progress = [], [], None
    for delta in deltas:
        budget = (progress.seconds if progress else 0.0) + args.limit
        rules = Absolute(2.0 * delta) | Seconds(budget) | Iterations(10**9)
        solution = solve(problem, plugins.build("solver", name), stop=rules, start=progress)
        curve += solution.history
        progress = Progress(solution.point, solution.n_iter, 0.0, solution.seconds)
        if solution.status != "converged":
            cells += [None] * (len(deltas) - len(cells))
            break
        cells.append((solution.n_iter, solution.seconds, solution.n_support, solution.certificate.gap))
        print(f"{name} {delta:.0e}: {cells[-1]}", file=sys.stderr)
    return cells, curve


def markdown(title: str, table: dict, deltas: list[float]) -> str:
    lines = [f"{title}. Iterations (seconds; support vectors; certified relative gap) to each Delta.", ""]
    lines.append("| solver | " + " | ".join(f"{d:.0e}" for d in deltas) + " |")
    lines.append("|---|" + "---|" * len(deltas))
    for name, cells in table.items():
        shown = [f"{c[0]:,} ({c[1]:.1f} s; {c[2]:,}; {c[3]:.1e})" if c else "time limit" for c in cells]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def picture(title: str, curves: dict, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for name, points in curves.items():
        gaps = [max(p.gap, 1e-12) for p in points]
        axes[0].loglog([p.n_iter for p in points], gaps, label=name, lw=1.4)
        axes[1].loglog([max(p.seconds, 1e-3) for p in points], gaps, label=name, lw=1.4)
    axes[0].set(xlabel="iterations", ylabel="relative gap, 2 (f - min g) / f")
    axes[1].set(xlabel="seconds")
    for axis in axes:
        axis.grid(alpha=0.3, which="major")
    axes[1].legend(frameon=False)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
