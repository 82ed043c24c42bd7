"""A seeded sample of small changes to the lines that are newer than a commit, each against the tests of its room.

PYTHONPATH=tests python .ci/mutants.py --base COMMIT --seed 29 --count 300 --out mutants.jsonl    again: it continues

Each change is made in a copy of the working tree, whose files are hard links. The tests of the room run in it up to the
first failure, those that name the changed module first. A test that fails without the change as well is left out. The
file gets a line of JSON for each: killed (by which test), survived, over (the limit of time) or equivalent (why).
`--changes FILE` runs changes made by hand instead: a list in JSON of [path, before, after], texts that occur once.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import queue
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from support.mutation.equivalent import reason_of
from support.mutation.operators import Mutation, mutated, mutations

SOURCES = ("svmkit", "plugins", "registry")
LEFT_OUT = "not slow and not data and not browser and not install"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
FIRST = 3  # test files that are run before the others
# rooms whose tests lie in other folders than the one of their name; the first part of a path that fits counts
FOLDERS = {
    "svmkit/errors": ["tests/cli/test_failures.py", "tests/project/test_plugins_unavailable.py"],
    "svmkit/cluster": ["tests/plugins/dask", "tests/cli/test_cluster.py"],
    "svmkit/plugins": ["tests/project", "tests/cli/test_plugged.py", "tests/cli/test_plugin_files.py"],
    "svmkit/plotting": ["tests/project/test_plotting.py", "tests/project/test_plot_decision.py"],
    "svmkit/tasks": ["tests/training", "tests/estimators"],
    "svmkit/tracking": ["tests/registry", "tests/cli/test_train.py"],
    "svmkit/report": ["tests/compare"],
    "plugins/svmkit_newton/klr": ["tests/plugins/newton", "tests/problems/test_logistic.py"],
    "svmkit/cli/extending": ["tests/cli", *(f"tests/project/test_plugins_{name}.py" for name in ("table", "tutorial"))],
    "registry": ["tests/registry"],
}


class Mutant(NamedTuple):
    """One change: how it is written down, the whole text of the changed file, and whether callers are compiled anew."""

    row: dict[str, Any]
    text: str | None  # None where the change is equivalent
    compiled: bool


def newer_lines(path: str, base: str) -> set[int]:
    """Return the lines of a file that a commit does not have."""
    diff = subprocess.run(["git", "diff", "-U0", base, "--", path], capture_output=True, text=True, check=True).stdout
    spans = (re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))?", line) for line in diff.splitlines())
    return {int(s[1]) + k for s in spans if s for k in range(int(s[2] or 1))}


def sample(base: str, seed: int, count: int) -> list[Mutant]:
    """Return `count` mutants, the seed decides which; edits elsewhere do not draw the others anew."""
    named = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", base, "--", *SOURCES], capture_output=True)
    found: list[tuple[str, str, Mutation]] = []
    for path in (name for name in named.stdout.decode().split() if name.endswith(".py")):
        source, newer = Path(path).read_text(), newer_lines(path, base)
        lines = source.splitlines()
        for m in mutations(source):
            if m.line in newer and "pragma" not in lines[m.line - 1]:
                found.append((hashlib.sha256(f"{path}/{m.order(seed)}".encode()).hexdigest(), path, m))
    return [_mutant(path, m) for _, path, m in sorted(found, key=lambda one: (one[0], one[2].number))[:count]]


def _mutant(path: str, m: Mutation) -> Mutant:
    row = {"file": path, "line": m.line, "where": m.where, "before": m.before, "after": m.after}
    reason = reason_of(path, m)
    if reason:
        return Mutant(row | {"outcome": "equivalent", "by": reason}, None, False)
    source = Path(path).read_text()
    return Mutant(row, ast.unparse(mutated(source, m.number)) + "\n", m.compiled or _makes_code(path, source))


def _makes_code(path: str, source: str) -> bool:
    """Return whether what numba makes of other files may hold any part of this one."""
    return re.search(r"@(overload|intrinsic)\b", source) is not None or path.endswith("rounding.py")


def by_hand(file: Path) -> Iterator[Mutant]:
    """Yield the changes of a file."""
    for path, before, after in json.loads(file.read_text()):
        source = Path(path).read_text()
        if source.count(before) != 1:
            raise SystemExit(f"{path}: {before!r} occurs {source.count(before)} times, not once")
        line = source[: source.index(before)].count("\n") + 1
        row = {"file": path, "line": line, "where": "", "before": before, "after": after}
        yield Mutant(row, source.replace(before, after), "njit" in source or _makes_code(path, source))


def callers(path: str) -> list[Path]:
    """Return the files with compiled code that hold the module's: their caches are void. They import it, directly or
    through others, or call what it overloads.
    """
    sources = {file: file.read_text() for top in SOURCES for file in Path(top).rglob("*.py")}
    told = set(re.findall(r"^@overload\((\w+)", sources[Path(path)], re.M))
    imports = [node for node in ast.parse(sources[Path(path)]).body if isinstance(node, ast.ImportFrom)]
    extended = {node.module for node in imports if told & {alias.name for alias in node.names}}
    names, found = {Path(path), *(file for file in sources if _module(file) in extended)}, set()
    while names:
        modules = [re.escape(_module(name)) for name in names]
        naming = re.compile(rf"\b({'|'.join(modules)})\b")
        names = {file for file, text in sources.items() if "njit" in text and naming.search(text)} - found
        found |= names
    return sorted(found)


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[1:] if parts[0] in ("plugins", "registry") else parts).removesuffix(".__init__")


def tests_of(path: str) -> list[str]:
    """Return the test files and folders that stand for a file's room; first the files that name the module."""
    room = next((FOLDERS[part] for part in FOLDERS if path.startswith(part)), None)
    if room is None:
        first, second = path.split("/")[:2]
        room = [f"tests/plugins/{second.removeprefix('svmkit_')}" if first == "plugins" else f"tests/{second}"]
    files = [file for folder in room for file in (sorted(Path(folder).rglob("test_*.py")) or [Path(folder)])]
    defined = re.findall(r"^(?:def|class) (\w+)|^    def (\w+)", Path(path).read_text(), re.M)
    words = re.compile(rf"\b({'|'.join(sorted({a or b for a, b in defined} - {'__init__'})) or 'None'})\b")
    module = _module(Path(path))
    naming = {file: (module in (text := file.read_text()), len(set(words.findall(text)))) for file in files}
    return [str(file) for file in sorted(files, key=lambda file: (naming[file], str(file)), reverse=True)]


class Lane:
    """A copy of the working tree in which one mutant after another is tested."""

    def __init__(self, given: argparse.Namespace, folder: Path, pristine: Path) -> None:
        self.limit, self.root, self.pristine = given.limit, folder, pristine
        self.sound: set[str] = set()  # tests that pass without a change
        self.unsound: set[str] = set()
        self.server = Server()

    def judge(self, mutant: Mutant) -> dict[str, Any]:
        """Return the row of a mutant with its outcome."""
        if mutant.text is None:
            return mutant.row
        path, began = mutant.row["file"], time.monotonic()
        tests = tests_of(path)
        while True:
            self._renew()
            file = self.root / path
            file.unlink()  # it is a link to the pristine one
            file.write_text(mutant.text)
            for caller in callers(path) if mutant.compiled else []:  # a cache goes by the text of the file, or its time
                for index in (self.root / caller.parent / "__pycache__").glob(f"{caller.stem}.*.nbi"):
                    index.unlink()
            outcome, by = self._run(tests[:FIRST], self.limit)  # all files are collected before a test is run
            if outcome == "survived" and tests[FIRST:]:
                outcome, by = self._run(tests[FIRST:], self.limit - (time.monotonic() - began))
            if outcome == "killed" and "::" in by and by not in self.sound | self.unsound:
                self._renew()
                (self.sound if self._run([by], self.limit)[0] == "survived" else self.unsound).add(by)
            if by not in self.unsound:
                return mutant.row | {"outcome": outcome, "by": by, "seconds": round(time.monotonic() - began, 1)}

    def _renew(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.pristine, self.root, copy_function=os.link, symlinks=True)

    def _run(self, tests: list[str], limit: float) -> tuple[str, str]:
        """Run tests in the copy; return the outcome and the test that failed."""
        left_out = [word for test in sorted(self.unsound) for word in ("--deselect", test)]
        arguments = ["-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "-m", LEFT_OUT, *left_out, *tests]
        path = os.pathsep.join([str(self.root), str(self.root / "plugins"), str(self.root / "registry")])
        env = os.environ | ONE_THREAD | {"PYTHONPATH": path}
        log = self.root.with_suffix(".log")
        code = self.server.run(self.root, env, log, arguments, max(limit, 1.0))
        if code is None:
            return "over", f"{self.limit:g} seconds"
        if code in (0, 5):
            return "survived", "" if code == 0 else "no test"
        out = log.read_text(errors="replace")
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", out, re.M)
        return "killed", failed[1] if failed else out.strip().rpartition("\n")[2]


class Server:
    """A process of `support.mutation.forking`."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.mutation.forking"], env=os.environ | ONE_THREAD,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        )  # fmt: skip

    def run(self, folder: Path, env: dict[str, str], log: Path, arguments: list[str], limit: float) -> int | None:
        """Return the exit code of pytest, or None after the limit of seconds; what the tests have left ends, too."""
        order = {"folder": str(folder), "env": env, "log": str(log), "arguments": arguments}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()
        fork = self._number(None)
        assert fork is not None
        code = self._number(limit)
        with suppress(ProcessLookupError):
            os.killpg(fork, signal.SIGKILL)
        if code is None:
            self._number(None)
        return code

    def _number(self, limit: float | None) -> int | None:
        """Return the next line, or None after the limit of seconds."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        return int(self.process.stdout.readline()) if ready else None

    def end(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    """Draw the sample and test what the file does not hold yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="HEAD~1", help="the commit; lines that it has are not changed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each mutant")
    parser.add_argument("--changes", type=Path, help="changes made by hand, instead of a sample")
    parser.add_argument("--only", default="", help="only files whose path holds this")
    given = parser.parse_args()
    key = lambda row: (row["file"], row["where"], row["before"], row["after"], row["line"])
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    rows = {key(row): row for row in map(json.loads, lines)}
    every = list(by_hand(given.changes)) if given.changes else sample(given.base, given.seed, given.count)
    every = [mutant for mutant in every if given.only in mutant.row["file"]]
    todo: queue.SimpleQueue = queue.SimpleQueue()
    for mutant in every:
        if key(mutant.row) not in rows:
            todo.put(mutant)
    write, ended = threading.Lock(), threading.Event()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(given.jobs) as pool:
        pristine = Path(scratch, "pristine")
        shutil.copytree(".", pristine, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv*", "*_build"))

        def work(number: int) -> None:
            lane = Lane(given, Path(scratch, f"lane{number}"), pristine)
            try:
                while not todo.empty() and not ended.is_set():
                    row = lane.judge(todo.get())
                    with write, given.out.open("a") as file:
                        rows[key(row)] = row
                        file.write(json.dumps(row) + "\n")
            finally:
                lane.server.end()

        try:
            list(pool.map(work, range(given.jobs)))
        finally:
            ended.set()
    counts = {name: 0 for name in ("killed", "survived", "over", "equivalent")}
    for mutant in every:
        row = rows[key(mutant.row)]
        counts[row["outcome"]] += 1
        if row["outcome"] in ("survived", "over"):
            print(f"{row['outcome']}: {row['file']}:{row['line']} {row['where']}: {row['before']}  ->  {row['after']}")
    print(*(f"{count} {name}" for name, count in counts.items()), sep=", ")


if __name__ == "__main__":
    main()
