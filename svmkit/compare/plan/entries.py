"""The entries of a comparison: the problems of a data set, the settings of a training, and their compatibility."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from svmkit import plugins
from svmkit.compare.plan import fields, testing
from svmkit.data.prepare import imputing, scaling
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError, meant
from svmkit.kernels.functions import Kernel
from svmkit.losses.base import Loss
from svmkit.losses.by_name import canonical_name, loss_names, make_loss
from svmkit.model.calibration import require_kind
from svmkit.problems.schemes import JOINT
from svmkit.scoring.ranks import require_any_metric
from svmkit.solver.selection import by_name
from svmkit.tasks import TASKS, task_named
from svmkit.training.settings import Settings, resolve

OBJECTIVE = ("C", "nu", "epsilon")
PENALTY = ("penalty", "l1_ratio", "penalty_groups")
OPTIONS = (*OBJECTIVE, *PENALTY, "multiclass", "class_weight", "impute", "scale", "memory", "device")
"""The options of training that a set has, by their names in `Settings`."""
OF_SOLVERS = ("sampler", "calibrate", "loss")
"""The options that a solver has, or else its set."""
OF_A_TABLE = ("label", "decimal", "encoding", "na", "drop", "only", "categorical", "tidy", "groups", "event", "task")
SHARED = ("test", "splits", "cv", "strict", "metric", "kernel", "gamma", *OPTIONS, "calibrate", "loss", *OF_A_TABLE)
"""The keys that a set has, or else the spec for all sets."""
_DATA = {"source", "rows", "n_features", "positive", "solvers", "sampler", *SHARED}
_AXES = ("kernel", "gamma", "C", "nu", "multiclass")  # each combination of their values is a separate problem
MOST = 10_000  # problems of one set, at most: three lists of a hundred values would give a million


def join(shared: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a set with the keys that all sets share; its own way to test replaces the shared way."""
    replaced = {"test", "splits"} if "cv" in own else {"cv"} if {"test", "splits"} & own.keys() else set()
    if isinstance(own.get("test", 0.0), str | None):
        replaced.add("splits")
    return {key: value for key, value in shared.items() if key not in replaced} | own


def join_solver(about: dict[str, Any], how: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a solver with the problem's values for options that it does not set itself."""
    shared = {
        key: about[key] for key in OF_SOLVERS if key in about and not (key == "loss" and "loss" in how["options"])
    }
    joined = shared | {key: value for key, value in how.items() if key not in ("stops", "repeats")}
    return {key: value for key, value in joined.items() if key == "sampler" or value not in (None, "none")}


def training_settings(about: dict[str, Any], how: dict[str, Any], **more: Any) -> Settings:
    """Return the settings of a training on a problem, `about`, with a solver, `how`, whose entries are joined."""
    loss = fields.as_entry("loss", how["loss"]) if "loss" in how else {"name": None}
    return Settings(
        solver=str(how["solver"]),
        solver_options=how["options"],
        loss=loss["name"],
        loss_options={key: value for key, value in loss.items() if key != "name"},
        calibration=how.get("calibrate"),
        sampler=how.get("sampler"),
        **{key: about[key] for key in OPTIONS if key in about},
        **more,
    )


def problems(name: str, entry: dict[str, Any], default_kernel: str) -> dict[str, dict]:
    """Return the problems of a set by title: a checked entry for each combination of the values of `_AXES`.

    `entry` has the `SHARED` keys, too. Raises InputError: a key or value cannot be used, or problems exceed `MOST`.
    """
    where = f"data.{name}"
    fields.require_keys(where, entry, set(), _DATA)
    several: dict[str, Any] = {key: entry[key] for key in ("splits", "cv") if key in entry}
    common = {"source": name, "scale": "none", "memory": "1GB"}
    common |= {key: value for key, value in entry.items() if key not in (*_AXES, *several)}
    _check_common(where, common)
    common["test"] = testing.test_of(where, common, several)

    def values(key: str, default: Any, read: Callable[[str, Any], Any]) -> list:
        listed = fields.as_list(entry.get(key, default))
        if not listed:
            raise InputError(f"{where}.{key} must not be empty: leave it out")
        return [None if value is default is None else read(f"{where}.{key}", value) for value in listed]

    modes = values("multiclass", "ovo", lambda _, value: str(value))
    is_linear = bool(set(modes) & JOINT) or common.get("penalty", "l2") != "l2"
    axes = {
        "kernel": values("kernel", "linear" if is_linear else default_kernel, _kernel),
        "gamma": values("gamma", None, lambda _, value: value),
        "C": values("C", 1.0, fields.positive),
        "nu": values("nu", None, fields.positive),
        "multiclass": modes,
    }
    if math.prod(map(len, axes.values())) > MOST:
        raise InputError(f"{where}: more than {MOST} combinations of kernel, gamma, C, nu and multiclass: give fewer")
    by_title: dict[str, dict] = {}
    for kernel, gamma, C, nu, mode in product(*axes.values()):
        shown = (kernel["name"], f"gamma={gamma}", f"C={C:g}", f"nu={nu}", mode)
        title = " ".join([name, *(text for text, listed in zip(shown, axes.values(), strict=True) if len(listed) > 1)])
        if title in by_title:
            raise InputError(f"{where}: the same kernel, gamma, C and multiclass come twice ({title}): leave one out")
        # cells of class pairs keep the keys from before there were other multiclass problems
        chosen = {"nu": nu, "multiclass": None if mode == "ovo" else mode}
        if gamma is not None:
            if "gamma" not in plugins.options(plugins.load("kernel", kernel["name"])):
                raise InputError(f"{where}: kernel {kernel['name']} has no gamma: leave it out")
            if {"gamma", "sigma"} & set(kernel):
                raise InputError(f"{where}: gamma is given twice: leave it out beside the kernel's own")
            kernel = kernel | {"gamma": gamma}
        problem, built = common | {"kernel": kernel, "C": C}, build_kernel(where, kernel)
        by_title[title] = problem | {key: value for key, value in chosen.items() if value is not None}
        with fields.locate(where):
            given = {key: by_title[title][key] for key in OPTIONS if key in by_title[title]}
            resolve(Settings(kernel=built, **given), common.get("task"))
    return by_title


def build_kernel(where: str, entry: dict[str, Any], msd: float = 1.0) -> Kernel:
    """Build the kernel of an entry {name, gamma | sigma, ...}; `msd` is the number that "2 * msd" refers to."""
    params = {key: value for key, value in entry.items() if key != "name"}
    if "sigma" in params:
        params["gamma"] = 1.0 / (2.0 * fields.positive(f"{where}.kernel.sigma", params.pop("sigma")) ** 2)
    factor, times, _ = str(params.get("gamma", "")).partition("*")
    if times:
        params["gamma"] = fields.positive(f"{where}.kernel.gamma", factor.strip()) * msd
    with fields.locate(where):
        return plugins.build("kernel", entry["name"], params)


def check_pairs(name: str, about: dict[str, Any], solvers: dict[str, dict]) -> None:
    """Raise InputError unless each solver supports the problem, and one of them the loss that all share."""
    chosen = about.get("solvers", solvers)
    if not chosen or any([_takes_loss(name, about, solver, solvers[solver]) for solver in chosen]):
        return
    loss = loss_type(fields.as_entry("loss", about["loss"])["name"])
    able = ", ".join(plugins.solvers_where(lambda kind: kind.takes_loss(loss)))
    raise InputError(f"data.{name}: loss={loss.name} is taken by none of {', '.join(chosen)}; with it: {able}")


def _takes_loss(name: str, about: dict[str, Any], solver: str, how: dict[str, Any]) -> bool:
    """Return whether the solver supports the loss of its set; raise InputError for any other incompatibility."""
    where, kernel = f"data.{name}, solvers.{solver}", build_kernel(f"data.{name}", about["kernel"])
    used = join_solver(about, how)
    task, loss = about.get("task"), used.pop("loss", None)
    if "calibrate" in used:
        with fields.locate(f"{where}.calibrate"):
            require_kind(used["calibrate"])
        if task_named(task).has_targets:
            raise InputError(f"{where}: quantities have no probabilities: leave calibrate out")
    with fields.locate(where):
        method = resolve(training_settings(about, used, kernel=kernel), task)
        method.task.require_kernel(method.solver, kernel)
        if loss is None:
            return True
        settings = training_settings(about, used | {"loss": loss}, kernel=kernel)
        if not task_named(task).is_supervised:
            if extra := ", ".join(settings.loss_options or {}):
                raise InputError(f"loss={settings.loss} has no options for outliers: leave {extra} out")
            resolve(settings, task)
            return True
        name = str(settings.loss)
        made = make_loss(name, task or loss_type(name).task, settings.loss_options, epsilon=settings.epsilon)
        kind = plugins.load("solver", used["solver"])
        if how.get("loss") is not None:
            kind.loss_option(made)  # raises an error for a loss that the solver does not support
        return kind.takes_loss(made)


def loss_type(name: str) -> type[Loss]:
    """Return the loss of a name, whatever its task; for a name with two tasks, the loss of classification."""
    known = plugins.names("loss")
    canonical = name if name in known else canonical_name(name, "regress")
    if canonical not in known:
        raise InputError(f"loss={name!r} is not known{meant(name, known)}; there are: {', '.join(loss_names())}")
    return plugins.load("loss", canonical)


def _check_common(where: str, entry: dict[str, Any]) -> None:
    testing.require_source(where, entry["source"])
    fields.require_known(f"{where}.scale", [entry["scale"]], ("none", *scaling.KINDS))
    if entry.get("impute") in (None, "none"):
        entry.pop("impute", None)  # cells without it keep the keys from before there was imputing
    else:
        fields.require_known(f"{where}.impute", [entry["impute"]], ("none", *imputing.KINDS))
    if not isinstance(entry.get("strict", False), bool):
        raise InputError(f"{where}.strict should be true or false, not {entry['strict']!r}")
    if "metric" in entry:
        with fields.locate(f"{where}.metric"):
            entry["metric"] = require_any_metric(str(entry["metric"]))
    by_name.sampler(entry.get("sampler"))
    if "solvers" in entry:
        entry["solvers"] = [str(name) for name in fields.as_list(entry["solvers"])]
    if "l1_ratio" in entry:
        entry["l1_ratio"] = fields.number(f"{where}.l1_ratio", entry["l1_ratio"])
    if "n_features" in entry:
        fields.count(f"{where}.n_features", entry["n_features"])
    first_rows(where, entry)
    fields.require_known(f"{where}.task", [entry[key] for key in ("task",) if key in entry], TASKS)
    if "epsilon" in entry:
        entry["epsilon"] = fields.number(f"{where}.epsilon", entry["epsilon"])
    if "loss" in entry and entry["loss"] is not None:
        fields.as_entry(f"{where}.loss", entry["loss"])
    for key in ("drop", "only", "categorical"):
        if key in entry:
            entry[key] = [fields.column(f"{where}.{key}", name) for name in fields.as_list(entry[key])]
    with fields.locate(where):
        Reading.from_options(entry)
    weight = entry.get("class_weight")
    if weight not in (None, "balanced"):
        for label, value in fields.as_map(f"{where}.class_weight", weight).items():
            fields.positive(f"{where}.class_weight.{label}", value)


def first_rows(where: str, entry: dict[str, Any]) -> slice:
    """Return which rows of the file take part: all, or "first N"."""
    if "rows" not in entry:
        return slice(None)
    first, _, rows = str(entry["rows"]).partition(" ")
    if first != "first" or not (rows.isascii() and rows.isdigit()) or not 0 < int(rows) < 1 << 62:
        raise InputError(f'{where}.rows={entry["rows"]!r} is not a slice: write "first 35000"')
    return slice(int(rows))


def _kernel(where: str, entry: Any) -> dict[str, Any]:
    entry = fields.as_entry(where, entry)
    options = plugins.options(plugins.load("kernel", entry["name"]))
    fields.require_known(where, set(entry) - {"name"}, [*options, *["sigma"] * ("gamma" in options)], what="key")
    if {"gamma", "sigma"} <= set(entry):
        raise InputError(f"{where} has both gamma and sigma: leave one out")
    return entry
