"""The tasks by name."""

from __future__ import annotations

from svmkit.errors import InputError
from svmkit.tasks.base import Task
from svmkit.tasks.classification import Classification
from svmkit.tasks.multi_label import MultiLabel
from svmkit.tasks.one_class import OneClass
from svmkit.tasks.ranking import Ranking
from svmkit.tasks.regression import Regression

TASKS: dict[str, Task] = {
    task.name: task for task in (Classification(), Regression(), OneClass(), Ranking(), MultiLabel())
}
"""Each task by its name."""


def task_named(task: str | Task | None) -> Task:
    """Return the task with this name; None is classification, and a task is returned unchanged.

    Parameters
    ----------
    task : str, Task or None
        A name as in `svmkit.fit`, such as "regress".

    Raises
    ------
    InputError
        No task has that name; the message lists the names.

    Examples
    --------
    >>> from svmkit.tasks import task_named
    >>> task_named("regress").has_targets
    True
    """
    if isinstance(task, Task):
        return task
    try:
        return TASKS[Classification.name if task is None else task]
    except KeyError:
        raise InputError(f"task={task!r} is not known; there are: {', '.join(TASKS)}") from None
