"""The page of an evolution: well-formed, complete in itself, and what it shows is what the log says."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from evolution_folders import OBJECTIVES, build_folder
from rich.console import Console
from test_evolution_numbers import brute_front, optuna_volume, rows

from truegrade.cli import main
from truegrade.evolution.events import EVOLUTION, FINAL, SearchPlan
from truegrade.evolution.reporting.page import render, write_report
from truegrade.evolution.reporting.search_material import gather
from truegrade.evolution.reporting.summary_text import markdown_summary, print_summary
from truegrade.evolution.reporting.verdict import verdict
from truegrade.report import format as fmt

sys.path.append(str(Path(__file__).parents[2] / "report"))
from report_parsing import StrictPage

SECTIONS = ("result", "final", "front", "budget", "problems", "objectives", "lineage", "genes", "apart", "methods")
WITHOUT_OPTUNA = (SearchPlan(name="nsga2"), SearchPlan(name="random", baseline=True))
CELL = re.compile(r'<data value="([^"]+)">')


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build_folder(
        tmp_path_factory.mktemp("evolution") / "run", plans=WITHOUT_OPTUNA, generations=4, population=6
    )


@pytest.fixture(scope="module")
def page(folder):
    return write_report(gather(folder)).read_text()


def test_the_page_is_well_formed_and_loads_nothing(page):
    parsed = StrictPage(page)
    assert parsed.handlers == []
    assert all(reference.startswith("#") for reference in parsed.references)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert {reference[1:] for reference in parsed.references} <= set(parsed.ids)
    assert [name for name in parsed.ids if name in SECTIONS] == list(SECTIONS)


def test_the_front_that_is_shown_is_that_of_brute_force(folder, page):
    shown = re.findall(r'<tr><th scope="row"><code class="genome">(\w+)</code></th>(.*?)</tr>', page)
    found = rows(folder)
    front = brute_front(found)
    assert {name for name, _ in shown} == front
    assert len(shown) == len(front)
    scores = {}
    for row, event in zip(found, gather(folder).events, strict=True):
        scores.setdefault(event.evaluated.genome.id, row["evaluated"]["scores"]["objectives"])
    for name, cells in shown:
        assert list(map(float, CELL.findall(cells))) == [scores[name][objective] for objective in OBJECTIVES]


def test_every_full_evaluation_is_drawn_in_every_pair(folder, page):
    drawn = re.findall(
        r'<svg class="chart"[^>]*aria-label="[a-z]+ against [a-z]+\.(.*?)</svg></div>', page, re.DOTALL
    )
    front = brute_front(rows(folder))
    dominated = [e for e in gather(folder).events if e.evaluated.genome.id not in front]
    assert len(drawn) == 6  # pairs of the four objectives that vary
    for chart in drawn:
        assert chart.count('class="faint') == len(dominated)
        assert chart.count('class="point') == len(front) + 1  # and the selected one, ringed
        assert chart.count('class="ring"') == 1
        assert chart.count('class="anchor') == 4


def test_the_hypervolume_that_is_shown_is_that_of_optuna(folder, page):
    table = page[page.index("At the largest budget") :].split("</table>")[0]
    shown = list(map(float, CELL.findall(table)))
    found = rows(folder)
    for search, value in zip(("nsga2", "random"), shown, strict=True):
        volumes = [
            optuna_volume([r for r in found if (r["search"], r["replicate"]) == (search, i)]) for i in (0, 1)
        ]
        assert value == pytest.approx(sum(volumes) / 2, rel=1e-9)


def test_the_page_says_what_the_folder_says(folder, page):
    text = StrictPage(page).text
    final = msgspec.json.decode((folder / FINAL).read_bytes())
    for one in final["selected"]:
        low, high = (f"{100 * one['against_base'][end]:.1f}" for end in ("low", "high"))
        assert f"{100 * one['against_base']['value']:+.1f} [{low}, {high}]" in text
    assert "In security all genomes are equal" in text
    assert "micro/3 and micro/204, Jaccard similarity 0.41" in text
    assert "number 1 on" in text
    assert '"generations": 4' in text
    assert "@article{nsga2," in text
    assert "@misc{lora," in text
    assert "Akiba" not in text  # Optuna played no part


def test_every_chart_has_a_name_and_a_description(page):
    charts = re.findall(r'<svg class="chart" role="img" aria-label="([^"]+)"[^>]*>(.{0,200})', page, re.DOTALL)
    assert len(charts) > 15
    for label, body in charts:
        assert len(label) > 20
        assert body.startswith("<title>")


def test_problem_cells_are_the_shares(folder, page):
    final = msgspec.json.decode((folder / FINAL).read_bytes())
    chosen = max((s for s in final["selected"] if s["search"] == "nsga2"), key=lambda s: s["selection"])
    cells = re.findall(r'<span title="(micro/\d+): [^"]*">(.*?)</span>', page)
    assert {name for name, _ in cells} == set(final["base_passed"])
    for name, drawn in cells:
        shares = [int(share) / 100 for share in re.findall(r"--p:(\d+)", drawn)]
        assert shares[:2] == [final["base_passed"][name], chosen["passed"][name]]
        assert len(shares) == 3


def test_an_unfinished_evolution_has_a_page(tmp_path):
    folder = build_folder(tmp_path / "run", plans=WITHOUT_OPTUNA, generations=3, population=4, finished=False)
    parsed = StrictPage(write_report(gather(folder)).read_text())
    assert "Not finished: no result yet" in parsed.text
    assert "so gains are optimistic" in parsed.text
    assert "final" not in parsed.ids


@pytest.mark.parametrize("left", ["anchors", "nothing"])
def test_an_evolution_that_has_barely_begun_has_a_page(tmp_path, left):
    folder = build_folder(tmp_path / "run", plans=WITHOUT_OPTUNA, generations=1, population=2, finished=False)
    for name in ("events.jsonl", "clock.jsonl", *(["anchors.jsonl"] if left == "nothing" else [])):
        (folder / name).unlink()
    parsed = StrictPage(write_report(gather(folder)).read_text())
    assert "So far 0 evaluations of 8" in parsed.text
    assert "front" not in parsed.ids


def test_hostile_names_stay_text(folder):
    material = gather(folder)
    bad = "<script>alert(1)</script>"
    evolution = msgspec.structs.replace(material.evolution, name=bad, base=bad, notes=(bad,))
    page = render(msgspec.structs.replace(material, evolution=evolution))
    assert bad not in page
    assert bad in StrictPage(page).text


def test_one_objective_is_enough(tmp_path):
    folder = build_folder(
        tmp_path / "run", plans=WITHOUT_OPTUNA, generations=2, population=3, objectives=("solved",)
    )
    parsed = StrictPage(write_report(gather(folder)).read_text())
    assert "objectives" not in parsed.ids
    assert "front" in parsed.ids


def test_a_second_look_is_marked(tmp_path):
    folder = build_folder(tmp_path / "run", plans=WITHOUT_OPTUNA, generations=2, population=3)
    final = msgspec.json.decode((folder / FINAL).read_bytes())
    (folder / FINAL).write_bytes(msgspec.json.encode({**final, "look": 2, "confidence": 0.975}))
    text = StrictPage(write_report(gather(folder)).read_text()).text
    said = "This is evaluation 2 of these final problems with this base"
    assert said in text and "97.5 % CI" in text and "p-values are multiplied by 2" in text
    out = io.StringIO()
    print_summary(gather(folder), Console(file=out, width=200))
    assert said in out.getvalue() and "(evaluation 2, 97.5 % confidence)" in out.getvalue()


@pytest.mark.parametrize(
    ("above", "ends"), [(0.2, "selection flatters by 20.0 points."), (-0.1, "no selection bias.")]
)
def test_the_bases_own_difference_is_no_selection_bias(folder, above, ends):
    """In the terminal and on the page alike: what the score falls by, less what the base's falls by."""
    material = gather(folder)
    easier = material.anchor("base").scores.objectives["solved"] - material.final.base.value
    chosen = material.chosen
    chosen = msgspec.structs.replace(chosen, selection=chosen.final.value + easier + above)
    final = msgspec.structs.replace(material.final, selected=(chosen,), contests=())
    material = msgspec.structs.replace(material, final=final)
    out = io.StringIO()
    print_summary(material, Console(file=out, width=300))
    page = render(material)
    for text in (out.getvalue(), StrictPage(page).text):
        assert f"the base, which was not selected, differs by {fmt.points(easier)} points: {ends}" in text
    assert fmt.points(above) in StrictPage(page).text
    without = verdict(msgspec.structs.replace(material, anchors=())).sentences
    assert any("a different set of problems" in sentence for sentence in without) is (easier + above > 0)


def test_markdown_and_terminal_say_the_same(folder):
    markdown = markdown_summary(gather(folder))
    assert "| search | selection | final | minus base | forgetting |" in markdown
    out = io.StringIO()
    print_summary(gather(folder), Console(file=out, width=200, highlight=False))
    printed = " ".join(out.getvalue().split())
    for line in markdown.splitlines():
        if line.startswith("- "):
            assert line[2:] in printed
    assert markdown.splitlines()[2].strip("*.") in printed


def test_report_takes_the_folder_of_an_evolution(folder, tmp_path):
    done = CliRunner().invoke(main, ["report", str(folder), "--out", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(tmp_path / "page.html")
    assert "Truegrade evolution" in (tmp_path / "page.html").read_text()
    refused = CliRunner().invoke(main, ["report", str(folder), "--format", "csv"])
    assert refused.exit_code == 2
    assert "a summary (markdown), no csv" in refused.stderr


def test_the_same_folder_gives_the_same_page(folder, page):
    assert render(gather(folder)) == page
    assert (folder / EVOLUTION).is_file()
