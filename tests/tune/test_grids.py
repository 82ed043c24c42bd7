"""What --grid spells, and the candidates that it makes."""

import numpy as np
import pytest

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear, Poly
from svmkit.tune import Span, plan
from svmkit.tune.grids import defaults, parse

SWAP2O, SMO, DCD = (plugins.build("solver", name) for name in ("swap2o", "smo", "dcd"))


@pytest.mark.parametrize(
    "text, values",
    [
        ("C=0.1:1000:log5", [0.1, 1.0, 10.0, 100.0, 1000.0]),
        ("C=1000:0.1:log5", [1000.0, 100.0, 10.0, 1.0, 0.1]),
        ("x=0:1:lin5", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("C=2^-5:2^15:2", [2.0**k for k in range(-5, 16, 2)]),
        ("gamma=2^3:2^-15:-2", [2.0**k for k in range(3, -16, -2)]),
        ("C=10^-2:10^2:1", [0.01, 0.1, 1.0, 10.0, 100.0]),
        ("C=2^0:2^1:0.5", [1.0, 2**0.5, 2.0]),
        ("C=2^0:2^3:2", [1.0, 4.0]),  # the end is not met
        ("C=2^0:2^4:log3", [1.0, 4.0, 16.0]),
        ("C=1,10,2^7", ["1", "10", 128.0]),
        ("gamma = scale, 0.01", ["scale", "0.01"]),
        ("loss=hinge,squared_hinge", ["hinge", "squared_hinge"]),
        ("C=0.1:1000", Span(0.1, 1000.0)),
        ("C=2^-5:2^15", Span(2.0**-5, 2.0**15)),
    ],
)
def test_spellings(text, values):
    ((name, found),) = parse([text]).items()
    assert name == text.partition("=")[0].strip()
    assert found == values


@pytest.mark.parametrize(
    "texts, words",
    [
        (["C"], "is not NAME=VALUES"),
        (["C="], "is not NAME=VALUES"),
        (["=1,2"], "is not NAME=VALUES"),
        (["C=1,,2"], "missing between commas"),
        (["C=1,2^x"], "'x' is not a number"),
        (["C=1:10:log1"], "N from 2"),
        (["C=1:10:logx"], "N from 2"),
        (["C=1:1:log5"], "is one value"),
        (["C=0:10:log5"], "ends > 0; write lin5"),
        (["C=-1:10:log5"], "ends > 0"),
        (["C=a:10:log5"], "'a' is not a number"),
        (["C=nan:10:log5"], "'nan' is not a number"),
        (["C=1:10:5"], "a step of 5 is one in exponents"),
        (["C=2^-5:2^15:0"], "must not be 0"),
        (["C=2^-5:2^15:-2"], "change its sign"),
        (["C=2^-5:10^15:2"], "the same base"),
        (["C=-2^1:-2^3:1"], "the base of -2^1"),
        (["C=1^1:1^3:1"], "the base of 1^1"),
        (["C=2^0:2^9999:1"], "out of the range of numbers"),
        (["C=2^0:2^9:1e-9"], "give a larger step"),
        (["C=1:2:3:4"], "cannot be read"),
        (["C=1::3"], "cannot be read"),
        (["C=10:1"], "to a larger one"),
        (["C=0:1"], "from a number > 0"),
        (["C=1,2", "C=3"], "given twice"),
    ],
)
def test_what_cannot_be_read(texts, words):
    with pytest.raises(InputError, match=r"--grid") as caught:
        parse(texts)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_defaults_are_libsvms():
    assert parse(defaults({"gamma": "scale"}, set(), drawn=False)) == {
        "C": [2.0**k for k in range(-5, 16, 2)],
        "gamma": [2.0**k for k in range(-15, 4, 2)],
    }
    assert list(parse(defaults({}, set(), drawn=False))) == ["C"]
    assert list(parse(defaults({"gamma": 0.5}, {"gamma"}, drawn=False))) == ["C"]
    assert parse(defaults({"gamma": "scale"}, set(), drawn=True))["gamma"] == Span(2.0**-15, 2.0**3)


def test_paths_differ_in_C_alone():
    paths = plan(SMO, RBF(), {"loss": ["hinge", "squared_hinge"], "C": ["10", 1, 1.0], "gamma": ["scale", "0.5"]})
    assert [(p.number, p.solver.loss, p.kernel, p.Cs) for p in paths] == [
        (0, "hinge", RBF("scale"), (1.0, 10.0)),
        (1, "hinge", RBF(0.5), (1.0, 10.0)),
        (2, "squared_hinge", RBF("scale"), (1.0, 10.0)),
        (3, "squared_hinge", RBF(0.5), (1.0, 10.0)),
    ]
    assert paths[1].params(10.0) == {"C": 10.0, "loss": "hinge", "gamma": 0.5}
    (alone,) = plan(SMO, Poly(), {"kernel.degree": [2.0]}, C=7.0)
    assert alone.params(7.0) == {"degree": 2} and alone.kernel.degree == 2 and alone.Cs == (7.0,)


def test_random_points_are_drawn_by_seed():
    grid = {"C": Span(0.1, 1000.0), "gamma": [0.1, "scale"]}
    paths = plan(SWAP2O, RBF(), grid, search="random", n_iter=40, seed=3)
    assert len(paths) == 2 and sum(len(p.Cs) for p in paths) == 40  # grouped by gamma
    Cs = np.array([C for p in paths for C in p.Cs])
    assert (Cs >= 0.1).all() and (Cs <= 1000.0).all()
    assert 0.25 < (Cs < 10.0).mean() < 0.75  # the middle, in log
    assert paths == plan(SWAP2O, RBF(), grid, search="random", n_iter=40, seed=3)
    assert paths != plan(SWAP2O, RBF(), grid, search="random", n_iter=40, seed=4)
    few = plan(SWAP2O, RBF(), {"C": [1, 2], "gamma": [0.1, 0.2]}, search="random", n_iter=99)
    assert sum(len(p.Cs) for p in few) == 4  # each once


@pytest.mark.parametrize(
    "solver, kernel, grid, search, words",
    [
        (SWAP2O, RBF(), {}, "grid", "nothing to search"),
        (SWAP2O, RBF(), {"C": [1]}, "all", "there are: grid, random, halving"),
        (SWAP2O, RBF(), {"c": [1]}, "grid", "it has C, gamma"),
        (SWAP2O, RBF(), {"loss": ["hinge"]}, "grid", "no such option"),
        (SMO, RBF(), {"kernel.loss": ["hinge"]}, "grid", "no such option"),
        (SMO, RBF(), {"loss": ["hubert"]}, "grid", "there are: hinge, squared_hinge"),
        (SMO, RBF(), {"shrinking": ["perhaps"]}, "grid", "true or false"),
        (DCD, Linear(), {"gamma": [1]}, "grid", "the linear kernel has no gamma"),
        (SMO, RBF(), {"gamma": ["wide"]}, "grid", "gamma='wide'"),
        (SMO, RBF(), {"gamma": [-1.0]}, "grid", "gamma must be"),
        (SMO, Poly(), {"degree": [0.5]}, "grid", "degree must be"),
        (SMO, RBF(), {"C": [0.0]}, "grid", "0.0 is not a finite number > 0"),
        (SMO, RBF(), {"C": ["-1"]}, "grid", "'-1' is not a finite number > 0"),
        (SMO, RBF(), {"C": ["ten"]}, "grid", "'ten'"),
        (SMO, RBF(), {"C": []}, "grid", "at least one"),
        (SMO, RBF(), {"C": Span(1, 2)}, "grid", "for --search random"),
        (SMO, RBF(), {"C": Span(1, 2)}, "halving", "for --search random"),
        (SMO, Poly(), {"degree": Span(1, 5)}, "random", "list its values"),
        (SMO, RBF(), {"loss": Span(1, 5)}, "random", "list its values"),
        (SMO, RBF(), {"C": range(1, 1001), "gamma": range(1, 1001)}, "grid", "1,000,000 points"),
    ],
)
def test_what_cannot_be_searched(solver, kernel, grid, search, words):
    with pytest.raises(InputError) as caught:
        plan(solver, kernel, grid, search=search)
    assert words in str(caught.value) and "\n" not in str(caught.value)
