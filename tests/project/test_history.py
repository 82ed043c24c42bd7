"""Iterations, kernel values and memory of twelve small works are those on record."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "history.py"
HISTORY = runpy.run_path(str(SCRIPT))
NOTES = runpy.run_path(str(ROOT / ".ci" / "notes.py"))
OLD = {"dcd": {"iterations": 1000, "kernel values": 0, "peak KiB": 1000}, "ocas": {"iterations": 100}}


def with_figure(cell, figure, value):
    return {name: each | ({figure: value} if name == cell else {}) for name, each in OLD.items()}


def changelog(*sections):
    return [(name, "2026-01-31" if name != "Unreleased" else "", text) for name, text in sections]


@pytest.mark.slow
def test_figures_are_those_on_record_and_the_changelog_says_what_has_changed():
    """In a process of its own, where nothing else holds memory."""
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_the_record_has_twelve_cells_and_is_written_as_it_is_read():
    text = (ROOT / HISTORY["RECORD"]).read_text(encoding="utf-8")
    history = json.loads(text)
    assert HISTORY["dump"](history) == text and len(HISTORY["CELLS"]) == 12
    assert list(next(reversed(history.values()))) == list(HISTORY["CELLS"])


@pytest.mark.slow
def test_rounding_decides_no_figure():
    """Data that differ by about 1e-13 of their values give the same figures."""
    exact, *others = (HISTORY["measure"](noise, memory=False) for noise in range(4))
    assert [list(HISTORY["changes"](exact, other)) for other in others] == [[], [], []]


@pytest.mark.parametrize(
    ("cell", "own"),
    [
        ("fcsmo", {"growth": 0.4}),
        ("fcsmo", {"inner": 0.12}),
        ("fcfw", {"growth": 0.4}),
        ("fcfw", {"inner": 0.25}),
        ("svmlight", {"q": 12}),
        ("svmlight", {"shrinking": False}),
        ("smo", {"shrinking": False}),
        ("dcd", {"shrinking": False}),
        ("ocas", {"mu": 0.9}),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_another_setting_of_a_solver_is_noticed(cell, own, monkeypatch):
    build = HISTORY["plugins"].build

    def build_changed(kind, name, given=None):
        return build(kind, name, (given or {}) | own if kind == "solver" else given)

    monkeypatch.setattr(HISTORY["plugins"], "build", build_changed)
    figures = {cell: HISTORY["CELLS"][cell](HISTORY["make_data"]())()}
    record = json.loads((ROOT / HISTORY["RECORD"]).read_text(encoding="utf-8"))
    old = {cell: {name: n for name, n in next(reversed(record.values()))[cell].items() if name != HISTORY["PEAK"]}}
    assert list(HISTORY["changes"](old, figures))


@pytest.mark.parametrize(
    ("cell", "figure", "value", "what"),
    [
        ("dcd", "iterations", 1020, None),
        ("dcd", "iterations", 1021, "1,000 to 1,021 (+2.1%)"),
        ("dcd", "iterations", 979, "1,000 to 979 (-2.1%)"),
        ("dcd", "kernel values", 1, "0 to 1"),
        ("dcd", "peak KiB", 1160, None),
        ("dcd", "peak KiB", 1161, "1,000 to 1,161 (+16.1%)"),
        ("dcd", "support vectors", 5, "nothing to 5"),
        ("ocas", "iterations", 115, None),
        ("ocas", "iterations", 116, "100 to 116 (+16.0%)"),
    ],
)
def test_a_change_is_more_than_two_percent(cell, figure, value, what):
    found = list(HISTORY["changes"](OLD, with_figure(cell, figure, value)))
    assert found == ([(cell, figure, what)] if what else [])


def test_cells_that_are_new_or_gone_have_changed():
    less = {"ocas": OLD["ocas"]}
    assert ("dcd", "iterations", "1,000 to nothing") in list(HISTORY["changes"](OLD, less))
    assert ("dcd", "iterations", "nothing to 1,000") in list(HISTORY["changes"](less, OLD))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("### Added\n- `dcd` has more iterations.", True),
        ("### Figures\n- `dcd`, iterations: 1,000 to 1,500, because.\n\n### Fixed\n- This.", False),
        ("### Figures\n- `dcd`, kernel values: 1,000 to 1,500.", True),
        ("### Figures\n- `swap`, iterations.\n- `dcd`,\n  iterations: wrapped.", False),
        ("### Figures\n- `dcd1`, iterations: 1,000 to 1,500.", True),
    ],
)
@pytest.mark.parametrize(("key", "section"), [("unreleased", "Unreleased"), ("0.2.0", "0.2.0")])
def test_a_change_since_the_last_release_is_stated(text, told, key, section):
    history = {"0.1.0": OLD, key: with_figure("dcd", "iterations", 1500)}
    lines = HISTORY["faults"](history, changelog((section, text), ("0.1.0", "### Added\n- All.")))
    assert len(lines) == told
    for line in lines:
        assert "since 0.1.0" in line and '"- `dcd`, iterations: 1,000 to 1,500 (+50.0%), because ..."' in line
    assert not HISTORY["faults"]({key: OLD}, changelog((section, "")))


def test_a_release_takes_over_what_was_unreleased():
    sections = changelog(("Unreleased", ""), ("0.2.0", "- All."), ("0.1.0", "- All."))
    assert HISTORY["current"](sections) == "0.2.0"
    assert HISTORY["current"](changelog(("Unreleased", "- More."), ("0.2.0", "- All."))) == "unreleased"
    history = {"0.1.0": OLD, "unreleased": OLD}
    (line,) = HISTORY["faults"](history, sections)
    assert "this is 0.2.0" in line and "--write" in line
    after = HISTORY["record"](history, "0.2.0", OLD)
    assert list(after) == ["0.1.0", "0.2.0"] and not HISTORY["faults"](after, sections)
    assert HISTORY["recorded"](after, "unreleased") == OLD and HISTORY["recorded"]({}, "unreleased") == {}
    assert list(HISTORY["record"](after, "unreleased", OLD)) == ["0.1.0", "0.2.0", "unreleased"]


def test_a_change_is_told_with_its_cell_and_what_to_do(monkeypatch, tmp_path):
    """main() on a project whose record has another figure; --write records it."""
    names = HISTORY["main"].__globals__
    for folder in (".ci", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".ci" / "notes.py").write_text((ROOT / ".ci" / "notes.py").read_text(encoding="utf-8"))
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n### Added\n- All.\n\n## [0.1.0] - 2026-01-31\n- All.\n")
    (tmp_path / "docs" / "history.json").write_text(HISTORY["dump"]({"0.1.0": OLD}))
    monkeypatch.setitem(names, "ROOT", tmp_path)
    monkeypatch.setitem(names, "measure", lambda: with_figure("dcd", "iterations", 1500))
    monkeypatch.setattr(sys, "argv", ["history.py"])
    with pytest.raises(SystemExit, match=r"^dcd: iterations 1,000 to 1,500 .*--write.*### Figures that names `dcd`$"):
        HISTORY["main"]()
    monkeypatch.setattr(sys, "argv", ["history.py", "--write"])
    with pytest.raises(SystemExit, match=r"does not say that `dcd` has changed since 0\.1\.0"):
        HISTORY["main"]()
    monkeypatch.setattr(sys, "argv", ["history.py"])
    text = (
        (tmp_path / "CHANGELOG.md").read_text().replace("- All.\n\n", "- All.\n\n### Figures\n- `dcd`, iterations.\n")
    )
    (tmp_path / "CHANGELOG.md").write_text(text)
    HISTORY["main"]()
