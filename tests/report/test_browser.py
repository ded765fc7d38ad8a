"""The page in a real browser: what is read, at every width, by keyboard and on paper."""

import json
import shutil
from collections.abc import Iterator
from itertools import product

import pytest
from made_lab import TEMPLATES
from patience import HANG_S

from builders import derived_lab, full_lab
from dpscale.reporting.formula import as_mathml
from dpscale.reporting.inputs import Inputs
from dpscale.studies import questions

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.base")

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")

MOST_BYTES = 4_000_000
PAGES = pytest.mark.parametrize("name", ["report", "compare"])
COPIED = "navigator.clipboard.writeText = async (text) => { window.copied = text; };"
# Of each element that is not inside a table's own box: whether it is cut, or beyond the page.
BEYOND = """() => [...document.body.querySelectorAll("*")]
  .filter((one) => !one.parentElement.closest(".scroll, svg, math, .skip") && !one.matches(".skip"))
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5
    || (one.scrollWidth > one.clientWidth + 1 && one.clientWidth && !one.matches(".scroll")
        && getComputedStyle(one).overflowX !== "visible"))
  .map((one) => one.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def browser() -> Iterator["playwright.Browser"]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=BROWSER, timeout=1000 * HANG_S)
        yield started
        started.close()


@pytest.fixture
def opened(browser, pages):
    """A function that opens a page at a width, everything that is folded unfolded."""
    contexts = []

    def opens(name="report", *, width=1400, scheme="light", unfold=True, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * HANG_S)
        page.requests = []
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto((pages / f"{name}.html").as_uri())
        if unfold:
            page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        return page

    yield opens
    for context in contexts:
        context.close()


@PAGES
def test_axe_finds_no_violation_in_light_and_dark_narrow_and_wide(opened, name):
    page = opened(name)
    if name == "report":
        page.locator("td a.measured").first.focus()  # what is shown beside it is read too
    page.evaluate(axe.AXE_SCRIPT)
    found = []
    for width, scheme in product((360, 1280), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        for one in page.evaluate("axe.run().then((found) => found.violations)"):
            found += [(width, scheme, one["id"], node["html"]) for node in one["nodes"]]
    assert found == []


@PAGES
def test_nothing_but_tables_scrolls_sideways(opened, name):
    page = opened(name)
    for width in (360, 390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(BEYOND) == []


def test_every_formula_of_the_lab_fits_a_telephone(browser):
    tex = {one for question in questions().values() for one in question.formula}
    inputs = Inputs(derived_lab(), full_lab())
    for name in ("Q3.1", "Q3.2"):  # whose formulas depend on what was measured
        tex.update(questions()[name].found(inputs).formula)
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    drawn = [f'<div class="display">{as_mathml(one, display=True)}</div>' for one in sorted(tex)]
    page = browser.new_page(viewport={"width": 360, "height": 800})
    page.set_content(f"<!doctype html><style>{style}</style>{''.join(drawn)}")
    found = page.locator(".display").evaluate_all(
        "all => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)"
    )
    page.close()
    assert found == []


@pytest.mark.parametrize(("width", "shown"), [(360, "narrow"), (820, "wide")])
def test_a_telephone_shows_the_figure_that_is_drawn_for_it(opened, width, shown):
    drawn = opened(width=width).locator("#figure-speedup svg")
    seen = dict(zip(("wide", "narrow"), (one.is_visible() for one in drawn.all()), strict=True))
    assert seen == {"wide": shown == "wide", "narrow": shown == "narrow"}


@pytest.mark.parametrize("width", [360, 1400])
def test_an_interval_is_no_smaller_than_a_step_below_the_text_and_in_ink(opened, width):
    number = opened(width=width).locator("td:has(.interval)").first
    size, of_table, ink, of_text = number.evaluate(
        """(cell) => {
          const own = getComputedStyle(cell.querySelector(".interval"));
          const [row, body] = [cell, document.body].map((one) => getComputedStyle(one));
          return [own.fontSize, row.fontSize, own.color, body.color];
        }"""
    )
    assert float(size[:-2]) >= 0.9 * float(of_table[:-2]) >= 12
    assert ink == of_text


def test_contents_stay_in_view_beside_the_text(opened):
    page = opened()
    page.set_viewport_size({"width": 1400, "height": 300})
    page.locator("#answer-Q7").evaluate("one => one.scrollIntoView()")
    page.locator("nav.contents [aria-current][href='#answer-Q7']").wait_for()
    contents = page.locator("nav.contents").bounding_box()
    assert 0 <= contents["y"] < 100
    current = page.locator("nav.contents [aria-current]")
    assert contents["y"] < current.bounding_box()["y"] < contents["y"] + contents["height"]
    assert contents["x"] + contents["width"] <= page.locator("main").bounding_box()["x"]


def test_a_number_shows_its_runs_when_the_keyboard_comes_to_it(opened):
    page = opened()
    tip = page.get_by_role("tooltip")
    number = page.locator("td a.measured").first
    number.focus()
    assert tip.inner_text().split("\n")[0] == "run scaling-n1-b32"
    assert "runs/scaling-n1-b32/record.json" in tip.inner_text()
    assert number.get_attribute("aria-describedby") == tip.get_attribute("id")
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().split("\n")[0] == "2 runs: scaling-n1-b32, scaling-n2-b32"
    assert tip.locator("tr").count() == 2
    assert number.get_attribute("aria-describedby") is None


def test_from_the_runs_a_button_leads_back_to_the_number(opened):
    page = opened()
    number = page.locator("td a.measured").first
    number.click()
    assert page.url.endswith("#run-scaling-n1-b32")
    page.get_by_role("button", name="Back to the number").click()
    assert number.evaluate("one => one === document.activeElement")
    assert not page.get_by_role("button", name="Back to the number").is_visible()


def test_a_table_is_one_stop_of_the_tabulator(opened):
    count = "[...one.querySelectorAll('tbody a')].filter((link) => link.tabIndex == 0).length"
    stops = opened().locator("table").evaluate_all(f"all => all.map((one) => {count})")
    assert max(stops) == 1


def test_a_table_is_saved_as_csv(opened):
    page = opened()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save as CSV").first.click()
    assert saved.value.suggested_filename == "table-1.csv"
    lines = saved.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[1] == "1,32,12.50,12.12,12.75,1.00,0.95,1.04"


@pytest.mark.parametrize("width", [390, 820])
def test_contents_stay_above_the_text_where_there_is_no_room_beside_it(opened, width):
    page = opened(width=width, unfold=False)
    page.locator("#answer-Q7").evaluate("one => one.scrollIntoView()")
    bar = page.locator("nav.contents")
    assert 0 <= bar.bounding_box()["y"] < 5
    assert bar.bounding_box()["height"] < 60
    bar.locator("summary").click()
    bar.get_by_role("link", name="Q2").click()
    assert page.url.endswith("#answer-Q2")
    assert bar.bounding_box()["height"] < 60


def test_the_first_column_stays_while_a_table_scrolls_on_a_telephone(opened):
    page = opened(width=390)
    table = page.locator("#answer-E2 .scroll.wide").first
    before = table.locator("tbody tr :first-child").first.bounding_box()["x"]
    table.evaluate("one => one.scrollLeft = 300")
    assert table.locator("tbody tr :first-child").first.bounding_box()["x"] == before


def test_a_first_column_breaks_no_word_that_has_room_on_a_telephone(opened):
    page = opened(width=390)
    first = page.locator(".scroll:not(.wide) tr > :first-child")
    widths = "all => all.map((one) => one.getBoundingClientRect().width)"
    shown = first.evaluate_all(widths)
    page.add_style_tag(content="* { overflow-wrap: normal !important; }")
    assert shown == first.evaluate_all(widths)


def test_a_table_is_wider_than_the_text_where_there_is_room(opened):
    page = opened(width=1440)
    widths = [
        page.locator(f"#answer-E2 {one}").first.bounding_box()["width"]
        for one in ("p.sentence", ".scroll.wide")
    ]
    assert widths[1] > widths[0]


def test_the_runs_of_a_number_stay_in_view_at_the_edge_of_a_telephone(opened):
    page = opened(width=360)
    number = page.locator("td a.measured").nth(1)
    number.focus()
    box = page.get_by_role("tooltip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


def test_a_number_shows_its_runs_under_the_pointer_which_may_go_there(opened):
    page = opened()
    page.locator("td .interval").first.hover()  # anywhere in the cell of a table
    tip = page.get_by_role("tooltip")
    tip.wait_for()
    tip.hover()
    page.wait_for_timeout(250)
    assert tip.is_visible()
    page.locator("h1").hover()
    tip.wait_for(state="hidden")


def column(page, place: int, table: int = 0) -> list[str]:
    """Return the numbers of a table's column, without their intervals."""
    cells = page.locator("table").nth(table).locator(f"tbody tr td:nth-child({place})")
    return [text.split("\n")[0] for text in cells.all_inner_texts()]


def test_a_column_is_sorted_by_its_values_and_what_is_unknown_stays_last(opened):
    page = opened()
    head = page.locator("th", has_text="Time of an epoch").first
    button = head.get_by_role("button")
    button.focus()
    orders = []
    for _ in range(3):
        page.keyboard.press("Enter")
        orders.append((head.get_attribute("aria-sort"), column(page, 3)))
    assert orders == [
        ("ascending", ["0.950", "8.12", "12.50", "out of memory"]),
        ("descending", ["12.50", "8.12", "0.950", "out of memory"]),
        (None, ["12.50", "8.12", "0.950", "out of memory"]),
    ]


def test_settings_and_times_of_runs_are_sorted_as_numbers(opened):
    page = opened()
    page.locator("th", has_text="Batch b").first.get_by_role("button").click()
    page.locator("th", has_text="Batch b").first.get_by_role("button").click()
    assert column(page, 2) == ["8\u202f192", "2\u202f048", "32", "32"]


def test_a_table_is_copied_with_tabs_units_and_the_ends_of_its_intervals(opened):
    page = opened()
    page.evaluate(COPIED)
    page.get_by_role("button", name="Copy the table").first.click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("window.copied").split("\n") == [
        "Workers N\tBatch b\tTime of an epoch (s)\tTime of an epoch, low (s)"
        "\tTime of an epoch, high (s)\tSpeed-up (×)\tSpeed-up, low (×)\tSpeed-up, high (×)",
        "1\t32\t12.50\t12.12\t12.75\t1.00\t0.95\t1.04",
        "2\t32\t8.12\t7.88\t8.29\t1.54\t1.46\t1.60",
        "2\t2048\t0.950\t0.921\t0.969\t1.81\t1.72\t1.88",
        "4\t8192\tout of memory\t\t\t–\t\t",
    ]


@PAGES
def test_a_page_prints_what_it_says_and_none_of_its_controls(opened, name):
    page = opened(name, width=690, unfold=False)  # an A4 page between its margins
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".tools:visible, .skip:visible, .values:visible").count() == 0
    assert page.locator("table:visible").count() == page.locator("table").count()
    assert page.locator("main p").last.is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 31, 35)"
    assert page.evaluate(BEYOND) == []
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


@PAGES
def test_a_page_is_one_small_file_and_asks_for_nothing_else(opened, pages, name):
    page = opened(name)
    page.mouse.wheel(0, 100_000)
    assert page.requests == [(pages / f"{name}.html").as_uri()]
    assert (pages / f"{name}.html").stat().st_size <= MOST_BYTES


def test_without_javascript_all_is_there_and_titles_name_the_runs(opened):
    page = opened(java_script_enabled=False, unfold=False)
    assert page.locator("p a.measured").first.get_attribute("title") == (
        "2 runs: scaling-n1-b32, scaling-n2-b32"
    )
    assert page.get_by_role("button").count() == 0
    assert page.locator("#answer-Q7").is_visible()


def test_a_browser_says_nothing_against_the_script(opened, pages):
    page = opened()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.reload()
    assert json.dumps(said) == "[]"
