"""What the tests of `svmkit models` share: models that know how they were made, and a tracking server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.registry import make_model

from svmkit.model.model import SVMModel

ABOUT = {
    "solver": "swap",
    "C": 2.0,
    "data": "clouds",
    "data_sha256": "d" * 64,
    "n_samples": 60,
    "gap": 1.25e-4,
    "status": "converged",
    "params": {"solver": "swap", "C": 2.0, "kernel": "rbf", "gamma": 0.5, "tol": 1e-3},
    "svmkit_version": "0.0.1",
    "git_commit": "c" * 40,
}


def scored(accuracy: float | None, *, data: str = "held", sha: str | None = "a" * 64, rows: int = 100) -> SVMModel:
    """A model of that test accuracy, on that test set; None: it was not tested."""
    test = {} if accuracy is None else {"test_accuracy": accuracy, "test_data": data, "n_test": rows}
    return make_model(about=ABOUT | test | ({"test_sha256": sha} if test and sha else {}))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def silent_server() -> Iterator[str]:
    """The address of a socket that accepts and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(64)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def tracking_server(folder: Path) -> Iterator[str]:
    """The address of an MLflow server on loopback, its store in `folder`."""
    if os.name != "posix":
        pytest.skip("ends the server by its group of processes")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    options = ["--backend-store-uri", f"sqlite:///{folder}/server.db", "--artifacts-destination", str(folder / "files")]
    env = {key: value for key, value in os.environ.items() if not key.startswith("MLFLOW_")}
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "mlflow",
            "server",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--workers",
            "1",
            *options,
        ],
        cwd=folder,
        env=env | {"MLFLOW_DISABLE_TELEMETRY": "true"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # it starts workers, which end with it
    )
    try:
        give_up = time.monotonic() + 90
        while not _answers(f"{address}/health"):
            assert process.poll() is None and time.monotonic() < give_up, "the server does not start"
            time.sleep(0.2)
        yield address
    finally:
        os.killpg(process.pid, 15)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait(timeout=15)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False
