"""The candidates of a search: points of the grid, grouped into paths whose candidates differ only in C."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from svmkit import plugins
from svmkit.data.prepare.imputing import KINDS as IMPUTINGS
from svmkit.data.prepare.scaling import KINDS as SCALINGS
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.problems.schemes import SCHEMES
from svmkit.solver.base import Solver
from svmkit.solver.selection import by_name
from svmkit.tasks import Task, task_named
from svmkit.tune.grids import MOST, Span, Values

SEARCHES = ("grid", "random", "halving")
NEAR, ALL = "near", "all"  # which candidates are solved to the requested gap
EPSILON, NU, KERNEL = "epsilon", "nu", "kernel"
LEAST = {"C": "> 0", EPSILON: ">= 0", NU: "> 0"}
"""Numbers that are options of neither solver nor kernel, and what a value has to be."""
NONE = "none"  # the value of an absent setting
WORDS = {
    "scale": (NONE, *SCALINGS),
    "impute": (NONE, *IMPUTINGS),
    "class_weight": (NONE, "balanced"),
    "multiclass": tuple(SCHEMES),
}
"""Settings that are words, and which words."""


@dataclass(frozen=True)
class Path:
    """Candidates that differ only in C and are fitted one after the other.

    Attributes
    ----------
    number : int
        The position among the paths.
    solver, kernel : Solver, Kernel
        The solver and the kernel, with the searched options.
    Cs : tuple of float
        Values of C, ascending.
    values : dict of str to object
        The searched values besides C, by the names of the grid.
    has_C : bool
        Whether C is searched; otherwise it has one value.

    Examples
    --------
    >>> from svmkit import plugins
    >>> from svmkit.kernels import RBF
    >>> from svmkit.tune import Path
    >>> Path(0, plugins.build("solver", "smo"), RBF(0.5), (1.0, 10.0), {"gamma": 0.5}).params(10.0)
    {'C': 10.0, 'gamma': 0.5}
    """

    number: int
    solver: Solver
    kernel: Kernel
    Cs: tuple[float, ...]
    values: dict[str, Any] = field(default_factory=dict)
    has_C: bool = True

    @property
    def settings(self) -> dict[str, Any]:
        """The searched values that are options of neither solver nor kernel, as `Settings` has them."""
        return settings_of(self.values)

    def params(self, C: float) -> dict[str, Any]:
        """Return the searched values at this C, by name."""
        return ({"C": C} if self.has_C else {}) | self.values


def settings_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the searched values, by name, for which `svmkit.training.settings.Settings` has fields.

    Parameters
    ----------
    values : mapping of str to object
        Searched values by the names of the grid.

    Examples
    --------
    >>> from svmkit.tune.space import settings_of
    >>> settings_of({"gamma": 0.5, "epsilon": 0.1, "scale": "none"})
    {'epsilon': 0.1, 'scale': None}
    """
    numbers = {name: value for name, value in values.items() if name in LEAST}
    return numbers | {name: None if values[name] == NONE else values[name] for name in WORDS if name in values}


def plan(
    solver: Solver,
    kernel: Kernel,
    grid: Mapping[str, Values],
    *,
    C: float = 1.0,
    search: str = "grid",
    n_iter: int = 20,
    seed: int = 0,
    task: str | None = None,
) -> list[Path]:
    """Return the paths of a search after all checks.

    Parameters
    ----------
    solver, kernel : Solver, Kernel
        The options that are not searched are taken from them.
    grid : mapping of str to sequence or Span
        Values by name: C, nu, epsilon (of regression), kernel (names), a parameter of a kernel (gamma, or kernel.NAME),
        an option of the solver, or scale, impute, class_weight and multiclass, whose absence is "none". A parameter
        counts where the kernel has it. A `Span` is for search="random" only.
    C : float, default=1.0
        Value where C is not searched.
    search : {"grid", "random", "halving"}, default="grid"
    n_iter : int, default=20
        Points that a random search draws, without repetition if all values are lists.
    seed : int, default=0
        Seed of these draws.
    task : {"classify", "regress", "outliers"}, default=None
        The task; None if it is not known yet. For outliers, nu is searched instead of C.

    Raises
    ------
    InputError
        A name or value is unknown, the solver cannot take a kernel, or there are more than 100,000 points.

    Examples
    --------
    >>> from svmkit import plugins
    >>> from svmkit.kernels import RBF
    >>> from svmkit.tune import plan
    >>> paths = plan(plugins.build("solver", "smo"), RBF("scale"), {"C": [1, 10], "gamma": [0.1, 1.0]})
    >>> [(path.kernel.gamma, path.Cs) for path in paths]
    [(0.1, (1.0, 10.0)), (1.0, (1.0, 10.0))]
    """
    if search not in SEARCHES:
        raise InputError(f"search {search!r} is not known; there are: {', '.join(SEARCHES)}")
    if not grid:
        raise InputError("there is nothing to search: give values for C, gamma or an option of the solver")
    _require_lists(grid)
    kernels = _kernels(grid, solver, kernel, task_named(task))
    params = {name: value for each in kernels for name, value in each.params.items()}
    grid = {_option_name(name, solver, params, task_named(task), kernel): values for name, values in grid.items()}
    defaults, checked = solver.params | params, dict[str, Values]()
    for name, values in grid.items():
        _require_values(name, values, defaults.get(name), search)
    for name, values in grid.items():
        if not isinstance(values, Span):
            owner = next((each for each in kernels if name in each.params), kernel)
            values = list(dict.fromkeys(_check(name, v, solver, owner, task_named(task)) for v in values))
        checked[name] = values
    points = _draw(checked, n_iter, seed) if search == "random" else _all(checked)
    Cs: dict[tuple, dict[float, None]] = {}
    named = {each.name: each for each in kernels}
    for point in points:
        own = named.get(point.get(KERNEL, ""), kernel).params
        rest = tuple((k, v) for k, v in point.items() if k != "C" and (k not in params or k in own))
        Cs.setdefault(tuple(sorted(rest)), {})[point.get("C", C)] = None
    has_C = "C" in points[0]
    paths = list[Path]()
    for rest, its in Cs.items():
        shared = dict(rest)
        of = named.get(shared.get(KERNEL, ""), kernels[0])
        built = _built(shared, solver, of, task_named(task))
        paths.append(Path(len(paths), *built, tuple(sorted(its)), shared, has_C))
    return paths


def _require_lists(grid: Mapping[str, Any]) -> None:
    for name, values in grid.items():
        if isinstance(values, str) or not (isinstance(values, Span) or hasattr(values, "__len__")):
            raise InputError(f"--grid {name}: {values!r} is no list of values: give one, such as [{values!r}]")


def _kernels(grid: Mapping[str, Values], solver: Solver, kernel: Kernel, task: Task) -> list[Kernel]:
    """Return the kernels of a search: those that the grid names, or the one that is given."""
    names = grid.get(KERNEL)
    if names is None or isinstance(names, Span):
        return [kernel]
    kernels = []
    for name in dict.fromkeys(str(each) for each in names):
        try:
            kernels.append(kernel if name == kernel.name else by_name.kernel(name, kernel.params))
            task.require_kernel(solver, kernels[-1])
        except InputError as error:
            raise InputError(f"--grid {KERNEL}: {error}") from None
    return kernels


def _require_values(name: str, values: Values, default: Any, search: str) -> None:
    if not isinstance(values, Span):
        if not len(values):
            raise InputError(f"--grid {name}: there is no value: give at least one")
        return
    if search != "random":
        raise InputError(
            f"--grid {name}: a range without a step is for --search random; for --search {search} write "
            f"{values.low:g}:{values.high:g}:log5, or powers with a step, as in 2^-5:2^15:2"
        )
    if (isinstance(default, bool | int | str) and name != "gamma") or name in WORDS or name == KERNEL:
        raise InputError(f"--grid {name}: a range gives fractions, which {name} cannot be: list its values")


def _all(grid: Mapping[str, Any]) -> list[dict[str, Any]]:
    size = math.prod(len(values) for values in grid.values())
    if size > MOST:
        raise InputError(f"the grid has {size:,} points, more than {MOST:,}: make it coarser, or take --search random")
    return [dict(zip(grid, point, strict=True)) for point in product(*grid.values())]


def _draw(grid: Mapping[str, Any], n_iter: int, seed: int) -> list[dict[str, Any]]:
    from scipy.stats import loguniform
    from sklearn.model_selection import ParameterSampler

    if not 1 <= n_iter <= MOST:
        raise InputError(f"--n-iter must be from 1 to {MOST:,}, not {n_iter}")
    if not any(isinstance(values, Span) for values in grid.values()):
        n_iter = min(n_iter, math.prod(len(values) for values in grid.values()))
    among = {k: loguniform(v.low, v.high) if isinstance(v, Span) else v for k, v in grid.items()}
    drawn = ParameterSampler(among, n_iter, random_state=seed)
    return [{k: float(v) if isinstance(grid[k], Span) else v for k, v in point.items()} for point in drawn]


def _check(name: str, value: Any, solver: Solver, kernel: Kernel, task: Task) -> Any:
    """Return the value in the type of its option, with text converted; raise InputError if that is impossible."""
    if name in LEAST:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not (number > 0 or (number == 0.0 and name == EPSILON)) or math.isinf(number):
            raise InputError(f"--grid {name}: {value!r} is not a finite number {LEAST[name]}")
        return number
    if name in WORDS:
        if value not in (*WORDS[name], None):
            raise InputError(f"--grid {name}: {value!r} is not known; there are: {', '.join(WORDS[name])}")
        return NONE if value is None else value
    if name == KERNEL:
        return str(value)
    whole = (
        isinstance(value, float) and value.is_integer() and isinstance((solver.params | kernel.params).get(name), int)
    )
    try:
        new_solver, new_kernel = _built({name: int(value) if whole else value}, solver, kernel, task)
    except InputError as error:
        raise InputError(f"--grid {name}: {error}") from None
    return getattr(new_kernel if name in kernel.params else new_solver, name)


def _built(values: dict[str, Any], solver: Solver, kernel: Kernel, task: Task) -> tuple[Solver, Kernel]:
    of_kernel = {name: v for name, v in values.items() if name in kernel.params}
    others = (*kernel.params, *LEAST, *WORDS, KERNEL)
    of_solver = {name: v for name, v in values.items() if name not in others}
    if of_kernel:
        kernel = plugins.build("kernel", kernel.name, kernel.params | of_kernel)
    if of_solver:
        solver = plugins.build("solver", solver.name, solver.params | of_solver)
    task.require_kernel(solver, kernel)
    return solver, kernel


def _option_name(name: str, solver: Solver, params: Mapping[str, Any], task: Task, kernel: Kernel) -> str:
    """Return the name without `kernel.`; a name that kernel and solver share belongs to the kernel."""
    bare = name.removeprefix("kernel.")
    settings = ("C", EPSILON, NU, KERNEL, *WORDS) if task.is_supervised else (NU, KERNEL, "scale", "impute")
    if name in settings or bare in params or name in solver.params:
        return bare
    what = "--grid " + name
    if bare in ("gamma", "degree", "coef0"):
        raise InputError(f"{what}: the {kernel.name} kernel has no {bare}: leave it out, or give another --kernel")
    of_quantities = task.is_supervised and solver.regression_for(kernel) is not None
    own = [each for each in settings if each != EPSILON or of_quantities]
    known = ", ".join([own[0], *params, *solver.params, *own[1:]])
    raise InputError(f"{what}: solver {solver.name} with the {kernel.name} kernel has no such option; it has {known}")
