"""A third party's package: installed, listed, used, checked, missed when it is gone, harmless when it is broken."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from svmkit import plugins

pytestmark = pytest.mark.install

SOURCE = Path(__file__).parents[2] / "examples" / "third_party_plugin"


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def cli(tmp_path, monkeypatch):
    """cli([site, ...], "train", ...) -> Result: svmkit in a process that also finds the packages in these folders."""
    monkeypatch.chdir(tmp_path)

    def run(sites, *args):
        paths = [str(site) for site in sites] + [p for p in (os.environ.get("PYTHONPATH"),) if p]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"}
        command = [sys.executable, "-m", "svmkit", *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
        assert "Traceback" not in done.stderr
        return Result(done.returncode, done.stdout, done.stderr)

    return run


def with_hatchling(source, out):
    """A wheel by the package's own build backend, without network or isolation."""
    build = f"import hatchling.build as backend; backend.build_wheel({str(out)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True, timeout=300)


def by_hand(source, out):
    """The same wheel from pyproject.toml alone, where hatchling is not installed."""
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    points = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    info = {
        "METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": points,
    }
    with zipfile.ZipFile(out / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file in sorted((source / "src").rglob("*.py")):
            wheel.write(file, file.relative_to(source / "src"))
        for file, text in info.items():
            wheel.writestr(f"{name}-{version}.dist-info/{file}", text)
        names = [*wheel.namelist(), f"{name}-{version}.dist-info/RECORD"]
        wheel.writestr(names[-1], "".join(f"{n},,\n" for n in names))


def install(wheel, target):
    """pip, off the network, into a folder of its own; a wheel of pure Python is only unpacked where pip is absent."""
    if importlib.util.find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(target)]
        subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=300)
    else:
        zipfile.ZipFile(wheel).extractall(target)
    return target


def installed(folder, build):
    """The example package, built from a copy and installed into a folder below `folder`."""
    source, out = folder / "source", folder / "dist"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__", ".*_cache", "dist"))
    out.mkdir()
    build(source, out)
    (wheel,) = out.glob("*.whl")
    return install(wheel, folder / "site")


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The site folder that holds the installed example."""
    has_hatchling = importlib.util.find_spec("hatchling") is not None
    return installed(tmp_path_factory.mktemp("example"), with_hatchling if has_hatchling else by_hand)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """The site folder of a package whose import fails, with a solver, a kernel and a sampler."""
    source = tmp_path_factory.mktemp("broken")
    package = source / "source" / "src" / "svmkit_broken"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import quantum_annealer_driver\n")
    (source / "source" / "pyproject.toml").write_text(
        '[project]\nname = "svmkit-broken"\nversion = "1"\n'
        f'[project.entry-points."svmkit.interface"]\n{plugins.INTERFACE} = "svmkit_broken"\n'
        '[project.entry-points."svmkit.solvers"]\nanneal = "svmkit_broken:Anneal"\n'
        '[project.entry-points."svmkit.kernels"]\nqubit = "svmkit_broken:Qubit"\n'
        '[project.entry-points."svmkit.samplers"]\nmeasured = "svmkit_broken:Measured"\n'
    )
    by_hand(source / "source", source)
    (wheel,) = source.glob("*.whl")
    return install(wheel, source / "site")


THEIRS = ("--solver", "coord", "--kernel", "cauchy", "--sampler", "stride:7", "--no-track", "--json")


def one_object(done):
    assert done.code == 0, done.err
    assert done.out.count("\n") == 1
    return json.loads(done.out)


def test_wheels_agree(example, tmp_path):
    """What is tested without hatchling is what hatchling builds."""
    hand = installed(tmp_path, by_hand)
    for site in (example, hand):
        files = {str(p.relative_to(site)) for p in (site / "svmkit_example").rglob("*.py")}
        assert files == {f"svmkit_example/{name}.py" for name in ("__init__", "kernel", "sampler", "solver")}
    info = "svmkit_example-0.1.0.dist-info/entry_points.txt"
    assert sorted((example / info).read_text().split()) == sorted((hand / info).read_text().split())


def test_train_with_all_three(cli, example):
    result = one_object(cli([example], "train", "--scale", "standard", *THEIRS))
    assert result["solver"] == "coord" and result["kernel"]["name"] == "cauchy"
    assert result["params"]["sampler"] == "stride:7" and result["problem"] == "SimplexQP"
    assert result["status"] == "converged" and result["gap"] <= 1e-3 and result["train_accuracy"] > 0.95


def test_agrees_with_a_built_in_solver(cli, example):
    rbf = ("train", "wine", "--scale", "standard", "--kernel", "rbf", "--tol", "1e-5", "--no-track", "--json")
    theirs = one_object(cli([example], *rbf, "--solver", "coord"))
    ours = one_object(cli([example], *rbf, "--solver", "swap2o"))
    assert theirs["dual_objective"] == pytest.approx(ours["dual_objective"], rel=1e-4)


def test_multiclass_sparse_and_options(cli, example, tmp_path):
    rows = (f"{i % 3} {1 + i % 3}:1 {4 + i % 17}:0.5 40:0.1\n" for i in range(60))
    (tmp_path / "s.svm").write_text("".join(rows))
    result = one_object(cli([example], "train", "s.svm", *THEIRS, "--gamma", "0.5", "--max-iter", "500"))
    assert len(result["classes"]) == 3 and result["kernel"]["params"] == {"gamma": 0.5}
    assert result["train_accuracy"] == 1.0


def test_listed_beside_the_built_ins(cli, example):
    rows = one_object(cli([example], "plugins", "--json"))
    theirs = {(row["kind"], row["name"]): row for row in rows if row["package"] == "svmkit-example"}
    assert set(theirs) == {("solver", "coord"), ("kernel", "cauchy"), ("sampler", "stride")}
    assert all(row["doc"] and row["error"] is None for row in theirs.values())
    assert theirs["sampler", "stride"]["options"] == {"step": 7}
    assert {"swap2o", "rbf", "uniform"} <= {row["name"] for row in rows}
    human = cli([example], "plugins", "--kind", "solver")
    assert human.code == 0 and "coord" in human.out and "svmkit-example" in human.out


def test_check_command_knows_theirs(cli, example):
    """The example's own tests run the suite on all three; see the end of this file."""
    result = one_object(cli([example], "check", "cauchy", "--json"))
    assert result["passed"] and result["checks"]


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (("--solver", "cord"), ["cord", "did you mean coord", "swap2o"]),
        (("--kernel", "cauchi"), ["cauchi", "did you mean cauchy", "rbf"]),
        (("--sampler", "strid:7"), ["strid", "did you mean stride", "uniform"]),
        (("--sampler", "stride:0"), ["step", ">= 1"]),
        (("--sampler", "stride:x"), ["stride", "step", "whole number"]),
        (("--kernel", "cauchy", "--gamma", "-1"), ["gamma", "> 0", "-1"]),
        (("--kernel", "cauchy", "--degree", "2"), ["cauchy", "degree", "gamma"]),
    ],
)
def test_wrong_names_list_the_third_party_ones(cli, example, args, names):
    done = cli([example], "train", "iris", "--no-track", *args)
    assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1
    assert all(name in done.err for name in names), done.err


def test_model_needs_the_package(cli, example):
    trained = one_object(
        cli([example], "train", "iris", "--kernel", "cauchy", "--out", "m.model", "--no-track", "--json")
    )
    scored = one_object(cli([example], "evaluate", "m.model", "iris", "--json"))
    assert scored["test_accuracy"] == trained["train_accuracy"] > 0.9
    assert len(cli([example], "predict", "m.model", "iris").out.split()) == 150
    for command in ("evaluate", "predict"):
        done = cli([], command, "m.model", "iris")
        assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1
        assert "m.model" in done.err and "'cauchy'" in done.err and "rbf" in done.err
        assert "pip install svmkit-example==0.1.0" in done.err


def test_their_solver_leaves_nothing_behind(cli, example):
    """A model trained with their solver and our kernel needs nobody."""
    done = cli([example], "train", "iris", "--solver", "coord", "--out", "m.model", "--no-track", "--json")
    trained = one_object(done)
    assert one_object(cli([], "evaluate", "m.model", "iris", "--json"))["test_accuracy"] == trained["train_accuracy"]


def test_checkpoint_and_resume_with_their_solver(cli, example):
    slow = ("train", "--scale", "standard", *THEIRS, "--tol", "1e-9", "--checkpoint", "c.ckpt")
    first = one_object(cli([example], *slow, "--max-iter", "50"))
    second = one_object(cli([example], *slow, "--max-iter", "120", "--resume"))
    assert first["n_iter"] == 50 and second["n_iter"] == 120
    assert second["dual_objective"] > first["dual_objective"]


def test_a_broken_package_stops_nobody(cli, example, broken):
    sites = [example, broken]
    rows = {(row["kind"], row["name"]): row for row in one_object(cli(sites, "plugins", "--json"))}
    for kind, name in (("solver", "anneal"), ("kernel", "qubit"), ("sampler", "measured")):
        row = rows[kind, name]
        assert row["package"] == "svmkit-broken"
        assert "ModuleNotFoundError" in row["error"] and "quantum_annealer_driver" in row["error"]
    assert rows["solver", "coord"]["error"] is None and rows["solver", "swap2o"]["error"] is None
    human = cli(sites, "plugins", "--kind", "solver")
    assert human.code == 0 and "BROKEN" in human.out and "anneal" in human.out and "coord" in human.out
    assert one_object(cli(sites, "train", "iris", *THEIRS))["status"] == "converged"
    assert one_object(cli(sites, "train", "iris", "--no-track", "--json"))["solver"] == "auto"


def test_a_broken_plugin_asked_for_says_why(cli, broken):
    for option, name in (("--solver", "anneal"), ("--kernel", "qubit"), ("--sampler", "measured")):
        done = cli([broken], "train", "iris", "--no-track", option, name)
        assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1
        assert name in done.err and "broken" in done.err and "quantum_annealer_driver" in done.err
    done = cli([broken], "check", "anneal", "--kind", "solver")
    assert done.code == 2 and done.err.count("\n") == 1 and "quantum_annealer_driver" in done.err


def test_broken_error_is_readable_in_the_table(cli, broken):
    """The reason a plugin is broken must not be cut off at the width of the terminal."""
    done = cli([broken], "plugins", "--kind", "solver")
    assert "quantum_annealer_driver" in "".join(done.out.split())


@pytest.mark.slow
def test_the_example_has_its_own_tests(example):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(SOURCE / "tests")]
    paths = [str(example)] + [p for p in (os.environ.get("PYTHONPATH"),) if p]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env, cwd=SOURCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_is_small_and_uses_the_public_interface_only():
    text = {path.name: path.read_text() for path in (SOURCE / "src").rglob("*.py")}
    assert sum(1 for source in text.values() for line in source.splitlines() if line.strip()) < 180
    for source in text.values():
        assert "svmkit_frank_wolfe" not in source and "import _" not in source
