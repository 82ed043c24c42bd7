"""SVMModel: predictions and the file format."""

import json
import os
import stat
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors.numpy import load_file
from sklearn.metrics import pairwise
from support.model import IRIS, KERNEL_MATRIX, NAMES, binary, trained
from support.problems import blobs

from svmkit import __version__, plugins
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.functions import RBF, FromFunction, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.model import file as model_file
from svmkit.model.matching import match_rows
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs, scores

CASES = {
    "dense": (*binary(), RBF(0.5), None),
    "csr": (sp.csr_array(binary()[0]), binary()[1], RBF(0.5), None),
    "csr64": (sp.csr_array(binary()[0]), binary()[1], RBF(0.5), None),
    "float32": (binary()[0].astype(np.float32), binary()[1], RBF(0.5), None),
    "csr-float32": (sp.csr_array(binary()[0].astype(np.float32)), binary()[1], Laplacian(0.5), None),
    "fortran": (np.asfortranarray(binary()[0]), binary()[1], RBF(0.5), None),
    "multiclass": (*IRIS, RBF("scale"), None),
    "text": (IRIS[0], NAMES[IRIS[1]], Poly("auto", 2, 1.0), "standard"),
    "text-object": (IRIS[0], NAMES.astype(object)[IRIS[1]], RBF("msd"), None),
    "unicode": (*binary(("näin", "日本")), RBF(0.5), "minmax"),
    "bool": (*binary((False, True)), Sigmoid(0.01, 0.0), None),
    "float-labels": (*binary((-1.0, 1.0)), Linear(), "maxabs"),
    "precomputed": (KERNEL_MATRIX, NAMES[IRIS[1]], Precomputed(), None),
    "precomputed-csr": (sp.csr_array(KERNEL_MATRIX), IRIS[1], Precomputed(), None),
    "csr-maxabs": (sp.csr_array(IRIS[0]), IRIS[1], RBF(0.5), "maxabs"),
}
CASES["csr64"][0].indices = CASES["csr64"][0].indices.astype(np.int64)
CASES["csr64"][0].indptr = CASES["csr64"][0].indptr.astype(np.int64)


@pytest.mark.parametrize("case", CASES)
def test_saved_and_loaded_predicts_bit_for_bit(case, tmp_path):
    X, y, kernel, scale = CASES[case]
    model = trained(X, y, kernel, scale=scale)
    file = tmp_path / "model.svm"
    model.save(file)
    back = SVMModel.load(file)
    assert back.decision_function(X).dtype == np.float64
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.predict(X).dtype.kind == np.asarray(y).dtype.kind
    assert back.kernel == model.kernel and back.about == model.about
    np.testing.assert_array_equal(back.classes, model.classes)
    assert back.classes.dtype == model.classes.dtype
    for name in ("coef", "intercept", "n_support"):
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name))
        assert getattr(back, name).dtype == getattr(model, name).dtype
    assert back.vectors.dtype == model.vectors.dtype and sp.issparse(back.vectors) == sp.issparse(model.vectors)
    back.save(tmp_path / "again.svm")
    assert (tmp_path / "again.svm").read_bytes() == file.read_bytes()


def test_labels_of_bytes_can_be_saved(tmp_path):
    X, y = blobs(40, 2)
    model = trained(X, np.where(y > 0, b"yes", b"no"))
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(SVMModel.load(tmp_path / "m").predict(X), model.predict(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_decision_function_is_the_kernel_expansion(classes):
    """The reference is the definition of the file's arrays, in plain numpy."""
    X, y = IRIS[0][IRIS[1] < classes], IRIS[1][IRIS[1] < classes]
    model = trained(X, y, C=10.0)
    owner = np.repeat(np.arange(classes), model.n_support)
    K = pairwise.rbf_kernel(IRIS[0], model.vectors, gamma=0.5)
    decision = model.decision_function(IRIS[0]).reshape(150, -1)
    for column, (a, b) in enumerate(class_pairs(classes)):
        coef = np.where(owner == a, model.coef[b - 1], np.where(owner == b, model.coef[a], 0.0))
        np.testing.assert_allclose(decision[:, column], K @ coef + model.intercept[column], atol=1e-10)


def test_storages_of_the_rows_to_predict_agree():
    X, y = IRIS
    for stored in (X, sp.csr_array(X)):
        model = trained(stored, y)
        want = model.decision_function(X)
        for other in (
            sp.csr_array(X),
            sp.csc_array(X),
            sp.coo_array(X),
            np.asfortranarray(X),
            X[::-1][::-1],
            X.tolist(),
        ):
            np.testing.assert_allclose(model.decision_function(other), want, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(model.decision_function(X.astype(np.float32)), want, atol=1e-5)


def test_many_rows_are_predicted_in_parts():
    X, y = binary()
    model = trained(X, y)
    many = np.random.default_rng(0).normal(size=(40_000, 3))
    some = np.r_[0, 1, 16_383, 16_384, 32_768, 39_999]
    np.testing.assert_allclose(model.decision_function(many)[some], model.decision_function(many[some]), rtol=1e-12)


def test_other_columns_are_refused():
    X, y = binary()
    model = trained(X, y)
    for other in (X[:, :2], np.hstack([X, X]), sp.csr_array(np.hstack([X, X]))):
        with pytest.raises(InputError, match="expecting 3 features"):
            model.decision_function(other)
    with pytest.raises(InputError, match="NaN at row 2"):
        model.predict(np.array([[0, 0, 0], [0, np.nan, 0]]))
    two_columns = sp.csr_array(X[:, :2])  # a sparse row may lack its last, empty columns
    np.testing.assert_allclose(
        model.decision_function(two_columns), model.decision_function(np.c_[X[:, :2], np.zeros(80)]), rtol=1e-12
    )


def test_votes_and_ties():
    a_b, a_c, b_c = 1.0, -1.0, 0.5  # a beats b, c beats a, b beats c: a tie, b's margins sum to -0.5, c's to 0.5
    decision = np.array([[a_b, a_c, b_c], [2.0, 2.0, -1.0]])
    table = scores(decision, 3)
    assert np.round(table).tolist() == [[1, 1, 1], [2, 0, 1]]
    assert table.argmax(axis=1).tolist() == [2, 0]
    assert (np.abs(table - np.round(table)) < 1 / 3).all()


# --- the file


def test_the_file_is_plain_safetensors(tmp_path):
    X, y = binary()
    model = trained(X, y)
    model.save(tmp_path / "m")
    arrays = load_file(tmp_path / "m")
    assert set(arrays) == {"coef", "intercept", "n_support", "vectors"}
    raw = (tmp_path / "m").read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["svmkit"])
    assert header["kernel"] == {"name": "rbf", "params": {"gamma": 0.5}, "package": f"svmkit=={__version__}"}
    assert b"pickle" not in raw


def test_a_kernel_without_a_name_cannot_be_saved(tmp_path):
    X, y = binary()
    model = trained(X, y, FromFunction(lambda A, B: A @ B.T))
    with pytest.raises(InputError, match="cannot be saved"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_model_remembers_the_version_of_the_file_that_brings_its_kernel(tmp_path, recwarn):
    text = "from svmkit.kernels import RBF\nclass Own(RBF):\n    'An RBF kernel.'\n    name = 'own'\n"
    own = tmp_path / "own.py"
    own.write_text(text)
    plugins.load_file(own)
    X, y = binary()
    model = trained(X, y, plugins.build("kernel", "own", {"gamma": 0.5}))
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(SVMModel.load(tmp_path / "m").decision_function(X), model.decision_function(X))
    assert not recwarn.list
    own.write_text(text + "# another version\n")
    plugins.load_file(own)
    with pytest.warns(SvmkitWarning, match=r"another version of own\.py, which brings the kernel 'own'"):
        SVMModel.load(tmp_path / "m")


def test_writing_is_atomic(tmp_path, monkeypatch):
    X, y = binary()
    file = tmp_path / "m"
    trained(X, y).save(file)
    before = file.read_bytes()
    other = trained(X, y, C=50.0)

    def fails(*args):
        raise OSError(28, "No space left on device")

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(model_file.os, call, fails)
            with pytest.raises(InputError, match=r"cannot write .*No space left"):
                other.save(file)
        assert file.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["m"]
    other.save(file)
    assert file.read_bytes() != before
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_a_file_has_the_usual_permissions(tmp_path):
    X, y = binary()
    old = os.umask(0o022)
    try:
        trained(X, y).save(tmp_path / "m")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o644


def test_a_missing_folder_or_file_is_named(tmp_path):
    X, y = binary()
    with pytest.raises(InputError, match="cannot write"):
        trained(X, y).save(tmp_path / "nowhere" / "m")
    with pytest.raises(InputError, match="is not there"):
        SVMModel.load(tmp_path / "m")
    with pytest.raises(InputError):
        SVMModel.load(tmp_path)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_vectors_are_found_among_rows_of_their_class_bit_for_bit(stored):
    X = np.array([[0.0, 2.0], [1.0, 2.0], [2.0, 0.0], [2.0, 1.0], [1.0, 2.0]])
    codes, vectors = np.array([0, 0, 1, 1, 0]), np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [0.0, 2.0], [0.0, 2.0]])
    owner = np.array([0, 1, 0, 0, 1])
    np.testing.assert_array_equal(match_rows(stored(vectors), owner, stored(X), codes), [1, 3, 4, 0, -1])
    minus = stored(np.array([[-0.0, 2.0]]))  # equal to 0
    np.testing.assert_array_equal(match_rows(minus, np.array([0]), stored(X), codes), [0])
    np.testing.assert_array_equal(match_rows(stored(X[:1]), np.array([0]), minus, codes[:1]), [0])
    zeros = sp.csr_array((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))  # one is stored
    np.testing.assert_array_equal(match_rows(zeros, np.array([0]), stored(X), codes), [0])
