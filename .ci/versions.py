"""Compare the versions of the peers in docs/features.md with the newest ones that the package index has.

python .ci/versions.py     prints what is newer there, and ends with 1 if anything is; it asks pip, one peer at a time
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[1] / "docs" / "features.md"


class Peer(NamedTuple):
    """A row of the table of versions."""

    package: str
    version: str
    day: str


def peers(text: str) -> list[Peer]:
    """Return the rows of the table; those of no package index are left out."""
    rows = re.findall(r"^\| [^|]+ \| `([\w-]+)` \| ([\w.]+) \| (\d{4}-\d\d-\d\d) \|", text, re.M)
    if not rows:
        raise SystemExit(f"{PAGE} has no table of versions")
    return [Peer(*row) for row in rows]


def newest(package: str) -> str | None:
    """Return the newest version that pip finds for this Python; None if it finds none."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", package], capture_output=True, text=True, check=False
    )
    found = re.match(rf"{re.escape(package)} \((.+)\)", done.stdout)
    return found[1] if found else None


def outdated(text: str, ask: Callable[[str], str | None] = newest) -> Iterator[str]:
    """Yield a line for each peer whose row is not that of the newest version; no zeros at the end count."""
    for peer in peers(text):
        now = ask(peer.package)
        if now is None:
            yield f"{peer.package}: the index does not answer, or has it for no Python like this one"
        elif now.removesuffix(".0") != peer.version.removesuffix(".0"):
            yield f"{peer.package}: {now} is newer than {peer.version} of {peer.day}: read its changes, mend its column"


def main() -> int:
    """Print what differs; return 1 if anything does."""
    lines = list(outdated(PAGE.read_text("utf-8")))
    print("\n".join(lines) or "all versions are the newest ones")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
