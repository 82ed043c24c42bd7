"""Every block of commands or Python in README.md and docs/ is run, or says why not; what a page shows is what is said.

The sets are small ones under the names of the documents' own (support/stand_ins.py), so numbers are mostly not
compared, but all words are: a line that is shown must be said, with other numbers.
"""

import bz2
import gzip
import io
import re
import subprocess
import sys

import pytest
from churn import write_churn
from support.cli import Result, process
from support.doc_blocks import PAGES, ROOT, blocks
from support.stand_ins import python_names, write_sets

from svmkit.tune import grids

PREPARED = {  # what a page takes for granted besides the sets
    "README.md": (HEART := ("train heart.svm --no-track --out h.svmkit", "export h.svmkit --libsvm heart.model")),
    "other_models.md": HEART,
    "model_files.md": ("train a1a --no-track --out adult.svmkit",),
}
OPEN = {"zcat": gzip.open, "bzcat": bz2.open}
EXACT = ("own_csv.md", "evaluation.md")  # about sets that are the same everywhere: percentages are compared, too
QUICK = ("estimators.md", "preprocessing.md")  # two seconds each; the others are slow
FEWER = {"C=2^-5:2^15:2": "C=2^-5:2^15:10", "gamma=2^-15:2^3:2": "gamma=2^-15:2^3:9"}  # candidates, nine for 110


def words(line):
    """A line with `#` for each number, identifier and mark of a table that depends on the data."""
    line = re.sub(r"(\[y/N\]).*", r"\1", line)  # and what a reader answers
    line = re.sub(r"\b[0-9a-f]{32,}\b|[-+]?\d[\w.,:%+-]*", "#", line)
    return " ".join(line.split())


def percentages(line):
    return [float(found) for found in re.findall(r"([\d.]+)%", line)]


class Shell:
    """Runs the commands of a page, one after the other, in the working directory."""

    def __init__(self, page, svmkit):
        self.page, self.svmkit = page, svmkit
        self.code = 0
        self.first_train = []

    def run(self, block):
        said = ""
        for command in block.commands:
            if command.reason:
                continue
            if command.text.strip() == "echo $?":
                assert [str(self.code)] == list(command.shown)
                self.code = 0
                continue
            done = self.execute(command)
            said = said + done.out + done.err if block.language == "sh" else done.out + done.err
            where = f"{self.page}:{block.line}: {command.text}\n{done.err}"
            shown = [line for line in command.shown if line.strip() not in ("", "...")]
            if done.code:
                assert words(done.err.splitlines()[-1]) in {words(line) for line in shown}, where
            self.compare(shown, said, where)

    def execute(self, command):
        for step in command.words:
            feed = None
            for program, *args in step:
                if program in OPEN:
                    feed = OPEN[program](args[0], "rt").read()
                elif program == "python":
                    script = [sys.executable, ROOT / args[0], *args[1:]]
                    subprocess.run(script, check=True, timeout=120, stdout=subprocess.DEVNULL)
                    done = Result(0, "", "")
                else:
                    assert program == "svmkit", f"no way to run {program}"
                    args = self.completed(args)
                    done = self.svmkit(*args) if feed is None else process(*args, input=feed)
            self.code = done.code
            if done.code:
                break
        return done

    def completed(self, args):
        """`svmkit train ...` stands for the first one of the page; what is only more of the same is cut short."""
        if args[0] == "train" and not self.first_train:
            self.first_train = args[1:]
        typed = [word for arg in args for word in (self.first_train if arg == "..." else [arg])]
        one_seed = ["--repeat", "1"] if "--repeat" in typed else []  # of an option that is given twice the last counts
        return [*(FEWER.get(word, word) for word in typed), *one_seed]

    def compare(self, shown, said, where):
        heard = said.splitlines()
        for line in shown:
            alike = [other for other in heard if words(other) == words(line)]
            assert alike, f"{where}\nshown: {words(line)}\nsaid:\n" + "\n".join(map(words, heard))
            if self.page in EXACT:
                near = pytest.approx(percentages(line), abs=1.0)  # other processors round otherwise
                assert any(percentages(other) == near for other in alike), f"{where}\n{line}\n{alike}"


def run_python(block, names):
    code = compile("\n" * block.line + block.text, block.page, "exec")
    exec(code, names)


def run_prompts(block, names):
    """Lines after `>>>`, and the errors that they are shown to raise."""
    lines = block.text.splitlines()
    for line, shown in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith(">>> "):
            with pytest.raises(Exception) as raised:
                exec(line[4:], names)
            assert f"{type(raised.value).__name__}: {raised.value}" == shown


def cases():
    for page in PAGES:
        if any(not block.reason for block in blocks(page)):
            yield pytest.param(page, id=page.name, marks=[] if page.name in QUICK else pytest.mark.slow)


@pytest.mark.usefixtures("alone", "cells_here")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", list(cases()))
@pytest.mark.slow
def test_what_a_page_shows(page, svmkit, monkeypatch):
    write_sets()
    write_churn()
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 9))  # yes to what is asked
    monkeypatch.setattr(grids, "C_POWERS", FEWER[f"C={grids.C_POWERS}"].removeprefix("C="))
    monkeypatch.setattr(grids, "GAMMA_POWERS", FEWER[f"gamma={grids.GAMMA_POWERS}"].removeprefix("gamma="))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LOGNAME", "me")
    for arguments in (
        ["init", "-q"],
        ["-c", "user.name=me", "-c", "user.email=me@here", "commit", "-qm", "-", "--allow-empty"],
    ):
        subprocess.run(["git", *arguments], check=True)
    for arguments in PREPARED.get(page.name, ()):
        assert svmkit(*arguments.split()).code == 0
    shell, names = Shell(page.name, svmkit), python_names(page.name)
    for block in blocks(page):
        if block.reason:
            continue
        if block.language == "python":
            run_python(block, names)
        elif block.language == "pycon":
            run_prompts(block, names)
        else:
            shell.run(block)
