"""numpy would compute the few rows of a test: here the compiled loops do, unless a test asks for numpy."""

import pytest

from svmkit.kernels.engines import few


@pytest.fixture(autouse=True)
def loops(request, monkeypatch):
    """Compute kernel values in compiled loops; by numpy in tests parametrised, indirectly, with "numpy"."""
    if getattr(request, "param", "tiles") == "tiles":
        monkeypatch.setattr(few, "ROWS", 0)
