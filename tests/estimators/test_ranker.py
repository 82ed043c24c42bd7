"""SVMRanker: scikit-learn's conventions, groups, censored times, files, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from scipy.stats import kendalltau
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from svmkit import InputError, SVMModel, SVMRanker
from svmkit.data import Ranks
from svmkit.errors import SvmkitWarning
from svmkit.tune import search


@pytest.fixture(scope="module")
def queries() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, degrees of relevance and groups, whose levels differ between groups so that only groups make sense of them."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 8)
    X = rng.normal(size=(240, 6))
    y = np.round(2.0 * X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=240)) + 10.0 * rng.normal(size=30).round()[groups]
    return X, y, groups


@parametrize_with_checks([SVMRanker()])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_groups_matter_and_the_order_is_found(queries):
    X, y, groups = queries
    within = SVMRanker(tol=1e-6).fit(X, y, groups)
    assert within.score(X, y, groups) > 0.9
    assert within.gap_ <= 1e-6
    weights = within.coef_[0]
    assert np.argsort(-np.abs(weights))[:2].tolist() == [0, 1]
    assert weights[0] > 0 > weights[1]
    assert within.score(X, y, groups) > SVMRanker(tol=1e-6).fit(X, y).score(X, y, groups)
    np.testing.assert_array_equal(within.intercept_, [0.0])
    named = SVMRanker(tol=1e-6).fit(X, y, np.array([f"query {g:02}" for g in groups], dtype=object))
    np.testing.assert_array_equal(named.coef_, within.coef_)


def test_order_of_rows_and_shifts_of_a_group_change_nothing(queries):
    X, y, groups = queries
    one, p = SVMRanker(tol=1e-8).fit(X, y, groups), np.random.default_rng(1).permutation(len(y))
    other = SVMRanker(tol=1e-8).fit(X[p], (y + 100.0 * groups)[p], groups[p])
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-3)
    assert other.certificate_[0].primal == pytest.approx(one.certificate_[0].primal, rel=1e-7)


def test_model_is_saved_loaded_and_pickled(queries, tmp_path):
    X, y, groups = queries
    ranker = SVMRanker(scale="standard").fit(X, y, groups)
    ranker.model_.save(tmp_path / "order.model")
    model = SVMModel.load(tmp_path / "order.model")
    assert (model.task, model.about["minimised"]["loss"]) == ("rank", "squared_hinge")
    for other in (model, pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(other.predict(X), ranker.predict(X))


def test_onnx_predicts_the_same(queries, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    from svmkit.model.onnx import export

    X, y, groups = queries
    ranker = SVMRanker().fit(X, y, groups)
    export.write(ranker.model_, tmp_path / "order.onnx")
    session = runtime.InferenceSession(str(tmp_path / "order.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(["value"], {"X": X})
    np.testing.assert_allclose(found, ranker.predict(X), rtol=1e-12)


def test_censored_times_in_each_form_are_the_same(queries):
    X, *_ = queries
    rng = np.random.default_rng(2)
    days, died = np.exp(X[:, 0] + rng.gumbel(size=len(X))), rng.random(len(X)) < 0.6
    records = np.array(list(zip(died, days, strict=True)), dtype=[("death", "?"), ("days", "f8")])
    rankers = [
        SVMRanker().fit(X, y)
        for y in (records, np.column_stack([died, days]), Ranks(days, observed=died), Ranks(days, observed=died * 1))
    ]
    for ranker in rankers[1:]:
        np.testing.assert_array_equal(ranker.coef_, rankers[0].coef_)
    # by hand: pairs whose shorter time ended in an event
    above, below = np.nonzero((days[:, None] > days) & died)
    h = rankers[0].predict(X)
    assert rankers[0].score(X, records) == pytest.approx((h[above] > h[below]).mean())
    assert rankers[0].score(X, records) > 0.7


def test_validation_measures_the_concordance(queries):
    X, y, groups = queries
    ranker = SVMRanker().fit(X, y, groups, validation=(X[:80], Ranks(y[:80], groups[:80])))
    assert ranker.history_[0][-1].score == pytest.approx(ranker.score(X[:80], y[:80], groups[:80]))


def test_search_and_pipeline(queries):
    X, y, _ = queries
    searches = GridSearchCV(make_pipeline(StandardScaler(), SVMRanker()), {"svmranker__C": [1e-4, 1e-2]}, cv=3)
    assert 0.5 < searches.fit(X, y).best_score_ < 1.0


def test_cross_validation_chooses_C_over_whole_groups(queries):
    X, y, groups = queries
    ranker = SVMRanker(C="cv", metric="kendall_tau").fit(X, y, groups)
    found = ranker.cv_results_
    C = found["params"][1]["C"]
    taus = []
    for rows, held in GroupKFold(5, shuffle=True, random_state=0).split(X, y, groups):
        h = SVMRanker(C=C).fit(X[rows], y[rows], groups[rows]).predict(X)
        each = [groups == g for g in np.unique(groups[held])]
        taus.append(np.mean([kendalltau(h[at], y[at]).statistic for at in each]))
    assert found["mean_test_score"][1] == pytest.approx(np.mean(taus), rel=1e-9)
    assert ranker.best_score_ >= 0.8 and ranker.gap_ <= 1e-3


def test_searches_of_scikit_learn_route_groups(queries):
    X, y, groups = queries
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = SVMRanker().set_fit_request(groups=True).set_score_request(groups=True)
        searches = GridSearchCV(ranker, {"C": [1e-3, 1e-1]}, cv=GroupKFold(5)).fit(X, y, groups=groups)
    scores = [
        SVMRanker(C=1e-1).fit(X[rows], y[rows], groups[rows]).score(X[held], y[held], groups[held])
        for rows, held in GroupKFold(5).split(X, y, groups)
    ]
    assert searches.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(scores), rel=1e-12)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"cv": "loo"}, "single rows, which have no order"),
        ({"cv": KFold(3, shuffle=True, random_state=0)}, "divide groups that are ranked"),
        ({"metric": "r2"}, "does not measure orders"),
    ],
)
def test_searches_that_would_part_groups_are_refused(queries, options, words):
    X, y, groups = queries
    with pytest.raises(InputError, match=words) as told:
        SVMRanker(C="cv", **options).fit(X, y, groups)
    assert "\n" not in str(told.value)


def test_groups_of_one_row_are_told_once_by_a_search(queries):
    X, y, groups = queries
    with pytest.warns(SvmkitWarning) as told:
        search(
            X[:162], Ranks(y[:162], np.r_[groups[:160], 98, 99]), solver="ocas", grid={"C": [0.1]}, cv=3, task="rank"
        )
    assert [str(one.message)[:26] for one in told] == ["2 groups have one row, whi"]


def test_groups_of_one_row_are_told(queries):
    X, y, groups = queries
    with pytest.warns(SvmkitWarning, match="2 groups have one row, which has no pair: it takes no part"):
        some = SVMRanker(tol=1e-8).fit(X[:162], y[:162], np.r_[groups[:160], 98, 99])
    others = SVMRanker(tol=1e-8).fit(X[:160], y[:160], groups[:160])
    assert some.certificate_[0].primal == pytest.approx(others.certificate_[0].primal, rel=1e-7)


def test_what_cannot_be_used_is_said_in_one_line(queries):
    X, y, groups = queries
    records = np.zeros(240, dtype=[("start", "f8"), ("end", "f8")])
    for given, words in [
        ((y, np.arange(240)), "each group has one row"),
        ((np.ones(240),), "all values are equal"),
        ((10.0 * groups, groups), "all values of each group are equal"),
        ((y, groups[:9]), r"groups has shape \(9,\)"),
        ((y, np.where(groups == 3, np.nan, groups)), "hole at row 25"),
        ((np.where(groups == 3, np.nan, y), groups), "NaN"),
        ((records,), "two, a flag"),
        ((np.column_stack([y, y]),), "the first one is no flag"),
        ((Ranks(y, observed=np.zeros(240, bool)),), "no event was observed"),
        ((Ranks(y, observed=y),), "True for each value"),
    ]:
        with pytest.raises(InputError, match=words) as told:
            SVMRanker().fit(X, *given)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"solver": "smo"}, "solver smo cannot rank; those that can: auto, bmrm, ocas, svmperf"),
        ({"loss": "huber"}, "is for regression"),
        ({"loss": "smoothed_hinge"}, "there are: hinge, squared_hinge"),
    ],
)
def test_solvers_and_losses_that_cannot_rank_are_refused(queries, options, words):
    X, y, groups = queries
    with pytest.raises(InputError, match=words):
        SVMRanker(**options).fit(X, y, groups)


def test_other_kernels_and_probabilities_are_refused(queries):
    from svmkit import fit
    from svmkit.kernels import Linear, Sigmoid

    X, y, _ = queries
    with pytest.raises(InputError, match="positive semidefinite, not sigmoid"):
        fit(X, y, task="rank", kernel=Sigmoid(1.0))
    with pytest.raises(InputError, match="no probabilities"):
        fit(X, y, task="rank", kernel=Linear(), calibration="sigmoid")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_model_certifies_itself(queries, loss):
    X, y, groups = queries
    ranker = SVMRanker(loss=loss, C=0.1, tol=1e-8).fit(X, y, groups)
    (own,), (certificate,) = ranker.certificate_, ranker.model_.certify(X, Ranks(y, groups))
    assert certificate.primal == pytest.approx(own.primal, rel=1e-12)
    assert certificate.dual <= own.primal
    assert certificate.gap <= (1e-2 if loss == "squared_hinge" else 1.0)
