"""The fixture that the tests of newton share."""

import pytest
from svmkit_newton import newton as module


@pytest.fixture
def options(steps, monkeypatch):
    """Options with which small data take the given kind of steps."""
    if steps != "narrow":
        monkeypatch.setattr(module, "is_narrow", lambda m, width: False)
    if steps == "matrix":
        monkeypatch.setattr(module, "is_tall", lambda problem, wide: False)
    return {"wide": 0} if steps == "products" else {}
