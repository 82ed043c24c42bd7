"""The plot of what a model decides: what is drawn is what the model says."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmkit import InputError, SVMClassifier, SVMOneClass, SVMRegressor, plot_decision


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.2, random_state=0)


def words(ax):
    return ax.get_legend_handles_labels()[1]


def circled(ax):
    """The samples that are circled, (n, 2)."""
    found = [c for c in ax.collections if c.get_label() == "support vectors"]
    return found[0].get_offsets() if found else np.empty((0, 2))


def lines(ax, level):
    """The points of the contour lines of a level."""
    found = [c for c in ax.collections if hasattr(c, "levels") and not c.filled and level in list(c.levels)]
    (contour,) = found
    return np.concatenate([path.vertices for path in [contour.get_paths()[list(contour.levels).index(level)]]])


def test_two_classes_have_a_boundary_margins_and_their_vectors(moons):
    X, y = moons
    fitted = SVMClassifier(C=10, scale="standard").fit(X, np.where(y, "up", "down"))
    ax = plot_decision(fitted, X, np.where(y, "up", "down"))
    assert words(ax) == ["margins", "boundary", "down", "up", "support vectors"]
    np.testing.assert_array_equal(np.sort(circled(ax), axis=0), np.sort(X[fitted.support_], axis=0))
    for level in (-1.0, 0.0, 1.0):
        np.testing.assert_allclose(fitted.decision_function(lines(ax, level)), level, atol=0.05)


def test_the_same_picture_from_a_model_a_pipeline_and_scikit_learns_svm(moons):
    X, y = moons
    scaled = StandardScaler().fit(X)
    boundaries = [
        lines(plot_decision(item, X, y), 0.0)
        for item in (
            SVMClassifier(tol=1e-6, scale="standard").fit(X, y).model_,
            make_pipeline(StandardScaler(), SVMClassifier(tol=1e-6)).fit(X, y),
            make_pipeline(scaled, SVC(tol=1e-6)).fit(X, y),
        )
    ]
    assert len({len(points) for points in boundaries}) == 1
    np.testing.assert_allclose(boundaries[0], boundaries[1], atol=1e-4)
    np.testing.assert_allclose(boundaries[0], boundaries[2], atol=1e-4)


def test_three_classes_and_names_of_columns(moons):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.iloc[:, 2:]
    ax = plot_decision(SVMClassifier().fit(X, y), X, y, resolution=50)
    assert ax.get_xlabel() == "petal length (cm)" and words(ax) == ["boundary", "0", "1", "2", "support vectors"]


def test_a_regression_has_a_curve_with_its_tube():
    x = np.linspace(0, 6, 60)[:, None]
    y = np.sin(x[:, 0])
    fitted = SVMRegressor(C=10, epsilon=0.2).fit(x, y)
    ax = plot_decision(fitted, x, y)
    assert words(ax) == ["tube, epsilon = 0.2", "prediction", "samples", "support vectors"]
    (curve,) = [line for line in ax.lines if line.get_label() == "prediction"]
    np.testing.assert_allclose(curve.get_ydata(), fitted.predict(curve.get_xdata()[:, None]))
    tube = next(c for c in ax.collections if not c.get_label().startswith(("samples", "support")))
    height = tube.get_paths()[0].vertices
    assert np.ptp(height[np.isclose(height[:, 0], curve.get_xdata()[0])][:, 1]) == pytest.approx(0.4)
    assert len(circled(ax)) == len(fitted.support_)


def test_outliers_and_linear_models(moons):
    X, y = moons
    fitted = SVMOneClass(loss="hinge", nu=0.1).fit(X)
    ax = plot_decision(fitted, X, fitted.predict(X))
    assert words(ax) == ["boundary", "outlier", "inlier", "support vectors"]
    linear = SVMClassifier("dcd").fit(X, y)
    assert len(circled(plot_decision(linear, X, y))) == len(linear.support_)
    ax = plot_decision(linear.model_, X, show_support=False)
    assert words(ax) == ["margins", "boundary", "samples"]


def test_what_cannot_be_drawn_is_said_in_one_line(moons):
    X, y = moons
    fitted = SVMClassifier().fit(X, y)
    for message, item, data, labels in (
        ("X has 4 features: a classifier is drawn over 2", fitted, np.c_[X, X], y),
        ("call fit first", SVMClassifier(), X, y),
        ("StandardScaler has no model", StandardScaler().fit(X), X, y),
        ("y has 3 labels for 120 rows", fitted, X, y[:3]),
        ("the label '7', which the model does not know", fitted, X, y + 7),
        ("not finite", fitted, X * np.nan, y),
        ("give y", SVMRegressor().fit(X[:, :1], X[:, 1]), X[:, :1], None),
        ("a regression is drawn over 1 feature;", SVMRegressor().fit(X, X[:, 1]), X, y),
    ):
        with pytest.raises(InputError, match=message) as caught:
            plot_decision(item, data, labels)
        assert "\n" not in str(caught.value)
