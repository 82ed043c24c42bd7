"""The order of the rooms: which may import which. A new arrow has to be allowed here first."""

import ast
from pathlib import Path

import pytest

import svmkit

ROOT = Path(svmkit.__file__).parent.parent
GROUND = ["_version", "errors", "runtime"]
CORE = [*GROUND, "plugins", "data", "kernels", "problems", "solver"]
TRAINING = [*CORE, "model", "scoring", "training"]
MAY_IMPORT = {
    "_version": [],
    "errors": [],
    "runtime": ["errors"],
    "plugins": ["_version", "errors"],
    "cluster": [*GROUND, "plugins"],
    "data": GROUND,
    "kernels": [*GROUND, "data"],
    "problems": [*GROUND, "data", "kernels"],
    "model": [*GROUND, "plugins", "data", "kernels"],
    "scoring": [*GROUND, "plugins", "data", "kernels", "model"],
    "solver": CORE[:-1],
    "training": [*CORE, "model", "scoring"],
    "plotting": [*GROUND, "data", "solver", "model"],
    "estimators": TRAINING,
    "tracking": TRAINING,
    "conformance": [*TRAINING, "estimators"],  # the hostile grid trains one-class models as users do
    "tune": [*TRAINING, "cluster", "estimators", "tracking"],
    "compare": [*TRAINING, "cluster", "tracking", "plotting"],
    "cli": [*TRAINING, "cluster", "estimators", "tracking", "plotting", "tune", "compare", "conformance"],
    "__main__": ["cli"],
    "svmkit_": CORE,  # the packages of plugins/
    "svmkit_dask": [*TRAINING, "estimators", "cluster", "svmkit_corrective"],  # a driver, and an estimator of its own
    "svmkit_registry": [*TRAINING, "tracking", "cli", "svmkit_registry"],
}


def room_of(path: Path) -> str:
    """The room in which a file lies: a folder or module of svmkit, a package of plugins/ or registry/."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[1]


def imported(path: Path) -> set[str]:
    """The rooms that a file imports, at any depth; a package's face counts as its package."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert node.module is not None
            modules = [f"svmkit.{alias.name}" for alias in node.names] if node.module == "svmkit" else [node.module]
        for module in modules:
            top, *rest = module.split(".")
            if top == "svmkit" and rest:
                rooms.add(rest[0])
            elif top.startswith("svmkit_"):
                rooms.add(top)
    return rooms


FILES = sorted(path for part in ("svmkit", "plugins", "registry") for path in (ROOT / part).rglob("*.py"))
FILES = [path for path in FILES if path != ROOT / "svmkit" / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_what_lies_below_it(path):
    room = room_of(path)
    allowed = {*MAY_IMPORT[room if room in MAY_IMPORT else "svmkit_"], room}
    above = imported(path) - allowed
    assert not above, f"{path.relative_to(ROOT)} imports {', '.join(sorted(above))}, which room {room} may not"


def test_no_room_may_import_one_that_may_import_it():
    for room, below in MAY_IMPORT.items():
        circle = [other for other in below if other != room and room in MAY_IMPORT.get(other, ())]
        assert not circle, f"{room} and {', '.join(circle)} may import each other"


def test_every_room_is_in_the_table():
    rooms = {room_of(path) for path in FILES if path.parts[len(ROOT.parts)] == "svmkit"}
    assert rooms <= set(MAY_IMPORT), f"say in MAY_IMPORT what these may import: {rooms - set(MAY_IMPORT)}"
