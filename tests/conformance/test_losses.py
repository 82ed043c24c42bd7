"""`svmkit check` of losses: each way in which a record can differ from its definition is seen."""

import dataclasses
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from svmkit.conformance.losses import LOSS, points
from svmkit.conformance.result import outcome
from svmkit.errors import InputError
from svmkit.losses import EpsilonInsensitive, Family, Hinge, Huber, Loss, Quantile, SquaredError, SquaredHinge


def failing(loss):
    """The checks that a loss does not pass, with what was found."""
    results = [outcome(sentence, check, loss) for sentence, check in LOSS.items()]
    return {result.check: result.problem for result in results if result.problem}


@dataclass(frozen=True)
class LogCosh(Loss):
    """A loss whose values and record do not belong together: log cosh is not piecewise quadratic."""

    name: ClassVar[str] = "logcosh"
    task: ClassVar[str] = "regress"
    family: ClassVar[Family] = Family.SMOOTH

    def value(self, target, h):
        size = np.abs(target - h)
        return size + np.log1p(np.exp(-2.0 * size)) - math.log(2.0)

    def terms(self, target, C):
        return Huber(delta=0.5).terms(target, C)


class Changed:
    """A loss with one thing wrong."""

    @dataclass(frozen=True)
    class Root(SquaredError):
        def value(self, target, h):
            return np.sqrt(np.abs(target - h))

    @dataclass(frozen=True)
    class Negative(Hinge):
        def value(self, target, h):
            return np.maximum(1.0 - target * h, 0.0) - 1.0

    @dataclass(frozen=True)
    class Ridge(SquaredHinge):
        def terms(self, target, C):
            terms = super().terms(target, C)
            return terms._replace(ridge_up=0.5 * terms.ridge_up)

    @dataclass(frozen=True)
    class Bound(Quantile):
        def terms(self, target, C):
            return super().terms(target, C)._replace(upper=1.001 * C * self.tau)

    @dataclass(frozen=True)
    class Kink(EpsilonInsensitive):
        def terms(self, target, C):
            return super().terms(target, C)._replace(kink_down=np.zeros(len(C)))

    @dataclass(frozen=True)
    class Named(Huber):
        family: ClassVar[Family] = Family.RIDGED

    @dataclass(frozen=True)
    class Joint(SquaredError):
        def terms(self, target, C):
            return super().terms(target, np.full(len(C), C.mean()))

    @dataclass(frozen=True)
    class Overflow(Huber):
        def value(self, target, h):
            e = target - h
            return np.where(np.abs(e) < self.delta, e * e, e * e - np.square(np.abs(e) - self.delta))

    @dataclass(frozen=True)
    class Unchecked(Quantile):
        def __post_init__(self):
            pass

    @dataclass(frozen=True)
    class Silent(Quantile):
        def __post_init__(self):
            if not (isinstance(self.tau, float) and 0.0 < self.tau < 1.0):
                raise InputError("no")


VALUES = "its values are >= 0 and convex in h"
RECORD = "its record is that of a convex loss of its family"
PAIR = "record and definition are a conjugate pair"
SLOPES = "the weights of the record are slopes of the definition"
DUALITY = "D is below P on random points of random problems"
COSTS = "costs scale it, and each sample stands alone"
EXTREMES = "extreme numbers give no nan"
OPTIONS = "options out of their range are refused"


@pytest.mark.parametrize(
    ("loss", "sentence", "words"),
    [
        (Changed.Root(), VALUES, "above their line"),
        (Changed.Negative(), VALUES, "should be finite and >= 0, not -1"),
        (Changed.Ridge(), PAIR, "the record gives"),
        (Changed.Ridge(), SLOPES, "is no slope"),
        (Changed.Bound(), PAIR, "the record gives"),
        (Changed.Bound(), SLOPES, "is no slope"),
        (Changed.Kink(), PAIR, "the record gives"),
        (Changed.Kink(), DUALITY, "is above P"),
        (Changed.Named(), RECORD, "its family is RIDGED, but bounds and ridge_up are of another one"),
        (Changed.Joint(), COSTS, "change with the other samples"),
        (Changed.Overflow(), EXTREMES, "value nan"),
        (Changed.Unchecked(), OPTIONS, "tau=-1.0 is not refused, and then: value"),
        (Changed.Silent(), OPTIONS, "tau=-1.0 is refused without the name of the option: no"),
        (LogCosh(), PAIR, "C times value is"),
    ],
    ids=lambda value: value.name if isinstance(value, Loss) else None,
)
def test_what_is_wrong_is_seen(loss, sentence, words):
    assert words in failing(loss)[sentence]


@pytest.mark.parametrize("option", [0.05, 0.5, 0.999])
def test_options_within_their_range_pass(option):
    assert not failing(Quantile(tau=option)) and not failing(Huber(delta=option))
    assert dataclasses.replace(Quantile(), tau=option).params == {"tau": option}


def test_a_loss_is_looked_at_with_labels_and_where_its_pieces_meet():
    for loss, ends in ((SquaredHinge(), [0.0]), (EpsilonInsensitive(0.3), [-0.3, 0.3]), (Huber(0.5), [-0.5, 0.5])):
        at = points(loss)
        assert loss.task != "classify" or np.unique(at.target).tolist() == [-1.0, 1.0]
        for end in ends:
            assert (np.isclose(at.e, end, rtol=1e-12, atol=1e-12)).sum() >= 10
        assert 1e-3 <= at.C.min() < 1e-2 and 1e2 < at.C.max() <= 1e3
        np.testing.assert_allclose(at.values, at.C * loss.value(at.target, at.target - at.e), atol=1e-12)
