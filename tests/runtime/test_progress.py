"""The progress of long work on stderr: plain lines at growing intervals, and one line of rich on a terminal."""

import io
from itertools import pairwise

import pytest
from rich.console import Console

from svmkit.runtime import progress


def test_plain_lines_come_at_twice_the_time_of_the_one_before_and_once_in_a_while(monkeypatch):
    now, said = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "say", said.append)
    lines = progress._Lines()
    shown = []
    for second in range(4 * int(progress.LONGEST)):
        now[0] = float(second)
        before = len(said)
        lines(f"{second} s")
        if len(said) > before:
            shown.append(float(second))
    assert said == [f"{second:.0f} s" for second in shown]
    assert shown[0] == pytest.approx(progress.FIRST, abs=1.0)
    for last, following in pairwise(shown):
        assert following == pytest.approx(min(2.0 * last, last + progress.LONGEST), abs=1.0)
    assert len(shown) > 4


def test_what_is_told_is_shown_as_it_is_with_brackets(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(progress, "console", lambda stderr: Console(file=out, force_terminal=True, width=80))
    line = progress._Live("pair [0] vs [red]1")
    line.open()
    line.bar.refresh()
    line.close()
    assert "pair [0] vs [red]1" in out.getvalue()


def test_a_line_that_is_closed_is_not_drawn():
    line = progress._Live("text")
    line.close()
    line.open()
    assert line.bar is None
