"""
Outliers
========

Find outliers with one-class SVMs: SVMOneClass (squared slacks) beside LIBSVM (scikit-learn's OneClassSVM).

.. code-block:: sh

    python examples/benchmarks/one_class.py [--nu 0.1 0.01] [--out outliers.png]

The models are trained on normal rows and score normal and other rows, with the same gamma and nu. The table shows the
area under the ROC curve, seconds for fitting and scoring, support vectors, and the fraction of the training rows that
predict calls outliers; the picture shows the decisions of SVMOneClass. The sets come from $SVMKIT_DATA (without it,
scikit-learn's digits): digit 0 of usps against the other nine digits in usps.t, and the first 20,000 normal connections
of kddcup.data_10_percent against 20,000 other normal connections and 20,000 attacks. scikit-learn's score_samples
subtracts an offset and adds it again, which makes the scores of all distant rows equal: its AUC on the connections is
0.975 for nu 0.1 and 0.984 for 0.01 with score_samples, and 0.985 for both with the sums of kernel values.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

import svmkit
from svmkit.cli.extending import warming
from svmkit.data.prepare.scaling import Scaling
from svmkit.kernels.gamma import resolve_gamma

TRAIN, TEST = 20_000, 20_000  # rows of the connections: to train, of each kind to test


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nu", type=float, nargs="+", default=[0.1, 0.01])
    parser.add_argument("--out", default="outliers.png", help="picture to write: .png, .svg or .pdf")
    args = parser.parse_args()
    for _, work in warming.steps(["auto"]):
        work()
    panels = []
    for title, X, X_test, normal in sets():
        gamma = resolve_gamma("scale", X)
        print(f"\n{title}: {X.shape[0]:,} rows to train, {X_test.shape[0]:,} to test, gamma {gamma:.4g}\n")
        print("| model | nu | AUC | fit s | score s | support | outliers in training |\n|---|---|---|---|---|---|---|")
        for nu in args.nu:
            for model in (
                svmkit.SVMOneClass(nu=nu, gamma=gamma),
                OneClassSVM(nu=nu, gamma=gamma, cache_size=1000),
            ):
                print(row(model, nu, X, X_test, normal), flush=True)
        panels.append((title, svmkit.SVMOneClass(nu=args.nu[0], gamma=gamma).fit(X).decision_function(X_test), normal))
    draw(args.out, panels)
    print(f"\nsee {args.out}")


def draw(path: str, panels: list) -> None:
    """Draw the decisions of normal and of other rows, a panel for each set."""
    figure = Figure(figsize=(6 * len(panels), 4), layout="constrained")
    for axes, (title, decision, normal) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.hist([decision[normal], decision[~normal]], bins=40, stacked=True, label=["normal", "other"])
        axes.set(title=title, xlabel="decision: outliers are below 0", ylabel="rows to test", yscale="log")
        axes.legend()
    figure.savefig(path, dpi=150)


def sets():
    """(title, X to train, X to test, whether those are normal) of each set."""
    try:
        train, test = svmkit.load("usps"), svmkit.load("usps.t")
    except svmkit.InputError:
        digits = svmkit.load("digits")
        half = np.arange(len(digits.y)) % 2 == 0
        yield "digits, 0", digits.X[half & (digits.y == 0)], digits.X[~half], digits.y[~half] == 0
        return
    yield "usps, digit 0", train.X[train.y == 1], test.X, test.y == 1  # the file counts classes from 1
    try:
        kdd = svmkit.load("kddcup.data_10_percent")
    except svmkit.InputError:
        return
    normal = np.flatnonzero(kdd.y == "normal.")
    rng = np.random.default_rng(0)
    rest = rng.choice(normal[TRAIN:], TEST, replace=False)
    attacks = rng.choice(np.flatnonzero(kdd.y != "normal."), TEST, replace=False)
    X, X_test = kdd.X[normal[:TRAIN]].toarray(), kdd.X[np.r_[rest, attacks]].toarray()
    scaling = Scaling.fit("standard", X)
    yield "kddcup, normal connections", scaling.apply(X), scaling.apply(X_test), np.arange(2 * TEST) < TEST


def row(model, nu: float, X, X_test, normal: np.ndarray) -> str:
    began = time.perf_counter()
    model.fit(X)
    fitted = time.perf_counter()
    auc = roc_auc_score(normal, model.score_samples(X_test))
    scored = time.perf_counter()
    outliers = np.mean(model.predict(X) < 0)
    return (
        f"| {type(model).__name__} | {nu:g} | {auc:.4f} | {fitted - began:.2f} | {scored - fitted:.2f} "
        f"| {len(model.support_):,} | {outliers:.1%} |"
    )


if __name__ == "__main__":
    main()
