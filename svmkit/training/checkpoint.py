"""Checkpoints: the progress of each problem of a training run, in one file that is replaced atomically."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.model import file
from svmkit.solver.iterate import Progress


class Checkpoint:
    """The progress of every problem of one training run, kept in a file.

    Parameters
    ----------
    path : str or path
        The file.
    resume : bool, default=False
        Continue from the file if it exists. Otherwise an existing file is replaced.
    every : float, default=30.0
        Seconds of training between two writes; the end of a problem is always written.

    Raises
    ------
    InputError
        The file is not a checkpoint, or its folder does not exist.
    """

    def __init__(self, path: str | Path, *, resume: bool = False, every: float = 30.0) -> None:
        self.path, self.every = Path(path), every
        self._progress: dict[int, Progress] = {}
        self._solvers: dict[int, str] = {}  # the solver that wrote it; files of earlier versions lack it
        self._key = ""
        self._found: tuple[dict, dict] | None = None
        if resume and self.path.exists():
            self._found = file.read(self.path, "checkpoint")
        elif not self.path.parent.is_dir():
            raise InputError(f"cannot write {self.path}: its folder is not there; create it or give another path")

    def bind(self, X, codes: np.ndarray, weights: np.ndarray, kernel: Kernel) -> None:
        """Tie the checkpoint to training data; the progress in the file must belong to the same data.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            The features after scaling.
        codes : ndarray of shape (n_samples,), int
            The class of each sample.
        weights : ndarray of shape (n_samples,)
            C times class and sample weight.
        kernel : Kernel
            The resolved kernel.

        Raises
        ------
        InputError
            The file belongs to other data, labels, kernel or C, or it is damaged.
        """
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
            self._solvers = {int(k): str(name) for k, name in header.get("solvers", {}).items()}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{self.path} is a damaged checkpoint ({error!r}): train without --resume") from None

    def progress(self, k: int) -> Progress | None:
        """Return the progress of problem k, None if it has not begun."""
        return self._progress.get(k)

    def solver(self, k: int) -> str | None:
        """Return the name of the solver that wrote the point of problem k, None if the file does not say."""
        return self._solvers.get(k)

    def slot(self, k: int, solver: str) -> Slot:
        """Return the saver of problem k for the solver of this name."""
        return Slot(self, k, solver)

    def put(self, k: int, progress: Progress, solver: str) -> None:
        """Write the progress of problem k, made by the solver of this name, and the known progress of all others."""
        self._progress[k], self._solvers[k] = progress, solver
        problems: dict[str, Any] = {
            str(i): {key: value for key, value in p._asdict().items() if key != "point"}
            for i, p in self._progress.items()
        }
        arrays = {f"point.{i}": p.point for i, p in self._progress.items()}
        solvers = {str(i): name for i, name in self._solvers.items()}
        file.write(self.path, arrays, {"key": self._key, "problems": problems, "solvers": solvers}, "checkpoint")


class Slot:
    """The part of a checkpoint that belongs to one problem; a `svmkit.solver.Saver`.

    Attributes
    ----------
    progress : Progress or None
        The progress of the problem when the slot was made; None if it had not begun.
    """

    def __init__(self, checkpoint: Checkpoint, k: int, solver: str) -> None:
        self._checkpoint, self._k, self._solver = checkpoint, k, solver
        self.progress = checkpoint.progress(k)
        self._next = (self.progress.seconds if self.progress else 0.0) + checkpoint.every

    def due(self, seconds: float) -> bool:
        """Return whether it is time to write, after so many seconds of training."""
        if seconds < self._next:
            return False
        self._next = seconds + self._checkpoint.every
        return True

    def save(self, progress: Progress) -> None:
        """Write the progress of the problem."""
        self._checkpoint.put(self._k, progress, self._solver)

    def refusal(self, name: str, reason: str) -> InputError:
        """Return the error for a point that does not fit the problem of this name, because of `reason`."""
        path, ours = self._checkpoint.path, self._solver
        theirs = self._checkpoint.solver(self._k)
        if theirs is None:
            why, mend = (
                "it was written by another solver, for another problem, or is damaged",
                "the solver that wrote it",
            )
        elif theirs == ours:
            why, mend = f"solver {ours} wrote it with other options, or it is damaged", "the same options"
        else:
            why, mend = f"solver {theirs!r} wrote it, and {ours} asks for it", "that solver"
        return InputError(
            f"checkpoint {path} does not fit {name} ({reason}): {why}; train with {mend}, or without --resume"
        )
