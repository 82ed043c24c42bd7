"""The code of first fits, as lowered and as machine code, for the wheel: docs/engine.md, "First use".

python .ci/precompile.py OUT     by a python that has the wheel of svmkit-core, with an empty $NUMBA_CACHE_DIR

It does what people do first, on tiny data and in one process, and keeps what numba compiled meanwhile in OUT.
"""

import contextlib
import io
import sys
import tempfile
import warnings
from importlib.metadata import entry_points
from pathlib import Path

ROWS = (300, 1500, 5000)  # computed by numpy, searched over, and too many for either
COMMANDS = (
    ("train", "--solver", "swap", "--scale", "standard", "--test-size", "0.25", "--out", "m"),
    ("predict", "m", "breast_cancer"),
    ("train", "iris"),
    ("train", "breast_cancer", "--solver", "smo"),
    ("train", "breast_cancer", "--kernel", "linear"),
    ("train", "breast_cancer", "--tune"),
    ("train", "diabetes"),
    *(("train", f"{task}-{rows}.csv", "--label", "y", *more)
      for task in ("classes", "three", "numbers") for rows in ROWS for more in ((), ("--kernel", "linear"))),
    *(("train", f"{task}-300.csv", "--label", "y", "--tune") for task in ("classes", "three", "numbers")),
    *(("train", f"{task}-{rows}.svm", *more)
      for task in ("classes", "numbers") for rows in ROWS for more in ((), ("--kernel", "linear"))),
)  # fmt: skip


def run(*args: str) -> None:
    """Run the command line in this process; say when it fails."""
    from svmkit.cli import main

    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(list(args))
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"svmkit {' '.join(args)}: {err.getvalue()}") from None


def write_tables() -> None:
    """Write tables of numbers and texts, and files of sparse rows, for each task and number of rows."""
    import numpy as np

    rng = np.random.default_rng(0)
    for rows in ROWS:
        X = rng.normal(size=(rows, 6)).round(3)
        score = X.sum(1) + X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=rows)
        labels = {"classes": (score > 0) * 1, "three": np.digitize(score, (-1, 1)), "numbers": score.round(3)}
        texts = rng.choice(["Bern", "Oslo", "Rome"], size=rows)
        for task, y in labels.items():
            lines = (f"{','.join(map(str, x))},{text},{label}" for x, text, label in zip(X, texts, y, strict=True))
            Path(f"{task}-{rows}.csv").write_text("a,b,c,d,e,f,city,y\n" + "\n".join(lines) + "\n")
            pairs = (" ".join(f"{j + 1}:{value}" for j, value in enumerate(x) if (i + j) % 3) for i, x in enumerate(X))
            lines = (f"{label} {row}" for row, label in zip(pairs, y, strict=True))
            Path(f"{task}-{rows}.svm").write_text("\n".join(lines) + "\n")


def fit_estimators() -> None:
    """Fit and predict by estimators, on dense and sparse rows of both precisions."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.datasets import load_breast_cancer, load_diabetes

    from svmkit import SVMClassifier, SVMOneClass, SVMRegressor

    for load, kinds in ((load_breast_cancer, (SVMClassifier, SVMOneClass)), (load_diabetes, (SVMRegressor,))):
        X, y = load(return_X_y=True)
        X = (X - X.mean(0)) / X.std(0)
        for stored in (X, X.astype(np.float32), sp.csr_array(X)):
            for kind in kinds:
                for kernel in ("linear", "rbf"):
                    kind(kernel=kernel).fit(stored, y).predict(stored)


def main(out: str) -> None:
    """Do it all, and write the file."""
    from svmkit.runtime.lowered.recording import record, write

    folder = Path(out).absolute()
    points = [
        point for group in entry_points().groups if group.startswith("svmkit.") for point in entry_points(group=group)
    ]
    ours = {point.module.partition(".")[0] for point in points if point.dist and point.dist.name.startswith("svmkit")}
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work), record():
        warnings.simplefilter("ignore")
        write_tables()
        for command in COMMANDS:
            run(*command, *(("--no-track",) if command[0] == "train" else ()))
        fit_estimators()
        path = write(folder, sorted(ours))
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
