"""The sample that runs by default, processes that end, and fixtures that several test files share.

`pytest` runs the sample that support/sample.py describes, `pytest --rest` what the sample leaves out, with few of the
products of three parameters and more, and `pytest --full` all tests. Tests that are named, by a file, a folder, `-k` or
`-m`, run without sampling. With `-n`, the compiled loops are compiled once before the workers start, and each worker
computes in one thread, except in tests marked `threads`.
"""

import faulthandler
import gc
import os
import sys
from pathlib import Path

import pytest

WORKER = "PYTEST_XDIST_WORKER" in os.environ
SESSION_LIMIT = {"sample": 30 * 60, "full": 120 * 60}  # seconds; then the run has failed, whatever hangs
STDERR = os.dup(2)  # of the process, while pytest captures that of the tests

if WORKER:  # before numpy is imported
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="run all tests, not only the sample")
    parser.addoption("--rest", action="store_true", help="run what the sample leaves out (support/sample.py)")


def pytest_configure(config):
    if WORKER:
        config.everything = config.workerinput["everything"]
        return
    named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    chosen = config.option.keyword or config.option.markexpr
    config.everything = bool(named or chosen or config.getoption("full"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Of pytest-xdist: the arguments of a worker are not those that were typed."""
    node.workerinput["everything"] = node.config.everything


@pytest.hookimpl(tryfirst=True)  # before xdist starts its workers
def pytest_sessionstart(session):
    config = session.config
    if WORKER or not config.getoption("numprocesses", None) or config.option.collectonly:
        return
    limit = SESSION_LIMIT["full" if config.everything or config.getoption("rest") else "sample"]
    faulthandler.dump_traceback_later(limit, exit=True, file=STDERR)
    # workers and processes of tests share bytecode, beside the caches of the loops: commands take half of the time
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    from support import warming

    if not warming.is_warm():
        warming.warm()


@pytest.fixture(autouse=True)
def plugin_files_end_with_their_test():
    """Forget the files of --plugin that a test has loaded into this process."""
    yield
    found = sys.modules.get("svmkit.plugins.plugin_file")
    if found is not None and found._loaded:
        found._loaded.clear()
        sys.modules["svmkit.plugins"].registered.cache_clear()


@pytest.fixture(autouse=True, scope="module")
def what_a_file_leaves_is_kept():
    """Let no later look for garbage go through what outlives a file's tests, compiled code above all."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def new_stores_share_their_tables():
    """Let MLflow's migrations run once a process."""
    from support.first_stores import share_tables

    share_tables()


def pytest_collection_modifyitems(config, items):
    if os.name != "posix":
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(pytest.mark.skip(reason="needs signals or process groups of POSIX"))
    if config.everything:
        return
    from support import sample

    chosen = sample.rest(items) if config.getoption("rest") else set(items) - sample.left_out(items)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without looks for garbage, a third of the time: what thousands of items are made of stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # nor does a later look go through them
        gc.set_threshold(20_000, 20, 20)  # compiled code makes a look at everything take most of a second
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_set_timer(item, settings):
    """Let a thread of C end the process: it needs no lock of Python's, which compiled code may hold.

    pytest-timeout's own alarm is a thread of Python's, which costs a test half a millisecond of the processor, and
    several of waiting for each other on a busy machine.
    """
    faulthandler.dump_traceback_later(settings.timeout, exit=True, file=STDERR)
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_cancel_timer(item):
    """The test has ended, or a debugger begins."""
    faulthandler.cancel_dump_traceback_later()
    return True


@pytest.fixture(autouse=True)
def _threads(request):
    """In a worker one thread of ours, since there are as many workers as cores; all for tests marked `threads`."""
    if not WORKER or request.node.get_closest_marker("threads"):
        yield
        return
    from svmkit.runtime import threads

    with threads.using(1):
        yield


@pytest.fixture
def data_folder():
    """The folder of the real sets, or a skip that says what is missing."""
    folder = os.environ.get("SVMKIT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real data sets: set SVMKIT_DATA to their folder")
    return Path(folder)


@pytest.fixture
def real_set(data_folder):
    """Loader of a real set by name; skips when that set is not in the folder."""
    from svmkit.data import load

    def get(name: str):
        if not any((data_folder / f"{name}{ending}").is_file() for ending in ("", ".bz2", ".gz", ".xz")):
            pytest.skip(f"needs the set {name} in $SVMKIT_DATA")
        return load(name)

    return get


@pytest.fixture
def one_pool():
    """As inside a solve: BLAS held to one thread, so that two pools do not fight over the cores."""
    from svmkit.runtime import threads

    with threads.using():
        yield


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A working directory and cache of the test's own, no data folder; gives the real data folder, if any."""
    real = os.environ.get("SVMKIT_DATA")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMKIT_DATA", raising=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("SVMKIT_MIRROR", raising=False)
    monkeypatch.setenv("SVMKIT_CACHE", str(tmp_path / "cache"))
    return real


@pytest.fixture
def real(alone, monkeypatch):
    """`alone`, but with the real data folder; a skip without one."""
    if not alone or not Path(alone).is_dir():
        pytest.skip("needs the real data sets: set SVMKIT_DATA to their folder")
    monkeypatch.setenv("SVMKIT_DATA", alone)
    return Path(alone)


@pytest.fixture
def svmkit(capsys):
    """svmkit("train", ...) -> Result, in this process."""
    from support.cli import Result

    from svmkit.cli import main

    def run(*args):
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main([str(arg) for arg in args])
        return Result(exit_.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def cells_here(monkeypatch):
    """The cells of comparisons run in this process, for tests that are not about their worker processes."""
    from support.compare import run_cells_here

    run_cells_here(monkeypatch)


@pytest.fixture
def train(svmkit):
    """train(...) -> the JSON of an untracked `svmkit train`."""
    return lambda *args: svmkit("train", *args, "--no-track", "--json").json


@pytest.fixture
def refused(svmkit):
    """refused(words, *args): exit 2, nothing on stdout, one line on stderr that holds all the words."""

    def run(words, *args):
        done = svmkit(*args)
        assert (done.code, done.out) == (2, ""), done
        assert done.err.startswith("svmkit: ") and done.err.endswith("\n") and done.err.count("\n") == 1, done.err
        assert "Traceback" not in done.err
        missing = [word for word in words if word.lower() not in done.err.lower()]
        assert not missing, f"{missing} not in: {done.err}"
        return done.err

    return run


@pytest.fixture(scope="session")
def churn_bytes():
    """The CSV file of support/churn.py: 6,000 customers with every trouble of an export."""
    from support.churn import churn

    return churn()


@pytest.fixture
def churn_csv(alone, churn_bytes):
    """That file as churn.csv in the working directory of the test."""
    path = Path("churn.csv")
    path.write_bytes(churn_bytes)
    return path
