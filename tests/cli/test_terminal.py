"""What strangers name is printed so that it steers no terminal, and what is secret is not printed."""

import ast
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from svmkit.cli.common import cells_shown
from svmkit.errors import redact
from svmkit.runtime import terminal
from svmkit.tracking import Tracker, tracker

pytestmark = pytest.mark.usefixtures("alone")

ROOT = Path(__file__).parents[2]
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
LABELS = ("a\x1b[31mred", "b\x07\u202e", "c\x9b2J")


def hostile_table(name="t\x1b[2J.csv"):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal() + k % 3:.3f},{rng.normal():.3f},{LABELS[k % 3]}" for k in range(60)]
    Path(name).write_text("x\x1b]0;owned\x07,y\x85z,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return name


@pytest.mark.slow
def test_no_command_prints_what_steers_a_terminal(svmkit):
    table = hostile_table()
    calls = [
        ("datasets", "info", table),
        ("train", table, "--out", "m\x1b[1m.model", "--no-track"),
        ("show", "m\x1b[1m.model"),
        ("evaluate", "m\x1b[1m.model", table),
        ("predict", "m\x1b[1m.model", table, "--out", "p\x1b[1m.csv"),
        ("export", "m\x1b[1m.model", "--libsvm", "m\x1b[1m.libsvm"),
        ("tune", table, "--grid", "C=1,2", "--cv", "2", "--no-track"),
        ("compare", table, "--solvers", "smo", "--no-track"),
    ]
    for call in calls:
        done = svmkit(*call)
        assert done.code == 0, done.err
        assert not STEERING.search(done.out + done.err), call
        assert "\\x1b" in done.out + done.err, call
    wrong = [("train", "no\x1b[2J"), ("train", table, "--label", "\x1b"), ("train", table, "--solver", "\x1b[2J")]
    for call in [*wrong, ("\x1b[2J",), ("show", "\x1b.model")]:
        done = svmkit(*call)
        assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1
        assert "\\x1b" in done.err and not STEERING.search(done.err)


@pytest.mark.posix
def test_predictions_are_data_in_a_pipe_and_text_on_a_terminal(svmkit):
    table = hostile_table("t.csv")
    assert svmkit("train", table, "--out", "m.model", "--no-track").code == 0
    assert set(svmkit("predict", "m.model", table).out.splitlines()) == set(LABELS)
    ours, theirs = os.openpty()
    call = [sys.executable, "-m", "svmkit", "predict", "m.model", table]
    with subprocess.Popen(call, stdout=theirs, stderr=subprocess.PIPE) as child:
        os.close(theirs)
        text = b""
        while True:
            try:
                block = os.read(ours, 1 << 16)
            except OSError:  # what Linux answers at the end
                break
            if not block:
                break
            text += block
        assert child.wait() == 0
    os.close(ours)
    assert set(text.decode().split()) == {label.encode("unicode_escape").decode() for label in LABELS}


@pytest.mark.parametrize("label", ["=cmd|' /C calc'!A0", "+a", "-a", "@SUM(1)"])
def test_labels_that_a_spreadsheet_would_compute_get_a_line(svmkit, label):
    Path("t.csv").write_text("x,label\n" + "".join(f"{k},{(label, 'b')[k % 2]}\n" for k in range(20)))
    assert svmkit("train", "t.csv", "--out", "m.model", "--no-track").code == 0
    done = svmkit("predict", "m.model", "t.csv", "--out", "p.csv")
    assert done.code == 0 and f"the label {label!r} looks like a formula" in done.err
    assert label in Path("p.csv").read_text()


def test_numbers_get_no_such_line(svmkit):
    Path("t.csv").write_text("x,label\n" + "".join(f"{k},{(-1, 1)[k % 2]}\n" for k in range(20)))
    assert svmkit("train", "t.csv", "--out", "m.model", "--no-track").code == 0
    assert "formula" not in svmkit("predict", "m.model", "t.csv").err


def test_a_console_styles_text_and_shows_control_characters():
    from rich.text import Text

    console = terminal.console()
    console.file, console._force_terminal = io.StringIO(), True
    console.print(Text("a\x1b[2Jb", "bold"))
    assert "a\\x1b[2Jb" in console.file.getvalue() and "\x1b[2J" not in console.file.getvalue()


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [Screen, io.StringIO])
def test_cells_of_a_comparison_are_shown_as_they_end(monkeypatch, kind):
    """A line for each; a terminal has a bar as well, with what runs now and how many have ended."""
    screen = kind()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "200")
    cells = [SimpleNamespace(name=f"iris smo {k}") for k in range(2)]
    record = {"status": "converged", "gap": 1e-4, "fit_s": 0.5, "n_support": 1234, "test_accuracy": 0.9}
    with cells_shown(2) as show:
        for cell in cells:
            show(cell, None)
        show(cells[1], record)
        show(cells[0], {"status": "failed", "reason": "no [more] memory"})
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    lines = [line.strip().removeprefix("svmkit: ") for line in re.split(r"[\r\n]+", shown)]
    ended = [
        "iris smo 1: converged, gap 1.0e-04, 0.50 s, 1,234 vectors, 90.00%",
        "iris smo 0: failed: no [more] memory",
    ]
    assert [line for line in lines if line in ended] == ended
    if kind is Screen:
        assert any("2/2" in line for line in lines)
    else:
        assert [line for line in lines if line] == ended


def test_what_is_printed_goes_through_one_place():
    """Each print of the command line makes control characters visible, writes JSON, or is rich's console of ours."""
    files = [*(ROOT / "svmkit" / "cli").rglob("*.py"), *(ROOT / "registry").rglob("*.py")]
    assert len(files) > 40
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "Console", "typer.echo"):
                said = ast.unparse(node.args[0]) if node.args else ""
                assert "visible(" in said or "json.dumps(" in said, f"{file}:{node.lineno}: use svmkit.runtime.terminal"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("http://me:secret@host:5000/x", "http://***@host:5000/x"),
        ("postgresql+psycopg://me:se/cr:et@host/db", "postgresql+psycopg://***@host/db"),
        ("no answer from https://secret@host, try", "no answer from https://***@host, try"),
        ("mysql://host/db?user=me&password=secret&x=1", "mysql://host/db?user=me&password=***&x=1"),
        ("http://host/?access_token=secret", "http://host/?access_token=***"),
        ("http://host:5000/models@2", "http://host:5000/models@2"),
        ("sqlite:////home/a@b/mlflow.db", "sqlite:////home/a@b/mlflow.db"),
        ("models:/name@champion and a@b.org", "models:/name@champion and a@b.org"),
    ],
)
def test_addresses_without_their_secrets(text, plain):
    assert redact(text) == plain == redact(plain)


def test_how_to_view_the_runs_has_no_password():
    def where(uri):
        return tracker(uri, name="mlflow").where()

    assert where("http://me:secret@host:5000") == "http://***@host:5000"
    assert where("postgresql://me:secret@host/db") == "mlflow ui --backend-store-uri postgresql://***@host/db"
    assert Tracker("http://me:secret@host:5000").where() == "http://***@host:5000"


@pytest.mark.parametrize(
    "uri",
    [
        "http://me:s3cret@127.0.0.1:1",
        "postgresql://me:s3cret@127.0.0.1:1/db",
        "postgresql://me:s3c/s3cret@127.0.0.1:1/db",
        "nonsense://me:s3cret@host/db",
        "http://me:s3cret@[::1",
        "mysql+pymysql://127.0.0.1:1/db?password=s3cret",
    ],
)
@pytest.mark.slow
def test_the_password_of_a_store_is_printed_nowhere(svmkit, uri):
    for call in [
        ("train", "iris"),
        ("models", "list"),
        ("show", "models:/m@a"),
        ("compare", "iris", "--solvers", "smo"),
    ]:
        done = svmkit(*call, "--tracking-uri", uri)
        assert "s3cret" not in done.out + done.err, call
        assert "Traceback" not in done.err
    for file in Path().rglob("*"):
        assert not file.is_file() or b"s3cret" not in file.read_bytes(), file
