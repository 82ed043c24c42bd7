"""Steps of newton by sums: the sums against numpy, the start from a sample, and the same answer as other steps."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.newton import samples, trained
from support.problems import make
from svmkit_newton import newton as module
from svmkit_newton import passes, tall
from svmkit_newton.proximal import shares_of

from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import EpsilonInsensitive, Hinge, Huber, Logistic, SquaredEpsilonInsensitive, SquaredHinge
from svmkit.problems.risks.points import make_two_sided

LOSSES = [SquaredHinge(), Hinge(), Logistic(), Huber(0.4), EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3)]


def posed(loss, bias="free", storage=np.asarray, m=5000, d=9):
    X, target, C = samples(loss, m, d)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    return make("newton", loss=loss, bias=bias).pose(Gram(Linear(), storage(X)), target, C, loss), X


@pytest.mark.parametrize(
    ("loss", "bias", "storage"),
    [
        *((loss, bias, np.asarray) for loss in LOSSES for bias in (0.0, "free")),
        (SquaredHinge(), 2.0, sp.csr_array),
        (SquaredHinge(), 2.0, np.float32),
        (Hinge(), 2.0, np.asfortranarray),
    ],
    ids=str,
)
def test_a_pass_has_the_sums_of_numpy(loss, bias, storage):
    problem, X = posed(loss, bias, storage)
    rng, design, terms = np.random.default_rng(1), problem.design, problem.terms
    X = np.column_stack([storage(X) if storage is np.float32 else X, np.full((len(X), 1), problem.bias)])
    w, shares = rng.normal(size=design.width), shares_of(make_two_sided(terms))
    A = X[:, : design.width].astype(np.float64)
    centre = rng.uniform(0.0, 0.5, len(A)) * np.where(terms.upper > 0.0, 1.0, -1.0)
    curve = passes.Curve(shares, 0.7, centre) if shares.size else None
    beta, curvature = np.empty(len(A)), np.empty(len(A))
    seen = passes.look(design, problem.points, w, curve, beta=beta, curvature=curvature)
    h = A @ w
    assert seen.exact == pytest.approx(problem.total_loss(h))
    assert seen.exact == pytest.approx(passes.total_loss(design, problem.points, w))
    assert curve is not None or seen.loss == seen.exact
    for side, some in ((seen.up, beta > 0.0), (seen.down, beta < 0.0)):
        given = np.where(some, beta, 0.0)
        np.testing.assert_allclose(side.image, A.T @ given, atol=1e-9 * np.abs(A.T @ beta).max())
        assert side.total == pytest.approx(given.sum())
    dual = seen.up.linear + seen.down.linear - 0.5 * (seen.up.ridged + seen.down.ridged)
    assert dual == pytest.approx(problem.dual(beta, np.zeros(1)))
    assert seen.support == np.count_nonzero(beta)
    H = A.T @ (curvature[:, None] * A)
    np.testing.assert_allclose(np.triu(seen.curved), np.triu(H), atol=1e-9 * np.abs(H).max())
    s, steps, tiny = rng.normal(size=design.width), np.array([0.0, 0.5, 2.0]), 1e-6

    def loss_at(t):
        return passes.look(design, problem.points, w + t * s, curve, is_curved=False).loss

    slopes = [(loss_at(t + tiny) - loss_at(t - tiny)) / (2.0 * tiny) for t in steps]
    found = passes.slopes_along(design, problem.points, w, s, steps, curve)
    np.testing.assert_allclose(found, slopes, rtol=1e-4, atol=1e-5 * np.abs(slopes).max())


@pytest.mark.parametrize("loss", [SquaredHinge(), Huber(0.4)], ids=lambda loss: loss.name)
def test_parts_of_the_rows_add_up_to_all(loss):
    problem = posed(loss, m=600)[0]
    w, halves = np.linspace(-1.0, 1.0, 10), (np.arange(200), np.arange(200, 600))
    looks = []
    for rows in halves:
        of_rows = problem.sample(rows)
        of_rows.points.rows[:] = problem.points.rows[rows]  # with weights of their own, not those of a sample
        looks.append(passes.look(of_rows.design, of_rows.points, w))
    joined, whole = passes.join(looks), passes.look(problem.design, problem.points, w)
    assert joined.loss == pytest.approx(whole.loss) and joined.support == whole.support
    np.testing.assert_allclose(joined.up.image + joined.down.image, whole.up.image + whole.down.image, atol=1e-8)
    np.testing.assert_allclose(np.triu(joined.curved), np.triu(whole.curved), atol=1e-8)


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), Huber(0.4)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("bias", [1.0, "free"])
def test_a_start_from_a_sample_leads_to_the_same_optimum(loss, bias, monkeypatch):
    monkeypatch.setattr(module, "is_narrow", lambda m, width: False)
    X, target, C = samples(loss, m=2000)
    given = {"bias": bias, "gap": 1e-6}
    plain = trained(X, target, C, loss, **given)[0].certificate
    monkeypatch.setattr(tall, "SAMPLE", 64)
    begun = tall._optimum_of_sample(make("newton", loss=loss, bias=bias).pose(Gram(Linear(), X), target, C, loss), int)
    assert begun is not None and np.abs(begun).max() > 0.0
    sampled = trained(X, target, C, loss, **given)[0].certificate
    assert sampled.dual <= plain.primal * (1.0 + 1e-12) and plain.dual <= sampled.primal * (1.0 + 1e-12)


def test_a_sample_of_one_class_is_no_start(monkeypatch):
    monkeypatch.setattr(module, "is_narrow", lambda m, width: False)
    monkeypatch.setattr(tall, "SAMPLE", 8)
    X, target, C = samples(SquaredHinge(), m=320)
    target = np.where(np.arange(320) % tall.ONE_IN == 3, 1.0, -1.0)
    solution, problem, *_ = trained(X, target, C, SquaredHinge(), bias="free")
    assert tall._optimum_of_sample(problem, int) is None and solution.certificate.gap <= 1e-8


def test_many_columns_and_rows_on_disk_are_left_to_others():
    problem = posed(SquaredHinge())[0]
    assert tall.is_tall(problem, 1000) and not tall.is_tall(problem, 9)
    assert not tall.is_tall(posed(SquaredHinge(), m=100, d=passes.FEW)[0], 1000)
