"""Scripts of examples/ in this process, which has imported already what each process of theirs would import."""

import contextlib
import io
import os
import runpy
import subprocess
import sys
import traceback
import warnings
from unittest import mock


def run_here(script, *args, **environment):
    """Run a script as `python SCRIPT ARGS` would, and return what it says and its exit status like `subprocess.run`."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    command = [str(word) for word in (script, *args)]
    with (
        mock.patch.object(sys, "argv", command),
        mock.patch.dict(os.environ, {key: str(value) for key, value in environment.items()}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")  # those of tests are errors
        try:
            runpy.run_path(command[0], run_name="__main__")
        except SystemExit as ended:
            status = ended.code or 0
        except Exception:
            traceback.print_exc()
            status = 1
    if isinstance(status, str):
        err.write(status + "\n")
        status = 1
    return subprocess.CompletedProcess(command, status, out.getvalue(), err.getvalue())
