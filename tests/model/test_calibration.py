"""Calibrations: chances, coupling, the model file, and what a damaged file is told."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from support.model import IRIS, NAMES, binary, trained

from svmkit.errors import InputError
from svmkit.model import file
from svmkit.model.calibration import Isotonic, Sigmoid, require_kind
from svmkit.model.machines import couple, normalise, round_probabilities
from svmkit.model.model import SVMModel


def fixed_point(r):
    """The probabilities of LIBSVM's iteration (Wu, Lin, Weng 2004, algorithm 2) for r (k, k), run to 1e-14."""
    k = len(r)
    Q = -r * r.T
    np.fill_diagonal(Q, (r * r).sum(axis=0) - np.diag(r) ** 2)
    p = np.full(k, 1.0 / k)
    for _ in range(100_000):
        image = Q @ p
        if np.abs(image - p @ image).max() < 1e-14:
            break
        for t in range(k):
            image = Q @ p
            p[t] += (p @ image - image[t]) / Q[t, t]
            p /= p.sum()
    return p


@pytest.mark.parametrize("k", [3, 4, 7])
@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_coupling_is_the_fixed_point_of_libsvms_iteration(k, spread):
    rng = np.random.default_rng(k)
    chances = 1.0 / (1.0 + np.exp(-spread * rng.normal(size=(10, k * (k - 1) // 2))))
    found = couple(chances, k)
    for row, p in zip(chances, found, strict=True):
        r = np.zeros((k, k))
        r[np.triu_indices(k, 1)] = row
        r.T[np.triu_indices(k, 1)] = 1.0 - row
        np.testing.assert_allclose(p, fixed_point(r), atol=1e-11)


def test_coupling_returns_the_probabilities_that_chances_come_from():
    p = np.random.default_rng(0).dirichlet(np.ones(6), 20)
    a, b = np.triu_indices(6, 1)
    np.testing.assert_allclose(couple(p[:, a] / (p[:, a] + p[:, b]), 6), p, atol=1e-12)


def test_chances_of_0_and_1_have_probabilities():
    chances = np.random.default_rng(0).integers(0, 2, (200, 10)).astype(float)
    found = couple(chances, 5)
    assert found.min() >= 0.0 and np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    certain = np.ones((1, 10))  # each class beats all later ones
    np.testing.assert_allclose(couple(certain, 5), [[1.0, 0, 0, 0, 0]], atol=1e-12)


def test_each_class_against_the_rest_is_normalised():
    with np.errstate(divide="ignore"):
        logs = np.log([[0.2, 0.2, 0.4], [0.0, 0.0, 0.0], [0.0, 0.2, 0.6]])
    np.testing.assert_allclose(np.exp(normalise(logs)), [[0.25, 0.25, 0.5], [1 / 3] * 3, [0.0, 0.25, 0.75]])
    far = normalise(np.array([[-900.0, -901.0, -2000.0]]))
    np.testing.assert_allclose(far, [[-0.313262, -1.313262, -1100.313262]], atol=1e-6)


def test_small_probabilities_keep_their_digits():
    for p in ([1.0, 1e-20, 1e-30, 3e-12], [0.6, 0.4, 1e-25, 1e-26], [1.0, 1e-40, 1e-15, 1e-15]):
        a, b = np.triu_indices(4, 1)
        p = np.array(p)
        found = couple((p[a] / (p[a] + p[b]))[None, :], 4, (p[b] / (p[a] + p[b]))[None, :])[0]
        np.testing.assert_allclose(found, p, rtol=1e-5)


@pytest.mark.parametrize("rows", [2, 3])
def test_logarithms_are_those_of_the_sigmoid_far_out(rows):
    """-log(1 + exp(|t|)) where the probability itself is 0 in float64."""
    X, y = binary() if rows == 2 else (IRIS[0], NAMES[IRIS[1]])
    model = trained(X, y, calibration="sigmoid", **({"multiclass": "ovr"} if rows == 3 else {}))
    steep = replace(model, calibration=Sigmoid(1e4 * model.calibration.A, model.calibration.B))
    found = steep.predict_log_proba(X)
    odds = steep.calibration.log_odds(steep.decision_function(X).reshape(len(X), -1))
    exact = -np.logaddexp(0.0, np.concatenate([odds, -odds], axis=1)) if rows == 2 else -np.logaddexp(0.0, -odds)
    exact -= np.logaddexp.reduce(exact, axis=1)[:, None]
    assert np.isfinite(found).all() and found.min() < -1000.0
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(steep.predict_proba(X).sum(axis=1), 1.0, atol=1e-12)


def test_what_rounding_errors_tell_apart_is_a_tie():
    """Otherwise the order of the classes would depend on the machine, and be lost in logarithms."""
    rng = np.random.default_rng(0)
    ahead = rng.uniform(0.0, 1.0, 20_000)
    chances = np.stack([np.full(20_000, 0.5), ahead, ahead], axis=1)  # the first two classes are alike
    p = round_probabilities(couple(chances, 3))
    assert (p[:, 0] == p[:, 1]).mean() > 0.99
    np.testing.assert_array_equal(p[:, 0] < p[:, 1], np.log(p[:, 0]) < np.log(p[:, 1]))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)


def test_a_sigmoid_overflows_nowhere():
    calibration = Sigmoid(np.array([-1e300]), np.array([1e300]))
    found = calibration.probabilities(np.array([[-1e300], [0.0], [1e300]]))
    assert found[:, 0].tolist() == [0.0, 0.0, 1.0]


def test_knots_are_joined_by_lines_and_continued_by_constants():
    calibration = Isotonic(np.array([0.0, 1.0, 5.0]), np.array([0.25, 0.75, 0.5]), np.array([2, 3]))
    found = calibration.probabilities(np.array([[-9.0, -9.0], [0.5, 0.0], [9.0, 9.0]]))
    assert found.tolist() == [[0.25, 0.5], [0.5, 0.5], [0.75, 0.5]]
    assert calibration.probabilities(np.array([[0.0]]), np.array([1])).tolist() == [[0.5]]


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_file_keeps_the_calibration(kind, classes, tmp_path):
    X, y = binary() if classes == 2 else (IRIS[0], NAMES[IRIS[1]])
    model = trained(X, y, calibration=kind)
    model.save(tmp_path / "m.svmkit")
    back = SVMModel.load(tmp_path / "m.svmkit")
    told = {"kind": kind, "folds": 5, "weights": "samples"}
    assert back.calibration.kind == kind and back.about["calibration"] == told
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(back.predict(X), model.classes[model.predict_proba(X).argmax(axis=1)])
    with safe_open(tmp_path / "m.svmkit", framework="numpy") as opened:
        assert json.loads(opened.metadata()["svmkit"])["version"] == 2  # an earlier svmkit predicts other labels


OLD = {"kind": "sigmoid", "folds": 5}  # as models said before calibrations left class weights out


@pytest.mark.parametrize(
    ("about", "line"),
    [
        ({"calibration": OLD, "params": {"class_weight": "balanced"}}, "not those of the data; train it again"),
        ({"calibration": OLD}, "if it was trained with class_weight"),
        ({"calibration": OLD, "params": {"C": 1.0}}, None),
        ({"calibration": OLD | {"weights": "samples"}, "params": {"class_weight": "balanced"}}, None),
        ({"params": {"class_weight": "balanced"}}, None),  # of another program
    ],
)
def test_one_line_about_a_calibration_that_counted_class_weights(about, line, tmp_path):
    X, y = binary()
    replace(trained(X, y, calibration="sigmoid"), about=about).save(tmp_path / "m.svmkit")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SVMModel.load(tmp_path / "m.svmkit")
    said = [str(warning.message) for warning in caught]
    assert len(said) == (line is not None)
    assert line is None or (line in said[0] and "m.svmkit" in said[0] and "\n" not in said[0])


def test_the_final_model_is_that_of_plain_training():
    X, y = binary()
    plain, with_calibration = trained(X, y), trained(X, y, calibration="sigmoid")
    np.testing.assert_array_equal(plain.coef, with_calibration.coef)
    np.testing.assert_array_equal(plain.decision_function(X), with_calibration.decision_function(X))
    assert plain.calibration is None
    of_quantities = trained(X, X[:, 0], task="regress")
    with pytest.raises(InputError, match="regression has no probabilities: ask for predictions"):
        of_quantities.predict_proba(X)
    with pytest.raises(InputError, match="no probabilities: train it with a calibration"):
        plain.predict_proba(X)


DAMAGE = {
    "another kind": lambda header, arrays: header.update(calibration="beta"),
    "no text": lambda header, arrays: header.update(calibration=["sigmoid"]),
    "no arrays": lambda header, arrays: arrays.pop("calibration.ends"),
    "of another kind": lambda header, arrays: header.update(calibration="sigmoid"),
    "of an outlier model": lambda header, arrays: header.update(task="outliers"),
    "text": lambda header, arrays: arrays.update({"calibration.shares": np.zeros(3, np.float32)}),
    "not in order": lambda header, arrays: arrays["calibration.decisions"].sort() or _reverse(arrays, "decisions"),
    "falling": lambda header, arrays: _reverse(arrays, "shares"),
    "too many columns": lambda header, arrays: arrays.update({"calibration.ends": np.array([1, 2])}),
    "ends beyond": lambda header, arrays: arrays.update({"calibration.ends": np.array([10**6])}),
    "no ends": lambda header, arrays: arrays.update({"calibration.ends": np.zeros(0, np.int64)}),
    "chances above 1": lambda header, arrays: arrays["calibration.shares"].__iadd__(1.0),
    "not finite": lambda header, arrays: arrays["calibration.decisions"].__setitem__(0, -np.inf),
}


def _reverse(arrays, name):
    arrays[f"calibration.{name}"] = arrays[f"calibration.{name}"][::-1].copy()


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_calibration_is_refused_in_one_line(damage, tmp_path):
    X, y = binary()
    trained(X, y, calibration="isotonic").save(tmp_path / "m.svmkit")
    arrays, header = file.read(tmp_path / "m.svmkit", "model")
    damage(header, arrays)
    file.write(tmp_path / "m.svmkit", arrays, header, "model")
    with pytest.raises(InputError, match="damaged model file") as caught:
        SVMModel.load(tmp_path / "m.svmkit")
    assert "\n" not in str(caught.value)


def test_a_sigmoid_that_is_none_is_refused():
    for A, B in [([0.0], [np.nan]), ([0.0, 1.0], [0.0]), ([[0.0]], [[0.0]])]:
        assert Sigmoid(np.array(A), np.array(B)).flaw()
    assert Sigmoid(np.zeros(1), np.zeros(1)).flaw() is None


def test_a_pair_that_was_not_trained_says_nothing():
    X, y = IRIS
    model = trained(X, y, calibration="sigmoid")
    coef, intercept = model.coef.copy(), model.intercept.copy()
    ends = np.cumsum(model.n_support)
    coef[0, : ends[0]] = 0.0  # class 0 against class 1
    coef[0, ends[0] : ends[1]], intercept[0] = 0.0, 0.0
    lacking = replace(model, coef=coef, intercept=intercept)
    assert lacking.trained_pairs.tolist() == [1, 2]
    chances = model.calibration.probabilities(model.decision_function(X))
    chances[:, 0] = 0.5
    np.testing.assert_allclose(lacking.predict_proba(X), couple(chances, 3), atol=1e-12)


def test_kinds_by_name():
    assert require_kind("sigmoid") == "sigmoid"
    for wrong in ("platt", None, 3):
        with pytest.raises(InputError, match="give sigmoid or isotonic"):
            require_kind(wrong)
