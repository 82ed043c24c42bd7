"""The devices that exist here: torch on the CPU, and each kind of GPU that torch finds."""

import pytest

torch = pytest.importorskip("torch", reason="needs pip install 'svmkit[torch]'")


def found():
    """The names of the devices, as torch has them."""
    names = ["cpu"]
    names += ["cuda"] if torch.cuda.is_available() else []
    names += ["xpu"] if hasattr(torch, "xpu") and torch.xpu.is_available() else []
    return names


@pytest.fixture(params=found())
def where(request):
    """A device, as torch names it."""
    return request.param
