"""The available devices of PyTorch."""

from __future__ import annotations

from functools import cache

import torch

from svmkit.errors import InputError

KINDS = ("cuda", "xpu", "mps")


@cache
def has_double(device: str) -> bool:
    """Return whether a device supports float64, which certificates need."""
    try:
        one = torch.ones(1, dtype=torch.float64, device=device)
        return bool((one + one).item() == 2.0)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError):
        return False


def _count(kind: str) -> int:
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    backend = getattr(torch, kind, None)
    return backend.device_count() if backend is not None and backend.is_available() else 0


def names() -> list[str]:
    """Return the names of the devices, GPUs first."""
    every = [kind if kind == "mps" else f"{kind}:{i}" for kind in KINDS for i in range(_count(kind))]
    return [*every, "torch:cpu"]


def best() -> str:
    """Return torch's name of the first device that supports float64."""
    return next(name for name in [*names()[:-1], "cpu"] if has_double(name))


def require(device: str) -> str:
    """Return torch's name of a device; raise InputError unless it exists and supports float64."""
    if device == "torch:cpu":
        return "cpu"
    known = names()
    kind, _, number = device.partition(":")
    name = device
    if not number and kind != "mps":
        name = f"{kind}:{getattr(torch, kind).current_device() if _count(kind) else 0}"
    if name not in known:
        raise InputError(f"there is no device {device!r} here; there are: cpu, {', '.join(known)}")
    if not has_double(name):
        raise InputError(f"device {device!r} has no float64, in which certificates are computed: take device=cpu")
    return name
