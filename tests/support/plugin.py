"""Plugins as a third party's package would bring them: a folder with a module and its metadata, on the path."""

import sys

import pytest

from svmkit import plugins
from svmkit.plugins import plugin_file


@pytest.fixture
def package(tmp_path, monkeypatch):
    """package(source, {kind: {name: attribute}}, interface=("3",), name=..., version=...): found as if installed.

    An attribute with a colon, module:attribute, is the whole value of the entry point.
    """
    made = []

    def make(source, points, interface=(), name="strange", version="1.0"):
        folder = tmp_path / f"site-{name}"
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        module = f"{name}_plugins"
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
        groups = {
            plugin_file.group(kind): [f"{n} = {to if ':' in to else f'{module}:{to}'}" for n, to in found.items()]
            for kind, found in points.items()
        }
        groups["svmkit.interface"] = [f"{said} = {module}" for said in interface]
        text = "".join(f"[{group}]\n" + "\n".join(lines) + "\n" for group, lines in groups.items() if lines)
        (info / "entry_points.txt").write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(str(folder))
        made.append(module)
        plugins.registered.cache_clear()
        return folder

    yield make
    plugins.registered.cache_clear()
    for module in made:
        sys.modules.pop(module, None)


@pytest.fixture
def unloaded(monkeypatch):
    """No plugin file is loaded, neither now nor after the test."""
    monkeypatch.setattr(plugin_file, "_loaded", {})
    plugins.registered.cache_clear()
    yield
    plugins.registered.cache_clear()
    for module in [name for name in sys.modules if name.startswith("plugin_file_")]:
        del sys.modules[module]


HEAD = """
from dataclasses import dataclass
from svmkit.kernels import RBF, Kernel
from svmkit.solver import Sampler, Solver, Uniform
from svmkit_decomposition.smo import SMO
"""
MINE = (
    HEAD
    + """

@dataclass(frozen=True)
class Mine(SMO):
    '''SMO by another name.'''
    name = "mine"
"""
)
