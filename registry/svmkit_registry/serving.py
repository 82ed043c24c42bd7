"""MLflow's server for a model of the registry, in this environment, whether or not it is activated."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from typing import NoReturn

from svmkit.errors import InputError
from svmkit_registry import fetching, store

PORTS = 65_535


def serve(source: str, host: str, port: int, uri: str | None = None) -> NoReturn:
    """Serve a model until the process is ended.

    `mlflow models serve` starts uvicorn by name, which it finds only in an activated environment: here the scripts of
    this interpreter's environment come first in PATH. If the system allows it, this process becomes that of MLflow, so
    that signals reach the server.

    Parameters
    ----------
    source : str
        models:/NAME@ALIAS, models:/NAME/VERSION or runs:/ID/model.
    host : str
        The address that the server listens on.
    port : int
        The port.
    uri : str, optional
        The store; by default $MLFLOW_TRACKING_URI, else ./mlflow.db.

    Raises
    ------
    InputError
        There is no such model, or the port is invalid.
    """
    if not 0 < port <= PORTS:
        raise InputError(f"--port must be from 1 to {PORTS:,}, not {port}")
    place = store.tracking_uri(uri)
    with store.session(place, f"{source} is not served") as client:
        fetching.location(client, source)  # or an error that lists the existing models
    path = os.pathsep.join(filter(None, [sysconfig.get_path("scripts"), os.environ.get("PATH")]))
    env = os.environ | {"PATH": path, "MLFLOW_TRACKING_URI": place}
    how = ("--env-manager", "local", "--host", host, "--port", str(port))
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", source, *how]
    if os.name == "posix":
        os.execve(command[0], command, env)
    sys.exit(subprocess.call(command, env=env))
