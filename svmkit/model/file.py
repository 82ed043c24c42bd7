"""The model file: arrays as safetensors, everything else as one JSON text in its header. Never a pickle.

Checkpoints are files of another kind in the same container, which `write` and `read` know.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.data.formats.layout import require_sound
from svmkit.data.prepare.features import require_finite
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.functions import Precomputed
from svmkit.model.calibration import Calibration, from_file, weighed_classes
from svmkit.model.conformal import Conformal
from svmkit.problems.schemes import SCHEMES
from svmkit.runtime import files
from svmkit.tasks import TASKS, task_named

FORMAT, VERSION = "svmkit", 4
EARLIEST = 1  # format of a file that earlier versions of svmkit can read
CHECKSUM = "sha256"
SPARSE, LARGEST = 4, 1 << 28  # coefficients are stored with their places if so few are not 0; at most so many in all
FREE, GROWTH = 64 << 20, 2000  # coefficients take at most so many bytes, or this multiple of the bytes in their file
WIDEST = 256  # characters of a label up to which text has the dtype of the file; wider text becomes Python strings
NO_LABEL = 1 << 16  # characters beyond which a dtype is wider than any label


def write(path: str | os.PathLike, arrays: dict[str, np.ndarray], header: dict[str, Any], kind: str) -> None:
    """Write arrays and a header atomically; raise InputError if the folder is missing or not writable.

    Parameters
    ----------
    path : str or path, a file that is replaced if it exists
    arrays : dict of str to ndarray
    header : dict, of values that JSON can hold
    kind : str, what the file is, such as "model"
    """
    from safetensors.numpy import save as to_bytes

    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps({"format": FORMAT, "kind": kind, "version": EARLIEST, **header, "checksum": CHECKSUM})
    meta = json.loads(text)
    blob = to_bytes(arrays, metadata={"svmkit": json.dumps(meta | {CHECKSUM: checksum(arrays, meta)})})
    files.write(path, blob)


def read(path: str | os.PathLike, kind: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays and header of a file of this kind from `write`; raise InputError for any other file. A file whose
    checksum does not match its contents is refused; a file of an earlier version, without a checksum, is not.
    """
    from safetensors import SafetensorError, safe_open

    target = Path(path)
    if not target.is_file():
        missing = "is not there" if not target.exists() else "is a folder" if target.is_dir() else "is no regular file"
        raise InputError(f"{kind} file {target} {missing}: check the path")
    try:
        with safe_open(str(target), framework="numpy") as file:
            text = (file.metadata() or {}).get("svmkit", "null")
            meta = json.loads(text)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    except (SafetensorError, ValueError, TypeError, KeyError, OSError, RecursionError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{target} is not a svmkit {kind} file ({reason}): give one that svmkit wrote") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT or meta.get("kind") != kind:
        raise InputError(f"{target} is not a svmkit {kind} file: give one that svmkit wrote")
    if not isinstance(meta.get("version"), int) or meta["version"] > VERSION:
        raise InputError(f"{target} was written by a newer svmkit (format {meta.get('version')}): upgrade svmkit")
    sound, stored = json.dumps(meta) == text, meta.pop(CHECKSUM, None)
    # the header says that it has a checksum, so that damage to the checksum's name is detected
    if (stored is not None or "checksum" in meta) and not (sound and stored == checksum(arrays, meta)):
        raise InputError(f"{target} is damaged, its checksum does not fit: copy it again or write it anew")
    meta.pop("checksum", None)
    return arrays, meta


def checksum(arrays: dict[str, np.ndarray], header: dict[str, Any]) -> str:
    """Return the SHA-256, in hexadecimal digits, of a header and of arrays with their names, types and shapes."""
    digest = sha256(json.dumps(header).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def save_model(path: str | os.PathLike, parts: dict[str, Any]) -> None:
    """Write a model's attributes atomically; raise InputError if its kernel has no registered name or writing fails."""
    arrays, header = _as_file(parts)
    write(path, arrays, header, "model")


def _as_file(parts: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the header of a file of a model's attributes."""
    kernel, classes, vectors = (parts[name] for name in ("kernel", "classes", "vectors"))
    calibration: Calibration | None = parts["calibration"]
    preprocessing: Preprocessing = parts["preprocessing"]
    if kernel.name not in plugins.names("kernel"):
        raise InputError(
            f"a model with the kernel {kernel.name!r} cannot be saved: register the kernel under "
            "the entry-point group svmkit.kernels, or define it in a file for svmkit.plugins.load_file"
        )
    arrays = {name: parts[name] for name in ("intercept", "n_support")} | _coefficients(parts["coef"], parts)
    if sp.issparse(vectors):
        arrays |= {f"vectors.{k}": getattr(vectors, k) for k in ("data", "indices", "indptr")}
    else:
        arrays["vectors"] = np.asarray(vectors)
    arrays |= preprocessing.arrays() | (calibration.arrays() if calibration is not None else {})
    package = plugins.requirement("kernel", kernel.name)
    task = parts["task"]
    about_kernel = {"name": kernel.name, "params": kernel.params, "package": package}
    if files := plugins.files_of(kernel=kernel.name):
        about_kernel["file"] = {"name": files[0].name, "sha256": files[0].sha256}
    header = {
        "kernel": about_kernel,
        "classes": (classes.astype(str) if classes.dtype.kind == "S" else classes).tolist(),
        "classes_dtype": (classes.astype(str) if classes.dtype.kind == "O" else classes).dtype.str,
        **({"classes_object": True} if classes.dtype.kind == "O" else {}),
        "n_features": parts["n_features"],
        **preprocessing.header(),
        "about": parts["about"],
    }
    if not task_named(task).has_classes:
        header |= {"version": 2, "task": task}
    if parts["multiclass"] != "ovo":
        header |= {"version": 2, "multiclass": parts["multiclass"]}
    if calibration is not None:  # an earlier svmkit would predict other labels
        header |= {"version": 2, "calibration": calibration.kind}
    if parts["outputs"]:
        header |= {"version": 3, "outputs": list(parts["outputs"]), "non_crossing": parts["non_crossing"]}
    if parts["conformal"] is not None:
        arrays |= parts["conformal"].arrays()
        header |= parts["conformal"].header()
        held = {start: _as_file(vars(model)) for start, model in parts["conformal"].parts.items()}
        arrays |= {start + name: array for start, (own, _) in held.items() for name, array in own.items()}
        if held:
            header["conformal"] |= {"models": [own for _, own in held.values()]}
    return arrays, header


def load_model(path: str | os.PathLike, make: Callable[..., Any]) -> dict[str, Any]:
    """Read and validate a model that `save_model` wrote; return the attributes of an `SVMModel` by name.

    Parameters
    ----------
    path : str or path
    make : callable, which makes a model from its attributes: the models of folds are kept within a model

    Raises
    ------
    InputError
        The file is not a model, it is damaged, or its kernel is not installed.
    """
    arrays, header = read(path, "model")
    return _attributes(path, arrays, header, make)


def _attributes(
    path: str | os.PathLike, arrays: dict[str, np.ndarray], header: dict[str, Any], make: Callable[..., Any]
) -> dict[str, Any]:
    """Return the attributes of a model from the contents of its file; as `load_model`."""
    try:
        kernel = header["kernel"]
        name = str(kernel["name"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is a damaged model file (no kernel: {error}): write it anew") from None
    if name not in plugins.names("kernel"):
        raise InputError(f"{path} needs the kernel {name!r}, which is not installed: {_how_to_install(kernel)}")
    then, now = kernel.get("file"), plugins.files_of(kernel=name)
    if isinstance(then, dict) and now and then.get("sha256") != now[0].sha256:
        what = f"{now[0].name}, which brings the kernel {name!r}: its predictions may differ"
        warnings.warn(f"{path} was trained with another version of {what}", SvmkitWarning, stacklevel=3)
    try:
        preprocessing = Preprocessing.from_file(header, arrays, header["n_features"])
        parts = {
            "kernel": plugins.build("kernel", name, kernel["params"]),
            "classes": _classes(header),
            "vectors": _vectors(arrays, preprocessing.width(header["n_features"])),
            "n_support": arrays["n_support"],
            "coef": _read_coefficients(arrays, len(header["classes"]), _row_count(arrays)),
            "intercept": arrays["intercept"],
            "n_features": header["n_features"],
            "preprocessing": preprocessing,
            "about": header["about"],
            "task": header.get("task", "classify"),
            "multiclass": header.get("multiclass", "ovo"),
            "calibration": from_file(header, arrays, arrays["intercept"].size),
            "outputs": tuple(header.get("outputs", ())),
            "non_crossing": header.get("non_crossing", False),
            "conformal": Conformal.from_file(header, arrays, _fold_models(path, arrays, header, make)),
        }
        _require_valid(parts)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        raise InputError(f"{path} is a damaged model file ({error}): write it anew") from None
    if parts["calibration"] is not None and (line := weighed_classes(parts["about"])):
        warnings.warn(f"{path}: {line}", SvmkitWarning, stacklevel=3)
    return parts


def _fold_models(
    path: str | os.PathLike, arrays: dict[str, np.ndarray], header: dict[str, Any], make: Callable[..., Any]
) -> tuple[Any, ...]:
    """Return the models of folds within the file of a model; raise ValueError if they are not of its kind."""
    headers = header.get("conformal", {}).get("models", [])
    found = []
    for number, own in enumerate(headers):
        if not isinstance(own, dict) or "conformal" in own:
            raise ValueError("a model of a fold is none")
        start = f"conformal.{number}."
        parts = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
        same = ("classes", "classes_dtype", "n_features", "task", "multiclass", "outputs", "calibration")
        if any(own.get(name) != header.get(name) for name in same):
            raise ValueError("a model of a fold is of another kind")
        found.append(make(**_attributes(path, parts, own, make)))
    return tuple(found)


def _require_valid(parts: dict[str, Any]) -> None:
    """Raise ValueError unless the shapes fit: an untrusted file must not fail later, in a compiled loop."""
    classes, vectors, n_support = (parts[name] for name in ("classes", "vectors", "n_support"))
    k, n_sv = len(classes), vectors.shape[0]
    if classes.ndim != 1 or not isinstance(parts["n_features"], int):
        raise ValueError("classes are no list of labels")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("a class is NaN or infinite")
    if not (classes[:-1] < classes[1:]).all():
        raise ValueError("classes are not in ascending order, each once")
    if not isinstance(parts["about"], dict):
        raise ValueError("the field about is no map")
    if any(isinstance(value, str) for value in parts["kernel"].params.values()):
        raise ValueError("the kernel's parameters are not numbers")
    if parts["task"] not in TASKS:
        raise ValueError("its task is not known")
    if parts["multiclass"] not in [*SCHEMES] or (parts["multiclass"] != "ovo" and not TASKS[parts["task"]].has_classes):
        raise ValueError("how it is made of decisions is not known")
    task = TASKS[parts["task"]]
    if not (task.has_classes or task.has_labels) and parts["calibration"] is not None:
        raise ValueError("only a classifier has a calibration")
    if task.sets is None and parts["conformal"] is not None:
        raise ValueError("there are no sets of its answers")
    outputs, sorts = parts["outputs"], parts["non_crossing"]
    if not all(isinstance(name, str) for name in outputs) or len(outputs) == 1 or not isinstance(sorts, bool):
        raise ValueError("its outputs are not known")
    of = TASKS[parts["task"]]
    if (outputs and (of.has_classes or not of.is_supervised)) or (sorts and not outputs):
        raise ValueError("its task has one output")
    if of.has_targets or outputs:
        n_outputs = len(parts["outputs"]) or 1
        owners, shapes, fits = 1, ((n_outputs, n_sv), (n_outputs,)), k == 0
    elif parts["multiclass"] != "ovo" and k > 2:
        owners, shapes, fits = k, ((k, n_sv), (k,)), True
    else:
        owners, shapes, fits = k, ((k - 1, n_sv), (k * (k - 1) // 2,)), k >= 2
    if not fits or (parts["coef"].shape, parts["intercept"].shape) != shapes:
        raise ValueError("shapes of coef, intercept and classes do not fit together")
    if (
        n_support.shape != (owners,)
        or n_support.dtype.kind != "i"
        or n_support.min() < 0
        or n_support.max() > n_sv  # a sum of int64 may wrap
        or n_support.sum() != n_sv
    ):
        raise ValueError("n_support does not add up")
    for name in ("coef", "intercept"):
        if parts[name].dtype != np.float64 or not np.isfinite(parts[name]).all():
            raise ValueError(f"{name} is not finite float64")
    width = parts["preprocessing"].width(parts["n_features"])
    if isinstance(parts["kernel"], Precomputed):
        if vectors.ndim != 1 or vectors.dtype.kind != "i" or ((vectors < 0) | (vectors >= width)).any():
            raise ValueError("row numbers of support vectors are out of range")
    elif vectors.ndim != 2 or vectors.shape[1] != width:
        raise ValueError("support vectors have another number of columns")
    elif vectors.dtype not in (np.float32, np.float64):
        raise ValueError("support vectors are not float32 or float64")
    else:
        require_finite(vectors, what="support vectors")


def _classes(header: dict[str, Any]) -> np.ndarray:
    """Return the labels in their dtype, or as Python strings; raise ValueError if they are not labels. An array of
    fixed width uses its width for each label and each prediction, however short the labels are.
    """
    labels, dtype = header["classes"], np.dtype(header["classes_dtype"])
    if not isinstance(labels, list) or dtype.kind not in "biufUS":
        raise ValueError("classes are no list of labels")
    width = {"U": dtype.itemsize // 4, "S": dtype.itemsize}.get(dtype.kind, 0)
    if width > NO_LABEL and width > max((len(str(label)) for label in labels), default=0):
        raise ValueError(f"classes have the dtype {dtype.str}, which is wider than any of them")
    if dtype.kind == "U" and (header.get("classes_object") is True or width > WIDEST):
        return np.array([str(label) for label in labels], dtype=object)
    return np.array(labels, dtype=dtype)


def _row_count(arrays: dict[str, np.ndarray]) -> int:
    """Return the number of vectors, whose arrays may be damaged."""
    return len(arrays["vectors"]) if "vectors" in arrays else len(arrays["vectors.indptr"]) - 1


def _coefficients(coef: np.ndarray, parts: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the arrays of the coefficients: places and values if decisions for each class have few of them."""
    at = np.flatnonzero(coef) if parts["multiclass"] != "ovo" and coef.size <= LARGEST else None
    if at is None or SPARSE * len(at) >= coef.size or coef.nbytes > max(FREE, GROWTH * 2 * at.nbytes):
        return {"coef": coef}
    return {"coef.at": at, "coef.values": coef.ravel()[at], "coef.n": np.array([coef.shape[1]])}


def _read_coefficients(arrays: dict[str, np.ndarray], k: int, n_sv: int) -> np.ndarray:
    """Return the coefficients that `_coefficients` wrote, for k classes and n_sv vectors; raise ValueError if the
    arrays do not fit.
    """
    if "coef" in arrays:
        return arrays["coef"]
    at, values, n = arrays["coef.at"], arrays["coef.values"], int(arrays["coef.n"][0])
    if n != n_sv or not 0 <= n * k <= LARGEST or at.shape != values.shape or at.ndim != 1 or values.dtype != np.float64:
        raise ValueError("coefficients and their places do not fit together")
    if at.dtype.kind != "i" or (len(at) and (at.min() < 0 or at.max() >= n * k or (np.diff(at) <= 0).any())):
        raise ValueError("places of coefficients are out of range")
    if 8 * n * k > max(FREE, GROWTH * sum(array.nbytes for array in arrays.values())):
        raise ValueError(f"{len(at):,} coefficients for {n:,} vectors and {k:,} classes")
    coef = np.zeros(k * n)
    coef[at] = values
    return coef.reshape(k, n)


def _how_to_install(kernel: dict[str, Any]) -> str:
    """Say how to install the kernel that a file needs; the file may be untrusted, so quote it as such."""
    package, file = str(kernel.get("package")), kernel.get("file")
    if isinstance(file, dict):
        name = str(file.get("name"))[:80]
        how = f"it comes from the plugin file {name!r}: give --plugin FILE.py, or load_file of svmkit.plugins in Python"
    elif re.fullmatch(r"[\w.-]{1,100}==[\w.+!-]{1,50}", package, re.ASCII):
        how = f"the file says that it comes with {package} (pip install {package}, if you trust that)"
    else:
        how = "install the package that brings it"
    return f"{how}; installed: {', '.join(plugins.names('kernel'))}"


def _vectors(arrays: dict[str, np.ndarray], width: int) -> Any:
    """Return the vectors, dense or CSR; raise ValueError for an invalid CSR matrix."""
    if "vectors" in arrays:
        return arrays["vectors"]
    data, indices, indptr = (arrays[f"vectors.{k}"] for k in ("data", "indices", "indptr"))
    vectors = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))
    require_sound(vectors)
    return vectors
