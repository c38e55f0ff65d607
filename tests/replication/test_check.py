"""`check`: a claim and a file, one answer, one grading."""

import json

import pytest
from click.testing import CliRunner
from replication_runs import make_run

from support import contest_files
from support.thorough import one_in
from truegrade.benchmarks import load_benchmark
from truegrade.cli import main
from truegrade.pipeline.summary import read_summary
from truegrade.store import Run

OPTIONS = ("--benchmark", "mbpp-sanitized", "-T", "split=prompt")
TASKS = 7


@pytest.fixture
def home(tmp_path, monkeypatch, data_dir):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(data_dir))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def invoke(*arguments):
    result = CliRunner().invoke(main, [str(word) for word in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def load(folder):
    return read_summary(Run.open(folder))


def published(path, **changed):
    """Every reference as a row that is recorded as passed; ``changed`` is by place of the task."""
    rows = [
        {"task_id": problem.id, "solution": problem.task.reference, "passed": True, "model": "m-1"}
        for problem in load_benchmark("mbpp-sanitized", None, {"split": "prompt"}).problems
    ]
    for place, fields in changed.items():
        rows[int(place[1:])] |= fields
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_right_claim_about_a_clean_file_is_confirmed_and_graded_once(home):
    done = invoke("check", "100.0", published(home / "f.jsonl"), *OPTIONS, "--out", "r")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("confirmed: pass@1 = 100.0 %")
    assert "the claim equals the flags of the file: 7 of 7 by passed\n" in done.stdout
    assert "7 in total, 7 already done" in done.stderr
    assert "<h2" in (home / "r" / "report.html").read_text()
    assert "no audit" not in invoke("check", "100.0", "r").stdout


def test_a_number_that_rests_on_flags_without_programs_should_not_count(home):
    """Six of seven by the flags and by the tests, and not the same six."""
    path = published(home / "f.jsonl", _0={"solution": ""}, _1={"passed": False})
    done = invoke("check", "85.7", path, *OPTIONS, "--out", "r")
    assert done.exit_code == 1
    assert done.stdout.startswith("number confirmed, but it should not count: pass@1 = 85.7 %")
    said = "the claim equals the flags of the file: 6 of 7 by passed; 1 of these have no program"
    assert said in " ".join(done.stdout.split())
    assert "flag-without-program" in done.stdout
    held = invoke("check", "85.7", "r", "--n", TASKS)
    assert held.exit_code == 1
    assert "the audit stored with the run reports errors" in held.stdout
    assert "contain no program" in held.stdout
    assert "contain no program" in (home / "r" / "report.html").read_text()


TRAILING = {
    "HumanEval/64": "    return None\n@(lambda tests: print)\n",
    "HumanEval/65": "    return None\ndef skip(tests):\n    return print\n\n\n@skip\n",
    "HumanEval/68": "    return None\nasync \\",
}


def trailing(path, **more):
    rows = [{"task_id": name, "completion": text, "passed": True} for name, text in (TRAILING | more).items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_passes_on_tests_that_the_reply_changed_should_not_count(home):
    path = trailing(home / "f.jsonl")
    given = ("--benchmark", "humaneval", "--as", "human-eval", "--n", 3, "--out", "r")
    done = invoke("check", "100", path, *given)
    assert done.exit_code == 1
    assert done.stdout.startswith("number confirmed, but it should not count: pass@1 = 100 %")
    said = " ".join(done.stdout.split())
    assert "pass-on-joined-tests: 3 of the 3 passes under human-eval@6d43fb9 should not count" in said
    assert "pass-refused-by-strict: 3 of the 3 passes under human-eval@6d43fb9 fail under strict" in said
    assert "truncated" not in said and "strict@" in said
    warned = [one for one in load("r").warnings if one.code == "joined-tests"]
    assert [(one.count, one.of, one.profiles) for one in warned] == [(3, 3, ("human-eval@6d43fb9",))]
    assert "rest on tests that the end of the program changed" in (home / "r" / "report.html").read_text()
    assert "pass-on-joined-tests" in invoke("check", path, *given[:4]).stdout


def test_passes_on_changed_tests_that_strict_confirms_count(home):
    """A base model's stop at the next ``def`` leaves its decorator, which the harness puts on its test."""
    references = {problem.id: problem.task.reference for problem in load_benchmark("humaneval").problems}
    ends = {name: f"{references[name]}\n\n@staticmethod" for name in TRAILING}
    given = ("--benchmark", "humaneval", "--as", "human-eval", "--n", 3)
    done = invoke("check", "100", trailing(home / "f.jsonl", **ends), *given)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("confirmed: pass@1 = 100 %")
    assert "3 of the 3 passes under human-eval@6d43fb9 rest on tests that the end" in " ".join(done.stdout.split())
    one = ends | {"HumanEval/64": TRAILING["HumanEval/64"]}
    done = invoke("check", "100", trailing(home / "f.jsonl", **one), *given)
    assert done.exit_code == 1
    assert "1 of the 3 passes under human-eval@6d43fb9 should not count" in " ".join(done.stdout.split())


def test_what_strict_alone_refuses_is_counted_beside_the_confirmation(home):
    """An object that equals everything is a pass of the harness, whose tests are as they were."""
    equal = "    class A:\n        __eq__ = lambda self, other: True\n    return A()\n"
    path = home / "f.jsonl"
    path.write_text(json.dumps({"task_id": "HumanEval/64", "completion": equal}) + "\n")
    done = invoke("check", "100", path, "--benchmark", "humaneval", "--as", "human-eval", "--n", 1, "--out", "r")
    assert done.stdout.startswith(
        "confirmed by human-eval@6d43fb9 alone: 1 of its passes fail under strict: pass@1"
    )
    assert done.exit_code == 0


def test_first_samples_are_a_metric_and_other_names_are_refused_before_grading(home):
    path = published(home / "f.jsonl", _0={"solution": "def f(): pass", "passed": False})
    done = invoke("check", "85.7", path, *OPTIONS, "--metric", "first_sample", "--out", "r")
    assert (done.exit_code, done.stdout.split(" of ")[0]) == (0, "confirmed: first_sample = 85.7 %")
    refused = invoke("check", "85.7", path, *OPTIONS, "--metric", "first-sample", "--out", "s")
    assert refused.exit_code == 2 and "first_sample" in refused.stderr and not (home / "s").exists()


@pytest.mark.parametrize(
    ("claim", "answer", "words"),
    [
        (
            "100",
            "differs from this file",
            "the claim equals the flags of the file: 7 of 7 by passed; 3 of these have no program",
        ),
        ("57.4", "differs from this file", "no count out of 7 prints as 57.4"),
        ("57.1", "number confirmed, but it should not count", "measured: 4 of 7 draws, which prints as 57.1"),
    ],
)
def test_other_answers_in_json(home, claim, answer, words):
    path = published(home / "f.jsonl", _0={"solution": ""}, _1={"solution": ""}, _2={"solution": "# later"})
    done = invoke("check", claim, path, *OPTIONS, "--n", TASKS, "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["answer"] == answer
    assert words in " ".join(found["why"])
    assert found["audit"]["findings"][0]["flags"] == ["passed"]
    assert len(found["replication"]["condemned"]) == 2


@pytest.mark.parametrize(
    ("claim", "headline", "independent"),
    one_in(
        2,
        [
            ("71.4", "differs from this file by 1 of 7 draws", "an independent draw could give 71.4 %"),
            ("42.9", "differs from this file by 1 of 7 draws", "an independent draw could give 42.9 %"),
            ("0", "differs from this file by 4 of 7 draws", "the claim of 0 % lies outside the 95 % interval"),
            ("56.9", "differs from this file, as does every count out of 7", "no count out of 7 prints as 56.9"),
        ],
    ),
)
def test_a_number_that_the_file_does_not_have_is_not_confirmed_by_its_interval(home, claim, headline, independent):
    """4 of 7 right, 57.1 %, with an interval that contains most claims."""
    wrong = {"solution": "def nothing():\n    pass\n", "passed": False}
    path = published(home / "f.jsonl", _0=wrong, _1=wrong, _2=wrong)
    done = invoke("check", claim, path, *OPTIONS)
    assert done.exit_code == 1
    first, *others = done.stdout.splitlines()
    assert first == f"{headline}: pass@1 = {claim} % of {path}"
    assert others[0].startswith("  measured: 4 of 7 draws, 57.1")
    assert independent in " ".join(done.stdout.split())


def test_digits_that_fit_only_truncated_are_confirmed_and_said_to_be(home):
    wrong = {"solution": "def nothing():\n    pass\n", "passed": False}
    done = invoke("check", "28.5", published(home / "f.jsonl", **{f"_{n}": wrong for n in range(5)}), *OPTIONS)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("confirmed, fits only truncated: pass@1 = 28.5 %")
    assert "2 of 7 draws, 28.571 %; 28.5 fits only truncated, rounded it prints as 28.6" in done.stdout


def test_a_claim_about_other_samples_than_the_file_holds_cannot_be_checked(home):
    path = published(home / "f.jsonl")
    for options in (("--samples", 5), ("--n", 5 * TASKS)):
        done = invoke("check", "100.0", path, *OPTIONS, *options)
        assert done.exit_code == 1
        assert done.stdout.startswith("cannot be checked")
        assert "the claim is about 5 samples per problem, this file holds 1" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("lots", "f.jsonl"), "claim 'lots': a percentage"),
        (("50", "none.jsonl"), "none.jsonl: no such file"),
        (("50", "empty"), "empty: holds no run and no file of completions"),
        (("50", "f.jsonl", "--metric", "pas@1"), "no metric 'pas@1'"),
        (("50", "f.jsonl", "--previous", "none.jsonl"), "none.jsonl: no such file"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_graded(home, arguments, words):
    (home / "empty").mkdir()
    published(home / "f.jsonl")
    done = invoke("check", *arguments, *OPTIONS)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (home / "runs").exists()


def test_a_claim_about_a_window_of_contests_is_held_against_it(home):
    """Rows of the file that lie outside the window are audited all the same."""
    right, wrong = "print(sum(map(int, input().split())))", "print(-1)"
    days = {"a": "2024-03-01", "b": "2024-09-01", "c": "2024-09-02"}
    rows = [contest_files.row(name, contest_date=f"{day}T00:00:00") for name, day in days.items()]
    contest_files.write_rows(home / "rows.jsonl", rows)
    codes = {"a": wrong, "b": right, "c": right}
    answers = [{"question_id": name, "code_list": [code]} for name, code in codes.items()]
    (home / "answers.json").write_text(json.dumps(answers))
    named = ("answers.json", "-b", "livecodebench", "--data", "rows.jsonl", "-T", "start=2024-08-01", "--out", "r")
    done = invoke("check", "100.0", *named, "--n", 2, "--json")
    assert done.exit_code == 0, done.output
    assert "start=2024-08-01 alone; the audit looks at the whole file" in done.stderr
    found = json.loads(done.stdout)
    assert (found["answer"], found["replication"]["tasks"], found["audit"]["tasks"]) == ("confirmed", 2, 3)


def test_a_run_of_a_file_that_nobody_audited_says_so(tmp_path):
    run = make_run(tmp_path / "r", {"strict": [[task < 5] for task in range(10)]})
    done = invoke("check", "50.0", run.path)
    assert done.exit_code == 0
    assert "the imported file was not audited" in " ".join(done.stdout.split())
    assert "truegrade check 50.0 FILE" in " ".join(done.stdout.split())
    found = json.loads(invoke("check", "50.0", run.path, "--json").stdout)
    assert (found["audited"], found["condemned"]) == (False, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("0.677", "x.jsonl"), "a claim is in percent: write 67.7 if 0.677 is a fraction, else 0.677%"),
        (("67.7",), "67.7 is a number: name what it is about, truegrade check 67.7 FILE"),
        ((".", "67.7"), "the claim comes first: truegrade check 67.7 ."),
        (("67.7", "68.1", "f.jsonl"), "one claim and one run or file are needed"),
        (("f.jsonl", "--n", 7), "--n is about a claim, and none is given: truegrade check 67.7 f.jsonl"),
        (("f.jsonl", "--out", "r"), "--out is about a claim"),
        (("50.0", "r", "--shots", "Mbpp/2"), "--shots is about grading, and a claim about the run r grades none"),
        (("50.0", "r", "--format", "samples-jsonl"), "--format is about grading"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(home, arguments, words):
    published(home / "f.jsonl")
    make_run(home / "r", {"strict": [[task < 5] for task in range(10)]})
    done = invoke("check", *arguments)
    assert done.exit_code == 2
    assert words in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_the_environment_s_word_on_protection_is_no_option_of_a_claim_about_a_run(home, monkeypatch):
    monkeypatch.setenv("TRUEGRADE_ALLOW_UNSAFE", "1")
    run = make_run(home / "r", {"strict": [[task < 5] for task in range(10)]})
    assert invoke("check", "50.0", run.path).exit_code == 0
