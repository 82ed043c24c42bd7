"""Plain float32 on a device: neither TF32 nor autocast, whatever the process has set, and no gradients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any

import torch

from svmkit.runtime.threads import thread_count

PLAIN = ("ieee", "none")  # values of PyTorch's newer setting that give full float32 products

_lock, _inside = Lock(), 0
_restore = ExitStack()


def _newer_settings() -> list[Any]:
    """Return the objects with the newer setting `fp32_precision`; none before PyTorch 2.9."""
    places = [torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)]
    return [place for place in places if hasattr(place, "fp32_precision")]


def _older_setting() -> str | None:
    """Return the older setting, or None if only the newer ones were set, which PyTorch refuses to mix."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def _make_plain() -> ExitStack:
    """Change settings that make products of float32 less precise; return their restoration."""
    restore = ExitStack()
    older = _older_setting()
    if older not in (None, "highest"):
        restore.callback(torch.set_float32_matmul_precision, older)
        torch.set_float32_matmul_precision("highest")
    for place in _newer_settings():
        if place.fp32_precision not in PLAIN:
            restore.callback(setattr, place, "fp32_precision", place.fp32_precision)
            place.fp32_precision = "ieee"
    return restore


@contextmanager
def _own_threads(device: torch.device) -> Iterator[None]:
    """On the CPU, compute with no more threads than svmkit may use."""
    before = torch.get_num_threads()
    if device.type != "cpu" or before <= thread_count():
        yield
        return
    torch.set_num_threads(thread_count())
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def plain_arithmetic(device: torch.device) -> Iterator[None]:
    """Compute with all digits of float32 and float64 inside the block, without gradients; threads may enter together.

    Parameters
    ----------
    device : torch.device
        The device of the tensors in the block.
    """
    global _inside, _restore
    with _lock:
        if _inside == 0:
            _restore = _make_plain()
        _inside += 1
    try:
        with _own_threads(device), torch.no_grad(), torch.autocast(device.type, enabled=False):
            yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _restore.close()
