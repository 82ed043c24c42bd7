"""Features so large or so small that squares overflow or vanish: every search ends, and no model of nan comes out."""

import numpy as np
import pytest
from support.problems import blobs
from svmkit_stochastic import linear_state
from svmkit_stochastic.linear_state import TRIALS, _lowest, calibrate

from svmkit import plugins
from svmkit.errors import InputError, NotFinite
from svmkit.kernels import Gram, Linear
from svmkit.solver.sampler import Draws, Full
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds
from svmkit.training.stream.online import Online
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("one_pool")


@pytest.mark.parametrize("scale", [1e160, 1e300, 1e-160, 1e-300])
@pytest.mark.parametrize("name", ["sgd", "sgdqn", "folos", "pegasos", "norma"])
def test_features_whose_squares_overflow_or_vanish(name, scale):
    """The calibration of `sgd` tried steps of size 0 for ever, and `pegasos` returned a model of nan."""
    X, y = blobs(60, 3)
    try:
        found = fit(scale * X, y, solver=name, kernel=Linear(), stop=Gap(1e-3) | Iterations(5))
    except (NotFinite, InputError) as error:  # of the kernel, whose |x|^2 is beyond float64
        assert f"{name} ended" in str(error) or "the linear kernel" in str(error)
        assert "scale the" in str(error)
        return
    assert np.isfinite(found.objective) and (found.gap is None or -1e-12 <= found.gap <= 1.0)
    assert np.isfinite(found.model.coef).all() and np.isfinite(found.model.intercept).all()


@pytest.mark.parametrize("name", ["pegasos", "norma", "sgd"])
def test_a_stream_has_no_model_of_nan(name):
    X, y = blobs(60, 3)
    online = Online([-1, 1], solver=name, kernel=Linear())
    try:
        online.update(1e160 * X, y)
        model = online.model()
    except (NotFinite, InputError):
        return
    assert np.isfinite(model.coef).all() and np.isfinite(model.intercept).all()


@pytest.mark.parametrize("value", [np.inf, np.nan, 1.0])
def test_the_calibration_is_bounded(value):
    """Whatever the objective is at each step size, also where no step is better than another."""
    tried = []

    def flat(step):
        tried.append(step)
        return value

    for start in (0.0, 1e-320, 1.0, 1e300, np.inf):
        tried.clear()
        assert _lowest(flat, start, lambda: False) in tried
        assert len(tried) <= 1 + 2 * TRIALS


def test_the_calibration_ends_with_the_solve():
    tried = []

    def falling(step):
        tried.append(step)
        return -step

    _lowest(falling, 1.0, lambda: len(tried) >= 5)
    assert len(tried) == 5


def test_the_time_limit_holds_in_the_calibration():
    """No step is tried after the time is spent; then the solve ends as at any other moment."""
    X, y = blobs(60, 3)
    found = fit(X, y, solver="sgd", kernel=Linear(), stop=Gap(1e-9) | Seconds(1e-9))
    assert found.status is Status.TIME_LIMIT and np.isfinite(found.objective)


def test_the_calibration_begins_with_the_longest_step_that_moves_no_margin_by_more_than_1(monkeypatch):
    """A step of `eta` along the hinge loss of a sample moves its own margin by eta C_i / mean C |x_i|^2."""
    X, y = blobs(60, 3)
    C, begun = np.random.default_rng(0).uniform(0.1, 3.0, 60), []
    solver = plugins.build("solver", "sgd", {"loss": "squared_hinge", "bias": 0.0})
    problem = solver.pose(Gram(Linear(), X), y, C)
    state = solver.init(problem, None, Draws(Full(), y, np.random.default_rng(0)))
    monkeypatch.setattr(linear_state, "_lowest", lambda value, x, over: begun.append(x) or x)
    calibrate(solver, state)
    moved = begun[0] * 2.0 * C / C.mean() * np.square(X).sum(axis=1)  # 2 is the curvature of a square
    assert moved.max() == pytest.approx(1.0)
