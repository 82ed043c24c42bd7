"""A downloader for pooch that resumes interrupted transfers and unpacks no more bytes than a set has."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from svmkit._version import __version__
from svmkit.data.formats.files import open_data
from svmkit.data.places.remote import Remote
from svmkit.errors import InputError, SvmkitError, one_line, redact

if TYPE_CHECKING:
    from requests import Response

Progress = Callable[[int, int | None], None]
"""Called with the number of bytes received, and the total number if it is known."""

_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 16
_NO_FILE = (403, 404, 410)  # some servers answer 403 for missing files


class NotThere(SvmkitError):
    """The server answers, but does not have the file."""


class WrongFile(SvmkitError):
    """The file received is not the data set, and the transfer must not be resumed."""


class Resumable:
    """A downloader that pooch calls as downloader(url, output_file, pooch). It writes the unpacked contents of a set.

    `part` is the file for the bytes received until the transfer is complete; PART.json beside it names the URL and the
    version. The next call asks the server for the rest (Range, If-Range). If the server sends the whole file or another
    version, the transfer starts again. No more bytes are read or unpacked than the set can have. Raises NotThere if the
    server does not have the file, WrongFile if the file received is not the set, else SvmkitError.
    """

    def __init__(self, remote: Remote, part: Path, progress: Progress | None = None) -> None:
        self.remote = remote
        self.part = part
        self.state = part.with_name(part.name + ".json")
        self.progress = progress or (lambda done, total: None)

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        self._transfer(url)
        self._unpack(output_file)
        shutil.copymode(self.part, output_file)  # pooch's temporary file is not readable by others

    def discard(self) -> None:
        """Remove the bytes received so far."""
        self.part.unlink(missing_ok=True)
        self.state.unlink(missing_ok=True)

    def _transfer(self, url: str) -> None:
        import urllib3

        known = self._read_state(url)
        done = self.part.stat().st_size if known else 0
        if known and done == known.get("total"):
            return  # the transfer was complete, but the process ended before unpacking
        try:
            response, start = _ask(url, done, known)
        except OSError as error:  # includes the errors of requests
            raise SvmkitError(
                f"no answer from {urlsplit(redact(url)).netloc} ({_root(error)}): check the network, or give another"
                " place with --mirror"
            ) from None
        with response:
            length = response.headers.get("Content-Length", "")
            total = start + int(length) if length.isdecimal() else None  # of the whole file
            self._require_fits(url, total or 0)
            if start == 0:
                etag = response.headers.get("ETag", "")  # If-Range needs a strong one, else the date
                validator = etag if etag.startswith('"') else response.headers.get("Last-Modified")
                version = {"url": redact(url), "total": total, "validator": validator}
                self.part.write_bytes(b"")
                self.state.write_text(json.dumps(version), encoding="utf-8")
            done = start
            response.raw.enforce_content_length = False  # the bytes received before an interruption are kept; see below
            broken = None
            with open(self.part, "ab") as file:
                self.progress(done, total)
                try:
                    for chunk in response.raw.stream(_CHUNK, decode_content=False):
                        done += len(chunk)
                        self._require_fits(url, done)
                        file.write(chunk)
                        self.progress(done, total)
                except urllib3.exceptions.HTTPError as error:
                    broken = _root(error)
        if broken or done < (total or 0):
            share = f"{done:,} of {total:,} bytes" if total else f"{done:,} bytes"
            raise SvmkitError(
                f"{self.remote.name}: the transfer broke off after {share} ({broken or 'the connection closed'}): "
                "they are kept, the same command goes on from there"
            )

    def _read_state(self, url: str) -> dict[str, Any]:
        """Return the notes on the transfer of `part`, or {} if it was from another URL or there are none."""
        try:
            state = json.loads(self.state.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        fits = isinstance(state, dict) and state.get("url") == redact(url) and self.part.is_file()
        return state if fits else {}

    def _require_fits(self, url: str, size: int) -> None:
        # failed compression adds a little: 5 bytes in 16 kB for gzip, less than 1 % for bzip2
        if size > self.remote.size + self.remote.size // 50 + 4096:
            raise WrongFile(
                f"{self.remote.name}: {redact(url)} sends {size:,} bytes or more, the set has {self.remote.size:,}: "
                "it is another file; give another --mirror"
            )

    def _unpack(self, output: str) -> None:
        left, name = self.remote.size, self.remote.name
        try:
            with open(output, "wb") as file, open_data(self.part) as stream:
                while block := stream.read(_CHUNK):
                    left -= len(block)
                    if left < 0:
                        raise WrongFile(f"{name}: what came is larger than the set, so it is another file (removed)")
                    file.write(block)
        except InputError:
            problem = f"{self.part.stem}: what came cannot be unpacked, removed"
            raise WrongFile(f"{problem}: the same command fetches it anew") from None


def _ask(url: str, start: int, known: dict[str, Any]) -> tuple[Response, int]:
    """Ask the server for the file from byte `start` on. Return its answer and the first byte in it."""
    import requests

    headers = {"User-Agent": f"svmkit/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if known.get("validator"):
            headers["If-Range"] = known["validator"]
    response = requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT)
    # the first byte and the total length of a partial answer
    span, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    goes_on = response.status_code == 206 and (span.partition("-")[0], total) == (str(start), str(known.get("total")))
    if start and not goes_on and response.status_code in (206, 416):  # the file on the server has changed
        response.close()
        return _ask(url, 0, {})
    if response.status_code in _NO_FILE:
        response.close()
        raise NotThere(f"{redact(url)} is not there ({response.status_code})")
    if not response.ok:
        response.close()
        answer = f"{response.status_code} {response.reason}".strip()
        raise SvmkitError(f"{redact(url)} answers {answer}: try again later, or give another --mirror")
    return response, start if goes_on else 0


def _root(error: BaseException) -> str:
    """Return the root cause of an error in a few words."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return getattr(error, "strerror", None) or one_line(error)
