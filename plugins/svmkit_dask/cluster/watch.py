"""The workers of a Dask cluster as its scheduler sees them, asked for without waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, NamedTuple

from distributed import Client

LOOK = 0.5  # seconds between two questions to the scheduler


class Sight(NamedTuple):
    """A worker as it was last seen.

    Attributes
    ----------
    threads : int
        Its number of threads.
    is_paused : bool
        Whether it takes no work, as its memory is nearly used up.
    beat : float
        What the scheduler noted at its last heartbeat, by the scheduler's clock.
    at : float
        When we saw this heartbeat first, by `time.monotonic`.
    """

    threads: int
    is_paused: bool
    beat: float
    at: float


class Watch:
    """The workers as the scheduler sees them.

    Parameters
    ----------
    client : Client
        A connected client.
    silence : float
        Seconds without a heartbeat after which a worker counts as slow.

    Attributes
    ----------
    workers : dict of str to Sight
        The workers that the scheduler knows, by address.
    answered : float
        When the scheduler last answered, by `time.monotonic`.
    """

    def __init__(self, client: Client, silence: float) -> None:
        self.client, self.silence = client, silence
        self.workers: dict[str, Sight] = {}
        self.answered, self._asked = time.monotonic(), -LOOK
        self._question: Future[Any] | None = None

    def begin(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Let the client's loop run a coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.client.loop.asyncio_loop)

    def look(self) -> None:
        """Take note of what the scheduler has answered meanwhile, and ask anew if it is time."""
        now = time.monotonic()
        if self._question is not None and self._question.done():
            question, self._question = self._question, None
            if not question.cancelled() and question.exception() is None:
                self.answered = now
                self._note(question.result()["workers"], now)
        if self._question is None and self.client.status == "running" and now - self._asked >= LOOK:
            self._asked, self._question = now, self.begin(self._identity())

    def usable(self) -> dict[str, int]:
        """Return the workers that take work and are not slow, and their numbers of threads."""
        return {
            worker: sight.threads
            for worker, sight in self.workers.items()
            if not sight.is_paused and self.answered - sight.at <= self.silence
        }

    async def _identity(self) -> Any:
        return await self.client.scheduler.identity()

    def _note(self, found: dict[str, Any], now: float) -> None:
        before, self.workers = self.workers, {}
        for worker, info in found.items():
            known = before.get(worker)
            beat = float(info["last_seen"])
            at = known.at if known is not None and known.beat == beat else now
            self.workers[worker] = Sight(int(info["nthreads"]), info["status"] != "running", beat, at)
