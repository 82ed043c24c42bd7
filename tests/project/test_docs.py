"""What the documents show is what the program understands."""

import re
from pathlib import Path

import pytest
import yaml

from svmkit.compare.plan.spec import load_spec, read

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("alone")
def test_the_spec_in_the_guide_is_one(tmp_path):
    text = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```yaml\n(.*?)```", text, re.S)
    for name in ("a9a", "a9a.t", "w8a"):
        Path(name).write_text("+1 1:1\n-1 2:1\n", encoding="utf-8")
    for name in ("adult.csv", "adult_test.csv"):
        Path(name).write_text("age,income\n3,a\n4,b\n", encoding="utf-8")
    spec = read(yaml.safe_load(shown))
    assert list(spec.data) == ["a9a", "w8a C=1", "w8a C=4", "adult"] and len(spec.cells()) == 4 * 5 * 5
    assert spec.data["a9a"]["test"] == "a9a.t"


@pytest.mark.data
def test_the_spec_of_ten_sets_is_one(real):
    spec = load_spec(ROOT / "examples" / "compare.yaml")
    assert len(spec.data) == 10 and len(spec.cells()) == 100


PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_links_that_a_page_names_are_there(page):
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"\b(?:svmkit|examples|tests|docs)/[\w/]+\.(?:py|md|yaml)\b", text)
    roots = (ROOT, ROOT / "examples" / "third_party_plugin")  # the tutorial names files of the package that it builds
    assert not [file for file in named if not any((root / file).exists() for root in roots)]
    linked = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    assert not [link for link in linked if not (page.parent / link).exists()]


def test_headings_that_pages_link_to_are_there():
    for page in PAGES:
        for file, heading in re.findall(r"\]\(([\w./]*)#([\w-]+)\)", page.read_text(encoding="utf-8")):
            target = (page.parent / file if file else page).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.*)$", target, re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}
