"""The data of a training run: training rows, test rows, and advice about their scaling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from svmkit.cli.common import note
from svmkit.cli.options import require_regression
from svmkit.cli.training.train_options import TrainOptions
from svmkit.data import Dataset, load
from svmkit.data.classes import with_labels_like, with_task
from svmkit.data.prepare import scaling
from svmkit.data.prepare.encoding import LAST
from svmkit.data.prepare.imputing import require_values
from svmkit.data.splitting import split
from svmkit.kernels.functions import Kernel
from svmkit.tasks import task_named


@dataclass(frozen=True)
class Sets:
    """The data that a model is trained on and tested on.

    Attributes
    ----------
    train : Dataset
        The training data; for a stream, its first few rows.
    test : Dataset or None
        Held-out rows; an svmlight file may have features that the training data do not have.
    n_samples, n_features : int
        The size of all training data.
    sha256 : str or None
        The checksum of the contents of `train`; None if it is unknown or no model is kept.
    """

    train: Dataset
    test: Dataset | None
    n_samples: int
    n_features: int
    sha256: str | None = None


def read(options: TrainOptions) -> Sets:
    """Load the data, and load or hold out the test rows.

    Raises
    ------
    InputError
        A set cannot be found or read, or it cannot be split as asked.
    """
    holes, supervised = options.impute is not None, task_named(options.task).is_supervised
    reading = {"reading": options.reading, "n_features": options.n_features}
    train = load(options.data, **reading, labelled=supervised, holes=holes)
    train = with_task(train, options.task) if supervised else replace(train, task=options.task)
    require_regression(train.task, options.epsilon, options.class_weight)
    test: Dataset | None = None
    if options.test:
        test = load(
            options.test,
            n_features=train.n_features,
            wider=not (options.strict or holes or train.encoding),
            encoding=train.encoding,
            labelled=supervised,
            holes=holes,
        )
        test = with_labels_like(test, train)
        if is_same(train, test):
            note(f"--test {options.test} has the rows of {options.data}: the test says nothing about new rows")
    elif options.test_size:
        is_stratified = not task_named(train.task).has_targets
        train, test = split(train, options.test_size, options.seed, stratify=is_stratified)
    if holes:
        require_values(train.X, train.encoding.feature_names if train.encoding else None)
    tell(train)
    sha256 = train.fingerprint() if options.is_kept else None
    return Sets(train, test, train.n_samples, train.n_features, sha256)


def tell(data: Dataset) -> None:
    """Print on stderr what a user should know of the columns of a table, and its label if nobody named it."""
    encoding = data.encoding
    label = encoding.label_in_words if encoding is not None and encoding.label_chosen == LAST else None
    told = any(label is not None and line.startswith(label) for line in data.notes)
    for line in filter(None, (None if told else label, *data.notes)):
        note(f"{data.name}: {line}")


def is_same(train: Dataset, test: Dataset) -> bool:
    """Return whether two data sets hold the same rows and labels in the same order."""
    return train.X.shape == test.X.shape and train.fingerprint() == test.fingerprint()


def advise_scaling(X: Any, options: TrainOptions, kernel: Kernel) -> None:
    """Print advice on stderr if the scales of the features differ much and it was not asked for, or does not centre."""
    hint = scaling.standard_note(options.scale, X)
    if options.scale == "none" and kernel.form is not None:
        hint = scaling.scale_hint(X)
    if hint:
        note(hint)
