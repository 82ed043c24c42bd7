"""The environment of a comparison: versions, processor, threads, commit; no host, user or path."""

from __future__ import annotations

import platform
import re
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import svmkit
from svmkit.runtime.threads import cores

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
# /home/me/data/a9a, C:\Users\me\a9a: the folders, if a word or a value begins there
_FOLDERS = re.compile(r"(?<![^\s'\"=(,])(?:[~/](?:[^/\s'\"]*/)+|[A-Za-z]:\\(?:[^\\\s'\"]+\\)+)(?=[^/\\\s'\"])")
_ADDRESS = re.compile(r"\b([a-z][a-z0-9+.-]*)://[^\s'\"]*", re.IGNORECASE)


def describe(command: str = "", threads: int | None = None) -> dict[str, str]:
    """Return facts about the environment in the order of the report; `command` loses its folders and addresses."""
    facts = {"svmkit": svmkit.__version__, "commit": _commit(), "Python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            facts[name] = version(name)
    facts |= {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": f"{cores()}",
        "threads": f"{threads or cores()}",
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "command": without_places(command),
    }
    return {name: value for name, value in facts.items() if value}


def without_places(text: str) -> str:
    """Return the text with absolute paths cut to their last name and addresses to their scheme: reports are shared."""
    return _FOLDERS.sub("", _ADDRESS.sub(r"\1://...", text))


def _commit() -> str:
    """Return the commit of the checkout that svmkit is imported from, with "+" if files differ; "" outside one."""
    folder = Path(svmkit.__file__).parent

    def git(*args: str) -> str:
        done = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # excludes a repository that contains the environment
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor()
