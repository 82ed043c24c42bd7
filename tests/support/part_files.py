"""Files of parts, cut anywhere out of one data set, and the rows that parts give."""

import json

import numpy as np
import scipy.sparse as sp

FORMATS = ("svm", "svm from 0", "svm.gz", "csv label", "csv first", "csv bare", "parquet", "npz", "sparse npz")


def numbers(n=60, d=5, seed=0, density=0.4):
    """Rows with zeros, the last column rarely filled, and labels of two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    X[rng.random(X.shape) > density] = 0.0
    X[1:, -1] = 0.0
    X[0, -1] = 2.5
    return X, rng.integers(0, 2, n) * 2 - 1


def cut(n, n_parts, seed=0):
    """Ends of random parts, each with at least one row."""
    inner = np.random.default_rng(seed).choice(np.arange(1, n), n_parts - 1, replace=False)
    return np.split(np.arange(n), np.sort(inner))


def write(folder, name, form, X, y):
    """A file of some rows; svmlight rows hold an explicit zero, and lack the columns behind their last number."""
    kind, _, how = form.partition(" ")
    path = folder / f"{name}.{'npz' if form == 'sparse npz' else kind}"
    if kind.startswith("svm"):
        first = 0 if how else 1
        text = "".join(_line(x, label, first) for x, label in zip(X, y, strict=True))
        import gzip

        path.write_bytes(gzip.compress(text.encode()) if kind.endswith("gz") else text.encode())
    elif kind in ("csv", "parquet"):
        import pandas as pd

        frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
        frame.insert(0 if how == "first" else X.shape[1], "label" if how == "label" else "answer", y)
        frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False, header=how != "bare")
    elif kind == "npz":
        np.savez(path, X=X, y=y)
    else:
        S = sp.csr_array(X)
        arrays = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": S.shape, "format": b"csr", "y": y}
        np.savez(path, **arrays)
    return path


def _line(x, label, first):
    entries = [(i, v) for i, v in enumerate(x) if v] or []
    if not any(i == 0 for i, _ in entries) and first == 0:
        entries.insert(0, (0, 0.0))  # index 0 occurs, with an explicit zero
    return f"{label} " + " ".join(f"{i + first}:{v!r}" for i, v in [(i, float(v)) for i, v in entries]) + "\n"


def options(form):
    """How a table of this form is read."""
    return {"label": 0} if form == "csv first" else {}


def rows(part):
    """All rows of a part as its blocks give them, dense, and whether they are sparse."""
    found = [(first, X.copy()) for first, X in part.blocks()]
    at = 0
    for first, X in found:
        assert first == at
        at += X.shape[0]
    assert at == part.n_rows
    return np.vstack([X.toarray() if sp.issparse(X) else X for _, X in found])


def header(folder):
    """The header of a folder of decoded rows."""
    return json.loads((folder / "header.json").read_text())
