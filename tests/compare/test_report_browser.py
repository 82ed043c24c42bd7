"""The report in a headless Chromium: no network, no errors, tables sort, the legend hides, a phone does not scroll."""

import pytest
from support.browser import chromium  # noqa: F401  a fixture
from support.report import failure, made

from svmkit.compare.report import html

pytestmark = pytest.mark.browser

EVIL = "<script>alert(1)</script>"
NAMES = ("fw", "swap", f"{EVIL} & a name that is quite long, as names of solvers with their options can be")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    def change(cell, record):
        if (cell.data, cell.solver) == ("bare", "swap"):
            return failure(cell, EVIL)
        return record | ({"test_accuracy": None, "history": None, "gap": None} if cell.data == "bare" else {})

    path = tmp_path_factory.mktemp("report") / "report.html"
    html.write(made(sets=("one", EVIL, "bare"), solvers=NAMES, seeds=2, change=change), path)
    return path.as_uri()


@pytest.fixture
def opened(chromium, address):  # noqa: F811
    """opened(width) -> the report in a page of its own; at the end: no errors, no dialogs, nothing was asked for."""
    wrong, pages = [], []

    def open_(width=1280, **kwargs):
        page = chromium.new_page(viewport={"width": width, "height": 900}, **kwargs)
        pages.append(page)
        page.on("console", lambda said: wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: request.url != address and wrong.append(request.url))
        page.route("**/*", lambda route: route.continue_() if route.request.url == address else route.abort())
        page.goto(address)
        page.wait_for_selector("#time-gap .plot-container")
        return page

    yield open_
    for page in pages:
        page.close()
    assert wrong == []


def traces(page, chart="time-gap"):
    """(solver, mode, whether it is shown) of each trace; the paths that are really drawn."""
    found = page.evaluate("id => document.getElementById(id).data.map(t => [t.meta, t.mode, t.visible])", chart)
    return [tuple(trace) for trace in found], page.locator(f"#{chart} .scatterlayer .trace").count()


def test_a_click_in_the_legend_hides_a_solver_in_all_charts_and_shows_it_again(opened):
    page = opened()
    assert traces(page)[1] == 12  # a line and an end for each run
    button = page.locator("#legend button").nth(1)
    assert button.inner_text() == "swap"
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    for chart in ("time-gap", "iterations-gap", "time-accuracy", "support-accuracy"):
        data, drawn = traces(page, chart)
        assert [shown for solver, _, shown in data] == [solver != 1 for solver, _, shown in data] and drawn == 8
    page.select_option("#set", index=1)  # another set keeps to it
    assert traces(page)[1] == 8
    button.press("Enter")
    assert traces(page)[1] == 12 and button.get_attribute("aria-pressed") == "true"
    button.dblclick()
    assert {solver for solver, _, shown in traces(page)[0] if shown} == {1}
    button.dblclick()
    assert traces(page)[1] == 12


def test_a_click_on_a_head_sorts_numbers_as_numbers(opened):
    page = opened()
    table = page.locator("#results table").first
    head = table.locator("thead th", has_text="time (s)")
    column = head.evaluate("cell => cell.cellIndex")
    names = lambda: [name[:4] for name in table.locator("tbody th").all_inner_texts()]
    values = lambda: table.locator(f"tbody td:nth-child({column + 1})").all_inner_texts()
    assert names() == ["fw", "swap", "<scr"]
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending" and names() == ["fw", "swap", "<scr"]
    head.locator("button").press("Space")
    assert head.get_attribute("aria-sort") == "descending" and names() == ["<scr", "swap", "fw"]
    assert values()[0].startswith("1.2") and values()[2].startswith("0.4")
    table.locator("thead button").first.click()
    assert names() == ["<scr", "fw", "swap"] and head.get_attribute("aria-sort") == "none"


def test_unknown_values_stay_last_however_it_is_sorted(opened):
    page = opened()
    table = page.locator("#results table").nth(2)
    head = table.locator("thead button", has_text="time (s)")
    for _ in range(2):
        head.click()
        assert table.locator("tbody tr").last.locator("td").nth(1).inner_text() == "n/a"


def test_axes_and_sets_can_be_chosen(opened):
    page = opened()
    kind = lambda axis: page.evaluate(f"document.getElementById('time-gap')._fullLayout.{axis}.type")
    assert (kind("xaxis"), kind("yaxis")) == ("log", "log")
    page.uncheck("#log-x")
    page.uncheck("#log-gap")
    assert (kind("xaxis"), kind("yaxis")) == ("linear", "linear")
    page.select_option("#set", label="bare")
    assert not page.locator("#time-gap").is_visible()
    assert page.locator("#charts .empty").first.inner_text().startswith("No run on bare has both")
    page.select_option("#set", label=EVIL)
    assert page.locator("#time-gap").is_visible()
    assert page.locator("#charts figcaption").first.inner_text() == f"Gap over time: {EVIL}"


def test_early_accuracies_can_be_looked_at(opened):
    page = opened()
    lowest = "Math.min(...document.getElementById('time-accuracy').data.flatMap(t => t.y).filter(y => y !== null))"
    assert page.evaluate(lowest) > 80
    page.uncheck("#near")
    assert page.evaluate(lowest) == 50


def test_a_hover_is_in_words_and_names_are_literal(opened):
    page = opened()
    text = page.evaluate("document.getElementById('time-gap').data.at(-1).text[0]")
    assert text.startswith("<b>&lt;script&gt;alert(1)&lt;/script&gt; &amp; a name") and "certified gap 1.0e-5" in text
    assert "converged" in text and "40 iterations" in text and "200 support vectors" in text


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_never_scrolls_sideways(opened, width, scheme):
    page = opened(width, color_scheme=scheme)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    box = page.locator("#time-gap").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] > 300
    tables = page.locator("#results .scroll").all()
    assert all(table.bounding_box()["width"] <= width for table in tables)
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (background == "rgb(255, 255, 255)") is (scheme == "light")
