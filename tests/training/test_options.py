"""fit: scaling, kernels, budgets, warm starts, checkpoints, refusals."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import pairwise
from support.problems import SOLVERS, every_solver, overlapping

from svmkit.errors import InputError, SvmkitWarning, UnknownName
from svmkit.kernels.functions import RBF, FromFunction, Linear, Poly, Precomputed
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.train import fit

# --- scaling, kernels, budgets, samplers


@pytest.mark.parametrize(
    ("solver", "sampler", "has_effect"),
    [("smo", "uniform:9", False), ("newton", "balanced:8", False), ("smo", "full", True), ("swap", "uniform:9", True)],
)
def test_a_sampler_that_is_never_asked_is_named_in_a_warning(solver, sampler, has_effect):
    X, y = overlapping()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", SvmkitWarning)
        fit(X, y, kernel=Linear(), solver=solver, sampler=sampler)
    said = [str(each.message) for each in seen]
    assert said == ([] if has_effect else [f"{solver} looks at all points: the sampler {sampler} has no effect"])


def test_a_sampler_that_is_never_asked_is_named_for_several_class_pairs():
    with pytest.warns(SvmkitWarning, match="smo looks at all points: the sampler uniform:9 has no effect"):
        fit(*load_iris(return_X_y=True), kernel=RBF(0.5), solver="smo", sampler="uniform:9")


@pytest.mark.parametrize("kind", ["standard", "minmax", "maxabs"])
def test_scaling_is_kept_with_the_model(kind):
    X, y = overlapping()
    X = X * [1.0, 100.0, 0.01] + [0, 5, 0]
    trained = fit(X, y, kernel=RBF("scale"), scale=kind)
    assert trained.model.scaling.kind == kind
    scaled = trained.model.scaling.apply(X)
    plain = fit(scaled, y, kernel=RBF("scale"))
    assert plain.model.kernel == trained.model.kernel
    np.testing.assert_array_equal(trained.model.decision_function(X), plain.model.decision_function(scaled))
    assert fit(X, y, kernel=RBF("scale"), scale="none").model.scaling is None


def test_progress_is_told_on_stderr_and_changes_nothing(capsys):
    X, y = overlapping()
    quiet = fit(X, y, kernel=RBF(0.5))
    assert capsys.readouterr() == ("", "")
    told = fit(X, y, kernel=RBF(0.5), verbose=1)
    out, err = capsys.readouterr()
    last = err.splitlines()[-1]
    assert out == "" and last.startswith(f"svmkit: {told.model.about['solver']} converged: {told.n_iter:,} iterations,")
    np.testing.assert_array_equal(told.model.coef, quiet.model.coef)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_precomputed_kernel_is_the_kernel(name):
    X, y = load_iris(return_X_y=True)
    K = pairwise.rbf_kernel(X, gamma=0.5)
    stop = Gap(1e-2)
    direct = fit(X, y, solver=name, kernel=RBF(0.5), C=0.3, stop=stop)
    for given in (K, sp.csr_array(K)):
        precomputed = fit(given, y, solver=name, kernel=Precomputed(), C=0.3, stop=stop)
        np.testing.assert_array_equal(precomputed.model.predict(given), direct.model.predict(X))
        np.testing.assert_allclose(
            precomputed.model.decision_function(K[:20]), direct.model.decision_function(X[:20]), atol=1e-2
        )
    function = fit(X, y, solver=name, kernel=FromFunction(lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.5)), C=0.3)
    assert function.gap <= 1e-3


def test_kernels_by_name_take_what_they_have():
    params = {"gamma": 0.5, "degree": 2, "coef0": 1.0}
    assert by_name.kernel("poly", params) == Poly(0.5, 2, 1.0)
    assert by_name.kernel("rbf", params) == RBF(0.5)
    assert by_name.kernel("linear", params) == Linear()
    assert by_name.kernel(RBF(3.0), params) == RBF(3.0)
    assert isinstance(by_name.kernel(pairwise.rbf_kernel), FromFunction)
    with pytest.raises(UnknownName):
        by_name.kernel("rbff")


@every_solver
def test_storage_and_precision_change_little(name):
    X, y = overlapping()
    base = fit(X, y, solver=name, kernel=RBF(0.5), C=0.3)
    for other in (sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X), X.astype(np.float32), X.tolist()):
        trained = fit(other, y, solver=name, kernel=RBF(0.5), C=0.3)
        assert trained.gap <= 1e-3
        np.testing.assert_allclose(trained.model.decision_function(X), base.model.decision_function(X), atol=0.1)


def test_the_callers_arrays_are_not_written_to():
    X, y = overlapping()
    weights = np.ones(len(y))
    S = sp.csr_array(X)
    for part in (X, y, weights, S.data, S.indices, S.indptr):
        part.flags.writeable = False
    for data in (X, S):
        for scale in (None, "maxabs"):
            assert fit(data, y, kernel=RBF(0.5), sample_weight=weights, scale=scale).status is Status.CONVERGED


def test_figures_are_sums_and_worst_cases():
    X, y = load_iris(return_X_y=True)
    trained = fit(X, y, kernel=RBF(0.5))
    certificates = [s.certificate for s in trained.solutions]
    assert trained.gap == max(c.gap for c in certificates)
    assert trained.objective == pytest.approx(sum(c.primal for c in certificates))
    assert trained.dual_objective == pytest.approx(sum(c.dual for c in certificates))
    assert trained.n_iter == sum(s.n_iter for s in trained.solutions)
    assert trained.kernel_values > 0
    assert trained.status is Status.CONVERGED
    assert fit(X, y, kernel=RBF(0.5), stop=Gap(1e-9) | Iterations(3)).status is Status.MAX_ITER


@pytest.mark.slow
def test_seconds_are_shared_by_the_pairs():
    """No pair may be left without a model, and each gets its part."""
    X, y = load_digits(n_class=5, return_X_y=True)
    options = {"solver": "fw", "kernel": RBF("scale"), "C": 1e4}
    fit(X[:150], y[:150], stop=Iterations(3), **options)  # compiles, which may take longer than the limit
    trained = fit(X[:150], y[:150], stop=Gap(1e-9) | Seconds(4.0), **options)  # 0.4 s a pair, on a busy machine too
    assert trained.status is Status.TIME_LIMIT and len(trained.solutions) == 10
    assert all(s.n_iter >= 1 and np.isfinite(s.certificate.primal) for s in trained.solutions)
    assert sum(s.status is Status.TIME_LIMIT for s in trained.solutions) >= 9


def test_watch_sees_each_problem():
    X, y = load_iris(return_X_y=True)
    seen, points = [], []

    def watch(k, n, name):
        seen.append((k, n, name))
        return [points.append]

    trained = fit(X, y, kernel=RBF(0.5), watch=watch)
    assert seen == [(0, 3, "0 vs 1"), (1, 3, "0 vs 2"), (2, 3, "1 vs 2")]
    assert points == [point for s in trained.solutions for point in s.history]


@pytest.mark.posix
def test_an_interrupt_ends_all_pairs_with_models():
    import os
    import signal

    X, y = load_iris(return_X_y=True)

    def watch(k, n, name):
        return [lambda point: os.kill(os.getpid(), signal.SIGINT) if (k, point.n_iter) == (1, 0) else None]

    trained = fit(X, y, kernel=RBF(0.5), watch=watch)
    assert trained.solutions[0].status is Status.CONVERGED
    assert trained.status is Status.INTERRUPTED
    assert trained.solutions[2].status is Status.INTERRUPTED
    assert np.isfinite(trained.model.decision_function(X)).all()


# --- going on


def test_a_warm_start_by_points():
    X, y = load_iris(return_X_y=True)
    cold = fit(X, y, kernel=RBF(0.5), C=1.0)
    warm = fit(X, y, kernel=RBF(0.5), C=1.1, start=[s.point for s in cold.solutions])
    again = fit(X, y, kernel=RBF(0.5), C=1.1)
    assert warm.gap <= 1e-3 and warm.n_iter < again.n_iter
    with pytest.raises(InputError, match="belongs to other data"):
        fit(X[:-1], y[:-1], kernel=RBF(0.5), start=[s.point for s in cold.solutions])
    with pytest.raises(InputError, match="belongs to other data"):
        fit(X, y, kernel=RBF(0.5), start=[cold.solutions[0].point])


@pytest.mark.filterwarnings("ignore:.*sampler .* has no effect")
@every_solver
def test_a_checkpointed_run_goes_on(name, tmp_path):
    X, y = load_iris(return_X_y=True)
    file = tmp_path / "iris.ckpt"
    common = {"solver": name, "kernel": RBF(0.5), "C": 0.3, "sampler": "uniform:20"}
    first = fit(X, y, **common, stop=Gap(1e-9) | Iterations(25), checkpoint=Checkpoint(file))
    more = fit(X, y, **common, stop=Gap(1e-9) | Iterations(60), checkpoint=Checkpoint(file, resume=True))
    assert first.n_iter == 75 and more.n_iter == 180
    looks = 0 if name == "fcfw" else 1  # which looks at all points before it takes a step
    assert [s.history[0].n_iter for s in more.solutions] == [25 + looks] * 3
    assert more.dual_objective >= first.dual_objective
    assert not list(tmp_path.glob(".*.part"))
    with pytest.raises(InputError, match="other data"):
        fit(X + 1, y, **common, checkpoint=Checkpoint(file, resume=True))
    with pytest.raises(InputError, match=r"other C \(0.3 there, 0.4 here\)"):
        fit(X, y, **(common | {"C": 0.4}), checkpoint=Checkpoint(file, resume=True))
    fresh = fit(X, y, **common, stop=Iterations(5), checkpoint=Checkpoint(file))
    assert fresh.solutions[0].history[0].n_iter == looks


# --- refusals


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"C": 0}, "C must be"),
        ({"C": -1.0}, "C must be"),
        ({"C": float("nan")}, "C must be"),
        ({"C": float("inf")}, "C must be"),
        ({"C": "1"}, "C must be"),
        ({"C": None}, "C must be"),
        ({"memory": "lots"}, "is not a size"),
        ({"solver": "swop"}, "did you mean swap"),
        ({"sampler": "unifrm:5"}, "did you mean uniform"),
        ({"validation": np.zeros((3, 3))}, r"give \(X, y\)"),
        ({"sampler": "uniform:0"}, "sample size"),
        ({"sampler": "uniform:x"}, "whole number"),
        ({"sampler": "full:5"}, "takes no size"),
        ({"scale": "std"}, "std"),
        ({"class_weight": "even"}, "class_weight"),
        ({"class_weight": {7: 1.0}}, "class_weight"),
        ({"class_weight": {1: 0.0}}, "class_weight"),
        ({"class_weight": {1: -1.0}}, "class_weight"),
        ({"class_weight": {1: float("nan")}}, "class_weight"),
        ({"class_weight": {1: float("inf")}}, "class_weight|finite"),
        ({"class_weight": {1: "heavy"}}, "class_weight"),
        ({"kernel": 3}, r"kernel must be a name, a Kernel or a function f\(X, Z\), not 3"),
        ({"seed": -1}, "the seed must be a whole number >= 0, not -1"),
        ({"stop": "gab:1"}, "stop='gab:1' is not a rule"),
        ({"class_weight": [1.0, 2.0]}, "class_weight=.* give balanced or a weight for each label"),
        ({"sample_weight": ["a"] * 120}, "sample_weight must be 120 finite numbers"),
        ({"sample_weight": np.ones(3)}, "sample_weight"),
        ({"sample_weight": -np.ones(120)}, "sample_weight"),
        ({"sample_weight": np.full(120, np.nan)}, "sample_weight"),
        ({"sample_weight": np.zeros(120)}, "zero for all of a class"),
        ({"n_threads": 0}, "threads"),
        ({"kernel": Precomputed()}, "square"),
    ],
    ids=lambda v: str(v)[:40] if isinstance(v, dict) else "",
)
def test_bad_options_are_refused(change, match):
    X, y = overlapping()
    with pytest.raises(InputError, match=match) as caught:
        fit(X, y, **({"kernel": RBF(0.5)} | change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.ones((4, 2)), [1, 1, 1, 1], "one class"),
        (np.ones((4, 2)), [1, 0, 1], "3 labels"),
        (np.full((4, 2), np.nan), [0, 1, 0, 1], "NaN at row 1"),
        (np.array([[0, np.inf]] * 4), [0, 1, 0, 1], "infinity"),
        (np.ones(4), [0, 1, 0, 1], "2D"),
        (np.ones((0, 2)), [], "0 sample"),
        (np.ones((4, 0)), [0, 1, 0, 1], "0 feature"),
        (np.ones((4, 2)), [0.5, 1.5, 0.5, 1.5], "continuous"),
        (np.ones((4, 2), dtype=complex), [0, 1, 0, 1], "[Cc]omplex"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bad_data_are_refused(X, y, match):
    with pytest.raises(InputError, match=match):
        fit(X, y, kernel=RBF(0.5))


def test_data_without_information_still_give_a_model():
    """All rows equal: the prior decides."""
    X, y = np.ones((30, 3)), np.repeat([0, 1], [20, 10])
    trained = fit(X, y, kernel=RBF("scale"))
    assert trained.status is Status.CONVERGED
    assert (trained.model.predict(X) == 0).all()
    two = fit(np.array([[0.0], [1.0]]), [0, 1], kernel=RBF("scale"))
    assert two.model.predict([[0.0], [1.0]]).tolist() == [0, 1]


def test_a_kernel_that_a_linear_solver_cannot_take_is_refused_with_those_that_can():
    X, y = overlapping()
    with pytest.raises(InputError, match=r"dcd needs the linear kernel, not rbf; with rbf: .*smo"):
        fit(X, y, solver="dcd", kernel=RBF(0.5))
