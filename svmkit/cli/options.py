"""Reading of options: a YAML file below the command line, KEY=VALUE lists, class weights, stop rules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit.errors import InputError

if TYPE_CHECKING:
    from svmkit.data.prepare.reading import Reading
    from svmkit.solver.stopping import Criterion, Stop


def merge_file(context: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the command line, completed by the YAML file that `config` among them names, if any.

    Parameters
    ----------
    context : typer.Context
        The context of the command.
    given : dict of str to object
        The options of the command line, with defaults; the command line takes precedence over the file.

    Raises
    ------
    InputError
        The file cannot be read, or an option or value in it is unknown.
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
        try:  # as text, which is what the command line passes
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


def options_with_loss(
    solver: str, values: dict[str, str], loss: str, task: str | None, epsilon: float | None
) -> dict[str, Any]:
    """Return the options of a solver with the loss among them, from the options of both.

    Parameters
    ----------
    solver : str
        The name of the solver.
    values : dict of str to str
        Its options, and those of the loss, which may begin with "loss.".
    loss : str
        The name of the loss.
    task : {"classify", "regress"} or None
        What is learnt; None, while it is not known, is the task of the loss.
    epsilon : float or None
        The option --epsilon.

    Raises
    ------
    InputError
        The loss is unknown or of another task, the solver does not take it, or an option is of neither, or of both.
    """
    from svmkit import plugins
    from svmkit.losses.by_name import LIBLINEAR_NAMES, canonical_name, loss_names, make_loss

    kind, names = plugins.load("solver", solver), plugins.names("loss")
    if "loss" in values:
        raise InputError("give --loss or -o loss, not both")
    if canonical_name(loss, "regress") not in names and loss not in names:
        raise InputError(f"--loss {loss!r} is not known; there are: {', '.join(loss_names())}")
    known = plugins.options(kind)
    if task is None:
        task = plugins.load("loss", loss if loss in names else canonical_name(loss, "regress")).task
    own: dict[str, Any] = {key: value for key, value in values.items() if key in known}
    of_loss = {key.removeprefix("loss."): value for key, value in values.items() if key not in known}
    if name := next((name for name in (loss, canonical_name(loss, task)) if name in names), None):
        for key in own.keys() & plugins.options(plugins.load("loss", name)).keys() - of_loss.keys():
            raise InputError(
                f"-o {key} is an option of solver {solver} and of loss {name}: give the loss's as loss.{key}"
            )
    made = make_loss(loss, task, of_loss, epsilon=epsilon)
    if "loss" not in known and made.name not in kind.loss_names(task):
        kind.loss_option(made.name)  # which raises
    short = LIBLINEAR_NAMES.get(made.name, made.name)
    return own | ({"loss": short if short in kind.losses else made} if "loss" in known else {})


def seconds(text: str, what: str) -> float:
    """Return the seconds in a text such as "30s", "2m", "500ms", "1h" or "30"; raise InputError, which names `what`."""
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)(ms|s|m|min|h|)", text.strip(), re.ASCII)
    if not match or not float(match[1]) > 0.0:
        raise InputError(f"{what} {text!r} is no time: write it as 30s, 2m, 1h or a number of seconds > 0")
    return float(match[1]) * {"ms": 1e-3, "m": 60.0, "min": 60.0, "h": 3600.0}.get(match[2], 1.0)


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


def label_column(text: str | None) -> str | int | None:
    """Return the label column of a table by its name, or as a number by its position."""
    return int(text) if text and text.lstrip("-").isdigit() else text


def reading(options: Any) -> Reading:
    """Return how a table is to be read by the options of a command."""
    from svmkit.data.prepare.reading import Reading

    columns = (options.drop, options.only, options.categorical)
    return Reading(label_column(options.label), options.decimal, options.encoding, *columns)


def require_task(task: str | None, *tasks: str) -> None:
    """Raise InputError for a task that a command does not have."""
    if task not in (None, *tasks):
        raise InputError(f"--task {task!r} is not known; there are: {', '.join(tasks)}")


def require_calibrate(kind: str | None, task: str | None) -> None:
    """Raise InputError for a calibration that does not exist, or that the task has no use for."""
    from svmkit.data.classes import REGRESS
    from svmkit.model.calibration import KINDS

    if kind not in (None, *KINDS):
        raise InputError(f"--calibrate {kind!r} is not known; there are: {', '.join(KINDS)}")
    if kind is not None and task == REGRESS:
        raise InputError("quantities have no probabilities: leave --calibrate out")


def require_regression(task: str | None, epsilon: float | None, class_weight: str | None) -> None:
    """Check the options that only one kind of task has; where the task is not known yet, None, only their values.

    Parameters
    ----------
    task : {"classify", "regress"} or None
        What is learnt.
    epsilon : float or None
        The option --epsilon.
    class_weight : str or None
        The option --class-weight.

    Raises
    ------
    InputError
        The value of epsilon cannot be used, or an option belongs to another task.
    """
    if epsilon is not None and not 0.0 <= epsilon < float("inf"):
        raise InputError(f"--epsilon must be a finite number >= 0, not {epsilon}")
    if epsilon is not None and task not in (None, "regress"):
        raise InputError("--epsilon is for quantities and the labels are classes: leave it out, or give --task regress")
    if class_weight is not None and task == "regress":
        raise InputError("--class-weight is for classes and the label is a quantity: leave it out")


def stop_rules(tol: float, stop: str | None, budgets: dict[str, float | None]) -> Criterion | Stop:
    """Return the stop rule that these options describe; raise InputError for numbers that are not > 0."""
    from svmkit.solver.stopping import stop_rules

    if stop is None and not 0 < tol < float("inf"):
        raise InputError(f"--tol must be a finite number > 0, not {tol}")
    for name, limit in budgets.items():
        if limit is not None and not limit > 0:
            raise InputError(f"--{name.replace('_', '-')} must be > 0, not {limit}")
    return stop_rules(stop, tol, **budgets)  # type: ignore[arg-type]
