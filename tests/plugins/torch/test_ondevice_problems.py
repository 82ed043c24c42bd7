"""Every dual of a piecewise loss on a device: the problems certify the points, and other solvers find the optimum."""

import numpy as np
import pytest
from sklearn.svm import SVR, NuSVC, NuSVR, OneClassSVM

import svmkit
from svmkit import Gram, InputError, plugins, solve
from svmkit.kernels import RBF, Linear
from svmkit.losses import Quantile
from svmkit.problems import BoxQP, SimplexQP
from svmkit.problems.nu_dual import NuBoxQP, NuTubeQP
from svmkit.problems.one_class import OneClassQP
from svmkit.problems.simplex import SquaredHinge
from svmkit.problems.tube import BiasedTubeQP, TubeQP
from svmkit.solver.smo.boxes import Box

torch = pytest.importorskip("torch", reason="needs pip install 'svmkit[torch]'")
from svmkit_torch.ondevice.answer import Profile  # noqa: E402
from svmkit_torch.ondevice.batch import best_weights  # noqa: E402
from svmkit_torch.ondevice.forms import form_of  # noqa: E402
from svmkit_torch.ondevice.many import solve_many  # noqa: E402
from svmkit_torch.ondevice.posed import Posed  # noqa: E402
from svmkit_torch.values import DeviceRows  # noqa: E402

GAP, KERNEL = 1e-3, RBF(0.3)


def drawn(m=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    y = np.where(X[:, 0] + 0.6 * rng.normal(size=m) > 0.1, 1.0, -1.0)
    return X, y, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=m) + 7.0, rng.uniform(0.5, 4.0, m)


POSES = {
    "squared_hinge": lambda gram, y, t, C: BoxQP(gram, y, C, loss="squared_hinge"),
    "smoothed_hinge": lambda gram, y, t, C: BoxQP(gram, y, C, loss="smoothed_hinge"),
    "epsilon_insensitive": lambda gram, y, t, C: TubeQP(gram, t, C, 0.1),
    "squared_epsilon_insensitive": lambda gram, y, t, C: TubeQP(gram, t, C, 0.1, loss="squared_hinge"),
    "absolute_error": lambda gram, y, t, C: TubeQP(gram, t, C, loss="absolute_error"),
    "squared_error": lambda gram, y, t, C: TubeQP(gram, t, C, loss="squared_error"),
    "huber": lambda gram, y, t, C: TubeQP(gram, t, C, loss="huber"),
    "quantile": lambda gram, y, t, C: TubeQP(gram, t, C, loss=Quantile(tau=0.9)),
    "expectile": lambda gram, y, t, C: TubeQP(gram, t, C, loss="expectile"),
    "regularised bias": lambda gram, y, t, C: BiasedTubeQP(gram, t, C, 0.1, loss="squared_hinge"),
    "regularised bias, no ridge": lambda gram, y, t, C: BiasedTubeQP(gram, t, C, 0.1),
    "simplex": lambda gram, y, t, C: SquaredHinge(gram, y, C),
    "one class": lambda gram, y, t, C: OneClassQP(gram, 0.3, C),
    "one class, squared": lambda gram, y, t, C: SimplexQP(gram, ridge=0.15 * C.sum() / C),
    "nu-SVC": lambda gram, y, t, C: NuBoxQP(gram, y, C, 0.5),
    "nu-SVR": lambda gram, y, t, C: NuTubeQP(gram, t, C, 0.4),
}


def solved(where, name, X, y, t, C, memory=None, kernel=KERNEL):
    """Return the problem on the host, the answer of the device, and how it came about."""
    pose, profile = POSES[name], Profile(torch.device(where))
    box = Box(np.arange(len(y)), y, C, lambda gram: pose(gram, y, t, C))
    [answer] = solve_many(DeviceRows(kernel, X, where), [box], GAP, memory=memory, profile=profile)
    return pose(Gram(kernel, X), y, t, C), answer, profile


def assert_proven(problem, answer, gap=GAP):
    """The host accepts the point and certifies it."""
    assert problem.infeasible(answer.beta) is None
    ours, judged = answer.certificate, problem.certificate(answer.beta)
    assert ours.gap <= gap and judged.gap <= gap
    assert np.isclose(ours.primal, judged.primal, rtol=1e-9) and np.isclose(ours.dual, judged.dual, rtol=1e-9)


def solver_of(problem):
    """Return the solver of the host for a problem."""
    regularised = isinstance(problem, BiasedTubeQP | SimplexQP)
    return plugins.build("solver", "fcfw" if regularised else "smo")


def interval(certificate):
    return certificate.dual, certificate.primal


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in POSES if name != "regularised bias, no ridge"])
def test_the_optimum_is_that_of_the_solver_on_the_host(where, name):
    problem, answer, _ = solved(where, name, *drawn())
    assert_proven(problem, answer)
    theirs = solve(problem, solver_of(problem)).certificate
    if not isinstance(problem, NuBoxQP | NuTubeQP):  # of which each point has a C or a tube of its own
        (low, high), (least, most) = interval(answer.certificate), interval(theirs)
        assert low <= most + 1e-9 * abs(most) and least <= high + 1e-9 * abs(high)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in POSES if not name.startswith("nu-")])
def test_a_working_set_takes_them_too(where, name):
    X, y, t, C = drawn(500)
    problem, answer, profile = solved(where, name, X, y, t, C, memory=60_000)
    assert profile.counts["rounds"]
    assert_proven(problem, answer)


@pytest.mark.parametrize("name", ["nu-SVC", "nu-SVR"])
def test_two_constraints_are_left_to_others_where_the_matrix_does_not_fit(where, name):
    _, answer, profile = solved(where, name, *drawn(), memory=1000)
    assert answer.certificate.gap is None and not profile.counts


@pytest.mark.slow
def test_the_models_are_those_of_libsvm(where):
    X, y, t, _ = drawn(100)
    C, ones, gamma = 3.0, np.ones(len(y)), 0.3
    given = {"kernel": "rbf", "gamma": gamma, "tol": 1e-7}

    def decision(name, kernel=KERNEL, C=C):
        problem, answer, _ = solved(where, name, X, y, t, C * ones, kernel=kernel)
        made = problem.decision_function(answer.beta, problem.certificate(answer.beta))
        return Gram(kernel, X).matvec(made.coef, np.arange(len(y))) + made.intercept

    svr = SVR(C=C, epsilon=0.1, **given).fit(X, t)
    w = svr.dual_coef_[0] @ Gram(KERNEL, X).block(svr.support_, svr.support_) @ svr.dual_coef_[0]
    theirs = 0.5 * w + C * np.maximum(np.abs(t - svr.predict(X)) - 0.1, 0.0).sum()
    problem, answer, _ = solved(where, "epsilon_insensitive", X, y, t, C * ones)
    assert answer.certificate.dual <= theirs * (1.0 + 1e-6) and answer.certificate.primal <= theirs * (1.0 + GAP)
    # the strong convexity of |w|^2 bounds how far values are from those of the optimum
    near = np.sqrt(2.0 * GAP * theirs) + 0.05
    assert np.abs(decision("epsilon_insensitive") - svr.predict(X)).max() <= near
    assert np.abs(decision("nu-SVR") - NuSVR(C=C, nu=0.4, **given).fit(X, t).predict(X)).max() <= near
    classes = NuSVC(nu=0.5, **given).fit(X, y)
    assert np.mean(np.sign(decision("nu-SVC")) == np.sign(classes.decision_function(X))) > 0.98
    problem, answer, _ = solved(where, "one class", X, y, t, ones)
    found = OneClassSVM(nu=0.3, **given).fit(X)
    alpha = np.zeros(len(y))
    alpha[found.support_] = found.dual_coef_[0]
    assert problem.objective(answer.beta) <= problem.objective(alpha) * (1.0 + GAP)


@pytest.mark.parametrize("name", ["squared_hinge", "nu-SVC", "simplex"])
def test_problems_of_different_sizes_share_a_batch(where, name):
    X, y, t, C = drawn()
    pose, parts = POSES[name], [np.arange(160), np.arange(0, 160, 2), np.arange(30, 130)]
    boxes = [Box(at, y[at], C[at], lambda gram, at=at: pose(gram, y[at], t[at], C[at])) for at in parts]
    for at, answer in zip(parts, solve_many(DeviceRows(KERNEL, X, where), boxes, GAP), strict=True):
        assert_proven(pose(Gram(KERNEL, X[at]), y[at], t[at], C[at]), answer)


@pytest.mark.slow
@pytest.mark.parametrize("C", [1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("name", ["squared_hinge", "epsilon_insensitive", "regularised bias"])
def test_small_and_large_costs(where, name, C):
    X, y, t, _ = drawn(80)
    problem, answer, _ = solved(where, name, X, y, t, np.full(len(y), C))
    assert_proven(problem, answer)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(POSES))
def test_duplicates_and_weights_of_many_sizes(where, name):
    X, y, t, C = drawn(40)
    X, y, t = np.vstack([X, X[:20]]), np.concatenate([y, -y[:20]]), np.concatenate([t, t[:20]])
    C = np.concatenate([C, 10.0 * C[:20]])
    problem, answer, _ = solved(where, name, X, y, t, C)
    assert problem.infeasible(answer.beta) is None
    gap = answer.certificate.gap
    # what is not proven says so, and the host agrees
    assert gap is None or gap > GAP or problem.certificate(answer.beta).gap <= GAP * (1.0 + 1e-9)


def test_a_constant_target_is_the_bias(where):
    X, y, _, C = drawn(40)
    _, answer, _ = solved(where, "epsilon_insensitive", X, y, np.full(40, 3.5), C)
    assert not answer.beta.any() and answer.certificate.primal == 0.0


def test_the_linear_kernel(where):
    X, y, t, C = drawn(60)
    problem, answer, _ = solved(where, "squared_epsilon_insensitive", X, y, t, C, kernel=Linear())
    assert_proven(problem, answer)


@pytest.mark.parametrize("name", ["huber", "squared_hinge"])
def test_weights_that_rounding_keeps_from_their_sum_are_certified_as_a_feasible_point_near_by(where, name):
    X, y, t, _ = drawn(40)
    C = np.logspace(-6.0, 6.0, 40)
    one = Posed(DeviceRows(KERNEL, X, where), Box(np.arange(40), y, C, lambda gram: POSES[name](gram, y, t, C)))
    problem, rng = POSES[name](Gram(KERNEL, X), y, t, C), np.random.default_rng(0)
    a = one.form.start + rng.uniform(0.0, 1e-4, one.form.start.shape) * np.minimum(one.form.upper - one.form.start, 1.0)
    moved = one.form.make_point(a)
    point, certificate, v = one.certify(a)
    assert problem.infeasible(moved) is not None and problem.infeasible(point) is None and np.isfinite(v).all()
    ours = problem.certificate(point)
    assert np.isclose(certificate.primal, ours.primal, rtol=1e-9) and certificate.flaw is None
    assert np.abs(point - moved).max() <= 1e-3 * max(1.0, np.abs(moved).max())


def test_a_problem_without_a_form_is_refused():
    X, y, _, C = drawn(20)
    with pytest.raises(InputError, match="BoxQP is not solved on a device"):
        form_of(BoxQP(Gram(KERNEL, X), y, C, loss="logistic"))


def test_bounds_that_replace_infinite_ones_are_beyond_the_optimum():
    X, y, t, C = drawn(80)
    for name in ("squared_hinge", "squared_epsilon_insensitive", "regularised bias", "simplex", "expectile"):
        problem = POSES[name](Gram(KERNEL, X), y, t, C)
        form = form_of(problem)
        assert np.isfinite(form.upper).all()
        point = solve(problem, solver_of(problem)).point
        if name == "simplex":
            point = point / problem.objective(point)  # beta
        assert form.upper.max() > np.abs(point).max()


def test_best_weights_are_minimisers():
    slope = torch.tensor([-3.0, -3.0, 2.0, -3.0, 0.5], dtype=torch.float64)
    ridge, upper = torch.tensor([2.0, 0.0, 1.0, 0.5, 0.0]).double(), torch.tensor([5.0, 4.0, 9.0, 2.0, 1.0]).double()
    assert best_weights(slope, ridge, upper).tolist() == [1.5, 4.0, 0.0, 2.0, 0.0]


FITS = {
    "regression": ({"task": "regress"}, 1),
    "quantiles": ({"task": "regress", "loss": Quantile(tau=(0.1, 0.9))}, 2),
    "nu-SVR": ({"task": "regress", "nu": 0.4}, 1),
    "fcfw": ({"task": "regress", "solver": "fcfw"}, 1),
    "one class": ({"task": "outliers", "nu": 0.2}, 1),
    "one class, fcfw": ({"task": "outliers", "nu": 0.2, "solver": "fcfw"}, 1),
    "class pairs": ({"loss": "squared_hinge"}, 3),
    "class pairs, fcfw": ({"solver": "fcfw"}, 3),
    "class pairs, nu": ({"nu": 0.3}, 3),
}


@pytest.mark.parametrize("name", list(FITS))
def test_fits_of_all_tasks_are_solved_by_the_engine(boxes, device, name):
    X, _, t, _ = drawn()
    options, calls = FITS[name]
    task = options.get("task", "classify")
    target = {"regress": t, "outliers": None, "classify": np.digitize(X[:, 0], [-0.4, 0.5])}[task]
    cost = {} if task == "outliers" else {"C": 2.0}
    ours, theirs = (svmkit.fit(X, target, kernel=KERNEL, device=at, **cost, **options) for at in (device, None))
    assert boxes == [calls]
    assert all(solution.certificate.gap <= GAP for solution in ours.solutions)
    for one, other in zip(ours.solutions, theirs.solutions, strict=True):
        if "nu" not in options or task == "outliers":  # each point of nu has a C or a tube of its own
            (low, high), (least, most) = interval(one.certificate), interval(other.certificate)
            assert low <= most + 1e-9 * abs(most) and least <= high + 1e-9 * abs(high)
    answers = [fitted.model.predict(X) for fitted in (ours, theirs)]
    if task == "regress":
        assert np.abs(answers[0] - answers[1]).max() < 0.2
    else:  # rows at the boundary of one class may be on either side
        assert np.mean(answers[0] == answers[1]) > (0.8 if task == "outliers" else 0.95)


def test_an_infeasible_nu_is_the_line_of_the_host(device):
    X, y, _, _ = drawn()
    with pytest.raises(InputError, match=r"nu=0\.999 is infeasible"):
        svmkit.fit(X, y, kernel=KERNEL, device=device, nu=0.999)
