"""Every solver of linear problems with a free bias: it reaches the optimum of LIBSVM's form, on ugly data as well."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.svm import SVC, SVR
from support.problems import blobs, make

from svmkit import SVMClassifier, SVMRegressor, plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.box import BoxQP
from svmkit.problems.tube import TubeQP
from svmkit.solver.auto import Auto
from svmkit.solver.loop.free_bias import _Search
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.train import fit

LINEAR = plugins.solvers_where(
    lambda solver: (
        solver.problem_for(Linear()).is_linear
        and not solver.external
        and solver.name != "auto"
        and "hinge" in solver.loss_names("classify")
    )
)
CERTIFIED = [name for name in LINEAR if plugins.load("solver", name).certified]
every_linear = pytest.mark.parametrize("name", LINEAR)


def optimum(X, y, C, loss="hinge", qp=BoxQP):
    return solve(
        qp(Gram(Linear(), X), y, C, loss=loss), make("smo", loss=loss), stop=Gap(1e-6) | Iterations(300_000)
    ).certificate


def of_blobs(m=150, **data):
    return blobs(m, 4, seed=1, share=data.pop("share", 0.25), **data)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@every_linear
def test_bounds_enclose_the_optimum_of_libsvms_form(name, loss):
    X, y = of_blobs()
    best = optimum(X, y, 0.5, loss)
    solver = make(name, loss=loss, bias="free")
    found = solve(solver.pose(Gram(Linear(), X), y, 0.5), solver, stop=Gap(1e-3)).certificate
    assert found.dual <= best.primal and best.dual <= found.primal
    assert found.primal <= best.primal * (1.003 if name in CERTIFIED else 1.02)
    if name in CERTIFIED:
        assert found.gap <= 1e-3


@pytest.mark.parametrize("C", [1e-4, 1.0, pytest.param(1e3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CERTIFIED)
def test_of_targets(name, C):
    X, _ = of_blobs(80)
    t = X @ [1.0, -2.0, 0.0, 0.5] + 1e4 + np.random.default_rng(0).normal(size=80)
    best = optimum(X, t, C, qp=TubeQP)
    solver = make(name, loss="hinge", bias="free")
    solution = solve(solver.pose_regression(Gram(Linear(), X), t, C, 0.1), solver, stop=Gap(1e-3))
    assert solution.status is Status.CONVERGED
    assert solution.certificate.dual <= best.primal and best.dual <= solution.certificate.primal


def ugly():
    X, y = of_blobs(60)
    few = np.where(np.arange(200) < 3, 1.0, -1.0)
    wide = np.random.default_rng(0).normal(size=(30, 500))
    yield "one of each", np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])
    yield "duplicates", np.repeat(X[:6], 10, axis=0), y
    yield "nothing but zeros", np.zeros((10, 2)), np.where(np.arange(10) < 3, 1.0, -1.0)
    yield "97 to 3", blobs(200, 2, seed=4)[0], few
    yield "a constant column", np.column_stack([X, np.full(60, 1e3)]), y
    yield "far from the origin", X + 1e4, y
    yield "wide", wide, np.where(np.arange(30) < 5, 1.0, -1.0)
    yield "float32", X.astype(np.float32), y
    yield "explicit zeros", sp.csr_array((np.where(X > 0, X, 0.0).ravel(), np.tile(np.arange(4), 60),
                                          np.arange(0, 241, 4))), y  # fmt: skip


@pytest.mark.parametrize("C", [1e-4, 1.0, pytest.param(1e6, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("X", "y"), [case[1:] for case in ugly()], ids=[case[0] for case in ugly()])
def test_on_ugly_data_the_claim_is_true(X, y, C):
    solver = make("dcd", loss="squared_hinge", bias="free")
    solution = solve(solver.pose(Gram(Linear(), X), y, C), solver, stop=Gap(1e-3) | Iterations(20_000))
    certificate, best = solution.certificate, optimum(X, y, C, "squared_hinge")
    slack = 1e-9 * max(best.primal, 1e-12)
    assert certificate.dual is None or certificate.dual <= best.primal + slack
    assert best.dual is None or best.dual <= certificate.primal + slack
    if solution.status is Status.CONVERGED:
        assert certificate.gap <= 1e-3


def test_auto_leaves_the_bias_free():
    assert Auto().formulation(Linear()) == "squared hinge, free bias"
    assert Auto().formulation(Linear(), "regress") == "epsilon-insensitive, free bias"
    assert Auto(bias=1.0).formulation(Linear()) == make("dcd", loss="squared_hinge").formulation(Linear())
    X, y = of_blobs(40)
    assert fit(X, y, kernel=Linear(), solver=Auto(bias=0.0)).model.intercept.tolist() == [0.0]
    with pytest.raises(InputError, match=r"bias=1\.0 is an option of the linear kernel"):
        fit(X, y, kernel=RBF(0.5), solver=Auto(bias=1.0))
    assert make("auto", bias="2.5").bias == 2.5
    with pytest.raises(InputError, match="should be a number or free"):
        make("auto", bias="none")


class Shifted:
    """A problem whose best bias is `shift_of` the centre away from it, and the solver that finds it."""

    def __init__(self, shift_of, centre=0.0):
        self.shift_of, self.centre = shift_of, centre
        self.m, self.goal, self.best_bias = 1, None, lambda decision: 0.0

    def around(self, centre):
        return Shifted(self.shift_of, centre)

    def bias_of(self, point):
        return self.shift_of(self.centre)

    def init(self, near, point, draws):
        return point

    def solution(self, state):
        return state

    def move(self, point, by):
        return point

    def take_over(self, near):
        pass

    def drop_points(self):
        pass


@pytest.mark.parametrize(
    ("shift_of", "centres"),
    [
        (lambda c: 0.5 * (3.0 - c), [0.0, 1.5, 3.0]),  # a line: its secant is 0 at the best bias
        (lambda c: 1.0 + c, [0.0, 1.0, 3.0]),  # rises: no secant points on, so that the bias is the next centre
        (lambda c: 1.0 - c / 200.0, [0.0, 1.0, 1.0 + 50.0 * 0.995]),  # next to level: the secant goes 50 shifts at most
        (lambda c: {0.0: 4.0, 4.0: -1.0}.get(c, 1.0), [0.0, 4.0, 3.2]),
    ],
    ids=["a line", "rises", "next to level", "between"],
)
def test_the_centre_moves_to_where_the_secant_of_its_shifts_is_zero(shift_of, centres):
    problem = Shifted(shift_of)
    search = _Search(problem, problem, None, problem)
    for centre in centres:
        assert search.centre == pytest.approx(centre)
        search.move()


def test_the_linear_hinge_is_that_of_svc():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    ours = SVMClassifier(kernel="linear", solver_options={"loss": "hinge"}, tol=1e-7).fit(X, y)
    theirs = SVC(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-2)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-3)


def test_linear_regression_is_that_of_svr():
    X, t = load_diabetes(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    ours, theirs = SVMRegressor(kernel="linear", tol=1e-7).fit(X, t), SVR(kernel="linear", tol=1e-8).fit(X, t)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=0.05)


def rare(seed=0):
    """100 x 4,000 with 17 rows of the rarer class, which differ in 50 columns."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(100) < 17, 1, 0)
    X = rng.standard_normal((100, 4_000))
    X[:17, :50] += 1.5
    return X, y


def test_a_rare_class_keeps_its_columns():
    """With the bias in the penalty the weights have to explain the imbalance, and noise columns do that."""
    X, y = rare()
    ours = SVMClassifier(kernel="linear").fit(X, y)
    theirs = SVC(kernel="linear").fit(X, y)
    hits = [np.count_nonzero(np.argsort(-np.abs(coef.ravel()))[:50] < 50) for coef in (ours.coef_, theirs.coef_)]
    assert abs(hits[0] - hits[1]) <= 2 and hits[0] >= 10
    held = np.random.default_rng(9).standard_normal((400, 4_000))
    truth = np.arange(400) < 68
    held[truth, :50] += 1.5
    agree = np.mean((ours.predict(held) == 1) == (theirs.predict(held) == 1))
    assert agree >= 0.99
