from .checkpoint import Checkpoint
from .data import TrainingData
from .online import Online
from .path import c_path
from .result import Fit
from .train import fit
from .trainer import Trainer

__all__ = ["Checkpoint", "Fit", "Online", "Trainer", "TrainingData", "c_path", "fit"]
