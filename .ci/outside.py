"""What the wheels have to do in an environment that has nothing else, by that environment's python, away from here.

python .ci/outside.py ROOT WHICH     ROOT: the folder of the project, of which no file may be opened
                                     WHICH: svmkit_core (then what it leaves out has to name its line), or svmkit
"""

import contextlib
import io
import json
import sys
from importlib.metadata import distribution, distributions, entry_points
from importlib.util import find_spec
from pathlib import Path

import numpy as np

ROOT = Path(sys.argv[1]).resolve()
IS_CORE = sys.argv[2] == "svmkit_core"
LEFT_OUT = ("mlflow", "matplotlib", "plotly", "jinja2", "scikit_posthocs", "pooch", "pyarrow")
NEEDING = {
    "mlflow": (["train", "iris", "--register", "mine"], ["predict", "models:/mine@best", "iris"], ["models", "list"]),
    "matplotlib": (
        ["train", "iris", "--tune", "--plot", "p.png"],
        ["evaluate", "m", "breast_cancer", "--plot", "p.png"],
    ),
    "plotly": (["compare", "iris", "--solvers", "smo", "--report", "r.html"],),
    "jinja2": (["report", "m", "breast_cancer", "--out", "r.html"],),
    "pooch": (["datasets", "fetch", "a1a"],),
    "pyarrow": (["predict", "m", "breast_cancer", "--out", "p.parquet"],),
}
opened: set[Path] = set()


def watch(event: str, args: tuple) -> None:
    """Note each file below ROOT that this process opens, but for this one."""
    if event == "open" and isinstance(args[0], str) and ROOT in (path := Path(args[0]).absolute()).parents:
        opened.add(path)


def run(*args: str) -> tuple[int, str, str]:
    """Run the command line in this process; return its exit code and what it prints on stdout and stderr."""
    from svmkit.cli import main

    code, out, err = 0, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(args))
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, out.getvalue(), err.getvalue()


def svmkit(*args: str) -> str:
    """Run a command that has to succeed; return what it prints."""
    code, out, err = run(*args)
    assert code == 0, (args, code, err)
    return out


def require_one_owner() -> None:
    """No file of ours belongs to two distributions, and only those that are to be here are."""
    ours = [each for each in distributions() if each.name.startswith("svmkit")]
    assert sorted(each.name for each in ours) == (["svmkit-core"] if IS_CORE else ["svmkit", "svmkit-core"]), ours
    owned = [str(file) for each in ours for file in each.files or ()]
    assert len(owned) == len(set(owned)), "a file belongs to both"
    (point,) = (point for point in entry_points(group="console_scripts") if point.name == "svmkit")
    assert point.dist is not None and point.dist.name == "svmkit-core"


def require_lines(of: list[str]) -> None:
    """What needs a package that is left out is refused by one line, which installs it."""
    for package in LEFT_OUT:
        assert find_spec(package) is None, f"{package} is here"
    for package in of:
        for args in NEEDING[package]:
            code, out, err = run(*args)
            line = err.strip()
            assert (code, out) == (2, "") and "\n" not in line and "Traceback" not in line, (args, code, err)
            assert "pip install" in line and package in line, (args, err)


def require_precompiled() -> None:
    """The wheel brings code for the versions that are installed here, and a first linear fit compiles nothing."""
    from svmkit_newton.many import _solve_parts

    from svmkit.runtime.lowered.precompiled import find_file

    assert find_file() is not None, "no file of lowered code is for these versions and this source"
    assert _solve_parts.overloads and not _solve_parts.stats.cache_misses, _solve_parts.stats


def main() -> None:
    """List all plugins, train on each built-in set, log, predict and check, without a file of the project."""
    require_one_owner()
    points = [p for p in distribution("svmkit-core").entry_points if p.group.startswith("svmkit.")]
    plugins = json.loads(svmkit("plugins", "--json"))
    unlisted = {p.name for p in points if p.group != "svmkit.interface"} - {row["name"] for row in plugins}
    assert not unlisted, unlisted
    broken = [row for row in plugins if row["status"] not in ("ok", "unavailable")]
    assert not broken, broken
    sets = [row["name"] for row in json.loads(svmkit("datasets", "list", "--json")) if row["origin"] == "built-in"]
    for name in sets:
        assert json.loads(svmkit("train", name, "--no-track", "--json"))["status"] == "converged", name
    how = ("--solver", "swap", "--scale", "standard", "--test-size=0.25", "--out=m", "--json")
    code, out, err = run("train", *how)
    result = json.loads(out)
    assert code == 0 and result["status"] == "converged" and result["test_accuracy"] > 0.95, result
    assert 0.0 <= result["gap"] <= 1e-3, result
    logs = Path("mlflow.db").is_file() and bool(result["run_id"])
    assert logs != IS_CORE and ("pip install mlflow" in err) == IS_CORE, (logs, err)
    assert len(svmkit("predict", "m", "breast_cancer").split()) == 569
    Path("t.csv").write_text("a,b,y\n" + "".join(f"{i % 7},{'xyz'[i % 3]},{i % 3}\n" for i in range(60)))
    assert json.loads(svmkit("train", "t.csv", "--no-track", "--json"))["train_accuracy"] == 1.0
    checks = json.loads(svmkit("check", "swap", "--json"))
    assert checks["passed"], checks
    train_by_estimator()
    require_precompiled()
    if IS_CORE:
        require_lines(list(NEEDING))
    assert not opened, sorted(map(str, opened))
    print(f"{len(plugins)} plugins, {len(sets)} sets, gap {result['gap']:.2g}, {len(checks['checks'])} checks hold")


def train_by_estimator() -> None:
    """An estimator certifies itself, is kept in a file, and predicts from it."""
    from svmkit import SVMClassifier
    from svmkit.model.model import SVMModel

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0.0, "yes", "no")
    SVMClassifier(kernel="linear").fit(X, y)
    fitted = SVMClassifier(C=10.0).fit(X, y)
    assert fitted.gap_ <= 1e-3 and fitted.score(X, y) > 0.95
    fitted.model_.save("e")
    assert (SVMModel.load("e").predict(X) == fitted.predict(X)).all()


if __name__ == "__main__":
    sys.addaudithook(watch)
    main()
