"""Engine: fast_exp's error, float32 next to float64, data far from 0, threads, selections, memory; images."""

import gc
import json
import math
import re
import subprocess
import sys
from decimal import Decimal, localcontext
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from support.problems import blobs

from svmkit.kernels.engines import engine_for
from svmkit.kernels.extent import FAR
from svmkit.kernels.functions import RBF, Laplacian, Linear, Poly, Sigmoid
from svmkit.kernels.gram import Gram
from svmkit.kernels.loops.arithmetic import fast_exp
from svmkit.problems.box import BoxQP
from svmkit.problems.simplex import SimplexQP, SquaredHinge
from svmkit.runtime import threads

pytestmark = pytest.mark.usefixtures("one_pool")
KERNELS = [Linear(), RBF(0.05), Laplacian(0.03), Poly(0.1, 3, 1.0), Sigmoid(0.02, 0.1)]
STORAGES = {"dense": np.ascontiguousarray, "csr": sp.csr_array}
U32 = 2.0**-24  # unit roundoff of float32
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
storages = pytest.mark.parametrize("stored", STORAGES.values(), ids=STORAGES)
precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


def rows(m=700, d=30, seed=0, share=0.5, shift=0.0):
    """m rows, more than two tiles of them and the last one not full."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)) * (rng.random((m, d)) < share) + shift


def true_values(kernel, X, Z):
    """Kernel values (rows of X, rows of Z) by their formulas, from differences, in float64."""
    _, gamma, coef0, degree = kernel.scalars
    dots = X @ Z.T
    if kernel.name == "rbf":
        return np.exp(-gamma * np.square(X[:, None] - Z[None]).sum(axis=2))
    if kernel.name == "laplacian":
        return np.exp(-gamma * np.abs(X[:, None] - Z[None]).sum(axis=2))
    if kernel.name == "poly":
        return (gamma * dots + coef0) ** degree
    return np.tanh(gamma * dots + coef0) if kernel.name == "sigmoid" else dots


def rounding(kernel, X, Z):
    """What float32 may cost a value (rows of X, rows of Z): the error of d products, carried through the kernel."""
    _, gamma, coef0, degree = kernel.scalars
    size = np.linalg.norm(X, axis=1)[:, None] + np.linalg.norm(Z, axis=1)[None]
    dots = (X.shape[1] + 4) * U32 * np.square(size)  # of x.z, and of |x|^2 + |z|^2 - 2 x.z
    if kernel.name == "laplacian":
        dots = (X.shape[1] + 4) * U32 * 2 * (np.abs(X).sum(axis=1)[:, None] + np.abs(Z).sum(axis=1)[None])
    if kernel.name == "linear":
        return dots
    if kernel.name == "poly":
        base = gamma * np.square(size) / 4 + abs(coef0)
        return degree * base ** (degree - 1) * (gamma * dots + 4 * U32 * base)
    return gamma * dots + 4 * U32  # slopes of at most 1, and the function's own rounding


# --- exponential


@njit
def exponentials(x, out):
    for i in range(x.size):
        out[i] = fast_exp(x[i])


def exp_of(x):
    out = np.empty_like(x)
    exponentials(x, out)
    return out


@pytest.mark.float32
def test_float32_exponentials_over_the_whole_range():
    """Every 499th float32 from -0 to -87, in order: error, monotone, never above 1."""
    last = int(np.float32(-87.0).view(np.uint32))
    x = np.arange(1 << 31, last + 1, 499, dtype=np.uint32).view(np.float32)
    got, truth = exp_of(x), np.exp(x.astype(np.float64))
    assert np.abs(got / truth - 1.0).max() < 2e-7
    assert got[0] == 1.0 and (np.diff(got) <= 0.0).all()


def test_float64_exponentials_over_the_whole_range():
    rng = np.random.default_rng(0)
    x = -np.sort(np.concatenate([[0.0], rng.uniform(0.0, 708.0, 500_000), np.exp(rng.uniform(-40.0, 6.5, 200_000))]))
    got, truth = exp_of(x), np.exp(x)
    assert np.abs(got / truth - 1.0).max() < 4e-16 + 2.3e-16  # numpy's own rounding
    assert got[0] == 1.0 and (np.diff(got) <= 0.0).all()
    near = np.nextafter(x, -np.inf)
    assert (exp_of(near) <= got).all()


def test_float64_exponentials_against_decimals():
    x = -np.concatenate([np.linspace(0.0, 708.0, 400), np.arange(1, 400) * math.log(2) / 2])  # the ends of a reduction
    with localcontext() as context:
        context.prec = 40
        errors = [abs(Decimal(got) / Decimal(at).exp() - 1) for got, at in zip(exp_of(x), x, strict=True)]
    assert max(errors) < Decimal("4e-16")


@pytest.mark.parametrize(("dtype", "last"), [(np.float32, -87.0), (np.float64, -708.0)], ids=["float32", "float64"])
def test_exponentials_below_their_range_stay_at_its_end(dtype, last):
    got = exp_of(np.array([last, 2 * last, -1e30, -np.inf], dtype))
    assert (got == got[0]).all() and 0.0 < got[0] < 4 * np.finfo(dtype).tiny


# --- values in float32


@pytest.mark.float32
@kernels
@storages
@pytest.mark.parametrize("kept", [np.float32, np.float64], ids=["X32", "X64"])
def test_float32_values_keep_their_bound(kernel, stored, kept):
    """Blocks and single rows in either storage; the float64 ones are right to nearly all digits."""
    X = rows().astype(kept).astype(np.float64)
    Z = X[5:295]
    engine = engine_for(kernel, stored(X.astype(kept)))
    truth, allowed = true_values(kernel, X, Z), rounding(kernel, X, Z)
    mine = engine.take(np.arange(5, 295))
    for dtype, scale in ((np.float32, 1.0), (np.float64, 2.0**-28)):
        got = engine.block(mine, np.empty((290, 700), dtype))
        assert (np.abs(got.T - truth) <= scale * allowed).all()
        row = engine.block(engine.take(np.array([9])), np.empty((1, 700), dtype))
        assert (np.abs(row[0] - truth[:, 4]) <= scale * allowed[:, 4]).all()


@pytest.mark.float32
@kernels
@storages
def test_float32_products_keep_their_bound(kernel, stored):
    """Against float64 sums of the values: the rounding of each value and of a panel's sum."""
    X, rng = rows(), np.random.default_rng(1)
    engine, Z = engine_for(kernel, stored(X)), X[:290]
    coef, truth = rng.normal(size=(290, 2)), true_values(kernel, X, Z)
    allowed = (rounding(kernel, X, Z) + 256 * U32 * np.abs(truth)) @ np.abs(coef)
    mine = engine.take(np.arange(290))
    for dtype, scale in ((np.float32, 1.0), (np.float64, 2.0**-28)):
        got = engine.product(mine, coef, dtype=dtype)
        assert got.dtype == np.float64
        assert (np.abs(got - truth @ coef) <= scale * allowed).all()
    difference = np.abs(engine.product(mine, coef, dtype=np.float32) - got).max()
    assert difference > 0.0  # they were taken in float32


@pytest.mark.float32
@storages
@pytest.mark.parametrize("shift", [0.0, 30.0, 1e3])
@pytest.mark.parametrize("kept", [np.float32, np.float64], ids=["X32", "X64"])
def test_float32_rbf_values_are_right_wherever_the_data_lie(stored, shift, kept):
    X = rows(300, 20, share=1.0, shift=shift).astype(kept).astype(np.float64)
    engine, truth = engine_for(RBF(0.05), stored(X.astype(kept))), true_values(RBF(0.05), X, X)
    every, coef = engine.take(np.arange(300)), np.random.default_rng(1).normal(size=(300, 1))
    assert np.abs(engine.block(every, np.empty((300, 300), np.float32)) - truth).max() < 1e-5
    assert np.abs(engine.block(engine.take(np.array([7])), np.empty((1, 300), np.float32)) - truth[7]).max() < 1e-5
    assert (np.abs(engine.product(every, coef, dtype=np.float32) - truth @ coef) < 1e-5 * np.abs(coef).sum()).all()


@pytest.mark.float32
@storages
@pytest.mark.parametrize("d", [2, 100, 800])
def test_float32_rbf_values_just_before_float64_takes_over(stored, d):
    """gamma |x|^2 next to FAR and pairs near each other: the exponent is a small difference of large numbers."""
    X = rows(200, d, share=1.0)
    X *= np.sqrt(0.99 * FAR) / np.linalg.norm(X, axis=1)[:, None]
    X[100:] = X[:100] + 0.1 * rows(100, d, seed=1, share=1.0) / np.sqrt(d)
    gamma = 0.98 * FAR / np.square(X).sum(axis=1).max()
    engine, truth = engine_for(RBF(gamma), stored(X)), true_values(RBF(gamma), X, X)
    got = engine.block(engine.take(np.arange(200)), np.empty((200, 200), np.float32))
    assert 1e-7 < np.abs(got - truth).max() < 5e-6 * FAR  # docs/engine.md


# --- threads, selections


@kernels
@storages
@precisions
def test_values_do_not_depend_on_the_number_of_threads(kernel, stored, dtype):
    many = numba.config.NUMBA_NUM_THREADS
    if many == 1:
        pytest.skip("needs two cores")
    engine = engine_for(kernel, stored(rows(1500)))
    Z, coef, found = engine.take(np.arange(300)), np.random.default_rng(1).normal(size=(300, 3)), []
    for count in (1, many):
        with threads.using(count):
            block = engine.block(Z, np.empty((300, 1500), dtype))
            row = engine.block(engine.take(np.array([3])), np.empty((1, 1500), dtype))
            found.append((block, row, engine.product(Z, coef, dtype=dtype)))
    for one, all_ in zip(*found, strict=True):
        np.testing.assert_array_equal(one, all_)


@kernels
@storages
@precisions
def test_a_selection_has_the_values_of_all(kernel, stored, dtype):
    engine, rng = engine_for(kernel, stored(rows())), np.random.default_rng(1)
    Z, coef = engine.take(np.arange(40, 320)), rng.normal(size=(280, 2))
    block, product = engine.block(Z, np.empty((280, 700), dtype)), engine.product(Z, coef, dtype=dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for sel in (np.sort(rng.permutation(700)[:333]), rng.integers(700, size=900), np.array([699])):
        got = engine.block(Z, np.empty((280, sel.size), dtype), sel)
        np.testing.assert_allclose(got, block[:, sel], rtol=tolerance / 10, atol=tolerance / 10)
        np.testing.assert_allclose(engine.product(Z, coef, sel, dtype), product[sel], rtol=tolerance, atol=tolerance)
        if stored is sp.csr_array:  # sums over stored entries, in their order
            np.testing.assert_array_equal(got, block[:, sel])


# --- images


def problems(gram, y):
    C = np.linspace(0.5, 4.0, gram.m)
    return {
        "hinge": (BoxQP(gram, y, C), 0.0, 0.0),
        "squared hinge, box": (BoxQP(gram, y, C, loss="squared_hinge"), 0.0, 0.5 / C),
        "squared hinge, simplex": (SquaredHinge(gram, y, C), 1.0, 0.5 / C),
        "simplex": (SimplexQP(gram, y, bias=0.3, ridge=0.2, linear_term=np.ones(gram.m)), 0.3, 0.2),
    }


@kernels
@storages
def test_images_equal_the_matrix_times_weights(kernel, stored):
    X, y = blobs(300, 4)
    K = true_values(kernel, X, X)
    for problem, bias, ridge in problems(Gram(kernel, stored(X)), y).values():
        Q = np.outer(y, y) * (K + bias) + np.diag(np.broadcast_to(ridge, 300))
        rng, total, weights = np.random.default_rng(0), np.zeros(300), np.zeros(300)
        for size in (1, 290, 40, 300):
            idx, change = rng.permutation(300)[:size], rng.normal(size=size)
            total += problem.image(change, idx)
            weights[idx] += change
            np.testing.assert_allclose(total, Q @ weights, rtol=1e-9, atol=1e-9 * np.abs(Q).max())
            single = problem.image(change, idx, np.float32)
            np.testing.assert_allclose(single, Q[:, idx] @ change, rtol=1e-5, atol=1e-4 * np.abs(Q).max())
        point = np.abs(weights)
        start = problem.gradient(np.zeros(300))
        np.testing.assert_allclose(problem.gradient(point) - start, Q @ point, atol=1e-8 * np.abs(Q).max())


# --- memory


def resident(name: str) -> float:
    """VmRSS or VmHWM of this process in MB."""
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


@pytest.fixture
def growth():
    """growth(action): megabytes by which resident memory grows at most, loops' own buffers included."""
    forget = Path("/proc/self/clear_refs")

    def measure(action) -> float:
        gc.collect()
        try:
            forget.write_text("5")  # the peak starts from here
        except OSError:
            pytest.skip("needs Linux's /proc/self/clear_refs")
        before = resident("VmRSS")
        action()
        return resident("VmHWM") - before

    return measure


@pytest.mark.slow
@storages
@precisions
def test_products_and_blocks_take_no_temporaries(stored, dtype, growth):
    """200,000 rows, X in either precision: only tiles beside what comes out."""
    Z, coef = np.arange(500), np.ones((500, 1))
    for kept in (np.float32, np.float64):
        X = stored(rows(200_000, 20, share=1.0).astype(kept))
        engine, out = engine_for(RBF(0.05), X), np.ones((20, 200_000), dtype)
        few = engine_for(RBF(0.05), X[:600])
        few.product(few.take(Z), coef, dtype=dtype), few.block(few.take(Z[:20]), np.empty((20, 600), dtype))
        assert growth(lambda e=engine: e.product(e.take(Z), coef, dtype=dtype)) < 8  # 1.6 of them the product
        assert growth(lambda e=engine, o=out: e.block(e.take(Z[:20]), o)) < 8
        assert growth(lambda e=engine: e.product(e.take(Z), coef, np.arange(0, 200_000, 2), dtype)) < 8


@pytest.mark.slow
def test_the_benchmark_names_every_way_and_its_floor():
    script = Path(__file__).parents[2] / "examples" / "benchmarks" / "engine.py"
    options = {"sets": "random", "rows": "300", "block": "40", "repeat": "1", "threads": "1"}
    command = [sys.executable, script, "--json", *(f"--{name}={value}" for name, value in options.items())]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [record for record in map(json.loads, lines) if "set" in record]
    assert len({(each["storage"], each["precision"]) for each in found}) == len(found) == 4
    for each in found:
        assert each["floors"].keys() == {"row", "block", "sel", "product"}
        assert all(each[way] > 0.0 and floor > 0.0 for way, floor in each["floors"].items())


# --- a few columns that spoil the products


def far_columns(m=600, d=40, seed=0):
    """Rows in clusters that two columns hold 1e8 apart, beside columns of ordinary numbers and zeros."""
    X, rng = rows(m, d, seed, share=0.3), np.random.default_rng(seed + 1)
    X[:, [3, 17]] = 1e8 * rng.integers(3, size=(m, 2)) + rng.normal(size=(m, 2))
    return X


def exact_product(gamma, X, Z, coef):
    """K(X, Z) @ coef of the RBF kernel in extended precision."""
    X, Z = X.astype(np.longdouble), Z.astype(np.longdouble)
    return np.array([np.exp(-gamma * np.square(x - Z).sum(axis=1)) @ coef for x in X], dtype=np.longdouble)


@storages
def test_products_take_the_columns_that_lose_nothing(stored):
    X, Z, kernel = far_columns(), far_columns(300, seed=5), RBF(0.005)
    engine, coef = engine_for(kernel, stored(X)), np.random.default_rng(2).normal(size=(300, 3))
    assert engine.cancels and engine._columns_apart(Z[:256]).tolist() == [3, 17]
    truth = exact_product(0.005, X, Z, coef)
    bound = np.abs(coef).sum(axis=0) * (engine.error + 300 * 2.0**-53)
    assert (np.abs(engine.product(stored(Z), coef) - truth) <= bound).all()
    sel = np.array([7, 3, 599, 20], dtype=np.int64)
    assert (np.abs(engine.product(stored(Z), coef, sel) - truth[sel]) <= bound).all()


@storages
@pytest.mark.parametrize("seed", range(4))
def test_products_of_columns_of_all_sizes_keep_the_bound(stored, seed):
    rng = np.random.default_rng(seed)
    sizes, at = 10.0 ** rng.uniform(-4, 7, 48), rng.normal(size=48)
    X = (at + 1e-3 * rng.normal(size=(400, 48))) * sizes
    Z, coef = X[rng.permutation(400)[:120]] * (1.0 + 1e-9), rng.normal(size=(120, 2))
    gamma = 1.0 / np.square(X - X.mean(axis=0)).sum(axis=1).mean()
    engine = engine_for(RBF(gamma), stored(X))
    gap = np.abs(engine.product(stored(Z), coef) - exact_product(gamma, X, Z, coef))
    assert (gap <= np.abs(coef).sum(axis=0) * (engine.error + 120 * 2.0**-53)).all()


@storages
def test_no_column_is_multiplied_where_most_lie_far_off_or_the_kernel_sums_absolutes(stored):
    far = rows(300, 20, share=1.0) + 1e8 * np.random.default_rng(0).integers(2, size=(300, 20))
    engine = engine_for(RBF(0.05), stored(far))
    assert engine.cancels and engine._columns_apart(far[:100]) is None
    assert engine_for(Laplacian(0.05), stored(far_columns()))._columns_apart(far_columns()[:100]) is None
