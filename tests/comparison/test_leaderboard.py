"""The leaderboard: who is ranked, by what, and a page that can be used."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from comparison_runs import build, single
from test_comparison_page import HOSTILE, Page

from support.listening import listening
from truegrade.analysis.leaderboard import read_leaderboard
from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.report.leaderboard_document import write_leaderboard

GOOD, MIDDLE, BAD = "1" * 36 + "0" * 4, "1" * 34 + "0" * 6, "1" * 8 + "0" * 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three runs that can be ranked, and four that cannot, or not with them."""
    root = tmp_path_factory.mktemp("runs")
    build(root / "good", single(GOOD), model=f"toy/good{HOSTILE}", lenient=single("1" * 40))
    build(root / "deep" / "middle", single(MIDDLE), model="toy/middle")
    build(root / "bad", single(BAD), model="toy/bad")
    build(root / "other-data", single(GOOD), model="toy/other", dataset="e" * 64)
    build(root / "part", single(GOOD), model="toy/part", selected=range(10))
    build(root / "asked-otherwise", single(GOOD), model="toy/asked", prompt="Please add one.")
    build(root / "ungraded", single(GOOD), model="toy/ungraded")
    (root / "ungraded" / "summary.json").unlink()
    (root / "notes.txt").write_text("not a run")
    return root


def test_only_what_is_comparable_is_ranked_and_ranks_are_what_tests_leave_open(folder):
    found = read_leaderboard([folder])
    strict, lenient = found.boards
    assert (strict.profile, lenient.profile) == ("house@1", "lenient@1")
    ranks = {row.run: (row.best_rank, row.worst_rank) for row in strict.rows}
    assert ranks == {
        "good": (1, 2), "middle": (1, 2), "bad": (3, 3),
        "other-data": (None, None), "part": (None, None), "asked-otherwise": (None, None),
    }  # fmt: skip
    assert [row.run for row in strict.rows[:3]] == ["good", "middle", "bad"]
    why = {row.run: " ".join(row.not_ranked) for row in strict.rows}
    assert why["other-data"].startswith(
        "data set: toy eeeeeeeeeeee…, where the ranked runs have toy dddddddddddd…"
    )
    assert "tasks: 10 of 40" in why["part"] and "prompt rule: " in why["asked-otherwise"]
    assert list(found.left_out) == ["ungraded"] and "no summary yet" in found.left_out["ungraded"]
    assert [(row.run, row.best_rank, row.worst_rank) for row in lenient.rows] == [("good", 1, 1)]


def test_a_pack_stands_for_its_run_and_beside_it_counts_once(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    pack = Path(shutil.make_archive(str(tmp_path / "bad"), "zip", folder, "bad"))
    both = read_leaderboard([folder, pack, folder / "bad"])
    assert both == read_leaderboard([folder])
    alone = read_leaderboard([folder / "good", pack], profiles=["house"])
    assert [row.run for row in alone.boards[0].rows] == ["good", "bad"]


def test_results_of_other_kinds_and_starts_that_failed_say_what_they_are(folder, tmp_path):
    """An assay has a manifest that is no run's, and an evolution holds runs that are no results of their own."""
    shutil.copytree(folder / "good", tmp_path / "good")
    shutil.copytree(folder / "bad", tmp_path / "evolution" / "inner")
    (tmp_path / "evolution" / "evolution.json").write_text("{}")
    (tmp_path / "assay").mkdir()
    for name in ("manifest.json", "probes.jsonl"):
        (tmp_path / "assay" / name).write_text("{}")
    (tmp_path / "failed").mkdir()
    manifest = json.loads((folder / "good" / "manifest.json").read_text())
    (tmp_path / "failed" / "manifest.json").write_text(json.dumps(manifest | {"profiles": {}}))
    found = read_leaderboard([tmp_path])
    assert {row.run for board in found.boards for row in board.rows} == {"good"}
    assert found.left_out == {
        "assay": f"an assay, and no run; its page is {tmp_path / 'assay' / 'report.html'}",
        "evolution": f"an evolution, and no run; its page is {tmp_path / 'evolution' / 'report.html'}",
        "failed": f"{tmp_path / 'failed'}: it ended before the first reply; its command goes on",
    }
    with pytest.raises(UserError, match="an assay, and no run"):
        read_leaderboard([tmp_path / "assay"])


def test_where_there_is_nothing_to_rank_it_says_so(folder, tmp_path):
    with pytest.raises(UserError, match="no run lies there"):
        read_leaderboard([tmp_path])
    with pytest.raises(UserError, match="graded under house@1 alone"):
        read_leaderboard([folder / "bad"], profiles=["strict"])
    done = CliRunner().invoke(main, ["leaderboard", str(folder / "ungraded"), "--out", str(tmp_path / "x.html")])
    assert done.exit_code == 2 and done.output.count("\n") == 1 and not (tmp_path / "x.html").exists()


def test_the_page_leads_from_every_number_to_how_it_was_made(folder, tmp_path):
    out = tmp_path / "board.html"
    done = CliRunner().invoke(main, ["leaderboard", str(folder), "--out", str(out), "--json"])
    assert done.exit_code == 0 and len(json.loads(done.stdout)["boards"]) == 2
    content = out.read_text()
    page = Page(content)
    targets = [reference.removeprefix("#") for reference in page.references]
    assert set(targets) <= set(page.ids) and len(page.ids) == len(set(page.ids))
    made = {name for name in page.ids if re.match(r"made-\d", name)}
    assert made == {name for name in targets if name.startswith("made-")} and len(made) == 7
    for words in ("1–2", "not ranked", "90.0 %", "house@1", "dddddddddddddddd…", "2026-01-02", "On no board"):
        assert words in page.text
    assert HOSTILE in page.text and HOSTILE not in content
    assert "://" not in re.sub(r"<script>.*</script>", "", content, flags=re.DOTALL)
    assert str(folder) not in re.sub(r"left-out.*", "", content, flags=re.DOTALL)
    assert write_leaderboard(read_leaderboard([folder]), tmp_path / "again.html").read_text() == content


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_sorts(folder, tmp_path, chromium, width, scheme):
    address = write_leaderboard(read_leaderboard([folder]), tmp_path / "board.html").as_uri()
    window = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    with listening(window, lambda url: url.partition("#")[0] == address) as trouble:
        window.goto(address)
        assert window.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        names = "#board-0 tbody th small"
        before = window.locator(names).all_inner_texts()
        window.locator("#board-0 thead button", has_text="pass@1").press("Enter")
        values = [
            float(text.split()[0]) for text in window.locator("#board-0 tbody td:nth-child(3)").all_inner_texts()
        ]
        assert values == sorted(values, reverse=True)
        window.locator("#board-0 thead button", has_text="rank").click()
        assert window.locator(names).all_inner_texts()[:3] == before[:3]
        assert window.locator("#board-0 thead th[aria-sort=ascending]").inner_text().startswith("rank")
        window.locator("#board-0 tbody a").first.click()
        window.locator(".made:target dd").first.wait_for()  # the fold opens once the address has changed
    window.close()
    assert trouble == []
