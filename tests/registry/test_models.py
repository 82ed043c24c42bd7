"""svmkit models: list, show, register, promote, pull on the store that is there by default."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.registered import ABOUT, scored
from support.registry import X, make_model
from svmkit_registry import lineage, models, store
from svmkit_registry.promotion import metric_of, objection
from svmkit_registry.tracker import MLflowTracker

from svmkit.errors import InputError
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(scope="module")
def versions(tmp_path_factory) -> Path:
    """A store with five versions of `toy` and one of `other`."""
    path = tmp_path_factory.mktemp("versions") / "mlflow.db"
    tracker = MLflowTracker(str(path), strict=True)
    tracker.start("first", {}, {})
    for model in (
        scored(0.8),
        scored(0.9),
        scored(0.95, sha="b" * 64),
        scored(None),
        scored(0.9),
    ):
        tracker.model(model, X[:3], register="toy")
    tracker.model(make_model(), X[:3], register="other")
    tracker.end()
    return path


@pytest.fixture
def toy(versions) -> Path:
    """That store as the default one of the working directory."""
    shutil.copy(versions, "mlflow.db")
    return Path("mlflow.db")


def alias(name: str = "toy") -> dict[str, int]:
    return models.show_model(name)["aliases"]


def failed(svmkit, *args) -> str:
    """The one line of a command that is right and whose work is refused."""
    done = svmkit(*args)
    assert (done.code, done.out) == (1, "") and done.err.count("\n") == 1, done
    return done.err


# --- list, show


def test_list(svmkit, toy):
    assert svmkit("models", "promote", "toy", "2", "champion").code == 0
    other, found = svmkit("models", "list", "--json").json
    assert found["name"] == "toy" and found["aliases"] == {"champion": 2} and found["versions"] == 5
    assert found["latest"]["version"] == 5 and found["latest"]["test_accuracy"] == 0.9
    assert other["name"] == "other" and other["latest"]["test_accuracy"] is None
    lines = svmkit("models", "list").out.splitlines()
    assert lines[0].split() == ["name", "versions", "latest", "aliases"]
    assert lines[1].split() == ["other", "1", "not", "tested"]
    assert lines[2].split() == ["toy", "5", "90.00%", "on", "100", "rows", "@champion", "2"]


def test_more_models_than_a_page(svmkit, toy, monkeypatch):
    real = models.fetching.pages
    monkeypatch.setattr(
        models.fetching, "pages", lambda search, *a: real(lambda *b, **k: search(*b, max_results=1, **k), *a)
    )
    assert [found["name"] for found in models.list_models()] == ["other", "toy"]
    assert [version["version"] for version in models.show_model("toy")["versions"]] == [5, 4, 3, 2, 1]


def test_show_has_the_lineage(svmkit, toy):
    found = svmkit("models", "show", "toy", "--json").json
    assert [version["version"] for version in found["versions"]] == [5, 4, 3, 2, 1]
    second = found["versions"][3]
    expected = dict.fromkeys(lineage.FIELDS) | {key: ABOUT[key] for key in lineage.FIELDS if key in ABOUT}
    expected |= {"test_accuracy": 0.9, "test_data": "held", "n_test": 100, "test_sha256": "a" * 64}
    assert {key: second[key] for key in lineage.FIELDS} == expected
    assert second["run_id"] and second["created"].endswith("Z") and second["forced"] == {}
    untested = found["versions"][1]
    assert untested["test_accuracy"] is None and untested["gap"] == 1.25e-4
    text = svmkit("models", "show", "toy").out
    assert text.startswith("toy: 5 versions\n") and text.count("\n\nversion ") == 5
    for words in ("90.00% on 100 rows of held", "not tested", "gamma=0.5", "1.25e-04", "c" * 40, "d" * 64):
        assert words in text


def test_a_model_without_lineage_shows_what_can_be_read_off_it(svmkit, toy):
    (version,) = svmkit("models", "show", "other", "--json").json["versions"]
    assert version["params"] == {"kernel": "rbf", "gamma": 0.5}
    assert version["data"] is None and version["git_commit"] is None
    assert svmkit("models", "show", "other").code == 0


def test_an_empty_registry_and_none(svmkit, refused):
    refused(["no store at", "--tracking-uri"], "models", "list")
    assert not list(Path().iterdir())
    store.open_client(store.tracking_uri())
    done = svmkit("models", "list")
    assert (done.code, done.out) == (0, "") and "none is registered yet" in done.err
    assert svmkit("models", "list", "--json").json == []
    refused(["no registered model 'toy'", "none is registered yet"], "models", "show", "toy")


def test_lineage_from_strangers_is_taken_for_what_it_is():
    odd = {
        "data": "a\x1b[2Jb",
        "gap": "nan",
        "test_accuracy": 1e9,
        "n_test": -1,
        "status": ["converged"],
        "n_samples": 2.5,
        "params": {"C": 1.0, "note": "two\nlines"},
        "git_commit": 7,
        "test_sha256": "e" * 64,
    }
    assert lineage.model_origin(make_model(about=odd)) == {"params": {"C": 1.0}, "test_sha256": "e" * 64}
    assert lineage.model_origin(make_model(about="text")) == {"params": {"kernel": "rbf", "gamma": 0.5}}
    assert lineage.valid_entries({"params": "[1", "gap": True, "n_test": float("inf")}) == {}
    long = make_model(about={"data": "x" * (lineage.LONGEST + 1), "gap": 0.5})
    assert set(lineage.tags_of(long)) == {"svmkit.gap", "svmkit.params"}


# --- promote


def test_promotion_is_refused_when_it_is_worse(svmkit, toy):
    done = svmkit("models", "promote", "toy", "2", "@champion", "--json").json
    assert done == {"name": "toy", "version": 2, "alias": "champion", "replaced": None, "forced": None, "metric": None}
    said = failed(svmkit, "models", "promote", "toy", "1", "champion")
    assert "80.00%" in said and "90.00%" in said and "version 2" in said and "--force" in said
    assert alias() == {"champion": 2}
    assert svmkit("models", "promote", "toy", "2", "champion").out == "toy@champion is version 2 as before\n"
    assert (
        svmkit("models", "promote", "toy", "latest", "champion").out == "toy@champion is version 5, before version 2\n"
    )
    assert alias() == {"champion": 5}


def test_promotion_is_refused_when_it_cannot_be_compared(svmkit, toy):
    svmkit("models", "promote", "toy", "2", "champion")
    said = failed(svmkit, "models", "promote", "toy", "3", "champion")
    assert "different test sets" in said and "a" * 12 in said and "b" * 12 in said
    assert "version 4 is not known" in failed(svmkit, "models", "promote", "toy", "4", "champion")
    assert alias() == {"champion": 2}
    assert svmkit("models", "promote", "toy", "4", "other").code == 0  # an alias that nobody has
    assert "version 4 is not known" in failed(svmkit, "models", "promote", "toy", "2", "other")


def test_force_is_recorded(svmkit, toy):
    svmkit("models", "promote", "toy", "2", "champion")
    done = svmkit("models", "promote", "toy", "1", "champion", "--force")
    assert done.code == 0 and "by force" in done.err and alias() == {"champion": 1}
    shown = svmkit("models", "show", "toy", "--json").json["versions"]
    record = shown[-1]["forced"]["champion"]
    assert record["from"] == 2 and record["by"] and record["at"].endswith("Z") and "below" in record["although"]
    assert [version["forced"] for version in shown[:-1]] == [{}] * 4
    assert "from version 2" in svmkit("models", "show", "toy").out
    # not needed: nothing to record
    assert svmkit("models", "promote", "toy", "5", "champion", "--force").err == ""
    assert models.show_model("toy")["versions"][0]["forced"] == {}


def test_objections():
    def says(ours, theirs):
        return objection(ours, theirs, "version 2", "version 1")

    base = {"test_accuracy": 0.9, "test_data": "held", "n_test": 100}
    assert says(base, base) is None  # name and rows, where no contents are known
    assert says(base | {"test_sha256": "a"}, base) is None
    assert says(base | {"test_data": "x", "test_sha256": "a"}, base | {"test_sha256": "a"}) is None
    assert "held (99 rows) and held (100 rows)" in says(base | {"n_test": 99}, base)
    assert "x (100 rows) and held" in says(base | {"test_data": "x"}, base)
    assert "which ones is not known" in says({"test_accuracy": 0.9}, {"test_accuracy": 0.8})
    assert "version 2 and version 1 is not known" in says({}, {})
    assert "90.000000% is below the 90.000010%" in says(base, base | {"test_accuracy": 0.9000001})
    assert says(base | {"test_accuracy": 0.91}, base) is None


def test_objections_to_models_of_quantities():
    def says(ours, theirs, metric):
        return objection(ours, theirs, "version 2", "version 1", metric)

    base = {"test_r2": 0.5, "test_rmse": 50.0, "test_mae": 40.0, "test_data": "held", "n_test": 100}
    better = base | {"test_r2": 0.6, "test_rmse": 45.0, "test_mae": 41.0}
    assert metric_of(base, better) == metric_of(base | {"metric": "r2", "test_metric": 0.5}, better) == "r2"
    own = {"metric": "neg_mean_absolute_error"}
    assert metric_of(better | own, base) == "neg_mean_absolute_error"
    assert metric_of({"test_accuracy": 0.9}, base) == "accuracy"
    assert says(better, base, "r2") is says(better, base, "neg_root_mean_squared_error") is None
    assert says(base, better, "r2") == "its test R2 0.5000 is below the 0.6000 of version 1"
    assert "-41.0000 is below the -40.0000" in says(better, base, "neg_mean_absolute_error")
    assert "the test R2 of version 1 is not known (train with --test or --test-size)" in says(base, {}, "r2")
    known = lineage.valid_entries(base | {"test_r2": -3.5, "test_mae": "many"})
    assert known["test_r2"] == -3.5 and known["test_rmse"] == 50.0 and "test_mae" not in known


def test_objections_by_another_metric():
    def says(ours, theirs, metric):
        return objection(ours, theirs, "version 2", "version 1", metric)

    base = {"test_accuracy": 0.9, "test_balanced_accuracy": 0.6, "test_data": "held", "n_test": 100}
    better = base | {"test_accuracy": 0.8, "test_balanced_accuracy": 0.7}
    assert says(better, base, "balanced_accuracy") is None
    worse = "its test balanced accuracy 60.00% is below the 70.00% of version 1"
    assert says(base, better, "balanced_accuracy") == worse
    f1 = {"metric": "f1", "positive": "yes", "test_metric": 0.3}
    assert says(base | f1, base | f1, "f1") is None
    assert "30.00% is below the 40.00%" in says(base | f1, base | f1 | {"test_metric": 0.4}, "f1")
    assert says(base | f1, base, "f1") == (
        "the test f1 of version 1 is not known (train with --metric f1 and --test or --test-size)"
    )
    assert says(base | f1, base | f1 | {"positive": "no"}, "f1") == (
        "its test f1 is of class yes and that of version 1 is of class no"
    )
    assert "its test f1 30.00% and the 30.00% of version 1 are of different test sets" in says(
        base | f1, base | f1 | {"n_test": 7}, "f1"
    )
    mcc = {"metric": "matthews_corrcoef", "test_metric": -0.25}
    assert "0.2500 is below the 0.5000" in says(base | mcc, base | mcc | {"test_metric": 0.5}, "matthews_corrcoef")


def test_the_metric_is_that_of_the_candidate_if_both_have_it():
    old, both = {"test_accuracy": 0.9}, {"test_accuracy": 0.9, "test_balanced_accuracy": 0.6}
    assert metric_of(both | {"metric": "balanced_accuracy"}, both) == "balanced_accuracy"
    assert metric_of(both | {"metric": "balanced_accuracy"}, old) == metric_of(both, both) == "accuracy"
    f1 = {"metric": "f1", "test_metric": 0.3}
    assert metric_of(both | f1, both | f1) == "f1" and metric_of(both | f1, both) == "accuracy"


def test_promotion_by_a_metric(svmkit, refused, toy):
    for balanced in (0.6, 0.7, 0.5):
        about = scored(0.9).about | {"metric": "balanced_accuracy", "test_balanced_accuracy": balanced}
        make_model(about=about).save("m.svmkit")
        assert svmkit("models", "register", "m.svmkit", "--name", "rare").code == 0
    assert svmkit("models", "promote", "rare", "1", "champion").err == ""
    done = svmkit("models", "promote", "rare", "2", "champion", "--json")
    assert done.json["metric"] == "balanced_accuracy" and "compared by balanced accuracy" in done.err
    worse = svmkit("models", "promote", "rare", "3", "champion")
    assert worse.code == 1 and "its test balanced accuracy 50.00% is below the 70.00% of version 2" in worse.err
    unknown = svmkit("models", "promote", "rare", "3", "champion", "--metric", "f1")
    assert unknown.code == 1 and "test f1 of version 3 and version 2 is not known" in unknown.err
    assert svmkit("models", "promote", "rare", "3", "champion", "--metric", "accuracy").code == 0
    refused(["did you mean f1_macro"], "models", "promote", "rare", "1", "champion", "--metric", "f1_marco")
    assert "test balanced accuracy" in svmkit("models", "show", "rare").out


# --- register, pull


def test_a_file_is_registered_with_what_it_knows(svmkit, toy):
    scored(0.91).save("late.svmkit")
    done = svmkit("models", "register", "late.svmkit", "--name", "toy", "--json").json
    assert done["uri"] == "models:/toy/6" and done["version"] == 6
    newest = models.show_model("toy")["versions"][0]
    assert newest["version"] == 6 and newest["test_accuracy"] == 0.91 and newest["git_commit"] == "c" * 40
    assert newest["run_id"] == done["run_id"]
    client = store.open_client(store.tracking_uri())
    run = client.get_run(done["run_id"])
    assert run.info.status == "FINISHED" and run.info.run_name == "register late.svmkit"
    assert run.data.params["gamma"] == "0.5" and run.data.params["data"] == "clouds"
    assert run.data.metrics == {"test/accuracy": 0.91, "final/gap": 1.25e-4}
    assert svmkit("models", "promote", "toy", "6", "champion").code == 0


@pytest.mark.slow
def test_register_makes_the_store_and_takes_sparse_models_and_tables(svmkit):
    import scipy.sparse as sp

    from svmkit.data import Encoding, Preprocessing

    sparse = make_model(sp.csr_array(np.where(X > 0.5, X, 0.0))[:10], classes=(0, 1, 2))
    encoding = Encoding(("age", "city", "size"), (None, ("Bonn", "Kiel"), None), True, "y", 3, True)
    table = make_model(np.eye(4)[:3], preprocessing=Preprocessing(encoding))
    for k, model in enumerate((sparse, table)):
        model.save("m.svmkit")
        assert svmkit("models", "register", "m.svmkit", "--name", "odd").out == f"m.svmkit is models:/odd/{k + 1}\n"
    assert svmkit("models", "pull", "models:/odd/1", "--out", "back.svmkit").code == 0
    assert np.array_equal(SVMModel.load("back.svmkit").predict(X), sparse.predict(X))


@pytest.mark.parametrize(
    "name",
    ["", " ", ".", "..", "../up", "a/b", "a\\b", "a@b", "a:b", "@", ":", "-x", "x.", "a\nb", "x" * 201, "a'b", "%2e"],
)
def test_names_that_cannot_be_taken(refused, name):
    scored(0.9).save("m.svmkit")
    words = ["cannot be the name of a model", "letters"] if name else ["needs a value", "is empty"]
    refused(words, "models", "register", "m.svmkit", f"--name={name}")
    refused(words, "train", "iris", f"--register={name}")
    assert [path.name for path in Path().iterdir()] == ["m.svmkit"]


@pytest.mark.parametrize("wrong", ["", "@", "a/b", "a@b", "latest", "Latest", "v1", "..", "a:b", "x" * 256])
def test_aliases_that_cannot_be_taken(refused, toy, wrong):
    refused(["cannot be an alias", "letters"], "models", "promote", "toy", "1", wrong)
    assert alias() == {}


def test_unknown_names_list_those_there_are(refused, toy):
    scored(0.9).save("m.svmkit")
    known = "registered: other, toy"
    refused(["no registered model 'nope'", known], "models", "show", "nope")
    refused(["no registered model 'a/b'", known], "models", "show", "a/b")
    refused(["no registered model '../x'", known], "models", "promote", "../x", "1", "champion")
    refused(["no version '9'", "1, 2, 3, 4, 5"], "models", "promote", "toy", "9", "champion")
    refused(["no version '../1'"], "models", "promote", "toy", "../1", "champion")
    refused(["no alias 'best'", "no aliases", "versions 1, 2, 3"], "models", "pull", "models:/toy@best", "--out", "x")
    refused(["is no model", "models:/NAME@ALIAS"], "models", "pull", "toy", "--out", "x")
    refused(["no alias 'best'"], "predict", "models:/toy@best", "iris")
    refused(["not there"], "models", "register", "none.svmkit", "--name", "toy")
    Path("text.svmkit").write_text("no model")
    refused(["not a svmkit model file"], "models", "register", "text.svmkit", "--name", "toy")
    assert not Path("x").exists() and len(models.show_model("toy")["versions"]) == 5


def test_pull_overwrites_only_by_force_and_follows_no_link(svmkit, refused, toy, tmp_path):
    svmkit("models", "promote", "toy", "2", "champion")
    source = "models:/toy@champion"
    done = svmkit("models", "pull", source, "--out", "m.svmkit", "--json").json
    assert done["out"] == "m.svmkit" and done["test_accuracy"] == 0.9
    assert SVMModel.load("m.svmkit").about == scored(0.9).about
    refused(["there already", "--force"], "models", "pull", source, "--out", "m.svmkit")
    kept = tmp_path / "kept.txt"
    kept.write_text("mine")
    Path("link.svmkit").symlink_to(kept)
    refused(["there already"], "models", "pull", source, "--out", "link.svmkit")
    assert svmkit("models", "pull", source, "--out", "link.svmkit", "--force").out == f"{source} is in link.svmkit\n"
    assert kept.read_text() == "mine" and not Path("link.svmkit").is_symlink()
    refused(["cannot write", "folder"], "models", "pull", source, "--out", "none/m.svmkit")
    Path("folder").mkdir()
    refused(["cannot write"], "models", "pull", source, "--out", "folder", "--force")
    assert {p.name for p in Path().iterdir()} == {"mlflow.db", "m.svmkit", "link.svmkit", "kept.txt", "folder"}


def test_a_store_that_fails_is_one_line_and_exit_1(svmkit):
    scored(0.9).save("m.svmkit")
    for args in (
        ("list",),
        ("show", "toy"),
        ("register", "m.svmkit", "--name", "toy"),
        ("promote", "toy", "1", "champion"),
        ("pull", "models:/toy/1", "--out", "x.svmkit"),
    ):
        assert "no server answers there" in failed(svmkit, "models", *args, "--tracking-uri", "http://127.0.0.1:9")
    Path("bad.db").write_text("no database " * 1000)
    assert "bad.db" in failed(svmkit, "models", "list", "--tracking-uri", "bad.db")


def test_a_store_that_fails_half_way_leaves_a_failed_run(svmkit, toy, monkeypatch):
    from mlflow import MlflowClient

    def full(*args, **kwargs):
        raise OSError("disk full")

    scored(0.9).save("m.svmkit")
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "create_model_version", full)
        said = failed(svmkit, "models", "register", "m.svmkit", "--name", "toy")
    assert "m.svmkit is not registered" in said and "disk full" in said
    client = store.open_client(store.tracking_uri(str(toy)))
    runs = client.search_runs([client.get_experiment_by_name("svmkit").experiment_id])
    assert {run.info.run_name: run.info.status for run in runs}["register m.svmkit"] == "FAILED"


def test_python_says_the_same(toy):
    with pytest.raises(InputError, match="registered: other, toy"):
        models.show_model("nope")
    assert json.loads(json.dumps(models.list_models()))[1]["name"] == "toy"
