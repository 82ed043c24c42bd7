"""The choice of an engine: the requested one, else the first of svmkit's own that takes the kernel and X."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from svmkit import plugins
from svmkit.data.prepare.device_arrays import device_of, source_of
from svmkit.errors import InputError, SvmkitWarning, one_line
from svmkit.kernels.engines.blocks import BlockEngine, PrecomputedEngine
from svmkit.kernels.engines.contract import Engine, with_int32_indices
from svmkit.kernels.engines.products import CSREngine, DenseEngine
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import Kernel

BUILT_IN: tuple[type[Engine], ...] = (DenseEngine, CSREngine, PrecomputedEngine, BlockEngine)
AUTO = "auto"  # a GPU if there is one, else the CPU


class _Request(NamedTuple):
    """The engines that were requested: one by its name, or those on a device."""

    name: str | None = None
    device: str | None = None


_NOTHING = _Request()
_asked: list[_Request] = [_NOTHING]  # the innermost last


@contextmanager
def request_engine(name: str | None = None, *, device: str | None = None) -> Iterator[None]:
    """Make `engine_for` choose this engine, or one for this device, inside the block, in all threads of the process.

    A kernel or an X that the engine does not take is refused.

    Parameters
    ----------
    name : str, default=None
        The registered name of the engine; None leaves the choice to `device`.
    device : str, default=None
        Of the engines that compute on it, the first one that takes kernel and X is chosen. "cpu" stands for svmkit's
        own engines; `svmkit[torch]` adds "cuda", "cuda:1", "xpu", "mps" and "torch:cpu". "auto" is a GPU if there is
        one, for what its engine takes, else "cpu". Without effect where `name` is given.

    Raises
    ------
    InputError
        No engine has this name, or none computes on this device.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import RBF, engine_for
    >>> from svmkit.kernels.engines import request_engine
    >>> with request_engine(device="cpu"):
    ...     engine_for(RBF(1.0), np.array([[0.0], [1.0]])).n
    2
    """
    if name is not None:
        plugins.load("engine", name)
    elif device is not None:
        _engines_on(device)
    request = _Request(name, device)
    _asked.append(request)
    try:
        yield
    finally:  # of several threads, each removes its own request
        del _asked[max(k for k, one in enumerate(_asked) if one is request)]


def require_device(device: str | None) -> None:
    """Raise InputError, which names the devices that exist, unless an engine computes on this one.

    Parameters
    ----------
    device : str or None
        As for `svmkit.fit`; None is always accepted.

    Examples
    --------
    >>> from svmkit.kernels.engines import require_device
    >>> require_device("cpu")
    """
    if device is not None:
        _engines_on(device)


def on_device(device: str | None) -> AbstractContextManager[None]:
    """Request engines on a device inside the block.

    Parameters
    ----------
    device : str or None
        As for `request_engine`; None leaves the choice as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import RBF, engine_for
    >>> from svmkit.kernels.engines import on_device
    >>> with on_device(None):
    ...     engine_for(RBF(1.0), np.array([[0.0], [1.0]])).n
    2
    """
    return nullcontext() if device is None else request_engine(device=device)


def device_for(device: str | None, X: Any) -> str | None:
    """Return the given device; else, unless engines were requested, the device on which X is, None for the host.

    Parameters
    ----------
    device : str or None
        A device by name, which is returned unchecked.
    X : array-like or sparse matrix
        Samples; only the device that holds them matters.

    Examples
    --------
    >>> from svmkit.kernels.engines import device_for
    >>> device_for("cpu", [[0.0]]), device_for(None, [[0.0]])
    ('cpu', None)
    """
    if device is not None or _asked[-1] != _NOTHING:
        return device
    return device_of(X) or device_of(source_of(X))


def is_free(X: Any) -> bool:
    """Return whether any code may compute on X: no engine was requested, and X does not come from an array on a device.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels.engines.choice import is_free, request_engine
    >>> with request_engine(device="cpu"):
    ...     is_free(np.eye(2))
    False
    """
    return _asked[-1] is _NOTHING and source_of(X) is None


def _others() -> list[type[Engine]]:
    """Return the engines that work here besides svmkit's own."""
    return [row.plugin for row in plugins.working("engine") if row.plugin not in BUILT_IN]


def _class_on(engine: type[Engine], device: str) -> type[Engine] | None:
    """Return the class of an engine that computes on a device; None, with a warning, for a faulty engine."""
    try:
        return engine.class_on(device)
    except InputError:
        raise
    except Exception as error:
        _leave_out(engine, "class_on", error)
        return None


def _present(engine: type[Engine]) -> list[str]:
    """Return the devices of an engine that exist here; none, with a warning, for a faulty engine."""
    try:
        return list(engine.present())
    except Exception as error:
        _leave_out(engine, "present", error)
        return []


def _leave_out(engine: type[Engine], method: str, error: Exception) -> None:
    """Warn of an engine that was not requested by name and fails to list its devices."""
    package = plugins.package_name(plugins.registered("engine")[engine.name])
    reason = f"{type(error).__name__}: {one_line(error)}"
    warnings.warn(
        f"engine {engine.name!r} of {package} is left out, since its {method} failed with {reason}: report it to its "
        "author, or uninstall it",
        SvmkitWarning,
        stacklevel=2,
    )


def _engines_on(device: str) -> list[type[Engine]]:
    """Return the engines that compute on a device, svmkit's own first; for the CPU no others are imported."""
    if not isinstance(device, str):
        device = str(device)  # a device of torch
    if device == AUTO:
        found = next((name for engine in _others() for name in _present(engine) if not name.endswith("cpu")), None)
        return [*(_engines_on(found) if found else ()), *BUILT_IN]
    engines = [engine for engine in BUILT_IN if device in engine.devices]
    if not engines:
        engines = [own for engine in _others() if (own := _class_on(engine, device)) is not None]
    if not engines:
        _refuse(device)
    return engines


def _refuse(device: str) -> None:
    """Raise InputError for a device on which no engine computes."""
    kind = device.partition(":")[0]
    for row in plugins.describe("engine"):
        devices = () if row.plugin is None else row.plugin.devices
        if row.status == "unavailable" and kind in {one.partition(":")[0] for one in devices}:
            raise InputError(f"device {device!r}: engine {row.name} {row.error}")
    known = sorted({name for engine in (*BUILT_IN, *_others()) for name in _present(engine)} | {AUTO})
    raise InputError(f"no engine computes on device {device!r}; there are: {', '.join(known)}")


def solves_boxes(kernel: Kernel, X: Any) -> bool:
    """Return whether the requested engine solves box problems itself: `asked_engine` returns one then.

    Parameters
    ----------
    kernel, X : Kernel, object
        As for `engine_for`.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import RBF
    >>> from svmkit.kernels.engines import solves_boxes
    >>> solves_boxes(RBF(1.0), np.eye(2))
    False
    """
    return _asked[-1] != _NOTHING and _class_for(kernel, with_int32_indices(X)).solves_boxes


def asked_engine(kernel: Kernel, X: Any) -> Engine | None:
    """Return the engine for a kernel on X if one, or a device, was requested and it solves box problems, else None.

    Parameters
    ----------
    kernel, X : Kernel, object
        As for `engine_for`.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import RBF
    >>> from svmkit.kernels.engines import asked_engine
    >>> asked_engine(RBF(1.0), np.eye(2)) is None
    True
    """
    return engine_for(kernel, X) if solves_boxes(kernel, X) else None


def engine_for(kernel: Kernel, X: Any, extent: Extent | None = None) -> Engine:
    """Return the engine for a kernel on X. The values of X are not copied.

    Parameters
    ----------
    kernel : Kernel
        The kernel, resolved.
    X : ndarray of shape (n, d) or CSR, float32 or float64
        The samples.
    extent : Extent, optional
        The extent of the vectors that X will be evaluated with; by default that of X itself.

    Returns
    -------
    Engine

    Raises
    ------
    InputError
        If float64 cannot hold the numbers that kernel values are computed from, or if no requested engine takes the
        kernel and X.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import Linear, engine_for
    >>> engine = engine_for(Linear(), np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> engine.product(engine.take(np.array([1])), np.array([[10.0]]))
    array([[110.],
           [250.]])
    """
    X = with_int32_indices(X)
    return _class_for(kernel, X)(kernel, X, extent)


def _class_for(kernel: Kernel, X: Any) -> type[Engine]:
    """Return the first requested engine that takes the kernel and X, or raise InputError."""
    name, device = _asked[-1]
    if name is not None:
        candidates = [plugins.load("engine", name)]
    else:
        candidates = list(BUILT_IN) if device is None else _engines_on(device)
    for engine in candidates:
        if engine.takes(kernel, X):
            return engine
    what = f"the {kernel.name} kernel on {'CSR' if hasattr(X, 'indptr') else 'dense'} {X.dtype} data"
    raise InputError(f"{', '.join(engine.name for engine in candidates)}: no such engine takes {what}")
