"""The only module that manages threads: it spreads compiled loops over the cores and restricts BLAS to one thread.

Two pools that compete for few cores are slow: on two cores the vector work of an iteration took 3.4 ms instead of 0.05.

A loop is a plain function compiled with `@njit(nogil=True, cache=True)` over the items `first` to `last` of some work,
and `spread` calls it for ranges of items, in the calling thread and in threads of one pool that all callers share. A
caller never waits for a thread of the pool to become free, since it takes every range that no other thread has taken:
any number of callers compute at once. OpenMP and TBB are not used, since neither survives a fork: the child process of
a fork makes its own pool.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import cache
from itertools import count, product
from typing import Any, NamedTuple

from svmkit.errors import InputError

LEAST = 50_000.0  # nanoseconds of work that justify a call: a thread of the pool needs about 40,000 to begin
MOST = 20_000_000.0  # nanoseconds of work between two checks for signals and for errors in other threads
SHARES = 4  # calls per thread, so that a delayed thread leaves its part to the others


class _Setting(NamedTuple):
    """The settings of the current context: the number of threads, and the depth of nested `using` blocks."""

    number: int
    depth: int


_setting: ContextVar[_Setting | None] = ContextVar("svmkit_threads", default=None)


def thread_count() -> int:
    """Return the number of threads that loops of the calling thread use now."""
    setting = _setting.get()
    return setting.number if setting else most()


def most() -> int:
    """Return the largest number of threads: NUMBA_NUM_THREADS, by default the number of cores of this process."""
    import numba

    return numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def using(threads: int | None = None) -> AbstractContextManager[int]:
    """Run the block with a number of threads in compiled loops, which is yielded, and with one thread in BLAS.

    By default the number is that of the enclosing block, or else all; it applies to the calling thread alone. BLAS has
    one number for the whole process: the first block sets it to one, and the last of all simultaneous blocks restores
    it. Raises InputError if `threads` is not between 1 and the number that this machine allows.
    """
    return _Block(threads)


class _Block:
    """A block of `using`; a generator would take twice as long, which slows down small fits."""

    def __init__(self, threads: int | None) -> None:
        self.threads, self.before = threads, _setting.get()

    def __enter__(self) -> int:
        threads, before = self.threads, self.before
        if threads is not None and not 1 <= threads <= most():
            raise InputError(f"threads must be between 1 and {most()} on this machine, not {threads}")
        setting = _Setting(threads or thread_count(), before.depth + 1 if before else 1)
        _blas.enter()
        _setting.set(setting)
        return setting.number

    def __exit__(self, *error: object) -> None:
        _setting.set(self.before)
        _blas.leave()


def spread(loop: Callable[..., object], n: int, work: float, *args: Any) -> None:
    """Call loop(first, last, *args) for ranges that cover the items 0 to n - 1, each once, on the caller's threads.

    `loop` is compiled with `@njit(nogil=True, cache=True)`. It may be called for several ranges at once, from several
    threads, and for none if `n` is 0. The result of an item must not depend on its range, so that results do not depend
    on the number of threads: divide work into items, such as tiles of rows, and keep sums over all items out of the
    loop. The first exception of a call, or KeyboardInterrupt, is raised once all calls have ended.

    `work` is roughly the nanoseconds of an item on one core: it decides how many threads to wake up. Little work is
    done in the calling thread by one call, as is work of a call from within a loop.
    """
    if n <= 0:
        return
    total = n * work
    threads = min(thread_count(), n, int(total / LEAST)) if total >= 2 * LEAST else 1
    if threads > 1:
        parts = max(min(SHARES * threads, int(total / LEAST)), int(total / MOST))
        _share(loop, n, min(n, parts), list(args), threads)
    else:
        loop(0, n, *args)


def _share(loop: Callable[..., object], n: int, parts: int, args: list[Any], threads: int) -> None:
    """Run the ranges of a loop on at most `threads` threads, including the calling one; return when all have ended.
    `args` is empty afterwards, so that a late thread of the pool keeps no array alive.
    """
    ranges, errors = count(), list[BaseException]()  # `next` gives each number to only one thread

    def work() -> None:
        try:
            while not errors and (part := next(ranges)) < parts:
                loop(part * n // parts, (part + 1) * n // parts, *args)
        except BaseException as error:
            errors.append(error)

    helpers = _pool.ask(work, threads - 1)
    before = _setting.get()
    try:
        _setting.set(_Setting(1, before.depth if before else 0))
        work()
    except BaseException as error:
        errors.append(error)
    finally:
        _setting.set(before)
    while helpers:  # running helpers are waited for, whatever signals come; others do not begin
        try:
            if not helpers[-1].cancel():
                helpers[-1].exception()
            helpers.pop()
        except BaseException as error:
            errors.append(error)
    args.clear()
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # avoids a cycle of this frame, the error and its traceback


class _Pool:
    """The threads besides the callers' own, created when first needed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.executor: ThreadPoolExecutor | None = None

    def ask(self, work: Callable[[], None], n: int) -> list[Future]:
        """Make n threads call `work` when they are free."""
        helpers: list[Future] = []
        try:
            with self.lock:
                if self.executor is None:
                    alone = _Setting(1, 0)
                    self.executor = ThreadPoolExecutor(max(most() - 1, 1), "svmkit", _setting.set, (alone,))
            for _ in range(n):
                helpers.append(self.executor.submit(work))
        except RuntimeError:  # Python is ending, or the system provides no more threads: the caller does all the work
            pass
        return helpers


class _Blas:
    """The number of threads of BLAS, one while any `using` block runs."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.blocks = 0
        self.numbers: list[int] = []  # of each library, outside all blocks

    def enter(self) -> None:
        with self.lock:
            if not self.blocks:
                self.numbers = [read() for read, _ in _libraries()]
                self.set([1] * len(self.numbers))
            self.blocks += 1

    def leave(self) -> None:
        with self.lock:
            self.blocks -= 1
            if not self.blocks:
                self.set(self.numbers)

    def set(self, numbers: list[int]) -> None:
        for (_, write), number in zip(_libraries(), numbers, strict=True):
            write(number)

    def start_anew(self, blocks: int) -> None:
        """Forget, in a new process, the blocks of threads that do not exist there."""
        before, self.lock, self.blocks = self.blocks, threading.Lock(), blocks
        if before and not blocks:
            self.set(self.numbers)


@cache
def _libraries() -> list[tuple[Callable[[], int], Callable[[int], Any]]]:
    """Return the functions of each BLAS of this process that read and write its number of threads."""
    import scipy.linalg  # noqa: F401  numba's np.dot calls this BLAS: it must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return [_functions(library) for library in ThreadpoolController().select(user_api="blas").lib_controllers]


def _functions(library: Any) -> tuple[Callable[[], int], Callable[[int], Any]]:
    """Return the functions of one BLAS: OpenBLAS's own, since from threadpoolctl 3.8 on its calls affect only one
    thread, and our last block may end in any thread; and they are slow relative to a small fit.
    """
    if library.internal_api == "openblas" and getattr(library, "threading_layer", "") == "pthreads":
        for prefix, suffix in product(("", "scipy_"), ("", "64_", "_64")):
            read = getattr(library.dynlib, f"{prefix}openblas_get_num_threads{suffix}", None)
            write = getattr(library.dynlib, f"{prefix}openblas_set_num_threads{suffix}", None)
            if read is not None and write is not None:
                return read, write
    return library.get_num_threads, library.set_num_threads


_pool, _blas = _Pool(), _Blas()


def _start_anew() -> None:
    """Start again in the child process of a fork, in which only the forking thread continues."""
    global _pool
    _pool = _Pool()
    setting = _setting.get()
    _blas.start_anew(setting.depth if setting else 0)


if hasattr(os, "register_at_fork"):
    # a fork waits until the count of blocks matches the limit
    os.register_at_fork(before=lambda: _blas.lock.acquire(), after_in_parent=lambda: _blas.lock.release())
    os.register_at_fork(after_in_child=_start_anew)
