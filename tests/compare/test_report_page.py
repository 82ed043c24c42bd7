"""The report as text: what it says and escapes, what it holds when something is missing, pictures, environment."""

import html as html_module
import json
import re
import socket
import subprocess
from getpass import getuser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from support.report import failure, made

import svmkit
from svmkit.compare.cells.worker import CURVE, _thin
from svmkit.compare.plan.spec import most_seeds
from svmkit.compare.report import environment, html, pictures, stats, words
from svmkit.compare.report.pictures import COLOURS, curves, floor, style
from svmkit.compare.report.plots import _draw_ranks
from svmkit.errors import SvmkitError
from svmkit.solver.history import History, HistoryPoint

EVIL = "<script>alert(1)</script>"


def page(results, tmp_path, **kwargs):
    """The report without plotly's own code, and the data of its charts."""
    path = tmp_path / "new" / "report.html"
    html.write(results, path, **kwargs)
    text = path.read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return re.sub(r"<script nonce.*?</script>", "", text, flags=re.DOTALL), json.loads(data[1])


def cells(text, head="h3", name="one"):
    """The table under a heading as lists of the texts of its cells."""
    table = re.search(rf"<{head}>{re.escape(name)}</{head}>.*?</table>", text, re.DOTALL)[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("<tr>")[1:]]
    return [[html_module.unescape(re.sub(r"<(?!/?strong)[^>]*>", "", cell)) for cell in row] for row in rows]


# --- tables and words


@pytest.mark.slow
def test_a_table_shows_each_solver_with_the_best_in_bold(tmp_path):
    text, _ = page(made(seeds=2), tmp_path)
    rows = cells(text)
    assert rows[0][:5] == ["solver", "status", "time (s)", "relative gap", "suboptimality"]
    assert rows[0][5:] == ["objective", "iterations", "kernel values", "support vectors", "accuracy (%), one split"]
    assert rows[1][:4] == ["fw", "converged", "<strong>0.404 ± 0.006</strong>", "1.0e-05"]
    assert rows[1][4:] == ["<strong>1.0e-05</strong>", "10.0001", "40", "4,000", "200", "<strong>93.99</strong>"]
    assert [row[0] for row in rows[1:]] == ["fw", "swap", "smo"]
    assert 'data-key="0.404' in text and "3 solvers on 2 sets: 12 runs, 12 converged." in text
    assert "Fastest: fw on 2 sets." in text


def test_what_no_run_has_is_no_column_and_what_one_lacks_is_said(tmp_path):
    def change(cell, record):
        return record | {"test_accuracy": None} | ({"gap": None} if cell.solver == "fw" else {})

    rows = cells(page(made(change=change, metrics=("gap", "test_accuracy")), tmp_path)[0])
    assert rows[0] == ["solver", "status", "relative gap"]
    assert rows[1] == ["fw", "converged", "n/a"] and rows[2] == ["swap", "converged", "1.0e-05"]


@pytest.mark.slow
def test_failed_cells_are_there_with_their_reasons(tmp_path):
    def change(cell, record):
        if cell.solver == "swap":
            return failure(cell, "cannot read /home/somebody/x & <b>y</b>") if cell.seed else None
        return record | ({"notes": ["slow"]} if cell.solver == "smo" else {})

    text, _ = page(made(seeds=2, change=change), tmp_path)
    assert cells(text)[2][:3] == ["swap", "1 failed, 1 not run", "n/a"]
    assert "swap: cannot read x &amp; &lt;b&gt;y&lt;/b&gt;" in text and "smo: slow" in text and "somebody" not in text
    assert "12 runs, 8 converged, 2 failed, 2 not run." in text


@pytest.mark.slow
def test_certificates_that_contradict_each_other_are_shouted(tmp_path):
    results = made(change=lambda cell, r: r | {"objective": 9.0} if cell.solver == "fw" else r)
    assert "Two certificates contradict each other" in page(results, tmp_path)[0]
    assert "contradict" not in page(made(), tmp_path)[0]


@pytest.mark.slow
def test_different_objectives_are_said(tmp_path):
    results = made(change=lambda cell, r: r | {"formulation": "squared hinge"} if cell.solver == "fw" else r)
    text, _ = page(results, tmp_path)
    assert "Objectives differ" in text and "squared hinge (fw); hinge (swap, smo)" in text


@pytest.mark.slow
def test_the_tests_are_there(tmp_path):
    text, _ = page(made(sets=("one", "two", "three", "four")), tmp_path)
    assert "Friedman&#39;s test over 4 sets and 3 solvers" in text and "infinite (all sets agree)" in text
    assert "Wilcoxon cannot go below p = 0.12" in text
    assert text.count("data:image/svg+xml;base64,") == 5
    rows = cells(text, name="Accuracy")
    assert rows[0] == ["solver", "mean rank", "fw", "swap", "smo"]
    assert rows[1] == ["fw", "<strong>1.00</strong>", "", "0.375", "0.375"]


@pytest.mark.parametrize(
    "seconds, shown",
    [(0.0, "0.0000"), (0.00012, "0.0001"), (0.0486, "0.0486"), (1.234, "1.23"), (99.96, "100.0"), (12345.6, "12,346")],
)
def test_seconds(seconds, shown):
    assert words.number(seconds) == shown


# --- names given by third parties


@pytest.mark.slow
def test_names_are_escaped_everywhere(tmp_path):
    results = made(sets=(EVIL, "</title><b>"), solvers=(EVIL, "a & b", "</script>"), name=EVIL, about=EVIL)
    text, data = page(results, tmp_path, command=EVIL)
    assert EVIL not in text and "<script>alert" not in text
    assert [part["name"] for part in data["sets"]] == [EVIL, "</title><b>"]
    assert [part["name"] for part in data["solvers"]] == [EVIL, "a & b", "</script>"]
    whole = html.render(results)
    assert whole.count("</script>") == whole.count("<script") == 3
    assert f"<h3>{html_module.escape(EVIL)}</h3>" in text


@pytest.mark.slow
def test_pictures_of_strange_names(tmp_path):
    long = "long-" * 30
    results = made(sets=("$\\frac{", long + "1", long + "2"), solvers=("_fw", "$x", "{0}", long + "1", long + "2"))
    paths = pictures.draw(results, tmp_path, "odd")
    assert len(paths) == 8 and all(path.stat().st_size > 5000 for path in paths)


# --- charts


@pytest.mark.slow
def test_one_run_is_one_curve_with_its_end(tmp_path):
    _, data = page(made(seeds=2), tmp_path)
    first = data["sets"][0]
    assert len(first["runs"]) == 6 and first["floor"] is None
    run = first["runs"][0]
    assert (run["solver"], run["run"], run["status"]) == (0, "seed 0", "converged")
    assert run["end"] == {"seconds": 0.4, "n_iter": 40, "n_support": 200, "gap": 1e-5, "accuracy": 0.94}
    assert len(run["columns"]["gap"]) == 40 and run["columns"]["accuracy"][:2] == [0.5, None]


def test_more_classes_and_no_history_leave_the_end_alone():
    changes = {"fw": {"classes": ["a", "b", "c"]}, "swap": {"history": None}, "smo": {"history": {"gap": []}}}
    found = curves(made(change=lambda cell, record: record | changes[cell.solver]))
    assert len(found) == 6 and all(curve.columns == {} and curve.end["gap"] == 1e-5 for curve in found)


@pytest.mark.slow
def test_gaps_of_zero_have_a_floor_below_all_others(tmp_path):
    assert floor([1e-3, None, 3e-6, 0.0, -1e-9]) == pytest.approx(1e-6)
    assert floor([1e-3, None]) is None and floor([]) is None and floor([0.0, -1.0]) is None
    results = made(change=lambda cell, r: r | {"gap": -1e-18} if cell.solver == "fw" else r)
    _, data = page(results, tmp_path)
    assert data["sets"][0]["floor"] == pytest.approx(1e-5 / 3)
    assert pictures.panels(results, "seconds", "gap") is not None


def test_the_runs_of_a_chart_are_those_of_its_set():
    ends = {"one": 0.5, "two": 0.25, "three": 0.125}
    results = made(tuple(ends), seeds=2, change=lambda cell, record: record | {"fit_s": ends[cell.data]})
    data = html.chart_data(results)
    assert [one["name"] for one in data["sets"]] == list(ends)
    for one in data["sets"]:
        assert [run["end"]["seconds"] for run in one["runs"]] == 6 * [ends[one["name"]]]
        assert sorted((run["solver"], run["run"]) for run in one["runs"]) == sorted(
            (solver, run) for solver in range(3) for run in {run["run"] for run in one["runs"]}
        )


@pytest.mark.slow
def test_solvers_look_different_and_the_same_in_all_charts(tmp_path):
    assert len({(how.colour, how.dash) for how in map(style, range(28))}) == 28
    _, data = page(made(), tmp_path)
    assert [how["colour"] for how in data["solvers"]] == list(COLOURS[:3])
    tests = stats.tests(made(sets="abcd", change=lambda c, r: failure(c, "no") if c.solver == "fw" else r), "fit_s")
    assert tests.treatments == ["swap", "smo"]
    diagram = stats.tests(made("abcd", "pqrs", change=lambda c, r: failure(c, "no") if c.solver == "p" else r), "fit_s")
    colours = [mark.get_facecolor() for mark in pictures.difference_diagram(diagram, list("pqrs")).axes[0].collections]
    assert {to_hex(colour[0]).upper() for colour in colours if len(colour)} >= set(COLOURS[1:4])


@pytest.mark.slow
@pytest.mark.parametrize(
    "results",
    [
        made(sets=("one",), solvers=("fw",)),
        made(change=lambda cell, record: None),
        made(change=lambda cell, record: failure(cell, "no")),
        made(change=lambda cell, record: record | {"gap": None, "test_accuracy": None, "history": None}),
        made(change=lambda cell, record: record | {"gap": float("nan"), "fit_s": 0.0}),
        made(sets=[f"s{k}" for k in range(12)], solvers=[f"n{k}" for k in range(27)]),
        made(stops=("1e-2", "1e-3"), seeds=3),
    ],
    ids=["one", "not run", "failed", "unknown", "nan", "many", "stops"],
)
def test_whatever_is_missing_there_is_a_report(results, tmp_path):
    text, data = page(results, tmp_path)
    assert len(data["sets"]) == len(results.sets) and len(data["solvers"]) == len(results.treatments)
    assert all(f"<h3>{name}</h3>" in text for name in results.sets)


# --- pictures


def test_pictures_are_written_under_the_names_of_their_kinds(tmp_path, monkeypatch):
    written = []
    figure = SimpleNamespace(savefig=lambda path, dpi: written.append(path))
    monkeypatch.setattr(pictures, "panels", lambda results, x, y: figure if y == "accuracy" else None)
    for name in ("reliability", "profile_panels", "profiles"):
        monkeypatch.setattr(pictures, name, lambda results: None)
    monkeypatch.setattr(pictures.stats, "over_sets", lambda results: [])
    paths = pictures.draw(made(), tmp_path / "new", "cmp")
    assert paths == written == [tmp_path / "new" / f"cmp-{kind}-accuracy.png" for kind in ("time", "support")]
    assert (tmp_path / "new").is_dir()


@pytest.mark.slow
def test_pictures_are_png_files_of_what_there_is(tmp_path):
    paths = pictures.draw(made(sets=("a", "b", "c", "d"), seeds=2), tmp_path / "new", "cmp")
    kinds = ["time-gap", "time-accuracy", "support-accuracy", "profiles"] + [
        f"cd-{metric}"
        for metric in stats.METRICS
        if metric not in ("test_metric", *stats.OF_SOME)  # no other metric was measured
    ]
    assert [path.name for path in paths] == [f"cmp-{kind}.png" for kind in kinds]
    assert all(path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" for path in paths)
    bare = made(solvers=("fw", "smo"), change=lambda cell, record: record | {"test_accuracy": None})
    assert [path.name for path in pictures.draw(bare, tmp_path, "cmp")] == ["cmp-time-gap.png"]
    assert pictures.draw(made(change=lambda cell, record: failure(cell, "no")), tmp_path, "cmp") == []


def test_a_diagram_names_its_test(tmp_path):
    tests = stats.tests(made(sets="abcd"), "fit_s")
    said = pictures.caption(tests)
    assert f"CD = {tests.cd:.2f}" in said and "4 sets" in said and "p = " in said
    texts = pictures.difference_diagram(tests, tests.treatments).axes[0].texts
    shown = sorted(sorted(text.get_text().split()) for text in texts)  # which half is on the left is scikit-posthocs'
    assert shown == sorted([["1.00", "fw"], ["2.00", "swap"], ["3.00", "smo"], sorted(["CD", "=", f"{tests.cd:.2f}"])])


# --- environment and privacy


@pytest.mark.slow
def test_the_environment_is_described_without_the_place(tmp_path):
    text, _ = page(made(), tmp_path, command=f"svmkit compare {tmp_path}/a1a --report {tmp_path / 'r.html'}", threads=3)
    shown = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert shown["svmkit"] == svmkit.__version__ and shown["threads"] == "3"
    assert shown["command"] == "svmkit compare a1a --report r.html"
    assert {"Python", "numpy", "scipy", "numba", "scikit-learn", "cores", "made"} <= set(shown)
    for private in (str(Path.home()), str(tmp_path), str(Path(svmkit.__file__).parent)):
        assert private not in text
    words_shown = " ".join(shown.values()).split()
    assert socket.gethostname() not in words_shown and getuser() not in words_shown


@pytest.mark.slow
def test_records_of_another_version_are_said(tmp_path):
    text, _ = page(made(change=lambda cell, record: record | {"svmkit": "0.0.1"}), tmp_path)
    assert "<dt>svmkit of the runs</dt><dd>0.0.1</dd>" in text
    text, _ = page(made(change=lambda cell, record: record | {"svmkit": svmkit.__version__}), tmp_path)
    assert "svmkit of the runs" not in text


def test_the_commit_is_that_of_the_checkout():
    folder = Path(svmkit.__file__).parent
    head = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        pytest.skip("needs svmkit from a git checkout")
    assert head.stdout.startswith(environment.describe()["commit"].rstrip("+"))


def test_no_commit_outside_a_checkout(monkeypatch, tmp_path):
    (tmp_path / "__init__.py").touch()
    monkeypatch.setattr(svmkit, "__file__", str(tmp_path / "__init__.py"))
    subprocess.run(["git", "init", "-q", tmp_path], check=True)  # a repository that does not hold svmkit
    assert "commit" not in environment.describe()


@pytest.mark.parametrize(
    "text, shown",
    [
        ("svmkit compare /home/me/data/a9a ~/b.svm sub/a9a", "svmkit compare a9a b.svm sub/a9a"),
        ("--spec=/x/y.yaml '/a b/c'", "--spec=y.yaml '/a b/c'"),
        (r"C:\Users\me\a9a", "a9a"),
        ("sqlite:////home/me/m.db http://host:5000", "sqlite://... http://..."),
        ("and/or 1 / 2 <b>x</b> 10^-4", "and/or 1 / 2 <b>x</b> 10^-4"),
    ],
)
def test_places_are_left_out(text, shown):
    assert environment.without_places(text) == shown


def test_sets_of_one_name_in_two_folders_keep_them():
    assert words.shown_names(["/a/x", "/b/x", "/c/y"]) == {"/a/x": "/a/x", "/b/x": "/b/x", "/c/y": "y"}


@pytest.mark.slow
def test_a_page_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SvmkitError, match="cannot write the report"):
        html.write(made(), tmp_path / "file" / "report.html")
    with pytest.raises(SvmkitError, match="cannot write pictures"):
        pictures.draw(made(), tmp_path / "file" / "x", "cmp")


def test_labels_of_both_axes_have_one_size():
    ax = Figure().subplots()
    pictures.dress(ax, "across", "up")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("across", "up")
    assert ax.xaxis.label.get_size() == ax.yaxis.label.get_size()


def test_a_history_is_thinned_to_even_points_and_those_with_an_accuracy():
    points = [HistoryPoint(k, 0.1 * k, 9.0, 0.5, 3, 10 * k, 0.75 if k == 33 else None) for k in range(1000)]
    for n in (0, 1, 20, 1000):
        columns = _thin(History(points[:n]))
        kept = columns["n_iter"]
        assert kept == sorted(set(kept)) and all(len(of) == len(kept) for of in columns.values())
        assert len(kept) <= CURVE + 1 and (n > CURVE or kept == list(range(n)))
        if n > CURVE:
            assert kept[0] == 0 and kept[-1] == n - 1 and 33 in kept
            assert max(b - a for a, b in pairwise(kept)) <= n / (CURVE - 1) + 1


def test_most_seeds_are_those_of_the_solver_that_has_most():
    assert most_seeds([0, 1], {"smo": {}, "fw": {}}) == 2 and most_seeds([0], {"smo": {}}) == 1
    assert most_seeds([0], {"smo": {"repeats": 3}, "fw": {}}) == 3 and most_seeds([0, 1], {"smo": {"repeats": 1}}) == 2


@pytest.mark.parametrize("ranks", [{"one": {"a": 1.0, "b": 2.0}, "two": {"a": 1.5, "b": 1.5}}])
def test_each_measure_has_its_line_of_ranks(ranks):
    """Those of a measure lie on its line; what would lie on each other is a little apart."""
    ax = Figure().subplots()
    _draw_ranks(ax, ranks, {name: style(k) for k, name in enumerate("ab")})
    drawn = [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in ax.lines]
    assert [x for x, _ in drawn] == [1.0, 2.0, 1.5, 1.5]
    assert [round(y) for _, y in drawn] == [0, 0, 1, 1] and drawn[0][1] == drawn[1][1] != drawn[2][1] != drawn[3][1]
    assert ax.get_ylim() == (1.5, -0.5) and [text.get_text() for text in ax.get_yticklabels()] == ["one", "two"]
