"""What is published agrees with itself; .ci/release builds it, and trains from it where there is nothing else."""

import re
import runpy
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

import svmkit

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HATCH = PROJECT["tool"]["hatch"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NOTES = runpy.run_path(str(ROOT / ".ci" / "notes.py"))


def test_every_package_is_in_the_wheel_under_a_name_of_its_own():
    packages = HATCH["build"]["targets"]["wheel"]["packages"]
    found = [path.parent for room in ("plugins", "registry") for path in (ROOT / room).glob("*/__init__.py")]
    assert sorted(packages) == sorted(["svmkit", *(str(path.relative_to(ROOT).as_posix()) for path in found)])
    names = {Path(package).name for package in packages}
    assert len(names) == len(packages) and all(re.fullmatch("svmkit(_[a-z]+)*", name) for name in names)
    points = [point for group in PROJECT["project"]["entry-points"].values() for point in group.values()]
    assert {re.split("[.:]", point)[0] for point in [*points, *PROJECT["project"]["scripts"].values()]} <= names


def test_links_of_the_readme_lead_somewhere_from_the_page_of_an_index():
    """What pyproject.toml substitutes leaves no relative link, and every new one names a file that is there."""
    text, home = (ROOT / "README.md").read_text(encoding="utf-8"), PROJECT["project"]["urls"]["Homepage"]
    for each in HATCH["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"].replace("$HFPR_VERSION", "1.2.3"), text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    own = [re.fullmatch(r"(?:https://raw\.githubusercontent\.com|https://github\.com)/(.+)", link) for link in links]
    assert len(links) > 30 and all("://" in link or link.startswith("#") for link in links)
    repository = home.removeprefix("https://github.com/")
    for found in filter(None, own):
        at = re.fullmatch(rf"{repository}/(?:blob/)?v1\.2\.3/([^#]+)(#.*)?", found[1])
        assert at and (ROOT / at[1]).exists(), found[0]
    assert sum(map(bool, own)) > 30
    assert NOTES["cited"](ROOT, "repository-code") == home


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_files_that_these_pages_name_are_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^)#:]+)\)", text)
    named += re.findall(r"\b((?:tests|docs|svmkit)/[\w/]+\.(?:py|md))\b|(\.github/[\w/]+\.yml|\.ci/[\w.]+)", text)
    for name in (name for each in named for name in ([each] if isinstance(each, str) else each) if name):
        assert (ROOT / name).exists(), name


def test_version_and_changelog_and_citation_agree():
    """Either the newest dated section is that of the version, or there is none for it yet: it is not released."""
    (newest, _, _), *others = NOTES["sections"](ROOT)
    dated = [name for name, day, _ in NOTES["sections"](ROOT) if day]
    assert newest in ("Unreleased", svmkit.__version__) and "Unreleased" not in [name for name, _, _ in others]
    assert svmkit.__version__ == NOTES["version"](ROOT) == NOTES["cited"](ROOT, "version")
    assert svmkit.__version__ not in dated[1:]
    assert (NOTES["cited"](ROOT, "date-released") is None) == (not dated)


@pytest.fixture
def released(tmp_path):
    """released(changelog, citation) -> a folder with version 1.2.3, and these texts."""

    def make(changelog="## [1.2.3] - 2026-01-31\n\n### Added\n- All.\n", citation="1.2.3", day="2026-01-31"):
        (tmp_path / "svmkit").mkdir()
        (tmp_path / "svmkit" / "_version.py").write_text('__version__ = "1.2.3"\n')
        (tmp_path / "CHANGELOG.md").write_text(
            f"# Changelog\n\n## [Unreleased]\n\n{changelog}\n## [1.2.2] - 2025-01-01\n"
        )
        (tmp_path / "CITATION.cff").write_text(
            f'version: {citation}\ndate-released: "{day}"\nreferences:\n  - version: 9\n'
        )
        return tmp_path

    return make


def test_notes_of_a_release_are_its_section(released):
    assert NOTES["notes"]("v1.2.3", released()) == "### Added\n- All."


@pytest.mark.parametrize(
    ("tag", "how", "told"),
    [
        ("v1.2.4", {}, "the tag is v1.2.4, and svmkit/_version.py says 1.2.3"),
        ("v1.2.3", {"changelog": ""}, r"under \[1.2.2\]"),
        ("v1.2.3", {"changelog": "- More.\n\n## [1.2.3] - 2026-01-31\n- All."}, r"under \[Unreleased\]"),
        ("v1.2.3", {"changelog": "## [1.2.3]\n- All."}, "no date"),
        ("v1.2.3", {"changelog": "## [1.2.3] - 31.1.2026\n- All."}, "no date"),
        ("v1.2.3", {"changelog": "## [1.2.3] - 2026-01-31\n"}, "says nothing"),
        ("v1.2.3", {"citation": "1.2.2"}, "CITATION.cff has version 1.2.2: write 1.2.3"),
        ("v1.2.3", {"day": "2026-01-30"}, "date-released 2026-01-30: write 2026-01-31"),
    ],
)
def test_a_tag_is_refused_where_something_does_not_agree(released, tag, how, told):
    with pytest.raises(SystemExit, match=told):
        NOTES["notes"](tag, released(**how))


def test_pythons_that_are_named_are_tested():
    """Those of the classifiers are those of the workflow, and all of them are allowed."""
    classifiers = [c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)]
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))["jobs"]
    (first,) = (
        step["with"]["python-version"] for step in jobs["ci"]["steps"] if "setup-python" in step.get("uses", "")
    )
    assert classifiers == [first, *jobs["python"]["strategy"]["matrix"]["python-version"]]
    allowed = SpecifierSet(PROJECT["project"]["requires-python"])
    assert all(each in allowed for each in classifiers) and "3.10" not in allowed


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_pinned_limited_and_say_what_was_never_run(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert "never" in text.partition("name:")[0] and workflow["permissions"] in ({}, {"contents": "read"})
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", f"a@{'0' * 40}")), step
    assert all(re.search(r"# v\d+\.\d+\.\d+$", line) for line in text.splitlines() if "uses:" in line)


def test_only_the_job_that_publishes_may_ask_for_an_identity():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job["permissions"]] == ["publish"]
    publish = jobs["publish"]
    assert publish["environment"] == "pypi" and publish["needs"] == "build"
    upload = publish["steps"][-1]
    assert upload["uses"].startswith("pypa/gh-action-pypi-publish@") and upload["with"] == {"attestations": True}


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_issue_forms_are_forms(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert set(form) <= {"blank_issues_enabled", "contact_links"}
        return
    assert form["name"] and form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert fields and all(field["attributes"]["label"] for field in fields)
    assert len({field["id"] for field in fields}) == len(fields)
    assert {field["type"] for field in form["body"]} <= {"markdown", "textarea", "input", "dropdown", "checkboxes"}


@pytest.mark.skipif(not (ROOT / ".git").exists() or not shutil.which("git"), reason="needs the repository")
def test_sdist_has_a_rule_for_each_file(monkeypatch):
    """What git has is listed in pyproject.toml or taken by hatchling itself."""
    monkeypatch.chdir(ROOT)
    contents = runpy.run_path(str(ROOT / ".ci" / "contents.py"))
    rules = {*HATCH["build"]["targets"]["sdist"]["only-include"], "pyproject.toml", "LICENSE", ".gitignore"}
    assert {name.partition("/")[0] for name in contents["tracked"]()} <= rules
    names = contents["installed"](contents["tracked"]())
    assert {"svmkit/py.typed", "svmkit/__init__.pyi", "svmkit_registry/tracker.py"} <= names
    assert not [name for name in names if name.startswith(("tests", "docs", "examples"))]
