"""`truegrade evolve` from a configuration to an adapter and a report, really trained and graded."""

import json
import shutil
from itertools import pairwise, product

import msgspec
import pytest
from click.testing import CliRunner

from support import extend_page
from truegrade.apps.evolve.finishing import archive_of
from truegrade.apps.evolve.folder import Evolution, EvolutionFolder, Final
from truegrade.apps.evolve.searchers import REGISTRY as SEARCHERS
from truegrade.apps.evolve.settings import parse_settings
from truegrade.benchmarks import load_benchmark
from truegrade.cli import main
from truegrade.datasets.learned import write_learned
from truegrade.errors import NotComparable
from truegrade.files.json_text import read_json
from truegrade.models.local import adapter_sha256

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def events(evolved):
    return EvolutionFolder(evolved.folder).events()


@pytest.fixture(scope="module")
def final(evolved):
    return read_json(evolved.folder / "final.json", Final)


def test_every_search_spends_its_budget_and_trains_its_adapters(events):
    by_search = {name: [e for e in events if e.search == name] for name in ("nsga2", "random")}
    assert [len(found) for found in by_search.values()] == [4, 4]
    for event in events:
        facts = event.evaluated.scores.facts
        assert facts["parameters"] > 0 and facts["tokens_learned"] > 0 and "loss_1" in facts
    assert all(len(e.adapter_sha256) == 64 for e in events)
    # first generations are drawn from one seed, and not evaluated twice
    first = [[e.evaluated.scores for e in found[:2]] for found in by_search.values()]
    assert first[0] == first[1]


def test_scores_are_means_over_problems_and_never_seconds(events):
    for event in events:
        scores = event.evaluated.scores
        for name in ("solved", "pass_rate", "patch", "tokens"):
            values = [problem[name] for problem in scores.problems.values()]
            assert scores.objectives[name] == pytest.approx(sum(values) / len(values))
        assert not [name for name in (*scores.objectives, *scores.facts) if "cpu" in name or name.endswith("_s")]
        assert scores.objectives["parameters"] == -scores.facts["parameters"] / 1000


def test_anchors(evolved):
    anchors = {anchor.name: anchor.scores.objectives for anchor in EvolutionFolder(evolved.folder).anchors()}
    assert list(anchors) == ["base", "identity", "stub", "reference"]
    assert anchors["reference"]["solved"] == 1.0 and anchors["reference"]["cost"] <= -1.0
    assert anchors["identity"]["solved"] == 0.0 and anchors["identity"]["patch"] == 0.0
    assert anchors["stub"]["solved"] == 0.0
    assert anchors["base"]["parameters"] == anchors["base"]["training"] == 0.0


def test_front_and_volume_from_the_rows(evolved, events):
    """By brute force: every pair compared, and the volume counted in the cells between all coordinates."""
    settings = parse_settings(evolved.config.read_bytes(), evolved.config)
    own = [event for event in events if event.search == "nsga2"]
    archive = archive_of(settings, own)
    names, reference = settings.objectives.names, settings.objectives.reference
    points = [tuple(e.evaluated.scores.objectives[n] for n in names) for e in own]

    def beaten(a, b):
        return a != b and all(x <= y for x, y in zip(a, b, strict=True))

    front = {p for p in points if not any(beaten(p, q) for q in points)}
    assert {tuple(one.scores.objectives[n] for n in names) for one in archive.front} == front
    axes = [sorted({reference[n], *(max(p[i], reference[n]) for p in points)}) for i, n in enumerate(names)]
    volume = 0.0
    for cell in product(*(pairwise(axis) for axis in axes)):
        if any(all(p[i] >= high for i, (_, high) in enumerate(cell)) for p in points):
            volume += (cell[0][1] - cell[0][0]) * (cell[1][1] - cell[1][0]) * (cell[2][1] - cell[2][0])
    assert volume > 0 and archive.volume == pytest.approx(volume, rel=1e-12)
    assert len(archive.trace) == len(own)


def test_the_report_is_about_problems_that_no_choice_has_seen(evolved, final, events):
    roles = json.loads((evolved.folder / "evolution.json").read_text())["roles"]
    assert [(one.search, one.replicate) for one in final.selected] == [("nsga2", 0), ("random", 0)]
    for one in final.selected:
        assert set(one.passed) == {*roles["final"], *roles["forgetting"]}
        assert not set(one.passed) & {*roles["train"], *roles["selection"]}
        assert one.final.value == pytest.approx(sum(one.passed[p] for p in roles["final"]) / 4)
        base = sum(final.base_passed[p] for p in roles["final"]) / 4
        assert one.against_base.value == pytest.approx(one.final.value - base)
        best = max(e.evaluated.scores.objectives["solved"] for e in events if e.search == one.search)
        assert one.selection == best
    assert [contest.baseline for contest in final.contests] == ["random"]
    assert final.look == 1 and len((evolved.folder / "final-looks.jsonl").read_text().splitlines()) == 1


def test_the_terminal_says_whether_the_improvement_is_real(evolved, final):
    own = final.selected[0]
    said = " ".join(evolved.result.output.split())
    assert ("The improvement over the base is significant" in said) is (own.against_base.low > 0)
    assert "of the kinds that the base was trained on" in said
    assert all(f" {one.search} " in said for one in final.selected)
    assert (evolved.folder / "report.html").is_file()


def test_the_best_adapter_answers_a_run(evolved, final, tmp_path):
    best = evolved.folder / "best"
    assert adapter_sha256(best) == final.selected[0].adapter_sha256
    arguments = ["run", "micro-repair", "--model", "embedded/truegrade-micro", "--adapter", best, "--limit", 2]
    ran = CliRunner().invoke(main, list(map(str, [*arguments, "--out", tmp_path / "run", "--json"])))
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["model"] == f"embedded/truegrade-micro+{adapter_sha256(best)[:16]}"


def test_the_best_adapter_is_not_tested_on_what_it_learned_from(evolved, tmp_path):
    learned = json.loads((evolved.folder / "best" / "learned_from.json").read_text())
    assert set(json.loads((evolved.folder / "evolution.json").read_text())["roles"]["train"]) == set(
        learned["problems"]
    )
    assert [len(learned[kind]) for kind in ("exact", "programs", "name_free")] == [12, 12, 12]
    asked = load_benchmark("micro-repair").problems[:3]
    best = shutil.copytree(evolved.folder / "best", tmp_path / "best")
    write_learned(best, "micro-repair", asked[:2])
    arguments = ["run", "micro-repair", "--model", "embedded/truegrade-micro", "--adapter", best, "--limit"]
    for limit, more in ((3, ()), (2, ("--exclude-seen",))):
        refused = CliRunner().invoke(main, list(map(str, [*arguments, limit, "--out", tmp_path / "none", *more])))
        assert refused.exit_code == 2 and "CONTAMINATION" in refused.output and asked[1].id in refused.output
        assert not (tmp_path / "none").exists()
    more = [3, "--exclude-seen", "--out", tmp_path / "run", "--json"]
    ran = CliRunner().invoke(main, list(map(str, [*arguments, *more])))
    assert ran.exit_code == 0, ran.output
    assert f"not scored (the adapter learned from this program): {asked[0].id}, {asked[1].id}" in ran.stderr
    summary = json.loads(ran.stdout)
    assert set(summary["excluded"]) == {asked[0].id, asked[1].id}
    assert f"left out, because the adapter learned from them: {asked[0].id}, {asked[1].id}" in [
        warning["sentence"] for warning in summary["warnings"]
    ]
    assert len((tmp_path / "run" / "completions.jsonl").read_text().splitlines()) == 1
    (best / "learned_from.json").unlink()
    unknown = CliRunner().invoke(main, list(map(str, [*arguments, 1, "--out", tmp_path / "unknown", "--json"])))
    assert "training-data-unknown" in [warning["code"] for warning in json.loads(unknown.stdout)["warnings"]]


def test_other_settings_in_another_folder_are_refused_before_anything_is_trained(evolved, tmp_path):
    longer = tmp_path / "longer.toml"
    longer.write_text(evolved.config.read_text().replace("generations = 2", "generations = 3"))
    arguments = ["evolve", longer, "--out", tmp_path / "out", "--adapters", tmp_path / "adapters"]
    refused = CliRunner().invoke(main, list(map(str, arguments)))
    assert refused.exit_code == 2
    assert f"in {evolved.folder}" in " ".join(refused.output.split()) and "--again" in refused.output
    assert not (tmp_path / "adapters").exists() and not (tmp_path / "out" / "events.jsonl").exists()


@pytest.mark.thorough
def test_a_second_look_is_counted_shown_and_corrected_for(evolved, final, tmp_path, monkeypatch):
    """Two commands that differ in their generations, in two folders; the first one's own record is gone."""
    ledger = tmp_path / "state" / "truegrade" / "final-looks.jsonl"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    first = ["evolve", evolved.config, "--adapters", evolved.adapters, "--workers", 1, "--no-baselines"]
    began = CliRunner().invoke(main, list(map(str, [*first, "--generations", 1, "--out", tmp_path / "e1"])))
    assert began.exit_code == 0, began.output
    assert "evaluation 1" not in began.output and "95 % confidence intervals" in began.output
    (tmp_path / "e1" / "final-looks.jsonl").unlink()
    second = [*first, "--generations", 2, "--out", tmp_path / "e2"]
    refused = CliRunner().invoke(main, list(map(str, second)))
    told = " ".join(refused.output.split())
    assert refused.exit_code == 2 and f"in {tmp_path / 'e1'}" in told and "counts evaluation 2" in told
    assert "--out" not in told and "--seed" not in told and not (tmp_path / "e2" / "events.jsonl").exists()
    looked = CliRunner().invoke(main, list(map(str, [*second, "--again"])))
    assert looked.exit_code == 0, looked.output
    assert "evaluation 2 of these final problems" in looked.output and "97.5 % confidence" in looked.output
    assert "This is evaluation 2 of these final problems" in (tmp_path / "e2" / "report.html").read_text()
    again = read_json(tmp_path / "e2" / "final.json", Final)
    assert (again.look, again.confidence, again.base.confidence) == (2, 0.975, 0.975)
    assert (final.look, final.confidence) == (1, 0.95) and final.base.value == again.base.value
    assert again.base.low < final.base.low
    resumed = CliRunner().invoke(main, list(map(str, second)))  # what was looked at needs no leave
    assert resumed.exit_code == 0 and len(ledger.read_text().splitlines()) == 2


def test_the_same_command_again_computes_nothing(evolved):
    before, times = evolved.logs(), (evolved.folder / "clock.jsonl").read_bytes()
    looks = (evolved.folder / "final-looks.jsonl").read_bytes()
    again = evolved.run("--json")
    assert again.exit_code == 0 and json.loads(again.stdout)["final"]["look"] == 1
    assert evolved.logs() == before and (evolved.folder / "clock.jsonl").read_bytes() == times
    assert (evolved.folder / "final-looks.jsonl").read_bytes() == looks


def test_other_settings_do_not_mix(evolved):
    refused = evolved.run("--seed", 4)
    assert refused.exit_code == 2 and "holds another evolution: its settings differ" in refused.output


def test_a_searcher_of_a_file_is_written_down_and_another_version_of_it_is_not_gone_on_with(evolved, tmp_path):
    evolution = read_json(evolved.folder / "evolution.json", Evolution)
    assert evolution.origins is msgspec.UNSET, "all of these are built in"
    (tmp_path / "sweep.py").write_text(extend_page.files()["sweep.py"])
    first = SEARCHERS.find(str(tmp_path / "sweep.py")).origin
    (tmp_path / "sweep.py").write_text(extend_page.files()["sweep.py"] + "\n# changed\n")
    second = SEARCHERS.find(str(tmp_path / "sweep.py")).origin
    folder = EvolutionFolder(tmp_path)
    folder.begin(msgspec.structs.replace(evolution, origins={"sweep.py": first}))
    assert read_json(tmp_path / "evolution.json", Evolution).origins == {"sweep.py": first}
    folder.begin(msgspec.structs.replace(evolution, origins={"sweep.py": first}))
    with pytest.raises(NotComparable, match=r"two versions must not be mixed"):
        folder.begin(msgspec.structs.replace(evolution, origins={"sweep.py": second}))
