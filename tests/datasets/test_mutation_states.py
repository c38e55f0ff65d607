"""Values inside calls: what the watcher tells of lines is what a copy with a note behind each line tells."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.noted_lines import noted_lines
from truegrade.benchmarks import load_benchmark
from truegrade.builders.mutation.file import mutate_row
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.builders.mutation.observing import observe_calls
from truegrade.builders.mutation.states import watched_lines, with_states
from truegrade.datasets.executions import ExecutionRow, encode_rows
from truegrade.errors import BadRecord, UserError
from truegrade.kinds import problem_kind
from truegrade.profiles import PROFILES, open_profile
from truegrade.profiles.base import refuse_uncovered
from truegrade.records import Completion
from truegrade.sandbox import Limits, Sandbox

LOOPS = """\
def f(n):
    total = 0
    seen = []
    for i in range(n):
        if i % 2:
            total += i
            continue
        seen.append(i)
        while total > 3:
            total -= 3
    else:
        seen.append('end')
    return (total, seen)"""
RECURSIVE = """\
def f(n):
    low = n - 2
    if n < 2:
        return n
    left = f(n - 1)
    both = left + f(low)
    return both"""
NESTED = """\
def f(n):
    table = {}
    table['a'] = n

    def add(k):
        nonlocal n
        n += k
        double = n * 2
        return double
    for k in range(3):
        table[k] = add(k)
    return table"""
GENERATOR = """\
def g(n):
    k = 0
    while k < n:
        k += 1
        yield (k * k)
        k = k + 0

def f(n):
    squares = []
    for one in g(n):
        squares.append(one)
    return squares"""
CAUGHT = """\
def f(n):
    bad = 0
    for k in range(n):
        try:
            whole = 6 // (k % 3)
            bad += 0
        except ZeroDivisionError:
            bad += 1
        finally:
            bad *= 1
    return bad"""
ODD = """\
def f(n):
    thing = object()
    many = list(range(n * 100))
    first, rest = (n, n + 1)
    square = [each * each for each in range(n)]
    key = max(square, key=lambda one: -one)
    text = {'b', 'a'}
    return len(many)"""


@pytest.fixture(scope="module")
def jails():
    limits = Limits(cpu_s=5)
    with Sandbox(limits, allow_unsafe=True) as jail, Sandbox(limits, allow_unsafe=True, hash_seed=1) as witness:
        yield jail, witness


@pytest.mark.parametrize("code", [LOOPS, RECURSIVE, NESTED, GENERATOR, CAUGHT])
def test_lines_are_told_as_a_copy_with_notes_tells_them(code, jails):
    lines = watched_lines(code)
    (seen,) = observe_calls(jails[0], code, ["f(5)"], MutationOptions(), lines)
    notes = noted_lines(code, "f(5)", lines)
    assert seen.kind == "value" and seen.lines
    for line, runs, held in seen.lines:
        assert runs == len(notes[line])
        assert list(held) == (notes[line] if lines[line] else []), (line, lines[line])


def test_what_would_be_unclear_is_not_told(jails):
    def told(code):
        (seen,) = observe_calls(jails[0], code, ["f(4)"], MutationOptions(), watched_lines(code))
        return {line: held for line, _, held in seen.lines}

    assert watched_lines(ODD) == {2: "thing", 3: "many", 4: "", 7: "text"}  # one variable, no lines of their own
    assert told(ODD) == {2: ("",), 3: ("",), 4: (), 7: ("{'a', 'b'}",)}
    assert {5, 6}.isdisjoint(told(RECURSIVE)) and 2 in told(RECURSIVE)  # they begin again before they end
    assert 5 not in told(CAUGHT) and 8 in told(CAUGHT)
    assert len(told("def f(n):\n    for k in range(99):\n        n += k\n    return n")[3]) == 20


def row_of(code, *calls, **more):
    scope = {}
    exec(code, scope)
    output = tuple(repr(eval(call, scope)) for call in calls)
    return ExecutionRow(id="r", function_name="f", code=code, input=calls, output=output, **more)


@pytest.mark.parametrize("seed", range(6))
def test_values_that_can_be_copied_are_not_asked_for(seed, jails):
    code = "def f(n):\n    a = n\n    b = 7\n    c = [b, n]\n    d = n * 2\n    e = n + 3\n    return d"
    made = with_states(row_of(code, "f(5)"), jails, MutationOptions(seed=seed))
    (state,) = made.states  # not the argument, the literal, what is returned, or that a line runs once
    assert (state.variable, state.value, state.line) in [("c", "[7, 5]", 4), ("e", "8", 6)]


def test_values_that_are_others_in_the_mutant_are_preferred(jails):
    row = row_of(LOOPS, "f(9)", "f(12)", mutated_code=LOOPS.replace("total -= 3", "total -= 2"), mutated_output="")
    for seed in range(4):
        made = with_states(row, jails, MutationOptions(seed=seed))
        assert [state.case for state in made.states] == [0, 1]
        assert all(state.mutated not in (None, state.value) for state in made.states)
        assert encode_rows([made]) == encode_rows([with_states(row, jails, MutationOptions(seed=seed))])


def test_no_value_is_asked_for_that_a_constant_reply_often_hits(jails):
    """None, 0, 1, booleans and what is empty, of originals and mutants; a line that runs once or never."""
    branch = "def f(n):\n    if n > 2:\n        print(n)\n    return str(n)"
    assert with_states(row_of(branch, "f(3)", "f(2)"), jails, MutationOptions()).states == ()
    often = "def f(n):\n    for k in range(n * 2):\n        print(k)\n    return str(n)"
    found = with_states(row_of(often, "f(3)", "f(0)"), jails, MutationOptions()).states
    assert [(one.case, one.variable, one.value) for one in found] == [(0, "", "6")]
    held = (
        "def f(n):\n    a = n > 2\n    b = n - n\n    c = n // n\n    d = str(n)[1:]\n    e = [n][1:]\n"
        "    g = min([None])\n    h = n * 3\n    return str(n)"
    )
    for seed in range(8):
        (state,) = with_states(row_of(held, "f(5)"), jails, MutationOptions(seed=seed)).states
        assert (state.variable, state.value) == ("h", "15")
    row = row_of(held, "f(5)", mutated_code=held.replace("n * 3", "n * 0"), mutated_output="'5'")
    assert [one.mutated for one in with_states(row, jails, MutationOptions()).states] == [None]
    row = row_of(held, "f(5)", mutated_code=held.replace("n * 3", "n * 2"), mutated_output="'5'")
    assert [one.mutated for one in with_states(row, jails, MutationOptions()).states] == ["10"]


HASHED = """\
def f(text):
    order = list(set(text + 'abcdefgh'))
    last = sorted(order)[-1] * 2
    return len(order)"""


def test_what_hangs_on_the_hash_seed_is_not_asked_for_and_no_mutant(jails):
    row = row_of(HASHED, "f('x')", "f('yz')")
    alone = {one.variable for seed in range(9) for one in with_states(row, jails[:1], seeded(seed)).states}
    both = {one.variable for seed in range(9) for one in with_states(row, jails, seeded(seed)).states}
    assert (alone, both) == ({"order", "last"}, {"last"})
    code = "def f(text):\n    order = list(set(text))\n    return order if len(text) > 9 else 0"
    row = row_of(code, "f('abcdefgh')")
    for witness, has_one in ((jails[0], True), (jails[1], False)):
        (made,) = mutate_row(row, MutationOptions(operators=("negate-condition",)), jails[0], witness)
        assert made.has_mutation is has_one and made.states == ()


def seeded(seed):
    return MutationOptions(seed=seed)


STATES = [
    {"line": 10, "variable": "total", "time": 2, "value": "1", "mutated": "2", "case": 1},
    {"line": 6, "value": "2"},
]
ROW = {
    "id": "r", "function_name": "f", "code": LOOPS, "input": ["f(5)", "f(8)"], "output": ["1", "2"],
    "mutated_code": LOOPS.replace("total -= 3", "total -= 2"), "mutated_output": ["3", "4"],
    "preserved": [{"rewriting": "rename", "code": LOOPS}],
}  # fmt: skip


def load(tmp_path, *rows, **args):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load_benchmark("execution-prediction", path, args)


def test_states_are_asked_for_on_demand_and_worded_by_strict(tmp_path):
    asked = load(tmp_path, ROW | {"states": STATES}, asks="states").problems
    assert [(one.id, one.task.expected, one.task.arguments) for one in asked] == [
        ("r/state0", "1", "8"), ("r/state0~mutant", "2", "8"), ("r/state1", "2", "5"),
    ]  # fmt: skip
    assert {problem_kind(one.task) for one in asked} == {"state_prediction"}
    assert [one.task.pairing.other for one in asked] == ["2", "1", None]
    strict = open_profile("strict")
    shown = strict.render_prompt(asked[1]).messages[0].content
    assert "variable `total` directly after line 10, `total -= 2`, has run 2 times during the call" in shown
    assert shown.endswith("f(8)\nassert value_of('total', line=10, time=2) == ??\n[/PYTHON]")
    shown = strict.render_prompt(asked[2], "base").messages[0].content
    assert "runs_of(line=6) stands for the number of times that line 6, `total += i`, runs" in shown
    others = [profile for name in PROFILES if "output_prediction" in (profile := open_profile(name)).covers]
    assert len(others) > 5
    for profile in others:
        if profile.name != "strict":
            with pytest.raises(UserError, match=r"has no rules for 'execution-prediction' \(state_prediction\)"):
                refuse_uncovered([profile], asked)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("[ANSWER]\nassert value_of('total', line=10, time=2) == 1\n[/ANSWER]", "passed"),
        ("[ANSWER]1[/ANSWER]", "passed"),
        ("[ANSWER]\nassert value_of('total', line=10, time=2) == 2\n[/ANSWER]", "wrong_answer"),
        ("It returns f(8) == 1.\n[ANSWER]2[/ANSWER]", "wrong_answer"),
        ("[ANSWER]??[/ANSWER]", "no_answer"),
    ],
)
def test_a_reply_is_graded_as_a_prediction(tmp_path, reply, reason):
    asked = load(tmp_path, ROW | {"states": STATES}, asks="states").problems[0]
    strict = open_profile("strict")
    names = dict.fromkeys(("benchmark", "dataset_sha256", "config_sha256", "prompt_sha256", "model"), "")
    answer = strict.extract(asked, Completion(problem_id=asked.id, sample=0, text=reply, **names))
    found = answer.reason if answer.value is None else strict.judgement(asked, answer, None).reason
    assert found.value == reason


def test_rows_without_states_are_as_they_were(tmp_path):
    with_them, without = load(tmp_path, ROW | {"states": STATES}), load(tmp_path, ROW)
    assert [one.id for one in without.problems if "~" not in one.id] == ["r/case0", "r/case1"]
    tasks = [one.task for one in without.problems]
    assert tasks == [one.task for one in with_them.problems]
    assert b"state" not in encode_rows([row_of(LOOPS, "f(2)")])
    with pytest.raises(UserError, match="states in all programs"):
        load(tmp_path, ROW, asks="states")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {"line": st.integers(-1, 16), "value": st.text(max_size=5)},
        optional={
            "case": st.integers(-1, 3), "time": st.integers(-1, 3), "variable": st.text(max_size=3) | st.just("n"),
            "mutated": st.none() | st.text(max_size=5),
        },
    )
)  # fmt: skip
def test_any_state_is_refused_or_asked(tmp_path, state):
    try:
        asked = load(tmp_path, ROW | {"states": [state]}, asks="states").problems
    except BadRecord as error:
        assert "state" in str(error) and "\n" not in str(error)
        return
    name, line = state.get("variable", ""), state["line"]
    assert 1 <= line <= 13 and state.get("case", 0) in (0, 1) and (not name or name.isidentifier())
    for problem in asked:
        assert f"line={line}" in open_profile("strict").render_prompt(problem).messages[0].content
