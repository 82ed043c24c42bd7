"""State of SMO for nu-SVC and nu-SVR: the two kinds of weights of each sample, and v, which they share."""

from __future__ import annotations

import numpy as np

from svmkit.problems.certificate import Certificate
from svmkit.solver.smo import box as smo_box
from svmkit_decomposition.decomposition_state import BoxState


class NuState(BoxState):
    """State of a solve of a NuQP over all points: the boxes of a and a' share v, and none is left out."""

    def restart(self, d: np.ndarray, gradient: np.ndarray) -> None:
        self._restart(self.problem.parts(d), gradient)

    def _restart(self, parts: tuple[np.ndarray, np.ndarray], v: np.ndarray) -> None:
        self.source, self.at, self.kinks = self.problem.gram, None, None
        self.boxes = smo_box.nu_boxes_of(self.problem, parts, v)
        self.pairs = np.array([smo_box.extremes(v, box.side, None) for box in self.boxes], dtype=np.int64)
        self.objective, self.fresh = self.problem.value(self.point, v), True

    @property
    def point(self) -> np.ndarray:
        return self.boxes[0].beta - self.boxes[1].beta

    @property
    def n_support(self) -> int:
        return int(np.count_nonzero(self.boxes[0].beta != self.boxes[1].beta))

    @property
    def violation(self) -> float:
        v = self.boxes[0].v
        return max((float(v[k] - v[i]) for i, k in self.pairs.tolist() if min(i, k) >= 0), default=0.0)

    def gaps(self) -> tuple[float, float]:
        v, gap, levels = self.boxes[0].v, 0.0, []
        for box, (i, k) in zip(self.boxes, self.pairs.tolist(), strict=True):
            levels.append(0.5 * float(v[i] + v[k]) if min(i, k) >= 0 else float(v[max(i, k)]))
            gap += smo_box.gap(box, False, -levels[-1], None)
        return gap, self.problem.relative(gap, self.objective, (levels[0], levels[1]))

    def aim(self) -> float:
        return 0.0

    def fetch(self, i: int) -> None:
        self.source.row(i)

    def shrink(self) -> None:
        """No point is left out."""

    def widen(self) -> None:
        """All points take part always."""

    def details(self) -> dict[str, float]:
        return self.problem.settle(self.boxes[0].v)

    def resync(self, certificate: Certificate) -> None:
        assert certificate.gradient is not None
        if np.abs(self.boxes[0].v - certificate.gradient).max() > 0.1 * self.violation:
            self.problem.gram.promote()
        self._restart((self.boxes[0].beta, self.boxes[1].beta), certificate.gradient)
