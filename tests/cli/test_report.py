"""`svmkit report`: the facts are those of `evaluate`, the page needs no network and escapes names, the card parses."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import yaml
from markdown_it import MarkdownIt
from sklearn.dummy import DummyRegressor
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score, root_mean_squared_error
from support.cli import svmlight
from support.problems import write

from svmkit.cli.evaluating.reporting.quality import Measure
from svmkit.cli.evaluating.reporting.spread import bootstrap, make_auc, wilson

pytestmark = pytest.mark.usefixtures("alone")
TRIVIAL = r2_score, root_mean_squared_error, mean_absolute_error
NAMES = "age", "<b>job|*x*", "$a$ & 'b'"


def table(name, n, seed, quantity=False):
    rng = np.random.default_rng(seed)
    age, pay, job = rng.normal(45, 12, n), rng.normal(30, 8, n), rng.choice(["clerk", "<script>x</script>"], n)
    score = (age - 45) / 12 + (job == "clerk") - (pay - 30) / 16 + rng.normal(0, 0.5, n)
    label = [f"{10 * value:.3f}" for value in score] if quantity else np.where(score > 0.4, "<i>yes", "no")
    rows = (f"{a:.2f},{j},{p:.2f},{y}" for a, j, p, y in zip(age, job, pay, label, strict=True))
    return write(name, "\n".join([",".join([*NAMES, "answer"]), *rows]) + "\n")


class Page(HTMLParser):
    """What a page shows, its tags, and all that could be fetched."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.fetched, self.words = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.fetched += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]

    def handle_data(self, data):
        self.words.append(data)


def check_page(path):
    text = Path(path).read_text(encoding="utf-8")
    page = Page(text)
    assert all(value.startswith("data:image/png;base64,") for value in page.fetched)
    assert not page.tags & {"script", "link", "iframe", "b", "i"} and "default-src 'none'" in text
    assert "url(" not in text and "@import" not in text and not re.search(r"https?:", text)
    return " ".join(page.words)


def check_card(path):
    _, head, body = Path(path).read_text(encoding="utf-8").split("---\n", 2)
    html = MarkdownIt("commonmark").enable("table").render(body)
    assert not re.search(r"<(b|i|script|em|strong)[ >]", html) and html.count("<table>") >= 3
    return yaml.safe_load(head), html


@pytest.mark.parametrize("quantity", [False, True], ids=["classes", "quantity"])
def test_the_facts_are_those_of_evaluate(train, svmkit, quantity):
    more = ["--task", "regress", "-C", 10] if quantity else ["--calibrate", "sigmoid"]
    train(table("a.csv", 150, 0, quantity), "--label", "answer", "--scale", "standard", "--out", "m.svmkit", *more)
    table("t.csv", 80, 1, quantity)
    found = svmkit("report", "m.svmkit", "t.csv", "--out", "r.html", "--card", "c.md", "--json").json
    evaluated = svmkit("evaluate", "m.svmkit", "t.csv", "--json").json
    assert found["evaluation"].items() <= evaluated.items()
    for one in found["measures"]:
        assert one["value"] == evaluated[one["key"]]
        assert one["interval"][0] <= one["value"] <= one["interval"][1]
    if quantity:
        targets = np.loadtxt("t.csv", delimiter=",", skiprows=1, usecols=len(NAMES))
        for one, how, score in zip(found["measures"], ("mean", "mean", "median"), TRIVIAL, strict=True):
            trivial = DummyRegressor(strategy=how).fit(targets, targets).predict(targets)
            assert one["trivial"] == pytest.approx(score(targets, trivial), abs=1e-12)
    assert {entry["column"] for entry in found["reasons"]["importance"]} == set(NAMES)
    assert len(found["reasons"]["importance"]) == len(found["reasons"]["examples"]) == 3
    for example in found["reasons"]["examples"]:
        total = example["base"] + sum(one["contribution"] for one in example["columns"]) + example["others"]
        assert total == pytest.approx(example["decision"], abs=1e-9)
    shown = svmkit("show", "m.svmkit", "--json").json["about"]
    assert found["certificate"]["gap"] == shown["gap"] and found["lineage"]["training_sha256"] == shown["data_sha256"]
    assert found["lineage"]["same_rows"] is False
    words, (head, html) = check_page("r.html"), check_card("c.md")
    assert (
        head["gap"] == shown["gap"] and head["metrics"][found["measures"][0]["name"]] == found["measures"][0]["value"]
    )
    for text in (words, html):
        assert shown["data_sha256"] in text
    assert "<b>job|*x*" in words and "&lt;b&gt;job|*x*" in html


def test_examples_are_what_they_are_called(train, svmkit):
    train(table("a.csv", 150, 0), "--label", "answer", "--scale", "standard", "--out", "m.svmkit")
    table("t.csv", 80, 1)
    examples = {one["kind"]: one for one in svmkit("report", "m.svmkit", "t.csv", "--json").json["reasons"]["examples"]}
    assert examples["right"]["truth"] == examples["right"]["predicted"]
    assert examples["wrong"]["truth"] != examples["wrong"]["predicted"]
    decisions = [abs(float(line)) for line in svmkit("predict", "m.svmkit", "t.csv", "--decision").out.split()]
    close = abs(examples["close to the boundary"]["decision"])
    assert close == pytest.approx(sorted(decisions)[0]) or close <= sorted(decisions)[2]


def test_doubts(train, svmkit):
    train(table("a.csv", 60, 0), "--label", "answer", "--max-iter", 1, "--out", "m.svmkit")
    found = svmkit("report", "m.svmkit", "a.csv", "--json").json
    said = " ".join(found["cautions"])
    assert "trained on" in said and "only 60 rows" in said and "cut short" in said
    poor = [label for label, share in found["evaluation"]["recall"].items() if share < 0.5]
    assert poor and all(f"rows of class “{label}” are found" in said for label in poor)


def test_other_tasks_have_a_page(train, svmkit):
    train(svmlight(), "--task", "outliers", "--out", "o.svmkit")
    assert svmkit("report", "o.svmkit", "clouds.svm", "--out", "o.html").code == 0
    assert "always answering" in check_page("o.html")
    train("iris", "--out", "i.svmkit")
    assert svmkit("report", "i.svmkit", "iris", "--out", "i.html", "--card", "i.md").code == 0
    assert "These are the rows that the model was trained on" in check_page("i.html")


def test_several_levels_and_several_outputs(train, svmkit):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, (70, 2))
    lines = [f"{a:.3f},{b:.3f},{a + b:.3f},{a - b + rng.normal():.3f}\n" for a, b in x]
    write("two.csv", "a,b,t,u\n" + "".join(lines))
    levels = ["--label", "u", "--drop", "t", "--loss", "quantile", "-o", "tau=0.2,0.8"]
    for name, more in (("levels", levels), ("outputs", ["--label", "t,u"])):
        train("two.csv", "--task", "regress", *more, "--out", f"{name}.svmkit")
        found = svmkit("report", f"{name}.svmkit", "two.csv", "--out", "r.html", "--card", "c.md", "--json").json
        evaluated = svmkit("evaluate", f"{name}.svmkit", "two.csv", "--json").json
        assert found["evaluation"].items() <= evaluated.items() and found["reasons"]["examples"]
        first = found["measures"][0]
        assert name == "outputs" or first["value"] == evaluated["mean_loss"] < first["interval"][1] < first["trivial"]
        assert "trivial model" not in " ".join(found["cautions"])
        check_card("c.md")
        check_page("r.html")


def test_columns_that_training_did_not_have_are_not_counted(train, svmkit):
    train(svmlight(), "--out", "m.svmkit")
    write("wide.svm", "".join(f"{(-1) ** i} 1:{i % 5 - 2} 9:1\n" for i in range(30)))
    found = svmkit("report", "m.svmkit", "wide.svm", "--out", "r.html", "--json").json
    assert found["training"]["n_features"] == 3 and "from 3 columns" in check_page("r.html")


@pytest.mark.parametrize(
    ("kernel", "said"), [("rbf", "exact Shapley values"), ("sigmoid", "sampled with a standard error")]
)
def test_the_page_says_how_contributions_were_computed(train, svmkit, kernel, said):
    train("iris", "--scale", "standard", "--kernel", kernel, "--gamma", 0.1, "--out", "m.svmkit")
    found = svmkit("report", "m.svmkit", "iris", "--out", "r.html", "--card", "c.md", "--json").json["reasons"]
    assert (found["standard_error"] is None) is (kernel == "rbf")
    words, (_, html) = check_page("r.html"), check_card("c.md")
    assert said in words and said in html


def test_sets(train, svmkit):
    train(table("a.csv", 150, 0), "--label", "answer", "--scale", "standard", "--conformal", 0.1, "--out", "m.svmkit")
    found = svmkit("report", "m.svmkit", table("t.csv", 80, 1), "--out", "r.html", "--json").json
    sets = svmkit("evaluate", "m.svmkit", "t.csv", "--json").json["sets"]
    assert found["evaluation"]["sets"] == sets and "sets with the truth" in check_page("r.html")
    assert found["measures"][-1]["value"] == sets["coverage"]


def test_bad_input(train, refused):
    train(table("a.csv", 60, 0), "--label", "answer", "--out", "m.svmkit")
    refused(["--out"], "report", "m.svmkit", "a.csv")
    refused(["two files"], "report", "m.svmkit", "a.csv", "--out", "x", "--card", "x")
    refused(["nowhere"], "report", "m.svmkit", "a.csv", "--out", "nowhere/r.html")
    write("bare.csv", ",".join(NAMES) + "\n30,clerk,3\n")
    refused(["bare.csv"], "report", "m.svmkit", "bare.csv", "--json")


@pytest.mark.parametrize(("better", "reached"), [("greater", [0.5, 0.6]), ("smaller", [0.4, 0.5])])
def test_an_interval_reaches_the_trivial_model_from_the_better_side(better, reached):
    measured = [Measure("key", "name", 0.5, (0.45, 0.55), trivial, better=better) for trivial in (0.4, 0.5, 0.6)]
    assert [one.trivial for one in measured if one.reaches_trivial] == reached


def test_intervals():
    from statsmodels.stats.proportion import proportion_confint

    for hits, n in ((0, 7), (5, 9), (30, 30), (431, 1000)):
        assert wilson(hits, n) == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-12)
    rng = np.random.default_rng(0)
    decision, positive = rng.normal(size=60).round(1), rng.random(60) < 0.4
    weights = rng.integers(0, 4, 60).astype(float)
    area = roc_auc_score(positive, decision, sample_weight=weights)
    assert make_auc(decision, positive)(weights) == pytest.approx(area, abs=1e-12)
    values = rng.normal(size=400)
    low, high = bootstrap(lambda drawn: {"mean": float(drawn @ values / drawn.sum())}, 400, 0)["mean"]
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


def test_the_share_of_training_rows_is_counted(train, svmkit):
    train(table("a.csv", 60, 0), "--label", "answer", "--out", "m.svmkit")
    known, new = Path("a.csv").read_text().splitlines(), Path(table("b.csv", 150, 1)).read_text().splitlines()
    Path("mixed.csv").write_text("\n".join(known[:51] + new[1:]) + "\n")
    found = svmkit("report", "m.svmkit", "mixed.csv", "--json").json
    assert found["lineage"]["share_of_training_rows"] == 0.25 and found["lineage"]["rows_compared"] == 200
    assert any(
        line.startswith("25% of these rows are rows that the model was trained on:") for line in found["cautions"]
    )
