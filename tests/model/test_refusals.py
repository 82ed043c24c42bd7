"""SVMModel: files that are no models."""

import json
import os
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors import safe_open
from safetensors.numpy import save_file
from support.model import IRIS, KERNEL_MATRIX, binary, trained
from support.refusals import refused

from svmkit.errors import InputError
from svmkit.kernels.functions import Precomputed
from svmkit.model import file as model_file
from svmkit.model.model import SVMModel


@pytest.fixture
def saved(tmp_path):
    X, y = IRIS
    file = tmp_path / "m"
    trained(X, y, scale="standard").save(file)
    return file


def not_loaded(file, match=""):
    refused(match, SVMModel.load, file)


@pytest.mark.parametrize("content", [b"", b"x", b"\x00" * 8, b"\xff" * 64, b"PK\x03\x04" + b"0" * 100, b"\x80\x04."])
def test_foreign_files_are_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    not_loaded(tmp_path / "m", "is not a svmkit model file")


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda path: None, "is not there"),
        (lambda path: path.symlink_to("nowhere"), "is not there"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: os.mkfifo(path), "is no regular file"),
    ],
    ids=["nothing", "dangling link", "folder", "pipe"],
)
@pytest.mark.posix
def test_what_is_no_file_is_named_and_not_waited_for(make, match, tmp_path):
    make(tmp_path / "m")
    not_loaded(tmp_path / "m", match)


def test_truncated_files_are_refused(saved):
    raw = saved.read_bytes()
    for keep in (1, 7, 8, 100, len(raw) // 2, len(raw) - 1):
        saved.write_bytes(raw[:keep])
        not_loaded(saved)
    saved.write_bytes(raw + b"more")
    not_loaded(saved)


@pytest.mark.slow
def test_every_flipped_bit_is_refused(saved):
    """In the length, in the header with its names, shapes and checksum, and in each tensor: one bit of every byte."""
    raw = bytearray(saved.read_bytes())
    rng = np.random.default_rng(0)
    for at in range(len(raw)):
        damaged = raw.copy()
        damaged[at] ^= 1 << int(rng.integers(8))
        saved.write_bytes(damaged)
        not_loaded(saved)


def test_a_damaged_tensor_is_named_as_damage(saved):
    raw = bytearray(saved.read_bytes())
    raw[-5] ^= 1  # a low bit of a number: a sound model, and another one
    saved.write_bytes(raw)
    not_loaded(saved, "is damaged, its checksum does not fit")


def test_files_without_a_checksum_are_loaded(saved):
    """Those of earlier versions."""
    want = SVMModel.load(saved).predict(IRIS[0])
    with safe_open(str(saved), framework="numpy") as file:
        meta = json.loads(file.metadata()["svmkit"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    assert meta.pop("checksum") == "sha256" and len(meta.pop("sha256")) == 64
    save_file(arrays, saved, metadata={"svmkit": json.dumps(meta)})
    np.testing.assert_array_equal(SVMModel.load(saved).predict(IRIS[0]), want)


def test_safetensors_of_others_are_refused(tmp_path):
    save_file({"coef": np.ones((1, 2)), "vectors": np.ones((2, 3))}, tmp_path / "m")
    not_loaded(tmp_path / "m", "is not a svmkit model file")
    save_file({"coef": np.ones(2)}, tmp_path / "m", metadata={"svmkit": "{not json"})
    not_loaded(tmp_path / "m", "is not a svmkit model file")
    for meta in ("null", "[]", '"svmkit"', "{}", '{"format": "svmkit"}', '{"format": "svmkit", "kind": "checkpoint"}'):
        save_file({"coef": np.ones(2)}, tmp_path / "m", metadata={"svmkit": meta})
        not_loaded(tmp_path / "m")
    model_file.write(tmp_path / "m", {"point": np.ones(2)}, {}, "checkpoint")
    not_loaded(tmp_path / "m", "is not a svmkit model file")


def change(file, arrays=None, drop=(), **header):
    """Rewrite a model file with some arrays and header entries exchanged."""
    old, meta = model_file.read(file, "model")
    meta |= header
    for key in drop:
        old.pop(key, None)
        meta.pop(key, None)
    kind = meta.pop("kind")
    model_file.write(file, old | (arrays or {}), {k: v for k, v in meta.items() if k != "format"}, kind)


def wrong_arrays(n):
    """Arrays that do not fit a model of three classes with n vectors."""
    good = np.zeros((n, 4))
    yield {"coef": np.ones((2, n + 1))}
    yield {"coef": np.ones((3, n))}
    yield {"coef": np.ones(n)}
    yield {"coef": np.ones((2, n), np.float32)}
    yield {"coef": np.full((2, n), np.nan)}
    yield {"coef": np.ones((2, n), np.int64)}
    yield {"intercept": np.ones(2)}
    yield {"intercept": np.full(3, np.inf)}
    yield {"n_support": np.array([n, 0, 1])}
    yield {"n_support": np.array([n + 1, -1, 0])}
    yield {"n_support": np.array([n, 0])}
    yield {"n_support": np.array([float(n), 0.0, 0.0])}
    yield {"vectors": good[:-1]}
    yield {"vectors": good[:, :3]}
    yield {"vectors": good[None]}
    yield {"vectors": np.full_like(good, np.nan)}
    yield {"scaling.center": np.zeros(3)}
    yield {"scaling.scale": np.zeros(4)}
    yield {"scaling.scale": np.full(4, np.nan)}
    yield {"scaling.scale": np.ones(5), "scaling.center": np.zeros(5)}


def named(arrays):
    return "-".join(f"{name}{array.dtype}{array.shape}" for name, array in arrays.items())


@pytest.mark.parametrize("case", [pytest.param(k, id=named(arrays)) for k, arrays in enumerate(wrong_arrays(50))])
def test_arrays_that_do_not_fit_are_refused(saved, case):
    arrays, _ = model_file.read(saved, "model")
    change(saved, list(wrong_arrays(len(arrays["vectors"])))[case])
    not_loaded(saved, "damaged|scaling")


@pytest.mark.parametrize(
    "header",
    [
        {"kernel": None},
        {"kernel": "rbf"},
        {"kernel": ["rbf", {}]},
        {"kernel": {"name": "rbf"}},
        {"kernel": {"name": ["rbf"], "params": {}}},
        {"kernel": {"name": "mine", "params": {}}},
        {"kernel": {"name": "mine", "params": {}, "package": ["a", 1]}},
        {"kernel": {"name": "rbf", "params": {"gamma": -1}}},
        {"kernel": {"name": "rbf", "params": {"gamma": "scale"}}},
        {"kernel": {"name": "rbf", "params": {}}},
        {"kernel": {"name": "rbf", "params": {"gamma": [1]}}},
        {"kernel": {"name": "rbf", "params": {"sigma": 1}}},
        {"kernel": {"name": "rbf", "params": 3}},
        {"kernel": {"name": "precomputed", "params": {}}},
        {"classes": [0, 1]},
        {"classes": []},
        {"classes": None},
        {"classes": [[0], [1], [2]]},
        {"classes": ["a", "b", "c"]},
        {"classes_dtype": "no such"},
        {"n_features": 5},
        {"n_features": "4"},
        {"n_features": -1},
        {"n_features": None},
        {"imputing": "mean"},
        {"imputing": "median"},  # without its arrays
        {"imputing": {"kind": "median"}},
        {"scaling": "robust"},
        {"scaling": ["standard"]},
        {"encoding": {"what": 1}},
        {"encoding": "no"},
        {"version": "1"},
        {"version": None},
        {"version": 5},
    ],
    ids=str,
)
def test_headers_that_do_not_fit_are_refused(saved, header):
    change(saved, **header)
    not_loaded(saved)


def test_a_missing_kernel_names_its_package_unless_that_is_no_name(saved):
    for package, said in (
        ("svmkit-mine==1.2", "pip install svmkit-mine==1.2, if you trust"),
        ("x; rm -r y", "install the"),
    ):
        change(saved, kernel={"name": "mine", "params": {}, "package": package})
        not_loaded(saved, f"'mine', which is not installed: .*{said}.*installed: .*rbf")
        with pytest.raises(InputError) as caught:
            SVMModel.load(saved)
        assert "rm -r" not in str(caught.value)


@pytest.mark.parametrize(
    "key", ["kernel", "classes", "classes_dtype", "n_features", "coef", "intercept", "n_support", "vectors"]
)
def test_what_is_missing_is_refused(saved, key):
    change(saved, drop=[key])
    not_loaded(saved)


def test_the_untouched_rewrite_still_loads(saved):
    """Otherwise the refusals above would prove nothing."""
    want = SVMModel.load(saved).decision_function(IRIS[0])
    change(saved)
    np.testing.assert_array_equal(SVMModel.load(saved).decision_function(IRIS[0]), want)


def test_a_newer_format_says_so(saved):
    change(saved, version=5)
    not_loaded(saved, "newer svmkit")


def test_broken_sparse_vectors_are_refused(tmp_path):
    X, y = binary()
    file = tmp_path / "m"
    trained(sp.csr_array(X), y).save(file)
    arrays, _ = model_file.read(file, "model")
    whole = file.read_bytes()
    indices, indptr = arrays["vectors.indices"], arrays["vectors.indptr"]
    for case, (name, bad) in enumerate(
        (
            ("vectors.indices", np.where(np.arange(indices.size) == 0, 99, indices)),
            ("vectors.indices", np.where(np.arange(indices.size) == 0, -1, indices)),
            ("vectors.indices", indices[:-1]),
            ("vectors.indptr", indptr[::-1].copy()),
            ("vectors.indptr", indptr[:-1]),
            ("vectors.indptr", indptr[:0]),
            ("vectors.data", arrays["vectors.data"][:-1]),
            ("vectors.data", arrays["vectors.data"] * np.nan),
        )
    ):
        file.write_bytes(whole)
        change(file, {name: bad.astype(indices.dtype) if bad.dtype.kind == "i" else bad})
        with pytest.raises(InputError):
            SVMModel.load(file)
            pytest.fail(f"case {case}: {name} was taken")


@pytest.mark.parametrize(
    ("arrays", "header"),
    [
        ({"imputing.statistics": np.zeros(5)}, {}),
        ({"imputing.statistics": np.full(4, np.nan)}, {}),
        ({"imputing.statistics": np.zeros(4, np.float32)}, {}),
        ({"imputing.holed": np.array([4])}, {}),
        ({"imputing.holed": np.array([-1])}, {}),
        ({"imputing.holed": np.array([1, 2])}, {}),
        ({"imputing.holed": np.array([1.0])}, {}),
        ({}, {"imputing": "median"}),
        ({}, {"imputing": None}),
        ({}, {"n_features": 5}),
    ],
    ids=str,
)
def test_imputing_that_does_not_fit_is_refused(tmp_path, arrays, header):
    X, y = IRIS
    X = np.where((np.arange(len(X)) % 7 == 0)[:, None] & (np.arange(4) == 2), np.nan, X)
    file = tmp_path / "m"
    trained(X, y, scale="standard", impute="indicator").save(file)
    change(file)
    assert SVMModel.load(file).imputing.holed.tolist() == [2] and SVMModel.load(file).width == 5
    change(file, arrays, **header)
    not_loaded(file, "damaged")


def test_precomputed_rows_out_of_range_are_refused(tmp_path):
    file = tmp_path / "m"
    trained(KERNEL_MATRIX, IRIS[1], Precomputed()).save(file)
    arrays, _ = model_file.read(file, "model")
    whole, rows = file.read_bytes(), arrays["vectors"]
    for bad in (rows + 150, rows - 150, rows.astype(np.float64), np.column_stack([rows, rows])):
        file.write_bytes(whole)
        change(file, {"vectors": bad})
        not_loaded(file, "damaged")


@pytest.mark.parametrize(
    "header, why",
    [
        ({"classes": ["b", "a", "c"], "classes_dtype": "<U1"}, "ascending"),
        ({"classes": ["a", "a", "b"], "classes_dtype": "<U1"}, "ascending"),
        ({"classes": [1, 0, 2], "classes_dtype": "<i8"}, "ascending"),
        ({"classes": [0.0, 1.0, float("nan")], "classes_dtype": "<f8"}, "NaN"),
        ({"classes": [0.0, 1.0, float("inf")], "classes_dtype": "<f8"}, "infinite"),
        ({"classes": ["a", "b", "c"], "classes_dtype": "<U500000000"}, "wider than any"),
        ({"classes": ["a", "b", "c"], "classes_dtype": "|S2000000000"}, "wider than any"),
        ({"classes": ["a", "b", "c"], "classes_dtype": "|O"}, "no list of labels"),
        ({"classes": {"a": 1, "b": 2, "c": 3}, "classes_dtype": "<i8"}, "no list of labels"),
    ],
)
def test_labels_that_no_training_gives_are_refused(saved, header, why):
    change(saved, **header)
    tracemalloc.start()
    not_loaded(saved, why)
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


def test_wide_labels_become_python_strings(saved):
    """An array of the width of the widest label would be its own size times the number of rows."""
    change(saved, classes=["a", "b", "c" * 300], classes_dtype="<U300")
    model = SVMModel.load(saved)
    assert model.classes.dtype == object and model.classes.tolist() == ["a", "b", "c" * 300]


def test_few_coefficients_do_not_become_many(saved):
    """Places and values of coefficients are a few bytes; how many there are is bounded by the vectors, and the file."""
    k, n = 5000, 10000
    arrays = {
        "coef.at": np.arange(3),
        "coef.values": np.ones(3),
        "coef.n": np.array([n]),
        "intercept": np.zeros(k),
        "n_support": np.append(np.zeros(k - 1, np.int64), n),
        "vectors.data": np.empty(0),
        "vectors.indices": np.empty(0, np.int32),
        "vectors.indptr": np.zeros(n + 1, np.int32),
    }
    model = SVMModel.load(saved)
    header = {"classes": list(range(k)), "classes_dtype": "<i8", "multiclass": "ovr", "version": 2}
    change(saved, arrays, drop=("coef", "vectors"), **header)
    tracemalloc.start()
    not_loaded(saved, "3 coefficients for 10,000 vectors and 5,000 classes")
    assert tracemalloc.get_traced_memory()[1] < 50 << 20
    change(saved, {"coef.n": np.array([1 << 20]), "vectors": model.vectors})
    not_loaded(saved, "do not fit together")
    assert tracemalloc.get_traced_memory()[1] < 50 << 20
    tracemalloc.stop()
