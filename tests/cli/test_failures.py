"""What the command line says when the call is right and the work fails."""

import io
from pathlib import Path

import numpy as np
import pytest

from svmkit.errors import redact

pytestmark = pytest.mark.usefixtures("alone")


def test_work_that_fails_is_exit_1(svmkit, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("the machine is on fire\nand more")

    monkeypatch.setattr("svmkit.cli.training.job.fit_prepared", broken)
    done = svmkit("train", "iris", "--no-track")
    assert (done.code, done.out) == (1, "") and done.err.count("\n") == 1
    assert "RuntimeError" in done.err and "on fire" in done.err and "--debug" in done.err


def test_code_that_is_not_compiled_is_named_as_the_reason(svmkit, monkeypatch):
    def uncompiled(*args, **kwargs):
        monkeypatch.setattr("numba.config.DISABLE_JIT", 1)  # no sooner: what is imported meanwhile is to be compiled
        raise AttributeError("no attribute 'quantum'")

    monkeypatch.setattr("svmkit.cli.training.job.fit_prepared", uncompiled)
    done = svmkit("train", "iris", "--no-track")
    assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1
    assert "unset NUMBA_DISABLE_JIT" in done.err and "quantum" in done.err


def test_characters_that_stdout_has_no_bytes_for_are_named_with_the_remedy(svmkit, monkeypatch):
    """In a locale without UTF-8, and in a pipe on Windows."""
    Path("größen.csv").write_text("a,label\n1,süß\n2,süß\n3,groß\n4,groß\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    done = svmkit("datasets", "info", "größen.csv")
    assert done.code == 2 and done.err.count("\n") == 1 and "failed with" not in done.err
    assert "cannot be written as ascii: set PYTHONIOENCODING=utf-8" in done.err


def test_out_of_memory_is_exit_1(svmkit, monkeypatch):
    def full(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr("svmkit.cli.training.job.fit_prepared", full)
    done = svmkit("train", "iris", "--no-track")
    assert (done.code, done.out) == (1, "") and done.err.count("\n") == 1 and "memory" in done.err


def test_interrupt_before_the_work_is_exit_1(svmkit, monkeypatch):
    def stopped(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("svmkit.cli.training.job.fit_prepared", stopped)
    done = svmkit("train", "iris", "--no-track", "--out", "m.model")
    assert (done.code, done.out) == (1, "") and done.err.count("\n") == 1 and "interrupted" in done.err
    assert not Path("m.model").exists()


@pytest.mark.slow
def test_indefinite_kernel_is_named(svmkit):
    """A matrix that is no kernel: an error or an uncertified result, never a wrong claim of convergence."""
    import json

    X = -10.0 * np.eye(10)
    np.savez("bad.npz", X=X, y=[0, 1] * 5)
    done = svmkit("train", "bad.npz", "--kernel", "precomputed", "-C", "100", "--no-track", "--json")
    if done.code == 0:
        assert json.loads(done.out)["status"] != "converged"
    else:
        assert done.code in (1, 2) and done.out == "" and done.err.count("\n") == 1
        assert "positive" in done.err and "Traceback" not in done.err


@pytest.mark.posix
@pytest.mark.parametrize(
    "call",
    [("train", "iris"), ("check", "smo"), ("warmup",), ("import", "a", "--out", "b"), ("models", "list"), ("plugins",)],
    ids=lambda call: call[0],
)
def test_the_working_folder_has_been_deleted(svmkit, call, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    done = svmkit(*call)
    monkeypatch.undo()
    assert (done.code, done.out) == (2, "")
    assert done.err == "svmkit: the working folder has been deleted: change to a folder that exists\n"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://me:secret@host:5000/a", "https://***@host:5000/a"),
        ("cannot reach http://token@host/a?b=1", "cannot reach http://***@host/a?b=1"),
        ("postgresql://me:sec/ret@host/db", "postgresql://***@host/db"),
        ("https://host/a?Token=abc&x=1", "https://host/a?Token=***&x=1"),
        ("https://host/a?x=1&my_password=abc;y=2", "https://host/a?x=1&my_password=***;y=2"),
        ("https://host:5000/a@b", "https://host:5000/a@b"),
        ("sqlite:///runs.db", "sqlite:///runs.db"),
    ],
)
def test_logins_and_keys_are_not_shown(given, shown):
    assert redact(given) == shown
