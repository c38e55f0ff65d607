"""Labels of programs, each with the input that shows it."""

from __future__ import annotations

import pytest
from oracle_problems import CLAMP, clamp_problem, oracle_problem

from truegrade.apps.assay.input_domain import infer_domain
from truegrade.apps.assay.labelling import OracleLabeller, find_witness, replay
from truegrade.apps.assay.oracle import OracleInput, ProblemOracle, build_oracle
from truegrade.benchmarks import find_benchmark
from truegrade.sandbox import Limits, Sandbox


@pytest.fixture(scope="module")
def jail():
    with Sandbox(Limits(packages=(), memory_bytes=1 << 30), workers=1, allow_unsafe=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def clamp(jail):
    return build_oracle(clamp_problem(), None, jail, generated=0)


def oracle_of(*references: str, inputs=((0,), (1,), (2,)), **changes) -> ProblemOracle:
    asked = tuple(OracleInput(arguments=arguments, source="own") for arguments in inputs)
    return ProblemOracle(problem_id="own/1", entry_point="f", references=references, inputs=asked, **changes)


def test_a_wrong_program_is_shown_by_the_first_input_that_differs(jail, clamp):
    labelled = OracleLabeller(clamp, jail).label(CLAMP.replace("min", "max"))
    witness = labelled.witness
    assert labelled.label == "wrong"
    assert (witness.call, witness.expected, witness.got) == ("clamp([1, 5, 9], 4)", "[1, 4, 4]", "[4, 5, 9]")
    assert witness.source == "own"


def test_the_reference_agrees_with_itself_and_is_not_called_wrong(jail, clamp):
    labelled = OracleLabeller(clamp, jail).label(CLAMP)
    assert labelled.agrees
    assert labelled.agreed == len(clamp.inputs)


@pytest.mark.parametrize(
    ("program", "got"),
    [
        ("def clamp(:", "does not compile: "),
        ("1 / 0", "raises ZeroDivisionError"),
        ("def other():\n    pass", "raises NameError"),
        ("def clamp(values, top):\n    raise KeyError(top)", "raises KeyError: 4"),
        ("import os\ndef clamp(values, top):\n    os._exit(0)", "the program ended the process (exit code 0)"),
        ("def clamp(values, top):\n    raise SystemExit", "raises SystemExit"),
        ("def clamp(values, top):\n    while True:\n        pass", "does not end: more than 100000 steps"),
        ("def clamp(values, top):\n    return clamp(values, top)", "raises RecursionError"),
        (
            "class Same:\n    def __eq__(self, other):\n        return True\ndef clamp(*_):\n    return Same()",
            "<Same",
        ),
    ],
)
def test_whatever_gives_no_value_is_wrong(jail, clamp, program, got):
    labelled = OracleLabeller(clamp, jail).label(program)
    assert labelled.label == "wrong"
    assert labelled.witness.got.startswith(got)
    assert labelled.witness.call == "clamp([1, 5, 9], 4)"


@pytest.mark.slow
def test_a_program_that_is_only_slow_is_not_wrong(jail):
    """It takes more seconds than a first run may take, and fewer steps than the limit."""
    slow = "def f(n):\n    for _ in range(9):\n        sum(range(5_000_000))\n    return n\n"
    labelled = OracleLabeller(oracle_of("def f(n):\n    return n\n", inputs=((3,),)), jail).label(slow)
    assert labelled.agrees


def test_a_program_that_waits_in_a_library_is_undecided(jail):
    waits = "import time\ndef f(n):\n    time.sleep(1e6)\n"
    oracle = oracle_of("def f(n):\n    return n\n", inputs=((3,),))
    with Sandbox(Limits(wall_s=0.5), workers=1, allow_unsafe=True) as hasty:
        labelled = OracleLabeller(oracle, hasty).label(waits)
    assert (labelled.label, labelled.agrees) == ("undecided", False)
    assert "time_limit" in labelled.reason


def test_a_difference_that_neither_a_call_alone_nor_its_repetition_shows_is_undecided(jail):
    keeps = "calls = []\ndef f(n):\n    calls.append(n)\n    return n + (calls == [0, 1, 2])\n"
    labelled = OracleLabeller(oracle_of("def f(n):\n    return n\n"), jail).label(keeps)
    assert labelled.label == "undecided"
    assert "keeps a state" in labelled.reason


def test_one_reference_that_agrees_is_enough(jail):
    """Both references are within the tolerance of each other, and the program of the second alone."""
    first, second = "def f(n):\n    return n + 0.0\n", "def f(n):\n    return n + 8e-7\n"
    program = "def f(n):\n    return n + 1.6e-6\n"
    inputs = ((0,),)
    assert OracleLabeller(oracle_of(first, inputs=inputs), jail).label(program).label == "wrong"
    assert OracleLabeller(oracle_of(first, second, inputs=inputs), jail).label(program).agrees


def test_arguments_that_a_program_changes_do_not_reach_the_next_call(jail):
    clears = "def f(values):\n    held = list(values)\n    values.clear()\n    return held\n"
    oracle = oracle_of("def f(values):\n    return values\n", inputs=(([1],), ([1, 2],)))
    assert OracleLabeller(oracle, jail).label(clears).agrees


def test_a_witness_can_be_replayed(jail, clamp):
    wrong = CLAMP.replace("min", "max")
    labelled = OracleLabeller(clamp, jail).label(wrong)
    again = replay(clamp, wrong, labelled.witness.call, jail)
    assert (again.expected, again.got, again.differs) == ("[1, 4, 4]", "[4, 5, 9]", True)
    assert not replay(clamp, CLAMP, labelled.witness.call, jail).differs
    with pytest.raises(ValueError, match="no answer"):
        replay(clamp, wrong, "clamp(1, 2)", jail)


def test_the_source_of_a_witness_says_what_was_needed(jail):
    given = oracle_problem("def f(n):\n    return n < 10\n", ((1,), (2,)), plus_inputs=((10,),))
    oracle = build_oracle(given, None, jail, generated=60)
    programs = [
        "def f(n):\n    return n < 2\n",
        "def f(n):\n    return n <= 10\n",
        "def f(n):\n    return n != 10\n",
    ]
    labels = [OracleLabeller(oracle, jail).label(program) for program in programs]
    assert [one.witness.source for one in labels] == ["own", "plus", "generated"]


def test_a_survivor_is_searched_for_near_its_constants(jail):
    reference = "def f(n):\n    return n >= 0\n"
    mutant = "def f(n):\n    return n >= 0 and n != 4321\n"
    oracle = oracle_of(reference, inputs=((1,), (600,), (2,)))
    assert OracleLabeller(oracle, jail).label(mutant).agrees
    domain = infer_domain([one.arguments for one in oracle.inputs])
    found = find_witness(oracle, domain, mutant, jail, budget_inputs=40)
    assert (found.witness.call, found.input.source) == ("f(4321)", "generated")
    assert find_witness(oracle, domain, reference, jail, budget_inputs=40) is None


NUMBERS = [(3,), (10,), (25,), (7,)]
LISTS = [([3, 1, 2],), ([5, 5],), ([9, 8, 7, 1],), ([],)]
FLOATS = [(0.5,), (2.0,), (0.0,), (3.25,)]
TEXTS = [("hello",), ("worlds",), ("zebra quick",), ("a",)]
TABLES = [({"one": 1, "two": 2},), ({"three": 3},), ({"four": 4, "five": 5},)]
HARD = [
    ("constant", NUMBERS, "def f(n):\n    return n + (n == 7919)", "def f(n):\n    return n"),
    ("threshold", NUMBERS, "def f(n):\n    return n if n < 100_000 else 0", "def f(n):\n    return n"),
    ("folded", NUMBERS, "def f(n):\n    return n + (n == 2 ** 40 + 7)", "def f(n):\n    return n"),
    ("float", NUMBERS, "def f(n):\n    return int(n / 1)", "def f(n):\n    return n"),
    ("length", LISTS, "def f(v):\n    return sum(v) + (len(v) == 17)", "def f(v):\n    return sum(v)"),
    ("item", LISTS, "def f(v):\n    return sum(v) + (4711 in v)", "def f(v):\n    return sum(v)"),
    ("text length", TEXTS, "def f(t):\n    return t[:17]", "def f(t):\n    return t"),
    ("text", TEXTS, "def f(t):\n    return t.replace('Qu4x', '')", "def f(t):\n    return t"),
    ("surrogate", TEXTS, "def f(t):\n    return t.encode('utf-8', 'ignore').decode()", "def f(t):\n    return t"),
    ("zero", FLOATS, "def f(x):\n    return str(abs(x))", "def f(x):\n    return str(x)"),
    ("key", TABLES, "def f(d):\n    return sum(d.values()) + ('none' in d)",
     "def f(d):\n    return sum(d.values())"),
    ("third call", NUMBERS, "calls = []\ndef f(n):\n    calls.append(n)\n    return n + (len(calls) == 3)",
     "def f(n):\n    return n"),
    ("kept list", NUMBERS, "def f(n, kept=[]):\n    kept.append(n)\n    return len(kept) * n",
     "def f(n):\n    return n"),
]  # fmt: skip
SAME = [
    (NUMBERS, "def f(n):\n    return n if n != 7919 else 7919", "def f(n):\n    return n"),
    (NUMBERS, "def f(n):\n    return n if n >= 0 else 0", "def f(n):\n    return n"),  # none is negative
    (NUMBERS, "memory = {}\ndef f(n):\n    return memory.setdefault(n, 2 * n)", "def f(n):\n    return n + n"),
    (LISTS, "def f(v):\n    return sum(v) if len(v) < 17 else sum(v[:17]) + sum(v[17:])",
     "def f(v):\n    return sum(v)"),
    (TEXTS, "def f(t):\n    return t[:17] + t[17:]", "def f(t):\n    return t"),
]  # fmt: skip


@pytest.mark.parametrize(("known", "mutant", "reference"), [row[1:] for row in HARD], ids=[row[0] for row in HARD])
def test_what_only_the_program_itself_names_is_found(jail, known, mutant, reference):
    """Its constants, lengths and thresholds, far beyond the known calls; a state that a repeated call shows."""
    oracle = oracle_of(reference, inputs=known)
    labelled = OracleLabeller(oracle, jail).label(mutant)
    witness = labelled.witness
    if labelled.agrees:
        found = find_witness(oracle, infer_domain(known), mutant, jail, budget_inputs=40, beyond=True)
        witness = found.witness
    again = replay(oracle, mutant, witness.call, jail, witness.repeats)
    assert (again.differs, again.expected, again.got) == (True, witness.expected, witness.got)


@pytest.mark.parametrize(("known", "mutant", "reference"), SAME)
def test_what_is_the_same_program_stays_undecided(jail, known, mutant, reference):
    oracle = oracle_of(reference, inputs=known)
    assert OracleLabeller(oracle, jail).label(mutant).agrees
    assert find_witness(oracle, infer_domain(known), mutant, jail, budget_inputs=40, beyond=True) is None


def test_labels_of_mbpp_164_are_decided_by_equality(jail, data_dir):
    """Its published comparison accepts whatever does not raise."""
    problem = find_benchmark("mbpp").load(data_dir, {}).by_id()["MBPP/164"]
    oracle = build_oracle(problem, None, jail, generated=0)
    labelled = OracleLabeller(oracle, jail).label(f"def {oracle.entry_point}(*_):\n    return None\n")
    assert labelled.label == "wrong"
