"""The file of a model, and the origin that it records, since the model may be registered much later and elsewhere."""

from __future__ import annotations

import itertools
import os
import shlex
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from svmkit import tracking
from svmkit._version import __version__
from svmkit.cli.common import note
from svmkit.cli.option_table import LOGGED
from svmkit.cli.training.sets import Sets
from svmkit.cli.training.train_options import TrainOptions
from svmkit.data import Dataset
from svmkit.errors import InputError, SvmkitError, redact
from svmkit.model.model import SVMModel
from svmkit.runtime import files
from svmkit.tracking import Tracker
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.settings import Method

_ELSEWHERE = ("data", "n", "d", "log10_C", "log10_gamma")  # other entries of the model contain the same


def run_params(options: TrainOptions, method: Method, data: Dataset) -> dict[str, Any]:
    """Return the parameters of a run on these rows, with a method whose kernel has a number for gamma."""
    task, C = method.task, method.settings.C
    given = {key: getattr(options, key) for key in LOGGED[:6]} | {"sampler": str(method.sampler)}
    given |= {key: getattr(options, key) for key in LOGGED[6:]}
    given |= {key: getattr(options, key) for key in ("groups", "event") if getattr(options, key)}
    given["task"] = task.name if task.has_targets else options.task
    given |= {key: ",".join(getattr(options, key)) or None for key in ("drop", "only", "categorical")} | tube(method)
    if task.is_supervised:
        return tracking.params(method.solver, method.kernel, C, data, **given)
    params = tracking.params(method.solver, method.kernel, C, replace(data, task=None), **given)
    nu = task.about(method, C)["nu"]
    shown = {"solver": params["solver"], "kernel": params["kernel"], "nu": nu}  # first in comparisons of runs
    return shown | {k: v for k, v in params.items() if k not in ("C", "log10_C")} | {"formulation": method.formulation}


def open_run(
    tracker: Tracker,
    saver: Checkpoint | None,
    title: str,
    params: dict[str, Any],
    tags: dict[str, str],
    data: Dataset | None = None,
) -> None:
    """Continue the run that a checkpoint names, or open a run as `Tracker.start` does, saying why if one was named.

    Parameters
    ----------
    tracker : Tracker
        The tracker, without an open run.
    saver : Checkpoint or None
        The checkpoint of the training, which names the open run afterwards.
    title, params, tags, data : str, dict, dict, Dataset
        As for `Tracker.start`.
    """
    known = saver.run if saver else None
    uri = redact(tracker.uri or "")
    why = tracker.resume(known["run_id"], params, data) if known else None
    if known and why:
        where = "" if known["uri"] == uri else f" of {known['uri']}"
        note(f"run {known['run_id']}{where} is not continued, since {why}: this training is logged as a new run")
    if why or not known:
        tracker.start(title, params, tags, data)
    if saver and tracker.run_id:
        saver.run = {"uri": uri, "run_id": tracker.run_id}


def tube(method: Method) -> dict[str, float]:
    """Return half the width of the tube of a regression, by its name; empty if the loss has none."""
    width = getattr(method.loss, "epsilon", None) if method.task.has_targets else None
    return {} if width is None else {"epsilon": width}


def origin(options: TrainOptions, method: Method, sets: Sets) -> dict[str, Any]:
    """Return the known ones of params, data_sha256, row_keys and git_commit, and svmkit_version, for a model."""
    params = {key: value for key, value in run_params(options, method, sets.train).items() if key not in _ELSEWHERE}
    known = {"params": params, "data_sha256": sets.sha256, "row_keys": sets.row_keys, "git_commit": git_commit()}
    return {key: value for key, value in known.items() if value is not None} | {"svmkit_version": __version__}


def git_commit() -> str | None:
    """Return the commit that is checked out in the working directory; None outside a checkout or if git fails."""
    command = ["git", "rev-parse", "--verify", "HEAD"]
    try:
        asked = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout.strip() or None if asked.returncode == 0 else None


class Keeper:
    """Writes the model to the requested file. The first write of a run keeps the old file, except under --force."""

    def __init__(self, options: TrainOptions) -> None:
        self.out = options.out  # the file, None if there is none yet
        self.failure: SvmkitError | None = None  # why the requested file could not be written
        self._keeps_old = not options.force

    def save(self, model: SVMModel) -> None:
        """Write the model if a file was requested; if that fails, to a file in the folder of temporary files."""
        if not self.out:
            return
        try:
            keeps, self._keeps_old = self._keeps_old, False  # later writes of this run replace its own file
            if keeps and (kept := files.keep_old(self.out)):
                note(f"{self.out} was there: the old file is kept as {kept} (--force keeps none)")
            model.save(self.out)
        except InputError as error:
            if self.failure is not None:
                return
            reason = str(error).rpartition(";")[0] or str(error)
            try:
                rescued = Path(tempfile.mkdtemp(prefix="svmkit-model-")) / Path(self.out).name
                model.save(rescued)
                self.out, where = str(rescued), f"the model is in {rescued}"
            except (InputError, OSError):
                self.out, where = None, "nor is there room in the folder of temporary files"
            self.failure = SvmkitError(f"{reason}; {where}")

    def keep_for_later(self, model: SVMModel, name: str) -> None:
        """Write the model to a file and print how to register it later, since the store has not accepted it."""
        if not self.out:
            self.out = claimed_file(name)
            self.save(model)
        file = shlex.quote(self.out)
        note(
            f"not registered; the model is in {self.out}, for later: "
            f"svmkit models register {file} --name {shlex.quote(name)}"
        )


def claimed_file(name: str) -> str:
    """Create an empty file: the first of NAME.svmkit, NAME-2.svmkit, ... that does not exist; safe between processes.

    It is in the working directory, or in the folder of temporary files if the working directory is not writable.
    """
    folder = Path() if os.access(".", os.W_OK) else Path(tempfile.gettempdir())
    for k in itertools.count(1):
        path = folder / (f"{name}.svmkit" if k == 1 else f"{name}-{k}.svmkit")
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            continue
        return str(path)
    raise AssertionError  # never reached: `count` has no end
