"""Made-up comparisons for the tests of the report: records as workers write them."""

import numpy as np

from svmkit.compare.cells.store import FAILED, names
from svmkit.compare.metrics import METRICS
from svmkit.compare.plan.spec import Cell, Spec
from svmkit.compare.results import Results


def record(cell, rank=1.0, **changes):
    """A converged run of 40 points; what takes `rank` times as long ends `rank` times as late."""
    steps = np.arange(1, 41)
    seconds = (rank * steps / 100.0).tolist()
    accuracy = [None if k % 4 else round(0.5 + 0.01 * k, 4) for k in range(40)]
    history = {
        "n_iter": steps.tolist(),
        "seconds": seconds,
        "objective": (10.0 + 10.0**-steps).tolist(),
        "gap": (10.0 ** (-steps / 10.0)).tolist(),
        "n_support": (5 * steps).tolist(),
        "kernel_values": (100 * steps).tolist(),
        "accuracy": accuracy,
    }
    return (
        names(cell)
        | {"status": "converged", "formulation": "hinge", "classes": ["-1", "1"], "time_limit": 9.0, "history": history}
        | {"fit_s": seconds[-1], "gap": 1e-5, "objective": 10.0 + 1e-4 * rank, "dual_objective": 10.0, "n_iter": 40}
        | {
            "n_support": 200,
            "kernel_values": 4000,
            "test_accuracy": 0.95 - 0.01 * rank,
            "predict_s": 0.1,
            "solve_s": 0.1,
        }
        | changes
    )


def failure(cell, reason):
    return names(cell) | {"status": FAILED, "reason": reason}


def made(sets=("one", "two"), solvers=("fw", "swap", "smo"), seeds=1, change=None, stops=("",), **spec):
    """Results in which later solvers take longer and err more; change(cell, record) -> the record, None: not run."""
    about = {"name": "made up", "about": "", "time_limit": 9.0, "metrics": METRICS} | spec
    cells = [
        Cell(name, solver, stop, seed, {"of": [name, solver, stop, seed]})
        for name in sets
        for seed in range(seeds)
        for solver in solvers
        for stop in stops
    ]
    whole = Spec(
        data={name: {} for name in sets},
        solvers={name: {} for name in solvers},
        stop=dict.fromkeys(stops, "gap:1e-3"),
        seeds=list(range(seeds)),
        **about,
    )
    ran = [record(cell, 1.0 + solvers.index(cell.solver) + 0.02 * cell.seed) for cell in cells]
    if change is not None:
        ran = [change(cell, found) for cell, found in zip(cells, ran, strict=True)]
    return Results(whole, cells, [found for found in ran if found is not None])
