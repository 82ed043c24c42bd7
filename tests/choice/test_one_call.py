"""C, gamma and epsilon that are "cv": one call of the estimators and of `svmkit.fit` searches, refits and certifies."""

import os
import pickle
import signal
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from support.problems import blobs, overlapping

from svmkit import SVMClassifier, SVMOneClass, SVMRegressor, fit
from svmkit.choice import one_call
from svmkit.choice.ranges import Ranges
from svmkit.errors import InputError, SvmkitError, SvmkitWarning
from svmkit.kernels.functions import RBF, Linear
from svmkit.solver.stopping import Gap, Seconds, Stop
from svmkit.training import TrainingData
from svmkit.training.settings import Settings, resolve
from svmkit.tune import search

pytestmark = [
    pytest.mark.filterwarnings("ignore::svmkit.errors.SvmkitWarning"),
    pytest.mark.slow,
]  # what they compile together takes long
IRIS = load_iris(return_X_y=True)
CANCER = tuple(part[:200] for part in load_breast_cancer(return_X_y=True))
DIABETES = tuple(part[:150] for part in load_diabetes(return_X_y=True))


def plain_search(model, X, y, cv, **given):
    """GridSearchCV with the candidates of a fitted model, one by one, and its own folds."""
    names = list(model.best_params_)
    fixed = {name: "scale" if name == "gamma" else 1.0 for name in names}
    points = [{name: [value] for name, value in params.items()} for params in model.cv_results_["params"]]
    return GridSearchCV(clone(model).set_params(**fixed), points, cv=cv, refit=False, **given).fit(X, y)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_scores_and_the_winner_are_those_of_a_plain_grid_search(storage):
    X, y = storage(StandardScaler().fit_transform(CANCER[0])), CANCER[1]
    model = SVMClassifier(C="cv", gamma="cv", tol=1e-6, cv=3).fit(X, y)
    plain = plain_search(model, X, y, StratifiedKFold(3, shuffle=True, random_state=0))
    ours, theirs = model.cv_results_, plain.cv_results_
    assert theirs["params"] == ours["params"] and len(theirs["params"]) > 9
    for key in ("mean_test_score", *(f"split{k}_test_score" for k in range(3))):
        np.testing.assert_allclose(ours[key], theirs[key], atol=0.016)  # one row of a fold
    taken = theirs["params"].index(model.best_params_)
    splits = np.array([theirs[f"split{k}_test_score"] for k in range(3)])
    gains = splits[:, plain.best_index_] - splits[:, taken]  # the default stays unless the best is better beyond doubt
    assert gains.mean() <= 2 * gains.std(ddof=1) / np.sqrt(3) + 0.006
    assert ours["params"][0] == model.best_params_ and ours["mean_test_score"][0] == model.best_score_


def test_the_model_is_that_of_a_fit_with_what_was_chosen():
    X, y = CANCER
    chosen = SVMClassifier(C="cv", gamma="cv", scale="standard", calibration="sigmoid").fit(X, y)
    assert chosen.gap_ <= 1e-3 and str(chosen.status_) == "converged"
    same = SVMClassifier(**chosen.best_params_, scale="standard").fit(X, y)
    np.testing.assert_allclose(chosen.model_.decision_function(X), same.model_.decision_function(X), atol=1e-9)
    found = chosen.model_.about["search"]
    assert found["params"] == chosen.best_params_ and found["score"] == chosen.best_score_ and found["ended"] is None
    assert chosen.get_params()["C"] == "cv"  # the parameters stay as they were


def test_a_calibration_takes_the_folds_of_the_search():
    X, y = blobs(90, 3)
    folds = np.arange(90) % 3
    pairs = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    model = SVMClassifier(C="cv", cv=pairs, calibration="sigmoid", tol=1e-8).fit(X, y)
    assert model.model_.about["calibration"]["folds"] == 3
    out = np.empty(90)
    for train, held in pairs:
        part = SVMClassifier(**model.best_params_, tol=1e-8).fit(X[train], y[train])
        out[held] = part.decision_function(X[held])
    from svmkit.training.calibration.curves import fitted_calibration

    by_hand = fitted_calibration("sigmoid", out, y > 0, np.ones(90), np.array([90]))
    decision = model.model_.decision_function(X)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], by_hand.probabilities(decision.reshape(-1, 1)).ravel(), atol=1e-3
    )


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear", "gamma": "scale"},
        {"solver": "dcd", "gamma": "scale"},
        {"kernel": "poly", "degree": 2},
        {"kernel": "laplacian", "scale": "standard"},
        {"multiclass": "ovr"},
        {"class_weight": "balanced", "metric": "f1_macro"},
        {"kernel": "linear", "gamma": "scale", "multiclass": "crammer_singer"},
        {"loss": "squared_hinge"},
        {"max_support": 20, "solver": "swap2o"},
    ],
    ids=str,
)
def test_every_kind_of_classifier(options):
    X, y = IRIS
    model = SVMClassifier(**{"C": "cv", "gamma": "cv", "cv": 3} | options).fit(X, y)
    assert model.score(X, y) > 0.9 and model.best_score_ > 0.9
    assert set(model.best_params_) == {"C"} | ({"gamma"} if "gamma" not in options else set())
    assert model.model_.about["C"] == model.best_params_["C"]


@pytest.mark.parametrize(
    "options", [{}, {"loss": "squared_epsilon_insensitive"}, {"kernel": "linear", "gamma": "scale"}], ids=str
)
def test_a_regression_chooses_the_width_of_its_tube(options):
    X, y = DIABETES
    given = {"C": "cv", "gamma": "cv", "epsilon": "cv", "scale": "standard", "cv": 3}
    model = SVMRegressor(**given | options).fit(X, y)
    assert "epsilon" in model.best_params_ and model.gap_ <= 1e-3
    assert model.model_.about["epsilon"] == model.best_params_["epsilon"]
    assert len({params["epsilon"] for params in model.cv_results_["params"]}) > 2
    default = SVMRegressor(scale="standard", **options).fit(X, y)
    held = cross_val_score(clone(default), X, y, cv=3).mean()
    assert model.best_score_ > held and model.score(X, y) > 0.3


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_each_width_is_tried_with_the_loss_that_was_named(loss):
    X, y = StandardScaler().fit_transform(DIABETES[0]), DIABETES[1]
    fixed = {"C": 10.0, "gamma": 0.1, "loss": loss, "tol": 1e-6}
    model = SVMRegressor(epsilon="cv", cv=KFold(3), **fixed).fit(X, y)
    epsilons = [params["epsilon"] for params in model.cv_results_["params"]]
    assert len(set(epsilons)) > 1
    for epsilon, score in zip(epsilons, model.cv_results_["mean_test_score"], strict=True):
        plain = SVMRegressor(epsilon=epsilon, **fixed)
        assert score == pytest.approx(cross_val_score(plain, X, y, cv=KFold(3)).mean(), abs=1e-4)


def test_other_parameters_of_a_regression():
    X, y = DIABETES
    model = SVMRegressor(C="cv", loss="huber", delta=30.0, scale="standard", cv=3).fit(X, y)
    assert set(model.best_params_) == {"C"} and model.model_.about["minimised"]["options"]["delta"] == 30.0
    model = SVMRegressor(C="cv", nu=0.5, scale="standard", cv=3).fit(X, y)
    assert model.best_score_ > 0.2
    with pytest.raises(InputError, match="the loss huber has no epsilon: leave epsilon out"):
        SVMRegressor(epsilon="cv", loss="huber").fit(X, y)
    with pytest.raises(InputError, match="epsilon='cv' with nu: training finds epsilon itself"):
        SVMRegressor(epsilon="cv", nu=0.5).fit(X, y)


def test_weights_of_samples_count_in_the_folds_and_rows_of_weight_0_do_not():
    X, y = overlapping(120)
    weights = np.ones(120)
    weights[::4] = 0.0
    some = SVMClassifier(C="cv", gamma=0.5, cv=3, tol=1e-6).fit(X, y, sample_weight=weights)
    rest = SVMClassifier(C="cv", gamma=0.5, cv=3, tol=1e-6).fit(X[weights > 0], y[weights > 0])
    assert some.best_params_ == rest.best_params_
    np.testing.assert_allclose(some.cv_results_["mean_test_score"], rest.cv_results_["mean_test_score"], atol=0.012)
    heavy = np.where(y == y[0], 20.0, 1.0)
    one = SVMClassifier(C=1.0, gamma=0.5).fit(X, y, sample_weight=heavy)
    many = SVMClassifier(C=1.0, gamma="cv", cv=3).fit(X, y, sample_weight=heavy)
    assert (one.predict(X) == y[0]).mean() > 0.6 and (many.predict(X) == y[0]).mean() > 0.6


def test_a_search_says_once_that_a_label_is_the_same_in_all_rows():
    X, _ = IRIS
    Y = np.c_[X[:, 0] > 5.8, X[:, 1] > 3.0, np.ones(len(X), bool)].astype(int)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        SVMClassifier(C="cv", cv=3).fit(X, Y)
    assert [str(one.message) for one in said] == ["all samples have label 2: so it is predicted for every row"]


def test_groups_stay_together(monkeypatch):
    X, y = blobs(60, 3)
    X, y, groups = np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(60), 3)
    import svmkit.choice.one_call as one_call

    seen, make = [], one_call.make_splits

    def watch(*args, **given):
        seen.append(make(*args, **given))
        return seen[-1]

    monkeypatch.setattr(one_call, "make_splits", watch)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SvmkitWarning)  # no row has its like in another fold
        SVMClassifier(C="cv", cv=3).fit(X, y, groups=groups)
        SVMRegressor(C="cv", cv=3).fit(X, X[:, 0], groups=groups)
        SVMClassifier(C="cv", cv=GroupKFold(3)).fit(X, y, groups=groups)
    for splits in seen:
        assert len(splits.pairs) == 3
        for train, held in splits.pairs:
            assert not set(groups[train]) & set(groups[held])
    with pytest.warns(SvmkitWarning, match="17. of 180 rows are equal to one in another fold.*groups keep such rows"):
        SVMClassifier(C="cv", cv=3).fit(X, y)
    with pytest.raises(InputError, match="there is 1 group: that cannot be cross-validated"):
        SVMClassifier(C="cv").fit(X, y, groups=np.zeros(180))
    with pytest.raises(InputError, match="groups must be 180 values, one for each sample"):
        SVMClassifier(C="cv").fit(X, y, groups=groups[:5])
    with pytest.raises(InputError, match="groups are for a calibration, thresholds, relevance or parameters"):
        SVMClassifier().fit(X, y, groups=groups)
    with pytest.warns(SvmkitWarning, match="there are 2 groups: 2 folds in place of 5"):
        SVMClassifier(C="cv").fit(X, y, groups=np.arange(180) % 2)


def test_splitters_of_scikit_learn():
    X, y = IRIS
    model = SVMClassifier(C="cv", cv=ShuffleSplit(4, random_state=0), calibration="sigmoid").fit(X, y)
    assert "split3_test_score" in model.cv_results_ and model.model_.about["calibration"]["folds"] == 5
    assert model.model_.about["search"]["cv"] == 4
    for cv in (None, "many", 1, object()):
        with pytest.raises(InputError, match="cv"):
            SVMClassifier(C="cv", cv=cv).fit(X, y)


def test_a_kernel_of_ones_own_and_kernel_values_that_are_known():
    X, y = IRIS
    K = rbf_kernel(X, gamma=0.1)
    known = SVMClassifier(C="cv", kernel="precomputed", cv=3).fit(K, y)
    plain = SVMClassifier(C="cv", gamma=0.1, cv=3).fit(X, y)
    assert known.best_params_ == plain.best_params_
    np.testing.assert_allclose(known.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=0.01)
    model = SVMClassifier(C="cv", kernel=lambda A, B: A @ B.T, cv=3).fit(X, y)
    assert model.best_score_ > 0.9
    model = SVMClassifier(gamma="cv", kernel=RBF(0.5), cv=3).fit(X, y)
    assert model.best_params_["gamma"] != 0.5 and model.model_.about["C"] == 1.0


def test_a_class_of_one_sample_is_trained_on_in_every_fold():
    X, y = IRIS
    said = "class 2 has 1 sample: every fold trains on it, and none measures it"
    with pytest.warns(SvmkitWarning, match=said):
        model = SVMClassifier(C="cv", cv=3).fit(X[:101], y[:101])
    assert model.classes_.tolist() == [0, 1, 2] and model.best_score_ == 1.0
    with pytest.warns(SvmkitWarning, match=said):
        found = search(X[:101], y[:101], grid={"C": [1.0], "gamma": [0.1]}, cv=3, metric="accuracy", stop=Gap(1e-6))
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X[:100], y[:100])
    machine = SVC(C=1.0, gamma=0.1, tol=1e-6)
    scores = [machine.fit(X[[*train, 100]], y[[*train, 100]]).score(X[test], y[test]) for train, test in folds]
    assert found.best.mean_accuracy == pytest.approx(np.mean(scores))
    with pytest.raises(InputError, match="no fold holds one of class 2: add samples"), pytest.warns(SvmkitWarning):
        SVMClassifier(C="cv", cv=3, calibration="sigmoid").fit(X[:101], y[:101])


def test_few_samples_of_a_class_lower_the_number_of_folds():
    X, y = IRIS
    with pytest.warns(SvmkitWarning, match="class 2 has 3 samples: 3 folds in place of 5"):
        model = SVMClassifier(C="cv").fit(X[:103], y[:103])
    assert model.model_.about["search"]["cv"] == 3
    with pytest.raises(InputError, match="class 1 has 1 sample: that cannot be cross-validated"):
        SVMClassifier(C="cv").fit(X[:51], y[:51])
    with pytest.warns(SvmkitWarning, match="there are 7 samples: 3 folds in place of 5"):
        SVMRegressor(C="cv").fit(X[:7], X[:7, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": "cv", "kernel": "linear"}, "the linear kernel has no gamma: leave gamma out"),
        ({"gamma": "cv", "solver": "dcd"}, "the linear kernel has no gamma: leave gamma out"),
        ({"gamma": "cv", "kernel": "precomputed"}, "the precomputed kernel has no gamma"),
        ({"C": "cv", "nu": 0.2}, "C has no effect on nu-SVC"),
        ({"nu": "cv"}, "nu='cv': only C, gamma, epsilon, scale are chosen"),
        ({"C": "cv", "metric": "no_such"}, "metric 'no_such' is not known"),
        ({"C": "many"}, "C must be"),
    ],
)
def test_what_cannot_be_chosen_is_refused_in_one_line(options, message):
    X, y = IRIS
    with pytest.raises(InputError, match=message) as refused:
        SVMClassifier(**options).fit(*((X @ X.T, y) if options.get("kernel") == "precomputed" else (X, y)))
    assert "\n" not in str(refused.value)


def test_no_streams_and_no_outliers():
    X, y = IRIS
    with pytest.raises(InputError, match="no partial_fit with C='cv'"):
        SVMClassifier("sgd", C="cv").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(InputError, match="gamma='cv' needs labels"):
        SVMOneClass(gamma="cv").fit(X)


def test_metrics_that_are_nan_everywhere_are_one_line():
    X, y = overlapping(40)
    y = np.where(np.arange(40) < 38, y, y)
    pairs = [(np.arange(20, 40), np.flatnonzero(y[:20] == y[0])), (np.arange(20), 20 + np.flatnonzero(y[20:] == y[0]))]
    with pytest.raises(SvmkitError, match="every candidate failed; the first one: the metric is not defined"):
        SVMClassifier(C="cv", metric="roc_auc", cv=pairs).fit(X, y)


def test_constant_columns_and_equal_rows_do_no_harm():
    X, y = IRIS
    same = np.hstack([X, np.ones((150, 2))])
    model = SVMClassifier(C="cv", gamma="cv", cv=3, scale="standard").fit(same, y)
    assert model.best_score_ > 0.93
    flat = np.zeros((30, 2))
    assert np.isfinite(SVMClassifier(C="cv", gamma="cv", cv=3).fit(flat, np.arange(30) % 2).best_score_)


def test_a_limit_shorter_than_the_first_candidate_leaves_the_default():
    X, y = overlapping(300)
    with pytest.warns(SvmkitWarning, match="the time limit ended the search before a candidate was tried.*defaults"):
        model = SVMClassifier(C="cv", gamma="cv", time_limit=1e-4).fit(X, y)
    assert model.best_params_ == {} and np.isnan(model.best_score_) and model.cv_results_ == {}
    assert model.model_.about["C"] == 1.0 and model.model_.about["search"]["ended"] == "time_limit"
    assert set(model.predict(X)) <= set(y)


def test_the_model_has_a_quarter_of_the_limit_however_long_the_search_took():
    method = resolve(Settings(stop=Stop((Seconds(2.0), Gap(1e-3)))))
    chosen = one_call.Chosen(method, None, None)
    limits = [chosen.shorten(seconds).settings.rules.least(Seconds) for seconds in (0.5, 1.5, 1.9, 12.0)]
    assert limits == pytest.approx([1.5, 0.5, 0.5, 0.5])
    assert one_call.Chosen(resolve(Settings()), None, None).shorten(3.0).settings.rules.least(Seconds) == np.inf


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    from svmkit.choice.zoom import Zoom

    following = Zoom.next_paths

    def interrupted(self, candidates):
        os.kill(os.getpid(), signal.SIGINT)
        return following(self, candidates)

    monkeypatch.setattr(Zoom, "next_paths", interrupted)
    assert threading.current_thread() is threading.main_thread()
    with pytest.warns(SvmkitWarning, match="interrupted after .* candidates were tried in all folds: the best so far"):
        model = SVMClassifier(C="cv", gamma="cv").fit(*IRIS)
    assert model.gap_ <= 1e-3 and model.best_score_ > 0.9 and model.model_.about["search"]["ended"] == "interrupted"


def test_conventions_of_scikit_learn():
    X, y = IRIS
    model = SVMClassifier(C="cv", gamma="cv", cv=3)
    assert clone(model).get_params() == model.get_params() and "C='cv'" in repr(model)
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.best_params_ == model.best_params_
    search = GridSearchCV(SVMClassifier(C="cv", cv=2), {"kernel": ["linear", "rbf"]}, cv=2).fit(X, y)
    assert search.best_estimator_.best_params_["C"] > 0 and search.best_score_ > 0.9
    model.set_params(C=1.0, gamma="scale").fit(X, y)
    assert not hasattr(model, "best_params_") and not hasattr(model, "cv_results_")


def test_progress_tells_the_best_so_far(monkeypatch, capsys):
    from svmkit.choice import Choice, choose
    from svmkit.tune import crossval
    from svmkit.tune.records import progress_line

    seen = []
    monkeypatch.setattr(crossval, "REPORT", 0.005)
    chosen = choose(*CANCER, resolve(Settings()), Choice(names=("C", "gamma"), cv=20, report=seen.append))
    fits, best = [at.fits for at in seen], [at.best for at in seen if not np.isnan(at.best)]
    assert fits == sorted(fits) and best == sorted(best) and 0 < max(fits) <= chosen.result.n_fits
    assert max(best) <= max(c.mean_score for c in chosen.result.candidates) + 1e-12
    assert "best so far 0." in progress_line(seen[-1])
    SVMClassifier(C="cv", cv=2, verbose=1).fit(*IRIS)
    assert "converged" in capsys.readouterr().err


def candidate(method, C, *scores):
    from svmkit.tune.result import Candidate

    numbers = dict.fromkeys(("mean_accuracy", "std_accuracy", "fit_s", "n_iter", "kernel_values", "n_support"), 0.0)
    mean, std = float(np.mean(scores)), float(np.std(scores))
    about = {"params": {"C": C}, "solver": method.solver, "kernel": method.kernel, "C": C, "gamma": None}
    flags = {"n_rows": 150, "converged": True, "determined": True, "tol": None, "scores": scores}
    return Candidate(**about, **flags, mean_score=mean, std_score=std, **numbers)


def test_the_default_stays_unless_another_candidate_is_better_beyond_doubt():
    from svmkit.choice.zoom import Zoom

    method = resolve(Settings(solver="smo"))
    zoom = Zoom(method, ("C",), Ranges(TrainingData.prepare(*IRIS, method), 0))
    default = candidate(method, 1.0, 0.90, 0.92, 0.94)
    clear, doubtful = candidate(method, 10.0, 0.95, 0.96, 0.98), candidate(method, 5.0, 0.99, 0.90, 0.93)
    assert zoom.choose([clear, doubtful, default])[0] is clear
    assert zoom.choose([doubtful, default])[0] is default and len(zoom.choose([doubtful, default])) == 2
    assert zoom.choose([clear])[0] is clear  # the default was not tried in all folds


def test_a_larger_C_is_followed_as_long_as_it_brings_something():
    from svmkit.choice.zoom import Zoom

    method = resolve(Settings(solver="smo", kernel=RBF(0.5)))
    for gain, up in ((0.0015, True), (0.0005, False), (0.0, False)):  # a thousandth of the metric
        zoom = Zoom(method, ("C",), Ranges(TrainingData.prepare(*IRIS, method), 0))
        Cs = sorted({C for path in zoom.first_paths() for C in path.Cs})
        scores = [0.5 + 0.01 * k for k in range(len(Cs) - 1)]
        ranked = sorted(zip([*scores, scores[-1] + gain], Cs, strict=True), reverse=True)
        found = zoom.next_paths([candidate(method, C, score) for score, C in ranked])
        assert any(max(Cs) < C for path in found for C in path.Cs) == up


@pytest.mark.parametrize(
    ("task", "is_last", "ends"), [("classify", True, True), ("classify", False, False), ("regress", True, False)]
)
def test_a_first_round_hardly_better_than_the_default_ends_a_search_for_classes_on_all_rows(task, is_last, ends):
    from svmkit.choice.zoom import Zoom

    method = resolve(Settings(solver="smo", kernel=RBF(0.5)), task)
    for scores, is_hopeful in (((0.92, 0.90, 0.96), False), ((0.94, 0.93, 0.97), True)):
        zoom = Zoom(method, ("C",), Ranges(TrainingData.prepare(*IRIS, method), 0))
        Cs = sorted({C for path in zoom.first_paths(is_last=is_last) for C in path.Cs})
        best = Cs[2] if Cs[2] != 1.0 else Cs[1]
        others = [candidate(method, C, 0.5, 0.5, 0.5) for C in Cs if C not in (1.0, best)]
        found = zoom.next_paths([candidate(method, best, *scores), candidate(method, 1.0, 0.90, 0.92, 0.94), *others])
        assert bool(found) == (is_hopeful or not ends)


def test_fit_is_the_same_function_with_more_parameters():
    import inspect

    from svmkit.training.train import fit as plain

    own = inspect.signature(fit).parameters
    assert set(inspect.signature(plain).parameters) < set(own) and own["cv"].default == 5
    for name in own:
        assert fit.__doc__.count(f"\n{name} :") == 1 or f"\n{name}, " in fit.__doc__, name
    X, y = IRIS
    options = {"impute": "median", "scale": "standard", "class_weight": "balanced"}
    found = fit(X, y, kernel="rbf", C="cv", gamma="cv", cv=3, **options)
    assert found.chosen.result.best.params == found.model.about["search"]["params"] and found.gap <= 1e-3
    holes = X.copy()
    holes[::7, 1] = np.nan
    assert fit(holes, y, C="cv", impute="median", cv=3).chosen.result.best.mean_score > 0.9
    tall = fit(*DIABETES, task="regress", C="cv", gamma="cv", epsilon="cv", scale="standard", cv=3)
    assert set(tall.chosen.result.best.params) == {"C", "gamma", "epsilon"}
    with pytest.raises(TypeError, match="no_such"):
        fit(X, y, C="cv", no_such=1)
    with pytest.raises(InputError, match="epsilon='cv' is for quantities"):
        fit(X, y, epsilon="cv")
    with pytest.raises(InputError, match="groups are for a calibration, thresholds, relevance or parameters"):
        fit(X, y, groups=y)


def test_the_smallest_C_is_where_the_solution_changes():
    X, y = overlapping(80)
    method = resolve(Settings(kernel=RBF(0.5)))
    data = TrainingData.prepare(X, y, method)
    least = Ranges(data, 0).least_C(data.kernel)
    small, edge, large = (SVMClassifier(C=least * f, gamma=0.5, tol=1e-9).fit(X, y) for f in (0.2, 0.9, 4.0))
    counts = np.bincount((y == y.max()).astype(int))
    for model, factor in ((small, 0.2), (edge, 0.9)):  # all of the smaller class at C: w is a multiple of one function
        assert np.abs(model.dual_coef_).sum() == pytest.approx(2 * counts.min() * least * factor, rel=1e-3)
    assert np.abs(large.dual_coef_).sum() < 2 * counts.min() * least * 4.0 * 0.999


def test_the_smallest_C_of_several_classes_is_that_of_the_pair_that_changes_first():
    X, y = load_iris(return_X_y=True)
    data = TrainingData.prepare(X, y, resolve(Settings(kernel=RBF(0.5))))
    K, least = rbf_kernel(X, gamma=0.5), []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        s = K[y == a].mean(axis=0) - K[y == b].mean(axis=0)
        least.append(2.0 / (50 * (s[y == a].max() - s[y == b].min())))
    assert Ranges(data, 0).least_C(data.kernel) == pytest.approx(min(least))


def test_scales_of_the_data():
    X, y = DIABETES
    X = StandardScaler().fit_transform(X)
    method = resolve(Settings(), "regress")
    one, ten = (Ranges(TrainingData.prepare(X, t, method), 0) for t in (y, 10.0 * y))
    kernel = one.data.kernel
    assert ten.unit(kernel) == pytest.approx(10.0 * one.unit(kernel))
    assert ten.epsilon(kernel) == pytest.approx(10.0 * one.epsilon(kernel), rel=0.01)
    apart = ((X[:, None] - X[None]) ** 2).sum(-1)[np.triu_indices(150, 1)]
    assert any(g == pytest.approx(1 / (2 * np.median(apart)), rel=0.01) for g in one.gammas())
    assert kernel.gamma in one.gammas()  # that of gamma="scale"
    far = Ranges(TrainingData.prepare(X + 1e6, y, method), 0)
    np.testing.assert_allclose(far.gammas()[:1], one.gammas()[:1], rtol=1e-2)
    # C = 1 stands for the spread of the targets over the variance of the rows, wherever they lie
    moved = Ranges(TrainingData.prepare(X + 30.0, y, method), 0)
    for ranges in (one, moved):
        rows = ranges.data.X[ranges.rows]
        variance = rows.var(axis=0, ddof=1).sum()
        assert ranges.unit(Linear()) == pytest.approx(ranges.spread / variance, rel=1e-6)


def test_many_classes_are_trained_at_once_in_the_folds():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(16), 12)  # 120 class pairs
    X = rng.normal(size=(192, 3)) + 4.0 * np.stack([y % 4, y // 4, y % 2], axis=1)
    model = SVMClassifier(C="cv", gamma=0.1, cv=3, tol=1e-6).fit(X, y)
    plain = plain_search(model, X, y, StratifiedKFold(3, shuffle=True, random_state=0)).cv_results_
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], plain["mean_test_score"], atol=0.011)
    assert model.best_score_ > 0.8
