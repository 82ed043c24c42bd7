"""Stop rules as text: one spelling, wherever a user may write them."""

import pytest
from sklearn.exceptions import ConvergenceWarning
from support.cli import svmlight
from support.problems import overlapping

from svmkit import SVMClassifier
from svmkit.compare.plan.spec import read
from svmkit.errors import InputError
from svmkit.solver import Absolute, Epochs, Gap, Iterations, Seconds, Stop, Support, Violation, parse_stop
from svmkit.solver.stopping import stop_rules

pytestmark = pytest.mark.usefixtures("alone")

SEVERAL = "gap:1e-12|iter:4|seconds:60"


def test_one_rule_is_a_criterion_and_several_are_a_stop():
    assert parse_stop("gap:1e-3") == Gap(1e-3)
    assert parse_stop("gap:1e-3|iter:1000|seconds:60") == Gap(1e-3) | Iterations(1000) | Seconds(60)
    assert parse_stop(" abs:1e-6 |  epochs:5 | support:9|kkt:1e-2") == Stop(
        (Absolute(1e-6), Epochs(5), Support(9), Violation(1e-2))
    )


def test_budgets_join_the_rules_of_a_text():
    rules = stop_rules("gap:1e-3|iter:10", 1.0, time_limit=3.0)
    assert rules == Gap(1e-3) | Iterations(10) | Seconds(3.0)
    every = stop_rules(None, 1e-2, max_iter=1, max_epochs=2.0, time_limit=3.0, max_support=4)
    assert every == Gap(1e-2) | Iterations(1) | Epochs(2.0) | Seconds(3.0) | Support(4)
    assert stop_rules(Violation(0.5), 1e-2) == Violation(0.5) and stop_rules(None, 1e-2) == Gap(1e-2)


@pytest.mark.parametrize("text", ["|", "gap:1e-3|", "|gap:1e-3", "gap:1e-3||iter:5", "gap:1e-3|5", "gap:1e-3,iter:5"])
def test_every_part_has_to_be_a_rule(text):
    with pytest.raises(InputError, match=r"is not a rule: write one of gap:NUMBER, .*joined with \|"):
        parse_stop(text)


def test_numbers_are_checked_in_every_part():
    with pytest.raises(InputError, match="stop rule iterations needs a number > 0, not -5"):
        parse_stop("gap:1e-3|iter:-5")


def test_a_limit_of_support_vectors_is_one_at_least():
    assert parse_stop("support:1") == Support(1)
    for text, words in (
        ("support:0.99", "needs a number >= 1, not 0.99"),
        ("support:inf", "needs a number > 0, not inf"),
    ):
        with pytest.raises(InputError, match=f"stop rule support {words}"):
            parse_stop(text)


def test_train(train, refused):
    found = train(svmlight(), "--solver", "fw", "--stop", SEVERAL)
    assert (found["status"], found["n_iter"]) == ("max_iter", 4)
    assert train("clouds.svm", "--stop", "abs:1e-2 | iter:1000")["status"] == "converged"
    refused(["stop='iters:4' is not a rule", "joined with |"], "train", "clouds.svm", "--stop", "gap:1e-3|iters:4")


def test_train_from_a_configuration_file(train, tmp_path):
    (tmp_path / "c.yaml").write_text(f"stop: {SEVERAL}\nsolver: fw\n")
    assert train(svmlight(), "--config", "c.yaml")["n_iter"] == 4


def test_tune(svmkit, refused):
    grid = ("tune", svmlight(), "--solver", "fw", "--grid", "C=1", "--cv", 2, "--no-track", "--json", "--stop")
    assert svmkit(*grid, SEVERAL).json["refit"]["n_iter"] == 4
    refused(["stop='soon' is not a rule"], *grid, "gap:1e-3|soon")


def test_estimators():
    X, y = overlapping()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        fitted = SVMClassifier("fw", stop="gap:1e-3|iter:4").fit(X, y)
    assert fitted.n_iter_ == 4
    with pytest.raises(InputError, match="'soon' is not a rule"):
        SVMClassifier("fw", stop="gap:1e-3|soon").fit(X, y)


def test_comparisons():
    spec = {"data": "iris", "solvers": "smo"}
    assert read(spec | {"stop": SEVERAL}).stop == {"": SEVERAL}
    with pytest.raises(InputError, match="'soon' is not a rule"):
        read(spec | {"stop": "gap:1e-3|soon"})
