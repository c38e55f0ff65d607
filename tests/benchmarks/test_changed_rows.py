"""A file of originals and changed problems: read in pairs, graded with both tests, reported side by side."""

import json

import msgspec
import pytest
from click.testing import CliRunner

import truegrade
from support import scripted_server as scripted
from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.own_rows import Change, rows_of_pairs
from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.records import FunctionTask, Problem
from truegrade.statistics.reasoning import summarise_changed
from truegrade.statistics.reasoning_records import Draw, PredictionPrompt


def task(body, one, two, name="f"):
    return FunctionTask(
        prompt=f"Return {body}.",
        entry_point=name,
        tests=f"assert {name}(1) == {one}\nassert {name}(2) == {two}",
        shown_tests=(f"assert {name}(1) == {one}",),
        reference=f"def {name}(x):\n    return {body}\n",
    )


def problem(number, of, **tags):
    name = f"P/{number}"
    return Problem(id=name, benchmark="made", dataset_sha256="0", cluster=name, task=of, tags=tags)


CHANGE = Change(
    original="P/1", rule="doubled", kind="role", family="sentence", edits=(("", "Twice."),), call="f(1)", old="1",
    new="2", differing=2, tests=2,
)  # fmt: skip
PAIRS = [
    (problem(1, task("x", 1, 2), contest_date="2024-01-01"), task("2 * x", 2, 4, "g"), CHANGE),
    (problem(2, task("x + 5", 6, 7), contest_date="2024-03-01"), task("-x - 5", -6, -7),
     msgspec.structs.replace(CHANGE, original="P/2", rule="negative-result", old="6", new="-6")),
]  # fmt: skip
WORKAROUND = "```python\ndef {0}(x):\n    return {1}\n```"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "changed.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows_of_pairs(PAIRS)))
    return path


def rewritten(path, number, **fields):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[number].update(fields)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


# ------------------------------------------------------------------------------------------------- reading


def test_a_changed_problem_stands_behind_its_original_and_knows_its_tests(file):
    problems = load_benchmark(str(file)).problems
    assert [one.id for one in problems] == ["P/1", "P/1~doubled", "P/2", "P/2~negative-result"]
    assert [one.cluster for one in problems] == ["P/1", "P/1", "P/2", "P/2"]
    first, second = problems[0].task, problems[1].task
    assert first.pairing.shown == "original" and second.pairing.shown == "mutant"
    # the function has another name there, and the tests of the other are for the name that is asked
    assert first.pairing.other == "assert f(1) == 2\nassert f(2) == 4"
    assert second.pairing.other == "assert g(1) == 1\nassert g(2) == 2"
    assert problems[1].tags == {
        "contest_date": "2024-01-01", "benchmark": "made", "rule": "doubled", "family": "sentence",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({"original": "P/9"}, "change.original", "no other row"),
        ({"original": "P/2~negative-result"}, "change.original", "no other row"),
        ({"original": "P/1"}, "change.original", "has a changed problem already"),
    ],
)
def test_a_pair_that_is_none_is_refused_with_its_line(fields, field, problem, file):
    change = msgspec.to_builtins(msgspec.structs.replace(CHANGE, **fields))
    rewritten(file, 3, change=change)
    (told,) = load_benchmark(str(file)).left_out.values()
    assert problem in told and "line 4" in told and field in told


def test_two_benchmarks_with_the_same_ids_need_two_files():
    with pytest.raises(UserError, match="P/1: change them in two files"):
        list(rows_of_pairs([PAIRS[0], PAIRS[0]]))


def test_a_method_keeps_the_code_that_stands_before_it(tmp_path):
    call = "def total(x):\n    return Solution().total(x)\n\n\n"
    methods = FunctionTask(
        prompt="Complete class Solution.", entry_point="total", prefix="from math import *\n\n",
        tests=call + "def check(candidate):\n    assert candidate(x = 4) == 2\n\ncheck(total)",
        reference="class Solution:\n    def total(self, x):\n        return isqrt(x)\n", tests_use=("Solution",),
    )  # fmt: skip
    other = msgspec.structs.replace(methods, tests=methods.tests.replace("== 2", "== 4"))
    path = tmp_path / "methods.jsonl"
    rows = rows_of_pairs([(problem(1, methods), other, CHANGE)])
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    read = load_benchmark(str(path)).problems
    assert (read[0].task.prefix, read[0].task.tests_use) == (methods.prefix, ("Solution",))
    assert read[0].task.prompt == methods.prompt


# ----------------------------------------------------------------------------------------- grading, reporting


def graded(file, answers, tmp_path):
    samples = tmp_path / "samples.jsonl"
    names = {"P/1": "f", "P/1~doubled": "g", "P/2": "f", "P/2~negative-result": "f"}
    rows = [{"task_id": key, "completion": WORKAROUND.format(names[key], body)} for key, body in answers.items()]
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return truegrade.grade(samples, benchmark=str(file), out=tmp_path / "run")


def marks(run):
    (journal,) = run.path.glob("verdicts.strict*.jsonl")
    lines = journal.read_text().splitlines()
    return {(row := json.loads(line))["problem_id"]: (row["passed"], row["marks"]) for line in lines}


def test_the_answer_of_the_original_to_the_changed_problem_is_marked_and_counted(file, tmp_path):
    answers = {"P/1": "x", "P/1~doubled": "x", "P/2": "x + 5", "P/2~negative-result": "7"}
    run = graded(file, answers, tmp_path)
    found = marks(run)
    assert found["P/1~doubled"] == (False, ["reverted"]) and found["P/2~negative-result"] == (False, [])
    assert found["P/1"] == (True, [])
    profile = run.summary["profiles"][0]
    changed = profile["reasoning"]["changed"]
    rates = {one["metric"]: one["value"] for one in changed["rates"]["estimates"]}
    assert rates == {"OC": 1.0, "MC": 0.0, "OR": 0.0, "MR": 0.5}
    assert changed["rates"]["difference"]["difference"] == -1.0 and changed["rates"]["difference"]["pairs"] == 2
    assert [one["metric"] for one in profile["estimates"]][:2] == ["original_pass@1", "changed_pass@1"]
    assert {(one["by"], one["value"]) for one in changed["groups"]} >= {("month", "2024-01"), ("rule", "doubled")}
    # pass@1 by month is of the originals alone
    assert {one["value"]: one["rate"]["value"] for one in profile["splits"] if one["by"] == "month"} == {
        "2024-01": 1.0, "2024-03": 1.0,
    }  # fmt: skip


def test_the_report_shows_both_beside_each_other(file, tmp_path):
    command = [
        "run",
        str(file),
        "--model",
        "baseline/reference",
        "--out",
        str(tmp_path / "run"),
        "--cutoff",
        "2024-02-01",
    ]
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 0, told.output
    assert "Originals and changed problems" in told.stdout and "cut-off after 2024-02-01" in told.stdout
    page = (tmp_path / "run" / "report.html").read_text()
    assert "right by the original&#x27;s tests" in page or "right by the original's tests" in page
    assert "By group of pairs" in page and "negative-result" in page


def test_pairs_are_split_by_group_and_compared_in_pairs():
    right, wrong, old = (Draw(c, c, c, r, True, False) for c, r in ((True, False), (False, False), (False, True)))
    prompts, draws, tags = [], {}, {}
    for number in range(6):
        tags[f"P/{number}"] = {"benchmark": "a" if number < 4 else "b"}
        for shown, samples in (
            ("original", [right]),
            ("mutant", [old if number < 2 else wrong if number < 3 else right]),
        ):
            name = f"P/{number}{shown}"
            prompts.append(PredictionPrompt(id=name, cluster=f"P/{number}", item=f"P/{number}", case=0,
                                            shown=shown, differs=True))  # fmt: skip
            draws[name] = samples
    found = summarise_changed(prompts, tags, draws)
    assert {one.metric: one.value for one in found.rates.estimates} == {
        "OC": 1.0, "MC": 0.5, "OR": 0.0, "MR": pytest.approx(1 / 3),
    }  # fmt: skip
    assert found.rates.difference.difference == -0.5 and found.rates.difference.clusters == 6
    by = {one.value: one.rates.difference.difference for one in found.groups}
    assert by == {"a": -0.75, "b": 0.0}


# ---------------------------------------------------------------------------------------------- the command


@pytest.fixture
def originals(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    row = {
        "id": "len", "prompt": "Write a function to count the items of a list.", "entry_point": "size",
        "tests": ["assert size([1, 2]) == 2", "assert size([4]) == 1"],
        "reference": "def size(a):\n    return len(a)\n",
        "shown_tests": ["assert size([4]) == 1"],
    }  # fmt: skip
    other = {**row, "id": "echo", "prompt": "Return it.", "reference": "def size(a):\n    return len(a) + 0\n"}
    (tmp_path / "own.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(other) + "\n")
    return tmp_path


def test_the_command_writes_a_file_that_a_run_takes(originals):
    command = [
        "data",
        "change",
        "own.jsonl",
        "--out",
        "changed.jsonl",
        "--rules",
        "doubled",
        "--show",
        "1",
    ]
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 0, told.output
    assert "own: 1 of 2 problems changed" in told.stdout and "1 not changed: no rule fits" in told.stdout
    assert (
        "What is returned is twice the number asked for." in told.stdout and "assert size([4]) == 2" in told.stdout
    )
    run = truegrade.run("changed.jsonl", model="baseline/reference", out="run")
    rates = run.summary["profiles"][0]["reasoning"]["changed"]["rates"]
    assert {one["metric"]: one["value"] for one in rates["estimates"]}["MC"] == 1.0
    again = CliRunner().invoke(main, [*command[:-2], "--json"])
    assert json.loads(again.stdout)["proposals"] == {"proposed": 1, "kept": 1, "thrown_away": 0, "not_needed": 0}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--rules", "dubled"], "change rule"),
        (["--check-model", "openai/m"], "goes with --model"),
        (["--rules", "order"], "no problem could be changed"),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_a_line(more, problem, originals):
    told = CliRunner().invoke(main, ["data", "change", "own.jsonl", "--out", "changed.jsonl", *more])
    assert told.exit_code == 2 and problem in told.stderr and not (originals / "changed.jsonl").exists()


def test_a_model_words_what_another_reply_must_solve(originals, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    asked = []

    def answer(body):
        asked.append(body["messages"][-1]["content"])
        if "Second program" in asked[-1]:
            return scripted.Answer(
                scripted.chat("```\nWrite a function to count the items of a list, less one.\n```")
            )
        code = "```python\ndef size(a):\n    return len(a) - 0\n```"
        return scripted.Answer(scripted.chat(code))

    with scripted.scripted_server(answer) as server:
        command = ["data", "change", "own.jsonl", "--out", "changed.jsonl", "--model", "openai/m",
                   "--base-url", server.url, "--rules", "doubled"]  # fmt: skip
        told = CliRunner().invoke(main, command)
    assert told.exit_code == 2 and "doubled; thrown away: 1 a second reply could not solve" in told.stdout
    assert len(asked) == 2 and "len(a)" not in asked[1]
