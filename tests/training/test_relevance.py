"""Learnt relevance: gains where columns differ, nothing where they do not; kept with the model, and certified."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_friedman1

from svmkit import SVMClassifier, SVMModel, SVMOneClass, SVMRegressor, c_path, fit
from svmkit.data import Scaling, load
from svmkit.errors import InputError
from svmkit.kernels import RBF
from svmkit.runtime import interrupt
from svmkit.training import Checkpoint, relevance
from svmkit.training.relevance import choose

FACTS = {"round", "scores", "folds", "metric", "seconds"}


def friedman(n=300, n_test=300, d=10, seed=0):
    """X, y, then those of the test; only the first five columns count."""
    X, y = make_friedman1(n + n_test, d, noise=1.0, random_state=seed)
    y = (y - y.mean()) / y.std()
    return X[:n], y[:n], X[n:], y[n:]


def noisy_moons(n=300, n_noise=12, seed=0):
    """Two classes by the first two columns; the others are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2 + n_noise))
    return X, (np.square(X[:, :2]).sum(axis=1) > 1.4).astype(int)


def regressor(**options):
    return SVMRegressor(**{"C": 10.0, "relevance": "learned"} | options)


def test_columns_that_count_get_the_weight_and_the_model_gains():
    X, y, X_test, y_test = friedman()
    plain, learned = regressor(relevance=None, scale="standard").fit(X, y), regressor().fit(X, y)
    assert learned.score(X_test, y_test) > plain.score(X_test, y_test) + 0.03
    weights = learned.relevance_
    assert weights.max() == 1.0 and weights[:5].min() > 1.5 * weights[5:].max()
    facts = learned.model_.about["relevance"]
    assert set(facts) == FACTS and facts["round"] > 0 and len(facts["scores"]) == 4
    assert facts["scores"][facts["round"]] > facts["scores"][0]


def test_the_certificate_is_that_of_the_problem_with_the_weights():
    X, y, *_ = friedman()
    learned = regressor().fit(X, y)
    scaling, gamma = learned.model_.scaling, learned.model_.kernel.gamma
    assert gamma == pytest.approx(0.1)  # that of gamma="scale" on standard scaled columns
    again = fit(scaling.apply(X), y, task="regress", kernel=RBF(gamma), C=10.0)
    assert learned.gap_ <= 1e-3
    assert again.objective == pytest.approx(learned.certificate_[0].primal, rel=1e-3)
    assert learned.bound_ <= again.objective


def test_the_mean_squared_distance_stays():
    X, y, *_ = friedman()
    learned = regressor().fit(X, y)
    assert learned.model_.scaling.apply(X).var(axis=0).sum() == pytest.approx(10.0, rel=1e-9)


def test_saved_and_loaded_models_predict_the_same(tmp_path):
    X, y, X_test, _ = friedman(n=150, n_test=50)
    learned = regressor().fit(X, y)
    assert learned.model_.about["relevance"]["round"] > 0
    learned.model_.save(tmp_path / "m.model")
    model = SVMModel.load(tmp_path / "m.model")
    assert np.array_equal(model.predict(X_test), learned.predict(X_test))
    assert np.array_equal(model.relevance, learned.relevance_)
    assert np.array_equal(
        model.widened(11).relevance[:10] * model.widened(11).scaling.weights.max(), model.scaling.weights
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnx_predicts_the_same(dtype, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime (extra `test`)")
    from svmkit.model.onnx import export

    X, y, X_test, _ = friedman(n=150, n_test=50)
    learned = regressor().fit(X, y)
    export.write(learned.model_, tmp_path / "m.onnx", dtype)
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    (values,) = session.run(["value"], {"X": X_test.astype(dtype)})
    expected = learned.predict(X_test.astype(dtype).astype(np.float64))
    assert np.abs(values.ravel() - expected).max() < (1e-9 if dtype == "float64" else 1e-4)


def test_where_it_does_not_help_the_model_is_that_without():
    wine = load("wine")
    plain = SVMClassifier(scale="standard").fit(wine.X, wine.y)
    learned = SVMClassifier(relevance="learned").fit(wine.X, wine.y)
    assert learned.model_.about["relevance"]["round"] == 0 and learned.model_.relevance is None
    assert (learned.relevance_ == 1.0).all()
    assert np.array_equal(learned.decision_function(wine.X), plain.decision_function(wine.X))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_noise_columns_lose_their_weight_in_classification(storage):
    X, y = noisy_moons()
    X_test, y_test = noisy_moons(seed=1)
    plain = SVMClassifier(C=10.0, scale="standard").fit(storage(X), y)
    learned = SVMClassifier(C=10.0, relevance="learned").fit(storage(X), y)
    assert learned.score(storage(X_test), y_test) > plain.score(storage(X_test), y_test) + 0.05
    assert learned.relevance_[:2].min() > 2.0 * learned.relevance_[2:].max()
    assert learned.model_.scaling.kind == ("standard" if storage is np.asarray else "maxabs")


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian", "sigmoid"])
def test_other_kernels_are_never_worse_in_the_folds(kernel):
    X, y = noisy_moons(n=120, n_noise=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sigmoid is not certified
        facts = SVMClassifier(kernel=kernel, relevance="learned").fit(X, y).model_.about["relevance"]
    assert facts["scores"][facts["round"]] >= facts["scores"][0]


def test_classes_weights_holes_and_a_calibration_go_with_it():
    X, y = noisy_moons()
    y[X[:, 0] > 1.0] = 2
    X[::17, 1], X[:, 5] = np.nan, 3.0  # holes, and a constant column
    options = {"impute": "indicator", "class_weight": "balanced", "calibration": "sigmoid"}
    fitted = fit(X, y, kernel=RBF("scale"), C=10.0, relevance="learned", **options)
    model = fitted.model
    assert model.about["relevance"]["round"] > 0 and model.about["relevance"]["metric"] == "balanced_accuracy"
    assert model.relevance.shape == (15,) and model.relevance[5] < 1e-3
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0) and fitted.gap <= 1e-3


def test_of_many_samples_a_part_is_learnt_from(monkeypatch):
    monkeypatch.setattr(relevance, "MOST", 150)
    sizes, compute = [], relevance.square_gradients
    monkeypatch.setattr(relevance, "square_gradients", lambda k, X, *args: sizes.append(len(X)) or compute(k, X, *args))
    X, y = noisy_moons(n=1200)
    y[:12] = 2  # rare, and not lost in the sample
    weights = np.where(np.arange(1200) % 5 == 4, 0.0, 1.0)
    fitted = fit(X, y, kernel=RBF("scale"), C=10.0, relevance="learned", sample_weight=weights)
    assert fitted.model.about["relevance"]["round"] > 0 and max(sizes) < 200
    assert fitted.model.about["n_samples"] == 1200 and fitted.support.max() > 1000
    assert np.sort(np.argsort(fitted.model.relevance)[-2:]).tolist() == [0, 1]


@pytest.mark.parametrize("machine", [SVMRegressor, SVMClassifier])
def test_the_folds_keep_groups_together(machine, monkeypatch):
    """Rows that stand three times are in one fold, however many are drawn."""
    folds, draw = [], relevance.draw_folds
    monkeypatch.setattr(relevance, "draw_folds", lambda data, rng: folds.append(draw(data, rng)) or folds[-1])
    X, y = noisy_moons(100, 2)
    X, y, groups = np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(100), 3)
    machine(relevance="learned").fit(X, y, groups=groups)
    monkeypatch.setattr(relevance, "MOST", 90)
    machine(relevance="learned").fit(X, y, groups=groups)
    for fold, n in zip(folds, (300, 90), strict=True):
        each = fold.reshape(100, 3)
        assert (each == each[:, :1]).all() and set(fold[fold >= 0]) == {0, 1, 2} and np.count_nonzero(fold >= 0) == n


def test_too_few_groups_are_refused_in_a_line():
    X, y = noisy_moons(60, 2)
    with pytest.raises(InputError, match="3 folds of whole groups, but there are 2 groups"):
        SVMClassifier(relevance="learned").fit(X, y, groups=np.arange(60) % 2)
    with pytest.raises(InputError, match="for a calibration, thresholds, relevance or parameters"):
        SVMClassifier().fit(X, y, groups=np.arange(60) % 2)
    with pytest.raises(InputError, match="for a calibration, thresholds, relevance or parameters"):
        fit(X, y, groups=np.arange(60) % 2)


def test_a_trivial_model_keeps_round_0():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.linspace(0.0, 0.1, 30)  # within the tube: no vectors, and no gradients
    learned = SVMRegressor(epsilon=1.0, relevance="learned").fit(X, y)
    assert learned.model_.about["relevance"]["round"] == 0 and (learned.relevance_ == 1.0).all()


def test_a_checkpoint_keeps_the_weights(tmp_path, monkeypatch):
    X, y, *_ = friedman(n=150)
    options = {"task": "regress", "kernel": RBF("scale"), "C": 10.0, "relevance": "learned"}
    first = fit(X, y, **options, checkpoint=Checkpoint(tmp_path / "c", every=0.0))
    monkeypatch.setattr(relevance, "Learner", None)  # resuming must not learn again
    again = fit(X, y, **options, checkpoint=Checkpoint(tmp_path / "c", resume=True))
    assert np.array_equal(again.model.relevance, first.model.relevance)
    assert again.model.about["relevance"]["scores"] == first.model.about["relevance"]["scores"]


@pytest.mark.parametrize("weights", ["none", [1.0], [0.0] * 10, [[1.0]] * 10, [float("nan")] * 10])
def test_a_checkpoint_of_other_columns_is_refused(weights, tmp_path):
    X, y, *_ = friedman(n=60)
    checkpoint = Checkpoint(tmp_path / "c")
    checkpoint.notes["relevance"] = {"weights": weights, "round": 1}
    with pytest.raises(InputError, match="weights of other columns, or is damaged"):
        fit(X, y, task="regress", kernel=RBF("scale"), relevance="learned", checkpoint=checkpoint)


def test_a_fold_without_the_only_hole_keeps_the_columns_of_all():
    X, y = noisy_moons()
    X[0, 7] = np.nan  # a fold of the calibration without this row has no column for holes
    options = {"impute": "indicator", "calibration": "sigmoid", "relevance": "learned"}
    model = fit(X, y, kernel=RBF("scale"), C=10.0, **options).model
    assert model.about["relevance"]["round"] > 0 and model.relevance.shape == (15,)
    assert model.about["calibration"]["folds"] == 5


def test_a_limit_in_seconds_ends_the_rounds():
    X, y, *_ = friedman(n=150)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = regressor(time_limit=1e-3).fit(X, y)
    assert learned.model_.about["relevance"] | {"seconds": 0.0} == {
        "round": 0, "scores": [], "folds": 3, "metric": "r2", "seconds": 0.0,
    }  # fmt: skip
    assert np.isfinite(learned.predict(X)).all()


@pytest.mark.parametrize("nested", [False, True])
def test_ctrl_c_keeps_the_best_round_so_far(nested, monkeypatch):
    X, y, *_ = friedman(n=150)
    rounds, compute = [], relevance.square_gradients

    def press(*args):
        rounds.append(1)
        if len(rounds) == 8:  # in the third round
            interrupt._flag.raised = True
        return compute(*args)

    monkeypatch.setattr(relevance, "square_gradients", press)
    with interrupt.catching() if nested else nullcontext():  # as in a command
        fitted = fit(X, y, task="regress", kernel=RBF("scale"), C=10.0, relevance="learned")
    assert len(fitted.model.about["relevance"]["scores"]) == 2 and str(fitted.status) == "interrupted"
    assert fitted.gap is not None and fitted.gap <= 1e-3  # the model itself is whole


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([[0.5, 0.6, 0.7], [0.5, 0.6, 0.7]], 0),  # ties
        ([[0.5, 0.6, 0.7], [0.52, 0.58, 0.71]], 0),  # within a standard error
        ([[0.5, 0.6, 0.7], [0.6, 0.7, 0.81]], 1),
        ([[0.5, 0.6, 0.7], [0.6, 0.7, 0.8], [0.61, 0.70, 0.80]], 1),  # the first that is as good
        ([[0.5, 0.6, 0.7], [0.6, 0.7, 0.8], [0.7, 0.8, 0.9]], 2),
        ([[0.5, 0.6, 0.7], [-np.inf, 0.9, 0.9], [0.7, 0.8, 0.9]], 2),
        ([[np.nan, 0.6, 0.7], [0.6, 0.7, 0.8]], 0),
        (np.empty((0, 3)), 0),
    ],
)
def test_the_choice_of_a_round(scores, chosen):
    assert choose(np.array(scores)) == chosen


def test_what_cannot_be_done_is_refused_in_a_line():
    X, y = noisy_moons(n=40)
    for match, work in [
        ("there are: learned", lambda: SVMClassifier(relevance="full").fit(X, y)),
        ("not precomputed", lambda: SVMClassifier(kernel="precomputed", relevance="learned").fit(X @ X.T, y)),
        ("gradient of a kernel", lambda: SVMClassifier(kernel=lambda A, B: A @ B.T, relevance="learned").fit(X, y)),
        ("a stream", lambda: SVMClassifier("sgd", relevance="learned").partial_fit(X, y, classes=[0, 1])),
        ("for classes and quantities", lambda: fit(X, None, kernel=RBF(), task="outliers", relevance="learned")),
        ("leave relevance out", lambda: c_path(X, y, [1.0, 2.0], kernel=RBF(), relevance="learned")),
        ("class 1 has 2", lambda: SVMClassifier(relevance="learned").fit(X[:9], [0] * 7 + [1] * 2)),
    ]:
        with pytest.raises(InputError, match=match) as caught:
            work()
        assert "\n" not in str(caught.value)
    assert not hasattr(SVMOneClass(), "relevance")


def test_relevance_is_no_attribute_of_other_models():
    X, y = noisy_moons(n=40)
    for machine in (SVMClassifier(relevance="learned"), SVMClassifier().fit(X, y)):
        with pytest.raises(AttributeError, match="no relevance_"):
            _ = machine.relevance_


def test_a_scaling_with_weights_survives_its_arrays():
    scaling = Scaling.fit("standard", np.array([[1.0, 2.0], [3.0, 6.0]])).weigh(np.array([2.0, 0.5]))
    again = Scaling.from_arrays("standard", scaling.to_arrays())
    assert (
        scaling.apply(np.array([[3.0, 6.0]])).tolist() == again.apply(np.array([[3.0, 6.0]])).tolist() == [[2.0, 0.5]]
    )
    assert again.weights is not None and again.weigh(again.weights).weights.tolist() == [4.0, 0.25]
    for bad in (np.array([2.0]), np.array([2.0, 0.0]), np.array([2.0, np.nan])):
        with pytest.raises(InputError, match="damaged"):
            Scaling.from_arrays("standard", scaling.to_arrays() | {"weights": bad})
