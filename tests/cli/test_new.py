"""svmkit new: what it writes works as it is, and it overwrites nothing."""

import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.plugin import unloaded  # noqa: F401  a fixture

from svmkit import plugins

pytestmark = pytest.mark.usefixtures("alone", "unloaded")

KINDS = ("solver", "kernel", "loss", "sampler")


def test_a_solver_trains_as_it_is(svmkit):
    told = svmkit("new", "solver", "mine", "--out", "my place", "--json").json
    assert [Path(file) for file in told["files"]] == [Path("my place", name) for name in ("mine.py", "test_mine.py")]
    assert len(told["next"]) == 3
    train = shlex.split(told["next"][0])
    assert train[:2] == ["svmkit", "train"]
    found = svmkit(*train[1:], "--no-track", "--json").json
    assert (found["solver"], found["status"], found["problem"]) == ("mine", "converged", "SimplexQP")
    assert 0.0 <= found["gap"] <= 1e-3
    sampled = svmkit(*train[1:], "--sampler", "uniform:59", "--no-track", "--json").json
    assert sampled["status"] == "converged" and 0.0 <= sampled["gap"] <= 1e-3
    bounds = [(run["dual_objective"], run["objective"]) for run in (found, sampled)]
    assert max(low for low, _ in bounds) <= min(high for _, high in bounds)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_steps_that_are_printed_work(svmkit, kind):
    printed = svmkit("new", kind, "mine").out.splitlines()
    at = printed.index("next")
    assert printed[:at] == ["wrote mine.py", "wrote test_mine.py"]
    steps = [line.strip() for line in printed[at + 1 :]]
    assert [step.split()[1] for step in steps] == ["train", "check", "-m"]
    words = [shlex.split(step) for step in steps]
    assert [word[0] for word in words] == ["svmkit", "svmkit", "python"]
    for _, *args in words[:2] if kind == "solver" else ():  # the tests train and run the checks, too
        done = svmkit(*args)
        assert done.code == 0, (args, done)
    done = subprocess.run([sys.executable, *words[2][1:]], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, (done.stdout, done.stderr)


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_names_what_is_in_it(svmkit, kind):
    files = svmkit("new", kind, "my_own", "--package", "--json").json["files"]
    root, module = Path("svmkit-my-own"), "svmkit_my_own"
    code, tests = root / "src" / module / "my_own.py", root / "tests" / "test_my_own.py"
    assert {Path(file) for file in files} == {
        root / "pyproject.toml", root / "README.md", root / "src" / module / "__init__.py", code, tests
    }  # fmt: skip
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "svmkit-my-own"
    points = project["entry-points"]
    assert points["svmkit.interface"] == {str(plugins.INTERFACE): module}
    assert points["svmkit.losses" if kind == "loss" else f"svmkit.{kind}s"] == {"my_own": f"{module}.my_own:MyOwn"}
    assert "load_file" not in tests.read_text(encoding="utf-8") and "@file" not in tests.read_text(encoding="utf-8")
    svmkit("new", kind, "my_own")
    assert Path("my_own.py").read_bytes() == code.read_bytes()  # one file moves into a package as it is
    assert plugins.load_file(code) == ["my_own"] and plugins.load(kind, "my_own").__name__ == "MyOwn"


@pytest.mark.slow
def test_an_installed_package_is_listed_and_trains(svmkit):
    """As pip would install it: the code on the path, beside the metadata with its entry points."""
    svmkit("new", "solver", "mine", "--package")
    source, info = Path("svmkit-mine/src").resolve(), Path("svmkit-mine/src/svmkit_mine-0.1.0.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: svmkit-mine\nVersion: 0.1.0\n")
    points = tomllib.loads(Path("svmkit-mine/pyproject.toml").read_text())["project"]["entry-points"]
    lines = (f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in its.items()) for group, its in points.items())
    (info / "entry_points.txt").write_text("".join(lines))
    path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
    for args, words in (
        (("plugins", "--package", "svmkit-mine"), "solver   mine"),
        (("train", "iris", "--solver", "mine", "--no-track"), "converged"),
    ):
        asked, env = [sys.executable, "-m", "svmkit", *args], os.environ | {"PYTHONPATH": path}
        done = subprocess.run(asked, env=env, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0 and words in done.stdout, done.stderr


def test_it_overwrites_nothing(svmkit, refused):
    Path("mine.py").write_text("precious")
    refused(["mine.py: there already", "--force"], "new", "solver", "mine")
    assert Path("mine.py").read_text() == "precious" and not Path("test_mine.py").exists()
    assert svmkit("new", "solver", "mine", "--force").code == 0
    assert "class Mine(Solver)" in Path("mine.py").read_text()
    refused(["mine.py, test_mine.py: there already"], "new", "kernel", "mine")
    Path("svmkit-mine").write_text("a file")
    refused(["cannot make the folder svmkit-mine"], "new", "solver", "mine", "--package")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("solver", "swap"), ["there is a solver 'swap' already"]),
        (("solver", "elevenchars"), ["'elevenchars' of 11 characters", "10"]),
        (("solver", "my-own"), ["'my-own' cannot be the name", "letters, digits and _"]),
        (("solver", "2nd"), ["'2nd' cannot be the name"]),
        (("solver", "class"), ["'class' cannot be the name"]),
        (("solver", "größe"), ["cannot be the name"]),
        (("solver", ".."), ["cannot be the name"]),
        (("kernel", "random"), ["random is a module that is installed"]),
        (("kernel", "numpy"), ["numpy is a module that is installed"]),
        (("solver", "reference", "--package"), ["svmkit_reference is a module that is installed"]),
        (("tracker", "mine"), ["no template of a 'tracker'", "solver, kernel, loss, sampler"]),
        (("solver",), ["missing argument", "name"]),
    ],
)
def test_a_name_that_cannot_be_taken(refused, args, words):
    refused(words, "new", *args)
    assert not list(Path().iterdir())


def test_a_name_that_the_template_uses_itself(svmkit):
    for kind, name in (("solver", "solver"), ("solver", "state"), ("kernel", "kernel"), ("sampler", "sampler")):
        svmkit("new", kind, name, "--out", kind + name)
        assert plugins.load_file(f"{kind}{name}/{name}.py") == [name]
