"""svmkit new: a working template of a plugin, as one file or as a package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmkit.cli.option_table import Options, argument, option, takes

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ("solver", "kernel", "loss", "sampler")
USES = {
    "solver": "--solver {name}",
    "kernel": "--kernel {name}",
    "loss": "diabetes --solver fcsmo --loss {name}",
    "sampler": "--solver swap --sampler {name}",
}


@takes(
    "new",
    argument("kind", str, "solver, kernel, loss or sampler."),
    argument("name", str, "What users will type after --KIND: an identifier of at most 10 characters (a loss: 32)."),
    option("package", bool, False, "A package to install, instead of one file."),
    option("out", str, ".", "Folder in which it is written.", metavar="DIR"),
    option("force", bool, False, "Replace files that are there."),
)
def new(options: Options) -> None:
    """Write a solver, kernel, loss or sampler to start from, with its tests.

    It works as it is, and lines marked CHANGE are where a method of yours goes. NAME.py is for --plugin NAME.py; a
    package is installed and then found by name.
    """
    from pathlib import Path

    from svmkit.cli.common import emit
    from svmkit.cli.extending.template import Template
    from svmkit.errors import InputError

    kind, name, package = options.kind, options.name, options.package
    if kind not in KINDS:
        raise InputError(f"there is no template of a {kind!r}; there are: {', '.join(KINDS)}")
    template = Template(kind, name, as_package=package)
    root = Path(options.out)
    template.require_free(root)
    written = template.write(root, force=options.force)
    steps = _steps(template.package, kind, name, root) if package else _file_steps(kind, name, root)
    if options.json:
        emit({"kind": kind, "name": name, "files": [str(path) for path in written], "next": steps})
        return
    print("\n".join(f"wrote {path}" for path in written))
    print("next")
    print("\n".join(f"  {step}" for step in steps))


def _file_steps(kind: str, name: str, root: Path) -> list[str]:
    """Return three commands that work as they are, with the file."""
    import shlex

    file, test = shlex.quote(str(root / f"{name}.py")), shlex.quote(str(root / f"test_{name}.py"))
    return [
        f"svmkit train --plugin {file} {USES[kind].format(name=name)} --scale standard",
        f"svmkit check --plugin {file}",
        f"python -m pytest {test}",
    ]


def _steps(package: str, kind: str, name: str, root: Path) -> list[str]:
    """Return three commands that work as they are, with the package."""
    import shlex

    folder = str(root / package) if root.is_absolute() else f"./{root / package}"
    return [
        f"python -m pip install -e {shlex.quote(f'{folder}[test]')}",
        f"svmkit check {name}",
        f"python -m pytest {shlex.quote(folder)}",
    ]
