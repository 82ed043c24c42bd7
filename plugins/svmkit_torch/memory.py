"""Memory of a device: work in tiles, which are halved if there is no room for one."""

from __future__ import annotations

import gc
from collections.abc import Callable

import torch

from svmkit.errors import InputError

CPU_BUDGET = 16 << 20  # bytes of the arrays of a tile: the size of processor caches
BUDGET = 256 << 20  # the same on other devices
FULL = ("out of memory", "can't allocate memory")  # messages of devices without an exception of their own


def is_full(error: BaseException) -> bool:
    """Return whether an error says that a device is out of memory."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in FULL)


def room_on(device: torch.device) -> int:
    """Return the free bytes on a device for a second copy of an array; 0 if they are not known."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return 0


def _release(device: torch.device) -> None:
    """Return unused memory to the device."""
    gc.collect()
    backend = getattr(torch, device.type, None)
    if hasattr(backend, "empty_cache"):
        backend.empty_cache()


class Tiles:
    """The bytes that the arrays of one tile may take on a device, and work in tiles of that size.

    Parameters
    ----------
    device : torch.device
        The device of the arrays.

    Attributes
    ----------
    device : torch.device
        As given.
    budget : int
        The bytes; halved whenever the device has no room for a tile.

    Examples
    --------
    >>> import torch
    >>> from svmkit_torch.memory import Tiles
    >>> tiles, seen = Tiles(torch.device("cpu")), []
    >>> tiles.budget = 80
    >>> tiles.run(5, 40, seen.append)
    >>> seen
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.budget = CPU_BUDGET if device.type == "cpu" else BUDGET

    def limit(self, budget: int) -> None:
        """Take at most `budget` bytes for a tile."""
        self.budget = min(self.budget, max(budget, 1))

    def size(self, each: int) -> int:
        """Return how many rows of `each` bytes fit into a tile, at least 1."""
        return max(1, self.budget // each)

    def run(self, n: int, each: int, use: Callable[[slice], object], most: int | None = None) -> None:
        """Call `use` with slices of n rows, in order, until all are done.

        Parameters
        ----------
        n : int
            The number of rows.
        each : int
            Bytes of the arrays for one row.
        use : callable
            Called with a slice. If the device has no room, it is called again with half of the rows: it must not have
            changed anything before its last allocation.
        most : int, optional
            The most rows of a slice.

        Raises
        ------
        InputError
            If the device has no room for one row.
        """
        lo = 0
        while lo < n:
            step = self.size(each)
            hi = min(n, lo + (step if most is None else min(step, most)))
            try:
                use(slice(lo, hi))
            except (RuntimeError, MemoryError) as error:
                if not is_full(error):
                    raise
                full = True
            else:
                full = False
            if not full:
                lo = hi
                continue
            _release(self.device)  # here the frames that held the arrays are gone
            if hi - lo == 1:
                raise InputError(no_room(self.device, each))
            self.budget = each * ((hi - lo) // 2)


def no_room(device: torch.device, size: int, what: str = "the smallest block") -> str:
    """Return the message that a device has no room."""
    return (
        f"device {device} has no room for {what}, {size:,} bytes: end other processes there, take a smaller --memory, "
        "or train on device=cpu"
    )
