"""Compare prediction with SVC.predict of LIBSVM and, if installed, of scikit-learn-intelex, in turns.

    python examples/benchmarks/prediction.py a9a ijcnn1 letter.scale mnist

DATA are names of sets that are listed below with their C and gamma, or NAME:C:GAMMA; the rows of NAME.t are predicted,
in the storage in which they are loaded. SVC is trained once, off the clock, and our model is the same one, so that
decisions can be compared; scikit-learn-intelex trains its own model. Times are medians of calls of predict in
alternation, after first calls that compile. The last column is the growth of resident memory during a call of ours.
Labels of more than two classes can differ if votes tie: SVC takes the first class, ours the larger sum of margins.
Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from decomposition import CACHE, intelex, with_int32_indices
from sklearn.svm import SVC

from svmkit.data import load
from svmkit.kernels.functions import RBF
from svmkit.model.model import SVMModel

SETS = {"a9a": (1.5, 1 / 200), "ijcnn1": (5.0, 0.194), "letter.scale": (8.0, 1.0), "mnist": (10.0, 0.02)}
SCALE = {"mnist": 255.0}  # divides all values
COLUMNS = (
    "data",
    "rows",
    "SVs",
    "classes",
    "ours s",
    "ns a value",
    "SVC s",
    "ours / SVC",
    "intelex s",
    "ours / intelex",
    "labels as SVC %",
    "decisions differ by",
    "MB more",
)


class Task(NamedTuple):
    """A training set and the rows to predict."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    C: float
    gamma: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--repeat", type=int, default=3, help="calls of each, in turns (default 3)")
    parser.add_argument("--rows", type=int, help="train on the first ROWS rows only")
    args = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|")
    for text in args.data:
        print(line(read(text, args.rows), args.repeat), flush=True)


def read(text: str, n: int | None) -> Task:
    name, *numbers = text.split(":")
    C, gamma = (float(number) for number in numbers) if numbers else SETS[name]
    train = load(name)
    test = load(f"{name}.t", n_features=train.n_features)  # the last columns may be empty there
    X, X_test = (with_int32_indices(X) / SCALE.get(name, 1.0) for X in (train.X, test.X))
    return Task(name, X[:n], train.y[:n], X_test, C, gamma)


def ours(svc: SVC, task: Task) -> SVMModel:
    """The model that SVC found."""
    coef = svc.dual_coef_.toarray() if sp.issparse(svc.dual_coef_) else svc.dual_coef_
    return SVMModel(
        kernel=RBF(task.gamma),
        classes=svc.classes_,
        vectors=svc.support_vectors_,
        n_support=svc.n_support_.astype(np.int64),
        coef=np.ascontiguousarray(coef, dtype=np.float64),
        intercept=np.asarray(svc.intercept_, dtype=np.float64).ravel(),
        n_features=task.X.shape[1],
    )


def line(task: Task, repeat: int) -> str:
    options = {"C": task.C, "gamma": task.gamma, "cache_size": CACHE, "decision_function_shape": "ovo"}
    svc, kind = SVC(**options).fit(task.X, task.y), intelex()
    model, rows = ours(svc, task), task.X_test
    contenders: dict[str, Callable[[Any], np.ndarray]] = {"ours": model.predict, "SVC": svc.predict}
    if kind is not None:
        contenders["intelex"] = kind(**options).fit(task.X, task.y).predict
    times: dict[str, list[float]] = {label: [] for label in contenders}
    labels = {}
    for predict in contenders.values():
        predict(rows[:300])
    for _ in range(repeat):
        for label, predict in contenders.items():
            began = time.perf_counter()
            labels[label] = predict(rows)
            times[label].append(time.perf_counter() - began)
    seconds = {label: median(each) for label, each in times.items()}
    difference = np.abs(model.decision_function(rows[:2000]) - svc.decision_function(rows[:2000])).max()
    values = rows.shape[0] * model.vectors.shape[0]
    cells = (
        task.name,
        f"{rows.shape[0]:,}",
        f"{model.vectors.shape[0]:,}",
        str(len(model.classes)),
        f"{seconds['ours']:.2f}",
        f"{1e9 * seconds['ours'] / values:.2f}",
        f"{seconds['SVC']:.2f}",
        f"{seconds['ours'] / seconds['SVC']:.3f}",
        f"{seconds['intelex']:.2f}" if kind else "",
        f"{seconds['ours'] / seconds['intelex']:.2f}" if kind else "",
        f"{100 * np.mean(labels['ours'] == labels['SVC']):.2f}",
        f"{difference:.0e}",
        growth(lambda: model.predict(rows)),
    )
    return "| " + " | ".join(cells) + " |"


def growth(action: Callable[[], Any]) -> str:
    """The largest growth of resident memory during `action` in MB, sampled every few milliseconds (Linux)."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return ""
    done, seen = threading.Event(), []

    def look() -> None:
        while not done.wait(0.002):
            seen.append(resident())

    def resident() -> float:
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 2**20

    before, watch = resident(), threading.Thread(target=look)
    watch.start()
    action()
    done.set()
    watch.join()
    return f"{max(seen, default=before) - before:.0f}"


if __name__ == "__main__":
    main()
