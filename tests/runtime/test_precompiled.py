"""Code that was recorded as lowered becomes what numba would have compiled; where anything differs, numba compiles."""

import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

from svmkit.runtime.lowered import levels, precompiled

FUNCTIONS = """
import numpy as np
from svmkit.runtime.compiling import njit
from toy.constants import STEP

@njit(cache=True, error_model="python")
def divide(x, y):
    if y < 0.0:
        raise ValueError("negative")
    return x / y

@njit(cache=True)
def sum_shares(values, y):
    shares = np.empty(values.size)
    for i in range(values.size):
        shares[i] = divide(values[i], y) + STEP
    return shares.sum()

@njit(cache=True)
def average(values):
    return sum_shares(values, float(values.size))

@njit
def uncached(x):
    return x + 1.0
"""
START = """
import sys
from pathlib import Path
import numpy as np
from svmkit.runtime.lowered import precompiled, recording
from svmkit.runtime.compiling import count_compilations
precompiled.FOLDER = Path("files").absolute()
"""
# `sum_shares` is called by Python before `average`, which then links code that is optimised already
USE = """
print(sum_shares(np.ones(3), 2.0), average(np.arange(5.0)), uncached(1.0))
for y, error in ((0.0, ZeroDivisionError), (-1.0, ValueError)):
    try:
        sum_shares(np.ones(3), y)
    except error as raised:
        print(raised)
"""
RECORD = f"""{START}
with recording.record():
    from toy.functions import *
    {USE.strip().replace(chr(10), chr(10) + "    ")}
    recording.write(precompiled.FOLDER, ["toy"])
"""
READ = f"""{START}
from toy.functions import *
compiled = []
for dispatcher in (sum_shares, average):
    usual = dispatcher._compiler.compile
    dispatcher._compiler.compile = lambda *args, usual=usual: compiled.append(args) or usual(*args)
with count_compilations() as counts:
    {USE.strip().replace(chr(10), chr(10) + "    ")}
print(len(compiled), *counts.functions, file=sys.stderr)
"""
AS_LOWERED = f"from svmkit.runtime.lowered import levels\nlevels.LEVELS.clear()\n{READ}"  # as on another processor
AS_MACHINE_CODE = READ.replace("compiled = []", "precompiled.optimise = None\ncompiled = []")  # LLVM has nothing to do
ANSWERS = "4.5 7.0 2.0\ndivision by zero\nnegative\n"


def _run(folder, code, cache):
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder / cache)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ANSWERS
    return done.stderr.split()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with a package, and with its code as lowered in `files`."""
    folder = tmp_path_factory.mktemp("precompiled")
    (folder / "toy").mkdir()
    (folder / "toy" / "__init__.py").touch()
    (folder / "toy" / "constants.py").write_text("STEP = 1.0\n")
    (folder / "toy" / "functions.py").write_text(FUNCTIONS)
    _run(folder, RECORD, "recorded")
    return folder


def _machine_code(cache: Path) -> dict:
    """The machine code of each function in a cache of numba's."""
    states = ((path.name, pickle.loads(path.read_bytes())) for path in sorted(cache.rglob("*.nbc")))
    return {name: (state[0][0], state[0][2][0]) for name, state in states}


@pytest.mark.slow
def test_nothing_is_compiled_and_machine_code_is_the_same(recorded, monkeypatch):
    assert _run(recorded, AS_LOWERED, "fresh") == [
        "0",
        "sum_shares",
        "average",
        "uncached",
    ]  # their seconds are counted
    monkeypatch.syspath_prepend(recorded)  # states name the module
    codes = _machine_code(recorded / "fresh")
    assert len(codes) == 2
    name = next(name for name in codes if "sum_shares" in name)
    assert codes[name] == _machine_code(recorded / "recorded")[name]
    assert _run(recorded, READ, "fresh") == ["0", "uncached"]  # read from numba's cache


@pytest.mark.slow
def test_machine_code_of_a_level_is_read_and_cached(recorded, monkeypatch):
    level = levels.find_level(numba.core.registry.cpu_target.target_context.codegen())
    if level is None:
        pytest.skip("no level has the instructions of this processor alone")
    assert _run(recorded, AS_MACHINE_CODE, "machine") == ["0", "sum_shares", "average", "uncached"]
    assert _run(recorded, READ, "machine") == ["0", "uncached"]
    monkeypatch.syspath_prepend(recorded)
    (path,) = (recorded / "files").iterdir()
    with zipfile.ZipFile(path) as archive:
        states = [pickle.loads(archive.read(name)) for name in archive.namelist() if name.startswith(level)]
    assert {state[2][0] for state in states} == {code[1] for code in _machine_code(recorded / "machine").values()}


@pytest.mark.parametrize(
    ("lacking", "level"), [((), "x86-64-v4"), (("avx512vl",), "x86-64-v3"), (("avx512vl", "fma"), None)]
)
def test_a_level_needs_all_its_instructions(lacking, level):
    features = ",".join(("-" if name in lacking else "+") + name for name in sorted({"sse2", "adx", *levels.AVX512}))
    assert levels.find_level(SimpleNamespace(_tm_features=features)) == level


@pytest.mark.slow
def test_other_source_is_compiled(recorded):
    constants = recorded / "toy" / "constants.py"
    constants.write_text("STEP = 1.0  # another line\n")
    assert _run(recorded, READ, "other")[0] == "2"
    constants.write_text("STEP = 1.0\n")
    assert _run(recorded, READ, "same")[0] == "0"


@pytest.mark.slow
def test_a_file_that_is_cut_off_is_as_none(recorded):
    (path,) = (recorded / "files").iterdir()
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert _run(recorded, READ, "cut")[0] == "2"
    damaged = bytearray(content)
    for at in range(200, len(damaged) - 2000, 50):  # not the manifest, nor the list of members at the end
        damaged[at] ^= 0xFF
    path.write_bytes(damaged)
    assert _run(recorded, READ, "damaged") == ["2", "sum_shares", "average", "uncached"]
    path.write_bytes(content)


def test_the_file_is_that_of_the_versions_at_hand(monkeypatch):
    name = precompiled.file_name()
    assert numba.__version__ in name and sys.implementation.cache_tag in name
    for module, attribute, value in ((numba, "__version__", "0.0.1"), (numba.core.config, "BOUNDSCHECK", 1)):
        with monkeypatch.context() as patch:
            patch.setattr(module, attribute, value)
            assert precompiled.file_name() != name


def test_a_source_tree_has_no_such_file():
    assert not precompiled.FOLDER.exists() and precompiled.find_file() is None
