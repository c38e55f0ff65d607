"""The page of an assay: well-formed, complete in itself, and everything it claims of a program is true."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path

import msgspec
import pytest
from assay_samples import FINDINGS, REFERENCES, SHORTEST, TESTS, material, probe, probes, value, verdicts
from hypothesis import given
from hypothesis import strategies as st

from support.accessibility import findings, unguarded_window
from support.listening import listening
from truegrade.apps.assay.records import Said, Witness
from truegrade.apps.assay.reporting import words
from truegrade.apps.assay.reporting.assay_document import render_assay, write_assay_page
from truegrade.apps.assay.reporting.assay_tables import IN_FULL, LISTED, AssayMaterial, gather, j_interval

sys.path.append(str(Path(__file__).parents[2] / "report"))
from report_parsing import StrictPage

SECTIONS = (
    *("result", "classes", "meaning", "problems", "channels", "survivors"),
    *("refused", "others", "findings", "methods", "repeat", "glossary"),
)
SURVIVOR = re.compile(r"<details><summary>[^<]* · accepted by .*?</details>", re.DOTALL)
replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def both():
    return material()


@pytest.fixture(scope="module")
def page(both):
    return render_assay(both)


@pytest.mark.parametrize("graders", [("loose@1",), ("loose@1", "tight@2")])
def test_the_page_is_well_formed_and_loads_nothing(graders, tmp_path):
    parsed = StrictPage(write_assay_page(material(graders), tmp_path / "report.html").read_text())
    assert parsed.handlers == []
    assert all(reference.startswith("#") for reference in parsed.references)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert {reference[1:] for reference in parsed.references} <= set(parsed.ids)
    assert [name for name in parsed.ids if name in SECTIONS] == list(SECTIONS)


def test_what_programs_and_graders_say_is_text(both):
    hostile = "</script><img src=x onerror=alert(1)>"
    first = both.survivors[0]
    bad = replace(first.probe, code=f"# {hostile}\n{first.probe.code}", change=hostile, origin=hostile)
    shown = render_assay(replace(both, survivors=(replace(first, probe=bad, graders=(hostile,)),), folder=hostile))
    assert "<img" not in shown and html.escape(hostile) in shown
    assert "img" not in StrictPage(shown).tags
    assert "<i>it</i>" not in shown and "<b>allowed</b>" not in shown


def test_the_page_begins_with_the_answer_what_was_paid_and_what_to_change():
    one = with_shortest(material(("loose@1",)))
    measure = one.summary.measures[0]
    section = render_assay(one).partition('<section id="result"')[2].partition('<section id="meaning"')[0]
    text = " ".join(html.unescape(re.sub("<[^>]+>", "", section)).split())
    order = (
        f"{words.QUESTION}: {words.answer(measure)}",
        words.tried(measure),
        f"the shortest: {words.named(SHORTEST)}",
        f"what to change:{SHORTEST.closes} ({SHORTEST.finding}: {words.named(SHORTEST)})",
        "refuses 16.7 % of right programs [11.7, 21.7], pays 57.1 % of wrong ones that try [52.1, 62.1] *",
        words.figures(measure),
        "undecided counted as wrong",
        "Accepted by class",
    )
    places = [text.index(said) for said in order]
    assert places == sorted(places)
    assert "Result" + order[0] in text


def survivors(page):
    """Texts of the entries, unescaped, without their tags."""
    return [html.unescape(re.sub(r"<[^>]+>", "", entry)) for entry in SURVIVOR.findall(page)]


def replayed(entry):
    return re.search(r"truegrade assay replay &#x27;[^&]+&#x27; (\w{16})<", entry)[1]


def accepted_wrong():
    passed = {said.probe for said in verdicts(probes()) if said.passed}
    return {one.id: one for one in probes() if one.id in passed and one.kind in ("mutant", "stub")}


def test_every_accepted_wrong_program_is_there_once_and_no_undecided_one(page):
    expected = {name for name, one in accepted_wrong().items() if one.label == "wrong"}
    shown = [replayed(entry) for entry in SURVIVOR.findall(page)]
    assert len(expected) == 4
    assert sorted(shown) == sorted(expected)


def test_the_test_that_the_page_proposes_refuses_the_program_and_accepts_the_reference(page):
    known = accepted_wrong()
    for entry in SURVIVOR.findall(page):
        one = known[replayed(entry)]
        proposed = html.unescape(re.search(r"<code>(assert .*?)</code>", entry, re.DOTALL)[1])
        exec(f"{REFERENCES[one.problem_id]}\n{proposed}", {})
        with pytest.raises(AssertionError):
            exec(f"{one.code}\n{proposed}", {})


def test_the_difference_holds_the_lines_of_both_programs(page):
    known = accepted_wrong()
    entries = SURVIVOR.findall(page)
    assert len(entries) == 4
    for entry in entries:
        one = known[replayed(entry)]
        lines = {kind: re.findall(rf'<span class="{kind}">.(.*)\n', entry) for kind in ("added", "removed")}
        assert len(lines["added"]) == len(lines["removed"]) == 1
        assert html.unescape(lines["added"][0]) in one.code.splitlines()
        assert html.unescape(lines["removed"][0]) in REFERENCES[one.problem_id].splitlines()


def test_a_difference_of_layout_is_none():
    """Mutants are written by Python: comments and quotes of the reference are no difference."""
    reference = 'def f(x):\n    # why\n    y = (x+1)\n    s = "a"\n    return [y,s]\n'
    code = "def f(x):\n    y = x + 2\n    s = 'a'\n    return [y, s]\n"
    seen = Witness(call="f(1)", expected="[2, 'a']", got="[3, 'a']", source="own")
    one = probe("toy/f", "mutant", "number", code, label="wrong", witness=seen)
    right = probe("toy/f", "right", "reference", reference, label="right")
    said = [Said(probe=each.id, grader="g", passed=True) for each in (right, one)]
    made = gather(material().summary, [right, one], said, folder="x")
    entry = SURVIVOR.search(render_assay(made))[0]
    assert re.findall(r'<span class="(?:added|removed)">(.*)\n', entry) == ["-    y = x + 1", "+    y = x + 2"]


def test_a_program_that_is_not_python_is_shown_as_it_is():
    one = probe("toy/clip", "labelled", "set", "def clip(:\n  ☃", label="wrong")
    made = gather(material().summary, [one], [Said(probe=one.id, grader="g", passed=True)], folder="x")
    assert "def clip(:\n  ☃" in html.unescape(render_assay(made))


def many(number):
    """An assay with this many accepted mutants of half as many problems."""
    battery, said = [], []
    for place in range(number):
        seen = Witness(call=f"f({place})", expected="1", got="2", source="plus")
        one = probe(f"toy/{place // 2}", "mutant", "number", f"def f(x):\n    return {place}\n", label="wrong",
                    witness=seen)  # fmt: skip
        battery.append(one)
        said.append(Said(probe=one.id, grader="loose@1", passed=True))
    return gather(material().summary, battery, said, folder="runs/x")


def test_the_page_is_bounded():
    shown = render_assay(many(2_000))
    entries = survivors(shown)
    assert len(entries) == IN_FULL
    assert len({entry.split(" · ")[0] for entry in entries}) == len(entries), "one of every problem first"
    rows = shown.split('<section id="survivors"')[1].split("</section>")[0].count('<th scope="row">')
    assert rows == LISTED
    assert len(shown) < 400_000
    assert "1,960 programs; the first 300" in shown


def test_a_long_program_and_a_long_value_are_cut():
    long = "x" * 100_000
    one = replace(many(1).survivors[0], graders=("g",))
    seen = Witness(call=f"f('{long}')", expected=f"'{long}'", got="''", source="plus")
    made = replace(many(1), survivors=(replace(one, probe=replace(one.probe, code=long, witness=seen)),))
    assert len(render_assay(made)) < 150_000


def test_refused_right_programs_stand_with_what_the_grader_said(page):
    refused = StrictPage(page).text.partition("Right programs refused")[2].partition("Impossible tests")[0]
    assert "toy/name right import loose@1 loose@1: os is not <b>allowed</b>" in refused


def test_impossible_and_flaky_are_told_apart(page):
    others = StrictPage(page).text.partition("Impossible tests and flaky verdicts")[2].partition("Findings")[0]
    impossible, _, flaky = others.partition("Flaky verdicts")
    assert "toy/name must-fail reference loose@1 one expected value was changed" in impossible
    assert "toy/clip right reference loose@1" in flaky


def cells(page, channel):
    rows = re.findall(rf'<th scope="row">{channel}<small>.*?</th>(.*?)</tr>', page)
    return [
        [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.findall("<td>(.*?)</td>", row)]
        for row in rows
    ]


def test_each_grader_has_a_table_of_channels_that_says_open_closed_and_not_sent(both, page):
    assert cells(page, "report") == [["h0", "open", "3", "3", "0", "0"], ["h0", "closed", "0", "3", "0", "0"]]
    assert [row[1] for row in cells(page, "exit-status")] == ["not sent", "not sent"]
    first, second = both.summary.measures
    twin = replace(first.channels[0], open=False, inert_accepted=3)
    stays = replace(second.channels[0], stays=2)
    changed = (replace(first, channels=(twin,)), replace(second, channels=(stays,)))
    shown = render_assay(replace(both, summary=replace(both.summary, measures=changed)))
    assert cells(shown, "report") == [["h0", "accepted", "3", "3", "3", "0"], ["h0", "closed", "0", "3", "0", "2"]]


def with_shortest(one):
    """The samples with the shortest program that was paid."""
    measure = one.summary.measures[0]
    paid = replace(measure.unearned, shortest=SHORTEST.probe)
    changed = replace(measure, shortest=(SHORTEST,), unearned=paid)
    return replace(one, summary=replace(one.summary, measures=(changed,)))


def test_the_shortest_programs_are_shown_whole_with_what_closes_them(both):
    shown = render_assay(with_shortest(both))
    part = shown.split('<section id="shortest"')[1].split("</section>")[0]
    assert SHORTEST.code in html.unescape(part) and "<script>" not in part
    text = StrictPage(shown).text.partition("Shortest programs paid wrongly")[2]
    assert f"channel report: {words.named(SHORTEST)} How it works: it reads what is printed." in text
    assert "What closes it: read nothing that is printed." in text
    assert 'id="shortest"' not in render_assay(both)


def test_twins_controls_and_repetitions_are_no_errors_of_the_grader(both):
    """A twin proves nothing about a channel, a control is counted elsewhere, and the first verdict counts."""
    code = "def clip(*a):\n    return None\n"
    twin = probe("toy/clip", "cheat", "x", code, label="wrong", channel="x", inert=True)
    control = probe("toy/clip", "control", "x", code, label="wrong", after="0")
    again = probe("toy/clip", "stub", "none", code, label="wrong")
    unsure = probe("toy/clip", "mutant", "none", code, label="undecided")
    said = [Said(probe=one.id, grader="g", passed=True) for one in (twin, control, unsure)]
    said += [Said(probe=again.id, grader="g", repeat=turn, passed=turn > 0) for turn in (0, 1)]
    said += [Said(probe=both.survivors[0].probe.id, grader="g", passed=None)]
    made = gather(both.summary, [twin, control, again, unsure, both.survivors[0].probe], said, folder="x")
    assert (made.survivors, made.refused, made.impossible, made.flaky) == ((),) * 4


def test_what_is_shown_is_what_the_rates_count(both):
    """A score below the reference's is no acceptance; of a problem whose reference is refused nothing counts."""
    right, other, *_ = (one for one in probes() if one.kind == "right" and one.origin == "reference")
    wrong = [
        one for one in probes() if one.kind == "stub" and one.problem_id in (right.problem_id, other.problem_id)
    ]
    scores = {right.id: 1.0, other.id: 0.0, **dict.fromkeys((one.id for one in wrong), 0.5)}
    said = [
        Said(probe=name, grader="g", passed=score > 0, score=score, detail="so") for name, score in scores.items()
    ]

    def shown(pass_at):
        made = gather(both.summary, [right, other, *wrong], said, folder="x", pass_at=pass_at)
        return [one.probe.problem_id for one in made.survivors], [one.probe.id for one in made.refused], made

    assert shown(None)[:2] == ([], [other.id])
    assert shown(0.5)[:2] == ([right.problem_id], [other.id])
    assert shown(None)[2].refused[0].details == ("so",)


def test_the_chart_is_bounded_and_begins_with_the_worst_problem(both):
    measure = both.summary.measures[0]
    one = measure.per_problem[0]
    scores = [place / 100 - 0.1 for place in range(90)]
    problems = tuple(replace(one, problem_id=f"p{place}", j=j) for place, j in enumerate(reversed(scores)))
    changed = replace(both.summary, measures=(replace(measure, per_problem=problems),))
    shown = render_assay(replace(both, summary=changed)).split('<section id="problems"')[1].split("</section>")[0]
    drawn = re.findall(r'<text class="name" x="0" y="\d+">(p\d+)', shown)
    assert drawn == [f"p{89 - place}" for place in range(25)]
    assert "errs on 90 of 90 problems" in shown and shown.count('<th scope="row">') == 90


def test_the_intervals_of_the_chart_are_those_of_fpr_turned_round(both):
    one = both.summary.measures[0].per_problem[0]
    low, high = j_interval(one)
    tpr = one.right_accepted / one.right
    assert (low, high) == pytest.approx((tpr - one.fpr_high, tpr - one.fpr_low))
    assert low <= one.j <= high


def test_many_graders_are_all_compared_and_the_first_are_shown(both):
    measure = both.summary.measures[0]
    measures = tuple(replace(measure, grader=f"grader-{place:02}") for place in range(15))
    shown = render_assay(replace(both, summary=replace(both.summary, measures=measures)))
    result, rest = shown.split('<section id="classes"')
    assert all(result.count(f">grader-{place:02}</th>") == 1 for place in range(15))
    assert "the first 12; 3 more" in result
    assert "graded by grader-11" in rest and "graded by grader-12" not in rest
    assert "<title>Assay · grader-00, grader-01 and 13 more on toy</title>" in shown


def test_without_any_grader_there_is_still_a_page(both):
    assert "Terms" in StrictPage(render_assay(replace(both, summary=replace(both.summary, measures=())))).text


def test_findings_are_counted_and_those_not_shown_are_named(page):
    text = StrictPage(page).text.partition("Findings reference-refused: 1")[2]
    assert FINDINGS[0].sentence in text
    assert "stays: 2" in text and "1 more in findings.jsonl" in text


def perfect() -> AssayMaterial:
    """No errors, no cheats, no findings."""
    one = material(("tight@2",))
    measure = one.summary.measures[0]
    pay = replace(measure.unearned, tried=0, impossible_tried=0, by_kind={})
    measure = replace(measure, channels=(), forgeable=None, unearned=pay, open_channels=(), flaky=())
    summary = replace(one.summary, measures=(measure,), findings={})
    return replace(one, summary=summary, findings=(), survivors=(), refused=(), impossible=(), flaky=())


def test_a_grader_without_errors_has_no_empty_sections():
    parsed = StrictPage(render_assay(perfect()))
    assert {"channels", "others", "findings"}.isdisjoint(parsed.ids)
    assert parsed.text.count("None: no ") == 2
    assert "no program that solves nothing was sent" in parsed.text


def test_an_assay_of_nothing_has_a_page():
    """All probes were left out: there are no rates, and the page says so."""
    one = perfect()
    empty = words.MeasuredValue(value=None, low=None, high=None)
    measure = replace(
        one.summary.measures[0], shares=(), fpr=empty, j=empty, j_bootstrap=empty, j_adversarial=None, ppv={},
        per_problem=(), operators={}, probes=0,
    )  # fmt: skip
    text = StrictPage(
        render_assay(replace(one, summary=replace(one.summary, measures=(measure,), battery={})))
    ).text
    assert f"{words.QUESTION}: not measured : no cheat was sent" in text
    assert "J by problem" not in text


# --------------------------------------------------------------------------- what a newcomer is told


def test_the_sum_in_the_sentence_gives_its_result(both):
    said = words.stands_for(replace(both.summary.measures[0], forgeable=False), 0.6)
    p, fpr, tpr, again = map(
        float, re.search(r"\(([\d.]+) % - ([\d.]+) %\) / \(([\d.]+) % - ([\d.]+) %\)", said).groups()
    )
    result = float(re.search(r"stands for ([\d.]+) %", said)[1])
    assert fpr == again
    assert result == pytest.approx(100 * (p - fpr) / (tpr - fpr), abs=0.3)  # the numbers shown are rounded


@given(right=st.floats(0, 1), fpr=st.floats(0, 0.9), gap=st.floats(0.05, 1))
def test_what_a_grader_passes_is_corrected_to_what_was_right(right, fpr, gap):
    tpr = min(1.0, fpr + gap)
    passed = right * tpr + (1 - right) * fpr
    assert words.corrected(passed, tpr, fpr) == pytest.approx(right, abs=1e-9)


def test_without_a_j_above_0_nothing_is_corrected(both):
    measure = both.summary.measures[0]
    coin = replace(measure, forgeable=False, j=replace(measure.j, value=0.01, low=-0.04, high=0.06))
    assert words.correctable(coin) is None
    assert "it is not shown that a pass rate" in words.stands_for(coin, 0.6)
    shown = render_assay(replace(both, summary=replace(both.summary, measures=(coin,))))
    assert "therefore stands for" not in shown


def test_without_a_wrong_program_accepted_no_table_says_that_one_is_one(both):
    """At an FPR of 0 a pass is right at every base rate, which nobody needs to read."""
    measure = both.summary.measures[0]
    exact = replace(measure, fpr=replace(measure.fpr, value=0.0, low=0.0))
    shown = render_assay(replace(both, summary=replace(both.summary, measures=(exact,))))
    assert "a pass is right" not in shown and "PPV at" not in shown
    assert "a pass is right" in render_assay(replace(both, summary=replace(both.summary, measures=(measure,))))


def test_the_samples_are_what_they_say():
    """A witness of the samples is what the program does: the tests above rest on it."""
    for one in probes():
        if one.witness is not None and one.witness.source == "generated":
            code = one.code if one.kind != "cheat" else one.code[one.code.index("def ") :]
            assert value(code, one.witness.call) == one.witness.got != one.witness.expected
            assert one.witness.call in TESTS[one.problem_id]


# -------------------------------------------------------------------------------------------- browser


CLIPPED = """
() => [...document.querySelectorAll('svg.chart text')].filter(text => {
  const box = text.getBoundingClientRect();
  return box.width && (box.left < 0 || box.right > document.documentElement.clientWidth);
}).map(text => text.textContent)
"""


@pytest.mark.slow
def test_the_page_is_accessible_narrow_and_dark(chromium, tmp_path):
    address = write_assay_page(material(), tmp_path / "report.html").as_uri()
    with unguarded_window(chromium) as window:
        window.goto(address)
        assert findings(window) == []


@pytest.mark.slow
def test_nothing_is_wider_than_a_phone_and_nothing_is_asked_of_a_network(chromium, tmp_path):
    one = material(("loose@1",), benchmark="a-benchmark-whose-name-is-long")
    address = write_assay_page(one, tmp_path / "report.html").as_uri()
    window = chromium.new_page(viewport={"width": 360, "height": 800})
    with listening(window, address.__eq__) as trouble:
        window.goto(address)
        window.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true })")
        assert window.evaluate("document.documentElement.scrollWidth") <= 360
        assert window.evaluate(CLIPPED) == []
    window.close()
    assert trouble == []
