import ast
import asyncio
import gzip
import json
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.errors import UnknownName, UserError
from truegrade.models import BASELINES
from truegrade.models.base import generate_sample
from truegrade.models.baseline import NO_VALUE, cut_at_stop, lookup_claim, lookup_code, open_baseline
from truegrade.records import (
    Case,
    CasesTask,
    FunctionTask,
    InputTask,
    Message,
    OutputTask,
    Problem,
    Prompt,
    SampleKey,
)
from truegrade.records.config import RequestPolicy, Sampling

HUMANEVAL_PROMPT = '''from typing import List


def below(numbers: List[int], limit: int = 3) -> bool:
    """ Are all numbers below the limit?
    >>> below([1, 2], 3)
    True
    >>> below([4],
    ...       limit=3)
    False
    >>> below([9, 9])
    False
    """
'''
FUNCTION = FunctionTask(
    prompt=HUMANEVAL_PROMPT,
    entry_point="below",
    prefix=HUMANEVAL_PROMPT,
    tests="check(below)",
    reference=HUMANEVAL_PROMPT + "    return all(n < limit for n in numbers)\n",
)
OUTPUT = OutputTask(program="def f(x):\n    return x + 1", function="f", arguments="[1, 2], k='??'", expected="7")
INPUT = InputTask(program="def f(x):\n    return x + 1", function="f", expected="[3]", reference_arguments="2")
OUTPUT_PROMPT = (
    f"Replace the ?? with a literal.\n\n[PYTHON]\n{OUTPUT.program}\nassert f([1, 2], k='??') == ??\n[/PYTHON]"
)
INPUT_PROMPT = f"""[PYTHON]
def f(s):
    return s
assert f(??) == 3
[/PYTHON]
[PYTHON]
{INPUT.program}
assert f(??) == [3]
[/PYTHON]
[ANSWER]
"""


def ask(name, task, text, *, style="chat", stop=(), messages=None):
    problem = Problem(id="p/0", benchmark="b", dataset_sha256="d", cluster="p/0", task=task)
    prompt = Prompt(
        messages=messages or (Message(role="user", content=text),), style=style, stop=stop, source="test"
    )
    model = open_baseline(name, {problem.id: problem})
    return asyncio.run(generate_sample(model, SampleKey(problem.id, 0), prompt, Sampling()))


def fenced(text):
    assert text.startswith("```python\n")
    assert text.endswith("\n```")
    return text.removeprefix("```python\n").removesuffix("```")


def define(code, name):
    scope = {}
    exec(compile(code, name, "exec"), scope)
    return scope[name]


@pytest.mark.parametrize("name", BASELINES)
def test_every_listed_baseline_opens_and_answers(name):
    model = open_baseline(name, {})
    assert (model.name, model.base_url) == (f"baseline/{name}", None)
    reply = ask(name, FUNCTION, HUMANEVAL_PROMPT)
    assert (reply.model, reply.form, reply.finish_reason, reply.usage) == (
        f"baseline/{name}",
        "reply",
        "stop",
        None,
    )
    assert [(attempt.outcome, attempt.latency_s) for attempt in reply.attempts] == [("ok", reply.latency_s)]
    assert reply.latency_s > 0
    assert ask(name, FUNCTION, HUMANEVAL_PROMPT).text == reply.text
    assert model.request_policy == RequestPolicy()
    asyncio.run(model.close())


def test_unknown_baseline_is_refused():
    with pytest.raises(UnknownName, match="did you mean lookup"):
        open_baseline("lokup", {})


@pytest.mark.parametrize("name", ["reference", "buggy"])
def test_a_baseline_that_knows_the_problems_answers_these_alone(name):
    prompt = Prompt(messages=(Message(role="user", content=HUMANEVAL_PROMPT),), source="test")
    model = open_baseline(name, {})
    with pytest.raises(UserError, match=f"baseline/{name} was opened without problem 'p/0'"):
        asyncio.run(generate_sample(model, SampleKey("p/0", 0), prompt, Sampling()))
    with pytest.raises(UserError, match="answers the samples of a run"):
        asyncio.run(model.generate(prompt, Sampling()))


# ------------------------------------------------------------------------------------------- reference


def test_reference_program_in_a_fence():
    assert fenced(ask("reference", FUNCTION, f"Write:\n{HUMANEVAL_PROMPT}").text) == FUNCTION.reference


@pytest.mark.parametrize("text", [HUMANEVAL_PROMPT, HUMANEVAL_PROMPT.strip(), HUMANEVAL_PROMPT.strip() + "\n"])
def test_reference_continues_a_base_prompt(text):
    reply = ask("reference", FUNCTION, text, style="text", stop=("\ndef", "\n#"))
    assert ast.dump(ast.parse(text + reply.text)) == ast.dump(ast.parse(FUNCTION.reference))


def test_reference_continues_a_begun_answer():
    messages = (
        Message(role="user", content="Go on."),
        Message(role="assistant", content=f"```python\n{HUMANEVAL_PROMPT}"),
    )
    assert ask("reference", FUNCTION, "", messages=messages).text == "    return all(n < limit for n in numbers)\n"


def test_reference_predictions():
    assert ask("reference", OUTPUT, OUTPUT_PROMPT).text == "[ANSWER]\nassert f([1, 2], k='??') == 7\n[/ANSWER]"
    assert ask("reference", INPUT, INPUT_PROMPT, stop=("[/ANSWER]",)).text == "assert f(2) == [3]\n"


# -------------------------------------------------------------------------------------------- constant


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (("7", "0", "3", "0"), "0"),
        (("False", "2", "0", "2", "0.0"), "False"),  # equal to 0
        (("[1]", "[ 1]", "[]"), "[1]"),
        (("Money(3)", "Money(3)", "1"), "Money(3)"),
    ],
)
def test_constant_gives_the_value_that_is_right_most_often_to_every_question(expected, said):
    tasks = [msgspec.structs.replace(OUTPUT, expected=value) for value in expected]
    problems = {
        str(place): Problem(id=str(place), benchmark="x", dataset_sha256="0" * 64, cluster="c", task=task)
        for place, task in enumerate((*tasks, FUNCTION))
    }
    model, prompt = (
        open_baseline("constant", problems),
        Prompt(messages=(Message(role="user", content=OUTPUT_PROMPT),), source="x"),
    )
    told = [asyncio.run(generate_sample(model, SampleKey(name, 0), prompt, Sampling())).text for name in problems]
    assert len({*told[:-1]}) == 1 and f"== {said}\n" in told[0]
    assert told[-1] == NO_VALUE


# ---------------------------------------------------------------------------------------------- lookup


def test_lookup_memorises_doctests():
    below = define(fenced(ask("lookup", FUNCTION, HUMANEVAL_PROMPT).text), "below")
    assert below([1, 2], 3) is True
    assert below([4]) is False
    assert below(numbers=[9, 9]) is False
    assert below([0], 100) is False, "the value shown most often"


def test_lookup_continues_with_the_body_only():
    reply = ask("lookup", FUNCTION, HUMANEVAL_PROMPT, style="text", stop=("\ndef", "\nclass"))
    assert "def " not in reply.text
    assert define(HUMANEVAL_PROMPT + reply.text, "below")([1, 2], 3) is True


def test_a_function_that_the_prompt_ended_is_written_whole():
    begun = (
        Message(role="user", content=f"Solve:\n```python\n{HUMANEVAL_PROMPT}```"),
        Message(role="assistant", content="Here is a script:\n```python\n"),
    )
    for name in ("lookup", "empty", "reference"):
        assert callable(define(ask(name, FUNCTION, "", messages=begun).text, "below"))


def test_lookup_never_looks_at_the_problem():
    other = FunctionTask(prompt="", entry_point="secret", tests="", reference="def secret(): return 42")
    assert ask("lookup", other, HUMANEVAL_PROMPT).text == ask("lookup", FUNCTION, HUMANEVAL_PROMPT).text
    assert "secret" not in ask("lookup", other, "Write something.").text


@pytest.mark.parametrize(
    ("tests", "name", "calls"),
    [
        ("assert f(1, [2]) == 3\nassert f(4, [5]) == 6", "f", [((1, [2]), 3), ((4, [5]), 6), ((0, []), 3)]),
        ("assert set(f((3, 4),(4,))) == set((4,))", "f", [(((3, 4), (4,)), (4,))]),
        (
            "assert f(1) == 2, 'message'\nassert not f(2)\nassert f(3)",
            "f",
            [((1,), 2), ((2,), False), ((3,), True)],
        ),
        ("assert f(1) == [\n  1,\n  2]\nassert f(1, 2) is None", "f", [((1,), [1, 2]), ((1, 2), None)]),
        ("assert f ('a') == {'a': {1}}\n", "f", [(("a",), {"a": {1}})]),
        ("assert (f([1])) == [2]", "f", [(([1],), [2])]),
        ("assert f(root) == 3", "f", [((1,), None)]),
        ("assert f(True) == 'bool'\nassert f(1) == 'int'", "f", [((True,), "bool"), ((1,), "int")]),
        ("assert f() == 3", "f", [((), 3)]),
    ],
)
def test_lookup_memorises_assertions(tests, name, calls):
    function = define(
        fenced(ask("lookup", FUNCTION, f"Do it. Your code should pass these tests:\n\n{tests}\n").text), name
    )
    for arguments, value in calls:
        assert function(*arguments) == value


def test_the_last_task_of_a_few_shot_prompt_counts():
    shots = "Task one:\nassert one(1) == 1\n[BEGIN]\ndef one(x):\n    return x\n[DONE]\n\n"
    code = lookup_code(f"{shots}Task two:\nassert two(2) == 4\n[BEGIN]\n", continues=True)
    assert define(code, "two")(2) == 4
    code = lookup_code(
        f"```python\ndef one(x):\n    return x\nassert one(1) == 1\n```\n```python\n{HUMANEVAL_PROMPT}```",
        continues=False,
    )
    assert define(code, "below")([4], 3) is False


@pytest.mark.parametrize(
    ("signature", "example", "call", "value"),
    [
        ("value, repr_=1", "f(5)", "f(5, 1)", 7),
        ("a, /, b, *, c=2", "f(1, b=2)", "f(1, 2, c=2)", 7),
        ("a: 'dict[str, int]', b: int = 3", "f({'a': 1})", "f({'a': 1}, 3)", 7),
        ("*rest", "f(1)", "f(1)", None),
        ("a", "f(b=1)", "f(1)", None),
        ("a, b", "f(1)", "f(1, 2)", None),
        ("a", 'f("x\\u2028y")', "f('x\u2028y')", 7),
    ],
)
def test_signatures_are_kept(signature, example, call, value):
    code = lookup_code(
        f'def f({signature}) -> "x:y":\n    """\n    >>> {example}\n    7\n    """\n', continues=False
    )
    scope = {}
    exec(code, scope)
    assert eval(call, scope) == value


def test_lookup_copies_the_input_of_a_question():
    assert ask("lookup", OUTPUT, OUTPUT_PROMPT).text == "[ANSWER]\nassert f([1, 2], k='??') == [1, 2]\n[/ANSWER]"
    assert ask("lookup", INPUT, INPUT_PROMPT).text == "assert f([3]) == [3]\n[/ANSWER]"
    assert lookup_claim("assert g(n=3, m='x') == ??") == ("g(n=3, m='x')", "3")
    assert lookup_claim("assert g(x) == ??") == ("g(x)", "None")
    assert lookup_claim("assert g(\n  1,\n) == ??") == ("g(\n  1,\n)", "1")
    assert lookup_claim("```\nassert g([1], 2) == # TODO\n```") == ("g([1], 2)", "[1]")
    assert lookup_claim("assert f(17) == 17 # done\n\nassert f('a') ==") == ("f('a')", "'a'")
    assert lookup_claim("Is 2 == ?? a question?") is None


def test_nothing_of_the_prompt_is_executed():
    hostile = (
        "assert f(__import__('os').abort()) == ??\nassert f(1) == __import__('os').abort()\n>>> f(exit())\n1\n"
    )
    code = lookup_code(hostile, continues=False)
    assert "import" not in code
    assert "exit" not in code


@settings(derandomize=True, deadline=None, max_examples=120)
@given(
    st.lists(
        st.sampled_from(
            [
                "def f(x):",
                "def g(",
                ">>> f(1)",
                ">>> f([",
                "assert f(2) == ",
                "assert f(",
                "3",
                "??",
                " == ??",
                "\n",
                "    ",
                '"""',
                ", 'm'",
                "\0",
                "\ud800",
            ]
        )
        | st.text(max_size=5),
        max_size=15,
    ).map("".join),
    st.booleans(),
)
def test_any_text_gives_valid_code_or_none(text, continues):
    lookup_claim(text)
    code = lookup_code(text, continues=False)
    if code is not None:
        assert isinstance(ast.parse(code).body[0], ast.FunctionDef)
    lookup_code(text, continues=continues)


# ------------------------------------------------------------------------------------- empty, and stops


def test_buggy_hands_the_program_back():
    repair = FunctionTask(prompt="", entry_point="f", tests="", reference="def f(): ...", buggy="def f(): bug\n")
    assert fenced(ask("buggy", repair, "Repair it.").text) == "def f(): bug\n"
    assert ask("buggy", repair, "Repair it:\n```python\n", style="text").text == "def f(): bug\n"
    assert "def" not in ask("buggy", FUNCTION, HUMANEVAL_PROMPT).text
    case = Case(arguments=(), expected=1)
    cases = CasesTask(entry_point="f", buggy="def f(): bug", reference="def f(): right", cases=(case,))
    assert fenced(ask("buggy", cases, "Repair it.").text) == "def f(): bug\n"
    assert fenced(ask("reference", cases, "Repair it.").text) == "def f(): right\n"


def test_empty_does_nothing():
    assert define(fenced(ask("empty", FUNCTION, HUMANEVAL_PROMPT).text), "below")([1], 2) is None
    assert ask("empty", FUNCTION, HUMANEVAL_PROMPT, style="text").text == "    pass\n"
    assert define(fenced(ask("empty", FUNCTION, "assert h(1, 2) == 3").text), "h")(1, 2) is None
    assert ask("empty", OUTPUT, OUTPUT_PROMPT).text == "[ANSWER]\nassert f([1, 2], k='??') == None\n[/ANSWER]"
    assert ask("empty", INPUT, INPUT_PROMPT).text == "assert f(None) == [3]\n[/ANSWER]"
    assert "def" not in ask("empty", FUNCTION, "Hello.").text


def test_empty_writes_a_method_in_its_class():
    words = "Add.\n```python\nclass Solution:\n    def add(self, a: int, b: int) -> int:\n        \n```\n"
    kind = define(fenced(ask("empty", FUNCTION, words).text), "Solution")
    assert kind().add(1, b=2) is None


def test_stop_strings_cut_as_a_service_does():
    assert cut_at_stop("abcabc", ("c", "bc")) == "a"
    assert cut_at_stop("abc", ("x", "")) == "abc"


# ------------------------------------------------------------------------------------------ real prompts


def read(path):
    content = path.read_bytes()
    return [
        json.loads(line) for line in (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
    ]


def test_humaneval_prompts_give_code_that_defines_the_entry_point(humaneval_file):
    shown = 0
    for row in read(humaneval_file):
        code = lookup_code(row["prompt"], continues=False)
        assert callable(define(code, row["entry_point"]))
        body = lookup_code(row["prompt"], continues=True)
        assert callable(define(row["prompt"] + body, row["entry_point"])), row["task_id"]
        shown += "return None\n" not in code
    assert shown >= 70, "76 prompts hold doctests"


def test_mbpp_tests_are_memorised(data_dir):
    start, right = time.process_time(), 0
    rows = read(data_dir / "mbpp.jsonl")
    for row in rows:
        code = lookup_code(row["text"] + "\n" + "\n".join(row["test_list"]) + "\n", continues=False)
        scope = {}
        exec(code, scope)
        try:
            exec("import math\n" + "\n".join(row["test_list"]), scope)
            right += 1
        except Exception:
            continue
    assert right / len(rows) > 0.9, "a model that is shown every test can memorise nearly all of them"
    assert (time.process_time() - start) / len(rows) < 0.02
