"""Epsilon-SVR with the RBF kernel: `SVMRegressor`, scikit-learn's `SVR` and that of scikit-learn-intelex in turns.

Each trains on 75 % of the rows, with the same C, epsilon and gamma, and predicts the others. The peers stop at their
tolerance of 1e-3, `SVMRegressor` at a certified gap of 1e-3, which is its default, and at the tolerance of the peers.
P and D of all results are those of svmkit's certificate at the weights that a side returned.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from peers_cells import write
from peers_regression_sets import SETS, Missing
from peers_remote import Store, read
from peers_turns import Contenders, Turns, left, started

from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.problems.tube import TubeQP

SHARE = 0.75  # of the rows are trained on
PROCESSES = ("svr,regressor", "intelex_svr")
TOL = 1e-3
OURS, TIGHT, LIBSVM, INTELEX = "SVMRegressor()", "SVMRegressor, kkt 1e-3", "SVR", "intelex"
SLOW = 20_000  # rows from which on LIBSVM takes minutes, and is left out


def names() -> list[str]:
    """Names of the cells, as --cells chooses them."""
    return [f"regression_{name}" for name in SETS]


def run(store: Store, args, wanted) -> None:
    """Measure what is missing; `wanted` tells by name whether a cell was asked for."""
    cells = [(cell, SETS[name]) for name, cell in zip(SETS, names(), strict=True) if wanted(cell)]
    todo = [(cell, kind, storage) for cell, kind in cells for storage in kind.storages if left(store, cell, storage)]
    if not todo:
        return
    remotes = dict(started(PROCESSES, args))
    try:
        for cell, kind, storage in todo:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    X, t = kind.load(args.packages)
                except Missing as missing:
                    print(f"{cell} is left out: {missing}", file=sys.stderr)
                    continue
                facts = _prepare(X, t, Path(folder), min(kind.most, args.rows or kind.most))
                given = {"C": kind.C, "epsilon": kind.epsilon, "gamma": facts["gamma"]}
                contenders = {name: one for name, one in _contenders(given, facts["m"]).items() if one[0] in remotes}
                about = {"cell": cell, "storage": storage, **given, **facts}
                Turns(store, remotes, args, about, Path(folder)).run(contenders, TubeJudge(Path(folder), **given), OURS)
    finally:
        for remote in set(remotes.values()):
            remote.close()


def _contenders(given: dict[str, float], m: int) -> Contenders:
    peer = {**given, "tol": TOL, "cache_size": 1000}
    libsvm: Contenders = {LIBSVM: ("svr", peer)} if m <= SLOW else {}
    ours: Contenders = {OURS: ("regressor", given), TIGHT: ("regressor", {**given, "stop": f"kkt:{TOL}"})}
    return {**libsvm, INTELEX: ("intelex_svr", peer), **ours}


def _prepare(X, t: np.ndarray, folder: Path, most: int) -> dict[str, float]:
    """Write the rows to train on and to predict, chosen at random, with their targets."""
    order = np.random.default_rng(0).permutation(len(t))[:most]
    train, test = np.split(order, [int(SHARE * len(order))])
    write(folder, "train", X[train])
    write(folder, "test", X[test])
    np.save(folder / "y.npy", t[train])
    np.save(folder / "y_test.npy", t[test])
    return {"m": len(train), "d": X.shape[1], "gamma": float(RBF("scale").resolve(X[train]).gamma)}


class TubeJudge:
    """P and D of epsilon-SVR from coefficients in LIBSVM's layout, and R2 on the test rows."""

    def __init__(self, folder: Path, C: float, epsilon: float, gamma: float) -> None:
        self.problem = TubeQP(Gram(RBF(gamma), read(folder, "train")), np.load(folder / "y.npy"), C, epsilon)
        self.t_test = np.load(folder / "y_test.npy")

    def facts(self, save: str) -> dict[str, float]:
        with np.load(save) as arrays:
            point = np.zeros(self.problem.m)
            point[arrays["support"].astype(np.int64)] = arrays["coef"][0]
            predicted = arrays["labels"]
        if self.problem.infeasible(point) is not None:  # rounded to float32
            balanced = self.problem.start(point)
            point = point if balanced is None else balanced
        certificate = self.problem.certificate(point)
        off = float(np.mean(np.square(predicted - self.t_test)) / self.t_test.var())
        n_support = int(np.count_nonzero(point))
        return {"P": certificate.primal, "D": certificate.dual, "n_support": n_support, "r2": 1.0 - off}
