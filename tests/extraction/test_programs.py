"""Programs out of replies: a right program survives every way of writing the reply."""

import ast
import gzip
import json
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.thorough import one_in
from truegrade.extraction.parsing import Parser
from truegrade.extraction.programs import SAID_NOT_TO_USE, extract_continuation, extract_program
from truegrade.records import Reason

SNIPPETS = {  # prompt to continue, body: the whole is a right program
    "plain": ('def target(x):\n    """Add one."""\n', "    return x + 1\n"),
    "imports": (
        "import math\nfrom typing import List\n\n\ndef target(xs: List[int]) -> float:\n    '''Root.'''\n",
        "    total = math.fsum(xs)\n    return math.sqrt(total)\n",
    ),
    "helper": (
        'def helper(x):\n    return x * 2\n\n\ndef target(x):\n    """Twice."""\n',
        "    def inner(y):\n        return helper(y)\n\n    return inner(x)\n",
    ),
    "blank lines": (
        'def target(s: str) -> str:\n    """ Flip.\n    >>> target("ab")\n    \'ba\'\n    """\n',
        "\n    out = []\n\n    for c in s:\n        # it's\n        out.insert(0, c)\n\n    return ''.join(out)\n",
    ),
    "string at column 0": (
        'def target():\n    """Text."""\n',
        '    text = """\nfirst\n  second\n"""\n    return text.split()\n',
    ),
    "tabs": ("def target(x):\n\t'''Tabs.'''\n", "\tif x:\n\t\treturn 1\n\treturn 0\n"),
    "generator": ('def target(n):\n    """Count."""\n', "    yield from range(n)\n"),
    "decorated": (
        "import functools\n\n\n@functools.cache\ndef target(n):\n    '''Fibonacci.'''\n",
        "    return n if n < 2 else target(n - 1) + target(n - 2)\n",
    ),
}


def import_lines(program):
    return "".join(f"{line}\n" for line in program.splitlines() if line.startswith(("import ", "from ")))


def other_lines(program):
    return "".join(f"{line}\n" for line in program.splitlines() if not line.startswith(("import ", "from ")))


REPLY_STYLES = {
    "fence": lambda p, b: f"Here you are:\n\n```python\n{p}{b}```\n\nIt's right, isn't it?",
    "bare fence": lambda p, b: f"```\n{p}{b}```",
    "tildes": lambda p, b: f"~~~py\n{p}{b}~~~\n",
    "tildes behind code": lambda p, b: f"~~~\n{(p + b).rstrip()}~~~\n",
    "indented evenly": lambda p, b: f"```python\n{textwrap.indent(p + b, '    ')}```",
    "tildes, indented evenly": lambda p, b: f"~~~python\n{textwrap.indent(p + b, '    ')}~~~",
    "byte order mark": lambda p, b: f"\ufeff{p}{b}",
    "byte order mark in a fence": lambda p, b: f"```python\n\ufeff{p}{b}```",
    "no fence": lambda p, b: p + b,
    "CRLF": lambda p, b: f"Code:\n```python\n{p}{b}```\n".replace("\n", "\r\n"),
    "unclosed": lambda p, b: f"Code:\n```python\n{p}{b}",
    "cut off": lambda p, b: f"Code:\n```python\n{p}{b}\n\nprint(target(1",
    "prose around": lambda p, b: (
        f"Sure, here's it:\n\n{p}{b}\n\nThis isn't hard: it works.\nNote\n\n>>> target(1)\n"
    ),
    "word before": lambda p, b: f"Solution\n{p}{b}",
    "thinking": lambda p, b: f"<think>\n```python\ndef target(): return 0\n```\n</think>\n```python\n{p}{b}```",
    "harmony": lambda p, b: f"analysisWe write it.assistantfinal```python\n{p}{b}```",
    "stop token": lambda p, b: f"{p}{b}<|im_end|>",
    "body only": lambda p, b: f"```python\n{b}```",
    "body stripped": lambda p, b: f"```python\n{b.strip()}\n```",
    "raw body": lambda p, b: b,
    "raw body stripped": lambda p, b: b.strip(),
    "split imports": lambda p, b: f"```python\n{import_lines(p)}```\nand\n```python\n{other_lines(p)}{b}```",
    "no imports": lambda p, b: f"```python\n{other_lines(p)}{b}```",
    "pseudocode first": lambda p, b: f"```\nfor each x:\n  do it\n```\n```python\n{p}{b}```",
    "usage behind": lambda p, b: f"```python\n{p}{b}```\nUse it:\n```python\nprint('used')\n```\n```\n1\n```",
    "echo of the prompt": lambda p, b: f"```python\n{p}{b}```\nfor\n```python\n{p}```",
    "in a list": lambda p, b: f"1. So:\n\n   ```python\n{textwrap.indent(p + b, '   ')}   ```\n",
    "behind prose": lambda p, b: f"Answer: ```python\n{p}{b}```",
    "opened by the prompt": lambda p, b: f"{p}{b}```\nThat's it.",
    "two versions": lambda p, b: f"```python\ndef target():\n    return 'old'\n```\nBetter:\n```python\n{p}{b}```",
}

CONTINUATION_STYLES = {
    "tildes": lambda p, b: f"~~~python\n{p}{b}~~~\n",
    "tildes in a list": lambda p, b: textwrap.indent(f"~~~python\n{p}{b}~~~\n", "   "),
    "body": lambda p, b: b,
    "whole program": lambda p, b: p + b,
    "more functions": lambda p, b: f"{b}\n\ndef other(x):\n    return x\n",
    "garbage": lambda p, b: f"{b}\nThis is what it's for (and more",
    "cut off": lambda p, b: f"{b}\n\ndef other(x):\n    retur",
    "stop token": lambda p, b: f"{b}<|endoftext|>def other(",
    "fence end": lambda p, b: f"{b}```\n\nSure!",
    "word": lambda p, b: f"{b}\nExplanation\n",
    "stripped": lambda p, b: b.strip(),
    "chat": lambda p, b: f"Sure:\n```python\n{p}{b}```",
}


def check_defines(answer, prefix, entry_point):
    assert answer.value is not None, answer
    source = prefix + answer.value if answer.form == "completion" else answer.value
    names = {}
    exec(compile(source, "<test>", "exec"), names)
    assert callable(names[entry_point])
    return names[entry_point]


@pytest.mark.parametrize("snippet", SNIPPETS)
@pytest.mark.parametrize("style", REPLY_STYLES)
def test_a_right_program_survives_every_style(snippet, style):
    prefix, body = SNIPPETS[snippet]
    answer = extract_program(REPLY_STYLES[style](prefix, body), "target", prefix=prefix)
    function = check_defines(answer, prefix, "target")
    wanted = {}
    exec(prefix + body, wanted)
    # The same function, wherever the lines moved to and whatever docstring came with it.
    code, wanted_code = (getattr(f, "__wrapped__", f).__code__ for f in (function, wanted["target"]))
    assert code.co_code == wanted_code.co_code
    assert code.co_names == wanted_code.co_names


@pytest.mark.parametrize("snippet", SNIPPETS)
@pytest.mark.parametrize("style", CONTINUATION_STYLES)
def test_a_right_continuation_survives_every_style(snippet, style):
    prefix, body = SNIPPETS[snippet]
    answer = extract_continuation(CONTINUATION_STYLES[style](prefix, body), "target", prefix)
    function = check_defines(answer, prefix, "target")
    wanted = {}
    exec(prefix + body, wanted)
    code, wanted_code = (getattr(f, "__wrapped__", f).__code__ for f in (function, wanted["target"]))
    assert code.co_code == wanted_code.co_code


@pytest.mark.parametrize("tail", ["This is it, isn't it?\n", "\nprint(target(1\n", "x = = 1\n"])
@pytest.mark.parametrize("mark", ["```", "~~~"])
def test_a_closed_fence_that_python_refuses_is_not_cut_until_it_is_right(tail, mark):
    prefix, body = SNIPPETS["plain"]
    code = prefix + body + tail
    answer = extract_program(f"So:\n{mark}python\n{code}{mark}\nDone.", "target", prefix=prefix)
    assert (answer.value, answer.found) == (code, "fence 1/1 (does not parse)")
    unclosed = extract_program(f"So:\n{mark}python\n{code}", "target", prefix=prefix)
    assert "cut behind line" in unclosed.found
    assert check_defines(unclosed, prefix, "target")


def test_a_closed_fence_in_a_fence_is_read():
    answer = extract_program(f"~~~~markdown\n```python\n{''.join(SNIPPETS['plain'])}```\n~~~~", "target")
    assert check_defines(answer, "", "target")


def test_a_program_may_quote_a_marker():
    for marker in ("</think>", "assistantfinal", "<|im_end|>"):
        code = f"def target(s):\n    return s.split({marker!r})  # {marker}\n"
        for reply in (f"<think>x</think>```python\n{code}```", f"it's\nassistantfinal\n~~~\n{code}~~~", code):
            assert extract_program(reply, "target").value == code


def test_a_method_that_the_tests_call_gets_no_name_that_hides_its_own():
    code = "class Solution:\n    def comb(self, n, k):\n        return comb(n, k)\n"
    reply = f"```python\n{code}```"
    assert extract_program(reply, "comb", called_on="Solution").value == code
    other = extract_program(reply.replace("Solution", "S"), "comb", called_on="Solution").value
    assert other.endswith("comb = S().comb\n")


def test_a_continuation_that_concatenates_is_kept_to_the_byte():
    prefix, body = SNIPPETS["plain"]
    text = f"{body}\n\nif __name__ == '__main__':\n    print(target(1))\n\n# the end"
    answer = extract_continuation(text, "target", prefix)
    assert (answer.value, answer.form, answer.found) == (text, "completion", "whole")


def test_a_method_gets_a_name_at_module_level():
    methods = "    def target(self, x):\n        return self.go(x)\n    def go(self, x):\n        return -x\n"
    reply = f"```python\nclass Solution:\n{methods}```"
    answer = extract_program(reply, "target")
    assert check_defines(answer, "", "target")(3) == -3
    assert answer.value.endswith("target = Solution().target\n")
    assert answer.found == "fence 1/1 (implements target) > +alias for Solution.target"


@pytest.mark.parametrize(
    "head", ["@staticmethod\n    def target(x)", "def target(x)", "@classmethod\n    def target(cls, x)"]
)
def test_methods_without_an_instance_get_a_name_too(head):
    answer = extract_program(f"```python\nclass Solution:\n    {head}:\n        return -x\n```", "target")
    assert check_defines(answer, "", "target")(3) == -3


def test_helpers_and_imports_come_from_other_fences_in_their_order():
    reply = (
        "```python\nimport math\nimport os\n```\n```python\ndef helper(x):\n    return math.floor(x) + OFFSET\n"
        "print(undefined)\n```\n```python\nOFFSET = 1\n```\n```python\ndef target(x):\n    return helper(x)\n```"
    )
    answer = extract_program(reply, "target")
    assert check_defines(answer, "", "target")(2.5) == 3
    assert answer.value.index("import math") < answer.value.index("def helper") < answer.value.index("def target")
    assert "undefined" not in answer.value
    assert "import os" not in answer.value
    assert answer.found.split(" > ") == [
        "fence 4/4 (implements target)",
        "+imports from fence 1",
        "+definitions from fence 2",
        "+definitions from fence 3",
    ]


def test_star_imports_are_borrowed_where_a_name_is_unknown():
    prefix = "from math import *\n\n\ndef target(x):\n    '''Floor.'''\n"
    answer = extract_program("```python\ndef target(x):\n    return floor(x)\n```", "target", prefix=prefix)
    assert check_defines(answer, prefix, "target")(2.5) == 2


def test_a_body_gets_its_imports_from_another_fence():
    prefix = 'def target(x):\n    """Floor."""\n'
    reply = "```python\nimport math\n```\n```python\n    return math.floor(x)\n```"
    answer = extract_program(reply, "target", prefix=prefix)
    assert check_defines(answer, prefix, "target")(2.5) == 2
    assert answer.form == "program"


def test_a_fence_inside_a_docstring_does_not_cut_the_program():
    docstring = '    """Example:\n\n    ```\n    target(1)\n    ```\n    """\n'
    reply = f"```python\ndef target(x):\n{docstring}    return x\n```\nDone."
    answer = extract_program(reply, "target")
    assert check_defines(answer, "", "target")(3) == 3
    assert "joined" in answer.found


def test_a_later_fence_that_does_not_parse_is_passed_over():
    reply = "```python\ndef target(x):\n    return x\n```\n```python\ndef target(x:\n    return\n```"
    assert check_defines(extract_program(reply, "target"), "", "target")(3) == 3


@pytest.mark.parametrize("usage", ["from solution import target\nprint(target(1))", "target = target(1)"])
def test_a_usage_example_is_not_the_program(usage):
    reply = f"```python\ndef target(x):\n    return x\n```\n```python\n{usage}\n```"
    assert extract_program(reply, "target").value == "def target(x):\n    return x\n"


def test_an_import_may_be_the_whole_answer():
    assert extract_program("```python\nfrom math import gcd\n```", "gcd").value == "from math import gcd\n"


def test_main_guards_and_assignments_stay():
    code = "target = lambda x: x\n\nif __name__ == '__main__':\n    print(target(1))\n"
    assert extract_program(f"```\n{code}```", "target").value == code


def test_the_path_names_each_step():
    reply = "<think>x</think>```python\nimport math\n```\n```python\ndef target(x):\n    return math.pi\n```"
    assert (
        extract_program(reply, "target").found
        == "final-channel > fence 2/2 (implements target) > +imports from fence 1"
    )


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", Reason.NO_ANSWER),
        (" \n ", Reason.NO_ANSWER),
        ("<think>x</think>", Reason.NO_ANSWER),
        ("<think>def target(x): return x", Reason.TRUNCATED),
        ("I am sorry, I cannot do that.", Reason.NO_CODE),
        ("```\nfor each x in xs:\n  do it\n```", Reason.NO_CODE),
        ("```json\n{'a': 1}\n```", Reason.NO_CODE),
        (">>> target(1)\n2", Reason.NO_CODE),
        ("target", Reason.NO_CODE),
    ],
)
def test_no_program_has_a_reason(reply, reason):
    answer = extract_program(reply, "target", prefix='def target(x):\n    """?"""\n')
    assert (answer.value, answer.reason) == (None, reason)


@pytest.mark.parametrize(
    ("reply", "value", "found"),
    [
        ("```python\ndef target(x:\n```", "def target(x:\n", "fence 1/1 (does not parse)"),
        (
            "```python\ndef other(x):\n    return x\n```",
            "def other(x):\n    return x\n",
            "does not implement target",
        ),
        ("```python\ndef target(x):\n    pass\n```", "def target(x):\n    pass\n", "does not implement target"),
        ("def target(x:\n  return", "def target(x:\n  return", "whole reply (does not implement target)"),
    ],
)
def test_code_that_cannot_be_right_is_still_graded(reply, value, found):
    answer = extract_program(reply, "target")
    assert answer.value == value
    assert found in answer.found
    assert answer.reason is None


def test_an_empty_continuation_is_no_answer():
    answer = extract_continuation(" \n", "target", "def target():\n")
    assert (answer.value, answer.reason, answer.form) == (None, Reason.NO_ANSWER, "completion")


def test_a_continuation_beyond_repair_is_kept_as_it_is():
    answer = extract_continuation("?? !!", "target", 'def target(x):\n    """Doc."""\n')
    assert (answer.value, answer.form) == ("?? !!", "completion")


PIECES = [
    "```",
    "```python\n",
    "def target(x):",
    "\n",
    "    ",
    "return x",
    "class A:",
    "import a",
    "<think>",
    "</think>",
    "(",
    "'''",
    "\0",
    "é",
    ">>> ",
    "\ud800",
]


@given(
    st.text() | st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.sampled_from(["", "def target(x):\n    '''d'''\n"]),
)
def test_any_text_gives_a_program_or_a_reason(text, prefix):
    for answer in (
        extract_program(text, "target", prefix=prefix),
        extract_continuation(text, "target", prefix),
        extract_program(text, text[:5]),
    ):
        assert (answer.value is None) == (answer.reason is not None)
        assert answer.found


@pytest.fixture(scope="module")
def references(data_dir):
    """Prompt, body, name and function of every row of HumanEval."""
    with gzip.open(data_dir / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = []
    for row in rows:
        exec(row["prompt"] + row["canonical_solution"], wanted := {})
        name = row["entry_point"]
        found.append((row["prompt"], row["canonical_solution"], name, wanted[name]))
    return found


@pytest.mark.parametrize("style", one_in(4, [*REPLY_STYLES, *CONTINUATION_STYLES]))
def test_every_humaneval_reference_survives(references, style):
    assert len(references) == 164
    for prefix, body, name, wanted in references:
        if style in REPLY_STYLES:
            answer = extract_program(
                REPLY_STYLES[style](prefix, body).replace("target", name), name, prefix=prefix
            )
        else:
            answer = extract_continuation(CONTINUATION_STYLES[style](prefix, body), name, prefix)
        function = check_defines(answer, prefix, name)
        assert function.__code__.co_code == wanted.__code__.co_code, (name, answer.found)


def test_a_tree_too_deep_to_be_handed_over_is_compiled_from_its_source():
    source = f"def f():\n    return {'-' * 2000}1\n"
    try:
        tree = ast.parse(source)
        compile(source, "<deep>", "exec")
    except RecursionError:
        pytest.skip("this Python reads nothing so deep")
    with pytest.raises(RecursionError):
        compile(tree, "<deep>", "exec")
    assert isinstance(Parser().module(source), ast.Module)


BROKEN_OFF = ["  \\", "\\", " \\\n", " \\ \n", "\n\\", "\n@staticmethod", "\n@print\n", "\nif 0: \\", "\nasync \\"]


@pytest.mark.parametrize("end", BROKEN_OFF)
def test_of_a_text_that_breaks_off_an_end_without_a_statement_is_dropped(end):
    body = "    return x + 1"
    assert extract_continuation(f"{body}{end}", "f", "def f(x):\n").value.rstrip() == body
    for reply in (f"def f(x):\n{body}{end}", f"Here:\n```python\ndef f(x):\n{body}{end}"):
        assert extract_program(reply, "f").value.rstrip() == f"def f(x):\n{body}"


@pytest.mark.parametrize("end", [end for end in BROKEN_OFF if not end.endswith("\\\n")])
def test_what_a_fence_closed_is_not_cut(end):
    answer = extract_program(f"```python\ndef f(x):\n    return x + 1{end}\n```", "f")
    assert "does not parse" in answer.found and end.strip() in answer.value


def test_a_line_may_go_on_in_an_empty_one():
    assert extract_continuation("    return x \\\n\n", "f", "def f(x):\n").value == "    return x \\\n\n"
    assert extract_continuation("    return x  # \\", "f", "def f(x):\n").value == "    return x  # \\"
    assert extract_continuation("    return x + \\", "f", "def f(x):\n").found.startswith("whole (does not")


FIRST, SECOND = "def f(x):\n    return x + 1\n", "def f(x):\n    return x + 2\n"


@pytest.mark.parametrize(
    ("said", "disowned"),
    [
        ("Do not write this:", True),
        ("Please don't do it like this:", True),
        ("It is slow, but never use the following:", True),
        ("Avoid code like this.", True),
        ("This is wrong:", True),
        ("**Incorrect version:**", True),
        ("### A bad example", True),
        ("Here's what NOT to do:", True),
        ("Do NOT submit:", True),
        ("A naive (incorrect) approach:", True),
        ("The following fails for n=0:", True),
        ("What I tried first (it does not work):", True),
        ("I had this, which crashes on empty input:", True),
        ("This would be too slow:", True),
        ("A common mistake is to write:", True),
        ("Use that instead of this one:", True),
        ("**Before:**", True),
        ("Buggy version:", True),
        ("My earlier attempt was:", True),
        ("Here is the original code:", True),
        ("Or, shorter:", False),
        ("Do not use recursion, so:", False),
        ("The naive solution is wrong, so here is the right one:", False),
        ("Instead of a loop, use this:", False),
        ("Ignore the code above; this is final:", False),
        ("The first version fails for n=0. This one does not:", False),
        ("This works even where the original fails:", False),
        ("If this fails, use the version below:", False),
        ("Here is a version that handles what is wrong:", False),
        ("To keep ties in order, avoid recursion:", False),
        ("Before returning, it sorts the values:", False),
        ("It returns what the original returns:", False),
        ("The original version, cleaned up:", False),
        ("This avoids the common mistake of mutating the list:", False),
        ("Don't worry about the order; this sorts:", False),
        ("A version that does not use this trick:", False),
        ("I do not use regular expressions here:", False),
        ("Here is the fixed form of the wrong version:", False),
        ("This replaces what was wrong:", False),
        ("Don't forget this:", False),
        ("Don't use that one, use this:", False),
        ("This is not a bad solution:", False),
        ("Ignore my first answer, this is the one:", False),
        ("Note: do not use floats with this:", False),
        ("A version without the mistake is:", False),
        ("Here's my final answer, do not change this:", False),
        ("That was a bad approach.\n\nFinal answer:", False),
        ("", False),
    ],
)
def test_a_last_fence_that_the_line_before_rules_out_is_taken_and_said_to_be(said, disowned):
    reply = f"```python\n{FIRST}```\n{said}\n```python\n{SECOND}```\n"
    answer = extract_program(reply, "f")
    assert answer.value == SECOND
    assert (SAID_NOT_TO_USE in answer.found) == disowned


def test_an_only_fence_is_not_ruled_out_by_what_stands_before_it():
    assert SAID_NOT_TO_USE not in extract_program(f"Do not write this:\n```python\n{FIRST}```\n", "f").found
