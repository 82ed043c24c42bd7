from .checkpoint import Checkpoint
from .data import Prepared
from .online import Online
from .result import Fit
from .train import c_path, fit
from .trainer import Trainer

__all__ = ["Checkpoint", "Fit", "Online", "Prepared", "Trainer", "c_path", "fit"]
