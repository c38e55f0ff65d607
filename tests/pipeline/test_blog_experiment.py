"""The blog's experiment as one command: five answers a task, its scores, its file, and that file given back."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import truegrade
from support import scripted_server as scripted
from truegrade.cli import main
from truegrade.errors import UserError

RIGHT = {"HumanEval/0": 5, "HumanEval/1": 0, "HumanEval/2": 2, "HumanEval/3": 5, "HumanEval/4": 1}
"""Right answers of five, by task."""


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def tasks(humaneval_file):
    with gzip.open(humaneval_file, "rt") as file:
        return {row["task_id"]: row for row in map(json.loads, file)}


@pytest.fixture
def service(tasks):
    """A service that answers each task rightly as often as `RIGHT` says; the very first reply is empty."""
    asked = Counter()

    def script(body):
        snippet = body["messages"][-1]["content"].partition("**Input Code Snippet**")[2]
        task = next(row for row in tasks.values() if f"def {row['entry_point']}(" in snippet)
        asked["all"] += 1
        if asked["all"] == 1:
            return scripted.Answer(scripted.chat(""))
        asked[task["task_id"]] += 1
        right = asked[task["task_id"]] <= RIGHT[task["task_id"]]
        code = task["prompt"] + (task["canonical_solution"] if right else "    return 'wrong'\n")
        return scripted.Answer(scripted.chat(f"Pseudocode first.\n```python\n{code}\n```\nThat is all."))

    with scripted.scripted_server(script) as server:
        yield server


def command(*arguments):
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, (result.stdout, result.stderr, result.exception)
    return result


def estimates(run, profile):
    (found,) = (p for p in truegrade.load(run).summary["profiles"] if p["profile"].startswith(profile))
    return {estimate["metric"]: estimate["value"] for estimate in found["estimates"]}


def test_one_command_end_to_end(service, tasks):
    options = ("--model", "openai-compatible/m", "--base-url", service.url, "--limit", "5", "--out", "run")
    shown = command("run", "humaneval", "--as", "blog", "--as", "strict", "-n", "5", *options).stdout
    assert "any correct 80.0 % · all solutions 52.0 %" in shown
    assert "blog.json" in shown

    body = service.requests[0].body
    assert body["messages"][0] == {"role": "system", "content": "You are a software programmer."}
    assert tasks["HumanEval/1"]["canonical_solution"].strip() in body["messages"][1]["content"]
    assert not {"temperature", "seed", "stop"} & body.keys(), "the post leaves them to the service"

    rows = json.loads(Path("run/blog.json").read_text())
    assert list(rows) == ["0", "1", "2", "3", "4"]
    for row, upstream in zip(rows.values(), tasks.values(), strict=False):
        assert {name: row[name] for name in upstream} == upstream
        assert len(row["completion_list"]) == 5
        assert all("```" not in text and "Pseudocode" not in text for text in row["completion_list"])
        assert row["total_tokens"] == 5 * 30, "tokens of the accepted replies"
        assert row["time_taken"] > 0
        assert "need_reproduce" not in row


def test_its_file_is_graded_to_the_same_numbers(service):
    run = truegrade.run("humaneval", model="openai-compatible/m", base_url=service.url, limit=5, n=5,
                        profiles=["blog"], out="run")  # fmt: skip
    command(
        "grade", "run/blog.json", "--benchmark", "humaneval", "--as", "blog", "--as", "strict", "--out", "again"
    )
    again = truegrade.load("again")
    assert again.manifest.import_format == "completion-list"
    assert estimates("again", "blog") == estimates("run", "blog")
    passed = [Counter(v.problem_id for v in one.verdicts("blog") if v.passed) for one in (run, again)]
    assert passed[0] == passed[1] == Counter({task: count for task, count in RIGHT.items() if count})
    assert estimates("again", "strict")["all_solutions"] == 13 / 25
    texts = [[row["completion_list"] for row in json.loads((Path(name) / "blog.json").read_text()).values()]
             for name in ("run", "again")]  # fmt: skip
    assert texts[0] == texts[1]


def test_shots_are_scored_by_the_blog_alone(service):
    run = truegrade.run("humaneval", model="openai-compatible/m", base_url=service.url, limit=5, n=5,
                        profiles=["blog", "strict"], out="run")  # fmt: skip
    blog, strict = run.summary["profiles"]
    assert run.manifest.excluded == {}
    assert [task[0] for task in blog["tasks"]] == list(RIGHT)
    assert [task[0] for task in strict["tasks"]] == ["HumanEval/2", "HumanEval/3", "HumanEval/4"]
    assert "not scored, because the prompts show their solutions: HumanEval/0, HumanEval/1" in strict["warnings"]
    assert {verdict.problem_id for verdict in run.verdicts("strict")} == {
        "HumanEval/2",
        "HumanEval/3",
        "HumanEval/4",
    }
    with pytest.raises(UserError, match="their prompts show the solutions"):
        truegrade.run("humaneval", model="baseline/lookup", limit=2, profiles=["blog", "strict"], out="two")


def test_accepted_rows_are_not_asked_again(service):
    options = {"model": "openai-compatible/m", "base_url": service.url, "limit": 5, "profiles": ["blog"]}
    truegrade.run("humaneval", n=5, out="run", **options)
    rows = json.loads(Path("run/blog.json").read_text())
    rows["0"]["need_reproduce"] = rows["3"]["need_reproduce"] = False
    rows["1"]["need_reproduce"] = True
    Path("accepted.json").write_text(json.dumps(rows))
    before, notices = len(service.requests), []
    run = truegrade.run("humaneval", n=6, out="next", reuse="accepted.json", notice=notices.append, **options)
    assert len(service.requests) - before == 3 * 6 + 2 * 1
    assert any("10 samples of accepted.json are kept" in notice for notice in notices)
    assert (
        "10 of 30 samples were taken from a file, not generated in this run"
        in run.summary["profiles"][0]["warnings"]
    )
    written = json.loads(Path("next/blog.json").read_text())
    assert [row.get("need_reproduce") for row in written.values()] == [False, None, None, False, None]
    assert written["0"]["completion_list"][:5] == rows["0"]["completion_list"]
    assert [row["total_tokens"] for row in written.values()] == [30, 180, 180, 30, 180]

    asked = len(service.requests)
    truegrade.run("humaneval", n=5, out="exact", reuse="accepted.json", ids=["HumanEval/3"], **options)
    assert len(service.requests) == asked, "nothing is left to ask"
    (row,) = json.loads(Path("exact/blog.json").read_text()).values()
    assert (row["time_taken"], row["total_tokens"]) == (0, 0)
    truegrade.run("humaneval", n=5, out="exact", reuse="accepted.json", ids=["HumanEval/3"], **options)
    assert Path("exact/completions.jsonl").read_text().count("\n") == 5, "taken over once"
    truegrade.run("humaneval", n=3, out="fewer", reuse="accepted.json", ids=["HumanEval/3"], **options)
    assert Path("fewer/completions.jsonl").read_text().count("\n") == 3


def test_a_baseline_needs_no_network():
    asked = ("run", "humaneval", "--as", "blog", "-n", "5", "--limit", "3", "--out", "run")
    shown = command(*asked, "--model", "baseline/lookup").stdout
    assert "any correct" in shown and "all solutions" in shown
    rows = json.loads(Path("run/blog.json").read_text())
    assert [len(row["completion_list"]) for row in rows.values()] == [5, 5, 5]
    assert rows["0"]["total_tokens"] is None, "nobody counted tokens, so none are made up"
