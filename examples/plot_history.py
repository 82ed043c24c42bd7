"""
Histories of three solvers
==========================

Plot three solvers on one problem: gap against seconds, and accuracy against support vectors.

.. code-block:: sh

    python examples/plot_history.py [--solvers partan swap2o fcfw] [--tol 1e-5] [--out history.png]

The problem is even against odd digits of the built-in set digits; every third row is held out to measure the accuracy.
Times do not include compilation. A table of the last points goes to stdout.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from svmkit import SVMClassifier, load, plot_history
from svmkit.cli.extending import warming


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solvers", nargs="+", default=["partan", "swap2o", "fcfw"])
    parser.add_argument("--tol", type=float, default=1e-5, help="relative gap to reach (default 1e-5)")
    parser.add_argument("--limit", type=float, default=2.0, help="seconds for a solver (default 2)")
    parser.add_argument("--out", default="history.png", help="picture to write: .png, .svg or .pdf")
    args = parser.parse_args()

    for _, work in warming.steps(args.solvers):
        work()
    data = load("digits")
    X, y = data.X, data.y % 2
    held_out = np.arange(len(y)) % 3 == 0
    validation = (X[held_out], y[held_out])
    models = {
        solver: SVMClassifier(solver, C=10, tol=args.tol, time_limit=args.limit).fit(
            X[~held_out], y[~held_out], validation=validation
        )
        for solver in args.solvers
    }
    last = {name: model.history_[0].to_frame().tail(1) for name, model in models.items()}
    print(pd.concat(last).droplevel(1).to_string())

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    plot_history(models, ax=left)
    plot_history(models, x="n_support", y="accuracy", ax=right)
    figure.savefig(args.out, dpi=150)
    print(f"\nsee {args.out}")


if __name__ == "__main__":
    main()
