"""Which worker holds which part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

GAIN = 0.9  # a part moves if the fullest worker then has at most this share of what it had: a move costs much


class Homes:
    """The worker of each part.

    Parameters
    ----------
    sizes : sequence of int
        The number of rows of each part.

    Attributes
    ----------
    of : dict of int to str
        The address of the worker of each part.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = [max(1, size) for size in sizes]
        self.of: dict[int, str] = {}

    def settle(self, workers: Mapping[str, int], parts: Sequence[int]) -> None:
        """Give each of the parts without one of these workers to the worker that is then least loaded.

        Parameters
        ----------
        workers : mapping of str to int
            The addresses of the workers, at least one, and the number of threads of each.
        parts : sequence of int
            The parts.
        """
        lost = sorted((p for p in parts if self.of.get(p) not in workers), key=lambda p: -self.sizes[p])
        rows = self._rows(workers)
        for p in lost:
            best = min(workers, key=lambda w: ((rows[w] + self.sizes[p]) / workers[w], rows[w]))
            self.of[p] = best
            rows[best] += self.sizes[p]

    def level(self, workers: Mapping[str, int]) -> list[int]:
        """Move parts from the fullest worker to the emptiest one while that pays; return the parts that moved."""
        rows, moved = self._rows(workers), []
        while len(workers) > 1:
            load = {w: rows[w] / workers[w] for w in workers}
            full, bare = max(load, key=lambda w: load[w]), min(load, key=lambda w: load[w])

            def after(p: int, full: str = full, bare: str = bare) -> float:
                size = self.sizes[p]
                return max((rows[full] - size) / workers[full], (rows[bare] + size) / workers[bare])

            mine = [p for p, home in self.of.items() if home == full and p not in moved]
            best = min(mine, key=after, default=None)
            if best is None or after(best) > GAIN * load[full]:
                break
            self.of[best] = bare
            rows[full] -= self.sizes[best]
            rows[bare] += self.sizes[best]
            moved.append(best)
        return moved

    def share(self, p: int) -> float:
        """Return the part's share of the rows of its worker."""
        home = self.of[p]
        return self.sizes[p] / sum(size for q, size in enumerate(self.sizes) if self.of.get(q) == home)

    def _rows(self, workers: Mapping[str, int]) -> dict[str, int]:
        rows = dict.fromkeys(workers, 0)
        for p, home in self.of.items():
            if home in rows:
                rows[home] += self.sizes[p]
        return rows
