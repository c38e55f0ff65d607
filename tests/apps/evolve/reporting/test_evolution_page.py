"""The page of an evolution: well-formed, complete in itself, and what it shows is what the log says."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console
from test_evolution_numbers import brute_front, optuna_volume, rows

from support.evolution_folders import OBJECTIVES, build_folder
from truegrade.apps.evolve.folder import EVENTS, EVOLUTION, FINAL, SearchPlan
from truegrade.apps.evolve.genomes import Genome
from truegrade.apps.evolve.reporting.page import render, write_report
from truegrade.apps.evolve.reporting.search_material import gather
from truegrade.apps.evolve.reporting.summary_text import markdown_summary, print_summary
from truegrade.apps.evolve.reporting.verdict import verdict
from truegrade.cli import main
from truegrade.report import format as fmt

sys.path.append(str(Path(__file__).parents[3] / "report"))
from report_parsing import StrictPage

SECTIONS = ("result", "final", "front", "budget", "problems", "objectives", "lineage", "genes", "apart", "methods")
WITHOUT_OPTUNA = (SearchPlan(name="nsga2"), SearchPlan(name="random", baseline=True))
REMOVED = ("merging", "halving", "grpo", "grid", "optuna-nsga2")
"""Searchers of older versions; of three, a genome as commit f9e59da7 wrote it, with the id that it gave it."""
GENES = {
    "adapter": {"kind": "lora", "rank": 10, "alpha": 10.0, "dropout": 0.0, "modules": ["q_proj", "v_proj"]},
    "training": {"learning_rate": 0.0, "epochs": 0},
    "sampling": {"temperature": 0.0, "top_p": 1.0, "top_k": None, "repetition_penalty": 1.0, "max_tokens": 120},
    "data": {"rounds": 0, "pool": 1.0, "samples": 4, "temperature": 0.8, "replay": 0.0, "references": False},
    "automaton": None,
    "parents": [],
}
MERGE = GENES | {
    "origin": "merge",
    "policy": None,
    "merge": [["4b38c5fe38eaf3ae", 0.5], ["4fb17fd2f9db6e0e", 0.5]],
}
POLICY = GENES | {
    "origin": "grpo", "merge": [], "policy": {"rounds": 1, "prompts": 2, "samples": 2, "learning_rate": 0.001}
}  # fmt: skip
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
    ("above", "ends"),
    [
        (0.2, "+20.0 points [{}, {}], the interval of the final problems, which excludes 0."),
        (0.01, "+1.0 points [{}, {}], the interval of the final problems, which includes 0."),
        (-0.1, "-10.0 points [{}, {}], the interval of the final problems, which excludes 0."),
    ],
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
    gain = chosen.against_base
    said = ends.format(*(f"{100 * (gain.value + above - end):.1f}" for end in (gain.high, gain.low)))
    for text in (out.getvalue(), StrictPage(page).text):
        assert f"differs by {fmt.points(easier)} points: selection flatters by {said}" in text
    assert fmt.points(above) in StrictPage(page).text
    without = verdict(msgspec.structs.replace(material, anchors=())).sentences
    assert any(sentence.endswith("how much of it is the problems was not measured.") for sentence in without)


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


@pytest.fixture
def old(tmp_path):
    """A finished folder whose searches are removed ones: merged and reinforced genomes, and cheap evaluations."""
    plans = [SearchPlan(name=name, args={"searcher": "random"}, baseline=name != REMOVED[0]) for name in REMOVED]
    folder = build_folder(tmp_path / "old", plans=plans, generations=2, population=4, replicates=1)
    evolution = msgspec.json.decode((folder / EVOLUTION).read_bytes())
    for plan in evolution["searches"]:
        plan["args"] = {"searcher": plan["name"], "of": "random"}
    (folder / EVOLUTION).write_bytes(msgspec.json.encode(evolution))
    events = rows(folder)
    for row in events:
        del row["crc32"]
        own = row["evaluated"]
        if own["generation"] == 1 and row["search"] in {"merging", "grpo"}:
            own["genome"] = {"merging": MERGE, "grpo": POLICY}[row["search"]]
        if own["generation"] == 0 and row["search"] == "halving":
            own["fidelity"] = {"epochs": 0.5, "problems": 0.3}
    (folder / EVENTS).write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in events))
    final = msgspec.json.decode((folder / FINAL).read_bytes())
    final["selected"][0]["genome"] = MERGE
    (folder / FINAL).write_bytes(msgspec.json.encode(final))
    return folder


def test_genomes_of_removed_searchers_keep_their_ids():
    assert msgspec.convert(MERGE, Genome).id == "52b065cb96d1cc7d"
    assert msgspec.convert(POLICY, Genome).id == "6eaad318240885e9"


def test_folders_of_removed_searchers_are_shown(old):
    material = gather(old)
    assert material.chosen.genome.merge and len(material.events) == 8 * len(REMOVED)
    (halving,) = (track for track in material.tracks if track.plan.name == "halving")
    assert {one.generation for one in halving.archive.front} == {1}
    for file_format in ("html", "markdown"):
        done = CliRunner().invoke(main, ["report", str(old), "--format", file_format])
        assert done.exit_code == 0, done.output
        written = Path(done.stdout.strip()).read_text()
        assert all(name in written for name in REMOVED)
    assert "sum of 0.5 × 4b38c5 + 0.5 × 4fb17f" in StrictPage((old / "report.html").read_text()).text
    out = io.StringIO()
    print_summary(material, Console(file=out, width=200))
    assert "merge of +0.50 x 4b38c5, +0.50 x 4fb17f" in out.getvalue()
