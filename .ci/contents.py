"""Compare sdists and wheels with the files that git has: nothing is missing, and nothing else is in them.

Those of svmkit-core have the files of .ci/precompile.py besides, for one version of Python at least.

python .ci/contents.py OUT     OUT: the folder with sdist and wheel of svmkit-core and of svmkit (.ci/distributions.py)
"""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRECOMPILED = "svmkit/precompiled/"
BARE = {"pyproject.toml", "README.md", "LICENSE", "_version.py"}  # what the sdist of svmkit has; its wheel has no file


def tracked() -> set[str]:
    """Return the files of the project."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name for name in names.split("\0") if name and (ROOT / name).exists()}


def installed(files: set[str]) -> set[str]:
    """Return the files of the packages, under the names that they have once they are installed."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = config["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return {
        str(Path(name).relative_to(Path(package).parent))
        for package in packages
        for name in files
        if name.startswith(f"{package}/")
    }


def compare(what: str, found: set[str], expected: set[str]) -> bool:
    """Print what differs; return whether nothing does."""
    for name in sorted(expected - found):
        print(f"{what} lacks {name}")
    for name in sorted(found - expected):
        print(f"{what} has {name}, which is not to be there")
    return found == expected


def compare_both(out: Path, name: str, files: set[str], packages: set[str]) -> bool:
    """Compare the sdist and the wheel of a distribution; return whether both are as they should be."""
    (sdist,), (wheel,) = out.glob(f"{name}-*.tar.gz"), out.glob(f"{name}-*.whl")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    print(f"{name}: {len(packed)} files in the sdist, {len(names)} in the wheel")
    lowered = {one for one in names if one.startswith(PRECOMPILED) and one.endswith(".zip")}
    if bool(lowered) != bool(packages):
        print(f"{wheel.name} has {len(lowered)} files in {PRECOMPILED}")
    same = [compare(sdist.name, packed, files | lowered), compare(wheel.name, names, packages | lowered)]
    return all(same) and bool(lowered) == bool(packages)


def main(out: str) -> int:
    """Compare all four; return 0 if they are as they should be."""
    files = tracked()
    same = [
        compare_both(Path(out), "svmkit_core", files, installed(files)),
        compare_both(Path(out), "svmkit", BARE, set()),
    ]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
