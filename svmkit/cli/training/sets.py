"""The data of a training run: training rows, test rows, and advice about their scaling."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from svmkit.cli.common import note
from svmkit.cli.options import require_of_task
from svmkit.cli.training.train_options import TrainOptions
from svmkit.data import Dataset, Gathered, Storage, load
from svmkit.data.classes import with_labels_like, with_task
from svmkit.data.groups import add_groups, load_grouped, require_columns, split_groups
from svmkit.data.overlap import sketch_rows
from svmkit.data.prepare import scaling
from svmkit.data.prepare.encoding import LAST
from svmkit.data.prepare.features import is_sparse
from svmkit.data.prepare.imputing import require_values
from svmkit.data.prepare.reading import Reading
from svmkit.data.splitting import part, split
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import parse_bytes
from svmkit.runtime.mapping import NUMBERS, examination_of, is_mapped, sample_rows, size_of
from svmkit.runtime.terminal import shows_progress
from svmkit.tasks import task_named

PAUSE = 5.0  # seconds between two progress lines while reading


@dataclass(frozen=True)
class Sets:
    """The data for training and testing a model."""

    train: Dataset  # for a stream or parts, the first few rows
    test: Dataset | None  # an svmlight file may have features that the training data lack
    n_samples: int
    n_features: int
    sha256: str | None = None  # checksum of the contents of `train`; None if it is unknown or no model is kept
    row_keys: str | None = None  # keys by which its rows are recognised; None likewise


def read(options: TrainOptions, *, is_linear: bool = False, imputes: bool = False) -> Sets:
    """Load the data, and load or hold out the test rows; raise InputError if that cannot be done.

    The rows of a problem that `is_linear` are on local disk if they exceed --memory. Checking for NaN may then be left
    to the first pass over them. Holes are read if --impute is given, or if something else `imputes`, such as a grid.
    """
    storage = _storage(options, is_linear)
    holes, supervised = imputes or options.impute is not None, task_named(options.task).is_supervised
    reading = {
        "reading": options.reading,
        "n_features": options.n_features,
        "storage": replace(storage, unexamined=is_linear),
    }
    ranked = task_named(options.task).has_groups
    train = load_grouped(options.data, **reading, ranked=ranked, labelled=supervised, holes=holes)
    train = with_task(train, options.task) if supervised else replace(train, task=options.task)
    require_of_task(options, train.task)
    if is_mapped(train.X):
        note(f"{train.name}: {size_of(train.X) / 1e6:,.0f} MB of rows, more than --memory, stay on local disk")
        numbers = NUMBERS * 8 * train.n_samples
        if numbers > parse_bytes(options.memory):
            note(
                f"{train.name}: the numbers that a fit keeps of each row may take {numbers / 1e6:,.0f} MB, more than "
                f"--memory: give --memory {1.25 * numbers / (1 << 20):.0f}MB to keep within it, or fewer rows"
            )
    test: Dataset | None = None
    if options.test:
        test = load_test(options, train, holes=holes, storage=storage)
        if train.X.shape == test.X.shape and train.fingerprint() == test.fingerprint():
            note(f"--test {options.test} has the rows of {options.data}: the test says nothing about new rows")
    elif options.test_size:
        is_stratified = not task_named(train.task).has_targets and (train.y is None or train.y.ndim == 1)
        if task_named(train.task).has_groups:
            train, test = (part(train, rows) for rows in split_groups(train, options.test_size, options.seed))
        else:
            train, test = split(train, options.test_size, options.seed, stratify=is_stratified)
    if holes:
        require_values(train.X, train.encoding.feature_names if train.encoding else None)
    encoding = train.encoding  # a label column that was not named is reported once
    label = encoding.label_in_words if encoding is not None and encoding.label_chosen == LAST else None
    is_in_notes = any(label is not None and line.startswith(label) for line in train.notes)
    for line in filter(None, (None if is_in_notes else label, *train.notes)):
        note(f"{train.name}: {line}")
    sha256 = train.fingerprint() if options.is_kept else None
    row_keys = sketch_rows(train.X) if options.is_kept and not is_mapped(train.X) else None
    return Sets(train, test, train.n_samples, train.n_features, sha256, row_keys)


def _storage(options: TrainOptions, is_linear: bool) -> Storage:
    """Return where rows are stored, and the function that reports the progress."""
    last = time.monotonic()

    def report(at: Gathered) -> None:
        nonlocal last
        if shows_progress() and time.monotonic() - last > PAUSE:
            last = time.monotonic()
            of = "" if at.of is None else f" of {at.of:,}"
            note(f"part {at.part:,}{of}: {at.rows:,} rows, {at.nbytes / 1e6:,.0f} MB so far")

    return Storage(parse_bytes(options.memory) if is_linear else None, report=report, dtype=options.dtype)


def load_test(options: TrainOptions, train: Dataset, *, holes: bool = False, storage: Storage | None = None) -> Dataset:
    """Return the set of --test with the columns and labels of the training data.

    Parameters
    ----------
    options, train : TrainOptions, Dataset
        The options, and the training data.
    holes, storage : optional
        As for `svmkit.load`.
    """
    reading = Reading()
    if task_named(train.task).has_groups:
        reading = replace(reading, groups=options.reading.groups, event=options.reading.event)
        require_columns(options.test, reading)
    test = load(
        options.test,
        reading=reading,
        n_features=train.n_features,
        wider=not (options.strict or holes or train.encoding),
        encoding=train.encoding,
        labelled=task_named(train.task).is_supervised,
        holes=holes,
        storage=storage,
    )
    if task_named(train.task).has_groups:
        test = add_groups(test, options.test)
    return with_labels_like(test, train)


def advise_scaling(X: Any, options: TrainOptions, kernel: Kernel) -> None:
    """Print advice on stderr if the feature scales differ widely and scaling was not requested, or does not centre."""
    kind = options.settings().scaling(sparse=is_sparse(X)) or "none"
    hint = scaling.standard_note(kind, X)
    if kind == "none" and kernel.form is not None:
        hint = scaling.scale_hint(X if examination_of(X) is None else sample_rows(X))
    if hint:
        note(hint)
