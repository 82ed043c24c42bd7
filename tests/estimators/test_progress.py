"""`verbose=1`: a live line on a terminal, plain lines elsewhere, and the same model as without."""

import io
import re
import sys

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV

import svmkit
from svmkit import InputError, SVMClassifier, SVMOneClass, SVMRegressor
from svmkit.runtime import progress

ENDED = r"svmkit: \w+ converged: [\d,]+ iterations, gap \d\.\de-\d\d, [\d,]+ vectors, [\d.]+ s\n"


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def _fitted(kind, iris, verbose):
    X, y = iris
    return kind(verbose=verbose).fit(X, *([] if kind is SVMOneClass else [y]))


@pytest.mark.parametrize("kind", [SVMClassifier, SVMRegressor, SVMOneClass])
def test_one_line_stays_and_nothing_else_changes(kind, iris, capsys):
    quiet = _fitted(kind, iris, 0)
    assert capsys.readouterr() == ("", "")
    told = _fitted(kind, iris, 1)
    out, err = capsys.readouterr()
    assert out == "" and re.fullmatch(ENDED, err)
    np.testing.assert_array_equal(told.model_.coef, quiet.model_.coef)
    np.testing.assert_array_equal(told.model_.intercept, quiet.model_.intercept)
    assert told.n_iter_ == quiet.n_iter_ and told.seconds_ > 0.0
    assert clone(told).get_params()["verbose"] == 1


def test_verbose_is_a_number(iris):
    for wrong in ("yes", -1, 0.5, None):
        with pytest.raises(InputError, match="verbose must be 0"):
            SVMClassifier(verbose=wrong).fit(*iris)


def test_many_class_pairs_run_at_once_all_the_same(monkeypatch, capsys):
    X, y = load_digits(return_X_y=True)
    quiet = SVMClassifier().fit(X, y)
    monkeypatch.setattr(progress, "FIRST", 0.0)
    told = SVMClassifier(verbose=1).fit(X, y)
    np.testing.assert_array_equal(told.model_.coef, quiet.model_.coef)
    assert re.search(r"svmkit: [\d]+/45 problems\n", capsys.readouterr().err)


def test_plain_lines_come_at_growing_intervals(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.live("first", lines=True) as show:
        for now[0] in np.arange(0.0, 40.0, 0.5):
            show(f"at {now[0]:g}")
    assert capsys.readouterr().err.split("\n")[:-1] == ["at 2", "at 4", "at 8", "at 16", "at 32"]


def test_a_terminal_has_one_live_line_that_vanishes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress.live("[first]", lines=True) as show, progress.live("other") as second:
        show("[/second]")  # which is no markup
        assert second is None
    text = sys.stderr.getvalue()
    assert "[first]" in text and "[/second]" in text and text.endswith("\x1b[2K")
    with progress.live("third") as show:  # the next one is free again
        assert show is not None


def test_what_is_done_before_the_delay_draws_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.live("first", delay=3600.0) as show:
        show("second")
    assert sys.stderr.getvalue() == ""


def test_fit_tells_its_watch_beside_verbose(iris, capsys):
    seen = []
    X, y = iris
    svmkit.fit(X, y, kernel=svmkit.plugins.load("kernel", "rbf")(), watch=lambda *of: seen.append(of) or [], verbose=1)
    assert [k for k, _, _ in seen] == [0, 1, 2] and re.fullmatch(ENDED, capsys.readouterr().err)


@pytest.fixture
def new_workers():
    """Joblib's workers outlive a test, and write where standard error was when they started."""
    get_reusable_executor().shutdown(wait=True)
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.mark.slow
def test_workers_of_a_search_write_whole_lines(iris, capfd, new_workers):
    found = [GridSearchCV(SVMClassifier(verbose=v), {"C": [1, 10]}, cv=2, n_jobs=2).fit(*iris) for v in (0, 1)]
    lines = capfd.readouterr().err.splitlines(keepends=True)
    assert len(lines) == 5 and all(re.fullmatch(ENDED, line) for line in lines)
    scores = [search.cv_results_["mean_test_score"] for search in found]
    np.testing.assert_array_equal(*scores)
