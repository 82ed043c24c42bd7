"""Runs of peers and of ours, certified row by row: `python examples/referee/gallery.py [--only TEXT] [--markdown]`.

The rows stand in cases.yaml beside this file. A row whose package is not installed says so. Nothing is downloaded.
"""

import argparse
import importlib
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler

from svmkit import InputError, certify

CASES = Path(__file__).with_name("cases.yaml")
SETS = {"breast_cancer": load_breast_cancer, "iris": load_iris, "diabetes": load_diabetes}
FAR = 1000.0  # by which all columns are moved
SECONDS = 10.0  # for our solver, which proves the bound


class Row(NamedTuple):
    """What became of a case."""

    name: str
    status: str  # "judged", "not installed" or "failed"
    said: str = ""  # converged, not converged, or nothing
    gap: float | None = None
    gain: float | None = None
    score: float | None = None
    polished_score: float | None = None
    note: str = ""
    issue: str = ""


def make_overlapping() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two classes that no kernel separates well, a tenth of them with the other label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0.0).astype(int)
    return X, np.where(rng.random(300) < 0.1, 1 - y, y)


def load_rows(words: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and answers that a case names, such as "breast_cancer scaled float32"."""
    name, *how = words.split()
    if name == "overlapping":
        X, y = make_overlapping()
    elif name == "duplicates":
        X, y = load_rows("breast_cancer scaled")
        X, y = np.concatenate([X, X[::2]]), np.concatenate([y, 1 - y[::2]])
    else:
        X, y = SETS[name](return_X_y=True)
    if "scaled" in how or "far" in how:
        X = StandardScaler().fit_transform(X) + (FAR if "far" in how else 0.0)
        y = (y - y.mean()) / y.std() if name == "diabetes" else y
    return (X.astype(np.float32) if "float32" in how else X), y


def train_by_command(case: dict[str, Any], X: np.ndarray, y: np.ndarray, folder: str) -> str:
    """Return the path of the model that svm-train or LIBLINEAR has written."""
    program, *options = case["command"].split()
    data, model = f"{folder}/rows.svm", f"{folder}/its.model"
    if program == "liblinear":
        peer = importlib.import_module(case["package"])
        trained = peer.train(y.astype(float), X, " ".join(options))
        peer.save_model(model, trained)
        return model
    dump_svmlight_file(X, y, data, zero_based=False)
    subprocess.run([program, *options, data, model], check=True, capture_output=True)
    return model


def is_installed(case: dict[str, Any]) -> bool:
    """Return whether the peer of a case can be called."""
    if "command" in case and "package" not in case:
        return shutil.which(case["command"].split()[0]) is not None
    package = case.get("package") or case["peer"]
    try:
        importlib.import_module(package if "package" in case else package.rpartition(".")[0])
    except ImportError:
        return False
    return True


def judge(case: dict[str, Any]) -> Row:
    """Train the peer of a case, and certify the result."""
    name, issue = case["name"], case.get("issue") or ""
    if not is_installed(case):
        return Row(name, "not installed", issue=issue)
    X, y = load_rows(case["data"])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if "command" in case:
                model: Any = train_by_command(case, X, y, folder)
            else:
                package, _, kind = case["peer"].rpartition(".")
                model = getattr(importlib.import_module(package), kind)(**case.get("options", {})).fit(X, y)
            verdict = certify(model, X, y, time_limit=SECONDS, **case.get("told", {}))
        except (ValueError, InputError) as error:
            return Row(name, "failed", note=str(error).splitlines()[0], issue=issue)
    said = {None: "", True: "converged", False: "not converged"}[verdict.claim.converged]
    if not said and hasattr(model, "status_"):
        said = str(model.status_)
    scores = verdict.score, verdict.polished_score
    return Row(name, "judged", said, verdict.gap, verdict.gain, *scores, note=verdict.flaw or "", issue=issue)


def read_cases() -> list[dict[str, Any]]:
    """Return the cases of cases.yaml."""
    return yaml.safe_load(CASES.read_text(encoding="utf-8"))


def number(value: float | None, form: str = ".2g") -> str:
    return "" if value is None else format(value, form)


def cells(row: Row) -> list[str]:
    """Return what is shown of a row."""
    if row.status != "judged":
        return [row.name, row.status, "", "", "", row.note]
    gap = "no bound" if row.gap is None else number(row.gap)
    scores = f"{number(row.score, '.4g')} / {number(row.polished_score, '.4g')}"
    return [row.name, row.said or "says nothing", gap, number(row.gain) or "not needed", scores, row.note]


def show(row: Row, markdown: bool) -> str:
    """Return the line of a row."""
    if not markdown:
        return "  ".join(cell.ljust(width) for cell, width in zip(cells(row), (62, 14, 9, 11, 17, 0), strict=True))
    parts = row.issue.split("/")
    thread = f"[{parts[4]} {parts[-1]}]({row.issue})" if row.issue else ""
    return "| " + " | ".join([*cells(row)[:-1], thread]) + " |"


def main() -> None:
    """Judge all cases and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--markdown", action="store_true", help="a table for docs/referee.md")
    options = parser.parse_args()
    chosen = [case for case in read_cases() if options.only in case["name"]]
    head = ["run", "it says", "gap", "a polish gains", "score / polished", "note"]
    if options.markdown:
        print("| " + " | ".join([*head[:-1], "thread"]) + " |\n" + "|---" * len(head) + "|")
    rows = []
    for case in chosen:
        rows.append(judge(case))
        print(show(rows[-1], options.markdown), flush=True)
    judged = sum(row.status == "judged" for row in rows)
    print(f"\n{judged} of {len(rows)} runs judged, {sum(row.status == 'not installed' for row in rows)} not installed")


if __name__ == "__main__":
    main()
