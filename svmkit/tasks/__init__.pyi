from .base import Answers, Output, Task
from .classification import Classification
from .named import TASKS, task_named
from .one_class import OneClass
from .regression import Regression

__all__ = ["TASKS", "Answers", "Classification", "OneClass", "Output", "Regression", "Task", "task_named"]
