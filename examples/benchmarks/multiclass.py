"""Compare one-versus-one training and prediction with LIBSVM (SVC) and scikit-learn-intelex on more than two classes.

    python examples/benchmarks/multiclass.py mnist --sides fcsmo,svc,intelex --python intelex=envs/intelex/bin/python

Every side has a process of its own, and they run in turns; the clock starts when the data are loaded and the code is
compiled (by a small fit). Columns are divided by the largest value of the whole set.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

WARM = 600  # rows of the small fit
DEFAULTS = {"mnist": (10.0, 0.02), "letter.scale": (10.0, 1.0), "pendigits": (10.0, 2.0), "usps": (10.0, 0.01)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["mnist"], help="names of sets with a test set: default mnist")
    parser.add_argument("--sides", default="fcsmo,svc", help="solvers of svmkit, svc, intelex")
    parser.add_argument("--python", action="append", default=[], metavar="SIDE=PATH", help="interpreter of a side")
    parser.add_argument("--rows", type=int, help="that many of the training rows")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds for a side (default 3600)")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        print(json.dumps(measured(args.side, *args.data)))
        return
    paths = dict(given.split("=", 1) for given in args.python)
    for name in args.data:
        C, gamma = DEFAULTS.get(name, (10.0, 1.0))
        print(f"{name}, C={C:g}, gamma={gamma:g}, median of {args.repeat}")
        with tempfile.TemporaryDirectory() as folder:
            store(name, args.rows, folder)
            sides = args.sides.split(",")
            runs: dict[str, list[dict]] = {side: [] for side in sides}
            for _ in range(args.repeat):
                for side in sides:
                    call = [paths.get(side, sys.executable), __file__, folder, str(C), str(gamma), "--side", side]
                    try:
                        done = subprocess.run(call, capture_output=True, text=True, check=True, timeout=args.limit)
                    except subprocess.TimeoutExpired:
                        print(f"{side}: not done after {args.limit:g} s", flush=True)
                        continue
                    runs[side].append(json.loads(done.stdout.splitlines()[-1]))
                    print(side, runs[side][-1], file=sys.stderr, flush=True)
            report({side: found for side, found in runs.items() if found})


def report(runs: dict[str, list[dict]]) -> None:
    first = next(iter(runs))
    print("| side | train s | ratio of ours | predict s | ratio of ours | test % | vectors | million values |")
    print("|---|---|---|---|---|---|---|---|")
    for side, found in runs.items():
        cells = [side]
        for what in ("train", "predict"):
            middle = statistics.median(run[what] for run in found)
            ratios = [ours[what] / run[what] for ours, run in zip(runs[first], found, strict=False)]
            cells += [f"{middle:.2f}", f"{statistics.median(ratios):.3f}"]
        cells += [f"{100 * found[0]['accuracy']:.2f}", f"{found[0]['vectors']:,}", f"{found[0]['values'] / 1e6:,.0f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


def store(name: str, rows: int | None, folder: str) -> None:
    """Write the train and test set as arrays that any interpreter can read."""
    from svmkit.data import load

    train = load(name)
    test = load(f"{name}.t", n_features=train.X.shape[1])
    most = abs(train.X).max()
    for part, data in (("train", train), ("test", test)):
        X = sp.csr_matrix(data.X)[: rows if part == "train" else None] / most
        sp.save_npz(Path(folder, f"{part}.npz"), X)
        np.save(Path(folder, f"{part}.npy"), np.asarray(data.y)[: X.shape[0]].astype(np.float64))


def measured(side: str, folder: str, C: str, gamma: str) -> dict:
    """Train and predict once, after a small fit."""
    (X, y), (T, z) = (
        (sp.load_npz(Path(folder, f"{part}.npz")), np.load(Path(folder, f"{part}.npy"))) for part in ("train", "test")
    )
    if side in ("svc", "intelex"):
        if side == "intelex":
            from sklearnex.svm import SVC
        else:
            from sklearn.svm import SVC
        model = SVC(C=float(C), gamma=float(gamma), cache_size=1000)
    else:
        from svmkit import SVMClassifier

        model = SVMClassifier(side, C=float(C), kernel="rbf", gamma=float(gamma), memory="1GB")
    if X.shape[1] < 100:
        X, T = X.toarray(), T.toarray()
    model.fit(X[:WARM], y[:WARM]).predict(T[:WARM])
    times = [time.perf_counter()]
    model.fit(X, y)
    times.append(time.perf_counter())
    labels = model.predict(T)
    times.append(time.perf_counter())
    vectors = int(np.sum(getattr(model, "n_support_", 0)))
    return {
        "train": times[1] - times[0],
        "predict": times[2] - times[1],
        "accuracy": float(np.mean(labels == z)),
        "vectors": vectors,
        "values": sum(history[-1].kernel_values for history in getattr(model, "history_", [])),
    }


if __name__ == "__main__":
    main()
