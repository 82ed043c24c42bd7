"""Fixtures that several test files share."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def data_folder():
    """The folder of the real sets, or a skip that says what is missing."""
    folder = os.environ.get("SVMKIT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real data sets: set SVMKIT_DATA to their folder")
    return Path(folder)


@pytest.fixture
def real_set(data_folder):
    """Loader of a real set by name; skips when that set is not in the folder."""
    from svmkit.data import load

    def get(name: str):
        if not any((data_folder / f"{name}{ending}").is_file() for ending in ("", ".bz2", ".gz", ".xz")):
            pytest.skip(f"needs the set {name} in $SVMKIT_DATA")
        return load(name)

    return get


@pytest.fixture
def one_pool():
    """As inside a solve: BLAS held to one thread, so that two pools do not fight over the cores."""
    from svmkit.runtime import threads

    with threads.using():
        yield


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A working directory and cache of the test's own, no data folder; gives the real data folder, if any."""
    real = os.environ.get("SVMKIT_DATA")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMKIT_DATA", raising=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("SVMKIT_MIRROR", raising=False)
    monkeypatch.setenv("SVMKIT_CACHE", str(tmp_path / "cache"))
    return real


@pytest.fixture
def real(alone, monkeypatch):
    """`alone`, but with the real data folder; a skip without one."""
    if not alone or not Path(alone).is_dir():
        pytest.skip("needs the real data sets: set SVMKIT_DATA to their folder")
    monkeypatch.setenv("SVMKIT_DATA", alone)
    return Path(alone)


@pytest.fixture
def svmkit(capsys):
    """svmkit("train", ...) -> Result, in this process."""
    from support.cli import Result

    from svmkit.cli import main

    def run(*args):
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main([str(arg) for arg in args])
        return Result(exit_.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def train(svmkit):
    """train(...) -> the JSON of an untracked `svmkit train`."""
    return lambda *args: svmkit("train", *args, "--no-track", "--json").json


@pytest.fixture
def refused(svmkit):
    """refused(words, *args): exit 2, nothing on stdout, one line on stderr that holds all the words."""

    def run(words, *args):
        done = svmkit(*args)
        assert (done.code, done.out) == (2, ""), done
        assert done.err.startswith("svmkit: ") and done.err.endswith("\n") and done.err.count("\n") == 1, done.err
        assert "Traceback" not in done.err
        missing = [word for word in words if word.lower() not in done.err.lower()]
        assert not missing, f"{missing} not in: {done.err}"
        return done.err

    return run
