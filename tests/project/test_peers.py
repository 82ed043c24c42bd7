"""The versions of peers that docs/features.md is about, and the page that says who is faster where."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FEATURES = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
BENCHMARK = (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")
VERSIONS = runpy.run_path(str(ROOT / ".ci" / "versions.py"))
COLUMNS = re.search(r"^## Tasks\n\n\| \| (.+) \|$", FEATURES, re.M)[1].split(" | ")


def test_every_column_has_a_version_and_a_day():
    named = dict(re.findall(r"^\| ([^|]+) \| `([\w-]+)` \|", FEATURES.partition("## Versions")[2], re.M))
    assert set(COLUMNS) - {"svmkit"} <= set(named) and len(VERSIONS["peers"](FEATURES)) == len(named)


def test_a_newer_version_is_told():
    text = "| A | `peer-a` | 1.2 | 2026-01-31 |\n| B | `peer_b` | 3.0 | 2026-01-31 |\n| C | `c` | 4 | 2026-01-31 |\n"
    lines = list(VERSIONS["outdated"](text, {"peer-a": "1.2.0", "peer_b": "3.1", "c": None}.get))
    assert [line.partition(":")[0] for line in lines] == ["peer_b", "c"]
    assert "3.1 is newer than 3.0 of 2026-01-31" in lines[0]
    with pytest.raises(SystemExit, match="no table"):
        VERSIONS["peers"]("nothing")


def test_the_first_screen_of_the_benchmark_page_is_one_screen_and_agrees_with_its_tables():
    first, _, rest = BENCHMARK.partition("## Results")
    assert len(first.split()) < 420
    missed = len(re.findall(r"\| \*\*missed\*\* \|$", rest, re.M))
    targets = missed + sum(int(n or 1) for n in re.findall(r"\| (\d*) ?met \|$", rest, re.M))
    assert f"{missed} of {targets} targets are missed" in " ".join(first.split())
    means = re.findall(r"^\| geometric mean .*$", rest, re.M)
    for share in re.findall(r"\*\*([\d.]+)\*\*", first):
        assert any(f"**{share}**" in mean for mean in means), share
