"""What the command line says of wrong data, models and checkpoints: exit 2, one line, what is wrong and its remedy."""

import os
from pathlib import Path

import numpy as np
import pytest
from support.cli import process
from support.problems import write

pytestmark = pytest.mark.usefixtures("alone")


def rows(n=40, tail=" 3:1"):
    return [f"{1 if i % 2 else -1} 1:{i % 7 + 3 * (i % 2)} 2:{i % 5}{tail}\n" for i in range(n)]


def broken(line, text):
    lines = rows()
    lines[line - 1] = text + "\n"
    return "".join(lines)


def rubbish(n=5000, low=0):
    return bytes(np.random.default_rng(0).integers(low, 256, n, dtype=np.uint8))


@pytest.fixture
def files():
    """Good and bad files in the working directory."""
    write("good.svm", "".join(rows()))
    write("wide.svm", "".join(rows(tail=" 9:4")))
    write("broken.svm", broken(17, "1 1:abc 2:3"))
    write("descends.svm", broken(17, "1 2:1 1:3"))
    os.mkdir("empty")
    write("word.svm", broken(17, "spam 1:1"))
    write("nan.svm", broken(5, "1 1:nan 2:3"))
    write("inf.svm", broken(5, "1 1:2 2:inf"))
    write("one.svm", "".join(f"1 1:{i}\n" for i in range(9)))
    write("empty.svm", "")
    write("blank.svm", " \n\n")
    write("comment.svm", "# nothing here\n")
    write("nan.csv", "a,b,label\n1,2,x\n3,nan,y\n4,5,x\n")
    write("hole.csv", "a,b,label\n1,2,x\n3,,y\n4,5,x\n")
    write("inf.csv", "a,b,label\n1,2,x\n3,inf,y\n4,5,x\n")
    write("uneven.csv", "a,b,label\n1,2,x\n3,4,y,9\n4,5,x\n")
    write("header.csv", "a,b,label\n")
    write("good.csv", "a,b,label\n" + "".join(f"{i % 7},{i % 3},{'xy'[i % 2]}\n" for i in range(20)))
    write("lacks.csv", "a,label\n1,x\n2,y\n")
    X = np.arange(8.0).reshape(4, 2)
    X[2, 1] = np.nan
    np.savez("nan.npz", X=X, y=[0, 1, 0, 1])
    np.savez("noy.npz", X=np.eye(4))
    np.savez("pickle.npz", X=np.array([{}, []], dtype=object), y=[0, 1])


@pytest.fixture
def model(files, svmkit):
    assert svmkit("train", "good.svm", "--no-track", "--out", "m.model", "--checkpoint", "c.ckpt").code == 0
    return "m.model"


# --- data

DATA = [
    (["nofile.svm"], ["nofile.svm", "no data set"]),
    (["iriss"], ["iriss", "did you mean iris"]),
    (["./nofile.svm"], ["nofile.svm", "no such file"]),
    (["no/such.csv"], ["no/such.csv", "no such file"]),
    (["."], ["."]),
    (["./empty"], ["empty: is a folder without data files"]),
    (["broken.svm"], ["broken.svm:17", "1:abc", "index:value"]),
    (["descends.svm"], ["descends.svm:17", "ascend"]),
    (["word.svm"], ["word.svm:17", "spam"]),
    (["nan.svm"], ["nan.svm:5", "1:nan"]),
    (["inf.svm"], ["inf.svm:5", "2:inf"]),
    (["nan.csv"], ["nan.csv:3", "b 1", "--impute"]),
    (["hole.csv"], ["hole.csv:3", "1 hole", "b 1", "--impute", "--drop"]),
    (["inf.csv"], ["inf.csv:3", "'b'", "inf"]),
    (["nan.npz"], ["nan.npz", "row 3", "column 2"]),
    (["noy.npz"], ["noy.npz", "y"]),
    (["pickle.npz"], ["pickle.npz", "never unpickled"]),
    (["uneven.csv"], ["uneven.csv:3", "4 fields", "3"]),
    (["header.csv"], ["header.csv"]),
    (["one.svm"], ["one class"]),
    (["empty.svm"], ["empty.svm", "empty"]),
    (["blank.svm"], ["blank.svm", "empty"]),
    (["comment.svm"], ["comment.svm", "no samples"]),
    (["good.svm", "--test", "wide.svm", "--strict"], ["wide.svm", "9", "3"]),
    (["good.svm", "--test", "broken.svm"], ["broken.svm:17"]),
    (["good.svm", "--test", "nofile.svm"], ["nofile.svm"]),
    (["good.svm", "--test", "iris"], ["iris", "4 features", "3 features"]),
    (["good.csv", "--test", "lacks.csv"], ["lacks.csv", "'b'"]),
    (["good.csv", "--label", "nope"], ["nope", "'a'", "'b'", "'label'"]),
    (["good.csv", "--label", "7"], ["7", "3"]),
    (["good.svm", "--label", "a"], ["good.svm", "label", "CSV"]),
    (["good.svm", "--kernel", "precomputed"], ["precomputed", "square", "40 x 3"]),
]


@pytest.mark.parametrize(("args", "words"), DATA, ids=[" ".join(args) for args, _ in DATA])
def test_wrong_data(refused, files, args, words):
    refused(words, "train", *args, "--no-track")


@pytest.mark.parametrize(
    "name", ["r", "r.svm", "r.csv", "r.tsv", "r.npz", "r.parquet", "r.gz", "r.csv.bz2", "r.svm.xz"]
)
@pytest.mark.parametrize("low", [0, 1, 32])
def test_random_bytes(refused, name, low):
    """Rubbish of all bytes, without NUL, and printable or high ones: never a traceback, never a model."""
    refused([name], "train", write(name, rubbish(low=low)), "--no-track")


@pytest.mark.parametrize(
    "start", [b"PK\x03\x04", b"PAR1", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", b"\x89PNG\r\n\x1a\n"]
)
def test_random_bytes_after_a_known_start(refused, start):
    refused(["thing"], "train", write("thing", start + rubbish(500)), "--no-track")


@pytest.mark.data
def test_real_test_set_with_more_columns(alone, refused, monkeypatch):
    if not alone or not Path(alone).is_dir():
        pytest.skip("needs the real data sets: set SVMKIT_DATA to their folder")
    monkeypatch.setenv("SVMKIT_DATA", alone)
    refused(["a1a.t", "123", "119"], "train", "a1a", "--test", "a1a.t", "--strict", "--no-track")


# --- models, predictions, checkpoints


def damage(kind, good):
    blob = Path(good).read_bytes()
    write(
        "bad.model",
        {
            "text": b"hello\nworld\n",
            "png": b"\x89PNG\r\n\x1a\n" + rubbish(),
            "empty": b"",
            "half": blob[: len(blob) // 2],
            "head": blob[:20],
            "tail": blob[:-1],
            "longer": blob + b"x",
            "huge header": b"\xff" * 8 + blob[8:],
            "no json": blob[:8] + b"x" * 100 + blob[108:],
            "random": rubbish(),
        }[kind],
    )
    return "bad.model"


KINDS = ["text", "png", "empty", "half", "head", "tail", "longer", "huge header", "no json", "random"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_model_file_that_is_none(refused, model, kind):
    for command in ("evaluate", "predict"):
        refused(["bad.model"], command, damage(kind, model), "good.svm")


@pytest.mark.parametrize("kind", ["text", "png", "half", "empty"])
def test_checkpoint_that_is_none(refused, model, kind):
    args = ("train", "good.svm", "--no-track", "--resume", "--checkpoint", damage(kind, "c.ckpt"))
    refused(["bad.model", "checkpoint"], *args)


def test_model_and_checkpoint_are_distinguished(refused, model):
    refused(["c.ckpt", "not a svmkit model"], "evaluate", "c.ckpt", "good.svm")
    refused(
        ["m.model", "not a svmkit checkpoint"],
        *("train", "good.svm", "--no-track", "--checkpoint", "m.model", "--resume"),
    )


@pytest.mark.parametrize("source", ["nofile.model", "no/such.model", "."])
def test_model_that_is_not_there(refused, files, source):
    refused([source], "evaluate", source, "good.svm")


@pytest.mark.slow
@pytest.mark.parametrize("source", ["models:/nobody@best", "models:/nobody/1", "runs:/0/model"])
def test_registered_model_that_is_not_there(refused, files, source):
    refused([source], "evaluate", source, "good.svm")
    assert not Path("mlflow.db").exists()  # asking makes no store


def changed_model(model, **header):
    """The model file with entries of its JSON header replaced."""
    import json

    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(model, framework="numpy") as file:
        meta = json.loads(file.metadata()["svmkit"]) | header
        del meta["checksum"], meta["sha256"]  # as in files of earlier versions
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(arrays, "bad.model", metadata={"svmkit": json.dumps(meta)})
    return "bad.model"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"version": 99}, ["newer", "99", "upgrade"]),
        ({"kernel": {"name": "wavelet", "params": {}}}, ["wavelet", "install", "rbf"]),
        ({"kernel": {"name": "rbf", "params": {"gamma": -1}}}, ["gamma"]),
        ({"kernel": None}, ["kernel"]),
        ({"classes": [1, 2, 3]}, ["damaged"]),
        ({"n_features": 99}, ["damaged"]),
        ({"n_features": "many"}, ["damaged"]),
        ({"scaling": "standard"}, ["bad.model"]),
        ({"format": "other"}, ["not a svmkit model"]),
    ],
    ids=str,
)
def test_model_header_that_does_not_fit(refused, model, header, words):
    refused(["bad.model", *words], "evaluate", changed_model(model, **header), "good.svm")


def test_data_that_do_not_fit_the_model(refused, model):
    for command in ("evaluate", "predict"):
        refused(["wide.svm", "9", "3"], command, model, "wide.svm", "--strict")
        refused(["iris", "4 features", "3 features"], command, model, "iris")
        refused(["nan.svm:5"], command, model, "nan.svm")
        refused(["nofile.svm"], command, model, "nofile.svm")
        refused(["--threads"], command, model, "good.svm", "--threads", "0")
        refused(["threads", "999"], command, model, "good.svm", "--threads", "999")


def test_predict_out_that_cannot_be_written(refused, model):
    before = sorted(Path.cwd().iterdir())
    refused(["no/such.txt"], "predict", model, "good.svm", "--out", "no/such.txt")
    refused(["path"], "predict", model, "good.svm", "--out", ".")
    assert sorted(Path.cwd().iterdir()) == before


@pytest.mark.parametrize(
    "args",
    [("one.csv",), ("good.svm", "-C", "2"), ("good.svm", "--kernel", "linear"), ("good.svm", "--scale", "maxabs")],
    ids=" ".join,
)
def test_resume_with_another_problem(refused, model, args):
    write("one.csv", "a,b,label\n" + "".join(f"{i},{i % 3},{'xy'[i % 2]}\n" for i in range(20)))
    refused(["c.ckpt", "--resume", "other"], "train", *args, "--no-track", "--checkpoint", "c.ckpt", "--resume")


# --- the process


@pytest.mark.slow
def test_error_in_a_process(files):
    done = process("train", "broken.svm", "--no-track")
    assert (done.code, done.out) == (2, "") and done.err.startswith("svmkit: broken.svm:17: ")
    assert done.err.count("\n") == 1


@pytest.mark.slow
def test_json_keeps_stdout_empty(files):
    done = process("train", "broken.svm", "--no-track", "--json")
    assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("place", ["front", "back"])
def test_debug_shows_the_traceback(files, place):
    args = ["train", "broken.svm", "--no-track"]
    done = process(*(["--debug", *args] if place == "front" else [*args, "--debug"]))
    assert done.code != 0 and done.out == ""
    assert "Traceback" in done.err and "broken.svm:17" in done.err.splitlines()[-1]
