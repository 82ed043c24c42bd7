"""A downloader for pooch that goes on where the last transfer broke off, and unpacks no more than a set is large."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from svmkit._version import __version__
from svmkit.data.files import opened
from svmkit.data.remote import Remote
from svmkit.errors import InputError, SvmkitError, one_line

if TYPE_CHECKING:
    from requests import Response

Progress = Callable[[int, int | None], None]
"""Called with the bytes that have come, and how many there are if that is known."""

_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 16
_NO_FILE = (403, 404, 410)  # some stores answer 403 for what they do not have


class NotThere(SvmkitError):
    """The server is there, the file is not."""


class WrongFile(SvmkitError):
    """What came is not the set: never to be gone on with."""


class Resumable:
    """Called by pooch as downloader(url, output_file, pooch): the set's contents, unpacked, in output_file.

    part : file that keeps what has come until all of it has; beside it PART.json says of which URL and version. The
    next call asks the server for the rest (Range, If-Range); where it sends all of it again, or another version, the
    transfer starts over. At most as many bytes as the set could have are read or unpacked.

    Raises
    ------
    NotThere, WrongFile, and SvmkitError for all else that can go wrong on the way.
    """

    def __init__(self, remote: Remote, part: Path, progress: Progress | None = None) -> None:
        self.remote = remote
        self.part = part
        self.state = part.with_name(part.name + ".json")
        self.progress = progress or (lambda done, total: None)

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        self._transfer(url)
        self._unpack(output_file)
        shutil.copymode(self.part, output_file)  # pooch's temporary file would stay closed to others

    def discard(self) -> None:
        """Forget what has come."""
        self.part.unlink(missing_ok=True)
        self.state.unlink(missing_ok=True)

    def _transfer(self, url: str) -> None:
        import urllib3

        known = self._known(url)
        done = self.part.stat().st_size if known else 0
        if known and done == known.get("total"):
            return  # all of it came, and the process ended before it was unpacked
        try:
            response, start = _ask(url, done, known)
        except OSError as error:  # requests' own are among them
            raise SvmkitError(
                f"no answer from {urlsplit(shown_url(url)).netloc} ({_root(error)}): check the network, or give another"
                " place with --mirror"
            ) from None
        with response:
            total = _length(response, start)
            self._require_fits(url, total or 0)
            if start == 0:
                version = {"url": shown_url(url), "total": total, "validator": _validator(response)}
                self.part.write_bytes(b"")
                self.state.write_text(json.dumps(version), encoding="utf-8")
            done = start
            response.raw.enforce_content_length = False  # what came before the line broke is kept; see below
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

    def _known(self, url: str) -> dict[str, Any]:
        """What was noted of the transfer that `part` is from; {} when it was another URL's or cannot be told."""
        try:
            state = json.loads(self.state.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        fits = isinstance(state, dict) and state.get("url") == shown_url(url) and self.part.is_file()
        return state if fits else {}

    def _require_fits(self, url: str, size: int) -> None:
        # compression that fails adds a little: 5 bytes in 16 kB to gzip, less than 1 % to bzip2
        if size > self.remote.size + self.remote.size // 50 + 4096:
            raise WrongFile(
                f"{self.remote.name}: {shown_url(url)} sends {size:,} bytes or more, the set has {self.remote.size:,}: "
                "it is another file; give another --mirror"
            )

    def _unpack(self, output: str) -> None:
        left = self.remote.size
        with open(output, "wb") as file:
            for block in _contents(self.part):
                left -= len(block)
                if left < 0:
                    raise WrongFile(
                        f"{self.remote.name}: what came is larger than the set, so it is another file (removed)"
                    )
                file.write(block)


def shown_url(url: str) -> str:
    """A URL as messages show it: without a user's name and password."""
    return url.replace(f"{urlsplit(url).netloc.rpartition('@')[0]}@", "", 1) if "@" in urlsplit(url).netloc else url


def _ask(url: str, start: int, known: dict[str, Any]) -> tuple[Response, int]:
    """The server's answer from byte `start` on, and the byte at which it does begin: 0 when it sends all."""
    import requests

    headers = {"User-Agent": f"svmkit/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if known.get("validator"):
            headers["If-Range"] = known["validator"]
    response = requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT)
    goes_on = response.status_code == 206 and _range_of(response) == (start, known.get("total"))
    if start and not goes_on and response.status_code in (206, 416):  # the file is another one by now
        response.close()
        return _ask(url, 0, {})
    if response.status_code in _NO_FILE:
        response.close()
        raise NotThere(f"{shown_url(url)} is not there ({response.status_code})")
    if not response.ok:
        response.close()
        answer = f"{response.status_code} {response.reason}".strip()
        raise SvmkitError(f"{shown_url(url)} answers {answer}: try again later, or give another --mirror")
    return response, start if goes_on else 0


def _range_of(response: Response) -> tuple[int, int] | None:
    """First byte and total length of a partial answer."""
    span, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    first = span.partition("-")[0]
    return (int(first), int(total)) if first.isdecimal() and total.isdecimal() else None


def _length(response: Response, start: int) -> int | None:
    """Bytes of the whole file, None when the server does not say."""
    length = response.headers.get("Content-Length", "")
    return start + int(length) if length.isdecimal() else None


def _validator(response: Response) -> str | None:
    """What If-Range takes: a strong ETag, else the date."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified")


def _contents(part: Path) -> Iterator[bytes]:
    try:
        with opened(part) as stream:
            while block := stream.read(_CHUNK):
                yield block
    except InputError:
        raise WrongFile(
            f"{part.stem}: what came cannot be unpacked, removed: the same command fetches it anew"
        ) from None


def _root(error: BaseException) -> str:
    """What an error began with, in a few words."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return getattr(error, "strerror", None) or one_line(error)
