"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from svmkit.errors import InputError


def write(path: str | os.PathLike, content: bytes) -> None:
    """Write a file atomically: a reader sees either the complete old file or the complete new one. A symbolic link is
    replaced, not followed; a device or a pipe, such as /dev/stdout, is written to. Raises InputError if the folder is
    missing or not writable.
    """
    write_parts(path, [content])


def write_parts(path: str | os.PathLike, parts: Iterable[bytes]) -> int:
    """Write a file as `write` does, with only one part in memory at a time; return its size in bytes."""
    target = Path(path)
    try:
        if not _is_stream(target):
            return _replace(target, parts)
        with open(target, "wb") as out:
            return sum(map(out.write, parts))
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}; give another path") from None


def _is_stream(target: Path) -> bool:
    """Whether `target` is a device, a pipe, or a name such as /dev/stdout for a file that this process has open."""
    folder = os.path.realpath(target.parent)
    return target.exists() and (not target.is_file() or folder == "/dev" or folder.startswith("/proc/"))


def _replace(target: Path, parts: Iterable[bytes]) -> int:
    handle, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as out:
            n_bytes = sum(map(out.write, parts))
            out.flush()
            os.fsync(out.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)  # mkstemp's 0600 would exclude other users of a shared folder
        os.replace(part, target)
        return n_bytes
    finally:
        Path(part).unlink(missing_ok=True)


def keep_old(path: str | os.PathLike) -> Path | None:
    """Keep the content of a file that is about to be replaced in FILE.bak; at each name there is always a complete
    file. Returns FILE.bak, which is replaced if it exists; None for a file that is missing, empty or not regular.
    Raises InputError if FILE.bak cannot be written.
    """
    target = Path(path)
    if _is_stream(target) or not target.is_file() or not target.stat().st_size:
        return None
    kept = target.with_name(f"{target.name}.bak")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            os.replace(shutil.copy2(target, folder), kept)
    except OSError as error:
        raise InputError(f"cannot keep {target} as {kept.name}: {error.strerror or error}; give another path") from None
    return kept


def require_writable(path: str | os.PathLike) -> None:
    """Raise InputError if `write` would fail: the folder is missing or read-only, or `path` is a folder."""
    target = Path(path)
    if target.is_dir() or not os.access(target if _is_stream(target) else target.parent, os.W_OK):
        raise InputError(f"cannot write {path}: give a file in an existing folder that can be written to")
