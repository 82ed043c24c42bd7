"""The reader of text models: which software wrote one, and its `SVMModel`."""

from __future__ import annotations

import os
from pathlib import Path

from svmkit.data.formats.files import open_data, read_start
from svmkit.errors import InputError
from svmkit.model.exchange import liblinear, libsvm
from svmkit.model.exchange.text import LARGEST_INDEX
from svmkit.model.model import SVMModel

_READERS = {b"svm_type": libsvm.read, b"solver_type": liblinear.read}


def read_text_model(path: str | os.PathLike, n_features: int | None = None) -> SVMModel:
    """Read a text model of LIBSVM or LIBLINEAR, plain or compressed; its first word determines which of the two.

    `n_features` is the number of columns that X has. None takes the largest index in the file: LIBSVM does not write
    the number of columns, and its last columns may be 0 in all vectors. Raises InputError: the file is no text model of
    either, or it is damaged; the message begins with ``FILE:LINE:`` if a line is wrong. Or `n_features` is less than an
    index in the file.
    """
    path = Path(path)
    if n_features is not None and not 1 <= n_features <= LARGEST_INDEX:
        raise InputError(f"the number of features must be from 1 to {LARGEST_INDEX}, not {n_features}")
    start = read_start(path)
    first = (start.split(maxsplit=1) or [b""])[0]
    if first not in _READERS:
        hint = ": an estimator of scikit-learn goes through SVMModel.from_sklearn" if start[:1] == b"\x80" else ""
        raise InputError(
            f"{path}: is no text model of LIBSVM or LIBLINEAR, which begin with svm_type and solver_type{hint}"
        )
    with open_data(path) as stream:
        model = _READERS[first](path, stream, n_features)
    if n_features is not None and model.n_features > n_features:
        raise InputError(f"{path}: has {model.n_features} features, not {n_features}: give at least so many")
    return model
