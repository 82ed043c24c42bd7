"""python -m support.mutation.forking: runs pytest again and again, in forks of a process that has loaded all libraries.

A line of JSON on stdin asks for a run: its folder, the environment, the file for its output and the arguments. The
answers are two lines: the fork, which leads a group of its own, and, once it has ended, its exit code.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from support.mutation.runner import load_libraries

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve until stdin ends."""
    load_libraries()
    for line in sys.stdin:
        order = json.loads(line)
        fork = os.fork()
        if not fork:
            _pytest(**order)
        print(fork, flush=True)
        _, status = os.waitpid(fork, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _pytest(folder: str, env: dict[str, str], log: str, arguments: Sequence[str]) -> NoReturn:
    """Be a process that was started in another folder with another environment."""
    os.setsid()
    with contextlib.suppress(AttributeError, OSError):  # of Linux only: a fork ends with its server
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    import pytest

    for stream, file, mode in ((0, os.devnull, os.O_RDONLY), (1, log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)):
        os.dup2(os.open(file, mode), stream)
    os.dup2(1, 2)
    ours = {os.getcwd(), "", *os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:] = [folder, *env["PYTHONPATH"].split(os.pathsep), *(path for path in sys.path if path not in ours)]
    sys.argv = ["pytest", *arguments]
    for name in [name for name in sys.modules if name.partition(".")[0] == "support"]:
        del sys.modules[name]  # the folder has its own
    importlib.invalidate_caches()
    code = 1
    try:
        code = int(pytest.main(list(arguments)))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
