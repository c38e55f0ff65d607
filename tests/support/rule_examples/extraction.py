"""Replies, and what is taken out of them under a rule of the step ``extraction``: each would give something else
under the plain alternative to its rule."""

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
_HELPER, _ADD = "def helper():\n    return 1\n", "def add(a, b):\n    return a + helper()"
_LONGER = f"{_HELPER}\nclass Unused:\n    x = 1\n\nimport math\nx = 2\n{_ADD}\n"
_REACHED = f"import math\n{_HELPER}{_ADD}"

_DOCUMENTED = '"""\nAdd two numbers.\nassert add(1, 2) == 3\n"""\n'

STRICT = {
    "strict-final-channel": (
        Read("humaneval", f"<think>\n{fenced(DRAFT)}\n</think>\n{fenced(RIGHT)}", f"{RIGHT}\n"),
        Read("humaneval", f"<think>\n{fenced(DRAFT)}\n", None, "truncated"),
        Read("humaneval", f"{fenced(RIGHT)}\nIt works with `</think>` too.", f"{RIGHT}\n"),
    ),
    "strict-entry-point-fence": (
        Read("humaneval", f"{fenced(RIGHT)}\nTry it:\n{fenced('print(add(1, 2))')}", f"{RIGHT}\n"),
        Read("humaneval", "```python\n    return a + b\n```", "    return a + b\n"),
        Read("humaneval", f"<pre><code>{RIGHT}</code></pre>", f"{RIGHT}\n"),
        Read("mbpp", f"[BEGIN]\n{RIGHT}\n[DONE]\nand more", f"{RIGHT}\n"),
        Read("humaneval", json.dumps({"explanation": "It adds.", "code": RIGHT}), RIGHT),
    ),
    "strict-refused-fence": (
        Read("humaneval", fenced("def add(a, b):\n    return a +"), "def add(a, b):\n    return a +\n"),
        Read("humaneval", f"```python\n{RIGHT}\n\ndef more(x):\n    return (x +", RIGHT),
    ),
    "strict-output-last-block": (
        Read(OUTPUT, f"{block('assert f(1) == 2')}\nNo, wait.\n{block('assert f(1) == 3')}", "3"),
        Read(OUTPUT, f"{block('assert f(1) == 2')}\n{block('assert f(1) == 1 + 1')}", None, "not_literal"),
        Read(OUTPUT, f"{block('assert f(1) == 2')}\n{block('assert f(1) == ??')}", None, "no_answer"),
        Read(OUTPUT, f"{block('assert f(1) == 2')}\nSo f(1) == 3.", "2"),
    ),
    "strict-output-other-call": (
        Read(OUTPUT, block("assert f(2) == 5"), "5"),
        Read(OUTPUT, f"{block('assert f(1) == 4')}\n{block('assert f(2) == 5')}", "4"),
    ),
    "strict-output-spellings": (
        Read(OUTPUT, block("assert f(1) == “a”"), '"a"'),
        Read(OUTPUT, block("assert f(1) == −3"), "-3"),
        Read(OUTPUT, block("assert f(1) == math.inf"), "inf"),
        Read(OUTPUT, "[ANSWER]assert f(1) == \\boxed{3}[/ANSWER]", "3"),
        Read(OUTPUT, "f(1) → 3", "3"),
    ),
    "strict-output-tuples": (
        Read(OUTPUT, block("assert f(1) == 1, 2"), "(1, 2)"),
        Read(OUTPUT, block("assert f(1) == 'a', 'b'"), "'a'"),
    ),
    "strict-choice": (
        Read(CHOICE, f"{choice('A', 1)} No: {choice('B', 2)}", CHOSEN_B),
        Read(CHOICE, "{'chosen_program': 'B', 'assertion': 'assert f(1) == 2'}", CHOSEN_B),
        Read(CHOICE, choice("program b", 2), CHOSEN_B),
        Read(CHOICE, choice("A and B", 2), None, "no_answer"),
        Read(CHOICE, '"chosen_program": "B", "assertion": "assert f(1) == 2"', CHOSEN_B),
        Read(CHOICE, choice("B", "??"), '{"chosen_program":"B","value":null}', "no_answer"),
    ),
    "strict-input": (
        Read("cruxeval-input", f"{block('assert f(1) == 1')}\n{block('assert f(3) == 1')}", "3"),
        Read("cruxeval-input", block("assert f(__import__('os')) == 1"), None, "not_literal"),
        Read("cruxeval-input", block("assert f([0] * 3) == 1"), "[0] * 3"),
    ),
}
FUNCTIONS = {
    "completion-as-it-is": (Read("humaneval", fenced(RIGHT), fenced(RIGHT)),),
    "evalplus-base-text": (
        Read(
            SANITIZED, "\treturn a + b\n\nprint(1)\n", f"{HEAD}    return a + b", form="completion", variant="base"
        ),
    ),
    "completion-behind-prompt": (
        Read(SANITIZED, "\treturn a + b\n\nprint(1)\n", f"{HEAD}\treturn a + b\n\nprint(1)\n", form="completion"),
    ),
    "evalplus-longest-span": (
        Read(SANITIZED, f"Here:\n{RIGHT}\n\nx = 1\nIt is so.", RIGHT),
        Read(SANITIZED, f"\x1b[1m{RIGHT}\x1b[0m", RIGHT),
    ),
    "evalplus-reached-definitions": (
        Read(SANITIZED, _LONGER, _REACHED),
        Read(SANITIZED, "x = 1\ny = 2", "x = 1\ny = 2"),
    ),
    "solution-as-given": (Read(SANITIZED, _LONGER, _LONGER, form="program"),),
    "bigcode-humaneval-stops": (
        Read("humaneval", "    return a\n@x\ndef b(): 1", f"{HEAD}    return a", form="completion"),
        Read("humaneval", "    return a<file_sep>x", f"{HEAD}    return a", form="completion"),
        Read("humaneval", "    return a\nassert 1", f"{HEAD}    return a\nassert 1", form="completion"),
    ),
    "bigcode-mbpp-stops": (
        Read("mbpp", f"{RIGHT}\nassert 1", _DOCUMENTED + RIGHT),
        Read("mbpp", f"{RIGHT}\ndef more(): 1\n<|/ x", f"{_DOCUMENTED}{RIGHT}\ndef more(): 1"),
    ),
    "sent-prompt-put-back": (
        Read("humaneval", "    return a", f"{HEAD.rstrip()}    return a", form="completion", variant="default"),
        Read("humaneval", "    return a", f"{HEAD}    return a", form="completion"),
    ),
    "program-as-given": (Read("humaneval", f"{RIGHT}\nprint(1)", f"{RIGHT}\nprint(1)", form="program"),),
    "instruct-humaneval": (
        Read("humaneval", "    return a\nx = 1\n", f"{HEAD}    return a\n", form="completion"),
    ),
    "instruct-humaneval-nocontext": (Read("humaneval", f"Here:\n{fenced(RIGHT)}\nIt adds.", f"\n{RIGHT}"),),
    "humanevalpack-stops": (
        Read("humanevalsynthesize", "    return a\nassert 1", "def add(a, b):    return a", form="completion"),
        Read("humanevalsynthesize", "    return a\nx = 1", "def add(a, b):    return a", form="completion"),
    ),
    "leetcode-longest-span": (
        Read("leetcode-dataset", f"a = 1\nb = 2\n!\n{RIGHT}\nc = 1\n!\nd = 1\ne = 2", f"{RIGHT}\nc = 1"),
        Read("leetcode-dataset", "no code ! at all\n!", "no code ! at all"),
    ),
    "bigcodebench-base-text": (
        Read(
            "bigcodebench",
            "\treturn a + b\n\nprint(1)\n",
            f"{HEAD}    return a + b",
            form="completion",
            variant="base",
        ),
    ),
    "bigcodebench-longest-span": (Read("bigcodebench", f"Here:\n{RIGHT}\nIt is so.", RIGHT),),
    "bigcodebench-reached-definitions": (Read("bigcodebench", _LONGER, _REACHED),),
    "lm-eval-stops": (
        Read("humaneval", "    return a\nprint(1)", "    return a"),
        Read("mbpp", f"{RIGHT}\n[DONE]\nmore", f"{RIGHT}\n"),
    ),
    "lm-eval-instruct-humaneval": (
        Read("humaneval", "    return a\n```\nx", "    return a\n"),
        Read("humaneval", "    return a\nprint(1)\n```", "    return a"),
    ),
    "lm-eval-instruct-mbpp": (
        Read("mbpp", f"python\n{RIGHT}\n```\nmore", RIGHT),
        Read("mbpp", RIGHT, None, "no_code"),
    ),
    "exact-python-fence-or-reply": (
        Read("humaneval", f"```py\n{DRAFT}\n```\n{fenced(RIGHT)}\n{fenced(DRAFT)}", "    return a + b\n"),
    ),
    "body-behind-first-colon": (Read("humaneval", f"import math\n{RIGHT}", "    return a + b"),),
    "evalscope-humaneval": (
        Read("humaneval", f"{fenced(RIGHT)}\n{fenced(DRAFT)}", f"{RIGHT}\n"),
        Read("humaneval", f"```python\n{RIGHT}", f"```python\n{RIGHT}"),
    ),
    "evalscope-mbpp": (
        Read("mbpp", f"{fenced(RIGHT)}\n{fenced(DRAFT)}", f"\n{RIGHT}"),
        Read("mbpp", f"{RIGHT}\r\n# Example usage\nprint(1)\n[DONE]", f"\n{RIGHT}\n"),
        Read("mbpp", f"so\n```python\n{RIGHT}\nassert add(1, 2)", f"\n{RIGHT}"),
    ),
    "inspect-humaneval": (
        Read("humaneval", f"{fenced(DRAFT, '')}\n{fenced(RIGHT)}", "    return a + b\n"),
        Read("humaneval", f"so\n{fenced(RIGHT, '')}", "    return a + b\n"),
    ),
    "inspect-mbpp": (
        Read("mbpp-sanitized", f"{fenced(DRAFT, '')}\n{fenced(RIGHT)}\n{fenced(DRAFT)}", f"{RIGHT}\n"),
    ),
    "first-python-fence-or-reply": (
        Read("humaneval", f"{fenced(DRAFT, '')}\n{fenced(RIGHT)}\n{fenced(DRAFT)}", f"\n{RIGHT}\n"),
        Read("humaneval", RIGHT, RIGHT),
    ),
    "answer-with-def": (Read("humaneval", fenced("x = 1"), None, "no_code"),),
    "coralx-first-block": (
        Read("quixbugs", f"{fenced('x = 0', '')}\n{fenced('x = 1')}", "x = 1"),
        Read("quixbugs", f"```js\nx = 0``` so\n{fenced('x = 1', '')}", "x = 1"),
        Read("quixbugs", "so\ndef f(x):\n    return x\nIt is right.", "def f(x):\n    return x"),
    ),
}
_MORE = "```python\nx = 1\n```\n```python\nx = 2\n```\n```\nx = 3\n```"
CONTESTS = {
    "whole-text": (Read("livecodebench", f"\n{_MORE}\n", _MORE),),
    "last-backtick-pair-or-empty": (
        Read("livecodebench", _MORE, "x = 3"),
        Read("livecodebench", "x = 1", ""),
    ),
    "evalscope-last-backtick-pair": (Read("livecodebench", _MORE, "x = 3"),),
    "first-backtick-pair": (Read("livecodebench", _MORE, "x = 1"),),
    "verl-prime-last-python-fence": (
        Read("livecodebench", _MORE, "\nx = 2\n"),
        Read("livecodebench", "x = 1\n```\nx = 3\n```", "x = 1\n"),
    ),
    "last-one-word-fence": (
        Read("livecodebench", f"{_MORE}\n```a b\nx = 4\n```", "x = 3"),
        Read("livecodebench", "x = 1", None, "no_code"),
    ),
    "last-backtick-pair-or-nothing": (
        Read("livecodebench", _MORE, "x = 3"),
        Read("livecodebench", "x = 1", None, "no_code"),
        Read("livecodebench", "```\n```", None, "no_code"),
    ),
    "thinking-penalty": (Read("livecodebench", f"<think>{_MORE}", None, "no_code"),),
    "last-fence-pair-or-reply": (
        Read("mbpp", f"{_MORE}\n```python x = 4```", "x = 4"),
        Read("mbpp", "x = 1", "x = 1"),
    ),
    "last-exact-python-fence": (
        Read("livecodebench", _MORE, "x = 2\n"),
        Read("livecodebench", "x = 1", ""),
    ),
    "verl-sandbox-fusion-last-python-fence": (
        Read("mbpp", _MORE, "\nx = 2\n"),
        Read("mbpp", "```js\nx = 1\n```\n```\nx = 2\n```", "x = 1\n"),
        Read("mbpp", "x = 1", None, "no_code"),
    ),
    "last-complete-fence": (
        Read("mbpp", f"{_MORE}\n```a b\nx = 4\n```", "x = 3"),
        Read("mbpp", "x = 1", None, "no_code"),
    ),
    "think-answer-format": (
        Read("mbpp", f" <think>\n</think><answer>{fenced('x = 1')}</answer>\n", "x = 1"),
        Read("mbpp", f"<think>\n<answer>{fenced('x = 1')}</answer>", None, "no_code"),
        Read("mbpp", f"<think></think><answer>{fenced('x = 1')}</answer>.", None, "no_code"),
    ),
    "fences-in-last-answer": (
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
    "lm-eval-cruxeval-tags": (
        Read("cruxeval-output", "f(1) == 2\n[/ANSWER] f(1) == 3", "2", variant="default"),
        Read("cruxeval-output", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "2", variant="cot"),
        Read("cruxeval-output", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "1", variant="default"),
    ),
    "lm-eval-cruxeval-output": (
        Read("cruxeval-output", "f(1) == 2 == 3", "2", variant="default"),
        Read("cruxeval-output", "f(1) == 'a' # so\n3", "a'", variant="default"),
    ),
    "lm-eval-cruxeval-input": (
        Read("cruxeval-input", "assert f((1, 2)) == 1", "(1, 2)", variant="default"),
        Read("cruxeval-input", "f(3) == 1", "f(3)", variant="default"),
        Read("cruxeval-input", "f(3)", "3", variant="default"),
    ),
    "cruxeval-cut-at-stops": (
        Read("cruxeval-output", "f(1) == 2[/ANSWER] so", "2", variant="default"),
        Read("cruxeval-output", "f(1) == 2# done\nso", "2", variant="phind"),
        Read("cruxeval-output", "f(1) == 2# done\nso", "2# done\nso", variant="default"),
    ),
    "cruxeval-cot": (
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
    "cruxeval-value": (
        Read("cruxeval-output", "f(1) == 2", "2", variant="default"),
        Read("cruxeval-input", "so assert f(3) == 1", "f(3)", variant="default"),
        Read("cruxeval-output", "f(1) == 2", "f(1) == 2", form="answer"),
    ),
    "cruxeval-openai-cut-at-stop": (Read("cruxeval-output", "f(1) == 2[/ANSWER] so", "2", variant="default"),),
    "cruxeval-openai-direct": (
        Read("cruxeval-output", "f(1) == 2", "2", variant="default"),
        Read("cruxeval-input", "so assert f(3) == 1", "f(3)", variant="default"),
    ),
    "cruxeval-openai-cot": (
        Read("cruxeval-output", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "2"),
        Read("cruxeval-output", "1 == 1\nso it is 2", "so it is 2", variant="cot"),
    ),
    "livecodebench-execution-cot": (
        Read("livecodebench-execution", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "2", variant="cot"),
        Read("livecodebench-execution", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "2"),
        Read("livecodebench-execution", "1 == 1\n[ANSWER]\nassert f(1) == 2\n[/ANSWER]", "1", variant="default"),
    ),
    "livecodebench-execution-value": (
        Read("livecodebench-execution", "f(1) == 2 == 3", "2", variant="default"),
        Read("livecodebench-execution", "f(1) == 2\n3", "2", variant="default"),
        Read("livecodebench-execution", "f(1) == [2,\n3][/ANSWER] so", "[2,\n3]", variant="default"),
    ),
    "sandboxfusion-cuts": (
        Read("cruxeval-output", "1 == 1\n[ANSWER]f(1) == 2[/ANSWER] so", "2"),
        Read("cruxeval-output", "f(1) == 2# done [ANSWER] f(1) == 3", "2"),
        Read("cruxeval-input", "so assert f(3) == 1", "f(3)"),
    ),
    "sandboxfusion-value": (
        Read("cruxeval-output", "f(1) == 2 == 3", "2"),
        Read("cruxeval-input", "f(3) == 1", "f(3)"),
    ),
    "answer-block-assertion": (
        Read(OUTPUT, "[answer]assert f(1) == 2[/answer] [ANSWER]assert f(1) == 3[/ANSWER]", "2"),
    ),
    "reply-without-assertion": (
        Read(OUTPUT, " assert f(1) == 2 ", "assert f(1) == 2"),
        Read(OUTPUT, "so [ANSWER]2[/ANSWER]", "so [ANSWER]2[/ANSWER]"),
    ),
    "answer-block-assertion-or-all": (
        Read(OUTPUT, "[answer]assert f(1) == 2[/answer] [ANSWER]assert f(1) == 3[/ANSWER]", "2"),
        Read(OUTPUT, "so [ANSWER]2[/ANSWER]", "2"),
    ),
    "first-assertion-without-block": (
        Read(OUTPUT, "so assert f(1) == 23\nassert f(1) == 4", "23"),
        Read(OUTPUT, " 23 ", "23"),
    ),
    "choice-object-or-fields": (
        Read(CHOICE, choice("B", 2), CHOSEN_B),
        Read(CHOICE, choice("C", 2), None, "no_answer"),
        Read(CHOICE, '{"chosen_program": "A", "assertion": "assert f(1) == 1" "more"}', CHOSEN_A),
    ),
    "first-character-without-block": (
        Read(OUTPUT, "so assert f(1) == 23", "2"),
        Read(OUTPUT, " 23 ", "23"),
    ),
    "choice-object-alone": (
        Read(CHOICE, choice("B", 2), CHOSEN_B),
        Read(CHOICE, '{"chosen_program": "A", "assertion": "assert f(1) == 1" "more"}', None, "no_answer"),
    ),
    "last-answer-block-alone": (
        Read(OUTPUT, f"{block('assert f(1) == 2')}\n{block('assert f(1) == 3')}", "3"),
        Read(OUTPUT, f"{block('assert f(1) == 2')}\n{block('so assert f(1) == 3')}", None, "not_literal"),
        Read(OUTPUT, "assert f(1) == 2", None, "no_answer"),
    ),
}
EXTRACTION = STRICT | FUNCTIONS | CONTESTS | PREDICTIONS
"""Id of a rule -> replies that it reads."""
