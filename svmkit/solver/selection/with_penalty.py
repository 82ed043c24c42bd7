"""Solvers for penalties other than 1/2 |w|^2: those with the option `penalty`, and a substitute for the default
solver.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.losses.base import Loss
from svmkit.losses.by_name import LIBLINEAR_NAMES
from svmkit.problems.base import FREE
from svmkit.problems.risks.penalty import Penalty, write_groups
from svmkit.solver.base import Solver
from svmkit.solver.selection import defaults


def with_penalty(solver: Solver, penalty: Penalty) -> Solver:
    """Return the solver with this penalty; instead of one that chooses a solver, the default one for sparse weights.

    InputError if the solver does not have the penalty, or its loss has a kink and the penalty none but the default's.
    """
    known, plain = plugins.options(type(solver)), not penalty.l1
    needed = "groups" if penalty.has_groups else "penalty"
    if needed in known:
        ratio = {"l1_ratio": penalty.l1} if penalty.name == "elasticnet" and "l1_ratio" in known else {}
        groups = {"groups": write_groups(penalty.groups) or None} if penalty.has_groups else {}
        return replace(solver, penalty=penalty.name, **ratio, **groups)  # type: ignore[call-arg]
    if plain:
        return solver
    sparse = plugins.load("solver", defaults.SPARSE)
    if solver.name != defaults.CHOOSER:
        able = plugins.solvers_where(lambda one: needed in plugins.options(one))
        raise InputError(f"solver {solver.name} has no penalty={penalty.name}; those that have one: {', '.join(able)}")
    options: dict[str, Any] = {**penalty.params, "bias": getattr(solver, "bias", FREE)}
    loss = getattr(solver, "loss", defaults.CHOOSER)
    if loss != defaults.CHOOSER:
        name = loss.name if isinstance(loss, Loss) else LIBLINEAR_NAMES.get(str(loss), str(loss))
        if name not in {*sparse.loss_names(), *map(str, sparse.losses)}:
            able = [*sparse.loss_names("classify"), *sparse.loss_names("regress")]
            raise InputError(f"penalty={penalty.name} needs a loss without a kink, not {name}: {', '.join(able)}")
        options["loss"] = loss
    return plugins.build("solver", defaults.SPARSE, options)
