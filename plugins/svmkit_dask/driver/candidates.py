"""The rows that the driver knows: candidates and support vectors, with their features and kernel values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import scipy.sparse as sp
from svmkit_corrective.working_set.growth import WorkingSet
from svmkit_corrective.working_set.square import Square

from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.semidefinite import Definiteness
from svmkit_dask.driver.session import Session
from svmkit_dask.worker.answers import Message, Own, Taken
from svmkit_dask.worker.rows import Change, SampleQP


class CandidateSet:
    """The rows that the driver knows, in order of arrival."""

    def __init__(self, session: Session) -> None:
        self.session, self.X = session, None  # (n, width): their features
        # their classes' codes or targets, costs and k(x, x)
        self.answers = np.empty(0) if session.spec.has_targets else np.empty(0, dtype=np.int64)
        self.C = self.diag = np.empty(0)
        # their places: the part, the position among its rows in the problem, the number among the rows of all parts
        self.part = self.position = self.number = np.empty(0, dtype=np.int64)
        self._index()

    def __len__(self) -> int:
        return len(self.number)

    def _index(self) -> None:
        """Rebuild the index after the arrays have changed."""
        self.qp = SampleQP(self.session.spec, self.answers, self.C, self.diag)
        self._slot = dict(zip(self.number.tolist(), range(len(self.number)), strict=True))

    def fetch(
        self, positions: Sequence[np.ndarray], restore: Callable[[list[int]], None] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add rows, given by their ascending positions in each of `Session.parts`; return their weights and v there.

        `restore` is that of `Session.ask`; without it, weights and v belong to any state.
        """
        session = self.session
        own = {p: Own(at) for p, at in zip(session.parts, positions, strict=True) if len(at)}
        if not own:
            return np.empty(0), np.empty(0)
        message = Message("take", -1 if restore is None else session.stamp)
        replies: list[Taken] = session.ask(message, own, parts=list(own), restore=restore)
        blocks = [taken.X for taken in replies] if self.X is None else [self.X, *(taken.X for taken in replies)]
        self.X = sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.concatenate(blocks)
        numbers = [session.workers.offsets[p] + taken.rows for p, taken in zip(own, replies, strict=True)]
        self.number = np.concatenate([self.number, *numbers])
        self.part = np.append(self.part, np.repeat(list(own), [len(rows) for rows in numbers]))
        self.position = np.concatenate([self.position, *(one.rows for one in own.values())])
        for name in ("answers", "C", "diag"):
            setattr(self, name, np.concatenate([getattr(self, name), *(getattr(taken, name) for taken in replies)]))
        self._index()
        return np.concatenate([t.beta for t in replies]), np.concatenate([t.v for t in replies])

    def keep(self, slots: np.ndarray) -> None:
        """Drop all rows but these, ascending, which move to the first slots."""
        self.X = self.X[slots] if self.X is not None else None
        for name in ("answers", "C", "diag", "part", "position", "number"):
            setattr(self, name, getattr(self, name)[slots])
        self._index()

    def slots(self, numbers: np.ndarray) -> np.ndarray:
        """Return the slots of rows with these numbers (n,), fetched if unknown; -1 for rows that are not in the
        problem.
        """
        session, offsets = self.session, self.session.workers.offsets
        unknown = np.array(sorted({r for r in numbers.tolist() if r not in self._slot}), dtype=np.int64)
        if len(unknown):
            cut = [unknown[slice(*np.searchsorted(unknown, offsets[p : p + 2]))] - offsets[p] for p in session.parts]
            replies = session.ask(Message("find"), dict(zip(session.parts, map(Own, cut), strict=True)))
            self.fetch([np.sort(at[at >= 0]) for at in replies])
        return np.array([self._slot.get(r, -1) for r in numbers.tolist()], dtype=np.int64)

    def weights_at(self, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weights of all candidates; the rows with these numbers join them with these weights."""
        slots = self.slots(numbers)
        beta = np.zeros(len(self))
        beta[slots] = weights
        return beta

    def slots_at(self, part: int, positions: np.ndarray) -> np.ndarray:
        """Return the slots of the rows of a part with these positions, all of them known."""
        mine = np.flatnonzero(self.part == part)
        order = np.argsort(self.position[mine])
        return mine[order[np.searchsorted(self.position[mine], positions, sorter=order)]]

    def own(self, slots: np.ndarray, values: np.ndarray) -> list[Own]:
        """Return the message to each part about its rows among these slots, with their values."""
        places = (np.flatnonzero(self.part[slots] == p) for p in range(len(self.session.workers.names)))
        return [Own(self.position[slots[mine]], values[mine]) for mine in places]

    def change(self, slots: np.ndarray, values: np.ndarray) -> tuple[list[Own], Change]:
        """Return the contents of a message about changes of weights: `own`, and for all parts vectors and signed
        values.
        """
        X = self.X[slots] if self.X is not None else np.empty((0, 0))
        return self.own(slots, values), Change(X, self.qp.signs[slots] * values)

    def weights(self, beta: np.ndarray) -> tuple[list[Own], Change]:
        """Return all vectors with weights (n,), for parts that begin anew."""
        slots = np.flatnonzero(beta)
        return self.change(slots, beta[slots])


class CandidateGram:
    """The interface of a Gram of all rows to the loop, and the kernel among the candidates for a `Square`."""

    def __init__(self, candidates: CandidateSet, budget: int) -> None:
        session = candidates.session
        self.candidates, self.kernel, self.budget = candidates, session.workers.space.kernel, budget
        self.dtype, self.diag = np.dtype(session.spec.dtype), np.array([session.widest])  # the largest k(x, x)
        self.m = session.m  # samples of the problem, the limit of a working set
        self.kernel_values = 0  # of rounds; kernel values of certificates are not counted
        self._gram: Gram | None = None
        self._rows: Any = None  # its current features

    def pause_counting(self) -> ExitStack:
        """Do not count the products inside the block."""
        stack = ExitStack()
        stack.callback(setattr, self, "kernel_values", self.kernel_values)
        return stack

    @property
    def definiteness(self) -> Definiteness:
        """What is known of the kernel: a matrix of rows that are not in one place is never factorised."""
        if self.kernel.semidefinite:
            return Definiteness()
        text = f"the {self.kernel.name} kernel need not be positive semidefinite, and no cluster proves it"
        return Definiteness(0.0, text)

    def block(self, I, J, *out, **how):
        """Return k(x_i, x_j) as `Gram.block` does, for rows of the growing set of candidates."""
        known = self.candidates
        if self._gram is None or self._rows is not known.X:
            self._rows, extent = known.X, known.session.workers.space.extent
            self._gram = Gram(self.kernel, known.X, memory=self.budget, dtype=self.dtype, extent=extent)
        known.session.kernel_values += len(I) * len(J)
        return self._gram.block(I, J, *out, **how)

    def promote(self) -> bool:
        """Change to float64 values; return False if they are float64 already."""
        if self.dtype == np.float64:
            return False
        self.dtype, self._gram = np.dtype(np.float64), None
        return True


class SharedGram:
    """The kernel among the candidates in the form of a `Square`, from the Gram of all samples."""

    def __init__(self, candidates: CandidateSet, gram: Gram) -> None:
        self.candidates, self._gram, self.kernel, self.m = candidates, gram, gram.kernel, gram.m
        self.diag, self.budget, self.promote = gram.diag, gram.budget, gram.promote

    @property
    def dtype(self) -> np.dtype:
        """Type of the stored values."""
        return self._gram.dtype

    def block(self, I, J, *out, **how):
        """Return k(x_i, x_j) as `Gram.block` does, for rows of the candidates."""
        number = self.candidates.number
        return self._gram.block(number[I], number[J], *out, **how)


class CandidateWorkingSet(WorkingSet):
    """The working set among the rows of the growing set of candidates."""

    def __init__(self, gram: CandidateGram | SharedGram) -> None:
        self.square = Square(gram)  # type: ignore[arg-type]
        self.slot_of, self.joined, self.round = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 0

    def widen(self, n: int) -> None:
        """Make room for the candidates of n rows."""
        self.slot_of = np.append(self.slot_of, np.full(n - len(self.slot_of), -1, dtype=np.int64))
