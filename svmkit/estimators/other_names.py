"""Options of scikit-learn, LIBSVM and R that have another name here, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svmkit import plugins
from svmkit.errors import InputError

OTHER_NAMES = {
    "alpha": "the weight of the losses is C = 1 / ({value} * n_samples)",
    "break_ties": "predict follows the decisions of all classes already: leave it out",
    "cache_size": "write memory='{value}MB'",
    "cachesize": "write memory='{value}MB'",
    "class_weights": "write class_weight={label: weight, ...}",
    "cost": "write C={value}",
    "cross": "cross-validation is svmkit.tune.search, or C='cv'",
    "dual": "the solver decides: 'dcd' works on the dual problem, 'newton' on the primal one, 'auto' chooses",
    "early_stopping": "give time_limit=60, max_iter=..., or stop=...",
    "eta0": "it is an option of solver 'folos': solver_options={'eta0': ...}",
    "fit_intercept": "write solver_options={'bias': 0} for none",
    "intercept_scaling": "the bias is free with solver_options={'bias': 'free'}, regularised with {'bias': 1}",
    "multi_class": "write multiclass='ovo', 'ovr', 'crammer_singer' or 'multinomial'",
    "n_iter_no_change": "give tol, time_limit=60 or max_iter=...",
    "n_jobs": "write n_threads=2",
    "probability": "write calibration='sigmoid' for predict_proba",
    "shrinking": "it is an option of solver 'smo': SVMClassifier('smo', solver_options={'shrinking': False})",
    "tolerance": "write tol={value}",
    "validation_fraction": "give fit(..., validation=(X, y))",
}
"""What to write, by the name elsewhere; {value} stands for the given value."""


def answer(name: str, value: Any) -> str:
    """Return what to write here instead of another software's option, with its given value."""
    if name == "n_jobs" and value in (None, -1):
        return "all threads are taken anyway: leave it out, or write n_threads=2"
    return OTHER_NAMES[name].format_map({"value": value}) if "{value}" in OTHER_NAMES[name] else OTHER_NAMES[name]


def require_own_options(solver: Any, options: Any) -> None:
    """Raise InputError if an option of a solver has the name under which other software has an option of the estimator.

    Parameters
    ----------
    solver : str or Solver
        The solver.
    options : dict of str to object, or anything else
        Its options. The solver refuses what is no dict, and unknown options.
    """
    if not isinstance(options, Mapping) or not isinstance(solver, str) or not OTHER_NAMES.keys() & options.keys():
        return
    known = plugins.options(plugins.load("solver", solver))
    for key in options:
        if key in OTHER_NAMES and key not in known:
            raise InputError(
                f"solver_options: {key!r} is not an option of solver {solver}: {answer(key, options[key])}"
            )
