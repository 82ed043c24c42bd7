"""`auto`: the rule, equal optima whichever way is taken, and what is told of the choice."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import SVC, LinearSVC
from support.cli import svmlight
from support.problems import blobs, overlapping

from svmkit import SVMClassifier, SVMModel, SVMOneClass, fit, plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear, Poly
from svmkit.kernels.gram import Gram
from svmkit.losses import (
    AbsoluteError,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Quantile,
    SmoothedHinge,
    SquaredError,
    SquaredHinge,
)
from svmkit.problems.box import BoxQP
from svmkit.problems.one_class import OneClassQP
from svmkit.problems.risks.linear_risk import LinearDual, LinearTubeDual
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.auto import SHARE, SMALL, SMALL_ONE_CLASS, Auto, fastest
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Full, Shuffled
from svmkit.solver.stopping import Gap, Iterations, Support
from svmkit.solver.task import Task
from svmkit.training.checkpoint import Checkpoint

GB = 1 << 30


def chosen(problem, m, memory=GB, kernel=None, d=0, loss=None):
    return fastest(Task(problem, kernel or RBF(0.5), m, memory, d=d), loss)[0]


# --- the rule


def test_a_kernel_matrix_that_fits_is_for_smo():
    assert chosen(BoxQP, 2) == chosen(BoxQP, SMALL) == "smo"
    assert chosen(BoxQP, SMALL + 1) == chosen(BoxQP, 500_000) == "fcsmo"
    room = SHARE * 8 * 1000**2
    of_rows = [Gram(RBF(0.5), np.zeros((1000, 1)), memory=memory).dtype for memory in (room, room - 1)]
    assert of_rows == [np.float64, np.float32] and chosen(BoxQP, 1000, room - 1) == "fcsmo"
    assert (chosen(BoxQP, 1000, room), chosen(BoxQP, 1001, room)) == ("smo", "fcsmo")
    assert chosen(OneClassQP, 1000) == chosen(OneClassQP, SMALL_ONE_CLASS) == "smo"
    assert chosen(OneClassQP, SMALL_ONE_CLASS + 1) == chosen(OneClassQP, 1001, room) == "fcsmo"


@pytest.mark.parametrize("m", [2, 1000, 10**7])
def test_one_class_models_have_one_way_at_every_size(m):
    assert chosen(SimplexQP, m) == "fcfw"


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(), AbsoluteError(), Quantile(0.2)])
@pytest.mark.parametrize(
    ("m", "d", "name"),
    [
        (10**6, 990, "newton"),
        (10**6, 991, "dcd"),
        (80, 20, "newton"),
        (79, 20, "dcd"),
        (1000, 200, "newton"),
        (999, 200, "dcd"),
        (10**6, 0, "dcd"),
    ],
)
def test_linear_models_of_losses_with_a_kink_need_fewer_columns_for_newton(loss, m, d, name):
    problem = LinearTubeDual if loss.task == "regress" else LinearDual
    assert chosen(problem, m, kernel=Linear(), d=d, loss=loss) == name


@pytest.mark.parametrize("loss", [SquaredHinge(), SmoothedHinge(), SquaredError(), Huber(), Expectile(0.8)])
@pytest.mark.parametrize(
    ("m", "d", "name"),
    [
        (10**6, 3000, "newton"),
        (10**6, 3001, "dcd+newton"),
        (80, 20, "newton"),
        (79, 20, "dcd"),
        (1000, 200, "newton"),
        (999, 200, "dcd"),
        (999, 1001, "dcd+newton"),
        (999, 1000, "dcd"),
        (2000, 4000, "dcd+newton"),
        (1999, 4000, "dcd"),
        (10**6, 0, "dcd"),
    ],
)
def test_smooth_linear_models_with_few_columns_are_for_newton_and_with_many_for_both(loss, m, d, name):
    problem = LinearTubeDual if loss.task == "regress" else LinearDual
    assert chosen(problem, m, kernel=Linear(), d=d, loss=loss) == name


@pytest.mark.parametrize("loss", ["quantile", "absolute_error", "huber", "epsilon_insensitive", "squared_error"])
def test_linear_models_of_every_loss_of_regression(loss):
    """From the command line as well, which asks for the sampler before the task is known."""
    assert isinstance(Auto(loss=loss).sampler_for(Linear()), Shuffled)
    X, _ = overlapping(300)
    found = fit(X, X[:, 0] + 1.0, solver=Auto(loss=loss), kernel=Linear(), task="regress")
    assert found.status == "converged" and found.choices[0].solver == "newton"


@pytest.mark.parametrize("bias", [1.0, "free"])
def test_both_linear_ways_lead_to_one_optimum(bias):
    X, y = overlapping(300)
    wide = np.hstack([X, np.zeros((300, 100))])  # columns of zeros change nothing but the choice
    one, other = (fit(Z, y, solver=Auto(bias=bias), kernel=Linear(), stop=Gap(1e-8)) for Z in (X, wide))
    assert [f.choices[0].solver for f in (one, other)] == ["newton", "dcd"]
    assert one.objective == pytest.approx(other.objective, rel=2e-8)


@pytest.mark.parametrize("m", [2, 10**7])
@pytest.mark.parametrize("memory", [1, GB])
@pytest.mark.parametrize("kernel", [RBF(0.5), Poly(), Linear()])
@pytest.mark.parametrize("loss", ["auto", "hinge", "squared_hinge"])
@pytest.mark.parametrize("d", [10, 5_000])
def test_the_problem_does_not_depend_on_the_size(m, d, memory, kernel, loss):
    auto = Auto(loss)
    taken = auto.solver_for(Task(auto.problem_for(kernel), kernel, m, memory, d=d))
    assert taken.problem_for(kernel) is auto.problem_for(kernel)
    assert taken.formulation(kernel) == auto.formulation(kernel)
    assert taken.sampler_for(kernel).every and auto.sampler_for(kernel).every


def test_what_is_minimised():
    assert Auto().formulation(RBF(1.0)) == "hinge, free bias"
    assert Auto().formulation(Linear()) == plugins.build(
        "solver", "dcd", {"loss": "squared_hinge", "bias": "free"}
    ).formulation(Linear())
    assert Auto("squared_hinge").formulation(RBF(1.0)) == "squared hinge, free bias"
    assert isinstance(Auto().sampler_for(Linear()), Shuffled) and isinstance(Auto().sampler_for(RBF(1.0)), Full)
    with pytest.raises(InputError, match=r"loss='log' is not known; there are: hinge, squared_hinge"):
        plugins.build("solver", "auto", {"loss": "log"})
    assert plugins.build("solver", "auto", {"loss": "auto"}) == Auto()


# --- equal optima


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("loss", ["auto", "squared_hinge"])
def test_both_ways_lead_to_one_optimum(storage, loss):
    X, y = overlapping(300)
    whole, growing = (
        fit(storage(X), y, solver=Auto(loss), kernel=RBF(0.5), C=3.0, stop=Gap(1e-6), memory=memory)
        for memory in ("1GB", "1MB")
    )
    assert [f.choices[0].solver for f in (whole, growing)] == ["smo", "fcsmo"]
    assert whole.dual_objective <= growing.objective and growing.dual_objective <= whole.objective
    assert whole.objective == pytest.approx(growing.objective, rel=2e-6)


@pytest.mark.parametrize("memory", ["1GB", "1MB"])
def test_it_is_the_optimum_of_libsvm(memory):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    ours = SVMClassifier(tol=1e-6, memory=memory).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), SVC(tol=1e-8).fit(X, y).decision_function(X), atol=1e-2)


def test_with_the_linear_kernel_and_its_bias_it_is_that_of_liblinear():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    ours = SVMClassifier(kernel="linear", tol=1e-9, solver_options={"bias": 1.0}).fit(X, y)
    theirs = LinearSVC(tol=1e-10, max_iter=1_000_000, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_class_pairs_of_one_fit_go_different_ways():
    X, y = blobs(400, 3)
    y = np.where(np.arange(400) % 10 == 0, "c", np.where(y > 0, "a", "b"))  # two small classes pairs, one large
    memory = SHARE * 8 * 300**2
    found = fit(X, y, kernel=RBF(0.5), memory=memory)
    assert [(c.solver, c.n_pairs) for c in found.choices] == [("smo", 2), ("fcsmo", 1)]
    alone = fit(X, y, kernel=RBF(0.5))
    assert [(c.solver, c.n_pairs) for c in alone.choices] == [("smo", 3)]
    assert found.objective == pytest.approx(alone.objective, rel=2e-3)
    assert found.model.about["choice"] == ", ".join(map(str, found.choices))


def test_samples_of_no_weight_do_not_count():
    X, y = overlapping(300)
    weights = np.r_[np.ones(100), np.zeros(200)]
    weights[-50:] = 1.0
    (choice,) = fit(X, y, kernel=RBF(0.5), sample_weight=weights).choices
    assert choice.n_samples == 150


def test_it_solves_a_problem_and_takes_steps_of_its_own():
    X, y = overlapping(80)
    for kernel in (RBF(0.5), Linear()):
        problem = Auto().pose(Gram(kernel, X), y, 1.0)
        assert solve(problem, Auto()).certificate.gap <= 1e-3
        auto = Auto()
        state = auto.init(problem, None, Draws(Full(), problem.y, np.random.default_rng(0)))
        before = auto.step(state).objective
        for _ in range(20):
            auto.step(state)
        assert problem.objective(auto.solution(state)) <= before


def test_a_checkpoint_goes_on_the_other_way(tmp_path):
    X, y = overlapping(300)
    options = {"kernel": RBF(0.5), "C": 10.0}
    path = tmp_path / "c.ckpt"
    first = fit(X, y, stop=Iterations(30), checkpoint=Checkpoint(path), **options)
    later = fit(X, y, memory="1MB", checkpoint=Checkpoint(path, resume=True), **options)
    assert (first.choices[0].solver, later.choices[0].solver) == ("smo", "fcsmo")
    assert later.gap <= 1e-3 < first.gap


# --- a limit on support vectors


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear()])
def test_a_limit_on_support_vectors_hands_over(kernel):
    X, y = overlapping(200)
    found = fit(X, y, kernel=kernel, stop=Gap(1e-3) | Support(10))
    assert found.model.about["solver"] == "swap2o" and not found.choices and len(found.support) <= 10
    assert fit(X, y, kernel=RBF(0.5), solver=Auto("hinge"), stop=Support(10)).model.about["solver"] == "auto"
    model = SVMClassifier(kernel=kernel, max_support=10).fit(X, y)
    assert len(model.support_vectors_) <= 10 and model.predict(X).shape == (200,)
    assert SVMOneClass(max_support=10).fit(X).model_.about["solver"] == "swap2o"


# --- what is told


def test_the_defaults():
    assert SVMClassifier().solver == SVMOneClass().solver == "auto"
    about = SVMOneClass().fit(load_iris().data).model_.about
    assert (about["solver"], about["choice"][:4]) == ("auto", "fcfw")
    assert fit(*overlapping(60), kernel=RBF(0.5), solver="smo").choices == []


def test_the_command_says_what_it_took(alone, svmkit):
    done = svmkit("train", "iris", "--no-track", "--json", "--out", "m.model")
    told = "smo for 3 class pairs of up to 100 samples (the kernel matrix fits)"
    assert done.err == f"svmkit: auto: {told}\n"
    result = json.loads(done.out)
    assert result["solver"] == "auto" and result["formulation"] == "hinge, free bias"
    choice = {"solver": "smo", "why": "the kernel matrix fits", "n_pairs": 3, "n_samples": 100, "what": "class pairs"}
    assert result["choice"] == [choice]
    assert SVMModel.load("m.model").about["choice"] == told
    assert "auto (smo) on BoxQP" in svmkit("train", "iris", "--no-track").out
    assert "auto (newton) on LinearDual" in svmkit("train", "iris", "--no-track", "--kernel", "linear").out


def test_another_solver_chooses_nothing(svmkit):
    done = svmkit("train", svmlight(), "--solver", "smo", "--no-track", "--json")
    assert done.err == "" and json.loads(done.out)["choice"] is None


def test_a_loss_for_every_kernel(train):
    for kernel, problem in (("rbf", "BoxQP"), ("linear", "LinearDual")):
        for loss in ("hinge", "squared_hinge"):
            result = train(svmlight(), "--kernel", kernel, "-o", f"loss={loss}")
            assert result["problem"] == problem and result["formulation"].startswith(loss.replace("_", " "))


def test_with_a_limit_the_command_is_that_of_swap2o(train):
    result = train(svmlight(), "--max-support", "8")
    assert (result["solver"], result["problem"], result["choice"]) == ("swap2o", "SimplexQP", None)
