"""The order of the rooms: which may import which (a new arrow is allowed here first), and how large a folder may be."""

import ast
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import svmkit

ROOT = Path(svmkit.__file__).parent.parent
GROUND = ["_version", "errors", "runtime"]
CORE = [*GROUND, "plugins", "losses", "data", "kernels", "problems", "solver"]
TRAINING = [*CORE, "scoring", "tasks", "explain", "model", "training"]
MAY_IMPORT = {
    "_version": [],
    "errors": [],
    "runtime": ["errors"],
    "plugins": ["_version", "errors"],
    "losses": [*GROUND, "plugins"],
    "cluster": [*GROUND, "plugins"],
    "data": GROUND,
    "kernels": [*GROUND, "plugins", "data"],
    "problems": [*GROUND, "plugins", "losses", "data", "kernels"],
    "solver": CORE[:-1],
    "scoring": CORE,
    "tasks": [*CORE, "scoring"],
    "explain": [*GROUND, "data", "kernels", "scoring", "tasks"],  # models lie above, and call it
    # problems: to certify
    "model": [*GROUND, "plugins", "losses", "data", "kernels", "problems", "scoring", "tasks", "explain"],
    "training": [*CORE, "scoring", "tasks", "model"],
    "referee": TRAINING,
    "plotting": [*GROUND, "data", "solver", "tasks", "explain", "model"],
    "tune": [*TRAINING, "cluster"],
    "choice": [*TRAINING, "cluster", "tune"],
    "estimators": [*TRAINING, "tune", "choice"],
    "tracking": TRAINING,
    "conformance": [*TRAINING, "estimators"],  # the hostile grid trains one-class models as users do
    "compare": [*TRAINING, "cluster", "tracking", "plotting", "tune"],  # tune: the folds of a search
    "cli": [
        *(*TRAINING, "cluster", "estimators", "tracking", "plotting", "tune", "choice", "compare", "conformance"),
        "referee",
    ],
    "__main__": ["cli"],
    "svmkit_": CORE,  # the packages of plugins/
    "svmkit_dask": [
        *TRAINING,
        "estimators",
        "cluster",
        "svmkit_corrective",
        "svmkit_newton",
    ],  # a driver, and an estimator of its own
    "svmkit_registry": [*TRAINING, "tracking", "cli", "svmkit_registry"],
}


def room_of(path: Path) -> str:
    """The room in which a file lies: a folder or module of svmkit, a package of plugins/ or registry/."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[1]


@cache
def imports_of(path: Path) -> set[str]:
    """The dotted names that a file imports, at any depth: `a.b` and `c` of `from a.b import c` as `a.b.c`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def rooms_of(path: Path) -> set[str]:
    """The rooms that a file imports; a package's face counts as its package."""
    parts = [name.split(".") for name in imports_of(path)]
    inside = {part[1] for part in parts if part[0] == "svmkit" and len(part) > 1}
    return inside | {part[0] for part in parts if part[0].startswith("svmkit_")}


FILES = sorted(path for part in ("svmkit", "plugins", "registry") for path in (ROOT / part).rglob("*.py"))
FILES = [path for path in FILES if path != ROOT / "svmkit" / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_what_lies_below_it(path):
    room = room_of(path)
    allowed = {*MAY_IMPORT[room if room in MAY_IMPORT else "svmkit_"], room}
    above = rooms_of(path) - allowed
    assert not above, f"{path.relative_to(ROOT)} imports {', '.join(sorted(above))}, which room {room} may not"


def test_the_table_has_no_circle():
    floors({room: {*below} - {room} for room, below in MAY_IMPORT.items()})


def test_every_room_is_in_the_table():
    rooms = {room_of(path) for path in FILES if path.parts[len(ROOT.parts)] == "svmkit"}
    assert rooms <= set(MAY_IMPORT), f"say in MAY_IMPORT what these may import: {rooms - set(MAY_IMPORT)}"


ENTRIES, FLOORS = 15, 6  # files and folders in a folder, and the longest chain of imports between them


def module_of(path: Path) -> str:
    """The dotted name of a file's module."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[parts[0] != "svmkit" :]).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


def graph_of(folder: Path) -> dict[str, set[str]]:
    """What lies directly in a folder, files and folders, each with those of them that it imports."""

    def entry(path: Path) -> str | None:
        first = path.relative_to(folder).parts[0] if path.is_relative_to(folder) else "__init__.py"
        return None if first == "__init__.py" else first

    graph: dict[str, set[str]] = defaultdict(set)
    for path in FILES:
        if (name := entry(path)) is None:
            continue
        targets = (MODULES.get(module) or MODULES.get(module.rpartition(".")[0]) for module in imports_of(path))
        graph[name] |= {other for target in targets if target and (other := entry(target))} - {name}
    return graph


def floors(graph: Mapping[str, set[str]]) -> int:
    """The longest chain of imports; raises CycleError for a circle of any length."""
    height: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        height[name] = 1 + max((height[other] for other in graph.get(name, ())), default=0)
    return max(height.values(), default=0)


FOLDERS = sorted({str(path.parent.relative_to(ROOT)) for path in FILES} - {"svmkit"})


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_is_small(folder):
    graph = graph_of(ROOT / folder)
    assert len(graph) <= ENTRIES, f"{folder} holds {len(graph)} entries, more than {ENTRIES}: give it a folder"
    assert floors(graph) <= FLOORS, f"{folder} has {floors(graph)} floors of imports, more than {FLOORS}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_in_a_folder_form_no_circle(folder):
    try:
        floors(graph_of(ROOT / folder))
    except CycleError as error:
        pytest.fail(f"{folder}: {' -> '.join(reversed(error.args[1]))}")


def test_a_circle_of_three_is_seen():
    with pytest.raises(CycleError):
        floors({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert floors({"a": {"b"}, "b": {"c"}, "c": set()}) == 3
