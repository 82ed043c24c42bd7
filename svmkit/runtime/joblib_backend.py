"""A backend of joblib for anything that calls functions elsewhere and returns futures."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from joblib.parallel import ParallelBackendBase


class FutureBackend(ParallelBackendBase):
    """Runs the tasks of a parallel loop by `submit`, which returns the Future of a function that is called elsewhere. A
    Future can be cancelled at any time. `width` returns the number of simultaneous calls.
    """

    supports_retrieve_callback = True
    default_n_jobs = -1

    def __init__(self, submit: Callable[..., Future], width: Callable[[], int]) -> None:
        super().__init__(nesting_level=0)
        self._submit, self._width = submit, width
        self._pending: set[Future] = set()

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Return the number of simultaneous tasks, whatever the requested number: at least 2, since joblib runs 1
        itself.
        """
        return max(self._width(), 2)

    def submit(self, func: Callable[[], Any], callback: Callable[[Future], Any] | None = None) -> Future:
        """Submit a task; `callback` gets its finished future."""
        future = self._submit(func)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future) -> Any:
        """Return the result of a finished task, or raise its exception."""
        return out.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancel all tasks."""
        for future in list(self._pending):
            future.cancel()
