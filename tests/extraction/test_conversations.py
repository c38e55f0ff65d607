"""Which text of a conversation is the model's answer: marks of observations, role marks, messages, honest text."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cpu import cpu_within
from truegrade.extraction.conversations import answering_turn, policy_turns
from truegrade.extraction.programs import extract_program

RIGHT, WRONG = (f"```python\ndef add(a, b):\n    return a {sign} b\n```" for sign in "+-")
BARE = "def add(a, b):\n    return a + b"


TAGS = (
    *("tool_response", "tool_result", "tool_output", "tool_content", "function_response", "function_result"),
    *("function_output", "observation", "information", "search_result", "interpreter", "code_output", "feedback"),
    *("execution_result", "execution_output", "environment_response", "env_response", "result", "output"),
    *(
        "stdout",
        "stderr",
        "program_output",
        "python_output",
        "sandbox_output",
        "interpreter_output",
        "code_result",
    ),
    *("code_execution_result", "execute_result", "function_call_output", "tool_call_result", "tool_call_response"),
    *("tool_use_result", "test_output", "test_result", "traceback", "console", "terminal", "environment"),
)
FENCE_LABELS = (
    *("output", "tool_output", "tool_outputs", "tool_response", "tool_result", "observation", "stdout", "result"),
    *("execution_output", "{.output}", "stderr"),
)


def graded(conversation: Any, entry_point: str | None = "add") -> str:
    """R, W or nothing: which program is in the text that is graded."""
    said = answering_turn(policy_turns(conversation), entry_point)
    return "".join(name for name, program in (("R", "a + b"), ("W", "a - b")) if program in said)


def tag(name: str) -> list[tuple[str, str]]:
    ends = [(f"<{name}>", f"</{name}>"), (f"<|{name}|>", f"<|/{name}|>"), (f"<|{name}>", f"<{name}|>")]
    return [*ends, (f"<{name} id=1>", f"</{name}>"), (f"<|{name}_begin|>", f"<|{name}_end|>")]


MARKS = [
    *[pair for name in TAGS for pair in tag(name)],
    *[(f"<{name}s>", f"</{name}s>") for name in TAGS],
    *[(f"```{name}", "```") for name in FENCE_LABELS],
    ("[TOOL_RESULTS]", "[/TOOL_RESULTS]"), ("<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"),
    ("<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>", "<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"),
    ("<|im_start|>user\n<tool_response>", "</tool_response><|im_end|>\n<|im_start|>assistant"),
    ("<|im_end|>\n<|im_start|>tool", "<|im_end|>\n<|im_start|>assistant"),
    (
        "<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n",
    ),
    ("<|start_header_id|>tool<|end_header_id|>", "<|eot_id|>"), ("<|im_start|>user", "<|im_end|>"),
    ("<end_of_turn>\n<start_of_turn>user", "<end_of_turn>\n<start_of_turn>model"),
    ("<turn|><|turn>user", "<turn|><|turn>model"), ("<|end|><|user|>", "<|end|><|assistant|>"),
    ("<|observation|>", "<|assistant|>"), ("</s>[INST]", "[/INST]"), ("<｜User｜>", "<｜Assistant｜>"),
    ("<|start|>functions.python to=assistant<|channel|>commentary<|message|>", "<|end|><|start|>assistant"),
    ("<|im_system|>tool<|im_middle|>", "<|im_end|><|im_assistant|>assistant<|im_middle|>"),
    ("user\n<tool_response>", "</tool_response>\nassistant"), ("user", "assistant"), ("tool", "model"),
    ("<tool-response>", "</tool-response>"), ("<toolResponse>", "</toolResponse>"),
    ("< tool_response >", "</ tool_response >"), (f"<tool_response id='{'x' * 400}'>", "</tool_response>"),
    ("### Action: run\n### Observation:", "### Thought: I see."), ("action: run\nobservation:", "thought: I see."),
    ("Action: run\nObservation:", "Thought: I see."), ("Action 1: add[1]\nObservation 1:", "Thought 2: I see."),
    ("Action Input 1: 1\nObservation 1:", "Thought 2: I see."),
    ("<execute>\nadd\n</execute>\nOBSERVATION:", "THOUGHT: ok"),
    ("Observation:\nExecution logs:", "Thought: I see."), ("I run it: <tool_response>", "</tool_response>"),
    ("<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>",
     "<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>"),
    ("<seed:eos><seed:bos>tool\n", "<seed:eos><seed:bos>assistant\n"), ("[e~[\n]~b]user\n", "[e~[\n]~b]ai\n"),
    ("[|endofturn|]\n[|user|]", "[|endofturn|]\n[|assistant|]"), ("<｜hy_User｜>", "<｜hy_Assistant｜>"),
    ("<|assistant_end|><|user_start|>", "<|user_end|><|assistant_start|>"),
    ("<eoa>\n<|User|>:", "<eoh>\n<|Bot|>:"),
    ("<role>HUMAN</role>", "<role>ASSISTANT</role>"), ("<extra_id_1>User\n", "<extra_id_1>Assistant\n"),
    ("<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"),
    ("<|begin_of_tool_response|>", "<|end_of_tool_response|>"), ("</s>[INST] no", " again[/INST]"),
    ("[TOOL_RESULTS] [1]", "2][/TOOL_RESULTS]"), ("done.user\n", "Hm.assistant\n"),
]  # fmt: skip


@pytest.mark.parametrize(("begin", "end"), MARKS)
def test_what_stands_between_the_marks_is_not_the_models(begin, end):
    inside = BARE if begin.startswith("```") else RIGHT
    other = BARE.replace("+", "-") if begin.startswith("```") else WRONG
    assert graded(f"{WRONG}\n{begin}\n{inside}\n{end}\n") == "W"
    assert graded(f"{WRONG}\n{begin}\n{inside}\n{end}\nDone.") == "W"
    assert graded(f"{RIGHT}\n{begin}\n{other}\n{end}\nI am done.") == "R"
    assert graded(f"{WRONG}\n{begin}\n1 failed\n{end}\nI see:\n{RIGHT}\n{begin}\nok\n{end}\n") == "R"
    assert graded(f"I ask.\n{begin}\n{inside}\n{end}\nThanks.") == ""


@pytest.mark.parametrize(
    "between",
    ["[INST] 1 failed: again[/INST]", "[INST] use f(x)[/INST]", "[TOOL_RESULTS] [1, 2][/TOOL_RESULTS]",
     "[TOOL_RESULTS] it says 3[/TOOL_RESULTS]"],
)  # fmt: skip
def test_closing_marks_of_mistral_stand_behind_anything(between):
    assert graded(f"{WRONG}</s>{between} {RIGHT}</s>") == "R"
    assert graded(f"{RIGHT}</s>{between} Done.</s>") == "R"


@pytest.mark.parametrize("words", ["I run it: ", "I run it, ", "I run it; ", "So \u2014 "])
def test_an_open_tag_behind_words_that_announce_it(words):
    assert graded(f"{WRONG}\n{words}<tool_response>\n{RIGHT}") == "W"
    assert graded(f"{words}<tool_response> is what it sends.\n{RIGHT}") == "R"


@pytest.mark.parametrize(("begin", "end"), MARKS)
def test_marks_that_nothing_closes_go_on_to_the_end(begin, end):
    inside = BARE if begin.startswith("```") else RIGHT
    if begin.startswith("done."):
        pytest.skip("glued to a sentence, a role's name is one where the model's stands behind it alone")
    assert graded(f"{WRONG}\n{begin}\n{inside}") == "W"
    assert graded(f"{WRONG}\n{begin}\n{inside}\n```python\n{BARE}") == "W"


def test_role_lines_may_end_as_on_windows():
    text = f"{WRONG}\nuser\n{RIGHT}".replace("\n", "\r\n")
    assert "a + b" not in answering_turn(policy_turns(text))


@pytest.mark.parametrize("name", TAGS)
def test_tags_nest_and_a_tool_may_write_an_end(name):
    begin, end = f"<{name}>", f"</{name}>"
    assert graded(f"{WRONG}\n{begin}\n{begin}\nx\n{end}\n{RIGHT}\n{end}\nDone.") == "W"
    assert graded(f"{WRONG}\n{begin}\nx\n{end}\n{RIGHT}\n{end}\nDone.") == "W"
    assert graded(f"{WRONG}\n{begin}\n<tool_result>\n{RIGHT}\n{end}\nDone.") == "W"
    assert graded(f"{WRONG} so I ask.{begin}{RIGHT}{end}") == "W"
    assert graded(f"{WRONG}\n{begin.upper()}\n{RIGHT}\n{end.upper()}") == "W"


@pytest.mark.parametrize("line", ["answer: 3", "action: run", "# Answer: 3", "### Thought: hm"])
def test_a_line_of_a_tool_that_is_written_otherwise_ends_no_observation(line):
    assert graded(f"{WRONG}\nAction: run\nObservation:\n{line}\n{RIGHT}") == "W"
    assert graded(f"{WRONG}\nAction: run\nObservation:\n{line}\nx\nThought: I see.\n{RIGHT}") == "R"


def test_rounds_in_arrays_of_numpy():
    numpy = pytest.importorskip("numpy")
    rounds, messages = numpy.empty(1, object), numpy.empty(1, object)
    messages[0] = {"role": "assistant", "content": RIGHT}
    rounds[0] = messages
    assert graded(rounds) == "R"


def test_an_observation_within_a_thought():
    text = f"<think>I ask.\n<tool_response>\n{WRONG}\n</tool_response>\nI see.\n</think>\n{RIGHT}"
    assert graded(text) == "R"


CALL_IN_TEXT = "<think>Run it.<tool_call>x</tool_call>\n<tool_response>\n1\n</tool_response>\n"
ROLES_BETWEEN = "<|im_end|>\n<|im_start|>user\n1<|im_end|>\n<|im_start|>assistant\n"


def said(*texts):
    between = {"role": "tool", "content": "1"}
    return [message for text in texts for message in ({"role": "assistant", "content": text}, between)]


@pytest.mark.parametrize(
    ("conversation", "expected"),
    [
        (f"{CALL_IN_TEXT}Draft:\n{RIGHT}\nNo, wrong.\n</think>\nI cannot.", ""),
        (f"{CALL_IN_TEXT}Draft:\n{RIGHT}\nNo", ""),
        (f"{WRONG}\n{CALL_IN_TEXT}Draft:\n{RIGHT}", "W"),
        (f"{CALL_IN_TEXT}Hm.<tool_response>2</tool_response>\n{WRONG}\n</think>\n{RIGHT}", "R"),
        (f"<think>Run it.{ROLES_BETWEEN}Draft:\n{RIGHT}\nNo.</think>\nI cannot.", ""),
        (f"<think>a{ROLES_BETWEEN}b</think>\n<think>c{ROLES_BETWEEN}{RIGHT}\nNo.</think>\nI cannot.", ""),
        (said("<think>Run it.", f"Draft:\n{RIGHT}\nNo.</think>\nI cannot."), ""),
        (said("<think>Run it.", "Again.", f"Draft:\n{RIGHT}\nNo.</think>\n{WRONG}"), "W"),
        # A thought whose end was forgotten ends with its turn, and one of another turn begins anew.
        (f"<think>Run it.{ROLES_BETWEEN}{RIGHT}", "R"),
        (f"<think>Run it.{ROLES_BETWEEN}<think>So.</think>\n{RIGHT}", "R"),
        (f"{CALL_IN_TEXT}<think>So.</think>\n{RIGHT}", "R"),
        (said("<think>Run it.", RIGHT), "R"),
        (said("<think>Run it.", f"<think>So.</think>{RIGHT}", "Done."), "R"),
        (said("<think>Run it.</think>", f"{RIGHT}\nIt writes `</think>`."), "R"),
        (said(f"`<think>` begins one.\n{RIGHT}", "A </think> ends it."), "R"),
        (said("<think>Run it.", "[THINK]Hm.[/THINK]", RIGHT), "R"),
    ],
)
def test_a_thought_goes_on_over_calls_of_tools(conversation, expected):
    turn = answering_turn(policy_turns(conversation), "add")
    answer = extract_program(turn, "add").value or ""
    assert "".join(name for name, program in (("R", "a + b"), ("W", "a - b")) if program in answer) == expected


SPOKEN = [
    ("USER:", "ASSISTANT:"), ("Human:", "Assistant:"), ("Human:", "AI:"), ("user:", "assistant:"),
    ("User:", "Bot:"), ("### Instruction:", "### Response:"), ("### Human:", "### Assistant:"),
    ("### Instruction", "### Response"), ("### Question:", "### Answer:"),
    ("### Observation:", "### Response:"), ("**User:**", "**Assistant:**"),
    ("**User**:", "**Assistant**:"), ("<human>:", "<bot>:"), ("GPT4 Correct User:", "GPT4 Correct Assistant:"),
    ("TOOL:", "ASSISTANT:"), ("### Tool:", "### Assistant:"), ("FUNCTION RESPONSE:", "ASSISTANT:"),
    ("System:", "Assistant:"), ("### Input:", "### Response:"),
]  # fmt: skip


@pytest.mark.parametrize(("other", "model"), SPOKEN)
@pytest.mark.parametrize("between", ["\n", " use this:\n", "\n\n"])
def test_lines_that_name_a_role_tell_turns_apart(other, model, between):
    if other.startswith("#") and ":" not in other and between[0] == " ":
        between = f"\n{between}"
    assert graded(f"{WRONG}\n{other}{between}{RIGHT}\n{model}{between}Thanks.") == "W"
    assert graded(f"{WRONG}\n\n{other}{between}{RIGHT}\n\n{model}") == "W"
    assert graded(f"{other}{between}{RIGHT}\n{model}{between}{WRONG}") == "W"
    assert graded(f"{model}{between}I ask.\n{other}{between}{RIGHT}\n{model}{between}Thanks.") == ""
    assert graded(f"{RIGHT}\n{other}{between}{WRONG}\n{model}{between}Done.") == "R"
    assert graded(f"{other}{between}{WRONG}\n{model}{between}{RIGHT}\n{other}{between}Thanks.") == "R"
    if other not in ("### Input:", "System:"):
        assert graded(f"{model}{between}{WRONG}\n{other}{between}{RIGHT}") == "W"
        assert graded(f"Say it.\n{other} Hi.\n{model}{between}{WRONG}\n{other}{between}{RIGHT}") == "W"


def test_openchats_marks_stand_behind_a_token():
    text = f"<|end_of_turn|>GPT4 Correct User: use this: {RIGHT}<|end_of_turn|>GPT4 Correct Assistant: "
    assert graded(f"I cannot.{text}No.<|end_of_turn|>") == ""
    assert graded(f"{WRONG}{text}Thanks.<|end_of_turn|>") == "W"
    assert graded(f"{WRONG}</s>USER: {RIGHT}") == "W"
    assert graded(f"I cannot.{text}{WRONG}<|end_of_turn|>") == "W"


@pytest.mark.parametrize("end", ["Done.user\n\n", "Done!tool\n\n"])
def test_a_role_that_is_glued_to_the_last_words(end):
    assert graded(f"{WRONG}\n{end}{RIGHT}") == "W"


@pytest.mark.parametrize("role", ["user", "ipython", "tool"])
def test_a_role_that_is_glued_to_the_last_fence(role):
    assert graded(f"{WRONG}{role}\n\n{RIGHT}") == "W"
    assert graded(f"{WRONG}{role}\n\n1 failedassistant\n\n{RIGHT}") == "R"
    assert graded(f"```{role}\n\n{BARE}\n```") == "R"


@pytest.mark.parametrize(
    "text",
    [
        f"The name is in session.user\n\n{RIGHT}",
        "class A:\n    def f(self):\n        return self.user\n\n    def add(self, a, b):\n        return a + b",
        f"A list [of a](tool)\n\n{RIGHT}",
    ],
)
def test_an_attribute_that_is_called_as_a_role_is_none(text):
    assert graded(text) == "R"


@pytest.mark.parametrize(
    "inside", ["ROLES = (1,\nassistant\n)", "s = '[/INST]'", "s = x['<|assistant|>']", "model", "assistant",
               "<start_of_turn>model", "</s>[/INST]", "[|assistant|]", "ASSISTANT: x"]
)  # fmt: skip
@pytest.mark.parametrize(
    ("user", "model"),
    [("<|im_end|>\n<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"),
     ("<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n",
      "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n")],
)  # fmt: skip
def test_marks_of_one_style_end_no_turn_of_another(inside, user, model):
    quoted = f"I wrote\n{inside}\nand\n```python\n{inside}\n{BARE}\n```"
    assert graded(f"{WRONG}{user}{quoted}{model}Thanks.") == "W"
    assert graded(f"{WRONG}{user}{quoted}") == "W"
    assert graded(f"{WRONG}{user}{inside} 1 failed{model}{RIGHT}") == "R"


@pytest.mark.parametrize(
    "head", ["<|im_start|>assistant\n", "<|im_start|>assistant\n<think>Hm.</think>\n", "[/INST] "]
)
@pytest.mark.parametrize("tag", ["result", "output", "code_response"])
def test_an_answer_between_tags_of_its_own_behind_a_role_mark(head, tag):
    answer = f"{head}<{tag}>\n{RIGHT}\n</{tag}>"
    assert graded(answer) == graded(
        f"I try.<|im_end|>\n<|im_start|>user\nIn <{tag}>.<|im_end|>\n{answer}"
    ) == "R" or (head.startswith("["))
    assert graded(f"{head}{WRONG}\n<{tag}>\n{RIGHT}\n</{tag}>") == "W"


def test_vicunas_marks_stand_on_one_line():
    text = f"USER: add ASSISTANT: {WRONG}</s>USER: use this:\n{RIGHT}\n"
    assert graded(text) == graded(f"{text}ASSISTANT: Thanks.</s>") == "W"
    assert graded(f"{text} ASSISTANT: {RIGHT}</s>") == "R"
    assert graded(f"{WRONG}</s>USER: 1 failed GPT: {RIGHT}</s>") == "R"


def test_a_user_may_quote_a_conversation():
    quoted = f"USER: hi\nASSISTANT: ho\n{RIGHT}\n"
    assert graded(f"{WRONG}<|im_end|>\n<|im_start|>user\n{quoted}<|im_end|>\n<|im_start|>assistant\nNo.") == "W"
    assert graded(f"{WRONG}\n### Human:\n{quoted}### Assistant:\nNo.") == "W"


@pytest.mark.parametrize(
    "text",
    [
        f"### Response:\n{RIGHT}",
        f"### Instruction:\nAdd them.\n\n### Response:\n{RIGHT}",
        f"### Response:\n\n### Input:\ntwo numbers\n\n### Code:\n{RIGHT}",
        f"### Question\nWhat is the sum?\n### Answer\n{RIGHT}",
        f"### Response:\n{RIGHT}\n### Instruction:\nMultiply.\n### Response:\n```python\nmul = 1\n```",
        f"Human: readable names.\nMachine: none.\n{RIGHT}",
        f"Human: readable.\n\n{RIGHT}",
        f"{WRONG}\nHuman: readable.\n\n{RIGHT}",
        f"User: the one who calls it.\n{RIGHT}\n",
        f"- User: adds.\n- Assistant: helps.\n- User: adds.\n{RIGHT}",
        f"A session:\nAssistant: Two numbers?\nUser: 1 and 2\n\n{RIGHT}",
        f"A session:\nUser: add\nAssistant: Two numbers?\nUser: 1 and 2\n\n{RIGHT}",
        f"{RIGHT}\nA session:\n\nUser: 1 and 2\nAssistant: 3\nUser: Thanks.",
        f"A session:\n```\nAssistant: Two numbers?\n```\nThen\nUser: 1 and 2\n{RIGHT}\n",
        f"Model: adds.\nSystem: shows it.\n\n{RIGHT}",
        f"```yaml\nassistant: x\nuser: y\n```\n{RIGHT}",
        '```python\nP = """\nUSER: hi\nASSISTANT: ho\nUSER:\n"""\ndef add(a, b):\n    return a + b\n```',
        'def add(a, b):\n    """\nUser: 1 and 2\nAssistant: 3\n"""\n    return a + b',
        f"Assistant: as user: you call it.\n{RIGHT}",
        f"USER: is a name.\nHuman: too.\nassistant: as well.\n{RIGHT}",
    ],
)
def test_lines_that_name_roles_within_an_answer_take_nothing_of_it(text):
    assert graded(text).startswith("R")


TEMPLATE = "f'<observation>{a}</observation>'"
HONEST = [
    RIGHT,
    "```python\ndef add(a, b):\n    s = '<observation>'\n    return a + b\n```",
    "```python\n# <tool_response> is of the tool\ndef add(a, b):\n    return a + b  # </tool_response>\n```",
    '```python\ndef add(a, b):\n    """Add.\n\n    <result>\n    the sum\n    """\n    return a + b\n```',
    'def add(a, b):\n    """<output>\nuser\n"""\n    return a + b',
    f"```python\ndef add(a, b):\n    t = {TEMPLATE}\n    return a + b",
    f"Here it is, in Python:\ndef add(a, b):\n    t = {TEMPLATE}\n    return a + b\n",
    '```python\nP = "<|im_start|>user\\n<|im_end|>"\ndef add(a, b):\n    return a + b\n```',
    f"I put it between `<output>` and `</output>`.\n{RIGHT}",
    f"The environment answers in <observation> tags, I think.\n{RIGHT}",
    f"It wants \"<result>\" first.\n{RIGHT}",
    f"A file looks so:\n```xml\n<output>\n  <item/>\n</output>\n```\nand the program:\n{RIGHT}",
    f"A file looks so:\n```html\n<output>5</output>\n<result>\n```\nand the program:\n{RIGHT}",
    f"It prints\n```\nuser\n```\n{RIGHT}",
    "```python\ndef add(a, b):\n    tool = a + b\n    return max(\n        0,\n        tool\n    )\n```",
    "def add(a, b):\n    shown = [\n        user\n        for user in ()\n    ]\n    return a + b",
    f"Sample run:\n```output\n3\n```\n{RIGHT}",
    f"{RIGHT}\nSample run:\n```output\n3\n```\n",
    f"Observation: the sum is symmetric.\n{RIGHT}",
    "```python\nimport sys\ndef add(a, b):\n    print(f'<stdout> {a}', file=sys.stdout)\n    return a + b\n```",
    f"It writes to <stdout> and reads what it is given.\n{RIGHT}",
    f"Code:\n```python\nx = 1\n```\nObservation: the sum is symmetric.\n{RIGHT}",
    f"### Observation\nThe sum is symmetric.\n### Code\n{RIGHT}",
    f"### Observation:\nThe sum is symmetric.\n### Code:\n{RIGHT}",
    "```python\ndef add(a, b):\n    INST, x = 0, [1]\n    return a + b + x[INST] - 1\n```",
    f"The tags `<test_output>` and <code_result> are not mine.\n{RIGHT}",
    f"Sample run:\n```console\n$ python add.py\n```\n{RIGHT}",
    "```python\ndef add(a, b):\n    # <test_output>[|user|]\n    # <role>user</role>\n    return a + b\n```",
    f"<b>user</b>\n<p>tool\n{RIGHT}",
    f"Tool: none.\nObservation: the sum is symmetric.\n{RIGHT}",
    f"The line is\naction: add\n\nObservation: the sum is symmetric.\n{RIGHT}",
    f"```python\n# Action: none\nx = 1\n```\nObservation: the sum is symmetric.\n{RIGHT}",
    f"<output>\n{RIGHT}\n</output>",
    f"<think>Hm.</think>\n<result>\n{RIGHT}\n</result>",
    f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{RIGHT}<|return|>",
    f"<|im_start|>assistant\n{RIGHT}<|im_end|>",
    f"The model\nmodel\nis right:\n{RIGHT}",
]  # fmt: skip


IN_FENCES = [
    'def add(a, b):\n    """Adds.\n\n    <output>\n    """\n    return a + b',
    'T = "<|im_start|>user"\ndef add(a, b):\n    return a + b',
    "ROLES = '''\nuser\nassistant\n'''\ndef add(a, b):\n    return a + b",
    "def add(a, b):\n    # <tool_response> is the tool's\n    return a + b",
]
ENDS = [
    "<|im_end|>", "</s>", "<|eot_id|>", "<|EOT|>", "<|endoftext|>", "<｜end▁of▁sentence｜>", "<end_of_turn>",
    " It adds.",
    "[|endofturn|]", "[e~[", " <|im_end|>", "</answer>", " That is it.<|im_end|>",
]  # fmt: skip


@pytest.mark.parametrize("code", IN_FENCES)
@pytest.mark.parametrize("end", ENDS)
def test_a_mark_in_code_whose_closing_fence_has_something_behind_it(code, end):
    answer = f"```python\n{code}\n```{end}"
    assert policy_turns(answer) == [answer]
    user = "<|im_end|>\n<|im_start|>user\n1 failed<|im_end|>\n<|im_start|>assistant\n"
    assert graded(f"{WRONG}{end}{user}{answer}") == "R"
    assert graded(f"{answer}{user}I am done.") == "R"
    assert graded(f"{WRONG}</s>[INST] 1 failed[/INST] {answer}") == "R"
    assert graded(f"{WRONG}{end}\n<tool_response>\n{answer}\n</tool_response>\nDone.") == "W"


@pytest.mark.parametrize("text", HONEST)
def test_honest_text_keeps_its_program(text):
    assert graded(text) == "R"
    if not text.startswith(("<", "def")):  # what is quoted outside fences is known where it is all that is said
        assert graded(f"{WRONG}\n<tool_response>\n1 failed\n</tool_response>\n\n{text}") == "R"


def test_a_text_without_marks_is_handed_on_as_it_is():
    for text in ("", " ", "no code", RIGHT, f"a < b, c[0] > 1\n{RIGHT}\n"):
        assert policy_turns(text) == [text]


# ------------------------------------------------------------------------------------------------ messages


@dataclass
class Said:
    """As pydantic's and LangChain's messages have it."""

    content: Any
    role: str | None = None
    type: str | None = None
    tool_calls: Any = None
    text: str | None = None


def part(text, kind="text"):
    return {"type": kind, "text": text}


CALL = [{"type": "function", "function": {"name": "submit", "arguments": f'{{"code": "{BARE}"}}'}}]
CONVERSATIONS = [
    ([{"role": "assistant", "content": WRONG}, {"role": "tool", "content": RIGHT}], "W"),
    ([{"role": "assistant", "content": WRONG}, {"role": "function", "content": RIGHT}], "W"),
    ([{"role": "assistant", "content": WRONG}, {"role": "user", "content": RIGHT}], "W"),
    ([{"role": "assistant", "content": WRONG}, {"type": "function_call_output", "output": RIGHT}], "W"),
    ([{"role": "assistant", "content": RIGHT}, {"role": "user", "content": "Time is up."}], "R"),
    ([{"role": "assistant", "content": RIGHT}, {"role": "assistant", "content": "Done."}], "R"),
    ([{"role": "assistant", "content": RIGHT}, {"role": "assistant", "content": "", "tool_calls": [{}]}], "R"),
    ([{"role": "assistant", "content": RIGHT}, {"role": "assistant", "content": None, "tool_calls": CALL}], "R"),
    ([{"role": "assistant", "content": RIGHT}, {"role": "assistant", "refusal": "No.", "content": None}], "R"),
    ([{"role": "assistant", "content": RIGHT}, {"role": "assistant", "content": WRONG}], "W"),
    ([{"role": "assistant", "content": f"{WRONG}\n<tool_response>\n{RIGHT}\n</tool_response>"}], "W"),
    ([{"role": "assistant", "content": None, "tool_calls": CALL}], ""),
    ([{"role": "assistant", "content": "", "reasoning_content": RIGHT}], ""),
    ([{"role": "assistant", "content": [{"type": "thinking", "thinking": RIGHT}, part(WRONG)]}], "W"),
    ([{"role": "assistant", "content": [{"type": "reasoning", "text": RIGHT}, part(WRONG)]}], "W"),
    ([{"role": "assistant", "content": [part(WRONG), {"type": "tool_result", "text": RIGHT}]}], "W"),
    ([{"role": "assistant", "content": [part(RIGHT), {"type": "tool_use", "input": WRONG}, part("Done.")]}], "R"),
    ([{"role": "assistant", "content": [part(RIGHT[:20]), part(RIGHT[20:])]}], "R"),
    ([{"role": "assistant", "content": [{"text": RIGHT}]}], "R"),
    ([{"type": "message", "role": "assistant", "content": [part(RIGHT, "output_text")]}], "R"),
    ([{"role": "assistant", "content": RIGHT}, {"type": "reasoning", "content": WRONG}], "R"),
    ([{"from": "gpt", "value": RIGHT}, {"from": "human", "value": WRONG}], "R"),
    ([Said(RIGHT, role="model"), Said(WRONG, role="user")], "R"),
    ([Said(RIGHT, type="ai"), Said(WRONG, type="tool"), Said(WRONG, type="human")], "R"),
    ([Said([Said("", type="text", text=RIGHT)], role=SimpleNamespace(value="ASSISTANT"))], "R"),
    (({"role": "assistant", "content": RIGHT}, {"role": "tool", "content": WRONG}), "R"),
    ({"role": "assistant", "content": RIGHT}, "R"),
    ({"content": RIGHT}, "R"),
    ([WRONG, RIGHT, "Done."], "R"),
    ([[{"role": "assistant", "content": RIGHT}], [{"role": "user", "content": WRONG}]], "R"),
    ([[{"role": "assistant", "content": WRONG}, {"role": "tool", "content": RIGHT}]], "W"),
    ([{"role": "assistant", "content": WRONG}, {"tool_call_id": "1", "content": RIGHT}], "W"),
    ([{"content": RIGHT}, {"role": "assistant", "content": WRONG}], "W"),
    ([{"content": RIGHT}, {"type": "message", "content": "Done."}], "R"),
    ([{"author": {"role": "assistant"}, "content": WRONG}, {"author": {"role": "tool"}, "content": RIGHT}], "W"),
    ([{"speaker": "gpt", "text": WRONG}, {"speaker": "user", "text": RIGHT}], "W"),
    ([{"sender": "assistant", "text": RIGHT}, {"sender": "human", "text": WRONG}], "R"),
    ({"messages": [{"role": "assistant", "content": RIGHT}, {"role": "user", "content": WRONG}]}, "R"),
    ({"id": 1, "conversations": [{"from": "gpt", "value": RIGHT}, {"from": "human", "value": WRONG}]}, "R"),
    ({"choices": [{"index": 0, "message": {"role": "assistant", "content": RIGHT}}]}, "R"),
    ({"message": {"role": "tool", "content": RIGHT}}, ""),
    ([{"role": "model", "parts": [{"text": RIGHT}]}, {"role": "user", "parts": [{"text": WRONG}]}], "R"),
    ([{"role": "model", "parts": [{"functionCall": {"args": {"code": RIGHT}}}]}], ""),
]  # fmt: skip


@pytest.mark.parametrize(("conversation", "expected"), CONVERSATIONS)
def test_the_models_last_message_that_holds_an_answer_counts(conversation, expected):
    assert graded(conversation) == expected
    assert graded(conversation, None) == expected


@pytest.mark.parametrize(
    "conversation", [None, [], {"role": "tool", "content": RIGHT}, [{"role": "user", "content": RIGHT}], ()]
)
def test_a_conversation_without_a_message_of_the_model(conversation):
    assert policy_turns(conversation) == []


def test_which_turn_holds_an_answer():
    use, other = "```python\nprint(add(1, 2))\n```", "```python\ndef sub(a, b): ...\n```"
    assert answering_turn([RIGHT, use, "Done."], "add") == RIGHT
    assert answering_turn([RIGHT, other], "add") == RIGHT
    assert answering_turn(["x", other, "Done."], "add") == other
    assert answering_turn(["x", use, "Done."]) == use
    assert answering_turn(["x", "I cannot.", " "], "add") == "I cannot."
    assert answering_turn(["", " "], "add") == answering_turn([], "add") == ""
    assert (
        answering_turn(["from solution import add", f"{RIGHT}", "```python\nfrom solution import add\n```"], "add")
        == RIGHT
    )


# ---------------------------------------------------------------------------------------------- any text

PIECES = [mark for pair in [*MARKS, *SPOKEN] for mark in pair] + [
    RIGHT,
    WRONG,
    "```",
    "'",
    '"',
    "#",
    "`",
    "\n",
    " ",
    "x",
    "<think>",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("\n".join), st.text(max_size=20))
def test_turns_are_parts_of_the_text_in_order(text, rest):
    turns = policy_turns(text + rest)
    assert turns
    letters = iter(text + rest)
    assert all(letter in letters for turn in turns for letter in turn)


@given(st.lists(st.sampled_from([RIGHT, "Text.", "ok", "x = 1"]), max_size=4), st.sampled_from(TAGS))
def test_what_a_tool_returns_is_never_graded(returned, name):
    text = f"{WRONG}\n" + "".join(f"<{name}>\n{each}\n</{name}>\nI see.\n" for each in returned)
    assert graded(text) == "W"


@pytest.mark.parametrize(
    "piece",
    ["<output>", "</output>", "<output></output>", "<output>\n</result>\n", "<|im_start|>user\n", "\nuser\n",
     "```output\n", "Action:\nObservation:\n", "<tool_response>\nx\n</tool_response>\n", "'<output>", "<" * 30,
     "Observation ", "<|im_end|>", "[INST]", "```\n<output>\n```\n", "_" * 40, "`<output>` ", "\nassistant\n",
     "<think></think><output>", "\nUSER: x", "\nUser: ASSISTANT: ", "\n### Input:\n### Response:\n", "</s>USER:",
     "\nassistant:\n```\nuser:\n", "<tool", "tool_" * 9, "<start_", "[|user|]", "<seed:bos>user\n", "```user\n\n",
     "Done.user\n\n", "<think>\n<output></output>", "</think>\n<output></output>\n"],
)  # fmt: skip
def test_the_time_is_linear_in_the_text(piece):
    with cpu_within(6.0):
        policy_turns((piece * 200_000)[:200_000])
