"""The site: what its build would refuse, seen without a build; and, where Sphinx is installed, the build itself."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.doc_blocks import DOCS, ROOT


@pytest.fixture(scope="module")
def extension():
    """extension(name): a module of docs/_extensions."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, DOCS / "_extensions" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def test_every_page_is_in_a_table_of_contents():
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in [*DOCS.glob("*.md"), *DOCS.glob("papers/*.md")]}
    listed = set()
    for page in DOCS.glob("*.md"):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            listed |= {re.sub(r".*<(.*)>", r"\1", line) for line in tree.splitlines() if not line.startswith(":")}
    assert pages - listed == {"index"}, "name the page in a toctree of docs/guide.md or another section"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda file: file.name)
def test_examples_begin_as_the_gallery_needs_it(example):
    lines = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))).splitlines()
    assert lines[1] == "=" * len(lines[0]), "the docstring begins with a title that is underlined with ="


def test_every_public_name_and_every_command_has_a_page(extension):
    reference, commands = extension("api_pages"), extension("command_pages")
    pages = reference.pages()
    for package in reference.PACKAGES:
        for name in reference.public_names(package):
            assert name in pages[package]
    assert {"svmkit.SVMClassifier", "svmkit.solver.BoxQP", "svmkit_frank_wolfe.swap.Swap"} <= set(pages)
    found = commands.commands()
    assert {"svmkit train", "svmkit models promote", "svmkit datasets info"} <= set(found)
    assert ".. option:: --max-support" in commands.page("svmkit train", found["svmkit train"])


def test_the_tree_is_the_rule_of_auto(extension):
    tree = extension("decision_tree")
    assert tree.PICTURE.read_text(encoding="utf-8") == tree.drawn(), "run python docs/_extensions/decision_tree.py"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = ", ".join(answer for _, answer, _, _ in tree.QUESTIONS).split(", ")
    assert set(named) <= set(project["entry-points"]["svmkit.solvers"])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_builds_without_a_warning_and_names_no_path_of_this_machine(tmp_path):
    pytest.importorskip("sphinx_gallery", reason="needs pip install -e '.[docs]'")
    how = ["-q", "-W", "--keep-going", "-D", "plot_gallery=0", "-d", tmp_path / "trees"]
    subprocess.run(
        [sys.executable, "-m", "sphinx", *how, "-b", "html", DOCS, tmp_path / "html"], check=True, timeout=800
    )
    pages = list((tmp_path / "html").rglob("*.html"))
    assert len(pages) > 200
    paths = {str(ROOT), str(Path.home())} - {"/"}
    assert not [page.name for page in pages for path in paths if path in page.read_text(encoding="utf-8")]
