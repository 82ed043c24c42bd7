"""Fitted estimators of other software, read by their documented attributes.

The software is not imported: an estimator is recognised by the names of its classes and by its attributes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError, one_line
from svmkit.kernels.functions import RBF, Kernel, Linear, Poly, Precomputed
from svmkit.losses.base import Loss
from svmkit.losses.by_name import make_loss
from svmkit.model.layout import linear_machine, regression_parts, store_weights
from svmkit.model.model import SVMModel
from svmkit.model.objective import Objective
from svmkit.model.scikit_learn import kernel_parts
from svmkit.problems.risks.penalty import Penalty, make_penalty
from svmkit.referee.foreign import Claim, Foreign

SPELT = {"sklearn": "scikit-learn", "sklearnex": "scikit-learn-intelex", "daal4py": "scikit-learn-intelex"}
VIOLATION = "the largest violation of its optimality conditions"
# the losses of SGD: our name, their factor relative to ours, and our options
OF_SGD: dict[str, tuple[str, float, dict[str, float]]] = {
    "hinge": ("hinge", 1.0, {}),
    "squared_hinge": ("squared_hinge", 1.0, {}),
    "log_loss": ("logistic", 1.0, {}),
    "modified_huber": ("smoothed_hinge", 4.0, {"delta": 2.0}),
    "squared_error": ("squared_error", 0.5, {}),
    "huber": ("huber", 0.5, {}),
    "epsilon_insensitive": ("epsilon_insensitive", 1.0, {}),
    "squared_epsilon_insensitive": ("squared_epsilon_insensitive", 1.0, {}),
}


class Rows(NamedTuple):
    """The rows on which a model is certified, in the form that its software takes."""

    X: Any
    y: np.ndarray | None
    weights: np.ndarray | None  # weights of the samples


def to_numpy(value: Any) -> Any:
    """Return an array of any library as a numpy array, or as CSR; a number unchanged."""
    if sp.issparse(value):
        return sp.csr_array(value)
    if isinstance(value, np.ndarray | float | int):
        return value
    for names in (("get",), ("to_numpy",), ("detach", "cpu", "numpy")):
        if all(hasattr(value, name) for name in names[:1]) and hasattr(value, "shape"):
            for name in names:
                value = getattr(value, name)()
            return value
    return np.asarray(value)


def known_class(estimator: Any) -> str:
    """Return the name of the supported class of an estimator, subclasses included; "" if it is not supported."""
    return next((base.__name__ for base in type(estimator).__mro__ if base.__name__ in READERS), "")


def read_estimator(estimator: Any, rows: Rows) -> Foreign:
    """Return a description of a fitted estimator.

    Parameters
    ----------
    estimator : object
        The last step of a pipeline, or an estimator alone.
    rows : Rows
        Rows in the form that this step accepts.

    Raises
    ------
    InputError
        The estimator is not supported or not fitted, or its problem has no certificate.
    """
    kind = known_class(estimator)
    if not kind:
        raise InputError(f"cannot judge a {type(estimator).__name__}: those that are read are {', '.join(READERS)}")
    try:
        foreign = READERS[kind](estimator, kind, rows)
    except AttributeError as error:
        raise InputError(f"{kind} is not fitted, or of an unknown version: {one_line(error)}") from None
    return foreign


def software_of(estimator: Any) -> str:
    """Return the package and the class of an estimator as text."""
    package = type(estimator).__module__.partition(".")[0]
    return f"{SPELT.get(package, package)} {type(estimator).__name__}"


def _labels(classes: Any) -> np.ndarray:
    classes = np.asarray(to_numpy(classes))
    if classes.dtype.kind in "biufUS":
        return classes
    plain = np.array(classes.tolist())
    return plain if plain.dtype.kind in "biufUS" else np.array([str(label) for label in classes])


def _balance(estimator: Any, classes: np.ndarray, rows: Rows, by_samples: bool) -> np.ndarray | None:
    """Return the weights of the classes, None if all are 1; some software also counts sample weights when balancing."""
    given = getattr(estimator, "class_weight", None)
    if given is None:
        return None
    from sklearn.utils.class_weight import compute_class_weight

    # versions of scikit-learn whose function takes no weights do not use them for balancing either
    takes = by_samples and "sample_weight" in signature(compute_class_weight).parameters
    more = {"sample_weight": rows.weights} if takes and rows.weights is not None else {}
    return _unless_even(compute_class_weight(given, classes=classes, y=np.asarray(rows.y), **more))


def _unless_even(class_weight: np.ndarray) -> np.ndarray | None:
    return class_weight if class_weight.size and (class_weight != 1.0).any() else None


def _claim(estimator: Any, rule: str) -> Claim:
    """Return the iterations, their limit and the tolerance recorded by an estimator."""
    status: Any
    most: Any
    status, most, tol = (getattr(estimator, name, None) for name in ("fit_status_", "max_iter", "tol"))
    iterations = getattr(estimator, "n_iter_", None)
    n_iter = None if iterations is None else np.atleast_1d(np.asarray(to_numpy(iterations), dtype=np.int64))
    is_limited = isinstance(most, int | float) and most > 0
    words = [] if status is None else [f"fit_status_ {int(status)}"]
    if n_iter is not None and n_iter.size:
        words.append(f"{int(n_iter.sum()):,} iterations" + (f" of at most {most:,}" if is_limited else ""))
    words += [f"tol={tol:g}, {rule}"] if isinstance(tol, int | float) else []
    converged = None if status is None else int(status) == 0
    if n_iter is not None and n_iter.size and is_limited:
        converged = bool((n_iter < float(most)).all()) and converged is not False
    return Claim(converged, ", ".join(words))


def read_libsvm(estimator: Any, kind: str, rows: Rows) -> Foreign:
    """Return a machine with LIBSVM's problem: of scikit-learn, scikit-learn-intelex or cuML.

    Parameters
    ----------
    estimator, kind, rows : object, str, Rows
        The estimator, its class, and the rows.
    """
    machine, transform = _libsvm_attributes(estimator, kind, rows), None
    if callable(estimator.kernel):
        transform = _matrix_of(estimator.kernel)
    parts = kernel_parts(machine, kind)
    n_features = int(getattr(estimator, "n_features_in_", 0)) or int(np.shape(rows.X)[1])
    if transform is not None or estimator.kernel == "precomputed":
        n_features = int(np.shape(rows.X)[0])
    model = SVMModel(**parts, n_features=n_features)
    notes: list[str] = []
    class_weight = None
    if kind == "SVC":
        known = getattr(estimator, "class_weight_", None)
        if known is None:
            class_weight = _balance(estimator, model.classes, rows, False)
        else:
            class_weight = _unless_even(np.asarray(to_numpy(known), dtype=np.float64))
    elif getattr(estimator, "class_weight", None) is not None:
        notes.append(f"{kind} takes class_weight and does not use it: all classes weigh the same")
    return Foreign(
        software_of(estimator),
        model,
        None if kind == "OneClassSVM" else Objective(_loss_of_libsvm(estimator, kind), None),
        C=1.0 if kind == "NuSVC" else float(getattr(estimator, "C", 1.0)),
        nu=float(estimator.nu) if kind in ("NuSVC", "NuSVR", "OneClassSVM") else None,
        class_weight=class_weight,
        claim=_claim(estimator, VIOLATION),
        transform=transform,
        predict=estimator.predict if hasattr(estimator, "predict") else None,
        notes=tuple(notes),
    )


def _loss_of_libsvm(estimator: Any, kind: str) -> Loss:
    if kind in ("SVR", "NuSVR"):
        epsilon = float(estimator.epsilon) if kind == "SVR" else 0.0
        return make_loss("epsilon_insensitive", "regress", epsilon=epsilon)
    return make_loss("hinge", "classify")


def _matrix_of(kernel: Callable[[Any, Any], Any]) -> Callable[[Any], np.ndarray]:
    return lambda X: np.asarray(kernel(X, X), dtype=np.float64)


def _libsvm_attributes(estimator: Any, kind: str, rows: Rows) -> SimpleNamespace:
    """Return the attributes of scikit-learn's machines from those of any software, with the vectors sorted by class."""
    name = "precomputed" if callable(estimator.kernel) else str(estimator.kernel)
    coef = to_numpy(estimator.dual_coef_)
    coef = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef, dtype=np.float64))
    support = np.atleast_1d(to_numpy(estimator.support_)).ravel()
    n_support = np.atleast_1d(to_numpy(estimator.n_support_))
    vectors = to_numpy(estimator.support_vectors_)
    more = {"degree": getattr(estimator, "degree", 3), "coef0": getattr(estimator, "coef0", 0.0)}
    machine = SimpleNamespace(kernel=name, **more)
    machine._gamma = _gamma(estimator, rows.X) if name in ("rbf", "poly", "sigmoid") else 0.0
    machine.intercept_ = np.atleast_1d(np.asarray(to_numpy(estimator.intercept_), dtype=np.float64))
    machine._probA, machine._probB = (getattr(estimator, side, np.empty(0)) for side in ("_probA", "_probB"))
    if kind in ("SVC", "NuSVC"):
        machine.classes_ = _labels(estimator.classes_)
        if len(machine.classes_) > 2 and len(n_support) != len(machine.classes_):
            raise InputError(f"n_support_ of the {type(estimator).__name__} does not say how many of each class")
        if len(machine.classes_) == 2:  # not all software sorts these by class
            order = np.argsort(coef[0] > 0.0, kind="stable")
            coef, n_support = coef[:, order], np.bincount((coef[0] > 0.0).astype(np.int64), minlength=2)
            support = support[order]
            vectors = vectors[order] if name != "precomputed" else vectors
    machine.support_, machine.support_vectors_ = support.astype(np.int64), vectors
    machine.dual_coef_, machine.n_support_ = coef, n_support
    _require_fit(machine, name)
    return machine


def _require_fit(machine: SimpleNamespace, kernel: str) -> None:
    """Raise InputError if numbers are missing or lengths do not fit."""
    coef, n_sv = machine.dual_coef_, machine.dual_coef_.shape[1]
    if not (np.isfinite(coef).all() and np.isfinite(machine.intercept_).all()):
        raise InputError("the coefficients or intercepts of the model are not finite: it was not trained to an end")
    if kernel != "precomputed" and machine.support_vectors_.shape[0] != n_sv:
        raise InputError(
            f"the model has {machine.support_vectors_.shape[0]:,} vectors and {n_sv:,} coefficients: they must be as "
            "many"
        )


def _gamma(estimator: Any, X: Any) -> float:
    """Return gamma as a number; "scale" and "auto" as in scikit-learn."""
    known = getattr(estimator, "_gamma", None)
    given = estimator.gamma if known is None else known
    if not isinstance(given, str):
        return float(given)
    d = X.shape[1]
    if given == "auto":
        return 1.0 / d
    mean = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else float(np.var(X))
    return 1.0 / (d * mean) if mean else 1.0


def _linear_model(estimator: Any, multiclass: str = "ovr", *, classes: Any = None) -> SVMModel:
    """Return the model of an estimator that has a weight for each column."""
    w = np.atleast_2d(np.asarray(to_numpy(estimator.coef_), dtype=np.float64))
    intercept = np.asarray(to_numpy(getattr(estimator, "intercept_", 0.0)), dtype=np.float64).ravel()
    intercept = np.broadcast_to(intercept, (len(w),)).copy()
    if not (np.isfinite(w).all() and np.isfinite(intercept).all()):
        raise InputError("the coefficients or intercepts of the model are not finite: it was not trained to an end")
    parts: dict[str, Any] = {"kernel": Linear(), "n_features": w.shape[1], "intercept": intercept}
    if classes is None:
        parts |= regression_parts(1) | {"coef": np.ones((1, 1)), "vectors": store_weights(w)}
        return SVMModel(**parts)
    labels = _labels(classes)
    if len(w) != (1 if len(labels) == 2 else len(labels)):
        raise InputError(f"coef_ has {len(w)} rows for {len(labels)} classes: it has one a class, or one for two")
    return SVMModel(**parts | linear_machine(labels, w, intercept, multiclass))


def read_liblinear(estimator: Any, kind: str, rows: Rows) -> Foreign:
    """Return LinearSVC or LinearSVR, of scikit-learn or cuML.

    Parameters
    ----------
    estimator, kind, rows : object, str, Rows
        As for `read_libsvm`.
    """
    classes = getattr(estimator, "classes_", None) if kind == "LinearSVC" else None
    joint = getattr(estimator, "multi_class", "ovr") == "crammer_singer"
    model = _linear_model(estimator, "crammer_singer" if joint else "ovr", classes=classes)
    task = "classify" if kind == "LinearSVC" else "regress"
    epsilon = float(getattr(estimator, "epsilon", 0.0))
    loss = make_loss("hinge" if joint else str(estimator.loss), task, epsilon=epsilon if task == "regress" else None)
    bias: float | None = float(getattr(estimator, "intercept_scaling", 1.0)) if estimator.fit_intercept else 0.0
    if getattr(estimator, "penalized_intercept", True) is False and estimator.fit_intercept:
        bias = None  # free by default in cuML
    return Foreign(
        software_of(estimator),
        model,
        Objective(loss, bias, make_penalty("l2" if joint else str(getattr(estimator, "penalty", "l2")))),
        C=float(estimator.C),
        class_weight=None if classes is None else _balance(estimator, model.classes, rows, True),
        of_positives=True,
        claim=_claim(estimator, VIOLATION),
        predict=estimator.predict,
    )


def read_logistic(estimator: Any, kind: str, rows: Rows) -> Foreign:
    """Return LogisticRegression, with a free bias unless LIBLINEAR has solved it.

    Parameters
    ----------
    estimator, kind, rows : object, str, Rows
        As for `read_libsvm`.
    """
    penalty, C = _penalty_of_logistic(estimator), float(estimator.C)
    classes, solver = _labels(estimator.classes_), str(getattr(estimator, "solver", "lbfgs"))
    scheme = str(getattr(estimator, "multi_class", "auto"))
    joint = solver != "liblinear" and (scheme == "multinomial" or (len(classes) > 2 and scheme != "ovr"))
    if joint and penalty.l1:
        raise InputError(
            f"a logistic regression of all classes at once (multinomial) has a certificate with the penalty l2, not "
            f"with {penalty.name}: judge one class against the rest, as sklearn.multiclass.OneVsRestClassifier does"
        )
    scaling = float(getattr(estimator, "intercept_scaling", 1.0))
    bias = 0.0 if not estimator.fit_intercept else scaling if solver == "liblinear" else None
    model = _linear_model(estimator, "multinomial" if joint else "ovr", classes=classes)
    return Foreign(
        software_of(estimator),
        model,
        Objective(make_loss("logistic", "classify"), bias, penalty),
        C=C,
        class_weight=_balance(estimator, model.classes, rows, True),
        claim=_claim(estimator, f"a rule of the solver {solver}"),
        predict=estimator.predict,
    )


def _penalty_of_logistic(estimator: Any) -> Penalty:
    name, ratio = getattr(estimator, "penalty", "deprecated"), getattr(estimator, "l1_ratio", None)
    if name == "deprecated":  # from 1.8 on, only the ratio determines it
        name = {0.0: "l2", 1.0: "l1"}.get(float(ratio or 0.0), "elasticnet")
    if name in (None, "none") or not math.isfinite(float(estimator.C)):
        raise InputError("a fit without a penalty has no bound on its optimum: give it a finite C and penalty l2")
    return make_penalty(str(name), 0.5 if ratio is None else float(ratio))


def read_sgd(estimator: Any, kind: str, rows: Rows) -> Foreign:
    """Return SGDClassifier or SGDRegressor: alpha R(w) + 1/m sum of losses, that is C = 1 / (alpha m).

    Parameters
    ----------
    estimator, kind, rows : object, str, Rows
        As for `read_libsvm`.
    """
    if str(estimator.loss) not in OF_SGD:
        raise InputError(f"loss={estimator.loss} of {kind} has no certificate; those that have: {', '.join(OF_SGD)}")
    name, factor, options = OF_SGD[str(estimator.loss)]
    task = "classify" if name in ("hinge", "squared_hinge", "logistic", "smoothed_hinge") else "regress"
    if kind == "SGDClassifier" and task != "classify":
        raise InputError(f"loss={estimator.loss} of SGDClassifier is one of quantities: judge it as a SGDRegressor")
    if estimator.penalty is None or not estimator.alpha > 0.0:
        raise InputError("a fit without a penalty has no bound on its optimum: give it alpha > 0 and penalty l2")
    if name == "huber":
        options = {"delta": float(estimator.epsilon)}
    elif "epsilon" in name:
        options = {"epsilon": float(estimator.epsilon)}
    alpha, m = float(estimator.alpha), rows.X.shape[0]
    classes = estimator.classes_ if kind == "SGDClassifier" else None
    model = _linear_model(estimator, classes=classes)
    notes: tuple[str, ...] = ()
    if getattr(estimator, "early_stopping", False):
        notes = ("early_stopping has held a part of the rows out: the certificate is about all rows that are given",)
    return Foreign(
        software_of(estimator),
        model,
        Objective(
            make_loss(name, task, options),
            None if estimator.fit_intercept else 0.0,
            make_penalty(str(estimator.penalty), float(getattr(estimator, "l1_ratio", 0.15))),
        ),
        C=factor / (alpha * m),
        class_weight=None if classes is None else _balance(estimator, model.classes, rows, False),
        of_positives=True,
        unit=alpha,
        claim=_claim(estimator, "the gain of an epoch that it takes for an end"),
        predict=estimator.predict,
        notes=notes,
    )


def read_snapml(estimator: Any, kind: str, rows: Rows) -> Foreign:
    """Return snapml's SupportVectorMachine: regularizer / 2 |w|^2 + sum of losses, that is C = 1 / regularizer.

    Parameters
    ----------
    estimator, kind, rows : object, str, Rows
        As for `read_libsvm`.
    """
    if getattr(estimator, "kernel", "linear") != "linear":
        raise InputError("snapml's kernel is an approximate feature map, which the model does not keep: no certificate")
    if getattr(estimator, "normalize", False):
        raise InputError("snapml's normalize=True changes the rows: normalise them before, and train without it")
    unit, bias = float(estimator.regularizer), float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0
    w = np.asarray(estimator.coef_, dtype=np.float64)
    classes = _labels(estimator.classes_)
    given = SimpleNamespace(coef_=w.reshape(1, -1) if len(classes) == 2 else w, intercept_=estimator.intercept_)
    if len(classes) > 2 and given.coef_.shape[0] != len(classes):
        given.coef_ = given.coef_.T
    model = _linear_model(given, classes=classes)
    return Foreign(
        software_of(estimator),
        model,
        Objective(make_loss(str(estimator.loss), "classify"), bias),
        C=1.0 / unit,
        class_weight=_balance(estimator, model.classes, rows, False),
        unit=unit,
        claim=_claim(estimator, "the largest change of a coefficient that it takes for an end"),
        predict=estimator.predict,
    )


OF_TORCHKM = {"TorchKMSVC": "hinge", "TorchKMLogit": "logistic"}
"""The losses of TorchKM's classes."""


def read_torchkm(estimator: Any, kind: str, rows: Rows) -> Foreign:
    """Return a classifier of TorchKM with a kernel: 1/m sum of losses + lambda alpha'K alpha, lambda = 1 / (2 m C).

    Parameters
    ----------
    estimator, kind, rows : object, str, Rows
        As for `read_libsvm`.
    """
    if estimator.low_rank:
        raise InputError("a low-rank fit of TorchKM is about an approximate kernel, which has no certificate here")
    kernel, alpha = _torchkm_kernel(estimator), np.asarray(to_numpy(estimator.alpha_), dtype=np.float64).ravel()
    given = kernel is not None
    vectors = np.asarray(to_numpy(estimator.X_fit_), dtype=np.float64) if given else np.arange(len(alpha))
    if len(vectors) != len(alpha):
        raise InputError(f"the model has {len(vectors):,} vectors and {len(alpha):,} coefficients, not as many")
    classes = _labels(estimator.classes_)
    model = expansion_model(kernel, vectors, alpha, float(estimator.intercept_), classes)
    converged = getattr(estimator, "converged_", None)
    said = None if converged is None else bool(np.asarray(to_numpy(converged)).ravel()[int(estimator.best_ind_)])
    words = f"tol={float(estimator.tol):g}, at most {int(estimator.max_iter):,} iterations"
    return Foreign(
        software_of(estimator),
        model,
        Objective(make_loss(OF_TORCHKM[kind], "classify"), None),
        C=float(estimator.best_C_),
        claim=Claim(said, words),
        predict=estimator.predict,
        notes=(f"C={float(estimator.best_C_):g} is the one that its search has chosen",),
    )


def _torchkm_kernel(estimator: Any) -> Kernel | None:
    name = estimator.kernel
    if name == "rbf":
        return RBF(2.0 * float(estimator.kernel_state_["sigma"]))
    if name == "poly":
        return Poly(float(estimator.poly_gamma), int(estimator.poly_degree), float(estimator.poly_coef0))
    return Linear() if name == "linear" else None


def expansion_model(
    kernel: Kernel | None, vectors: Any, coef: np.ndarray, intercept: float, classes: np.ndarray | None
) -> SVMModel:
    """Return the model of one decision function: for the second of two classes, or for regression.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel; None is a precomputed one, whose vectors are row indices.
    vectors, coef, intercept : ndarray or CSR of shape (n_sv, d), ndarray of shape (n_sv,), float
        The decision function.
    classes : ndarray of shape (2,) or None
        The labels of classes; None for regression.
    """
    parts: dict[str, Any] = {"kernel": Precomputed() if kernel is None else kernel, "intercept": np.array([intercept])}
    parts["n_features"] = len(coef) if kernel is None else vectors.shape[1]
    if classes is None:
        return SVMModel(**parts, **regression_parts(len(coef)), vectors=vectors, coef=coef[None, :])
    order = np.argsort(coef > 0.0, kind="stable")
    n_support = np.bincount((coef > 0.0).astype(np.int64), minlength=2)
    return SVMModel(**parts, classes=classes, vectors=vectors[order], coef=coef[None, order], n_support=n_support)


READERS: dict[str, Callable[[Any, str, Rows], Foreign]] = {
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"), read_libsvm),
    **dict.fromkeys(("LinearSVC", "LinearSVR"), read_liblinear),
    "LogisticRegression": read_logistic,
    **dict.fromkeys(("SGDClassifier", "SGDRegressor"), read_sgd),
    "SupportVectorMachine": read_snapml,
    **dict.fromkeys(OF_TORCHKM, read_torchkm),
}
"""The functions that read estimators, by the names of their classes."""
