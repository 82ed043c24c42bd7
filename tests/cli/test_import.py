"""svmkit import and the text models of svmkit export."""

import os
from pathlib import Path

import numpy as np
import pytest
from support import text_models
from support.cli import people, svmlight
from support.text_models import ROWS

from svmkit.data import load
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


def test_import_predict_and_export_again(svmkit):
    Path("theirs.model").write_text(text_models.C_SVC)
    done = svmkit("import", "theirs.model")
    assert done.code == 0 and done.err == ""
    lines = dict(line.split("  ", 1) for line in done.out.splitlines())
    assert lines["read"].strip() == "theirs.model: LIBSVM c_svc" and lines["model"].strip() == "theirs.svmkit"
    rows = "\n".join(" ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) for row in ROWS)
    Path("rows.svm").write_text("\n".join(f"0 {row}" for row in rows.splitlines()) + "\n")
    labels = svmkit("predict", "theirs.svmkit", "rows.svm").out.split()
    assert list(map(int, labels)) == text_models.C_SVC_LABELS.tolist()
    told = svmkit("export", "theirs.svmkit", "--libsvm", "ours.model", "--json").json
    assert told == {
        "model": "theirs.svmkit",
        "libsvm": "ours.model",
        "type": "c_svc",
        "bytes": os.path.getsize("ours.model"),
    }
    found = svmkit("import", "ours.model", "--out", "again.svmkit", "--n-features", "4", "--json").json
    assert found["n_features"] == 4 and found["classes"] == [1, 2, 3] and found["model"] == "again.svmkit"
    assert "polynomial" in Path("ours.model").read_text()
    model, again = (SVMModel.load(f"{name}.svmkit") for name in ("theirs", "again"))
    np.testing.assert_array_equal(
        again.decision_function(np.column_stack([ROWS, np.zeros(8)])), model.decision_function(ROWS)
    )


def test_a_trained_model_as_both_texts(svmkit):
    data = svmlight()
    svmkit("train", data, "--solver", "dcd", "--no-track", "--out", "m.svmkit")
    want = SVMModel.load("m.svmkit").decision_function(load(data).X)
    for kind in ("libsvm", "liblinear"):
        done = svmkit("export", "m.svmkit", f"--{kind}", f"{kind}.model")
        assert done.code == 0 and done.out.startswith(f"{kind} ") and "linear" in done.out
        assert svmkit("import", f"{kind}.model").code == 0
        found = SVMModel.load(f"{kind}.svmkit").decision_function(load(data).X)
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-12)


def test_probabilities_come_along_unless_they_are_left_out(svmkit):
    Path("p.model").write_text(text_models.BINARY.replace("nr_sv", "probA 1.5\nprobB 0.25\nnr_sv"))
    assert "probabilities  yes" in svmkit("import", "p.model").out
    assert SVMModel.load("p.svmkit").calibration is not None
    assert "probabilities" not in svmkit("import", "p.model", "--no-proba", "--force").out
    assert SVMModel.load("p.svmkit").calibration is None


def test_a_model_that_is_replaced_is_kept(svmkit):
    Path("m.model").write_text(text_models.BINARY)
    assert svmkit("import", "m.model").err == ""
    assert "the old file is kept as m.svmkit.bak" in svmkit("import", "m.model").err
    assert svmkit("import", "m.model", "--force").err == ""


def test_text_labels_are_told(svmkit):
    svmkit(
        "train", people("p.csv"), "--solver", "smo", "--kernel", "linear", "--drop", "city", "--no-track", "--out", "m"
    )
    done = svmkit("export", "m", "--liblinear", "t")
    assert done.code == 0 and "0 = 'no', 1 = 'yes'" in done.err and done.err.count("\n") == 1


def test_source_code_says_its_size_its_bound_and_its_functions(svmkit, refused):
    assert svmkit("train", svmlight("data.svm"), "--no-track", "--out", "m.svmkit").code == 0
    done = svmkit("export", "m.svmkit", "--c", "m.h")
    assert done.code == 0 and "bytes of constants" in done.out and "m_decision, m_predict" in done.out
    bound = done.out.split("at most ")[1].split()[0]
    assert f"differ by at most {bound} from" in Path("m.h").read_text()
    double = svmkit("export", "m.svmkit", "--c", "m.h", "--dtype", "float64", "--json").json
    single = svmkit("export", "m.svmkit", "--c", "m.h", "--json").json
    assert double["constants"] == 2 * single["constants"] and double["error"] < 1e-6 * single["error"]
    assert svmkit("export", "m.svmkit", "--js", "m.js", "--json").json["functions"] == ["m.decision", "m.predict"]
    refused(["--dtype is of --onnx and --c"], "export", "m.svmkit", "--js", "m.js", "--dtype", "float32")


def test_one_line_each(svmkit, refused):
    Path("m.model").write_text(text_models.BINARY.replace("rho 0.46", "rho x0.46"))
    refused(["m.model:6:", "rho needs finite numbers"], "import", "m.model")
    refused(["no such file"], "import", "missing.model")
    refused(["data.svm", "svm_type and solver_type"], "import", svmlight("data.svm"))
    refused(["folder"], "import", ".")
    refused(["cannot write"], "import", "m.model", "--out", "no/where")
    svmkit("train", people("p.csv"), "--solver", "smo", "--no-track", "--out", "m.svmkit")
    refused(["encodes columns of text", "--onnx"], "export", "m.svmkit", "--libsvm", "t")
    refused(["give one of --onnx"], "export", "m.svmkit")
    refused(["give one of --onnx"], "export", "m.svmkit", "--onnx", "a", "--libsvm", "b")
    refused(["--dtype is of --onnx"], "export", "m.svmkit", "--libsvm", "b", "--dtype", "float32")
    assert not Path("t").exists()
