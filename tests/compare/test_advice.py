"""What speaks against a solver for its size: told by what it declares, before it runs."""

import pytest
from sklearn.datasets import dump_svmlight_file
from support.problems import blobs

from svmkit import plugins
from svmkit.compare.plan import advice, spec
from svmkit.compare.plan.sets import prepare
from svmkit.data import Dataset
from svmkit.kernels import RBF
from svmkit.kernels.functions import Linear
from svmkit.solver import Full, Reads, Solver, Uniform

GB = 1 << 30


@pytest.mark.parametrize(
    ("solver", "m", "memory"),
    [("swap2o", 500_000, GB), ("smo", 100_000, GB), ("smo", 10_000, 1 << 20), ("libsvm", 200_000, GB)],
)
def test_solver_that_reads_rows_is_advised_against_where_the_memory_holds_few(solver, m, memory):
    found = advice.advice(plugins.build("solver", solver), RBF(0.1), m, memory)
    assert found is not None and f"holds {memory // (4 * m):,} of {m:,}" in found
    named = found.rpartition(": ")[2].split(", ")
    assert {"fcsmo", "fcfw"} <= set(named) and solver not in named
    assert all(plugins.load("solver", name).reads is Reads.BLOCKS for name in named)


@pytest.mark.parametrize(
    ("solver", "m", "sampler"),
    [
        ("fcsmo", 500_000, None),
        ("swap2o", 30_000, None),
        ("auto", 500_000, None),
        ("cvm", 500_000, None),
        ("swap2o", 500_000, Uniform(59)),
        ("norma", 500_000, None),
    ],
)
def test_nothing_is_said_of_other_tools_and_sizes(solver, m, sampler):
    assert advice.advice(plugins.build("solver", solver), RBF(0.1), m, GB, sampler) is None


def test_linear_problem_on_kernel_values_names_the_solvers_of_columns():
    found = advice.advice(plugins.build("solver", "fcsmo"), Linear(), 60_000, GB)
    assert found is not None and "dcd" in found.rpartition(": ")[2].split(", ")
    assert advice.advice(plugins.build("solver", "fcsmo"), Linear(), 500, GB) is None
    assert advice.advice(plugins.build("solver", "dcd"), Linear(), 10**6, GB) is None


def test_solver_of_a_third_party_is_judged_by_what_it_declares():
    class Theirs(Solver):
        name = "theirs"

        def init(self, problem, start, draws): ...
        def step(self, state): ...
        def solution(self, state): ...

    class Rows(Theirs):
        reads = Reads.ROWS

    assert advice.advice(Theirs(), RBF(0.1), 10**6, GB) is None
    assert advice.advice(Rows(), RBF(0.1), 10**6, GB) is not None
    assert advice.advice(Rows(), RBF(0.1), 10**6, GB, Full()) is not None


def test_cell_is_judged_by_its_largest_class_pair_and_its_own_memory(tmp_path):
    X, y = blobs(240, 3, seed=0)
    path = tmp_path / "set.svm"
    dump_svmlight_file(X, y, str(path))
    for memory, told in (("1GB", False), ("1kB", True)):
        cells = spec.read({"data": {str(path): {"memory": memory}}, "solvers": ["smo", "fcsmo"]}).cells()
        sets = prepare(cells[0].settings["data"])
        assert advice.advise(cells[1], sets) is None
        found = advice.advise(cells[0], sets)
        assert (found is not None) == told and (not told or "1 of 240" in found)
    assert isinstance(sets.train, Dataset)
