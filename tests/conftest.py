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
    from svmkit import threads

    with threads.using():
        yield
