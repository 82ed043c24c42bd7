"""Checks on the draws of sampler plugins."""

from __future__ import annotations

import numpy as np

from svmkit import plugins
from svmkit.conformance.result import Check, check
from svmkit.conformance.solvers import problem_for, solve_with, tolerance, toy
from svmkit.solver.sampler import Draws, Sampler
from svmkit.solver.stopping import Gap


def _sampler_draws(sampler: Sampler) -> str | None:
    """draws(y, rng) yields, for ever, non-empty 1-d integer arrays of indices into y; equal rng, equal arrays."""
    _, y = toy()
    runs: list[list[np.ndarray]] = []
    for _ in range(2):
        draws = Draws(sampler, y, np.random.default_rng(5))
        runs.append([draws() for _ in range(300)])
    for k, draw in enumerate(runs[0]):
        if draw.dtype.kind != "i" or draw.ndim != 1 or not len(draw):
            return f"draw {k + 1} should be a non-empty 1-d integer array, not {draw.dtype} {draw.shape}"
        if draw.min() < 0 or draw.max() >= len(y):
            return f"draw {k + 1} has indices outside 0..{len(y) - 1}"
        if sampler.every and not np.array_equal(np.unique(draw), np.arange(len(y))):
            return "declared to draw every point, but a draw lacks some"
    if any(not np.array_equal(a, b) for a, b in zip(*runs, strict=True)):
        return "two Generators of one seed gave different draws"
    if len(np.unique(np.concatenate(runs[0]))) < len(y):
        return f"300 draws never reached some of {len(y)} points: a solver could never learn from these points"
    return None


def _sampler_solves(sampler: Sampler) -> str | None:
    """Every point is drawn often enough for solvers to reach their tolerance."""
    for row in plugins.working("solver"):
        if row.plugin.external or not row.plugin.certified:
            continue  # an external solver ignores samplers; one without a dual point needs too many draws for a check
        name, solver = row.name, plugins.build("solver", row.name)
        tol = 10.0 * tolerance(solver)
        solution = solve_with(sampler, problem_for(solver), solver, Gap(tol))
        if solution.certificate.gap is not None and solution.certificate.gap > tol:
            return f"{name} ended as {solution.status} at gap {solution.certificate.gap:.2g}"
    return None


SAMPLER: dict[str, Check] = {
    "draws are valid, reproducible and reach every point": check(_sampler_draws, "svmkit.solver.Sampler.draws"),
    "every solver with a dual point converges with it": check(_sampler_solves, "svmkit.solver.Sampler.draws"),
}
