"""What the documents show is what the program understands."""

import re
from pathlib import Path

import pytest
import yaml

from svmkit.compare.spec import load_spec, read

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
