"""The rows that the driver knows: candidates and support vectors, with their features and the kernel among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp
from svmkit_corrective.working_set.growth import WorkingSet
from svmkit_corrective.working_set.square import Square

from svmkit.kernels.gram import Gram
from svmkit_dask.driver.session import Session, Weights
from svmkit_dask.worker.answers import Message, Own, Taken
from svmkit_dask.worker.features import Space
from svmkit_dask.worker.rows import Change, SampleQP


class CandidateSet:
    """The rows that the driver knows, in the order in which they came.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, width)
        Their features.
    answers, C, diag : ndarray of shape (n,)
        Their classes' codes or targets, costs and k(x, x).
    part, position : ndarray of int64, shape (n,)
        Where they are: the number of the part, and the position among its rows that take part in the problem.
    number : ndarray of int64, shape (n,)
        Their numbers among the rows of all parts.
    qp : SampleQP
        Their losses.
    """

    def __init__(self, session: Session) -> None:
        self.session, self.X = session, None
        self.C = self.diag = np.empty(0)
        self.answers = np.empty(0) if session.spec.has_targets else np.empty(0, dtype=np.int64)
        self.part = self.position = self.number = np.empty(0, dtype=np.int64)
        self._index()

    def __len__(self) -> int:
        return len(self.number)

    def _index(self) -> None:
        """Follow the arrays, which have changed."""
        self.qp = SampleQP(self.session.spec, self.answers, self.C, self.diag)
        self._slot = dict(zip(self.number.tolist(), range(len(self.number)), strict=True))

    def fetch(
        self, positions: Sequence[np.ndarray], mend: Callable[[list[int]], None] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Let rows join that are not known yet; return the weights and the v that they have on their parts.

        `positions` are those of the rows in each part of `Session.parts`, ascending. `mend` is that of `Session.ask`,
        in the state of the session; without it weights and v are those of any state.
        """
        session = self.session
        own = {p: Own(at) for p, at in zip(session.parts, positions, strict=True) if len(at)}
        if not own:
            return np.empty(0), np.empty(0)
        message = Message("take", -1 if mend is None else session.stamp)
        replies: list[Taken] = session.ask(message, own, parts=list(own), mend=mend)
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
        """Forget all rows but these, ascending, which move to the first slots."""
        self.X = self.X[slots] if self.X is not None else None
        for name in ("answers", "C", "diag", "part", "position", "number"):
            setattr(self, name, getattr(self, name)[slots])
        self._index()

    def slots(self, numbers: np.ndarray) -> np.ndarray:
        """Return where the rows with these numbers (n,) stand, and fetch those that are not known; -1 for no row.

        A number may belong to a row that takes no part in the problem.
        """
        session, offsets = self.session, self.session.workers.offsets
        unknown = np.array(sorted({r for r in numbers.tolist() if r not in self._slot}), dtype=np.int64)
        if len(unknown):
            cut = [unknown[slice(*np.searchsorted(unknown, offsets[p : p + 2]))] - offsets[p] for p in session.parts]
            replies = session.ask(Message("find"), dict(zip(session.parts, map(Own, cut), strict=True)))
            self.fetch([np.sort(at[at >= 0]) for at in replies])
        return np.array([self._slot.get(r, -1) for r in numbers.tolist()], dtype=np.int64)

    def weights_at(self, point: np.ndarray) -> np.ndarray:
        """Return the weights of all candidates, which get those rows of a point (m,) that are not 0."""
        numbers = np.flatnonzero(point)
        slots = self.slots(numbers)
        beta = np.zeros(len(self))
        beta[slots] = point[numbers]
        return beta

    def slots_at(self, part: int, positions: np.ndarray) -> np.ndarray:
        """Return where the rows of a part stand that have these positions, all of them known."""
        mine = np.flatnonzero(self.part == part)
        order = np.argsort(self.position[mine])
        return mine[order[np.searchsorted(self.position[mine], positions, sorter=order)]]

    def change(self, slots: np.ndarray, values: np.ndarray) -> Change:
        """Return vectors and y times what their weights gain."""
        return Change(self.X[slots] if self.X is not None else np.empty((0, 0)), self.qp.signs[slots] * values)

    def own(self, slots: np.ndarray, values: np.ndarray, inside: np.ndarray | None = None) -> list[Own]:
        """Return for each part of the workers what concerns its own rows among these slots."""
        shares = []
        for p in range(self.session.workers.n_parts):
            mine = np.flatnonzero(self.part[slots] == p)
            asked = inside[self.part[inside] == p] if inside is not None else slots[:0]
            shares.append(Own(self.position[slots[mine]], values[mine], self.position[asked]))
        return shares

    def weights(self, beta: np.ndarray) -> Weights:
        """Return all vectors that have weights, for parts that begin anew; beta (n,)."""
        slots = np.flatnonzero(beta)
        return self.change(slots, beta[slots]), self.own(slots, beta[slots])


class CandidateGram:
    """The kernel among the candidates, in the form that a `Square` takes; it follows as they become more.

    `m` is the number of samples of the problem, beyond which no working set grows, and `diag` holds the largest k(x,
    x).
    """

    def __init__(self, candidates: CandidateSet, space: Space, budget: int, dtype: np.dtype) -> None:
        self.candidates, self.space, self.kernel = candidates, space, space.kernel
        self.budget, self.dtype, self.m = budget, np.dtype(dtype), candidates.session.m
        self.diag = np.array([candidates.session.widest])
        self.kernel_values = 0
        self._gram: Gram | None = None

    def block(self, I, J, out=None, *, rough=False):
        """Return k(x_i, x_j) as `Gram.block` does, for rows of the candidates."""
        gram = self._gram
        if gram is None or gram.m < len(self.candidates):
            X = self.candidates.X
            gram = Gram(self.kernel, X, memory=self.budget, dtype=self.dtype, extent=self.space.extent)
            self._gram = gram
        self.kernel_values += len(I) * len(J)
        return gram.block(I, J, out, rough=rough)

    def renew(self) -> None:
        """Take the rows of the candidates anew, some of which it has forgotten."""
        self._gram = None

    def promote(self) -> bool:
        """Change to float64 values; return False if they are float64 already."""
        if self.dtype == np.float64:
            return False
        self.dtype, self._gram = np.dtype(np.float64), None
        return True


class SharedGram:
    """The kernel among the candidates, in the form that a `Square` takes, from the Gram of all samples."""

    kernel_values = 0

    def __init__(self, candidates: CandidateSet, gram: Gram) -> None:
        self.candidates, self._gram, self.kernel, self.m = candidates, gram, gram.kernel, gram.m
        self.diag, self.budget = gram.diag, gram.budget

    @property
    def dtype(self) -> np.dtype:
        """Type of the values that are kept."""
        return self._gram.dtype

    def block(self, I, J, out=None, *, rough=False):
        """Return k(x_i, x_j) as `Gram.block` does, for rows of the candidates."""
        number = self.candidates.number
        return self._gram.block(number[I], number[J], out, rough=rough)

    def renew(self) -> None:
        """Nothing is kept of the candidates's rows."""

    def promote(self) -> bool:
        """Change to float64 values, as the Gram does."""
        return self._gram.promote()


class CandidateWorkingSet(WorkingSet):
    """The working set among the rows of the candidates, which become more."""

    def __init__(self, gram: CandidateGram | SharedGram) -> None:
        self.square = Square(gram)  # type: ignore[arg-type]
        self.slot_of, self.joined, self.round = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 0

    def widen(self, n: int) -> None:
        """Make room for the candidates of n rows."""
        self.slot_of = np.append(self.slot_of, np.full(n - len(self.slot_of), -1, dtype=np.int64))

    def renumber(self, kept: np.ndarray) -> None:
        """Follow the candidates of which only `kept`, ascending, remain; the rows of the set are among them."""
        self.slot_of = self.slot_of[kept]
        self.square.idx = np.searchsorted(kept, self.square.idx)
