"""Files from third parties: whatever they hold, a reader soon returns or raises InputError, and writes nothing.

SVMKIT_FUZZ=10000 sets how many inputs each reader gets, default 200; SVMKIT_FUZZ_SEED where they begin. Each input is a
file of a shape that the reader knows, mutated: bytes flipped, dropped, repeated, exchanged for tokens that hurt.
"""

import gzip
import json
import lzma
import os
import struct
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import yaml
from support import text_models
from support.fuzz import exchanged, fuzzed, mutated
from support.model import IRIS, trained

from svmkit.compare.plan.spec import load_spec
from svmkit.data import load
from svmkit.model.exchange.reading import read_text_model
from svmkit.model.model import SVMModel
from svmkit.solver.loop.iterate import Progress
from svmkit.training.checkpoint import Checkpoint

pytestmark = pytest.mark.posix


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder two levels down, where everything else would be seen; the working directory is another one."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("SVMKIT_DATA", raising=False)
    monkeypatch.setenv("SVMKIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
    yield tmp_path / "files"
    assert sorted(os.listdir(tmp_path)) == ["files", "work"] and not os.listdir(tmp_path / "work")


def models(folder):
    """Files of three kinds of models."""
    X, y = IRIS
    file, texts = folder / "m", np.array(["a", "b", "c"])[y]
    sparse = sp.csr_array(np.where(X > 3, X, 0.0))
    for options in ({"scale": "standard"}, {"y": texts}, {"X": sparse, "y": y > 0}):
        trained(**{"X": X, "y": y} | options).save(file)
        yield file.read_bytes()
    file.unlink()


def parted(raw):
    """(safetensors header as text, our own header in it, what follows) of a file."""
    end = 8 + struct.unpack("<Q", raw[:8])[0]
    outer = json.loads(raw[8:end])
    return raw[8:end], outer["__metadata__"]["svmkit"].encode(), raw[end:]


def joined(outer, rest):
    return struct.pack("<Q", len(outer)) + outer + rest


def assembled(part, raw, changed):
    """The file `raw` with one of its parts exchanged, and lengths that fit again: else most damage ends at the door."""
    outer, _, rest = parted(raw)
    if part == "header":
        return joined(changed, rest)
    if part == "meta":
        whole = json.loads(outer)
        whole["__metadata__"]["svmkit"] = changed.decode("utf-8", "replace")
        return joined(json.dumps(whole).encode(), rest)
    return joined(outer, (changed + bytes(len(rest)))[: len(rest)]) if part == "arrays" else changed


def use(file):
    model = SVMModel.load(file)
    if model.n_features < 1000 and model.kernel.name != "precomputed":
        model.predict(np.zeros((2, model.n_features)))


def as_json(value):
    return json.dumps(value).encode()


@pytest.mark.slow
@pytest.mark.parametrize("part", ["file", "header", "meta", "arrays", "values"])
def test_models(folder, part):
    for k, raw in enumerate(list(models(folder))):
        outer, meta, rest = parted(raw)
        file = folder / "m"
        inputs = mutated([{"file": raw, "header": outer, "arrays": rest}.get(part, meta)])
        if part == "values":
            header = exchanged([json.loads(outer)]).map(as_json).map(partial(assembled, "header", raw))
            inputs = exchanged([json.loads(meta)]).map(as_json).map(partial(assembled, "meta", raw)) | header
        finished = bytes if part == "values" else partial(assembled, part, raw)
        fuzzed(f"model {k} {part}", inputs, use, file, finished, share=15)
        file.unlink()


@pytest.mark.parametrize("part", ["file", "header", "values"])
@pytest.mark.slow
def test_checkpoints(folder, part):
    file = folder / "c"
    progress = Progress(np.linspace(0.0, 1.0, 5), n_iter=3, epochs=1.0, seconds=2.0)
    checkpoint = Checkpoint(file)
    checkpoint.put(0, progress, "smo")
    checkpoint.flush()
    raw = file.read_bytes()
    outer, meta, _ = parted(raw)
    inputs = mutated([raw if part == "file" else outer]).map(partial(assembled, part, raw))
    if part == "values":
        inputs = exchanged([json.loads(meta)]).map(as_json).map(partial(assembled, "meta", raw))
    fuzzed(f"checkpoint {part}", inputs, lambda file: Checkpoint(file, resume=True), file, share=3)


ROWS = b"+1 1:0.5 3:1e-3 # a\n-1 qid:3 2:1 4:-2.5\n1 1:1 2:1 3:1 4:1\n\n-1 4:7\n"
TABLE = b'age,city,label\n1.5,Rome,yes\n2,"Lund, north",no\n,Rome,yes\n4,Oslo,no\n'
BARE = b"1;2;0\n3;4;1\n5;6;0\n7;8;1\n"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["svm", "csv", "tsv", "dat", "csv.gz", "xz"])
@pytest.mark.filterwarnings("ignore")
def test_texts(folder, ending):
    wide = b"1 " + b" ".join(b"%d:1" % k for k in range(1, 60)) + b"\n"
    tables, lines = [TABLE, BARE, TABLE.replace(b",", b"\t")], [ROWS, wide]
    samples = {"svm": lines, "csv": tables, "tsv": tables, "xz": [lzma.compress(ROWS)]}.get(ending, tables + lines)
    finished = gzip.compress if ending.endswith("gz") else bytes
    for labelled in (True, False):
        fuzzed(ending, mutated(samples), partial(load, labelled=labelled), folder / f"d.{ending}", finished, share=6)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.filterwarnings("ignore")
def test_binaries(folder, ending):
    file = folder / f"d.{ending}"
    X, y = np.arange(12.0).reshape(4, 3), np.array([0, 1, 0, 1])
    samples = []
    if ending == "npz":
        for save, arrays in ((np.savez, {"X": X, "y": y}), (np.savez_compressed, {"X": X, "y": y.astype(str)})):
            save(file, **arrays)
            samples.append(file.read_bytes())
        sp.save_npz(file, sp.csr_array(X))
        samples.append(file.read_bytes())
    else:
        import pandas as pd

        pd.DataFrame({"a": X[:, 0], "b": list("xyxy"), "label": y}).to_parquet(file)
        samples.append(file.read_bytes())
    fuzzed(ending, mutated(samples), partial(load, labelled=False), file)


@pytest.mark.parametrize("kind", ["libsvm", "more", "liblinear"])
def test_text_models(folder, kind):
    """Those that svmkit import reads; what it accepts is a sound model."""
    texts = text_models
    few = texts.LIBLINEAR.replace("2LOSS_SVC_DUAL", "1LOSS_SVR_DUAL").replace("label -1 1\n", "")
    samples = {
        "libsvm": [texts.C_SVC, texts.BINARY, texts.SVR],
        "more": [texts.ONE_CLASS, texts.PRECOMPUTED, texts.BINARY.replace("nr_sv", "probA -1\nprobB 0.5\nnr_sv")],
        "liblinear": [texts.LIBLINEAR, texts.LIBLINEAR.replace("L2LOSS_SVC_DUAL", "LR"), texts.MANY, few],
    }[kind]

    def read(file):
        model = read_text_model(file)
        model.save(folder.parent / "work" / "m")
        use(folder.parent / "work" / "m")

    try:
        fuzzed(f"text model {kind}", mutated([text.encode() for text in samples]), read, folder / "t", share=2)
    finally:
        (folder.parent / "work" / "m").unlink(missing_ok=True)


SPEC = b"""name: trial
about: >
  what it is about
data:
  breast_cancer: {scale: standard, C: [1, 10], kernel: {name: rbf, gamma: 0.5}, test: {hold_out: 0.3}}
  iris: {source: iris, rows: first 100, positive: 1, solvers: [fw, slow], class_weight: {1: 2.0}}
solvers:
  fw: {stops: &few [a]}
  slow: {solver: smo, options: {loss: hinge}, sampler: uniform:59, repeats: 2, stops: *few}
stop: {a: "gap:1e-3 | iter:100", b: epochs:3}
seeds: [0, 1, 5]
time_limit: 1e2
metrics: [time, gap]
"""
SHORT = b"data: [iris, wine]\nsolvers: swap2o\ngamma: 2 * msd\nC: 1e1\nscale: minmax\nmemory: 1GB\nseeds: 3\n"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_specs(folder):
    def read(file):
        for cell in load_spec(file, extra=("figures",)).cells()[:20]:
            assert cell.key and cell.name

    file = folder / "s.yaml"
    for content in (SPEC, SHORT):
        file.write_bytes(content)
        read(file)  # the samples themselves are fine
    values = [yaml.safe_load(SPEC), yaml.safe_load(SHORT)]
    fuzzed("spec text", mutated([SPEC, SHORT]), read, file, share=2)
    fuzzed("spec values", exchanged(values).map(yaml.safe_dump).map(str.encode), read, file, share=2)
