from .checkpoint import Checkpoint
from .data import TrainingData
from .online import Online
from .result import Fit
from .train import c_path, fit
from .trainer import Trainer

__all__ = ["Checkpoint", "Fit", "Online", "Trainer", "TrainingData", "c_path", "fit"]
