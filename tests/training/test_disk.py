"""Linear models of rows on local disk: as certified as in memory, by the same steps where the order allows it."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import svmkit
from svmkit import plugins
from svmkit.data import Storage, gather_blocks, load
from svmkit.data.prepare.features import require_finite_when_read
from svmkit.errors import InputError
from svmkit.kernels import Gram, Linear
from svmkit.runtime import mapping
from svmkit.scoring.evaluations.classes import ClassEvaluation
from svmkit.solver.sampler import Draws, Full
from svmkit.solver.stopping import Gap, Iterations

SOLVERS = {
    "newton": {},
    "newton products": {"wide": 0},
    "dcd": {},
    "ocas": {},
}


def rows(kind, n=600, d=30, seed=0):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    if kind == "sparse":
        X = np.where(rng.random((n, d)) < 0.3, X, 0.0)
    h = X @ w + 0.5 * rng.normal(size=n)
    X = sp.csr_array(X) if kind == "sparse" else X.astype(kind)
    return X, h


def on_disk(X, y, block=50):
    blocks = ((X[lo : lo + block], y[lo : lo + block]) for lo in range(0, X.shape[0], block))
    data = gather_blocks(blocks, storage=Storage(most=1))
    assert mapping.is_mapped(data.X)
    return data


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Windows and blocks of few rows, beside whose bytes the numbers of each row do not count."""
    monkeypatch.setattr("svmkit.problems.risks.design.NUMBERS", 0)
    monkeypatch.setattr("svmkit.problems.risks.design.WINDOW", 4000)
    monkeypatch.setattr("svmkit_coordinate.blocks.LEAST", 100)


def solver_of(name, **options):
    return plugins.build("solver", name.split()[0], {k: str(v) for k, v in (SOLVERS[name] | options).items()})


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", SOLVERS)
def test_the_optimum_is_the_same(name, loss, kind):
    X, h = rows(kind)
    y, memory = np.where(h > 0.0, "up", "down"), mapping.size_of(X) // 10
    solver, data = solver_of(name, loss=loss), on_disk(X, y)
    given = {"solver": solver, "kernel": Linear(), "C": 0.01}
    known = svmkit.fit(X, y, stop=Gap(1e-7), **given).solutions[0].certificate
    fitted = svmkit.fit(data.X, data.y, stop=Gap(1e-6), memory=memory, **given)
    found = fitted.solutions[0].certificate
    assert str(fitted.status) == "converged" and found.gap <= 1e-6
    assert found.dual <= known.primal * (1 + 1e-9) and known.dual <= found.primal * (1 + 1e-9)
    assert (fitted.model.predict(data.X) == fitted.model.predict(X)).all()


@pytest.mark.parametrize("kind", ["float64", "sparse"])
@pytest.mark.parametrize("wide", [1000, 0])
def test_newton_makes_the_steps_that_it_makes_in_memory(kind, wide, monkeypatch):
    """Where losses have kinks or columns are many; steps of other losses have a test of their own."""
    X, h = rows(kind, n=3000)
    y, data = np.sign(h), on_disk(X, np.sign(h))
    for other in ("is_narrow", "is_tall", "is_on_disk"):  # ways that these rows do not go
        monkeypatch.setattr(f"svmkit_newton.newton.{other}", lambda *given: False)
    solver = plugins.build("solver", "newton", {"wide": str(wide)})
    here = svmkit.fit(X, y, solver=solver, kernel=Linear(), stop=Gap(1e-9))
    there = svmkit.fit(data.X, data.y, solver=solver, kernel=Linear(), stop=Gap(1e-9), memory=10_000)
    (one,), (other,) = here.solutions, there.solutions
    assert one.n_iter == other.n_iter
    np.testing.assert_allclose([p.objective for p in one.history], [p.objective for p in other.history], rtol=1e-9)


def unexamined(X, y, folder):
    """Return rows as `svmkit train` loads them, at which the first pass is to look."""
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    data = load(folder / "X.npy", storage=Storage(most=1, unexamined=True))
    assert mapping.examination_of(data.X) is not None
    return data


@pytest.mark.parametrize("bias", ["1.0", "free"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", SOLVERS)
def test_rows_that_nobody_has_looked_at_give_the_same_optimum_or_are_refused(name, loss, bias, tmp_path, monkeypatch):
    X, h = rows("float32", n=900)
    given = {"solver": solver_of(name, loss=loss, bias=bias), "kernel": Linear(), "C": 0.01, "stop": Gap(1e-6)}
    known = svmkit.fit(X, np.sign(h), **given).solutions[0].certificate
    monkeypatch.setattr("svmkit_newton.newton.is_narrow", lambda *given: False)
    passes, windows = [], mapping.windows
    monkeypatch.setattr(mapping, "windows", lambda *given: passes.append(len(given[0])) or windows(*given))
    monkeypatch.setattr("svmkit.problems.risks.design.windows", mapping.windows)
    counts = []
    for looks_later in (False, True):
        passes.clear()
        data = unexamined(X, np.sign(h), tmp_path)
        if not looks_later:
            data = load(tmp_path / "X.npy", storage=Storage(most=1))
        found = svmkit.fit(data.X, data.y, memory=10_000, **given).solutions[0].certificate
        counts.append(passes.count(900))
        assert found.gap <= 1e-6 and np.isfinite(found.rounding)
        assert found.dual <= known.primal * (1 + 1e-9) and known.dual <= found.primal * (1 + 1e-9)
    is_fused = name == "newton" and loss == "squared_hinge"
    if is_fused or bias != "free":  # else the column of the bias is a little different
        assert counts[1] == counts[0] - is_fused
    X[721, 4] = np.nan
    data = unexamined(X, np.sign(h), tmp_path)
    with pytest.raises(InputError, match=r"X\.npy contains NaN at row 722, column 5 "):
        svmkit.fit(data.X, data.y, memory=10_000, **given)


@pytest.mark.parametrize("more", [{"scale": "standard"}, {"calibration": "sigmoid"}, {"class_weight": "balanced"}])
def test_nothing_else_uses_rows_that_nobody_has_looked_at(more, tmp_path):
    X, h = rows("float32")
    X[321, 4] = np.inf
    data = unexamined(X, np.sign(h), tmp_path)
    with pytest.raises(InputError, match=r"X\.npy contains infinity \(inf\) at row 322, column 5 "):
        svmkit.fit(data.X, data.y, memory=10_000, kernel=Linear(), solver="newton", **more)


def test_a_hessian_that_overflows_in_float32_is_made_anew(monkeypatch):
    """That it does is known only after the first pass over rows that nobody has looked at."""
    monkeypatch.setattr("svmkit_newton.newton.is_narrow", lambda *given: False)
    X, h = rows("float32", n=3000)
    X[7] = 1e20
    states = []
    for require in (lambda X: None, require_finite_when_read):
        there, solver = mapping.write_blocks(X.dtype, [X]).reshape(X.shape), solver_of("newton", bias="1.0")
        require(there)
        problem = solver.pose(Gram(Linear(), there, memory=10_000), np.sign(h), 1e-6)
        states.append(solver.init(problem, None, Draws(Full(), problem.y, 0)))
    known, found = (state._matrix for state in states)
    assert not (known.single or found.single) and np.isfinite(found.H).all()
    np.testing.assert_allclose(found.H, known.H, rtol=1e-12)


@pytest.mark.slow
def test_blocks_that_are_shuffled_together_take_as_many_passes():
    """One after another they take ten times as many."""
    X, h = rows("sparse", n=3000, d=1000)
    y, data = np.sign(h), on_disk(X, np.sign(h))
    given = {"solver": "dcd", "kernel": Linear(), "C": 0.1, "loss": "hinge", "stop": Gap(1e-4)}
    here, there = svmkit.fit(X, y, **given), svmkit.fit(data.X, y, memory=mapping.size_of(X) // 3, **given)
    assert there.solutions[0].n_iter < 2 * here.solutions[0].n_iter + 10


def test_points_that_fit_memory_are_copied_there(monkeypatch):
    from svmkit_coordinate.blocks import Blocks

    seen, passes = [], Blocks._pass_in_memory
    monkeypatch.setattr(Blocks, "_pass_in_memory", lambda self, *args: seen.append(args[1]) or passes(self, *args))
    for kind in ("float32", "sparse"):
        X, h = rows(kind)
        data, n = on_disk(X, np.sign(h)), len(seen)
        fitted = svmkit.fit(data.X, data.y, solver="dcd", kernel=Linear(), C=0.01, memory=mapping.size_of(X) - 1)
        assert fitted.solutions[0].certificate.gap <= 1e-3 and len(seen) > n and max(seen[n:]) < 600


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_several_classes(multiclass, scale):
    X, h = rows("float64")
    y = np.digitize(h, [-3.0, 3.0])
    data = on_disk(X, y)
    given = {"kernel": Linear(), "multiclass": multiclass, "scale": scale, "stop": Gap(1e-6)}
    here = svmkit.fit(X, y, **given)
    there = svmkit.fit(data.X, y, memory=mapping.size_of(X) // 8, **given)
    for one, other in zip(here.solutions, there.solutions, strict=True):
        assert other.certificate.dual == pytest.approx(one.certificate.dual, rel=1e-5)
    assert np.mean(here.model.predict(X) != there.model.predict(X)) < 0.005


@pytest.mark.parametrize("kind", ["float32", "sparse"])
@pytest.mark.parametrize("bias", ["1", "free"])
def test_the_report_has_the_decisions_of_the_certificate(kind, bias, monkeypatch):
    monkeypatch.setattr("svmkit_newton.newton.is_narrow", lambda m, width: False)
    X, h = rows(kind)
    data = on_disk(X, np.where(h > 0.0, "up", "down"))
    other = svmkit.fit(X, data.y, solver=solver_of("newton", bias=bias), kernel=Linear(), C=0.1)
    given = {"solver": solver_of("newton", bias=bias), "kernel": Linear(), "memory": 10_000}
    model = svmkit.fit(data.X, data.y, **given).model
    assert model.take_decisions(X) is None and other.model.take_decisions(data.X) is None
    np.testing.assert_allclose(model.take_decisions(data.X), model.decision_function(X), rtol=1e-9, atol=1e-12)
    assert model.take_decisions(data.X) is None, "once"
    metric = ClassEvaluation.metric("accuracy", model.classes, np.arange(2))
    model = svmkit.fit(data.X, data.y, **given).model
    measured = [ClassEvaluation.measure(model, data, metric, None) for _ in range(2)]
    assert measured[0].value == measured[1].value == np.mean(model.predict(X) == data.y)
    assert measured[0].seconds is None and measured[1].seconds > 0.0


@pytest.mark.parametrize(
    "name, bias, most",
    [("newton", "1", 13.0), ("newton", "free", 14.0), pytest.param("dcd", "1", 13.5, marks=pytest.mark.slow)],
)
def test_numbers_a_row(name, bias, most, monkeypatch):
    """What a fit holds of each row beside X, in numbers of 8 bytes, at its peak."""
    import tracemalloc

    monkeypatch.setattr("svmkit_newton.newton.is_narrow", lambda m, width: False)
    for name_of in (
        "points.TOGETHER",
        "risk.KEPT",
        "risk.BLOCK",
        *(f"linear_problem.{n}" for n in ("KEPT", "MANY", "BLOCK")),
    ):
        monkeypatch.setattr(f"svmkit.problems.risks.{name_of}", 1000)
    monkeypatch.setattr("svmkit.training.data.MANY", 1000)
    monkeypatch.setattr("svmkit_newton.hessian.TOGETHER", 1000)
    X, h = rows("float32", n=50_000, d=4)
    data = on_disk(X, np.sign(h), block=5000)
    given = {"solver": solver_of(name, bias=bias), "kernel": Linear(), "memory": 50_000}
    few = on_disk(X[:2000], np.sign(h[:2000]), block=1000)
    svmkit.fit(few.X, few.y, **given)  # compiles
    tracemalloc.start()
    try:
        svmkit.fit(data.X, data.y, **given)
        assert tracemalloc.get_traced_memory()[1] / (8 * len(h)) < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["float32", "sparse"])
@pytest.mark.parametrize("name", ["newton", "dcd"])
def test_windows_get_what_the_numbers_of_rows_leave(name, kind, monkeypatch):
    """Of budgets in which there is room beside the numbers, all that is left; else an eighth."""
    monkeypatch.setattr("svmkit.problems.risks.design.NUMBERS", mapping.NUMBERS)
    monkeypatch.setattr("svmkit.problems.risks.design.WINDOW", 1 << 20)
    monkeypatch.setattr("svmkit_newton.newton.is_narrow", lambda m, width: False)
    X, h = rows(kind, n=1000, d=300)
    data, numbers = on_disk(X, np.sign(h)), 8 * mapping.NUMBERS * 1000
    sizes, read = [], mapping.windows

    def watch(rows, size=None):
        if size is not None:  # a pass of the design
            sizes.append(size)
        return read(rows, size)

    monkeypatch.setattr("svmkit.problems.risks.design.windows", watch)
    for memory, left in ((numbers + 80_000, 80_000), (numbers // 2, numbers // 16)):
        sizes.clear()
        solver = solver_of(name, loss="squared_hinge")
        given = {"solver": solver, "kernel": Linear(), "C": 0.001, "memory": memory}
        assert svmkit.fit(data.X, data.y, **given).solutions[0].certificate.gap <= 1e-3
        assert sizes and set(sizes) == {left // 4}


@pytest.mark.slow
def test_numbers_that_exceed_memory_are_named_with_a_budget(svmkit, tmp_path, monkeypatch):
    """At which they do not any more."""
    monkeypatch.chdir(tmp_path)
    X, h = rows("float32", n=30_000, d=40)
    np.savez("rows.npz", X=X, y=np.where(h > 0.0, 1, 2))
    given = ("train", "rows.npz", "--kernel", "linear", "--solver", "newton", "-C", "0.01", "--no-track", "--json")
    short = svmkit(*given, "--memory", "1MB")
    line = f"may take {8 * mapping.NUMBERS * 30_000 / 1e6:,.0f} MB, more than --memory: give --memory "
    assert line in short.err
    budget = short.err.split(line)[1].split()[0]
    enough = svmkit(*given, "--memory", budget)
    assert "more than --memory: give" not in enough.err and "stay on local disk" in enough.err
    for done in (short, enough):
        assert done.json["status"] == "converged" and done.json["gap"] <= 1e-3


def test_regression():
    X, h = rows("float64")
    data = on_disk(X, h)
    here = svmkit.fit(X, h, task="regress", kernel=Linear(), stop=Gap(1e-6))
    there = svmkit.fit(data.X, data.y, task="regress", kernel=Linear(), stop=Gap(1e-6), memory=10_000)
    assert there.solutions[0].certificate.dual == pytest.approx(here.solutions[0].certificate.dual, rel=1e-5)


def test_a_memory_map_of_the_user_and_its_checkpoint(tmp_path):
    from svmkit.training.checkpoint import Checkpoint

    X, h = rows("float32")
    np.save(tmp_path / "X.npy", X)
    mapped, y, file = np.load(tmp_path / "X.npy", mmap_mode="r"), np.sign(h), tmp_path / "c.ckpt"
    given = {"solver": "dcd", "kernel": Linear(), "C": 0.01, "memory": 5000}
    first = svmkit.fit(mapped, y, stop=Iterations(3), checkpoint=Checkpoint(file), **given)
    assert str(first.status) == "max_iter"
    on = svmkit.fit(mapped, y, stop=Gap(1e-5), checkpoint=Checkpoint(file, resume=True), **given)
    assert on.solutions[0].certificate.gap <= 1e-5 and on.solutions[0].n_iter > 3


def test_the_command(svmkit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("parts")
    X, h = rows("float64", n=400)
    y = np.where(h > 0.0, 1, 2)
    for k in range(0, 400, 100):
        np.savez(f"parts/{k}.npz", X=X[k : k + 100], y=y[k : k + 100])
    np.savez("whole.npz", X=X, y=y)
    given = ("--kernel", "linear", "--tol", "1e-6", "--no-track", "--json")
    whole = svmkit("train", "whole.npz", *given).json
    done = svmkit("train", "parts/*.npz", *given, "--memory", "20KB", "--test", "parts", "--out", "m.svmkit")
    assert "4 files: 0 MB of rows, more than --memory, stay on local disk\n" in done.err
    parts = done.json
    assert parts["status"] == "converged" and parts["gap"] <= 1e-6 and parts["n_samples"] == 400
    assert parts["objective"] == pytest.approx(whole["objective"], rel=2e-6)
    assert parts["test_accuracy"] == parts["train_accuracy"] == whole["train_accuracy"]
    held = svmkit("train", "parts", *given, "--memory", "20KB", "--test-size", 0.25, "--scale", "standard").json
    assert held["n_samples"] == 300 and held["n_test"] == 100
    one, other = (svmkit("evaluate", "m.svmkit", data, "--json").json for data in ("parts/*.npz", "whole.npz"))
    assert set(one) == set(other) and {key for key in one if one[key] != other[key]} <= {"data", "predict_s", "seconds"}


PEAK = """
import json, resource, sys
import numpy as np
import svmkit
from svmkit.data import Storage, load
from svmkit.kernels import Gram, Linear
svmkit.fit(np.eye(4)[[0, 1, 2, 3] * 50].astype(np.float32), [0, 1] * 100, solver=sys.argv[2], kernel=Linear())
def rss():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
before = rss()
data = load(sys.argv[1], storage=Storage(most=16 << 20))
fitted = svmkit.fit(data.X, data.y, solver=sys.argv[2], kernel=Linear(), memory="16MB", n_threads=1)
print(json.dumps([rss() - before, float(fitted.solutions[0].certificate.gap), data.X.nbytes]))
"""


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system decides when pages are dropped")
@pytest.mark.parametrize("solver", ["newton", "dcd"])
def test_memory_is_what_was_allowed(tmp_path, solver):
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (40_000, 500))
    for lo in range(0, len(X), 10_000):
        X[lo : lo + 10_000] = rng.normal(size=(10_000, 500))
    np.save(tmp_path / "y.npy", np.where(X[:, 0] > 0.0, 1, 0))
    X.flush()
    done = subprocess.run([sys.executable, "-c", PEAK, tmp_path / "X.npy", solver], capture_output=True, text=True)
    grown, gap, size = json.loads(done.stdout)
    of_rows = 40_000 * 200  # vectors with a number for each row
    assert gap <= 1e-3 and size == 80_000_000 and grown < 1.1 * (16 << 20) + of_rows + (24 << 20)
