"""Measure one cell: every side in its own process, runs in turns, each judged by the same certificate."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from peers_cells import GAP, Cell, Contender, prepare
from peers_remote import Failed, Judge, Remote, Store, interpreter

SMALL = 6000  # rows of the first fits: enough for float32 rows under a budget of 1 GB
FLOORS = ("squared", "large")  # kinds of cells whose times are compared with the floor
SAME = 1e-4  # relative difference of objectives that counts as the same
STARTS = {  # what is started, and how often
    "help": (("--help",), 5),
    "train": (("train", "--no-track"), 5),
}


class Measuring:
    """The measurement of one cell; args are the arguments of peers.py."""

    def __init__(self, cell: Cell, store: Store, args) -> None:
        self.cell, self.store, self.args = cell, store, args
        self.remotes: dict[tuple[str, str], Remote | None] = {}

    def run(self) -> None:
        left = [c for c in self.cell.contenders if self._left(c)]
        if not left and self.cell.kind not in FLOORS:
            return
        with tempfile.TemporaryDirectory() as folder:
            self.folder = Path(folder)
            self.y_test = prepare(self.cell, self.folder, self.args.rows)
            self.judge = Judge(self.folder, self.cell.gamma, self.y_test)
            try:
                for k in range(self.args.repeat):
                    for contender in left:
                        if self._left(contender) and k < self._wanted(contender):
                            self._turn(contender)
                if self.cell.kind in FLOORS and not self.store.find(cell=self.cell.name, what="kernel"):
                    self._kernel()
            finally:
                for remote in self.remotes.values():
                    if remote is not None:
                        remote.close()

    def _wanted(self, contender: Contender) -> int:
        """Runs of it; fits of a peer that take longer than --slow are not repeated."""
        slow = any(r.get("seconds", 0.0) > self.args.slow for r in self._runs(contender))
        return 1 if slow and contender.side != "svmkit" else min(self.args.repeat, contender.most)

    def _left(self, contender: Contender) -> bool:
        """Whether runs of it are missing; one that failed is not tried again in this cell."""
        runs = self._runs(contender)
        return len(runs) < self._wanted(contender) and not any("error" in r for r in runs)

    def _runs(self, contender: Contender) -> list[dict[str, Any]]:
        return self.store.find(cell=self.cell.name, what="run", contender=contender.name)

    def _turn(self, contender: Contender) -> None:
        about = {
            "cell": self.cell.name,
            "what": "run",
            "contender": contender.name,
            "repeat": len(self._runs(contender)),
        }
        about |= {"side": contender.side, "storage": contender.storage, "m": len(self.judge.y)}
        try:
            remote = self._remote(contender)
            self.store.add(**about, **self._measured(contender, remote))
        except Failed as failed:
            self.store.add(**about, error=str(failed))
            remote = self.remotes.get((contender.side, contender.storage))
            if remote is not None and remote.process.poll() is not None:
                del self.remotes[contender.side, contender.storage]  # the next one gets a new process

    def _remote(self, contender: Contender) -> Remote:
        """The worker for this side and storage: started, loaded and compiled at its first use."""
        key = contender.side, contender.storage
        if key not in self.remotes:
            self.remotes[key] = None
            remote = Remote(interpreter(self.args.pythons, contender.side), contender.side, self.args.threads)
            self.remotes[key] = remote
            remote.ask("load", folder=str(self.folder), storage=contender.storage)
            for each in self._compiled(contender.side):
                first = remote.ask("first", small=min(SMALL, len(self.judge.y)), job=self._job(each, compiling=True))
                compiling = first["seconds"][0] + first["seconds"][1] - first["seconds"][2]
                about = {"side": key[0], "storage": key[1], "solver": each.job.get("solver", ""), "seconds": compiling}
                self.store.add(cell=self.cell.name, what="first", **about, **remote.about)
        remote = self.remotes[key]
        if remote is None:
            raise Failed(f"{contender.side} cannot be run here")
        return remote

    def _compiled(self, side: str) -> list[Contender]:
        """One contender of this side for every solver and its options."""
        distinct = {}
        for each in self.cell.contenders:
            if each.side == side:
                distinct.setdefault((each.job.get("solver"), str(each.job.get("options"))), each)
        return list(distinct.values())

    def _job(self, contender: Contender, compiling: bool = False) -> dict[str, Any]:
        job = {"C": self.cell.C, "gamma": self.cell.gamma, "loss": self.cell.loss, **contender.job}
        if compiling and "stop" in job:
            job["stop"] = f"gap:{GAP}"  # a looser one may end before everything has been compiled
        elif job.get("stop") == "dual":
            job["stop"] = f"dual:{self._target()!r}"
        return job

    def _target(self) -> float:
        """The dual value of the peers' best run, less a tolerance; for linear models that of LIBLINEAR."""
        runs = self.store.find(cell=self.cell.name, what="run")
        linear = self.cell.kind == "linear"
        known = [r["D"] for r in runs if r.get("D") and (r["side"] == "linearsvc" if linear else r["side"] != "svmkit")]
        if not known:
            raise Failed("no peer has named a dual value")
        return max(known) if linear else max(known) * (1.0 - SAME)

    def _measured(self, contender: Contender, remote: Remote) -> dict[str, Any]:
        job = self._job(contender)
        if job.get("curve"):
            y_test = str(self.folder / "y_test.npy") if self.y_test is not None else ""
            return remote.ask("other", name="curve", job={**job, "y_test": y_test})
        if self.cell.kind == "predict":
            return self._predicted(contender, remote, job)
        save = str(self.folder / "found.npz")
        answer = remote.ask("fit", limit=self.args.limit, job=job, save=save)
        if self.cell.kind == "large":
            return {**answer, **self._own(remote, save, answer)}
        return {**answer, **self._judged(job, save, answer)}

    def _own(self, remote: Remote, save: str, answer: dict[str, Any]) -> dict[str, Any]:
        """The certificate of the fit itself, where to compute all values again would take minutes."""
        with np.load(save) as arrays:
            facts = {"n_support": int(np.count_nonzero(arrays["point"]))}
        facts |= {"P": answer["primal"], "D": answer["dual"], "certified": answer["gap"]}
        if self.y_test is not None:
            facts["accuracy"] = self._accuracy(remote)[1]
        return facts

    def _judged(self, job: dict[str, Any], save: str, answer: dict[str, Any]) -> dict[str, Any]:
        with np.load(save) as arrays:
            if self.cell.kind == "linear":
                return self.judge.linear_model(arrays, job, answer.get("dual"))
            return self.judge.kernel_model(arrays, job)

    def _predicted(self, contender: Contender, remote: Remote, job: dict[str, Any]) -> dict[str, Any]:
        """Seconds of a prediction; the model is trained and used once before the first."""
        fits = self.__dict__.setdefault("fits", {})
        if contender.name not in fits:
            save = str(self.folder / "found.npz")
            answer = remote.ask("fit", limit=self.args.limit, job=job, save=save)
            fits[contender.name] = self._judged(job, save, answer)["n_support"]
            remote.ask("predict")
        answer, accuracy = self._accuracy(remote)
        return {**answer, "accuracy": accuracy, "n_support": fits[contender.name], "m_test": len(self.y_test)}

    def _accuracy(self, remote: Remote) -> tuple[dict[str, Any], float]:
        """The answer to a prediction of the test rows, and its accuracy."""
        save = str(self.folder / "labels.npz")
        answer = remote.ask("predict", save=save)
        with np.load(save) as arrays:
            return answer, float(np.mean((arrays["labels"] > 0) == (self.y_test > 0)))

    def _kernel(self) -> None:
        """The floor in nanoseconds per value, measured in the same minute as the fits."""
        contender = self.cell.contenders[0]
        try:
            answer = self._remote(contender).ask("other", name="kernel", job=self._job(contender))
        except Failed as failed:
            print(f"{self.cell.name}: no floor: {failed}", file=sys.stderr)
            return
        self.store.add(cell=self.cell.name, what="kernel", **answer)


def starts(store: Store) -> None:
    """Seconds from call to end of `svmkit --help` and of a small training run; the first with nothing compiled."""
    if store.find(cell="start"):
        return
    script = Path(sys.executable).with_name("svmkit")
    command = [str(script)] if script.exists() else [sys.executable, "-m", "svmkit"]
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "NUMBA_CACHE_DIR": folder}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        for what, (words, times) in STARTS.items():
            for k in range(times):
                began = time.perf_counter()
                done = subprocess.run([*command, *words], env=env, cwd=folder, capture_output=True, check=False)
                seconds = time.perf_counter() - began
                facts = {"error": done.stderr.decode()[-200:]} if done.returncode else {}
                store.add(cell="start", what=what, repeat=k, seconds=seconds, **facts)
