"""`--relevance learned`: columns by name in the report and in --json, a picture, and what is refused."""

import pytest
from sklearn.datasets import make_friedman1

from svmkit import InputError, SVMModel, SVMRegressor, plot_relevance
from svmkit.errors import SvmkitError

pytestmark = pytest.mark.usefixtures("alone")
LEARNED = ("--relevance", "learned", "--no-track")


@pytest.fixture
def table(tmp_path):
    X, y = make_friedman1(200, 8, noise=1.0, random_state=0)
    lines = [",".join([*(f"f{j}" for j in range(8)), "y"])]
    lines += [
        ",".join(f"{value:.6f}" for value in row) for row in [[*x, (t - 14.0) / 5.0] for x, t in zip(X, y, strict=True)]
    ]
    path = tmp_path / "friedman.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_train_tells_the_columns_that_matter(svmkit, table, tmp_path):
    out, plot = tmp_path / "m.svmkit", tmp_path / "columns.png"
    done = svmkit("train", table, "-C", "10", *LEARNED, "--out", out, "--plot", plot, "--json").json
    found = done["relevance"]
    assert found["round"] > 0 and found["scores"][found["round"]] > found["scores"][0]
    columns = [entry["column"] for entry in found["weights"]]
    assert set(columns[:5]) == {"f0", "f1", "f2", "f3", "f4"} and found["weights"][0]["weight"] == 1.0
    assert done["plot"] == str(plot) and plot.read_bytes().startswith(b"\x89PNG")
    assert SVMModel.load(out).relevance.max() == 1.0
    assert svmkit("evaluate", out, table, "--json").json["test_r2"] == pytest.approx(done["train_r2"], abs=1e-9)
    shown = svmkit("train", table, "-C", "10", *LEARNED).out
    assert "R2 0." in shown and f"columns    {columns[0]} 1.00, {columns[1]} 0." in shown


def test_tune_learns_for_its_best_candidate(svmkit, table):
    done = svmkit("tune", table, "--grid", "C=1,10", "--cv", "3", *LEARNED, "--json").json
    assert done["best"]["params"]["C"] == 10.0 and done["refit"]["relevance"]["round"] > 0


def test_without_it_there_is_none(svmkit):
    assert svmkit("train", "wine", "--no-track", "--json").json["relevance"] is None
    shown = svmkit("train", "wine", *LEARNED).out
    assert "all columns alike: learnt weights were not better" in shown


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("wine", "--relevance", "full"), ["--relevance 'full' is not known", "learned"]),
        (("wine", "--plot", "a.png"), ["--relevance learned"]),
        (("wine", *LEARNED[:2], "--plot", "a.xyz"), ["a.xyz", ".png"]),
        (("wine", *LEARNED[:2], "--task", "outliers"), ["is for classes and quantities"]),
        (("-", *LEARNED[:2]), ["a stream", "leave --relevance out"]),
        (("wine", *LEARNED[:2], "--scheduler", "local:1"), ["not learnt on a cluster"]),
        (("wine", *LEARNED[:2], "--impute", "nope"), ["--impute 'nope'"]),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(refused, args, words):
    refused(words, "train", *args, "--no-track")


def test_a_picture_that_cannot_be_written_leaves_the_model(svmkit, table, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    done = svmkit("train", table, *LEARNED, "--out", tmp_path / "m.svmkit", "--plot", tmp_path / "p.png")
    assert done.code == 1 and "No space left" in done.err and "relevance" in done.out
    assert (tmp_path / "m.svmkit").exists() and issubclass(InputError, SvmkitError)


def test_the_plot_shows_the_largest_weights_and_refuses_other_models():
    X, y = make_friedman1(150, 30, noise=0.5, random_state=0)
    model = SVMRegressor(C=10.0, relevance="learned").fit(X, (y - 14.0) / 5.0)
    ax = plot_relevance(model, most=4)
    assert len(ax.patches) == 4 and "4 of 30 columns" in ax.get_xlabel()
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(widths, reverse=True) and widths[0] == 1.0
    with pytest.raises(InputError, match="relevance='learned'"):
        plot_relevance(SVMRegressor().fit(X, y))
