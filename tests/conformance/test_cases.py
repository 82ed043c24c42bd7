"""Each hostile case is what its name says: the data, the kernel, the costs and the options."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.conformance.hostile.cases import CASES, clouds

NUMBER = r"[+-]?[\d.]+(?:e[+-]?\d+)?"
PLAIN = clouds()
KINDS = {
    "linear": "linear",
    "poly": "poly",
    "laplacian": "laplacian",
    "sigmoid": "sigmoid",
    "precomputed": "precomputed",
}
SCHEMES = {"ovr": "ovr", "Crammer-Singer": "crammer_singer", "multinomial": "multinomial"}
TASKS = {"targets": "regress", "ranks": "rank", "labels": "multilabel", "outputs": "regress"}
WRAPPERS = ("nu=", "ovr:", "Crammer-Singer:", "sigmoid:", "isotonic:", "text:", "targets:")


def numbers(name, word):
    """The number after a word of a name."""
    found = re.search(rf"\b{word}({NUMBER})", name)
    return found and float(found[1])


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def of_clouds(case):
    """The X of a case that moves or scales the clouds, and what its name says; None where it is made otherwise."""
    name = re.sub(r"^.*?: ", "", case.name)
    moved = re.match(rf"(?:one-class, )?X ([+*]) ({NUMBER})(?=,|$)", name)
    if moved is None or case.task == "regress":
        return None
    by = float(moved[2])
    return case.make().X, PLAIN.X + by if moved[1] == "+" else PLAIN.X * by


@pytest.mark.parametrize("name", CASES)
def test_the_options_are_those_of_the_name(name):
    case, own = CASES[name], name.rpartition(": ")[2]
    assert case.name == name
    for word, value in (("C=", case.C), ("gamma=", getattr(case.kernel, "gamma", None)), ("coef0=", None)):
        said = numbers(own, word)
        if word == "coef0=":
            value = getattr(case.kernel, "coef0", None)
        assert said is None or value == pytest.approx(said), word
    assert "gamma=scale" not in own or case.kernel.params["gamma"] == "scale"
    kind = next((kind for word, kind in KINDS.items() if re.search(rf"\b{word}\b", own)), None)
    if kind is None and (own.startswith("separable") or (case.group == "ranking" and "rbf" not in own)):
        kind = "linear"
    assert case.kernel.name == (kind or "rbf")
    assert (case.class_weight is not None) == ("balanced" in own or own.startswith("class weights"))
    assert case.text == name.startswith("text: ")
    options = dict(case.options)
    assert options.get("nu") == numbers(name, "nu=")
    first = name.partition(": ")[0]
    assert options.get("multiclass") == SCHEMES.get(first)
    assert options.get("calibration") == (first if first in ("sigmoid", "isotonic") else None)
    task = next((task for word, task in TASKS.items() if f"{word}: " in name), "classify")
    assert case.task == ("one-class" if "one-class" in name else task)


@pytest.mark.parametrize("name", CASES)
def test_the_data_are_those_of_the_name(name):
    case, own = CASES[name], name.rpartition(": ")[2]
    X, y, weights = case.make()
    m, d = X.shape
    columns = {"rank": (3,), "multilabel": (2,)}.get(
        case.task, (2,) if case.group == "outputs" and "levels" not in own else ()
    )
    assert y.shape == (m, *columns) and (weights is None or weights.shape == (m,))
    assert (weights is not None) == ("weights" in own and not own.startswith("class weights"))
    if case.task == "classify":
        classes = 3 if "three classes" in own else 1 if own == "one class" else 2
        assert len(np.unique(y)) == classes
    for word, size in (("m=", m), ("d=", d)):
        said = numbers(own, word)
        assert said is None or size == said
    is_stored = re.search(r"\b(CSR|CSC|COO)\b", own)
    assert sp.issparse(X) == (is_stored is not None)
    assert is_stored is None or X.format == is_stored[1].lower()
    if is_stored and case.task not in ("regress", "rank"):
        assert np.unique(X.tocsr().nonzero()[0]).size == m - 4  # some rows are empty
    broken = next((word for word in ("nan", "infinity") if f"{word} in X" in own), None)
    assert np.isfinite(dense(X)).all() == (broken is None)
    if "all rows equal" in own or own in ("all rows 0", "m=2, equal rows"):
        assert (dense(X) == dense(X)[0]).all() and (dense(X)[0] == (own != "all rows 0")).all()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if of_clouds(case)])
def test_the_clouds_are_moved_and_scaled_as_the_name_says(name):
    X, expected = of_clouds(CASES[name])
    if re.match(r"(text: |ovr: |Crammer-Singer: )?three", name):
        return
    rough = 1e-3 if X.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(X, expected, rtol=rough)


def spread(name):
    X = np.abs(CASES[name].make().X)
    return X.max(axis=0) / np.abs(PLAIN.X).max(axis=0)


def test_columns_of_other_sizes():
    np.testing.assert_allclose(spread("columns of 1e-8, 1 and 1e8"), [1e-8, 1.0, 1e8])
    np.testing.assert_allclose(spread("columns of 1e-300 and 1e150"), [1e-300, 1.0, 1e150])
    assert (CASES["a constant column of 1e9"].make().X[:, 3] == 1e9).all()
    times = CASES["a column of timestamps"].make().X[:, 3]
    assert times[0] == 1.7e9 and (np.diff(times) == 1.0).all()
    assert (CASES["one row at 1e12"].make().X == 1e12).sum(axis=1).tolist() == [3] + 59 * [0]
    apart = CASES["two places 1e8 apart"].make().X - PLAIN.X
    np.testing.assert_allclose(apart, np.tile([[0.0], [1e8]], (30, 3)), atol=1e-7)
    tiny = CASES["denormal"].make().X
    assert 0.0 < np.abs(tiny).max() < 1e-300


def test_the_classes_and_their_sizes():
    for n in (200, 2000):
        assert sorted(np.unique(CASES[f"1:{n}, plain"].make().y, return_counts=True)[1]) == [1, n]
    assert sorted(np.unique(CASES["three classes"].make().y, return_counts=True)[1])[0] == 10
    assert (CASES["class weights 1e6"].class_weight) == {1: 1e6}
    for share, name in ((1.0, "all"), (0.5, "half of the")):
        X, y, _ = CASES[f"{name} rows twice, opposite labels"].make()
        n = round(60 * share)
        assert len(y) == 60 + n
        np.testing.assert_array_equal(X[60:], X[:n])
        np.testing.assert_array_equal(y[60:], -y[:n])
    X, y, _ = CASES["two different rows"].make()
    assert len(np.unique(X, axis=0)) == len(np.unique(np.column_stack([X, y]), axis=0)) == 2
    X, y, _ = CASES["separable, C=1"].make()
    assert (X[y > 0].min(axis=0) > X[y < 0].max(axis=0)).all()


def test_the_balanced_weights_are_0_to_1000():
    _, y, weights = CASES["balanced, weights 0 to 1000"].make()
    assert 700 < weights.max() <= 1000 and weights.min() == 0.0
    assert set(weights[y > 0]) == {1.0, 2.0, 65.0, 730.0} and set(weights[y < 0]) == {0.0, 1.0, 64.0, 729.0}
    assert set(CASES["weights 0 for a class"].make().sample_weight) == {0.0, 1.0}
    assert len(set(zip(*CASES["weights 0 for a class"].make()[1:], strict=True))) == 2


def test_matrices_are_of_the_named_kind():
    made = {
        name: CASES[f"precomputed, {name}"].make().X for name in ("rbf", "float32", "unsymmetric", "shifted", "random")
    }
    negative, rbf = CASES["precomputed, negative"].make().X, made["rbf"]
    least = {name: np.linalg.eigvalsh(K.astype(float))[0] for name, K in made.items()}
    assert (np.diag(rbf) == 1.0).all() and (rbf > 0.0).all() and least["rbf"] > -1e-12
    assert made["float32"].dtype == np.float32 and np.allclose(made["float32"], rbf)
    assert not np.allclose(made["unsymmetric"], made["unsymmetric"].T)
    assert all(np.allclose(made[name], made[name].T) for name in made if name != "unsymmetric")
    assert least["shifted"] < -1.0 and least["random"] < -1.0
    np.testing.assert_array_equal(negative, -rbf)


def test_values_groups_and_what_was_observed_of_rankings():
    plain = CASES["ranks: a curve"].make()
    assert np.unique(plain.y[:, 1], return_counts=True)[1].tolist() == [10] * 6 and (plain.y[:, 2] == 1.0).all()
    assert len(np.unique(plain.y[:, 0])) > 3
    sizes = {
        name: np.unique(CASES[f"ranks: {name}"].make().y[:, 1], return_counts=True)[1]
        for name in ("one pair", "no pair")
    }
    assert sorted(sizes["one pair"]) == [1] * 58 + [2] and sorted(sizes["no pair"]) == [1] * 60
    assert CASES["ranks: half of the values censored"].make().y[:, 2].mean() == 0.5
    assert np.ptp(CASES["ranks: all equal"].make().y[:, 0]) == 0.0


def test_outputs_and_labels():
    assert CASES["outputs: two curves"].make().y.shape == (60, 2)
    assert dict(CASES["outputs: levels"].options)["loss"].tau == (0.1, 0.9)
    labels = CASES["labels: one of a single row"].make().y
    assert set(labels.ravel()) == {0, 1} and labels[:, 1].sum() == 1 and 10 < labels[:, 0].sum() < 50
    assert (CASES["labels: one that all have"].make().y[:, 1] == 1).all()


STORED = {
    "float32": lambda X: X.dtype == np.float32,
    "float16": lambda X: X.dtype == np.float16,
    "float64 F": lambda X: X.flags.f_contiguous and not X.flags.c_contiguous,
    "strided": lambda X: not X.flags.c_contiguous and not X.flags.f_contiguous,
    "reversed": lambda X: X.strides[1] < 0,
    "read-only": lambda X: not X.flags.writeable,
    "big-endian": lambda X: X.dtype.byteorder == ">",
    "long double": lambda X: X.dtype == np.longdouble,
    "bool": lambda X: X.dtype == bool,
    **{kind: (lambda X, kind=kind: X.dtype == np.dtype(kind)) for kind in ("int8", "uint8", "int64")},
    "CSR, float32": lambda X: X.dtype == np.float32,
    "CSR, int64 indices": lambda X: X.indices.dtype == X.indptr.dtype == np.int64,
}


@pytest.mark.parametrize("name", STORED)
def test_data_are_stored_as_the_name_says(name):
    X = CASES[name].make().X
    assert STORED[name](X)
    if not sp.issparse(X) and X.dtype.kind == "f":
        expected = PLAIN.X[:, ::-1] if name == "reversed" else PLAIN.X
        np.testing.assert_allclose(X.astype(float), expected, rtol=2e-3)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("targets: ")])
def test_the_targets_are_those_of_the_name(name):
    t, plain = CASES[name].make().y, CASES["targets: a curve"].make().y
    moved = re.search(rf"t ([+*]) ({NUMBER})$", name)
    if moved:
        by = float(moved[2])
        np.testing.assert_allclose(t, plain + by if moved[1] == "+" else plain * by, rtol=1e-12)
    elif name == "targets: one target of 1e12":
        assert t[0] == 1e12 and (t[1:] == plain[1:]).all()
    elif name == "targets: -1 and 1":
        np.testing.assert_array_equal(t, np.sign(plain))
    elif name == "targets: opposite":
        X = CASES[name].make().X
        np.testing.assert_array_equal(X[::2], X[1::2])
        np.testing.assert_array_equal(np.abs(t), np.abs(plain))
        assert (t[1::2] == plain[1::2]).all() and (t[::2] == -plain[::2]).all()
    elif name == "targets: all equal":
        assert (t == 3.0).all()
    else:
        np.testing.assert_array_equal(t, plain)
