"""Tables in memory as features: pandas and polars DataFrames, pyarrow Tables, and other objects with Arrow data."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data.dataset import Dataset
from svmkit.data.formats.csvtext import require_different
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import Features, as_features, is_sparse
from svmkit.data.prepare.ranks import Ranks
from svmkit.data.prepare.reading import Reading
from svmkit.data.tables import columns, label_column, onehot
from svmkit.data.tables.columns import Column
from svmkit.data.tables.readers import Learnt
from svmkit.data.tables.table import Table
from svmkit.errors import InputError, SvmkitWarning, one_line
from svmkit.runtime.packages import require_installed


def as_frame(X: Any) -> Any:
    """Return a table in memory as a pandas DataFrame, or None for other objects, such as an array.

    Parameters
    ----------
    X : object
        A pandas DataFrame is returned unchanged; a polars DataFrame, a pyarrow Table and any object that provides its
        columns by ``__arrow_c_stream__`` are converted; a polars LazyFrame is collected.

    Raises
    ------
    InputError
        The columns cannot be converted, or two have the same name.

    Examples
    --------
    >>> import pyarrow
    >>> from svmkit.data.tables.in_memory import as_frame
    >>> as_frame(pyarrow.table({"age": [31, 44], "city": ["Bonn", "Kiel"]})).shape
    (2, 2)
    """
    if isinstance(X, np.ndarray | list | tuple) or is_sparse(X):
        return None
    home = type(X).__module__.partition(".")[0]
    if home == "polars" and hasattr(X, "collect"):
        X = X.collect()
    if home == "pandas" or not hasattr(X, "__arrow_c_stream__"):
        return X if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2 else None
    if not hasattr(X, "columns"):  # a single column, such as a Series
        return None
    require_installed("tables that are not of pandas", "pyarrow")
    import pyarrow as pa

    # Arrow has no type for Python objects: polars would export their addresses, and 1.17 aborts the process
    schema = X.schema.items() if home == "polars" else ()
    objects = [name for name, dtype in schema if str(dtype) == "Object"]
    try:
        table = pa.table(X.drop(objects) if objects else X)
        require_different(table.column_names, "X")
        frame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, TypeError, ValueError) as err:
        if isinstance(err, InputError):
            raise
        raise InputError(f"X is a table that cannot be read ({one_line(err)}): convert it to pandas first") from err
    for name in objects:
        frame[name] = X[name].to_list()
    return frame[X.columns] if objects else frame


def learn_frame(frame: Any, target: Any = None, *, holes: bool = False, what: str = "X") -> Dataset:
    """Learn the encoding of the columns of a DataFrame of features, as `svmkit.load` does for a file.

    Parameters
    ----------
    frame : pandas DataFrame of shape (n_samples, n_columns)
        Features without labels. Columns of pandas' type category become categories, whatever their values.
    target : array-like, default=None
        The answers, or `Ranks`; the name of a Series is that of the label column in later tables.
    holes : bool, default=False
        Whether numbers and dates may be missing.
    what : str, default="X"
        The name of the table in messages.

    Returns
    -------
    Dataset
        Without labels; `encoding`, `flags` and `notes` as for a file.

    Raises
    ------
    InputError
        A column cannot be used as it is; the message names it and says what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> from svmkit.data.tables.in_memory import learn_frame
    >>> data = learn_frame(pd.DataFrame({"age": [31, 44], "city": ["Bonn", "Kiel"]}))
    >>> data.X.tolist(), data.encoding.feature_names
    ([[31.0, 1.0, 0.0], [44.0, 0.0, 1.0]], ['age', 'city=Bonn', 'city=Kiel'])
    """
    table, matrix = _table_of(frame, what), _plain_matrix(frame)
    if matrix is not None:
        every = [Column(at, matrix[:, at]) for at in range(matrix.shape[1])]
    else:
        chosen = {at for at, dtype in enumerate(frame.dtypes) if str(dtype) == "category"}
        every = [columns.learn(table, at, decimal=None, as_categories=at in chosen) for at in range(len(table.names))]
    full, empty = ([column for column in every if column.is_empty == is_empty] for is_empty in (False, True))
    learnt = Learnt(table, tuple(full), tuple(empty), None, None, Reading())
    if matrix is None or empty or (not holes and np.isnan(matrix).any()):
        learnt.require_usable(holes)
        matrix = onehot.assemble(full, len(frame))
    target = target.values if isinstance(target, Ranks) else target
    name, text = getattr(target, "name", None), np.asarray(target).dtype.kind in "OU" if target is not None else False
    encoding = learnt.encoding(text, label=name if isinstance(name, str) and name and name not in table.names else None)
    return Dataset(matrix, None, what, encoding, learnt.flags, learnt.notes)


def encode_frame(frame: Any, encoding: Encoding | None, *, holes: bool = False, what: str = "X") -> Features:
    """Return the features of a DataFrame in a learnt encoding.

    Parameters
    ----------
    frame : pandas DataFrame of shape (n_samples, n_columns)
        With the columns of training by name, in any order; additional ones are ignored; by position if it, or the
        encoding, has no names. A DataFrame that already contains the encoded features, as numbers, is used unchanged.
    encoding : Encoding or None
        None treats all columns as numbers.
    holes : bool, default=False
        Whether numbers and dates may be missing.
    what : str, default="X"
        The name of the table in messages.

    Raises
    ------
    InputError
        A column is missing, or a cell cannot be read.

    Examples
    --------
    >>> import pandas as pd
    >>> from svmkit.data.tables.in_memory import encode_frame, learn_frame
    >>> encoding = learn_frame(pd.DataFrame({"age": [31, 44], "city": ["Bonn", "Kiel"]})).encoding
    >>> encode_frame(pd.DataFrame({"city": ["Kiel"], "age": [25]}), encoding).tolist()
    [[25.0, 0.0, 1.0]]
    """
    table = _table_of(frame, what)
    if encoding is None or _is_encoded(table, encoding):
        matrix = _plain_matrix(frame)
        return _numbers(frame) if matrix is None else matrix
    positions, _ = label_column.match(table, encoding, None)
    if all(encoding.numeric):
        matrix = _plain_matrix(frame.iloc[:, positions])
        if matrix is not None and (holes or not np.isnan(matrix).any()):
            return matrix
    return onehot.apply(table, positions, encoding, holes=holes)


def encode_samples(
    X: Any, target: Any, options: dict[str, Any], *, holes: bool, stacklevel: int = 4
) -> tuple[Any, Encoding | None, dict[str, Any]]:
    """Return training samples as features, the encoding of their columns, None unless X is a table, and the options of
    a training with additions: `flags`, and the features of a `validation` set.

    Parameters
    ----------
    X, target : as for `svmkit.fit`
    options : dict, options of `svmkit.training.train.train`
    holes : bool, whether numbers and dates may be missing
    stacklevel : int, of the warnings about columns that are left out, or look like IDs
    """
    frame = as_frame(X)
    if frame is None:
        return X, None, options
    data = learn_frame(frame, target, holes=holes)
    for line in data.notes:
        warnings.warn(f"X: {line}", SvmkitWarning, stacklevel=stacklevel)
    flags, held = options.get("flags"), options.get("validation")
    options = options | {"flags": data.flags if flags is None else flags}
    if isinstance(held, tuple) and (frame := as_frame(held[0])) is not None:
        features = encode_frame(frame, data.encoding, holes=holes, what="X of validation")
        options["validation"] = features, *held[1:]
    return data.X, data.encoding, options


def _table_of(frame: Any, what: str) -> Table:
    """Return a DataFrame as a table, with its names as a header if all of them are texts."""
    rows, width = frame.shape
    if not (rows and width):
        lacking = "sample" if width else "feature"
        raise InputError(
            f"Found array with 0 {lacking}(s) (shape={rows, width}) while a minimum of 1 is required ({what})."
        )
    has_names = all(isinstance(name, str) for name in frame.columns)
    names = tuple(frame.columns) if has_names else tuple(f"column{i + 1}" for i in range(width))
    require_different(names, what)
    plain = frame.set_axis(range(width), axis=1).reset_index(drop=True)
    return Table(Path(what), plain, names, has_names, None, is_in_memory=True)


def _is_encoded(table: Table, encoding: Encoding) -> bool:
    """Return whether a table contains the encoded features instead of its columns."""
    width, names = len(table.names), encoding.columns
    if width != encoding.n_features or width == len(names):
        return False
    return not (table.has_header and encoding.header and set(names) & set(table.names) - set(encoding.feature_names))


def _plain_matrix(frame: Any) -> np.ndarray | None:
    """Return the cells as float32 or float64 if all columns have numpy's types of numbers, else None."""
    if all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes):
        return as_features(frame.to_numpy())
    return None


def _numbers(frame: Any) -> np.ndarray:
    """Return the cells of columns of other types as numbers, a missing one as NaN."""
    try:
        return frame.where(frame.notna(), np.nan).to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        return as_features(frame.to_numpy())  # reports what is not a number
