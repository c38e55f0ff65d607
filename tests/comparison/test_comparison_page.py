"""The page of a comparison: complete in itself, safe, and usable in a real browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from comparison_runs import build, single, task

from support.listening import listening
from support.packed_samples import unpack
from truegrade.analysis.comparison import compare_runs
from truegrade.report import format as fmt
from truegrade.report.comparison_document import export_comparison, render_comparison
from truegrade.report.comparison_replies import collect_replies

HOSTILE = "</script><script>alert(1)</script><b>"


class Page(HTMLParser):
    """Collects what the tests look at; AssertionError where an element is not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.references, self.cells, self.words = [], [], [], [], []
        self.feed(text)
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.ids += [named["id"]] if "id" in named else []
        self.references += [value for name, value in attrs if name in ("src", "href")]
        self.cells += [named] if tag == "i" else []
        assert not any(name.startswith("on") for name in named)
        if tag not in {"meta", "input", "br"}:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if self.stack and self.stack[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    patterns = {"before": "00001111" * 5, "after": "11001110" * 5, "third": "0000111-" * 5}
    return [
        build(
            folder / name, single(pattern), model=f"toy/{name}{HOSTILE}", reply=f"def f(x): return x  # {HOSTILE}"
        )
        for name, pattern in patterns.items()
    ]


def rendered(*arguments, **options):
    comparison = compare_runs(*arguments, **options)
    return render_comparison(comparison, collect_replies(comparison))


def blocks(text):
    found = re.findall(r'type="application/x-truegrade" id="block-([\w-]+)">([^<]*)<', text)
    return {name: unpack(content) for name, content in found}


def test_it_loads_nothing_and_closes_everything(runs):
    text = rendered(runs[:2])
    page = Page(text)
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert HOSTILE not in text
    assert HOSTILE in page.text


def test_it_shows_difference_interval_wins_and_losses(runs, tmp_path):
    (pair,) = compare_runs(runs[:2]).pairs
    page = Page(rendered(runs[:2]))
    said = f"toy/after{HOSTILE} − toy/before{HOSTILE} under house@1: +12.5 points, 95 % CI "
    bounds = fmt.bounds(pair.paired.low, pair.paired.high)
    both = f"{fmt.percent(pair.paired.rate_b)} against {fmt.percent(pair.paired.rate_a)}"
    assert f"{said}{bounds}; {both}. The interval includes 0" in page.text
    assert (
        f"{len(pair.paired.wins)} better, {len(pair.paired.losses)} worse, {len(pair.paired.ties)} equal"
        in page.text
    )
    kinds = [cell.get("class") for cell in page.cells]
    assert [kinds.count(kind) for kind in ("won", "lost", "both still", "still")] == [10, 5, 15, 10]
    assert page.text.count("one sample per problem at temperature 0.2") == 1  # of both runs, said once
    bare = [build(tmp_path / name, [[True], [False]], temperature=0) for name in ("one", "two")]
    assert "Data set, problems, prompts and profile are the same." in Page(rendered(bare)).text


def test_a_forced_comparison_says_so_first(runs, tmp_path):
    other = build(tmp_path / "other", single("1" * 40), dataset="e" * 64)
    text = Page(rendered([runs[0], other], force=True)).text
    said = text.index("not comparable (--force given): data set:")
    assert said < text.index("Paired differences in percentage points with")


def test_it_carries_both_replies_to_every_task_that_differs(runs):
    held = blocks(rendered(runs))
    differing = [n for n in range(40) if n % 8 in (0, 1, 7)]
    assert held["pairs"]["tasks"] == list(map(task, differing))
    first = held["replies-0"][0]
    assert [side["samples"][0]["id"] for side in first] == [task(0)] * 3
    assert first[0]["samples"][0]["reply"][0].endswith("before 0")
    assert first[1]["samples"][0]["verdicts"][0]["passed"] is True
    assert first[0]["prompt"][0][0] == "user"
    lost = held["replies-0"][held["pairs"]["tasks"].index(task(7))]
    assert lost[2]["samples"] == []


def test_texts_beyond_the_page_are_left_out_and_said(runs):
    comparison = compare_runs(runs[:2])
    replies = collect_replies(comparison, max_chars=400)
    assert 1 <= len(replies.tasks) < replies.differing == 15
    page = Page(render_comparison(comparison, replies))
    assert f"15, of which the first {len(replies.tasks)} are on this page" in page.text
    assert len([cell for cell in page.cells if "data-task" in cell]) == len(replies.tasks)


def test_runs_that_agree_have_no_replies_and_no_script_for_them(runs):
    text = rendered([runs[0], runs[0]])
    assert "replies" not in Page(text).ids
    assert "startPairs" not in text
    assert blocks(text) == {}


def test_several_pairs_are_corrected_and_planned(runs):
    text = Page(rendered(runs, every_pair=True, points=2)).text
    assert "corrected for 3 comparisons (Holm 1979)" in text
    assert "needed to detect 2 points" in text
    assert "all pairs of " + ", ".join(f"toy/{name}{HOSTILE}" for name in ("before", "after", "third")) in text


@pytest.fixture(scope="module")
def window(runs, chromium, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "comparison.html"
    export_comparison(compare_runs(runs), "html", path)
    page = chromium.new_page(viewport={"width": 1100, "height": 800})
    with listening(page, path.as_uri().__eq__) as trouble:
        page.goto(path.as_uri())
        page.wait_for_selector("#reply-left h3")
        yield page
    page.close()
    assert trouble == []


@pytest.mark.slow
def test_a_cell_leads_to_both_replies(window):
    window.click(f"i.lost[data-task='{task(15)}'] >> nth=0")
    window.locator("#reply-left h3", has_text=task(15)).wait_for()
    assert window.input_value("#choose-left") == "0"
    assert "before 15" in window.inner_text("#reply-left")
    assert "after 15" in window.inner_text("#reply-right")
    assert "wrong_answer" in window.inner_text("#reply-right .verdicts")
    assert HOSTILE in window.inner_text("#reply-right")


@pytest.mark.slow
def test_tasks_and_sides_are_chosen_by_hand(window):
    window.select_option("#choose-task", label=task(0))
    window.locator("#reply-left h3", has_text=task(0)).wait_for()
    window.click("#next")
    window.locator("#reply-left h3", has_text=task(1)).wait_for()
    window.select_option("#choose-right", label=f"toy/third{HOSTILE}")
    window.locator("#reply-right .kicker", has_text="toy/third").wait_for()
    assert window.inner_text("#choose-sample option") == "#0: wrong_answer / wrong_answer"


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1920])
def test_nothing_is_wider_than_the_window(window, width):
    window.set_viewport_size({"width": width, "height": 740})
    window.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true })")
    assert window.evaluate("document.documentElement.scrollWidth") <= width
