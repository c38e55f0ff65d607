"""The JSON of the viewer: what it says of runs is what their files say."""

import json
import shutil
import time

import msgspec
import pytest
from report_runs import House, Lenient, build_run
from viewing_runs import standard_runs

from truegrade import api
from truegrade.apps.viewer.detail import ComparisonPage, RunDetail
from truegrade.apps.viewer.run_catalogue import RunPage, look
from truegrade.apps.viewer.sample_table import SamplePage, Tables
from truegrade.store import Run

GROWING = "deep/er/growing"


def typed(viewer, path, kind, **query):
    return msgspec.convert(viewer.json(path, **query), kind)


def runs(viewer, **query):
    return typed(viewer, "/api/runs", RunPage, **query)


def samples(viewer, run, **query):
    return typed(viewer, "/api/samples", SamplePage, run=run, **query)


def test_the_list_says_what_the_files_say(viewer):
    page = runs(viewer)
    found = {one.run.id: one for one in page.runs}
    assert set(found) == {"parrot", "magpie", GROWING}
    parrot = found["parrot"]
    first = Run.open(viewer.root / "parrot").summary["profiles"][0]["estimates"][0]
    assert (parrot.headline.value, parrot.headline.low, parrot.headline.high) == tuple(
        first[name] for name in ("value", "low", "high")
    )
    assert (parrot.run.state, parrot.run.answered, parrot.run.expected) == ("finished", 90, 90)
    assert parrot.run.profiles == ("house@1", "lenient@1")
    assert parrot.run.cost_usd == pytest.approx(90 * 0.00005)


def test_a_run_without_replies_is_unfinished_and_says_how_far_it_is(viewer):
    found = {one.run.id: one for one in runs(viewer).runs}
    assert (found["magpie"].run.state, found["magpie"].run.answered) == ("unfinished", 78)
    growing = found[GROWING]
    assert growing.headline is None, "a number of a part must not look like the result"
    assert (growing.run.state, growing.run.answered, growing.run.expected) == ("unfinished", 40, 90)
    verdicts = _verdicts(viewer)
    assert growing.so_far.graded == len(verdicts) == 25
    assert growing.so_far.passed == sum(verdict["passed"] for verdict in verdicts)


def _verdicts(viewer):
    path = viewer.root / GROWING / "verdicts.house@1.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_filters_and_facets(viewer):
    assert [one.run.id for one in runs(viewer, q="MAGPIE b/").runs] == ["magpie"]
    assert [one.run.id for one in runs(viewer, model="b/crow").runs] == [GROWING]
    assert [one.run.id for one in runs(viewer, state="finished").runs] == ["parrot"]
    lenient = runs(viewer, profile="lenient@1")
    assert {one.headline.profile for one in lenient.runs} == {"lenient@1"}
    assert lenient.total == 3 and lenient.matching == 2
    assert runs(viewer).models == {"b/crow": 1, "b/magpie": 1, "toy/parrot": 1}
    assert runs(viewer, q="nothing of that name").runs == []


@pytest.mark.parametrize(
    "sort", ["created", "changed", "benchmark", "model", "profile", "value", "n", "cost", "state"]
)
@pytest.mark.parametrize("descending", ["true", "false"])
def test_pages_put_together_are_the_whole_list(viewer, sort, descending):
    query = {"sort": sort, "descending": descending}
    entire = [one.run.id for one in runs(viewer, **query).runs]
    parts = [one.run.id for n in range(3) for one in runs(viewer, **query, offset=n, limit=1).runs]
    assert entire == parts
    assert len(set(parts)) == 3


def test_sorting_by_value_puts_runs_without_one_last(viewer):
    values = [
        one.headline.value if one.headline else one.so_far.passed / one.so_far.graded
        for one in runs(viewer, sort="value").runs
    ]
    assert values == sorted(values, reverse=True)


def test_a_run_in_full(viewer):
    detail = typed(viewer, "/api/run", RunDetail, run="parrot")
    assert [profile.profile for profile in detail.profiles] == ["house@1", "lenient@1"]
    assert sum(detail.profiles[0].reasons.values()) == 90
    assert dict(detail.facts)["sampling"] == "temperature 0.2, max_tokens 512, seed 7"
    assert detail.report == "rebuilt"  # it has no report.html of its own
    assert typed(viewer, "/api/run", RunDetail, run=GROWING).report == "none"


def test_samples_are_those_of_the_journals(viewer):
    page = samples(viewer, "parrot", limit=500)
    verdicts = {(v.problem_id, v.sample): v for v in Run.open(viewer.root / "parrot").verdicts("house")}
    assert {(one.task, one.sample): (one.reason, one.passed) for one in page.samples} == {
        key: (verdict.reason.value, verdict.passed) for key, verdict in verdicts.items()
    }
    assert page.profiles == ["house@1", "lenient@1"]
    passing = [one.passed for one in page.samples]
    assert passing == sorted(passing), "failing first"


def test_samples_are_filtered_and_paged(viewer):
    everything = samples(viewer, "parrot")
    failed, passed = (samples(viewer, "parrot", outcome=outcome) for outcome in ("failed", "passed"))
    assert failed.matching + passed.matching == everything.matching == 90
    wrong = samples(viewer, "parrot", reason="wrong_answer", profile="house@1")
    assert 0 < wrong.matching < failed.matching
    disputed = samples(viewer, "parrot", outcome="disputed")
    assert 0 < disputed.matching < wrong.matching
    parts = [one for n in range(0, 90, 7) for one in samples(viewer, "parrot", offset=n, limit=7).samples]
    assert [(one.task, one.sample) for one in parts] == [(one.task, one.sample) for one in everything.samples]
    assert samples(viewer, GROWING, outcome="ungraded").matching == 15


def test_search_looks_at_names_details_and_texts(viewer):
    assert [one.task for one in samples(viewer, "parrot", q="toy/7#").samples] == ["Toy/7"] * 3
    assert samples(viewer, "parrot", q="RETURN x + 1").matching == 90
    assert (
        samples(viewer, "parrot", q="the program returned 2").matching
        == samples(viewer, "parrot", outcome="failed").matching
    )
    assert samples(viewer, "parrot", q="in no text at all").matching == 0


def test_a_sample_comes_with_its_texts(viewer):
    one = viewer.json("/api/sample", run="parrot", task="Toy/3", sample=1)
    assert one["view"]["reply"][0].startswith("```python\ndef f(x):")
    assert [verdict["profile"] for verdict in one["view"]["verdicts"]] == ["house@1", "lenient@1"]
    assert one["prompt"] == [["user", ["Add one. <b>Really</b>.", 23]]]
    assert viewer.refused("/api/sample", run="parrot", task="Toy/3", sample=9)[0] == 404


def test_the_program_of_own_rows_stands_beside_a_refused_answer_alone(view, tmp_path, monkeypatch):
    """In the page, in the page made anew elsewhere, and in the viewer; not once the rows have changed."""
    monkeypatch.chdir(tmp_path)
    program = "def inc(x):\n    y = x\n    return y + 1\n"
    row = {"prompt": "Add one.", "entry_point": "inc", "tests": "assert inc(1) == 2", "reference": program}
    rows = "".join(json.dumps({"id": name} | row) + "\n" for name in ("a", "b"))
    (tmp_path / "own.jsonl").write_text(rows)
    answers = [{"task_id": "a", "solution": program.replace("1", "2")}, {"task_id": "b", "solution": program}]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    run = api.grade("answers.jsonl", benchmark="own.jsonl", out=tmp_path / "runs" / "own")
    page = (run.path / "report.html").read_bytes()
    monkeypatch.chdir("/")
    assert api.report(run.path).read_bytes() == page
    with view(tmp_path / "runs") as viewer:
        shown = [viewer.json("/api/sample", run="own", task=name, sample=0)["view"] for name in ("a", "b")]
        assert [one.get("reference") for one in shown] == [[program, len(program)], None]
    (tmp_path / "own.jsonl").write_text(rows.replace("y + 1", "1 + y"))
    with view(tmp_path / "runs") as viewer:
        assert "reference" not in viewer.json("/api/sample", run="own", task="a", sample=0)["view"]
    assert len(api.report(run.path).read_bytes()) < len(page)


def test_comparing_is_what_the_api_says(viewer):
    found = typed(viewer, "/api/compare", ComparisonPage, run=["parrot", "magpie"], profile="house@1")
    expected = api.compare(viewer.root / "parrot", viewer.root / "magpie", profile="house@1")
    (one,) = found.contenders
    assert (one.difference, one.low, one.high) == (expected.difference, expected.low, expected.high)
    assert one.wins.tasks == list(expected.wins) and one.losses.count == len(expected.losses)
    assert one.wins.count > 0
    assert found.profiles == ["house@1", "lenient@1"]


def test_what_cannot_be_compared_says_why(viewer):
    found = typed(viewer, "/api/compare", ComparisonPage, run=["parrot", GROWING])
    assert GROWING in found.contenders[0].problem
    assert viewer.refused("/api/compare", run=["parrot"])[0] == 422


def test_queries_are_checked(viewer):
    assert viewer.refused("/api/runs", limit=0)[0] == 422
    assert "`limt`" in viewer.refused("/api/runs", limt=3)[1]
    assert viewer.refused("/api/runs", sort="colour")[0] == 422
    assert viewer.refused("/api/samples", run="parrot", offset="many")[0] == 422
    assert viewer.refused("/api/run")[0] == 422
    assert "did you mean parrot" in viewer.refused("/api/run", run="parrott")[1]
    assert viewer.refused("/api/none")[0] == 404


def test_nothing_can_be_changed_and_no_foreign_name_is_answered(viewer):
    status, headers, _ = viewer.get("/api/runs", method="POST")
    assert (status, headers["Allow"]) == (405, "GET")
    assert viewer.get("/api/runs", headers={"Host": "evil.example"})[0] == 421
    assert viewer.get("/api/runs", headers={"Host": "localhost:80"})[0] == 200
    assert viewer.server.server_address[0] == "127.0.0.1"


def test_head_sends_no_body(viewer):
    status, headers, content = viewer.get("/", method="HEAD")
    assert (status, content) == (200, b"") and int(headers["Content-Length"]) > 0


def test_damaged_runs_are_listed_and_hurt_no_other(view, tmp_path):
    root = standard_runs(tmp_path / "runs")
    (root / "torn").mkdir()
    (root / "torn" / "manifest.json").write_text("{")
    with (root / "deep" / "er" / "growing" / "completions.jsonl").open("a") as file:
        file.write('{"problem_id": 3}\n')
    (root / "magpie" / "summary.json").write_text("[]")
    with view(root) as viewer:
        states = {one.run.id: (one.run.state, one.run.problem) for one in runs(viewer).runs}
        assert states["parrot"] == ("finished", "")
        for name, culprit in (("torn", "manifest.json"), ("magpie", "summary.json")):
            assert states[name][0] == "unreadable" and culprit in states[name][1]
            assert viewer.json("/api/run", run=name)["report"] == "none"
        assert viewer.get("/api/samples", run=GROWING)[0] == 200, "a damaged line is missing, the others are shown"


def test_evolutions_and_audits_are_listed(view, tmp_path):
    from truegrade.analysis.audit.findings import Audit, Finding, Severity

    evolution = tmp_path / "evo"
    evolution.mkdir()
    known = {
        "name": "micro",
        "benchmark": "micro-repair",
        "base": "b",
        "searches": [{"name": "nsga2"}],
        "objectives": ["x"],
    }
    (evolution / "evolution.json").write_text(json.dumps(known))
    (evolution / "events.jsonl").write_text("{}\n" * 5)
    (evolution / "report.html").write_text("<p>the evolution")
    error = Finding(code="shot-scored", severity=Severity.ERROR, count=1, rows=["HumanEval/0"], sentence="Shown.")
    audit = Audit(file="x.json", file_sha256="0", benchmark="humaneval", dataset_sha256="1", profile="strict@6",
                  tasks=1, samples=1, recorded={}, estimates=[], findings=[error])  # fmt: skip
    (tmp_path / "audits").mkdir()
    (tmp_path / "audits" / "x.json").write_bytes(
        msgspec.json.encode({"clean": False, **msgspec.to_builtins(audit)})
    )
    (tmp_path / "notes.json").write_text("{}")
    with view(tmp_path) as viewer:
        others = viewer.json("/api/others")
        assert [(one["id"], one["evaluations"]) for one in others["evolutions"]] == [("evo", 5)]
        assert [(one["file"], one["clean"]) for one in others["audits"]] == [("audits/x.json", False)]
        assert viewer.get("/evolution", evolution="evo")[2] == b"<p>the evolution"
        assert viewer.json("/api/runs")["total"] == 0
        assert viewer.refused("/api/run", run="evo")[0] == 404


def test_other_results_are_listed_with_their_page_and_no_start_that_failed(view, tmp_path):
    """An assay has a manifest of its own, and a suite stands in the folder of its runs."""
    root = standard_runs(tmp_path / "runs")
    for name, files in {
        "assay-humaneval-1": {"manifest.json": "{}", "probes.jsonl": "", "report.html": "<p>the assay"},
        "assay-begun": {"manifest.json": "{}", "probes.jsonl": ""},
        "suite": {"suite.json": "{}", "suite.html": "<p>the suite"},
        "failed": {"manifest.json": (root / "parrot" / "manifest.json").read_text()},
        "failed-later": {
            "manifest.json": (root / "parrot" / "manifest.json").read_text(),
            "completions.jsonl": "",
            ".lock": "",
        },
    }.items():
        (root / name).mkdir()
        for file, text in files.items():
            (root / name / file).write_text(text)
    shutil.copytree(root / "magpie", root / "suite" / "inner")
    with view(root) as viewer:
        assert {one.run.id: one.run.state for one in runs(viewer).runs} == {
            "parrot": "finished",
            "magpie": "unfinished",
            "suite/inner": "unfinished",
            GROWING: "unfinished",
        }
        assert [(one["id"], one["name"], one["has_page"]) for one in viewer.json("/api/others")["pages"]] == [
            ("assay-begun", "an assay", False),
            ("assay-humaneval-1", "an assay", True),
            ("suite", "a suite", True),
        ]
        assert viewer.get("/page", folder="assay-humaneval-1")[2] == b"<p>the assay"
        assert viewer.get("/page", folder="suite")[2] == b"<p>the suite"
        assert "no report yet" in viewer.refused("/page", folder="assay-begun")[1]
        assert viewer.refused("/page", folder="parrot")[0] == 404


def test_a_run_that_is_the_folder_itself(viewer, view):
    with view(viewer.root / "parrot") as alone:
        assert [one["run"]["id"] for one in alone.json("/api/runs")["runs"]] == ["parrot"]
        assert alone.json("/api/samples", run="parrot")["total"] == 90


def test_the_state_is_as_fresh_as_promised(view, tmp_path):
    root = standard_runs(tmp_path / "runs")
    with view(root) as viewer:
        assert runs(viewer).total == 3
        (root / "parrot").rename(root / "cockatoo")
        time.sleep(0.6)
        assert {one.run.id for one in runs(viewer).runs} == {"cockatoo", "magpie", GROWING}
        assert viewer.refused("/api/run", run="parrot")[0] == 404


def test_profiles_stand_in_the_order_of_the_report(tmp_path):
    run = build_run(tmp_path / "run", tasks=3, samples=1, profiles=(Lenient(), House()))
    table = Tables().of(look(tmp_path, run.path))
    assert table.profiles == ["lenient@1", "house@1"] == [each["profile"] for each in run.summary["profiles"]]
