"""svmkit datasets fetch, against local servers: whole, broken off, tampered with, too large, two at once."""

import bz2
import contextlib
import gzip
import hashlib
import json
import os
import socket
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support.fetch import TOY, TOY_T, Files, Server, serving

from svmkit.data import available, load
from svmkit.data.places import download, fetching, sources
from svmkit.data.places.remote import REMOTE, Remote
from svmkit.errors import InputError, SvmkitError

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def site(monkeypatch):
    """A mirror with the sets toy and toy.t, as the site packs them; $SVMKIT_MIRROR leads to it."""
    for name, contents, file in (("toy", TOY, "toy.bz2"), ("toy.t", TOY_T, "toy.t")):
        remote = Remote("binary", file, len(contents), hashlib.sha256(contents).hexdigest())
        assert remote.name == name
        monkeypatch.setitem(REMOTE, name, remote)
    with serving(Server()) as server:
        server.files = {"/binary/toy.bz2": bz2.compress(TOY), "/binary/toy.t": TOY_T}
        monkeypatch.setenv("SVMKIT_MIRROR", server.url)
        monkeypatch.setattr(download, "_CHUNK", 1000)  # of files that are smaller than its usual size
        yield server


@pytest.fixture
def failed(svmkit):
    """failed(words, *args): exit 1, nothing on stdout, one line on stderr that holds all the words."""

    def run(words, *args):
        done = svmkit("datasets", "fetch", *args)
        assert (done.code, done.out) == (1, ""), done
        assert done.err.startswith("svmkit: ") and done.err.count("\n") == 1, done.err
        assert not [word for word in words if word not in done.err], done.err
        return done.err

    return run


def cache(name):
    return Path("cache") / name


def in_cache():
    """Files of the cache that may be taken for a set, and parts."""
    names = {path.name for path in Path("cache").rglob("*") if path.is_file()}
    return {name for name in names if not name.endswith(".lock")}


# --- what comes


def test_a_set_comes_with_its_test_half_and_is_not_fetched_twice(site, svmkit):
    got = svmkit("datasets", "fetch", "toy", "--json").json
    want = [
        {"name": name, "path": str(Path("cache").resolve() / name), "bytes": len(data), "fetched": True}
        | {"sha256": hashlib.sha256(data).hexdigest()}
        for name, data in (("toy", TOY), ("toy.t", TOY_T))
    ]
    assert got == want
    assert in_cache() == {"toy", "toy.t"} and cache("toy").read_bytes() == TOY
    data = load("toy")
    assert data.X.shape == (4000, 2) and data.name == "toy" and set(data.y.tolist()) == {-1, 1}
    site.requests.clear()
    again = svmkit("datasets", "fetch", "toy.t", "toy", "toy")
    assert not site.requests and again.err == ""
    assert [line.split()[:3] for line in again.out.splitlines()] == [["toy.t", "was", "here"], ["toy", "was", "here"]]


def test_a_new_file_may_be_read_by_whom_the_umask_lets(site):
    before = os.umask(0o022)
    try:
        fetching.fetch("toy")
    finally:
        os.umask(before)
    assert cache("toy").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("pack", [gzip.compress, lambda contents: contents])
def test_a_mirror_may_be_one_folder_and_pack_otherwise(site, monkeypatch, pack):
    monkeypatch.delenv("SVMKIT_MIRROR")
    site.files = {"/some/where/toy" + (".gz" if pack is gzip.compress else ""): pack(TOY)}
    assert fetching.fetch("toy", mirror=f"{site.url}/some/where/").fetched
    assert cache("toy").read_bytes() == TOY


def test_what_a_server_packs_on_the_way_is_unpacked_as_a_file_would_be(site):
    site.files["/binary/toy.bz2"], site.also = gzip.compress(TOY), {"Content-Encoding": "x-gzip"}
    assert fetching.fetch("toy").fetched
    assert cache("toy").read_bytes() == TOY


def test_a_packed_copy_in_the_cache_will_do_and_another_file_will_not(site):
    Path("cache").mkdir()
    cache("toy.bz2").write_bytes(bz2.compress(TOY))
    found = fetching.fetch("toy")
    assert not found.fetched and found.path.name == "toy.bz2" and not site.requests
    for other in (TOY[:-1] + b"x", TOY + b"1 1:1\n", TOY[:-10], b"BZhbroken"):
        cache("toy").write_bytes(other)
        assert fetching.fetch("toy").fetched
        assert cache("toy").read_bytes() == TOY


def test_progress_counts_what_comes(site):
    seen = []
    fetching.fetch("toy.t", progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, len(TOY_T)) and seen[-1] == (len(TOY_T), len(TOY_T))


# --- broken off


@pytest.mark.parametrize("ranges", [True, False])
def test_a_transfer_that_broke_off_goes_on(site, failed, svmkit, ranges):
    packed = site.files["/binary/toy.bz2"]
    site.ranges, site.most = ranges, 3000
    failed(["toy: the transfer broke off after 3,000 of", "they are kept"], "toy")
    assert in_cache() == {"toy.part", "toy.part.json"}
    assert Path("cache/.fetching/toy/toy.part").read_bytes() == packed[:3000]
    assert "toy" not in {entry.name for entry in available()}
    site.requests.clear()
    failed([f"after {6000 if ranges else 3000:,} of {len(packed):,} bytes"], "toy")
    site.most = None
    svmkit("datasets", "fetch", "toy", "--json").json  # noqa: B018  asserts success
    assert site.requests[:2] == [
        ("/binary/toy.bz2", "bytes=3000-", '"1"' if ranges else None),
        ("/binary/toy.bz2", f"bytes={6000 if ranges else 3000}-", '"1"' if ranges else None),
    ]
    assert cache("toy").read_bytes() == TOY and in_cache() == {"toy", "toy.t"}


def test_the_part_of_an_older_version_is_not_gone_on_with(site, failed):
    site.most = 3000
    failed(["broke off"], "toy")
    site.files["/binary/toy.bz2"], site.version, site.most = bz2.compress(TOY, 1), "2", None
    assert fetching.fetch("toy").fetched
    assert [wanted for _, wanted, _ in site.requests] == [None, "bytes=3000-"]


@pytest.mark.parametrize("shorter", [True, False])
def test_a_range_of_another_length_starts_over(site, failed, shorter):
    """A server without ETag: only the length distinguishes the versions."""
    site.most = 3000
    failed(["broke off"], "toy")
    state = Path("cache/.fetching/toy/toy.part.json")
    state.write_text(json.dumps(json.loads(state.read_text()) | {"validator": None}))
    contents = gzip.compress(TOY)
    site.files["/binary/toy.bz2"] = contents if not shorter else contents[:2000]
    site.most = None
    site.requests.clear()
    with contextlib.nullcontext() if not shorter else pytest.raises(SvmkitError, match="cannot be unpacked"):
        fetching.fetch("toy")
    assert [wanted for _, wanted, _ in site.requests] == ["bytes=3000-", None]
    assert in_cache() == (set() if shorter else {"toy"})


@pytest.mark.parametrize("state", ["", "[]", '{"url": "elsewhere"}'])
def test_a_part_of_unknown_origin_starts_over(site, failed, state):
    site.most = 3000
    failed(["broke off"], "toy")
    Path("cache/.fetching/toy/toy.part.json").write_text(state)
    site.most = None
    fetching.fetch("toy")
    assert site.requests[-1] == ("/binary/toy.bz2", None, None) and cache("toy").read_bytes() == TOY


def test_a_whole_part_is_not_asked_for_again(site, monkeypatch):
    """As after a process that was killed while it unpacked."""
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(download.Resumable, "_unpack", lambda self, output: (_ for _ in ()).throw(KeyboardInterrupt))
        fetching.fetch("toy")
    site.requests.clear()
    assert fetching.fetch("toy").fetched and not site.requests


def test_what_a_killed_process_left_is_removed(site):
    for name in ("tmpabc", "toy"):  # unpacked in part; verified, but not yet in its place
        left_over = Path("cache/.fetching/toy") / name
        left_over.parent.mkdir(parents=True, exist_ok=True)
        left_over.write_bytes(TOY)
    assert fetching.fetch("toy").fetched and not site.requests
    assert in_cache() == {"toy"} and cache("toy").read_bytes() == TOY


# --- the wrong file


def other_digit(contents):
    at = len(contents) // 2
    return contents[:at] + (b"7" if contents[at : at + 1] != b"7" else b"8") + contents[at + 1 :]


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (bz2.compress(other_digit(TOY)), ["another SHA-256", "removed"]),
        (bz2.compress(TOY[:-6]), ["another SHA-256", "removed"]),
        (b"<html>not found</html>", ["another SHA-256", "removed"]),
        (b"", ["another SHA-256", "removed"]),
        (bz2.compress(TOY + b"1 1:1\n"), ["larger than the set", "removed"]),
        (bz2.compress(bytes(50_000_000)), ["larger than the set", "removed"]),
        (gzip.compress(TOY)[:-2000], ["cannot be unpacked", "removed"]),
        (bz2.compress(TOY)[:5000] + b"\xff" * 500 + bz2.compress(TOY)[5500:], ["cannot be unpacked", "removed"]),
        (os.urandom(len(TOY) * 2), [f"the set has {len(TOY):,}", "another file"]),
    ],
    ids=["digit", "shorter", "page", "empty", "longer", "bomb", "cut", "damaged", "large"],
)
def test_a_wrong_file_is_removed(site, failed, contents, words):
    site.files["/binary/toy.bz2"] = contents
    message = failed(["toy: ", *words], "toy")
    assert in_cache() == set() and len(message) < 400
    site.files["/binary/toy.bz2"] = bz2.compress(TOY)
    assert fetching.fetch("toy").fetched


def test_an_endless_answer_is_cut_off(site, failed, monkeypatch):
    """Without a length the bytes are counted as they come."""

    def endless(handler):
        handler.protocol_version = "HTTP/1.0"
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(ConnectionError):
            for _ in range(10_000):
                handler.wfile.write(bytes(1 << 20))

    monkeypatch.setattr(Files, "do_GET", endless)
    failed(["the set has", "another file"], "toy")
    assert in_cache() == set()


def test_a_tampered_file_leaves_the_right_one_in_place(site, failed, svmkit):
    fetching.fetch("toy.t")
    site.files["/binary/toy.bz2"] = bz2.compress(other_digit(TOY))
    done = svmkit("datasets", "fetch", "toy.t", "toy")
    assert done.code == 1 and done.out.startswith("toy.t  was here") and done.err.count("\n") == 1
    assert in_cache() == {"toy.t"}


# --- no file


def test_what_is_not_there(site, failed):
    site.files.clear()
    failed(["/binary/toy.bz2 is not there (404)", "--mirror"], "toy")
    assert in_cache() == set()


def test_other_answers(site, failed, monkeypatch):
    monkeypatch.setattr(Files, "do_GET", lambda handler: handler.send_error(503))
    failed(["answers 503 Service Unavailable", "try again later"], "toy")


def test_no_network(site, failed, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("SVMKIT_MIRROR", f"http://me:secret@127.0.0.1:{free.getsockname()[1]}")
        message = failed(["no answer from ***@127.0.0.1", "Connection refused", "check the network"], "toy")
    assert "secret" not in message and "me" not in message.split("(")[0].split()


def test_a_cache_that_is_closed(site, failed):
    Path("cache").write_text("a file")
    failed(["cache", "$SVMKIT_CACHE"], "toy")


def test_names(site, refused):
    refused(["no set 'toi'", "did you mean toy"], "datasets", "fetch", "toy", "toi")
    refused(["iris is built in"], "datasets", "fetch", "iris")
    for name in ("../toy", "/etc/passwd", "..", "", "toy/../../x", "toy\x00"):
        refused(["no set"], "datasets", "fetch", name)
    refused(["Missing argument"], "datasets", "fetch")
    assert not site.requests and not Path("cache").exists()


@pytest.mark.parametrize(
    "url", ["ftp://x/y", "file:///etc", "http://", "toys", "http://x:y", "http://[x", "http://x?y"]
)
def test_mirrors_are_folders_on_the_web(site, refused, monkeypatch, url):
    refused(["--mirror", "give one such as https://"], "datasets", "fetch", "toy", "--mirror", url)
    monkeypatch.setenv("SVMKIT_MIRROR", url)
    refused(["$SVMKIT_MIRROR"], "datasets", "fetch", "toy")


# --- names elsewhere


def test_the_list_shows_what_can_be_fetched(site, svmkit):
    def rows():
        return {row["name"]: (row["origin"], row["path"]) for row in svmkit("datasets", "list", "--json").json}

    assert rows()["toy"] == ("fetch", None) and rows()["iris"] == ("built-in", None)
    fetching.fetch("toy")
    assert rows()["toy"] == ("cache", str(cache("toy").resolve())) and rows()["toy.t"] == ("fetch", None)
    assert "toy.t" in svmkit("datasets", "list").out


def test_a_set_that_is_not_here_says_how_to_get_it(site, refused):
    refused(["no data set 'toy' here: `svmkit datasets fetch toy` brings it"], "train", "toy", "--no-track")
    with pytest.raises(InputError, match="did you mean toy"):
        sources.find("toyy")


# --- two at once


def test_two_at_once(site):
    with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
        warnings.simplefilter("ignore")  # "is being fetched by another process"
        found = list(pool.map(lambda _: fetching.fetch("toy"), range(4)))
    assert sorted(f.fetched for f in found) == [False, False, False, True]
    assert [path for path, _, _ in site.requests] == ["/binary/toy.bz2"]
    assert cache("toy").read_bytes() == TOY and in_cache() == {"toy"}


def test_the_one_that_waits_says_so_and_goes_on_after_a_failure(site, monkeypatch):
    """The first one holds the lock until the second waits, and then fails."""
    transfer, calls, waits = download.Resumable._transfer, [], threading.Event()

    def once(self, url):
        calls.append(url)
        if len(calls) == 1:
            assert waits.wait(10)
            raise SvmkitError("broken")
        transfer(self, url)

    monkeypatch.setattr(download.Resumable, "_transfer", once)
    monkeypatch.setattr(fetching.warnings, "warn", lambda message, *args, **kwargs: waits.set())
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(fetching.fetch, "toy") for _ in range(2)]
        errors = [run.exception() for run in runs]
    assert sorted(str(error) for error in errors) == ["None", "broken"]
    assert cache("toy").read_bytes() == TOY


# --- the table, and real files


def test_the_table():
    assert {"a1a", "a9a.t", "w8a", "ijcnn1.t", "usps", "mnist.t", "kddcup.data_10_percent"} <= set(REMOTE)
    assert all(len(bytes.fromhex(remote.sha256)) == 32 and remote.size > 0 for remote in REMOTE.values())
    assert len({remote.sha256 for remote in REMOTE.values()}) == len(REMOTE)
    assert fetching.names_to_fetch(["a9a", "w8a", "a9a.t"]) == ["a9a", "a9a.t", "w8a"]


@pytest.mark.data
def test_real_files_have_the_checksums_of_the_table(real, svmkit, monkeypatch):
    with serving(Server()) as server:
        server.files = {f"/{path.name}": path.read_bytes() for path in real.glob("a?a*.bz2")}
        monkeypatch.delenv("SVMKIT_DATA")
        got = svmkit("datasets", "fetch", "a1a", "a9a", "--mirror", server.url, "--json").json
    assert [(row["name"], row["fetched"]) for row in got] == [(n, True) for n in ("a1a", "a1a.t", "a9a", "a9a.t")]
    here = load("a9a")
    assert here.X.shape == (32561, 123)
    monkeypatch.setenv("SVMKIT_DATA", str(real))
    assert load("a9a").fingerprint() == here.fingerprint()
    np.testing.assert_array_equal(load("a9a").y, here.y)


def test_files_beside_data_are_no_data(tmp_path):
    data = ["a.svm", "b.csv", "b.csv.gz", "c", "readme2.csv"]
    other = ["README", "readme.txt", "LICENSE", "licence.txt", "SHA256SUMS", "notes.md", "x.json", ".hidden", "y.part"]
    for name in (*data, *other):
        (tmp_path / name).write_text("")
    (tmp_path / "folder").mkdir()
    assert [path.name for path in sources.data_files(tmp_path)] == data
    assert sources.data_files(tmp_path / "gone") == []
