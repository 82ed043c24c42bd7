"""Facts about a solver that are known without running it, for a row of the table of solvers."""

from __future__ import annotations

import re
from typing import Any

from svmkit.kernels.functions import RBF, Linear
from svmkit.losses.by_name import LIBLINEAR_NAMES
from svmkit.plugins import Listed
from svmkit.solver.base import Solver
from svmkit.solver.capabilities import LearnsFromStreams
from svmkit.solver.requirements import Requires

FACTS = ("method", "problem", "regression", "loss", "kernels", "sparse", "streaming", "certificate", "paper")

_BRACKETS = re.compile(r"\s*\(((?:[^()]|\([^()]*\))*)\)")
_SOURCE = re.compile(r"\b(?:19|20)\d\d\b|\bpaper\b")


def facts(row: Listed) -> dict[str, Any]:
    """Return the `FACTS` of a registered solver.

    Parameters
    ----------
    row : Listed
        The plugin.

    Returns
    -------
    dict of str to object
        Empty for a plugin that is broken or not a `Solver`; else

        - method : first line of the docstring without the citation
        - problem : names of the problems that it solves, with the linear kernel first
        - regression : names of the problems that it solves in regression, with the linear kernel first; none if none
        - loss : names of its losses, the default first
        - kernels : "any", "normalised" or "linear"
        - sparse : whether it takes CSR
        - streaming : whether it learns from streams
        - certificate : source of the dual value, "own dual" or "from core"
        - paper : the source, else the citation in the first line of the docstring
    """
    solver = row.plugin
    if not (isinstance(solver, type) and issubclass(solver, Solver)):
        return {}
    taken = [kernel for kernel in (Linear(), RBF(1.0)) if _takes(solver, kernel)]
    problems = [solver.problem_for(kernel).name for kernel in taken]
    regressions = [problem.name for kernel in taken if (problem := solver.regression_for(kernel)) is not None]
    kernels = {Requires.LINEAR_KERNEL: "linear", Requires.NORMALISED_KERNEL: "normalised"}
    cited = [inside for inside in _BRACKETS.findall(row.doc) if _SOURCE.search(inside)]
    names = [name for task in ("classify", "regress") for name in solver.loss_names(task)]
    return {
        "method": _BRACKETS.sub(lambda match: "" if match[1] in cited else match[0], row.doc).rstrip("."),
        "problem": list(dict.fromkeys(problems)),
        "regression": list(dict.fromkeys(regressions)),
        "loss": list(dict.fromkeys(LIBLINEAR_NAMES.get(name, name) for name in names)),
        "kernels": next((kernels[need] for need in solver.requires), "any"),
        "sparse": True,  # rows come through Gram and Design, which hide the storage from every solver
        "streaming": issubclass(solver, LearnsFromStreams),
        "certificate": "own dual" if solver.certified else "from core",
        "paper": solver.paper or "; ".join(cited),
    }


def _takes(solver: Any, kernel: Any) -> bool:
    return all(need.holds(kernel) for need in solver.requires)
