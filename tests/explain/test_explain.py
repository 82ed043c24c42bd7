"""Explanations of models: tasks, classes, tables, probabilities, and what is refused."""

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from support.coalitions import enumerate_coalitions

import svmkit
from svmkit import InputError, SVMClassifier, SVMModel, fit, load
from svmkit.data import Preprocessing
from svmkit.explain.subject import decide, has_vectors
from svmkit.kernels import RBF, Laplacian, Linear, Poly, Sigmoid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
TWO = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, [-0.4, 0.6])


def check(explanation, model, decide, rows, background, players=None):
    """The values are those of all coalitions of the model's own decisions, and they sum up."""
    owner = np.arange(background.shape[1]) if players is None else players

    def h(A):
        return decide(model, A).reshape(len(A), -1)

    right = np.array([enumerate_coalitions(h, row, background, owner) for row in rows])
    np.testing.assert_allclose(explanation.by_function, right, atol=1e-10 * max(1.0, np.abs(right).max()))
    assert explanation.residual <= 1e-10 * max(1.0, np.abs(explanation.decision).max())
    assert explanation.error == 0.0


def own(model, A):
    return model.decision_function(A)


KERNELS = RBF(0.4), Laplacian(0.3), Linear(), Poly(degree=3, gamma=0.5, coef0=1.0)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_two_classes(kernel):
    model = fit(X, TWO, kernel=kernel, scale="standard").model
    explanation = model.explain(X[:3], X[10:18])
    assert explanation.values.shape == (3, 4) and explanation.functions == ("yes",)
    check(explanation, model, own, X[:3], X[10:18])


@pytest.mark.parametrize("kernel", [RBF(0.4), Linear()], ids=lambda kernel: kernel.name)
def test_class_pairs_have_the_mean_margin_of_each_class(kernel):
    model = fit(X, THREE, kernel=kernel).model

    def margins(model, A):
        pairs = model.decision_function(A)
        sums = np.zeros((len(A), 3))
        for k, (a, b) in enumerate(itertools.combinations(range(3), 2)):
            sums[:, a] += pairs[:, k] / 2
            sums[:, b] -= pairs[:, k] / 2
        return sums

    explanation = model.explain(X[:2], X[10:15])
    assert explanation.values.shape == (2, 4, 3) and explanation.functions == ("0", "1", "2")
    check(explanation, model, margins, X[:2], X[10:15])


@pytest.mark.parametrize("multiclass", ["ovr", "crammer_singer"])
def test_classes_against_the_rest(multiclass):
    kernel = Linear() if multiclass == "crammer_singer" else RBF(0.4)
    model = fit(X, THREE, kernel=kernel, multiclass=multiclass).model
    check(model.explain(X[:2], X[10:15]), model, own, X[:2], X[10:15])


def test_quantities_levels_labels_and_outliers():
    y = X[:, 0] ** 2 + X[:, 1]
    for model in (
        fit(X, y, task="regress", C=10.0).model,
        fit(X, np.stack([y, -y], axis=1), task="regress").model,
        fit(X, np.stack([y > 0, X[:, 2] > 0], axis=1).astype(int), task="multilabel").model,
        svmkit.SVMOneClass(nu=0.2).fit(X).model_,
    ):
        check(model.explain(X[:2], X[10:15]), model, own, X[:2], X[10:15])


def test_the_features_of_a_column_are_one_player(tmp_path):
    rows = [f"{x:.3f},{colour},2024-0{month}-11,{label}" for x, colour, month, label in zip(
        X[:, 0], np.array(["red", "green", "blue"])[THREE], 1 + np.arange(60) % 9, TWO, strict=True)]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["size,colour,day,label", *rows]))
    data = load(tmp_path / "t.csv")
    model = fit(data.X, data.y, scale="standard").model
    model = SVMModel(**vars(model) | {"preprocessing": Preprocessing(data.encoding, None, model.scaling)})
    explanation = model.explain(data.X[:3], data.X[10:16])
    assert explanation.names == ("size", "colour", "day")
    check(explanation, model, own, data.X[:3], data.X[10:16], np.array([0, 1, 1, 1, 2]))
    assert explanation.cells()[0].tolist() == [
        float(f"{X[0, 0]:.3f}"),
        ["red", "green", "blue"][THREE[0]],
        "2024-01-11",
    ]


@pytest.mark.parametrize("impute", ["median", "indicator"])
def test_holes_belong_to_their_column(impute):
    holed = X.copy()
    holed[::5, 1] = holed[::7, 2] = np.nan
    model = fit(holed, TWO, impute=impute, scale="standard").model
    explanation = model.explain(holed[:3], holed[5:12])
    assert explanation.values.shape == (3, 4)
    check(explanation, model, own, holed[:3], holed[5:12])
    assert explanation.cells()[0, 1] is None


def test_given_players():
    model = fit(X, TWO).model
    explanation = model.explain(X[:2], X[10:15], players={"place": [1, 3]})
    assert explanation.names == ("column 1", "place", "column 3")
    check(explanation, model, own, X[:2], X[10:15], np.array([0, 1, 2, 1]))


def test_probabilities_have_a_slope():
    model = fit(X, TWO, calibration="sigmoid").model
    explanation, step = model.explain(X[:5]), 1e-6
    np.testing.assert_allclose(explanation.probability, model.predict_proba(X[:5])[:, 1], atol=1e-11)
    h = explanation.decision
    up, down = (model.calibration.probabilities(h + side * step)[:, 0] for side in (1.0, -1.0))
    np.testing.assert_allclose(explanation.slope, (up - down) / (2 * step), atol=1e-6)
    assert model.explain(X[:5]).slope.min() > 0.0
    assert fit(X, TWO).model.explain(X[:5]).slope is None


def test_slopes_of_isotonic_calibrations():
    from svmkit.model.calibration import Isotonic

    curve = Isotonic(np.array([-1.0, 0.0, 2.0]), np.array([0.1, 0.3, 0.9]), np.array([3]))
    slopes = curve.slopes(np.array([[-2.0], [-0.5], [1.0], [3.0]]))
    np.testing.assert_allclose(slopes.ravel(), [0.0, 0.2, 0.3, 0.0])


def test_sparse_rows():
    A = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    model = fit(A, TWO).model
    dense = A.toarray()
    check(
        model.explain(A[:2], A[10:15]),
        model,
        lambda m, B: m.decision_function(sp.csr_array(B)),
        dense[:2],
        dense[10:15],
    )
    np.testing.assert_allclose(
        model.explain(dense[:2], dense[10:15]).values, model.explain(A[:2], A[10:15]).values, atol=1e-13
    )


def test_single_precision():
    A = X.astype(np.float32)
    model = fit(A, TWO, scale="standard").model
    explanation = model.explain(A[:3], A[10:16])
    assert explanation.values.dtype == np.float64 and explanation.residual < 1e-5
    np.testing.assert_allclose(
        explanation.values, fit(X, TWO, scale="standard").model.explain(X[:3], X[10:16]).values, atol=1e-2
    )


def test_columns_of_a_frame_name_the_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    explanation = fit(frame, TWO).model.explain(frame[:2], frame)
    assert explanation.names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(explanation.values, fit(X, TWO).model.explain(X[:2], X).values)


def test_the_background_is_drawn_by_its_seed():
    model = fit(X, TWO).model
    drawn = model.explain(X[:2], X, n_background=10, seed=3)
    assert drawn.background.shape == (10, 4)
    np.testing.assert_array_equal(drawn.values, model.explain(X[:2], X, n_background=10, seed=3).values)
    assert model.explain(X[:2], X, n_background=None).background.shape == (60, 4)


def test_one_row_is_a_baseline():
    model = fit(X, TWO).model
    explanation = model.explain(X[:2], X[5:6])
    check(explanation, model, own, X[:2], X[5:6])
    assert not model.explain(X[5:6]).values.any()


def test_files_have_the_same_explanation(tmp_path):
    model = fit(X, THREE, scale="standard").model
    model.save(tmp_path / "m.svmkit")
    again = SVMModel.load(tmp_path / "m.svmkit").explain(X[:3], X)
    np.testing.assert_array_equal(again.values, model.explain(X[:3], X).values)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.explain(X[:, :3]), r"3 features, but .* expecting 4"),
        (lambda m: m.explain(X, X[:, :3]), r"3 features, but .* expecting 4"),
        (lambda m: m.explain(np.full((1, 4), np.nan)), r"X contains NaN at row 1"),
        (lambda m: m.explain(X, nodes=0), r"nodes must be at least 1"),
        (lambda m: m.explain(X, n_background=0), r"n_background must be at least 1"),
        (lambda m: m.explain(X, players={"a": [9]}), r"no column 9: .* from 0 to 3"),
        (lambda m: m.explain(X, players={"a": [0], "b": [0]}), r"column 0 is given to two players"),
        (lambda m: m.explain(X, players={"a": "column 1"}), r"'a' needs a list"),
        (lambda m: m.explain(X, players={"a": ["colum 1"]}), r"no column is called 'colum 1' \(did you mean column 1"),
        (lambda m: m.explain(X, players={"column 2": [0]}), r"another name"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message) as error:
        call(fit(X, TWO).model)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("kernel", [Sigmoid(gamma=0.1), Poly(degree=18, gamma=0.1, coef0=1.0)], ids=["sigmoid", "poly"])
def test_other_kernels_are_sampled_within_their_standard_errors(kernel, labels):
    """With two players both orders are walked, and nothing is left to chance; with four the errors tell how much is."""
    model = fit(X, labels, kernel=kernel).model
    few, many = (model.explain(X[:6], X[:15], rounds=rounds) for rounds in (2, 32))
    decisions = partial(decide, model)
    right = np.array([enumerate_coalitions(decisions, row, X[:15], np.arange(4)) for row in X[:6]])
    for found in (few, many):
        assert found.residual < 1e-12 * max(1.0, np.abs(found.decision).max()) and found.nodes == 0
        assert found.standard_error.shape == found.values.shape and found.error == found.standard_error.max()
    shares = (many.by_function - right) / many.standard_error.reshape(right.shape)
    assert np.abs(shares).max() < 5.0 and 0.5 < np.sqrt(np.square(shares).mean()) < 1.6
    assert many.error < 0.5 * few.error
    joined = model.explain(X[:6], X[:15], players={"a": [0, 1], "b": [2, 3]})
    right = np.array([enumerate_coalitions(decisions, row, X[:15], np.array([0, 0, 1, 1])) for row in X[:6]])
    np.testing.assert_allclose(joined.by_function, right, atol=1e-10 * np.abs(right).max())
    assert joined.error < 1e-12 * np.abs(right).max()


def test_sampled_values_of_holes_and_sparse_rows():
    holes = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    model = fit(holes, TWO, kernel=Sigmoid(gamma=0.1), impute="median").model
    assert model.explain(holes[:5], holes[:20]).residual < 1e-10
    sparse = sp.csr_array(np.where(RNG.random(X.shape) < 0.5, 0.0, X))
    model = fit(sparse, TWO, kernel=Sigmoid(gamma=0.1)).model
    found = model.explain(sparse[:5], sparse[:20])
    assert found.residual < 1e-10 and (found.values != 0.0).any()
    with pytest.raises(InputError, match="rounds must be at least 2, not 1"):
        model.explain(sparse[:5], rounds=1)


def test_a_precomputed_kernel_has_no_columns():
    with pytest.raises(InputError, match=r"precomputed kernel sees kernel values and no columns"):
        fit(X @ X.T, TWO, kernel="precomputed").model.explain(X @ X.T)


def test_shap_takes_them():
    shap = pytest.importorskip("shap")
    model = fit(X, THREE).model
    explanation = model.explain(X[:3], X)
    given = explanation.to_shap()
    assert isinstance(given, shap.Explanation) and given.values.shape == (3, 4, 3)


def test_a_missing_shap_is_one_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "shap", None)
    with pytest.raises(InputError, match="pip install shap"):
        fit(X, TWO).model.explain(X[:2]).to_shap()


def test_a_model_without_vectors_has_nothing_to_say():
    explanation = fit(X, X[:, 0], task="regress", epsilon=99.0).model.explain(X[:2], X)
    assert not explanation.values.any() and explanation.vectors(0) == []


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize(("solver", "expected"), [("dcd", False), ("smo", True)])
def test_weights_of_class_pairs_are_no_training_rows(solver, expected, n_classes):
    """Five classes have ten pairs, more than there are functions that speak for a class."""
    model = SVMClassifier(solver, kernel="linear", multiclass="ovo").fit(X, np.arange(60) % n_classes).model_
    assert has_vectors(model) is expected
