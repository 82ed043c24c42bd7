"""The devices that exist here: torch on the CPU, and each kind of GPU that torch finds."""

from importlib.util import find_spec

import pytest


def found():
    """The names of the devices, as torch has them; files of tests are skipped without torch."""
    if find_spec("torch") is None:
        return ["cpu"]
    import torch

    names = ["cpu"]
    names += ["cuda"] if torch.cuda.is_available() else []
    names += ["xpu"] if torch.xpu.is_available() else []
    return names


@pytest.fixture(params=found())
def where(request):
    """A device, as torch names it."""
    return request.param


@pytest.fixture
def device(where):
    """The device as svmkit names it."""
    return "torch:cpu" if where == "cpu" else where


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of torch that wait spin, which other tests beside these would feel."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def boxes(monkeypatch):
    """How many problems each call of the code on the device has solved."""
    from svmkit_torch.ondevice import many

    calls, solve = [], many.solve_boxes

    def counting(rows, boxes, *args):
        calls.append(len(boxes))
        return solve(rows, boxes, *args)

    monkeypatch.setattr(many, "solve_boxes", counting)
    return calls
