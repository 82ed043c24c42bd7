"""The reference: a page for each public name, at the package that hands it on first, and a page for each package."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from svmkit import plugins

FOLDER = Path("generated", "api")
# from what most people import to what authors of plugins and tools do
PACKAGES = [
    "svmkit",
    "svmkit.estimators",
    "svmkit.training",
    "svmkit.data",
    "svmkit.kernels",
    "svmkit.model",
    "svmkit.tune",
    "svmkit.choice",
    "svmkit.compare",
    "svmkit.explain",
    "svmkit.plotting",
    "svmkit.referee",
    "svmkit.solver",
    "svmkit.problems",
    "svmkit.losses",
    "svmkit.tasks",
    "svmkit.conformance",
    "svmkit.tracking",
    "svmkit.plugins",
    "svmkit.errors",
]
ROUTING = ["get_metadata_routing", *(f"set_{name}_request" for name in ("fit", "partial_fit", "predict", "score"))]
KINDS = ["solver", "kernel", "sampler"]


def public_names(package: str) -> list[str]:
    """Return `__all__`, or what a module without one defines."""
    module = importlib.import_module(package)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == package]
    return list(getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")])


def homes() -> dict[str, str]:
    """Return the full name of the page of each public name, by every full name that it has."""
    first: dict[int, str] = {}
    found = {}
    for package in PACKAGES:
        for name in public_names(package):
            full = f"{package}.{name}"
            value = _found(full)
            found[full] = first.setdefault(id(value), full) if _documented(value) else full
    return found


def _documented(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isroutine(value) or hasattr(value, "cache_info")


def _heading(title: str) -> list[str]:
    return [title, "=" * len(title), ""]


def object_page(full: str, value: Any) -> str:
    """Return the page of a class or a function."""
    lines = _heading(full)
    if not inspect.isclass(value):
        return "\n".join([*lines, f".. autofunction:: {full}", ""])
    lines += [f".. autoclass:: {full}", "   :members:"]
    if full.startswith("svmkit.SVM"):
        lines += ["   :inherited-members: BaseEstimator, ClassifierMixin, RegressorMixin, OutlierMixin"]
        lines += [f"   :exclude-members: {', '.join(ROUTING)}"]
    return "\n".join([*lines, ""])


def package_page(package: str, home: dict[str, str]) -> str:
    """Return the page of a package: its docstring, and a table of its names that leads to their pages."""
    module = importlib.import_module(package)
    lines = [*_heading(package), f".. automodule:: {package}", "   :no-members:", ""]
    lines += [".. list-table::", "   :widths: 1 2", ""]
    constants = []
    for name in public_names(package):
        value = getattr(module, name)
        if _documented(value):
            target = home[f"{package}.{name}"]
            lines += [f"   * - :doc:`{name} <{target}>`", f"     - {_first_line(value)}"]
        else:
            lines += [f"   * - :py:data:`{name} <{package}.{name}>`", f"     - {_kind(value)}"]
            constants += [f".. py:data:: {package}.{name}", ""]
    own = sorted(target for full, target in home.items() if full == target and _parent(full) == package)
    pages = [full for full in own if _documented(_found(full))]
    toctree = [".. toctree::", "   :hidden:", "", *(f"   {full}" for full in pages), ""] if pages else []
    return "\n".join([*lines, "", *constants, *toctree])


def _found(full: str) -> Any:
    return getattr(importlib.import_module(_parent(full)), full.rpartition(".")[2])


def _parent(full: str) -> str:
    return full.rpartition(".")[0]


def _kind(value: Any) -> str:
    is_type = type(value).__module__ in ("typing", "collections.abc")
    return "a type" if is_type else f"a constant, {type(value).__name__}"


def _first_line(value: Any) -> str:
    text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    for mark in "\\*`|_":
        text = text.replace(mark, f"\\{mark}")
    return text


def plugin_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each kind of plugin, and one for each class that is not in a package above."""
    known = {id(_found(full)): full for full in homes().values()}
    for kind in KINDS:
        title = f"{kind.capitalize()}s by name"
        lines = [*_heading(title), f"What ``--{kind}`` takes; ``svmkit plugins --kind {kind}`` lists the same.", ""]
        lines += [".. list-table::", "   :widths: 1 3", ""]
        pages = []
        for row in plugins.describe(kind):
            if row.package != "svmkit" or row.plugin is None:
                continue
            full = f"{row.plugin.__module__}.{row.plugin.__qualname__}"
            if id(row.plugin) not in known and row.status == "ok":  # a module that cannot be imported has no page
                pages.append(full)
                yield full, object_page(full, row.plugin)
            target = known.get(id(row.plugin), full)
            named = f":doc:`{row.name} <{target}>`" if row.status == "ok" else f"``{row.name}``"
            lines += [f"   * - {named}", f"     - {_first_line(row.plugin)}"]
        lines += ["", ".. toctree::", "   :hidden:", "", *(f"   {full}" for full in pages)] if pages else []
        yield f"{kind}s", "\n".join([*lines, ""])


def pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    home = homes()
    found = {package: package_page(package, home) for package in PACKAGES}
    for full in sorted(set(home.values())):
        if _documented(_found(full)):
            found[full] = object_page(full, _found(full))
    return found | dict(plugin_pages())


def write(app: Any) -> None:
    """Write the pages whose text has changed, and remove the ones of names that are gone."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {f"{name}.rst": text for name, text in pages().items()}
    for file in folder.glob("*.rst"):
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def formulas(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape the bars of formulas such as 1/2 |w|^2, which are substitutions in reStructuredText."""
    lines[:] = ["".join(_escaped(part) for part in re.split(r"(`[^`]*`)", line)) for line in lines]


def _escaped(part: str) -> str:
    return part if part.startswith("`") else part.replace("|", "\\|")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx to write the pages first."""
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", formulas, priority=600)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
