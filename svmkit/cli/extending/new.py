"""svmkit new: a working template of a plugin, as one file or as a package."""

from __future__ import annotations

import keyword
import re
import shlex
import string
import sys
from importlib.util import find_spec
from pathlib import Path

from svmkit import plugins
from svmkit.cli.option_table import Options, argument, option, takes
from svmkit.errors import InputError
from svmkit.runtime.terminal import say

FOLDER = Path(__file__).parent / "templates"
KINDS = ("solver", "kernel", "loss", "sampler")
USES = {
    "solver": "--solver {name}",
    "kernel": "--kernel {name}",
    "loss": "diabetes --solver fcsmo --loss {name}",
    "sampler": "--solver swap --sampler {name}",
}
USED = {
    *("Certificate", "ClassVar", "Draws", "Family", "InputError", "Kernel", "Loss", "Sampler", "SimplexQP", "Solver"),
    *("State", "StepInfo", "Terms"),
}
"""Names in the templates that the class cannot have."""


@takes(
    "new",
    argument("kind", str, "solver, kernel, loss or sampler."),
    argument(
        "name",
        str,
        "Name of the plugin, as users will type it after --KIND: an identifier of at most 32 "
        "characters (for a solver, 10).",
    ),
    option("package", bool, False, "Write a package to install, instead of one file."),
    option("out", str, ".", "Folder for the files.", metavar="DIR"),
    option("force", bool, False, "Replace existing files."),
)
def new(options: Options) -> None:
    """Write a solver, kernel, loss or sampler to start from, with its tests.

    It works as it is, and lines marked CHANGE are where a method of yours goes. NAME.py is for --plugin NAME.py; a
    package is installed and then found by name.
    """
    from svmkit.cli.common import emit

    kind, name = options.kind, options.name
    if kind not in KINDS:
        raise InputError(f"there is no template of a {kind!r}; there are: {', '.join(KINDS)}")
    template = Template(kind, name, as_package=options.package)
    root = Path(options.out)
    template.require_free(root)
    written = template.write(root, force=options.force)
    steps = template.steps(root)
    if options.json:
        emit({"kind": kind, "name": name, "files": [str(path) for path in written], "next": steps})
        return
    say(*(f"wrote {path}" for path in written), "next", *(f"  {step}" for step in steps))


class Template:
    """The files of a new plugin: a package to install, or one file and one of tests.

    Raises InputError: the name is invalid for a plugin or a module, or a plugin has it already.
    """

    def __init__(self, kind: str, name: str, *, as_package: bool) -> None:
        from svmkit.plugins.contracts import fault_of_name

        if not (name.isascii() and name.isidentifier()) or name.startswith("_") or keyword.iskeyword(name):
            raise InputError(f"{name!r} cannot be the name of a {kind}: take letters, digits and _, a letter first")
        if reason := fault_of_name(kind, name):
            raise InputError(f"the {kind} has the name {name!r}{reason}")
        if name in plugins.names(kind):  # type: ignore[arg-type]
            raise InputError(f"there is a {kind} {name!r} already: take another name (svmkit plugins lists all)")
        self.kind, self.name, self.as_package = kind, name, as_package
        self.package, self.module = f"svmkit-{name.lower().replace('_', '-')}", f"svmkit_{name.lower()}"

    @property
    def cls(self) -> str:
        """The name of the class."""
        camel = "".join(part[:1].upper() + part[1:] for part in self.name.split("_"))
        return f"{camel}{self.kind.title()}" if camel in USED else camel

    def require_free(self, root: Path) -> None:
        """Raise InputError if the code would shadow an installed module, as random.py would shadow Python's."""
        module = self.module if self.as_package else self.name
        spec = find_spec(module)
        elsewhere = spec is not None and spec.origin and Path(spec.origin).resolve().parent != root.resolve()
        if module in sys.stdlib_module_names or elsewhere:
            raise InputError(f"{module} is a module that is installed, which {module}.py would hide: take another name")

    def files(self) -> dict[str, str]:
        """Return the texts of the files by their paths."""
        code, tests = self._fill(f"{self.kind}.py"), self._fill(f"test_{self.kind}.py")
        if not self.as_package:
            return {f"{self.name}.py": code, f"test_{self.name}.py": tests}
        about = f'"""The {self.kind} {self.name} for svmkit."""\n'
        return {
            f"{self.package}/pyproject.toml": self._fill("pyproject.toml"),
            f"{self.package}/README.md": self._fill("README.md"),
            f"{self.package}/src/{self.module}/__init__.py": about,
            f"{self.package}/src/{self.module}/{self.name}.py": code,
            f"{self.package}/tests/test_{self.name}.py": tests,
        }

    def _fill(self, file: str) -> str:
        """Return the text of a template; lines that begin with @file are for a plugin in one file."""
        from svmkit.plugins import plugin_file

        lines = (FOLDER / f"{file}.txt").read_text(encoding="utf-8").splitlines()
        if self.as_package:
            lines = [line for line in lines if not line.startswith("@file")]
        text = "".join(f"{re.sub('^@file ?', '', line)}\n" for line in lines)
        return string.Template(text).substitute(
            name=self.name,
            cls=self.cls,
            kind=self.kind,
            group=plugin_file.group(self.kind),
            package=self.package,
            module=self.module,
            interface=plugins.INTERFACE,
        )

    def write(self, root: Path, *, force: bool) -> list[Path]:
        """Write the files, overwriting others only with `force`, and return their paths."""
        from svmkit.runtime import files

        wanted = {root / path: text for path, text in self.files().items()}
        there = [str(path) for path in wanted if path.exists()]
        if there and not force:
            raise InputError(
                f"{', '.join(there)}: there already; take another NAME or --out DIR, or replace by --force"
            )
        for path, text in wanted.items():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"cannot make the folder {path.parent}: {error.strerror}") from None
            files.write(path, text.encode())
        return list(wanted)

    def steps(self, root: Path) -> list[str]:
        """Return three commands that work unchanged."""
        if self.as_package:
            folder = str(root / self.package) if root.is_absolute() else f"./{root / self.package}"
            return [
                f"python -m pip install -e {shlex.quote(f'{folder}[test]')}",
                f"svmkit check {self.name}",
                f"python -m pytest {shlex.quote(folder)}",
            ]
        file, test = (shlex.quote(str(root / f"{begin}{self.name}.py")) for begin in ("", "test_"))
        return [
            f"svmkit train --plugin {file} {USES[self.kind].format(name=self.name)} --scale standard",
            f"svmkit check --plugin {file}",
            f"python -m pytest {test}",
        ]
