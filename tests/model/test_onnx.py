"""ONNX export: onnxruntime's labels and decisions are ours; what cannot be exported is refused in one line."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.cli import HOLED, PEOPLE, people
from support.model import IRIS, KERNEL_MATRIX, NAMES, binary, trained
from support.problems import zeros_and_ones
from support.registry import make_model

from svmkit import SVMOneClass, fit, kernels
from svmkit.data import load
from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_slices
from svmkit.model.onnx import export as onnx_export
from svmkit.solver.stopping import Iterations

onnx = pytest.importorskip("onnx", reason="needs onnx (extra `test`)")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime (extra `test`)")

KERNELS = [
    kernels.Linear(),
    kernels.RBF(0.5),
    kernels.Poly(0.5, 3, 1.0),
    kernels.Poly(0.3, 2, 0.0),
    kernels.Sigmoid(0.05, 0.1),
    kernels.Laplacian(0.4),
]


def run(path, X, dtype="float64"):
    """(labels, decisions) by onnxruntime; X a matrix, or the inputs by name."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["label", "decision"], X if isinstance(X, dict) else {"X": np.asarray(X, dtype=dtype)})


def expected(model, X):
    decision = model.decision_function(X)
    return decision if len(model.classes) == 2 else model.scores(decision)


def agrees(model, X, path, dtype="float64", within=1e-9):
    """Write and run the graph, compare it with the model, and return the largest difference of a decision."""
    onnx_export.write(model, path, dtype)
    dense = X.toarray() if hasattr(X, "toarray") else X
    labels, decision = run(path, dense, dtype)
    ours = expected(model, X)
    assert decision.dtype == dtype and decision.shape == ours.shape
    assert np.array_equal(labels.astype(str), whole(model.predict(X)).astype(str))
    difference = float(np.abs(decision - ours).max())
    assert difference <= within
    return difference


def whole(labels):
    return labels if labels.dtype.kind in "US" else labels.astype(np.int64)


@pytest.mark.parametrize("scale", ["none", "standard", "minmax", "maxabs"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_kernel_and_scaling(kernel, scale, tmp_path):
    X, y = binary()
    X = X * [1.0, 30.0, 0.1] + [0.0, 5.0, -2.0]
    model = trained(X, y, kernel, scale=scale, solver="smo", stop=Iterations(300))
    agrees(model, X, tmp_path / "m.onnx")
    if scale != "none":  # unscaled, gamma |x|^2 is some 2,000: no place for float32
        agrees(model, X, tmp_path / "m.onnx", "float32", 1e-4 * max(1.0, np.abs(expected(model, X)).max()))


@pytest.mark.parametrize("impute", ["median", "most_frequent", "indicator"])
@pytest.mark.parametrize("kernel", [kernels.Linear(), kernels.RBF(0.5), kernels.Laplacian(0.4)], ids=lambda k: k.name)
def test_holes_are_filled_as_ours_are(kernel, impute, tmp_path):
    X, y = binary()
    X = X * [1.0, 30.0, 0.1] + [0.0, 5.0, -2.0]
    rng = np.random.default_rng(5)
    X[rng.random(X.shape) < [0.2, 0.0, 0.3]] = np.nan
    new = np.where(rng.random(X.shape) < 0.3, np.nan, X)  # in the column without holes in training, too
    for scale in ("none", "standard"):
        model = trained(X, y, kernel, scale=scale, impute=impute, solver="smo", stop=Iterations(300))
        assert model.width == (5 if impute == "indicator" else 3)
        agrees(model, new, tmp_path / "m.onnx")
    agrees(model, new, tmp_path / "m.onnx", "float32", 1e-4 * max(1.0, np.abs(expected(model, new)).max()))
    linear = fit(X, y, solver="dcd", kernel=kernels.Linear(), impute=impute).model
    agrees(linear, new, tmp_path / "m.onnx")


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_more_than_two_classes_vote_as_ours_do(kernel, tmp_path):
    X, y = IRIS
    agrees(trained(X, NAMES[y], kernel, solver="smo", stop=Iterations(300)), X, tmp_path / "m.onnx")


def test_ties_of_votes_are_broken_as_ours_are(tmp_path):
    vectors = np.random.default_rng(3).normal(size=(12, 4))
    model = make_model(vectors, ("a", "b", "c", "d", "e"))
    X = np.random.default_rng(4).normal(size=(500, 4))
    most = np.sort(np.round(expected(model, X)), axis=1)
    assert (most[:, -1] == most[:, -2]).sum() > 20  # rows on which two classes have equally many votes
    agrees(model, X, tmp_path / "m.onnx")


def test_a_pair_that_was_not_trained_votes_as_ours_does(tmp_path):
    """Its decision is exactly 0."""
    vectors = np.random.default_rng(3).normal(size=(12, 4))
    whole = make_model(vectors, ("a", "b", "c"))
    coef, intercept = whole.coef.copy(), whole.intercept.copy()
    coef[:, class_slices(whole.n_support)[0]] = 0.0  # class a against b and c
    coef[0, 4:], intercept[:2] = 0.0, 0.0
    model = replace(whole, coef=coef, intercept=intercept)
    X = np.random.default_rng(4).normal(size=(100, 4))
    assert not model.decision_function(X)[:, :2].any() and "a" not in model.predict(X)
    agrees(model, X, tmp_path / "m.onnx")


def test_linear_problems_are_one_product(tmp_path):
    X, y = IRIS
    model = fit(X, y, solver="dcd", kernel=kernels.Linear()).model
    agrees(model, X, tmp_path / "m.onnx")
    nodes = [node.op_type for node in onnx.load(tmp_path / "m.onnx").graph.node]
    assert nodes[0] == "Gemm" and "Exp" not in nodes
    (weights, *_) = onnx.load(tmp_path / "m.onnx").graph.initializer
    assert list(weights.dims) == [4, 3]


def test_one_row_and_many(tmp_path):
    X, y = binary()
    model = trained(X, y, kernels.Laplacian(0.5))
    onnx_export.write(model, tmp_path / "m.onnx")
    assert np.allclose(run(tmp_path / "m.onnx", X[:1])[1], model.decision_function(X[:1]))
    assert run(tmp_path / "m.onnx", np.repeat(X, 20, 0))[0].shape == (1600,)


def test_classes_of_every_type(tmp_path):
    X, _ = binary()
    for names in [(-1.0, 1.0), (3, 7), (False, True), ("nein", "jä"), (b"n", b"y"), (0.5, 1.5)]:
        model = make_model(X[:10], names)
        onnx_export.write(model, tmp_path / "m.onnx")
        labels, _ = run(tmp_path / "m.onnx", X)
        ours = model.predict(X)
        if ours.dtype.kind in "US":
            assert labels.tolist() == ours.astype(str).tolist()
        else:
            assert labels.dtype == (np.float64 if 0.5 in names else np.int64) and np.array_equal(labels, ours)


def test_sparse_vectors_one_class_and_no_vectors(tmp_path):
    from scipy.sparse import csr_array

    X, y = binary()
    agrees(trained(csr_array(X), y, scale="maxabs"), csr_array(X), tmp_path / "m.onnx")
    agrees(SVMOneClass(gamma=0.5).fit(X).model_, X, tmp_path / "m.onnx")
    empty = SVMModel(kernels.RBF(0.5), np.array([0, 1]), X[:0], np.zeros(2, int), np.zeros((1, 0)), np.ones(1), 3)
    assert run(onnx_export.write(empty, tmp_path / "m.onnx").path, X)[0].tolist() == [1] * len(X)


@pytest.mark.float32
def test_float32_far_from_the_origin_is_centred_and_advised_on(tmp_path):
    X, y = binary()
    X = X + 1000.0
    model = trained(X, y)
    agrees(model, X.astype(np.float32).astype(np.float64), tmp_path / "m.onnx", "float32", 2e-5)
    assert onnx_export.write(model, tmp_path / "m.onnx", "float32").advice is None
    wide = trained(X * [1.0, 1.0, 50.0], y)
    assert "float64" in onnx_export.write(wide, tmp_path / "m.onnx", "float32").advice
    assert onnx_export.write(wide, tmp_path / "m.onnx").advice is None


@pytest.mark.parametrize("kernel", [kernels.RBF(0.5), kernels.Laplacian(0.5)], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(("scale", "offset"), [(1.0, 1e6), (1.0, 1e8), (1e5, 0.0), (1e5, 1e12), (1e160, 0.0)])
def test_far_and_huge_data_have_the_decisions_of_the_model(scale, offset, kernel, tmp_path):
    X, y = binary()
    X = scale * X + offset
    model = trained(X, y, kernel=kernel)
    agrees(model, X, tmp_path / "m.onnx")
    near = X + np.random.default_rng(0).uniform(-1.0, 1.0, X.shape) * (1.0 if scale < 1e6 else 1e140)
    agrees(model, near, tmp_path / "m.onnx")


def test_float32_is_refused_where_it_would_lose_the_values(tmp_path):
    X, y = binary()
    model = trained(1e5 * X, y)
    with pytest.raises(InputError, match="export the model with --dtype float64"):
        onnx_export.write(model, tmp_path / "m.onnx", "float32")
    onnx_export.write(model, tmp_path / "m.onnx")


def test_what_the_file_says_of_itself(tmp_path, alone, train):
    train(people("people.csv"), "--out", tmp_path / "m.svmkit", "--solver", "smo")
    model = SVMModel.load(tmp_path / "m.svmkit")
    proto = onnx_export.build(model)
    said = {entry.key: entry.value for entry in proto.metadata_props}
    assert proto.producer_name == "svmkit" and said["svmkit_version"] == proto.producer_version
    assert said["kernel"] == "rbf" and json.loads(said["kernel_params"]) == model.kernel.params
    assert json.loads(said["classes"]) == ["no", "yes"] and float(said["certified_gap"]) == model.about["gap"]
    assert json.loads(said["columns"]) == ["age", "city=berlin", "city=oslo", "city=rome", "score"]
    assert {opset.domain: opset.version for opset in proto.opset_import}[""] == onnx_export.OPSET


def test_text_columns_become_inputs_by_name(tmp_path, alone, train):
    train(people("people.csv"), "--out", tmp_path / "m.svmkit", "--solver", "smo")
    model = SVMModel.load(tmp_path / "m.svmkit")
    assert onnx_export.write(model, tmp_path / "m.onnx").inputs == ["age", "city", "score"]
    data = load("people.csv", encoding=model.encoding)
    import pandas as pd

    frame = pd.read_csv("people.csv")
    columns = {name: frame[[name]].to_numpy(float) for name in ("age", "score")}
    labels, decision = run(tmp_path / "m.onnx", columns | {"city": frame[["city"]].to_numpy(object)})
    assert np.array_equal(labels, model.predict(data.X))
    assert np.abs(decision - model.decision_function(data.X)).max() < 1e-9
    unknown = {"age": [[30.0]], "score": [[1.5]], "city": np.array([["lima"]], dtype=object)}
    found = run(tmp_path / "m.onnx", {k: np.asarray(v) for k, v in unknown.items()})[1]
    assert np.allclose(found, model.decision_function(np.array([[30.0, 0, 0, 0, 1.5]])))


def test_a_table_with_holes_and_text(tmp_path, alone, train):
    train(people("people.csv", rows=HOLED), "--impute", "indicator", "--scale", "standard", "--out", "m.svmkit")
    model = SVMModel.load("m.svmkit")
    data = load("people.csv", encoding=model.encoding, holes=True)
    assert np.isnan(data.X).any() and model.width == data.X.shape[1] + 2
    assert onnx_export.write(model, tmp_path / "m.onnx").inputs == ["age", "city", "score"]
    import pandas as pd

    frame = pd.read_csv("people.csv")
    columns = {name: frame[[name]].to_numpy(float) for name in ("age", "score")}
    labels, decision = run(tmp_path / "m.onnx", columns | {"city": frame[["city"]].to_numpy(object)})
    assert np.array_equal(labels, model.predict(data.X))
    assert np.abs(decision - model.decision_function(data.X)).max() < 1e-9


def test_a_table_with_dates_takes_them_as_days(tmp_path, alone, train):
    days = [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" if i % 5 else "" for i in range(48)]
    rows = "".join(f"{day},{city},{answer}\n" for day, (_, city, _, answer) in zip(days, PEOPLE, strict=True))
    (tmp_path / "dates.csv").write_text("since,city,answer\n" + rows)
    train("dates.csv", "--label", "answer", "--impute", "indicator", "--scale", "standard", "--out", "m.svmkit")
    model = SVMModel.load("m.svmkit")
    assert onnx_export.write(model, "m.onnx").inputs == ["since", "city"]
    X = load("dates.csv", encoding=model.encoding, holes=True).X
    cities = np.array([[city] for _, city, _, _ in PEOPLE], dtype=object)
    labels, decision = run("m.onnx", {"since": X[:, :1], "city": cities})
    assert np.isnan(X[:, 0]).sum() == 10 and X[1, 0] == (np.datetime64(days[1]) - np.datetime64("1970-01-01")).astype(
        int
    )
    assert np.array_equal(labels, model.predict(X))
    assert np.abs(decision - model.decision_function(X)).max() < 1e-9


def test_columns_may_have_any_name(tmp_path, alone, train):
    rows = "".join(f"{i % 5},{'uv'[i % 2]},{i},{['no', 'yes'][i % 2]}\n" for i in range(40))
    (tmp_path / "odd.csv").write_text("label,decision,svmkit.0.Concat,y\n" + rows)
    train("odd.csv", "--label", "y", "--out", "m.svmkit", "--solver", "smo")
    model = SVMModel.load("m.svmkit")
    assert onnx_export.write(model, "m.onnx").inputs == ["_label", "_decision", "_svmkit.0.Concat"]
    onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "iris"])
def test_built_in_sets_by_the_command(name, alone, svmkit, train, tmp_path):
    train(name, "--solver", "smo", "--scale", "standard", "--out", "m.svmkit")
    model = SVMModel.load("m.svmkit")
    done = svmkit("export", "m.svmkit", "--onnx", "m.onnx", "--json").json
    assert done["bytes"] == (tmp_path / "m.onnx").stat().st_size and done["inputs"] == ["X"]
    X = load(name).X[:1000]
    labels, decision = run("m.onnx", X)
    assert np.array_equal(labels.astype(str), whole(model.predict(X)).astype(str))
    double = np.abs(decision - expected(model, X)).max()
    assert double < 1e-8
    shown = svmkit("export", "m.svmkit", "--onnx", "m.onnx", "--dtype", "float32").out
    assert "opset 17, float32" in shown and "label, decision" in shown
    labels, decision = run("m.onnx", X, "float32")
    assert np.array_equal(labels.astype(str), whole(model.predict(X)).astype(str))
    single = np.abs(decision - expected(model, X)).max()
    assert single < 1e-4
    print(f"{name}: {len(model.coef[0])} vectors, float64 {double:.1e}, float32 {single:.1e}")


REAL = {  # set: options, rows trained on
    "a9a": ({"kernel": kernels.RBF(0.05), "C": 1.0}, 5000),
    "ijcnn1": ({"kernel": kernels.RBF(2.0), "C": 10.0}, 8000),
    "usps": ({"kernel": kernels.RBF(0.0078), "C": 10.0}, 3000),
    "pendigits": ({"kernel": kernels.RBF("scale"), "C": 10.0}, 3000),
    "letter.scale": ({"kernel": kernels.Laplacian(0.3), "C": 10.0}, 2000),
}


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_a_thousand_rows_of_real_sets(name, real_set, tmp_path):
    options, n = REAL[name]
    data = real_set(name)
    model = fit(data.X[:n], data.y[:n], solver="fcsmo", **options).model
    X = data.X[-1000:]
    double = agrees(model, X, tmp_path / "m.onnx", within=1e-6)
    single = agrees(model, X, tmp_path / "m.onnx", "float32", 1e-4)
    print(f"{name}: {len(model.coef[0])} vectors, float64 {double:.1e}, float32 {single:.1e}")


def test_what_cannot_be_exported_is_refused(tmp_path):
    from dataclasses import replace

    from scipy.sparse import csr_array

    class Plugin(kernels.Kernel):
        name = "theirs"

    X, _ = binary()
    good = make_model(X[:10])

    def refuse(words, model, dtype="float64", path=tmp_path / "m.onnx"):
        with pytest.raises(InputError, match=words) as caught:
            onnx_export.write(model, path, dtype)
        assert "\n" not in str(caught.value)
        assert list(tmp_path.iterdir()) == []

    refuse("precomputed.*svmkit predict", trained(KERNEL_MATRIX, IRIS[1], kernels.Precomputed()))
    refuse("'theirs'.*plugin.*linear, rbf, poly, sigmoid, laplacian", replace(good, kernel=Plugin()))
    refuse("'float16'.*float64 or float32", good, "float16")
    refuse("float32.*--dtype float64", replace(good, coef=good.coef * 1e300), "float32")
    refuse("cannot write", good, path=tmp_path / "nowhere" / "m.onnx")
    wide = csr_array(([1.0] * 10, (range(10), range(10))), shape=(10, 1 << 26))
    refuse(r"5\.0 GB.*--max-support", make_model(wide))


def test_without_onnx_the_command_says_what_to_install(alone, refused, monkeypatch):
    make_model().save("m.svmkit")
    monkeypatch.setitem(sys.modules, "onnx", None)
    refused(["pip install", "onnx"], "export", "m.svmkit", "--onnx", "m.onnx")
    refused(["--onnx"], "export", "m.svmkit")
    refused(["no.svmkit"], "export", "no.svmkit", "--onnx", "m.onnx")


@pytest.mark.parametrize(
    ("kind", "multiclass"),
    [*((kind, way) for kind in ("sigmoid", "isotonic") for way in ("two", "ovo", "ovr")), (None, "multinomial")],
)
def test_probabilities_and_labels_are_ours(kind, multiclass, tmp_path):
    X, y = binary() if multiclass == "two" else (IRIS[0], NAMES[IRIS[1]])
    layout = "ovo" if multiclass == "two" else multiclass
    kernel = kernels.Linear() if multiclass == "multinomial" else kernels.RBF(0.5)
    model = trained(X, y, kernel, calibration=kind, multiclass=layout)
    rows = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (300, X.shape[1]))
    onnx_export.write(model, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    labels, found = session.run(["label", "probability"], {"X": rows})
    assert found.dtype == np.float64 and np.abs(found - model.predict_proba(rows)).max() < 1e-9
    assert np.array_equal(labels.astype(str), whole(model.predict(rows)).astype(str))
    assert np.array_equal(session.run(["decision"], {"X": rows})[0].shape, expected(model, rows).shape)
    onnx_export.write(model, tmp_path / "m.onnx", "float32")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    labels, single = session.run(["label", "probability"], {"X": rows.astype(np.float32)})
    assert single.dtype == np.float32 and np.abs(single - found).max() < 1e-3
    assert np.array_equal(labels.astype(str), whole(model.classes[single.argmax(axis=1)]).astype(str))


def test_probabilities_of_a_model_that_lacks_a_class_pair(tmp_path):
    X, y = IRIS
    model = trained(X, y, kernels.RBF(0.5), calibration="sigmoid")
    coef, intercept, ends = model.coef.copy(), model.intercept.copy(), np.cumsum(model.n_support)
    coef[0, : ends[1]], intercept[0] = 0.0, 0.0
    lacking = replace(model, coef=coef, intercept=intercept)
    assert lacking.trained_pairs.tolist() == [1, 2]
    onnx_export.write(lacking, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    assert np.abs(session.run(["probability"], {"X": X})[0] - lacking.predict_proba(X)).max() < 1e-9


@pytest.mark.filterwarnings("ignore:.* rows are equal to one in another fold")
@pytest.mark.parametrize("layout", ["ovo", "ovr"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_isotonic_labels_of_duplicate_rows_are_ours(layout, dtype, tmp_path):
    for seed in range(12):
        X, y = zeros_and_ones(seed, 2 if layout == "ovo" else 3)
        model = trained(X, y, kernels.RBF(0.5), calibration="isotonic", multiclass=layout)
        onnx_export.write(model, tmp_path / "m.onnx", dtype)
        session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
        labels, found = session.run(["label", "probability"], {"X": X.astype(dtype)})
        np.testing.assert_array_equal(labels, model.predict(X))
        np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-10 if dtype == "float64" else 1e-3)
