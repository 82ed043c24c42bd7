"""How the sets of a comparison are tested: on a file, on held-out rows, in splits or folds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from svmkit.compare.plan import fields, given
from svmkit.data.dataset import RANK
from svmkit.data.places.sources import find
from svmkit.errors import InputError

TIME, GROUPS = "time", "groups"
"""How folds may divide the rows, besides at random: in order, or by whole groups."""
HOLD_OUT = 0.25  # share of the rows that is held out if only the number of splits is given
MOST = 10_000  # splits or folds of a set, at most


def test_of(where: str, entry: dict[str, Any], several: dict[str, Any]) -> Any:
    """Return how a set is tested, by default on the file NAME.t if it exists; `several` has the given splits and cv.

    The result is the name of a set, {hold_out, seed, stratify} with splits if there are several, {cv, seed} with `by`
    if folds are whole groups, in the order of the rows or given in a file, or None.
    """
    if len(several) > 1:
        raise InputError(f"{where} has both splits and cv: leave one out")
    test = entry.get("test", HOLD_OUT)
    if "cv" in several:
        if "test" in entry:
            raise InputError(f"{where} has both cv and test: the folds are the tests, leave one out")
        return _folds(f"{where}.cv", several["cv"], entry)
    is_share = isinstance(test, int | float | dict) and not isinstance(test, bool)
    if several:
        if not is_share:
            raise InputError(f"{where} has splits and the test set {test!r}: give the share of the rows to hold out")
        return _held_out(where, test) | {"splits": fields.count(f"{where}.splits", several["splits"], most=MOST)}
    if "test" not in entry:
        beside = f"{entry['source']}.t"
        try:
            find(beside)
        except InputError:
            return None
        return beside
    if test is None or test == "none":
        return None
    if is_share:
        return _held_out(where, test)
    require_source(f"{where}.test", test)
    return test


def _folds(where: str, cv: Any, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the folds of a set: {cv, seed}, and how the rows are divided unless they are just stratified."""
    text = str(cv).strip()
    kind, _, number = text.partition(":")
    if kind == TIME:
        if entry.get("groups") is not None:
            raise InputError(f"{where}={text} follows the order of the rows: leave groups out")
        return {"cv": fields.count(where, _whole(number), least=2, most=MOST), "seed": 0, "by": TIME}
    if isinstance(cv, str) and _whole(text) is text:
        with fields.locate(where):
            numbers = given.read_folds(text)
        return {"cv": int(numbers.max()) + 1, "seed": 0, "by": text}
    folds = {"cv": fields.count(where, _whole(cv), least=2, most=MOST), "seed": 0}
    # a ranking keeps its groups together in any case, and has always had its own folds
    return folds | ({"by": GROUPS} if entry.get("groups") is not None and entry.get("task") != RANK else {})


def _whole(text: Any) -> Any:
    """Return the whole number in a text; anything else unchanged, for the check to refuse."""
    return int(text) if isinstance(text, str) and text.isascii() and text.strip().isdigit() else text


def _held_out(where: str, test: float | dict[str, Any]) -> dict[str, Any]:
    """Return a share of rows, or {hold_out, seed, stratify}, as the latter."""
    test = {"seed": 0, **(test if isinstance(test, dict) else {"hold_out": test})}
    fields.require_keys(f"{where}.test", test, {"hold_out"}, {"hold_out", "seed", "stratify"})
    if not 0 < fields.number(f"{where}.test.hold_out", test["hold_out"]) < 1:
        raise InputError(f"{where}.test.hold_out must lie between 0 and 1")
    fields.count(f"{where}.test.seed", test["seed"], least=0)
    return test


def splits(test: Any) -> list[tuple[int | None, Any]]:
    """Return the splits of a set: number, and test in the settings of a cell; one without a number if it is fixed."""
    if isinstance(test, dict) and "cv" in test:
        return [(k, test | {"fold": k}) for k in range(test["cv"])]
    if isinstance(test, dict) and "splits" in test:
        one = {key: value for key, value in test.items() if key != "splits"}
        return [(k, one | {"seed": one["seed"] + k}) for k in range(test["splits"])]
    return [(None, test)]


def way_of(about: dict[str, Any]) -> str:
    """Return in words how the rows of a set, in the settings of a cell, are divided; "" if at random."""
    test = about.get("test")
    by = test.get("by", GROUPS if about.get("groups") is not None else None) if isinstance(test, dict) else None
    return {None: "", GROUPS: " of whole groups", TIME: " in the order of the rows"}.get(by, f" of {by}")


def require_source(where: str, source: Any) -> None:
    """Raise InputError unless there is a data set of this name or path."""
    if not isinstance(source, str):
        raise InputError(f"{where} should be the name or path of a data set, not {source!r}")
    with fields.locate(where):
        place = find(source)
    if isinstance(place, Path) and not place.is_file():
        raise InputError(f"{where}: {source} is no regular file: name a data file")
