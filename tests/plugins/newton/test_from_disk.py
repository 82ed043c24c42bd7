"""Newton's steps on rows on disk: the optimum of those in memory, in a pass a step, however precise the Hessian is."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.newton import samples
from support.problems import make
from svmkit_newton import from_disk, hessian
from svmkit_newton import newton as module
from svmkit_newton.from_disk import FromDisk
from svmkit_newton.hessian import Products, Rough

from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import Huber, Logistic, SquaredHinge
from svmkit.losses.terms import conjugates, loss_values
from svmkit.problems.risks.design import Design
from svmkit.problems.risks.linear_risk import LinearDual
from svmkit.runtime import mapping
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Full
from svmkit.solver.stopping import Gap, Iterations

pytestmark = pytest.mark.slow  # what they compile together takes long


@pytest.fixture(autouse=True)
def _on_disk_alone(monkeypatch):
    monkeypatch.setattr(module, "is_narrow", lambda m, width: False)
    monkeypatch.setattr("svmkit.problems.risks.design.WINDOW", 4000)


def mapped(X):
    if sp.issparse(X):
        arrays = (mapping.write_blocks(values.dtype, [values]) for values in (X.data, X.indices))
        return mapping.with_arrays(X, *arrays, X.indptr)
    return mapping.write_blocks(X.dtype, [X]).reshape(X.shape)


def solved(X, target, C, loss, gap=1e-8, memory="100KB", **options):
    solver = make("newton", loss=loss, **options)
    problem = solver.pose(Gram(Linear(), X, memory=memory), target, C, loss)
    return solve(problem, solver, stop=Gap(gap))


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), Huber(0.4)], ids=str)
@pytest.mark.parametrize("bias", [1.0, "free"])
@pytest.mark.parametrize("storage", [np.asarray, np.float32, sp.csr_array])
def test_the_optimum_is_that_in_memory(loss, bias, storage):
    X, target, C = samples(loss, 1500, 45)
    X = storage(np.where(np.abs(X) > 0.8, X, 0.0))
    known = solved(X, target, C, loss, bias=bias).certificate
    found = solved(mapped(X), target, C, loss, bias=bias)
    assert found.status == "converged" and found.certificate.gap <= 1e-8
    assert found.certificate.dual <= known.primal * (1 + 1e-9) and known.dual <= found.certificate.primal * (1 + 1e-9)


@pytest.mark.parametrize("memory, most", [("500KB", 4), ("1MB", 3)], ids=["from 0", "from a sample"])
@pytest.mark.parametrize("bias", [1.0, "free"])
def test_a_step_is_a_pass(memory, most, bias, monkeypatch):
    """Beside those of the steps there is the first one, wherever a solve begins: the last one is the certificate's."""
    X, _, C = samples(SquaredHinge(), 6_000, 45)
    target = np.where(X[:, 0] + np.random.default_rng(1).normal(size=6_000) > 0.0, 1.0, -1.0)
    passes, windows = [], Design.windows
    monkeypatch.setattr(Design, "windows", lambda self: passes.append(self.m) or windows(self))
    found = solved(mapped(X), target, C, SquaredHinge(), gap=1e-3, bias=bias, memory=memory)
    assert found.certificate.gap <= 1e-3 and found.n_iter <= most
    assert passes.count(6_000) == found.n_iter + 1


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), Huber(0.4)], ids=str)
@pytest.mark.parametrize("bias", [0.0, "free"])
def test_many_columns_take_a_pass_for_each_product_and_two_for_a_step(loss, bias, monkeypatch):
    """These are the decision values along the step, and the gradient with the diagonal of the Hessian; two passes more
    begin and certify.
    """
    X, target, C = samples(loss, 300, 20)
    X = sp.csr_array(np.where(np.abs(X) > 0.8, X, 0.0))
    known = solved(X, target, C, loss, bias=bias).certificate
    passes, products, windows, times = [], [], Design.windows, Products.times
    monkeypatch.setattr(Design, "windows", lambda self: passes.append(0) or windows(self))
    monkeypatch.setattr(Products, "times", lambda *given: products.append(0) or times(*given))
    found = solved(mapped(X), target, C, loss, gap=1e-6, bias=bias, wide=0)
    assert found.status == "converged" and 1 < found.n_iter < len(products)
    assert len(passes) == len(products) + 2 * found.n_iter + 2
    assert found.certificate.dual <= known.primal * (1 + 1e-9) and known.dual <= found.certificate.primal * (1 + 1e-9)


def test_steps_go_on_after_a_certificate():
    """A certificate drops the second derivatives, which the next product needs."""
    X, target, C = samples(SquaredHinge(), 400, 45)
    solver = make("newton", bias=1.0, wide=0)
    problem = solver.pose(Gram(Linear(), mapped(X), memory="100KB"), target, C, SquaredHinge())
    states = [solver.init(problem, None, Draws(Full(), target, 0)) for _ in range(2)]
    for _ in range(3):
        for state in states:
            solver.step(state)
        problem.certificate(solver.solution(states[0]))
    assert states[0].primal == states[1].primal


def test_a_solve_that_is_continued_looks_once_where_it_begins(monkeypatch):
    X, target, C = samples(SquaredHinge(), 400, 45)
    solver, draws, looks, look = make("newton", bias=1.0), Draws(Full(), target, 0), [], FromDisk.looks
    problem = solver.pose(Gram(Linear(), mapped(X), memory="100KB"), target, C, SquaredHinge())
    state = solver.init(problem, None, draws)
    solver.step(state)
    draws.carried = solver.carry(state)
    monkeypatch.setattr(FromDisk, "looks", lambda self: looks.append(self.w.copy()) or look(self))
    again = solver.init(problem, solver.solution(state), draws)
    assert isinstance(again, FromDisk) and len(looks) == 1 and (looks[0] == state.w).all()
    assert again.primal == pytest.approx(state.primal, rel=1e-9)


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), Huber(0.4)], ids=str)
@pytest.mark.parametrize("bias", [0.0, 1.0, "free"])
def test_the_model_is_the_iterate_and_its_certificate_is_true(loss, bias):
    """P is that of the weights of the model, and D that of the dual weights, whose image is another vector."""
    X, target, C = samples(loss, 1500, 45)
    solver = make("newton", loss=loss, bias=bias)
    problem = solver.pose(Gram(Linear(), mapped(X), memory="100KB"), target, C, loss)
    found = solve(problem, solver, stop=Gap(1e-2))
    w, image = certified(found, problem, X, bias, loss.terms(target, C))
    assert found.certificate.gap <= 1e-2 and np.linalg.norm(image - w) > 1e-6
    again = problem.certificate(found.point)  # by a pass of its own
    assert again.primal == pytest.approx(found.certificate.primal, rel=1e-13)
    assert again.dual == pytest.approx(found.certificate.dual, rel=1e-12)
    assert again.rounding <= found.certificate.rounding * (1 + 1e-9) <= again.rounding * (1 + 9 / len(X))


def certified(found, problem, X, bias, terms):
    """Hold the certificate against P and D in NumPy; return the weights of the model and the image of the dual ones."""
    decision, own = problem.decision_function(found.point, found.certificate), 0.0 if bias == "free" else bias
    norm = decision.w @ decision.w + (decision.intercept**2 / own**2 if own else 0.0)
    residuals = terms.target - X @ decision.w - decision.intercept
    primal = 0.5 * norm + loss_values(terms, residuals).sum()
    image = np.append(X.T @ found.point, own * found.point.sum())
    dual = terms.target @ found.point - 0.5 * image @ image - conjugates(terms, found.point).sum()
    assert found.certificate.primal == pytest.approx(primal, rel=1e-9)
    assert found.certificate.dual == pytest.approx(dual, rel=1e-6)
    assert bias != "free" or abs(found.point.sum()) < 1e-9 * np.abs(found.point).sum()
    return decision.w, image[: X.shape[1]]


def _lie_about_sums(monkeypatch):
    def lie(*given, **named):
        seen = look(*given, **named)
        up, down = (side._replace(image=0.5 * side.image, linear=1.5 * side.linear) for side in (seen.up, seen.down))
        return seen._replace(loss=0.7 * seen.loss, exact=0.7 * seen.exact, up=up, down=down)

    look = from_disk.look
    monkeypatch.setattr(from_disk, "look", lie)


def _lie_about_the_gap(monkeypatch):
    monkeypatch.setattr(from_disk.FromDisk, "_gap", lambda self: 0.0)


def _change_dual_weights(monkeypatch):
    def keep_others(self):
        keep(self)
        self._best *= 0.9

    keep = from_disk.FromDisk.keep
    monkeypatch.setattr(from_disk.FromDisk, "keep", keep_others)


def _change_weights(monkeypatch):
    def pair_others(self, point, w, sums=None):
        pair(self, point, 1.1 * w, sums)

    pair = LinearDual.pair
    monkeypatch.setattr(LinearDual, "pair", pair_others)


def _leave_out_a_window(monkeypatch):
    def take_rows(self, lo, hi, curvature):
        if self._last is not None and hi == self.problem.m:
            self._last.add = lambda lo, hi: None
        take(self, lo, hi, curvature)

    take = from_disk.FromDisk._take_rows
    monkeypatch.setattr(from_disk.FromDisk, "_take_rows", take_rows)


LIES = [_lie_about_sums, _lie_about_the_gap, _change_dual_weights, _change_weights, _leave_out_a_window]


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("bias", [1.0, "free"])
@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic()], ids=str)
def test_a_solver_that_lies_gets_the_certificate_of_what_it_returns(lie, bias, loss, monkeypatch):
    X, target, C = samples(loss, 1500, 45)
    lie(monkeypatch)
    solver = make("newton", loss=loss, bias=bias)
    problem = solver.pose(Gram(Linear(), mapped(X), memory="100KB"), target, C, loss)
    found = solve(problem, solver, stop=Gap(1e-3) | Iterations(3))
    certified(found, problem, X, bias, loss.terms(target, C))
    assert (found.certificate.gap <= 1e-3) == (found.status == "converged")


def test_terms_of_all_rows_are_not_held_beside_the_sample(monkeypatch):
    held, begin, solver = [], from_disk.FromDisk.looks, make("newton")
    X, target, C = samples(SquaredHinge(), 12_000, 45)
    problem = solver.pose(Gram(Linear(), mapped(X), memory="2MB"), target, C, SquaredHinge())

    def looks(self):
        held.append((self.problem.m, "points" in problem.__dict__))
        return begin(self)

    monkeypatch.setattr(from_disk.FromDisk, "looks", looks)
    monkeypatch.setattr("svmkit.problems.risks.linear_problem.KEPT", 5000)
    assert solve(problem, solver, stop=Gap(1e-3)).certificate.gap <= 1e-3
    assert {is_held for m, is_held in held if m < 12_000} == {False}


def test_a_window_twice_is_refused(monkeypatch):
    def take_rows(self, lo, hi, curvature):
        take(self, lo, hi, curvature)
        take(self, lo, hi, curvature)

    take = from_disk.FromDisk._take_rows
    monkeypatch.setattr(from_disk.FromDisk, "_take_rows", take_rows)
    X, target, C = samples(SquaredHinge(), 1500, 45)
    with pytest.raises(ValueError, match="were added after"):
        solved(mapped(X), target, C, SquaredHinge(), gap=1e-3)


@pytest.mark.parametrize("size", [1e6, 1e-9])
def test_columns_that_float32_cannot_hold_apart(size, monkeypatch):
    """Two columns that nearly agree, one of another size, and rows sorted by class that occur twice."""
    X, target, C = samples(SquaredHinge(), 600, 43)
    X[:, 1] = X[:, 0] + 1e-7 * X[:, 1]
    X[:, 2] *= size
    order = np.argsort(target, kind="stable").repeat(2)
    X, target, C = X[order], target[order], C[order]
    refined, refine = [], Rough.refine
    monkeypatch.setattr(Rough, "refine", lambda self: refined.append(self.changed) or refine(self))
    known = solved(X, target, C, SquaredHinge(), gap=1e-4).certificate
    found = solved(mapped(X), target, C, SquaredHinge(), gap=1e-4)
    assert found.status == "converged" and found.certificate.gap <= 1e-4
    assert found.certificate.dual <= known.primal * (1 + 1e-9) and known.dual <= found.certificate.primal * (1 + 1e-9)
    assert len(refined) <= 1


def test_a_hessian_that_spoils_steps_is_computed_anew(monkeypatch):
    """As one of float32 does where columns nearly depend on each other."""
    X, target, C = samples(SquaredHinge(), 600, 43)
    refined, refine = [], Rough.refine
    monkeypatch.setattr(Rough, "refine", lambda self: refined.append(self.single) or refine(self))
    gather = hessian._gather

    def spoil(X, bias, idx, lo, weights, out):
        gather(X, bias, idx, lo, weights, out)
        out *= 0.8 if out.dtype == np.float32 else 1.0

    monkeypatch.setattr(hessian, "_gather", spoil)
    found = solved(mapped(X), target, C, SquaredHinge(), gap=1e-9, bias="free")
    assert found.certificate.gap <= 1e-9 and refined == [True]


@pytest.mark.parametrize("tall", [2048, 70])
def test_products_in_float32_are_those_of_float64_to_seven_digits(tall, monkeypatch):
    monkeypatch.setattr(hessian, "TALL", tall)
    X, target, C = samples(SquaredHinge(), 5000, 45)
    problem = make("newton", loss=SquaredHinge()).pose(Gram(Linear(), X), target, C, SquaredHinge())
    A, curvature = np.column_stack([X, np.ones(len(X))]), np.where(C > 0.5, C, 0.0)
    larger = np.where(np.arange(5000) % 9 == 0, 1e3 * (C + 1.0), curvature)  # in all windows, of which it is a part
    rough = Rough(problem.design, np.ones(46))
    for given in (curvature, C, curvature, larger):
        rough.begin_pass()
        for lo in range(0, 5000, 1000):
            rough.take_rows(lo, lo + 1000, given[lo : lo + 1000])
        rough.end_pass()
        H = A.T @ (given[:, None] * A)
        off = np.triu(np.abs(rough.H - H)) / np.sqrt(np.outer(H.diagonal(), H.diagonal()))
        assert off.max() < 1e-6
    assert 0.0 < rough.changed < 1.0 and off.max() > 1e-12


@pytest.mark.parametrize("flaw", [-1e3, np.nan, np.inf])
@pytest.mark.parametrize("bias", [1.0, "free"])
def test_a_matrix_that_rounding_has_spoilt_has_a_factor(bias, flaw):
    """A negative entry of the diagonal made the ridge negative, too, and factorising never ended."""
    X, target, C = samples(SquaredHinge(), 60, 8)
    solver = make("newton", loss=SquaredHinge(), bias=bias)
    design = solver.pose(Gram(Linear(), X), target, C, SquaredHinge()).design
    matrix = Rough(design, np.append(np.ones(8), 0.0 if bias == "free" else 1.0))
    for at in (3, 8):
        matrix.H[:], matrix.factor = np.eye(9), None
        matrix.H[at, at] = flaw
        step = matrix.direction(np.ones(9))[0]
        assert np.isfinite(step).all() and step @ np.ones(9) < 0.0  # it goes down
