"""The judge: its numbers are right, every solver's claims are true on ordinary data, and false claims are found."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit import SVMOneClass, fit, plugins
from svmkit.conformance.honesty import false_claim, judge_losses, ordinary
from svmkit.conformance.judging.definitions import Exact, Values, is_indefinite
from svmkit.conformance.judging.judge import costs, couple, judge_fit, judge_one_class, judge_regression
from svmkit.conformance.judging.kinds import judge_all_classes, judge_multinomial, judge_nu
from svmkit.conformance.judging.ranking import judge_ranking
from svmkit.conformance.judging.truth import Objective
from svmkit.conformance.solvers import with_losses
from svmkit.data import Ranks
from svmkit.kernels.functions import RBF, Linear, Sigmoid
from svmkit.losses import Hinge
from svmkit.problems import LinearDual
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds, Support
from svmkit.training.weights import training_weights

TOL = 1e-3
SOLVERS = plugins.solvers_where(lambda solver: True)


def sample(m=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 2, 1, -1)
    return rng.normal(size=(m, 3)) + 0.7 * y[:, None], y


def trained(name="smo", kernel=None):
    X, y = sample()
    solver = plugins.build("solver", name)
    return fit(X, y, solver=solver, kernel=kernel or RBF(0.5), C=10.0, stop=Gap(TOL)), solver


def false_claims(done, solver):
    X, y = sample()
    return judge_fit(done, X, y, solver=solver, C=10.0, tol=TOL)[0].false


def with_certificate(done, **changed):
    first, *others = done.solutions
    return replace(done, solutions=[replace(first, certificate=replace(first.certificate, **changed)), *others])


@pytest.mark.parametrize(
    ("kernel", "params", "value"),
    [
        ("rbf", {"gamma": 0.5}, lambda d, p: math.exp(-0.5 * float(sum(x * x for x in d)))),
        ("laplacian", {"gamma": 0.25}, lambda d, p: math.exp(-0.25 * float(sum(map(abs, d))))),
        ("linear", {}, lambda d, p: float(p)),
        ("poly", {"gamma": 0.5, "degree": 3, "coef0": -1.0}, lambda d, p: float((p / 2 - 1) ** 3)),
    ],
)
def test_values_are_those_of_rational_arithmetic_far_from_the_origin(kernel, params, value):
    X = sample(6)[0] + 1e8
    K = Values(kernel, params, X)(np.arange(6), np.arange(6))
    for i in range(6):
        for j in range(6):
            a, b = ([Fraction(float(x)) for x in X[k]] for k in (i, j))
            difference, product = (
                [p - q for p, q in zip(a, b, strict=True)],
                sum(p * q for p, q in zip(a, b, strict=True)),
            )
            assert float(K[i, j]) == pytest.approx(value(difference, product), rel=1e-14)


def test_values_do_not_depend_on_the_storage():
    X = np.round(sample(20)[0], 1) * (np.arange(3) > 0)  # with a column of zeros
    K = Values("rbf", {"gamma": 0.5}, X)(np.arange(20), np.arange(20))
    for other in (sp.csr_array(X), sp.coo_array(X), np.asfortranarray(X), X.tolist(), X.astype(np.longdouble)):
        np.testing.assert_array_equal(Values("rbf", {"gamma": 0.5}, other)(np.arange(20), np.arange(20)), K)


def test_two_points_have_the_known_optimum():
    """x = 1 and -1, C = 1: w = 1, P = D = 1/2 without a bias; the judge's D comes from the weights alone."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1, -1])
    solver = plugins.build("solver", "dcd", {"bias": 0.0})
    (verdict,) = judge_fit(
        fit(X, y, solver=solver, kernel=Linear(), C=1.0, stop=Gap(1e-9)), X, y, solver=solver, C=1.0, tol=1e-9
    )
    assert not verdict.false
    assert (verdict.primal, verdict.dual) == (pytest.approx(0.5, rel=1e-8), pytest.approx(0.5, rel=1e-8))


CASES = {
    f"{name} {loss}": solver
    for name in SOLVERS
    for loss, solver in with_losses(plugins.build("solver", name), "classify").items()
}


@pytest.mark.parametrize("solver", CASES.values(), ids=CASES)
@pytest.mark.slow
def test_claims_of_every_solver_are_true(solver):
    assert false_claim(solver, ordinary(solver)) is None


def test_the_check_judges_every_loss_of_a_solver(monkeypatch):
    """A solver that claims a wrong P with one loss alone is found out, and the loss is named."""
    solver, certified = plugins.build("solver", "dcd"), LinearDual.certificate

    def lie(self, point):
        certificate = certified(self, point)
        return (
            replace(certificate, primal=0.5 * certificate.primal) if self.loss.name == "smoothed_hinge" else certificate
        )

    assert judge_losses(solver, "classify") is None
    monkeypatch.setattr(LinearDual, "certificate", lie)
    assert judge_losses(solver, "classify").startswith("loss smoothed_hinge, CSR: objective")


def test_ordinary_data_are_of_every_kind():
    assert len(ordinary(plugins.build("solver", "swap"))) == 9 and len(ordinary(plugins.build("solver", "dcd"))) == 6


def test_ordinary_data_are_what_their_names_say():
    cases = ordinary(plugins.build("solver", "smo"), "regress")
    y = cases["CSR"]["y"]
    assert [cases[f"C = {C}"]["C"] for C in ("1e-4", "1e6")] == [1e-4, 1e6] and cases["epsilon = 0"]["epsilon"] == 0.0
    assert np.abs(y).max() < cases["a tube that holds all targets"]["epsilon"]
    for word, size in (("1e6", 1e6), ("1e-6", 1e-6)):  # the same problem in another unit
        case = cases[f"targets of size {word}"]
        np.testing.assert_allclose(case["y"], size * y)
        assert (case["epsilon"], case["C"]) == (pytest.approx(0.1 * size), size)
    np.testing.assert_allclose(cases["targets + 1e6"]["y"] - 1e6, y, atol=1e-9)
    assert len(cases["two samples"]["X"]) == len(np.unique(cases["two samples"]["y"])) == 2
    assert {0.0, 1.0} < set(cases["sample weights"]["sample_weight"])
    assert sp.issparse(cases["CSR"]["X"]) and cases["float32"]["X"].dtype == np.float32


@pytest.mark.parametrize("name", ["swap", "smo", "fcfw"])
def test_a_model_with_a_limit_on_its_vectors_is_judged_too(name):
    X, y = sample(90)
    solver = plugins.build("solver", name)
    done = fit(X, y, solver=solver, kernel=RBF(0.5), C=10.0, stop=Gap(TOL) | Support(12) | Seconds(2.0))
    assert not judge_fit(done, X, y, solver=solver, C=10.0, tol=TOL)[0].false


LIES = {
    "a smaller objective": lambda c: {"primal": 0.9 * c.primal},
    "a bound above the optimum": lambda c: {"dual": 1.01 * c.primal},
    "a better bound than its weights prove": lambda c: {"dual": c.primal, "gap": 0.0},
    "a smaller gap": lambda c: {"gap": c.gap / 2.0},
    "no number": lambda c: {"gap": math.nan},
    "an objective that is no number": lambda c: {"primal": math.nan},
}


@pytest.mark.parametrize("name", ["smo", "swap2o", "dcd", "ocas", "pegasos"])
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_false_claims_are_found(name, lie):
    done, solver = trained(name, Linear() if name in ("dcd", "ocas") else None)
    assert not false_claims(done, solver)
    assert false_claims(with_certificate(done, **lie(done.solutions[0].certificate)), solver)


def test_a_status_that_is_not_true_is_found():
    done, solver = trained()
    early = fit(*sample(), solver=solver, kernel=RBF(0.5), C=10.0, stop=Iterations(3))
    assert not false_claims(early, solver) and early.gap > TOL
    early.solutions[0].status = Status.CONVERGED
    assert any("converged" in said for said in false_claims(early, solver))
    assert not false_claims(done, solver)


def changed_model(done, **changed):
    return replace(done, model=replace(done.model, **changed))


def test_other_coefficients_are_found():
    done, solver = trained()
    coef = done.model.coef.copy()
    coef[0, 0] *= 1.0 + 1e-4
    said = false_claims(changed_model(done, coef=coef), solver)
    assert any("and sum to" in sentence for sentence in said)


def test_another_intercept_is_found():
    done, solver = trained()
    assert false_claims(changed_model(done, intercept=done.model.intercept + 0.1), solver)


def test_wrong_decisions_and_labels_are_found(monkeypatch):
    done, solver = trained()
    kind = type(done.model)
    right = kind.decision_function
    with monkeypatch.context() as patch:
        patch.setattr(kind, "decision_function", lambda self, X: right(self, X) + 0.01)
        assert false_claims(done, solver)[0].startswith("60 decisions of 60")
    monkeypatch.setattr(kind, "predict", lambda self, X: np.ones(60))
    assert any("labels of 60" in said for said in false_claims(done, solver))


def test_a_gap_that_is_not_the_largest_of_the_pairs_is_found(monkeypatch):
    X, y = sample()
    y = np.where(np.arange(60) % 5 == 0, 2, y)
    solver = plugins.build("solver", "smo")
    done = fit(X, y, solver=solver, kernel=RBF(0.5), stop=Gap(0.1))
    monkeypatch.setattr(type(done), "gap", property(lambda self: min(s.certificate.gap for s in self.solutions)))
    (first, *_) = judge_fit(done, X, y, solver=solver, C=1.0, tol=0.1)
    assert any("of all class pairs" in said for said in first.false)


def test_a_bound_of_an_indefinite_kernel_is_no_bound():
    X, y = sample()
    solver = plugins.build("solver", "smo")
    done = fit(X, y, solver=solver, kernel=Sigmoid(0.5, -1.0), C=10.0, stop=Iterations(50))
    honest = with_certificate(done, dual=None, gap=None)
    assert not judge_fit(honest, X, y, solver=solver, C=10.0, tol=TOL)[0].false
    said = judge_fit(with_certificate(done, dual=1.0, gap=0.5), X, y, solver=solver, C=10.0, tol=TOL)[0].false
    assert "indefinite" in said[0]


def test_what_is_indefinite():
    K = np.exp(-np.square(np.subtract.outer(np.arange(9.0), np.arange(9.0))))
    assert not is_indefinite(K.astype(Exact), centred=False)
    assert is_indefinite((K - 0.5).astype(Exact), centred=False)
    assert not is_indefinite((K - 0.5).astype(Exact), centred=True)  # a constant does not matter where weights sum to 0
    assert is_indefinite(-K.astype(Exact), centred=True)


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 3.0}])
@pytest.mark.parametrize("weighted", [False, True])
def test_costs_are_those_of_training(class_weight, weighted):
    y = np.repeat([-1, 1, 2], [5, 3, 9])
    weights = np.arange(17.0) % 4 if weighted else None
    classes, codes = np.unique(y, return_inverse=True)
    expected = 2.0 * training_weights(codes, classes, class_weight, weights)
    np.testing.assert_allclose(costs(y, 2.0, class_weight, weights).astype(float), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("words", "objective"),
    [
        ("hinge, free bias", (None, False)),
        ("hinge, regularised bias", (1.0, False)),
        ("hinge, regularised bias of 2.5", (2.5, False)),
        ("hinge, no bias, l1 penalty", (0.0, True)),
        ("hinge, free bias, elasticnet penalty l1_ratio=0.25", (None, 0.25)),
        ("hinge, free bias, l3 penalty", None),
        ("squared hinge, free bias", None),  # another loss than the solver says
        ("MyProblem, size=3", None),
        ("hinge", None),
    ],
)
def test_objectives_in_words(words, objective):
    found = Objective.from_words(words, Hinge())
    assert objective == (found and (found.bias, found.ratio))


def test_every_formulation_of_a_solver_is_known():
    """Of every loss that it takes, too: a judge that does not know one would pass over it in silence."""
    for name in SOLVERS:
        own = plugins.build("solver", name)
        regresses = own.regression_for(Linear()) or own.regression_for(RBF(0.5))
        for task in ("classify", "regress") if regresses else ("classify",):
            for loss, solver in with_losses(own, task).items():
                for kernel in (Linear(), RBF(0.5)):
                    if all(need.holds(kernel) for need in solver.requires) and (
                        task == "classify" or solver.regression_for(kernel)
                    ):
                        words = solver.formulation(kernel, task)
                        assert Objective.from_words(words, solver.loss_for(kernel, task)), (name, loss, words)


@pytest.mark.parametrize("name", ["folos", "liblinear"])
def test_the_l1_penalty_is_judged(name):
    X, y = sample()
    solver = plugins.build("solver", name, {"penalty": "l1", "loss": "squared_hinge"})
    done = fit(X, y, solver=solver, kernel=Linear(), stop=Gap(1e-2) | Seconds(1.0))
    (verdict,) = judge_fit(done, X, y, solver=solver, C=1.0, tol=1e-2)
    assert not verdict.false
    (verdict,) = judge_fit(
        with_certificate(done, primal=0.5 * (1.0 - done.gap) * done.objective), X, y, solver=solver, C=1.0
    )
    assert verdict.false


@pytest.mark.parametrize(
    "weights",
    [None, np.arange(60) % 4, 10.0 ** np.random.default_rng(0).uniform(-12, 12, 60)],
    ids=["plain", "weights", "weights over 24 decades"],
)
def test_one_class_models_are_judged(weights):
    X, _ = sample()
    machine = SVMOneClass("swap2o", nu=0.1, kernel=RBF(0.5)).fit(X, sample_weight=weights)
    verdict = judge_one_class(machine, X, weights, tol=TOL)
    assert not verdict.false and verdict.primal == pytest.approx(machine.rho_)
    machine.certificate_ = replace(machine.certificate_, dual=1.01 * machine.certificate_.primal)
    assert judge_one_class(machine, X, weights).false


@pytest.mark.parametrize(("way", "held"), [("size", 0.5), ("size", 2.0), ("sum", 0.5), ("sum", 2.0)])
def test_weights_are_within_what_nu_allows(way, held):
    """Their sizes sum to nu C m at most and they themselves to 0, up to a relative 1e-8."""
    X, y = sample()
    t, solver = np.sin(X[:, 0]) + 0.2 * y, plugins.build("solver", "smo")
    done = fit(X, t, solver=solver, kernel=RBF(0.5), C=2.0, nu=0.4, task="regress", stop=Gap(1e-6))
    most, coef = 0.4 * 2.0 * len(t), done.model.coef
    assert np.abs(coef).sum() == pytest.approx(most, rel=1e-12) and abs(coef.sum()) < 1e-12 * most
    if way == "size":
        coef *= 1.0 + held * 1e-8
    else:  # between the bounds the sizes are as before
        up, down = (np.flatnonzero((sign * coef[0] > 0.1) & (sign * coef[0] < 1.9))[0] for sign in (1.0, -1.0))
        coef[0, [up, down]] += 0.5 * held * 1e-8 * most
    (verdict,) = judge_nu(done, X, t, 0.4, solver=solver, C=2.0, sample_weight=None, tol=1e-6)
    assert any("nu allows 48" in said for said in verdict.false) == (held > 1.0), verdict.false


@pytest.mark.parametrize(("name", "kernel"), [("smo", RBF(0.5)), ("dcd", Linear())])
def test_a_regression_is_judged_by_its_own_weights(name, kernel):
    X, y = sample()
    t, solver = np.sin(X[:, 0]) + 0.2 * y, plugins.build("solver", name)
    done = fit(X, t, solver=solver, kernel=kernel, task="regress", epsilon=0.1, stop=Gap(TOL))
    verdict = judge_regression(done, X, t, solver=solver, C=1.0, epsilon=0.1, tol=TOL)
    assert not verdict.false
    assert (verdict.primal, verdict.dual) == (
        pytest.approx(done.objective),
        pytest.approx(done.solutions[0].certificate.dual),
    )
    assert judge_regression(
        with_certificate(done, dual=1.01 * done.objective), X, t, solver=solver, C=1.0, epsilon=0.1
    ).false


RANKED = {
    "one group": (None, None),
    "groups": (np.arange(60) % 4, None),
    "censored": (np.arange(60) % 2, np.arange(60) % 3 > 0),
}


def ranked(name, loss, C=0.5):
    X, y = sample()
    values, (groups, observed) = np.round(2.0 * X[:, 0] + y, 1), RANKED[name]
    given = Ranks(values, np.zeros(60) if groups is None else groups, observed)
    done = fit(X, given, task="rank", solver="ocas", kernel=Linear(), C=C, loss=loss, stop=Gap(1e-4))
    return done, (X, values, groups, observed), {"C": C, "loss": loss, "tol": 1e-4}


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", RANKED)
def test_rankings_are_judged(name, loss):
    done, data, given = ranked(name, loss)
    verdict = judge_ranking(done, *data, **given)
    assert not verdict.false
    assert verdict.primal == pytest.approx(done.objective, rel=1e-12)
    assert verdict.dual <= verdict.primal and verdict.gap < 0.01  # by the judge's own weights


FURTHER = {
    "a larger objective": lambda c: {"primal": 1.0001 * c.primal},
    "a bound that is no number": lambda c: {"dual": math.nan},
}


@pytest.mark.parametrize("lie", (LIES | FURTHER).values(), ids=LIES | FURTHER)
def test_false_claims_about_rankings_are_found(lie):
    done, data, given = ranked("groups", "hinge")
    assert judge_ranking(with_certificate(done, **lie(done.solutions[0].certificate)), *data, **given).false


def test_other_predictions_of_a_ranking_and_a_status_are_found(monkeypatch):
    done, data, given = ranked("groups", "hinge")
    assert any("converged" in said for said in judge_ranking(done, *data, **given | {"tol": 1e-9}).false)
    kind, right = type(done.model), type(done.model).predict
    monkeypatch.setattr(kind, "predict", lambda self, X: right(self, X) + 0.01)
    assert judge_ranking(done, *data, **given).false == ["60 predictions of 60"]


def of_all_classes():
    X, y = sample()
    y = np.where(np.arange(60) % 5 == 0, 2, y)
    given = {"C": 2.0, "class_weight": {2: 3.0}, "sample_weight": np.arange(60.0) % 4}
    done = fit(X, y, solver="dcd", kernel=Linear(), multiclass="crammer_singer", stop=Gap(TOL), **given)
    return done, X, y, given | {"tol": TOL}


@pytest.mark.parametrize("lie", [lambda c: {}, *LIES.values()], ids=["none", *LIES])
def test_the_machine_of_all_classes_is_judged(lie):
    done, X, y, given = of_all_classes()
    (verdict,) = judge_all_classes(with_certificate(done, **lie(done.solutions[0].certificate)), X, y, **given)
    assert bool(verdict.false) == bool(lie(done.solutions[0].certificate)), verdict.false
    assert verdict.primal == pytest.approx(done.objective, rel=1e-12) and verdict.gap <= TOL


def test_other_decisions_and_labels_of_all_classes_are_found(monkeypatch):
    done, X, y, given = of_all_classes()
    kind, right = type(done.model), type(done.model).decision_function
    with monkeypatch.context() as patch:
        patch.setattr(kind, "decision_function", lambda self, X: right(self, X) + 0.01)
        assert judge_all_classes(done, X, y, **given)[0].false[0].startswith("180 decisions of 180")
    monkeypatch.setattr(kind, "predict", lambda self, X: np.ones(60))
    assert any("labels of 60" in said for said in judge_all_classes(done, X, y, **given)[0].false)


def of_probabilities(bias="free"):
    X, y = sample()
    y = np.where(np.arange(60) % 5 == 0, 2, y)
    given = {"C": 2.0, "class_weight": {2: 3.0}, "sample_weight": np.arange(60.0) % 4}
    solver = plugins.build("solver", "newton", {"loss": "logistic", "bias": bias})
    done = fit(X, y, solver=solver, kernel=Linear(), multiclass="multinomial", stop=Gap(TOL), **given)
    return done, X, y, given | {"tol": TOL, "bias": None if bias == "free" else bias}


@pytest.mark.parametrize("bias", ["free", 1.0])
@pytest.mark.parametrize("lie", [lambda c: {}, *LIES.values()], ids=["none", *LIES])
def test_multinomial_logistic_regression_is_judged(lie, bias):
    done, X, y, given = of_probabilities(bias)
    (verdict,) = judge_multinomial(with_certificate(done, **lie(done.solutions[0].certificate)), X, y, **given)
    assert bool(verdict.false) == bool(lie(done.solutions[0].certificate)), verdict.false
    assert verdict.primal == pytest.approx(done.objective, rel=1e-12) and verdict.gap <= TOL


def test_other_probabilities_are_found(monkeypatch):
    done, X, y, given = of_probabilities()
    kind, right = type(done.model), type(done.model).predict_proba
    monkeypatch.setattr(kind, "predict_proba", lambda self, X: right(self, X)[:, [1, 0, 2]])
    assert any("probabilities of 180" in said for said in judge_multinomial(done, X, y, **given)[0].false)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
def test_an_objective_of_a_ranking_may_be_off_by_rounding_alone(C):
    done, data, given = ranked("groups", "hinge", C)
    for by, found in ((1e-6, True), (1e-12, False)):
        lie = with_certificate(done, primal=(1.0 + by) * done.objective)
        assert bool(judge_ranking(lie, *data, **given).false) == found, (C, by)


def test_coupling_returns_the_probabilities_that_odds_come_from():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 20)
    a, b = np.triu_indices(4, 1)
    np.testing.assert_allclose(couple(np.log(p[:, a] / p[:, b]), 4), p, atol=1e-9)
