"""c_path: one solve for each C, each from the last solution, on shared kernel rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise
from support.problems import FAMILY, overlapping

import svmkit
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.path import c_path
from svmkit.training.train import fit

CS = [0.1, 0.3, 1.0, 3.0, 10.0]


def test_it_is_public():
    assert svmkit.c_path is c_path and "c_path" in svmkit.__all__


@pytest.mark.parametrize("name", FAMILY)
def test_every_model_is_that_of_its_C(name):
    X, y = overlapping(80)
    stop = Gap(1e-2) | Iterations(100_000)
    fits = c_path(X, y, CS[:3], solver=name, kernel=RBF(0.5), stop=stop)
    for C, fitted in zip(CS, fits, strict=False):
        alone = fit(X, y, solver=name, kernel=RBF(0.5), C=C, stop=stop)
        assert fitted.model.about["C"] == C and fitted.model.about["solver"] == name
        assert fitted.status is alone.status is Status.CONVERGED and fitted.gap <= 1e-2
        # both lie between the same two bounds of one optimum
        assert fitted.dual_objective <= alone.objective and alone.dual_objective <= fitted.objective


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_it_saves_iterations_and_kernel_values(storage):
    X, y = overlapping(300)
    X = storage(X)
    fits = c_path(X, y, CS, solver="swap2o", kernel=RBF(0.5), stop=Gap(1e-6))
    cold = [fit(X, y, solver="swap2o", kernel=RBF(0.5), C=C, stop=Gap(1e-6)) for C in CS]
    assert fits[0].n_iter == cold[0].n_iter and fits[0].kernel_values == cold[0].kernel_values
    assert sum(f.n_iter for f in fits) < 0.8 * sum(f.n_iter for f in cold)
    assert sum(f.kernel_values for f in fits) < 0.8 * sum(f.kernel_values for f in cold)
    for warm, alone in zip(fits, cold, strict=True):
        np.testing.assert_allclose(warm.model.decision_function(X), alone.model.decision_function(X), atol=0.05)


def test_the_order_that_is_given_comes_back():
    X, y = overlapping()
    mixed = [3.0, 0.1, 3.0, 1]
    fits = c_path(X, y, mixed, kernel=RBF(0.5))
    assert [f.model.about["C"] for f in fits] == mixed
    in_order = dict(zip((0.1, 1.0, 3.0), c_path(X, y, (0.1, 1.0, 3.0), kernel=RBF(0.5)), strict=True))
    for C, fitted in zip(mixed[:2], fits, strict=False):
        np.testing.assert_array_equal(fitted.model.coef, in_order[C].model.coef)
    assert fits[2].n_iter <= 3  # the second time there is nothing left to do
    assert c_path(X, y, np.array([2.0]), kernel=RBF(0.5))[0].gap <= 1e-3


@pytest.mark.parametrize("names", [[0, 1, 2], ["a", "b", "c"]], ids=str)
def test_pairs_weights_and_scaling(names):
    X, codes = load_iris(return_X_y=True)
    y = np.array(names)[codes]
    weights = np.where(np.arange(150) % 7, 1.5, 0.0)
    options = {"class_weight": "balanced", "sample_weight": weights, "scale": "standard", "stop": Gap(1e-6)}
    fits = c_path(X, y, CS[:3], kernel=RBF("scale"), **options)
    for C, fitted in zip(CS, fits, strict=False):
        alone = fit(X, y, kernel=RBF("scale"), C=C, **options)
        assert len(fitted.solutions) == 3 and fitted.model.kernel == alone.model.kernel
        assert not set(fitted.support) & set(np.flatnonzero(weights == 0))
        np.testing.assert_allclose(fitted.model.decision_function(X), alone.model.decision_function(X), atol=5e-3)


def test_equal_rows_stored_zeros_and_a_precomputed_kernel():
    X, y = overlapping(60)
    X, y = np.repeat(np.where(np.abs(X) < 0.5, 0.0, X), 2, 0), np.repeat(y, 2)
    S = sp.csr_array(X)
    S.data[::9] = 0.0
    X = S.toarray()
    fits = {
        "dense": c_path(X, y, CS[:3], kernel=RBF(0.5), stop=Gap(1e-6)),
        "csr": c_path(S, y, CS[:3], kernel=RBF(0.5), stop=Gap(1e-6)),
        "given": c_path(pairwise.rbf_kernel(X, gamma=0.5), y, CS[:3], kernel=Precomputed(), stop=Gap(1e-6)),
    }
    for other in ("csr", "given"):
        for a, b in zip(fits["dense"], fits[other], strict=True):
            assert a.dual_objective == pytest.approx(b.dual_objective, rel=1e-5)


def test_watch_validation_and_start():
    X, y = load_iris(return_X_y=True)
    seen = []
    fits = c_path(
        X,
        y,
        [1.0, 0.1],
        solver="swap2o",
        kernel=RBF(0.5),
        watch=lambda k, n, name: seen.append((k, n, name)) or (),
        validation=(X[::2], y[::2]),
    )
    names = [f"{pair}, C={C}" for pair in ("0 vs 1", "0 vs 2", "1 vs 2") for C in ("0.1", "1")]
    assert seen == [(k, 6, name) for k, name in enumerate(names)]
    assert all(s.history[-1].accuracy is not None for f in fits for s in f.solutions)
    again = c_path(X, y, [0.1, 1.0], solver="swap2o", kernel=RBF(0.5), start=fits[1].model)
    assert again[0].n_iter < fits[1].n_iter / 2


@pytest.mark.posix
def test_an_interrupt_leaves_a_model_for_each_C():
    import os
    import signal

    X, y = overlapping()

    def watch(k, n, name):
        return [lambda point: os.kill(os.getpid(), signal.SIGINT) if (k, point.n_iter) == (1, 2) else None]

    fits = c_path(X, y, CS[:3], solver="dcd", kernel=Linear(), watch=watch)
    assert [f.status for f in fits] == [Status.CONVERGED, Status.INTERRUPTED, Status.INTERRUPTED]
    assert all(np.isfinite(f.model.decision_function(X)).all() for f in fits)


@pytest.mark.parametrize("Cs", [[], [1.0, 0.0], [-1.0], [np.nan], ["1"], [None]], ids=str)
def test_bad_Cs(Cs):
    with pytest.raises(InputError, match=r"C must be|Cs is empty") as caught:
        c_path(*overlapping(), Cs, kernel=RBF(0.5))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"Cs": 1.0}, r"Cs must be a sequence of numbers > 0, such as \[0.1, 1, 10\], not 1.0"),
        ({"Cs": None}, "Cs must be a sequence"),
        ({"task": "outliers"}, "C has no effect on outliers, whose softness is nu"),
        ({"calibration": "sigmoid"}, "calibration is learnt for one C: .* leave calibration out"),
        ({"thresholds": True}, "leave thresholds out"),
        ({"conformal": 0.1}, "leave conformal out"),
    ],
    ids=str,
)
def test_what_a_path_does_not_have_is_refused(options, words):
    with pytest.raises(InputError, match=words) as caught:
        c_path(*overlapping(), **{"Cs": [0.1, 1.0], "kernel": RBF(0.5)} | options)
    assert "\n" not in str(caught.value)
