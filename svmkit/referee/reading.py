"""The sources of models: estimators, pipelines and searches, models of svmkit, files, and plain arrays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data.formats.files import read_start
from svmkit.data.prepare.features import as_features
from svmkit.errors import InputError, one_line
from svmkit.kernels.functions import Kernel
from svmkit.losses.base import Loss
from svmkit.losses.by_name import make_loss, task_of_name
from svmkit.model.exchange.reading import read_text_model
from svmkit.model.model import SVMModel
from svmkit.model.objective import Objective, read_objective
from svmkit.referee.estimators import Rows, expansion_model, read_estimator, to_numpy
from svmkit.referee.foreign import Claim, Foreign
from svmkit.referee.statement import Given
from svmkit.solver.selection import by_name
from svmkit.tasks import task_named

PICKLE = (b"\x80", b"\x78", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"ZF")  # and the compression formats of joblib
TEXT = (b"svm_type", b"solver_type")
AT_BOUND = 1e-12  # relative distance up to which coefficients share a bound
FEWEST = 2  # vectors at a bound from which C is inferred


def last_step(estimator: Any) -> tuple[Any, Callable[[Any], Any] | None]:
    """Return the deciding step of an estimator, and the function applied to rows before it; None if there is none.

    Parameters
    ----------
    estimator : object
        A search stands for its best estimator, a pipeline for its last step.
    """
    if hasattr(estimator, "best_estimator_"):
        return last_step(estimator.best_estimator_)
    if hasattr(estimator, "steps") and hasattr(estimator, "named_steps"):
        inner, prepare = last_step(estimator.steps[-1][1])
        if len(estimator.steps) == 1:
            return inner, prepare
        before = estimator[:-1].transform
        return inner, before if prepare is None else lambda X: prepare(before(X))
    own = getattr(estimator, "model_", None)  # in svmkit's estimators
    return own if isinstance(own, SVMModel) else estimator, None


def read(step: Any, rows: Rows, given: Given) -> Foreign:
    """Return a description of a model.

    Parameters
    ----------
    step : object
        An estimator, an `SVMModel`, or (kernel, vectors, coefficients, intercept).
    rows, given : Rows, Given
        The rows, in the form of this step, and the facts about the problem stated by the caller.
    """
    if isinstance(step, SVMModel):
        return _read_model(step, rows)
    if isinstance(step, tuple):
        return _read_expansion(step, rows, given)
    return read_estimator(step, rows)


def _read_expansion(parts: tuple, rows: Rows, given: Given) -> Foreign:
    """Return a decision function given as arrays; the loss stated by the caller determines whether it predicts classes
    or targets.
    """
    if len(parts) != 4:
        raise InputError(f"a decision function is (kernel, vectors, coefficients, intercept), not {len(parts)} things")
    kernel = parts[0] if isinstance(parts[0], Kernel) else by_name.kernel(parts[0])
    vectors = as_features(to_numpy(parts[1]), what="vectors")
    coef = np.asarray(to_numpy(parts[2]), dtype=np.float64).ravel()
    intercept = float(np.asarray(to_numpy(parts[3])).ravel()[0])
    if len(coef) != vectors.shape[0]:
        raise InputError(
            f"there are {vectors.shape[0]:,} vectors and {len(coef):,} coefficients: give one for each vector"
        )
    if not (np.isfinite(coef).all() and np.isfinite(intercept)):
        raise InputError("coefficients and intercept must be finite numbers")
    if given.loss is None:
        raise InputError("plain arrays do not say which problem they solve: give loss=NAME and C=NUMBER")
    classes = np.unique(np.asarray(rows.y)) if _tells_classes(given.loss) and rows.y is not None else None
    if classes is not None and len(classes) != 2:
        raise InputError(f"one decision function tells two classes apart, and y has {len(classes)}")
    return Foreign("plain arrays", expansion_model(kernel.resolve(rows.X), vectors, coef, intercept, classes))


def _tells_classes(loss: str | Loss) -> bool:
    return (task_of_name(loss) if isinstance(loss, str) else loss.task) == "classify"


def _read_model(model: SVMModel, rows: Rows) -> Foreign:
    """Return a model of svmkit, or one imported from the text of LIBSVM or LIBLINEAR."""
    about = model.about
    if model.outputs or task_named(model.task).has_groups:
        raise InputError("a model of several outputs, or of an order, has its certificates from SVMModel.certify")
    if about.get("imported_from") == "LIBSVM":
        return _read_libsvm_text(model, rows)
    software = f"svmkit {about.get('solver', '')}".strip()
    if about.get("imported_from") == "LIBLINEAR":
        software = f"LIBLINEAR {about['solver_type']}"
    C, nu = about.get("C"), about.get("nu")
    status = about.get("status")
    claim = Claim(None if status is None else status == "converged", "" if status is None else f"status {status}")
    known: dict[str, Any] = {
        "C": None if C is None else float(C),
        "nu": None if nu is None else float(nu),
        "claim": claim,
        "balances_weights": "imported_from" not in about,
    }
    if model.finds_outliers:
        return Foreign(software, model, **known, slacks=str(about.get("loss", "hinge")))
    objective = read_objective(about, model.kernel, task_named(model.task).loss_task) if _says_loss(model) else None
    if model.is_joint and objective is None:
        column = about.get("minimised", {}).get("bias", 1.0)
        objective = Objective(make_loss("hinge", "classify"), column)
    is_liblinear = about.get("imported_from") == "LIBLINEAR"
    return Foreign(
        software,
        model,
        objective,
        **known,
        of_positives=is_liblinear,
        epsilon_is_open=is_liblinear and model.regresses,
    )


def _says_loss(model: SVMModel) -> bool:
    try:
        read_objective(model.about, model.kernel, task_named(model.task).loss_task)
    except InputError:
        return False
    return True


def _read_libsvm_text(model: SVMModel, rows: Rows) -> Foreign:
    """Return LIBSVM's problem, with C and class weights, or nu, inferred from the coefficients."""
    kind = model.about["svm_type"]
    software, weights = f"LIBSVM {kind}", rows.weights
    if kind == "one_class":
        total = rows.X.shape[0] if weights is None else float(weights.sum())
        nu = float(model.coef.sum()) / total
        return Foreign(software, model, nu=nu, notes=(f"nu={nu:g} is the sum of its coefficients",))
    if kind == "nu_svc":
        loss = make_loss("hinge", "classify")
        return Foreign(software, model, Objective(loss, None), C=1.0, nu=_nu_of(model, rows))
    C, class_weight, note = _read_off(model) if weights is None else (None, None, "")
    task = "regress" if model.regresses else "classify"
    loss = make_loss("hinge", task, epsilon=0.0)
    of_nu = float(np.abs(model.coef).sum() / (C * rows.X.shape[0])) if kind == "nu_svr" and C else None
    return Foreign(
        software,
        model,
        Objective(loss, None),
        C=C,
        class_weight=class_weight,
        nu=of_nu,
        notes=(note,) if note else (),
        epsilon_is_open=kind == "epsilon_svr",
    )


def _nu_of(model: SVMModel, rows: Rows) -> float:
    """Return nu of a nu-SVC, the sum of its coefficients in units of their bound, for the first pair of classes."""
    coef = model.machine.coefficients[:, 0]
    largest = float(np.abs(coef).max()) or 1.0
    first = set(model.classes.tolist()[:2])
    m = sum(label in first for label in np.asarray(rows.y).tolist()) if rows.y is not None else rows.X.shape[0]
    return float(np.abs(coef).sum()) / (largest * m)


def _read_off(model: SVMModel) -> tuple[float | None, np.ndarray | None, str]:
    """Return C and class weights from the common bound of coefficients, with a note; None if there is none."""
    owner = np.repeat(np.arange(len(model.n_support)), model.n_support)
    bounds = np.full(len(model.n_support), np.nan)
    for c in range(len(bounds)):
        sizes = np.abs(model.coef[:, owner == c]).ravel()
        top = sizes.max(initial=0.0)
        if top > 0.0 and int((sizes >= top * (1.0 - AT_BOUND)).sum()) >= FEWEST:
            bounds[c] = top
    if np.isnan(bounds).all():
        return None, None, ""
    C = float(np.nanmax(bounds))
    for c in np.flatnonzero(np.isnan(bounds)).tolist():
        if np.abs(model.coef[:, owner == c]).max(initial=0.0) > C:
            return None, None, ""  # a class of another weight, without a visible bound
    ratios = np.where(np.isnan(bounds), 1.0, bounds / C)
    is_even = bool((np.abs(ratios - 1.0) <= AT_BOUND).all())
    note = f"C={C:g} is the bound that its coefficients share: give C=NUMBER where that is another one"
    if is_even:
        return C, None, note
    names = ", ".join(f"{label}={ratio:g}" for label, ratio in zip(model.classes.tolist(), ratios, strict=True))
    return C, ratios, f"{note}; so are the class weights {names}"


def read_file(path: str | os.PathLike, *, n_features: int | None = None, trust: bool = False) -> Any:
    """Read the file of a model: of svmkit, the text of LIBSVM or LIBLINEAR, of skops, or a trusted pickle.

    Parameters
    ----------
    path : str or path
        The file.
    n_features : int, default=None
        Columns of the rows, for texts that do not record it.
    trust : bool, default=False
        Whether a pickle may be loaded, which runs any code that it contains.

    Raises
    ------
    InputError
        There is no such file, its format is unknown, or it is a pickle that is not trusted.
    """
    start = read_start(Path(path))
    if start.split(maxsplit=1)[:1] and start.split(maxsplit=1)[0] in TEXT:
        model = read_text_model(path)
        return model if n_features is None or model.n_features >= n_features else model.widened(n_features)
    if Path(path).suffix == ".skops" or start[:4] == b"PK\x03\x04":
        return _load_skops(path, trust)
    if not _is_our_own(path) and _begins(path, 8).startswith(PICKLE):
        if not trust:
            raise InputError(
                f"{os.fspath(path)}: is a pickle, which runs whatever code it holds when it is read: give --trust if "
                "you know who wrote it, or load it yourself and call svmkit.certify"
            )
        return _unpickle(path)
    return SVMModel.load(path)


def _begins(path: str | os.PathLike, n: int) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(n)


def _is_our_own(path: str | os.PathLike) -> bool:
    """Return whether a file begins like safetensors: the length of a header, any bytes, and its brace."""
    raw = _begins(path, 9)
    return raw[8:] == b"{" and int.from_bytes(raw[:8], "little") <= os.path.getsize(path)


def _unpickle(path: str | os.PathLike) -> Any:
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # any exception of the code in it
        raise InputError(f"{os.fspath(path)}: cannot be unpickled: {one_line(error)}") from error


def _load_skops(path: str | os.PathLike, trust: bool) -> Any:
    try:
        from skops import io
    except ImportError as error:
        raise InputError(f"{os.fspath(path)}: install skops to read it: pip install skops") from error
    try:
        return io.load(path, trusted=io.get_untrusted_types(file=path) if trust else None)
    except Exception as error:
        remedy = "" if trust else "; give --trust if you know who wrote it"
        raise InputError(f"{os.fspath(path)}: skops cannot read it: {one_line(error).rstrip('.')}{remedy}") from error
