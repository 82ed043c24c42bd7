from .base import Answers, Task
from .classification import Classification
from .named import TASKS, task_named
from .one_class import OneClass
from .regression import Regression

__all__ = ["TASKS", "Answers", "Classification", "OneClass", "Regression", "Task", "task_named"]
