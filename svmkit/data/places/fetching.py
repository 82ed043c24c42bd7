"""Downloads of data sets from the sites that publish them to the cache, with verification.

pooch verifies a file and moves it into place atomically. `svmkit.data.places.download` resumes interrupted transfers. A
set is stored unpacked under its name, since the known checksum is that of its contents.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from svmkit.data.formats.files import COMPRESSIONS, cite, open_data
from svmkit.data.places.builtin import BUILTIN
from svmkit.data.places.download import NotThere, Progress, Resumable, WrongFile
from svmkit.data.places.remote import REMOTE, SITES, Remote
from svmkit.data.places.sources import cache_dir, find_cached, offer
from svmkit.errors import InputError, SvmkitError, SvmkitWarning, redact
from svmkit.runtime.packages import require_installed


@dataclass(frozen=True)
class Fetched:
    """A data set in the cache: its name and file, size and SHA-256 of its contents, and whether it is new."""

    name: str
    path: Path
    bytes: int
    sha256: str
    fetched: bool


def names_to_fetch(names: Iterable[str]) -> list[str]:
    """Return the sets to fetch: each name, followed by its test set NAME.t if there is one, without duplicates. Raises
    InputError if a name cannot be fetched; the message offers similar names.
    """
    halves = [half for name in names for half in (_remote(name).name, f"{name}.t") if half in REMOTE]
    return list(dict.fromkeys(halves))


def _remote(name: str) -> Remote:
    if name in BUILTIN:
        raise InputError(f"{name} is built in: it needs no fetching, train on it by its name")
    if name not in REMOTE:
        known = "`svmkit datasets list` names those that there are"
        raise InputError(f"no set {cite(name)} can be fetched{offer(name, list(REMOTE))}; {known}")
    return REMOTE[name]


def fetch(name: str, *, mirror: str | None = None, progress: Progress | None = None) -> Fetched:
    """Download one set to the cache ($SVMKIT_CACHE or ~/.cache/svmkit/datasets) unless it is there already.

    Parameters
    ----------
    name : str
        Name of a set in `svmkit.data.places.remote.REMOTE`.
    mirror : str, default=$SVMKIT_MIRROR, else the sets' own sites
        http or https URL of a folder with the files, directly or in folders named as on the sets' own sites; packed as
        .bz2, .gz, .xz or not at all.
    progress : callable(done, total), default=None
        Called with the number of bytes received and the total number, which is None if it is unknown.

    Returns
    -------
    Fetched

    Raises
    ------
    InputError
        The name is unknown or the mirror is not such a URL.
    SvmkitError
        The server does not answer, the transfer is interrupted (the next call resumes it), the file has other contents
        (it is removed), or the cache is not writable. A file under the set's name always has the set's contents.

    Warns
    -----
    SvmkitWarning
        Another process is fetching the set; this one waits for it.

    Examples
    --------
    >>> from svmkit.data import fetch
    >>> fetch("iris")
    Traceback (most recent call last):
    ...
    svmkit.errors.InputError: iris is built in: it needs no fetching, train on it by its name
    """
    remote, folder = _remote(name), cache_dir()
    bases = _bases(remote, mirror)
    try:
        path = _present(remote)
        if path is not None:
            return Fetched(name, path, remote.size, remote.sha256, False)
        working = folder / ".fetching" / name  # hidden, so that nothing in it is mistaken for a set
        working.mkdir(parents=True, exist_ok=True)
        with _alone(working / f"{name}.lock", name):
            path = _present(remote)  # the process that we waited for has fetched it
            if path is not None:
                return Fetched(name, path, remote.size, remote.sha256, False)
            os.replace(_download(remote, bases, working, progress), folder / name)
    except OSError as error:
        reason = error.strerror or error
        raise SvmkitError(f"{folder}: cannot be written to ({reason}): name another folder in $SVMKIT_CACHE") from None
    return Fetched(name, folder / name, remote.size, remote.sha256, True)


def _bases(remote: Remote, mirror: str | None) -> list[str]:
    """Return the URLs of the folders that may have the set."""
    source = "--mirror" if mirror else "$SVMKIT_MIRROR"
    mirror = mirror or os.environ.get("SVMKIT_MIRROR")
    if not mirror:
        return [SITES[remote.folder]]
    try:
        parts = urlsplit(mirror)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, unmatched brackets
        usable = False
    if not usable or parts.query or parts.fragment:
        raise InputError(
            f"{source} {cite(mirror)} is not the URL of a folder: give one such as https://example.org/libsvm"
        )
    return [f"{mirror.rstrip('/')}/{remote.folder}", mirror.rstrip("/")]


def _download(remote: Remote, bases: list[str], working: Path, progress: Progress | None) -> Path:
    """Return a file in the folder `working` with the verified contents."""
    require_installed("downloads", "pooch", "requests", "urllib3")
    import pooch

    for left_over in working.glob(f"{tempfile.gettempprefix()}*"):  # of a process killed while unpacking
        left_over.unlink()
    downloader = Resumable(remote, working / f"{remote.name}.part", progress)
    log, files = pooch.get_logger(), dict.fromkeys([remote.file, *(remote.name + end for end in ("", *COMPRESSIONS))])
    level = log.level
    log.setLevel("ERROR")
    missing: list[NotThere] = []
    try:
        for url in [f"{base}/{quote(file)}" for file in files for base in bases]:
            try:
                path = pooch.retrieve(url, remote.sha256, fname=remote.name, path=working, downloader=downloader)
            except NotThere as error:
                missing.append(error)
                continue
            downloader.discard()
            return Path(path)
    except WrongFile:
        downloader.discard()
        raise
    except ValueError:  # raised by pooch for another checksum
        downloader.discard()
        raise SvmkitError(
            f"{remote.name}: what {redact(url)} sent has another SHA-256 than the set, so it was changed or damaged "
            "(removed): try again, or give another --mirror"
        ) from None
    finally:
        log.setLevel(level)
    raise SvmkitError(f"{remote.name}: {missing[0]}: give another place with --mirror")


def _present(remote: Remote) -> Path | None:
    """Return the file of the cache if it has the set's contents."""
    path = find_cached(remote.name)
    if path is None:
        return None
    digest, left = hashlib.sha256(), remote.size
    try:
        with open_data(path) as stream:
            while left >= 0 and (block := stream.read(1 << 20)):
                digest.update(block)
                left -= len(block)
    except InputError:  # cannot be read or unpacked
        return None
    return path if left == 0 and digest.hexdigest() == remote.sha256 else None


@contextmanager
def _alone(path: Path, name: str) -> Iterator[None]:
    """Hold a lock on the set for the block. The operating system releases it whenever the process ends."""
    with open(path, "ab") as file:
        try:
            import fcntl
        except ImportError:  # without locks two processes may both download; the checksum ensures correct contents
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            warnings.warn(f"{name} is being fetched by another process: waiting for it", SvmkitWarning, stacklevel=4)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
