"""The exact line search of ocas, against scipy and the definition."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from svmkit_cutting_plane.search import line_search, make_ramps

from svmkit.losses import Hinge, SquaredHinge
from svmkit.problems.risks.points import make_points

both = pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()])


def line(loss, slack, fall, C, along, square):
    return lambda t: along * t + 0.5 * square * t * t + float(C @ loss.value(np.ones(1), 1.0 - slack + t * fall))


def search(loss, slack, fall, C, along, square):
    """The step for positive samples with these slacks."""
    return line_search(
        make_ramps(make_points(loss.terms(np.ones(len(C)), C), np.ones(len(C))), 1.0 - slack, fall), along, square
    )


def random_line(seed, m=40):
    """slack, fall, C (m,), along, square > 0: half of the cases with slacks and falls that are 0 or equal."""
    rng = np.random.default_rng(seed)
    slack, fall, C = rng.normal(size=m), rng.normal(size=m), rng.uniform(0.1, 3.0, size=m)
    if seed % 2:
        slack, fall = np.round(slack), np.round(fall)
    return slack, fall, C, rng.normal() * 10.0 ** rng.integers(-2, 3), 10.0 ** rng.uniform(-3, 3)


@both
@pytest.mark.parametrize("seed", range(40))
def test_finds_what_scipy_finds(seed, loss):
    given = random_line(seed)
    P = line(loss, *given)
    t = search(loss, *given)
    far = 1.0
    while P(2.0 * far) < P(far):
        far *= 2.0
    theirs = minimize_scalar(P, bounds=(0.0, 2.0 * far), method="bounded", options={"xatol": 1e-12 * far})
    size = abs(P(0.0)) + abs(P(t))
    assert t >= 0.0
    assert P(t) <= min(theirs.fun, P(0.0)) + 1e-12 * size
    # P grows at least like square / 2 (t - t*)^2
    assert 0.5 * given[-1] * (t - theirs.x) ** 2 <= theirs.fun - P(t) + 1e-10 * size + 1e-8 * given[-1]


@both
@pytest.mark.parametrize("seed", range(40))
def test_the_slope_changes_sign_there(seed, loss):
    slack, fall, C, along, square = random_line(seed)
    t = search(loss, slack, fall, C, along, square)

    def slopes(t, at):
        """The derivative just below and just above t, with a slack of `at` or less counted as none."""
        left = slack - t * fall
        each = C * fall if isinstance(loss, Hinge) else 2.0 * C * fall * np.maximum(left, 0.0)
        smooth = along + square * t - each[left > at].sum()
        kinks = each[np.abs(left) <= at]
        return smooth - np.maximum(kinks, 0.0).sum(), smooth - np.minimum(kinks, 0.0).sum()

    below, above = slopes(t, 1e-9 * (1.0 + np.abs(t * fall).max()))
    size = 1e-9 * (abs(along) + square * t + 2.0 * np.abs(C * fall).sum() * (1.0 + np.abs(slack).max()))
    assert above >= -size
    assert t == 0.0 or below <= size


@both
def test_one_sample_by_hand(loss):
    """t^2 / 2 + C loss(1 - t): C for the hinge up to the kink at 1, 2 C / (1 + 2 C) for its square."""
    one = np.ones(1)
    for C in (0.25, 0.5, 4.0):
        t = search(loss, one, one, C * one, 0.0, 1.0)
        assert t == pytest.approx(min(C, 1.0) if isinstance(loss, Hinge) else 2 * C / (1 + 2 * C), rel=1e-14)


@both
def test_stays_where_it_only_goes_up(loss):
    rng = np.random.default_rng(0)
    slack, fall = rng.normal(size=20), -rng.uniform(size=20)
    assert search(loss, slack, fall, np.ones(20), 0.1, 1.0) == 0.0


@both
def test_without_a_turn_it_is_the_parabolas_minimum(loss):
    slack, fall = -np.ones(5), np.array([1.0, 2.0, 0.0, 0.5, 1e-320])  # no loss, and none to come
    assert search(loss, slack, fall, np.ones(5), -3.0, 1.5) == pytest.approx(2.0, rel=1e-15)
