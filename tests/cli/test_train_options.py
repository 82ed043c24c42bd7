"""`svmkit train`: its options, from the command line and from a configuration file."""

from pathlib import Path

import pytest
from support.cli import people, svmlight
from support.problems import write

pytestmark = pytest.mark.usefixtures("alone")

STATUSES = {"converged", "max_iter", "time_limit", "max_support", "interrupted", "stalled", "not_certified"}


def test_config_file_and_command_line(train):
    write("c.yaml", "solver: mfw\ntol: 1e-3\nC: 5e-1\nmax-iter: 7\nscale: standard\noption:\n  kernel.gamma: 0.25\n")
    result = train("--config", "c.yaml", "-C", "2")
    assert result["solver"] == "mfw" and result["params"]["C"] == 2.0 and result["params"]["tol"] == 1e-3
    assert result["n_iter"] == 7 and result["kernel"]["params"]["gamma"] == 0.25
    assert train("--config", "c.yaml")["params"]["C"] == 0.5


@pytest.mark.slow
def test_command_line_wins_even_with_the_default(train):
    write("c.yaml", "solver: mfw\nC: 7\nmax_iter: 3\n")
    result = train("iris", "--config", "c.yaml", "-C", "1.0", "--solver", "swap2o")
    assert result["solver"] == "swap2o" and result["params"]["C"] == 1.0
    assert result["n_iter"] == 9  # three pairs of classes


@pytest.mark.slow
def test_config_data_flags_and_lists(train):
    write("c.yaml", "data: iris\ntest_size: 0.2\noption: [kernel.gamma=0.5]\nclass-weight: balanced\nout: m.model\n")
    result = train("--config", "c.yaml")
    assert result["data"] == "iris" and result["n_test"] == 30 and result["kernel"]["params"] == {"gamma": 0.5}
    assert Path("m.model").exists()
    assert train("wine", "--config", "c.yaml")["data"] == "wine"


def test_config_no_track(svmkit):
    write("c.yaml", "no_track: true\n")
    assert svmkit("train", "iris", "--config", "c.yaml", "--json").json["run_id"] is None
    assert not Path("mlflow.db").exists()


@pytest.mark.parametrize("text", ["", "# nothing\n", "test:\nstop: null\n"])
def test_config_that_says_nothing(train, text):
    assert train("iris", "--config", write("c.yaml", text))["status"] == "converged"


def test_config_takes_numbers_where_the_command_line_takes_text(train):
    people("train.csv", order=("answer", "score", "age", "city"))
    write("c.yaml", "gamma: 0.25\nlabel: 0\nmemory: 1000000\nseed: 3\ntol: 1e-2\nC: 2\ntime-limit: 60\n")
    result = train("train.csv", "--config", "c.yaml")
    assert result["kernel"]["params"] == {"gamma": 0.25} and result["params"]["C"] == 2.0
    assert result["params"]["seed"] == 3 and result["classes"] == ["no", "yes"]


def test_kernel_option(train):
    a = train("iris", "--kernel", "poly", "-o", "kernel.degree=2", "-o", "kernel.gamma=0.1", "-o", "kernel.coef0=1")
    b = train("iris", "--kernel", "poly", "--degree", "2", "--gamma", "0.1", "--coef0", "1")
    assert a["kernel"] == b["kernel"] == {"name": "poly", "params": {"gamma": 0.1, "degree": 2, "coef0": 1.0}}
    assert a["objective"] == b["objective"]


def test_solver_option(train, monkeypatch):
    """-o KEY=VALUE reaches the solver, with the type of its default."""
    from dataclasses import dataclass

    from svmkit import plugins

    swap2o = plugins.load("solver", "swap2o")

    @dataclass(frozen=True)
    class Tuned(swap2o):
        """SWAP with options."""

        eta: float = 0.5
        rounds: int = 2
        eager: bool = False

    load = plugins.load
    monkeypatch.setattr(plugins, "load", lambda kind, name: Tuned if name == "tuned" else load(kind, name))
    params = train("iris", "--solver", "tuned", "-o", "eta=1e-3", "-o", "rounds=9", "-o", "eager=yes")["params"]
    assert (params["eta"], params["rounds"], params["eager"]) == (1e-3, 9, True)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_kernels(train, svmkit, kernel):
    result = train("iris", "--kernel", kernel, "--out", "m.model")
    assert result["kernel"]["name"] == kernel and result["status"] == "converged" and result["gap"] <= 1e-3
    assert result["train_accuracy"] > 0.9
    assert svmkit("evaluate", "m.model", "iris", "--json").json["test_accuracy"] == result["train_accuracy"]


def test_sigmoid_kernel(train):
    result = train("wine", "--scale", "standard", "--kernel", "sigmoid", "--gamma", "0.01", "--coef0", "0", "-C", "0.1",
                   "--solver", "swap2o")  # fmt: skip
    assert result["status"] in STATUSES and result["train_accuracy"] > 0.9


@pytest.mark.parametrize("gamma", ["scale", "auto", "msd", "0.125", "1e-1"])
def test_gamma(train, gamma):
    value = train("iris", "--gamma", gamma)["kernel"]["params"]["gamma"]
    assert value == {"0.125": 0.125, "1e-1": 0.1, "auto": 0.25}.get(gamma, value) and value > 0


@pytest.mark.parametrize("sampler", ["full", "uniform:7", "uniform", "balanced:8", "cyclic:5", "permuted:5"])
def test_samplers(train, sampler):
    result = train(svmlight(), "--sampler", sampler)
    assert result["status"] == "converged" and result["gap"] <= 1e-3
    assert result["params"]["sampler"] == {"uniform": "uniform:59"}.get(sampler, sampler)


@pytest.mark.parametrize("solver", ["fw", "mfw", "swap", "swap2o", "partan", "mdm", "sfw", "msfw", "cvm"])
def test_solvers_agree(train, solver):
    best = train(svmlight(), "--solver", "swap2o", "--tol", "1e-6")
    result = train("clouds.svm", "--solver", solver, "--tol", "1e-2")
    assert result["solver"] == solver and result["status"] == "converged"
    assert result["dual_objective"] <= best["objective"] * (1 + 1e-9)
    assert best["dual_objective"] <= result["objective"] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("budget", "status"),
    [
        (("--max-iter", "20"), "max_iter"),
        (("--max-epochs", "15"), "max_iter"),
        (("--time-limit", "0.05"), "time_limit"),
        (("--max-support", "10"), "max_support"),
    ],
)
def test_budgets_end_with_a_model(train, svmkit, budget, status):
    slow = ("--solver", "fw", "--tol", "1e-9", "--scale", "standard")
    result = train(*slow, *budget, "--out", "m.model")
    assert result["status"] == status and result["gap"] > 0 and result["n_support"] > 0
    if status == "max_iter":
        assert result["n_iter"] == int(budget[1])
    assert svmkit("evaluate", "m.model", "breast_cancer", "--json").json["n_test"] == 569


def test_first_of_several_budgets(train):
    assert train("--solver", "fw", "--tol", "1e-9", "--max-iter", "30", "--max-support", "500")["status"] == "max_iter"


def test_stop_absolute(train):
    loose, tight = (train(svmlight(), "--stop", f"abs:{eps}") for eps in ("1e-2", "1e-6"))
    assert loose["status"] == tight["status"] == "converged"
    assert loose["n_iter"] < tight["n_iter"] and loose["gap"] > tight["gap"]
    assert train("clouds.svm", "--stop", "iter:4")["n_iter"] == 4


def test_class_weight(train):
    plain, balanced, named, ones = (
        train("breast_cancer", "--scale", "standard", *w)["dual_objective"]
        for w in (
            (),
            ("--class-weight", "balanced"),
            ("--class-weight", "benign=5,malignant=0.5"),
            ("--class-weight", "benign=1"),
        )
    )
    assert plain == ones and len({plain, balanced, named}) == 3


def test_class_weight_of_numbers(train):
    assert train(svmlight(), "--class-weight", "-1=3,1=1")["status"] == "converged"


def test_memory_and_threads_do_not_change_the_result(train):
    much, little, one = (train("--scale", "standard", *more) for more in ((), ("--memory", "1MB"), ("--threads", "1")))
    for other in (little, one):
        assert other["status"] == "converged"
        assert other["dual_objective"] == pytest.approx(much["dual_objective"], rel=2e-3)


@pytest.mark.parametrize("sampler", ["full", "uniform:7"])
def test_seed_makes_it_reproducible(train, sampler):
    def run(seed):
        result = train("wine", "--scale", "standard", "--test-size", "0.3", "--seed", seed, "--sampler", sampler)
        return {key: value for key, value in result.items() if key != "fit_s"}

    assert run(3) == run(3)
    assert run(3)["objective"] != run(4)["objective"]


def test_checkpoint_and_resume(train):
    slow = ("--solver", "fw", "--tol", "1e-9", "--scale", "standard", "--checkpoint", "c.ckpt")
    first = train(*slow, "--max-iter", "40")
    assert Path("c.ckpt").exists() and first["n_iter"] == 40
    step = train(*slow, "--max-iter", "41", "--resume")
    assert step["n_iter"] == 41 and step["dual_objective"] >= first["dual_objective"]
    second = train(*slow, "--max-iter", "100", "--resume")
    straight = train(*slow[:-2], "--max-iter", "100")
    assert second["n_iter"] == 100 and second["dual_objective"] > step["dual_objective"]
    assert second["dual_objective"] == pytest.approx(straight["dual_objective"], rel=1e-6)
    fresh = train(*slow, "--max-iter", "10")  # without --resume the file is begun anew
    assert fresh["n_iter"] == 10 and fresh["dual_objective"] < first["dual_objective"]


def test_resume_without_a_file_begins(train):
    assert train("iris", "--checkpoint", "c.ckpt", "--resume")["status"] == "converged"


def test_resume_of_a_finished_run_stays_converged(train):
    first = train("iris", "--checkpoint", "c.ckpt")
    again = train("iris", "--checkpoint", "c.ckpt", "--resume")
    assert again["status"] == "converged" and again["n_iter"] >= first["n_iter"]
    assert again["n_iter"] <= first["n_iter"] + 60


def test_resume_with_a_sampler(train):
    args = (svmlight(), "--sampler", "uniform:5", "--tol", "1e-7", "--checkpoint", "c.ckpt")
    first = train(*args, "--max-iter", "20")
    assert train(*args, "--max-iter", "60", "--resume")["n_iter"] > first["n_iter"] == 20
