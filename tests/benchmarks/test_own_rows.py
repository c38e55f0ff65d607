"""A benchmark of JSON Lines: asked, graded, imported, resumed; every fault of a row is one line that names it."""

import json

import jsonschema
import pytest
from click.testing import CliRunner

import truegrade
from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.own_rows import BenchmarkRow
from truegrade.cli import main
from truegrade.cli.schemas import json_schema
from truegrade.errors import UserError
from truegrade.kinds import problem_kind

DOUBLE = {
    "id": "double", "prompt": "Return twice x.", "entry_point": "double",
    "tests": ["assert double(2) == 4", "assert double(-1) == -2"], "reference": "def double(x): return 2 * x",
}  # fmt: skip
INC = {
    "id": 7, "prompt": 'import math\n\ndef inc(x):\n    """Add one."""\n', "entry_point": "inc",
    "tests": "assert inc(2) == math.floor(3.5)", "reference": "    return x + 1\n", "tags": {"level": "first"},
}  # fmt: skip
ECHO = {
    "id": "echo", "prompt": "Print what you read.", "tests": [{"input": "1\n", "output": "1\n"}],
    "reference": "print(input())",
}  # fmt: skip
ROWS = (DOUBLE, INC, ECHO)
BY_PYTEST = {
    "id": "stack", "prompt": "Write the class Stack with push and pop.", "entry_point": "Stack",
    "framework": "pytest", "module": "stacks", "files": {"told/words.txt": "words"},
    "tests": """
import pytest
from stacks import Stack

@pytest.fixture
def two():
    made = Stack()
    made.push(1)
    made.push(2)
    return made

@pytest.mark.parametrize("value", [3, "x"])
def test_last_comes_first(two, value):
    two.push(value)
    assert [two.pop(), two.pop()] == [value, 2]

def test_a_file():
    assert Stack(open("told/words.txt").read()).pop() == "s"

def test_empty():
    with pytest.raises(IndexError):
        Stack().pop()
""",
    "reference": "class Stack(list):\n    push = list.append\n",
}  # fmt: skip
BY_UNITTEST = {
    "id": "thrice", "prompt": "def thrice(x):\n    \"\"\"Three times x.\"\"\"\n", "entry_point": "thrice",
    "framework": "unittest",
    "tests": "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n"
    "        self.assertEqual(thrice(5), 15)\n",
    "reference": "    return x * 3\n",
}  # fmt: skip


def write(folder, *rows, header=None):
    path = folder / "my.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if header is not None:
        (folder / "my.toml").write_text(header)
    return path


@pytest.fixture
def at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_rows_are_problems_of_the_kinds_there_are(tmp_path):
    loaded = load_benchmark(str(write(tmp_path, *ROWS)))
    assert [(p.id, problem_kind(p.task)) for p in loaded.problems] == [
        ("double", "description"), ("7", "function"), ("echo", "contest"),
    ]  # fmt: skip
    assert loaded.name == "my" and loaded.problems[1].tags == {"level": "first"}
    assert loaded.problems[1].task.reference.endswith('"""\n    return x + 1\n')
    assert loaded.problems[1].task.tests_use == ()  # the prompt imports it


def test_programs_with_calls_and_outputs_are_read_as_predictions(tmp_path):
    row = {
        "id": "inc",
        "function_name": "f",
        "code": "def f(x):\n    return x + 1",
        "input": "f(1)",
        "output": "2",
    }
    path = write(tmp_path, row)
    loaded = load_benchmark(str(path))
    assert [(p.id, problem_kind(p.task)) for p in loaded.problems] == [("inc", "output_prediction")]
    assert loaded.name == "my" and loaded.problems[0].task.expected == "2"
    done = truegrade.run(str(path), model="baseline/reference", out=tmp_path / "run")
    assert done.summary["profiles"][0]["estimates"][0]["value"] == 1.0
    assert truegrade.grade(tmp_path / "run").summary == done.summary


def test_a_module_of_unit_tests_grades_a_class_and_a_function(at):
    write(at, BY_PYTEST, BY_UNITTEST)
    loaded = load_benchmark("my.jsonl")
    assert [problem_kind(problem.task) for problem in loaded.problems] == ["suite", "suite"]
    stack, thrice = (problem.task for problem in loaded.problems)
    assert (stack.framework, stack.module, stack.prefix) == ("pytest", "stacks", "")
    assert thrice.reference == BY_UNITTEST["prompt"] + BY_UNITTEST["reference"]
    run = truegrade.run("my.jsonl", model="baseline/reference", out="r")
    assert [(one.passed, one.detail) for one in run.verdicts()] == [(True, "")] * 2
    wrong = {
        "first in first out": (
            "stack",
            "class Stack(list):\n    push = lambda self, value: self.insert(0, value)\n",
        ),
        "an end": ("stack", "import os\nclass Stack:\n    def __init__(self): os._exit(0)\n"),
        "no class": ("stack", "Stack = None\n"),
        "a word": ("thrice", "def thrice(x): return 'xxx'\n"),
    }
    lines = [json.dumps({"task_id": name, "solution": program}) for name, program in wrong.values()]
    (at / "answers.jsonl").write_text("\n".join(lines))
    assert not any(one.passed for one in truegrade.grade("answers.jsonl", benchmark="my.jsonl").verdicts())


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"framework": "nose"}, "field 'framework': "),
        ({"entry_point": ...}, "field 'entry_point': the field is missing; name the function or class"),
        ({"reference": ...}, "field 'reference': the field is missing"),
        ({"reference": "class Heap: pass"}, "field 'reference': defines no 'Stack'"),
        ({"tests": ["assert Stack()"]}, "field 'tests': is no text"),
        ({"tests": "from stacks import"}, "field 'tests': is no Python"),
        ({"tests": "from stacks import Stack\nassert Stack"}, "field 'tests': holds no test"),
        ({"tests": "def test_it():\n    assert True\n"}, "field 'tests': never import 'stacks'"),
        ({"tests": "def test_it():\n    pass\n", "module": ...}, "field 'tests': never use 'Stack'"),
        ({"module": "stacks.py "}, "field 'module': is no name of a module"),
        (
            {"module": ...},
            "field 'module': the field is missing, and the tests import 'Stack' from 'stacks'; give",
        ),
        (
            {"module": ..., "tests": "import stacks as s\ndef test_it():\n    s.Stack()\n"},
            "field 'module': the field is missing, and the tests import 'Stack' from 'stacks'",
        ),
        (
            {"module": "json", "tests": "from json import Stack\ndef test_it():\n    Stack()\n"},
            "field 'module': 'json' hides the module of that name",
        ),
        ({"module": "pytest.sub"}, "field 'module': 'pytest.sub' hides the module of that name"),
        ({"reference": "class Stack(\n"}, "field 'reference': is no Python: '(' was never closed (line 1"),
        ({"files": {"../up.txt": ""}}, "field 'files': leads out of the working directory"),
        ({"framework": ..., "module": ..., "files": {"a": ""}}, "field 'files': is for modules of unit tests"),
        ({"framework": ...}, "field 'module': is for modules of unit tests"),
        ({"shown_tests": ["assert Stack"]}, "field 'shown_tests': are for functions"),
    ],
)
def test_a_wrong_row_with_a_framework_is_told_in_one_line(tmp_path, row, message):
    changed = {name: value for name, value in {**BY_PYTEST, **row}.items() if value is not ...}
    with pytest.raises(UserError) as told:
        load_benchmark(str(write(tmp_path, changed)))
    assert f"my.jsonl, line 1, {message}" in str(told.value) and "\n" not in str(told.value)
    loaded = load_benchmark(str(write(tmp_path, ECHO, changed)))
    assert [one.id for one in loaded.problems] == ["echo"] and f"my.jsonl, line 2, {message}" in loaded.left_out[
        "stack"
    ]


def test_a_row_may_bring_the_module_from_which_its_tests_import(tmp_path):
    tests = "from helped import thrice as other\ndef test_it():\n    assert thrice(2) == other(2)\n"
    files = {"helped.py": "def thrice(x):\n    return x + x + x\n"}
    row = {**BY_UNITTEST, "framework": "pytest", "tests": tests, "files": files}
    assert load_benchmark(str(write(tmp_path, row))).problems


def test_a_reference_that_fails_its_tests_is_named_by_its_row(at):
    write(at, ECHO, {**BY_UNITTEST, "reference": "    return x + 3\n"})
    verdicts = truegrade.run("my.jsonl", model="baseline/reference", out="r").verdicts()
    (failed,) = [one.detail for one in verdicts if one.reason == "grader_error"]
    assert failed.startswith("my.jsonl, line 2, field 'reference': does not pass its suite here: T.test_it: ")
    assert failed.endswith("; correct it, or the tests")


def test_a_line_that_is_cut_is_named_where_its_object_begins(tmp_path):
    path = write(tmp_path, DOUBLE)
    path.write_text(path.read_text() + '{"id": "cut", "prompt": "x"\n' + json.dumps(ECHO))
    (cut,) = load_benchmark(str(path)).left_out.values()
    assert "my.jsonl, line 2: is not JSON: Expecting ',' delimiter (column 28); if" in cut


def test_a_path_may_be_a_text(tmp_path):
    path = write(tmp_path, *ROWS)
    args = {"allow_modified": "true"}
    tasks = [
        {
            "task_id": "HumanEval/900",
            "prompt": "def f():\n",
            "entry_point": "f",
            "canonical_solution": "",
            "test": "",
        }
    ]
    (tmp_path / "humaneval.jsonl").write_text("".join(json.dumps(one) + "\n" for one in tasks))
    data = str(tmp_path / "humaneval.jsonl")
    assert load_benchmark("humaneval", data=data, args=args).problems[0].id == "HumanEval/900"
    assert len(load_benchmark(str(path)).problems) == 3
    with pytest.raises(UserError, match=r"no such file|not"):
        load_benchmark("quixbugs", data=str(tmp_path / "missing"))


def test_the_schema_says_what_is_read():
    validator = jsonschema.Draft202012Validator(json_schema("benchmark-row"))
    for row in (*ROWS, BY_PYTEST, BY_UNITTEST):
        validator.validate(row)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"id": "x", "prompt": "y"})
    assert set(json_schema("benchmark-row")["$defs"]["BenchmarkRow"]["properties"]) == set(
        BenchmarkRow.__struct_fields__
    )


def test_a_header_names_and_words(tmp_path):
    header = 'name = "mine"\nlicence = "CC0-1.0"\nprompt = "In Python, as {entry_point}: {prompt}"\n'
    path = write(tmp_path, DOUBLE, header=header)
    loaded = load_benchmark(str(path))
    assert loaded.name == "mine" and loaded.problems[0].task.prompt == "In Python, as double: Return twice x."
    worded = loaded.dataset_sha256
    (tmp_path / "my.toml").write_text(header.replace("CC0-1.0", "MIT"))
    assert load_benchmark(str(path)).dataset_sha256 == worded  # a licence changes no question
    (tmp_path / "my.toml").unlink()
    assert load_benchmark(str(path)).dataset_sha256 != worded


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "a\0b"}, "field 'id': holds a NUL character"),
        ({"prefix": "x\0"}, "field 'prefix': holds a NUL character"),
        ({"prompt": "a \ud800 b"}, "field 'prompt': holds half a surrogate pair"),
        ({"tests": ["assert double(1) == 2 # \ud800"]}, "field 'tests[0]': holds half a surrogate pair"),
        ({"reference": "def double(x):\n    return 2 * x # \ud800"}, "field 'reference': holds half"),
        ({"files": {"a\ud800": ""}}, "field 'files': holds half a surrogate pair"),
        ({"entry_point": "a b"}, "field 'entry_point': 'a b' is no name that Python can define"),
        ({"entry_point": "class"}, "field 'entry_point': 'class' is no name that Python can define"),
        ({"tests": None}, "field 'tests': expected"),
        ({"prompt": ...}, "field 'prompt': the field is missing"),
        ({"tests": ...}, "field 'tests': the field is missing"),
        (
            {"tests": ..., "test": ["assert double(1) == 2"]},
            "field 'tests': the field is missing; every entry needs it; rename 'test' to 'tests'",
        ),
        (
            {
                "id": ...,
                "task_id": 2,
                "prompt": ...,
                "text": "?",
                "tests": ...,
                "test_list": [],
                "code": "",
                "x": 1,
            },
            "field 'id': the field is missing; every entry needs it; rename 'task_id' to 'id', 'text' to 'prom",
        ),
        (
            {"entry_point": ..., "tests": ..., "Tests": []},
            "field 'tests': the field is missing; every entry needs it; the row has 'Tests': ren",
        ),
        ({"reference": ...}, "field 'reference': the field is missing"),
        ({"reference": "def other(): pass"}, "field 'reference': defines no 'double'"),
        ({"reference": "class double: pass"}, "field 'entry_point': is a class of the reference"),
        ({"tests": "assert double(2) =="}, "field 'tests': is no Python: invalid syntax"),
        ({"tests": ["assert 1"]}, "field 'tests': never use 'double'"),
        ({"tests": []}, "field 'tests': never use 'double'"),
        ({"tests": [{"input": "1", "output": "2"}]}, "field 'tests': input and output are for programs"),
        ({"tests": [{"input": "1"}], "entry_point": ...}, "field 'tests[0].output': the field is missing"),
        ({"entry_point": ...}, "field 'tests': a row without entry_point is tested by objects"),
        ({"entry_point": ..., "tests": []}, "field 'tests': is empty"),
        ({"prompt": " "}, "field 'prompt': is empty"),
        ({"id": "echo"}, "field 'id': 'echo' is that of line 1, too"),
        ({"shown_tests": "assert"}, "field 'shown_tests': expected"),
    ],
)
def test_a_wrong_row_is_told_in_one_line(tmp_path, row, message):
    changed = {name: value for name, value in {**DOUBLE, **row}.items() if value is not ...}
    path = write(tmp_path, ECHO, changed)
    told = [*load_benchmark(str(path)).left_out.values()]
    assert len(told) == 1 and f"my.jsonl, line 2, {message}" in told[0] and "\n" not in told[0]


def test_one_bad_row_refuses_itself_and_none_that_is_good_a_file(at):
    path = write(at, ECHO, {**DOUBLE, "prompt": ""}, {**DOUBLE, "id": "echo"}, INC)
    done = CliRunner().invoke(main, ["run", str(path), "--model", "baseline/reference", "--out", "r"])
    assert done.exit_code == 0 and "of 2 problems" in done.stdout, done.stderr
    assert "my.jsonl, line 2, field 'prompt': is empty" in done.stderr
    assert "my.jsonl, line 3, field 'id': 'echo' is that of line 1, too" in done.stderr
    assert "not all problems of my; rows of my.jsonl that are at fault: 2" in done.stdout
    loaded = load_benchmark(str(write(at, {"id": "echo"}, ECHO, {**DOUBLE, "prompt": ""})))
    assert [one.id for one in loaded.problems] == ["echo"] and sorted(loaded.left_out) == ["double", "line 1"]
    write(at, {**DOUBLE, "prompt": ""}, {"id": 3})
    done = CliRunner().invoke(main, ["run", str(path), "--out", "other"])
    assert done.exit_code == 2 and done.stderr.count("\n") == 1 and "line 1, field 'prompt'" in done.stderr
    assert not (at / "other").exists()


def test_a_row_whose_tests_accept_a_wrong_program_is_left_out(at):
    wrong = {
        "double": ["def double(x): return x ** 2", "def double(x): return x + x if x > 0 else -2"],
        "7": ["    return x + 2\n", "def inc(x): return 3\n"],
        "echo": ["print(2)", "print(input() + ' ')"],
        "stack": ["class Stack(list):\n    push = list.append\n    pop = lambda self: list.pop(self, 0)\n"],
        "thrice": ["    return x * 2\n"],
    }
    path = write(at, *({**row, "wrong": wrong[str(row["id"])]} for row in (*ROWS, BY_PYTEST, BY_UNITTEST)))
    done = CliRunner().invoke(main, ["run", str(path), "--model", "baseline/reference", "--out", "r"])
    assert done.exit_code == 0 and "of 2 problems" in done.stdout, done.stdout + done.stderr
    faults = truegrade.load("r").manifest.excluded
    assert sorted(faults) == ["7", "double", "echo"]
    assert faults["7"] == (
        "my.jsonl, line 2, field 'wrong[1]': the tests accept it; add a test that it fails, or take it out"
    )
    for fault in faults.values():
        assert f"left out: {fault}" in done.stderr
    again = CliRunner().invoke(main, ["run", str(path), "--model", "baseline/reference", "--out", "r"])
    assert again.exit_code == 0 and truegrade.load("r").manifest.excluded == faults


def test_a_wrong_program_that_never_runs_says_nothing_of_the_tests(at):
    """Else a right one in a fence, or by another name, would pass for one that the tests refuse."""
    never = {"double": "```python\ndef double(x): return x + x\n```", "7": "    return (x + 1\n"}
    rows = [{**row, "wrong": [never[str(row["id"])]]} for row in (DOUBLE, INC)]
    named = {**DOUBLE, "id": "named", "wrong": ["def twice(x): return x + x"]}
    path = write(at, *rows, named, ECHO)
    done = CliRunner().invoke(main, ["run", str(path), "--model", "baseline/reference", "--out", "r"])
    assert done.exit_code == 0 and "of 1 problem" in done.stdout, done.stdout + done.stderr
    assert done.stderr.count("never runs (") == 3 and "give a program that runs, without a fence" in done.stderr


def test_every_row_at_fault_is_named(at):
    path = write(at, ECHO, *({**DOUBLE, "id": f"row {n}", "prompt": ""} for n in range(7)))
    done = CliRunner().invoke(main, ["run", str(path), "--model", "baseline/reference", "--out", "r"])
    assert done.exit_code == 0 and done.stderr.count("field 'prompt': is empty") == 5
    assert "7 rows are left out in all, these too: " in done.stderr
    assert "my.jsonl, line 7, " in done.stderr and "my.jsonl, line 8\n" in done.stderr
    write(at, *({**DOUBLE, "id": f"row {n}", "wrong": ["def double(x): return x + x"]} for n in range(7)))
    done = CliRunner().invoke(main, ["run", str(path), "--model", "baseline/reference", "--out", "other"])
    assert done.exit_code == 2 and done.stderr.count("the tests accept it") == 5 and "; and 2 more" in done.stderr


def test_wrong_programs_may_import_what_the_run_offers(at):
    """Without it the reference does not pass, and the row is left out."""
    row = {
        **DOUBLE,
        "reference": "import msgspec\ndef double(x): return 2 * x",
        "wrong": ["def double(x): return x"],
    }
    path = write(at, row, INC)
    refused = truegrade.run(str(path), model="baseline/reference", out="a")
    assert [*refused.manifest.excluded] == ["double"]
    offered = truegrade.run(str(path), model="baseline/reference", packages=("msgspec",), out="b")
    assert not offered.manifest.excluded and all(one.passed for one in offered.verdicts())
    graded = truegrade.grade(offered.path, packages=("msgspec",))
    assert not graded.manifest.excluded


def test_rows_with_wrong_programs_are_looked_at_before_a_file_is_graded_and_none_may_be_left(at):
    path = write(at, {**DOUBLE, "wrong": ["def double(x): return x + x"]}, INC)
    (at / "answers.jsonl").write_text(
        "".join(json.dumps({"task_id": each, "solution": "x"}) + "\n" for each in ("double", "7"))
    )
    run = truegrade.grade("answers.jsonl", benchmark=str(path), out="g")
    assert [one.problem_id for one in run.verdicts()] == ["7"] and [*run.manifest.excluded] == ["double"]
    write(at, {**DOUBLE, "reference": "def double(x): return 4", "wrong": ["def double(x): return 3"]})
    done = CliRunner().invoke(main, ["run", str(path), "--model", "baseline/reference", "--out", "r"])
    assert (
        done.exit_code == 2
        and "no problem is left: my.jsonl, line 1, field 'reference': does not pass" in done.stderr
    )
    assert not (at / "r").exists()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ('nmae = "x"', "my.toml, line 1, field 'nmae': no key 'nmae', did you mean 'name'?"),
        ("name = ", "my.toml: is no TOML: Invalid value (at end of document); see docs/extend.md"),
        ('prompt = "Do it."', "my.toml, field 'prompt': leaves the problem out"),
        ('kind = "function"', "my.jsonl, line 1, field 'entry_point': the header's kind is 'function'"),
        ('name = "humaneval"', "the name 'humaneval' is that of a built-in benchmark"),
    ],
)
def test_a_wrong_header_is_told_in_one_line(tmp_path, header, message):
    done = CliRunner().invoke(main, ["run", str(write(tmp_path, DOUBLE, header=header))])
    assert done.exit_code == 2 and done.stderr.count("\n") == 1 and message in done.stderr, done.stderr


def test_broken_json_and_nothing_at_all(tmp_path):
    path = write(tmp_path, DOUBLE)
    path.write_text("{\n}]\n")
    with pytest.raises(UserError, match=r"my.jsonl, line \d: is not JSON"):
        load_benchmark(str(path))
    path.write_text("[" + json.dumps(DOUBLE) + ", {]")
    with pytest.raises(UserError, match=r"my.jsonl, line \d: is not JSON"):
        load_benchmark(str(path))
    path.write_text("")
    with pytest.raises(UserError, match=r"my.jsonl: holds no rows"):
        load_benchmark(str(path))


def test_it_is_run_resumed_graded_under_two_profiles_exported_and_compared(at):
    write(at, *ROWS)
    asked = {"model": "baseline/reference", "out": "r"}
    truegrade.generate("my.jsonl", limit=1, **asked)
    run = truegrade.run("my.jsonl", **asked)
    assert [verdict.passed for verdict in run.verdicts()] == [True] * 3
    assert truegrade.grade("r").summary["profiles"][0]["estimates"][0]["value"] == 1.0
    assert truegrade.export("r", "inspect").exists()
    empty = truegrade.run("my.jsonl", model="baseline/empty", out="e")
    assert truegrade.compare(empty, "r").difference == 1.0

    write(at, INC)
    both = truegrade.run("my.jsonl", model="baseline/reference", profiles=["strict", "simple-evals"], out="f")
    assert [profile["estimates"][0]["value"] for profile in both.summary["profiles"]] == [1.0, 1.0]
    write(at, ECHO)
    both = truegrade.run("my.jsonl", model="baseline/reference", profiles=["strict", "livecodebench"], out="c")
    assert [profile["estimates"][0]["value"] for profile in both.summary["profiles"]] == [1.0, 1.0]


def test_answers_of_a_file_are_graded_and_nothing_forged_passes(at):
    write(at, *ROWS)
    forged = (
        "class Same:\n    def __eq__(self, other):\n        return True\n\ndef double(x):\n    return Same()\n"
    )
    exiting = "import os\n\ndef inc(x):\n    os._exit(0)\n"
    answers = [("double", forged), ("double", DOUBLE["reference"]), ("7", exiting), ("echo", "print(1)")]
    lines = [json.dumps({"task_id": name, "solution": program}) for name, program in answers]
    (at / "answers.jsonl").write_text("\n".join(lines))
    run = truegrade.grade("answers.jsonl", benchmark="my.jsonl")
    assert sorted((v.problem_id, v.sample, v.passed) for v in run.verdicts()) == [
        ("7", 0, False), ("double", 0, False), ("double", 1, True), ("echo", 0, True),
    ]  # fmt: skip


def test_a_changed_file_is_another_data_set(at):
    write(at, DOUBLE)
    truegrade.run("my.jsonl", model="baseline/reference", out="r")
    write(at, {**DOUBLE, "tests": "assert double(3) == 6"})
    with pytest.raises(UserError, match="another version of my"):
        truegrade.grade("r")
    with pytest.raises(UserError, match="r holds another run"):
        truegrade.run("my.jsonl", model="baseline/reference", out="r")


def test_what_no_profile_covers_is_refused_before_anything_is_asked(at):
    write(at, DOUBLE)
    with pytest.raises(UserError, match=r"'human-eval' has no rules for 'my' \(description\); it covers function"):
        truegrade.run("my.jsonl", model="baseline/reference", profiles=["human-eval"], out="r")
    assert not (at / "r").exists()
