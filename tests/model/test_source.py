"""Models as C99 and JavaScript: compiled by gcc and run by node, they decide as the model does, within their bound."""

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from support.model import IRIS, KERNEL_MATRIX, NAMES, binary, trained

from svmkit import SVMClassifier, SVMOneClass, SVMRegressor, kernels
from svmkit.data import load
from svmkit.errors import InputError
from svmkit.model.source import export as source_export

GCC, NODE = shutil.which("gcc"), shutil.which("node")
needs_gcc = pytest.mark.skipif(GCC is None, reason="needs gcc, which compiles the header")
needs_node = pytest.mark.skipif(NODE is None, reason="needs node, which runs the JavaScript")
LANGUAGES = [
    pytest.param("c", "float64", marks=needs_gcc),
    pytest.param("c", "float32", marks=needs_gcc),
    pytest.param("js", "float64", marks=needs_node),
]
KERNELS = [
    kernels.Linear(),
    kernels.RBF(0.5),
    kernels.Poly(0.5, 3, 1.0),
    kernels.Sigmoid(0.05, 0.1),
    kernels.Laplacian(0.4),
]
MAIN = """
#include <stdio.h>
#include "model.h"
int main(void) {
  REAL x[D], out[N], found[M];
  while (fread(x, sizeof(REAL), D, stdin) == D) {
    model_decision(x, out);
    PREDICT
    fwrite(out, sizeof(REAL), N, stdout);
    fwrite(found, sizeof(REAL), M, stdout);
  }
  return 0;
}
"""
SCRIPT = """
const fs = require("fs"), model = require("./model.js");
const all = fs.readFileSync("rows"), x = new Float64Array(all.buffer, all.byteOffset, all.length / 8);
const out = [];
for (let i = 0; i < x.length; i += D) {
  const row = x.subarray(i, i + D);
  out.push(...model.decision(row));
  const found = new Float64Array(M);
  PREDICT
  out.push(...found);
}
fs.writeFileSync("found", Buffer.from(new Float64Array(out).buffer));
"""


def calibrated(X, y, kind="sigmoid", **options):
    return SVMClassifier(kernel="rbf", gamma=0.5, calibration=kind, **options).fit(X, y).model_


def predict_line(model, function):
    one = function == "predict" and not model.outputs
    return f"found[0] = PREFIX{function}(x);" if one else f"PREFIX{function}(x, found);"


def run(model, X, folder, language, dtype, function="predict"):
    """Write, compile and run; return what `write` returned, the decisions (n, N) and what the function found (n, M)."""
    n, k = len(model.intercept), len(model.classes)
    m = max(k, n) if function == "probability" else len(model.outputs) or 1
    line = predict_line(model, function)
    if language == "c":
        real = "float" if dtype == "float32" else "double"
        written = source_export.write(model, folder / "model.h", "c", dtype)
        text = MAIN.replace("PREDICT", line.replace("PREFIX", "model_"))
        (folder / "main.c").write_text(text)
        sizes = [f"-DD={X.shape[1]}", f"-DN={n}", f"-DM={m}", f"-DREAL={real}"]
        strict = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"]
        subprocess.run([GCC, *strict, *sizes, "main.c", "-o", "main", "-lm"], cwd=folder, check=True)
        done = subprocess.run(["./main"], cwd=folder, input=X.astype(dtype).tobytes(), capture_output=True, check=True)
        found = np.frombuffer(done.stdout, dtype=dtype)
    else:
        written = source_export.write(model, folder / "model.js", "js")
        (folder / "rows").write_bytes(np.ascontiguousarray(X, dtype=np.float64).tobytes())
        text = SCRIPT.replace("PREDICT", line.replace("PREFIX", "model.").replace("x", "row"))
        text = re.sub(r"\b([DNM])\b", lambda at: str({"D": X.shape[1], "N": n, "M": m}[at[0]]), text)
        (folder / "run.js").write_text(text)
        subprocess.run([NODE, "run.js"], cwd=folder, check=True)
        found = np.frombuffer((folder / "found").read_bytes(), dtype=np.float64)
    found = found.reshape(len(X), n + m).astype(np.float64)
    return written, found[:, :n], found[:, n:]


def rows_within(model, n, holes=0.0):
    """Rows, exact in float32, within the limits for which the bound holds."""
    rng = np.random.default_rng(3)
    numbers = source_export.collect_numbers(model)
    low, high = numbers.low, numbers.high
    inside = 1e-6 * (high - low)
    X = rng.uniform(low + inside, high - inside, (n, len(low))).astype(np.float32).astype(np.float64)
    return np.where(rng.random(X.shape) < holes, np.nan, X)


def agrees(model, X, folder, language, dtype):
    written, decision, found = run(model, X, folder, language, dtype)
    ours = model.decision_function(X).reshape(len(X), -1)
    off = np.abs(decision - ours).max()
    assert off <= written.error + 1e-12 * np.abs(ours).max()
    assert dtype == "float32" or off < 1e-6
    expected = model.predict(X)
    if model.regresses:
        assert np.abs(found.reshape(expected.shape) - expected).max() <= written.error + 1e-9
        return written, off
    sure = (np.abs(ours) > 2 * written.error).all(axis=1)
    if model.has_class_scores:
        best = np.sort(ours, axis=1)
        sure = best[:, -1] - best[:, -2] > 2 * written.error
    assert sure.mean() > 0.9
    theirs = found if model.outputs else model.classes[found[:, 0].astype(int)]
    assert np.array_equal(theirs[sure], expected[sure])
    return written, off


@pytest.mark.parametrize(("language", "dtype"), LANGUAGES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_three_classes_of_each_kernel(kernel, multiclass, language, dtype, tmp_path):
    model = trained(IRIS[0], NAMES[IRIS[1]], kernel, scale="standard", multiclass=multiclass)
    agrees(model, rows_within(model, 2000), tmp_path, language, dtype)


@pytest.mark.parametrize(("language", "dtype"), LANGUAGES)
def test_a_hundred_thousand_rows_of_two_classes(language, dtype, tmp_path):
    model = trained(*binary())
    agrees(model, rows_within(model, 100_000), tmp_path, language, dtype)


@pytest.mark.parametrize(("language", "dtype"), LANGUAGES)
@pytest.mark.parametrize("kind", ["median", "indicator"])
@pytest.mark.parametrize("kernel", [kernels.RBF(0.5), kernels.Linear()], ids=["rbf", "linear"])
def test_holes_are_filled(kernel, kind, language, dtype, tmp_path):
    X, y = IRIS[0].copy(), NAMES[IRIS[1]]
    X[::7, 1] = np.nan
    model = trained(X, y, kernel, impute=kind, scale="standard")
    agrees(model, rows_within(model, 1000, holes=0.2), tmp_path, language, dtype)


@pytest.mark.parametrize(("language", "dtype"), LANGUAGES)
def test_regression_outliers_and_several_outputs(language, dtype, tmp_path):
    X, y = IRIS[0], IRIS[0] @ [1.0, 2.0, -1.0, 0.5]
    levels = SVMRegressor(loss="quantile", tau=[0.4, 0.5, 0.6], C=100.0, non_crossing=True).fit(X, y).model_
    labels = SVMClassifier(kernel="rbf").fit(X, np.column_stack([y > 6.0, y > 9.0]).astype(int)).model_
    targets = SVMRegressor(kernel="rbf", gamma=0.5).fit(X, np.column_stack([y, -y])).model_
    one = SVMRegressor(kernel="rbf", gamma=0.5).fit(X, y).model_
    for model in (one, SVMOneClass(nu=0.2).fit(X).model_, levels, labels, targets):
        agrees(model, rows_within(model, 500), tmp_path, language, dtype)


@pytest.mark.parametrize(("language", "dtype"), LANGUAGES)
def test_probabilities_of_sigmoids(language, dtype, tmp_path):
    two = calibrated(*binary())
    three = calibrated(IRIS[0], NAMES[IRIS[1]], multiclass="ovr")
    all_classes = SVMClassifier(multiclass="multinomial").fit(IRIS[0], NAMES[IRIS[1]]).model_
    for model in (two, three, all_classes):
        X = rows_within(model, 500)
        _, _, found = run(model, X, tmp_path, language, dtype, "probability")
        np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-4 if dtype == "float32" else 1e-9)
        _, _, codes = run(model, X, tmp_path, language, dtype)
        assert (model.classes[codes[:, 0].astype(int)] == model.predict(X)).mean() > 0.99


@pytest.mark.parametrize(("language", "dtype"), LANGUAGES)
def test_probabilities_that_are_all_tiny_before_they_are_divided_by_their_sum(language, dtype, tmp_path):
    model = calibrated(IRIS[0], NAMES[IRIS[1]], multiclass="ovr")
    steep = replace(model.calibration, A=np.array([-1.0, -1.0, -1.0]), B=np.array([999.0, 1000.0, 1001.0]))
    model, X = replace(model, calibration=steep), rows_within(model, 100)
    _, _, found = run(model, X, tmp_path, language, dtype, "probability")
    np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-3 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize(("language", "dtype"), LANGUAGES)
def test_sparse_vectors_and_rows_beyond_the_limits(language, dtype, tmp_path):
    X, y = binary()
    model = trained(sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X)), y)
    assert sp.issparse(model.vectors)
    agrees(model, rows_within(model, 500), tmp_path, language, dtype)
    written, decision, _ = run(model, np.full((1, X.shape[1]), 1e6), tmp_path, language, dtype)
    assert abs(decision[0, 0] - model.intercept[0]) <= written.error  # no vector is near


@needs_gcc
def test_float_bound_is_not_far_above_the_errors(tmp_path):
    model = trained(IRIS[0], NAMES[IRIS[1]], scale="standard")
    written, off = agrees(model, rows_within(model, 2000), tmp_path, "c", "float32")
    assert written.error < 1000 * off


def test_fifty_vectors_are_within_four_kilobytes(tmp_path):
    rng = np.random.default_rng(0)
    model = trained(rng.standard_normal((50, 17)), np.arange(50) % 2, kernels.RBF(1.0), scale="standard")
    assert len(model.vectors) == 50
    assert source_export.write(model, tmp_path / "m.h").constants <= 4096
    line = trained(*IRIS, kernels.Linear(), scale="standard")
    assert source_export.write(line, tmp_path / "l.h").constants == 4 * (3 * 4 + 3)


def test_names_of_columns_and_files_are_harmless(tmp_path):
    data = tmp_path / "t.csv"
    rows = "\n".join(f"{a},{b},{a + b > 9}" for a in range(10) for b in range(10))
    data.write_text(f"*/ x,?\u00e9/* y,label\n{rows}\n")
    loaded = load(data)
    model = trained(loaded.X, loaded.y)
    model = replace(model, preprocessing=replace(model.preprocessing, encoding=loaded.encoding))
    source_export.write(model, tmp_path / "1 a-b.h")
    text = (tmp_path / "1 a-b.h").read_text()
    assert "static inline int _1_a_b_predict(const float *x)" in text
    assert text.count("*/") == 1 and text.count("/*") == 1


@needs_node
def test_a_reserved_word_names_no_constant(tmp_path):
    written = source_export.write(trained(*binary()), tmp_path / "class.js", "js")
    assert written.functions[0] == "_class.decision"
    subprocess.run([NODE, "class.js"], cwd=tmp_path, check=True)


def test_refusals_are_one_line(tmp_path):
    pairs, isotonic = calibrated(*IRIS), calibrated(*binary(), "isotonic")
    matrix = trained(KERNEL_MATRIX, IRIS[1], kernels.Precomputed())
    huge = trained(*binary(), kernels.Poly(1e9, 5, 1.0))
    for model, word in [(pairs, "ovr"), (isotonic, "sigmoid"), (matrix, "precomputed"), (huge, "--dtype float64")]:
        with pytest.raises(InputError, match=word) as refused:
            source_export.write(model, tmp_path / "m.h")
        assert "\n" not in str(refused.value)
    with pytest.raises(InputError, match="JavaScript has float64"):
        source_export.write(trained(*binary()), tmp_path / "m.js", "js", "float32")
