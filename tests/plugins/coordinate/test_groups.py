"""The penalty of groups: the optimum of a general method, whole groups of zeros, and groups of a table's columns."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from svmkit_coordinate.group_penalty import Grouped
from svmkit_coordinate.primal import CD

from svmkit import SVMClassifier, SVMModel, fit, load
from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import SquaredError
from svmkit.problems import LinearRisk, make_penalty
from svmkit.problems.risks.penalty import penalty_in, read_penalty
from svmkit.solver import Gap, Status, solve

SIZES = (3, 5, 1, 1, 6, 4)
ENDS = np.cumsum(SIZES)
LOSSES = {  # of s = 1 - y h, with their derivatives
    "squared_hinge": (lambda s: np.maximum(s, 0.0) ** 2, lambda s: 2.0 * np.maximum(s, 0.0), 2.0),
    "logistic": (lambda s: np.logaddexp(0.0, s - 1.0), lambda s: 1.0 / (1.0 + np.exp(1.0 - s)), 0.25),
}


def data(seed=0, m=120):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, ENDS[-1])) * (rng.uniform(size=(m, ENDS[-1])) < 0.7)
    w = np.zeros(ENDS[-1])
    w[:3], w[10:13] = 1.0, 0.5
    return X, np.sign(X @ w + rng.normal(size=m) + 0.2), rng.uniform(0.5, 2.0, m)


def norms(w):
    return np.array([np.linalg.norm(part) for part in np.split(w, ENDS[:-1])])


def least(X, y, C, loss, is_free):
    """The least P by accelerated proximal gradients with restarts (Beck, Teboulle 2009; O'Donoghue, Candes 2015)."""
    value, slope, bend = LOSSES[loss]
    A = np.column_stack([X, np.full(len(X), float(is_free))])
    step = 1.0 / (bend * np.linalg.norm(A * np.sqrt(C)[:, None], 2) ** 2)

    def P(w):
        return np.sqrt(SIZES) @ norms(w[:-1]) + C @ value(1.0 - y * (A @ w))

    w = ahead = np.zeros(A.shape[1])
    best, momentum = P(w), 1.0
    for _ in range(20_000):
        push = ahead + step * (A.T @ (C * y * slope(1.0 - y * (A @ ahead))))
        sizes = norms(push[:-1])
        keep = np.maximum(1.0 - step * np.sqrt(SIZES) / np.maximum(sizes, 1e-300), 0.0)
        new = np.append(push[:-1] * np.repeat(keep, SIZES), push[-1])
        if P(new) > best:
            ahead, momentum = w, 1.0
            continue
        later = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = new + (momentum - 1.0) / later * (new - w)
        if np.abs(new - w).max() < 1e-12:
            break
        w, momentum, best = new, later, P(new)
    return P(w), w


@cache
def least_of_data(scale, loss, free):
    """`least` of the samples of `data`, whose storage does not matter."""
    X, y, C = data()
    return least(X, y, scale * C, loss, free)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("bias", ["free", 0.0])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [0.02, 0.3])
@pytest.mark.slow
def test_the_optimum_is_that_of_a_general_method(storage, bias, loss, scale):
    X, y, C = data()
    solver = CD(loss=loss, bias=bias, penalty="group", groups="3+5+2*1+6+4")
    problem = solver.pose(Gram(Linear(), storage(X)), y, scale * C)
    found = solve(problem, solver, stop=Gap(1e-9))
    best, w = least_of_data(scale, loss, bias == "free")
    assert found.status is Status.CONVERGED and found.certificate.primal == pytest.approx(best, rel=1e-8)
    assert found.certificate.dual <= best * (1.0 + 1e-12)
    sizes = norms(found.point[: ENDS[-1]])
    assert ((sizes == 0.0) == (norms(w[:-1]) < 1e-7)).all() and (scale > 0.1 or (sizes == 0.0).any())


def test_groups_of_one_column_are_the_l1_penalty():
    X, y, C = data()
    gram = Gram(Linear(), X)
    found = [
        solve(solver.pose(gram, y, 0.1 * C), solver, stop=Gap(1e-9)).certificate.primal
        for solver in (CD(penalty="group"), CD(penalty="l1"), CD(penalty="group", groups="5*1"))
    ]
    np.testing.assert_allclose(found, found[0], rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bias", ["free", 1.0])
def test_any_dual_weights_prove_a_lower_bound(seed, bias):
    X, y, C = data()
    problem = LinearRisk(Gram(Linear(), X), y, C, "squared_hinge", bias=bias, penalty="group", groups=SIZES)
    best = solve(problem, CD(bias=bias, penalty="group", groups="3+5+2*1+6+4"), stop=Gap(1e-9)).certificate.primal
    beta = y * np.random.default_rng(seed).uniform(0.0, 10.0 ** np.random.default_rng(seed).uniform(-3, 3), len(y))
    assert problem.offer(problem.balanced(beta)) <= best * (1.0 + 1e-12)


@pytest.mark.parametrize("rank", [5, 40])
@pytest.mark.parametrize("scale", [1.5, 4.0])
def test_steps_on_the_matrix_end_at_the_optimality_conditions(rank, scale):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(rank, ENDS[-1]))
    H, z, factors = A.T @ A, rng.normal(size=ENDS[-1]), np.sqrt(SIZES)
    target = A.T @ rng.normal(size=rank)
    target *= scale / (norms(target) / factors).max()  # at 1.0 no group has a weight
    Grouped(np.append(0, ENDS), factors).minimise(H.copy(), H @ z - target, z, 1e-9, lambda: False)
    slopes = np.split(H @ z - target, ENDS[:-1])
    used = norms(z) > 0.0
    assert used.any() and not used.all()
    for slope, part, factor in zip(slopes, np.split(z, ENDS[:-1]), factors, strict=True):
        if part.any():
            np.testing.assert_allclose(slope, -factor * part / np.linalg.norm(part), atol=1e-8)
        else:
            assert np.linalg.norm(slope) <= factor + 1e-8


def test_squares_of_groups_on_few_dense_columns_take_one_step():
    X, y, _ = data()
    solver = CD(loss="squared_error", bias=0.0, penalty="group", groups="3+5+2*1+6+4")
    found = solve(solver.pose(Gram(Linear(), X), y, 0.05, SquaredError()), solver, stop=Gap(1e-9))
    assert found.n_iter == 1 and found.certificate.gap <= 1e-9
    sizes = norms(found.point)
    assert (sizes == 0.0).any() and sizes.any()


def test_words_and_numbers_of_groups():
    penalty = make_penalty("group", groups=(1, 1, 4, 4, 4, 2))
    assert (
        penalty.words == "group penalty groups=2*1+3*4+2" and penalty_in(f"squared hinge, {penalty.words}") == penalty
    )
    assert read_penalty(penalty.params) == penalty == make_penalty("group", groups="1,1,3*4,2")
    v = np.arange(17.0)
    of_each = [np.linalg.norm(v[a:b]) for a, b in ((0, 1), (1, 2), (2, 6), (6, 10), (10, 14), (14, 16), (16, 17))]
    factors = np.sqrt([1, 1, 4, 4, 4, 2, 1])  # the last column is a group of its own
    assert penalty.value(v) == pytest.approx(factors @ of_each)
    assert penalty.largest(v) == pytest.approx((of_each / factors).max())


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    colour, town = rng.integers(0, 4, 300), rng.integers(0, 5, 300)
    size = rng.normal(size=300)
    bought = np.array([1.5, -1.0, 0.0, -0.5])[colour] + 0.8 * size + rng.normal(size=300) > 0.0
    lines = [f"{'abcd'[c]},{s:.4f},{'uvwxz'[t]},{['no', 'yes'][b]}" for c, s, t, b in
             zip(colour, size, town, bought.astype(int), strict=True)]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["colour,size,town,bought", *lines, ""]))
    return tmp_path / "t.csv"


def test_columns_of_a_table_are_groups(alone, svmkit, table):
    given = str(table), "--label", "bought", "--kernel", "linear", "--penalty", "group", "--no-track"
    done = svmkit("train", *given, "-C", "0.02", "--tol", "1e-8", "--out", "m")
    assert done.code == 0, done.err
    model = SVMModel.load("m")
    used = (model.weights[0] != 0.0).tolist()
    assert used == [True] * 5 + [False] * 5  # town has none
    assert model.about["minimised"]["groups"] == "4+1+5"
    rows = load(str(table), encoding=model.encoding)
    assert model.certify(rows.X, rows.y)[0].gap <= 1e-8
    assert "group penalty" in svmkit("certify", "m", str(table)).out
    whole = svmkit("tune", *given, "--grid", "C=0.02,1", "--out", "n")
    assert whole.code == 0 and SVMModel.load("n").about["minimised"]["groups"] == "4+1+5", whole.err
    import pandas as pd

    frame = pd.read_csv(table)
    machine = SVMClassifier(kernel="linear", penalty="group", C=0.02, tol=1e-8)
    machine.fit(frame.drop(columns="bought"), frame["bought"])
    np.testing.assert_allclose(machine.coef_, model.weights, atol=1e-9)


def test_what_does_not_go_together_is_one_line():
    X, y, _ = data()
    for given, words in (
        ({"penalty": "group", "penalty_groups": (3, 0)}, r"groups=\(3, 0\): give the numbers of columns of groups"),
        ({"penalty": "group", "penalty_groups": "a"}, "groups='a': give the numbers"),
        ({"penalty": "group", "penalty_groups": (30,)}, "the groups have 30 columns, and the rows 20"),
        ({"penalty": "l1", "penalty_groups": (3,)}, "penalty_groups goes with penalty=group, not with penalty=l1"),
        ({"penalty": "group", "solver": "dcd"}, "solver dcd has no penalty=group; those that have one: cd"),
        ({"penalty": "group", "solver": "folos"}, "solver folos has no penalty=group; those that have one: cd"),
        ({"penalty": "group", "loss": "hinge"}, "penalty=group needs a loss without a kink, not hinge"),
    ):
        with pytest.raises(InputError, match=words):
            fit(X, y, kernel=Linear(), **given)
