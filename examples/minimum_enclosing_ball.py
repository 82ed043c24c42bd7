"""
The smallest ball around points
===============================

Compute the smallest ball around a set of points with every solver that minimises over the simplex.

.. code-block:: sh

    python examples/minimum_enclosing_ball.py [--limit 20] [--tol 1e-6]

The ball of the rows of X has squared radius -min alpha'A alpha + 2 c'alpha over the unit simplex with A = X X' and
c = -diag(A) / 2, and center X'alpha. Its support vectors are the points on its surface. The sets are usps from
$SVMKIT_DATA, or scikit-learn's digits, and random points. Every ball is checked from scratch: no point is farther from
the center than the certified gap allows, and the points with weight are at that distance. If quadprog is installed, it
solves a part of each set, too. A solver that does not reach --tol ends after --limit seconds with a larger gap.

Not run for this page: it takes up to ten minutes.
"""

from __future__ import annotations

import argparse
import importlib.util

import numpy as np

import svmkit
from svmkit import plugins
from svmkit.cli.extending import warming
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.solution import Solution

PART = 200  # points for quadprog


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for a solver and set (default 20)")
    parser.add_argument("--tol", type=float, default=1e-6, help="relative gap of R^2 to certify (default 1e-6)")
    args = parser.parse_args()
    names = plugins.solvers_where(lambda solver: solver.problem is SimplexQP)
    for _, work in warming.steps(names):
        work()
    for title, X in sets():
        print(f"\n{title}: {X.shape[0]:,} points in {X.shape[1]} dimensions\n")
        print("| solver | radius | iterations | seconds | support | certified gap |\n|---|---|---|---|---|---|")
        for name in names:
            solution = ball(X, name, args)
            print(row(name, X, solution), flush=True)
        if importlib.util.find_spec("quadprog"):
            print(f"\n{agreement(X[:: max(1, len(X) // PART)][:PART], names, args)}")


def sets():
    """(title, X) of each set."""
    rng = np.random.default_rng(0)
    try:
        real = svmkit.load("usps")
    except svmkit.InputError:
        real = svmkit.load("digits")
    yield real.name, real.X.toarray() if hasattr(real.X, "toarray") else real.X
    yield "normal", rng.normal(size=(20_000, 10))
    sphere = rng.normal(size=(5_000, 3))
    yield "on a sphere, almost", sphere / np.linalg.norm(sphere, axis=1)[:, None] * rng.uniform(0.999, 1.0, (5_000, 1))


def ball(X: np.ndarray, solver: str, args: argparse.Namespace) -> Solution:
    c = -0.5 * np.einsum("ij,ij->i", X, X)
    return svmkit.minimize_simplex(("linear", X), c, solver=solver, tol=args.tol, time_limit=args.limit, max_iter=10**9)


def row(name: str, X: np.ndarray, solution: Solution) -> str:
    """A line of the table, for a ball that has been checked from scratch."""
    alpha, certificate = solution.point, solution.certificate
    squared = np.square(X - alpha @ X).sum(axis=1)
    below, above = -certificate.primal, -certificate.dual  # bounds of R^2
    assert squared.max() <= above * (1 + 1e-9), "a point lies outside the ball"
    assert alpha @ (above - squared) <= (above - below) * (1 + 1e-9) + 1e-9 * above, "weight inside the ball"
    if solution.status == "converged" and certificate.gap <= 2e-6:
        assert np.sqrt(squared.max()) <= np.sqrt(below) * (1 + 1e-6)
    cells = (
        f"{np.sqrt(below):.6f}",
        f"{solution.n_iter:,}",
        f"{solution.seconds:.2f}",
        f"{np.count_nonzero(alpha)}",
        f"{certificate.gap:.1e}{'' if solution.status == 'converged' else f' ({solution.status})'}",
    )
    return f"| {name} | {' | '.join(cells)} |"


def agreement(X: np.ndarray, names: list[str], args: argparse.Namespace) -> str:
    """How far the balls of X are from quadprog's, which solves for the center: min c'c + t, t >= |x|^2 - 2 c'x."""
    import quadprog

    m, d = X.shape
    squared = np.einsum("ij,ij->i", X, X)
    size = np.sqrt(squared.max())
    G = np.diag(np.r_[np.full(d, 2.0), 1e-8])  # it takes a strictly convex problem only
    rows = np.column_stack([2.0 * X / size, np.ones(m)])
    center = quadprog.solve_qp(G, np.r_[np.zeros(d), -1.0], rows.T, squared / size**2)[0][:d] * size
    radius = np.sqrt(np.square(X - center).sum(axis=1).max())
    off = {name: abs(np.sqrt(-ball(X, name, args).certificate.primal) / radius - 1) for name in names}
    worst = max(off, key=lambda name: off[name])
    return f"quadprog, {m} of them: radius {radius:.6f}; all within {off[worst]:.1e} of it (farthest: {worst})"


if __name__ == "__main__":
    main()
