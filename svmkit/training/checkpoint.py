"""Checkpoints: where each problem of a training run stands, in one file that is replaced atomically."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.model import file as model_file
from svmkit.solver.iterate import Progress


class Checkpoint:
    """Progress of every problem of one run.

    Parameters
    ----------
    path : the file; `every` : seconds between two writes, default 30; a problem's end is always written
    resume : go on from the file if there is one; without it an existing file is replaced

    Raises
    ------
    InputError when the file is not a checkpoint, or is one of other data, kernel or C.
    """

    def __init__(self, path: str | Path, *, resume: bool = False, every: float = 30.0) -> None:
        self.path, self.every = Path(path), every
        self._progress: dict[int, Progress] = {}
        self._key = ""
        self._found: tuple[dict, dict] | None = None
        if resume and self.path.exists():
            self._found = model_file.read(self.path, "checkpoint")
        elif not self.path.parent.is_dir():
            raise InputError(f"cannot write {self.path}: its folder is not there; create it or give another path")

    def bind(self, X, codes: np.ndarray, weights: np.ndarray, kernel: Kernel) -> None:
        """Tie the checkpoint to a training problem; what was found in the file must belong to the same one."""
        digest = hashlib.blake2b(repr((kernel.name, kernel.params, X.shape)).encode(), digest_size=16)
        for part in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
            digest.update(np.ascontiguousarray(part).data)
        digest.update(codes.tobytes() + weights.tobytes())
        self._key = digest.hexdigest()
        if self._found is None:
            return
        arrays, header = self._found
        if header.get("key") != self._key:
            raise InputError(
                f"checkpoint {self.path} belongs to other data, labels, kernel or C: "
                "train with the same ones, or without --resume"
            )
        try:
            for k, state in header["problems"].items():
                found = Progress(arrays[f"point.{k}"], **state)
                self._progress[int(k)] = found._replace(n_iter=int(found.n_iter), seconds=float(found.seconds))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{self.path} is a damaged checkpoint ({error!r}): train without --resume") from None

    def progress(self, k: int) -> Progress | None:
        """Where problem k stands, None if it has not begun."""
        return self._progress.get(k)

    def slot(self, k: int) -> Slot:
        """The saver for problem k."""
        return Slot(self, k)

    def put(self, k: int, progress: Progress) -> None:
        self._progress[k] = progress
        problems: dict[str, Any] = {
            str(i): {key: value for key, value in p._asdict().items() if key != "point"}
            for i, p in self._progress.items()
        }
        arrays = {f"point.{i}": p.point for i, p in self._progress.items()}
        model_file.write(self.path, arrays, {"key": self._key, "problems": problems}, "checkpoint")


class Slot:
    """`svmkit.solver.Saver` of one problem."""

    def __init__(self, checkpoint: Checkpoint, k: int) -> None:
        self._checkpoint, self._k = checkpoint, k
        self._next = (checkpoint.progress(k) or Progress(np.empty(0))).seconds + checkpoint.every

    def due(self, seconds: float) -> bool:
        if seconds < self._next:
            return False
        self._next = seconds + self._checkpoint.every
        return True

    def save(self, progress: Progress) -> None:
        self._checkpoint.put(self._k, progress)
