"""Programs on stdin: their oracle, labels with witnesses, and an assay of graders whose faults are known."""

import io
import json
from contextlib import redirect_stdout

import pytest
from msgspec import structs

from truegrade.apps.assay import Battery, assay
from truegrade.apps.assay.building import ProblemBuilder
from truegrade.apps.assay.folder import AssayFolder
from truegrade.apps.assay.labelling import OracleLabeller, replay
from truegrade.apps.assay.opening import replay as replay_probe
from truegrade.apps.assay.oracle import build_oracle
from truegrade.apps.assay.stdin_texts import generated_texts
from truegrade.records import ContestTask, Problem
from truegrade.sandbox import Limits, Sandbox

SMALL = Battery(per_problem=8, inputs=6, cheats_per_problem=2)
ADD = "a, b = map(int, input().split())\nprint(a + b)\n"
SORT = """
def main():
    count = int(input())
    numbers = list(map(int, input().split()))[:count]
    ordered = []
    while numbers:
        ordered.append(min(numbers))
        numbers.remove(min(numbers))
    print(*ordered)


main()
"""
COUNT = """
import sys

count = {}
for line in sys.stdin.read().split("\\n")[1:]:
    for word in line.split():
        count[word] = count.get(word, 0) + 1
for word in sorted(count):
    print(word, count[word])
"""
THREAD = "import threading\ndef go():\n    while True:\n        a = 1\nthreading.Thread(target=go).start()\n"
ADD_TESTS = (("1 2\n", "3\n"), ("5 -3\n", "2\n"), ("0 0\n", "0\n"), ("-7 -8\n", "-15\n"))
SORT_TESTS = (("3\n3 1 2\n", "1 2 3\n"), ("1\n5\n", "5\n"), ("4\n9 9 1 0\n", "0 1 9 9\n"), ("2\n-1 4\n", "-1 4\n"))
COUNT_TESTS = (
    ("2\nthe cat\nthe dog\n", "cat 1\ndog 1\nthe 2\n"),
    ("1\na\n", "a 1\n"),
    ("3\nb b\na b\nc\n", "a 1\nb 3\nc 1\n"),
)


def contest(name, reference, tests):
    stored = json.dumps([{"input": given, "output": output} for given, output in tests])
    task = ContestTask(title=name, question=name, public_tests="[]", private_tests=stored, reference=reference)
    return Problem(id=f"own/{name}", benchmark="own", dataset_sha256="0" * 64, cluster=name, task=task)


STRONG = [
    contest("add", ADD, ADD_TESTS),
    contest("sort", SORT, SORT_TESTS),
    contest("count", COUNT, COUNT_TESTS),
]
WEAK = [
    contest("sort", SORT, [("1\n5\n", "5\n")]),
    contest("count", COUNT, [("1\na\n", "a 1\n"), ("1\nb\n", "b 1\n")]),
]


@pytest.fixture(scope="module")
def jail():
    with Sandbox(Limits(cpu_s=10.0), workers=2, allow_unsafe=True) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def add(jail):
    return build_oracle(contest("add", ADD, ADD_TESTS), None, jail, generated=10)


def test_inputs_are_the_problems_own_and_generated_ones(add):
    own = [one.arguments for one in add.inputs if one.source == "own"]
    assert own == [("1 2\n",), ("0 0\n",), ("5 -3\n",), ("-7 -8\n",)]
    assert sum(one.source == "generated" for one in add.inputs) == 10
    assert add.comparator == "output"


@pytest.mark.parametrize(
    ("program", "call", "got"),
    [
        (ADD.replace("+", "-"), "1 2\n", "'-1\\n'"),
        ("", "1 2\n", "''"),
        ("print(3)\nimport sys\nsys.exit(3)\n", "1 2\n", "ends with exit code 3"),
        ("x = 1 / 0\n", "1 2\n", "raises ZeroDivisionError: division by zero"),
        ("print(", "1 2\n", "does not compile"),
        ("a, b = map(int, input().split())\nprint(abs(a + b))\n", "-7 -8\n", "'15\\n'"),
        (THREAD + ADD,
         "1 2\n", "does not end: more than 100000 steps"),
    ],
)  # fmt: skip
def test_wrong_programs_have_a_witness_that_can_be_replayed(add, jail, program, call, got):
    labelled = OracleLabeller(add, jail).label(program)
    assert labelled.label == "wrong"
    assert labelled.witness.call == call
    assert labelled.witness.got.startswith(got)
    assert labelled.witness.source == "own"
    again = replay(add, program, labelled.witness.call, jail)
    assert (again.got, again.expected, again.differs) == (labelled.witness.got, labelled.witness.expected, True)


@pytest.mark.parametrize(
    "program",
    [
        ADD,
        "import sys\nsys.stdout.write('%d' % sum(map(int, open(0).read().split())))\nsys.exit()\n",
        "if __name__ == '__main__':\n    print(sum(map(int, sys.stdin.read().split())), '\\n')\n",
        "a, b = map(int, input().split())\nprint(f'{a + b}.0')\n",
    ],
)  # fmt: skip
def test_other_right_programs_agree(add, jail, program):
    assert OracleLabeller(add, jail).label(program).agrees


def test_a_program_that_fails_only_beyond_the_tests_is_found_by_a_generated_input(jail):
    oracle = build_oracle(contest("sort", SORT, SORT_TESTS[:2]), None, jail, generated=40)
    labelled = OracleLabeller(oracle, jail).label("input()\nprint(*sorted(map(int, input().split()))[:3])\n")
    assert labelled.witness.source == "generated"


def test_steps_are_not_counted_on_long_inputs(jail):
    long = "1 " * 1000 + "\n"
    oracle = build_oracle(contest("echo", "print(input())\n", [(long, long)]), None, jail, generated=0)
    labelled = OracleLabeller(oracle, jail).label("while True:\n    pass\n")
    assert labelled.label == "undecided"
    assert labelled.reason


@pytest.mark.parametrize(
    ("reference", "tests", "reason"),
    [
        (ADD, [("x", "1")], "answers none of its own inputs (ValueError"),
        ("import time\nprint(time.time_ns())\n", ADD_TESTS, "the same twice"),
        (ADD, [("1" * 30_000, "1")], "up to 20,000 characters"),
    ],
)
def test_a_problem_without_an_oracle_says_why(jail, reference, tests, reason):
    assert reason in build_oracle(contest("add", reference, tests), None, jail)


def holds(text, known):
    """Whether counts, order and alphabet are those of the known inputs."""
    first, *rows = text.splitlines()
    if known == "list":
        return len(rows) == 1 and int(first) == len(rows[0].split()) >= 1
    if known == "cases":
        pairs = list(zip(rows[::2], rows[1::2], strict=True))
        return len(pairs) == int(first) and all(int(size) == len(row.split()) for size, row in pairs)
    if known in ("grid", "square"):
        height, width = map(int, first.split() if known == "grid" else [first, first])
        return len(rows) == height and all(len(row) == width and set(row) <= {"#", "."} for row in rows)
    low, high = map(int, first.split())
    return low <= high and not rows


@pytest.mark.parametrize(
    ("known", "texts"),
    [
        ("list", ["3\n3 1 2\n", "1\n5\n", "4\n9 9 1 0\n"]),
        ("cases", ["2\n3\n1 2 3\n1\n7\n", "1\n2\n5 5\n", "1\n1\n4\n"]),
        ("square", ["3\n#.#\n..#\n###\n", "2\n.#\n##\n"]),
        ("grid", ["3 2\n#.\n..\n##\n", "2 3\n.##\n##.\n"]),
        ("ordered", ["2 9\n", "3 3\n", "-4 1\n"]),
    ],
)
def test_generated_inputs_keep_the_form_of_the_known_ones(known, texts):
    made = generated_texts(texts, seed=1, limit=30)
    assert len(made) >= 10
    assert not set(made) & set(texts)
    assert all(holds(text, known) for text in made)
    assert made == generated_texts(texts, seed=1, limit=30) != generated_texts(texts, seed=2, limit=30)


@pytest.mark.parametrize(
    "texts", [[], ["", "\n"], ["x " * 500], ["a\n\n\nb"], ["1 2 3\n\n", "1\n", "2\n"], ["1" * 30]]
)
def test_any_text_may_be_given(texts):
    assert all(isinstance(text, str) for text in generated_texts(texts, seed=0, limit=5))


def test_every_class_of_probe_is_made(jail):
    line, probes = ProblemBuilder(SMALL, {}, {}, 9, jail).build(STRONG[1], 0)
    assert line.no_oracle == ""
    kinds = {kind: [each for each in probes if each.kind == kind] for kind in {each.kind for each in probes}}
    assert {"right", "mutant", "output", "form", "stub", "cheat", "control", "must-fail", "ahead"} == kinds.keys()
    assert {"words", "imports"} <= {each.origin for each in kinds["right"]}
    wrong = [each.code.strip() for each in kinds["control"] if each.label == "wrong"]
    assert all(code.startswith("#") and "\n" not in code for code in wrong)  # a comment that tells them apart
    assert len(set(wrong)) == len(wrong) > 1
    wrong = [each for each in kinds["mutant"] if each.label == "wrong"]
    assert len(wrong) >= 6
    assert all(each.witness.call.endswith("\n") for each in wrong)


def assayed(out, problems, graders=(), **battery):
    (result,) = assay(problems=problems, profiles=["strict+0.3s"], grader=graders, tests_as="stdio", out=out,
                      battery=structs.replace(SMALL, **battery), workers=2)  # fmt: skip
    strict = next(each for each in result.measures if each.grader.startswith("strict"))
    return result, strict


NATURAL = ("right", "mutants", "stubs", "must-fail")


def test_strict_on_strong_tests(tmp_path):
    result, strict = assayed(tmp_path, STRONG, classes=NATURAL)
    shares = {share.kind: share for share in strict.shares}
    assert (shares["right"].value, strict.fpr.value) == (1, 0)
    assert shares["mutant"].probes >= 10
    assert shares["must-fail"].accepted == 0
    assert result.summary.witnesses["own"] >= 20


def test_strict_on_weak_tests(tmp_path):
    result, strict = assayed(tmp_path, WEAK, classes=("right", "mutants"), inputs=20)
    assert {share.kind: share.value for share in strict.shares}["right"] == 1
    assert strict.fpr.value > 0
    assert result.summary.witnesses["generated"] > 0


def prefix_grader(program, tests):
    """Compares what both outputs begin with, so that an empty output is right."""
    for given, output in zip(tests["inputs"], tests["outputs"], strict=True):
        read, printed = io.StringIO(given), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
            patch.setattr("sys.stdin", read)
            try:
                exec(program, {"__name__": "__main__"})
            except Exception:
                return False
        if not output.startswith(printed.getvalue().strip()):
            return False
    return True


@pytest.mark.thorough
def test_a_comparison_of_prefixes_is_found(tmp_path):
    result, strict = assayed(tmp_path, STRONG[:1], [prefix_grader], classes=("right", "cheats"))
    foreign = next(each for each in result.measures if each is not strict)
    assert "truncation" in foreign.open_channels
    channel = next(each for each in foreign.channels if each.channel == "truncation")
    assert (channel.accepted, channel.inert_accepted) == (2, 0)
    assert "truncation" not in strict.open_channels


def test_a_label_of_an_assay_is_replayed(tmp_path):
    rows = tmp_path / "sums.jsonl"
    tests = [{"input": given, "output": output} for given, output in ADD_TESTS]
    rows.write_text(json.dumps({"id": "add", "prompt": "Add.", "tests": tests, "reference": ADD}) + "\n")
    battery = Battery(classes=("mutants",), per_problem=4, inputs=0)
    assay([str(rows)], battery=battery, out=tmp_path / "own", workers=2)
    wrong = next(each for each in AssayFolder(tmp_path / "own").probes() if each.kind == "mutant" and each.witness)
    probe, replayed = replay_probe(tmp_path / "own", wrong.id)
    assert probe == wrong
    assert replayed.differs
    assert (replayed.call, replayed.got) == (wrong.witness.call, wrong.witness.got)
