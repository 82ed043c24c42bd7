"""The entries of a comparison: the solvers, the problems of a data set, and whether they go together."""

from __future__ import annotations

from itertools import product
from typing import Any

from svmkit import plugins
from svmkit.compare.plan import fields, testing
from svmkit.data.classes import TASKS
from svmkit.data.prepare import imputing, scaling
from svmkit.data.prepare.reading import Reading
from svmkit.data.prepare.targets import require_epsilon
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import parse_bytes
from svmkit.scoring.metric import require_metric
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.selection import by_name
from svmkit.training.settings import Settings, resolve
from svmkit.training.weights import require_C

_DATA = {
    *("source", "rows", "n_features", "label", "positive", "solvers", "sampler"),
    *("test", "splits", "cv", "strict", "metric"),
    *("kernel", "gamma", "C", "epsilon", "impute", "scale", "class_weight", "memory"),
    *("calibrate", "multiclass", "decimal", "encoding", "drop", "only", "categorical", "task"),
}
MOST = 10_000  # the most problems of one set: three lists of a hundred values would give a million


def build_solver(where: str, how: dict[str, Any]) -> Solver:
    """Build the solver of a `solvers` entry. Raises InputError: the solver, an option or the sampler is unknown."""
    try:
        by_name.sampler(how.get("sampler"))
        return plugins.build("solver", str(how["solver"]), how["options"])
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def needs_linear(how: dict[str, Any]) -> bool:
    """Return whether the solver takes the linear kernel only."""
    return Requires.LINEAR_KERNEL in plugins.load("solver", str(how["solver"])).requires


def join(shared: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a set with the keys that all sets share; its own way to test replaces the shared way."""
    replaced = {"test", "splits"} if "cv" in own else {"cv"} if {"test", "splits"} & own.keys() else set()
    if isinstance(own.get("test", 0.0), str | None):
        replaced.add("splits")
    return {key: value for key, value in shared.items() if key not in replaced} | own


def problems(name: str, entry: dict[str, Any], default_kernel: str) -> dict[str, dict]:
    """Return the problems of a set by title: a checked entry for each combination of kernel, gamma, C and multiclass.

    `entry` has the keys that all sets share, too. Raises InputError: a key or value cannot be used, or there are more
    than `MOST` problems.
    """
    where = f"data.{name}"
    fields.require_keys(where, entry, set(), _DATA)
    common = {"source": name, "scale": "none", "memory": "1GB"} | {
        key: value for key, value in entry.items() if key not in ("kernel", "gamma", "C", "multiclass", "splits", "cv")
    }
    _check_common(where, common)
    common["test"] = testing.test_of(where, common, {key: entry[key] for key in ("splits", "cv") if key in entry})
    modes = [str(mode) for mode in fields.as_list(entry.get("multiclass", "ovo"))]
    default_kernel = "linear" if "crammer_singer" in modes else default_kernel
    kernels = [_kernel(where, value) for value in fields.as_list(entry.get("kernel", default_kernel))]
    gammas = fields.as_list(entry["gamma"]) if "gamma" in entry else [None]
    Cs = [fields.number(f"{where}.C", C, positive=True) for C in fields.as_list(entry.get("C", 1.0))]
    for key, values in (("kernel", kernels), ("gamma", gammas), ("C", Cs), ("multiclass", modes)):
        if not values:
            raise InputError(f"{where}.{key} must not be empty: leave it out")
    if len(kernels) * len(gammas) * len(Cs) * len(modes) > MOST:
        raise InputError(f"{where}: more than {MOST} combinations of kernel, gamma, C and multiclass: give fewer")
    by_title: dict[str, dict] = {}
    for kernel, gamma, C, mode in product(kernels, gammas, Cs, modes):
        chosen = dict(kernel)
        if gamma is not None:
            if "gamma" not in plugins.options(plugins.load("kernel", kernel["name"])):
                raise InputError(f"{where}: kernel {kernel['name']} has no gamma: leave it out")
            if {"gamma", "sigma"} & set(kernel):
                raise InputError(f"{where}: gamma is given twice: leave it out beside the kernel's own")
            chosen["gamma"] = gamma
        _check_multiclass(where, mode, build_kernel(where, chosen), common.get("task"))
        parts = [kernel["name"]] * (len(kernels) > 1) + [f"gamma={gamma}"] * (len(gammas) > 1)
        parts += [f"C={C:g}"] * (len(Cs) > 1) + [mode] * (len(modes) > 1)
        title = " ".join([name, *parts])
        if title in by_title:
            raise InputError(f"{where}: the same kernel, gamma, C and multiclass come twice ({title}): leave one out")
        # cells of class pairs keep the keys that they had before there were other problems of many classes
        by_title[title] = common | {"kernel": chosen, "C": C} | ({} if mode == "ovo" else {"multiclass": mode})
    return by_title


def build_kernel(where: str, entry: dict[str, Any], msd: float = 1.0) -> Kernel:
    """Build the kernel of an entry {name, gamma | sigma, ...}; `msd` is the number of which "2 * msd" is a multiple."""
    params = {key: value for key, value in entry.items() if key != "name"}
    if "sigma" in params:
        sigma = fields.number(f"{where}.kernel.sigma", params.pop("sigma"), positive=True)
        params["gamma"] = 1.0 / (2.0 * sigma**2)
    factor, times, _ = str(params.get("gamma", "")).partition("*")
    if times:
        params["gamma"] = fields.number(f"{where}.kernel.gamma", factor.strip(), positive=True) * msd
    try:
        return plugins.build("kernel", entry["name"], params)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def check_pair(name: str, about: dict[str, Any], solver: str, how: dict[str, Any]) -> None:
    """Raise InputError when the solver cannot take the kernel of the problem, or has no such problem of all classes.

    Parameters
    ----------
    name, solver : str
        The problem and the solver, as the spec names them.
    about, how : dict of str to object
        Their entries.
    """
    kernel = build_kernel(f"data.{name}", about["kernel"])
    try:
        built = build_solver(f"solvers.{solver}", how)
        method = resolve(Settings(solver=built, kernel=kernel, multiclass=about.get("multiclass", "ovo")))
        method.solver.check_kernel(kernel)
    except InputError as error:
        raise InputError(f"data.{name}, solvers.{solver}: {error}") from None


def _check_common(where: str, entry: dict[str, Any]) -> None:
    testing.require_source(where, entry["source"])
    kinds = ("none", *scaling.KINDS)
    fields.require_known(f"{where}.scale", [entry["scale"]], kinds)
    if entry.get("impute") in (None, "none"):
        entry.pop("impute", None)  # cells without it keep the keys that they had before there was imputing
    else:
        fields.require_known(f"{where}.impute", [entry["impute"]], ("none", *imputing.KINDS))
    if not isinstance(entry.get("strict", False), bool):
        raise InputError(f"{where}.strict should be true or false, not {entry['strict']!r}")
    parse_bytes(entry["memory"])
    if "metric" in entry:
        entry["metric"] = _metric(where, entry["metric"])
    by_name.sampler(entry.get("sampler"))
    if "solvers" in entry:
        entry["solvers"] = [str(name) for name in fields.as_list(entry["solvers"])]
    if "n_features" in entry:
        fields.count(f"{where}.n_features", entry["n_features"])
    first_rows(where, entry)
    fields.require_known(f"{where}.task", [entry[key] for key in ("task",) if key in entry], TASKS)
    if "epsilon" in entry:
        entry["epsilon"] = fields.number(f"{where}.epsilon", entry["epsilon"])
        require_epsilon(entry["epsilon"])
    for key in ("drop", "only", "categorical"):
        if key in entry:
            entry[key] = [fields.column(f"{where}.{key}", name) for name in fields.as_list(entry[key])]
    try:
        Reading.from_options(entry)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    weight = entry.get("class_weight")
    if weight not in (None, "balanced"):
        for label, value in fields.as_map(f"{where}.class_weight", weight).items():
            require_C(fields.number(f"{where}.class_weight.{label}", value, positive=True))


def _check_multiclass(where: str, mode: str, kernel: Kernel, task: str | None) -> None:
    try:
        resolve(Settings(kernel=kernel, multiclass=mode), task)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _metric(where: str, name: Any) -> str:
    try:
        return require_metric(str(name))
    except InputError as error:
        raise InputError(f"{where}.metric: {error}") from None


def first_rows(where: str, entry: dict[str, Any]) -> slice:
    """Return which rows of the file take part: all, or "first N"."""
    if "rows" not in entry:
        return slice(None)
    first, _, rows = str(entry["rows"]).partition(" ")
    if first != "first" or not (rows.isascii() and rows.isdigit()) or not 0 < int(rows) < 1 << 62:
        raise InputError(f'{where}.rows={entry["rows"]!r} is not a slice: write "first 35000"')
    return slice(int(rows))


def _kernel(where: str, entry: Any) -> dict[str, Any]:
    entry = {"name": entry} if isinstance(entry, str) else dict(fields.as_map(f"{where}.kernel", entry))
    if not isinstance(entry.get("name"), str):
        raise InputError(f"{where}.kernel lacks its name")
    options = plugins.options(plugins.load("kernel", entry["name"]))
    fields.require_known(
        f"{where}.kernel", set(entry) - {"name"}, [*options, *["sigma"] * ("gamma" in options)], what="key"
    )
    if {"gamma", "sigma"} <= set(entry):
        raise InputError(f"{where}.kernel has both gamma and sigma: leave one out")
    if entry["name"] == "precomputed":
        raise InputError(f"{where}: kernel precomputed takes kernel values, not data: compare it from Python")
    return entry
