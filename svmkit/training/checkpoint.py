"""Checkpoints: the progress of each problem of a training run, in one file that is replaced atomically."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError, SvmkitWarning, one_line
from svmkit.model import file
from svmkit.solver.loop.iterate import Progress

EVERY = 30.0  # seconds between two writes
DIGESTS = ("data", "labels", "weights")  # facts that are stored as digests only


class Identity(NamedTuple):
    """The identity of a training: a checkpoint resumes only a training of equal identity.

    Attributes
    ----------
    facts : dict of str to str
        What must be equal, by the name that error messages use; `digest` makes one of arrays.
    solver : str
        The name of the solver, which may differ.
    earlier_key : callable
        Returns the key by which files of earlier versions, which have no facts, identify the training.
    """

    facts: dict[str, str]
    solver: str
    earlier_key: Callable[[], str]


def digest(*parts: str | np.ndarray) -> str:
    """Return a hash, in hexadecimal digits, of texts and of the values of arrays.

    Parameters
    ----------
    *parts : str or ndarray
        Texts, and arrays in any layout.
    """
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).data)
    return made.hexdigest()


def arrays_of(X: Any) -> tuple[np.ndarray, ...]:
    """Return the arrays that features (n_samples, n_features), dense or CSR, consist of."""
    return (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)


class Checkpoint:
    """The progress of every problem of one training run, kept in a file.

    Parameters
    ----------
    path : str or path
        The file.
    resume : bool, default=False
        Continue from the file if it exists. Otherwise an existing file is replaced.
    every : float, default=30.0
        Seconds between two writes, and so the most that a killed process loses. The end of the training is written,
        too, whatever the reason.

    Raises
    ------
    InputError
        The file is not a checkpoint, its folder does not exist, or `every` is not a number of seconds.

    Notes
    -----
    The file names the run that logs the training (`run`), so that the process that continues the training can continue
    that run, and holds the seconds of training up to the last write (`seconds`).

    If the file cannot be written during the training, as on a full disk, a SvmkitWarning is issued and training
    continues. The previous contents stay, and writing is tried again after `every` seconds.

    A file is resumed by the same training only: with equal data, labels, weights, objective, kernel, C and so on. Stop
    rules, sampler, seed, memory and threads may differ, and so may the solver if it has the same objective and points
    of the same kind. To start from a model with another C or kernel, pass it to `fit` as `start` instead.

    Examples
    --------
    >>> from svmkit import fit
    >>> from svmkit.kernels import RBF
    >>> from svmkit.training import Checkpoint
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> fitted = fit(X, y, kernel=RBF(1.0), checkpoint=Checkpoint("run.checkpoint"))
    >>> again = fit(X, y, kernel=RBF(1.0), checkpoint=Checkpoint("run.checkpoint", resume=True))
    >>> again.n_iter == fitted.n_iter
    True
    """

    def __init__(self, path: str | Path, *, resume: bool = False, every: float = EVERY) -> None:
        if not (isinstance(every, int | float) and 0.0 <= every < math.inf):
            raise InputError(f"every must be a finite number of seconds >= 0, not {every!r}")
        self.path, self.every = Path(path), every
        self._written = time.monotonic()  # when it was last written, or tried
        self._stale = self._warned = False
        self._progress: dict[int, Progress] = {}
        self._solvers: dict[int, str] = {}  # the solver that wrote it; files of earlier versions lack it
        self._facts: dict[str, str] = {}  # facts of the training
        self._contents: tuple[dict, dict] | None = None
        self.notes: dict[str, Any] = {}  # results of the training before its problems began, in JSON types
        self.run: dict[str, str] | None = None  # the run that logs the training: its store, uri, and its run_id
        self.seconds = 0.0  # of training by the processes before this one
        self._began: float | None = None
        if resume and self.path.exists():
            self._contents = file.read(self.path, "checkpoint")
            header = self._contents[1]
            kept, run, seconds = (header.get(key) for key in ("notes", "run", "seconds"))
            self.notes = dict(kept) if isinstance(kept, dict) else {}
            self.run = _run_from_header(run)
            self.seconds = float(seconds) if isinstance(seconds, int | float) and 0.0 <= seconds < math.inf else 0.0
        elif not self.path.parent.is_dir():
            raise InputError(f"cannot write {self.path}: its folder is not there; create it or give another path")

    def bind(self, identity: Identity) -> None:
        """Tie the checkpoint to a training, which must be the one that the file belongs to.

        Parameters
        ----------
        identity : Identity
            The identity of the training.

        Raises
        ------
        InputError
            The file belongs to another training, and the message names the differences; or it is damaged.
        """
        self._facts = dict(identity.facts)
        if self._contents is None:
            return
        arrays, header = self._contents
        if different := self._differences(identity, header):
            raise InputError(
                f"checkpoint {self.path} belongs to other {different}{self._writer(identity.solver, header)}: train "
                "with the same ones, give another file, or train without --resume, which replaces this one"
            )
        try:
            for k, state in header["problems"].items():
                progress = Progress(arrays[f"point.{k}"], **state)
                n_iter, seconds = int(progress.n_iter), float(progress.seconds)
                carried = None if progress.carried is None else dict(progress.carried)
                self._progress[int(k)] = progress._replace(n_iter=n_iter, seconds=seconds, carried=carried)
            self._solvers = {int(k): str(name) for k, name in header.get("solvers", {}).items()}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self._damage(repr(error)) from None

    def _differences(self, identity: Identity, header: dict[str, Any]) -> str:
        """Return in words how this training differs from that of the file; empty without a difference."""
        theirs, ours = header.get("facts"), self._facts
        if theirs is None:  # a file of an earlier version
            return "" if header.get("key") == identity.earlier_key() else "data, labels, kernel, C or nu"
        if not isinstance(theirs, dict):
            raise self._damage("its facts are none")
        different = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
        words = [
            name if name in DIGESTS else f"{name} ({theirs.get(name)} there, {ours.get(name)} here)"
            for name in different
        ]
        return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))

    @staticmethod
    def _writer(solver: str, header: dict[str, Any]) -> str:
        """Return words about the solver that wrote a file if it is another one, else an empty string."""
        known = header.get("solvers")
        others = {str(one) for one in known.values()} - {solver} if isinstance(known, dict) else set()
        return "".join(f"; solver {other!r} wrote it, and {solver} asks for it" for other in sorted(others)[:1])

    def _damage(self, what: str) -> InputError:
        return InputError(f"{self.path} is a damaged checkpoint ({what}): train without --resume")

    @property
    def continues(self) -> bool:
        """Whether there was a file to continue from."""
        return self._contents is not None

    def start_clock(self) -> None:
        """Count the seconds of training from now on; a second call does nothing."""
        if self._began is None:
            self._began = time.perf_counter()

    def progress(self, k: int) -> Progress | None:
        """Return the progress of problem k, None if it has not begun."""
        return self._progress.get(k)

    def solver(self, k: int) -> str | None:
        """Return the name of the solver that wrote the point of problem k, None if the file does not contain it."""
        return self._solvers.get(k)

    def slot(self, k: int, solver: str, *, together: bool = False) -> Slot:
        """Return the saver of problem k for the solver of this name.

        Parameters
        ----------
        k : int
            The number of the problem.
        solver : str
            The name of the solver.
        together : bool, default=False
            Whether the end of this problem is written together with others, after `every` seconds or by `flush`.
        """
        return Slot(self, k, solver, together)

    def slots(self, solver: str, n_problems: int) -> Callable[[int], Slot]:
        """Return the function that makes the saver of each problem; `flush` has to be called at the end."""
        return partial(self.slot, solver=solver, together=n_problems > 1)

    @property
    def due(self) -> bool:
        """Whether `every` seconds have passed since the last write."""
        return time.monotonic() - self._written >= self.every

    def put(self, k: int, progress: Progress, solver: str) -> None:
        """Keep the progress of a problem for the next write.

        Parameters
        ----------
        k : int
            The number of the problem.
        progress : Progress
            Its progress.
        solver : str
            The name of the solver that made it.
        """
        self._progress[k], self._solvers[k] = progress, solver
        self._stale = True

    def flush(self) -> None:
        """Write the known progress of all problems, unless the file has it already."""
        if not self._stale:
            return
        problems: dict[str, Any] = {
            str(i): {key: value for key, value in p._asdict().items() if key != "point" and value is not None}
            for i, p in self._progress.items()
        }
        arrays = {f"point.{i}": p.point for i, p in self._progress.items()}
        header: dict[str, Any] = {
            "facts": self._facts,
            "problems": problems,
            "solvers": {str(i): s for i, s in self._solvers.items()},
        }
        header |= {"notes": self.notes} if self.notes else {}
        header |= {"run": self.run} if self.run else {}
        header["seconds"] = self.seconds + (0.0 if self._began is None else time.perf_counter() - self._began)
        try:
            file.write(self.path, arrays, header, "checkpoint")
            self._stale = False
        except (InputError, MemoryError) as error:
            if not self._warned:
                self._warned = True
                reason = str(error).rpartition(";")[0] or f"cannot write {self.path}: {one_line(error)}"
                then = f"training goes on, and the checkpoint is tried again after {self.every:g} s"
                warnings.warn(f"{reason}; {then}", SvmkitWarning, stacklevel=1)
        self._written = time.monotonic()


def _run_from_header(run: Any) -> dict[str, str] | None:
    """Return the run that a file names; None without one, as in files of earlier versions."""
    keys = ("uri", "run_id")
    if not isinstance(run, dict) or not all(isinstance(run.get(key), str) for key in keys):
        return None
    return {key: run[key] for key in keys}


class LastProgress:
    """The saver of a problem without a checkpoint: it keeps the latest progress; a `svmkit.solver.Saver`."""

    progress: Progress | None = None

    def due(self, seconds: float) -> bool:
        return False

    def save(self, progress: Progress) -> None:
        self.progress = progress


class Slot(LastProgress):
    """The part of a checkpoint that belongs to one problem; its `progress` is initially that of the file."""

    def __init__(self, checkpoint: Checkpoint, k: int, solver: str, together: bool = False) -> None:
        self._checkpoint, self._k, self._solver, self._together = checkpoint, k, solver, together
        self.progress = checkpoint.progress(k)

    def due(self, seconds: float) -> bool:
        """Return whether it is time to write, by wall-clock time since the last write."""
        return self._checkpoint.due

    def save(self, progress: Progress) -> None:
        """Keep the progress of the problem, and write it unless problems are written together."""
        super().save(progress)
        self._checkpoint.put(self._k, progress, self._solver)
        if not self._together or self._checkpoint.due:
            self._checkpoint.flush()

    def refusal(self, name: str, reason: str) -> InputError:
        """Return the error for a point that does not fit the problem of this name, because of `reason`."""
        path, ours = self._checkpoint.path, self._solver
        theirs = self._checkpoint.solver(self._k)
        why = "it was written by another solver, for another problem, or is damaged"
        advice = "the solver that wrote it"
        if theirs == ours:
            why, advice = f"solver {ours} wrote it with other options, or it is damaged", "the same options"
        elif theirs is not None:
            why, advice = f"solver {theirs!r} wrote it, and {ours} asks for it", "that solver"
        return InputError(
            f"checkpoint {path} does not fit {name} ({reason}): {why}; train with {advice}, or without --resume"
        )
