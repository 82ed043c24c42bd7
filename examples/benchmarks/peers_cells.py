"""The cells of the benchmark: their data, hyperparameters and contenders."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.data import load
from svmkit.errors import InputError

MEMORY = "1GB"  # budget of svmkit, and near LIBSVM's and oneDAL's caches
EPS = 1e-3  # tolerance of LIBSVM and oneDAL, and their default
GAP = 1e-3  # svmkit's default, relative and certified
LADDER = (1.5, 1.0, 0.5, 0.2, 0.1, 0.01, 0.001)  # tolerances of the peers: all that they let one stop by
STEEP = (1.5, 0.5, 0.1, 0.001)  # those of LIBSVM, whose fits take half a minute
TWICE = 2  # runs of each fit to a series of tolerances
GAPS = (0.5, 0.2, 0.1, 0.03, 0.01, 0.001)  # the same for svmkit


@dataclass(frozen=True)
class Contender:
    """One side of a cell: its package, storage and options; `job` adds to the settings of the cell.

    most : at most so many runs, if that is fewer than --repeat
    """

    name: str
    side: str
    storage: str = "csr"
    job: dict[str, Any] = field(default_factory=dict)
    most: int = 100


@dataclass(frozen=True)
class Cell:
    """One comparison.

    kind : hinge, squared, large, accuracy, predict or linear
    data : NAME, NAME=LABEL for one class against the rest, NAME%2 for odd against even labels, or gaussians
    """

    name: str
    kind: str
    data: str
    C: float
    gamma: float | None
    contenders: tuple[Contender, ...]
    loss: str = "hinge"
    test: str = ""  # default NAME.t where there is one


SVC = Contender("LIBSVM (scikit-learn)", "svc", job={"tol": EPS})
OFFICIAL = Contender("LIBSVM (libsvm-official)", "libsvm-official", job={"tol": EPS})
INTELEX = tuple(
    Contender(f"intelex {storage}", "intelex", storage, {"tol": EPS}) for storage in ("dense32", "dense64", "csr")
)
KERNEL_SETS = {  # C and gamma; C of the squared hinge
    "a9a": ("a9a", 1.5, 1 / 200, 0.5),
    "w8a": ("w8a", 5.0, 1 / 44, 5.0),
    "ijcnn1": ("ijcnn1", 5.0, 1 / 5.16, 5.0),
    "ijcnn1_c16": ("ijcnn1", 16.0, 1.0, 16.0),
    "svmguide1": ("svmguide1", 1.0, 1 / 800, 0.4),
    "gaussians": ("gaussians", 1.0, 1 / 20, 1.0),
}
GAUSSIANS = 30_000, 20, 1.5  # rows, columns, width of the second class; that of the first is 1


def ours(name: str, solver: str, stop: str, most: int = 100, **job) -> Contender:
    return Contender(name, "svmkit", job={"solver": solver, "stop": stop, "memory": MEMORY, **job}, most=most)


def cells(hinge: str, squared: str) -> list[Cell]:
    """All cells in order, with the solver of the hinge and that of the squared hinge."""
    found = []
    three = (
        ours(f"{hinge}, gap 1e-3", hinge, f"gap:{GAP}"),
        ours(f"{hinge}, kkt 1e-3", hinge, f"kkt:{EPS}"),
        ours(f"{hinge}, same D", hinge, "dual"),
    )
    for name, (data, C, gamma, _) in KERNEL_SETS.items():
        mine = tuple(replace(one, storage="dense64") for one in three) if data == "gaussians" else three
        found.append(Cell(f"{name}_hinge", "hinge", data, C, gamma, (SVC, OFFICIAL, *INTELEX, *mine)))
    two = [ours(f"{squared}, gap 1e-3", squared, f"gap:{GAP}")]
    if hinge == "fcsmo":
        options = {"loss": "squared_hinge"}
        two.append(ours("fcsmo, squared hinge, gap 1e-3", hinge, f"gap:{GAP}", options=options))
    for name in ("a9a", "w8a", "ijcnn1", "ijcnn1_c16"):
        data, _, gamma, C = KERNEL_SETS[name]
        found.append(Cell(f"{name}_squared", "squared", data, C, gamma, tuple(two), "squared_hinge"))
    model = ours(f"{hinge}, gap 1e-3", hinge, f"gap:{GAP}", most=1)
    found.append(Cell("mnist_parity_large", "large", "mnist%2", 10.0, 0.25, (model,)))
    for name, test in (("a9a", ""), ("w7a", ""), ("ijcnn1", ""), ("ijcnn1_c16", "")):
        data, C, gamma, C_squared = KERNEL_SETS["w8a" if name == "w7a" else name]
        data = "w7a" if name == "w7a" else data  # w7a and w7a.t together are w8a, which has no test set
        found.append(
            Cell(f"{name}_accuracy", "accuracy", data, C, gamma, _ladders(hinge, squared, C_squared), test=test)
        )
    model = ours(hinge, hinge, f"gap:{GAP}")
    for name in ("a9a", "ijcnn1"):
        data, C, gamma, _ = KERNEL_SETS[name]
        found.append(Cell(f"{name}_predict", "predict", data, C, gamma, (SVC, *INTELEX, model)))
    for name, losses, epses in (
        ("a9a", ("hinge", "squared_hinge"), (0.1, 0.01)),
        ("w8a", ("hinge", "squared_hinge"), (0.1, 0.01)),
        ("mnist=3", ("hinge",), (0.1,)),
    ):
        for loss in losses:
            for eps in epses:
                label = f"{name.replace('=', '')}_linear_{'l1' if loss == 'hinge' else 'l2'}_{eps:g}"
                found.append(Cell(label, "linear", name, 1.0, None, _linear(loss, eps), loss))
    return found


def _ladders(hinge: str, squared: str, C_squared: float) -> tuple[Contender, ...]:
    """Fits to every tolerance; names are NAME @ tolerance."""
    found = []
    for tol in STEEP:
        found.append(Contender(f"LIBSVM @ {tol:g}", "svc", job={"tol": tol}, most=1))
    for storage in ("dense32", "csr"):
        found += [Contender(f"intelex {storage} @ {tol:g}", "intelex", storage, {"tol": tol}, TWICE) for tol in LADDER]
    for solver, more in ((hinge, {}), (squared, {"C": C_squared})):
        found += [ours(f"{solver} @ {gap:g}", solver, f"gap:{gap:g}", TWICE, **more) for gap in GAPS]
        found.append(ours(f"{solver} curve", solver, f"gap:{GAP}", 1, curve=True, **more))
    return tuple(found)


def _linear(loss: str, eps: float) -> tuple[Contender, ...]:
    peers = ("linearsvc", "LIBLINEAR (LinearSVC)"), ("liblinear-official",) * 2, ("liblinear-multicore",) * 2
    found = [Contender(name, side, job={"tol": eps, "loss": loss}) for side, name in peers]
    found.append(Contender("snapml", "snapml", job={"tol": eps / 100, "loss": loss}))
    alone = {"loss": loss, "workers": 1}
    found.append(ours(f"dcd, kkt {eps:g}", "dcd", f"kkt:{eps}", options=alone))
    found.append(ours("dcd, same D", "dcd", "dual", options=alone, tol=eps))
    found.append(ours("dcd, 2 workers, same D", "dcd", "dual", options={**alone, "workers": 2}, tol=eps))
    return tuple(found)


def prepare(cell: Cell, folder: Path, n_rows: int | None) -> np.ndarray | None:
    """Write train and test arrays for the workers; returns the signs of the test rows, None without a test set."""
    if cell.data == "gaussians":
        X, signs = _gaussians()
        at = _rows(len(signs), n_rows)
        write(folder, "train", X[at])
        np.save(folder / "y.npy", signs[at])
        return None
    name = cell.data.partition("=")[0].partition("%")[0]
    train = load(name)
    try:
        test = load(cell.test or f"{name}.t", n_features=train.n_features)
    except InputError:
        test = None
    pixels = name != cell.data
    scale = 1.0 / float(np.abs(train.X.data if sp.issparse(train.X) else train.X).max()) if pixels else 1.0
    at = _rows(train.X.shape[0], n_rows)
    write(folder, "train", train.X[at] * scale)
    np.save(folder / "y.npy", _signs(cell.data, train.y)[at])
    if test is None:
        return None
    at = _rows(test.X.shape[0], n_rows)
    write(folder, "test", test.X[at] * scale)
    signs = _signs(cell.data, test.y)[at]
    np.save(folder / "y_test.npy", signs)
    return signs


def _signs(data: str, y: np.ndarray) -> np.ndarray:
    if data.endswith("%2"):
        return np.where(y.astype(np.float64) % 2 == 1, 1.0, -1.0)
    _, _, label = data.partition("=")
    return np.where(y == (float(label) if label else np.unique(y)[-1]), 1.0, -1.0)


def _gaussians() -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussians of different width around one centre: dense data, of which no two rows are alike."""
    m, d, width = GAUSSIANS
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    return rng.normal(size=(m, d)) * np.where(signs > 0, width, 1.0)[:, None], signs


def _rows(m: int, n: int | None) -> np.ndarray:
    """All rows, or n of them evenly spread."""
    return np.arange(m) if n is None or n >= m else np.unique(np.linspace(0, m - 1, n).astype(np.int64))


def write(folder: Path, part: str, X) -> None:
    """Write X as float64 CSR with int32 indices, which every side accepts."""
    X = sp.csr_matrix(X, dtype=np.float64)
    arrays = {"data": X.data, "indices": X.indices.astype(np.int32), "indptr": X.indptr.astype(np.int32)}
    for name, array in {**arrays, "shape": np.array(X.shape)}.items():
        np.save(folder / f"{part}.{name}.npy", array)
