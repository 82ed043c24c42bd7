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


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Threads of torch that wait spin, which other tests beside these would feel."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
