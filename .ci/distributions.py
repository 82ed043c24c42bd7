"""The two distributions that are published, each as a source tree of its own, made from pyproject.toml and git's files.

python .ci/distributions.py OUT     OUT/svmkit_core and OUT/svmkit are made, for `python -m build`

`svmkit-core` has all code, all entry points and the dependencies above the line MARK; `svmkit` has no file but its
metadata, and depends on svmkit-core of the same version and on what stands below the line. So no file belongs to two
distributions. The project itself is `svmkit` with everything, so that `pip install .` and `pip install -e .` need
nothing that an index would have to have.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = "svmkit-core"
MARK = "  # what svmkit-core leaves out (.ci/distributions.py)\n"


def halves(text: str) -> tuple[list[str], list[str]]:
    """Return the dependencies of svmkit-core, and those that svmkit has besides."""
    whole = tomllib.loads(text)["project"]["dependencies"]
    above, mark, below = text.partition(MARK)
    if not mark or MARK in below:
        raise SystemExit(f"pyproject.toml: the dependencies need one line {MARK.strip()!r}")
    core = tomllib.loads(above[above.index("dependencies = [") :] + "]\n")["dependencies"]
    return core, whole[len(core) :]


def core_project(text: str) -> str:
    """Return the pyproject.toml of svmkit-core: that of the project, with another name and fewer dependencies."""
    above, _, below = text.partition(MARK)
    left_out = below[: below.index("]\n\n")]
    text = above + below.removeprefix(left_out)
    text = text.replace('\nname = "svmkit"\n', f'\nname = "{CORE}"\n', 1)
    return re.sub(r'"svmkit(\[\w+\])', rf'"{CORE}\1', text)  # extras that name other extras


def whole_project(text: str, version: str) -> str:
    """Return the pyproject.toml of svmkit: metadata alone, with the extras of the project."""
    given = tomllib.loads(text)["project"]
    described = text[: text.index("dependencies = [")]  # the build system, and what the project is
    needs = [f"{CORE}=={version}", *halves(text)[1]]
    extras, urls = (
        "".join(f"{key} = {json.dumps(value)}\n" for key, value in given[table].items())
        for table in ("optional-dependencies", "urls")
    )
    readme = text[text.index("[tool.hatch.metadata.hooks") : text.index("[tool.hatch.build.targets.wheel]")]
    return (
        f"{described}dependencies = {json.dumps(needs)}\n\n"
        f"[project.optional-dependencies]\n{extras}\n[project.urls]\n{urls}\n"
        f'[tool.hatch.version]\npath = "_version.py"\n\n{readme}'
        "[tool.hatch.build.targets.wheel]\nbypass-selection = true\n\n"
        '[tool.hatch.build.targets.sdist]\nonly-include = ["_version.py", "README.md"]\n'
    )


def main(out: str) -> None:
    """Make both trees."""
    text, version_file = (ROOT / "pyproject.toml").read_text("utf-8"), ROOT / "svmkit" / "_version.py"
    found = re.search(r'"(.+)"', version_file.read_text("utf-8").rpartition("=")[2])
    assert found is not None
    core, whole = Path(out) / "svmkit_core", Path(out) / "svmkit"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (core / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, core / name)
    (core / "pyproject.toml").write_text(core_project(text), "utf-8")
    whole.mkdir(parents=True)
    for name in ("README.md", "LICENSE"):
        shutil.copy2(ROOT / name, whole / name)
    shutil.copy2(version_file, whole / "_version.py")
    (whole / "pyproject.toml").write_text(whole_project(text, found[1]), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
