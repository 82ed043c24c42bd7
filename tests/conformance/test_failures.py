"""Each check of the conformance suite fails for a plugin that deserves it."""

import random
import sys
import time
from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from svmkit import plugins
from svmkit.conformance import KERNEL, SAMPLER, SOLVER, check_plugin, checks, isolation
from svmkit.conformance.kernels import _kernel_values as kernel_values
from svmkit.conformance.result import outcome
from svmkit.conformance.samplers import _sampler_draws as sampler_draws
from svmkit.kernels.functions import RBF
from svmkit.problems.risks.rank_risk import RankRisk
from svmkit.problems.simplex import SquaredHinge
from svmkit.problems.tube import TubeQP
from svmkit.solver.capabilities import LimitsSupport
from svmkit.solver.sampler import Uniform

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "third_party_plugin" / "src"))
from svmkit_cutting_plane.ocas import OCAS
from svmkit_decomposition.smo import SMO
from svmkit_example.solver import Coordinate
from svmkit_frank_wolfe.sfw import SFW

SHARED: dict = {}


class Lazy(Coordinate):
    def step(self, state):
        return super().step(state)._replace(moved=False)


class Doubled(Coordinate):
    def solution(self, state):
        return 2.0 * super().solution(state)


class View(Coordinate):
    def solution(self, state):
        state.alpha /= state.alpha.sum()
        return state.alpha


class Boastful(Coordinate):
    def step(self, state):
        info = super().step(state)
        return info._replace(objective=0.9 * info.objective)


class Rising(Coordinate):
    def step(self, state):
        info = super().step(state)
        state.k = getattr(state, "k", 0) + 1
        return info._replace(objective=info.objective + 0.1 * state.k)


class Unseeded(Coordinate):
    def init(self, problem, start, draws):
        draws.rng = np.random.default_rng()
        return super().init(problem, start, draws)


class Uncounted(Coordinate):
    def step(self, state):
        engine = state.problem.gram.engine
        engine.block(engine.take(np.arange(2)), np.empty((2, state.problem.m)))
        return super().step(state)


class Spoilt(Coordinate):
    """Worse off with a start than without."""

    def init(self, problem, start, draws):
        state = super().init(problem, None, draws)
        state.stuck = start is not None
        return state

    def step(self, state):
        info = super().step(state)
        if state.stuck:
            state.alpha[:] = np.where(np.arange(state.problem.m) == 0, 1.0, 0.0)
        return info


class Lenient(Coordinate):
    def pose(self, gram, y, C):
        return super().pose(gram, np.where(np.arange(len(y)) == 0, -1.0, y), C)


class Stubborn(Coordinate):
    def step(self, state):
        while not super().step(state).gap < 1e-6:
            pass
        return super().step(state)._replace(done=True)


class Fragile(Coordinate):
    def solution(self, state):
        return super().solution(state) * (np.nan if state.problem.ridge.max() < 1e-3 else 1.0)


class Greedy(LimitsSupport, Coordinate):
    def limit_support(self, state, most):
        pass


class Forgetful(SFW):
    """Begins anew with each block."""

    def renew(self, state, problem, draws):
        fresh = self.init(problem, np.eye(problem.m)[0], draws)
        for name in fresh.__dict__:
            setattr(state, name, getattr(fresh, name))


class Endless(Coordinate):
    def step(self, state):
        while state.problem.m < 10:
            pass
        return super().step(state)


class Slow(Coordinate):
    def step(self, state):
        time.sleep(0.3 if state.problem.m < 10 else 0.0)
        return super().step(state)._replace(gap=1.0, moved=True)


class Deaf(Coordinate):
    def init(self, problem, start, draws):
        return super().init(problem, None, draws)


class Mixed(Coordinate):
    def init(self, problem, start, draws):
        SHARED["state"] = super().init(problem, start, draws)
        return SHARED["state"]

    def step(self, state):
        return super().step(SHARED["state"])


class Gambler(Coordinate):
    def step(self, state):
        np.random.rand()  # noqa: NPY002
        return super().step(state)


class Reseeder(Coordinate):
    def init(self, problem, start, draws):
        random.seed(3)
        return super().init(problem, start, draws)


class Scribbler(Coordinate):
    def step(self, state):
        state.problem.gram.row(0)[0] = 7.0
        return super().step(state)


class Relabels(Coordinate):
    def step(self, state):
        state.problem.y[0] *= 1.5
        return super().step(state)


class Flattering(SquaredHinge):
    """The problem with a certificate that always says that the optimum is reached."""

    @classmethod
    def from_loss(cls, gram, target, C, loss, **terms):
        return cls(gram, target, C)

    def certificate(self, point):
        found = super().certificate(point)
        return replace(found, dual=found.primal, gap=0.0)


class Flatterer(Coordinate):
    problem = Flattering


class Idle(SMO):
    def step(self, state):
        return super().step(state)._replace(moved=False)


class Overdone(SMO):
    def solution(self, state):
        return 20.0 * super().solution(state)


class FlatteringTube(TubeQP):
    """The problem of regression with a certificate that always says that the optimum is reached."""

    def certificate(self, point):
        found = super().certificate(point)
        return replace(found, dual=found.primal, gap=0.0)


class TubeFlatterer(SMO):
    regression = FlatteringTube


class FlatteringRank(RankRisk):
    """The problem of a ranking with a certificate that always says that the optimum is reached."""

    def certificate(self, point):
        found = super().certificate(point)
        return replace(found, dual=found.primal, gap=0.0)


class RankFlatterer(OCAS):
    further = (FlatteringRank,)


SOLVERS = [
    ("reaches the tolerance", Lazy, "stalled"),
    ("is feasible", Doubled, "after step 1"),
    ("is feasible", View, "array of its own"),
    ("is feasible", Boastful, "from scratch"),
    ("never rises", Rising, "declared monotone, but"),
    ("same seed", Unseeded, "seed 3"),
    ("is counted", Uncounted, "counted"),
    ("near the optimum", Spoilt, "from its own solution"),
    ("one class", Lenient, "should raise InputError"),
    ("asked to", Stubborn, "a callback asked to stop"),
    ("1e-4 to 1e6", Fragile, "nan"),
    ("limit on support", Greedy, "limited to 5 vectors"),
    ("from a stream", Forgetful, "weights differ"),
    ("handful", Endless, "on 2 samples a step had not ended"),
    ("handful", Slow, "on 2 samples it was still at iteration"),
    ("begins at the start", Deaf, "it begins at"),
    ("side by side", Mixed, "weights differ"),
    ("not changed", Gambler, "global random state"),
    ("not changed", Reseeder, "global random state"),
    ("not changed", Scribbler, "kernel row 0"),
    ("not changed", Relabels, "wrote to"),
    ("independent judge", Flatterer, "the dual weights prove"),
    ("hostile data", Flatterer, "the gap is"),
    ("regressions converge", Idle, "ended as stalled"),
    ("regressions keep to the constraints", Overdone, "after step"),
    ("regressions are true", TubeFlatterer, "the dual weights prove"),
    ("of its rankings are true", RankFlatterer, "is above P"),
]


class Lopsided(RBF):
    def block(self, X, Z):
        return np.ones((X.shape[0], Z.shape[0])) + np.arange(X.shape[0])[:, None]

    def diag(self, X):
        return np.ones(X.shape[0])

    form = None


class DenseOnly(RBF):
    form = None

    def block(self, X, Z):
        return np.exp(-np.square(np.asarray(X)[:, None] - np.asarray(Z)[None]).sum(axis=2))


@dataclass(frozen=True)
class Unstorable(RBF):
    resolved: object = None

    def resolve(self, X):
        return Unstorable(0.5, resolved=object())


class Centring(RBF):
    form = None

    def diag(self, X):
        return np.ones(X.shape[0])

    def block(self, X, Z):
        X -= 1.0
        return np.ones((X.shape[0], Z.shape[0]))


KERNELS = [
    ("symmetric", Lopsided, "differs"),
    ("CSR", DenseOnly, ""),
    ("stored with a model", Unstorable, "not JSON serializable"),
    ("not changed", Centring, "wrote to X"),
]


def drawing(name, draw):
    """A sampler whose draws are draw(y, rng), for ever."""

    def draws(self, y, rng):
        while True:
            yield draw(y, rng)

    return make_dataclass(name, [], bases=(Uniform,), frozen=True, namespace={"draws": draws})


def _counting(y, rng):
    SHARED["k"] = SHARED.get("k", 0) + 1
    return np.array([SHARED["k"] % len(y)])


SAMPLERS = [
    ("draws are valid", drawing("Beyond", lambda y, rng: np.array([len(y)])), "outside"),
    ("draws are valid", drawing("Floats", lambda y, rng: np.array([0.0])), "integer array"),
    ("draws are valid", drawing("Partial", lambda y, rng: rng.integers(len(y) // 2, size=9)), "never reached"),
    ("draws are valid", drawing("Unseeded", lambda y, rng: np.random.default_rng().integers(9, size=9)), "one seed"),
    ("converges with it", drawing("First", lambda y, rng: np.array([0])), "ended as"),
    ("side by side", drawing("Counting", _counting), "changes when a second"),
    ("not changed", drawing("Gambler", lambda y, rng: np.random.permutation(len(y))), "global random state"),  # noqa: NPY002
    ("not changed", drawing("Relabels", lambda y, rng: np.array([int(y.fill(1.0) or 0)])), "wrote to y"),
]


class WrongDiagonal(RBF):
    form = None

    def diag(self, X):
        return 1.0 + 1e-6 * np.ones(X.shape[0])

    def block(self, X, Z):
        return np.exp(-np.square(np.asarray(X)[:, None] - np.asarray(Z)[None]).sum(axis=2))


class Uneven(WrongDiagonal):
    def diag(self, X):
        return np.square(X).sum(axis=1)

    def block(self, X, Z):
        return np.asarray(X) @ np.asarray(Z).T


class Infinite(WrongDiagonal):
    def block(self, X, Z):
        return np.full((X.shape[0], Z.shape[0]), np.inf)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Lopsided, "differs from k(z, x)"),
        (WrongDiagonal, "diag(X) is not k(x, x)"),
        (Uneven, "declared normalised"),
        (Infinite, "should be finite"),
        (RBF, None),
    ],
)
def test_values_of_kernels_are_looked_at(broken, words):
    said = kernel_values(broken(0.5))
    assert (said is None) == (words is None) and (words or "") in (said or "")


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        *((broken, words) for part, broken, words in SAMPLERS if part == "draws are valid"),
        (drawing("Below", lambda y, rng: np.array([-1, *range(1, len(y))])), "outside"),
        (drawing("Last", lambda y, rng: np.arange(len(y))), None),
        (drawing("Empty", lambda y, rng: np.arange(0)), "non-empty"),
        (drawing("Square", lambda y, rng: np.arange(len(y))[None]), "1-d"),
        (Uniform, None),
    ],
)
def test_draws_of_samplers_are_looked_at(broken, words):
    said = sampler_draws(broken())
    assert (said is None) == (words is None) and (words or "") in (said or "")


CASES = (
    [("solver", *case) for case in SOLVERS] + [("kernel", *c) for c in KERNELS] + [("sampler", *c) for c in SAMPLERS]
)
CHECKS = {"solver": SOLVER, "kernel": KERNEL, "sampler": SAMPLER}


@pytest.mark.parametrize(("kind", "part", "broken", "words"), CASES, ids=[f"{c[0]}-{c[2].__name__}" for c in CASES])
@pytest.mark.slow
def test_it_fails(kind, part, broken, words, monkeypatch):
    monkeypatch.setattr(isolation, "LONGEST", 0.5)
    ((title, check),) = [(t, c) for t, c in CHECKS[kind].items() if part in t]
    found = outcome(title, check, broken())
    assert found.problem and words in found.problem and "\n" not in found.problem
    assert check.run.__name__ in found.where


def test_every_check_has_one_that_fails():
    for kind, titles in CHECKS.items():
        assert all(any(case[0] == kind and case[1] in title for case in CASES) for title in titles)


# --- what a plugin says of itself


@dataclass(frozen=True)
class Fine(Uniform):
    """Fine."""

    name: ClassVar[str] = "averylongname"


@dataclass(frozen=True)
class Silent(Fine):
    rate: object = field(default_factory=lambda: np.float32(0.5))


@dataclass
class Thawed:
    """Neither frozen nor named as registered."""

    name: ClassVar[str] = "other"


@pytest.mark.parametrize(
    ("plugin", "kind", "problems"),
    [
        (Fine(), "sampler", [None, None, None]),
        (Fine(), "solver", ["13 characters", None, None]),
        (Silent(), "sampler", [None, "no docstring", "option rate is"]),
        (Thawed(), "kernel", ["calls itself 'other'", None, "not a frozen dataclass"]),
    ],
)
def test_what_it_says_of_itself(plugin, kind, problems, monkeypatch):
    monkeypatch.setattr(plugins, "build", lambda kind, name: plugin)
    monkeypatch.setitem(checks.CHECKS, kind, {})
    found = check_plugin("averylongname", kind)
    assert len(found) == 3
    for result, words in zip(found, problems, strict=True):
        assert (result.problem is None) if words is None else words in result.problem
