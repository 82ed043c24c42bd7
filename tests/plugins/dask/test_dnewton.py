"""dnewton over parts: the optimum of other programs, a certificate that holds, and messages that do not grow."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC
from support.crew import Forgetful
from support.parts import Leaving, LocalExecutor, chunks, data_in_parts, three_classes
from support.refusals import refused
from svmkit_dask.dnewton import DNewton
from svmkit_dask.driver.data import ScatteredData
from svmkit_dask.driver.linear import ScatteredLinear
from svmkit_dask.driver.session import Session
from svmkit_dask.parts.part import MemoryPart
from svmkit_newton.newton import Newton
from svmkit_newton.sums import BySums

from svmkit import fit, losses
from svmkit.kernels.functions import RBF, Linear
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.settings import Settings, resolve
from svmkit.training.train import fit_prepared

FINE = Gap(1e-6)


def rows(n=900, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.3, 3.0, d)
    return X, np.where(X @ rng.normal(size=d) + 0.8 * rng.normal(size=n) > 1.0, 1, -1)


X, Y = rows()


def trained(solver=None, stop=FINE, *, X=X, y=Y, ends=(300, 301, 640), checkpoint=None, executor=None, **options):
    data = data_in_parts(X, y, ends, kernel=Linear(), executor=executor, **options)
    settings = Settings(kernel=Linear(), solver=solver or DNewton(), stop=stop, **options)
    return fit_prepared(data, settings, checkpoint=checkpoint)


def primal(w, b, loss, C=1.0):
    """P of other weights, from the definition of the losses."""
    slack = np.maximum(0.0, 1.0 - Y * (X @ w + b))
    return 0.5 * float(w @ w) + C * float((slack if loss == "hinge" else slack**2).sum())


@pytest.mark.slow
@pytest.mark.parametrize("wide", [1000, 0])  # the Hessian as a matrix, and by its products
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_the_optimum_is_that_of_libsvm_and_the_certificate_says_so(storage, wide):
    theirs = SVC(kernel="linear", tol=1e-7).fit(X, Y)
    best = primal(theirs.coef_[0], theirs.intercept_[0], "hinge")
    found = trained(DNewton(loss="hinge", wide=wide), X=storage(X))
    (solution,) = found.solutions
    assert found.status is Status.CONVERGED and found.gap <= 1e-6
    proof = solution.certificate
    assert proof.dual <= best * (1 + 1e-6) and proof.primal >= best * (1 - 1e-6)
    w, b = found.model.vectors[0], found.model.intercept[0]
    assert proof.primal == pytest.approx(primal(w, b, "hinge"), rel=1e-6)
    assert found.model.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=5e-3)


def test_the_squared_hinge_is_that_of_liblinear():
    theirs = LinearSVC(intercept_scaling=1e4, tol=1e-10, max_iter=10**6).fit(X, Y)  # a bias that costs next to nothing
    found = trained()
    best = primal(theirs.coef_[0], theirs.intercept_[0], "squared_hinge")
    assert found.objective == pytest.approx(best, rel=1e-6) and found.gap <= 1e-6


@pytest.mark.parametrize("wide", [1000, 0])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_logistic_regression_is_that_of_scikit_learn(C, wide):
    theirs = LogisticRegression(C=C, tol=1e-10, max_iter=10**4).fit(X, Y)
    found = trained(DNewton(loss="logistic", wide=wide), X=sp.csr_array(X), C=C, ends=(2, 300, 301))
    w, h = theirs.coef_[0], theirs.decision_function(X)
    best = 0.5 * float(w @ w) + C * float(np.logaddexp(0.0, -Y * h).sum())
    proof = found.solutions[0].certificate
    assert found.status is Status.CONVERGED and found.gap <= 1e-6
    assert proof.dual <= best * (1 + 1e-12) and proof.primal == pytest.approx(best, rel=1e-6)
    assert found.model.decision_function(X) == pytest.approx(h, abs=1e-2)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_an_independent_judge_agrees(loss):
    found = trained(DNewton(loss=loss), C=3.0)
    (judged,) = found.model.certify(X, Y, bias="free")
    assert judged.primal == pytest.approx(found.objective, rel=1e-9)
    assert judged.gap <= 1e-3 and judged.dual <= found.objective
    assert found.solutions[0].certificate.dual <= judged.primal


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(losses.EpsilonInsensitive(0.1), marks=pytest.mark.slow),  # what is compiled for each
        pytest.param(losses.SquaredEpsilonInsensitive(0.1), marks=pytest.mark.slow),
        losses.Huber(0.5),
    ],
    ids=str,
)
def test_targets_are_those_of_newton_on_one_machine(loss):
    target = X @ np.linspace(-1.0, 1.0, 6) + 40.0 + np.random.default_rng(1).normal(size=len(X))
    method = resolve(Settings(kernel=Linear(), solver=DNewton(loss=loss), loss=loss, stop=FINE), "regress")
    found = fit_prepared(ScatteredData(LocalExecutor(), chunks(X, target, (200, 650)), method), method)
    one = fit(X, target, solver=Newton(loss=loss, bias="free"), loss=loss, kernel=Linear(), stop=FINE, task="regress")
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(one.objective, rel=3e-6)
    assert found.model.predict(X) == pytest.approx(one.model.predict(X), abs=0.02)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes_weights_and_scaling(multiclass):
    Z, y = three_classes()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    same = {"multiclass": multiclass, "scale": "standard", "class_weight": {"bee": 3.0}}
    data = data_in_parts(Z, y, weights=weights, kernel=Linear(), **same)
    found = fit_prepared(data, Settings(kernel=Linear(), solver=DNewton(), stop=FINE, **same))
    one = fit(Z, y, solver=Newton(bias="free"), kernel=Linear(), stop=FINE, sample_weight=weights, **same)
    assert found.objective == pytest.approx(one.objective, rel=1e-5)
    assert (found.model.predict(Z) == one.model.predict(Z)).mean() > 0.99
    assert data.scores(found.model).accuracy == pytest.approx((found.model.predict(Z) == y).mean(), abs=0.02)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_parts_that_forget_their_rows_change_nothing(loss):
    class Careless(LocalExecutor):
        def workers(self, *given):
            workers = super().workers(*given)
            self.made = Forgetful(workers.portions, workers.space)
            return self.made

    careless = Careless()
    found, plain = trained(DNewton(loss=loss), executor=careless), trained(DNewton(loss=loss))
    assert careless.made.lost > 5 and found.status is Status.CONVERGED
    assert found.objective == pytest.approx(plain.objective, rel=1e-9)
    assert found.solutions[0].point == pytest.approx(plain.solutions[0].point, rel=1e-6, abs=1e-9)


def test_no_message_grows_with_the_rows():
    sizes = []
    for n in (1000, 4000):
        largest, (Z, y) = [0], rows(n)
        data = data_in_parts(Z, y, (n // 3,), kernel=Linear())
        ask = data.workers.ask

        def measured(problem, message, *rest, ask=ask, largest=largest):
            answers = ask(problem, message, *rest)
            largest[0] = max(largest[0], *map(_numbers, [*answers, *message.options.values()]))
            return answers

        data.workers.ask = measured
        fit_prepared(data, Settings(kernel=Linear(), solver=DNewton(loss="hinge"), stop=Iterations(8)))
        sizes.append(largest[0])
    assert sizes[0] == sizes[1] < 100


def _numbers(answer):
    return sum(map(_numbers, answer)) if isinstance(answer, tuple) else np.size(answer)


def test_a_killed_driver_goes_on_where_its_checkpoint_is(tmp_path):
    file, hinge = tmp_path / "checkpoint", DNewton(loss="hinge")
    first = trained(hinge, Gap(1e-9) | Iterations(13), checkpoint=Checkpoint(file, every=0.0))
    assert first.status is Status.MAX_ITER and len(first.solutions[0].point) > 1  # a centre has moved
    again = trained(hinge, checkpoint=Checkpoint(file, resume=True))
    assert again.status is Status.CONVERGED and again.solutions[0].history[0].n_iter >= 13
    assert again.objective == pytest.approx(trained(hinge).objective, rel=1e-6)


def test_a_cluster_that_goes_away_leaves_the_best_model_so_far():
    found = trained(DNewton(loss="hinge"), Gap(1e-9), executor=Leaving(25))
    assert (found.status, found.gap, found.flaw) == (Status.INTERRUPTED, None, "the cluster is gone")
    assert (found.model.predict(X) == Y).mean() > 0.8


def test_a_part_that_is_not_kept_in_memory_is_read_in_every_pass(monkeypatch):
    plain = trained()
    monkeypatch.setattr(MemoryPart, "is_in_memory", False)
    assert trained().objective == pytest.approx(plain.objective, rel=1e-12)


def test_what_is_no_path_of_these_parts_is_infeasible_and_what_a_cluster_lacks_is_refused():
    data = data_in_parts(X, Y, kernel=Linear())
    problem = data.subproblem(0).pose(resolve(Settings(kernel=Linear(), solver=DNewton())), DNewton(), 1.0)
    assert isinstance(problem, ScatteredLinear)
    assert "shape" in problem.infeasible(np.zeros((1, 6)))
    assert "finite" in problem.infeasible(np.full((1, 8), np.nan))
    assert problem.infeasible(np.zeros((1, 8))) is None
    refused(["bias=1.0", "free"], trained, DNewton(bias=1.0))
    refused(["linear"], fit_prepared, data_in_parts(X, Y), Settings(kernel=RBF("scale"), solver=DNewton()))


def test_rows_in_this_process_are_trained_by_newton():
    one, same = (fit(X, Y, solver=solver, kernel=Linear(), stop=FINE) for solver in (Newton(bias="free"), DNewton()))
    assert one.objective == pytest.approx(same.objective, rel=1e-6)


def test_messages_of_steps_and_a_certificate(monkeypatch):
    """A step is one, or three where it is too long or too short, and a certificate three and some for the best bias."""
    asked, ask = Counter(), Session.ask
    monkeypatch.setattr(
        Session, "ask", lambda self, message, **k: asked.update([message.do]) or ask(self, message, **k)
    )
    (solution,) = trained(stop=Gap(1e-3)).solutions
    assert solution.certificate.gap <= 1e-3
    assert asked.pop("slopes") <= solution.n_iter + 1 + asked.pop("search", 0)
    assert set(asked) == {"count", "tally", "reach", "together", "losses", "sums"}
    assert asked["reach"] == asked["together"] == asked["sums"] == 1


def test_a_gap_that_was_guessed_too_small_is_measured(monkeypatch):
    known, gap = trained(stop=Gap(1e-8)).solutions[0].certificate, BySums._gap
    monkeypatch.setattr(BySums, "_gap", lambda self: 0.0 if self.is_modelled else gap(self))
    asked, ask = [], Session.ask
    monkeypatch.setattr(Session, "ask", lambda self, message, **k: asked.append(message.do) or ask(self, message, **k))
    found = trained(stop=Gap(1e-8)).solutions[0].certificate
    assert found.gap <= 1e-8 and found.dual <= known.primal and known.dual <= found.primal
    assert asked.count("reach") > 1 and "total" in asked


@pytest.fixture
def paths(monkeypatch):
    """The paths at which the parts were looked at, where samples of a few rows make a guess."""
    monkeypatch.setattr("svmkit_dask.driver.linear.SAMPLE", 16)
    seen, ask = [], Session.ask

    def noted(self, message, **k):
        seen.extend([message.options["path"].copy()] if message.do == "slopes" else [])
        return ask(self, message, **k)

    monkeypatch.setattr(Session, "ask", noted)
    return seen


@pytest.mark.parametrize(("task", "loss"), [("classify", losses.SquaredHinge()), ("regress", losses.SquaredError())])
def test_a_solve_begins_close_to_the_optimum_at_the_mean_of_those_of_samples(paths, task, loss):
    Z, labels = rows(20_000)
    y = labels if task == "classify" else Z @ np.arange(1.0, 7.0) + 50.0 + labels
    how = {"kernel": Linear(), "loss": loss, "stop": Gap(1e-8)}
    method = resolve(Settings(solver=DNewton(loss=loss), **how), task)
    found = fit_prepared(ScatteredData(LocalExecutor(), chunks(Z, y, (6_000, 14_000)), method), method)
    last = found.solutions[0].point[-1]
    assert np.linalg.norm(paths[0][-1, :-1] - last[:-1]) < 0.15 * np.linalg.norm(last[:-1]) and paths[0].any()
    known = fit(Z, y, solver=Newton(loss=loss, bias="free"), task=task, **how)
    assert found.objective == pytest.approx(known.objective, rel=1e-7)


def test_a_solve_begins_at_0_where_the_optima_of_samples_say_nothing(paths):
    Z, y = rows(8_000)
    rng = np.random.default_rng(1)
    unlike = np.where(np.arange(8_000) < 4_000, 0.01, 100.0)[:, None] * Z
    noise = np.where(np.arange(8_000) < 4_000, y, rng.choice([-1, 1], 8_000))
    order = np.argsort(y, kind="stable")
    for data, labels, end, tried in ((unlike, noise, 4_000, 1), (Z[order], y[order], int((y < 0).sum()), 0)):
        paths.clear()
        found = trained(stop=Gap(1e-6), X=data, y=labels, ends=(end,))
        assert found.status is Status.CONVERGED
        assert not paths[tried].any() and all(path.any() for path in paths[:tried])
        known = fit(data, labels, kernel=Linear(), solver=Newton(bias="free"), stop=Gap(1e-6))
        assert found.objective == pytest.approx(known.objective, rel=1e-5)
