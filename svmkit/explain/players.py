"""Players: the columns of a table as users know them, each with all features derived from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from svmkit.data.prepare.dates import text_of
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import is_sparse
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.errors import InputError, meant


@dataclass(frozen=True, eq=False)
class Players:
    """Columns that contribute to a decision, each as a whole.

    Attributes
    ----------
    names : tuple of str
        Their names.
    owner : ndarray of shape (n_features,), int64
        The player of each feature X.
    encoding : Encoding or None
        How a table became X: its columns are the players unless others are given.
    preprocessing : Preprocessing
        The steps between X and the kernel.

    Examples
    --------
    >>> from svmkit.data import Preprocessing
    >>> from svmkit.explain import Players
    >>> players = Players.derive(Preprocessing(), 3, {"place": [0, 2]})
    >>> players.names, players.owner.tolist()
    (('place', 'column 2'), [0, 1, 0])
    """

    names: tuple[str, ...]
    owner: np.ndarray
    encoding: Encoding | None
    preprocessing: Preprocessing

    @classmethod
    def derive(
        cls,
        preprocessing: Preprocessing,
        n_features: int,
        given: Mapping[str, Sequence[int | str]] | None = None,
        names: Sequence[str] | None = None,
    ) -> Players:
        """Return the columns of the model's training table, or its features if there was no table.

        Parameters
        ----------
        preprocessing : Preprocessing
            The preprocessing of the model.
        n_features : int
            The number of columns of X.
        given : mapping of str to sequence of int or str, default=None
            Players of several features each, by index from 0 or name; all other players are unchanged.
        names : sequence of str, default=None
            The names of the features, if no table has named them.

        Raises
        ------
        InputError
            A given player names no feature, an unknown one, or one of another player.
        """
        encoding = preprocessing.encoding
        if encoding is not None and encoding.n_features != n_features:
            encoding = None
        features = preprocessing.feature_names(n_features)[:n_features]
        if encoding is None:
            features = [str(name) for name in names] if names is not None and len(names) == n_features else features
            own, owner = features, np.arange(n_features)
        else:
            widths = [1 if known is None else len(known) for known in encoding.categories]
            own, owner = list(encoding.columns), np.repeat(np.arange(len(widths)), widths)
        if given:
            own, owner = _join(own, owner, features, given)
        return cls(tuple(own), owner.astype(np.int64), encoding, preprocessing)

    @cached_property
    def wide(self) -> np.ndarray:
        """The player of each feature after preprocessing, int64 (width,): hole indicators belong to their columns."""
        imputing = self.preprocessing.imputing
        return self.owner if imputing is None else np.append(self.owner, self.owner[imputing.holed])

    def features(self, player: int) -> np.ndarray:
        """Return the indices of the features of a player, ascending."""
        return np.flatnonzero(self.owner == player)

    def number(self, name: str) -> int:
        """Return the index of a player; raise InputError if there is none of that name."""
        if name not in self.names:
            raise InputError(f"no column is called {name!r}{meant(name, self.names)}: give one of the model's columns")
        return self.names.index(name)

    def cells(self, X: Any) -> np.ndarray:
        """Return the values of each player in the rows of X as in a table, object (n_samples, n_players).

        Parameters
        ----------
        X : ndarray or CSR of shape (n_samples, n_features)
            Features, not preprocessed.

        Returns
        -------
        ndarray of object
            Numbers as float, None for a hole, texts of categories and dates; a tuple of numbers if a player has several
            features other than categories.
        """
        out = np.empty((X.shape[0], len(self.names)), dtype=object)
        for player, name in enumerate(self.names):
            at = self.features(player)
            part = np.asarray(X[:, at].toarray() if is_sparse(X) else X[:, at], dtype=np.float64)
            known, order = self._kind(name, at)
            for r, values in enumerate(part):
                if known is not None:
                    out[r, player] = known[int(values.argmax())] if (values > 0.5).any() else None
                elif order is not None and len(values) == 1:
                    out[r, player] = text_of(float(values[0]), order) or None
                else:
                    cells = [None if np.isnan(value) else float(value) for value in values]
                    out[r, player] = cells[0] if len(cells) == 1 else tuple(cells)
        return out

    def _kind(self, name: str, at: np.ndarray) -> tuple[tuple[str, ...] | None, str | None]:
        """Return the categories of a player, or None, and the order of the parts of its dates, or None."""
        if self.encoding is None or name not in self.encoding.columns:
            return None, None
        column = self.encoding.columns.index(name)
        known = self.encoding.categories[column]
        return (known if known is not None and len(known) == len(at) else None), self.encoding.dates[column]

    def is_category(self, player: int) -> bool:
        """Whether a player is a column of categories, of whose features at most one is 1."""
        return self._kind(self.names[player], self.features(player))[0] is not None


def _join(
    own: Sequence[str], owner: np.ndarray, features: Sequence[str], given: Mapping[str, Sequence[int | str]]
) -> tuple[list[str], np.ndarray]:
    """Return the names of players and the owners of features with given players in place of their features' own."""
    taken = np.full(len(owner), -1)
    for k, (name, members) in enumerate(given.items()):
        if isinstance(members, str) or not len(members):
            raise InputError(f"player {name!r} needs a list of columns, by name or by number from 0")
        for member in members:
            at = _numbers(member, own, owner, features)
            if (taken[at] >= 0).any():
                raise InputError(f"column {member!r} is given to two players, or twice to {name!r}: give it once")
            taken[at] = k
    rest = sorted(set(owner[taken < 0].tolist()))
    place = {old: len(given) + k for k, old in enumerate(rest)}
    joined = [t if t >= 0 else place[o] for t, o in zip(taken.tolist(), owner.tolist(), strict=True)]
    names = [*given, *(own[old] for old in rest)]
    if len(set(names)) < len(names):
        raise InputError("a player has the name of a column that is not part of it: give it another name")
    order = {player: k for k, player in enumerate(dict.fromkeys(joined))}  # in the order of their first features
    return [names[player] for player in order], np.array([order[player] for player in joined])


def _numbers(member: int | str, own: Sequence[str], owner: np.ndarray, features: Sequence[str]) -> np.ndarray:
    """Return the features that a name or an index refers to."""
    if isinstance(member, str):
        if member in own:
            return np.flatnonzero(owner == list(own).index(member))
        if member in features:
            return np.array([list(features).index(member)])
        raise InputError(f"no column is called {member!r}{meant(member, own)}: give one of the model's columns")
    if not 0 <= member < len(owner):
        raise InputError(f"there is no column {member}: columns are numbered from 0 to {len(owner) - 1}")
    return np.array([int(member)])
