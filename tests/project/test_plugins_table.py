"""The table of solvers: what it says of each, on a terminal, in a pipe, as JSON and in the documentation."""

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import blobs

from svmkit import plugins
from svmkit.cli.extending.plugins import FACTS, OF_LOSSES, as_dict, facts, lines, markdown, table
from svmkit.kernels.gram import Gram
from svmkit.losses.by_name import LIBLINEAR_NAMES
from svmkit.solver.base import Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.requirements import Requires
from svmkit.solver.selection import by_name
from svmkit.solver.stopping import Iterations

DOCS = Path(__file__).parents[2] / "docs"
KEYS = {"kind", "name", "package", "doc", "options", "error", "status"}
ROWS = plugins.describe("solver")
KNOWN = {row.name: facts(row) for row in ROWS}


def shown(rows, width=100, detailed=False):
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=width).print(table(rows, detailed=detailed))
    return [line.rstrip() for line in out.getvalue().splitlines()]


# --- facts


def test_every_solver_has_every_fact():
    for name, known in KNOWN.items():
        assert set(known) == set(FACTS), name
        assert known["method"] and known["problem"] and known["loss"]


def test_facts_of_some():
    assert KNOWN["swap2o"]["problem"] == ["SimplexQP"] and KNOWN["swap2o"]["loss"] == ["squared_hinge"]
    assert KNOWN["libsvm"] == {
        "method": "LIBSVM through scikit-learn's SVC and SVR",
        "problem": ["BoxQP"], "regression": ["TubeQP"], "loss": ["hinge"], "kernels": "any", "sparse": True,
        "streaming": False, "certificate": "own dual", "paper": "Chang, Lin 2011",
    }  # fmt: skip
    assert KNOWN["dcd"]["problem"] == ["LinearDual"] and KNOWN["dcd"]["loss"][:3] == [
        "hinge",
        "squared_hinge",
        "logistic",
    ]
    assert KNOWN["pegasos"]["problem"] == ["LinearRisk", "KernelRisk"]
    assert KNOWN["dcd"]["regression"] == ["LinearTubeDual"] and KNOWN["auto"]["regression"] == [
        "LinearTubeDual",
        "TubeQP",
    ]
    assert KNOWN["swap2o"]["regression"] == []
    assert (KNOWN["liblinear"]["certificate"], KNOWN["dcd"]["certificate"]) == ("from core", "own dual")
    kernels = {name: KNOWN[name]["kernels"] for name in ("fw", "cvm", "dcd")}
    assert kernels == {"fw": "any", "cvm": "normalised", "dcd": "linear"}
    assert KNOWN["sfw"]["streaming"] and not KNOWN["fw"]["streaming"]


@pytest.mark.parametrize(("requires", "kind"), [("LINEAR_KERNEL", "Linear"), ("NORMALISED_KERNEL", "Kernel")])
def test_problems_are_those_of_the_kernels_that_it_takes(requires, kind):
    class Choosy(plugins.load("solver", "pegasos")):
        pass

    Choosy.requires = (Requires[requires],)
    known = facts(plugins.Listed("solver", "x", "y", "", {}, None, plugin=Choosy))
    assert known["problem"] == [f"{kind}Risk"] and known["regression"] == [f"{kind}TubeRisk"]


def test_the_method_is_told_without_its_source():
    row = plugins.Listed("solver", "x", "y", "", {}, None, plugin=plugins.load("solver", "swap"))
    for doc, method, paper in (
        ("Plain.", "Plain", ""),
        ("Thing (Who 1999): how.", "Thing: how", "Who 1999"),
        ("Thing (Who 1999, with f(x) and g(y)), fast.", "Thing, fast", "Who 1999, with f(x) and g(y)"),
        ("Gain (a - b)^2 (SWAP paper, 3.3) over (c).", "Gain (a - b)^2 over (c)", "SWAP paper, 3.3"),
    ):
        known = facts(replace(row, doc=doc))
        assert (known["method"], known["paper"]) == (method, paper)


def test_a_summary_of_two_lines_is_whole(monkeypatch):
    """The summary is the first paragraph of a docstring, however it is broken into lines."""
    swap = plugins.load("solver", "swap")
    monkeypatch.setattr(swap, "__doc__", "Swaps weight\n    of two points.\n\n    Much more\n    follows.\n    ")
    (row,) = (row for row in plugins.describe("solver") if row.name == "swap")
    assert row.doc == "Swaps weight of two points."


def test_summaries_are_whole():
    for kind in get_args(plugins.Kind):
        for row in plugins.describe(kind):
            assert row.status != "ok" or row.doc.endswith("."), f"{kind} {row.name}: {row.doc!r}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [row.name for row in ROWS if row.status == "ok"])
def test_sparse_is_true_of_all(name):
    X, y = blobs(60, 3)
    X[np.abs(X) < 0.4] = 0.0
    solver = plugins.build("solver", name)
    kernel = by_name.kernel(None, {"gamma": 0.5}, solver)
    ends = [
        solve(solver.pose(Gram(kernel, stored), y, 1.0), solver, stop=Iterations(100)).certificate.primal
        for stored in (X, sp.csr_array(X))
    ]
    assert ends[0] == pytest.approx(ends[1], rel=0.05)  # rounding may turn a random choice


# --- forms


def test_json_has_every_key(svmkit, alone):
    rows = svmkit("plugins", "--json").json
    for row in rows:
        assert set(row) == KEYS | set({"solver": FACTS, "loss": OF_LOSSES}.get(row["kind"], ())), row["name"]
    (libsvm,) = (row for row in rows if row["name"] == "libsvm")
    assert libsvm["loss"] == ["hinge"] and libsvm["status"] == "ok" and libsvm["options"]["shrinking"] is True


def test_on_a_terminal_it_is_readable_at_100_columns():
    for detailed in (False, True):
        drawn = shown(ROWS, detailed=detailed)
        assert max(map(len, drawn)) <= 100
        assert not any("…" in line for line in drawn)
        starts = {line.split()[0] for line in drawn if line and not line.startswith(" ")}
        assert starts >= set(KNOWN)  # every id in one piece
        for word in ("squared_hinge", "LinearRisk", "normalised"):
            assert any(word in line for line in drawn)
    assert any("Chang, Lin 2011" in line for line in drawn) and any("streams" in line for line in drawn)


@pytest.mark.parametrize("kind", ["kernel", "sampler", "tracker"])
def test_the_other_kinds(kind):
    rows = plugins.describe(kind)
    drawn = shown(rows)
    assert max(map(len, drawn)) <= 100 and all(any(line.startswith(row.name) for line in drawn) for row in rows)


@dataclass(frozen=True)
class Strange(Solver):
    """Odd | one (Nobody 2001)."""

    name = "strange"
    requires = (Requires.LINEAR_KERNEL,)
    init = step = solution = None
    a: int = 1


ODD = [
    plugins.Listed("solver", "strange", "elsewhere", "Odd | one (Nobody 2001).", {"a": 1}, None, "ok", Strange),
    plugins.Listed("solver", "absent", "svmkit", "", {}, "needs x: pip install x", "unavailable"),
    plugins.Listed("solver", "bad", "svmkit", "", {}, "solver 'bad' is broken: no", "broken"),
    plugins.Listed("solver", "junk", "svmkit", "No solver at all.", {}, None, "ok", dict),
]


def test_those_that_do_not_work_say_why():
    for text in ("\n".join(shown(ODD)), "\n".join(shown(ODD, detailed=True)), "\n".join(lines(ODD))):
        assert "unavailable: needs x: pip install x" in text and "BROKEN: solver 'bad' is broken: no" in text
        assert "elsewhere" in text
    assert lines(ODD)[0] == "solver   strange  Odd | one (Nobody 2001). [a=1] (elsewhere)"


def test_what_is_not_known_is_null():
    for row in ODD[1:]:
        assert all(as_dict(row)[fact] is None for fact in FACTS)


def test_markdown_cells_stay_cells():
    head, rule, *rows = markdown(ODD).splitlines()
    assert head.startswith("| id | method | problem |") and set(rule) == set("| -")
    assert (
        rows[0].startswith("| `strange` | Odd \\| one | SimplexQP |  | squared_hinge | linear |") and "`a=1`" in rows[0]
    )
    assert {row.replace("\\|", "").count("|") for row in (head, rule, *rows)} == {len(FACTS) + 3}


def test_in_a_pipe_one_line_each(svmkit, alone):
    done = svmkit("plugins", "--kind", "solver")
    assert done.code == 0 and len(done.out.splitlines()) == len(ROWS) and "\x1b" not in done.out


def test_one_package_only(svmkit, refused, alone):
    assert svmkit("plugins", "--package", "svmkit", "--json").json
    refused(["nobody", "svmkit"], "plugins", "--package", "nobody")
    refused(["html", "text", "markdown"], "plugins", "--format", "html")


def test_solvers_of_a_loss_are_those_that_train_with_it():
    rows = {row.name: facts(row) for row in plugins.describe("loss")}
    assert rows["logistic"]["kernels"] == ["auto", "klr"] and "sgd" in rows["logistic"]["streams"]
    for name, known in rows.items():
        loss = plugins.load("loss", name)
        assert known["task"] == loss.task and "cd" not in known["kernels"]
        for solver in ("cd", "dcd", "norma", "libsvm"):
            named = {each for kind in ("linear", "kernels", "core") for each in known[kind]}
            assert (solver in named) == (LIBLINEAR_NAMES.get(name, name) in KNOWN[solver]["loss"])
    assert "liblinear" in rows["squared_hinge"]["penalties"] and "liblinear" not in rows["hinge"]["penalties"]


@pytest.mark.parametrize(("kind", "page"), [("solver", "solvers.md"), ("loss", "losses.md")])
def test_the_documentation_has_this_table(kind, page, svmkit, alone):
    """`svmkit plugins --kind KIND --package svmkit --format markdown`, between the two marks of a page."""
    printed = svmkit("plugins", "--kind", kind, "--package", "svmkit", "--format", "markdown").out
    written = (DOCS / page).read_text().partition("<!-- table -->\n")[2].partition("<!-- /table -->")[0]
    assert written == printed
