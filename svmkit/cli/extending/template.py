"""The templates of plugins, and what their files are called."""

from __future__ import annotations

import keyword
import re
import string
import sys
from importlib.util import find_spec
from pathlib import Path

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.plugins.plugin_file import LONGEST, LONGEST_OF_LOSS, NAME, group
from svmkit.runtime import files

FOLDER = Path(__file__).parent / "templates"
USED = (
    "Certificate",
    "ClassVar",
    "Draws",
    "Family",
    "InputError",
    "Kernel",
    "Loss",
    "Sampler",
    "SimplexQP",
    "Solver",
    "State",
    "StepInfo",
    "Terms",
)
"""Names in the templates that the class cannot have."""


class Template:
    """The files of a new plugin.

    Parameters
    ----------
    kind : {"solver", "kernel", "loss", "sampler"}
        The kind of plugin.
    name : str
        Its name.
    as_package : bool
        Whether it is a package to install; otherwise one file, and one of tests.

    Attributes
    ----------
    package, module : str
        The names of the package, and of the folder of its code.

    Raises
    ------
    InputError
        The name cannot be that of a plugin or of a module, or a plugin has it.
    """

    def __init__(self, kind: str, name: str, *, as_package: bool) -> None:
        if not NAME.fullmatch(name) or keyword.iskeyword(name):
            raise InputError(f"{name!r} cannot be the name of a {kind}: take letters, digits and _, a letter first")
        longest = LONGEST_OF_LOSS if kind == "loss" else LONGEST
        if len(name) > longest:
            raise InputError(f"{name!r} has {len(name)} characters: the name of a {kind} has {longest} at most")
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
        """Raise InputError if the code would hide a module that is installed, as random.py would hide Python's."""
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
        lines = (FOLDER / f"{file}.txt").read_text(encoding="utf-8").splitlines()
        if self.as_package:
            lines = [line for line in lines if not line.startswith("@file")]
        text = "".join(f"{re.sub('^@file ?', '', line)}\n" for line in lines)
        return string.Template(text).substitute(
            name=self.name,
            cls=self.cls,
            kind=self.kind,
            group=group(self.kind),
            package=self.package,
            module=self.module,
            interface=plugins.INTERFACE,
        )

    def write(self, root: Path, *, force: bool) -> list[Path]:
        """Write the files and return their paths.

        Raises
        ------
        InputError
            A file is there and `force` is not given, or it cannot be written.
        """
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
