"""`truegrade data build` and `check` from the command line: files, exit codes, one-line refusals."""

import json

import pytest
from click.testing import CliRunner

from truegrade.benchmarks import load_benchmark
from truegrade.builders.dsl_list import DslListOptions, variant_of
from truegrade.builders.list_language import Type
from truegrade.cli import main
from truegrade.errors import UnknownName, UserError


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Run `truegrade data ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["data", *arguments])


def test_dsl_list_with_mutants_is_built_twice_the_same_and_checks(data, tmp_path):
    for out in ("a.jsonl", "b.jsonl"):
        built = data("build", "dsl-list", "--size", "6", "--out", out)
        assert built.exit_code == 0 and "6 rows" in built.stdout, built.stderr
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    mutants = sum(bool(row["has_mutation"]) for row in rows)
    assert mutants >= 4
    checked = data("check", "a.jsonl")
    assert checked.exit_code == 0 and f"{3 * (6 + mutants)} outputs of 6 rows" in checked.stdout
    fitted = data("build", "dsl-list", "--size", "3", "--no-mutants", "--fit", "a.jsonl", "--out", "c.jsonl")
    assert fitted.exit_code == 0 and "weights fitted to 6 programs" in fitted.stderr


def test_a_set_of_other_arguments_leaves_the_one_of_the_defaults_alone(data, tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path))
    shared = tmp_path / "built" / "dsl-list.jsonl"
    shared.parent.mkdir()
    shared.write_text("what everybody reads")
    built = data("build", "dsl-list", "--size", "2", "--seed", "3", "--no-mutants")
    assert built.exit_code == 0 and shared.read_text() == "what everybody reads"
    assert built.stdout.endswith("evaluate it: truegrade run dsl-list -T built=size-2-seed-3-no-mutants\n")
    loaded = load_benchmark("dsl-list", None, {"built": "size-2-seed-3-no-mutants"})
    assert len(loaded.problems) == 6 and loaded.args == {"built": "size-2-seed-3-no-mutants"}
    with pytest.raises(UnknownName, match="no dsl-list built with 'size-2'; known: size-2-seed-3-no-mutants"):
        load_benchmark("dsl-list", None, {"built": "size-2"})
    with pytest.raises(UserError, match="both choose the file"):
        load_benchmark("dsl-list", shared, {"built": "size-2-seed-3-no-mutants"})


def test_every_argument_of_the_grammar_has_a_file_of_its_own():
    options = DslListOptions(returns=Type.LIST)
    assert variant_of(options) == "" and variant_of(options, mutants=False) == "no-mutants"
    other = DslListOptions(size=20, max_depth=5, grammar="extended", returns=Type.INT, inputs=4)
    assert variant_of(other) == "size-20-max-depth-5-inputs-4-grammar-extended-returns-int"
    weighted = [variant_of(DslListOptions(weights=weights)) for weights in ({"map": {"a": 1.0}}, {})]
    assert len({*weighted, ""}) == 3 and all(name.startswith("weights-") for name in weighted)


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_built(data):
    refused = data("build", "dsl-list", "--size", "1000000", "--out", "/proc/nowhere/a.jsonl")
    assert refused.exit_code == 2
    assert "/proc/nowhere/a.jsonl: cannot be written" in refused.stderr and "--out" in refused.stderr


def test_check_ends_with_1_where_an_output_differs(data, tmp_path):
    row = {"id": "r", "function_name": "f", "code": "def f(n):\n    return n\n", "input": "f(1)", "output": "2"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    checked = data("check", "rows.jsonl")
    assert checked.exit_code == 1 and "r, original, case 0: recorded 2, found 1" in checked.stdout
    as_json = data("check", "rows.jsonl", "--json")
    assert as_json.exit_code == 1 and json.loads(as_json.stdout)["differences"][0]["found"] == "1"


def test_submissions(data, tmp_path):
    code = "class Solution:\n    def f(self, n):\n        return -n\n"
    (tmp_path / "s.json").write_text(json.dumps([{"question_id": 1, "code": code, "example": "5"}]))
    collected = data("build", "leetcode", "s.json")
    assert collected.exit_code == 0 and "1 rows" in collected.stdout
    assert json.loads((tmp_path / "leetcode.jsonl").read_text())["output"] == "-5"


def test_a_set_with_nothing_in_it_is_an_error_and_says_why(data, tmp_path):
    code = "class Solution:\n    def f(self, n):\n        self.n = n\n        return self.n\n"
    (tmp_path / "s.json").write_text(json.dumps([{"question_id": 1, "code": code, "example": "5"}]))
    made = data("build", "leetcode", "s.json")
    assert made.exit_code == 2 and "no row could be made" in made.stderr
    assert "1 left out" in made.stdout and not (tmp_path / "leetcode.jsonl").exists()
    told = data("build", "leetcode", "s.json", "--json")
    assert told.exit_code == 2 and len(json.loads(told.stdout)["refused"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("build", "dsl-list", "--grammar", "publishd"), "did you mean published"),
        (("build", "dsl-list", "--max-depth", "1"), "--max-depth"),
        (("build", "dsl-list", "--weights", "w", "--fit", "f"), "give one of them"),
        (("build", "dsl-list", "--fit", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
        (("build", "mine", "src"), "use `truegrade data build repository PATH --out FOLDER`"),
        (("build", "leetcode", "nowhere"), "no such file or folder"),
        (("build", "llm-list", "--model", "nobody/x"), "nobody"),
        (("check", "nowhere.jsonl"), "cannot be read"),
    ],
)
def test_what_is_wrong_is_one_line(data, arguments, said):
    refused = data(*arguments)
    assert refused.exit_code == 2 and said in refused.stderr and refused.stderr.count("\n") == 1
