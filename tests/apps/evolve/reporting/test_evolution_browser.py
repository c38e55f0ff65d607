"""The page of an evolution in a real browser: nothing fails, nothing is asked of a network, nothing overflows."""

from __future__ import annotations

import pytest

from support.evolution_folders import MAIN, build_folder
from support.listening import listening
from support.thorough import one_in
from truegrade.apps.evolve.folder import SearchPlan
from truegrade.apps.evolve.reporting.page import write_report
from truegrade.apps.evolve.reporting.search_material import gather

pytestmark = pytest.mark.slow
PLANS = (*MAIN[:2], SearchPlan(name="recipe", baseline=True))
CLIPPED = """
() => [...document.querySelectorAll('svg.chart text')].filter(text => {
  const box = text.getBoundingClientRect();
  return box.width && (box.left < 0 || box.right > document.documentElement.clientWidth);
}).map(text => text.textContent)
"""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    root = tmp_path_factory.mktemp("evolutions")
    done = build_folder(root / "done", plans=PLANS, generations=5, population=6)
    begun = build_folder(root / "begun", plans=PLANS, generations=3, population=4, replicates=1, finished=False)
    return [write_report(gather(folder)).as_uri() for folder in (done, begun)]


@pytest.fixture(scope="module")
def window(chromium):
    """One window for all tests: a new one is a new process."""
    return chromium.new_page(viewport={"width": 1024, "height": 800}, color_scheme="light")


@pytest.fixture
def opened(window, addresses):
    """Opens a page; at the end nothing was printed to the console, thrown or asked for."""

    def visit(number, width=1024):
        window.set_viewport_size({"width": width, "height": 800})
        window.goto(addresses[number])
        return window

    with listening(window, addresses.__contains__) as trouble:
        yield visit
    assert trouble == []


@pytest.mark.parametrize("width", [360, 1024, 1920])
@pytest.mark.parametrize("number", one_in(2, [0, 1]), ids=["done", "begun"])
def test_nothing_is_wider_than_the_window(opened, width, number):
    page = opened(number, width)
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CLIPPED) == []


def test_sections_are_reached_by_keyboard(opened):
    page = opened(0)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the result"
    page.focus("nav a[href='#lineage']")
    page.keyboard.press("Enter")
    assert page.url.endswith("#lineage")
    page.focus("#lineage summary")
    page.keyboard.press("Enter")
    assert page.locator("#lineage figure table").is_visible()


def test_the_theme_changes_every_mark(opened):
    page = opened(0)
    colours = []
    for _ in range(3):
        page.click("#theme")
        colours.append(
            page.evaluate(
                "['.anchor', '.ring', '.kin'].map(name => getComputedStyle(document.querySelector(name)).stroke)"
            )
        )
    light, dark = colours[0], colours[1]
    assert all(one != other for one, other in zip(light, dark, strict=True))
    assert colours[2] == light
