"""First fits with an empty cache, from the wheel: docs/engine.md, "First use".

python examples/benchmarks/first_fit.py              builds the wheel, and installs it into a scratch environment
python examples/benchmarks/first_fit.py --python PY  measures the svmkit of this Python

Each fit is a process of its own, with the bytecode of all packages written before.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIT = """
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from svmkit import SVMClassifier, SVMOneClass, SVMRegressor
X, y = {load}(return_X_y=True)
{estimator}.fit((X - X.mean(0)) / X.std(0), y)
"""
FITS = {
    "rbf": ("load_breast_cancer", "SVMClassifier()"),
    "linear": ("load_breast_cancer", "SVMClassifier(kernel='linear')"),
    "regression": ("load_diabetes", "SVMRegressor()"),
    "three classes": ("load_iris", "SVMClassifier()"),
    "one class": ("load_breast_cancer", "SVMOneClass()"),
}
TABLE = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 6)).round(3)
y = X.sum(1) + rng.normal(size=1000) > 0
texts = rng.choice(["Bern", "Oslo", "Rome"], size=1000)
lines = (f"{','.join(map(str, x))},{text},{label}" for x, text, label in zip(X, texts, y))
open("table.csv", "w").write("a,b,c,d,e,f,city,label\\n" + "\\n".join(lines))
"""
COMMAND = "svmkit train FILE.csv"


def install_wheel(work: Path) -> Path:
    """Build the wheel as a release does, with the code of first fits; return the Python that it is installed for."""
    python = work / "environment" / "bin" / "python"
    run = subprocess.check_call
    run([sys.executable, ROOT / ".ci" / "distributions.py", work / "trees"])
    run([sys.executable, "-m", "venv", work / "environment"])
    tree = work / "trees" / "svmkit_core"
    run([python, "-m", "pip", "install", "-q", tree])
    run(
        [python, ROOT / ".ci" / "precompile.py", tree / "svmkit" / "precompiled"],
        cwd=work,
        env=os.environ | {"NUMBA_CACHE_DIR": str(work / "lowering")},
    )
    run([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", work / "wheel", tree])
    (wheel,) = (work / "wheel").iterdir()
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
    run([python, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", wheel])
    return python


def measure(command: list, work: Path) -> tuple[float, float]:
    """Return wall and processor seconds of a process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(work / "cache")}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=work, env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure each fit with an empty cache and with a filled one, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, help="of an environment that has svmkit")
    parser.add_argument("--repeat", type=int, default=3, help="turns, of which the least counts")
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        python = given.python.absolute() if given.python else install_wheel(work)
        subprocess.check_call([python, "-c", TABLE], cwd=work)
        commands = {name: [python, "-c", FIT.format(load=load, estimator=made)] for name, (load, made) in FITS.items()}
        commands[COMMAND] = [python.parent / "svmkit", "train", "table.csv", "--label", "label", "--no-track"]
        print(
            "| | wall, cache empty | processor, cache empty | wall, filled | processor, filled |\n|---|---|---|---|---|"
        )
        for name, command in commands.items():
            measure(command, work)  # writes bytecode
            turns = []
            for _ in range(given.repeat):
                shutil.rmtree(work / "cache", ignore_errors=True)
                turns.append(measure(command, work) + measure(command, work))
            least = " | ".join(f"{min(column):.2f}" for column in zip(*turns, strict=True))
            print(f"| {name} | {least} |", flush=True)


if __name__ == "__main__":
    main()
