"""
A path of C
===========

Compare a path of C, where each solve starts at the last solution, with a separate solve for each C.

.. code-block:: sh

    python examples/benchmarks/c_path.py [DATA] [--rows 10000] [--test ijcnn1.t] [--out c_path.png]

DATA is the name of a set or a file, digits by default. The table shows iterations, seconds in the solvers and kernel
values of both, the test accuracy and the certified gap of the path's models, and totals; the picture shows the
iterations. Times do not include compilation.
"""

from __future__ import annotations

import argparse

from matplotlib.figure import Figure

from svmkit import c_path, fit, load
from svmkit.cli.extending import warming
from svmkit.kernels.functions import RBF
from svmkit.solver.stopping import Gap
from svmkit.training.result import Fit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="digits", help="a set or a file (default digits)")
    parser.add_argument("--test", help="test set; without one the accuracy is measured on the training rows")
    parser.add_argument("--rows", type=int, help="the first ROWS rows only")
    parser.add_argument("--n-features", type=int, help="number of columns, if the last columns of the set are empty")
    parser.add_argument("--gamma", default="msd")
    parser.add_argument("--Cs", type=float, nargs="+", default=[10.0 ** (k / 2) for k in range(-4, 5)])
    parser.add_argument("--solver", default="swap2o")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--out", default="c_path.png", help="picture to write: .png, .svg or .pdf")
    args = parser.parse_args()

    for _, work in warming.steps([args.solver]):
        work()
    data = load(args.data, n_features=args.n_features)
    X, y = data.X[: args.rows], data.y[: args.rows]
    held_out = load(args.test, n_features=data.n_features) if args.test else None
    X_test, y_test = (held_out.X, held_out.y) if held_out else (X, y)
    common = {"solver": args.solver, "kernel": RBF(args.gamma).resolve(X), "stop": Gap(args.tol)}
    print(f"{data.name}: {X.shape[0]:,} rows, gamma {common['kernel'].gamma:.4g}, {args.solver}, tol {args.tol:g}\n")
    warm = c_path(X, y, args.Cs, **common)
    cold = [fit(X, y, C=C, **common) for C in args.Cs]

    print(f"{'':>8}  {'iterations':>19}  {'seconds':>15}  {'kernel values':>17}  {'accuracy':>8}  {'gap':>7}")
    print(f"{'C':>8}  {'path':>9} {'alone':>9}  {'path':>7} {'alone':>7}  {'path':>8} {'alone':>8}")
    for C, a, b in zip(args.Cs, warm, cold, strict=True):
        accuracy = (a.model.predict(X_test) == y_test).mean()
        print(f"{C:>8.3g}  {figures([a], [b])}  {accuracy:>8.2%}  {a.gap:>7.0e}" + " *" * (a.n_iter > b.n_iter))
    print(f"{'total':>8}  {figures(warm, cold)}")
    shares = [sum(f(a) for a in warm) / sum(f(b) for b in cold) for f in (iterations, seconds, values)]
    print(f"{'ratio':>8}  {shares[0]:>19.2f}  {shares[1]:>15.2f}  {shares[2]:>17.2f}")
    if any(a.n_iter > b.n_iter for a, b in zip(warm, cold, strict=True)):
        print("\n* more iterations than alone")
    draw(args.out, args.Cs, warm, cold)
    print(f"\nsee {args.out}")


def draw(path: str, Cs: list[float], warm: list[Fit], cold: list[Fit]) -> None:
    """Draw the iterations for each C, as a path and alone."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.semilogx(Cs, [iterations(fitted) for fitted in cold], "o--", label="each C alone")
    axes.semilogx(Cs, [iterations(fitted) for fitted in warm], "o-", label="path: each C starts at the last solution")
    axes.set(xlabel="C", ylabel="iterations", ylim=(0, None))
    axes.legend()
    figure.savefig(path, dpi=150)


def figures(warm: list[Fit], cold: list[Fit]) -> str:
    """Sums of the path and of the solves alone, side by side."""
    pairs = [(sum(f(a) for a in warm), sum(f(b) for b in cold)) for f in (iterations, seconds, values)]
    (i, j), (s, t), (u, v) = pairs
    return f"{i:>9,} {j:>9,}  {s:>7.2f} {t:>7.2f}  {u / 1e6:>7.1f}M {v / 1e6:>7.1f}M"


def iterations(fitted: Fit) -> int:
    return fitted.n_iter


def seconds(fitted: Fit) -> float:
    return sum(s.seconds for s in fitted.solutions)


def values(fitted: Fit) -> int:
    return fitted.kernel_values


if __name__ == "__main__":
    main()
