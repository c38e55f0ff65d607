"""Replies, and what is taken out of them under a rule of the step ``extraction``: each would give something else
under the plain alternative to its rule."""

# ruff: noqa: E501 - keys are the beginnings of rules

from __future__ import annotations

import json
from dataclasses import dataclass

RIGHT = "def add(a, b):\n    return a + b"
DRAFT = "def add(a, b):\n    return 0"
HEAD = 'def add(a, b):\n    """ Add. """\n'
"""The code that the task ``humaneval`` has continued."""
OUTPUT, CHOICE = "execution-prediction", "execution-choice"
SANITIZED = "humanevalplus|bigcodebench"


@dataclass(frozen=True)
class Read:
    """A reply to the problem of a benchmark, and the answer that it holds."""

    benchmark: str
    reply: str
    value: str | None
    reason: str | None = None
    """Why there is no answer."""
    form: str = "reply"
    variant: str | None = None
    """Prompt of the profile that was answered; None for one that is not the profile's."""


def fenced(code, language="python"):
    """A block of Markdown."""
    return f"```{language}\n{code}\n```"


def block(text):
    """An answer between the tags that execution prompts ask for."""
    return f"[ANSWER]\n{text}\n[/ANSWER]"


def choice(letter, value, name="chosen_program"):
    """The object that a prompt of choice asks for."""
    return f'{{"{name}": "{letter}", "assertion": "assert f(1) == {value}"}}'


CHOSEN_A, CHOSEN_B = ('{"chosen_program":"A","value":"1"}', '{"chosen_program":"B","value":"2"}')
_LONGER = "def helper():\n    return 1\n\nclass Unused:\n    x = 1\n\nimport math\nx = 2\ndef add(a, b):\n    return a + helper()\n"
_REACHED = "import math\ndef helper():\n    return 1\ndef add(a, b):\n    return a + helper()"

_DOCUMENTED = '"""\nAdd two numbers.\nassert add(1, 2) == 3\n"""\n'

STRICT = {
    "final channel after thinking": (
        Read("humaneval", f"<think>\n{fenced(DRAFT)}\n</think>\n{fenced(RIGHT)}", f"{RIGHT}\n"),
        Read("humaneval", f"<think>\n{fenced(DRAFT)}\n", None, "truncated"),
        Read("humaneval", f"{fenced(RIGHT)}\nIt works with `</think>` too.", f"{RIGHT}\n"),
    ),
    "the fence that defines the entry point": (
        Read("humaneval", f"{fenced(RIGHT)}\nTry it:\n{fenced('print(add(1, 2))')}", f"{RIGHT}\n"),
        Read("humaneval", "```python\n    return a + b\n```", "    return a + b\n"),
        Read("humaneval", f"<pre><code>{RIGHT}</code></pre>", f"{RIGHT}\n"),
        Read("mbpp", f"[BEGIN]\n{RIGHT}\n[DONE]\nand more", f"{RIGHT}\n"),
        Read("humaneval", json.dumps({"explanation": "It adds.", "code": RIGHT}), RIGHT),
    ),
    "a closed fence that Python refuses": (
        Read("humaneval", fenced("def add(a, b):\n    return a +"), "def add(a, b):\n    return a +\n"),
        Read("humaneval", f"```python\n{RIGHT}\n\ndef more(x):\n    return (x +", RIGHT),
    ),
    "output: the last block about the asked call decides": (
        Read(OUTPUT, f"{block('assert f(1) == 2')}\nNo, wait.\n{block('assert f(1) == 3')}", "3"),
        Read(OUTPUT, f"{block('assert f(1) == 2')}\n{block('assert f(1) == 1 + 1')}", None, "not_literal"),
        Read(OUTPUT, f"{block('assert f(1) == 2')}\n{block('assert f(1) == ??')}", None, "no_answer"),
        Read(OUTPUT, f"{block('assert f(1) == 2')}\nSo f(1) == 3.", "2"),
    ),
    "output: without such a block, what is stated of another call": (
        Read(OUTPUT, block("assert f(2) == 5"), "5"),
        Read(OUTPUT, f"{block('assert f(1) == 4')}\n{block('assert f(2) == 5')}", "4"),
    ),
    "output, where a reply has no answer in Python's spelling": (
        Read(OUTPUT, block("assert f(1) == “a”"), '"a"'),
        Read(OUTPUT, block("assert f(1) == −3"), "-3"),
        Read(OUTPUT, block("assert f(1) == math.inf"), "inf"),
        Read(OUTPUT, "[ANSWER]assert f(1) == \\boxed{3}[/ANSWER]", "3"),
        Read(OUTPUT, "f(1) → 3", "3"),
    ),
    "output: assert f(x) == 1, 2 is the tuple": (
        Read(OUTPUT, block("assert f(1) == 1, 2"), "(1, 2)"),
        Read(OUTPUT, block("assert f(1) == 'a', 'b'"), "'a'"),
    ),
    "choice: the last object that names": (
        Read(CHOICE, f"{choice('A', 1)} No: {choice('B', 2)}", CHOSEN_B),
        Read(CHOICE, "{'chosen_program': 'B', 'assertion': 'assert f(1) == 2'}", CHOSEN_B),
        Read(CHOICE, choice("program b", 2), CHOSEN_B),
        Read(CHOICE, choice("A and B", 2), None, "no_answer"),
        Read(CHOICE, '"chosen_program": "B", "assertion": "assert f(1) == 2"', CHOSEN_B),
        Read(CHOICE, choice("B", "??"), '{"chosen_program":"B","value":null}', "no_answer"),
    ),
    "input: the last block of the first example": (
        Read("cruxeval-input", f"{block('assert f(1) == 1')}\n{block('assert f(3) == 1')}", "3"),
        Read("cruxeval-input", block("assert f(__import__('os')) == 1"), None, "not_literal"),
        Read("cruxeval-input", block("assert f([0] * 3) == 1"), "[0] * 3"),
    ),
}
FUNCTIONS = {
    "none: the completion is used as it is": (Read("humaneval", fenced(RIGHT), fenced(RIGHT)),),
    "a base model's text, asked here: cut at a stop string, tabs as four blanks, put behind the prompt": (
        Read(
            SANITIZED, "\treturn a + b\n\nprint(1)\n", f"{HEAD}    return a + b", form="completion", variant="base"
        ),
    ),
    "a given completion is put behind the prompt": (
        Read(SANITIZED, "\treturn a + b\n\nprint(1)\n", f"{HEAD}\treturn a + b\n\nprint(1)\n", form="completion"),
    ),
    "the span of two or more lines that parses and has most lines; ANSI": (
        Read(SANITIZED, f"Here:\n{RIGHT}\n\nx = 1\nIt is so.", RIGHT),
        Read(SANITIZED, f"\x1b[1m{RIGHT}\x1b[0m", RIGHT),
    ),
    "of it all imports, then the top-level definitions that the entry point reaches by any use of a name; if": (
        Read(SANITIZED, _LONGER, _REACHED),
        Read(SANITIZED, "x = 1\ny = 2", "x = 1\ny = 2"),
    ),
    "a given solution is graded as it is": (Read(SANITIZED, _LONGER, _LONGER, form="program"),),
    "HumanEval: up to \\nclass \\ndef \\n# \\n@": (
        Read("humaneval", "    return a\n@x\ndef b(): 1", f"{HEAD}    return a", form="completion"),
        Read("humaneval", "    return a<file_sep>x", f"{HEAD}    return a", form="completion"),
        Read("humaneval", "    return a\nassert 1", f"{HEAD}    return a\nassert 1", form="completion"),
    ),
    "MBPP: up to \\nclass \\nassert": (
        Read("mbpp", f"{RIGHT}\nassert 1", _DOCUMENTED + RIGHT),
        Read("mbpp", f"{RIGHT}\ndef more(): 1\n<|/ x", f"{_DOCUMENTED}{RIGHT}\ndef more(): 1"),
    ),
    "the prompt that was sent is put back": (
        Read("humaneval", "    return a", f"{HEAD.rstrip()}    return a", form="completion", variant="default"),
        Read("humaneval", "    return a", f"{HEAD}    return a", form="completion"),
    ),
    "a given whole program is graded as it is": (
        Read("humaneval", f"{RIGHT}\nprint(1)", f"{RIGHT}\nprint(1)", form="program"),
    ),
    "text that continues code, by instruct-humaneval": (
        Read("humaneval", "    return a\nx = 1\n", f"{HEAD}    return a\n", form="completion"),
    ),
    "a reply, by instruct-humaneval-nocontext": (
        Read("humaneval", f"Here:\n{fenced(RIGHT)}\nIt adds.", f"\n{RIGHT}"),
    ),
    "up to \\nclass \\ndef \\n# \\n@ \\nprint \\nif \\nassert <|endoftext|>": (
        Read("humanevalsynthesize", "    return a\nassert 1", "def add(a, b):    return a", form="completion"),
        Read("humanevalsynthesize", "    return a\nx = 1", "def add(a, b):    return a", form="completion"),
    ),
    "of all spans of two or more lines that parse the one with most lines that are not blank": (
        Read("leetcode-dataset", f"a = 1\nb = 2\n!\n{RIGHT}\nc = 1\n!\nd = 1\ne = 2", f"{RIGHT}\nc = 1"),
        Read("leetcode-dataset", "no code ! at all\n!", "no code ! at all"),
    ),
    "a base model's text: cut at a stop string, tabs as four blanks, put behind the prompt, sanitized": (
        Read(
            "bigcodebench",
            "\treturn a + b\n\nprint(1)\n",
            f"{HEAD}    return a + b",
            form="completion",
            variant="base",
        ),
    ),
    "the span of two or more lines that parses and has most lines, white": (
        Read("bigcodebench", f"Here:\n{RIGHT}\nIt is so.", RIGHT),
    ),
    "of it all imports, then the top-level definitions that the entry point reaches by any use of a name, without": (
        Read("bigcodebench", _LONGER, _REACHED),
    ),
    "HumanEval: the reply up to \\nclass": (
        Read("humaneval", "    return a\nprint(1)", "    return a"),
        Read("mbpp", f"{RIGHT}\n[DONE]\nmore", f"{RIGHT}\n"),
    ),
    "HumanEval: up to a stop string of the base task, then up to the first fence": (
        Read("humaneval", "    return a\n```\nx", "    return a\n"),
        Read("humaneval", "    return a\nprint(1)\n```", "    return a"),
    ),
    "MBPP: first match of a fence pattern in three back-ticks + reply": (
        Read("mbpp", f"python\n{RIGHT}\n```\nmore", RIGHT),
        Read("mbpp", RIGHT, None, "no_code"),
    ),
    "the first complete fence opened by exactly ```python\\n, else": (
        Read("humaneval", f"```py\n{DRAFT}\n```\n{fenced(RIGHT)}\n{fenced(DRAFT)}", "    return a + b\n"),
    ),
    "of that, what follows the colon and newline of the first": (
        Read("humaneval", f"import math\n{RIGHT}", "    return a + b"),
    ),
    "HumanEval: the first complete fence, else the reply as it is": (
        Read("humaneval", f"{fenced(RIGHT)}\n{fenced(DRAFT)}", f"{RIGHT}\n"),
        Read("humaneval", f"```python\n{RIGHT}", f"```python\n{RIGHT}"),
    ),
    "MBPP: up to [DONE]; first complete fence, else unclosed": (
        Read("mbpp", f"{fenced(RIGHT)}\n{fenced(DRAFT)}", f"\n{RIGHT}"),
        Read("mbpp", f"{RIGHT}\r\n# Example usage\nprint(1)\n[DONE]", f"\n{RIGHT}\n"),
        Read("mbpp", f"so\n```python\n{RIGHT}\nassert add(1, 2)", f"\n{RIGHT}"),
    ),
    "HumanEval: first ```python fence, else first bare fence": (
        Read("humaneval", f"{fenced(DRAFT, '')}\n{fenced(RIGHT)}", "    return a + b\n"),
        Read("humaneval", f"so\n{fenced(RIGHT, '')}", "    return a + b\n"),
    ),
    "MBPP: first ```python fence, else the whole reply": (
        Read("mbpp-sanitized", f"{fenced(DRAFT, '')}\n{fenced(RIGHT)}\n{fenced(DRAFT)}", f"{RIGHT}\n"),
    ),
    "from the first ```python to the next ```; without": (
        Read("humaneval", f"{fenced(DRAFT, '')}\n{fenced(RIGHT)}\n{fenced(DRAFT)}", f"\n{RIGHT}\n"),
        Read("humaneval", RIGHT, RIGHT),
    ),
    "an answer without `def ` is dropped": (Read("humaneval", fenced("x = 1"), None, "no_code"),),
    "first ```python block, else first ``` block without a language": (
        Read("quixbugs", f"{fenced('x = 0', '')}\n{fenced('x = 1')}", "x = 1"),
        Read("quixbugs", f"```js\nx = 0``` so\n{fenced('x = 1', '')}", "x = 1"),
        Read("quixbugs", "so\ndef f(x):\n    return x\nIt is right.", "def f(x):\n    return x"),
    ),
}
_MORE = "```python\nx = 1\n```\n```python\nx = 2\n```\n```\nx = 3\n```"
CONTESTS = {
    "the whole text, stripped": (Read("livecodebench", f"\n{_MORE}\n", _MORE),),
    "the lines between the last two lines that contain three backticks; fewer": (
        Read("livecodebench", _MORE, "x = 3"),
        Read("livecodebench", "x = 1", ""),
    ),
    "LiveCodeBench: the lines between the last two that contain": (Read("livecodebench", _MORE, "x = 3"),),
    "the lines between the first two that contain": (Read("livecodebench", _MORE, "x = 1"),),
    "what follows the last ```python, to the next three backticks": (
        Read("livecodebench", _MORE, "\nx = 2\n"),
        Read("livecodebench", "x = 1\n```\nx = 3\n```", "x = 1\n"),
    ),
    "the last block of three backticks, a word at most": (
        Read("livecodebench", f"{_MORE}\n```a b\nx = 4\n```", "x = 3"),
        Read("livecodebench", "x = 1", None, "no_code"),
    ),
    "the lines between the last two that contain three backticks; none": (
        Read("livecodebench", _MORE, "x = 3"),
        Read("livecodebench", "x = 1", None, "no_code"),
        Read("livecodebench", "```\n```", None, "no_code"),
    ),
    "a reply that says <think> or </think> is paid": (Read("livecodebench", f"<think>{_MORE}", None, "no_code"),),
    "the last pair of ``` and what stands between, less a python": (
        Read("mbpp", f"{_MORE}\n```python x = 4```", "x = 4"),
        Read("mbpp", "x = 1", "x = 1"),
    ),
    "the last of the complete fences opened by exactly ```python and a newline": (
        Read("livecodebench", _MORE, "x = 2\n"),
        Read("livecodebench", "x = 1", ""),
    ),
    "behind the last ```python up to the next ```; without": (
        Read("mbpp", _MORE, "\nx = 2\n"),
        Read("mbpp", "```js\nx = 1\n```\n```\nx = 2\n```", "x = 1\n"),
        Read("mbpp", "x = 1", None, "no_code"),
    ),
    "the last complete fence opened by ``` with or without a word and a newline, stripped; none": (
        Read("mbpp", f"{_MORE}\n```a b\nx = 4\n```", "x = 3"),
        Read("mbpp", "x = 1", None, "no_code"),
    ),
    "the stripped reply begins with <think>": (
        Read("mbpp", f" <think>\n</think><answer>{fenced('x = 1')}</answer>\n", "x = 1"),
        Read("mbpp", f"<think>\n<answer>{fenced('x = 1')}</answer>", None, "no_code"),
        Read("mbpp", f"<think></think><answer>{fenced('x = 1')}</answer>.", None, "no_code"),
    ),
    "of the last pair of <answer> and </answer>, all fences": (
        Read(
            "mbpp",
            f"<think></think><answer>{fenced('x = 0')}</answer><answer>{_MORE}</answer>",
            "x = 1\nx = 2\nx = 3",
        ),
        Read("mbpp", "<think></think><answer>x = 1</answer>", None, "no_code"),
    ),
}
_TWICE = "assert f(1) == 2\n[/ANSWER]\nassert f(1) == 3"
PREDICTIONS = {
    "CRUXEval: the reply up to [/ANSWER] or </seed:think>[ANSWER]; cot": (
        Read("cruxeval-output", "f(1) == 2\n[/ANSWER] f(1) == 3", "2", variant="default"),
        Read("cruxeval-output", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "2", variant="cot"),
        Read("cruxeval-output", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "1", variant="default"),
    ),
    "CRUXEval output: between the first == and the next": (
        Read("cruxeval-output", "f(1) == 2 == 3", "2", variant="default"),
        Read("cruxeval-output", "f(1) == 'a' # so\n3", "a'", variant="default"),
    ),
    "CRUXEval input: behind 'assert f(' up to its closing": (
        Read("cruxeval-input", "assert f((1, 2)) == 1", "(1, 2)", variant="default"),
        Read("cruxeval-input", "f(3) == 1", "f(3)", variant="default"),
        Read("cruxeval-input", "f(3)", "3", variant="default"),
    ),
    "a reply that a service did not stop at [/ANSWER], or at # done": (
        Read("cruxeval-output", "f(1) == 2[/ANSWER] so", "2", variant="default"),
        Read("cruxeval-output", "f(1) == 2# done\nso", "2", variant="phind"),
        Read("cruxeval-output", "f(1) == 2# done\nso", "2# done\nso", variant="default"),
    ),
    "cot: text after the first [ANSWER], if there is one. A reply to none of its prompts is taken for cot's, and": (
        Read("cruxeval-output", "1 == 1\n[ANSWER]\nassert f(1) == 2", "2", variant="cot"),
        Read("cruxeval-output", "1 == 1\n[ANSWER]\nassert f(1) == 2[/ANSWER]", "2"),
        Read("cruxeval-output", "1 == 1\n[ANSWER]\nassert f(1) == 2# done", "2"),
        Read(
            "cruxeval-output",
            "f(1) == 3\n[ANSWER]\nassert f(1) == 2",
            "3\n[ANSWER]\nassert f(1)",
            variant="default",
        ),
    ),
    "text after the first == (output) or before it (input); input": (
        Read("cruxeval-output", "f(1) == 2", "2", variant="default"),
        Read("cruxeval-input", "so assert f(3) == 1", "f(3)", variant="default"),
        Read("cruxeval-output", "f(1) == 2", "f(1) == 2", form="answer"),
    ),
    "a reply that a service did not stop at [/ANSWER] is cut": (
        Read("cruxeval-output", "f(1) == 2[/ANSWER] so", "2", variant="default"),
    ),
    "direct: text after the first == (output)": (
        Read("cruxeval-output", "f(1) == 2", "2", variant="default"),
        Read("cruxeval-input", "so assert f(3) == 1", "f(3)", variant="default"),
    ),
    "cot: the same in the text after the first [ANSWER]; without": (
        Read("cruxeval-output", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "2"),
        Read("cruxeval-output", "1 == 1\nso it is 2", "so it is 2", variant="cot"),
    ),
    "cot: text after the first [ANSWER], if there is one. A reply to none of its prompts is taken for cot's": (
        Read("livecodebench-execution", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "2", variant="cot"),
        Read("livecodebench-execution", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "2"),
        Read("livecodebench-execution", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "1", variant="default"),
    ),
    "then the text between the first == and the next; then what": (
        Read("livecodebench-execution", "f(1) == 2 == 3", "2", variant="default"),
        Read("livecodebench-execution", "f(1) == 2\n3", "2", variant="default"),
        Read("livecodebench-execution", "f(1) == [2,\n3][/ANSWER] so", "[2,\n3]", variant="default"),
    ),
    "up to # done, then up to [/ANSWER]": (
        Read("cruxeval-output", "1 == 1\n[ANSWER]f(1) == 2[/ANSWER] so", "2"),
        Read("cruxeval-output", "f(1) == 2# done [ANSWER] f(1) == 3", "2"),
        Read("cruxeval-input", "so assert f(3) == 1", "f(3)"),
    ),
    "then the text between the first == and the next (output)": (
        Read("cruxeval-output", "f(1) == 2 == 3", "2"),
        Read("cruxeval-input", "f(3) == 1", "f(3)"),
    ),
    "first \\[ANSWER\\](.*?)\\[/ANSWER\\], any case; in it group 1 of assert\\s+\\w+\\([^)]*\\)\\s*==\\s*(.+)": (
        Read(OUTPUT, "[answer]assert f(1) == 2[/answer] [ANSWER]assert f(1) == 3[/ANSWER]", "2"),
    ),
    "without such a block, or such an assertion in it": (
        Read(OUTPUT, " assert f(1) == 2 ", "assert f(1) == 2"),
        Read(OUTPUT, "so [ANSWER]2[/ANSWER]", "so [ANSWER]2[/ANSWER]"),
    ),
    "first \\[ANSWER\\](.*?)\\[/ANSWER\\], any case; in it group 1 of assert\\s+\\w+\\([^)]*\\)\\s*==\\s*(.+), else": (
        Read(OUTPUT, "[answer]assert f(1) == 2[/answer] [ANSWER]assert f(1) == 3[/ANSWER]", "2"),
        Read(OUTPUT, "so [ANSWER]2[/ANSWER]", "2"),
    ),
    "without a block group 1 of the first assert\\s+\\w+\\([^)]*\\)\\s*==\\s*(.+?)(?:\\n|$), else": (
        Read(OUTPUT, "so assert f(1) == 23\nassert f(1) == 4", "23"),
        Read(OUTPUT, " 23 ", "23"),
    ),
    'choice: \\{\\s*"chosen_program"\\s*:.*?\\} as JSON, else': (
        Read(CHOICE, choice("B", 2), CHOSEN_B),
        Read(CHOICE, choice("C", 2), None, "no_answer"),
        Read(CHOICE, '{"chosen_program": "A", "assertion": "assert f(1) == 1" "more"}', CHOSEN_A),
    ),
    "without a block group 1 of the first assert\\s+\\w+\\([^)]*\\)\\s*==\\s*(.+?)(?:|$)": (
        Read(OUTPUT, "so assert f(1) == 23", "2"),
        Read(OUTPUT, " 23 ", "23"),
    ),
    'choice: \\{\\s*"chosen_program"\\s*:.*?\\} as JSON; the': (
        Read(CHOICE, choice("B", 2), CHOSEN_B),
        Read(CHOICE, '{"chosen_program": "A", "assertion": "assert f(1) == 1" "more"}', None, "no_answer"),
    ),
    "the last closed [ANSWER] block holds one assertion": (
        Read(OUTPUT, f"{block('assert f(1) == 2')}\n{block('assert f(1) == 3')}", "3"),
        Read(OUTPUT, f"{block('assert f(1) == 2')}\n{block('so assert f(1) == 3')}", None, "not_literal"),
        Read(OUTPUT, "assert f(1) == 2", None, "no_answer"),
    ),
}
EXTRACTION = STRICT | FUNCTIONS | CONTESTS | PREDICTIONS
"""How a rule begins -> replies that it reads."""
