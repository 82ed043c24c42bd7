"""Files that are there whole or not at all."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from svmkit.errors import InputError
from svmkit.runtime import files

pytestmark = pytest.mark.usefixtures("alone")


def test_a_file_is_replaced_with_ordinary_permissions():
    Path("out").write_bytes(b"old and longer")
    files.write("out", b"new")
    umask = os.umask(0)
    os.umask(umask)
    assert Path("out").read_bytes() == b"new" and stat.S_IMODE(os.stat("out").st_mode) == 0o666 & ~umask
    assert os.listdir() == ["out"]


def test_a_failure_half_way_leaves_the_old_file(monkeypatch):
    Path("out").write_bytes(b"old")

    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="cannot write out: No space left on device"):
        files.write("out", b"new")
    assert os.listdir() == ["out"] and Path("out").read_bytes() == b"old"


def test_a_link_is_replaced_not_followed():
    Path("elsewhere").write_bytes(b"kept")
    Path("out").symlink_to("elsewhere")
    files.write("out", b"new")
    assert not Path("out").is_symlink() and Path("elsewhere").read_bytes() == b"kept"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_written_to_and_stays_one():
    os.mkfifo("out")
    files.require_writable("out")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("out").read_bytes()), daemon=True)
    reader.start()
    files.write("out", b"through the pipe")
    reader.join(10.0)
    assert got == [b"through the pipe"] and stat.S_ISFIFO(os.stat("out").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no such name here")
def test_a_redirected_stdout_is_written_to():
    """Its link leads to a file, which must not take the link's place."""
    code = "from svmkit.runtime import files; files.require_writable('/dev/stdout'); files.write('/dev/stdout', b'new')"
    with Path("out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert Path("out").read_bytes() == b"new" and Path("/dev/stdout").is_symlink()


@pytest.mark.parametrize("place", ["missing/out", "."])
def test_what_cannot_be_written_is_said(place):
    for ask in (files.require_writable, lambda path: files.write(path, b"")):
        with pytest.raises(InputError, match=r"cannot write .*give a"):
            ask(place)


def test_an_old_file_is_kept_beside_the_new_one():
    Path("out").write_bytes(b"old")
    Path("out.bak").write_bytes(b"older")
    assert files.keep_old("out") == Path("out.bak")
    assert Path("out").read_bytes() == Path("out.bak").read_bytes() == b"old"
    assert sorted(os.listdir()) == ["out", "out.bak"]


@pytest.mark.parametrize("place", ["missing", "empty", os.devnull])
def test_there_is_nothing_to_keep(place):
    Path("empty").touch()
    assert files.keep_old(place) is None
    assert os.listdir() == ["empty"]


def test_a_file_that_cannot_be_kept_stays():
    Path("out").write_bytes(b"old")
    Path("out.bak").mkdir()
    with pytest.raises(InputError, match=r"cannot keep out as out\.bak: .*; give another path"):
        files.keep_old("out")
    assert sorted(os.listdir()) == ["out", "out.bak"] and Path("out").read_bytes() == b"old"
