"""How each package trains and predicts; every package may live in another environment."""

from __future__ import annotations

import ctypes
import re
import warnings
from importlib import import_module

import numpy as np
import scipy.sparse as sp

CACHE = 1000.0  # MB, of LIBSVM's and oneDAL's row caches
PATIENCE = 10**7  # iterations of LIBLINEAR


class Side:
    """One package; X (m, d) float64 CSR with int32 indices, or dense, y (m,) of -1.0 and +1.0."""

    package = ""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def native(self, X, y):
        """Training data in the package's own format, off the clock."""
        return X, y

    def fit(self, data, job):
        """Train; everything here is on the clock. Returns a value for `read` and `predict`."""
        raise NotImplementedError

    def read(self, model, data, said: str) -> tuple[dict[str, np.ndarray], dict]:
        """(arrays: beta or alpha (m,), or w (d + 1,); facts). `said` is the text written to stdout."""
        raise NotImplementedError

    def predict(self, model, X) -> np.ndarray:
        return model.predict(X)


class SVC(Side):
    """LIBSVM in scikit-learn."""

    package, module = "scikit-learn", "sklearn.svm"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.kind = import_module(self.module).SVC

    def fit(self, data, job):
        return self.kind(C=job["C"], gamma=job["gamma"], tol=job["tol"], cache_size=CACHE).fit(*data)

    def read(self, model, data, said):
        coef = model.dual_coef_
        beta = np.zeros(len(data[1]))
        beta[model.support_] = np.abs(coef.toarray() if sp.issparse(coef) else coef).ravel()
        arrays = {"point": beta, "bias": np.ravel(model.intercept_).astype(np.float64)}
        return arrays, {"n_iter": int(np.sum(getattr(model, "n_iter_", 0)))}


class Intelex(SVC):
    """oneDAL in scikit-learn-intelex."""

    package, module = "scikit-learn-intelex", "sklearnex.svm"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        import daal4py

        daal4py.daalinit(threads)


class Official(Side):
    """LIBSVM of its authors."""

    package = "libsvm-official"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        from libsvm import svmutil

        self.library = svmutil

    def native(self, X, y):
        return self.library.svm_problem(y, X), y

    def fit(self, data, job):
        words = f"-s 0 -t 2 -c {job['C']!r} -g {job['gamma']!r} -e {job['tol']!r} -m {CACHE} -q"
        return self.library.svm_train(data[0], self.library.svm_parameter(words))

    def read(self, model, data, said):
        beta = np.zeros(len(data[1]))
        coef = np.array([c[0] for c in model.get_sv_coef()])
        beta[np.array(model.get_sv_indices(), dtype=np.int64) - 1] = np.abs(coef)
        first = 1.0 if model.get_labels()[0] > 0 else -1.0
        return {"point": beta, "bias": np.array([-first * model.rho[0]])}, {}


class LinearSVC(Side):
    """LIBLINEAR in scikit-learn; it prints its dual value on stdout only."""

    package = "scikit-learn"

    def fit(self, data, job):
        from sklearn.svm import LinearSVC as Kind

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = Kind(loss=job["loss"], dual=True, C=job["C"], tol=job["tol"], max_iter=PATIENCE, verbose=1)
            return model.set_params(random_state=0).fit(*data)

    def read(self, model, data, said):
        w = np.append(model.coef_.ravel(), model.intercept_)
        return {"w": w}, {"n_iter": int(np.max(model.n_iter_)), **_told(said)}


class LIBLINEAR(Side):
    """LIBLINEAR of its authors; `liblinear-multicore` is the same interface with threads."""

    package, extra = "liblinear-official", ""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        from liblinear import liblinearutil

        self.library = liblinearutil

    def native(self, X, y):
        return self.library.problem(y, X, bias=1.0) if sp.issparse(X) else _dense_problem(y, X), y

    def fit(self, data, job):
        code = {"hinge": 3, "squared_hinge": 1 if job.get("dual", True) else 2}[job["loss"]]
        words = f"-s {code} -c {job['C']!r} -e {job['tol']!r} -B 1{self.extra.format(self.threads)}"
        return self.library.train(data[0], self.library.parameter(words))

    def read(self, model, data, said):
        w, bias = model.get_decfun()
        first = 1.0 if model.get_labels()[0] > 0 else -1.0
        return {"w": first * np.append(w, bias)}, _told(said)


def _dense_problem(y: np.ndarray, X: np.ndarray):
    """Return LIBLINEAR's own rows of X, 16 bytes a value, which its interface makes one value after the other."""
    from liblinear import liblinear

    m, d = X.shape
    rows = np.zeros((m, d + 2), dtype=liblinear.feature_node)  # those of the bias and of the end come last
    rows["index"] = np.r_[1 : d + 2, -1]
    rows["value"][:, :d], rows["value"][:, d] = X, 1.0
    found = liblinear.problem.__new__(liblinear.problem)
    found.l, found.n, found.bias, found.x_space = m, d + 1, 1.0, rows
    found.y = (ctypes.c_double * m).from_buffer(np.array(y, dtype=np.float64))
    found.x = (ctypes.POINTER(liblinear.feature_node) * m)()
    starts = np.ctypeslib.as_array(ctypes.cast(found.x, ctypes.POINTER(ctypes.c_uint64)), (m,))
    starts[:] = np.uint64(rows.ctypes.data) + np.uint64(rows.strides[0]) * np.arange(m, dtype=np.uint64)
    return found


class Multicore(LIBLINEAR):
    package, extra = "liblinear-multicore", " -m {}"


class SnapML(Side):
    """The linear SVM of Snap ML."""

    package = "snapml"

    def fit(self, data, job):
        from snapml import SupportVectorMachine

        kind = SupportVectorMachine(
            loss=job["loss"], regularizer=1.0 / job["C"], tol=job["tol"], fit_intercept=True, n_jobs=self.threads
        )
        return kind.set_params(max_iter=10_000, random_state=0).fit(*data)

    def read(self, model, data, said):
        return {"w": np.append(model.coef_.ravel(), model.intercept_)}, {"n_iter": int(np.max(model.n_iter_))}


def _told(said: str) -> dict:
    """The dual value that LIBLINEAR printed; empty if it printed none."""
    found = re.findall(r"Objective value = (\S+)", said)
    return {"dual": -float(found[-1])} if found else {}


SIDES: dict[str, type[Side]] = {
    "svc": SVC,
    "libsvm-official": Official,
    "intelex": Intelex,
    "linearsvc": LinearSVC,
    "liblinear-official": LIBLINEAR,
    "liblinear-multicore": Multicore,
    "snapml": SnapML,
}


def side(name: str) -> type[Side]:
    """The side with this name; svmkit need not be installed for the others."""
    if name == "svmkit":
        from peers_svmkit import Svmkit

        return Svmkit
    if name not in SIDES:
        raise ImportError(f"no side {name!r}; there are: svmkit, {', '.join(SIDES)}")
    return SIDES[name]
