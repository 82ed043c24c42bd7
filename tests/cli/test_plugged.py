"""Commands that other packages bring, through the entry-point group svmkit.commands."""

import sys
from importlib.metadata import EntryPoint

import pytest
from support.cli import process

from svmkit import plugins

GREET = """
import typer

app = typer.Typer(help="Greetings.")

@app.callback()
def root():
    "Greetings."

@app.command()
def hello(name: str):
    "Say hello."
    print(f"hello {name}")
"""


@pytest.fixture
def plugged(tmp_path, monkeypatch):
    """A command that works, one whose import fails, and one named as a built-in is."""
    (tmp_path / "tests_greet.py").write_text(GREET)
    (tmp_path / "tests_broken.py").write_text("import no_such_package_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    real = plugins.registered
    own = real("command")["models"]
    modules = {"greet": "tests_greet:app", "wrong": "tests_broken:app"}
    added = {n: EntryPoint(n, v, "svmkit.commands") for n, v in (modules | {"predict": "tests_greet:app"}).items()}
    monkeypatch.setattr(
        plugins, "registered", lambda kind: added | {"models": own} if kind == "command" else real(kind)
    )
    yield
    for name in ("tests_greet", "tests_broken"):
        sys.modules.pop(name, None)


def test_help_lists_them_and_imports_none(svmkit, plugged):
    done = svmkit("--help")
    assert done.code == 0
    for words in ("models", "delete models of", "greet", "wrong", "train"):
        assert words in done.out
    assert "Labels for data" not in done.out and done.out.count("predict ") == 1
    assert not {"tests_greet", "tests_broken"} & set(sys.modules)


def test_one_works_whatever_the_others_do(svmkit, refused, plugged):
    assert svmkit("greet", "hello", "you").out == "hello you\n"
    assert "Say hello." in svmkit("greet", "--help").out
    refused(["command 'wrong'", "broken", "no_such_package_at_all"], "wrong", "x")
    refused(["missing", "model"], "predict")  # the built-in one
    refused(["no such command 'gret'"], "gret")
    refused(["no such command 'sho'"], "models", "sho")


def test_a_broken_one_is_said_in_plugins(svmkit, plugged):
    done = svmkit("plugins", "--kind", "command")
    assert done.code == 0
    (broken,) = (line for line in done.out.splitlines() if "wrong" in line)
    assert "BROKEN" in broken and "no_such_package_at_all" in broken
    status = {row["name"]: row["status"] for row in svmkit("plugins", "--kind", "command", "--json").json}
    assert status["models"] == status["greet"] == "ok" and status["wrong"] == "broken"


def test_a_typo_is_answered_with_what_is_plugged_in(refused):
    refused(["no such command 'modells'", "models"], "modells")


def test_listing_commands_imports_nothing_heavy(alone):
    code = (
        "import sys, svmkit.cli as c; c._run(['--help'], False); sys.exit(len({'mlflow', 'pandas'} & set(sys.modules)))"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "models" in done.stdout
    assert "promote" in process("models", "--help").out
