"""The task of one call, as the loop of the client sees it."""

import asyncio
import gc
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")
from svmkit_dask.cluster.watch import Packed, Watch


def test_a_call_that_fails_and_is_cancelled_in_one_step_prints_nothing():
    """A scheduler that dies fails the task in the step in which the driver gives its calls up."""
    said = []

    async def run():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: said.append(context["message"]))

        async def failing():
            raise RuntimeError("the scheduler has gone away")

        class Task:
            def __await__(self):
                return failing().__await__()

            def release(self):
                pass

        watch = Watch(SimpleNamespace(submit=lambda *args, **how: Task()))
        watch.workers = {"w": None}
        call = asyncio.ensure_future(watch.run("w", Packed("key", b"", [])))
        await asyncio.sleep(0)  # the call begins its task
        await asyncio.sleep(0)  # the task fails: the call would learn of it in the next step
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(run())
    gc.collect()
    assert said == []
