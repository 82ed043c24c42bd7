"""The sets that most people have: the default classifiers of svmkit, scikit-learn and scikit-learn-intelex in turns.

`SVMClassifier()` and `SVC()` take turns in one process, scikit-learn-intelex in one of its own, on 75 % of the rows,
dense and sparse; the other rows are predicted. What each side reached is judged by the objective of its coefficients.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from peers_cells import write
from peers_remote import Remote, Store, read
from peers_turns import Turns, left, started

from svmkit.data import load
from svmkit.kernels.engines import engine_for
from svmkit.kernels.functions import RBF
from svmkit.model.one_vs_one import class_pairs, class_slices, columns_of

SETS = {  # name: (data, first rows)
    **{name: (name, None) for name in ("iris", "wine", "breast_cancer", "digits", "svmguide1", "a1a", "w1a")},
    **{"usps": ("usps", None), "pendigits": ("pendigits", None), "letter": ("letter.scale", None)},
    **{name: (name, None) for name in ("a9a", "w8a", "ijcnn1")},
    **{"kddcup[:50000]": ("kddcup.data_10_percent", 50_000), "mnist[:10000]": ("mnist", 10_000)},
}
STORAGES = "dense", "sparse"
SHARE = 0.75  # of the rows are trained on
FIXED = {"fit": 10, "predict": 10, "search": 3}  # turns; one of each with --repeat 1
PROCESSES = ("svc,svmkit", "intelex")


def names() -> list[str]:
    """Names of the cells, as --cells chooses them."""
    return [f"everyday_{name}" for name in SETS] + ["fixed"]


def run(store: Store, args, wanted) -> None:
    """Measure what is missing; `wanted` tells by name whether a cell was asked for."""
    every = [f"everyday_{name}" for name in SETS if wanted(f"everyday_{name}")]
    todo = [(cell, storage) for cell in every for storage in STORAGES if left(store, cell, storage)]
    fixed = wanted("fixed") and left(store, "fixed", None)
    if not todo and not fixed:
        return
    remotes = dict(started(PROCESSES, args))
    try:
        if fixed:
            _fixed(store, remotes, args)
        for cell in dict.fromkeys(cell for cell, _ in todo):
            with tempfile.TemporaryDirectory() as folder:
                facts = _prepare(cell.removeprefix("everyday_"), Path(folder), args.rows)
                for storage in (s for c, s in todo if c == cell):
                    about = {"cell": cell, "storage": storage, **facts}
                    sides = {side: (side, _params(side, args)) for side in remotes}
                    Turns(store, remotes, args, about, Path(folder)).run(sides, EverydayJudge(Path(folder)))
    finally:
        for remote in set(remotes.values()):
            remote.close()


def _params(side: str, args) -> dict[str, Any]:
    return {"solver": args.everyday} if args.everyday and side == "svmkit" else {}


def _fixed(store: Store, remotes: dict[str, Remote], args) -> None:
    store.forget(lambda r: r.get("cell") == "fixed")  # turns belong together
    for what, turns in FIXED.items():
        for k in range(turns if args.repeat > 1 else 1):
            for side, remote in remotes.items():
                answer = remote.ask("fixed", side=side, what=what, params=_params(side, args))
                store.add(cell="fixed", what=what, contender=side, side=side, repeat=k, storage=None, **answer)
    store.add(cell="fixed", what="done", side="svmkit", storage=None)


def _prepare(name: str, folder: Path, n_rows: int | None) -> dict[str, int]:
    """Write the rows to train on and to predict, chosen at random, with labels as numbers from 0."""
    source, first = SETS[name]
    data = load(source)
    m = min(data.X.shape[0], first or data.X.shape[0], n_rows or data.X.shape[0])
    order = np.random.default_rng(0).permutation(m)
    train, test = order[: int(SHARE * m)], order[int(SHARE * m) :]
    write(folder, "train", data.X[train])
    write(folder, "test", data.X[test])
    y = np.asarray(data.y)
    classes, codes = np.unique(y[train], return_inverse=True)
    np.save(folder / "y.npy", codes)
    # a class that only the test rows have is nobody's answer
    np.save(folder / "y_test.npy", np.where(np.isin(y[test], classes), np.searchsorted(classes, y[test]), -1))
    return {"m": len(train), "d": data.X.shape[1], "classes": len(classes)}


class EverydayJudge:
    """P and D of C-SVC with C = 1, summed over class pairs, and the accuracy, from coefficients in LIBSVM's layout."""

    def __init__(self, folder: Path) -> None:
        self.X, self.y = read(folder, "train"), np.load(folder / "y.npy")
        self.y_test = np.load(folder / "y_test.npy")
        self.engine = engine_for(RBF("scale").resolve(self.X), self.X)

    def facts(self, save: str) -> dict[str, float]:
        with np.load(save) as arrays:
            coef, support = arrays["coef"], arrays["support"].astype(np.int64)
            intercept, labels = arrays["intercept"], arrays["labels"]
        n, pairs = int(self.y.max()) + 1, class_pairs(int(self.y.max()) + 1)
        W = np.zeros((len(support), len(pairs)))
        for c, at in enumerate(class_slices(np.bincount(self.y[support], minlength=n))):
            W[at, columns_of(c, n)] = coef[:, at].T
        products = self.engine.product(self.engine.take(support), W)
        P = D = 0.0
        for k, (a, b) in enumerate(pairs):
            squared = float(W[:, k] @ products[support, k])
            rows = np.flatnonzero((self.y == a) | (self.y == b))
            sign = np.where(self.y[rows] == (b if n == 2 else a), 1.0, -1.0)  # a positive decision
            P += 0.5 * squared + float(np.maximum(0.0, 1.0 - sign * (products[rows, k] + intercept[k])).sum())
            D += float(np.abs(W[:, k]).sum()) - 0.5 * squared
        return {"P": P, "D": D, "n_support": len(support), "accuracy": float(np.mean(labels == self.y_test))}
