"""Sets that cover: exact ranks, coverage over many draws, by class, of levels and outliers, and what is refused."""

import numpy as np
import pytest

from svmkit import InputError, SVMClassifier, SVMModel, SVMOneClass, SVMRanker, SVMRegressor
from svmkit.losses import Quantile
from svmkit.model.conformal import Conformal, least_rows

RNG = np.random.default_rng(0)


def overlapping(n, seed, share=0.5):
    """Two classes that overlap, of which the second has this share of the rows."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 2)) + y[:, None], y


def curve(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, np.sin(2 * X[:, 0]) + rng.normal(scale=0.3, size=n)


def test_ranks_are_those_of_the_theorem():
    misfits = np.array([3.0, 1.0, 2.0, 9.0, 5.0, 4.0, 8.0, 6.0, 7.0])
    sets = Conformal.from_groups(0.1, False, [misfits])
    assert (
        sets.radii().tolist() == [9.0] and sets.radii(0.2).tolist() == [8.0] and sets.radii(0.05).tolist() == [np.inf]
    )
    assert [least_rows(alpha) for alpha in (0.1, 0.5, 0.01, 0.3)] == [9, 1, 99, 3]
    for alpha in (0.1, 0.3, 0.01):  # the least number of rows, and not one fewer, gives a finite radius
        n = least_rows(alpha)
        finite = [np.isfinite(Conformal.from_groups(alpha, False, [np.arange(k)]).radii()[0]) for k in (n - 1, n)]
        assert finite == [False, True]
    by_class = Conformal.from_groups(0.5, True, [misfits, misfits[:3]])
    assert by_class.radii().tolist() == [5.0, 2.0] and by_class.ends.tolist() == [9, 12]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classes", "quantities", "outliers"])
def test_coverage_over_many_draws_is_the_rank_over_the_rows(kind):
    """20 rows are held out: sets with alpha = 0.2 hold the truth with a probability of exactly 17 / 21."""
    found = []
    for seed in range(100):
        if kind == "classes":
            (X, y), (new, truth) = overlapping(80, seed), overlapping(400, 1000 + seed)
            sets = SVMClassifier("smo", C=10, conformal=0.2, random_state=seed).fit(X, y).predict_sets(new)
            found.append(sets[np.arange(400), truth].mean())
        elif kind == "quantities":
            (X, y), (new, truth) = curve(80, seed), curve(400, 1000 + seed)
            machine = SVMRegressor("smo", C=10, gamma=1.0, epsilon=0.01, conformal=0.2, random_state=seed).fit(X, y)
            low, high = machine.predict_sets(new).T
            found.append(((low <= truth) & (truth <= high)).mean())
        else:
            X, new = (np.random.default_rng(s).normal(size=(n, 2)) for n, s in ((80, seed), (400, 1000 + seed)))
            found.append(SVMOneClass(nu=0.2, conformal=0.2, random_state=seed).fit(X).predict_sets(new)[:, 1].mean())
    error = np.std(found) / 10.0
    assert error < 0.012 and abs(np.mean(found) - 17.0 / 21.0) < 3.5 * error


@pytest.mark.slow
def test_by_class_the_rare_class_is_covered_too():
    """A tenth of the rows are of the rare class, which sets of all rows may miss most of."""
    rare = {None: [], "class": []}
    for seed in range(60):
        (X, y), (new, truth) = overlapping(400, seed, 0.1), overlapping(2000, 1000 + seed, 0.1)
        for by, shares in rare.items():
            machine = SVMClassifier("smo", conformal=0.15, conformal_by=by, random_state=seed).fit(X, y)
            shares.append(machine.predict_sets(new)[truth == 1, 1].mean())
    assert np.mean(rare[None]) < 0.6
    assert np.mean(rare["class"]) > 0.85 - 3.0 * np.std(rare["class"]) / np.sqrt(60)


@pytest.mark.parametrize("options", [{}, {"calibration": "sigmoid"}, {"multiclass": "ovr"}], ids=str)
def test_sets_of_many_classes(options):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 4, 400)
    X = np.stack([y % 2, y // 2], axis=1) * 2.0 + rng.normal(scale=0.7, size=(400, 2))
    machine = SVMClassifier("smo", conformal=0.1, **options).fit(X[:200], y[:200])
    sets = machine.predict_sets(X[200:])
    assert sets.shape == (200, 4) and 0.8 < sets[np.arange(200), y[200:]].mean() < 0.99
    sizes = [machine.predict_sets(X[200:], alpha=alpha).sum() for alpha in (0.05, 0.1, 0.3)]
    assert sizes[0] >= sizes[1] >= sizes[2] and sets.sum() == sizes[1]  # sets of smaller shares hold the others
    alone = sets.sum(axis=1) == 1
    labels = machine.predict(X[200:])
    assert alone.any() and (sets[alone, labels[alone]]).mean() > 0.99  # a set of one class is the predicted one
    assert (machine.predict_sets(X[200:], alpha=1e-6)).all()  # too few rows to leave anything out


def test_held_out_rows_teach_nothing_and_the_model_is_that_of_the_others():
    X, y = overlapping(120, 5)
    machine = SVMClassifier("smo", C=2.0, gamma=0.5, scale="standard", conformal=0.1).fit(X, y)
    from svmkit.training.calibration.conformal import draw_held
    from svmkit.training.data import TrainingData
    from svmkit.training.settings import Settings, resolve

    data = TrainingData.prepare(X, y, resolve(Settings(kernel="rbf", scale="standard")))
    held = draw_held(data, 0.1, 0, by_class=False)
    alone = SVMClassifier("smo", C=2.0, gamma=0.5, scale="standard").fit(X[~held], y[~held])
    assert held.sum() == 30 and not np.isin(machine.support_, np.flatnonzero(held)).any()
    np.testing.assert_allclose(machine.decision_function(X), alone.decision_function(X), atol=1e-6)
    decision = alone.decision_function(X[held])
    misfits = np.sort(np.where(y[held] == 1, -decision, decision))
    np.testing.assert_allclose(machine.model_.conformal.misfits, misfits, atol=1e-6)


def test_levels_are_widened_or_narrowed_as_conformalized_quantiles():
    X, y = curve(400, 7)
    new, truth = curve(1000, 8)
    machine = SVMRegressor("smo", loss=Quantile(tau=(0.05, 0.95)), C=10, conformal=0.1, non_crossing=True).fit(X, y)
    quantiles, sets = machine.predict(new), machine.predict_sets(new)
    (radius,) = machine.model_.conformal.radii()
    np.testing.assert_allclose(sets, quantiles + np.array([-radius, radius]), atol=1e-12)
    assert 0.85 < ((sets[:, 0] <= truth) & (truth <= sets[:, 1])).mean() < 0.95


def test_each_output_has_intervals_of_its_own():
    X, y = curve(200, 9)
    machine = SVMRegressor("smo", conformal=0.2).fit(X, np.stack([y, 100 * y], axis=1))
    widths = np.diff(machine.predict_sets(X[:5]), axis=2)[..., 0]
    assert widths.shape == (5, 2) and (widths[:, 1] > 30 * widths[:, 0]).all()


@pytest.mark.parametrize("make", [
    lambda: SVMClassifier("smo", conformal=0.2, conformal_by="class").fit(*overlapping(100, 1)),
    lambda: SVMRegressor("smo", conformal=0.2).fit(*curve(100, 1)),
    lambda: SVMOneClass(conformal=0.2).fit(overlapping(100, 1)[0]),
], ids=["classes", "quantities", "outliers"])  # fmt: skip
def test_sets_are_kept_in_the_file(make, tmp_path):
    machine = make()
    machine.model_.save(tmp_path / "sets.model")
    X = RNG.normal(size=(50, machine.n_features_in_))
    again = SVMModel.load(tmp_path / "sets.model")
    np.testing.assert_array_equal(again.predict_sets(X), machine.predict_sets(X))
    assert again.conformal.alpha == 0.2 and again.about["conformal"]["rows"] in (25, 26)


@pytest.mark.parametrize(("make", "message"), [
    (lambda X, y: SVMClassifier(conformal=0.0).fit(X, y), r"must be a number in \(0, 1\)"),
    (lambda X, y: SVMClassifier(conformal=1).fit(X, y), r"must be a number in \(0, 1\)"),
    (lambda X, y: SVMClassifier(conformal=0.01).fit(X, y), "needs 99 rows to hold out, a quarter of all"),
    (lambda X, y: SVMClassifier(conformal=0.1, conformal_by="class").fit(X, X[:, 0] > 2), "and class True has"),
    (lambda X, y: SVMClassifier(conformal=0.1, conformal_by="fold").fit(X, y), "conformal_by='fold' is not known"),
    (lambda X, y: SVMClassifier(conformal_by="class").fit(X, y), "give conformal, too"),
    (lambda X, y: SVMClassifier(conformal=0.1).fit(X, np.stack([y > 0, y > 1], axis=1) * 1), "one label a row"),
], ids=range(7))  # fmt: skip
def test_what_cannot_be_is_one_line(make, message):
    X, y = overlapping(100, 2)
    with pytest.raises(InputError, match=message):
        make(X, y)


def test_without_a_share_there_are_no_sets():
    X, y = overlapping(60, 1)
    assert not hasattr(SVMClassifier(), "predict_sets") and not hasattr(SVMRanker(), "predict_sets")
    with pytest.raises(InputError, match="train it with a share of rows that they may miss"):
        SVMClassifier("smo").fit(X, y).model_.predict_sets(X)


def folds_of(X, y, n_folds, task="classify", alpha=0.2, **options):
    from svmkit.training.calibration.conformal import draw_folds
    from svmkit.training.data import TrainingData
    from svmkit.training.settings import Settings, resolve

    data = TrainingData.prepare(X, y, resolve(Settings(kernel="rbf", **options), task))
    return draw_folds(data, alpha, n_folds, 0, by_class=False)


def test_sets_of_folds_compare_with_each_row_by_a_model_that_saw_neither():
    X, y = overlapping(40, 5)
    new = overlapping(12, 6)[0]
    machine = SVMClassifier("smo", C=2.0, gamma=0.5, tol=1e-9, conformal=0.2, conformal_folds=5).fit(X, y)
    folds, wanted = folds_of(X, y, 5), np.zeros((12, 2), dtype=bool)
    models = [SVMClassifier("smo", C=2.0, gamma=0.5, tol=1e-9).fit(X[folds != k], y[folds != k]) for k in range(5)]
    h, h_new = (np.array([model.decision_function(Z) for model in models]) for Z in (X, new))
    own = np.where(y == 1, -h[folds, np.arange(40)], h[folds, np.arange(40)])
    for row in range(12):
        for code in (0, 1):
            other = np.where(code == 1, -h_new[folds, row], h_new[folds, row])
            wanted[row, code] = (own >= other).sum() + 1 > 0.2 * 41
    np.testing.assert_array_equal(machine.predict_sets(new), wanted)
    alone = SVMClassifier("smo", C=2.0, gamma=0.5, tol=1e-9).fit(X, y)  # the model itself is that of all rows
    np.testing.assert_allclose(machine.decision_function(new), alone.decision_function(new), atol=1e-6)


def test_intervals_of_folds_are_those_of_barber():
    X, y = curve(60, 7)
    new, options = curve(30, 8)[0], {"C": 10.0, "gamma": 1.0, "epsilon": 0.01, "tol": 1e-9}
    machine = SVMRegressor("smo", conformal=0.1, conformal_folds=6, **options).fit(X, y)
    folds = folds_of(X, y, 6, "regress", 0.1)
    models = [SVMRegressor("smo", **options).fit(X[folds != k], y[folds != k]) for k in range(6)]
    h, h_new = (np.array([model.predict(Z) for model in models]) for Z in (X, new))
    residuals = np.abs(y - h[folds, np.arange(60)])
    low, high = np.sort(h_new[folds] - residuals[:, None], axis=0), np.sort(h_new[folds] + residuals[:, None], axis=0)
    wanted = np.stack([low[int(np.floor(0.1 * 61)) - 1], high[int(np.ceil(0.9 * 61)) - 1]], axis=1)
    np.testing.assert_allclose(machine.predict_sets(new), wanted, atol=1e-6)
    assert np.isinf(machine.predict_sets(new, alpha=0.01)).all()


@pytest.mark.parametrize("make", [
    lambda: SVMClassifier("smo", conformal=0.2, conformal_by="class", conformal_folds=4).fit(*overlapping(100, 1)),
    lambda: SVMClassifier("smo", conformal=0.2, conformal_folds=4, calibration="sigmoid").fit(*overlapping(100, 1)),
    lambda: SVMRegressor("smo", loss=Quantile(tau=(0.1, 0.9)), conformal=0.2, conformal_folds=4).fit(*curve(100, 1)),
    lambda: SVMRegressor("smo", conformal=0.2, conformal_folds=4).fit(curve(100, 1)[0], curve(100, 1)[0] @ [[1, 2]]),
    lambda: SVMOneClass(conformal=0.2, conformal_folds=4).fit(overlapping(100, 1)[0]),
], ids=["classes", "calibrated", "levels", "outputs", "outliers"])  # fmt: skip
def test_folds_are_kept_in_the_file(make, tmp_path):
    machine = make()
    machine.model_.save(tmp_path / "sets.model")
    X = RNG.normal(size=(50, machine.n_features_in_))
    again, sets = SVMModel.load(tmp_path / "sets.model"), machine.predict_sets(X)
    np.testing.assert_array_equal(again.predict_sets(X), sets)
    assert again.conformal.promise() == machine.model_.conformal.promise() < 0.6
    wider = again.widened(again.n_features + 1)
    np.testing.assert_allclose(wider.predict_sets(np.hstack([X, np.zeros((50, 1))])), sets, atol=1e-9)
    if sets.dtype != bool:
        assert (sets[..., 0] <= sets[..., 1]).all()


@pytest.mark.parametrize(("options", "message"), [
    ({"conformal_folds": 5}, "give conformal, too"),
    ({"conformal": 0.1, "conformal_folds": 1}, "must be a whole number from 2 to 100"),
    ({"conformal": 0.1, "conformal_folds": 70}, "with 70 folds needs 70 rows, and there are 60"),
    ({"conformal": 0.01, "conformal_folds": 5}, "needs 99 rows"),
])  # fmt: skip
def test_folds_that_cannot_be_are_one_line(options, message):
    with pytest.raises(InputError, match=message):
        SVMClassifier("smo", **options).fit(*overlapping(60, 2))


@pytest.mark.slow
def test_coverage_of_folds_is_at_least_what_is_guaranteed():
    found = []
    for seed in range(60):
        (X, y), (new, truth) = overlapping(60, seed), overlapping(400, 1000 + seed)
        machine = SVMClassifier("smo", C=10, conformal=0.2, conformal_folds=5, random_state=seed).fit(X, y)
        found.append(machine.predict_sets(new)[np.arange(400), truth].mean())
    assert np.mean(found) > machine.model_.conformal.promise() and 0.76 < np.mean(found) < 0.88
