"""svmkit models: the model registry on the command line, found through the entry-point group ``svmkit.commands``."""

from __future__ import annotations

import sys
from typing import Any

import typer

from svmkit.cli.common import JSON, PLUGIN, TRACKING_URI, emit, note, rows, warnings_as_notes
from svmkit.errors import SvmkitError
from svmkit.runtime.terminal import align, say, visible

NAME = typer.Argument(help="Name of a registered model.")

app = typer.Typer(
    help="List, show, register, promote, pull, serve and delete models of the registry.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command("list")
def list_(tracking_uri: str = TRACKING_URI, json: bool = JSON) -> None:
    """List registered models with their aliases, and the test accuracy or R2 of the latest version."""
    from svmkit_registry import models

    registered = models.list_models(tracking_uri)
    if json:
        emit(registered)
        return
    if not registered:
        note("none is registered yet: svmkit train --register NAME, or svmkit models register FILE --name NAME")
        return
    lines = [["name", "versions", "latest", "aliases"]]
    for model in registered:
        aliases = ", ".join(f"@{alias} {version}" for alias, version in model["aliases"].items())
        lines.append([model["name"], str(model["versions"]), _accuracy(model["latest"]), aliases])
    say(*align(lines, left=range(4)))


@app.command()
def show(name: str = NAME, tracking_uri: str = TRACKING_URI, json: bool = JSON) -> None:
    """Show the versions of a model, newest first, each with its lineage."""
    from svmkit_registry import models

    model = models.show_model(name, tracking_uri)
    if json:
        emit(model)
        return
    say(f"{name}: {len(model['versions'])} version{'s' * (len(model['versions']) != 1)}")
    for version in model["versions"]:
        say("")
        _show(version)


@app.command("register")
def _register(
    file: str = typer.Argument(help="Model file, as svmkit train --out writes it."),
    name: str = typer.Option(
        ..., "--name", metavar="NAME", help="Name in the registry, which is created if it does not exist."
    ),
    experiment: str = typer.Option(
        None, metavar="NAME", help="MLflow experiment of the run that belongs to it; default svmkit."
    ),
    tracking_uri: str = TRACKING_URI,
    plugin: list[str] = PLUGIN,
    json: bool = JSON,
) -> None:
    """Register a model file as the next version, with the lineage in the file."""
    from svmkit_registry import models

    with warnings_as_notes():
        done = models.register(file, name, tracking_uri, experiment)
    if json:
        emit(done)
    else:
        say(f"{file} is {done['uri']}")


@app.command("promote")
def _promote(
    name: str = NAME,
    version: str = typer.Argument(help="Number of the version, or latest."),
    alias: str = typer.Argument(help="Alias, such as champion: svmkit predict models:/NAME@champion DATA."),
    force: bool = typer.Option(
        False, "--force", help="Give the alias even if the version is worse or cannot be compared; a tag records this."
    ),
    metric: str = typer.Option(
        None, metavar="NAME", help="Compare by this scorer of scikit-learn; the default is that of the version."
    ),
    tracking_uri: str = TRACKING_URI,
    json: bool = JSON,
) -> None:
    """Give an alias to a version, unless its metric on the test set is below that of the version that has the alias.

    The metric is the one that the version was trained or tuned with, if both have it, else accuracy, of quantities R2.
    It is refused too when one of the two is unknown, or they were measured on different test sets.
    """
    from svmkit.scoring.metric import title
    from svmkit_registry import models

    done = models.promote(name, version, alias.lstrip("@"), force=force, uri=tracking_uri, metric=metric)
    if metric is None and done["metric"] not in (None, "accuracy"):
        note(f"compared by {title(done['metric'])} (--metric takes another)")
    if done["forced"]:
        note(f"promoted by force, although {done['forced']}")
    if json:
        emit(done)
        return
    before = done["replaced"]
    was = "" if before is None else " as before" if before == done["version"] else f", before version {before}"
    say(f"{name}@{done['alias']} is version {done['version']}{was}")


@app.command("pull")
def _pull(
    source: str = typer.Argument(metavar="MODEL", help="models:/NAME@ALIAS, models:/NAME/VERSION or runs:/ID/model."),
    out: str = typer.Option(..., "--out", metavar="FILE", help="Write the model to this file."),
    force: bool = typer.Option(False, "--force", help="Replace an existing file."),
    tracking_uri: str = TRACKING_URI,
    plugin: list[str] = PLUGIN,
    json: bool = JSON,
) -> None:
    """Download a model from the registry to a file, for a machine that cannot reach the registry."""
    from svmkit_registry import models

    done = models.pull(source, out, force=force, uri=tracking_uri)
    if json:
        emit(done)
    else:
        say(f"{source} is in {out}")


@app.command("serve")
def _serve(
    source: str = typer.Argument(metavar="MODEL", help="models:/NAME@ALIAS, models:/NAME/VERSION or runs:/ID/model."),
    host: str = typer.Option(
        "127.0.0.1",
        "--host",
        metavar="ADDRESS",
        help="Address to listen on; 0.0.0.0 accepts requests from other machines.",
    ),
    port: int = typer.Option(5000, "--port", metavar="PORT", help="Port to listen on."),
    tracking_uri: str = TRACKING_URI,
) -> None:
    """Serve a model by MLflow's server, from the environment of this command; Ctrl-C ends it."""
    from svmkit_registry import serving

    serving.serve(source, host, port, tracking_uri)


@app.command("delete")
def _delete(
    name: str = NAME,
    version: str = typer.Option(
        None, "--version", metavar="VERSION", help="Number of a version, or latest; default: all of them."
    ),
    yes: bool = typer.Option(False, "--yes", help="Delete without asking, even a version that has an alias."),
    tracking_uri: str = TRACKING_URI,
    json: bool = JSON,
) -> None:
    """Delete a version, or a model with all of its versions, from the registry; the runs stay."""
    from svmkit_registry import models

    target = models.deletable(name, version, tracking_uri)
    numbers, aliases = target["versions"], target["aliases"]
    what = f"{name} version {numbers[0]}" if version else f"{name} ({len(numbers)} version{'s' * (len(numbers) != 1)})"
    if aliases and not yes:
        used = ", ".join(f"@{alias} is version {number}" for alias, number in aliases.items())
        raise SvmkitError(f"{what} is not deleted: {used}; promote another version, or pass --yes")
    if not yes:  # stdout is for results; any answer but y or yes, including the end of the input, means no
        print(visible(f"delete {what}? [y/N] "), end="", file=sys.stderr, flush=True)
        if sys.stdin is None or sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise SvmkitError(f"{what} is not deleted")
    models.delete(target, whole=version is None, uri=tracking_uri)
    if json:
        emit(target)
    else:
        say(f"{what} is deleted")


def _accuracy(version: dict[str, Any] | None) -> str:
    if version is None or (version["test_accuracy"] is None and version["test_r2"] is None):
        return "not tested"
    on = f" on {version['n_test']:,} rows" if version["n_test"] else ""
    if version["test_accuracy"] is None:
        return f"R2 {version['test_r2']:.4f}{on}"
    return f"{version['test_accuracy']:.2%}{on}"


def _show(version: dict[str, Any]) -> None:
    params = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in (version["params"] or {}).items()}
    data, test, gap = version["data"], version["test_data"], version["gap"]
    measured = _accuracy(version)
    measured += f" of {test}" if test and measured != "not tested" else ""
    title = "test accuracy" if version["test_r2"] is None else "test R2"
    outliers = [(f"{part} outliers", version[f"{part}_outliers"]) for part in ("train", "test")]
    rows(
        [
            ("version", f"{version['version']}{''.join(f'  @{alias}' for alias in version['aliases'])}"),
            ("created", f"{version['created']}, run {version['run_id']}"),
            (title, measured.removeprefix("R2 ")),
            *_other_metrics(version),
            *((name, f"{share:.2%} of the rows") for name, share in outliers if share is not None),
            ("test SHA-256", version["test_sha256"]),
            ("status", version["status"]),
            ("gap", None if gap is None else f"{gap:.2e}"),
            ("data", data and data + (f": {version['n_samples']:,} rows" if version["n_samples"] else "")),
            ("data SHA-256", version["data_sha256"]),
            ("parameters", ", ".join(f"{key}={value}" for key, value in params.items()) or None),
            ("svmkit", version["svmkit_version"]),
            ("git commit", version["git_commit"]),
            *((f"@{alias}", f"by force: {_override_text(record)}") for alias, record in version["forced"].items()),
        ]
    )


def _other_metrics(version: dict[str, Any]) -> list[tuple[str, str]]:
    from svmkit.scoring.metric import OF_QUANTITIES, format_value, title

    metric, values = version["metric"], {"balanced_accuracy": version["test_balanced_accuracy"]}
    if metric and metric not in ("accuracy", "balanced_accuracy", *OF_QUANTITIES):
        values[metric] = version["test_metric"]
    scores = [(f"test {title(name)}", format_value(name, value)) for name, value in values.items() if value is not None]
    errors = {name: version[f"test_{name.lower()}"] for name in ("RMSE", "MAE")}
    return scores + [(f"test {name}", f"{value:.6g}") for name, value in errors.items() if value is not None]


def _override_text(record: Any) -> str:
    if not isinstance(record, dict):
        return str(record)
    return (
        f"{record.get('by')}, {record.get('at')}, from version {record.get('from')}, although {record.get('although')}"
    )
