"""Comparison specs: what is understood, what is refused before anything runs."""

import numpy as np
import pytest
import yaml
from support.cli import svmlight
from support.compare import wide_test

from svmkit.compare.metrics import METRICS
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import load_spec, read
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.gamma import resolve_gamma
from svmkit.solver.stopping import Absolute, Epochs, parse_stop

BASE = {"data": ["iris"], "solvers": ["smo"]}


@pytest.fixture(autouse=True)
def _alone(alone):
    """No data folder, a working directory of its own."""


def test_what_is_left_out():
    spec = read(BASE)
    (cell,) = spec.cells()
    assert (cell.data, cell.solver, cell.stop, cell.seed) == ("iris", "smo", "", 0)
    data = cell.settings["data"]
    assert data["kernel"] == {"name": "rbf"} and data["C"] == 1.0 and data["test"] is None and data["files"] == {}
    assert (spec.time_limit, spec.metrics, spec.stop) == (300.0, METRICS, {"": "gap:1e-3"})


def test_lists_of_kernels_gammas_and_costs_are_problems_of_their_own():
    spec = read(BASE | {"C": [0.1, "1e1"], "gamma": ["scale", 0.5], "kernel": ["rbf", {"name": "poly", "degree": 2}]})
    assert len(spec.data) == 8
    assert spec.data["iris poly gamma=0.5 C=10"]["kernel"] == {"name": "poly", "degree": 2, "gamma": 0.5}
    assert [cell.data for cell in spec.cells()] == list(spec.data)


def test_solvers_take_turns_and_seeds_are_what_was_asked():
    spec = read({"data": ["iris", "wine"], "solvers": {"smo": None, "fw": {"repeats": 1}}, "seeds": [7, 3]})
    found = [(cell.data, cell.solver, cell.seed) for cell in spec.cells()]
    assert found[:3] == [("iris", "smo", 7), ("iris", "fw", 7), ("iris", "smo", 3)] and len(found) == 6
    assert [cell.seed for cell in spec.cells(data=["wine"], solvers=["smo"], seeds=3)] == [7, 3, 2]


def test_stops_with_names_and_solvers_that_have_only_some():
    stop = {"loose": "gap:1e-1", "tight": "abs:1e-6 | epochs:3"}
    spec = read({"data": "iris", "solvers": {"smo": {}, "fw": {"stops": "loose"}}, "stop": stop})
    assert [(c.solver, c.stop) for c in spec.cells()] == [("smo", "loose"), ("smo", "tight"), ("fw", "loose")]
    assert parse_stop(stop["tight"]) == Absolute(1e-6) | Epochs(3)


def test_a_linear_solver_makes_the_comparison_linear():
    assert read(BASE | {"solvers": ["smo", "dcd"]}).data["iris"]["kernel"] == {"name": "linear"}


def test_one_solver_with_two_sets_of_options():
    solvers = {"hinge": {"solver": "dcd"}, "squared": {"solver": "dcd", "options": {"loss": "squared_hinge"}}}
    keys = {cell.key for cell in read({"data": "iris", "solvers": solvers}).cells()}
    assert len(keys) == 2


def test_a_key_is_that_of_the_settings_and_of_the_files():
    path = svmlight()
    one = read({"data": str(path), "solvers": ["smo"]}).cells()[0].key
    assert one == read({"name": "x", "data": str(path), "solvers": ["smo"], "time_limit": 5}).cells()[0].key
    assert one != read({"data": str(path), "solvers": ["smo"], "C": 2}).cells()[0].key
    path.write_text(path.read_text(encoding="utf-8") + "+1 1:3\n", encoding="utf-8")
    assert one != read({"data": str(path), "solvers": ["smo"]}).cells()[0].key


def test_a_test_file_beside_the_data_is_found_and_may_be_wider(tmp_path):
    train, test = wide_test(tmp_path)
    about = read({"data": str(train), "solvers": ["smo"]}).data[str(train)]
    assert about["test"] == str(test)
    with pytest.warns(SvmkitWarning, match="1 feature beyond the 2 of training in 1 entry of 1 row"):
        sets = prepare(about)
    assert (sets.train.n_features, sets.test.n_features, sets.test.n_samples) == (2, 4, 11)
    with pytest.raises(InputError, match="has 4 features, but 2 are expected"):
        prepare(about | {"strict": True})
    assert read({"data": {"x": {"source": str(train), "test": "none"}}, "solvers": ["smo"]}).data["x"]["test"] is None


def test_rows_held_out_and_one_label_against_the_rest():
    raw = {"data": {"iris": {"positive": "virginica", "rows": "first 140", "test": 0.5}}, "solvers": ["smo"]}
    sets = prepare(read(raw).data["iris"])
    assert sets.train.n_samples + sets.test.n_samples == 140
    assert set(sets.train.y) == {-1, 1} and (sets.train.y == 1).sum() == 20
    loose = prepare(
        read({"data": {"iris": {"test": {"hold_out": 0.5, "stratify": False}}}, "solvers": ["smo"]}).data["iris"]
    )
    assert loose.test.n_samples == 75 and len(set(np.unique(loose.test.y, return_counts=True)[1])) > 1
    with pytest.raises(InputError, match="no label 9"):
        prepare(read({"data": {"iris": {"positive": 9}}, "solvers": ["smo"]}).data["iris"])


def test_gamma_as_a_multiple_and_sigma():
    def kernel(**entry):
        return prepare(read({"data": "iris", "solvers": ["smo"], "kernel": {"name": "rbf", **entry}}).data["iris"])

    sets = kernel(gamma="2 * msd")
    assert sets.kernel.params["gamma"] == pytest.approx(2 * resolve_gamma("msd", sets.train.X))
    assert kernel(sigma=2).kernel.params["gamma"] == pytest.approx(0.125)


WRONG = {
    "unknown key solver; did you mean solvers": {"data": "iris", "solver": ["smo"]},
    "lacks solvers": {"data": "iris"},
    "should be a map": ["data"],
    "data.iris: unknown key gama": {"data": {"iris": {"gama": 1}}, "solvers": ["smo"]},
    "data.iris should be a map": {"data": {"iris": 3}, "solvers": ["smo"]},
    "solvers.smo: unknown key option": {"data": "iris", "solvers": {"smo": {"option": {}}}},
    "there is no solver 'smoo'; smo": {"data": "iris", "solvers": ["smoo"]},
    "has no option 'eta'": {"data": "iris", "solvers": {"smo": {"options": {"eta": 1}}}},
    "data is empty": BASE | {"data": []},
    "solvers is empty": BASE | {"solvers": {}},
    "comes twice": BASE | {"data": ["iris", "iris"]},
    "no data set 'nothere'": BASE | {"data": "nothere"},
    "should be the name or path": {"data": {"iris": {"source": 3}}, "solvers": ["smo"]},
    "data.iris.C should be a finite number > 0": BASE | {"C": -1},
    "C must not be empty": BASE | {"C": []},
    "no gamma": BASE | {"kernel": "linear", "gamma": 1},
    "gamma is given twice": BASE | {"kernel": {"name": "rbf", "gamma": 2}, "gamma": 1},
    "both gamma and sigma": BASE | {"kernel": {"name": "rbf", "gamma": 2, "sigma": 1}},
    "data.iris.kernel: unknown key degree": BASE | {"kernel": {"name": "rbf", "degree": 2}},
    "there is no kernel 'rbg'": BASE | {"kernel": "rbg"},
    "data.iris.cv should be a whole number >= 2, not 1": BASE | {"cv": "1"},
    "data.iris.cv should be a whole number >= 2, not ''": BASE | {"cv": "time:"},
    "no number of folds, and no file": BASE | {"cv": "five"},
    "follows the order of the rows": BASE | {"cv": "time:3", "groups": "a"},
    "gamma must be a finite number": BASE | {"gamma": -3},
    "dcd needs the linear kernel": BASE | {"solvers": ["dcd"], "kernel": "rbf"},
    "constant k(x, x)": BASE | {"solvers": ["cvm"], "kernel": "poly"},
    "no test split and accuracy": BASE | {"metrics": ["time", "accuracy"]},
    "unknown metric speed": BASE | {"metrics": ["speed"]},
    "metrics is empty": BASE | {"metrics": []},
    "is not a rule": BASE | {"stop": "gap=1e-3"},
    "stop is empty": BASE | {"stop": {}},
    "seeds should be a whole number": BASE | {"seeds": 0},
    "seeds should be different": BASE | {"seeds": [1, 1]},
    "time_limit should be a finite number > 0": BASE | {"time_limit": 0},
    "unknown name maxab": BASE | {"scale": "maxab"},
    "write \"first 35000\"": {"data": {"iris": {"rows": "last 5"}}, "solvers": ["smo"]},
    "hold_out must lie between": BASE | {"test": 1.5},
    "unknown key folds": BASE | {"test": {"hold_out": 0.5, "folds": 3}},
    "unknown name fw": {"data": {"iris": {"solvers": ["fw"]}}, "solvers": ["smo"]},
    "unknown name tight": {"data": "iris", "solvers": {"smo": {"stops": ["tight"]}}},
    "nothing to compare": {"data": {"iris": {"solvers": []}}, "solvers": ["smo"]},
    "class_weight.1 should be a finite number > 0": BASE | {"class_weight": {1: 0}},
    "memory": BASE | {"memory": "1 parsec"},
    "sampler": {"data": "iris", "solvers": {"smo": {"sampler": "sometimes"}}},
}  # fmt: skip


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_said_in_a_line(words):
    with pytest.raises(InputError) as caught:
        read(WRONG[words])
    message = str(caught.value)
    assert "\n" not in message and len(message) < 900
    for part in words.split("; "):
        assert part.lower() in message.lower()


@pytest.mark.parametrize(
    ("text", "words"),
    [("data: [a\n", ":2: not YAML"), ("a: !!python/object:os.system {}\n", "not YAML"), ("- 1\n", "should be a map"),
     ("", "should be a map"), ("data: iris\nsolvers: [smo]\nfolds: 3\n", "unknown key folds"),
     ("x: " + "[" * 5000, "not YAML")],
)  # fmt: skip
def test_a_file_that_is_no_spec_names_the_file(tmp_path, text, words):
    path = tmp_path / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"spec\.yaml") as caught:
        load_spec(path)
    assert words in str(caught.value)


def test_a_file_and_sections_of_the_caller(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(BASE | {"published": {"a": 1}}), encoding="utf-8")
    with pytest.raises(InputError, match="unknown key published"):
        load_spec(path)
    spec = load_spec(path, extra=["published", "tables"])
    assert (spec.name, spec.extra) == ("mine", {"published": {"a": 1}})
    with pytest.raises(InputError, match="cannot read"):
        load_spec(tmp_path / "none.yaml")


# --- losses


def losses(**raw):
    cells = read({"data": ["diabetes"], "solvers": ["smo", "fw"]} | raw).cells()
    return {cell.solver: cell.settings["solver"].get("loss") for cell in cells}


def test_a_loss_of_all_solvers_of_a_set_or_of_one():
    tau = {"name": "quantile", "tau": 0.9}
    assert losses() == {"smo": None, "fw": None}
    assert losses(loss=tau) == {"smo": tau, "fw": tau}  # fw does not take it, and says so in its cell
    assert losses(data={"diabetes": {"loss": "huber"}}, loss=tau)["smo"] == "huber"
    own = {"smo": {"loss": "absolute_error"}, "fw": {"loss": "none"}, "fcsmo": {"options": {"loss": "huber"}}}
    assert losses(solvers=own, loss=tau) == {"smo": "absolute_error", "fw": None, "fcsmo": None}
    (cell,) = read({"data": ["diabetes"], "solvers": ["smo"], "loss": tau}).cells()
    assert (cell.training.loss, cell.training.loss_options) == ("quantile", {"tau": 0.9})
    assert cell.key != read({"data": ["diabetes"], "solvers": ["smo"]}).cells()[0].key


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"loss": "hubr"}, ["loss='hubr' is not known (did you mean huber?)", "squared_error"]),
        ({"loss": {"tau": 1}}, ["data.diabetes.loss lacks its name"]),
        ({"loss": 3}, ["data.diabetes.loss should be a map"]),
        ({"loss": {"name": "quantile", "delta": 1}}, ["no option 'delta'", "it has tau", "with delta: huber"]),
        ({"loss": {"name": "quantile", "tau": 1}}, ["0 < tau < 1"]),
        ({"loss": "huber", "solvers": ["fw", "swap"]}, ["taken by none of fw, swap; with it: ", " smo,"]),
        ({"loss": "huber", "task": "classify"}, ["huber is for regression; losses of classes: hinge"]),
        ({"solvers": {"fw": {"loss": "huber"}}}, ["solver fw does not take loss=huber; it takes", "with huber: "]),
        ({"solvers": {"smo": {"loss": "huber", "options": {"loss": "hinge"}}}}, ["loss is given twice"]),
        ({"loss": "huber", "task": "outliers"}, ["loss must be hinge or squared_hinge, not 'huber'"]),
        ({"loss": {"name": "hinge", "tau": 1}, "task": "outliers"}, ["no options for outliers: leave tau out"]),
    ],
)
def test_what_is_wrong_with_a_loss(raw, words):
    with pytest.raises(InputError) as caught:
        read({"data": ["diabetes"], "solvers": ["smo", "fw"]} | raw)
    assert "\n" not in str(caught.value) and all(part in str(caught.value) for part in words), caught.value


def test_the_settings_of_a_cell_are_those_of_its_entries():
    raw = {"data": {"diabetes": {"epsilon": 5, "task": "regress", "scale": "standard"}}, "C": 3, "gamma": 0.5}
    (cell,) = read(raw | {"solvers": {"a": {"solver": "smo", "options": {"shrinking": False}}}, "seeds": [7]}).cells()
    given = cell.training
    assert (given.solver, given.solver_options, given.seed) == ("smo", {"shrinking": False}, 7)
    assert (given.C, given.epsilon, given.scale, given.kernel.gamma) == (3.0, 5.0, "standard", 0.5)
