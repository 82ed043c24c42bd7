"""The test command ends and fails, whatever happens to a worker process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.posix

ROOT = Path(__file__).parents[2]
SOUND = "".join(f"def test_sound{i}(): pass\n" for i in range(4))
ENDS = {
    "exit": "import os\ndef test_it(): os._exit(0)\n",
    "kill": "import os, signal\ndef test_it(): os.kill(os.getpid(), signal.SIGKILL)\n",
    "wait": "import time\ndef test_it(): time.sleep(3600)\n",
    # compiled code that keeps Python's lock: no thread of Python can raise an alarm
    "lock": "import ctypes\ndef test_it(): ctypes.PyDLL(None).sleep(3600)\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("ends", [["exit", "kill"], ["wait", "lock"]], ids="-".join)
def test_a_run_ends_when_its_workers_do(ends, tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests/conftest.py", tmp_path / "tests")
    (tmp_path / "tests/support").symlink_to(ROOT / "tests/support")
    for name in ends:
        (tmp_path / f"tests/test_{name}.py").write_text(SOUND + ENDS[name])
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-n", "2", "--timeout", "5", "-p", "no:cacheprovider"],
            cwd=tmp_path,
            env={key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))},
            stdout=out,  # a pipe would wait for every grandchild
            stderr=subprocess.STDOUT,
            timeout=240,
            check=False,
        )
    told = (tmp_path / "out").read_text()
    assert done.returncode == 1, told
    assert "2 failed, 8 passed" in told, told
    for name in ends:
        assert f"crashed while running 'tests/test_{name}.py::test_it'" in told


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="is about the workers of pytest-xdist")
def test_workers_and_their_processes_share_bytecode():
    """Whoever forbids it: several hundred processes would compile all sources anew."""
    assert not sys.dont_write_bytecode and "PYTHONDONTWRITEBYTECODE" not in os.environ
