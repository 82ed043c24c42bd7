"""Data far from the origin, huge or tiny: gaps and predictions are right by long double, from coefficients alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.exact import exact_bounds, exact_values

import svmkit
from svmkit.errors import InputError
from svmkit.estimators.one_class import SVMOneClass
from svmkit.kernels import RBF, Laplacian, Linear, Poly, Sigmoid
from svmkit.solver.stopping import Gap, Iterations, Support

pytestmark = pytest.mark.usefixtures("one_pool")
SQUARED = {"swap2o", "fcfw"}  # the solvers of the squared hinge with a regularised bias
SOLVERS = ["fcsmo", "smo", *sorted(SQUARED)]
STORAGES = {"dense": np.ascontiguousarray, "csr": sp.csr_array}
storages = pytest.mark.parametrize("stored", STORAGES.values(), ids=STORAGES)


def clouds(offset=0.0, scale=1.0, m=90):
    """Two classes of spread 1 that overlap."""
    rng, y = np.random.default_rng(0), np.arange(m) % 2
    return scale * (rng.normal(size=(m, 2)) + 0.8 * y[:, None]) + offset, y


def timestamps(m=200):
    """A reading each millisecond since 1970, whose class changes every 40 of them, with noise."""
    rng = np.random.default_rng(0)
    k = rng.permutation(m)
    return 1.7e9 + 1e-3 * k[:, None], (k // 40 % 2) ^ (rng.random(m) < 0.14)


def true_gap(fit, X, y, C):
    squared = fit.model.about["solver"] in SQUARED
    primal, dual = exact_bounds(fit, X, y, C, loss="squared_hinge" if squared else "hinge", regularised=squared)
    return (primal - dual) / max(abs(primal), abs(dual))


# true gaps before values came from centred rows and differences: 4.8e-3, 1.3, 1.1, 0.15 and 0.99, with reported gaps
# below 1e-3; swap2o and fcfw failed at 1e8 and on timestamps
CASES = {
    "offset 1e6": (*clouds(1e6), 0.5, 100.0),
    "offset 1e8": (*clouds(1e8), 0.5, 100.0),
    "timestamps": (*timestamps(), 100.0, 10.0),
    "scale 1e10": (*clouds(scale=1e10), 1.0, 0.5),
    "scale 1e160": (*clouds(scale=1e160), 1.0, 0.5),
    "scale 1e-10": (*clouds(scale=1e-10), 1e20, 10.0),
}


@storages
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", CASES)
def test_the_gap_is_the_true_one(name, solver, stored):
    X, y, gamma, C = CASES[name]
    X = stored(X)
    fit = svmkit.fit(X, y, solver=solver, kernel=RBF(gamma), C=C)
    assert fit.status == "converged" and fit.gap < 1e-3
    assert -1e-15 <= fit.gap - true_gap(fit, X, y, C) < 1e-7  # a certificate adds what rounding may have hidden
    truth = exact_values(fit.model.kernel, X, X[fit.support]) @ fit.model.coef[0] + fit.model.intercept[0]
    np.testing.assert_allclose(fit.model.decision_function(X), truth.astype(float), atol=1e-8 * abs(truth).max())


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_a_shift_changes_no_prediction(offset):
    """52 of 90 labels were wrong at 1e8."""
    far, y = clouds(offset)
    near = svmkit.fit(far - offset, y, solver="fcsmo", kernel=RBF(0.5), C=100.0)
    fit = svmkit.fit(far, y, solver="fcsmo", kernel=RBF(0.5), C=100.0)
    np.testing.assert_array_equal(fit.model.predict(far), near.model.predict(far - offset))
    for rows in (far[:1], far[::7], np.vstack([far[:5], np.zeros((1, 2)), np.full((1, 2), 1e200)])):
        some = fit.model.decision_function(rows)
        every = fit.model.decision_function(far)
        at = [int(np.flatnonzero((far == row).all(axis=1))[0]) for row in rows if (far == row).all(axis=1).any()]
        np.testing.assert_allclose(some[: len(at)], every[at], atol=1e-8)
        np.testing.assert_allclose(some[len(at) :], fit.model.intercept[0], atol=1e-8)  # where all values are 0


@pytest.mark.parametrize("offset", [30.0, 1e8])
def test_rows_and_vectors_may_differ_in_storage(offset):
    X, y = clouds(offset)
    want = None
    for trained in STORAGES.values():
        model = svmkit.fit(trained(X), y, solver="fcsmo", kernel=RBF(0.5), stop=Gap(1e-8)).model
        for stored in STORAGES.values():
            got = model.decision_function(stored(X))
            np.testing.assert_allclose(got, model.decision_function(trained(X)), atol=1e-12)
            want = got if want is None else want
            np.testing.assert_allclose(got, want, atol=1e-2)


@storages
def test_class_pairs_share_an_origin(stored):
    rng, y = np.random.default_rng(0), np.arange(120) % 3
    X = rng.normal(size=(120, 2)) + y[:, None]
    near = svmkit.fit(stored(X), y, solver="fcsmo", kernel=RBF(0.5), stop=Gap(1e-6))
    far = svmkit.fit(stored(X + 2.0**30), y, solver="fcsmo", kernel=RBF(0.5), stop=Gap(1e-6))
    assert far.gap < 1e-6
    assert far.objective == pytest.approx(near.objective, rel=1e-5)  # X + 2^30 has lost some digits of X
    assert (far.model.predict(stored(X + 2.0**30)) == near.model.predict(stored(X))).mean() > 0.98


@storages
@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.5)])
def test_refits_and_one_class_models_of_far_data(kernel, stored):
    X, y = clouds(2.0**24)
    X = np.round(X * 1024.0) / 1024.0  # exact at both places
    near, far = stored(X - 2.0**24), stored(X)
    fits = [
        svmkit.fit(part, y, solver="swap2o", kernel=kernel, C=10.0, stop=Gap(1e-3) | Support(12))
        for part in (near, far)
    ]
    assert fits[1].objective == pytest.approx(fits[0].objective, rel=1e-3)
    assert max(len(fit.support) for fit in fits) <= 12
    scores = [SVMOneClass(kernel=kernel).fit(part).score_samples(part) for part in (near, far)]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-2)


@pytest.mark.parametrize("solver", ["norma", "pegasos", "smo1", "svmlight"])
def test_other_kernel_solvers_report_the_primal_of_the_data(solver):
    X, y = clouds(1e8)
    fit = svmkit.fit(X, y, solver=solver, kernel=RBF(0.5), C=1.0, stop=Gap(1e-3) | Iterations(3000))
    near = svmkit.fit(X - 1e8, y, solver=solver, kernel=RBF(0.5), C=1.0, stop=Gap(1e-3) | Iterations(3000))
    assert fit.objective == pytest.approx(near.objective, rel=1e-3)
    assert (fit.model.predict(X) == near.model.predict(X - 1e8)).mean() > 0.97


# --- beyond float64


@storages
@pytest.mark.parametrize("kernel", [Linear(), Poly(1.0, 3, 1.0), Sigmoid(1.0)], ids=lambda kernel: kernel.name)
def test_products_beyond_float64_are_refused(kernel, stored):
    X, y = clouds(scale=1e160)
    with pytest.raises(InputError, match="scale the columns"):
        svmkit.fit(stored(X), y, solver="fcsmo", kernel=kernel)
    fit = svmkit.fit(stored(X / 1e160), y, solver="fcsmo", kernel=kernel, stop=Iterations(20))
    with pytest.raises(InputError, match="scale the columns"):
        fit.model.predict(stored(X))


def test_a_power_beyond_float64_is_refused():
    X, y = clouds(scale=1e10)
    with pytest.raises(InputError, match=r"poly kernel go beyond float64.*lower degree"):
        svmkit.fit(X, y, solver="fcsmo", kernel=Poly(1.0, 20))
    fit = svmkit.fit(X / 3e10, y, solver="fcsmo", kernel=Poly(1.0, 20), stop=Iterations(20))
    with pytest.raises(InputError, match="row 2 of X is not finite"):
        fit.model.predict(np.vstack([X[:1] / 1e10, 1e10 * X[1:]]))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e25])
def test_values_out_of_the_range_of_float32_are_kept(solver, scale):
    """Rows of the linear kernel at 1e50 and 1e-50, with a budget that would otherwise make them float32."""
    X, y = clouds(scale=scale)
    fit = svmkit.fit(X, y, solver=solver, kernel=Linear(), C=1.0 / scale**2, memory=20_000)
    assert fit.gap < 1e-3 and abs(true_gap(fit, X, y, 1.0 / scale**2) - fit.gap) < 1e-7


@storages
@pytest.mark.parametrize("gamma", ["scale", "msd"])
@pytest.mark.parametrize(("scale", "word"), [(1e160, "large"), (1e-160, "small"), (1e-200, "small")])
def test_a_rule_for_gamma_that_overflows_is_refused(gamma, scale, word, stored):
    X, y = clouds(scale=scale)
    with pytest.raises(InputError, match=f"too {word} for float64, so scale them"):
        svmkit.fit(stored(X), y, kernel=RBF(gamma))
