"""How options are read, and which of them a task, a stream or a cluster refuses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import typer

from svmkit.errors import InputError

if TYPE_CHECKING:
    from svmkit.data.prepare.reading import Reading

OF_A_STREAM = {
    name: f"--{name.replace('_', '-')} belongs to a stream: svmkit train -" for name in ("classes", "on_error", "block")
}
_OF_A_TABLE = ("decimal", "encoding", "na", "drop", "only", "categorical", "tidy", "groups", "event")
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}  # units of time, in seconds
LOO = "loo"  # as in `svmkit.tune.shared.leave_one_out`, whose import would take long
LEAST_BYTES = 1 << 16  # of memory, for a number without a unit
NOT_OF_A_STREAM = {
    "test_size": "rows cannot be held out of a stream: give --test FILE",
    "checkpoint": "a stream cannot be taken up again: leave --checkpoint out",
    "curve": "the accuracy on a stream is measured ahead of learning: leave --curve out",
    "tune": "a stream cannot be divided into folds: leave --tune out",
    "multiclass": "a stream trains class pairs: leave --multiclass out",
    "calibrate": "a stream cannot be divided into the folds of a calibration: leave --calibrate out",
    "thresholds": "a stream cannot be divided into folds: leave --thresholds out",
    "conformal": "rows cannot be held out of a stream: leave --conformal out",
    "relevance": "a stream cannot be divided into the folds that choose a relevance: leave --relevance out",
    "impute": "the lines of a stream have no holes: leave --impute out",
    "dtype": "the lines of a stream are read as float64: leave --dtype out",
    "label": "the lines of a stream begin with their label: leave --label out",
    **{name: f"a stream is svmlight and no table: leave --{name} out" for name in _OF_A_TABLE},
    "sampler": "samples are looked at in the order of the stream: leave --sampler out",
    "stop": "how far from optimal the model of a stream is cannot be known: leave --stop out",
    "tol": "how far from optimal the model of a stream is cannot be known: leave --tol out",
    "nu": "a stream has no fractions to bound: leave --nu out",
    "max_iter": "a stream ends with its lines: cut it (head -n LINES), or give --time-limit",
}
NOT_OF_A_CLUSTER = {
    "test_size": "rows cannot be held out of parts: give --test FILE, or leave a part out",
    "curve": "the model on the way is not measured on a cluster: leave --curve out",
    "max_support": "support vectors are not limited on a cluster: leave --max-support out",
    "dtype": "parts are read on their workers as they are: leave --dtype out",
    "device": "the workers of a cluster compute on their CPUs: leave --device out",
    "calibrate": "a calibration is not available on a cluster: leave --calibrate out",
    "thresholds": "a cluster makes no folds: leave --thresholds out",
    "conformal": "rows are not held out on a cluster: leave --conformal out",
    "relevance": "relevance is not learnt on a cluster: leave --relevance out",
    "impute": "holes are not filled on a cluster: fill them in the parts, and leave --impute out",
    "nu": "nu-SVC is not available on a cluster: leave --nu out",
    "tune": "parts are not divided into folds: svmkit tune --scheduler searches over a file",
    "n_features": "the columns of all parts are counted: leave --n-features out",
    "starts_at_model": "training on a cluster cannot start at a model: --resume needs --checkpoint FILE",
}
NOT_OF_OUTLIERS = {
    name: f"--{name.replace('_', '-')} {reason}: leave it out with --task outliers"
    for name, reason in {
        "epsilon": "is for quantities",
        "class_weight": "is for classes",
        "multiclass": "is for classes",
        "calibrate": "is for classes",
        "thresholds": "is for classes",
        "relevance": "is for classes and quantities",
        "metric": "needs labels: svmkit evaluate measures a model",
        "test_size": "holds out labelled rows: give --test FILE",
        "curve": "needs labelled rows",
    }.items()
}

NOT_OF_RANKS = {
    name: f"--{name.replace('_', '-')} {reason}: leave it out with --task rank"
    for name, reason in {
        "epsilon": "is for quantities",
        "class_weight": "is for classes",
        "multiclass": "is for classes",
        "calibrate": "is for classes",
        "thresholds": "is for classes",
        "conformal": "is for classes, quantities and outliers",
        "nu": "is for classes, quantities and outliers",
        "scheduler": "has no solver that ranks",
    }.items()
}
OF_SETS = {
    name: f"--{name.replace('_', '-')} is about the sets of --conformal: give it a share, too, as in --conformal 0.1"
    for name in ("conformal_folds", "conformal_by")
}
OF_RANKS = {"event": "--event says which times are censored: give --task rank"}


class Options(SimpleNamespace):
    """The options of a command by name; missing ones have their defaults, mostly None."""

    def has(self, name: str) -> bool:
        """Return whether an option with the default None, False or an empty list was given."""
        value = getattr(self, name, None)
        return value is not False and value not in (None, [], ())

    @property
    def reading(self) -> Reading:
        """How to read a table."""
        from svmkit.data.prepare.reading import Reading

        columns = (self.drop, self.only, self.categorical)
        how = Reading(self.label, self.decimal, self.encoding, *columns, tidy=self.tidy, na=self.na)
        return replace(how, groups=getattr(self, "groups", None), event=getattr(self, "event", None))

    @property
    def reading_of_model(self) -> Reading:
        """How to read a table whose columns a model knows."""
        from svmkit.data.prepare.reading import Reading

        how = {"na": self.na, "on_error": self.on_error, "allow_missing": self.allow_missing}
        return Reading(decimal=self.decimal, charset=self.encoding, **how)


def merge_file(context: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the command line, completed by the YAML file of --config.

    Raises InputError: the file cannot be read, or an option or value in it is unknown.
    """
    config = given.get("config")
    if config is None:
        return given
    from svmkit.compare.plan.fields import read_yaml

    path = Path(config)
    loaded = read_yaml(path) or {}
    if not isinstance(loaded, dict):
        raise InputError(f"{path}: write one `option: value` a line")
    by_name = {p.name: p for p in context.command.params if p.name in given and p.name not in ("config", "json")}
    spelt = {name.replace("_", "-"): name for name in by_name}
    for key, value in loaded.items():
        name = spelt.get(str(key).replace("_", "-"))
        if name is None:
            raise InputError(f"{path}: no option {key!r}; there are: {', '.join(sorted(spelt))}")
        if context.get_parameter_source(name).name == "COMMANDLINE":
            continue
        if name == "option" and isinstance(value, dict):
            value = [f"{k}={v}" for k, v in value.items()]
        if value is None:
            continue
        try:  # as text, like the values of the command line
            text = value if isinstance(value, bool | list) else str(value)
            if by_name[name].multiple and not isinstance(text, list):
                text = [text]
            given[name] = by_name[name].process_value(context, text)
        except Exception as error:
            reason = error.format_message() if hasattr(error, "format_message") else str(error)
            raise InputError(f"{path}: {key}: {reason}") from None
    return given


def key_values(items: Iterable[str], what: str) -> dict[str, str]:
    """Return the values of KEY=VALUE texts by key; raise InputError, which names the option `what`, for other texts."""
    pairs = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key or not value:
            raise InputError(f"{what} {item!r} is not KEY=VALUE")
        pairs[key.strip()] = value.strip()
    return pairs


class Unreadable(typer.BadParameter):
    """The text of an option cannot be read; the message is complete, and says what to write."""

    def format_message(self) -> str:
        return self.message


class Seconds(float):
    """The type of an option that is a time, such as 30s or 2m."""


class Share(float):
    """The type of an option that is a share, such as 0.25 or 25%."""


class Size(str):
    """The type of an option that is an amount of memory, such as 1GB."""


def number(text: str | float, what: str) -> float:
    """Return the number in a text; raise Unreadable, which names the option `what`, for other texts."""
    try:
        return float(text)
    except ValueError:
        comma = re.fullmatch(r"([+-]?\d*),(\d+)", str(text).strip(), re.ASCII)
        written = f"{comma[1]}.{comma[2]}" if comma else "it as 0.5 or 1e-3"
        raise Unreadable(f"{what} {text!r} is no number: write {written}") from None


def integer(text: str | float, what: str, least: float | None = None) -> int:
    """Return the whole number in a text, such as "100000" or "1e5", at least `least`."""
    try:
        value = int(text) if str(text).strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        value = math.nan
    if not float(value).is_integer():
        raise Unreadable(f"{what} {text!r} is no whole number: write it as 10 or 1e5")
    if least is not None and value < least:
        raise Unreadable(f"{what} must be at least {least:g}, not {value:g}")
    return int(value)


def share(text: str | float, what: str) -> float:
    """Return the share in a text such as "0.25" or "25%"."""
    percent = str(text).strip().endswith("%")
    return number(str(text).strip().removesuffix("%"), what) / 100.0 if percent else number(text, what)


def seconds(text: str | float, what: str, least: float | None = None) -> float:
    """Return the seconds in a text such as "30s", "2m", "500ms", "1h" or "30"; raise Unreadable, which names `what`.

    The time has to be > 0, or >= 0 if `least` is 0.
    """
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)(ms|s|m|min|h)", str(text).strip().lower(), re.ASCII)
    try:
        value = float(match[1]) * UNITS[match[2]] if match else float(text)
    except ValueError:
        value = math.nan
    if not (0.0 < value < math.inf or value == least):
        sign = ">" if least is None else ">="
        raise Unreadable(f"{what} {text!r} is no time: write it as 30s, 2m, 1h or a number of seconds {sign} 0")
    return value


def size(text: str, what: str) -> str:
    """Return a text such as "200MB"; raise Unreadable for a number of bytes that probably lacks its unit."""
    if text.strip().isdecimal() and int(text) < LEAST_BYTES:
        raise Unreadable(f"{what} {text} is a number of bytes: write {what} 1GB or 200MB")
    return text


class Folds(str):
    """The type of an option that is a number of folds, or loo."""


def folds(text: str | float, what: str, least: float | None = None) -> int | str:
    """Return the number of folds in a text, or "loo" for leave-one-out."""
    if str(text).strip().lower() == LOO:
        return LOO
    try:
        return integer(text, what, least)
    except Unreadable as error:
        raise Unreadable(f"{error}, or {LOO} to leave out one row at a time") from None


READERS = {float: number, int: integer, Seconds: seconds, Share: share, Size: size, Folds: folds, list[float]: number}
"""How the texts of an option are read, by its type."""
SHOWN_AS = {
    str: "<text>",
    list[str]: "<text>",
    float: "<number>",
    list[float]: "<number>",
    int: "<whole number>",
    Seconds: "<time>",
    Share: "<share>",
    Size: "<size>",
    Folds: "<folds>",
}  # in `--help`


def class_weights(text: str | None) -> str | dict[str, float] | None:
    """Return the class weights in a text: None, "balanced", or {label: weight} for "LABEL=WEIGHT,..."."""
    if text is None or text == "balanced":
        return text
    weights = {}
    if "=" not in text:
        raise InputError(f"--class-weight {text!r} is not known: give balanced or LABEL=WEIGHT,...")
    for label, weight in key_values(text.split(","), "--class-weight").items():
        try:
            weights[label] = float(weight)
        except ValueError:
            raise InputError(f"--class-weight: {weight!r} for {label!r} is not a number") from None
    return weights


def flag(name: str) -> str:
    """Return the option of a name, such as --test-size."""
    return f"--{name.replace('_', '-')}"


def refuse(options: Options, reasons: Mapping[str, str]) -> None:
    """Raise InputError, with the reason, for the first of these options that is given."""
    for name, reason in reasons.items():
        if options.has(name):
            raise InputError(reason)


NOT_OF_A_SEARCH = {
    "checkpoint": "a search cannot be taken up again: leave --checkpoint out of --tune",
    "resume": "a search cannot start at a model: leave --resume out of --tune",
    "scheduler": NOT_OF_A_CLUSTER["tune"],
}
OF_A_SEARCH = {name: f"--{name} belongs to a search: give --tune, too" for name in ("cv",)}


def require_known(options: Options, **known: Iterable[str]) -> None:
    """Raise InputError for an option whose value is not among the known ones."""
    for name, values in known.items():
        value = getattr(options, name)
        if value is not None and value not in values:
            raise InputError(f"{flag(name)} {value!r} is not known; there are: {', '.join(values)}")


def require_of_task(options: Any, task: str | None) -> None:
    """Raise InputError for an option of another task or penalty; of a task that is unknown, None, only values are
    checked.
    """
    from svmkit.tasks import task_named

    epsilon, of = options.epsilon, None if task is None else task_named(task)
    if options.l1_ratio is not None and options.penalty != "elasticnet":
        raise InputError("--l1-ratio is for --penalty elasticnet: give it, too, or leave --l1-ratio out")
    if task_named(options.task).has_groups:
        refuse(options, NOT_OF_RANKS)
    else:
        refuse(options, OF_RANKS)
    if epsilon is not None and not 0.0 <= epsilon < float("inf"):
        raise InputError(f"--epsilon must be a finite number >= 0, not {epsilon}")
    if of is None:
        return
    if epsilon is not None and not of.has_targets:
        raise InputError("--epsilon is for quantities and the labels are classes: leave it out, or give --task regress")
    if of.has_targets and options.class_weight is not None:
        raise InputError("--class-weight is for classes and the label is a quantity: leave it out")
    if task_named(options.task).has_targets and options.calibrate is not None:
        raise InputError("quantities have no probabilities: leave --calibrate out")
