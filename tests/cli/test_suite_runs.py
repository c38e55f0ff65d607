"""`truegrade run SUITE`: settings, missing data, the page, and what a kill in the middle leaves."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

import truegrade
from support import contest_files
from support import scripted_server as scripted
from truegrade.api.pairs import run_suite
from truegrade.pipeline.suites import BenchmarkSuite, SuiteBenchmark
from truegrade.records.config import Sampling

RIGHT = "```python\ndef inc(x):\n    return x + 1\n```"
SUITE = """name = "mine"
description = "Two & two."
n = 2
temperature = 0.5
profiles = ["strict"]

[[benchmarks]]
name = "one.jsonl"

[[benchmarks]]
name = "two.jsonl"
n = 1
limit = 1
profiles = ["strict", "human-eval"]
"""


class Reader(HTMLParser):
    """Links, texts and the ids that links lead to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.text = [], set(), ""
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.links += [named["href"]] if tag == "a" else []
        self.ids |= {named["id"]} if "id" in named else set()

    def handle_data(self, data):
        self.text += data


@pytest.fixture(autouse=True)
def two_benchmarks(tmp_path, monkeypatch):
    """``one.jsonl`` and ``two.jsonl``: two problems each, and `RIGHT` answers the first; a suite of both."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path / "cache"))
    for name in ("one", "two"):
        rows = [
            {"id": number, "prompt": f'def {function}(x):\n    """{name}"""\n', "entry_point": function,
             "reference": f"    return {body}\n", "tests": f"assert {function}(1) == {result}"}
            for number, (function, body, result) in enumerate((("inc", "x + 1", 2), ("dec", "x - 1", 0)))
        ]  # fmt: skip
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("mine.toml").write_text(SUITE)


def answer(body):
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    return scripted.Answer({**scripted.chat(RIGHT), "usage": usage}, delay_s=0.02)


def of_service(server, *models):
    named = [word for model in models for word in ("-m", f"openai-compatible/{model}")]
    return ("mine.toml", *named, "--base-url", server.url, "--max-attempts", "1", "--max-connections", "1")


def record(folder="runs/mine"):
    return json.loads(Path(folder, "suite.json").read_text())


def test_each_benchmark_has_its_own_settings_before_the_shared_ones():
    found = run_suite("mine.toml", models=["baseline/reference"])
    one, two = found.pairs
    assert [(pair.benchmark, len(pair.standings)) for pair in found.pairs] == [("one", 1), ("two", 2)]
    manifests = [truegrade.load(pair.run).manifest for pair in found.pairs]
    assert [each.samples_per_task for each in manifests] == [2, 1]
    assert [each.generation.sampling.temperature for each in manifests] == [0.5, 0.5]
    assert manifests[0].selected is None and len(manifests[1].selected) == 1
    assert (one.standings[0].headline.tasks, two.standings[0].headline.tasks) == (2, 1)
    assert found.folder == Path("runs/mine") and one.run.parent == found.folder


def test_every_setting_of_a_suite_can_be_a_benchmark_s_own():
    own = "temperature = 0.1\nmax_tokens = 9\ncutoff = 2024-06-30\n"
    Path("mine.toml").write_text(SUITE + own)
    found = run_suite("mine.toml", models=["baseline/reference"], sampling=Sampling(seed=3))
    asked = [truegrade.load(pair.run).manifest.generation.sampling for pair in found.pairs]
    assert asked == [Sampling(temperature=0.5, seed=3), Sampling(temperature=0.1, max_tokens=9, seed=3)]


def test_what_the_command_says_comes_before_what_the_suite_says(cli):
    words = ("-m", "baseline/empty", "-n", "1", "--limit", "2-2", "--temperature", "0", "--as", "human-eval")
    code, out, err = cli("run", "mine.toml", *words, "--json")
    assert code == 0, err
    pairs = json.loads(out)["pairs"]
    assert [pair["profiles"] for pair in pairs] == [["human-eval@6d43fb9"]] * 2
    for pair in pairs:
        manifest = truegrade.load(pair["run"]).manifest
        assert (manifest.samples_per_task, manifest.selected) == (1, ("1",))
        assert manifest.generation.sampling.temperature == 0


def test_a_setting_left_out_on_the_command_line_is_the_suite_s(cli):
    code, _, err = cli("run", "mine.toml", "-m", "baseline/empty")
    assert code == 0, err
    assert [truegrade.load(pair["run"]).manifest.samples_per_task for pair in record()["pairs"]] == [2, 1]


def test_a_suite_beside_benchmarks_is_expanded_and_the_same_twice_is_one(cli):
    Path("again.toml").write_text(SUITE.replace("mine", "again"))
    code, _, err = cli("run", "mine.toml", "again.toml", "three.jsonl", "-m", "baseline/empty")
    assert code == 2 and "three.jsonl" in err
    Path("three.jsonl").write_text(Path("one.jsonl").read_text())
    code, _, err = cli("run", "mine.toml", "again.toml", "three.jsonl", "-m", "baseline/empty")
    assert code == 0, err
    found = record("runs/mine-again-three.jsonl")
    assert [pair["benchmark"] for pair in found["pairs"]] == ["one", "two", "three"]
    assert [truegrade.load(pair["run"]).manifest.samples_per_task for pair in found["pairs"]] == [2, 1, 1]
    assert set(found["origins"]) == {"mine", "again"}
    code, _, err = cli("run", "mine.toml", "one.jsonl", "-m", "baseline/empty", "--temperature", "0")
    assert code == 2 and "one.jsonl with baseline/empty is named twice" in err


def test_models_are_the_command_s_else_the_suite_s():
    entries = (SuiteBenchmark(name="one.jsonl"),)
    suite = BenchmarkSuite(
        name="s", description="d", benchmarks=entries, models=("baseline/empty", "baseline/reference")
    )
    assert [pair.model for pair in run_suite(suite).pairs] == ["baseline/empty", "baseline/reference"]
    assert [pair.model for pair in run_suite(suite, models=["baseline/empty"]).pairs] == ["baseline/empty"]


REFUSED = {
    "a fault in the file": (SUITE.replace("limit", "limt"), (), "mine.toml, line 13, field 'benchmarks[1].limt'"),
    "a file of it that is not there": (SUITE.replace("two", "too"), (), "too.jsonl: no such file"),
    "an argument that the benchmark does not take": (
        SUITE + "args = { x = 1 }", (), "two.jsonl x=1 with openai-compatible/a: no two argument 'x'",
    ),
    "one problem": (SUITE, ("--id", "1"), "--id is about one benchmark"),
    "one file": (SUITE, ("--data", "one.jsonl"), "--data one.jsonl is no folder"),
    "a model that is none": (SUITE, ("-m", "nowhere/x"), "no model provider 'nowhere'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_one_line_before_anything_is_asked(cli, case):
    text, options, said = REFUSED[case]
    Path("mine.toml").write_text(text)
    with scripted.scripted_server(answer) as server:
        asked = () if case == "a model that is none" else of_service(server, "a")[1:]
        code, out, err = cli("run", "mine.toml", *options, *asked)
        assert (code, out) == (2, "") and said in err, err
        assert err.count("truegrade: ") == 1 and server.requests == [] and not Path("runs").exists()


PARTLY = """name = "partly"
description = "Data that are there, and some that are not."
[[benchmarks]]
name = "one.jsonl"
[[benchmarks]]
name = "mbpp"
{optional}
[[benchmarks]]
name = "dsl-list"
{optional}
"""


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """Without `humaneval_file`'s folder, too: nothing is on this machine."""
    (tmp_path / "empty").mkdir()

    def write(optional=""):
        monkeypatch.setenv("TRUEGRADE_DATA", str(tmp_path / "empty"))
        Path("partly.toml").write_text(PARTLY.format(optional=optional))

    return write


def test_all_missing_data_are_told_before_anything_is_asked(cli, no_data):
    no_data()
    code, out, err = cli("run", "partly.toml", "-m", "baseline/reference")
    assert (code, out) == (2, "") and not Path("runs").exists()
    assert "mbpp: truegrade data pull mbpp; dsl-list: dsl-list was not built" in err and "--skip-missing" in err
    code, out, err = cli("list", "suites", "partly.toml")
    assert code == 0 and "truegrade data pull mbpp" in out


@pytest.mark.parametrize(("optional", "words"), [("", ("--skip-missing",)), ("optional = true", ())])
def test_what_is_left_out_for_lack_of_data_is_stated(cli, no_data, optional, words):
    no_data(optional)
    code, out, err = cli("run", "partly.toml", "-m", "baseline/reference", *words)
    assert code == 0, err
    assert "! mbpp is left out: its data are not here: truegrade data pull mbpp" in out
    page = Reader(Path("runs/partly/suite.html"))
    assert "mbpp is left out: its data are not here" in page.text and "dsl-list is left out" in page.text
    assert [each["benchmark"] for each in record("runs/partly")["left_out"]] == ["mbpp", "dsl-list"]


def test_a_folder_of_data_is_looked_in_for_every_benchmark(cli, no_data, tmp_path):
    no_data()
    here = tmp_path / "here"
    (here / "livecodebench").mkdir(parents=True)
    rows = [contest_files.row("a")]
    contest_files.write_rows(here / "livecodebench" / "rows.jsonl", rows)
    Path("partly.toml").write_text(
        PARTLY.format(optional="").replace("mbpp", "livecodebench").replace("dsl-list", "humaneval")
    )
    code, _, err = cli("run", "partly.toml", "-m", "baseline/empty", "--data", "here", "--limit", "1")
    assert code == 0, err  # HumanEval lies in a package, which is looked in after the folder
    names = [
        (pair["benchmark"], pair["standings"][0]["headline"]["tasks"]) for pair in record("runs/partly")["pairs"]
    ]
    assert names == [("one", 1), ("livecodebench", 1), ("humaneval", 1)]
    (here / "livecodebench").rename(here / "other")
    code, _, err = cli("run", "partly.toml", "-m", "baseline/empty", "--data", "here")
    assert code == 2 and "in the --data FOLDER of a suite it lies as livecodebench" in err


def test_where_no_data_are_there_nothing_is_run(cli, no_data):
    no_data()
    Path("partly.toml").write_text(PARTLY.format(optional="").replace("one.jsonl", "humanevalplus"))
    code, _, err = cli("run", "partly.toml", "-m", "baseline/reference", "--skip-missing")
    assert code == 2 and "get some of them" in err


def test_of_several_benchmarks_those_without_data_are_left_out(cli, no_data):
    no_data()
    several = ("run", "one.jsonl", "livecodebench", "dsl-list", "-m", "baseline/reference", "--out", "several")
    code, _, err = cli(*several)
    assert code == 2 and not Path("several").exists()
    assert "livecodebench: " in err and "dsl-list: " in err and "--skip-missing" in err
    code, _, err = cli(*several, "--skip-missing")
    assert code == 0 and "note: livecodebench is left out: its data are not here" in err
    assert [each["benchmark"] for each in record("several")["left_out"]] == ["livecodebench", "dsl-list"]
    code, _, err = cli("run", "one.jsonl", "-m", "baseline/reference", "--skip-missing")
    assert code == 0, err


def test_the_page_shows_every_number_and_leads_to_its_report(cli):
    with scripted.scripted_server(answer) as server:
        command = ("run", *of_service(server, "<i>a", "b"), "-M", "input_price=1e6", "-M", "output_price=1e6")
        command = (*command[:4], *command[6:])  # prices are one model's
        code, _, err = cli(*command, "--cutoff", "2024-06-30")
    assert code == 0, err
    html = Path("runs/mine/suite.html").read_text()
    page = Reader(Path("runs/mine/suite.html"))
    assert "<i>a" not in html and "openai-compatible/<i>a" in page.text and "Two & two." in page.text
    assert "50.0 %" in page.text and "2 × 2" in page.text and "1 × 1" in page.text
    assert "100.0 %" in page.text and "human-eval" in page.text, "a second profile has a table of its own"
    assert "only 1 of the 2 problems of two" in page.text
    assert "no problems are dated on both sides of the cut-off 2024-06-30" in page.text
    assert "level " in page.text and "$60.00" in page.text, "5 input and 7 output tokens of five samples"
    reports = [link for link in page.links if link.endswith("report.html")]
    assert len(reports) >= 4 and all(Path("runs/mine", link).is_file() for link in reports)
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids
    assert not re.search(r"""(src|href)=["']?https?:""", html)


def test_a_run_that_fails_keeps_its_place_and_is_tried_again(cli):
    def one_fails(body):
        return scripted.error(400, "flagged") if body["model"] == "bad" else answer(body)

    with scripted.scripted_server(one_fails) as server:
        code, out, _ = cli("run", *of_service(server, "good", "bad"))
    assert code == 1
    page = Reader(Path("runs/mine/suite.html"))
    assert "2 of 4 runs complete" in page.text
    assert page.text.count("not complete") >= 4 and "HTTP 400: flagged" in page.text
    assert "! one with openai-compatible/bad is not complete" in out


def test_the_tables_as_files(cli):
    run_suite("mine.toml", models=["baseline/reference", "baseline/empty"])
    code, out, err = cli("report", "runs/mine", "--format", "csv")
    assert code == 0, err
    rows = list(csv.DictReader(Path("runs/mine/report/runs.csv").read_text().splitlines()))
    assert [(row["benchmark"], row["model"], row["profile"], float(row["rate"])) for row in rows] == [
        ("one", "baseline/reference", "strict@6", 1.0),
        ("two", "baseline/reference", "strict@6", 1.0), ("two", "baseline/reference", "human-eval@6d43fb9", 0.0),
        ("one", "baseline/empty", "strict@6", 0.0),
        ("two", "baseline/empty", "strict@6", 0.0), ("two", "baseline/empty", "human-eval@6d43fb9", 0.0),
    ]  # fmt: skip
    assert "results-strict.csv" in out and "results-human-eval.csv" in out
    results = list(csv.DictReader(Path("runs/mine/report/results-strict.csv").read_text().splitlines()))
    assert (results[0]["model"], results[0]["one"], results[0]["one high"]) == ("baseline/reference", "1.0", "1.0")
    assert cli("report", "runs/mine", "--format", "markdown")[0] == 0
    assert "| baseline/empty | 0.0 % [" in Path("runs/mine/report/results-strict.md").read_text()
    before = Path("runs/mine/suite.html").read_bytes()
    assert cli("report", "runs/mine")[0] == 0 and Path("runs/mine/suite.html").read_bytes() == before
    assert cli("report", "runs/mine", "--format", "json", "--out", "here")[0] == 0
    assert json.loads(Path("here/suite.json").read_text()) == record()
    assert cli("report", "runs/mine", "--format", "png")[0] == 2
    assert cli("report", "runs/mine", "--cutoff", "2024-01-01")[0] == 2


def test_many_benchmarks_stand_down_the_page():
    entries = []
    for number in range(6):
        Path(f"b{number}.jsonl").write_text(Path("one.jsonl").read_text())
        entries.append(SuiteBenchmark(name=f"b{number}.jsonl"))
    run_suite(
        BenchmarkSuite(name="many", description="Six.", benchmarks=tuple(entries)), models=["baseline/empty"]
    )
    head = re.search(r"<thead>.*?</thead>", Path("runs/many/suite.html").read_text())[0]
    assert re.findall(r"<th [^>]*>([^<]*)", head) == ["benchmark", "baseline/empty"]


def test_the_command_lists_suites(cli):
    code, out, _ = cli("list", "suites", "--json")
    assert code == 0 and [each["name"] for each in json.loads(out)] == ["quick", "classic", "today"]
    code, out, _ = cli("list", "suites")
    assert code == 0 and "micro-repair" in out
    code, out, _ = cli("list", "suites", "quick")
    assert code == 0 and "size=100" in out and "limit 20; optional" in out
    code, _, err = cli("list", "suites", "qick")
    assert code == 2 and "did you mean quick" in err


# ------------------------------------------------------------------ killed, and the same command again


def started(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "truegrade", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def killed_when(process, reached):
    """SIGKILL as soon as that is so."""
    deadline = time.monotonic() + 300
    while not reached():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def replies_of(folder):
    return [len(path.read_bytes().splitlines()) for path in sorted(Path(folder).glob("*/completions.jsonl"))]


@pytest.mark.slow
def test_kill_9_in_the_second_pair_leaves_a_page_and_the_same_command_asks_only_the_rest(cli):
    with scripted.scripted_server(answer) as server:
        command = ["run", *of_service(server, "a", "b"), "--json"]
        killed_when(started(*command), lambda: len(server.requests) >= 5)  # one, in full, is four requests
        page = Reader(Path("runs/mine/suite.html"))
        assert "1 of 4 runs complete" in page.text and "50.0 %" in page.text
        assert "the same command goes on" in page.text
        code, out, err = cli(*command)
        assert code == 0, err
        # two samples of two problems, one of one, of two models; one connection has at most one request under way
        assert 10 <= len(server.requests) <= 11
        asked = Counter(json.dumps(seen.body, sort_keys=True) for seen in server.requests)
        assert len(asked) == 6
        before = len(server.requests)
        assert cli(*command)[0] == 0 and len(server.requests) == before
    page = Reader(Path("runs/mine/suite.html"))
    assert "4 of 4 runs complete" in page.text and "goes on" not in page.text
    assert sorted(path.name for path in Path("runs/mine").glob("*.html")) == ["suite.html"]
    for pair in json.loads(out)["pairs"]:
        keys = Counter(completion.key for completion in truegrade.load(pair["run"]).completions())
        assert set(keys.values()) == {1}


@pytest.mark.slow
@pytest.mark.thorough
def test_quick_with_a_service_killed_and_resumed(cli):
    with scripted.scripted_server(answer) as server:
        service = ("-m", "openai-compatible/x", "--base-url", server.url, "--max-connections", "1")
        command = ["run", "quick", *service, "--limit", "3", "--json"]
        reached = lambda: len(replies_of("runs/quick")) >= 2  # noqa: E731
        killed_when(started(*command), reached)
        assert "1 of 3 runs complete" in Reader(Path("runs/quick/suite.html")).text
        code, out, err = cli(*command)
        assert code == 0, err
        pairs = json.loads(out)["pairs"]
        expected = sum(replies_of("runs/quick"))
        assert expected <= len(server.requests) <= expected + 1, "at most the one under way was asked again"
    assert [pair["benchmark"] for pair in pairs] == ["dsl-list", "micro-repair size=100", "humaneval"]
    assert "3 of 3 runs complete" in Reader(Path("runs/quick/suite.html")).text


@pytest.mark.slow
@pytest.mark.thorough
def test_quick_with_the_included_model_killed_and_resumed(cli):
    command = ["run", "quick", "--model", "embedded/truegrade-micro", "--limit", "3", "--json"]
    killed_when(started(*command), lambda: sum(replies_of("runs/quick")) >= 10)
    stored = {path: path.read_bytes() for path in Path("runs/quick").glob("*/completions.jsonl")}
    assert "0 of 3 runs complete" in Reader(Path("runs/quick/suite.html")).text
    code, out, err = cli(*command)
    assert code == 0, err
    for path, lines in stored.items():
        whole = lines[: lines.rfind(b"\n") + 1]
        assert path.read_bytes().startswith(whole), "what was answered is not asked again"
    pairs = json.loads(out)["pairs"]
    assert [pair["standings"][0]["headline"]["tasks"] for pair in pairs] == [9, 3, 3]
    for pair in pairs:
        keys = Counter(completion.key for completion in truegrade.load(pair["run"]).completions())
        assert set(keys.values()) == {1}
    assert "3 of 3 runs complete" in Reader(Path("runs/quick/suite.html")).text
