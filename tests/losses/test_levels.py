"""Several quantiles or expectiles at once: each level as good as a fit of its own, by judges that know one level."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import QuantileRegressor

from svmkit import SVMModel, SVMRegressor, fit, plugins
from svmkit.conformance import judge_regression
from svmkit.errors import InputError
from svmkit.kernels import RBF, Linear
from svmkit.losses import Expectile, Quantile, make_loss
from svmkit.losses.terms import Terms
from svmkit.solver.stopping import Gap
from svmkit.training import Checkpoint
from svmkit.training.subproblems.warm_start import move_weights

TAUS = (0.1, 0.5, 0.9)


def wave(m, seed=0):
    """A sine whose spread grows with x, and its true quantiles."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 4.0, m)
    spread = 0.1 + 0.2 * x
    truth = np.sin(2.0 * x)[:, None] + spread[:, None] * norm.ppf(TAUS)
    return x[:, None], np.sin(2.0 * x) + spread * rng.normal(size=m), truth


def output(fitted, k):
    """The fit of one output alone."""
    model = fitted.model
    linear = model.kernel.name == "linear" and len(model.vectors) == len(model.outputs)
    parts = {"vectors": model.vectors[[k]], "n_support": np.array([1]), "coef": np.ones((1, 1))} if linear else {}
    alone = replace(
        model, **({"coef": model.coef[[k]]} | parts), intercept=model.intercept[[k]], outputs=(), non_crossing=False
    )
    return replace(fitted, model=alone, solutions=[fitted.solutions[k]])


@pytest.mark.parametrize("loss", [Quantile(TAUS), Expectile(TAUS)])
@pytest.mark.parametrize("solver", ["smo", "fcsmo", "dcd", "newton"])
def test_each_level_is_judged_and_equals_a_fit_of_its_own(solver, loss):
    X, t, _ = wave(150)
    kernel = RBF(1.0) if solver in ("smo", "fcsmo") else Linear()
    given = {"task": "regress", "kernel": kernel, "C": 5.0, "stop": Gap(1e-6)}
    fitted = fit(X, t, solver=solver, loss=loss, **given)
    assert fitted.gap <= 1e-6 and fitted.model.outputs == ("tau=0.1", "tau=0.5", "tau=0.9")
    for k, level in enumerate(loss.levels):
        alone = fit(X, t, solver=solver, loss=level, **given)
        P, Q = (of.certificate for of in (fitted.solutions[k], alone.solutions[0]))
        assert abs(P.primal - Q.primal) <= (P.gap + Q.gap) * max(P.primal, Q.primal)
        one = plugins.build("solver", solver, {"loss": level})
        verdict = judge_regression(output(fitted, k), X, t, solver=one, C=5.0, epsilon=0.1, tol=1e-6)
        assert verdict.false == [] and verdict.gap <= 1.1e-6
    certified = fitted.model.certify(X, t)
    assert len(certified) == 3 and max(c.gap for c in certified) <= (1.1e-6 if solver in ("smo", "fcsmo") else 1e-5)


def test_linear_quantiles_are_those_of_scikit_learn_where_the_penalty_vanishes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    t = X @ [1.0, -2.0, 0.5] + (1.0 + 0.3 * np.abs(X[:, 0])) * rng.normal(size=120)
    machine = SVMRegressor(kernel="linear", loss="quantile", tau=TAUS, C=1e4, tol=1e-8).fit(X, t)
    assert machine.gap_ <= 1e-8
    for level, predicted in zip(Quantile(TAUS).levels, machine.predict(X).T, strict=True):
        theirs = QuantileRegressor(quantile=level.tau, alpha=0.0, solver="highs").fit(X, t).predict(X)
        ours, best = (level.value(t, h).sum() for h in (predicted, theirs))
        assert abs(ours - best) <= 1e-6 * best


@pytest.mark.slow
def test_coverage_is_that_of_the_levels_on_rows_whose_quantiles_are_known():
    X, t, _ = wave(4000)
    machine = SVMRegressor(loss="quantile", tau=TAUS, C=5.0, gamma=1.0).fit(X, t)
    unseen, targets, truth = wave(4000, seed=1)
    predicted = machine.predict(unseen)
    assert (np.abs((targets[:, None] <= predicted).mean(axis=0) - TAUS) <= 0.02).all()
    assert np.abs(predicted - truth).mean() <= 0.05


@pytest.mark.parametrize("m", [300, pytest.param(6000, marks=pytest.mark.slow)])
def test_levels_share_their_kernel_values(m):
    X, t, _ = wave(m)
    given = {"task": "regress", "kernel": RBF(1.0), "C": 1.0}
    one, many = (
        fit(X, t, loss=loss, **given).kernel_values for loss in (Quantile(0.5), Quantile((0.1, 0.3, *TAUS[1:])))
    )
    assert 0 < many <= 1.3 * one


def test_a_level_begins_where_its_neighbour_ended():
    X, t, _ = wave(600)
    given = {"solver": "smo", "task": "regress", "kernel": RBF(1.0), "C": 10.0, "stop": Gap(1e-4)}
    together = fit(X, t, loss=Quantile((0.4, 0.45, 0.5)), **given)
    alone = sum(fit(X, t, loss=Quantile(tau), **given).n_iter for tau in (0.4, 0.45, 0.5))
    assert together.n_iter <= 0.8 * alone


@pytest.mark.parametrize("other", [0.8, 0.2])
def test_moved_weights_are_feasible_and_keep_their_sum(other):
    rng = np.random.default_rng(0)
    t, C = rng.normal(size=50), rng.uniform(0.5, 2.0, 50)
    before, after = Quantile(0.5).terms(t, C), Quantile(other).terms(t, C)
    beta = rng.uniform(before.lower, before.upper)
    moved = move_weights(beta, before, after, rng.normal(size=50))
    assert (moved >= after.lower - 1e-12).all() and (moved <= after.upper + 1e-12).all()
    assert moved.sum() == pytest.approx(beta.sum(), abs=1e-10)
    # the weights of expectiles are the slopes at the same residuals
    slope = Expectile(0.5).terms(t, C), Expectile(other).terms(t, C)
    e = rng.normal(size=50)
    assert isinstance(slope[0], Terms)
    weights = [np.where(e > 0, e / of.ridge_up, e / of.ridge_down) for of in slope]
    assert move_weights(weights[0], *slope, None) == pytest.approx(weights[1])


def test_a_model_that_does_not_cross_sorts_its_predictions_and_its_file_says_so(tmp_path):
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(60, 5)), rng.normal(size=60)
    given = {"loss": "quantile", "tau": [0.4, 0.5, 0.6], "C": 100.0, "gamma": 0.5}
    crossing, sorted_ = SVMRegressor(**given).fit(X, t), SVMRegressor(**given, non_crossing=True).fit(X, t)
    unseen = rng.normal(size=(200, 5))
    assert (np.diff(crossing.predict(unseen)) < 0).any()
    assert (sorted_.predict(unseen) == np.sort(crossing.predict(unseen), axis=1)).all()
    sorted_.model_.save(tmp_path / "levels.model")
    loaded = SVMModel.load(tmp_path / "levels.model")
    assert (
        loaded.non_crossing
        and loaded.outputs == sorted_.model_.outputs
        and loaded.levels == Quantile((0.4, 0.5, 0.6)).levels
    )
    assert (loaded.predict(unseen) == sorted_.predict(unseen)).all()


def test_a_checkpoint_goes_on_with_the_levels_that_are_left(tmp_path):
    X, t, _ = wave(200)
    given = {"task": "regress", "kernel": RBF(1.0), "loss": Quantile(TAUS)}
    whole = fit(X, t, **given, checkpoint=Checkpoint(tmp_path / "levels.checkpoint"))
    again = fit(X, t, **given, checkpoint=Checkpoint(tmp_path / "levels.checkpoint", resume=True))
    assert (again.n_iter, again.objective) == (whole.n_iter, pytest.approx(whole.objective, rel=1e-9))
    with pytest.raises(InputError, match=r"other objective .*quantile tau=0.1,0.5, free bias here"):
        fit(
            X,
            t,
            **given | {"loss": Quantile((0.1, 0.5))},
            checkpoint=Checkpoint(tmp_path / "levels.checkpoint", resume=True),
        )


@pytest.mark.parametrize(
    ("tau", "words"),
    [
        ([], "tau is an empty list"),
        ([0.1, 1.5], "tau must be a number with 0 < tau < 1, not 1.5"),
        ("0.1,x", "0 < tau < 1, not 'x'"),
        ([0.9, 0.1], "tau must ascend, and 0.9 is before 0.1"),
        ([0.5, 0.5], "tau=0.5 is given twice"),
    ],
)
def test_levels_that_cannot_be_used_are_refused_in_one_line(tau, words):
    with pytest.raises(InputError, match=words) as raised:
        make_loss("quantile", "regress", {"tau": tau})
    assert "\n" not in str(raised.value)


def test_one_level_in_a_list_is_that_level_and_text_is_read():
    assert Quantile([0.3]) == Quantile(0.3) and Quantile([0.3]).levels == (Quantile(0.3),)
    assert make_loss("expectile", "regress", {"tau": "0.1, 0.9"}) == Expectile((0.1, 0.9))
    assert Quantile(TAUS).words == "quantile tau=0.1,0.5,0.9"


@pytest.mark.parametrize("own", ["quantile", Quantile(tau=0.2)])
def test_a_solver_with_a_loss_of_its_own_trains_and_tells_of_the_levels_that_are_given(own):
    X, y, _ = wave(60)
    given = plugins.build("solver", "smo", {"loss": own})
    fitted = fit(X, y, task="regress", solver=given, kernel=RBF(1.0), loss=Quantile(tau=(0.1, 0.9)))
    assert fitted.model.levels == (Quantile(tau=0.1), Quantile(tau=0.9))
    assert fitted.model.about["minimised"]["options"] == {"tau": (0.1, 0.9)}


def test_what_takes_one_loss_refuses_several_levels():
    X, t, _ = wave(40)
    with pytest.raises(InputError, match="3 levels, each a loss of its own"):
        Quantile(TAUS).terms(t, np.ones(40))
    with pytest.raises(InputError, match="non_crossing sorts the predictions of several levels"):
        SVMRegressor(loss="quantile", tau=0.5, non_crossing=True).fit(X, t)
    with pytest.raises(InputError, match="no option 'tau'"):
        SVMRegressor(loss="huber", tau=[0.1, 0.9]).fit(X, t)
    with pytest.raises(InputError, match="a stream learns one level"):
        SVMRegressor("sgd", loss="quantile", tau=TAUS).partial_fit(X, t)
