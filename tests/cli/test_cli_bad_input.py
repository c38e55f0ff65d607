"""Whatever is wrong with the input: one line that names file, line and field, exit code 2, nothing lost."""

import json

import pytest

from truegrade.api import load


def write(path, *rows):
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return str(path)


GOOD = {"task_id": "HumanEval/23", "completion": "    return len(string)\n"}

BAD_FILES = {
    "wrong column": ([GOOD, {"task_id": "HumanEval/23", "answer": "x"}], ("line 2", "completion")),
    "wrong type": ([GOOD, {"task_id": "HumanEval/23", "completion": 7}], ("line 2", "completion")),
    "torn line": ([GOOD, '{"task_id": "HumanEval/23", "comp'], ("line 2",)),
    "no JSON": ([GOOD, "def f(): pass\n"], ("line 2",)),
    "unknown task": ([GOOD, {**GOOD, "task_id": "HumanEval/999"}], ("line 2", "HumanEval/999", "task_id")),
    "empty file": ([], ()),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_of_completions_is_refused_before_anything_is_written(cli, tmp_path, case):
    rows, words = BAD_FILES[case]
    path = write(tmp_path / "bad.jsonl", *("\n" if row is GOOD else row for row in rows))
    code, out, err = cli("grade", path, "--benchmark", "humaneval", "--format", "samples-jsonl")
    assert code == 2
    assert err.count("\n") == 1, err
    assert all(word in err for word in ("bad.jsonl", *words)), err
    assert out == ""
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("case", [case for case in BAD_FILES if case != "empty file"])
def test_a_bad_row_among_good_ones_is_named_and_they_are_graded(cli, tmp_path, case):
    rows, words = BAD_FILES[case]
    code, _, err = cli("grade", write(tmp_path / "bad.jsonl", *rows), "--benchmark", "humaneval", "--out", "r")
    assert code == 0, err
    assert all(word in err for word in ("bad.jsonl", *words)), err
    assert load(tmp_path / "r").summary["answered"] == 1


def test_a_second_answer_with_the_same_sample_number_is_refused(cli, tmp_path):
    code, _, _ = cli("run", "humaneval", "--model", "baseline/empty", "--limit", "1", "--out", "r")
    assert code == 0
    line = (tmp_path / "r" / "completions.jsonl").read_text()
    path = write(tmp_path / "twice.jsonl", line, line)
    code, _, err = cli("grade", path, "--benchmark", "humaneval")
    assert code == 2
    assert "HumanEval/0" in err
    assert "twice" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "humanevil"), ("no benchmark 'humanevil'", "humaneval")),
        (("run", "humaneval", "--as", "strikt"), ("no profile 'strikt'", "strict")),
        (("run", "humaneval", "--as", "human-eval@1"), ("human-eval@6d43fb9",)),
        (("run", "humaneval", "--model", "baseline/refrence"), ("refrence", "reference")),
        (("run", "humaneval", "--model", "opnai/gpt-4o"), ("opnai", "openai")),
        (("run", "humaneval", "--model", "openai/gpt-4o"), ("OPENAI_API_KEY",)),
        (("run", "humaneval", "--model", "replay:none.jsonl"), ("none.jsonl",)),
        (("run", "humaneval", "--id", "HumanEval/999"), ("no problem 'HumanEval/999'",)),
        (("run", "humaneval", "--limit", "0"), ("--limit", "0: problems are counted from 1")),
        (("run", "humaneval", "--limit", "a-b"), ("--limit", "a-b: give a number")),
        (("run", "humaneval", "-n", "0"), ("-n", "x>=1")),
        (("run", "humaneval", "-T", "colour=red"), ("colour",)),
        (("run", "humaneval", "-T", "prompt=poem"), ("poem", "default")),
        (("run", "humaneval", "--data", "nowhere"), ("nowhere", "no such file")),
        (("run", "cruxeval-output", "--as", "human-eval", "--data", "nowhere"), ("nowhere",)),
        (("grade", "nowhere.jsonl", "--benchmark", "humaneval"), ("nowhere.jsonl", "no such file")),
        (("report", "nowhere"), ("nowhere",)),
        (("compare", "nowhere", "nowhere"), ("nowhere",)),
        (("list", "profiles", "strikt"), ("strict",)),
        (("data", "show", "humanevil"), ("humaneval",)),
        (("schema", "verdicts"), ("verdict",)),
        (("run", "humaneval", "--modle", "x"), ("--modle", "--model")),
        (("run", "humaneval", "--top-k", "0"), ("--top-k", "0")),
        (("run", "humaneval", "--repetition-penalty", "0"), ("--repetition-penalty", "0")),
        (
            ("run", "humaneval", "--model", "baseline/reference", "--top-k", "5"),
            ("baseline/reference cannot be asked for top_k 5",),
        ),
        (
            ("run", "humaneval", "-m", "vllm/x", "--base-url", "http://h:1/v1", "--repetition-penalty", "1.1"),
            ("vllm/x cannot be asked for repetition_penalty 1.1", "-M repetition_penalty=1.1"),
        ),
        (("run",), ("BENCHMARK",)),
        (("exec", "nowhere.py"), ("nowhere.py",)),
        (("run", "humaneval", "-T", "split"), ("split", "key=value")),
        (("rnu", "humaneval"), ("no command 'rnu'", "run")),
    ],
)
def test_a_wrong_name_or_number_is_one_line_and_exit_code_2(cli, tmp_path, arguments, words):
    code, out, err = cli(*arguments)
    assert code == 2
    assert not (tmp_path / "runs").exists()
    assert err.count("\n") == 1, err
    assert all(word in err for word in words), err
    assert out == ""


def test_a_file_without_a_benchmark_says_how_to_name_one(cli, tmp_path):
    code, _, err = cli("grade", write(tmp_path / "s.jsonl", GOOD | {"task_id": "mine/0"}))
    assert code == 2
    assert "--benchmark" in err


def test_ids_of_a_benchmark_name_it(cli, tmp_path):
    code, out, _ = cli("grade", write(tmp_path / "s.jsonl", GOOD), "--out", str(tmp_path / "run"))
    assert code == 0 and out.startswith("humaneval: "), out


@pytest.mark.parametrize(
    "command",
    [("compare", "FILE", "FILE"), ("compare", "--table", "FILE", "FILE"),
     ("report", "FILE")],
)  # fmt: skip
def test_a_file_given_for_a_run_says_how_to_make_one(cli, tmp_path, command):
    path = write(tmp_path / "s.jsonl", GOOD)
    code, _, err = cli(*(path if word == "FILE" else word for word in command))
    assert code == 2
    assert err.count("\n") == 1, err
    assert f"truegrade grade {path} --benchmark NAME" in err
    assert "truegrade check CLAIM FILE" in err


def test_samples_that_a_file_lacks_are_not_asked_for_again(cli, tmp_path):
    rows = [GOOD, GOOD, {**GOOD, "task_id": "HumanEval/0"}]
    code, out, err = cli("grade", write(tmp_path / "s.jsonl", *rows), "--benchmark", "humaneval", "--out", "r")
    assert code == 0, err
    assert "1 of 4 samples are not in the file, which has up to 2 samples per problem" in " ".join(out.split())
    assert "again" not in out
    page = (tmp_path / "r" / "report.html").read_text()
    assert "are not in the file" in page
    assert "asks for them again" not in page


def test_a_refused_k_leaves_nothing_and_loses_nothing(cli, tmp_path):
    command = ("run", "humaneval", "--model", "baseline/empty", "--limit", "3", "--out", "r")
    code, _, err = cli(*command, "-k", "9")
    assert (code, err.count("\n")) == (2, 1) and "raise -n or lower -k" in err
    assert not (tmp_path / "r").exists()
    assert cli(*command)[0] == 0
    verdicts = (tmp_path / "r" / "verdicts.strict@6.jsonl").read_bytes()
    assert verdicts.count(b"\n") == 3
    for again in (command, ("grade", "r", "--as", "human-eval")):
        assert cli(*again, "-k", "9")[0] == 2
    assert (tmp_path / "r" / "verdicts.strict@6.jsonl").read_bytes() == verdicts
    assert len(list((tmp_path / "r").glob("verdicts.*"))) == 1


def test_json_is_json_and_nothing_else(cli):
    for arguments in (
        ("run", "humaneval", "--model", "baseline/empty", "--limit", "1"),
        ("list", "benchmarks"),
        ("list", "profiles"),
        ("list", "profiles", "human-eval"),
        ("list", "models"),
        ("data", "list"),
        ("data", "show", "humaneval"),
        ("doctor",),
    ):
        code, out, err = cli(*arguments, "--json")
        assert code == 0, err
        json.loads(out)
        assert err == ""


def test_half_a_surrogate_pair_in_replies_and_in_what_programs_do_is_graded_reported_and_exported(cli, tmp_path):
    texts = [
        GOOD["completion"],
        "    return len(string)  # \ud800\n",
        "    print(chr(0xD800))\n    return len(string)\n",
        "    return chr(0xDC80)\n",
        "    raise ValueError(chr(0xD800))\n",
        "```python\ndef strlen(string):\n    return '\udfff'\n```",
    ]
    path = write(tmp_path / "half.jsonl", *[{**GOOD, "completion": text} for text in texts])
    profiles = ("strict", "human-eval", "bigcode", "lm-eval-instruct", "blog")
    named = [word for profile in profiles for word in ("--as", profile)]
    code, out, err = cli("grade", path, "--benchmark", "humaneval", *named, "--out", "r", "--json")
    assert code == 0, err
    assert json.loads(out)["profiles"][0]["profile"].startswith("strict")
    run = load("r")
    assert {completion.text for completion in run.completions()} == set(texts)
    passed = {verdict.sample: verdict.passed for verdict in run.verdicts("strict")}
    assert passed[0] and not passed[1] and not any(passed[sample] for sample in (3, 4, 5))
    for profile, file_format in (
        ("strict", "inspect"),
        ("human-eval", "human-eval"),
        ("bigcode", "bigcode"),
        ("blog", "blog"),
    ):
        code, _, err = cli("export", "r", "--format", file_format, "--as", profile, "--out", f"{file_format}.out")
        assert code == 0, err
    code, _, err = cli("grade", "inspect.out", "--benchmark", "humaneval", "--out", "again", "--as", "strict")
    assert code == 0, err
    assert {completion.text for completion in load("again").completions()} == set(texts)
    for command in (
        ("report", "r"),
        ("report", "r", "--format", "json"),
        ("compare", "r", "again", "--as", "strict"),
    ):
        code, _, err = cli(*command)
        assert code == 0, err
