"""The engine of PyTorch: X is kept on a device, values are computed there, and results are copied to the caller."""

from __future__ import annotations

from functools import cache, partial
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import Unavailable
from svmkit.kernels.engines import ALL, Engine
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import Kernel, Precomputed

KINDS = ("cuda", "xpu", "mps")  # of devices, by torch's names; cuda includes AMD
ON_CPU = "torch:cpu"


class TorchEngine(Engine):
    """Kernel values by PyTorch, on the requested device, or else on the first one.

    `device` is torch's name of it. X is copied there once, with |x|^2. float64 values, which certificates need, are
    also computed on the device.
    """

    name = "torch"
    devices = (*KINDS, ON_CPU)
    device: ClassVar[str | None] = None
    batch = 32
    solves_boxes = True

    def __init__(self, kernel: Kernel, X: Any, extent: Extent | None = None) -> None:
        from svmkit_torch.found import best
        from svmkit_torch.values import DeviceRows

        super().__init__(kernel, X, extent)
        self.rows = DeviceRows(kernel, X, self.device or best(), extent)
        self.panel = self.rows.panel

    @classmethod
    def class_on(cls, device: str) -> type[Engine] | None:
        kind, _, number = device.partition(":")
        if device != ON_CPU and (kind not in KINDS or (number and not number.isdecimal())):
            return None
        from svmkit_torch.found import require

        return _bound(cls, require(device))

    @classmethod
    def present(cls) -> list[str]:
        from svmkit_torch.found import names

        return names()

    @property
    def error(self) -> float:
        return self.rows.error

    @property
    def largest(self) -> float:
        return self.rows.largest

    def box_code(self) -> Any:
        from svmkit_torch.ondevice.many import solve_boxes

        return partial(solve_boxes, self.rows)

    def limit_memory(self, budget: int) -> None:
        self.rows.tiles.limit(budget)

    def take(self, idx: np.ndarray) -> Any:
        return self.rows.select(idx)

    def block(self, Z: Any, out: np.ndarray, sel: np.ndarray = ALL, rough: bool = False) -> np.ndarray:
        """Compute kernel values on the device and write them to `out`.

        Parameters
        ----------
        Z, out, sel, rough : object, ndarray, ndarray, bool
            As for `Engine.block`.
        """
        self.rows.write_block(self.rows.vectors(Z), out, self.rows.places(sel), rough)
        return out

    def product(self, Z: Any, coef: np.ndarray, sel: np.ndarray = ALL, dtype: Any = np.float64) -> np.ndarray:
        """Return K(X[sel], Z) @ coef, computed on the device.

        Parameters
        ----------
        Z, coef, sel, dtype : object, ndarray, ndarray, object
            As for `Engine.product`.
        """
        return self.rows.host_product(self.rows.vectors(Z), coef, self.rows.places(sel), np.dtype(dtype))


@cache
def _bound(engine: type[TorchEngine], device: str) -> type[TorchEngine]:
    """Return the engine on one device."""
    return type(engine.__name__, (engine,), {"device": device, "__doc__": engine.__doc__, "__module__": __name__})


class TorchMatrixEngine(TorchEngine):
    """A precomputed kernel on a device of PyTorch, where the matrix (n, n_train) is kept and multiplied.

    `Z` holds indices of training samples.
    """

    name = "torch_matrix"
    solves_boxes = False

    def __init__(self, kernel: Kernel, X: Any, extent: Extent | None = None) -> None:
        from svmkit_torch.found import best
        from svmkit_torch.matrix import DeviceMatrix

        Engine.__init__(self, kernel, X, extent)
        self.rows: Any = DeviceMatrix(X, self.device or best())
        self.panel = self.rows.panel

    @classmethod
    def takes_kernel(cls, kernel: Kernel) -> bool:
        return isinstance(kernel, Precomputed)

    @property
    def unit(self) -> float:
        return float(np.finfo(self.X.dtype).eps)

    def take(self, idx: np.ndarray) -> Any:
        return np.asarray(idx)


if find_spec("torch") is None:
    raise Unavailable("needs PyTorch: pip install 'svmkit[torch]'", TorchEngine)
