"""The stronger oracle: which inputs decide, and which problems have none."""

from __future__ import annotations

from collections import Counter

import pytest
from oracle_problems import CLAMP, CLAMP_CALLS, cases_problem, clamp_problem, oracle_problem

from support.cpu import cpu_within
from truegrade.apps.assay.answers import TOO_LARGE, AnswerRule, answers_of, is_plain, read_call, written_call
from truegrade.apps.assay.input_domain import find_companions, known_calls
from truegrade.apps.assay.labelling import OracleLabeller
from truegrade.apps.assay.oracle import build_oracle
from truegrade.benchmarks import find_benchmark
from truegrade.records import Case
from truegrade.sandbox import Limits, Sandbox
from truegrade.store.journal import ignore


@pytest.fixture(scope="module")
def jail():
    with Sandbox(Limits(packages=()), workers=1, allow_unsafe=True) as opened:
        yield opened


def test_calls_of_plain_asserts_are_read(jail):
    known = known_calls(clamp_problem(), jail)
    assert known.own == CLAMP_CALLS
    assert known.reference == CLAMP


def test_calls_of_other_tests_are_recorded_before_the_function_changes_them(jail):
    reference = "def clamp(values, top):\n    values.clear()\n    return clamp([], top - 1) if top else []\n"
    tests = "def check(f):\n    for top in range(2):\n        assert f([top], top=top) == []\ncheck(clamp)"
    known = known_calls(clamp_problem(reference=reference, tests=tests), jail)
    assert known.own == (([0], 0), ([1], 1))  # without the calls that the function makes of itself


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tests": "assert clamp(object(), 1) == []", "reference": "clamp = lambda *a: []"}, "not plain values"),
        ({"tests": "x = 1\nassert clamp([1], 0) == [1]"}, "fails its own tests (AssertionError"),
        ({"reference": "def clamp(values, top):\n    return iter(values)"}, "values that are not plain"),
        (
            {"reference": "import time\ndef clamp(values, top):\n    return time.perf_counter_ns()"},
            "the same twice",
        ),
        ({"reference": "def clamp(values, top):\n    raise KeyError(top)"}, "KeyError: 4"),
    ],
)
def test_a_problem_without_an_oracle_says_why(jail, changes, reason):
    assert reason in build_oracle(clamp_problem(**changes), None, jail)


def test_code_that_stands_before_every_answer_is_run_with_each(jail):
    """As what loads a repository's package does: no program that is held against the reference has it."""
    reference = "from __future__ import annotations\ndef clamp(values, top):\n    return keep(values, top)\n"
    prefix = "def keep(values, top):\n    return [min(value, top) for value in values]\n"
    built = build_oracle(clamp_problem(reference=reference, prefix=prefix), None, jail, generated=20)
    assert built.ahead == prefix and built.references == (reference,) and len(built.inputs) > 3
    labeller = OracleLabeller(built, jail)
    assert labeller.label("def clamp(values, top):\n    return keep(values, top + 1)").label == "wrong"
    for whole in (reference, prefix + CLAMP):
        assert (labeller.label(whole).label, labeller.label(whole).reason) == ("undecided", "")


def test_a_reference_that_keeps_a_state_is_noticed(jail):
    state = "seen = []\ndef clamp(values, top):\n    seen.append(1)\n    return len(seen)\n"
    assert "the same twice" in build_oracle(clamp_problem(reference=state), None, jail)


def test_inputs_are_validated(jail):
    """Of the extended inputs one raises, one does not end, and on one the two references disagree."""
    own = (
        "def f(n):\n    if n == 5:\n        raise ValueError\n    while n == 6:\n        pass\n    return n * 2\n"
    )
    other = "def f(n):\n    return 0 if n == 7 else n + n\n"
    plain = oracle_problem(own, ((1,), (2,)))
    companion = oracle_problem(other, ((1,),), plus_inputs=((3,), (5,), (6,), (7,), (2,)))
    oracle = build_oracle(plain, companion, jail, generated=0)
    assert [(one.arguments, one.source) for one in oracle.inputs] == [((1,), "own"), ((2,), "own"), ((3,), "plus")]
    assert oracle.ambiguous == ("f(7)",)
    assert oracle.references == (own, other)
    assert "no answer on 1 of 4 plus inputs" in oracle.notes[0]
    assert oracle.notes[1].startswith("1 of 4 plus inputs are cut: the reference executes over 50,000 lines")


def test_inputs_whose_values_are_large_are_cut_and_said(jail):
    """A list of one item may hold any number of others: forty programs would be asked for it."""
    nested = "def f(n):\n    return [['x' * n] * n]\n"
    plus = ((300,), (4,), *((200 + n,) for n in range(30)))
    companion = oracle_problem(nested, ((1,),), plus_inputs=plus)
    oracle = build_oracle(oracle_problem(nested, ((1,), (2,))), companion, jail, generated=0)
    kept = [one.arguments[0] for one in oracle.inputs if one.source == "plus"]
    assert 4 in kept
    assert 300 not in kept
    assert 1_000_000 - 50_000 < sum(n * n for n in kept) < 1_000_000 + 50_000
    assert oracle.notes[0].startswith(f"{32 - len(kept)} of 32 plus inputs are cut: ")


def test_a_program_whose_values_are_large_is_given_up_call_by_call(jail):
    """Thirty lists that hold each other are a billion items once they are sent."""
    program = (
        "def f(n):\n    kept = []\n    for i in range(n):\n        kept.append(kept[:i + 1])\n    return kept\n"
    )
    rule = AnswerRule(entry_point="f", comparator="equal")
    with cpu_within(5):
        found = answers_of(program, rule, [(n,) for n in (3, *[40] * 30, 4)], jail, call_cpu_s=0.1, most_size=1000)
    assert [number for number, one in found.results.items() if one.error is None] == [0, 31]
    assert found.results[1].error.endswith(TOO_LARGE)
    assert found.cpu_s < 5


def test_a_second_reference_that_disagrees_on_own_inputs_is_dropped(jail):
    companion = oracle_problem("def f(n):\n    return n\n", ((4,),))
    oracle = build_oracle(oracle_problem("def f(n):\n    return -n\n", ((1,),)), companion, jail, generated=0)
    assert len(oracle.references) == 1
    assert "disagrees on f(1)" in oracle.notes[0]


@pytest.mark.parametrize("rule", ["always", "not_none", "equal_or_zero"])
def test_a_rule_that_accepts_everything_decides_nothing(jail, rule):
    oracle = build_oracle(oracle_problem("def f(n):\n    return n\n", ((1,), (2,)), comparator=rule), None, jail)
    assert oracle.comparator == "equal"


def test_cases_leave_out_those_that_are_skipped_or_slow(jail):
    cases = tuple(Case(arguments=(number,), expected=[number]) for number in range(4))
    given = cases_problem("def f(n):\n    yield n\n", cases, comparator="list", skipped=(1,), slow=(1, 3))
    oracle = build_oracle(given, None, jail, generated=0)
    assert [one.arguments for one in oracle.inputs] == [(0,), (2,)]


def test_equal_seeds_build_equal_oracles(jail):
    one, same, other = (build_oracle(clamp_problem(), None, jail, generated=30, seed=seed) for seed in (0, 0, 1))
    assert one == same != other
    assert Counter(i.source for i in one.inputs)["generated"] > 10


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (1, -2.5, "a'b\n", None, True, b"x", 2j),
        ([float("inf"), -float("inf")], (1,), {2, 1}, set(), frozenset({3}), frozenset(), {"k": [()]}),
        (complex(1, float("inf")),),
    ],
)
def test_calls_are_written_so_that_they_can_be_read(arguments):
    assert is_plain(arguments)
    assert read_call(written_call("f", arguments)) == arguments


@pytest.mark.parametrize("text", ["f(", "f(x)", "f(open('a'))", "f(a=1)", "1", "f(float(a=1))"])
def test_what_is_no_call_of_plain_values_is_refused(text):
    with pytest.raises(ValueError, match=r"plain value|positional|malformed|call"):
        read_call(text)


@pytest.mark.slow
def test_every_problem_of_humaneval_and_most_of_mbpp_have_known_calls(jail, data_dir):
    having = {}
    for name in ("humaneval", "mbpp-sanitized"):
        problems = find_benchmark(name).load(data_dir, {}).problems
        having[name] = sum(not isinstance(known_calls(one, jail), str) for one in problems)
    assert having["humaneval"] == 164
    assert having["mbpp-sanitized"] >= 415


def test_companions_are_found_by_id(data_dir, jail):
    problems = find_benchmark("mbpp").load(data_dir, {}).by_id()
    companions = find_companions("mbpp", problems.values(), data_dir, ignore)
    assert len(companions) == 378
    companion = companions["MBPP/3"]
    assert companion.id == "Mbpp/3"
    oracle = build_oracle(problems["MBPP/3"], companion, jail, generated=20)
    assert len(oracle.references) == 2
    assert {one.source for one in oracle.inputs} == {"own", "plus", "generated"}
    assert find_companions("quixbugs", (), data_dir, ignore) == {}


def test_absent_companions_are_said(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TRUEGRADE_DATA", raising=False)
    told = []
    assert find_companions("mbpp", (), tmp_path, told.append) == {}
    assert len(told) == 1
