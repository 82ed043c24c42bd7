"""Data and trainers of subproblems, from the options of `svmkit.fit`."""

from svmkit.kernels.functions import RBF
from svmkit.training.data import TrainingData
from svmkit.training.settings import Settings, resolve
from svmkit.training.subproblems.one import SubproblemTrainer

KERNEL = RBF(0.5)


def prepared(X, y, *, task=None, kernel=KERNEL, sample_weight=None, **settings):
    """The data that a training with these settings is given."""
    return TrainingData.prepare(X, y, resolve(Settings(kernel=kernel, **settings), task), sample_weight=sample_weight)


def trainer(data, **settings):
    """What trains one subproblem of the data at a time."""
    return SubproblemTrainer(data, resolve(Settings(kernel=data.kernel, **settings), data.task))
