from .base import Answers, Output, Task
from .classification import Classification
from .multi_label import MultiLabel
from .named import TASKS, task_named
from .one_class import OneClass
from .ranking import Ranking
from .regression import Regression

__all__ = [
    "TASKS",
    "Answers",
    "Classification",
    "MultiLabel",
    "OneClass",
    "Output",
    "Ranking",
    "Regression",
    "Task",
    "task_named",
]
