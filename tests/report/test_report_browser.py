"""The page in a real browser: nothing fails, nothing is asked of a network, and it can be used without a mouse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from reasoning_runs import build_reasoning_run
from report_runs import House, Lenient, build_run, task_id

from support.listening import listening
from truegrade.report.html import write_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    reply = "```python\ndef f(x):\n    return x + 1  # <b>\n```"
    run = build_run(
        tmp_path_factory.mktemp("runs") / "run",
        tasks=60,
        samples=5,
        profiles=(House(), Lenient()),
        reply=reply,
        reasoning="let me see",
    )
    programs = {task_id(number): "def f(x):\n    return x + 2\n" for number in range(60)}
    return write_report(run, references=programs).as_uri()


@pytest.fixture(scope="module")
def window(chromium) -> object:
    """One window for all tests: a new one is a new process."""
    return chromium.new_page(viewport={"width": 1100, "height": 800}, color_scheme="light")


@pytest.fixture
def watched(window, address: str) -> Iterator[object]:
    """The page, opened afresh; at the end nothing was printed to the console, thrown or asked for."""
    with listening(window, address.__eq__) as trouble:
        window.goto(address)
        window.wait_for_selector("#list [role=option]")
        yield window
    assert trouble == []


def found(page) -> int:
    page.locator("#found", has_text=re.compile(r"^[\d,]+ of [\d,]+ samples$")).wait_for()
    return int(page.inner_text("#found").split()[0].replace(",", ""))


def wait_found(page, number: int) -> None:
    """Until so many samples are listed; the page's policy forbids what `wait_for_function` does."""
    page.locator("#found", has_text=re.compile(rf"^{number} of [\d,]+ samples$")).wait_for()


def test_only_rows_in_sight_exist(watched) -> None:
    assert found(watched) == 300
    assert watched.locator("#list [role=option]").count() < 40
    assert watched.get_attribute("#list [role=option] >> nth=0", "aria-setsize") == "300"
    watched.evaluate("document.getElementById('list').scrollTop = 1e9")
    watched.wait_for_selector("#list [aria-posinset='300']")


def test_filters_narrow_the_list(watched) -> None:
    everything = found(watched)
    watched.select_option("#filter-outcome", "failed")
    failed = found(watched)
    watched.select_option("#filter-outcome", "passed")
    assert 0 < failed < everything
    assert failed + found(watched) == everything
    watched.select_option("#filter-outcome", "disputed")
    disputed = found(watched)
    assert 0 < disputed < failed
    watched.select_option("#filter-outcome", "")
    watched.select_option("#filter-reason", "time_limit")
    assert 0 < found(watched) < failed
    watched.select_option("#filter-profile", "lenient@1")
    watched.select_option("#filter-reason", "wrong_answer")
    assert found(watched) < failed
    watched.click("text=Clear")
    wait_found(watched, 300)


def test_search_looks_into_every_text(watched) -> None:
    watched.fill("#find", "return X + 1")
    wait_found(watched, 300)
    watched.fill("#find", "in no text at all")
    wait_found(watched, 0)
    assert "No sample fits" in watched.inner_text("#sample")
    watched.fill("#find", f"{task_id(7)}#")
    wait_found(watched, 5)


def test_a_sample_is_opened_by_keyboard(watched) -> None:
    watched.focus("#list")
    watched.keyboard.press("End")
    watched.wait_for_selector("#list [aria-selected=true][data-place='299']")
    last = watched.inner_text("#list [aria-selected=true] .name").replace("#", " #")
    watched.locator("#sample h3", has_text=last).wait_for()
    watched.keyboard.press("Home")
    watched.keyboard.press("j")
    watched.keyboard.press("j")
    watched.keyboard.press("k")
    watched.wait_for_selector("#list [aria-selected=true][data-place='1']")
    watched.keyboard.press("Enter")
    assert watched.evaluate("document.activeElement.id") == "sample"
    watched.keyboard.press("Escape")
    assert watched.evaluate("document.activeElement.id") == "list"


def test_a_sample_shows_its_parts(watched) -> None:
    watched.select_option("#filter-reason", "wrong_answer")
    watched.wait_for_selector("#sample .failure")
    text = watched.inner_text("#sample")
    assert "failing test" in text
    assert "assert f(1) == 3" in text
    assert "let me see" not in text  # thinking is folded
    assert watched.locator("#sample details", has_text="Thinking").count() == 1
    assert watched.locator("#sample details", has_text="Prompt").count() == 1
    assert "return x + 1  # <b>" in watched.inner_text("#sample mark")
    watched.click("#sample .verdicts button:has-text('lenient@1')")
    assert watched.input_value("#filter-profile") == "lenient@1"
    assert watched.get_attribute("#sample .verdicts button:has-text('lenient@1')", "aria-pressed") == "true"


def test_what_differs_from_the_expected_is_marked_by_more_than_colour(watched) -> None:
    watched.select_option("#filter-reason", "wrong_answer")
    watched.wait_for_selector("#sample .failure del")
    assert watched.inner_text("#sample .failure del") == "3" and watched.inner_text("#sample .failure ins") == "2"
    lines = "node => getComputedStyle(node).textDecorationLine"
    assert watched.eval_on_selector("#sample .failure del", lines) == "line-through"
    assert watched.eval_on_selector("#sample .failure ins", lines) == "underline"
    assert "struck through" in watched.inner_text("#sample .failure")


def test_the_reference_stands_beside_an_answer_that_is_refused(watched) -> None:
    watched.select_option("#filter-reason", "wrong_answer")
    title = watched.locator("#sample h4", has_text="Reference program")
    title.wait_for()
    assert "lines that the answer does not have" in title.inner_text()
    assert watched.inner_text("#sample h4:has-text('Reference program') + pre del").strip() == "return x + 2"
    watched.select_option("#filter-outcome", "passed")
    watched.select_option("#filter-reason", "")
    watched.locator("#sample .verdicts [aria-pressed=true] + .badge", has_text="passed").wait_for()
    assert title.count() == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_the_section_bar_stays_and_covers_no_title(watched, width: int) -> None:
    watched.set_viewport_size({"width": width, "height": 800})
    watched.emulate_media(reduced_motion="reduce")
    watched.click("nav.menu a[href='#reasons']")
    bar, title = (watched.locator(at).bounding_box() for at in ("nav.menu", "#reasons-title"))
    assert bar["y"] == 0 and watched.evaluate("scrollY") > 800
    assert bar["height"] < 60 and title["y"] >= bar["height"]
    watched.set_viewport_size({"width": 1100, "height": 800})


def test_a_table_says_that_it_scrolls_as_long_as_it_does(watched) -> None:
    watched.set_viewport_size({"width": 390, "height": 800})
    watched.wait_for_selector(".scroll.over")
    watched.wait_for_timeout(300)
    said = "document.querySelectorAll('.sideways').length"
    over = (
        "[...document.querySelectorAll('.scroll')].filter("
        "n => n.checkVisibility() && n.scrollWidth > n.clientWidth + 1).length"
    )
    assert watched.evaluate(said) == watched.evaluate(over) > 0
    watched.set_viewport_size({"width": 1900, "height": 800})
    watched.wait_for_timeout(300)
    assert watched.evaluate(said) == watched.evaluate(over) == 0
    watched.set_viewport_size({"width": 1100, "height": 800})


def test_charts_take_the_width(watched) -> None:
    plot, section = (watched.locator(at).first.bounding_box() for at in ("#reasons .plot", "#reasons"))
    assert plot["width"] > 0.95 * section["width"]


def test_a_cell_and_a_table_row_lead_to_their_samples(watched) -> None:
    watched.click(f".strip i[data-find='{task_id(3)}#'] >> nth=0")
    wait_found(watched, 5)
    assert watched.input_value("#find") == f"{task_id(3)}#"


def test_the_theme_can_be_switched(watched) -> None:
    grounds = set()
    for _ in range(3):
        watched.click("#theme")
        grounds.add(watched.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert len(grounds) == 2
    assert watched.inner_text("#theme") == "Theme: system"


@pytest.mark.parametrize("width", [360, 1920])
@pytest.mark.parametrize("kind", ["code", "reasoning"])
def test_nothing_is_wider_than_the_window(chromium, address: str, tmp_path: Path, width: int, kind: str) -> None:
    where = address if kind == "code" else write_report(build_reasoning_run(tmp_path / "run")).as_uri()
    page = chromium.new_page(viewport={"width": width, "height": 740})
    page.goto(where)
    page.wait_for_selector("#list [role=option]")
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_a_browser_that_cannot_unpack_says_so(chromium, address: str) -> None:
    page = chromium.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(address)
    assert "DecompressionStream" in page.inner_text("#browser-problem")
    assert page.is_hidden("#split")
    page.close()
