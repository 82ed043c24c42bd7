"""Fits by other software in a separate process, which a limit or a signal can end."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError, SvmkitError
from svmkit_reference.messages import receive, send

LOOK = 0.02  # seconds between two checks of the limit and the flag

_idle: list[subprocess.Popen] = []  # processes that wait for a request, as many as have worked simultaneously
_owner = os.getpid()  # of the idle processes: a forked child starts its own
_lock = threading.Lock()


def fit(
    module: str,
    name: str,
    params: dict[str, Any],
    X: Any,
    y: np.ndarray,
    weights: np.ndarray,
    wanted: Sequence[str],
    over: Callable[[], bool],
) -> dict[str, np.ndarray] | None:
    """Fit an estimator in another process; return its attributes by name, None if `over` ended the fit.

    Raises InputError if the software refused the data or failed on them, SvmkitError if it ended without an answer.

    Parameters
    ----------
    module, name, params : str, str, dict of str
        The module and the class of the estimator, and its parameters as JSON values.
    X, y, weights : object, ndarray, ndarray
        The samples, dense or CSR (n_samples, n_features), their labels and their weights (n_samples,).
    wanted, over : sequence of str, callable
        The attributes of the fitted estimator to return, and a function that is called repeatedly until it returns
        True: then the process is killed.
    """
    header = {"module": module, "name": name, "params": params, "wanted": list(wanted), "shape": list(X.shape)}
    parts = {k: getattr(X, k) for k in ("data", "indices", "indptr")} if sp.issparse(X) else {"X": X}
    process = _take(module)
    assert process.stdin is not None and process.stdout is not None
    done = False
    try:
        send(process.stdin, header, {**parts, "y": y, "weights": weights})
        while not select.select([process.stdout], [], [], LOOK)[0]:
            if over():
                return None
        answer, arrays = receive(process.stdout)
        done = True
    except (EOFError, OSError):
        code = process.wait()
        raise SvmkitError(f"the process of {name} from {module} ended without an answer (exit code {code})") from None
    finally:
        _give(process) if done else _kill(process)
    if "error" in answer:
        raise InputError(f"{name} of {module} failed on these data: {answer['error']}")
    return arrays


def prepare(module: str) -> None:
    """Have a process ready that has imported the module."""
    _give(_take(module))


def _take(module: str) -> subprocess.Popen:
    """Return a process that has imported the module and waits for a request, an idle one if there is one."""
    global _owner
    with _lock:
        if _owner != os.getpid():
            _idle.clear()
            _owner = os.getpid()
        process = _idle.pop() if _idle else None
    if process is not None and _answers(process, module):
        return process
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.worker", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        start_new_session=True,  # Ctrl-C on the terminal is handled by the parent
    )
    if not _answers(process, module):
        raise SvmkitError(f"a process for {module} could not be started (exit code {process.returncode})")
    return process


def _answers(process: subprocess.Popen, module: str) -> bool:
    """Return whether a process answers after importing the module; kill it if it does not."""
    assert process.stdin is not None and process.stdout is not None
    answered = False
    try:
        send(process.stdin, {"module": module, "name": None}, {})
        receive(process.stdout)
        answered = True
    except (EOFError, OSError):
        pass
    finally:
        if not answered:
            _kill(process)
    return answered


def _give(process: subprocess.Popen) -> None:
    """Keep the process for the next fit; processes that have ended after a minute without one are dropped."""
    with _lock:
        ended = [other for other in _idle if other.poll() is not None]
        _idle[:] = [*(other for other in _idle if other not in ended), process]
    for other in ended:
        _kill(other)


def _kill(process: subprocess.Popen) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        try:
            if stream is not None:
                stream.close()
        except OSError:  # for unwritten output to a process that has ended
            pass
    process.wait()
