"""`export`, and `grade --limit`, on the command line."""

import json

import pytest


def test_a_run_is_exported_and_graded_again(cli, tmp_path):
    assert cli("run", "humaneval", "--model", "baseline/reference", "--limit", "2", "--out", "r")[0] == 0
    code, out, _ = cli("export", "r", "--format", "human-eval")
    assert (code, out) == (0, "r/samples.human-eval.jsonl\n")
    code, out, _ = cli("export", "r", "--format", "bigcode", "--out", "g.json", "--json")
    assert (code, json.loads(out)) == (0, {"file": "g.json"})
    code, _, err = cli("grade", "g.json", "-b", "humaneval", "--out", "again")
    assert code == 2 and "--limit 2" in err and err.count("\n") == 1
    code, out, _ = cli("grade", "g.json", "-b", "humaneval", "--limit", "2", "--out", "again", "--json")
    assert code == 0 and json.loads(out)["profiles"][0]["estimates"][0]["value"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "nowhere", "--format", "blog"), ("nowhere",)),
        (("export", "r", "--format", "blgo"), ("no exporter 'blgo'", "blog")),
        (("export", "r", "--format", "evalplus-results", "--as", "human-eval"), ("--as human-eval",)),
        (("export", "r", "--format", "blog", "--out", "no/such/folder.json"), ("no/such/folder.json", "--out")),
        (("grade", "r", "--limit", "1"), ("--limit", "knows its own")),
        (("run", "humaneval", "--reuse", "nowhere.json"), ("nowhere.json",)),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(cli, arguments, words):
    assert cli("run", "humaneval", "--model", "baseline/empty", "--limit", "1", "--out", "r")[0] == 0
    code, out, err = cli(*arguments)
    assert code == 2
    assert err.count("\n") == 1, err
    assert all(word in err for word in words), err
    assert out == ""


def test_limit_takes_the_rows_of_its_problems_from_a_file_with_ids(cli, tmp_path):
    rows = [{"task_id": f"HumanEval/{i}", "completion": "    pass\n"} for i in range(4)]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = cli("grade", "s.jsonl", "-b", "humaneval", "--limit", "2-3", "--json")
    assert code == 0, err
    assert [task[0] for task in json.loads(out)["profiles"][0]["tasks"]] == ["HumanEval/1", "HumanEval/2"]
