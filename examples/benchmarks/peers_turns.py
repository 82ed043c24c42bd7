"""Estimators that take turns: each fits and predicts the same rows, again and again, in a few processes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from peers_remote import Failed, Remote, Store, interpreter

STORAGES = {"dense": "dense64", "sparse": "csr", "float32": "dense32"}
SHORT = 0.1, 15  # fits of fewer seconds than this are made up to so many times, since the best one counts
SCRIPT = "peers_everyday_worker.py"
Contenders = dict[str, tuple[str, dict[str, Any]]]  # side and parameters by name


class Judge(Protocol):
    """What says how good a result is."""

    def facts(self, save: str) -> dict[str, float]:
        """Judge the arrays in the file `save`."""


def started(processes: Iterable[str], args) -> Iterator[tuple[str, Remote]]:
    """Start a process for each of these sides, joined by commas; those that are not installed are left out."""
    for sides in processes:
        package = sides.split(",")[0].partition("_")[0]  # intelex_svr lives where intelex does
        try:
            remote = Remote(interpreter(args.pythons, package), sides, args.threads, SCRIPT)
        except Failed as failed:
            print(f"{sides} is left out: {failed}", file=sys.stderr)
            continue
        yield from ((side, remote) for side in sides.split(","))


def left(store: Store, cell: str, storage: str | None) -> bool:
    """Return whether the cell is not measured yet."""
    return not store.find(cell=cell, storage=storage, what="done")


class Turns:
    """The turns on one set in one storage; `about` has its cell, its storage and its facts."""

    def __init__(self, store: Store, remotes: dict[str, Remote], args, about: dict[str, Any], folder: Path) -> None:
        self.store, self.remotes, self.args, self.folder, self.about = store, remotes, args, folder, about

    def run(self, contenders: Contenders, judge: Judge, compiling: str = "") -> None:
        """Make the turns; `compiling` names the contender whose code for so many rows is compiled off the clock."""
        cell, storage = self.about["cell"], self.about["storage"]
        self.store.forget(lambda r: r.get("cell") == cell and r.get("storage") == storage)  # turns belong together
        for remote in set(self.remotes.values()):
            remote.ask("load", folder=str(self.folder), storage=STORAGES[storage])
        if compiling:
            side, params = contenders[compiling]
            self.remotes[side].ask("turn", side=side, params={**params, "max_iter": 1})
        for k in range(max(self.args.repeat, SHORT[1])):
            for name, (side, params) in contenders.items():
                if self._due(name, k):
                    self._turn(name, side, params, k, judge)
        self.store.add(**self.about, what="done", side="svmkit")

    def _due(self, name: str, k: int) -> bool:
        runs = self.store.find(**self.about, what="run", contender=name)
        if len(runs) < k or any("error" in r for r in runs):
            return False
        seconds = [r["seconds"] for r in runs]
        if seconds and min(seconds) > self.args.slow:
            return False
        return k < self.args.repeat or min(seconds) < SHORT[0]

    def _turn(self, name: str, side: str, params: dict[str, Any], k: int, judge: Judge) -> None:
        about = {**self.about, "what": "run", "contender": name, "side": side, "repeat": k}
        save = "" if k else str(self.folder / f"{name}.npz")
        try:
            answer = self.remotes[side].ask("turn", limit=self.args.limit, side=side, params=params, save=save)
        except Failed as failed:
            self.store.add(**about, error=str(failed))
            return
        self.store.add(**about, **answer, **(judge.facts(save) if save else {}))
