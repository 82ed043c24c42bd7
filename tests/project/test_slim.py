"""svmkit-core: what it leaves out is imported where it is used only, and named, with a line that installs it."""

import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from svmkit import plugins
from svmkit.errors import InputError, Unavailable
from svmkit.runtime.packages import require_installed

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
MADE = runpy.run_path(str(ROOT / ".ci" / "distributions.py"))
OUTSIDE = (ROOT / ".ci" / "outside.py").read_text(encoding="utf-8")
PROJECT = tomllib.loads(TEXT)["project"]
LEFT_OUT = ("mlflow", "matplotlib", "plotly", "jinja2", "scikit_posthocs", "pooch", "pyarrow")

pytestmark = pytest.mark.skipif(PROJECT["name"] != "svmkit", reason="these are the files of svmkit-core's sdist")


@pytest.fixture
def without(monkeypatch):
    """without(package, ...): these cannot be imported."""

    def hide(*names):
        for name in [m for m in sys.modules if m.partition(".")[0] in names]:
            monkeypatch.delitem(sys.modules, name)
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return hide


def names_of(requirements):
    return [re.match(r"[\w-]+", each)[0] for each in requirements]


def test_the_two_distributions_share_the_dependencies_and_the_rest_is_that_of_the_project():
    core, whole = tomllib.loads(MADE["core_project"](TEXT)), tomllib.loads(MADE["whole_project"](TEXT, "1.2.3"))
    theirs, more = core["project"], whole["project"]
    assert (theirs["name"], more["name"]) == ("svmkit-core", "svmkit")
    assert more["dependencies"][0] == "svmkit-core==1.2.3"
    assert theirs["dependencies"] + more["dependencies"][1:] == PROJECT["dependencies"]
    assert {name.replace("_", "-") for name in LEFT_OUT} <= set(names_of(more["dependencies"]))
    for key in ("scripts", "entry-points"):
        assert theirs[key] == PROJECT[key] and key not in more
    for key in ("requires-python", "classifiers", "license", "urls", "description"):
        assert theirs[key] == more[key] == PROJECT[key]
    assert more["optional-dependencies"] == PROJECT["optional-dependencies"]
    assert theirs["optional-dependencies"].keys() == PROJECT["optional-dependencies"].keys()
    assert '"svmkit[' not in json.dumps(theirs) and '"svmkit-core[dask]"' in json.dumps(theirs)
    assert core["tool"] == tomllib.loads(TEXT)["tool"]
    assert whole["tool"]["hatch"]["build"]["targets"]["wheel"] == {"bypass-selection": True}


def test_a_project_without_the_line_is_refused():
    with pytest.raises(SystemExit, match="need one line '# what svmkit-core leaves out"):
        MADE["halves"](TEXT.replace(MADE["MARK"], ""))


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        "import svmkit; svmkit.SVMClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[1.0]])",
        "from svmkit.cli import main; main(['train', 'iris', '--no-track', '--json'])",
        "from svmkit.cli import main; main(['predict', '--help'])",
        "import svmkit_registry.tracker, svmkit_registry.commands, svmkit.plotting.style, svmkit.compare.report.html",
        "import svmkit.cli.evaluating.report, svmkit.cli.evaluating.reporting.job, svmkit.data.places.fetching",
    ],
)
def test_what_is_left_out_is_imported_where_it_is_used(work):
    """pyarrow is pandas' own import, and scikit-learn's; jinja2 is numba's."""
    shown = "\nprint(*sorted(m for m in sys.modules if '.' not in m), file=sys.stderr)"
    code = work.replace("main(", "call(main, ") + shown
    call = "import sys\ndef call(f, args):\n    try: f(args)\n    except SystemExit: pass\n"
    done = subprocess.run([sys.executable, "-c", call + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules = set(done.stderr.splitlines()[-1].split())
    assert "svmkit" in modules
    assert not modules & {"mlflow", "matplotlib", "plotly", "scikit_posthocs", "pooch", "requests"}


def test_the_line_installs_what_is_missing(without):
    without("plotly", "scikit_posthocs")
    require_installed("reports", "numpy")
    with pytest.raises(Unavailable) as refused:
        require_installed("reports", "numpy", "plotly", "scikit_posthocs")
    line = (
        "reports need plotly and scikit-posthocs: pip install plotly scikit-posthocs (the distribution svmkit has all"
    )
    assert str(refused.value).startswith(line)


def draw_profile():
    from svmkit import plot_comparison

    record = {"set": "iris", "status": "converged", "fit_s": 0.1, "gap": 1e-4}
    plot_comparison([record | {"label": "smo"}, record | {"label": "fcsmo", "fit_s": 0.2}])


def render_report():
    from svmkit.compare.report.html import render

    render(None)


def read_parquet():
    from svmkit.data.tables.frames import parquet_tables

    next(parquet_tables(Path("x.parquet"), None))


def read_arrow():
    from svmkit.data.tables.in_memory import as_frame

    class Foreign:
        columns = ("a",)

        def __arrow_c_stream__(self):
            raise AssertionError

    as_frame(Foreign())


def learning_curve():
    from svmkit.compare import plot_learning_curve

    record = {"set": "iris", "label": "smo", "status": "converged", "gap": 1e-4}
    plot_learning_curve([record | {"n_samples": m, "fit_s": m / 1000} for m in (100, 200)])


@pytest.mark.parametrize(
    ("package", "work"),
    [
        ("matplotlib", draw_profile),
        ("matplotlib", learning_curve),
        ("plotly", render_report),
        ("pyarrow", read_parquet),
        ("pyarrow", read_arrow),
    ],
)
def test_python_names_the_line(without, package, work):
    without(package)
    with pytest.raises(InputError, match=rf"need {package}: pip install {package} \("):
        work()


def test_a_run_without_mlflow_costs_a_line_unless_the_store_is_asked_for(without, alone, svmkit, monkeypatch):
    without("mlflow")
    for name in ("svmkit_registry.tracker", "svmkit_registry.store", "svmkit_registry.models"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(plugins, "_loaded", {})
    code, out, err = svmkit("train", "iris", "--json")
    assert code == 0 and json.loads(out)["run_id"] is None and not Path("mlflow.db").exists()
    assert err.count("nothing is logged: ") == 1 and "pip install mlflow" in err
    for asked in (["--tracking-uri", "sqlite:///x.db"], ["--register", "mine"]):
        code, out, err = svmkit("train", "iris", "--json", *asked)
        assert (code, out) == (2, "") and err.count("\n") == 1 and "pip install mlflow" in err
    (row,) = (row for row in plugins.describe("tracker") if row.name == "mlflow")
    assert row.status == "unavailable" and "pip install mlflow" in row.error and row.doc.startswith("One run in MLflow")


def test_what_is_tried_of_the_wheels_is_left_out():
    """.ci/outside.py looks for packages that svmkit-core's metadata do not have."""
    needing = re.search(r"^NEEDING = {\n(.*?)^}", OUTSIDE, re.M | re.S)[1]
    tried = set(re.findall(r'^    "(\w+)":', needing, re.M))
    assert tried <= set(LEFT_OUT) and len(tried) > 5
