"""Permutation importance, against predictions of rows whose column was shuffled."""

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit import InputError, fit
from svmkit.explain import permutation, permutation_importance
from svmkit.kernels import RBF, Laplacian, Linear, Poly, Sigmoid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 4))
TWO = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, [-0.4, 0.6])


def shuffle(model, A, y, owner, n_repeats=3, score=lambda y, p: np.mean(y == p)):
    rng, losses = np.random.default_rng(0), np.empty((owner.max() + 1, n_repeats))
    orders = [rng.permutation(len(A)) for _ in range(n_repeats)]
    for player in range(owner.max() + 1):
        for k, order in enumerate(orders):
            B = np.where(owner == player, A[order], A)
            losses[player, k] = score(y, model.predict(A)) - score(y, model.predict(B))
    return losses


KERNELS = RBF(0.4), Laplacian(0.3), Linear(), Poly(degree=2, coef0=1.0), Sigmoid(gamma=0.1)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_losses_are_those_of_shuffled_rows(kernel, y, monkeypatch):
    monkeypatch.setattr(permutation, "VALUES", 500)  # several parts
    model = fit(X, y, kernel=kernel, scale="standard").model
    found = permutation_importance(model, X, y, n_repeats=3)
    np.testing.assert_allclose(found.losses, shuffle(model, X, y, np.arange(4)), atol=1e-12)
    assert found.score == np.mean(model.predict(X) == y) and found.mean.shape == found.error.shape == (4,)


@pytest.mark.parametrize("learnt", [int, float, str])
@pytest.mark.parametrize("given", [int, float])
def test_labels_of_another_type_are_the_same_labels(learnt, given):
    model = fit(X, THREE.astype(learnt)).model
    found = permutation_importance(model, X, THREE.astype(given), n_repeats=2)
    assert found.score == np.mean(model.predict(X).astype(int) == THREE) > 0.8 and found.mean[0] > 0.2


def test_quantities_holes_and_players():
    holed, y = X.copy(), X[:, 0] + X[:, 1] ** 2
    holed[::6, 1] = np.nan
    model = fit(holed, y, task="regress", impute="indicator", scale="standard").model
    found = permutation_importance(model, holed, y, n_repeats=3, players={"both": [0, 2]})
    r2 = lambda y, p: 1 - np.square(y - p).sum() / np.square(y - y.mean()).sum()
    np.testing.assert_allclose(found.losses, shuffle(model, holed, y, np.array([0, 1, 0, 2]), score=r2), atol=1e-10)
    assert found.names == ("both", "column 2", "column 4")


def test_r2_is_refused_where_it_is_not_defined():
    model = fit(X, X[:, 0] + X[:, 1] ** 2, task="regress").model
    with pytest.raises(InputError, match="R2 is not defined where all targets of y are the same"):
        permutation_importance(model, X, np.full(len(X), 0.1))
    found = permutation_importance(model, X, np.full(len(X), 0.1), score=lambda y, p: -np.abs(y - p).mean())
    assert np.isfinite(found.losses).all()


def test_sparse_rows_and_a_score_of_ones_own():
    A = np.where(np.abs(X) > 0.7, X, 0.0)
    model = fit(sp.csr_array(A), TWO).model
    score = lambda y, p: float(np.mean(p[y == "yes"] == "yes"))
    found = permutation_importance(model, sp.csr_array(A), TWO, n_repeats=2, score=score)
    np.testing.assert_allclose(found.losses, shuffle(model, A, TWO, np.arange(4), 2, score), atol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": TWO[:5]}, "y has 5 labels, but X has 70 samples"),
        ({"y": np.append(TWO[:-1].astype(object), None)}, "a missing label"),
        ({"n_repeats": 0}, "n_repeats must be at least 1"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises(InputError, match=message):
        permutation_importance(fit(X, TWO).model, **{"X": X, "y": TWO} | given)


def test_columns_of_a_table_are_taken_by_their_names():
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=80), "place": rng.choice(["Bonn", "Kiel"], 80), "b": rng.normal(size=80)}
    )
    frame.loc[::9, "b"] = np.nan
    y = np.where(frame["a"] + 2 * (frame["place"] == "Kiel") > 0.8, "yes", "no")
    model = fit(frame, y, impute="median").model
    found = permutation_importance(model, frame, y, n_repeats=3)
    again = permutation_importance(model, frame[["b", "place", "a"]], y, n_repeats=3)
    assert found.names == again.names == ("a", "place", "b")
    np.testing.assert_array_equal(found.losses, again.losses)
    rng = np.random.default_rng(0)
    for k in range(3):
        order = rng.permutation(80)
        for name, losses in zip(found.names, found.losses, strict=True):
            shuffled = frame.assign(**{name: frame[name].to_numpy()[order]})
            assert losses[k] == pytest.approx(found.score - np.mean(model.predict(shuffled) == y))
