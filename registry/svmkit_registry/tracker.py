"""MLflowTracker: svmkit's runs, curves and models in MLflow. Importing this module does not import mlflow."""

from __future__ import annotations

import getpass
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit._version import __version__
from svmkit.errors import SvmkitError, redact
from svmkit.runtime.packages import require_installed
from svmkit.solver.history import HistoryPoint
from svmkit.tracking import Tracker
from svmkit_registry import process, store

if TYPE_CHECKING:
    from svmkit.data import Dataset
    from svmkit.model.model import SVMModel

BATCH = 1000  # metrics in one request: mlflow's limit
PARAM_LENGTH, TAG_LENGTH = 6000, 8000  # characters of a value: mlflow's limits
CURVES = ("objective", "gap", "n_support", "accuracy", "score")  # of the points of a history
RESUMED = "svmkit.resumed"  # the tag that counts how often another process continued a run
MODEL = "model"  # the name under which a run's model is logged


def _guard(method: Callable) -> Callable:
    """Decorate a method: a store that fails costs one warning and the rest of the log, but never the training."""

    @wraps(method)
    def call(self: MLflowTracker, *args: Any, **kwargs: Any) -> Any:
        if self._failed or (method.__name__ not in ("start", "reopen", "resume") and self._client is None):
            return None
        try:
            store.prepare()
            with store.quiet():
                return method(self, *args, **kwargs)
        except Exception as error:  # whatever its origin: mlflow, SQLAlchemy, requests or the disk
            if self.strict:
                raise
            # a model that cannot be saved is not an error of the store
            self._failed = not (method.__name__ == "model" and isinstance(error, SvmkitError))
            problem = f"MLflow: {method.__name__} failed at {redact(self.uri)}: {store.reason(error)}"
            remedy = "repair the store, or pass --no-track" if self._failed else "the run goes on without it"
            self.warn(f"{problem}; {remedy}")
        return None

    return call


class MLflowTracker(Tracker):
    """One run in MLflow; several may be open in one process.

    When the store fails there is one SvmkitWarning (or call of `notify`), and all later calls do nothing; only `fetch`
    raises. Artifacts of the default store are in ./mlruns.

    Parameters
    ----------
    uri : str, the store; None is $MLFLOW_TRACKING_URI, else sqlite in ./mlflow.db (created when missing)
    experiment : str, created when missing; None is $MLFLOW_EXPERIMENT_NAME, else "svmkit"
    strict : bool, raise the errors of the store instead
    """

    def __init__(self, uri: str | None = None, experiment: str | None = None, *, strict: bool = False) -> None:
        super().__init__(uri, experiment)
        self.strict = strict
        self.uri: str = store.tracking_uri(uri)
        self._client: Any = None
        self._experiment_id = ""
        self._failed = False
        self._started = 0  # milliseconds since the epoch
        self._params: dict[str, str] = {}
        self._scalars: dict[str, float] = {}
        self._model_id: str | None = None

    @_guard
    def start(
        self,
        name: str,
        params: dict[str, Any],
        tags: dict[str, str],
        data: Dataset | None = None,
        parent: str | None = None,
    ) -> None:
        """Open a run in MLflow; unless it is nested, runs of ended processes of this host are marked as killed.

        Parameters
        ----------
        name, params, tags, data, parent : str, dict of str, dict of str to str, Dataset or None, str or None
            As for `Tracker.start`.
        """
        from mlflow.entities import Param

        self._client = store.open_client(self.uri)
        self._experiment_id = store.experiment_id(self._client, self.experiment)
        self._started = time.time_ns() // 1_000_000
        source = {"mlflow.source.name": "svmkit", "mlflow.source.type": "LOCAL", "mlflow.user": user()}
        if parent:
            source["mlflow.parentRunId"] = parent
        else:
            store.end_abandoned_runs(self._client, self._experiment_id)
        run = store.patiently(
            self._client.create_run,
            self._experiment_id,
            start_time=self._started,
            tags=_texts(source | {"svmkit.version": __version__} | process.identity() | tags, TAG_LENGTH),
            run_name=name,
        )
        self.run_id = run.info.run_id
        self._params = _texts(params, PARAM_LENGTH)
        self._log_batch(params=[Param(key, value) for key, value in self._params.items()])
        if data is not None:
            store.patiently(self._client.log_inputs, self.run_id, datasets=[_dataset_input(data)])

    @_guard
    def reopen(self, run_id: str) -> bool:
        client = store.open_client(self.uri)
        run = store.find_run(client, run_id)
        if run is not None:
            self._continue(client, run)
        return run is not None

    @_guard
    def resume(self, run_id: str, params: dict[str, Any], data: Dataset | None = None) -> str | None:
        """Continue a run in MLflow, and return None; or else return the reason.

        Parameters
        ----------
        run_id, params, data : str, dict of str, Dataset or None
            As for `Tracker.resume`.
        """
        client = store.open_client(self.uri)
        run = store.find_run(client, run_id)
        if run is None:
            return "the store does not have it"
        if run.info.experiment_id != store.experiment_id(client, self.experiment):
            return "it belongs to another experiment"
        if run.info.status == "RUNNING" and process.is_alive(run.data.tags):
            return "the process that logs it is at work"
        asked = _texts(params, PARAM_LENGTH)
        others = sorted(key for key in asked | run.data.params if asked.get(key) != run.data.params.get(key))
        if others:
            return f"its parameters differ: {', '.join(others)}"
        if data is not None and _digest(data) not in [of.dataset.digest for of in run.inputs.dataset_inputs]:
            return "it was trained on other data"
        self._continue(client, run, {RESUMED: str(1 + int(run.data.tags.get(RESUMED, 0)))})
        return None

    def _continue(self, client: Any, run: Any, tags: dict[str, str] | None = None) -> None:
        """Take over a run that another process has opened."""
        from mlflow.entities import RunTag

        run_id = run.info.run_id
        # ownership first: a process that looks for abandoned runs must not find this one among them
        owner = [RunTag(key, value) for key, value in (process.identity() | (tags or {})).items()]
        store.patiently(client.log_batch, run_id, tags=owner)
        store.patiently(client.update_run, run_id, "RUNNING")
        self._client, self.run_id, self._experiment_id = client, run_id, run.info.experiment_id
        self._started, self._params = run.info.start_time, dict(run.data.params)

    @_guard
    def artifact(self, path: str | Path, folder: str = "") -> None:
        store.patiently(self._client.log_artifact, self.run_id, str(path), folder or None)

    @_guard
    def curve(self, points: list[HistoryPoint], prefix: str = "curve/") -> None:
        from mlflow.entities import Metric

        def metrics() -> Iterable[Any]:
            for point in points:
                at = self._started + round(1000 * point.seconds)
                values = {name: getattr(point, name) for name in CURVES} | {"elapsed_s": point.seconds}
                for key, value in values.items():
                    if value is not None and not math.isnan(value):
                        yield Metric(prefix + key, float(value), at, point.n_iter)

        for batch in _batches(metrics()):
            self._log_batch(metrics=batch)

    @_guard
    def metrics(self, values: dict[str, float]) -> None:
        known = {key: float(value) for key, value in values.items() if value is not None and not math.isnan(value)}
        self._log_scalars(known)
        self._scalars |= known

    @_guard
    def model(self, model: SVMModel, example: Any, register: str | None = None) -> str | None:
        """Log a model in MLflow, and register it if a name is given; return its URI.

        Parameters
        ----------
        model, example, register : SVMModel, object, str or None
            As for `Tracker.model`.
        """
        from mlflow.entities import LoggedModelOutput

        from svmkit_registry.lineage import tags_of
        from svmkit_registry.packing import write_folder

        client, run_id = self._client, self.run_id
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / MODEL
            logged = store.patiently(
                client.create_logged_model,
                self._experiment_id,
                name=MODEL,
                source_run_id=run_id,
                params=self._params,
                model_type="svmkit",
            )
            meta = {"run_id": run_id, "model_id": logged.model_id, "model_uuid": logged.model_id}
            try:
                write_folder(folder, model, example, artifact_path=logged.artifact_location, **meta)
                store.patiently(client.log_model_artifacts, logged.model_id, str(folder))
            except BaseException:
                store.patiently(client.finalize_logged_model, logged.model_id, "FAILED")
                raise
        store.patiently(client.log_outputs, run_id, [LoggedModelOutput(logged.model_id, step=0)])
        store.patiently(client.finalize_logged_model, logged.model_id, "READY")
        self._model_id = logged.model_id
        self._log_scalars(self._scalars)
        return self._register(logged, register, tags_of(model)) if register else f"models:/{logged.model_id}"

    @_guard
    def end(self, status: str = "FINISHED") -> None:
        store.patiently(self._client.set_terminated, self.run_id, status)
        self._client = None

    def where(self) -> str:
        plain = redact(self.uri)
        return plain if plain.startswith("http") else f"mlflow ui --backend-store-uri {plain}"

    def fetch(self, uri: str, folder: str) -> str:
        from svmkit_registry.fetching import fetch_file

        with store.session(self.uri, uri) as client:
            return fetch_file(client, uri, folder)

    def _register(self, logged: Any, name: str, tags: dict[str, str]) -> str:
        from mlflow.exceptions import MlflowException

        client = self._client
        try:
            store.patiently(client.create_registered_model, name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        # a database store would look up models:/ID in mlflow's global store, which may be another one
        remote = self.uri.startswith(("http://", "https://", "databricks"))
        source = f"models:/{logged.model_id}" if remote else logged.artifact_location
        version = store.patiently(
            client.create_model_version, name, source, run_id=self.run_id, tags=tags, model_id=logged.model_id
        )
        listed = json.dumps([{"name": name, "version": version.version}])
        store.patiently(client.set_logged_model_tags, logged.model_id, {"mlflow.modelVersions": listed})
        return f"models:/{name}/{version.version}"

    def _log_scalars(self, values: dict[str, float]) -> None:
        from mlflow.entities import Metric

        at = time.time_ns() // 1_000_000
        linked = {"model_id": self._model_id, "run_id": self.run_id} if self._model_id else {}
        for batch in _batches(Metric(key, value, at, 0, **linked) for key, value in values.items()):
            self._log_batch(metrics=batch)

    def _log_batch(self, **entities: Any) -> None:
        store.patiently(self._client.log_batch, self.run_id, **entities)


def _dataset_input(data: Dataset) -> Any:
    """The entry for "Datasets used": name, digest, shape and dtype, but none of the rows."""
    from mlflow.entities import Dataset as LoggedDataset
    from mlflow.entities import DatasetInput, InputTag

    digest = data.fingerprint()
    n, d = data.X.shape

    def tensor(dtype: Any, *shape: int) -> str:
        return json.dumps([{"type": "tensor", "tensor-spec": {"dtype": str(dtype), "shape": shape}}])

    targets = None if data.y is None else tensor(data.y.dtype if data.y.dtype.kind != "U" else "str", -1)
    schema = {"mlflow_tensorspec": {"features": tensor(data.X.dtype, -1, d), "targets": targets}}
    entry = LoggedDataset(
        name=data.name[:500] or "data",
        digest=_digest(data),
        source_type="svmkit",
        source=json.dumps({"name": data.name, "sha256": digest}),
        schema=json.dumps(schema),
        profile=json.dumps({"num_rows": n, "num_features": d, "sparse": hasattr(data.X, "toarray")}),
    )
    return DatasetInput(entry, [InputTag("mlflow.data.context", "training")])


def _digest(data: Dataset) -> str:
    return data.fingerprint()[:36]  # mlflow's limit


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(items)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _texts(values: dict[str, Any], limit: int) -> dict[str, str]:
    return {key: str(value)[:limit] for key, value in values.items()}


def user() -> str:
    """The name of the user according to the system."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container whose user has no name
        return "unknown"


require_installed("runs and registered models", "mlflow", plugin=MLflowTracker)
