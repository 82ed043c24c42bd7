"""The working set among the rows of a roster."""

from __future__ import annotations

import numpy as np
from svmkit_corrective.working_set.growth import WorkingSet
from svmkit_corrective.working_set.square import Square

from svmkit_dask.dealing import DealtGram
from svmkit_dask.roster import RosterGram


class RosterSet(WorkingSet):
    """The working set among the rows of a roster, which become more."""

    def __init__(self, gram: RosterGram | DealtGram) -> None:
        self.square = Square(gram)  # type: ignore[arg-type]
        self.slot_of, self.joined, self.round = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 0

    def widen(self, n: int) -> None:
        """Make room for a roster of n rows."""
        self.slot_of = np.append(self.slot_of, np.full(n - len(self.slot_of), -1, dtype=np.int64))

    def renumber(self, kept: np.ndarray) -> None:
        """Follow a roster of which only the rows `kept`, ascending, remain; the rows of the set are among them."""
        self.slot_of = self.slot_of[kept]
        self.square.idx = np.searchsorted(kept, self.square.idx)
