"""Dask: the workers of a cluster, their tasks, and the data that they hold."""

import os
from typing import Any

from svmkit.runtime import workers as processes


async def dask_setup(worker: Any) -> None:
    """Bind a worker process of local:N to the process that started it; Dask calls it in the worker."""
    processes.end_with(os.getppid())
