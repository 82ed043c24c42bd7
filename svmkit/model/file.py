"""The model file: arrays as safetensors, everything else as one JSON text in its header. Never a pickle."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.runtime import files

FORMAT, VERSION = "svmkit", 1


def write(path: str | os.PathLike, arrays: dict[str, np.ndarray], header: dict[str, Any], kind: str) -> None:
    """Write atomically; InputError when the folder is missing or not writable."""
    from safetensors.numpy import save

    meta = {"format": FORMAT, "kind": kind, "version": VERSION, **header}
    blob = save({k: np.ascontiguousarray(v) for k, v in arrays.items()}, metadata={"svmkit": json.dumps(meta)})
    files.write(path, blob)


def read(path: str | os.PathLike, kind: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """(arrays, header) of a file that `write` made; InputError for anything else."""
    from safetensors import SafetensorError, safe_open

    target = Path(path)
    if not target.is_file():
        raise InputError(f"{kind} file {target} is not there: check the path")
    try:
        with safe_open(str(target), framework="numpy") as file:
            meta = json.loads((file.metadata() or {}).get("svmkit", "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    except (SafetensorError, ValueError, TypeError, KeyError, OSError, RecursionError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{target} is not a svmkit {kind} file ({reason}): give one that svmkit wrote") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT or meta.get("kind") != kind:
        raise InputError(f"{target} is not a svmkit {kind} file: give one that svmkit wrote")
    if not isinstance(meta.get("version"), int) or meta["version"] > VERSION:
        raise InputError(f"{target} was written by a newer svmkit (format {meta.get('version')}): upgrade svmkit")
    return arrays, meta
