"""Print what the changelog says of a release, and refuse a tag that version, changelog and citation do not agree with.

python .ci/notes.py v0.1.0 [FOLDER]     FOLDER: of the project, by default the one above this file's
"""

import re
import sys
from datetime import date
from pathlib import Path


def version(root: Path) -> str:
    """Return the version, which is kept in one place."""
    return re.search(r'^__version__ = "(.+)"$', (root / "svmkit" / "_version.py").read_text("utf-8"), re.M)[1]


def sections(root: Path) -> list[tuple[str, str, str]]:
    """Return (name, date or "", text) of every section of the changelog, the newest first."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    parts = re.split(r"^## \[(.+?)\](?: - (.+))?$", text, flags=re.M)[1:]
    return [(name, day or "", body.strip()) for name, day, body in zip(*[iter(parts)] * 3, strict=True)]


def cited(root: Path, key: str) -> str | None:
    """Return what CITATION.cff says of svmkit itself under a key."""
    found = re.search(rf'^{key}: "?([^"\n]+)"?$', (root / "CITATION.cff").read_text("utf-8"), re.M)
    return found and found[1]


def notes(tag: str, root: Path) -> str:
    """Return the notes of the release that `tag` names; raise SystemExit with one line on what does not agree."""
    number = version(root)
    if tag != f"v{number}":
        raise SystemExit(f"the tag is {tag}, and svmkit/_version.py says {number}: correct one of them")
    name, day, text = next((s for s in sections(root) if s[0] != "Unreleased" or s[2]), ("", "", ""))
    if name != number:
        raise SystemExit(f"the newest entries of CHANGELOG.md are under [{name}]: put them under [{number}] - DATE")
    try:
        date.fromisoformat(day)
    except ValueError:
        raise SystemExit(f"CHANGELOG.md has no date for [{number}]: write ## [{number}] - YEAR-MONTH-DAY") from None
    for key, value in (("version", number), ("date-released", day)):
        if cited(root, key) != value:
            raise SystemExit(f"CITATION.cff has {key} {cited(root, key)}: write {value}")
    if not text:
        raise SystemExit(f"CHANGELOG.md says nothing under [{number}]: write what has changed")
    return text


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    print(notes(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).parents[1]))
