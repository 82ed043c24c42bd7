"""The answers for a ranker: values, the groups within which they are compared, and which of them were observed."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from svmkit.data.prepare.labels import as_targets
from svmkit.errors import InputError


class Ranks(NamedTuple):
    """Values whose order within groups is learnt.

    Attributes
    ----------
    values : array-like of shape (n_samples,)
        Finite numbers, such as degrees of relevance, or times.
    groups : array-like of shape (n_samples,), default=None
        The group of each sample, numbers or text, such as the query that a document answers; None is one group.
    observed : array-like of shape (n_samples,), bool, default=None
        Whether a value was observed; a value that was not, such as a censored time, is only known to be larger than the
        given one, and so ranks above an equal observed value. None means all were observed.

    Examples
    --------
    >>> from svmkit.data import Ranks
    >>> Ranks([2, 1, 0], groups=["a", "a", "b"]).observed is None
    True
    """

    values: Any
    groups: Any = None
    observed: Any = None


def make_ranks(y: Any, groups: Any = None) -> Ranks:
    """Return y and groups as values, groups and observed flags.

    Parameters
    ----------
    y : Ranks or array-like
        Values (n_samples,); or times with events, as in scikit-survival: a structured array with a field of booleans,
        whether the event was observed, and one of times, or these two as columns (n_samples, 2).
    groups : array-like of shape (n_samples,), default=None
        The groups, if y does not contain them.

    Raises
    ------
    InputError
        A structured array has other fields, or times come without booleans.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.data import make_ranks
    >>> make_ranks(np.array([(True, 3.0), (False, 5.0)], dtype=[("death", bool), ("days", float)])).observed.tolist()
    [True, False]
    """
    if isinstance(y, Ranks):
        return y if groups is None else y._replace(groups=groups)
    given = np.asarray(y) if getattr(y, "dtype", None) is not None or isinstance(y, list | tuple) else y
    names = getattr(getattr(given, "dtype", None), "names", None)
    if names:
        flags = [name for name in names if given.dtype[name].kind == "b"]
        times = [name for name in names if given.dtype[name].kind in "iuf"]
        if len(names) != 2 or len(flags) != 1 or len(times) != 1:
            fields = ", ".join(f"{name} {given.dtype[name]}" for name in names)
            raise InputError(
                f"y has the fields {fields}: censored times need two, a flag (bool) whether the event was observed, "
                "and the time (a number)"
            )
        return Ranks(given[times[0]], groups, given[flags[0]])
    if getattr(given, "ndim", 1) == 2 and given.shape[1] == 2:
        if not np.isin(given[:, 0], (0, 1)).all():
            raise InputError(
                "y has two columns, but the first one is no flag: censored times need 1 for an event that was "
                "observed and 0 for none, and the time in the second column"
            )
        return Ranks(given[:, 1], groups, given[:, 0] == 1)
    return Ranks(y, groups)


def encode_ranks(y: Any, *, n_samples: int, needs_pairs: bool = True) -> np.ndarray:
    """Check and encode the answers for a ranker.

    Parameters
    ----------
    y : Ranks or array-like
        As for `make_ranks`; or a result of this function, (n_samples, 3), or rows of it.
    n_samples : int
        The number of rows of X, which y has to match.
    needs_pairs : bool, default=True
        Whether there has to be a pair to compare, as for training.

    Returns
    -------
    ndarray of shape (n_samples, 3), float64
        Values, indices of groups, and 1.0 for an observed value, else 0.0.

    Raises
    ------
    InputError
        Values are missing or not finite numbers, a length differs, or there is no pair to compare although one is
        needed.

    Examples
    --------
    >>> from svmkit.data import encode_ranks
    >>> encode_ranks([1, 2], n_samples=2).tolist()
    [[1.0, 0.0, 1.0], [2.0, 0.0, 1.0]]
    """
    given = Ranks(*y.T) if is_encoded(y) else make_ranks(y)
    values = as_targets(given.values, n_samples=n_samples, varied=False)
    codes = np.zeros(n_samples, dtype=np.int64) if given.groups is None else encode_groups(given.groups, n_samples)
    observed = np.ones(n_samples) if given.observed is None else _flags(given.observed, n_samples)
    encoded = np.column_stack([values, codes, observed])
    if needs_pairs and not has_pairs(encoded):
        _refuse_no_pair(values, observed, np.bincount(codes))
    return encoded


def is_encoded(y: Any) -> bool:
    """Return whether y is a result of `encode_ranks`, or rows of it.

    Examples
    --------
    >>> from svmkit.data.prepare.ranks import encode_ranks, is_encoded
    >>> is_encoded([1, 2]), is_encoded(encode_ranks([1, 2], n_samples=2))
    (False, True)
    """
    return isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 3


def has_pairs(encoded: np.ndarray) -> bool:
    """Return whether a group has an observed value and a larger one, or an equal one that was not observed.

    Parameters
    ----------
    encoded : ndarray of shape (n_samples, 3), float64
        Values, indices of groups and observed flags, as returned by `encode_ranks`.

    Examples
    --------
    >>> from svmkit.data.prepare.ranks import Ranks, encode_ranks, has_pairs
    >>> has_pairs(encode_ranks(Ranks([1, 2, 5], groups=["a", "a", "b"]), n_samples=3))
    True
    """
    values, codes, seen = encoded[:, 0], encoded[:, 1].astype(np.int64), encoded[:, 2] > 0.0
    largest, censored = np.full((2, int(codes.max(initial=-1)) + 1), -np.inf)
    np.maximum.at(largest, codes, values)
    np.maximum.at(censored, codes[~seen], values[~seen])
    return bool((seen & ((values < largest[codes]) | (values <= censored[codes]))).any())


def encode_groups(groups: Any, n_samples: int) -> np.ndarray:
    """Return the groups of the samples as numbers from 0, (n_samples,), int64.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        Numbers or text.
    n_samples : int
        Number of samples.

    Raises
    ------
    InputError
        A sample has no group, or the number of groups differs.

    Examples
    --------
    >>> from svmkit.data import encode_groups
    >>> encode_groups(["b", "a", "b"], 3).tolist()
    [1, 0, 1]
    """
    given = np.asarray(groups)
    if given.shape != (n_samples,):
        raise InputError(f"groups has shape {given.shape}, but X has {n_samples} samples: pass one group for each")
    missing = np.isnan(given) if given.dtype.kind == "f" else np.array([v is None or v != v for v in given.tolist()])
    if missing.any():
        raise InputError(f"groups has a hole at row {int(np.argmax(missing)) + 1} (counted from 1): name its group")
    return np.unique(given.astype(str) if given.dtype.kind == "O" else given, return_inverse=True)[1].astype(np.int64)


def _flags(observed: Any, n_samples: int) -> np.ndarray:
    flags = np.asarray(observed)
    if flags.shape != (n_samples,):
        raise InputError(f"observed has shape {flags.shape}, but X has {n_samples} samples: pass one flag for each")
    if flags.dtype.kind not in "biuf" or not np.isin(flags, (0, 1)).all():
        raise InputError("observed must hold True for each value that was observed, and False for a censored one")
    return flags.astype(np.float64)


def _refuse_no_pair(values: np.ndarray, observed: np.ndarray, sizes: np.ndarray) -> NoReturn:
    """Raise InputError with the reason why there is no pair in groups of these sizes."""
    if len(values) == 1:
        raise InputError("there is no pair to rank in one sample: a ranker needs two samples or more")
    if sizes.max() == 1:
        raise InputError("there is no pair to rank: each group has one row; check which column says the groups")
    if not observed.all():
        raise InputError("there is no pair to rank: no event was observed before a larger time, or at a censored one")
    where = "all values are equal" if len(sizes) == 1 else "all values of each group are equal"
    raise InputError(f"there is no pair to rank: {where}")
