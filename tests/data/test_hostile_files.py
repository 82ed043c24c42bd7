"""Files made to explode, to unpickle or to lead elsewhere: refused in one line, with little memory."""

import ast
import bz2
import gzip
import io
import lzma
import pickle
from pathlib import Path

import numpy as np
import pytest
from support.fuzz import watched
from support.refusals import refused

from svmkit.compare.plan import fields
from svmkit.compare.plan.spec import load_spec
from svmkit.data import load
from svmkit.data.formats import files
from svmkit.model import file as model_file
from svmkit.model.model import SVMModel
from svmkit.training.checkpoint import Checkpoint

pytestmark = pytest.mark.posix

ROOT = Path(__file__).parents[2]
SPEC = "solvers: swap2o\ndata: iris\n"


@pytest.fixture(scope="module", autouse=True)
def _reader_is_compiled(tmp_path_factory):
    """Compiling is not what the clock of `watched` is for."""
    small = tmp_path_factory.mktemp("small") / "small.svm"
    small.write_text("1 1:1\n-1 2:1\n")
    load(small)


def refused_quietly(read, file, words=""):
    with watched(str(file.name), b""):
        refused([words], read, file)


# --- pickles


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was read",))


def test_pickles_are_refused(tmp_path):
    trap = np.empty(2, dtype=object)
    trap[:] = [Trap(), Trap()]
    np.savez(tmp_path / "d.npz", X=trap, y=np.arange(2))
    np.save(tmp_path / "d.npy", trap)
    for name in ("m", "d.pkl", "d.svm", "d.csv", "d.parquet", "s.yaml"):
        (tmp_path / name).write_bytes(pickle.dumps(Trap()))
    (tmp_path / "t.yaml").write_text(SPEC + "about: !!python/object/apply:pytest.fail [no]\n")
    for name in ("d.npz", "d.npy", "d.pkl", "d.svm", "d.csv", "d.parquet"):
        refused_quietly(load, tmp_path / name)
    for name in ("s.yaml", "t.yaml"):
        refused_quietly(load_spec, tmp_path / name)
    refused_quietly(SVMModel.load, tmp_path / "m")
    refused_quietly(lambda file: Checkpoint(file, resume=True), tmp_path / "m")


BANNED = {
    "pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "read_pickle", "unsafe_load", "full_load",
    "UnsafeLoader", "FullLoader", "eval", "exec",
}  # fmt: skip

EXPECTED = {
    # messages within a Dask cluster, which Dask itself pickles: no file is read
    "plugins": {"wire.py: pickle", "wire.py: cloudpickle"},
    # a plugin that the user names on the command line is code, and is said to be
    # and so is a pickle that `certify --trust` is told to load; what the wheel brings is installed with the package
    "svmkit": {"plugin_file.py: exec", "reading.py: joblib.load", "precompiled.py: pickle", "recording.py: pickle"},
    "registry": set(),
}


def suspicious(node):
    """Names in BANNED that a node of a program uses, and calls that would unpickle."""
    names = [getattr(node, "attr", ""), getattr(node, "id", "")]
    if isinstance(node, ast.Import | ast.ImportFrom):
        names += ".".join([getattr(node, "module", None) or "", *(alias.name for alias in node.names)]).split(".")
    found = [name for name in names if name in BANNED]
    if isinstance(node, ast.Call):
        called, keys = ast.unparse(node.func), {key.arg: ast.unparse(key.value) for key in node.keywords}
        if called in ("joblib.load", "torch.load", "yaml.load"):
            found.append(called)
        if called in ("np.load", "numpy.load") and keys.get("allow_pickle") != "False":
            found.append(called)
    return found


def test_what_is_suspicious():
    code = "import pickle\nfrom dill import load\nnp.load(f)\nyaml.load(f)\npd.read_pickle(f)\nnp.load(f, **{})"
    for line in code.splitlines():
        assert [name for node in ast.walk(ast.parse(line)) for name in suspicious(node)], line
    fine = "np.load(f, allow_pickle=False); json.load(f); yaml.safe_load(f)"
    assert not [name for node in ast.walk(ast.parse(fine)) for name in suspicious(node)]


@pytest.mark.parametrize("folder", EXPECTED)
@pytest.mark.slow
def test_nothing_that_reads_can_run_what_it_reads(folder):
    found = {
        f"{path.name}: {name}"
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in suspicious(node)
    }
    assert found == EXPECTED[folder]


# --- YAML


def bomb(levels):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    return "\n".join([*lines, *(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, levels))])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SPEC + bomb(12), "aliases written out"),
        (SPEC + "a: &a {b: *a}", "alias"),
        (SPEC + "a: " + "[" * 60_000, "deep"),
        (SPEC + "a: " + "{a: " * 20_000, "deep"),
        ("- " * 60_000, "deep"),
        (SPEC + "about: " + "x" * (10 << 20), "KiB"),
        (SPEC + "C: " + "9" * 5000, "digits"),
        (SPEC + "seeds: 0x" + "f" * 90_000, "digits"),
        (SPEC + "seeds: 1" + ":1" * 50_000, "digits"),
        (SPEC + "C: 2001-01-01", "quotes"),
        (SPEC + "C: !!binary aGk=", "quotes"),
        (SPEC + "seeds: 2147483648", "<= 100000"),
        ("data: iris\nsolvers: {fw: {repeats: 2147483648}}", "<= 100000"),
        (SPEC + "seeds: 60000\nstop: {a: gap:1e-3, b: gap:1e-4}", "cells"),
        (SPEC + f"C: {list(range(1, 200))}\ngamma: {list(range(1, 200))}", "combinations"),
        (SPEC + "\x00", "not YAML"),
        (SPEC + "data: /dev/zero", "regular file"),
        ("solvers: swap2o\ndata: {x: {test: /dev/zero, source: iris}}", "regular file"),
    ],
)
@pytest.mark.slow
def test_yaml(tmp_path, text, words):
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    refused_quietly(load_spec, tmp_path / "s.yaml", words)


def test_yaml_that_is_not_utf8(tmp_path):
    (tmp_path / "s.yaml").write_bytes(SPEC.encode() + b"about: \xff\xfe")
    refused_quietly(load_spec, tmp_path / "s.yaml", "UTF-8")


def test_anchors_and_merges_are_welcome(tmp_path):
    (tmp_path / "s.yaml").write_text("a: &a {x: 1}\nb: {<<: *a, y: [1, 2.5, ~, yes]}\nc: *a\n")
    assert fields.read_yaml(tmp_path / "s.yaml") == {
        "a": {"x": 1},
        "b": {"x": 1, "y": [1, 2.5, None, True]},
        "c": {"x": 1},
    }
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    assert fields.read_yaml(tmp_path / "empty.yaml") is None


# --- texts


@pytest.mark.slow
@pytest.mark.parametrize("packer", [gzip, bz2, lzma])
@pytest.mark.parametrize(
    ("name", "unit"), [("d.svm", b"1 1:1\n" * 1000), ("d.csv", b"1,2,0\n" * 1000), ("d.dat", b"1 " * 3000)]
)
def test_decompression_bombs(tmp_path, monkeypatch, packer, name, unit):
    monkeypatch.setattr(files, "_FREE", 1 << 20)
    file = tmp_path / f"{name}.{ {gzip: 'gz', bz2: 'bz2', lzma: 'xz'}[packer] }"
    out = io.BytesIO()
    with packer.open(out, "wb") as stream:
        for _ in range(2000):  # 12 MB
            stream.write(unit)
    file.write_bytes(out.getvalue())
    refused_quietly(load, file, "grows more than 200-fold")


def test_what_packs_well_but_is_small_is_read(tmp_path):
    (tmp_path / "d.svm.bz2").write_bytes(bz2.compress(b"1 1:1\n-1 2:1\n" * 100_000))
    assert load(tmp_path / "d.svm.bz2").X.shape == (200_000, 2)


@pytest.mark.parametrize("text", [b"\x00" * 1000, b"1 1:1 \x00 2:1\n", b"1," * 500 + b"\x00"])
def test_bytes_that_are_no_text(tmp_path, text):
    for name in ("d.svm", "d.csv"):
        (tmp_path / name).write_bytes(text)
        refused_quietly(load, tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.csv", b"x" * (10 << 20)),
        ("d.svm", b"x" * (10 << 20)),
        ("d.svm", b"1 " + b"1" * (10 << 20)),
        ("d.svm", b"1 1:1 " + b" " * (10 << 20) + b"1:1"),
        ("d.svm", b"1 1:1\n1 9223372036854775808:1\n"),
        ("d.svm", b"1 -1:1\n"),
        ("d.svm", b"1 2147483648:1\n"),
        ("d.svm", b"1 1:1 1:2\n"),
        ("d.svm", b"1 1:1e999\n"),
        ("d.csv", b"a,b,label\n1e999,1,2\n"),
        ("d.csv", b"a,a,label\n1,1,2\n"),
    ],
)
def test_one_line_or_number_that_does_not_do(tmp_path, name, text):
    (tmp_path / name).write_bytes(text)
    refused_quietly(load, tmp_path / name)


def test_many_columns_are_looked_at_once(tmp_path):
    """Names that come twice are found without comparing each with each."""
    (tmp_path / "d.csv").write_text(",".join(f"c{k}" for k in range(20_000)) + ",c7\n")
    refused_quietly(load, tmp_path / "d.csv", "'c7'")


# --- models


HEADER = {
    "kernel": {"name": "rbf", "params": {"gamma": 0.5}}, "classes": [0, 1], "classes_dtype": "<i8", "n_features": 3,
    "scaling": None, "encoding": None, "about": {},
}  # fmt: skip


def test_headers_that_lie(tmp_path):
    arrays = {
        "coef": np.ones((1, 2)),
        "intercept": np.zeros(1),
        "n_support": np.ones(2, np.int64),
        "vectors": np.ones((2, 3)),
    }
    model_file.write(tmp_path / "m", arrays, HEADER, "model")
    assert SVMModel.load(tmp_path / "m").n_features == 3
    for wrong in (
        {"classes_dtype": "<U999999999"},
        {"classes_dtype": "|O"},
        {"n_features": 1 << 62},
        {"kernel": {"name": "rbf", "params": {"gamma": 10**400}}},
        {"kernel": {"name": "poly", "params": {"gamma": 1.0, "degree": 1e999}}},
        {"about": [[[]]]},
        {"kernel": None},
    ):
        model_file.write(tmp_path / "m", arrays, HEADER | wrong, "model")
        refused_quietly(SVMModel.load, tmp_path / "m")
    full = np.iinfo(np.int64).max
    four = {"coef": np.ones((4, 3)), "intercept": np.zeros(10), "n_support": np.array([full, full, 2, 3, 0])}
    model_file.write(
        tmp_path / "m", arrays | four | {"vectors": np.ones((3, 3))}, HEADER | {"classes": [0, 1, 2, 3, 4]}, "model"
    )
    assert four["n_support"].sum() == 3  # it wraps
    refused_quietly(SVMModel.load, tmp_path / "m", "n_support")


@pytest.mark.parametrize(
    "pointers", [[0, 2**40, 0], [0, 5, 0], [1, 2, 3], [0, 3, 2], [0, -1, 2], [0, 2**31 - 1, -(2**31)]]
)
def test_sparse_indices_that_lead_outside(tmp_path, pointers):
    """Compiled loops would follow them: an archive and a model with them are refused."""
    parts = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array(pointers)}
    np.savez(tmp_path / "d.npz", format=np.array(b"csr"), shape=np.array([2, 2]), y=np.arange(2), **parts)
    refused_quietly(load, tmp_path / "d.npz")
    arrays = {"coef": np.ones((1, 2)), "intercept": np.zeros(1), "n_support": np.ones(2, np.int64)}
    arrays |= {f"vectors.{name}": part for name, part in parts.items()}
    model_file.write(tmp_path / "m", arrays, HEADER | {"n_features": 2}, "model")
    refused_quietly(SVMModel.load, tmp_path / "m")
    sound = arrays | {"vectors.indptr": np.array([0, 1, 2])}
    model_file.write(tmp_path / "m", sound, HEADER | {"n_features": 2}, "model")
    assert SVMModel.load(tmp_path / "m").predict(np.ones((1, 2))).shape == (1,)


def test_a_header_nested_too_deep(tmp_path):
    from safetensors.numpy import save_file

    save_file({"coef": np.ones(2)}, tmp_path / "m", metadata={"svmkit": "[" * 200_000})
    refused_quietly(SVMModel.load, tmp_path / "m", "not a svmkit model")


def test_a_declared_size_costs_nothing(tmp_path):
    raw = b'{"coef":{"dtype":"F64","shape":[99999999999],"data_offsets":[0,799999999992]}}'
    (tmp_path / "m").write_bytes(len(raw).to_bytes(8, "little") + raw + bytes(64))
    refused_quietly(SVMModel.load, tmp_path / "m")
    (tmp_path / "m").write_bytes((1 << 62).to_bytes(8, "little") + raw)
    refused_quietly(SVMModel.load, tmp_path / "m")


def test_members_of_an_archive_lead_nowhere(tmp_path):
    np.savez(tmp_path / "d.npz", **{"X": np.ones((2, 2)), "y": np.arange(2), "../../evil": np.ones(3)})
    assert load(tmp_path / "d.npz").X.shape == (2, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["d.npz"] and not (tmp_path.parents[1] / "evil.npy").exists()
