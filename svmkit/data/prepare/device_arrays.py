"""Arrays on a device (tensors of torch, arrays of cupy): where they are, and their values on the host.

Labels, checks, gamma and support vectors need the values on the host, to which they are copied once. An engine on the
same device uses the array itself, which `source_of` finds, so that nothing is copied back.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from svmkit.errors import InputError

KINDS = {2: "cuda", 8: "mps", 10: "cuda", 13: "cuda", 14: "xpu"}  # of DLPack, by torch's names; 10 is ROCm
_sources: dict[int, tuple[weakref.ref, Any]] = {}  # by the id of a host array: a reference to it, and the device array


def device_of(X: Any) -> str | None:
    """Return the name of the device of an array, such as "cuda:0"; None on the host, or if X is not an array."""
    if isinstance(X, np.ndarray) or not hasattr(type(X), "__dlpack_device__"):
        return None
    kind, number = X.__dlpack_device__()
    name = KINDS.get(int(kind))
    return name if name in (None, "mps") else f"{name}:{number}"


def require_one_device(X: Any, y: Any) -> None:
    """Raise InputError if y is on another device than X; labels on the host are allowed for any X."""
    here, there = device_of(X), device_of(y)
    if there is not None and there != here:
        raise InputError(
            f"X is on {here or 'the CPU'} and y on {there}: move one of them (y.to(X.device)), or give y as an array "
            "of the CPU"
        )


def to_host(X: Any, what: str) -> Any:
    """Return an array of a device as an ndarray, and anything else unchanged; raise InputError for a type without one.

    A torch tensor on the CPU becomes an ndarray that shares its memory.
    """
    if hasattr(X, "detach") and hasattr(type(X), "__dlpack_device__"):  # files have the first method, too
        return _copy_tensor(X.detach(), what)
    if device_of(X) is None:
        return X
    host = X.get() if hasattr(X, "get") else np.from_dlpack(X, device="cpu", copy=True)
    _remember(host, X)
    return host


def source_of(A: Any) -> Any:
    """Return the array on a device from which `to_host` made this ndarray, or None."""
    known = _sources.get(id(A))
    return known[1] if known is not None and known[0]() is A else None


def _copy_tensor(X: Any, what: str) -> np.ndarray:
    if "sparse" in str(X.layout):
        raise InputError(f"{what} is a sparse tensor: give a CSR matrix of scipy, or {what}.to_dense()")
    try:
        host = X.cpu().numpy()
    except TypeError as error:
        line = f"{what} is a tensor of {X.dtype}, a type that numpy lacks: convert it ({what}.float())"
        raise InputError(line) from error
    if device_of(X) is not None:
        _remember(host, X)
    return host


def _remember(host: np.ndarray, source: Any) -> None:
    key = id(host)
    _sources[key] = weakref.ref(host, lambda _: _sources.pop(key, None)), source
