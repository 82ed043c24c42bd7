"""Losses by name; wherever a name is accepted, an instance is accepted too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svmkit import plugins
from svmkit.errors import InputError, meant
from svmkit.losses.base import TASKS_OF_LOSSES, Family, Loss

ALIASES = {
    "classify": {},
    "regress": {
        "hinge": "epsilon_insensitive",
        "squared_hinge": "squared_epsilon_insensitive",
        "pinball": "quantile",
    },
}
"""Further names of losses in a task: those of LIBLINEAR's L1 and L2 losses are one for both tasks."""

OF_PAIRS = {"rank": "classify"}
"""Tasks whose losses are those of another one: a pair in order is a sample of label +1 with the pair's margin."""

LIBLINEAR_NAMES = {"epsilon_insensitive": "hinge", "squared_epsilon_insensitive": "squared_hinge"}
"""The names of those two losses that solvers keep among their hyperparameters."""


def loss_names(task: str | None = None, families: tuple[Family, ...] = tuple(Family)) -> list[str]:
    """Return the sorted names of the registered losses that are usable here.

    Parameters
    ----------
    task : {"classify", "regress"}, default=None
        Only losses of this task; None is all.
    families : tuple of Family, default=all
        Only losses of these families.

    Examples
    --------
    >>> from svmkit.losses import loss_names
    >>> "huber" in loss_names("regress")
    True
    """
    task = OF_PAIRS.get(task or "", task)
    rows = (row for row in plugins.working("loss") if task in (None, row.plugin.task))
    return [row.name for row in rows if row.plugin.family in families]


def make_loss(
    given: str | Loss, task: str, values: Mapping[str, Any] | None = None, *, epsilon: float | None = None
) -> Loss:
    """Return the loss with this name for a task.

    Parameters
    ----------
    given : str or Loss
        A name; "hinge" and "squared_hinge" are the epsilon-insensitive losses in regression. An instance is returned
        unchanged.
    task : {"classify", "regress", "rank"}
        The task.
    values : mapping of str to object, default=None
        Options of a loss given by its name, such as tau; text is converted.
    epsilon : float, default=None
        The option epsilon if the loss has one and `values` does not give it.

    Raises
    ------
    InputError
        No loss has that name, it belongs to another task, or an option is unknown or out of range. The message names
        the alternatives.

    Examples
    --------
    >>> from svmkit.losses import make_loss
    >>> make_loss("hinge", "regress", {"epsilon": "0.5"})
    EpsilonInsensitive(epsilon=0.5)
    """
    task = OF_PAIRS.get(task, task)
    if isinstance(given, Loss):
        if values:
            raise InputError(
                f"{given!r} has its options already: give it alone, or its name {given.name!r} with options"
            )
        cls: type[Loss] = type(given)
    else:
        name = canonical_name(given, task)
        known = plugins.names("loss")
        if name not in known:
            fits = loss_names(task)
            raise InputError(f"loss={given!r} is not known{meant(given, fits)}; there are: {', '.join(fits)}")
        cls = plugins.load("loss", name)
    if task != cls.task:
        words, able = {"classify": "classes", "regress": "regression"}, ", ".join(loss_names(task))
        raise InputError(f"loss={cls.name} is for {words[cls.task]}; losses of {words.get(task, task)}: {able}")
    if isinstance(given, Loss):
        return given
    options, own = dict(values or {}), plugins.options(cls)
    for key in options:
        if key not in own:
            having = [row.name for row in plugins.working("loss") if key in row.options and row.plugin.task == task]
            others = f"; with {key}: {', '.join(having)}" if having else ""
            has = f"it has {', '.join(own)}" if own else "it has none"
            raise InputError(f"loss {cls.name} has no option {key!r}{meant(key, own)}; {has}{others}")
    if epsilon is not None and "epsilon" in own:
        options.setdefault("epsilon", epsilon)
    return plugins.build("loss", cls.name, options)


def task_of_name(name: str) -> str | None:
    """Return the task of a loss by its name, "classify" if both tasks have the name; None if there is no such loss.

    Parameters
    ----------
    name : str
        A registered name, or another one of `ALIASES`.

    Examples
    --------
    >>> from svmkit.losses.by_name import task_of_name
    >>> task_of_name("hinge"), task_of_name("pinball")
    ('classify', 'regress')
    """
    for task in TASKS_OF_LOSSES:
        if name in loss_names(task) or (task == "regress" and name in ALIASES[task]):
            return task
    return None


def is_likelihood(given: str | Loss | None) -> bool:
    """Return whether decisions are logarithms of odds with a loss, which may be unknown to all plugins.

    Parameters
    ----------
    given : str, Loss or None
        A loss or its name; None is a solver's default, which is never one.

    Examples
    --------
    >>> from svmkit.losses.by_name import is_likelihood
    >>> is_likelihood("logistic"), is_likelihood("hinge")
    (True, False)
    """
    if isinstance(given, Loss):
        return given.is_likelihood
    return given in plugins.registered("loss") and bool(plugins.load("loss", str(given)).is_likelihood)


def canonical_name(name: str, task: str) -> str:
    """Return the registered name of a loss for its name in the task; other text is returned unchanged."""
    return ALIASES.get(task, {}).get(name, name)
