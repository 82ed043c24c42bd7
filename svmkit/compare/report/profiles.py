"""Performance and data profiles: the share of the problems that each solver solves, by cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.compare.metrics import TITLES
from svmkit.compare.results import NO_MODEL, Results, goal_of
from svmkit.solver.solution import Status

TAUS = (1.0, 2.0, 10.0)
"""The factors of the best solver that tables show."""
MEASURES = {"fit_s": 1e-6, "kernel_values": 1.0, "n_iter": 1.0}
"""The possible costs of a solve, with their lower bounds: 0 has no ratio."""
LEAST_SETS = 3  # sets from which a report shows profiles


@dataclass(frozen=True)
class Profile:
    """The cost of each problem for each solver.

    Attributes
    ----------
    measure : str
        The unit of the costs: "fit_s" (seconds), "kernel_values" or "n_iter".
    solvers, problems : list of str
        Names of the columns and rows of `costs`.
    costs : ndarray of shape (n_problems, n_solvers)
        Means over the runs, > 0; inf if a run failed, ran out of time or missed the goal.
    goals : tuple of float
        The relative gaps at which a problem is solved, distinct and ascending.
    notes : tuple of str
        What was left out, and which solvers minimise another objective.

    Notes
    -----
    E. Dolan and J. More, "Benchmarking optimization software with performance profiles", Mathematical Programming 91,
    2002, equations 2.1 and 2.2; J. More and S. Wild, "Benchmarking derivative-free optimization algorithms", SIAM
    Journal on Optimization 20, 2009, section 2.2, with costs that are not divided by the size of the problem.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.compare.report.profiles import Profile
    >>> costs = np.array([[1.0, 2.0], [3.0, 3.0], [8.0, np.inf], [np.inf, np.inf]])
    >>> found = Profile("fit_s", ["smo", "fw"], ["a", "b", "c", "d"], costs, (1e-3,), ())
    >>> found.share_within(1.0).tolist(), found.share_within(2.0).tolist(), found.solved.tolist()
    ([0.75, 0.25], [0.75, 0.5], [0.75, 0.5])
    >>> found.steps("fw", "performance")
    (array([1., 2.]), array([0.25, 0.5 ]))
    """

    measure: str
    solvers: list[str]
    problems: list[str]
    costs: np.ndarray
    goals: tuple[float, ...]
    notes: tuple[str, ...]

    @property
    def ratios(self) -> np.ndarray:
        """Costs as multiples of those of the problem's best solver (n_problems, n_solvers); inf where not solved."""
        best = self.costs.min(axis=1, keepdims=True, initial=np.inf)
        return np.divide(self.costs, best, out=np.full(self.costs.shape, np.inf), where=np.isfinite(self.costs))

    @property
    def solved(self) -> np.ndarray:
        """The share of the problems that each solver solves at any cost (n_solvers,), the end of its profiles."""
        return np.isfinite(self.costs).mean(axis=0)

    def share_within(self, tau: float) -> np.ndarray:
        """Return the share of the problems that each solver solves within `tau` times the best cost, (n_solvers,)."""
        return (self.ratios <= tau).mean(axis=0)

    def steps(self, solver: str, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the points where a solver's profile increases, ascending, and the share of problems solved from there.

        Parameters
        ----------
        solver : str
            One of `solvers`.
        kind : str
            "performance", over factors of the best cost, or "data", over costs.
        """
        values = (self.ratios if kind == "performance" else self.costs)[:, self.solvers.index(solver)]
        at, counts = np.unique(values[np.isfinite(values)], return_counts=True)
        return at, np.cumsum(counts) / len(self.problems)


def profiles(results: Results) -> list[Profile]:
    """Return the profiles for a report of a comparison: of time, and of kernel values or else of iterations.

    There are none for fewer than three sets or two solvers, nor for measures that were not requested. Solvers are
    compared at equal stop rules: each stop rule makes a separate problem.
    """
    asked = [measure for measure in MEASURES if measure in results.spec.metrics]
    if len(results.data_sets) < LEAST_SETS:
        return []
    runs = [record | {"solver": record["label"], "goal": goal_of(record)} for record in results.records]
    found = [profile(runs, measure) for measure in asked]
    found = [one for one in found if len(one.solvers) > 1 and len(one.problems) >= LEAST_SETS and one.solved.any()]
    return found[:2]


def profile(runs: Iterable[Mapping[str, Any]], measure: str = "fit_s", *, goal: float | None = None) -> Profile:
    """Return the profile of the runs of a comparison.

    A problem is a set with its kernel, C and stop rule. It counts if every solver has run on it, and is solved if all
    runs of a solver end with a certified gap, or a known suboptimality, at or below the goal; its cost is their mean.

    Parameters
    ----------
    runs : iterable of mapping of str to object
        The runs, with the columns of `results_frame` as keys; None is a missing value.
    measure : str, default="fit_s"
        The cost of a solve: "fit_s", "kernel_values" or "n_iter".
    goal : float, default=None
        The relative gap at which a problem is solved; None uses that of the stop rule of each run.

    Returns
    -------
    Profile
        Without problems if there is none on which every solver has run.

    Examples
    --------
    >>> from svmkit.compare.report.profiles import profile
    >>> run = {"set": "iris", "stop": "", "status": "converged", "goal": 1e-3, "gap": 9e-4, "formulation": "hinge"}
    >>> found = profile([run | {"solver": "smo", "fit_s": 0.1}, run | {"solver": "fw", "fit_s": 0.3}])
    >>> found.share_within(2.0).tolist(), round(found.ratios[0, 1], 9)
    ([1.0, 0.0], 3.0)
    """
    done = [run for run in runs if run["status"] != Status.INTERRUPTED]
    goals = {id(run): run["goal"] if goal is None else goal for run in done}
    costs: dict[tuple[str, str], dict[str, list[float | None]]] = {}
    for run in done:
        cost = run.get(measure) if _is_solved(run, goals[id(run)]) else np.inf
        costs.setdefault((run["set"], run.get("stop") or ""), {}).setdefault(run["solver"], []).append(cost)
    everyone = list(dict.fromkeys(run["solver"] for run in done))
    uncounted = [name for name in everyone if _is_uncounted([c for of in costs.values() for c in of.get(name, ())])]
    solvers = [name for name in everyone if name not in uncounted]
    notes = [f"{name} is left out: its {TITLES[measure]} are not known." for name in uncounted]
    known = {w: of for w, of in costs.items() if all(name in of and None not in of[name] for name in solvers)}
    if lacking := [" ".join(filter(None, where)) for where in costs if where not in known]:
        notes.append(f"Left out, since not every solver has run there: {', '.join(lacking)}.")
    table = [
        [np.mean([max(c or 0.0, MEASURES[measure]) for c in of[name]]) for name in solvers] for of in known.values()
    ]
    counted = [run for run in done if run["solver"] in solvers and (run["set"], run.get("stop") or "") in known]
    notes += _objectives(counted)
    return Profile(
        measure,
        solvers,
        [" ".join(filter(None, where)) for where in known],
        np.array(table, dtype=float).reshape(len(known), len(solvers)),
        tuple(sorted({goals[id(run)] for run in counted})),
        tuple(notes),
    )


def _is_solved(run: Mapping[str, Any], goal: float) -> bool:
    """Return whether a run has a model whose distance from the optimum of its own problem is proven to be <= goal."""
    distances = [run.get(key) for key in ("gap", "suboptimality")]
    return run["status"] not in NO_MODEL and any(value is not None and value <= goal for value in distances)


def _is_uncounted(costs: list[float | None]) -> bool:
    """Return whether a solver has solved problems whose cost was not counted."""
    solved = [cost for cost in costs if cost != np.inf]
    return bool(solved) and not any(solved)


def _objectives(runs: list[Mapping[str, Any]]) -> list[str]:
    """Return a note on the objectives of the solvers, unless they are all the same."""
    of: dict[str, list[str]] = {}
    for run in runs:
        who = of.setdefault(run.get("formulation") or "", [])
        if run.get("formulation") and run["solver"] not in who:
            who.append(run["solver"])
    of = {what: who for what, who in of.items() if who}
    if len({tuple(sorted(who)) for who in of.values()}) < 2:
        return []
    said = "; ".join(f"{what} ({', '.join(who)})" for what, who in of.items())
    return [f"Each solver is measured by the optimum of its own problem: {said}."]
