"""The probabilities of SVMClassifier beside those of scikit-learn's SVC: log loss, Brier score, accuracy and seconds.

    python examples/benchmarks/probabilities.py

Five sets, 40% of each held out, standardised (digits and a1a as they are), C = 1 and the same gamma. Both train five
folds; each number is the mean over three seeds of the folds.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmkit import SVMClassifier
from svmkit.data import load

SEEDS = range(3)
SETS = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}


def parts(name: str):
    """Return X and y to train on and to test on."""
    if name == "a1a":
        data = load("a1a")
        return train_test_split(data.X, data.y, random_state=0, stratify=data.y, test_size=0.4)
    X, y = SETS[name](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y, test_size=0.4)
    if name == "digits":
        return X / 16.0, X_test / 16.0, y, y_test
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test), y, y_test


def measured(model, X, X_test, y, y_test) -> list[float]:
    """Return log loss, Brier score, accuracy and seconds."""
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    p = model.predict_proba(X_test)
    hits = np.asarray(y_test)[:, None] == model.classes_
    brier = np.square(p - hits).sum(axis=1).mean() * (0.5 if len(model.classes_) == 2 else 1.0)
    return [log_loss(y_test, p, labels=model.classes_), brier, float((model.predict(X_test) == y_test).mean()), seconds]


def main() -> None:
    warnings.filterwarnings("ignore", category=FutureWarning)
    SVMClassifier(calibration="sigmoid").fit(*load_iris(return_X_y=True))  # compile
    SVMClassifier(calibration="sigmoid").fit(*load_breast_cancer(return_X_y=True))
    print("| set | | log loss | Brier score | accuracy | seconds |\n|---|---|---|---|---|---|")
    for name in (*SETS, "a1a"):
        X, X_test, y, y_test = parts(name)
        gamma = 1.0 / X.shape[1]
        models = {
            "SVC(probability=True)": lambda seed: SVC(gamma=gamma, probability=True, random_state=seed),  # noqa: B023
            "sigmoid": lambda seed: SVMClassifier(gamma=gamma, calibration="sigmoid", random_state=seed),  # noqa: B023
            "isotonic": lambda seed: SVMClassifier(gamma=gamma, calibration="isotonic", random_state=seed),  # noqa: B023
        }
        for title, made in models.items():
            found = np.mean([measured(made(seed), X, X_test, y, y_test) for seed in SEEDS], axis=0)
            loss, brier, right, seconds = found.tolist()
            print(f"| {name} | {title} | {loss:.4f} | {brier:.4f} | {right:.2%} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
