"""From models:/ and runs:/ URIs to a local model file; an unknown name raises an error that lists the known ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from svmkit.errors import InputError, redact
from svmkit_registry.packing import STORED
from svmkit_registry.store import patiently

T = TypeVar("T")
_FORMS = "models:/NAME@ALIAS, models:/NAME/VERSION, models:/NAME/latest, models:/MODEL_ID or runs:/RUN_ID/model"


def fetch_file(client: Any, uri: str, folder: str) -> str:
    """Download the model.svmkit of models:/... or runs:/... to a folder, and return its path. Raises InputError:
    the model, alias, version or run is unknown, or svmkit did not log the model.
    """
    from mlflow.artifacts import download_artifacts, list_artifacts

    place = location(client, uri).rstrip("/")
    inside, _, file = STORED.rpartition("/")
    listed = patiently(list_artifacts, f"{place}/{inside}", tracking_uri=client.tracking_uri)
    if file not in [entry.path.rpartition("/")[2] for entry in listed]:
        raise InputError(f"{uri} holds no svmkit model ({STORED} is not at {place}): give a model that svmkit logged")
    os.makedirs(folder, exist_ok=True)
    return str(patiently(download_artifacts, f"{place}/{STORED}", dst_path=folder, tracking_uri=client.tracking_uri))


def location(client: Any, uri: str) -> str:
    """The artifact URI of the model folder of `uri`."""
    scheme, _, rest = uri.partition(":/")
    rest = rest.strip("/")
    if scheme == "runs" and rest:
        return _run_location(client, uri, *rest.partition("/")[::2])
    if scheme != "models" or not rest or rest.count("/") + rest.count("@") > 1:
        raise InputError(f"{uri} is no model: write {_FORMS}")
    if "@" not in rest and "/" not in rest:
        logged = _ask(lambda: client.get_logged_model(rest)) if rest.startswith("m-") else None
        if logged is None:
            raise InputError(f"{uri} names no logged model: write {_FORMS}; {_models(client)}")
        return logged.artifact_location
    if "@" in rest:
        name, alias = rest.split("@")
        version = _version_of_alias(client, name, alias)
    else:
        name, number = rest.split("/")
        version = version_number(client, name, number)
    place = client.get_model_version_download_uri(name, version)
    return location(client, place) if place.startswith(("models:/", "runs:/")) else place


def _run_location(client: Any, uri: str, run_id: str, path: str) -> str:
    run = _ask(lambda: client.get_run(run_id))
    if run is None:
        raise InputError(
            f"{uri}: there is no run {run_id!r} in {redact(client.tracking_uri)}: check the id and the store"
        )
    logged = [client.get_logged_model(out.model_id) for out in (run.outputs.model_outputs if run.outputs else [])]
    if not path:
        raise InputError(f"{uri} lacks the model's name: write runs:/{run_id}/{logged[0].name if logged else 'model'}")
    named = [model for model in logged if model.name == path]
    if named:
        return max(named, key=lambda model: model.creation_timestamp).artifact_location
    return f"{run.info.artifact_uri}/{path}"


def _version_of_alias(client: Any, name: str, alias: str) -> str:
    model = registered_model(client, name)
    number = model.aliases.get(alias)
    if number is not None or alias == "latest":
        return str(number or version_number(client, name, "latest"))
    known = ", ".join(f"@{key} (version {version})" for key, version in sorted(model.aliases.items()))
    numbers = ", ".join(str(version.version) for version in versions(client, name)) or "none"
    raise InputError(f"model {name!r} has no alias {alias!r}: it has {known or 'no aliases'}; versions {numbers}")


def version_number(client: Any, name: str, version: str) -> str:
    """The number of a version given as a number or as "latest"; InputError lists the existing versions."""
    registered_model(client, name)
    known = [int(entry.version) for entry in versions(client, name)]
    if version == "latest" and known:
        return str(known[-1])
    if version.isdecimal() and int(version) in known:
        return str(int(version))
    raise InputError(f"model {name!r} has no version {version!r}: it has {', '.join(map(str, known)) or 'none'}")


def registered_model(client: Any, name: str) -> Any:
    """The RegisteredModel of that name; InputError lists the existing models."""
    model = _ask(lambda: client.get_registered_model(name))
    if model is None:
        raise InputError(f"no registered model {name!r} in {redact(client.tracking_uri)}: {_models(client)}")
    return model


def versions(client: Any, name: str) -> list[Any]:
    """The ModelVersions of a registered model, oldest first."""
    quoted = name.replace("'", "''")
    entries = pages(client.search_model_versions, f"name='{quoted}'")
    return sorted(entries, key=lambda version: int(version.version))


def pages(search: Callable[..., Any], *args: Any) -> list[Any]:
    """All results of a search of the client, page by page."""
    page = patiently(search, *args)
    results = list(page)
    while page.token:
        page = patiently(search, *args, page_token=page.token)
        results += page
    return results


def _models(client: Any) -> str:
    names = sorted(model.name for model in patiently(client.search_registered_models, max_results=50))
    if not names:
        return "none is registered yet (svmkit train --register NAME)"
    return f"registered: {', '.join(names[:20])}{' and more' if len(names) > 20 else ''}"


def _ask(call: Callable[[], T]) -> T | None:
    """The answer of the store; None if it reports that there is no such entity."""
    from mlflow.exceptions import MlflowException

    try:
        return patiently(call)
    except MlflowException as error:
        if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            raise
        return None
