"""Opening the MLflow store: its location, its creation, and calls that wait for their turn.

Importing this module does not import mlflow; `prepare` does, after configuring it.
"""

from __future__ import annotations

import logging
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from svmkit.errors import InputError, SvmkitError, one_line, redact
from svmkit.runtime.packages import require_installed
from svmkit_registry import process

DATABASE, ARTIFACTS, EXPERIMENT = "mlflow.db", "mlruns", "svmkit"
PATIENCE = 60.0  # seconds that a call may wait for other processes
ABANDONED = 100  # runs that the start of one run examines
COLLISIONS = 8  # times that a call may lose the race for a row

_NOISY = ("mlflow", "alembic", "git", "urllib3.connectionpool", "sqlalchemy")
_DEFAULTS = {  # unless the user sets them: mlflow waits for minutes, prints to stdout and sends telemetry
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_UV_AUTO_DETECT": "false",  # it would copy the caller's own uv.lock into every model
    "GIT_PYTHON_REFRESH": "quiet",
}
_COLLIDED = ("IntegrityError", "Model Version creation error")
_SEARCHED = ("sqlite", "postgresql", "mysql", "mssql", "http")  # stores that search without reading all runs
T = TypeVar("T")


def prepare() -> None:
    """Import mlflow with no telemetry, short timeouts and nothing on stdout; variables that are set take precedence."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    require_installed("runs and registered models", "mlflow")
    import mlflow  # noqa: F401


def tracking_uri(uri: str | None = None) -> str:
    """The store's URI, sqlite paths made absolute: `uri` (a bare path that ends in .db is a sqlite file), else
    $MLFLOW_TRACKING_URI, else sqlite in ./mlflow.db.
    """
    chosen = uri or os.environ.get("MLFLOW_TRACKING_URI") or DATABASE
    if "://" not in chosen and chosen.endswith(".db"):
        chosen = f"sqlite:///{chosen}"
    path = sqlite_path(chosen)
    return f"sqlite:///{path.as_posix()}" if path else chosen


def sqlite_path(uri: str) -> Path | None:
    """The absolute file behind a sqlite URI; None for other stores, in-memory ones and URIs with options."""
    name = uri.removeprefix("sqlite:///")
    if name == uri or not name or name == ":memory:" or "?" in name:
        return None
    return Path(name).absolute()


def artifact_root(uri: str) -> Path | None:
    """The folder of a sqlite store's artifacts, mlruns beside the database; None if the server decides."""
    path = sqlite_path(uri)
    return path.parent / ARTIFACTS if path else None


def open_client(uri: str) -> Any:
    """An MlflowClient on a store; a sqlite store that does not exist yet is created first. The model registry is the
    same store unless $MLFLOW_REGISTRY_URI names another. Raises OSError, TimeoutError, MlflowException: the store
    cannot be reached.
    """
    from mlflow import MlflowClient

    path = sqlite_path(uri)
    if path and not _is_there(path):
        _create(path)
    return MlflowClient(uri, registry_uri=os.environ.get("MLFLOW_REGISTRY_URI") or uri)


@contextmanager
def session(uri: str, what: str, *, create: bool = False) -> Iterator[Any]:
    """Yield a client on the store of a `tracking_uri`, with mlflow's own messages held back; `create` makes a missing
    sqlite store. Raises InputError: there is no store. Raises SvmkitError: the block failed; the message is one line
    that begins with `what`.
    """
    path = sqlite_path(uri)
    if path and not path.is_file() and not create:
        raise InputError(f"{what}: there is no store at {path}: pass --tracking-uri, or set MLFLOW_TRACKING_URI")
    prepare()
    try:
        with quiet():
            yield open_client(uri)
    except SvmkitError:
        raise
    except Exception as error:  # mlflow's, SQLAlchemy's, requests' or the disk's
        raise SvmkitError(f"{what}: {redact(uri)} failed: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """An error, which may fill a page, in one line."""
    text = redact(one_line(error))
    for said, meant in (("Connection refused", "no server answers there"), ("timed out", "the server does not answer")):
        if said in text:
            return meant
    return text if len(text) <= 200 else f"{text[:197]}..."


def experiment_id(client: Any, name: str | None = None) -> str:
    """Return the id of an experiment, created if missing, also by several processes at once. Without a name it
    is $MLFLOW_EXPERIMENT_NAME, else "svmkit". Raises InputError: an experiment of that name was deleted.
    """
    from mlflow.exceptions import MlflowException

    name = name or os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
    experiment = patiently(client.get_experiment_by_name, name)
    if experiment is None:
        root = artifact_root(client.tracking_uri)
        # an absolute location, so that the runs can be read from any working directory
        place = (root / quote(name, safe=" ")).as_uri() if root else None
        try:
            return patiently(client.create_experiment, name, artifact_location=place)
        except MlflowException as error:
            if _code(error) != "RESOURCE_ALREADY_EXISTS":
                raise
        experiment = patiently(client.get_experiment_by_name, name)
    if experiment.lifecycle_stage == "deleted":
        raise InputError(f"the experiment {name!r} was deleted: restore it or pass another --experiment")
    return experiment.experiment_id


def find_run(client: Any, run_id: str) -> Any | None:
    """Return a run; None if the store does not have it, or it was deleted."""
    from mlflow.exceptions import MlflowException

    try:
        run = patiently(client.get_run, run_id)
    except MlflowException as error:
        if _code(error) not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):  # the latter for an invalid id
            raise
        return None
    return None if run.info.lifecycle_stage == "deleted" else run


def end_abandoned_runs(client: Any, experiment_id: str) -> None:
    """Mark the runs of an experiment as KILLED whose processes were on this host and are gone.

    They get no end time, since it is unknown. File stores are skipped: they would have to read all of their runs. A
    store that fails to answer has no other effect.
    """
    from mlflow.exceptions import MlflowException

    host = process.identity().get(process.HOST)
    if host is None or not client.tracking_uri.startswith(_SEARCHED):
        return
    theirs = f"attributes.status = 'RUNNING' and tags.`{process.HOST}` = '{host}'"
    with suppress(MlflowException):
        for run in patiently(client.search_runs, [experiment_id], theirs, max_results=ABANDONED):
            if process.is_alive(run.data.tags) is False:
                patiently(client.update_run, run.info.run_id, "KILLED")


def patiently(call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call a function, with retries at growing intervals while another process interferes.

    A locked database is waited for, at most `PATIENCE` seconds. Two processes that insert the same row at once (the
    data set that both log, the next version of a model) fail in one of them with an IntegrityError, or with mlflow's
    "Giving up" after several; the call is rolled back and repeated, at most `COLLISIONS` times.
    """
    give_up, pause, collisions = time.monotonic() + PATIENCE, 0.05, 0
    while True:
        try:
            return call(*args, **kwargs)
        except Exception as error:
            said = str(error)
            collided = any(words in said for words in _COLLIDED) and _code(error) != "RESOURCE_ALREADY_EXISTS"
            collisions += collided
            if not (collided or "database is locked" in said):
                raise
            if collisions > COLLISIONS or time.monotonic() + pause > give_up:
                raise
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(2 * pause, 2.0)


def _code(error: Exception) -> str:
    return str(getattr(error, "error_code", ""))


_quiet_lock = threading.Lock()
_quiet_depth = 0
_quiet_levels: dict[str, int] = {}


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back the log lines of mlflow and of the packages that it calls, for the block; nests, also over threads."""
    global _quiet_depth
    with _quiet_lock:
        _quiet_depth += 1
        if _quiet_depth == 1:
            for name in _NOISY:
                _quiet_levels[name] = logging.getLogger(name).level
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        with _quiet_lock:
            _quiet_depth -= 1
            if _quiet_depth == 0:
                for name, level in _quiet_levels.items():
                    logging.getLogger(name).setLevel(level)


def _is_there(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _create(path: Path) -> None:
    """Create the database under a lock, in a file that is renamed at the end, so that others see none or a complete
    one, even after a kill half-way through the migrations.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    path.parent.mkdir(parents=True, exist_ok=True)
    lock, part = path.with_name(f"{path.name}.lock"), path.with_name(f"{path.name}.part")
    with _lock(lock):
        if not _is_there(path):
            part.unlink(missing_ok=True)
            try:
                with _skip_syncs(part):
                    store = SqlAlchemyStore(f"sqlite:///{part.as_posix()}", (path.parent / ARTIFACTS).as_uri())
                    store.engine.dispose()
                with open(part, "r+b") as file:
                    os.fsync(file.fileno())
                os.replace(part, path)
            finally:  # half a database, for example after a full disk
                part.unlink(missing_ok=True)
    with suppress(OSError):  # a process that waits for this file, or makes a new one, finds the database
        lock.unlink()


@contextmanager
def _skip_syncs(path: Path) -> Iterator[None]:
    """Let connections to this one sqlite file skip the disk syncs: hundreds of migrations in 0.7 s instead of 6."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    def on_connect(connection: Any, _record: Any) -> None:
        if isinstance(connection, sqlite3.Connection):
            files = [row[2] for row in connection.execute("PRAGMA database_list")]
            if any(file and os.path.samefile(file, path) for file in files):
                connection.execute("PRAGMA synchronous=OFF")
                connection.execute("PRAGMA journal_mode=MEMORY")

    path.touch()
    event.listen(Engine, "connect", on_connect)
    try:
        yield
    finally:
        event.remove(Engine, "connect", on_connect)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, created when missing; TimeoutError after `PATIENCE` seconds."""
    give_up = time.monotonic() + PATIENCE
    with open(path, "a+b") as file:
        while not _try_lock(file.fileno()):
            if time.monotonic() > give_up:
                raise TimeoutError(f"{path} is held by another process")
            time.sleep(0.05)
        yield  # closing the file releases the lock


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
