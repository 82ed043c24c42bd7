"""SVMModel: plain arrays and a kernel. Predicts binary and one-versus-one models; saved as safetensors."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.data import Encoding
from svmkit.data.features import as_features, pad_or_refuse_columns, require_finite
from svmkit.data.layout import require_sound
from svmkit.data.scaling import Scaling
from svmkit.errors import InputError
from svmkit.kernels.engine import engine_for
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.model import file as model_file
from svmkit.model.one_vs_one import class_pairs, class_slices, coefficient_row, columns_of, predicted_codes
from svmkit.runtime import threads

ROWS = 16384, 256  # rows predicted at a time: most and fewest
PART_BYTES = 32 << 20  # what they and their decisions may take, each, above the fewest rows


@dataclass(frozen=True)
class SVMModel:
    """h(x) = sum_i coef_i k(x_i, x) + intercept, for two classes or for each pair of more.

    Parameters
    ----------
    kernel : resolved Kernel
    classes : (n_classes,) labels in sorted order, numbers or text
    vectors : support vectors, dense (n_sv, d) or CSR, sorted by class; for the precomputed kernel their row numbers
    n_support : (n_classes,) support vectors of each class
    coef : (n_classes - 1, n_sv) float64. The row of a vector of class a against class b is b - 1 for a < b and
        b for b < a, as in LIBSVM and scikit-learn. Positive decisions of pair (a, b) speak for b when there are two
        classes (scikit-learn's binary convention) and for a when there are more.
    intercept : (n_pairs,) float64
    n_features : columns of X before scaling
    scaling : applied to X first, or None
    encoding : how a table's text columns became X, or None
    about : plain values worth keeping with the model (solver, C, gap, ...)
    """

    kernel: Kernel
    classes: np.ndarray
    vectors: Any
    n_support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    n_features: int
    scaling: Scaling | None = None
    encoding: Encoding | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def weights(self) -> np.ndarray:
        """w (n_pairs, n_features) of a model with the linear kernel: decisions are X w' + intercept on scaled X."""
        if self.kernel.name != "linear":
            raise InputError(f"only a model with the linear kernel has weights of the columns, not {self.kernel.name}")
        at = class_slices(self.n_support)

        def part(own: int, other: int) -> np.ndarray:
            return self.coef[coefficient_row(own, other), at[own]] @ self.vectors[at[own]]

        weights = [part(a, b) + part(b, a) for a, b in class_pairs(len(self.classes))]
        return np.array([np.asarray(w, dtype=np.float64).ravel() for w in weights])

    def decision_function(self, X, *, n_threads: int | None = None) -> np.ndarray:
        """Margins, float64: (n_samples,) for two classes (> 0 means classes[1]), else (n_samples, n_pairs).

        X : dense or CSR (n_samples, n_features), float32 or float64. Kernel values are float64, shared by all pairs
        and never stored: beyond X and what is returned, memory is that of a part of the rows, whatever their number and
        that of the vectors.
        """
        X = self._checked(X)
        out = np.empty((X.shape[0], len(self.intercept)))
        with threads.using(n_threads):
            for rows in self._parts(X):
                out[rows] = self._decide(X[rows])
        return out[:, 0] if len(self.classes) == 2 else out

    def _checked(self, X):
        X = as_features(X)
        X = pad_or_refuse_columns(X, self.n_features, name="SVMModel", pad=False)
        require_finite(X)
        return X

    def _parts(self, X) -> list[slice]:
        """Rows to be predicted together: as many as keep themselves and their decisions small."""
        n = X.shape[0]
        entries = 2 * X.nnz // n if sp.issparse(X) else X.shape[1]
        step = int(np.clip(PART_BYTES // (8 * max(entries, len(self.intercept), 1)), *ROWS[::-1]))
        return [slice(lo, min(lo + step, n)) for lo in range(0, n, step)]

    def _decide(self, X) -> np.ndarray:
        """Decisions (rows of X, n_pairs). A class's vectors meet X once, for the pairs of that class alone."""
        X = self.scaling.apply(X) if self.scaling else X
        engine = engine_for(self.kernel, X)
        out = np.repeat(self.intercept[None, :], X.shape[0], 0)
        if len(self.classes) == 2:
            out[:, 0] += engine.product(self.vectors, self.coef.T)[:, 0]
            return out
        for c, at in enumerate(class_slices(self.n_support)):
            if at.start < at.stop:
                out[:, columns_of(c, len(self.classes))] += engine.product(self.vectors[at], self.coef[:, at].T)
        return out

    def predict(self, X, *, n_threads: int | None = None) -> np.ndarray:
        """Labels (n_samples,); among more than two classes by votes, ties by the sum of margins.

        Less memory than `labels` of all decisions: those of many classes are held for a part of the rows at a time.
        """
        X = self._checked(X)
        labels = np.empty(X.shape[0], dtype=self.classes.dtype)
        with threads.using(n_threads):
            for rows in self._parts(X):
                decision = self._decide(X[rows])
                labels[rows] = self.labels(decision[:, 0] if len(self.classes) == 2 else decision)
        return labels

    def labels(self, decision: np.ndarray) -> np.ndarray:
        """The labels that these decisions, from `decision_function`, stand for."""
        return self.classes[predicted_codes(decision, len(self.classes))]

    def save(self, path: str | os.PathLike) -> None:
        """Write the model atomically. InputError for kernels that are not registered by name."""
        if self.kernel.name not in plugins.names("kernel"):
            raise InputError(
                f"a model with the kernel {self.kernel.name!r} cannot be saved: register the kernel under "
                "the entry-point group svmkit.kernels"
            )
        arrays = {"coef": self.coef, "intercept": self.intercept, "n_support": self.n_support}
        if sp.issparse(self.vectors):
            arrays |= {f"vectors.{k}": getattr(self.vectors, k) for k in ("data", "indices", "indptr")}
        else:
            arrays["vectors"] = np.asarray(self.vectors)
        if self.scaling:
            arrays |= {f"scaling.{k}": v for k, v in self.scaling.to_arrays().items()}
        package = plugins.requirement("kernel", self.kernel.name)
        header = {
            "kernel": {"name": self.kernel.name, "params": self.kernel.params, "package": package},
            "classes": (self.classes.astype(str) if self.classes.dtype.kind == "S" else self.classes).tolist(),
            "classes_dtype": self.classes.dtype.str,
            "n_features": self.n_features,
            "scaling": self.scaling.kind if self.scaling else None,
            "encoding": self.encoding.to_json() if self.encoding else None,
            "about": self.about,
        }
        model_file.write(path, arrays, header, "model")

    @classmethod
    def load(cls, path: str | os.PathLike) -> SVMModel:
        """Read a model that `save` wrote; InputError for any other file or a kernel that is not installed."""
        arrays, header = model_file.read(path, "model")
        try:
            kernel = header["kernel"]
            name = str(kernel["name"])
        except (KeyError, TypeError) as error:
            raise InputError(f"{path} is a damaged model file (no kernel: {error}): write it anew") from None
        if name not in plugins.names("kernel"):
            raise InputError(f"{path} needs the kernel {name!r}, which is not installed: {_how_to_install(kernel)}")
        try:
            scaling = {k[8:]: v for k, v in arrays.items() if k.startswith("scaling.")}
            model = cls(
                kernel=plugins.build("kernel", name, kernel["params"]),
                classes=np.array(header["classes"], dtype=header["classes_dtype"]),
                vectors=_vectors(arrays, header["n_features"]),
                n_support=arrays["n_support"],
                coef=arrays["coef"],
                intercept=arrays["intercept"],
                n_features=header["n_features"],
                scaling=Scaling.from_arrays(header["scaling"], scaling) if header["scaling"] else None,
                encoding=Encoding.from_json(header["encoding"]) if header["encoding"] else None,
                about=header["about"],
            )
            model._validate()
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError) as error:
            raise InputError(f"{path} is a damaged model file ({error}): write it anew") from None
        return model

    def _validate(self) -> None:
        """Shapes that fit together: a file from a stranger must not fail later, inside a compiled loop."""
        k, n_sv = len(self.classes), self.vectors.shape[0]
        if self.classes.ndim != 1 or self.classes.dtype.kind not in "biufUS" or not isinstance(self.n_features, int):
            raise ValueError("classes are no list of labels")
        if not isinstance(self.about, dict):
            raise ValueError("what is told about it is no map")
        if any(isinstance(value, str) for value in self.kernel.params.values()):
            raise ValueError("the kernel's parameters are not numbers")
        if k < 2 or self.coef.shape != (k - 1, n_sv) or self.intercept.shape != (len(class_pairs(k)),):
            raise ValueError("shapes of coef, intercept and classes do not fit together")
        if (
            self.n_support.shape != (k,)
            or self.n_support.dtype.kind != "i"
            or self.n_support.min() < 0
            or self.n_support.max() > n_sv  # a sum of int64 may wrap
            or self.n_support.sum() != n_sv
        ):
            raise ValueError("n_support does not add up")
        if isinstance(self.kernel, Precomputed):
            rows = self.vectors
            if rows.ndim != 1 or rows.dtype.kind != "i" or ((rows < 0) | (rows >= self.n_features)).any():
                raise ValueError("row numbers of support vectors are out of range")
        elif self.vectors.ndim != 2 or self.vectors.shape[1] != self.n_features:
            raise ValueError("support vectors have another number of columns")
        elif self.vectors.dtype not in (np.float32, np.float64):
            raise ValueError("support vectors are not float32 or float64")
        else:
            require_finite(self.vectors, what="support vectors")
        for name in ("coef", "intercept"):
            if getattr(self, name).dtype != np.float64 or not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} is not finite float64")


def _how_to_install(kernel: dict[str, Any]) -> str:
    """Of a kernel as a file describes it: the file may come from a stranger, so it is said that it says so."""
    package = str(kernel.get("package"))
    if re.fullmatch(r"[\w.-]{1,100}==[\w.+!-]{1,50}", package, re.ASCII):
        how = f"the file says that it comes with {package} (pip install {package}, if you trust that)"
    else:
        how = "install the package that brings it"
    return f"{how}; installed: {', '.join(plugins.names('kernel'))}"


def _vectors(arrays: dict[str, np.ndarray], n_features: int):
    if "vectors" in arrays:
        return arrays["vectors"]
    data, indices, indptr = (arrays[f"vectors.{k}"] for k in ("data", "indices", "indptr"))
    vectors = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_features))
    require_sound(vectors)
    return vectors
