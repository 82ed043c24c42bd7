from .checkpoint import Checkpoint
from .data import TrainingData
from .path import c_path
from .result import Fit
from .stream.online import Online
from .subproblems.trainer import Trainer
from .train import fit

__all__ = ["Checkpoint", "Fit", "Online", "Trainer", "TrainingData", "c_path", "fit"]
