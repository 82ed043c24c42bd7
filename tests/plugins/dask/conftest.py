"""A cluster of real processes, for tests that end some of them."""

import pytest
from support.dask import Processes


@pytest.fixture
def processes(tmp_path):
    """A scheduler without workers."""
    made = Processes(tmp_path)
    yield made
    made.end()
