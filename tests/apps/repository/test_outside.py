"""Calls that decide outside the answer's process: sound conditions, each with a function that breaks it."""

import ast
import base64
import json
import re
import zlib
from random import Random
from string import ascii_lowercase

import pytest
from msgspec import structs

from support.forging_answers import forgeries_of
from support.repository_package import FILES, write_package
from truegrade.apps.repository.deciding_mutants import StrengthFloor, strength_of
from truegrade.apps.repository.functions import (
    ParsedModule,
    RecordedCall,
    Recording,
    SeenOfFunction,
    list_functions,
)
from truegrade.apps.repository.outside import TreeLiterals, decide_by_calls, generate_cases
from truegrade.apps.repository.packing import Package, body_lines, body_removed, outline
from truegrade.apps.repository.problems import problem_rows
from truegrade.apps.repository.replaying import TwoJails, equals_exactly, type_raised
from truegrade.apps.repository.source import lines_of, read_modules, read_tree
from truegrade.datasets.executions import NotRecorded, RecordedCase
from truegrade.sandbox import Limits, Sandbox

FLOOR = StrengthFloor(least=0.5)


@pytest.fixture(scope="module")
def jails():
    limits = Limits(cpu_s=10, packages=())
    with (
        Sandbox(limits, 2, allow_unsafe=True) as jail,
        Sandbox(limits, 1, allow_unsafe=True, hash_seed=1) as witness,
    ):
        yield TwoJails(jail, witness)


def with_calls(folder, files, name, calls, changes=False):
    """A package in which one function has these recorded calls, texts of argument dictionaries to results."""
    tree = read_tree(str(write_package(folder, files)))
    modules = [ParsedModule(module) for module in read_modules(tree)[0]]
    bare = {one.name: one for one in list_functions(modules, Recording())}[name]
    kept = tuple(
        RecordedCall(f"({given}, (), {{}})", "value" if due else "items", due or None)
        for given, due in calls.items()
    )
    seen = SeenOfFunction(
        path=bare.module.path, line=bare.first_line, seen=9, tests=("t",), crossing=9, changes=changes, calls=kept
    )
    functions = {one.name: one for one in list_functions(modules, Recording(functions=(seen,)))}
    return tree, Package(modules), functions[name]


def decided(folder, code, calls, jails, name="f", files=None):
    tree, package, function = with_calls(folder, {"m.py": code, **(files or {})}, name, calls)
    return decide_by_calls(function, package, TreeLiterals(tree.files), jails, 0, FLOOR)


CALLS = {f"{{'n': {n}}}": repr(n * 3 + (n > 4)) for n in (1, 2, 5, 7, 11)}
CODE = "def f(n):\n    n = n * 3 + (n > 4)\n    return n\n"


def test_a_function_is_decided_by_calls_half_of_them_in_no_file(tmp_path, jails):
    found = decided(tmp_path, CODE, CALLS, jails)
    generated = [call for call in found.calls if call.generated]
    assert len(generated) * 2 >= len(found.calls) >= 6
    share, low, high = strength_of(found.held_out)
    assert [one.held_out for one in found.mutants] == [False, True] * (len(found.mutants) // 2)
    refused = sum(one.refused_by > 0 for one in found.mutants if one.held_out)
    assert share == refused / len(found.held_out) and refused > 4 and 0.4 < low < share <= high <= 1
    assert found.rewritings >= 2 and "assert equals_exactly(f(1), 3)" in found.tests
    judged = found.judged(found.function.source, jails.first)
    assert judged.passed and judged.marks == ()  # its verdict stands outside


SUM = "n * 3 + (n > 4)"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (f"S = []\ndef f(n):\n    S.append(n)\n    return {SUM} if len(S) < 3 else 0\n", "the same each time"),
        (f"import time\ndef f(n):\n    return {SUM} + time.timezone\n", "the same each time"),
        (f"import os\ndef f(n):\n    return {SUM} + os.getcwd().count('where')\n", "the same each time"),
        (f"def f(n):\n    return {SUM} + hash('x') % 2 * 1000\n", "the same each time"),
        (f"import gone\ndef f(n):\n    return {SUM}\n", "does not run without its repository"),
        (f"def f(n):\n    return {SUM}\nTABLE = f(1)\n", "does not run without its repository"),
        (
            f"def f(n):\n    return {SUM}\n\ndef other(m):\n    return {SUM.replace('n', 'm')}\n",
            "again: m:4 other",
        ),
        ("def f(n):\n    return n * 4\n", "the same each time"),  # what was recorded hung on something else
    ],
)
def test_hidden_context_is_refused(tmp_path, jails, code, why):
    with pytest.raises(NotRecorded, match=why):
        decided(tmp_path, code, CALLS, jails)


def test_a_copy_in_another_module_that_is_loaded_counts(tmp_path, jails):
    files = {"vendored.py": "def g(z):\n    z = z * 3 + (z > 4)\n    return z\n"}
    with pytest.raises(NotRecorded, match="vendored:1 g"):
        decided(tmp_path, f"import vendored\n{CODE}", CALLS, jails, files=files)
    assert decided(tmp_path, CODE, CALLS, jails, files=files)  # it is not loaded


def test_few_outcomes_are_bought_by_guessing(tmp_path, jails):
    calls = {f"{{'n': {n}}}": repr(n % 2 == 0) for n in (1, 2, 5, 7, 12)}
    with pytest.raises(NotRecorded, match="fewer than 3 outcomes"):
        decided(tmp_path, "def f(n):\n    return n % 2 == 0\n", calls, jails)


def test_calls_that_stand_in_the_tree_are_not_generated(tmp_path, jails):
    table = "\n".join(f"f({n})" for n in range(-300, 300))
    with pytest.raises(NotRecorded, match="too few generated calls"):
        decided(tmp_path, CODE, CALLS, jails, files={"test_m.py": table})


def test_a_function_that_changes_its_arguments_is_refused_also_where_no_test_does_it(tmp_path, jails):
    calls = {f"{{'items': {items}}}": repr(sum(items)) for items in ([1, 2], [2, 5], [3, 3, 9], [4])}
    code = "def f(items):\n    if items != sorted(items):\n        items.sort()\n    return sum(items)\n"
    with pytest.raises(NotRecorded, match="changes its arguments"):
        decided(tmp_path, code, calls, jails)


def test_a_call_that_refuses_a_rewriting_is_left_out(tmp_path, jails):
    """Above twenty, the result tells how many names the function has: no right answer could know it."""
    code = "def f(n):\n    if n > 20:\n        return n * 3 + f.__code__.co_nlocals\n    return n * 3 - (n > 9)\n"
    calls = {f"{{'n': {n}}}": repr(n * 3 + (1 if n > 20 else -(n > 9))) for n in (1, 4, 8, 10, 13, 18, 25, 30)}
    found = decided(tmp_path, code, calls, jails)
    assert {call.generated for call in found.calls} == {True, False}
    assert all(call.case.args[0] <= 20 for call in found.calls)


def test_exceptions_decide_by_type_and_iterators_by_their_items(tmp_path, jails):
    code = (
        "class Odd(Exception):\n    pass\n\ndef f(n):\n    if n > 30:\n        raise Odd(n)\n"
        "    for k in range(n % 7):\n        yield k * n\n"
    )
    calls = {f"{{'n': {n}}}": "" for n in (1, 2, 5, 9, 12, 40, 50)}
    tree, package, function = with_calls(tmp_path, {"m.py": code}, "f", calls)
    found = decide_by_calls(function, package, TreeLiterals(tree.files), jails, 0, FLOOR)
    assert "assert type_raised(lambda: f(40)) == 'Odd'\n" in found.tests
    assert "assert equals_exactly(_plain.list(f(2)), [0, 2])\n" in found.tests
    as_list = "def f(n):\n    if n > 30: raise {}('words')\n    return [k * n for k in range(n % 7)]\n"
    for name, passes in (("Odd", True), ("ValueError", False)):
        outcome = judged(found, as_list.format(name), jails)
        assert (outcome.status == "passed") is passes, outcome


def test_the_prefix_holds_the_module_without_the_body_and_helpers_call_the_answer(tmp_path, jails):
    code = (
        '"""Doc.\n\n>>> f(3)\n9\n"""\nimport helper\n\n'
        'def f(n):\n    """Words.\n\n    >>> f(1)\n    3\n    """\n    return n * 3\n\n'
        "def g(n):\n    return f(n) + 1\n"
    )
    files = {"m.py": code, "helper.py": "import m\nLIMIT = 4\n"}
    _, package, function = with_calls(tmp_path, files, "f", {})
    prefix = package.prefix(function)
    texts = json.loads(
        zlib.decompress(
            base64.b85decode(ast.literal_eval(re.search(r"^load_without_answer\(('.*?'), 'm'", prefix, re.M)[1]))
        )
    )
    assert sorted(texts) == ["helper", "m"] and "* 3" not in texts["m"][2] and ">>>" not in texts["m"][2]
    seen = []
    program = f"{prefix}\ndef f(n):\n    return n * 100\n"
    jails.first.call(program, "g", [(2,)], lambda _, result: bool(seen.append(result.value)) or True)
    assert seen == [201]
    missing = jails.first.call(f"{prefix}\n", "f", [(2,)], lambda *_: True)
    assert missing.status == "runtime_error" and "does not define 'f'" in missing.detail


def test_what_a_prompt_shows_has_no_body(tmp_path):
    _, _, function = with_calls(tmp_path, FILES, "words", {})
    shown = body_removed(function)
    assert "found.append" not in shown and "The words of a text." in shown and "# the joiner stands" in shown
    assert ast.unparse(ast.parse(shown))
    short = outline(shown, "words")
    assert "joiner.join" not in short and "The words of a text." in short and "LIMIT = 4" in short
    ast.parse(short)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("def f(n):\n    # how it is done\n    return n\n    # why\n\nX = 1\n", "def f(n):\n    ...\n\nX = 1\n"),
        ("A = 1\n\x0c\ndef f(n):\n\treturn n\nX = 1\n", "A = 1\n\x0c\ndef f(n):\n\t...\nX = 1\n"),
        ("def f(\n  n\n) -> int:\n  'Words.'\n  # how\n  return n", "def f(\n  n\n) -> int:\n  'Words.'\n  ...\n"),
        ("def f(n):\r\n    return n\r\n", "def f(n):\n    ...\n"),
        ("def f(n): return n\n", None),
        ("def f(\n    n\n) -> int: return n\n", None),
        ("def f(n):\n    'Words.'; return n\n", None),
        ("def f(n):\n    @id\n    class g: pass\n    return g\n", "def f(n):\n    ...\n"),
    ],
)  # fmt: skip
def test_a_body_goes_with_its_comments_or_there_is_no_problem(tmp_path, code, shown):
    (tmp_path / "m.py").write_bytes(code.encode())
    _, _, function = with_calls(tmp_path, {}, "f", {})
    if shown is None:
        assert body_lines(function.node, lines_of(function.module.text)) is None
    else:
        assert body_removed(function) == shown


def test_rows_of_every_kind_give_what_their_prompts_say(tmp_path, jails):
    tree, package, function = with_calls(
        tmp_path, {"m.py": CODE.replace("    return", "    # end\n    m = n\n    return")}, "f", CALLS
    )
    found = decide_by_calls(function, package, TreeLiterals(tree.files), jails, 0, FLOOR)
    rows = dict(problem_rows(found, tree, (), ("write", "repair", "complete"), jails.first))
    assert all(row.entry_point == "f" and row.tags["tier"] == "outside" for row in rows.values())
    assert "n * 3" not in rows["write"].prompt and "n * 3" in rows["complete"].prompt
    assert "m = n" not in rows["complete"].prompt and "the rest is missing" in rows["complete"].prompt
    assert function.source.strip() not in rows["repair"].prompt and "one bug" in rows["repair"].prompt
    assert rows["write"].reference == function.source


def test_values_are_compared_by_exact_types():
    assert equals_exactly([1, {"a": {2, 3}}], [1, {"a": {3, 2}}]) and equals_exactly(
        {"a": 1, "b": 2}, {"b": 2, "a": 1}
    )
    assert equals_exactly(0.1 + 0.2, 0.3) and not equals_exactly(0.3001, 0.3)
    for got, due in (
        (True, 1),
        ([1], (1,)),
        (1, 1.0),
        ([1, 2], [1]),
        ({"a": 1}, {"a": True}),
        ("1", 1),
        (None, 0),
    ):
        assert not equals_exactly(got, due) and not equals_exactly(due, got)

    class EqualsAll(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    assert not equals_exactly(EqualsAll(), 7)


def test_exceptions_are_told_by_type():
    assert type_raised(lambda: int("x")) == "ValueError" and type_raised(lambda: 3) == ""
    assert type_raised(lambda: (1 // n for n in (1, 0))) == "ZeroDivisionError"


def test_generated_calls_stay_in_what_was_recorded():
    recorded = [
        RecordedCase((text, n), {"sep": sep}) for text, n, sep in (("a-b", 1, "-"), ("c", 2, "-"), ("d,e", 3, ","))
    ]
    made = generate_cases(recorded, 40, Random(0))
    assert len(made) > 20 and len({repr(one) for one in made}) == len(made)
    for case in made:
        assert set(case.args[0]) <= {*ascii_lowercase, "-", ","} and case.args[1] >= 0
        assert set(case.kwargs["sep"]) <= {"-", ","}
        assert case not in recorded
    assert made == generate_cases(recorded, 40, Random(0))
    assert generate_cases([RecordedCase()], 4, Random(0)) == []


def test_literals_of_a_tree_are_found_wherever_they_stand():
    files = {
        "t.py": b"check('x', 5)\nonce(4)\nTABLE = [('deep', 7, True)]\n",
        "doc.rst": b"Words.\n\n>>> f([1, 2], k=3)\n[1]\n",
        "x.bin": b"f(99)",
    }
    literals = TreeLiterals(files)
    assert literals.hold("f", RecordedCase(("x", 5))) and literals.hold("f", RecordedCase(("deep", 7)))
    assert literals.hold("f", RecordedCase(([1, 2],), {"k": 3})) and literals.hold("f", RecordedCase((7,)))
    assert literals.hold("once", RecordedCase((4,))) and not literals.hold("f", RecordedCase((4,)))
    assert not literals.hold("f", RecordedCase(("x", 7))) and not literals.hold("f", RecordedCase((99,)))


READS_TEXTS = """
import sys
def f(n):
    for finder in sys.meta_path:
        for cell in getattr(finder.find_spec, "__closure__", None) or ():
            if "m" in cell.cell_contents:
                names = {}
                names["_truegrade_answer"] = names
                exec(cell.cell_contents["m"][2], names)
                return names["f"](n)
    return 0
"""
READS_FRAMES = """
import sys
def f(n):
    frame = sys._getframe(1)
    while frame.f_back and "due" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals.get("due", 0)
"""
HEAD = "class E(int):\n    __hash__ = int.__hash__\n    __eq__ = lambda *_: True\n"
FORGERIES = {
    **forgeries_of("def f(n):"),
    "equal to everything": HEAD + "def f(n): return E(0)\n",
    "says it is of another type": HEAD.replace("(int)", "").replace("int.", "object.") + "def f(n): return E()\n",
    "takes the place of the comparison": "def equals_exactly(got, due): return True\ndef f(n): return 0\n",
    "changes built-in names": "import builtins\nbuiltins.all = lambda *_: True\ndef f(n): return 0\n",
    "looks at the frames above": READS_FRAMES,
    "asks what stands for it": "def f(n):\n    import m\n    return m.g(n) - 1 if n < 0 else 0\n",
    "runs the text of the package": READS_TEXTS,
    "raises what failing tests raise": "def f(n): raise AssertionError\n",
    "an iterator without an end": "import itertools\ndef f(n): return itertools.count()\n",
}


@pytest.fixture(scope="module")
def target(tmp_path_factory, jails):
    code = CODE + "\ndef g(n):\n    return f(n) + 1\n"
    return decided(tmp_path_factory.mktemp("target"), code, CALLS, jails)


def judged(found, answer, jails):
    name = found.function.node.name
    return jails.first.judge(f"{found.prefix}\n{answer}", found.tests, [name], trusted=f"{found.prefix}\n")


@pytest.mark.parametrize("forgery", FORGERIES)
def test_no_forgery_is_paid(target, jails, forgery):
    outcome = judged(target, FORGERIES[forgery], jails)
    assert outcome.status not in ("passed", "grader_error"), outcome


def test_right_answers_of_other_forms_are_paid_and_a_table_of_the_recorded_calls_is_not(target, jails):
    for right in ("f = lambda n: 3 * n + int(n > 4)\n", "def f(n):\n    return sum([n] * 3, n > 4)\n"):
        assert judged(target, right, jails).status == "passed"
    known = {ast.literal_eval(given)["n"]: int(due) for given, due in CALLS.items()}
    for default in {*known.values(), 0}:
        table = f"def f(n):\n    return {known!r}.get(n, {default})\n"
        assert judged(target, table, jails).status == "wrong_answer"


def test_a_parameter_that_no_test_varies_is_varied_by_generated_calls(tmp_path, jails):
    code = "def f(n, up=False, step=3):\n    n = n * step + (n > 4)\n    return n + 100 if up else n\n"
    found = decided(tmp_path, code, CALLS, jails)
    assert {"up", "step"} <= {name for call in found.calls for name in call.case.kwargs}
    assert "unvaried" not in found.row["tags"]
    for name, wrong in (("up", code.replace(" if up", " if not n")), ("step", code.replace("* step", "* 3"))):
        assert not found.judged(wrong, jails.first).passed, name
    assert found.judged(code, jails.first).passed


def test_a_parameter_whose_default_tells_no_other_value_is_named(tmp_path, jails):
    found = decided(tmp_path, CODE.replace("(n)", "(n, key=None)", 1), CALLS, jails)
    assert found.row["tags"]["unvaried"] == "key"


def test_what_the_whole_suite_refuses_is_the_measure_of_what_is_kept(tmp_path, jails):
    found = decided(tmp_path, CODE, CALLS, jails)
    whole = {one.mutant.id: "a test" for one in found.mutants}
    passed = [one for one in found.held_out if not one.refused_by]
    floor = StrengthFloor(least=0, whole=whole)
    floor.check([one for one in found.held_out if one.refused_by])
    weak = [structs.replace(one, refused_by=0) for one in found.held_out[:2]]
    with pytest.raises(NotRecorded, match="that the whole suite refuses"):
        floor.check([*weak, *(one for one in found.held_out[2:] if one not in passed)])
    StrengthFloor(least=0, whole=dict.fromkeys(whole, "")).check(weak)
    with pytest.raises(NotRecorded, match="fewer than 99% of its mutants"):
        StrengthFloor(least=0.99).check([*weak, *found.held_out[2:]])
