"""The work of `svmkit models` on an MLflow store: list, show, register, promote, pull, delete."""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.cli.common import closing, require_model_name
from svmkit.errors import InputError, SvmkitError
from svmkit.model.model import SVMModel
from svmkit.runtime import files, interrupt
from svmkit.scoring.metric import require_metric
from svmkit.tracking import scalars
from svmkit_registry import fetching, lineage, store
from svmkit_registry.promotion import metric_of, objection
from svmkit_registry.tracker import MLflowTracker, user

MEASURED = (
    *("test_accuracy", "test_balanced_accuracy", "test_r2", "test_rmse", "test_mae"),
    *("train_outliers", "test_outliers", "gap"),
)


def list_models(uri: str | None = None) -> list[dict[str, Any]]:
    """All registered models by name: name, aliases {alias: version}, versions (how many), latest (see `show_model`)."""
    with store.session(store.tracking_uri(uri), "the models") as client:
        models = fetching.pages(client.search_registered_models)
        versions = fetching.pages(client.search_model_versions)
    rows = []
    for model in sorted(models, key=lambda model: model.name):
        own = sorted((v for v in versions if v.name == model.name), key=lambda v: int(v.version))
        latest = _version_facts(own[-1], model.aliases) if own else None
        rows.append({"name": model.name, "aliases": _aliases(model), "versions": len(own), "latest": latest})
    return rows


def show_model(name: str, uri: str | None = None) -> dict[str, Any]:
    """Return one registered model with the lineage of its versions; InputError lists the known names. name, aliases
    {alias: version} and versions, newest first. Each version has version, aliases, created (ISO 8601, UTC), run_id,
    forced {alias: who, when, from} and the `lineage.FIELDS`, None if unknown.
    """
    with store.session(store.tracking_uri(uri), f"model {name!r}") as client:
        model = fetching.registered_model(client, name)
        versions = fetching.versions(client, name)
    return {
        "name": name,
        "aliases": _aliases(model),
        "versions": [_version_facts(version, model.aliases) for version in reversed(versions)],
    }


def register(file: str, name: str, uri: str | None = None, experiment: str | None = None) -> dict[str, Any]:
    """Register a model file as the next version of a model, in a run of its own with the lineage of the model. Returns
    name, version, uri (models:/NAME/VERSION) and run_id. Raises InputError for a file that is no model or a name that
    cannot be taken, SvmkitError if the store failed.

    Parameters
    ----------
    file, name : str, path of the model file, and name in the registry
    uri, experiment : str, store and experiment; None is the tracker's default
    """
    require_model_name(name)
    model = SVMModel.load(file)
    known = lineage.model_origin(model)
    tracker = MLflowTracker(uri, experiment, strict=True)
    with store.session(tracker.uri, f"{file} is not registered", create=True):
        own = {"data": known.get("data"), "n": known.get("n_samples")}  # named as by `svmkit train`
        params = known.get("params", {}) | {key: value for key, value in own.items() if value is not None}
        with closing(tracker):
            tracker.start(f"register {os.path.basename(file)}", params, {"svmkit.registered_from": "file"})
            tracker.metrics(scalars({name: known.get(name) for name in MEASURED}))
            # a row of zeros, stored like the vectors, represents the training rows, which are not available
            shape = 1, model.n_features
            row = sp.csr_array(shape, dtype=np.float64) if sp.issparse(model.vectors) else np.zeros(shape)
            address = tracker.model(model, row, name)
    version = int(str(address).rpartition("/")[2])
    return {"name": name, "version": version, "uri": address, "run_id": tracker.run_id}


def promote(
    name: str, version: str, alias: str, *, force: bool = False, uri: str | None = None, metric: str | None = None
) -> dict[str, Any]:
    """Give a version an alias, unless the version that has it now is better or cannot be compared (see `objection`).
    Returns name, version, alias, replaced (version or None), forced (the overruled objection or None) and metric (None
    if nothing was compared). Raises InputError: a name is unknown. Raises SvmkitError: refused, or the store failed.

    Parameters
    ----------
    name, version, alias : str, the model, a number of a version or "latest", and the alias
    force : bool, promote despite an objection; the tag svmkit.forced.ALIAS of the version records who, when and why
    uri : str, the store
    metric : str, to compare by; None is the candidate's own metric if both have it, else accuracy or R2
    """
    if not re.fullmatch(r"[\w-]{1,255}", alias) or re.fullmatch(r"(?i)latest|v\d+", alias):
        raise InputError(
            f"{alias[:80]!r} cannot be an alias: use letters, digits, '_' and '-'; not latest, v1, v2, ..."
        )
    named = None if metric is None else require_metric(metric)
    with store.session(store.tracking_uri(uri), f"{name} is not promoted") as client, interrupt.catching(to_end=True):
        model = fetching.registered_model(client, name)
        number = fetching.version_number(client, name, version)
        current = model.aliases.get(alias)
        replaced = None if current is None else int(current)
        against = by = None
        if current is not None and str(current) != number:
            ours, theirs = (lineage.version_origin(client.get_model_version(name, str(v))) for v in (number, current))
            by = named or metric_of(ours, theirs)
            against = objection(ours, theirs, f"version {number}", f"version {current}", by)
        if against and not force:
            raise SvmkitError(
                f"{name} version {number} is not promoted: {against}; @{alias} stays (--force promotes all the same)"
            )
        if against:  # recorded before the promotion, so that no forced promotion goes unrecorded
            record = {"by": user(), "at": _iso(datetime.now(UTC)), "from": replaced, "although": against}
            key = f"{lineage.PREFIX}forced.{alias}"
            store.patiently(client.set_model_version_tag, name, number, key, json.dumps(record))
        store.patiently(client.set_registered_model_alias, name, alias, number)
    return {"name": name, "version": int(number), "alias": alias, "replaced": replaced, "forced": against, "metric": by}


def pull(source: str, out: str, *, force: bool = False, uri: str | None = None) -> dict[str, Any]:
    """Download a model to a file, which is written completely or not at all; return source, out and lineage.

    Parameters
    ----------
    source : str, models:/NAME@ALIAS, models:/NAME/VERSION or runs:/...
    out : str, the file
    force : bool, replace an existing file; a link is replaced, not followed
    uri : str, the store
    """
    if os.path.lexists(out) and not force:
        raise InputError(f"{out} is there already: give another --out, or --force to replace it")
    files.require_writable(out)
    tracker = MLflowTracker(uri)
    with tempfile.TemporaryDirectory() as folder:
        model = SVMModel.load(tracker.fetch(source, folder))
    if os.path.lexists(out) and not force:  # the file may have appeared during the download
        raise InputError(f"{out} is there already: give another --out, or --force to replace it")
    model.save(out)
    return {"source": source, "out": out} | lineage.model_origin(model)


def deletable(name: str, version: str | None = None, uri: str | None = None) -> dict[str, Any]:
    """Return what `delete` would remove: name, versions and the aliases {alias: version} that point to them. `version`
    is a number or "latest"; None means the model with all its versions. InputError for an unknown name.
    """
    with store.session(store.tracking_uri(uri), f"{name} is not deleted") as client:
        model = fetching.registered_model(client, name)
        if version is None:
            numbers = [int(entry.version) for entry in fetching.versions(client, name)]
        else:
            numbers = [int(fetching.version_number(client, name, version))]
    aliases = {alias: number for alias, number in _aliases(model).items() if number in numbers}
    return {"name": name, "versions": numbers, "aliases": aliases}


def delete(target: dict[str, Any], *, whole: bool, uri: str | None = None) -> None:
    """Delete the versions that `deletable` found, and with `whole` the name; runs and their model files are kept."""
    name = target["name"]
    with store.session(store.tracking_uri(uri), f"{name} is not deleted") as client, interrupt.catching(to_end=True):
        if whole:
            store.patiently(client.delete_registered_model, name)
            return
        for alias in target["aliases"]:
            store.patiently(client.delete_registered_model_alias, name, alias)
        for number in target["versions"]:
            store.patiently(client.delete_model_version, name, str(number))


def _version_facts(version: Any, aliases: dict[str, Any]) -> dict[str, Any]:
    own = sorted(alias for alias, number in aliases.items() if str(number) == str(version.version))
    begin = f"{lineage.PREFIX}forced."
    forced = {key.removeprefix(begin): text for key, text in version.tags.items() if key.startswith(begin)}
    for alias, text in forced.items():
        with suppress(ValueError):  # text edited by hand is unchanged
            forced[alias] = json.loads(text)
    return {
        "version": int(version.version),
        "aliases": own,
        "created": _iso(datetime.fromtimestamp(version.creation_timestamp / 1000, UTC)),
        "run_id": version.run_id or None,
        "forced": forced,
    } | (dict.fromkeys(lineage.FIELDS) | lineage.version_origin(version))


def _aliases(model: Any) -> dict[str, int]:
    return {alias: int(version) for alias, version in sorted(model.aliases.items())}


def _iso(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
