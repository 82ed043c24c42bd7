"""The nearest change that gives a row another label: certified, within ranges, and near to what brute force finds."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import svmkit
from svmkit import InputError, fit, load
from svmkit.data import Preprocessing
from svmkit.kernels import RBF, Laplacian, Linear, Poly

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2)) * [1.0, 20.0] + [3.0, 50.0]
ROUND = np.where(((X - [3.0, 50.0]) ** 2 @ [1.0, 1 / 400]) > 1.5, "out", "in")


@pytest.mark.parametrize(
    "kernel", [RBF(0.5), Laplacian(0.5), Poly(degree=2, coef0=1.0)], ids=lambda kernel: kernel.name
)
def test_no_point_of_a_grid_is_much_nearer(kernel):
    model = fit(X, ROUND, kernel=kernel, scale="standard", C=10.0).model
    explanation = model.explain(X[:4], X)
    across, up = (np.linspace(column.min(), column.max(), 201) for column in X.T)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    labels = model.predict(grid)
    for r in range(4):
        change = explanation.change(r)
        others = (grid[labels != change.before] - X[r]) / model.scaling.scale
        nearest = np.sqrt(np.square(others).sum(axis=1)).min()
        assert model.predict(change.row[None])[0] == change.after != change.before
        assert change.bound <= change.distance <= 1.05 * nearest + 0.05


def test_the_nearest_change_of_a_linear_model_is_the_distance_from_its_plane():
    A = RNG.normal(size=(200, 5))
    model = fit(A, A @ [2.0, -1.0, 0.5, 0.0, 1.0] > 0.0, kernel=Linear()).model
    near = np.argsort(np.abs(model.decision_function(A)))[:5]
    explanation = model.explain(A[near], A, n_background=None)
    spread = A.std(axis=0)
    for r, at in enumerate(near):
        change = explanation.change(r)
        plane = abs(model.decision_function(A[at : at + 1])[0]) / np.linalg.norm(model.weights * spread)
        assert change.bound <= plane * (1 + 1e-9) and plane * (1 - 1e-9) <= change.distance <= 1.03 * plane


@pytest.mark.parametrize("calibration", [None, "sigmoid"])
def test_no_row_within_the_bound_has_another_label(calibration):
    model = fit(X, ROUND, scale="standard", calibration=calibration).model
    explanation = model.explain(X[:5], X)
    for r in range(5):
        change, steps = explanation.change(r), RNG.normal(size=(4000, 2))
        steps *= change.bound * RNG.random((4000, 1)) / np.linalg.norm(steps, axis=1, keepdims=True)
        rows = X[r] + steps * model.scaling.scale
        assert change.bound > 0.0 and (model.predict(rows) == change.before).all()


def test_fixed_columns_ranges_and_whole_numbers_are_kept():
    data = load("wine")
    counts = np.column_stack([data.X, np.arange(len(data.X)) % 7])
    model = fit(counts, data.y, scale="standard").model
    explanation = model.explain(counts[::60], counts, n_background=None)
    for r in range(len(explanation.X)):
        change = explanation.change(r, fix=["column 1", "column 7"])
        assert model.predict(change.row[None])[0] == change.after != change.before
        assert not {"column 1", "column 7"} & set(change.cells)
        assert (change.row[[0, 6]] == explanation.X[r, [0, 6]]).all()
        assert (change.row >= counts.min(axis=0)).all() and (change.row <= counts.max(axis=0)).all()
        assert change.row[-1] == round(change.row[-1])
        changed = {f"column {j + 1}" for j in np.flatnonzero(change.row != explanation.X[r])}
        assert set(change.cells) == changed


def test_a_label_to_reach():
    data = load("iris")
    explanation = fit(data.X, data.y).model.explain(data.X[:1], data.X)
    assert explanation.change(0, to="virginica").after == "virginica"
    assert explanation.change(0).distance <= explanation.change(0, to="virginica").distance
    with pytest.raises(InputError, match="has the label 'setosa' already"):
        explanation.change(0, to="setosa")
    with pytest.raises(InputError, match="no label 'rose'"):
        explanation.change(0, to="rose")


def test_a_column_of_categories_has_one(tmp_path):
    colours = np.array(["red", "green", "blue"])
    rows = [f"{x:.2f},{colours[k % 3]},{'ab'[int(x > 0.2 and k % 3 > 0)]}" for k, x in enumerate(RNG.normal(size=90))]
    (tmp_path / "t.csv").write_text("\n".join(["size,colour,label", *rows]))
    data = load(tmp_path / "t.csv")
    model = fit(data.X, data.y, scale="standard", C=10.0).model
    model = replace(model, preprocessing=Preprocessing(data.encoding, None, model.scaling))
    explanation = model.explain(data.X[:6], data.X)
    for r in range(6):
        change = explanation.change(r)
        assert sorted(change.row[1:]) == [0.0, 0.0, 1.0] and set(change.cells) <= {"size", "colour"}
        assert model.predict(change.row[None])[0] == change.after
    assert all(set(explanation.change(r, fix=["size"]).cells) == {"colour"} for r in range(6) if ok(explanation, r))


def ok(explanation, r):
    return explanation.change(r, fix=["size"]) is not None


def test_all_columns_fixed_is_one_line():
    explanation = fit(X, ROUND).model.explain(X[:1], X)
    with pytest.raises(InputError, match="all columns are fixed: leave one free"):
        explanation.change(0, fix=explanation.names)


def test_outliers_and_sparse_rows():
    model = svmkit.SVMOneClass(nu=0.2, loss="hinge").fit(X).model_
    change = model.explain(X[:3], X).change(0)
    assert {change.before, change.after} == {-1, 1}
    A = sp.csr_array(np.where(X > 3.0, X, 0.0))
    model = fit(A, ROUND, scale="maxabs").model
    change = model.explain(A[:2], A).change(1)
    assert model.predict(sp.csr_array(change.row[None]))[0] == change.after != change.before


def test_few_columns_and_labels_that_are_objects():
    data = load("wine")
    model = fit(data.X, data.y.astype(object), scale="standard").model
    explanation = model.explain(data.X[:2], data.X)
    for r in range(2):
        near, few = explanation.change(r), explanation.change(r, few=True)
        assert len(few.cells) < len(near.cells) and near.distance <= few.distance
        assert model.predict(few.row[None])[0] == few.after != few.before


def test_bad_input():
    explanation = fit(X, ROUND).model.explain(X[:2], X)
    with pytest.raises(InputError, match=r"no column is called 'colum 1' \(did you mean column 1"):
        explanation.change(0, fix=["colum 1"])
    with pytest.raises(InputError, match=r"no row 2: .* from 0 to 1"):
        explanation.change(2)
    with pytest.raises(InputError, match="a quantity has no label to change"):
        fit(X, X[:, 0], task="regress").model.explain(X[:2], X).change(0)


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_the_vectors_that_decided_are_training_rows(scale):
    model = fit(X, ROUND, scale=scale, kernel=RBF(0.5)).model
    explanation = model.explain(X[:3], X)
    every = explanation.vectors(1, most=10**6)
    assert sum(vector.term for vector in every) + model.intercept[0] == pytest.approx(explanation.decision[1, 0])
    assert [abs(vector.term) for vector in every] == sorted((abs(vector.term) for vector in every), reverse=True)
    for vector in explanation.vectors(1, most=4):
        (row,) = np.flatnonzero(np.isclose(X, np.array(vector.cells), rtol=1e-9).all(axis=1))
        assert ROUND[row] == vector.label and vector.term == vector.weight * vector.similarity


def test_vectors_of_classes_and_of_linear_models():
    data = load("iris")
    explanation = fit(data.X, data.y).model.explain(data.X[:2], data.X)
    assert explanation.vectors(0, most=1)[0].label == "setosa"
    assert explanation.vectors(0, most=1, function="virginica")[0].term < 0.0
    with pytest.raises(InputError, match="no decision of 'rose'"):
        explanation.vectors(0, function="rose")
    linear = fit(X, ROUND, kernel=Linear(), solver="dcd").model.explain(X[:1], X)
    with pytest.raises(InputError, match="weights of the columns and no support vectors"):
        linear.vectors(0)


@pytest.mark.parametrize("fix", [(), ("column 1", "column 3")])
@pytest.mark.slow
def test_scaled_columns_stay_whole_and_within_their_ranges(fix):
    """Undone scaling leaves support vectors a little beside whole numbers; steps along the boundary lead out."""
    rng = np.random.default_rng(0)
    counts, flags = rng.poisson(3.0, 200), rng.integers(0, 2, 200)
    X = np.column_stack([counts, flags, rng.gamma(2.0, 150.0, 200), rng.integers(18, 90, 200)])
    y = (X[:, 0] * 40 + X[:, 2] - 3 * X[:, 3] + 80 * rng.normal(size=200) > 200).astype(int)
    model = svmkit.fit(X, y, C=5.0, scale="standard", kernel=RBF(0.3)).model
    explanation = model.explain(X[:40], X)
    for k in range(40):
        change = explanation.change(k, fix=fix)
        if change is None:
            continue
        moved = change.row != X[k]
        assert (change.row >= X.min(axis=0) - 1e-9).all() and (change.row <= X.max(axis=0) + 1e-9).all()
        assert (change.row[[0, 1, 3]] == np.round(change.row[[0, 1, 3]])).all()
        assert not moved[[int(name[-1]) - 1 for name in fix]].any()
        assert model.predict(change.row[None])[0] == change.after != change.before
