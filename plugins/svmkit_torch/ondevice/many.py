"""Many box problems on the rows of one X, solved side by side on the device and certified there in float64."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

from svmkit.solver.smo.boxes import Box, BoxAnswer
from svmkit_torch.memory import room_on
from svmkit_torch.ondevice.answer import Answer, Profile
from svmkit_torch.ondevice.batch import Batch, Shared, Squares
from svmkit_torch.ondevice.forms import BIAS
from svmkit_torch.ondevice.minimise import minimise
from svmkit_torch.ondevice.posed import Posed, batch_of, certify_all, pad
from svmkit_torch.ondevice.products import Products
from svmkit_torch.ondevice.rounds import solve_by_rounds
from svmkit_torch.values import DeviceRows

CPU_ROOM = 1 << 30  # bytes on the CPU, where the free memory is unknown
PART = 0.8  # of the free memory of a device
FOR_MATRIX, FOR_SQUARES, FOR_VECTORS = 0.6, 0.25, 0.2  # shares of the budget
VECTORS = 24  # arrays (B, q) of 8 bytes that a batch needs while it is solved
SAFETY = 0.8  # gap at which a solve ends, relative to the requested one: the iterations are in float32
TRIES, ROUGH = (
    8,
    2,
)  # certificates of a problem, each for half of the gap of the one before; of them with float32 values
PADDED = 2.0  # largest ratio of the sizes of the largest and the smallest problem of a batch


def solve_many(
    rows: DeviceRows,
    problems: Sequence[Box],
    gap: float = 1e-3,
    *,
    memory: int | None = None,
    seconds: float = math.inf,
    profile: Profile | None = None,
    decisions: bool = False,
    interrupted: Callable[[], bool] | None = None,
) -> list[Answer]:
    """Solve box problems on the rows of one X, and certify each of them.

    Parameters
    ----------
    rows : DeviceRows
        The rows of X, with the kernel.
    problems : sequence of Box
        The problems, such as the class pairs of a training, the folds of a search, or its values of C.
    gap : float, default=1e-3
        The requested relative gap.
    memory : int, optional
        Bytes of the device that may be used; by default most of the free memory.
    seconds : float, default=inf
        A problem whose gap is not proven by then ends with its current gap.
    profile : Profile, optional
        Collects the seconds and counts of the parts.
    decisions : bool, default=False
        Whether decision values of all rows are returned.
    interrupted : callable, optional
        Returns whether to end at once, with the current gaps.

    Returns
    -------
    list of Answer
        In the order of the problems.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import RBF
    >>> from svmkit.solver.smo.boxes import Box
    >>> from svmkit_torch.ondevice.many import solve_many
    >>> from svmkit_torch.values import DeviceRows
    >>> rows = DeviceRows(RBF(1.0), np.array([[0.0], [1.0], [2.0], [3.0]]), "cpu")
    >>> box = Box(np.arange(4), np.array([-1.0, -1.0, 1.0, 1.0]), np.full(4, 10.0))
    >>> [answer] = solve_many(rows, [box])
    >>> answer.certificate.gap <= 1e-3
    True
    """
    profile = profile or Profile(rows.device)
    if memory is None:
        memory = int(PART * room_on(rows.device)) or CPU_ROOM
    ends, answers = time.perf_counter() + seconds, dict[int, Answer]()

    def late() -> bool:
        return time.perf_counter() > ends or (interrupted is not None and interrupted())

    posed = [Posed(rows, problem) for problem in problems]
    used = np.unique(np.concatenate([problem.rows for problem in problems]))
    if 4 * len(used) ** 2 > FOR_MATRIX * memory:
        return [solve_by_rounds(rows, one, gap, memory, late, profile, decisions) for one in posed]
    matrix = _Matrix(rows, used, memory, profile, any((one.rows == BIAS).any() for one in posed))
    for group in _groups(posed, memory):
        some = [posed[k] for k in group]
        found = _solve_batch(some, matrix, gap, late, decisions)
        answers |= dict(zip(group, found, strict=True))
    return [answers[k] for k in range(len(problems))]


class _Matrix:
    """The kernel matrix K of the rows `used` (n,) of X on the device, float32 at first; `diag` is its diagonal.

    If problems have a bias point, it is the last one, and its values are 0.
    """

    def __init__(self, rows: DeviceRows, used: np.ndarray, memory: int, profile: Profile, biased: bool = False) -> None:
        self.rows, self.used, self.memory, self.profile, self.biased = rows, used, memory, profile, biased
        self.at = torch.as_tensor(used, device=rows.device)
        self.products, diag = Products(rows), rows.diagonal(self.at)
        self.diag = torch.cat([diag, diag.new_zeros(1)]) if biased else diag
        self.K = self._compute(torch.float32)

    def _compute(self, dtype: torch.dtype) -> torch.Tensor:
        n = len(self.used)
        with self.profile.timing("matrix"):
            K = torch.zeros([n + self.biased] * 2, dtype=dtype, device=self.at.device)
            self.rows.block(self.at, self.at, dtype, rough=True, out=K[:n, :n])
            K.diagonal().copy_(self.diag)
        return K

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the places of rows of X in the matrix."""
        return np.where(rows == BIAS, len(self.used), np.searchsorted(self.used, rows))

    def refine(self) -> bool:
        """Change to float64; return whether it is float64."""
        if self.K.dtype != torch.float64 and 12 * len(self.used) ** 2 <= FOR_MATRIX * self.memory:
            self.K = self._compute(torch.float64)
        return self.K.dtype == torch.float64


def _groups(problems: Sequence[Posed], memory: int) -> list[list[int]]:
    """Return the numbers of the problems in groups of one kind and of similar sizes whose arrays fit."""
    room = FOR_VECTORS * memory / (8 * VECTORS)
    groups: list[list[int]] = []
    for k in sorted(range(len(problems)), key=lambda k: (problems[k].kind, -problems[k].rows.size)):
        one, last = problems[k], groups[-1] if groups else []
        most = problems[last[0]].rows.size if last else 0
        alike = bool(last) and problems[last[0]].kind == one.kind
        if alike and most <= PADDED * one.rows.size and most * (len(last) + 1) <= room:
            last.append(k)
        else:
            groups.append([k])
    return groups


def _batch(problems: list[Posed], matrix: _Matrix) -> tuple[Batch, torch.Tensor]:
    """Return the problems side by side at their first points, and the places (B, q) of their points in the matrix."""
    used, K, diag = matrix.used, matrix.K, matrix.diag
    place = pad([matrix.places(problem.rows) for problem in problems], 0, K.device)
    batch = batch_of(problems, diag[place])
    batch.source = Shared(K, place, batch.upper > 0.0)
    q = place.shape[1]
    if 2 * q <= len(used) and 4 * len(problems) * q * q <= FOR_SQUARES * matrix.memory:
        squares = torch.empty((len(problems), q, q), dtype=K.dtype, device=K.device)
        for b in range(len(problems)):
            torch.index_select(K[place[b]], 1, place[b], out=squares[b])
        batch.source = Squares(squares)
    if any(problem.form.start.any() for problem in problems):
        batch.v += Shared(K, place, batch.upper > 0.0).image((batch.y * batch.beta).to(K.dtype))
    return batch, place


def _solve_batch(
    problems: list[Posed], matrix: _Matrix, gap: float, late: Callable[[], bool], decisions: bool
) -> list[Answer]:
    """Solve problems of one kind side by side, and certify them."""
    profile, answers = matrix.profile, dict[int, Answer]()
    batch, place = _batch(problems, matrix)
    numbers, target = list(range(len(problems))), SAFETY * gap
    ends = torch.cat([matrix.at, matrix.at[:1]])  # the bias has no row, and no weight in a product
    for k in range(TRIES):
        taken = minimise(batch, target, late, profile).cpu().numpy()
        with profile.timing("certificate"):
            some = [problems[number] for number in numbers]
            found = certify_all(some, matrix.products, batch, ends[place], decisions)
        unproven = []
        for b, (point, certificate, values) in enumerate(zip(*found, strict=True)):
            before, done = answers.get(numbers[b]), taken[b]
            if before:
                done = np.add(done, [before.steps, before.spectral])
            proven = certificate.gap is not None and certificate.gap <= gap
            answers[numbers[b]] = Answer(point, certificate, int(done[0]), int(done[1]), values, some[b].problem)
            if not (proven or certificate.flaw or certificate.is_exhausted):
                unproven.append(b)
        profile.count("certificates", len(some))
        if not unproven or late():
            break
        kept = torch.as_tensor(unproven, device=place.device)
        batch, place, numbers = batch.select(kept), place[kept], [numbers[b] for b in unproven]
        if k >= ROUGH - 1 and matrix.refine():  # the rest is an error of float32 values
            batch.source = Shared(matrix.K, place, batch.upper > 0.0)
        target *= 0.5
    return [answers[b] for b in range(len(problems))]


def solve_boxes(
    rows: DeviceRows, boxes: Sequence[Box], gap: float, memory: int | None, decisions: bool, flag: Callable[[], bool]
) -> list[BoxAnswer]:
    """Solve box problems as `svmkit.solver.smo.boxes.SolvesBoxes` says.

    Parameters
    ----------
    rows : DeviceRows
        The rows of X.
    boxes, gap, memory, decisions, flag : sequence of Box, float, int or None, bool, callable
        As for `SolvesBoxes`.
    """
    answers = solve_many(rows, boxes, gap, memory=memory, decisions=decisions, interrupted=flag)
    return [BoxAnswer(a.beta, a.certificate, a.steps + a.spectral, a.decision, a.problem) for a in answers]
