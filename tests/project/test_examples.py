"""Every program of examples/ runs as a script, and its closing line says what its text claims."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.doc_blocks import ROOT

NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
QUICK = ("choose_c", "rare_class")

# What the last line of an example says, and what must hold of its numbers
CLOSING = {
    "batch_job": (
        f"falls from {NUMBER} to {NUMBER}; .* {NUMBER} of",
        lambda a, b, share: a >= b <= 1e-3 and 0 < share <= 1,  # a fast machine may be done before the signal
    ),
    "choose_c": (
        f"accuracy {NUMBER}, .* {NUMBER}; steps saved {NUMBER}%",
        lambda a, b, s: a > 0.97 > 0.93 > b and s > 40,
    ),
    "churn": (r"churn\.csv$", lambda: True),
    "dask_cluster": (f"agree on {NUMBER} of", lambda share: share > 0.99),
    "minimum_enclosing_ball": (f"{NUMBER}", lambda _: True),  # it asserts for itself that no point is outside
    "novelty_in_logs": (f"found {NUMBER} .* {NUMBER} of", lambda found, alarms: found > 0.9 and alarms < 0.02),
    "own_solver": (f"takes {NUMBER} times", lambda ratio: ratio > 2),
    "rare_class": (f"rises from {NUMBER} to {NUMBER}", lambda a, b: a < 0.7 < 0.9 < b),
    "register_and_serve": (r"refused; the server answers \['setosa', 'virginica'\]", lambda: True),
    "regression": (r"picture: regression\.png$", lambda: True),
    "sparse_text": (f"accuracy {NUMBER}, .* {NUMBER}", lambda a, largest: a > 0.9 and largest < 0.4),
    "stream_from_a_pipe": (
        f"accuracy {NUMBER} .* {NUMBER} from",
        lambda pipe, file: pipe > 0.9 and pipe > file - 0.05,
    ),
    "string_kernel": (f"rises from {NUMBER} to {NUMBER}", lambda a, b: a < 0.75 < 0.8 < b),
}
SHORT = {"minimum_enclosing_ball": ("--limit", "0.2", "--tol", "1e-2")}
ELSEWHERE = {"plot_history"}  # tests/project/test_plotting.py
NAMES = sorted({file.stem for file in (ROOT / "examples").glob("*.py")} - ELSEWHERE)


def test_the_closing_line_of_every_example_is_known():
    assert list(CLOSING) == NAMES


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in NAMES]
)
@pytest.mark.slow
def test_an_example_keeps_what_it_says(name, tmp_path):
    if name == "dask_cluster":
        pytest.importorskip("distributed", reason="needs pip install 'svmkit[dask]'")
    env = {key: value for key, value in os.environ.items() if key != "SVMKIT_DATA"}
    env |= {"MPLBACKEND": "Agg", "PYTHONPATH": os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path)}
    script = [sys.executable, ROOT / "examples" / f"{name}.py", *SHORT.get(name, ())]
    with (tmp_path / "stdout").open("w") as out, (tmp_path / "stderr").open("w") as err:
        done = subprocess.run(
            script, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=tmp_path, env=env, timeout=280
        )
    assert done.returncode == 0, (tmp_path / "stderr").read_text()[-2000:]
    said, holds = CLOSING[name]
    last = (tmp_path / "stdout").read_text().rstrip().splitlines()[-1]
    found = re.search(said, last)
    assert found and holds(*map(float, found.groups())), last
