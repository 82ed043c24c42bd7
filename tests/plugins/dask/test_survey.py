"""What the driver knows of the parts is what one machine would find in all rows."""

import pickle
from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from support.part_files import cut, numbers, write
from support.refusals import refused
from svmkit_dask.parts.facts import Moments, Summary, facts_of
from svmkit_dask.parts.part import MemoryPart, places
from svmkit_dask.parts.sources import FilePart

from svmkit.data.classes import quantity
from svmkit.data.prepare.labels import encode_labels
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.reading import Reading
from svmkit.kernels.functions import RBF, Kernel, Laplacian, Linear, Poly, Sigmoid

KERNELS = [*map(RBF, ("scale", "msd", "auto", 0.3, 2)), Poly("scale"), Sigmoid("msd"), Laplacian(), Linear()]


def dealt(X, y, n_parts=4, seed=0, weights=None):
    """The data dealt out anywhere, and through a pickle as between processes."""
    ends = cut(len(y), n_parts, seed)
    parts = [MemoryPart(X[at], y[at], None if weights is None else weights[at]) for at in ends]
    facts = [facts_of(part, f"part {i}") for i, part in enumerate(parts, start=1)]
    return Summary(pickle.loads(pickle.dumps(facts)))


def data(kind):
    X, y = numbers(n=300, d=6, density=0.7)
    if kind == "far away":  # sums of squares would leave nothing of the spread
        X = np.random.default_rng(3).normal(size=X.shape) + 1e4
    elif kind == "constant columns":
        X[:, :3] = [0.1, -7.0, 0.0]
    elif kind == "sparse":
        X = sp.csr_array(X)
    elif kind == "float32":
        X = X.astype(np.float32)
    return X, y


@pytest.mark.parametrize("kind", ["dense", "far away", "constant columns", "sparse", "float32"])
def test_gamma_and_scaling_are_those_of_all_rows(kind):
    X, y = data(kind)
    for seed in range(3):
        together = dealt(X, y, 2 + 3 * seed, seed)
        for kernel in KERNELS:
            want, found = kernel.resolve(X), together.resolve(kernel)
            assert type(found) is type(want) and found.params == pytest.approx(want.params, rel=1e-12)
        for scale in ("none", "standard", "maxabs") + (() if kind == "sparse" else ("minmax",)):
            (fitted, scaled), found = Preprocessing.fit(X, scale=scale), together.preprocessing(scale)
            assert (found.scaling is None) == (fitted.scaling is None) == (scale == "none")
            if found.scaling:
                np.testing.assert_allclose(found.scaling.center, fitted.scaling.center, rtol=1e-12, atol=1e-15)
                np.testing.assert_allclose(found.scaling.scale, fitted.scaling.scale, rtol=1e-10)
            precise = 1e-5 if kind == "float32" else 1e-9  # the scaled rows are float32 themselves
            assert together.resolve(RBF(), found).gamma == pytest.approx(RBF().resolve(scaled).gamma, rel=precise)


def test_parts_of_whole_numbers_and_of_decimals_are_one_set():
    """Labels of 1 and of 1.0 are the same class, of the type that one file with all of them would give."""
    X, y = numbers(n=60, d=3)
    y = np.where(np.arange(60) % 2, 1, -1)
    parts = [MemoryPart(X[:20], y[:20]), MemoryPart(X[20:50], y[20:50].astype(float)), MemoryPart(X[50:], y[50:])]
    together = Summary([facts_of(part, f"part {i}") for i, part in enumerate(parts)])
    assert together.classes.tolist() == [-1, 1] and together.classes.dtype.kind == "i"
    np.testing.assert_array_equal(places(together.classes, y.astype(float)), (y > 0).astype(int))


def test_constant_data_and_what_is_beyond_float64_are_as_on_one_machine():
    y = np.array([0, 1] * 10)
    for X in (np.full((20, 3), 0.1), np.repeat([[0.1, 5.0, 0.0]], 20, axis=0), sp.csr_array(np.zeros((20, 2)))):
        for gamma in ("scale", "msd"):
            assert dealt(X, y).resolve(RBF(gamma)).gamma == pytest.approx(RBF(gamma).resolve(X).gamma, rel=1e-12)
    huge = np.random.default_rng(0).normal(size=(20, 2)) * 1e200
    for call in (RBF("scale").resolve, lambda X: dealt(X, y).resolve(RBF("scale"))):
        refused("too large for float64", call, huge)
    with pytest.raises(ValueError, match="minmax scaling would fill in the zeros"):
        dealt(sp.csr_array(np.eye(20)), y).preprocessing("minmax")


def test_a_kernel_that_looks_at_all_rows_is_refused():
    class Median(Kernel):
        name = "median"

        def resolve(self, X):
            raise AssertionError

    X, y = numbers()
    refused("kernel 'median' looks at all rows", dealt(X, y).resolve, Median())


LABELS = {
    "two": np.array([-1, 1]),
    "from 0": np.array([0, 1]),
    "letters": np.arange(1, 27),
    "floats": np.array([0.0, 2.0, 10.0]),
    "bools": np.array([False, True]),
    "text": np.array(["b", "a", "long one", "2"]),
    "objects": np.array(["b", "a", "c"], dtype=object),
}


@pytest.mark.parametrize("kind", LABELS)
def test_classes_and_codes_are_those_of_all_rows(kind):
    X, _ = numbers(n=200)
    y = np.random.default_rng(2).choice(LABELS[kind], 200)
    classes, codes = encode_labels(y, n_samples=200)
    y = y.astype(str) if kind == "objects" else y  # as parts of collections have them
    together = dealt(X, y, 7)
    np.testing.assert_array_equal(together.classes, classes)
    assert together.classes.dtype.kind == y.dtype.kind
    np.testing.assert_array_equal(places(together.classes, y), codes)
    np.testing.assert_array_equal(together.class_counts, np.bincount(codes))
    unknown = np.array(["zz", "2x"] if y.dtype.kind == "U" else [99, -99])
    np.testing.assert_array_equal(places(together.classes, unknown), [-1, -1])


def test_labels_that_are_no_classes_are_refused():
    X, y = numbers()
    refused("part 1: Unknown label type: continuous", lambda: dealt(X, y + 0.5).classes)
    refused(r"only one class \('3' in all 60 samples of 4 parts\)", lambda: dealt(X, np.full(60, 3)).classes)
    mixed = [MemoryPart(X[:5], y[:5]), MemoryPart(X[5:9], np.array(list("abca")))]
    facts = [facts_of(part, f"part {i}") for i, part in enumerate(mixed, start=1)]
    refused("part 2: its labels are text .'a'., but numbers in part 1", Summary, facts)


def test_more_labels_than_classes_can_be_are_a_quantity(monkeypatch):
    monkeypatch.setattr("svmkit_dask.parts.facts.MOST_LABELS", 20)
    monkeypatch.setattr("svmkit_dask.parts.facts.MOST_LABELS", 20)
    X, _ = numbers(n=90)
    for y in (np.arange(90), np.arange(90) % 40):  # too many in each part, too many in all parts together
        together = dealt(X, y, 4)
        refused("more than 20 different labels", lambda together=together: together.classes)
        assert together.quantity
        assert together.targets == (y.min(), y.max(), pytest.approx(y.mean()))


def test_quantities_are_recognised_as_on_one_machine():
    X, _ = numbers(n=400)
    rng = np.random.default_rng(0)
    for y in (rng.normal(size=400), np.arange(400), rng.integers(0, 30, 400), rng.choice(["a", "b"], 400)):
        assert dealt(X, y).quantity == quantity(y)
    y = rng.normal(size=400)
    assert dealt(X, y).targets == pytest.approx((y.min(), y.max(), y.mean()))
    refused("y is 2 in all 400 samples", lambda: dealt(X, np.full(400, 2)).targets)
    refused("part 1: regression needs numbers", lambda: dealt(X, np.full(400, "x")).targets)


@pytest.mark.parametrize("form", ["svm", "npz", "csv label"])
def test_the_digest_is_of_the_rows_wherever_they_are_and_changes_with_them(tmp_path, form, monkeypatch):
    X, y = numbers()
    source = FilePart(write(tmp_path, "part", form, X, y), Reading())
    digests = {facts_of(source.load(None, 0), "a").digest, facts_of(source.load(tmp_path / "cache", 0), "b").digest}
    monkeypatch.setattr("svmkit_dask.parts.part.BLOCK", 200)
    digests.add(facts_of(source.load(tmp_path / "cache", 0), "c").digest)
    assert len(digests) == 1
    plain = MemoryPart(X, y)
    other = X.copy()
    other[3, 0] += 1e-9
    changed = [MemoryPart(other, y), MemoryPart(X, -y), MemoryPart(X, y, np.ones(60)), MemoryPart(X[:-1], y[:-1])]
    assert len({facts_of(part, "x").digest for part in (plain, *changed)}) == 5
    assert facts_of(MemoryPart(sp.csr_array(X), y), "x").digest != facts_of(plain, "x").digest


def test_what_is_not_finite_is_named_with_row_and_column(monkeypatch):
    monkeypatch.setattr("svmkit_dask.parts.part.BLOCK", 5 * 8 * 7)  # seven rows
    X, y = numbers()
    X[33, 2] = np.nan
    message = str(refused("p contains NaN at row 34, column 3", facts_of, MemoryPart(X, y), "p"))
    assert "--impute is not available on a cluster" in message
    refused("p contains NaN at row 34, column 3", facts_of, MemoryPart(sp.csr_array(X), y), "p")
    X, y = numbers()
    for bad, match in ((np.inf, "the weight of row 3"), (-1.0, "weight of row 3 .* is negative")):
        weights = np.ones(60)
        weights[2] = bad
        refused(f"p: .*{match}", facts_of, MemoryPart(X, y, weights), "p")
    refused("the label of row 5", facts_of, MemoryPart(X, np.where(np.arange(60) == 4, np.nan, 1.0)), "p")


def test_moments_merge_without_cancellation():
    """Against exact rational arithmetic."""
    from fractions import Fraction

    x = np.random.default_rng(1).normal(size=64) * 1e-3 + 1e6
    found = reduce(Moments.merge, (Moments.from_rows(x[i : i + 5, None]) for i in range(0, 64, 5)))
    exact = [Fraction(v) for v in x.tolist()]
    mean = sum(exact) / 64
    squares = sum((v - mean) ** 2 for v in exact)
    assert found.mean[0] == pytest.approx(float(mean), rel=1e-15)
    assert found.squares[0] == pytest.approx(float(squares), rel=1e-6)
