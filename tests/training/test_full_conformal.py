"""Full conformal prediction: p-values by fits of LIBSVM from scratch, coverage, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmkit import InputError, SVMClassifier, SVMRegressor, full_conformal

TIES = 1e-4  # misfits of free support vectors are all -1, which LIBSVM reaches to about 1e-5


def blobs(n, n_classes, seed):
    """Rows of overlapping classes in two columns, of scales that differ."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, n - n_classes))
    return (rng.normal(size=(n, 2)) + 1.5 * y[:, None]) * [1.0, 5.0], y


def misfits(X, y, machine):
    """Return minus the least margin of each row over the class pairs of its class, by LIBSVM."""
    found, classes = np.full(len(y), -np.inf), np.unique(y)
    for i, a in enumerate(classes):
        for b in classes[i + 1 :]:
            rows = np.flatnonzero((y == a) | (y == b))
            decision = machine.fit(X[rows], y[rows]).decision_function(X[rows])
            found[rows] = np.maximum(found[rows], -np.where(y[rows] == b, 1.0, -1.0) * decision)
    return found


def p_values(X, y, new, machine, *, scale=False, by_class=False):
    """Return the p-values by a fit from scratch for each new row, label and class pair."""
    found = []
    for row in new:
        every = np.vstack([X, row])
        every = StandardScaler().fit_transform(every) if scale else every
        for label in np.unique(y):
            codes = np.append(y, label)
            fits = misfits(every, codes, machine)
            worse = (fits >= fits[-1] - TIES)[codes == label if by_class else slice(None)]
            found.append(worse.mean())
    return np.reshape(found, (len(new), -1))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"scale": "standard", "gamma": 0.3, "C": 0.5}, {"by_class": True}])
def test_p_values_are_those_of_fits_from_scratch(n_classes, options):
    (X, y), (new, _) = blobs(24, n_classes, 0), blobs(5, n_classes, 1)
    options = {"C": 2.0, "gamma": 0.05} | options
    machine = SVC(C=options["C"], gamma=options["gamma"], tol=1e-10)
    by_class = options.pop("by_class", False)
    own = {"scale": "scale" in options, "by_class": by_class}
    found = full_conformal(SVMClassifier("smo", **options), X, y, new, by_class=by_class)
    np.testing.assert_allclose(found, p_values(X, y, new, machine, **own), rtol=1e-12)


def test_class_weights_and_sparse_rows_count():
    (X, y), (new, _) = blobs(24, 2, 2), blobs(4, 2, 3)
    machine = SVC(C=1.0, gamma=0.05, class_weight="balanced", tol=1e-10)
    estimator = SVMClassifier("smo", gamma=0.05, class_weight="balanced")
    found = full_conformal(estimator, X, y, new)
    np.testing.assert_allclose(found, p_values(X, y, new, machine), rtol=1e-12)
    for known in (X, sp.csr_array(X)):
        assert full_conformal(estimator, known, y, sp.csr_array(new)).tolist() == found.tolist()
    assert full_conformal(estimator, sp.csr_array(X), y, new).tolist() == found.tolist()
    assert not hasattr(estimator, "model_")


@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge"])
def test_losses_without_a_kink_have_the_p_values_of_their_fits(loss):
    (X, y), (new, _) = blobs(24, 2, 8), blobs(4, 2, 9)
    own = {"gamma": 0.05, "loss": loss}
    machine = SVMClassifier("smo", **own, tol=1e-10)
    found = full_conformal(SVMClassifier("smo", **own), X, y, new)
    np.testing.assert_allclose(found, p_values(X, y, new, machine), rtol=1e-12)


def test_the_order_of_rows_and_the_other_new_rows_do_not_matter():
    (X, y), (new, _) = blobs(30, 3, 4), blobs(6, 3, 5)
    estimator, order = SVMClassifier(gamma="scale"), np.random.default_rng(0).permutation(30)
    found = full_conformal(estimator, X, y, new)
    assert full_conformal(estimator, X[order], y[order], new[::-1]).tolist() == found[::-1].tolist()


def test_a_coarse_gap_only_raises_p_values(monkeypatch):
    from svmkit.tune.shared import addition

    (X, y), (new, _) = blobs(40, 2, 6), blobs(8, 2, 7)
    exact = full_conformal(SVMClassifier(gamma=0.05), X, y, new)
    for gap in (1e-6, 1e-3, 1e-1):
        monkeypatch.setattr(addition, "GAP", gap)
        coarse = full_conformal(SVMClassifier(gamma=0.05), X, y, new)
        assert (coarse >= exact).all()
    assert (coarse > exact).any()


@pytest.mark.slow
@pytest.mark.parametrize("by_class", [False, True])
def test_coverage_over_many_draws_is_at_least_what_is_promised(by_class):
    """The truth is missed with a probability of at most alpha; of 100 draws, within three standard errors."""
    missed = []
    for seed in range(100):
        (X, y), (new, truth) = blobs(30, 2, seed), blobs(20, 2, 1000 + seed)
        found = full_conformal(SVMClassifier(C=0.5, gamma=0.05), X, y, new, by_class=by_class)
        missed.append((found[np.arange(20), truth] <= 0.2).mean())
    assert 0.05 < np.mean(missed) <= 0.2 + 3.0 * np.std(missed) / 10.0


@pytest.mark.parametrize(
    ("estimator", "what"),
    [
        (SVMRegressor(), "is for SVMClassifier, not SVMRegressor: .*conformal_folds=10"),
        (SVMClassifier(C="cv"), 'numbers where the estimator has "cv"'),
        (SVMClassifier(kernel="sigmoid"), "positive semidefinite, not sigmoid"),
        (SVMClassifier(kernel="precomputed"), "positive semidefinite, not precomputed"),
        (SVMClassifier(nu=0.5), "a free bias and class pairs"),
        (SVMClassifier(loss="logistic"), "a piecewise loss"),
        (SVMClassifier(kernel="linear", solver="dcd"), "a piecewise loss"),
        (SVMClassifier(multiclass="ovr"), "class pairs"),
        (SVMClassifier(memory="1kB"), "needs their kernel values"),
    ],
)
def test_what_it_cannot_compare_is_refused_in_one_line(estimator, what):
    X, y = blobs(20, 3, 0)
    with pytest.raises(InputError, match=what) as error:
        full_conformal(estimator, X, y, X[:2])
    assert "\n" not in str(error.value)


def test_rows_that_do_not_fit_are_refused():
    X, y = blobs(20, 2, 0)
    with pytest.raises(InputError, match="3 features"):
        full_conformal(SVMClassifier(), X, y, np.zeros((2, 3)))
    with pytest.raises(InputError, match="NaN"):
        full_conformal(SVMClassifier(), X, y, [[0.0, np.nan]])
    with pytest.raises(InputError, match="several columns"):
        full_conformal(SVMClassifier(), X, np.eye(2)[y], X[:2])
    with pytest.raises(InputError, match="class"):
        full_conformal(SVMClassifier(), X, np.zeros(20), X[:2])
