"""The page in a real browser: the whole way through it, without an error or a foreign request, at any width."""

import re

import pytest
from viewing_runs import cut, standard_runs, whole

from support.listening import listening
from support.thorough import one_in
from truegrade.files.json_text import with_checksum

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def window(chromium):
    return chromium.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")


@pytest.fixture
def page(window, viewer):
    """The list of runs; at the end nothing was printed to the console, thrown, or asked of anybody else."""
    with listening(window, lambda url: url.startswith((viewer.server.url, "data:,"))) as trouble:
        window.goto("about:blank")
        window.goto(viewer.server.url)
        window.wait_for_selector("#runs tr")
        yield window
    aborted = "net::ERR_ABORTED"  # a request under way as the page was left
    assert [line for line in trouble if aborted not in line] == []


def wait_found(page, text):
    page.locator("#found", has_text=re.compile(rf"^{text}$")).wait_for()


def test_from_the_list_to_a_comparison(page, viewer):
    wait_found(page, "3 of 3 runs")
    page.fill("#find", "parrot")
    wait_found(page, "1 of 3 runs")
    assert page.locator("#runs tr").count() == 1
    row = page.inner_text("[data-run=parrot]")
    assert "finished" in row and "house@1 and 1 more" in row and re.search(r"\d %\s+\[\d+\.\d, \d+\.\d\]", row)

    page.click("[data-run=parrot] a")
    page.wait_for_selector("#sample h3")
    assert "Warnings" in page.inner_text("#numbers") and "warning" in page.inner_text("#overview")
    page.select_option("#filter-outcome", "passed")
    wait_found(page, r"\d+ of 90 samples")
    page.locator("#list [aria-selected=true] .badge", has_text="passed").wait_for()
    page.locator("#sample mark", has_text="return x + 1").wait_for()

    page.go_back()
    wait_found(page, "1 of 3 runs")
    assert page.input_value("#find") == "parrot", "the filter is part of the address"
    page.check("[data-run=parrot] input")
    assert page.is_disabled("#compare")
    page.click("text=Clear")
    wait_found(page, "3 of 3 runs")
    assert page.is_checked("[data-run=parrot] input"), "what is chosen survives the filter"
    page.check("[data-run=magpie] input")
    page.click("#compare")
    page.wait_for_selector(".contender .value")
    text = page.inner_text("#compared")
    assert "magpie minus parrot" in text and "95 % interval" in text
    page.click(".task >> nth=0")
    page.wait_for_selector("#sides .side >> nth=1")
    assert page.locator("#sides .side").count() == 2
    page.select_option("#filter-profile", "lenient@1")
    page.locator(".interval-text", has_text="under lenient@1").wait_for()


def test_the_report_opens_and_goes_back(page):
    page.click("[data-run=parrot] a")
    page.click("#report")
    page.wait_for_selector("#list [role=option]")
    assert "Truegrade report" in page.content()
    page.go_back()
    page.wait_for_selector("#numbers .card")


def test_without_a_mouse(page):
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    names = page.locator("#runs tr").evaluate_all("rows => rows.map((row) => row.dataset.run)")
    focused = "document.activeElement.dataset.run"
    assert page.evaluate(focused) == names[0]
    page.keyboard.press("End")
    assert page.evaluate(focused) == names[-1]
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    assert page.is_checked(f"[data-run='{names[0]}'] input")
    page.click("text=Choose none")
    page.focus(f"[data-run='{names[0]}']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#sample h3")
    page.focus("#list")
    page.keyboard.press("End")
    page.locator("#list [aria-selected=true][aria-posinset]").wait_for()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "sample"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "list"
    page.keyboard.press("Escape")
    page.wait_for_selector("#runs tr")


def test_keys_of_the_samples_and_their_list(page):
    page.click("[data-run=parrot] a")
    page.wait_for_selector("#sample h3")
    box = page.locator("#list").bounding_box()
    assert box["y"] + 200 < 800, "the list of samples is above the fold"
    page.evaluate("document.activeElement.blur()")
    for key, place in (("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        page.wait_for_selector(f"#list [aria-selected=true][data-place='{place}']")
    assert page.evaluate("document.activeElement.id") == "list"
    assert page.get_attribute("#list", "aria-activedescendant") == "row-1"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "sample"
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert "previous sample" in page.inner_text("dialog") and page.get_attribute("dialog", "aria-labelledby")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    assert page.evaluate("document.activeElement.id") == "sample", "the focus goes back"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.press("?")
    assert page.locator("dialog").count() == 0 and page.input_value("#find") == "?", "text is text"


def test_sorting_by_a_column(page):
    page.click("[data-sort=model] button")
    page.wait_for_selector("[data-sort=model][aria-sort=ascending]")
    models = page.locator("#runs .of-model").all_inner_texts()
    assert models == sorted(models)
    page.click("[data-sort=model] button")
    page.wait_for_selector("[data-sort=model][aria-sort=descending]")
    page.locator("#runs tr >> nth=0", has_text="toy/parrot").wait_for()


def test_a_run_is_shown_as_it_grows(chromium, view, tmp_path):
    root = standard_runs(tmp_path / "runs")
    run = root / "deep" / "er" / "growing"
    with view(root) as viewer:
        page = chromium.new_page()
        page.goto(f"{viewer.server.url}#/run?run=deep/er/growing")
        wait_found(page, "40 of 40 samples")
        assert "40 of 90 samples have a reply" in page.inner_text(".progress")
        line = (run / "completions.jsonl").read_bytes().splitlines(True)[0]
        with (run / "completions.jsonl").open("ab") as file:
            other = line.replace(b'"Toy/0"', b'"Toy/29"')
            file.write(with_checksum(other[: other.index(b',"crc32"')] + b"}"))
        wait_found(page, "41 of 41 samples")
        page.locator(".progress", has_text="41 of 90 samples have a reply").wait_for()
        page.close()


def test_only_rows_in_sight_exist(chromium, view, tmp_path):
    from report_runs import build_run

    whole(build_run(tmp_path / "runs" / "long", tasks=500, samples=3))
    with view(tmp_path / "runs") as viewer:
        page = chromium.new_page(viewport={"width": 1100, "height": 800})
        page.goto(f"{viewer.server.url}#/run?run=long")
        page.wait_for_selector("#sample h3")
        assert page.locator("#list [role=option]").count() < 40
        page.evaluate("document.getElementById('list').scrollTop = 1e9")
        page.locator("#list [aria-posinset='1500'] .name").wait_for()
        page.locator("#list").focus()
        page.keyboard.press("End")
        last = page.locator("#list [aria-selected=true][aria-posinset='1500'] .name")
        last.wait_for()
        page.locator("#sample h3", has_text=last.inner_text().replace("#", " #")).wait_for()
        page.close()


@pytest.mark.parametrize("width", one_in(3, [360, 1024, 1920]))
def test_nothing_is_wider_than_the_window(chromium, view, tmp_path, width):
    from report_runs import House, Lenient, build_run

    root = standard_runs(tmp_path / "runs")
    name = "livecodebench-agentcoder-openrouter-some-very-long-model-name-instruct-1a2b3c4d"
    whole(
        build_run(
            root / name,
            tasks=10,
            profiles=(House(), Lenient()),
            model="openrouter/some/very-long-model-name",
            reply="x" * 900,
        )
    )
    cut(whole(build_run(root / "under-way", tasks=10)), 20, 10)
    (root / "torn").mkdir()
    (root / "torn" / "manifest.json").write_text("{")
    with view(root) as viewer:
        page = chromium.new_page(viewport={"width": width, "height": 740})
        views = [
            "",
            "#/run?run=torn",
            f"#/run?run={name}",
            "#/run?run=under-way",
            f"#/compare?run=parrot&run=magpie&run={name}",
        ]
        for address, shown in zip(
            views, ["#runs tr", "#overview .trouble", "#sample h3", "#sample h3", ".contender"], strict=True
        ):
            page.goto(viewer.server.url + address)
            page.wait_for_selector(shown)
            page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true })")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
            cells = "[...document.querySelectorAll('#runs tr > *')]"
            assert page.evaluate(f"{cells}.every((one) => one.scrollWidth <= one.clientWidth + 1)")
        page.close()


def test_both_themes_are_there(page):
    grounds = set()
    for _ in range(3):
        page.click("#theme")
        grounds.add(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert len(grounds) == 2


def test_a_viewer_that_does_not_answer_is_told_of(chromium, view, tmp_path):
    with view(standard_runs(tmp_path / "runs")) as viewer:
        page = chromium.new_page()
        page.goto(viewer.server.url)
        page.wait_for_selector("#runs tr")
        page.context.set_offline(True)
        page.locator("#trouble", has_text="does not answer").wait_for()
        page.close()
